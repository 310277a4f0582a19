"""The door: methods of other packages, registered by hand or found by their entry points."""

from __future__ import annotations

import copy
import importlib.metadata
import pickle
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import NMF, FastICA
from sklearn.decomposition import PCA as TheirPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.manifold import TSNE as TheirTSNE
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import lowland
from lowland.contract import abilities, ability_table, plugins, registry
from lowland.contract.method_table import Method
from lowland.contract.parameters import parse
from lowland.methods.linear.pca import PCA


@pytest.fixture(autouse=True)
def door(monkeypatch):
    """The registry without plugins, put back afterwards; no entry points unless a test gives some."""
    monkeypatch.setattr(plugins, "_plugins", {})
    monkeypatch.setattr(plugins, "broken", {})
    monkeypatch.setattr(plugins, "_read", False)

    theirs = importlib.metadata.entry_points  # numba asks for its own

    def offer(*points):
        found = [importlib.metadata.EntryPoint(name, value, "lowland.methods") for name, value in points]
        ours = {"group": "lowland.methods"}
        monkeypatch.setattr(
            importlib.metadata, "entry_points", lambda **which: found if which == ours else theirs(**which)
        )

    offer()
    return offer


@pytest.fixture
def X(rng):
    return rng.standard_normal((60, 3)) @ rng.standard_normal((3, 6)) + 0.1 * rng.standard_normal((60, 6)) + 3.0


class Spread(BaseEstimator):
    """Divides rows by the largest entry of their batch. Row by row it would not."""

    def __init__(self, n_dims=2, power=1.0):
        self.n_dims, self.power = n_dims, power

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return (X[:, : self.n_dims] / np.abs(X).max()) ** self.power


class Restless(Spread):
    """Gives a row another place each time."""

    def transform(self, X):
        self.calls_ = getattr(self, "calls_", 0) + 1
        return X[:, : self.n_dims] + self.calls_


class Fussy(Spread):
    """Takes no single rows."""

    def transform(self, X):
        if len(X) < 10:
            raise ValueError("at least 10 rows, please")
        return X[:, : self.n_dims]


class Greedy(Spread):
    """Writes on what it is given."""

    def transform(self, X):
        X *= 0
        return X[:, : self.n_dims]


class Broken(Spread):
    """Loses a row."""

    def transform(self, X):
        Y = X[:, : self.n_dims].copy()
        Y[3] = np.nan
        return Y


class Taught(Spread):
    """Learns from labels."""

    def fit(self, X, y):
        return self


class Twice(Spread):
    """Has two parameters that could be the number of dimensions."""

    def __init__(self, n_dims=2, n_components=3):
        self.n_dims, self.n_components, self.power = n_dims, n_components, 1.0


class Clash(Spread):
    """Has a parameter by the name of a method."""

    def __init__(self, fit=2):
        self.n_dims, self.power = fit, 1.0


class Ridge(Spread):
    """Has a parameter that ends as learned attributes do."""

    def __init__(self, n_dims=2, lambda_=3.0):
        self.n_dims, self.power, self.lambda_ = n_dims, 1.0, lambda_

    def transform(self, X):
        return X[:, : self.n_dims] * self.lambda_


class Plain:
    """Of no base, with a fit that returns nothing, steps that were not counted, and a sparse answer."""

    n_iter_ = None

    def fit(self, X):
        self.mean = X.mean(axis=0)

    def transform(self, X):
        return sp.csr_array(X[:, :2] - self.mean[:2])


class Wavering(Plain):
    """Gives new rows more columns than training rows."""

    def fit_transform(self, X):
        self.fit(X)
        return X[:, :2]

    def transform(self, X):
        return X[:, :3]


class Failing(Spread):
    """Fails in its own way."""

    def fit(self, X, y=None):
        raise RuntimeError("the tree is full")


class Held(Spread):
    """Keeps an estimator among its parameters, and fits it."""

    def __init__(self, n_dims=2, inner=None):
        self.n_dims, self.inner = n_dims, inner

    def fit(self, X, y=None):
        self.inner.fit(X)
        return self

    def transform(self, X):
        return self.inner.transform(X)[:, : self.n_dims]


