"""Limits of novelty hold for tables of any distribution: false-positive rates on held-out rows, and planted rows."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2
from sklearn.datasets import load_wine

import lowland
from lowland.core.errors import UnitsWarning
from lowland.methods.shared.row_tails import ranks
from lowland.quality import keep_row_tails, novelty
from lowland.quality.limits import hotelling
from lowland.quality.training_tails import Quantiles


@pytest.fixture(scope="module", autouse=True)
def tails():
    """Fits keep the tails of their rows."""
    with keep_row_tails():
        yield


CITIES = [f"c{i}" for i in range(60)]
SHARES = 0.8 ** np.arange(60) / np.sum(0.8 ** np.arange(60))  # the rarest: one row in several hundred thousand
MILES = np.random.default_rng(7).uniform(100, 2500, 60)


def flights(n: int, seed: int) -> pl.DataFrame:
    """Delays with a heavy tail, levels of all frequencies, and a distance that follows from the city."""
    rng = np.random.default_rng(seed)
    city = rng.choice(60, n, p=SHARES)
    late = rng.exponential(20, n) * np.exp(rng.standard_normal(n) * 0.7) - 10
    return pl.DataFrame(
        {
            "hour": rng.integers(5, 24, n).astype(float),
            "delay": late,
            "arrival": late + 12 * rng.standard_normal(n),
            "miles": MILES[city] + 15 * rng.standard_normal(n),
            "minutes": MILES[city] / 7.5 + 25 + 10 * rng.standard_normal(n),
            "city": [CITIES[i] for i in city],
            "carrier": rng.choice(list("abcdef"), n, p=[0.5, 0.3, 0.15, 0.04, 0.009, 0.001]),
        }
    )


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return flights(10_000, 0)


@pytest.fixture(scope="module")
def recipe(table: pl.DataFrame) -> object:
    return lowland.recipe(lowland.PCA(2), categories="famd", unseen="ignore").fit(table)


@pytest.fixture(scope="module")
def famd(table: pl.DataFrame) -> object:
    return lowland.FAMD(2, unseen="ignore").fit(table)


@pytest.mark.parametrize("kind", ["recipe", "famd"])
@pytest.mark.parametrize("level", [0.99, 0.999])
def test_held_out_rows_of_a_mixed_table_are_flagged_at_about_the_stated_rate(kind, level, request, table) -> None:
    model = request.getfixturevalue(kind)
    new = flights(20_000, 1)
    known = new.filter(pl.col("city").is_in(table["city"].unique().to_list()))
    assert novelty(model, known, level=level).novel.mean() <= 2 * (1 - level)
    assert novelty(model, table, level=level).novel.mean() <= 2 * (1 - level)


@pytest.mark.parametrize("kind", ["recipe", "famd"])
def test_planted_rows_of_a_mixed_table_are_found(kind, request, table) -> None:
    model = request.getfixturevalue(kind)
    plain = flights(100, 2).filter(pl.col("city").is_in(CITIES[:20]))
    planted = {
        "hour": plain.with_columns(hour=table["hour"].mean() + 6 * table["hour"].std()),
        "miles": plain.with_columns(pl.col("miles") * 1000),
        "city": plain.with_columns(city=pl.lit("elsewhere")),
    }
    if kind == "recipe":  # all axes of FAMD tell the miles from the city
        planted["minutes"] = plain.with_columns(pl.col("minutes") + 120)
    for column, rows in planted.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnitsWarning)
            found = novelty(model, rows)
        assert found.novel.mean() > 0.95, column
        assert np.mean([column in [odd.column for odd in row] for row in found.unusual]) > 0.9, column


def skewed(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) @ np.random.default_rng(9).standard_normal((3, 10)) + rng.standard_normal((n, 10))
    X[:, :4] = np.exp(0.5 * X[:, :4])
    return X


def normal(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 3)) @ np.random.default_rng(9).standard_normal((3, 10)) + rng.standard_normal(
        (n, 10)
    )


@pytest.mark.parametrize(("make", "n"), [(normal, 100), (normal, 1000), (skewed, 2000), (skewed, 20_000)])
def test_held_out_rows_of_numbers_are_flagged_at_about_the_stated_rate(make, n: int) -> None:
    rates, power = [], []
    for seed in range(4):
        model = lowland.PCA(3, scale=True).fit(make(n, seed))
        new = make(10_000, 100 + seed)
        rates.append(novelty(model, new).novel.mean())
        odd = new[:200]
        odd[:, 7] = model.mean_[7] + 6 * model.scale_[7]
        power.append(novelty(model, odd).novel.mean())
    assert np.mean(rates) <= 0.002
    assert min(power) > 0.95


def test_held_out_rows_of_wine() -> None:
    X, flagged, planted = load_wine().data, [], []
    for seed in range(100):
        order = np.random.default_rng(seed).permutation(len(X))
        old, new = X[order[:120]], X[order[120:]]
        model = lowland.PCA(2, scale=True).fit(old)
        flagged.append(novelty(model, new, level=0.99).novel.mean())
        odd = new.copy()
        odd[:, 5] = model.mean_[5] + 6 * model.scale_[5]
        planted.append(novelty(model, odd, level=0.99).novel.mean())
    assert np.mean(flagged) <= 0.02
    assert np.mean(planted) > 0.95


def test_normal_quantiles_keep_the_limit_for_normal_rows_and_others_raise_it() -> None:
    law = hotelling(3, 5000)
    normal = chi2.isf((np.arange(5000) + 0.5) / 5000, 3)
    assert Quantiles(normal[ranks(5000) - 1], 5000).limit(law, 0.001) == law.beyond(0.001)
    heavy = normal**1.5
    found = Quantiles(heavy[ranks(5000) - 1], 5000)
    assert found.limit(law, 0.01) == pytest.approx(np.quantile(heavy, 0.99), rel=0.05)
    assert found.count_beyond(found.at(0.01)) == pytest.approx(50, abs=2)
