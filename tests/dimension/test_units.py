"""Dimensions do not depend on the unit of the rows, whose squares may overflow or underflow."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from lowland import dimension
from lowland.rows import units

RULES = (
    "variance_share",
    "largest_gap",
    "participation_ratio",
    "broken_stick",
    "gavish_donoho",
    "minka",
    "parallel_analysis",
    "two_nn",
    "levina_bickel",
    "correlation_dimension",
)
told = pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")  # 60 rows are few
EXPONENTS = (-1000, -520, 600, 1000)


def table():
    rng = np.random.default_rng(1)
    return rng.standard_normal((60, 3)) @ rng.standard_normal((3, 7)) + 0.3 * rng.standard_normal((60, 7)) + 2


def same(found, want):
    """Compare to rounding: logarithms of distances in another unit are rounded elsewhere."""
    assert (float(found), found.low, found.high) == pytest.approx((float(want), want.low, want.high), rel=1e-12)


def same_rules(found, want):
    for part in ("linear", "nonlinear", "consensus"):
        assert getattr(found, part).keys() == getattr(want, part).keys()
        for name, value in getattr(want, part).items():
            same(getattr(found, part)[name], value)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_finds_the_same_in_any_unit(name):
    rule, X = getattr(dimension, name), table()
    want, sparse = rule(X), rule(sp.csr_array(X))
    for k in EXPONENTS:
        same(rule(units.times(X, k)), want)
        same(rule(sp.csr_array(units.times(X, k))), sparse)
    X = X.astype(np.float32)
    same(rule(units.times(X, 100)), rule(X))
    X = units.times(units.times(X, -140), 140)  # as many digits as subnormal numbers have
    same(rule(units.times(X, -140)), rule(X))


@told
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine", "precomputed"])
def test_an_estimate_and_its_radii(metric):
    X = cdist(table(), table()) if metric == "precomputed" else table()
    want = dimension.estimate(X, metric=metric)
    for k in EXPONENTS:
        found = dimension.estimate(units.times(X, k), metric=metric)
        same_rules(found, want)
        if want.scales is not None:
            power = 0 if metric == "cosine" else k
            np.testing.assert_array_equal(found.scales.radius, units.times(want.scales.radius, power))


@told
def test_an_estimate_of_scaled_columns():
    want = dimension.estimate(table(), scale=True)
    for k in EXPONENTS:
        found = dimension.estimate(units.times(table(), k), scale=True)
        same_rules(found, want)
        np.testing.assert_array_equal(found.spectrum.scale, units.times(want.spectrum.scale, k))
