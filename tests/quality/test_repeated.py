"""Ranks among equal rows: the same figures as by sorting, whatever is repeated."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lowland import quality
from lowland.quality import repeated
from lowland.quality.ranks import RankTable, rank_table
from lowland.quality.spaces import sides

COLUMNS = [field.name for field in dataclasses.fields(RankTable)][3:]  # after n, n_neighbors and the anchors


def tables(rng, case):
    """Return rows and a map with equal rows among them."""
    X = rng.normal(size=(60, 4))
    copies = rng.integers(0, 60, 400)
    if case == "map_follows":
        return X[copies], X[copies][:, :2]
    if case == "map_differs":  # equal rows lie in several places
        return X[copies], X[copies][:, :2] + rng.integers(0, 2, (400, 1))
    if case == "one_of_half":
        X = rng.integers(0, 3, (400, 3)).astype(np.float32)
        X[:200] = 1
        return X, X[:, :1] + rng.integers(0, 2, (400, 1))
    return rng.integers(0, 2, (400, 5)).astype(float), rng.integers(0, 3, (400, 2)).astype(float)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
@pytest.mark.parametrize("case", ["map_follows", "map_differs", "one_of_half", "lattice"])
@pytest.mark.parametrize("grouped", [False, True], ids=["plain", "groups"])
def test_figures_are_those_of_sorting(case, metric, grouped, rng, monkeypatch):
    X, Y = tables(rng, case)
    X = X + 1.0 if metric == "cosine" else X
    groups = np.array(["a", "b", None], dtype=object)[rng.integers(0, 3, 400)] if grouped else None
    both = sides(X, Y, metric)
    expected = rank_table(both, 7, groups=groups)
    monkeypatch.setattr(repeated, "MANY", 10)
    assert repeated.repeated(both) is not None
    found = rank_table(both, 7, groups=groups)
    for name in COLUMNS[: 9 if grouped else 7]:
        got, want = getattr(found, name), getattr(expected, name)
        assert np.allclose(got, want, rtol=1e-9, atol=1e-9, equal_nan=True), name


def test_it_is_for_tables_with_many_equal_rows_alone(rng, monkeypatch):
    monkeypatch.setattr(repeated, "MANY", 10)
    X = rng.normal(size=(200, 3))
    assert repeated.repeated(sides(X, X[:, :2])) is None
    twice = np.vstack([X, X])
    assert repeated.repeated(sides(twice, rng.normal(size=(400, 2)))) is None, "the map tells them apart"
    assert repeated.repeated(sides(twice, twice[:, :2])) is not None


def test_many_copies_give_the_report_of_all_rows(rng):
    """Of 12,000 rows, a third are copies of one row: anchors are drawn, and equal ones are looked at once."""
    X = rng.integers(0, 4, (12_000, 5)).astype(float)
    X[:4000] = 1.0
    drawn, whole = (quality.trustworthiness(X, X[:, :2], anchors=anchors) for anchors in (400, None))
    assert whole.exact
    assert 0.5 < drawn.low < whole < drawn.high < 1
    assert quality.trustworthiness(X, X[:, :2], anchors=400) == drawn
