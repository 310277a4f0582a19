"""Exact quantiles in passes, whatever the sample that guesses them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from lowland.methods.steps import quantiles as room
from lowland.methods.steps import training_rows
from lowland.methods.steps.folds import ColumnSums, SampledNumbers
from lowland.methods.steps.quantiles import quantiles
from lowland.methods.steps.training_rows import FrameRows

SHARES = (0.0, 0.001, 0.25, 0.5, 0.9, 1.0)
ROWS = 5003


class Counted(FrameRows):
    """Counts its passes."""

    passes = 0

    def run(self, *folds):
        type(self).passes += 1
        super().run(*folds)


@pytest.fixture(autouse=True)
def _blocks(monkeypatch):
    monkeypatch.setattr(training_rows, "_MAX_ROWS", 512)
    Counted.passes = 0


def columns():
    rng = np.random.default_rng(4)
    normal = rng.standard_normal(ROWS)
    return {
        "normal": normal,
        "sorted": np.sort(rng.standard_cauchy(ROWS)),
        "whole": rng.integers(-3, 4, ROWS).astype(float),
        "one value and a few": np.where(rng.random(ROWS) < 0.01, normal, 7.0),
        "gaps": np.where(rng.random(ROWS) < 0.9, np.nan, normal),
        "tiny": normal * 5e-324 * 1e3,
        "huge": normal * 1e306,
        "alternating": np.where(np.arange(ROWS) % 2, 1e9, -1e9) + normal,
        "one": np.where(np.arange(ROWS) == 17, 3.0, np.nan),
    }


@pytest.mark.parametrize("most", [1 << 23, 100])
@pytest.mark.parametrize("guess", ["sample", "elsewhere", "constant", "nothing"])
def test_quantiles_are_those_of_numpy(monkeypatch, most, guess):
    monkeypatch.setattr(room, "MAX_COLLECTED", most)
    table = pl.DataFrame(columns()).fill_nan(None)
    rows, names = Counted(table), table.columns
    sums, drawn = ColumnSums(names), SampledNumbers(names, 400, ROWS)
    rows.run(sums, drawn)
    sample = drawn.rows
    known = {"sample": sample, "elsewhere": sample + 1e3, "constant": sample * 0, "nothing": sample * np.nan}[guess]
    found = quantiles(rows, sums, known, SHARES)
    want = np.array([np.nanquantile(values, SHARES) for values in columns().values()]).T
    np.testing.assert_allclose(found, want, rtol=4e-16, atol=0)
    if guess == "sample":
        assert Counted.passes <= (2 if most > ROWS else 4)


def test_a_table_in_one_block_needs_few_passes():
    table = pl.DataFrame({"a": np.arange(200.0)})
    rows = Counted(table)
    sums, drawn = ColumnSums(["a"]), SampledNumbers(["a"], 1000, 200)
    rows.run(sums, drawn)
    assert quantiles(rows, sums, drawn.rows, (0.5,)).tolist() == [[99.5]]
    assert Counted.passes == 1  # the drawn rows are all rows


@pytest.mark.parametrize(("offset", "size"), [(0, 1), (1e8, 1), (-1e15, 1), (0, 1e-300), (0, 1e307), (3e7, 1e-300)])
def test_sums_keep_their_digits(offset, size):
    x = (np.random.default_rng(0).standard_normal(ROWS) + offset) * size
    rows = FrameRows(pl.DataFrame({"x": x, "gap": [None] * 600 + [2.0] * (ROWS - 600)}))
    sums = ColumnSums(["x", "gap"])
    rows.run(sums)
    apart = np.asarray(x, dtype=np.longdouble) - x[0]  # exact
    spread = float(apart.std())
    np.testing.assert_allclose(sums.mean[0], float(apart.mean() + x[0]), rtol=2e-16, atol=1e-16 * spread)
    np.testing.assert_allclose(sums.deviation[0], spread, rtol=1e-14)
    assert sums.count.tolist() == [ROWS, ROWS - 600]
    assert (sums.mean[1], sums.deviation[1], sums.low[1]) == (2.0, 0.0, 2.0)