class Mixed(lowland.FAMD):
    """Ours, with another name."""


class Words(PCA):
    """A method that says what it takes."""

    _needs = "rows or categories"


class Odd(PCA):
    """A method that says something else."""

    _needs = "anything"


class Light(Plain):
    """Takes nothing beside its rows."""

    def transform(self, X):
        return X[:, :2]


class Halved(PCA):
    """A method of our own contract in another package."""

    def _row_map(self):
        inner = super()._row_map()
        return lambda block: inner(block) / 2


# -- names --------------------------------------------------------------------------------------------------


def test_a_registered_class_is_found_like_any_other():
    cls = lowland.register("their-ica", FastICA, family="linear")
    row = registry.method("their_ica")
    assert row.load() is cls
    assert (row.name, row.class_name, row.family) == ("their_ica", "FastICA", "linear")
    assert row.summary == "FastICA: a fast algorithm for Independent Component Analysis. (from sklearn)"
    assert registry.method("FastICA") is row
    assert registry.methods() == (*registry.METHODS, row)
    assert row.abilities == {"inverse"}
    assert row not in registry.METHODS
    registry.unregister("their_ica")
    with pytest.raises(ValueError, match="no method is called 'their_ica'"):
        registry.method("their_ica")


@pytest.mark.parametrize("name", ["pca", "PCA", "Truncated-SVD", "TruncatedSVD"])
def test_names_that_are_taken_are_refused(name):
    with pytest.raises(ValueError, match=r"is taken: it is (PCA|TruncatedSVD) \(lowland"):
        lowland.register(name, FastICA)


def test_registering_twice_and_taking_back_what_is_not_there():
    lowland.register("nmf", NMF)
    with pytest.raises(ValueError, match="is taken: it is NMF"):
        lowland.register("nmf", FastICA)
    with pytest.raises(ValueError, match="'pca' was not registered"):
        registry.unregister("pca")


@pytest.mark.parametrize(
    ("name", "cls", "options", "error", "message"),
    [
        ("two words", NMF, {}, ValueError, "letters, digits and underscores; got 'two words'"),
        ("3d_map", NMF, {}, ValueError, "begins with a letter .* got '3d_map'"),
        ("", NMF, {}, ValueError, "begins with a letter .* got ''"),
        ("nmf", NMF(), {}, TypeError, "takes a class"),
        ("scaler", dict, {}, TypeError, "neither fit_transform nor fit and transform"),
        ("nmf", NMF, {"components": "k"}, ValueError, r"has no parameter 'k'; it has n_components"),
        ("nmf", NMF, {"defaults": {"oops": 1}}, ValueError, "has no parameter 'oops'"),
        ("halved", Halved, {"defaults": {"n_components": 1}}, ValueError, "is a Reducer and is used as it is"),
        ("taught", Taught, {}, TypeError, "Taught.fit needs y beside the rows"),
        ("lda", LinearDiscriminantAnalysis, {}, TypeError, "LinearDiscriminantAnalysis.fit needs y beside the rows"),
        ("twice", Twice, {"components": "n_dims"}, ValueError, "has a parameter n_components beside n_dims"),
        ("clash", Clash, {}, ValueError, "has a parameter 'fit', and a method of Lowland has something else"),
        ("odd", Odd, {}, ValueError, "Odd: _needs must be 'rows' or .* got 'anything'"),
    ],
)
def test_what_cannot_be_registered(name, cls, options, error, message):
    with pytest.raises(error, match=message):
        lowland.register(name, cls, **options)
    assert registry.methods() == registry.METHODS


def test_the_former_name_of_the_row_of_a_plugin_warns():
    with pytest.warns(FutureWarning, match=r"Guest is now registry\.PluginMethod"):
        assert registry.Guest is registry.PluginMethod
    with pytest.raises(AttributeError, match="no attribute 'Gest'"):
        getattr(registry, "Gest")  # noqa: B009


