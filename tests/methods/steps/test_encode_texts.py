"""Texts as sparse rows: weights by their formulas and by scikit-learn's, terms, new texts, model files, recipes."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.estimator_checks import check_estimator

import lowland
from lowland import DataError, steps
from lowland.core.errors import DegenerateWarning

TEXTS = [
    "Shock waves heat the blunt nose; heat flows.",
    "Heat transfer to a blunt nose in a shock tunnel",
    "Flutter of a wing, and flutter of panels",
    "A wing in a wind tunnel: flutter and shock",
    "Panels buckle; a panel of the wing buckles",
]
NEW = ["the heat of panels and unknown words", "", "wing wing wing"]
told_of_empty = pytest.mark.filterwarnings("ignore:.*no terms that the training texts have:lowland.LowlandWarning")


@told_of_empty
def test_tfidf_is_that_of_scikit_learn():
    ours = steps.EncodeTexts(min_df=1).fit(TEXTS)
    theirs = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit(TEXTS)
    assert ours.names_out_ == theirs.get_feature_names_out().tolist()
    for texts in (TEXTS, NEW):
        np.testing.assert_allclose(ours.transform(texts).toarray(), theirs.transform(texts).toarray(), rtol=1e-14)


def test_log_entropy_by_its_formula():
    step = steps.EncodeTexts("log-entropy", min_df=1, norm=None)
    X = step.fit_transform(TEXTS).toarray()
    C = steps.EncodeTexts("counts", min_df=1).fit_transform(TEXTS).toarray()
    P = C / C.sum(axis=0)
    weights = 1 + np.where(P > 0, P * np.log(np.where(P > 0, P, 1)), 0).sum(axis=0) / np.log(len(TEXTS))
    np.testing.assert_allclose(X, np.log1p(C) * weights, rtol=1e-12, atol=1e-15)
    lone = step.names_out_.index("transfer")
    assert step.weights_[lone] == 1.0


def test_histogram_rows_are_shares():
    step = steps.EncodeTexts("histogram", stop_words=None, min_df=1).fit(TEXTS)
    X = step.transform(TEXTS)
    np.testing.assert_allclose(X.sum(axis=1), 1.0)
    wing = step.transform(["wing of a wing"]).toarray()[0]
    assert wing[step.names_out_.index("wing")] == pytest.approx(2 / 3)  # "a" has one letter
    assert steps.EncodeTexts("histogram", min_df=1, norm="l2").fit(TEXTS).transform(["wing wing"]).max() == 1.0


@pytest.mark.filterwarnings("ignore::lowland.DegenerateWarning")
def test_terms_are_limited():
    assert steps.EncodeTexts(min_df=3).fit(TEXTS).names_out_ == ["shock", "wing"]
    assert "shock" not in steps.EncodeTexts(max_df=2).fit(TEXTS).names_out_
    assert "shock" not in steps.EncodeTexts(max_df=0.5, min_df=1).fit(TEXTS).names_out_
    assert steps.EncodeTexts("counts", min_df=1, max_features=1).fit(TEXTS).names_out_ == ["flutter"]
    assert "wing wind" not in steps.EncodeTexts(min_df=1).fit(TEXTS).names_out_
    assert "blunt nose" in steps.EncodeTexts(ngrams=2).fit(TEXTS).names_out_
    assert "the" in steps.EncodeTexts(stop_words=None, min_df=1).fit(TEXTS).names_out_
    assert "wing" not in steps.EncodeTexts(stop_words=["wing"]).fit(TEXTS).names_out_


@told_of_empty
@pytest.mark.parametrize("features", ["tfidf", "log-entropy", "histogram", "counts"])
@pytest.mark.parametrize("hashing", [None, 1 << 12])
def test_rows_are_their_own_and_survive_a_file(features, hashing, tmp_path):
    step = steps.EncodeTexts(features, min_df=1, hashing=hashing).fit(TEXTS)
    lowland.save(step, tmp_path / "s.lowland")
    again = lowland.load(tmp_path / "s.lowland")
    whole = step.transform(TEXTS + NEW)
    assert sp.issparse(whole)
    assert whole.shape == (8, len(step.names_out_))
    assert (again.transform(TEXTS + NEW) != whole).nnz == 0
    for i, text in enumerate(TEXTS + NEW):
        assert (step.transform([text]) != whole[i : i + 1]).nnz == 0
    assert (clone(step).fit_transform(TEXTS) != whole[: len(TEXTS)]).nnz == 0
    assert whole[6].nnz == 0


def test_hashed_columns_hold_the_same_numbers_as_terms():
    named = steps.EncodeTexts(min_df=1).fit(TEXTS)
    hashed = steps.EncodeTexts(min_df=1, hashing=1 << 20).fit(TEXTS)
    a, b = named.transform(TEXTS), hashed.transform(TEXTS)
    np.testing.assert_allclose((a @ a.T).toarray(), (b @ b.T).toarray(), rtol=1e-12)


def test_tables_and_columns():
    table = pl.DataFrame({"id": range(5), "title": [t[:12] for t in TEXTS], "text": TEXTS})
    with pytest.raises(DataError, match=r"2 columns contain texts \('title', 'text'\); name one in columns"):
        steps.EncodeTexts().fit(table)
    one = steps.EncodeTexts(columns=["text"]).fit(table)
    expected = steps.EncodeTexts().fit(TEXTS)
    assert (one.transform(table.select("text")) != expected.transform(TEXTS)).nnz == 0
    assert (one.transform(table.to_pandas()) != expected.transform(TEXTS)).nnz == 0
    both = steps.EncodeTexts("counts", columns=["title", "text"], min_df=1).fit(table)
    assert both.transform(table)[0, both.names_out_.index("shock")] == 2
    assert steps.EncodeTexts().fit(table.select("id", "text")).names_in_ == ["text"]
    with pytest.raises(DataError, match="no column 'text'"):
        one.transform(table.rename({"text": "body"}))
    with pytest.raises(DataError, match="'id' holds Int64, not texts"):
        steps.EncodeTexts(columns=["id"]).fit(table)
    assert "5 terms" not in one.describe()
    assert one.describe().startswith("texts as tf-idf of ")


def test_missing_and_empty_texts_are_rows_of_zeros():
    with pytest.warns(DegenerateWarning, match=r"2 texts of 6 have no terms \(the first is text 0"):
        step = steps.EncodeTexts().fit([None, *TEXTS[:4], "the of"])
    with pytest.warns(
        DegenerateWarning, match=r"2 texts of 3 have no terms that the training texts have \(the first is text 1"
    ):
        assert (np.diff(step.transform(["heat", None, "unknown"]).indptr) == 0).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["", ""], "no terms: they are empty"),
        (["the of and", "of a"], r"stop words with stop_words=None"),
        (["one wing"], r"none of the 1 term of 1 text occurs in at least 2 of them; set min_df=1$"),
        ([], "minimum of 1"),
        (["wing", 3], "item 1 is a int, not a text"),
        (["", None], "column 'x0' has no values|no terms"),
    ],
)
def test_texts_without_terms_are_refused(texts, message):
    with pytest.raises(DataError, match=message):
        steps.EncodeTexts().fit(texts)


def test_one_document():
    assert steps.EncodeTexts("log-entropy", min_df=1).fit_transform(["wing and flow"]).shape == (1, 2)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_conventions():
    checked = check_estimator(steps.EncodeTexts(), on_fail=None, on_skip=None)
    assert {r["check_name"] for r in checked if r["status"] == "failed"} == set()


@told_of_empty
def test_recipe_of_texts(tmp_path):
    table = pl.DataFrame({"id": range(5), "text": TEXTS})
    model = lowland.recipe(lowland.PCA(2), texts="log-entropy", columns=["text"], pre="truncated_svd:3")
    Y = model.fit_transform(table)
    assert [name for name, _ in model.steps] == ["texts", "pre", "method"]
    lowland.save(model, tmp_path / "m.lowland")
    new = pl.DataFrame({"text": NEW, "further": [1, 2, 3]})
    placed = lowland.load(tmp_path / "m.lowland").transform(new)
    assert (placed == model.transform(new)).all()
    np.testing.assert_allclose(model.transform(table), Y, atol=1e-12)
    own = lowland.recipe("truncated_svd:2", texts=steps.EncodeTexts("counts", ngrams=2)).fit(TEXTS)
    assert "blunt nose" in own.named_steps["texts"].names_out_
    for option in ({"scale": "standard"}, {"missing": "mean"}, {"categories": "one-hot"}, {"drop": ["id"]}):
        with pytest.raises(ValueError, match="has no effect on texts"):
            lowland.recipe(lowland.PCA(2), texts="tfidf", **option)
    with pytest.raises(ValueError, match="texts must be"):
        lowland.recipe(lowland.PCA(2), texts="words")
