"""Dask collections where the client reads them: samples, files of coordinates, outliers, reports, texts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lowland
from lowland import quality
from lowland.core.errors import DataError
from lowland.text import LatentSemanticIndex

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

N = 3000


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((N, 5))
    table = pd.DataFrame(X, columns=list("abcde"))
    texts = [f"{word} {'wing' if i % 3 else 'engine'}" for i, word in enumerate(rng.choice(["red", "blue", "old"], N))]
    return table.assign(kind=rng.choice(["u", "v", "w"], N), text=texts)


@pytest.fixture(scope="module")
def numbers(frame):
    return frame[list("abcde")]


def lazy(frame):
    """Return partitions of unequal lengths, one of them empty."""
    found = dd.from_pandas(frame, npartitions=4)
    return dd.concat([found, found[found["a"] > 1e9]])


def same_fit(one, other):
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    assert one.fit_info_.approximation_error == other.fit_info_.approximation_error
    assert one.fit_info_.approximate


@pytest.mark.parametrize("as_array", [False, True])
def test_fit_sample(numbers, as_array):
    rows = lazy(numbers)
    rows = rows.to_dask_array() if as_array else rows
    want = lowland.fit_sample(lowland.Isomap(n_components=2), numbers, n_rows=200)
    same_fit(lowland.fit_sample(lowland.Isomap(n_components=2), rows, n_rows=200), want)


def test_fit_sample_of_categories_and_of_recipes(frame):
    mixed = frame.drop(columns="text")
    want = lowland.fit_sample(lowland.FAMD(2), mixed, n_rows=300)
    got = lowland.fit_sample(lowland.FAMD(2), lazy(mixed), n_rows=300)
    np.testing.assert_array_equal(got.components_, want.components_)
    model = lowland.recipe(lowland.Isomap(n_components=2), categories="one-hot", scale="standard")
    model = lowland.fit_sample(model, lazy(mixed), n_rows=200)
    assert model[-1].fit_info_.evidence["rows of the table"] == N


def test_transform_file_of_a_recipe_and_with_kept_columns(frame, numbers, tmp_path):
    how = {"categories": "one-hot", "drop": ["text"]}
    model = lowland.recipe(lowland.PCA(2), **how).fit(frame)
    for source, out in ((frame, "want.parquet"), (lazy(frame), "got.parquet")):
        lowland.transform_file(model, source, tmp_path / out, keep=["kind", "a"])
    found = pl.read_parquet(tmp_path / "got.parquet")
    assert found.columns == ["kind", "a", "pca0", "pca1"]
    assert found.equals(pl.read_parquet(tmp_path / "want.parquet"))
    assert lowland.transform_file(model, lazy(frame), tmp_path / "map.npy").n_rows == N
    np.testing.assert_array_equal(np.load(tmp_path / "map.npy"), found[["pca0", "pca1"]].to_numpy())
    method = lowland.PCA(2).fit(numbers)
    lowland.transform_file(method, lazy(numbers), tmp_path / "m.csv", keep=["a"])
    lowland.transform_file(method, numbers, tmp_path / "n.csv", keep=["a"])
    assert (tmp_path / "m.csv").read_bytes() == (tmp_path / "n.csv").read_bytes()
    with pytest.raises(DataError, match="keep names columns, and this table has none"):
        lowland.transform_file(lowland.PCA(2).fit(numbers.to_numpy()), da.ones((50, 5)), tmp_path / "o.csv", keep=["a"])


def test_outliers(numbers):
    odd = numbers.copy()
    odd.iloc[77] = 30.0
    want = quality.outliers(odd.to_numpy())
    rows = lazy(odd)
    for given in (rows, rows.to_dask_array(), da.from_array(odd.to_numpy(), chunks=(700, 2))):
        found = quality.outliers(given)
        assert found.rows[0] == 77
        np.testing.assert_array_equal(found.rows, want.rows)
        np.testing.assert_allclose(found.severity, want.severity, rtol=1e-9)


def test_report_of_rows_and_lazy_coordinates(numbers):
    model = lowland.PCA(2).fit(numbers)
    rows = lazy(numbers)
    want = quality.report(numbers, model.transform(numbers))
    for X, Y in ((rows, model.transform(rows)), (rows.to_dask_array(), model.transform(numbers))):
        found = quality.report(X, Y)
        assert dict(found.measures) == pytest.approx(dict(want.measures), rel=1e-9)


def test_texts_of_a_column(frame):
    want = LatentSemanticIndex(2, min_df=1).fit(frame, column="text")
    for given in (lazy(frame), lazy(frame[["text", "a"]])):
        got = LatentSemanticIndex(2, min_df=1).fit(given, column="text")
        np.testing.assert_array_equal(got.documents_, want.documents_)
    named = LatentSemanticIndex(2, min_df=1).fit(lazy(frame.assign(name=range(N))), column="text", id="name")
    assert list(named.ids_[:3]) == ["0", "1", "2"]
    gaps = frame.assign(text=frame["text"].where(frame.index % 2 == 0))
    with pytest.warns(lowland.DegenerateWarning, match="1,500 texts of 3,000 have no terms"):
        LatentSemanticIndex(2, min_df=1).fit(lazy(gaps), column="text")
    with pytest.raises(DataError, match="2 columns that may be text; name the texts with column"):
        LatentSemanticIndex(2).fit(lazy(frame))
    with pytest.raises(DataError, match="no column 'words'"):
        LatentSemanticIndex(2).fit(lazy(frame), column="words")
    with pytest.raises(DataError, match="column 'a': it contains float64, not text"):
        LatentSemanticIndex(2).fit(lazy(frame), column="a")
    with pytest.raises(DataError, match="no column of texts"):
        LatentSemanticIndex(2).fit(da.ones((5, 2)))


@pytest.mark.parametrize("model", [lowland.PCA(2), lowland.TruncatedSVD(2), lowland.Isomap()], ids=str)
def test_a_collection_without_rows(numbers, model):
    rows = lazy(numbers)
    for given in (rows[rows["a"] > 1e9], (array := da.ones((50, 5), chunks=(20, 5)))[array[:, 0] > 2]):
        with pytest.raises(DataError, match="the table has no rows; a table needs at least one row"):
            model.fit(given)
        with pytest.raises(DataError, match="the table has no rows; a table needs at least one row"):
            lowland.recipe(model, scale="standard").fit(given)