def test_what_a_plugin_needs_is_told_by_its_class():
    for name, cls, needs in (
        ("mixed", Mixed, "rows or categories"),  # as FAMD
        ("words", Words, "rows or categories"),
        ("more_words", type("MoreWords", (Words,), {}), "rows or categories"),
        ("halved", Halved, "rows"),
        ("walks", type("Walks", (lowland.Isomap,), {}), "rows, objects or distances"),
        ("spread", Spread, "rows"),
    ):
        lowland.register(name, cls)
        assert registry.method(name).needs == needs


def test_a_parameter_without_a_default_must_be_given_one(X):
    class Needy(Spread):
        def __init__(self, n_dims):
            self.n_dims, self.power = n_dims, 1.0

    with pytest.raises(ValueError, match=r"needs a value for n_dims: give one in defaults=\{'n_components'"):
        lowland.register("needy", Needy)
    assert lowland.register("needy", Needy, defaults={"n_components": 3})().fit_transform(X).shape == (60, 3)


# -- what a wrapped class does ------------------------------------------------------------------------------


def test_results_are_those_of_the_class(X):
    cls = lowland.register("their_pca", TheirPCA)
    assert cls.__name__ == "TheirPca"  # ours is called PCA
    model, theirs = cls(2).fit(X), TheirPCA(2).fit(X)
    np.testing.assert_allclose(model.embedding_, theirs.transform(X), atol=1e-12)
    np.testing.assert_allclose(model.transform(X[:7]), theirs.transform(X[:7]), atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(model.embedding_), theirs.inverse_transform(theirs.transform(X)))
    info = model.fit_info_
    assert info.method == "TheirPca"
    assert info.algorithm.startswith("sklearn.decomposition._pca.PCA (")
    assert info.evidence["new rows"] == "in blocks"
    assert info.evidence["training rows placed anew, off by"] < 1e-12
    with pytest.raises(lowland.DataError, match="must have 2 columns"):
        model.inverse_transform(X)


def test_the_number_of_dimensions_goes_by_the_name_the_class_has(X):
    cls = lowland.register("spread", Spread)
    assert cls().get_params() == {"n_components": 2, "power": 1.0}
    assert cls(3).fit_transform(X).shape == (60, 3)
    other = lowland.register("other_spread", Spread, components="power", defaults={"n_components": 1.5})
    assert other().get_params() == {"n_components": 1.5, "n_dims": 2}


class Bare(Spread):
    """Has a name of its own for the number of dimensions."""

    def __init__(self, k=2):
        self.k = k

    def transform(self, X):
        return X[:, : self.k]


def test_a_class_without_a_usual_name_for_the_number_of_dimensions_is_told(X):
    with pytest.warns(
        lowland.LowlandWarning, match=r"bare: Bare has no parameter by .* \(it has k\).*components="
    ) as told:
        cls = lowland.register("bare", Bare)
    assert told[0].filename == __file__
    assert cls(k=3).fit_transform(X).shape == (60, 3)
    for wrong in (lambda: cls(n_components=2), lambda: cls(2)):
        with pytest.raises(
            TypeError, match=r"^Bare: Bare has no parameter by a usual name .*register\(…, components=…\)"
        ):
            wrong()
    with pytest.raises(TypeError, match=r"^Bare: got an unexpected keyword argument 'magic'; it takes k"):
        cls(magic=1)
    registry.unregister("bare")
    assert lowland.register("bare", Bare, components="k")(3).fit_transform(X).shape == (60, 3)
    registry.unregister("bare")
    cls = lowland.register("bare", Bare, components=None)  # warnings are errors here
    assert pickle.loads(pickle.dumps(cls(k=1).fit(X))).transform(X).shape == (60, 1)


def test_without_a_name_of_dimensions_parameters_keep_theirs(X):
    model = lowland.register("spread", Spread, components=None)(n_dims=3).fit(X)
    assert model.get_params() == {"n_dims": 3, "power": 1.0}
    again = pickle.loads(pickle.dumps(model))
    assert type(again) is type(model)
    assert again.transform(X).shape == (60, 3)


class Noisy(Spread):
    """Warns of what it does."""

    def fit(self, X, y=None):
        for _ in range(2):
            warnings.warn("did not\n  converge", ConvergenceWarning, stacklevel=1)
        warnings.warn("soon to go", DeprecationWarning, stacklevel=1)
        return self

    def transform(self, X):
        if len(X) < 60:
            warnings.warn("few rows", UserWarning, stacklevel=1)
        return X[:, : self.n_dims]


