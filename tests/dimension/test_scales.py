"""The plateau over scales, and draws of anchors: on curves and moments that are made up."""

from __future__ import annotations

import numpy as np
import pytest

from lowland.dimension.angles import AngleSums, ScaleCurve, curve, moments, plateau


def curve_of(values, distances=None):
    v = np.asarray(values, dtype=float)
    n = len(v)
    radius = 1.5 ** np.arange(n)
    d = v if distances is None else np.asarray(distances, dtype=float)
    draws = np.tile(v, (10, 1))
    return ScaleCurve(2.0 ** np.arange(n), radius, v, v, d, np.zeros(n, bool), v, draws, draws)


def test_the_lowest_level_stretch_is_the_plateau():
    found = plateau(curve_of([9.0, 9.0, 8.9, 5.0, 2.1, 2.0, 2.0, 2.1, 2.6, 3.0]))
    assert found.level
    assert (found.first, found.last) == (4, 7)
    assert found.value == pytest.approx(2.03, abs=0.05)


def test_a_fall_without_an_end_is_told():
    found = plateau(curve_of([20.0, 20.0, 19.8, 19.0, 15.0, 9.0, 5.0, 2.5]))
    assert not found.level
    assert found.value == 2.5
    assert found.value.low == 1
    assert found.value.high >= 9


def test_a_rise_from_the_start_is_followed_to_zero():
    radius = 1.5 ** np.arange(8)
    values = 3 * np.exp(0.02 * radius**2)
    found = plateau(curve_of(values, np.full(8, 3.0)))
    assert found.rising
    assert found.value == pytest.approx(3, rel=1e-9)


def test_distances_far_below_a_rise_have_no_say():
    values = 3 * np.exp(0.02 * (1.5 ** np.arange(8)) ** 2)
    for distances in (0.5, np.nan):
        found = plateau(curve_of(values, np.full(8, distances)))
        assert found.rising
        assert found.value == pytest.approx(3, rel=1e-9)
        assert found.value.low > 2.8


def test_scales_of_a_draw_err_together():
    """A window over three scales of the very same moments is no surer than one of them."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((60, 8, 3))
    one = AngleSums(8.0, moments(Z @ Z.transpose(0, 2, 1)), np.ones(60), 1.0, 60.0, 3.0)
    found = curve([one] * 5, np.random.default_rng(1))
    np.testing.assert_allclose(found.low, found.low[:, :1] * np.ones(5), rtol=1e-12)
    few = curve([one._replace(independent=10.0)] * 5, np.random.default_rng(1))
    assert few.low.std() > 1.5 * found.low.std()


def test_draws_of_many_anchors_are_made_in_parts(monkeypatch):
    Z = np.random.default_rng(0).standard_normal((60, 8, 3))
    one = AngleSums(8.0, moments(Z @ Z.transpose(0, 2, 1)), np.ones(60), 1.0, 60.0, 3.0)
    whole = curve([one] * 3, np.random.default_rng(1))
    monkeypatch.setattr("lowland.dimension.angles._WEIGHTS", 7 * 60)
    parts = curve([one] * 3, np.random.default_rng(1))
    np.testing.assert_allclose(parts.low, whole.low, rtol=1e-12)


def test_a_long_shape_is_not_noise():
    """Fine scales that stay at 5 of 20 dimensions are no noise, whatever the coarse ones say; at 18 of 20 they are."""
    values = [5.1, 5.0, 5.0, 4.6, 1.2, 1.0, 1.0, 1.0]
    assert plateau(curve_of(values), 20).value == pytest.approx(5, abs=0.1)
    assert plateau(curve_of(values), 7).value == pytest.approx(1, abs=0.1)
    assert plateau(curve_of(values)).value == pytest.approx(1, abs=0.1)


def test_the_range_of_scales_is_from_its_least_to_its_largest():
    from lowland.dimension.notes import doubts

    scales = curve_of([9.4, 5.0, 7.0, 4.9, 9.8, 6.0])
    level = plateau(scales)._replace(level=False, rising=False)
    assert "from 4.9 to 9.8 over the scales" in " ".join(doubts(level, scales, 10**9))
