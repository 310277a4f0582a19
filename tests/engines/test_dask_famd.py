"""FAMD of Dask data frames: the bits of the table in memory, with and without a cluster."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lowland
from lowland.core.errors import CellError, DataError

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