def test_what_another_package_warns_of_is_told_once_and_recorded(X):
    with pytest.warns() as told:
        model = lowland.register("noisy", Noisy)().fit(X)
    assert [(str(w.message), w.category) for w in told] == [("Noisy: did not converge", lowland.LowlandWarning)]
    assert told[0].filename == __file__
    assert model.fit_info_.warnings == ("Noisy: did not converge",)


def test_the_warnings_of_scikit_learn(X):
    with pytest.warns() as told:
        model = lowland.register("nmf", NMF)(n_components=2, max_iter=1).fit(np.abs(X))
    (text,) = model.fit_info_.warnings
    assert [str(w.message) for w in told] == [text]
    assert text.startswith("NMF: Maximum number of iterations 1 reached")


def test_fewer_components_than_asked_for_are_told(X):
    cls = lowland.register("short", Short)
    with pytest.warns(lowland.RankWarning, match="Short: the result has 1 of the 5 requested components"):
        model = cls(n_components=5).fit(X)
    assert len(model.fit_info_.warnings) == 1
    assert cls(n_components=1).fit(X).fit_info_.warnings == ()


class Short(Spread):
    """Gives one column, whatever it is asked for."""

    def transform(self, X):
        return X[:, :1]


def test_the_plan_and_the_record_say_what_is_not_known(X):
    model = lowland.register("their_pca", TheirPCA)(2)
    assert lowland.plan(model, X).algorithm.endswith("how long, and whether it is exact, is not known)")
    assert model.fit(X).fit_info_.evidence["exactness"] == "not known"


def test_no_seed_is_seed_zero(X):
    cls = lowland.register("their_ica", FastICA, defaults={"n_components": 2, "whiten": "unit-variance"})
    np.testing.assert_array_equal(cls().fit_transform(X), cls(random_state=0).fit_transform(X))
    seeded = cls(random_state=np.random.default_rng(4)).fit(X)
    assert isinstance(seeded.estimator_.random_state, int)
    assert seeded.n_iter_ == seeded.fit_info_.iterations > 0


def test_a_transform_that_depends_on_the_batch_is_called_row_by_row(X):
    model = lowland.register("spread", Spread)().fit(X)
    assert model.fit_info_.evidence["new rows"] == "one by one: its transform depends on the batch"
    whole = model.transform(X)
    np.testing.assert_array_equal(whole, np.vstack([model.transform(x[None]) for x in X]))
    np.testing.assert_allclose(whole, X[:, :2] / np.abs(X).max(axis=1, keepdims=True))
    assert not np.allclose(whole, model.embedding_)
    assert model.fit_info_.evidence["training rows placed anew, off by"] > 0.01


def test_a_class_that_looks_training_rows_up_is_asked_about_others(X):
    class Knowing(Spread):
        """Returns training rows as they were; the places of others depend on their batch."""

        def fit(self, X, y=None):
            self.seen_ = {x.tobytes() for x in X}
            return self

        def transform(self, X):
            new = np.array([x.tobytes() not in self.seen_ for x in X])
            return X[:, :2] + np.where(new, len(X), 0)[:, None]

    model = lowland.register("knowing", Knowing)().fit(X)
    assert model.fit_info_.evidence["new rows"] == "one by one: its transform depends on the batch"
    assert model.fit_info_.evidence["training rows placed anew, off by"] == 0.0
    new = X[:9] + 0.01
    np.testing.assert_array_equal(model.transform(new), new[:, :2] + 1)


@pytest.mark.slow  # umap-learn compiles its loops for half a minute
@pytest.mark.filterwarnings("ignore")  # what umap-learn says of its packages and threads
def test_umap_learn_places_new_rows_one_by_one(X, rng):
    umap = pytest.importorskip("umap")
    cls = lowland.register("their_umap", umap.UMAP, defaults={"n_neighbors": 8, "n_epochs": 50})
    model = cls().fit(X)
    assert model.fit_info_.evidence["new rows"] == "one by one: its transform depends on the batch"
    new = X[:6] + 0.1 * rng.standard_normal((6, 6))
    whole = model.transform(new)
    np.testing.assert_array_equal(whole, np.vstack([model.transform(x[None]) for x in new]))
    np.testing.assert_array_equal(whole[3:], model.transform(new[3:]))


