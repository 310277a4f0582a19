"""Dimensions that levels of categories add are not evidence of curvature."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.dimension.levels import that_matter, two_valued


def _levels(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.eye(12)[rng.integers(12, size=n)] for _ in range(2)], axis=1)
    return np.concatenate([codes, 0.2 * rng.normal(size=(n, 2))], axis=1)


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_clusters_of_levels_are_no_curve():
    found = lowland.dimension.estimate(_levels(600))
    assert found.consensus["linear"] > found.consensus["nonlinear"]
    assert "curved" not in found.sentence
    assert "24 columns are levels of categories or have two values" in found.sentence
    assert found.coordinates == round(found.consensus["linear"])


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_two_flags_of_hundreds_of_columns_are_no_reason():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 300)) + 0.3 * rng.normal(size=(200, 300))
    with_flags = np.concatenate([flat, rng.integers(2, size=(200, 2))], axis=1)
    found = lowland.dimension.estimate(with_flags)
    assert "two values" not in found.sentence
    assert found.of_levels(2) is found
    assert (that_matter(2, 302), that_matter(24, 302)) == (0, 24)


def test_a_curve_beside_two_flags_is_still_a_curve():
    X, _ = lowland.data.swiss_roll(1500, random_state=0)
    flags = np.random.default_rng(0).integers(2, size=(1500, 1)) * 1e-3
    assert "curved" in lowland.dimension.estimate(np.concatenate([X, flags], axis=1)).sentence


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_rows_that_code_categories_have_their_levels():
    found = lowland.dimension.estimate(_levels(600) @ np.linalg.qr(np.random.default_rng(1).normal(size=(26, 26)))[0])
    told = found.of_levels(24).sentence
    assert "24 columns are levels of categories" in told
    assert "curved" not in told
    assert found.of_levels(0) is found
    assert found.linear_method == "PCA"
    other = lowland.dimension.estimate(_levels(300), metric="cityblock")
    assert other.linear_method is None
    assert other.of_levels(24) is other  # its linear dimensions are not those of the metric


def test_levels_of_text_and_flags_are_counted():
    frame = pl.DataFrame({"kind": ["a", "b", "c"], "flag": [0, 1, 1], "x": [0.1, 0.2, 0.3]})
    assert two_valued(frame) == 4
    assert two_valued(np.ones((3, 2))) == 0
