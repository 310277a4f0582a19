"""Recipes on a cluster: steps learn where the rows are, the bits of the table in memory."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.core.errors import CellError, DataError
from lowland.data import scan
from lowland.rows.shared_scan import SharedScan

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore::lowland.core.errors.LowlandWarning")

ROWS = 21_000
HOW = {"missing": "median", "missing_category": "level", "categories": "one-hot", "scale": "robust"}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr("lowland.methods.steps.training_rows._MAX_ROWS", 4_000)
    monkeypatch.setattr("lowland.data.scans.text._BLOCK_BYTES", 1 << 16)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(8)
    X = np.round(rng.standard_normal((ROWS, 4)) * [5, 4, 3, 2] + 20, 4)
    table = pl.DataFrame(X, schema=list("abcd"), orient="row").with_columns(
        pl.Series("kind", rng.choice(["u", "v", "w"], ROWS)), pl.Series("n", rng.integers(0, 9, ROWS))
    )
    gaps = {"a": rng.random(ROWS) < 0.1, "kind": rng.random(ROWS) < 0.02, "d": np.arange(ROWS) > 15_000}
    return table.with_columns(
        pl.when(pl.lit(pl.Series(holes))).then(None).otherwise(pl.col(name)).alias(name) for name, holes in gaps.items()
    )


def learned(model):
    """The numbers that the steps and the method of a Pipeline have learned, by name."""
    return {
        (name, key): value
        for name, step in model.steps
        for key, value in vars(step).items()
        if key.endswith("_") and isinstance(value, np.ndarray | dict) and key != "embedding_"
    }


def same_learned(one, other):
    mine, theirs = learned(one), learned(other)
    assert mine.keys() == theirs.keys()
    for key, value in mine.items():
        if isinstance(value, dict):
            assert value == theirs[key], key
        else:
            np.testing.assert_array_equal(value, theirs[key], err_msg=str(key))


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("how", [HOW, {**HOW, "missing": "ppca", "scale": "standard", "pre": "pca:4"}], ids=["", "pre"])
def test_files_that_workers_read(client, frame, tmp_path, form, how):
    path = tmp_path / f"rows.{form}"
    frame.write_parquet(path, row_group_size=2_500) if form == "parquet" else frame.write_csv(path)
    here = lowland.fit(lowland.recipe(lowland.PCA(2), **how), scan(path))
    there = lowland.fit(lowland.recipe(lowland.PCA(2), **how), SharedScan(scan(path), rows=3_000))
    if "pre" not in how:
        same_learned(here, there)
    one, other = here.transform(frame), there.transform(frame)
    np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9 * np.abs(one).max())
    np.testing.assert_array_equal(here.named_steps["scale"].center_, there.named_steps["scale"].center_)


def test_a_sample_of_a_file_that_workers_read(client, frame, tmp_path):
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=2_500)
    models = [
        lowland.fit_sample(lowland.recipe(lowland.Isomap(2), **HOW), rows, 300, test_rows=0)
        for rows in (scan(tmp_path / "rows.parquet"), SharedScan(scan(tmp_path / "rows.parquet"), rows=3_000))
    ]
    np.testing.assert_array_equal(models[0].transform(frame[:500]), models[1].transform(frame[:500]))


@pytest.mark.parametrize("where", ["cluster", "threads"])
def test_data_frames(request, frame, where):
    if where == "cluster":
        request.getfixturevalue("client")
    table = dd.from_pandas(frame.to_pandas(), chunksize=3_333)
    whole = lowland.recipe(lowland.PCA(2), **HOW).fit(frame)
    model = lowland.recipe(lowland.PCA(2), **HOW).fit(table)
    same_learned(whole, model)
    assert list(model.feature_names_in_) == list(whole.feature_names_in_)
    Y = model.transform(table)
    assert isinstance(Y, da.Array)
    np.testing.assert_allclose(Y.compute(), whole.transform(frame), rtol=1e-12, atol=1e-12)


def test_arrays(client):
    X = np.random.default_rng(0).integers(0, 7, (ROWS, 5)).astype(float) * [1, 10, 1, 1, 100]
    X[::17, 2] = np.nan
    table = da.from_array(X, chunks=(4_444, 3))
    for how in ({"missing": "mean", "scale": "minmax"}, {"types": {"x0": "category"}, **HOW}):
        whole, model = (lowland.recipe(lowland.PCA(2), **how).fit(rows) for rows in (X, table))
        same_learned(whole, model)
        Y = model.transform(table)
        np.testing.assert_allclose(Y.compute(), whole.transform(X), rtol=1e-12, atol=1e-12)


def test_steps_alone_return_lazy_collections(frame):
    table = dd.from_pandas(frame.to_pandas(), chunksize=3_333)
    step = lowland.steps.SelectColumns(drop=["n"]).fit(table)
    made = step.transform(table)
    assert isinstance(made, dd.DataFrame)
    assert list(made.columns) == ["a", "b", "c", "d", "kind"]
    pl.testing = pytest.importorskip("polars.testing")
    pl.testing.assert_frame_equal(pl.from_pandas(made.compute()), step.transform(frame), check_dtypes=False)
    X = da.from_array(np.arange(12.0).reshape(6, 2), chunks=(4, 2))
    scaled = lowland.steps.ScaleColumns().fit(X).transform(X)
    assert isinstance(scaled, da.Array)
    np.testing.assert_allclose(scaled.compute().mean(axis=0), 0, atol=1e-15)


def test_a_column_that_shows_its_first_value_late(frame):
    late = frame.with_columns(pl.when(pl.int_range(ROWS) < 9_000).then(None).otherwise(pl.col("b")).alias("b"))
    table = dd.from_pandas(late.to_pandas(), chunksize=3_333)
    step = lowland.steps.ImputeMissing("median", categories="mode").fit(table)
    np.testing.assert_array_equal(step.fill_, lowland.steps.ImputeMissing("median", categories="mode").fit(late).fill_)
    empty = dd.from_pandas(late.with_columns(pl.lit(None).cast(pl.Float64).alias("b")).to_pandas(), chunksize=9_000)
    with pytest.raises(DataError, match="column 'b' has no values"):
        lowland.steps.ImputeMissing("mean").fit(empty)


def test_errors_of_cells_and_of_categories(client, frame):
    table = dd.from_pandas(frame.to_pandas(), chunksize=3_333)
    row = int(frame["kind"].is_null().arg_max())
    with pytest.raises(CellError, match=f"a missing category at row {row}, column 4"):
        lowland.recipe(lowland.PCA(2), missing="mean", categories="one-hot").fit(table)
    with pytest.raises(CellError, match=f"a missing category at row {row}, column 4"):
        lowland.recipe(lowland.FAMD(2), missing="mean").fit(table)
    with pytest.raises(DataError, match=r"\('kind'\) of the dask data frame is .*, not numeric"):
        lowland.Isomap().fit(table.drop(columns=["day"], errors="ignore"))