def test_a_transform_that_is_never_the_same_is_told(X):
    with pytest.warns(lowland.LowlandWarning, match="another place each time"):
        lowland.register("restless", Restless)().fit(X)


def test_a_transform_that_fails_on_few_rows_is_told_and_may_still_do_many(X):
    with pytest.warns(lowland.LowlandWarning, match=r"Fussy: transform of 5 rows failed .*at least 10 rows"):
        model = lowland.register("fussy", Fussy)().fit(X)
    np.testing.assert_array_equal(model.transform(X), X[:, :2])
    with pytest.raises(lowland.DataError, match="Fussy: at least 10 rows, please"):
        model.transform(X[:3])


def test_a_class_without_transform_says_what_to_do(X):
    model = lowland.register("their_tsne", TheirTSNE, defaults={"perplexity": 5.0, "max_iter": 250})()
    Y = model.fit_transform(X)
    assert Y.shape == (60, 2)
    np.testing.assert_array_equal(Y, model.embedding_)
    assert model.fit_info_.evidence["new rows"] == "not placed: it has no transform"
    with pytest.raises(
        lowland.LowlandError, match=r"has no transform .*fit_transform on all rows together.*lowland.TSNE"
    ):
        model.transform(X[:3])


def test_rows_of_the_caller_are_not_written_on(X):
    before = X.copy()
    model = lowland.register("greedy", Greedy)().fit(X)
    model.transform(X)
    np.testing.assert_array_equal(X, before)


def test_an_answer_that_is_none_is_refused(X):
    with pytest.raises(lowland.SolveError, match=r"no finite place for 1 of 60 rows \(the first is row 3\)"):
        lowland.register("broken", Broken)().fit(X)

    class Flat(Spread):
        def transform(self, X):
            return X[:, 0]

    with pytest.raises(lowland.SolveError, match=r"shape \(60,\) for 60 rows"):
        lowland.register("flat", Flat)().fit(X)


def test_a_plain_class_with_sparse_answers(X):
    model = lowland.register("plain", Plain, components=None)().fit(X)
    np.testing.assert_array_equal(model.embedding_, X[:, :2] - X.mean(axis=0)[:2])
    np.testing.assert_array_equal(model.transform(X[:4]), model.embedding_[:4])
    assert model.fit_info_.iterations is None
    assert not hasattr(model, "n_iter_")


def test_answers_of_another_width_are_refused(X):
    with pytest.warns(lowland.LowlandWarning, match=r"gave 3 columns for 5 rows; 2 are needed"):
        model = lowland.register("wavering", Wavering, components=None)().fit(X)
    with pytest.raises(lowland.SolveError, match="Wavering gave 3 columns for 7 rows; 2 are needed, as in the fit"):
        model.transform(X[:7])


def test_whatever_it_raises_has_the_name_of_the_method(X):
    with pytest.raises(lowland.SolveError, match=r"^Failing: RuntimeError: the tree is full$") as caught:
        lowland.register("failing", Failing)().fit(X)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_a_parameter_that_ends_as_learned_ones_do(X):
    cls = lowland.register("ridge", Ridge)
    with pytest.raises(NotFittedError):
        cls(lambda_=5.0).transform(X)
    model = cls(lambda_=5.0).fit(X)
    assert model.get_params() == {"n_components": 2, "lambda_": 5.0}
    np.testing.assert_array_equal(model.fit(X).transform(X), 5 * X[:, :2])
    with pytest.raises(lowland.DataError):
        model.fit(np.full((5, 3), np.nan))
    assert model.lambda_ == 5.0
    with pytest.raises(NotFittedError):
        model.transform(X)


def test_an_estimator_among_the_defaults_is_each_models_own(X):
    inner = TheirPCA(3)
    cls = lowland.register("held", Held, defaults={"inner": inner})
    first, second = cls().fit(X), cls().fit(X[:20])
    assert not hasattr(inner, "mean_")
    assert first.estimator_.inner is not second.estimator_.inner
    np.testing.assert_allclose(first.transform(X), TheirPCA(3).fit_transform(X)[:, :2], atol=1e-12)


