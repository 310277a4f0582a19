"""What every preprocessing step keeps: rows apart, columns by name, types, output, scikit-learn's conventions."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import lowland
from lowland import DataError, steps
from lowland.core.errors import CellError

NUMBERS = ["age", "crp", "albumin"]
STEPS = {
    "select": steps.SelectColumns(drop=["id"], types={"ward": "category"}),
    "elapsed": steps.EncodeDates(),
    "cyclic": steps.EncodeDates("cyclic"),
    "transform": steps.TransformColumns({"log": ["crp"], "rank": ["albumin"], "sqrt": ["age"]}),
    "clr": steps.TransformColumns({"clr": ["age", "crp"]}),
    "mean": steps.ImputeMissing("mean"),
    "median": steps.ImputeMissing("median", categories="mode"),
    "ppca": steps.ImputeMissing("ppca", categories="level"),
    "one-hot": steps.EncodeCategories(),
    "standard": steps.ScaleColumns(),
    "robust": steps.ScaleColumns("robust"),
    "minmax": steps.ScaleColumns("minmax"),
}
WHOLE = {  # need a table without gaps, or without categories
    "famd": steps.EncodeCategories("famd"),
    "l2": steps.NormalizeRows(),
}


def prepared(name, frame):
    """Return the table as a step takes it."""
    if name == "famd":
        return frame.select("age", "crp", "sex", "smokes")
    return frame.select("age", "crp") if name == "l2" else frame


@pytest.fixture(params=[*STEPS, *WHOLE])
def case(request, patients):
    name = request.param
    return clone({**STEPS, **WHOLE}[name]), prepared(name, patients)


def assert_same(a, b, exact=True):
    assert a.columns == b.columns
    if exact:
        assert a.equals(b, null_equal=True)
        return
    for name in a.columns:
        if a.schema[name].is_numeric():
            np.testing.assert_allclose(a[name].to_numpy(), b[name].to_numpy(), rtol=1e-12, atol=1e-12)
        else:
            assert a[name].to_list() == b[name].to_list()


def test_a_row_depends_on_no_other_new_row(case):
    """Changing each new row in turn changes no other output row, so nothing is refitted."""
    step, frame = case
    step.fit(frame)
    new, others = frame[:8], frame[20:28]
    whole = step.transform(new)
    for i in range(8):
        changed = pl.concat([new[:i], others[i : i + 1], new[i + 1 :]])
        out = step.transform(changed)
        keep = [j for j in range(8) if j != i]
        assert_same(out[keep], whole[keep], exact=False)
        assert_same(step.transform(new[i : i + 1]), whole[i : i + 1], exact=False)
    assert not whole.equals(step.transform(others))


def test_columns_are_matched_by_name(case):
    step, frame = case
    whole = step.fit(frame).transform(frame)
    shuffled = frame.select(frame.columns[::-1]).with_columns(pl.lit("x").alias("note"))
    assert_same(step.transform(shuffled), whole)


def test_fit_transform_is_fit_and_transform(case):
    step, frame = case
    assert_same(step.fit_transform(frame), step.transform(frame))


@pytest.mark.parametrize("convert", [pl.DataFrame.to_pandas, pl.DataFrame.to_arrow, pl.DataFrame.lazy])
def test_every_table_library_gives_the_same(case, convert):
    step, frame = case
    assert_same(step.fit(frame).transform(convert(frame)), step.transform(frame))
    assert_same(clone(step).fit(convert(frame)).transform(frame), step.transform(frame))


def test_missing_columns_name_similar_ones(case):
    step, frame = case
    step.fit(frame)
    with pytest.raises(DataError, match=r"no column 'crp'.*similar names: 'crp_mg'"):
        step.transform(frame.rename({"crp": "crp_mg"}))


def test_changed_types(case):
    step, frame = case
    step.fit(frame)
    texts = frame.with_columns(pl.col("crp").cast(pl.String))
    with pytest.raises(DataError, match=r"'crp' holds text .*numbers in the training rows; convert"):
        step.transform(texts)
    broken = texts.with_columns(pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("n.d.")).otherwise("crp").alias("crp"))
    with pytest.raises(CellError, match=r"'n\.d\.' in a column of numbers at row 3"):
        step.transform(broken)
    if "sex" in frame.columns:
        with pytest.raises(DataError, match=r"'sex' holds numbers .*categories in the training rows"):
            step.transform(frame.with_columns(pl.lit(1.0).alias("sex")))


def test_no_rows(case):
    step, frame = case
    out = step.fit(frame).transform(frame[:0])
    assert out.shape == (0, len(step.get_feature_names_out()))
    assert out.columns == list(step.get_feature_names_out())
    with pytest.raises(DataError, match="0 sample"):
        step.fit(frame[:0])


def test_a_column_without_values_is_refused_in_a_fit_and_taken_later(case):
    step, frame = case
    gone = frame.with_columns(pl.lit(None).cast(pl.Float64).alias("age"))
    with pytest.raises(DataError, match="column 'age' has no values"):
        clone(step).fit(gone)
    step.fit(frame)
    if (
        isinstance(step, steps.NormalizeRows)
        or getattr(step, "method", "") == "famd"
        or step.get_params().get("transforms", {}).get("clr")
    ):
        with pytest.raises(CellError, match="row 0"):
            step.transform(gone[:3])
        return
    untyped = frame[:3].with_columns(pl.lit(None).cast(pl.String).alias("age"))  # as a text file gives it
    out = step.transform(untyped)
    assert out["age"].dtype.is_numeric()
    assert out["age"].null_count() == (0 if getattr(step, "method", "") in ("mean", "median", "ppca") else 3)


def test_not_fitted(case):
    step, frame = case
    for use in (step.transform, getattr(step, "inverse_transform", step.transform)):
        with pytest.raises(NotFittedError):
            use(frame)
    with pytest.raises(NotFittedError):
        step.get_feature_names_out()


@pytest.mark.parametrize("kind", ["pandas", "polars", "default"])
def test_output_survives_clone(case, kind):
    step, frame = case
    step.set_output(transform=kind)
    out = clone(step).fit(frame).transform(frame)
    assert isinstance(out, pd.DataFrame if kind == "pandas" else pl.DataFrame)
    table = frame.to_pandas().set_index(pd.Index(range(100, 160)))
    if kind == "pandas":
        assert clone(step).fit(table).transform(table).index.tolist() == list(range(100, 160))
    with pytest.raises(ValueError, match="set_output"):
        step.set_output(transform="torch")


def test_arrays_give_arrays():
    X = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    out = steps.ScaleColumns().fit_transform(X)
    assert isinstance(out, np.ndarray)
    assert out.dtype == np.float32
    assert isinstance(steps.ScaleColumns().set_output(transform="polars").fit_transform(X), pl.DataFrame)
    assert steps.EncodeCategories().fit_transform([[1.0, "a"], [2.0, "b"]]).tolist() == [[1, 1, 0], [2, 0, 1]]
    with pytest.raises(DataError, match="sparse"):
        steps.ScaleColumns().fit(sp.eye_array(3))
    with pytest.warns(UserWarning, match="feature names"):
        steps.ScaleColumns().fit(pl.DataFrame({"a": [1.0, 2.0]})).transform(np.ones((2, 1)))


@pytest.mark.parametrize(
    "step",
    [
        steps.SelectColumns(),
        steps.EncodeDates(),
        steps.TransformColumns({"rank": "all"}),
        steps.ImputeMissing("mean"),
        steps.ImputeMissing("ppca"),
        steps.EncodeCategories(),
        steps.EncodeCategories("famd"),
        steps.ScaleColumns(),
        steps.ScaleColumns("robust"),
        steps.ScaleColumns("minmax"),
        steps.NormalizeRows(),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_conventions(step):
    """All of check_estimator; the separate check_dataframe_column_names_consistency asks for an error where columns
    come in another order, and steps match them by name instead.
    """
    failed = {r["check_name"] for r in check_estimator(step, on_fail=None, on_skip=None) if r["status"] == "failed"}
    assert failed == set()


def test_pyarrow_tables_keep_their_dates(patients):
    step = steps.EncodeDates().fit(patients)
    table = patients.to_arrow()
    assert isinstance(table, pa.Table)
    assert step.transform(table)["seen_days"].equals(step.transform(patients)["seen_days"])


def test_steps_say_what_they_do():
    frame = pl.DataFrame(
        {
            "age": [30.0, None, 50.0, 61.0, 47.0, 52.0],
            "crp": [1.0, 2.0, 40.0, 3.0, 9.0, 5.0],
            "sex": ["f", "m", None, "f", "m", "f"],
            "seen": pl.Series([f"2024-0{m}-01" for m in range(1, 7)]).str.to_date(),
        }
    )
    model = lowland.recipe(
        transform={"log": ["crp"]}, missing="ppca", missing_category="mode", categories="one-hot", scale="robust"
    ).fit(frame)
    said = {name: step.describe() for name, step in model.steps}
    assert said["dates"] == "dates as days since the first"
    assert said["transform"] == "log of crp"
    assert said["missing"].startswith(
        "missing numbers filled by column means (in cross-validation, probabilistic PCA of "
    )
    assert said["missing"].endswith("missing categories by the most frequent level")
    assert said["categories"] == "categories one-hot"
    assert said["scale"] == "columns scaled to median 0 and unit quartile range"


def test_many_columns_of_a_function_are_counted():
    genes = [f"gene{i}" for i in range(40)]
    frame = pl.DataFrame(np.ones((3, 40)), schema=genes)
    every = lowland.steps.TransformColumns({"log1p": "all"}).fit(frame)
    assert every.describe() == "log1p of all 40 columns"
    most = lowland.steps.TransformColumns({"log1p": genes[:-1], "sqrt": genes[-1:]}).fit(frame)
    assert most.describe() == "log1p of gene0, gene1, gene2 and 36 more, sqrt of gene39"
    few = lowland.steps.TransformColumns({"log1p": "all"}).fit(frame[:, :2])
    assert few.describe() == "log1p of gene0 and gene1"


def test_a_sample_that_ppca_learned_from_is_said(monkeypatch):
    from lowland.methods.steps import impute_missing

    monkeypatch.setattr(impute_missing, "MAX_FITTED_CELLS", 300)
    X = np.random.default_rng(0).standard_normal((200, 1)) @ np.ones((1, 4)) + np.arange(4)
    X[3, 1] = np.nan
    step = lowland.steps.ImputeMissing("ppca", n_components=1).fit(X)
    assert (step.n_fitted_rows_, step.n_rows_) == (75, 200)
    assert "learned from 75 of 200 rows" in step.describe()
