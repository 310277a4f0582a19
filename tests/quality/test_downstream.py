"""A learner on all columns and on components: scores, losses, and what PCA destroys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import lowland
from lowland.core.measure import Measure
from lowland.quality import downstream
from lowland.quality.class_accuracy import voted
from lowland.quality.discriminant import DiscriminantAxes
from lowland.quality.downstream_data import supervised
from lowland.quality.downstream_result import Destroyed, Downstream, Trial
from lowland.quality.learners import NeighborMean, NeighborVote


@pytest.fixture
def hidden(rng):
    """Two classes that differ along a column of little variance."""
    kind = np.repeat([0, 1], 100)
    return np.column_stack([rng.normal(0, 5, (200, 3)), rng.normal(0, 0.1, 200) + 0.8 * kind]), kind


def plain(found):
    """What does not depend on the clock."""
    out = found.to_dict()
    for trial in (out["everything"], *out["trials"]):
        del trial["seconds"], trial["peak_bytes"]
    return out


def test_scores_are_those_of_scikit_learn_on_the_same_folds():
    X, y = load_wine(return_X_y=True)
    found = downstream(X, y, SVC(), methods=["pca"], components=[2], steps=StandardScaler(), folds=5)
    fold = PredefinedSplit(supervised(X, y, None, "auto", 5, None, 0).fold)
    whole = cross_val_score(make_pipeline(StandardScaler(), SVC()), X, y, cv=fold)
    np.testing.assert_allclose(found.everything.folds, whole)
    chain = make_pipeline(StandardScaler(), lowland.PCA(2), SVC())
    np.testing.assert_allclose(found.of("pca")[0].folds, cross_val_score(chain, X, y, cv=fold))


def test_losses_are_paired_with_the_corrected_interval():
    X, y = load_iris(return_X_y=True)
    found = downstream(X, y, methods=["pca"], components=[1], folds=5)
    d = np.array(found.everything.folds) - np.array(found.of("pca")[0].folds)
    loss = found.of("pca")[0].loss
    error = d.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4)  # Nadeau & Bengio 2003: test rows over training rows
    assert loss == pytest.approx(d.mean())
    assert loss.high - loss == pytest.approx(2.7764451 * error)
    assert found.of("pca")[0].error == pytest.approx(error)
    assert found.smallest["pca"] == (1 if d.mean() <= error else None)
    assert found.everything.loss == 0
    assert found.everything.loses_nothing()


def test_reductions_and_steps_see_the_training_rows_only():
    seen = []

    class Watch(TransformerMixin, BaseEstimator):
        def __init__(self, n_components=1):
            self.n_components = n_components

        def fit(self, X, y=None):
            seen.append(set(X[:, 0].tolist()))
            return self

        def transform(self, X):
            return X[:, : self.n_components]

    X = np.column_stack([np.arange(40.0), np.arange(40.0) % 3])
    y = np.arange(40) % 2
    downstream(X, y, methods={"watch": Watch()}, components=[1, 2], folds=4)
    fold = supervised(X, y, None, "auto", 4, None, 0).fold
    assert seen == [set(X[fold != number, 0].tolist()) for number in range(4) for _ in range(2)]


def test_the_same_seed_gives_the_same_result_on_any_number_of_threads():
    X, y = load_wine(return_X_y=True)
    found = []
    for threads in (1, 2):
        with lowland.config(threads=threads):
            found.append(
                downstream(
                    X,
                    y,
                    DecisionTreeClassifier(max_features=1),
                    methods=["pca"],
                    components=[2],
                    folds=3,
                    random_state=5,
                )
            )
    assert plain(found[0]) == plain(found[1])
    other = downstream(
        X, y, DecisionTreeClassifier(max_features=1), methods=["pca"], components=[2], folds=3, random_state=6
    )
    assert plain(other) != plain(found[0])
    assert set(found[0].everything.seconds) == {"reduce", "fit", "predict"}
    assert found[0].everything.peak_bytes > 0


@pytest.mark.parametrize("estimator", [None, "linear"])
def test_classes_that_pca_destroys_are_told_with_the_reason(hidden, estimator):
    found = downstream(*hidden, estimator)
    told = found.destroyed
    assert told is not None
    assert told.k == 3
    assert told.kept > 0.99
    assert told.score < 0.6
    assert told.best > 0.95
    assert told.discarded > 0.95
    assert told.variance < 0.02 < told.average == 0.25
    assert told.by_direction
    assert "PCA destroys the classes" in found.sentence
    assert "discriminant direction (LDA) holds" in found.sentence
    if estimator == "linear":
        assert found.smallest["lda"] == 1
    else:  # the nearest neighbours on all columns do not find the classes
        assert found.smallest == {}
        assert found.best.method == "lda"
        assert "Better: LDA, 1 component: " in found.sentence


def trial_with(method, title, k, loss, error):
    half = error * 2.7764451
    measured = Measure(loss, loss - half, loss + half, exact=False)
    return Trial(method, title, k, Measure(0.7 - loss, 0.6, 1.0), measured, (0.7,) * 5)


def test_gains_are_called_gains_and_pca_is_not_praised_and_blamed():
    pca, lda = trial_with("pca", "PCA", 2, 0.002, 0.01), trial_with("lda", "LDA", 1, -0.242, 0.02)
    slight = trial_with("random_projection", "Random projection", 3, -0.005, 0.01)
    destroyed = Destroyed(3, 0.95, 0.5, 0.94, "1 LDA axis", 0.4, 0.9, 0.01, 0.25)
    everything = trial_with("all columns", "all columns", 9, 0.0, 0.01)
    smallest = {"pca": 2, "lda": 1, "random_projection": 3}
    found = Downstream(everything, (pca, lda, slight), smallest, None, "KNN", "classes", 0.4, 100, 9, 5)
    assert "LDA: 1 component gains 24.2 points, standard error 2.0." in found.sentence
    assert "Random projection: 3 components lose nothing measurable (gain 0.5 points" in found.sentence
    assert "PCA: 2 components lose nothing measurable (loss 0.2 points" in found.sentence
    both = replace(found, destroyed=destroyed).sentence
    assert "PCA: 2 components score no worse than all columns (loss 0.2 points, standard error 1.0), but worse" in both
    assert "but worse than 1 LDA axis." in both
    assert "PCA: 2 components lose nothing" not in both
    assert "With 3 components PCA destroys the classes: they keep" in both


def test_axes_of_famd_are_not_called_columns(rng):
    kind = np.repeat(["a", "b"], 30)
    frame = pl.DataFrame(
        {
            "x": rng.normal(size=60) + 3 * (kind == "a"),
            "y": rng.normal(size=60),
            "colour": np.where(rng.random(60) < 0.5, "red", "blue"),
        }
    )
    steps = lowland.recipe(None, categories="famd", unseen="ignore")
    found = downstream(frame, kind, methods=["columns"], components=[1, 2], folds=3, steps=steps)
    assert f"on all 3 columns (coded as {found.n_columns} axes) is" in found.sentence
    assert found.mixed_columns == 3
    assert "best columns" not in found.sentence
    assert found.of("columns")[0].title == "best axes"
    assert downstream(frame[:, :2], kind, methods=["pca"], components=[1], folds=3).mixed_columns is None


def test_classes_that_pca_keeps_are_not_called_destroyed(rng):
    X, y = load_wine(return_X_y=True)
    assert downstream(X, y, steps=StandardScaler(), methods=["pca", "lda"], folds=5).destroyed is None
    noise = downstream(rng.standard_normal((100, 5)), rng.integers(2, size=100), "linear", methods=["pca"], folds=5)
    assert noise.destroyed is None  # there is nothing to destroy


def test_a_numeric_target_uses_regression(hidden):
    X, y = load_diabetes(return_X_y=True)
    found = downstream(X, y, folds=5, components=[2, 5])
    assert found.task == "regression"
    assert set(found.smallest) == {"pca", "pls", "columns", "random_projection"}
    fold = PredefinedSplit(supervised(X, y, None, "auto", 5, None, 0).fold)
    np.testing.assert_allclose(found.everything.folds, cross_val_score(KNeighborsRegressor(10), X, y, cv=fold))
    X, _ = hidden
    told = downstream(X, 3 * X[:, 3], "linear", methods=["pca"]).destroyed
    assert told is not None
    assert told.discarded > 0.95
    assert "PCA destroys what predicts the target" in told.sentence


def test_a_numeric_target_that_is_constant_in_a_fold_is_refused(rng):
    X = rng.standard_normal((12, 2))
    with pytest.raises(lowland.DataError, match=r"does not vary in a fold of 1 row.* fewer folds: folds=3"):
        downstream(X, np.arange(12) + 0.5, methods=["pca"])
    found = downstream(X, np.arange(12) + 0.5, methods=["pca"], folds=3)
    assert np.isfinite(found.everything.folds).all()


def test_the_default_learner_votes_as_compare_does(rng):
    X, y = rng.standard_normal((60, 3)), rng.integers(3, size=60)
    new = rng.standard_normal((7, 3))
    near = np.argsort(np.linalg.norm(new[:, None] - X, axis=2), axis=1)[:, :10]
    assert NeighborVote().fit(X, y).predict(new).tolist() == voted(y[near], 3).tolist()
    np.testing.assert_allclose(NeighborMean().fit(X, y).predict(new), y[near].mean(axis=1))


def test_discriminant_axes_are_those_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    ours = DiscriminantAxes(2).fit(X, y).transform(X)
    theirs = LinearDiscriminantAnalysis().fit(X, y).transform(X)
    for i in range(2):
        assert abs(np.corrcoef(ours[:, i], theirs[:, i])[0, 1]) > 0.999
    axes = DiscriminantAxes(2).fit(X, y)
    assert axes.discarded(4) == pytest.approx(0)
    assert axes.discarded(1) > axes.discarded(2) > axes.discarded(3)


def test_more_columns_than_rows_and_sparse_rows(rng):
    y = np.repeat([0, 1], 30)
    X = rng.standard_normal((60, 200)) + 1.0 * y[:, None]
    found = downstream(X, y, components=[1, 5], folds=3)
    assert found.of("lda")[0].score > 0.9
    few = np.where(X > 1, X, 0.0)
    sparse, dense = (downstream(rows, y, components=[2], folds=3) for rows in (sp.csr_array(few), few))
    assert not sparse.skipped
    assert sparse.everything.folds == dense.everything.folds
    assert sparse.of("lda")[0].score == pytest.approx(dense.of("lda")[0].score)


def test_tables_with_text_go_through_steps_and_rows_without_a_target_are_left_out(rng):
    kind = rng.permutation(["a", "b"] * 40)
    frame = pl.DataFrame(
        {"x": rng.standard_normal(80), "c": np.where(kind == "a", "u", "v"), "kind": kind}
    ).with_columns(pl.when(pl.int_range(80) < 5).then(None).otherwise(pl.col("kind")).alias("kind"))
    steps = lowland.recipe(None, categories="one-hot")
    found = downstream(frame, "kind", methods=["pca"], steps=steps, folds=4)
    assert (found.left_out, found.n_rows) == (5, 75)
    assert found.everything.score > 0.95
    sampled = downstream(frame, "kind", methods=["pca"], steps=steps, folds=4, sample=50)
    assert (sampled.n_rows, sampled.sampled_from) == (50, 75)


def test_a_method_that_fails_does_not_stop_the_others(rng):
    X = np.vstack([rng.standard_normal((30, 3)), rng.standard_normal((30, 3)) + 100])
    y = np.repeat([0, 1], 30)
    methods = {"isomap": lowland.Isomap(n_neighbors=5, disconnected="error"), "pca": "pca"}
    found = downstream(X, y, methods=methods, components=[2], folds=3)
    assert list(found.skipped) == ["isomap"]
    assert list(found.smallest) == ["pca"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"estimator": "svm"}, "one of 'neighbors', 'linear', 'forest'"),
        ({"estimator": StandardScaler()}, "has no predict"),
        ({"methods": "pls"}, "use 'lda'"),
        ({"methods": ["pca", "pca"]}, "same name"),
        ({"methods": [StandardScaler()]}, "no n_components"),
        ({"components": [0]}, "from 1 to 4"),
        ({"components": 9}, "from 1 to 4"),
        ({"folds": 2}, "folds must be a whole number ≥ 3"),
        ({"task": "guess"}, "task must be one of"),
        ({"sample": 3}, "sample must be a whole number"),
        ({"tolerance": -1}, "tolerance must be a number from 0 to 1; it is -1"),
        ({"tolerance": float("nan")}, "tolerance must be a number from 0 to 1; it is nan"),
        ({"tolerance": True}, "tolerance must be a number from 0 to 1; it is True"),
    ],
)
def test_bad_options_are_refused(options, text):
    with pytest.raises(ValueError, match=text):
        downstream(*load_iris(return_X_y=True), **options)


@pytest.mark.parametrize("wrap", [lambda made: made, make_pipeline, lambda made: make_pipeline(StandardScaler(), made)])
def test_a_learner_of_the_other_kind_is_refused(rng, wrap):
    text = (
        "the target is classes, and LinearRegression is a regressor; give a classifier; if it is a number to predict, "
        "use task='regression'"
    )
    with pytest.raises(ValueError, match=text):
        downstream(*load_iris(return_X_y=True), wrap(LinearRegression()))
    X = rng.standard_normal((30, 2))
    with pytest.raises(ValueError, match=r"LinearRegression is a regressor; give a classifier$"):
        downstream(X, ["a", "b"] * 15, wrap(LinearRegression()))
    text = "the target is numeric, and LogisticRegression is a classifier; give a regressor, or, .*use task='classes'"
    with pytest.raises(ValueError, match=text):
        downstream(X, X[:, 0], wrap(LogisticRegression()))
    found = downstream(X, [0, 1] * 15, wrap(LinearRegression()), task="regression", methods=["pca"], folds=3)
    assert found.learner == "linear regression"


def test_bad_data_are_refused(rng):
    X = rng.standard_normal((30, 2))
    for y, text in (
        (np.zeros(30), "1 different value in"),
        (["a"] * 29, "29 values of the target for 30 rows"),
        ([None] * 25 + ["a", "b"] * 2 + ["a"], "5 rows have a target"),
        ("kind", "no column 'kind'"),
    ):
        with pytest.raises(lowland.DataError, match=text):
            downstream(X, y)
    with pytest.raises(lowland.DataError, match="regression needs numbers"):
        downstream(X, ["a", "b"] * 15, task="regression")
    X[3, 1] = np.nan
    with pytest.raises(lowland.DataError, match="NaN at row 3, column 1"):
        downstream(X, [0, 1] * 15)


@pytest.mark.parametrize(
    ("kind", "also"), [("rare", "balanced accuracy: 50.0 %"), ("noise", "the mean: 0")], ids=["classes", "numbers"]
)
def test_where_nothing_is_learned_no_number_of_components_is_recommended(rng, kind, also):
    X = rng.standard_normal((200, 4))
    y = np.where(np.arange(200) % 50 == 0, "rare", "common") if kind == "rare" else rng.standard_normal(200)
    found = downstream(X, y, methods=["pca"], folds=4)
    assert not found.learns
    assert found.smallest == {}
    assert found.methods == ["pca"]
    assert found.best is found.everything
    assert "not measurably better, so there is nothing that a reduction could lose" in found.sentence
    assert also in found.sentence
    assert "loses nothing" not in found.sentence
    axes = found.plot()
    assert "ring" not in axes.get_title(loc="left")
    learned = downstream(X, X[:, 0], methods=["pca"], folds=4)
    assert learned.learns
    assert "ring" in learned.plot().get_title(loc="left")


def test_a_reduction_that_makes_the_learner_work_is_named(rng):
    kind = np.repeat([0, 1], 60)
    X = np.column_stack([rng.standard_normal((120, 3)) * 1000, rng.standard_normal(120) + 8 * kind])
    found = downstream(X, kind, methods=["lda"], folds=4)
    assert not found.learns
    assert "Better: LDA, 1 component: " in found.sentence


def test_a_missing_value_behind_steps_is_named_by_its_row(rng):
    X = rng.standard_normal((30, 2))
    X[20, 1] = np.nan
    y = [None, None, *np.repeat(["a", "b"], 14)]
    with pytest.raises(lowland.DataError, match=r"row 20, column 1"):
        downstream(X, y, methods=["pca"], steps=StandardScaler(), folds=3)


def test_one_rule_for_losing_nothing_in_every_form():
    X, y = load_wine(return_X_y=True)
    found = downstream(X, y, methods=["pca", "random_projection"], steps=StandardScaler(), folds=5)
    trials = found.to_dict()["trials"]
    frame = found.to_frame().slice(1)
    assert frame["loses_nothing"].to_list() == [trial["loses_nothing"] for trial in trials]
    for trial in trials:
        assert trial["loses_nothing"] == (trial["loss"]["value"] <= trial["loss"]["error"])
    for method in found.methods:
        kept = [trial["k"] for trial in trials if trial["method"] == method and trial["loses_nothing"]]
        assert found.smallest[method] == min(kept, default=None)
    k = found.smallest["pca"]
    trial = next(trial for trial in found.of("pca") if trial.k == k)
    assert f"PCA: {k} components lose nothing measurable (loss " in found.sentence
    assert f"standard error {100 * trial.error:.1f})" in found.sentence
    unlearned = downstream(X[:, :1], np.tile([0, 1], 89), methods=["pca"], folds=5)
    assert not unlearned.learns
    assert {trial["loses_nothing"] for trial in unlearned.to_dict()["trials"]} == {None}
    assert unlearned.to_frame()["loses_nothing"].null_count() == len(unlearned.to_frame())


@pytest.mark.parametrize("steps", [None, lowland.recipe(None, missing="mean")])
def test_columns_are_named(steps):
    data = load_wine(as_frame=True)
    X = data.data.rename(columns={"proline": "proline (mg/L)"})
    found = downstream(X, data.target, methods=["pca", "columns"], components=[2], folds=5, steps=steps)
    assert any("column 'proline (mg/L)' holds" in str(text) for text in found.warnings)
    assert not any("column 12" in str(text) for text in found.warnings)
    (trial,) = found.of("columns")
    assert set(trial.columns) <= set(X.columns)
    assert "flavanoids" in trial.columns
    assert found.of("pca")[0].columns is None
    assert f"2 columns ({', '.join(trial.columns)})" in found.sentence
    plain = downstream(X.to_numpy(), data.target, methods=["columns"], components=[1], folds=5)
    assert plain.of("columns")[0].columns[0].startswith("column ")
