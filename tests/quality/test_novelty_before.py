"""Novelty of rows that a method before the method (`pre`) would hide: rows off its axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.quality import novelty

METHODS = [lambda: lowland.Isomap(2, n_neighbors=10), lambda: lowland.PCA(2), lambda: lowland.TSNE(2, random_state=0)]


def plane(n: int = 300, seed: int = 0) -> Any:
    """Return rows near a plane in ten dimensions."""
    rng = np.random.default_rng(seed)
    basis = np.random.default_rng(99).standard_normal((2, 10)) * 3
    return rng.standard_normal((n, 2)) @ basis + 0.05 * rng.standard_normal((n, 10))


def off_plane(X: Any, far: float = 100.0) -> Any:
    """Return three rows, of which the second is far off the plane."""
    V = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]
    new = X[:3].copy()
    new[1] += far * V[5]
    return new


@pytest.mark.parametrize("make", METHODS)
@pytest.mark.parametrize("scale", [None, "standard"])
def test_rows_off_the_axes_of_pre_are_novel(make: Any, scale: str | None) -> None:
    X = plane()
    model = lowland.recipe(make(), scale=scale, pre="pca:2").fit(X)
    for far in (2.0, 100.0):
        found = novelty(model, off_plane(X, far))
        assert found.novel.tolist() == [False, True, False]
        assert found.spe is not None
        assert found.spe[1] > found.limits["spe"]
    assert novelty(model, plane(2000, seed=1)).novel.mean() < 0.01
    assert not novelty(model, X).novel.any()


def test_spe_after_pre_is_the_squared_distance_to_its_plane() -> None:
    X = plane()
    new = off_plane(X, 7.0)
    model = lowland.recipe(lowland.Isomap(2, n_neighbors=10), pre="pca:2").fit(X)
    alone = novelty(lowland.PCA(2).fit(X), new)
    found = novelty(model, new)
    np.testing.assert_allclose(found.spe, alone.spe, rtol=1e-9)
    np.testing.assert_allclose(found.t2, alone.t2, rtol=1e-9)


def test_training_rows_give_the_distance_before_pre() -> None:
    X = plane()
    new = off_plane(X, 50.0)
    model = lowland.recipe(lowland.Isomap(2, n_neighbors=10), pre="pca:2").fit(X)
    found = novelty(model, new, X)
    expected = np.sort(np.linalg.norm(new[1] - X, axis=1))[9]
    assert found.distance is not None
    assert found.distance[1] == pytest.approx(expected)
    projected = lowland.recipe(lowland.PCA(2), pre="truncated_svd:2").fit(X)  # has no axes with variances
    assert novelty(projected, new, X).novel.tolist() == [False, True, False]


def test_the_unusual_column_after_pre_is_that_in_the_other_unit() -> None:
    rng = np.random.default_rng(4)
    size = rng.normal(size=200)
    frame = pl.DataFrame(
        {
            "age": 50 + 9 * rng.normal(size=200),
            "height": 170 + 8 * size + rng.normal(size=200),
            "weight": 70 + 10 * size + 2 * rng.normal(size=200),
            "crp": 5 + rng.normal(size=200),
            "hb": 13 + rng.normal(size=200),
        }
    )
    new = frame[:3].with_columns(age=pl.Series([frame["age"][0], frame["age"][1] / 1000, frame["age"][2]]))
    for make in METHODS[:2]:
        model = lowland.recipe(make(), scale="standard", pre="pca:2").fit(frame)
        found = novelty(model, new)
        assert found.novel.tolist() == [False, True, False]
        assert found.unusual[1][0].column == "age"
        assert found.unusual[1][0].value == pytest.approx(frame["age"][1] / 1000)


def test_distances_along_pre_name_the_columns_of_the_table() -> None:
    X = plane(400)
    model = lowland.recipe(lowland.Isomap(2, n_neighbors=10), pre="pca:9").fit(X)
    new = X[:2].copy()
    new[1] += 300 * np.eye(10)[3]
    found = novelty(model, new)
    assert found.novel.tolist() == [False, True]
    assert found.unusual[1][0].column == "x3"


def test_a_saved_model_judges_before_pre(tmp_path: Path) -> None:
    X = plane()
    model = lowland.recipe(lowland.Isomap(2, n_neighbors=10), scale="standard", pre="pca:2").fit(X)
    lowland.save(model, tmp_path / "m.lowland")
    new = off_plane(X)
    here, there = novelty(model, new), novelty(lowland.load(tmp_path / "m.lowland"), new)
    np.testing.assert_array_equal(here.spe, there.spe)
    np.testing.assert_array_equal(here.novel, there.novel)