def test_asking_for_tags_draws_no_seed():
    generator = np.random.default_rng(0)
    model = lowland.register("their_ica", FastICA)(random_state=generator)
    before = generator.bit_generator.state
    get_tags(model)
    assert generator.bit_generator.state == before


def test_rows_are_held_once(X):
    """The class gets the one copy there is, and what it writes on it does no harm."""

    class Spoiler(Plain):
        def fit_transform(self, X):
            self.fit(X)
            Y = X[:, :2].copy()
            X *= 0
            self.rows = X
            return Y

        def transform(self, X):
            return X[:, :2]

    before = X.copy()
    model = lowland.register("spoiler", Spoiler, components=None)().fit(X)
    np.testing.assert_array_equal(X, before)
    assert model.fit_info_.evidence["training rows placed anew, off by"] == 0.0

    big = np.ones((200_000, 20))
    cls = lowland.register("light", Light, components=None)
    tracemalloc.start()
    cls().fit(big)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    planned = lowland.plan(cls(), shape=big.shape).bytes
    assert 0.8 * planned < peak < 1.2 * planned


def test_bad_rows_are_named_before_the_class_sees_them(X):
    cls = lowland.register("nmf", NMF, defaults={"n_components": 2})
    bad = X.copy()
    bad[4, 2] = np.nan
    with pytest.raises(lowland.DataError, match="NaN at row 4, column 2"):
        cls().fit(bad)
    with pytest.raises(lowland.DataError, match="does not take sparse"):
        cls().fit(sp.csr_array(X))
    with pytest.raises(lowland.DataError, match="NMF: Negative values in data"):  # the class's own words
        cls().fit(-np.abs(X))
    model = cls().fit(pd.DataFrame(np.abs(X), columns=list("abcdef")))
    with pytest.raises(lowland.DataError, match="same order as they were in fit"):
        model.transform(pd.DataFrame(np.abs(X), columns=list("bacdef")))


def test_cancelled_and_refused_fits_leave_nothing(X):
    cls = lowland.register("their_pca", TheirPCA)
    for stage in ("read", "fit"):
        model = cls(2)
        with (
            lowland.config(progress=lambda name, *_, stop=stage: name != stop),
            pytest.raises(lowland.Cancelled),
        ):
            model.fit(X)
        assert not [name for name in vars(model) if name.endswith("_")]
    with lowland.config(memory_limit=1000), pytest.raises(lowland.MemoryLimitError, match="copy of the rows"):
        cls(2).fit(X)
    plan = lowland.plan(cls(2), shape=(1000, 50))
    assert plan.parts["copy of the rows"] == 8 * 1000 * 50
    assert "is not known" in plan.algorithm


@pytest.mark.parametrize("kind", [lambda X: X.tolist(), lambda X: (X[:11], X[11:]), lambda X: iter((X[:11], X[11:]))])
def test_rows_of_any_kind(X, kind):
    want = lowland.register("their_pca", TheirPCA)(2).fit(X)
    given = kind(X) if isinstance(kind(X), list) else lowland.RowSource.from_blocks(kind(X))
    np.testing.assert_allclose(type(want)(2).fit(given).embedding_, want.embedding_, atol=1e-12)
    short = type(want)(2).fit(X.astype(np.float32))
    assert short.embedding_.dtype == short.transform(X.astype(np.float32)).dtype == np.float32


def test_copies_of_a_class_with_other_defaults_stay_what_they_were(X):
    old = lowland.register("held", Held, defaults={"inner": TheirPCA(3), "n_components": 1})
    model = old().fit(X)
    text = pickle.dumps(model)
    registry.unregister("held")
    new = lowland.register("held", Held, defaults={"inner": TheirPCA(2), "n_components": 2})
    for twin in (copy.deepcopy(model), pickle.loads(text), clone(model)):
        assert type(twin) is old
    assert type(pickle.loads(pickle.dumps(new()))) is new
    local = lowland.register("local", Held, defaults={"inner": lambda: None})  # which cannot be pickled
    assert type(copy.deepcopy(local())) is local


