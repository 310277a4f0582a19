"""FAMD of Dask data frames and of files that workers read: the bits of the table in this process."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lowland
from lowland.core.errors import CellError, DataError
from lowland.data import scan
from lowland.rows.shared_scan import SharedScan

dd = pytest.importorskip("dask.dataframe")

N = 70_000  # more rows than are counted at a time


def same_bits(one, other):
    for name in ("components_", "eigenvalues_", "explained_variance_ratio_", "mean_", "scale_"):
        np.testing.assert_array_equal(getattr(one, name, 0), getattr(other, name, 0))


def patients(n):
    rng = np.random.default_rng(0)
    kind = rng.choice(["u", "v", "w"], n)
    return pd.DataFrame(
        {
            "a": rng.standard_normal(n) + 100,
            "kind": kind,
            "b": rng.standard_normal(n) * 3 + (kind == "u"),
            "ward": pd.Categorical(rng.choice(["north", "south"], n), categories=["south", "north", "unused"]),
            "site": rng.integers(0, 4 if n < N else 300, n),
            "smoker": rng.random(n) < 0.3,
        }
    )


def lazy(frame, n=5):
    """Return partitions of unequal lengths, the first of them empty."""
    found = dd.from_pandas(frame, npartitions=n)
    return dd.concat([found[found["b"] > 1e9], found])


@pytest.mark.parametrize("n", [900, N])
def test_the_bits_of_the_table_in_memory(client, n):
    frame = patients(n)
    want = lowland.FAMD(3, categorical=["site"]).fit(frame)
    got = lowland.FAMD(3, categorical=["site"]).fit(lazy(frame))
    same_bits(got, want)
    assert got.levels_ == want.levels_
    assert got.fit_info_.algorithm == want.fit_info_.algorithm == ("counts" if n == N else "svd")
    placed = got.transform(lazy(frame))
    assert hasattr(placed, "dask")
    np.testing.assert_allclose(np.asarray(placed), want.transform(frame), rtol=0, atol=1e-12)


@pytest.mark.parametrize("how", [{"method": "PCA", "categories": "famd"}, {"method": "FAMD"}], ids=["step", "method"])
def test_recipes(how):
    frame = patients(5000)
    frame.loc[::7, "b"] = np.nan
    frame.loc[::11, "kind"] = None

    def model():
        steps = {"missing": "median", "missing_category": "level", "types": {"site": "category"}}
        steps |= {"categories": "famd"} if "categories" in how else {}
        return lowland.recipe(getattr(lowland, how["method"])(2), **steps)

    want, got = model().fit(frame), model().fit(lazy(frame))
    same_bits(got[-1], want[-1])
    np.testing.assert_allclose(np.asarray(got.transform(lazy(frame))), want.transform(frame), rtol=0, atol=1e-12)


def test_cells_that_cannot_be_used(client):
    frame = patients(3000)
    model = lowland.FAMD(2).fit(lazy(frame))
    odd = frame.assign(kind=frame["kind"].where(frame.index != 2345))
    with pytest.raises(CellError, match=r"a missing category at row 2345, column 1 \('kind'\)"):
        lowland.FAMD(2).fit(lazy(odd))
    assert model.transform(lazy(frame)).shape[1] == 2
    with pytest.raises(CellError, match="the level 'new', which the training rows do not have"):
        model.transform(lazy(frame.assign(kind=["new"] * 3000))).compute()
    ignored = lowland.FAMD(2, unseen="ignore").fit(lazy(frame))
    assert np.isfinite(np.asarray(ignored.transform(lazy(frame.assign(kind=["new"] * 3000))))).all()
    gap = frame.assign(a=frame["a"].where(frame.index != 2999))
    with pytest.raises(CellError, match=r"NaN at row 2999, column 0 \('a'\)"):
        lowland.FAMD(2).fit(lazy(gap))
    with pytest.raises(DataError, match="the table has no rows; a table needs at least one row"):
        lowland.FAMD(2).fit((rows := lazy(frame))[rows["b"] > 1e9])


# -- files that workers read ------------------------------------------------------------------------------------------


def stored(frame, folder, form):
    """Write a table to a file; return a function that opens it, and one that lets workers read it in parts."""
    path = folder / f"rows.{form}"
    if form == "npy":
        np.save(path, np.column_stack([frame["a"], frame["site"], frame["b"]]))
    elif form == "parquet":
        pl.from_pandas(frame).write_parquet(path, row_group_size=2_500)
    else:
        pl.from_pandas(frame).write_csv(path)
    return lambda: scan(path), lambda: SharedScan(scan(path), rows=3_000)


@pytest.fixture
def _small_text_blocks(monkeypatch):
    monkeypatch.setattr("lowland.data.scans.text._BLOCK_BYTES", 1 << 16)


@pytest.mark.usefixtures("_small_text_blocks")
@pytest.mark.parametrize("form", ["parquet", "csv", "npy"])
def test_files_have_the_bits_of_this_process(client, tmp_path, form):
    here, there = stored(patients(20_000), tmp_path, form)
    column = 1 if form == "npy" else "site"
    want = lowland.FAMD(3, categorical=[column]).fit(here())
    got = lowland.FAMD(3, categorical=[column]).fit(there())
    same_bits(got, want)
    assert got.levels_ == want.levels_
    assert list(getattr(got, "feature_names_in_", [])) == list(getattr(want, "feature_names_in_", []))
    for name, rows in (("here", here()), ("there", there())):
        lowland.transform_file(want, rows, tmp_path / f"{name}.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "there.npy"), np.load(tmp_path / "here.npy"))
    assert hasattr(want.transform(there()), "dask")
    np.testing.assert_allclose(np.asarray(want.transform(there())), np.load(tmp_path / "here.npy"), rtol=1e-9)


@pytest.mark.usefixtures("_small_text_blocks")
@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("how", [{"method": "PCA", "categories": "famd"}, {"method": "FAMD"}], ids=["step", "method"])
def test_recipes_of_files(client, tmp_path, form, how):
    frame = patients(9000)
    frame.loc[::7, "b"] = np.nan
    frame.loc[::11, "kind"] = None
    here, there = stored(frame, tmp_path, form)

    def model():
        steps = {"missing": "median", "missing_category": "level", "types": {"site": "category"}}
        steps |= {"categories": "famd"} if "categories" in how else {}
        return lowland.recipe(getattr(lowland, how["method"])(2), **steps)

    want, got = lowland.fit(model(), here()), lowland.fit(model(), there())
    same_bits(got[-1], want[-1])
    for name, rows in (("here", here()), ("there", there())):
        lowland.transform_file(got, rows, tmp_path / f"{name}.parquet", keep=["kind"])
    assert pl.read_parquet(tmp_path / "there.parquet").equals(pl.read_parquet(tmp_path / "here.parquet"))


@pytest.mark.usefixtures("_small_text_blocks")
def test_cells_of_files_are_named_by_file_and_line(client, tmp_path):
    frame = patients(9000)
    model = lowland.FAMD(2)
    (tmp_path / "kind").mkdir()
    _, there = stored(frame.assign(kind=frame["kind"].where(frame.index != 7345)), tmp_path / "kind", "csv")
    with pytest.raises(CellError, match=r"category at row 7345, column 1 \('kind'\), in rows\.csv, line 7347"):
        model.fit(there())
    (tmp_path / "a").mkdir()
    _, there = stored(frame.assign(a=frame["a"].where(frame.index != 8123)), tmp_path / "a", "parquet")
    with pytest.raises(CellError, match=r"NaN at row 8123, column 0 \('a'\), in rows\.parquet, row 8123"):
        model.fit(there())
    assert not hasattr(model, "components_")
    _, there = stored(frame, tmp_path, "csv")
    model.fit(there())
    stored(frame.assign(kind=frame["kind"].where(frame.index != 5321, "new")), tmp_path, "csv")
    with pytest.raises(
        CellError, match=r"the level 'new', .* at row 5321, column 1 \('kind'\), in rows\.csv, line 5323"
    ):
        lowland.transform_file(model, there(), tmp_path / "map.csv")
    assert not (tmp_path / "map.csv").exists()


def test_a_file_that_changes_between_two_passes_is_refused(client, tmp_path):
    frame = patients(9000)
    _, there = stored(frame, tmp_path, "parquet")

    def change(stage, done, total):
        stored(frame[:-1], tmp_path, "parquet")

    model = lowland.FAMD(2)
    with lowland.config(progress=change), pytest.raises(DataError, match="it changed since it was opened"):
        model.fit(there())
    assert not hasattr(model, "components_")
