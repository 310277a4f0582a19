"""`transform_file`: coordinates written block by block, equal to `transform` of the whole table."""

from __future__ import annotations

import os
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import lowland
from lowland.data import read
from lowland.rows.row_source import RowSource

ENDINGS = ("csv", "csv.gz", "tsv", "parquet", "arrow", "feather", "npy")


def blocks(X, step=777):
    return RowSource.from_blocks(lambda: (X[i : i + step] for i in range(0, X.shape[0], step)))


def stored(path):
    table = read(path)
    return table.X if hasattr(table, "X") else table.frame.to_numpy()


@pytest.fixture
def X(rng):
    return rng.standard_normal((9500, 3)) @ rng.standard_normal((3, 6)) + 0.2 * rng.standard_normal((9500, 6)) + 2.0


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_every_method_writes_what_transform_returns(quick, X, tmp_path):
    few = X[:200]
    model = quick().fit(few)
    new = X[:5000] if model.fit_info_.method not in ("TSNE", "UMAP", "MVU") else X[:4200]  # two blocks
    lowland.transform_file(model, blocks(new), tmp_path / "map.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "map.npy"), model.transform(new))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_formats(X, tmp_path, ending, dtype):
    X = X.astype(dtype)
    model = lowland.PCA(2).fit(X)
    want, path = model.transform(X), tmp_path / f"map.{ending}"
    written = lowland.transform_file(model, blocks(X), path)
    got = stored(path)
    np.testing.assert_array_equal(got.astype(dtype), want)
    assert written.n_rows == len(X)
    assert written.columns == ("pca0", "pca1")
    assert os.listdir(tmp_path) == [path.name]
    if not ending.startswith(("csv", "tsv")):
        assert got.dtype == dtype


def test_text_has_the_bytes_of_a_table_written_whole(X, tmp_path):
    model = lowland.PCA(2).fit(X)
    lowland.transform_file(model, blocks(X), tmp_path / "a.csv")
    lowland.data.write_table(tmp_path / "b.csv", pl.DataFrame(model.transform(X), schema=["pca0", "pca1"]))
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize("ending", ["xlsx", "npz"])
def test_formats_of_whole_tables_are_refused_before_work(X, tmp_path, ending):
    def unread():
        raise AssertionError("a block was read")
        yield

    model = lowland.PCA(2).fit(X)
    with pytest.raises(lowland.DataError, match=r"written in pieces use \.csv"):
        lowland.transform_file(model, unread, tmp_path / f"map.{ending}")


def test_kept_columns(X, tmp_path):
    names = list("abcdef")
    frame = pl.DataFrame(X, schema=names).with_columns(
        pl.Series("id", [f"r{i}" for i in range(len(X))]), pl.Series("n", np.arange(len(X)))
    )
    model = lowland.PCA(2).fit(frame.select(names))
    for table in (frame, frame.to_pandas(), frame.to_arrow(), lambda: (frame[:50], frame[50:8000], frame[8000:])):
        lowland.transform_file(model, table, tmp_path / "map.parquet", keep=["n", "id"])
        got = pl.read_parquet(tmp_path / "map.parquet")
        assert got.columns == ["n", "id", "pca0", "pca1"]
        np.testing.assert_array_equal(got.select("pca0", "pca1").to_numpy(), model.transform(X_of(frame, names)))
        assert got["id"].to_list() == frame["id"].to_list()
    with pytest.raises(lowland.DataError, match="'colour', which is not a column"):
        lowland.transform_file(model, frame, tmp_path / "other.csv", keep=["colour"])
    with pytest.raises(lowland.DataError, match="this table has none"):
        lowland.transform_file(lowland.PCA(2).fit(X), X, tmp_path / "other.csv", keep=["a"])
    with pytest.raises(lowland.DataError, match=r"can store only numbers.*id"):
        lowland.transform_file(model, frame, tmp_path / "other.npy", keep=["id"])
    assert os.listdir(tmp_path) == ["map.parquet"]


def X_of(frame, names):
    return frame.select(names)


@pytest.mark.parametrize(
    "options",
    [
        {"scale": "standard"},
        {"scale": "robust", "missing": "median", "categories": "one-hot"},
        {"missing": "ppca", "categories": "famd"},
        {"scale": "minmax", "normalize": "l2", "pre": "pca:4", "categories": "drop"},
    ],
    ids=["scale", "one-hot", "famd", "pre"],
)
def test_recipes_are_the_same_bits(rng, tmp_path, options):
    n = 9000
    frame = pl.DataFrame(rng.standard_normal((n, 5)) * [1, 10, 100, 1, 1], schema=list("abcde"))
    frame = frame.with_columns(pl.Series("g", rng.choice(["x", "y", "z"], n)), pl.Series("id", np.arange(n)))
    if "missing" in options:
        frame = frame.with_columns(pl.when(pl.Series(rng.random(n) < 0.1)).then(None).otherwise(pl.col("b")).alias("b"))
    kind = {} if "categories" in options else {"categories": "drop"}
    model = lowland.recipe(lowland.KernelPCA(2, landmarks=60), drop=["id"], **options, **kind).fit(frame[:400])
    step = 1234

    def pieces():
        return (frame[i : i + step] for i in range(0, n, step))

    lowland.transform_file(model, pieces, tmp_path / "map.parquet", keep=["id"])
    got = pl.read_parquet(tmp_path / "map.parquet")
    assert got["id"].to_list() == list(range(n))
    np.testing.assert_array_equal(got.drop("id").to_numpy(), model.transform(frame))


def test_wide_rows_have_the_blocks_of_a_whole_table(rng, tmp_path):
    """1,500 columns: blocks of 2,796 rows, and of 4,096 after the first method."""
    X = rng.standard_normal((6000, 1500))
    model = lowland.recipe(lowland.KernelPCA(2, landmarks=50), pre="pca:20").fit(X[:300])
    lowland.transform_file(model, lambda: (X[i : i + 1000] for i in range(0, 6000, 1000)), tmp_path / "map.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "map.npy"), model.transform(X))


def test_sparse_rows(rng, tmp_path):
    S = sp.random_array((5000, 300), density=0.05, rng=rng, format="csr")
    model = lowland.TruncatedSVD(3).fit(S)
    lowland.transform_file(model, S, tmp_path / "map.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "map.npy"), model.transform(S))


def test_an_error_names_the_row_and_leaves_nothing(X, tmp_path):
    names = list("abcdef")
    model = lowland.PCA(2).fit(pd.DataFrame(X, columns=names))
    X[9123, 2] = np.nan
    frame = pl.DataFrame(X, schema=names)
    for table, keep in ((frame, []), (frame, ["a"])):
        with pytest.raises(lowland.DataError, match="row 9123"):
            lowland.transform_file(model, table, tmp_path / "map.csv", keep=keep)
    assert os.listdir(tmp_path) == []


def test_an_earlier_file_stays_until_the_new_one_is_complete(X, tmp_path):
    (tmp_path / "map.csv").write_text("earlier")

    def broken():
        yield X[:5000]
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError, match="gone"):
        lowland.transform_file(lowland.PCA(2).fit(X), broken, tmp_path / "map.csv")
    assert (tmp_path / "map.csv").read_text() == "earlier"
    assert os.listdir(tmp_path) == ["map.csv"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_leaves_nothing(small_disk, rng, ending):
    X = rng.standard_normal((200_000, 3))
    model = lowland.PCA(2).fit(X)
    with pytest.raises(lowland.WriteError, match=f"map.{ending}: cannot be written: .*No space left"):
        lowland.transform_file(model, blocks(X, 20_000), small_disk / f"map.{ending}")
    assert os.listdir(small_disk) == []


def test_memory_does_not_grow_with_the_table(tmp_path):
    block = np.random.default_rng(0).standard_normal((20_000, 10))
    model = lowland.PCA(2).fit(block)
    peaks = []
    for count in (20, 100):
        tracemalloc.start()
        lowland.transform_file(model, lambda: (block + i for i in range(count)), tmp_path / "map.parquet")  # noqa: B023
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert pl.scan_parquet(tmp_path / "map.parquet").select(pl.len()).collect().item() == 2_000_000
    assert peaks[1] < 1.3 * peaks[0] < 100e6


# -- interpolation ----------------------------------------------------------------------------------------------------


def test_interpolated_places_are_measured_against_transform(tmp_path):
    X, _ = lowland.data.swiss_roll(6000, random_state=0)
    model = lowland.fit_sample(lowland.Isomap(n_components=2), X, 2000, test_rows=0)
    written = lowland.transform_file(model, blocks(X), tmp_path / "map.npy", placement="interpolate")
    Y, own = np.load(tmp_path / "map.npy"), model.transform(X)
    radius = np.sqrt(((own - own.mean(axis=0)) ** 2).sum(axis=1).mean())
    errors = np.linalg.norm(Y - own, axis=1) / radius
    assert written.compared == 6000
    assert written.error == pytest.approx(np.median(errors), rel=1e-9)
    assert written.error_90 == pytest.approx(np.quantile(errors, 0.9), rel=1e-9)
    assert 0 < written.error < 0.03
    exact = np.flatnonzero((own == Y).all(axis=1))
    assert len(exact) >= 2000  # rows of the sample return to their places


def test_the_rows_that_are_compared_are_not_those_of_the_sample(rng, tmp_path, monkeypatch):
    monkeypatch.setattr("lowland.streaming.output._COMPARED_ROWS", 300)
    X = rng.standard_normal((20_000, 3))
    model = lowland.fit_sample(lowland.Isomap(n_components=2), X, 600, test_rows=0)
    written = lowland.transform_file(model, X, tmp_path / "map.npy", placement="interpolate")
    assert written.compared == 300
    assert written.error > 0.01  # rows of the sample have none


def test_interpolation_is_refused_where_there_is_nothing_to_interpolate(X, tmp_path):
    with pytest.raises(lowland.DataError, match="keeps no training rows"):
        lowland.transform_file(lowland.PCA(2).fit(X), X, tmp_path / "map.csv", placement="interpolate")
    with pytest.raises(ValueError, match="placement must be"):
        lowland.transform_file(lowland.PCA(2).fit(X), X, tmp_path / "map.csv", placement="nearest")
    with pytest.raises(lowland.DataError, match="read only once"):
        lowland.transform_file(lowland.Isomap().fit(X[:99]), iter([X]), tmp_path / "m.csv", placement="interpolate")