def test_a_class_name_of_ours_is_never_given_away():
    assert lowland.register("p_c_a", TheirPCA).__name__ == "P_C_A"
    assert registry.method("PCA").load() is PCA
    assert registry.method("P_C_A").name == "p_c_a"


def test_copies_processes_and_searches(X):
    cls = lowland.register("their_pca", TheirPCA)
    model = cls(2).fit(X)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(twin) is cls
        np.testing.assert_array_equal(twin.transform(X), model.transform(X))
    assert clone(model).get_params() == model.get_params()
    frame = make_pipeline(StandardScaler(), cls(2)).set_output(transform="pandas").fit(X).transform(X)
    assert list(frame.columns) == ["theirpca0", "theirpca1"]
    grid = GridSearchCV(cls(1), {"n_components": [1, 3]}, scoring=lambda m, X: m.n_components_, cv=3).fit(X)
    assert grid.best_params_ == {"n_components": 3}


@pytest.mark.filterwarnings("ignore")  # some of its data are degenerate, and scikit-learn says so
@pytest.mark.parametrize(("name", "cls"), [("their_pca", TheirPCA), ("their_nmf", NMF)])
def test_scikit_learn_checks(name, cls):
    made = lowland.register(name, cls, defaults={"n_components": 1})
    results = check_estimator(made(), on_fail=None, on_skip=None)
    assert len(results) > 40
    failed = [f"{r['check_name']}: {r['exception']}" for r in results if r["status"] == "failed"]
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize(
    ("text", "value"),
    [("none", None), ("True", True), ("5", 5), ("1e-3", 1e-3), ("(1,2)", (1, 2)), ("cosine", "cosine"), ("a b", "a b")],
)
def test_parameters_are_read_from_text(text, value):
    cls = lowland.register("spread", Spread)
    assert parse("Spread", cls._parameters, "power", text) == value
    with pytest.raises(ValueError, match="has no parameter 'oops'; it has n_components, power"):
        parse("Spread", cls._parameters, "oops", text)


# -- model files --------------------------------------------------------------------------------------------


def test_a_wrapped_model_goes_to_no_file(X, tmp_path):
    model = lowland.register("their_pca", TheirPCA)(2).fit(X)
    with pytest.raises(lowland.ModelFileError, match="TheirPca cannot be saved"):
        lowland.save(model, tmp_path / "x.lowland")
    assert list(tmp_path.iterdir()) == []


def test_a_reducer_of_another_package_does(X, tmp_path):
    assert lowland.register("halved", Halved) is Halved
    model = Halved(2).fit(X)
    np.testing.assert_allclose(model.transform(X), PCA(2).fit_transform(X) / 2)
    lowland.save(model, tmp_path / "x.lowland")
    np.testing.assert_array_equal(lowland.load(tmp_path / "x.lowland").transform(X), model.transform(X))
    registry.unregister("halved")
    with pytest.raises(lowland.ModelFileError, match="'Halved', which Lowland"):
        lowland.load(tmp_path / "x.lowland")
    Twin = type("PCA", (PCA,), {})
    with pytest.raises(ValueError, match="class name PCA is there already"):
        lowland.register("twin", Twin)


# -- entry points -------------------------------------------------------------------------------------------


def test_entry_points_are_read_when_they_are_needed(door, monkeypatch):
    door(("nmf", "sklearn.decomposition:NMF"))
    assert registry.method("pca").name == "pca"
    assert registry.by_class("PCA").name == "pca"
    assert not plugins._read
    row = registry.method("nmf")
    assert (row.class_name, row.family, row.kept) == ("NMF", "other", False)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: pytest.fail("read twice"))
    assert registry.methods()[-1] is row


def test_a_broken_entry_point_breaks_nothing(door, X):
    door(("gone", "no_such_package:Thing"), ("nmf", "sklearn.decomposition:NMF"), ("pca", "sklearn.decomposition:PCA"))
    with pytest.warns(lowland.LowlandWarning) as caught:
        names = [row.name for row in registry.methods()]
    assert names == [*(row.name for row in registry.METHODS), "nmf"]
    texts = [str(warning.message) for warning in caught]
    assert texts[0].startswith("the method 'gone' of another package (no_such_package:Thing) cannot be used: Module")
    assert "'pca' is taken" in texts[1]
    with pytest.raises(ValueError, match=r"'gone' of another package .* cannot be used: ModuleNotFoundError"):
        registry.method("gone")
    assert registry.method("pca").load() is PCA


def test_what_was_registered_by_hand_goes_before_an_entry_point(door):
    door(("nmf", "no_such_package:Thing"))
    cls = lowland.register("nmf", NMF)
    assert registry.methods()[-1].load() is cls


def test_by_hand_goes_before_an_entry_point_after_it_was_read_too(door):
    door(("nmf", "sklearn.decomposition:NMF"))
    theirs = registry.method("nmf")
    assert theirs.origin == "sklearn.decomposition:NMF"
    cls = lowland.register("nmf", NMF, defaults={"n_components": 3})
    assert registry.method("nmf").load() is cls is not theirs.load()
    assert registry.method("nmf").origin == ""
    assert len(registry.methods()) == len(registry.METHODS) + 1
    with pytest.raises(ValueError, match="'nmf' is taken: it is NMF"):
        lowland.register("nmf", FastICA)


def test_two_packages_with_one_name_are_told(door):
    door(
        ("factors", "sklearn.decomposition:FactorAnalysis"),
        ("factors", "sklearn.decomposition:NMF"),
        ("factors", "sklearn.decomposition:FactorAnalysis"),  # the same once more, as editable installs have it
    )
    with pytest.warns(lowland.LowlandWarning) as caught:
        assert registry.method("factors").class_name == "FactorAnalysis"
    (text,) = [str(warning.message) for warning in caught]
    assert "'factors' of another package (sklearn.decomposition:NMF) cannot be used: ValueError: 'factors' is" in text


def test_warnings_as_errors_lose_no_entry_point(door):
    door(("gone", "no_such_package:Thing"), ("lost", "no_such_package:Thing"), ("nmf", "sklearn.decomposition:NMF"))
    with pytest.raises(lowland.LowlandWarning, match="'gone' of another package"):  # the suite makes them errors
        registry.methods()
    assert registry.methods()[-1].name == "nmf"
    for name in ("gone", "lost"):
        with pytest.raises(ValueError, match=f"'{name}' of another package .* cannot be used"):
            registry.method(name)


def test_a_package_that_ends_the_program_is_left_out(door, tmp_path, monkeypatch):
    (tmp_path / "ends_all.py").write_text("raise SystemExit(7)")
    monkeypatch.syspath_prepend(tmp_path)
    door(("ends", "ends_all:Thing"), ("nmf", "sklearn.decomposition:NMF"))
    with pytest.warns(lowland.LowlandWarning, match="'ends' of another package .* SystemExit: 7"):
        assert registry.methods()[-1].name == "nmf"


def test_a_reading_that_was_stopped_begins_anew(door, tmp_path, monkeypatch):
    (tmp_path / "stopped_once.py").write_text("raise KeyboardInterrupt")
    monkeypatch.syspath_prepend(tmp_path)
    door(("a_stop", "stopped_once:Thing"), ("nmf", "sklearn.decomposition:NMF"))
    with pytest.raises(KeyboardInterrupt):
        registry.methods()
    door(("nmf", "sklearn.decomposition:NMF"))
    assert registry.methods()[-1].name == "nmf"


def test_near_names_of_guests_are_proposed(door):
    door(("nonnegative", "sklearn.decomposition:NMF"))
    with pytest.raises(ValueError, match="did you mean nonnegative"):
        registry.method("nonegative")


def test_the_table_of_abilities_is_up_to_date():
    written = Path(ability_table.__file__).read_text(encoding="utf-8")
    assert written == abilities.table(), (
        "run: python -m lowland.contract.abilities src/lowland/contract/ability_table.py"
    )


def test_abilities_that_no_table_has_are_those_of_the_class():
    row = Method("kept_rows", "PCA", "linear", "Not in the table.", module="lowland.methods.linear.pca")
    assert row.abilities == {"inverse", "partial", "sparse", "stream"}
