"""How many dimensions: shares, drops, and parallel analysis on data whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from lowland import PCA
from lowland.core.errors import DataError
from lowland.dimension import Advice, advice, parallel_analysis
from lowland.dimension.spectrum import CAVEAT, components_for_share, largest_drop
from lowland.spectral.parallel_analysis import null_spectrum

# Eigenvalues of four point clouds in the plane: a line, a thicker one, a circle, a filled square.
PAIRS = [(0.0938, 0.0007), (0.1260, 0.0054), (0.0884, 0.0725), (0.0881, 0.0769)]


# -- shares and drops ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "share", "count"),
    [
        (PAIRS[0], 0.9925, 1),
        (PAIRS[0], 0.9927, 2),
        (PAIRS[1], 0.95, 1),
        (PAIRS[1], 0.96, 2),
        (PAIRS[2], 0.549, 1),
        (PAIRS[2], 0.55, 2),
        (PAIRS[3], 0.533, 1),
        (PAIRS[3], 0.534, 2),
    ],
)
def test_l12_share_of_the_worked_pairs(pair, share, count):
    assert components_for_share(pair, sum(pair), share) == count


def test_l12_worked_pairs_tell_lines_from_the_rest_but_not_circle_from_square():
    line, thick, circle, square = (advice(pair) for pair in PAIRS)
    assert line.counts == thick.counts == {0.8: 1, 0.9: 1, 0.95: 1}
    assert circle.counts == square.counts == {0.8: 2, 0.9: 2, 0.95: 2}
    ratios = [advice(pair).drop_ratio for pair in PAIRS]
    np.testing.assert_allclose(ratios, [134, 23.3333, 1.21931, 1.14564], rtol=1e-5)
    assert "drops most after 1 (by a factor of 134)" in line.sentence
    assert "drops most" not in circle.sentence  # 1.2 is no drop
    assert all(a.sentence.endswith(CAVEAT) for a in (line, thick, circle, square))


def test_share_is_reached_at_the_exact_boundary():
    assert components_for_share([6, 3, 1], 10, 0.9) == 2
    assert components_for_share([6, 3, 1], 10, 1.0) == 3
    thirds = [0.1] * 10  # sums of tenths are not exact in binary
    assert components_for_share(thirds, 1.0, 0.3) == 3


def test_share_that_the_computed_part_does_not_reach_is_none():
    assert components_for_share([5, 1], 20, 0.8) is None
    found = advice([5, 1], total=20)
    assert found.counts == {0.8: None, 0.9: None, 0.95: None}
    assert "The 2 computed components hold 30% of the variance." in found.sentence


def test_data_that_do_not_vary_have_no_share():
    found = advice([0.0, 0.0])
    assert found.counts == {0.8: None, 0.9: None, 0.95: None}
    assert (found.drop, found.drop_ratio) == (None, None)
    assert found.sentence.startswith("The data do not vary.")


def test_advice_is_a_record_with_a_sentence():
    found = advice([8, 1, 0.5, 0.5])
    assert isinstance(found, Advice)
    assert found.sentence.startswith("Components needed: 1 for 80%, 2 for 90%, 3 for 95% of the variance.")
    assert (found.drop, found.drop_ratio) == (1, 8.0)
    with pytest.raises(AttributeError):
        found.drop = 2


@pytest.mark.parametrize(
    ("spectrum", "expected"),
    [
        ([10, 9, 8, 0.5, 0.4], (3, 16.0)),
        ([4, 2, 1], (1, 2.0)),  # a tie: the first
        ([3.0], (None, None)),
        ([3.0, 0.0], (None, None)),
        ([3.0, 1e-17], (None, None)),  # rounding is not a value
        ([4.0, 1.0, 0.0, 0.0], (1, 4.0)),
        ([4.0, 1.0, 2e-16, 1e-30], (1, 4.0)),
    ],
)
def test_largest_drop(spectrum, expected):
    assert largest_drop(spectrum) == expected


# -- parallel analysis -----------------------------------------------------------------------------------


def spectrum_of(X, scale):
    X = X - X.mean(axis=0)
    if scale:
        X = X / X.std(axis=0, ddof=1)
    values = np.linalg.svd(X, compute_uv=False) ** 2 / (len(X) - 1)
    return values, X.var(axis=0, ddof=1)


def planted(rng, n, d, k, strength=2.0):
    """k independent factors, equally strong and orthogonal, and unit noise."""
    loadings = np.linalg.qr(rng.standard_normal((d, k)))[0].T * np.sqrt(d)
    return strength * rng.standard_normal((n, k)) @ loadings + rng.standard_normal((n, d))


SHAPES = [(2000, 12), (60, 200)]


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_pure_noise_has_one_component_by_definition(shape, scale):
    counts = []
    for seed in range(20):
        X = np.random.default_rng(seed).standard_normal(shape)
        values, variances = spectrum_of(X, scale)
        counts.append(parallel_analysis(values, shape[0], variances, random_state=seed))
    assert counts.count(1) >= 17  # a 95 % rule errs now and then
    assert max(counts) <= 3


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 3, 5])
def test_planted_factors_are_counted(k, shape, scale):
    X = planted(np.random.default_rng(k), *shape, k)
    values, variances = spectrum_of(X, scale)
    assert parallel_analysis(values, shape[0], variances) == k
    assert PCA("auto", scale=scale).fit(X).n_components_ == k


def test_strong_factors_hide_weak_ones_but_none_is_invented():
    """The known weakness of the rule: all values are compared with one null, of the whole variance."""
    rng = np.random.default_rng(5)
    loadings = np.linalg.qr(rng.standard_normal((12, 5)))[0].T * np.array([10, 7, 6, 4, 3])[:, None]
    X = rng.standard_normal((2000, 5)) @ loadings + rng.standard_normal((2000, 12))
    values, variances = spectrum_of(X, False)
    assert 1 <= parallel_analysis(values, 2000, variances) < 5


@pytest.mark.parametrize("scale", [False, True])
def test_independent_columns_of_unlike_variance_are_not_factors(scale):
    X = np.random.default_rng(5).standard_normal((3000, 8)) * [20, 10, 5, 2, 1, 1, 0.5, 0.1]
    values, variances = spectrum_of(X, scale)
    assert parallel_analysis(values, 3000, variances) == 1


@pytest.mark.parametrize("n", [30, 1000])
def test_null_draws_have_exactly_the_variances_given(n):
    variances = np.array([5.0, 1.0, 0.2, 0.0])
    one = null_spectrum(n, variances, np.random.default_rng(1), draws=1)
    assert one.sum() == pytest.approx(6.2, rel=1e-12)
    assert (np.diff(one) <= 0).all()


def test_null_spectrum_is_that_of_simulated_rows():
    """Bartlett's factor against rows that are really drawn, in mean over many draws."""
    n, d = 40, 6
    rng = np.random.default_rng(3)
    simulated = [spectrum_of(rng.standard_normal((n, d)), True)[0] for _ in range(2000)]
    found = null_spectrum(n, np.ones(d), rng, draws=2000, quantile=0.95)
    np.testing.assert_allclose(found, np.quantile(simulated, 0.95, axis=0), rtol=0.02)


def test_same_seed_same_count_and_null():
    a, b, c = (null_spectrum(50, np.ones(5), np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()
    X = planted(np.random.default_rng(0), 100, 10, 2, strength=0.3)
    values, variances = spectrum_of(X, False)
    counts = {parallel_analysis(values, 100, variances, random_state=7) for _ in range(3)}
    assert len(counts) == 1


def test_more_than_the_limit_is_refused_with_a_way_out():
    """In words that fit the function, an estimate, and PCA, which all may be asked for it."""
    with pytest.raises(DataError, match=r"^parallel analysis .* limited to 1500 dimensions \(here 1501\); use another"):
        parallel_analysis(np.ones(1501), 10_000, np.ones(1501))
    with pytest.raises(DataError, match=r"here 1501"):
        parallel_analysis(np.ones(1501), 1502, np.full(5000, 1501 / 5000))


def test_many_columns_of_few_rows_are_within_the_limit():
    X = planted(np.random.default_rng(2), 40, 2000, 2)
    values, variances = spectrum_of(X, False)
    assert parallel_analysis(values, 40, variances) == 2


def test_two_rows_have_one_component():
    assert parallel_analysis([3.0], 2, [1.0, 1.0, 1.0]) == 1


def test_bad_variances_and_draws_are_refused():
    spectrum = [2.0, 0.7, 0.3]
    for variances in ([-1.0, 2.0, 2.0], [np.nan, 1.0, 1.0], [], [[1.0, 1.0, 1.0]]):
        with pytest.raises(DataError, match="variances must be finite, nonnegative, one per column"):
            parallel_analysis(spectrum, 50, variances)
    with pytest.raises(
        ValueError, match=r"^parallel_analysis: variances has 2 entries, but 3 eigenvalues are positive"
    ):
        parallel_analysis(spectrum, 50, [1.0, 2.0])
    with pytest.raises(ValueError, match=r"^parallel_analysis: the sum of 5 variances is 5, .* 3 eigen"):
        parallel_analysis(spectrum, 50, np.ones(5))
    assert parallel_analysis(spectrum, 50, np.full(5, 0.6)) >= 1  # of five columns that span three dimensions
    with pytest.raises(ValueError, match=r"^parallel_analysis: variances can be given only with eigenvalues"):
        parallel_analysis(np.eye(20), variances=np.ones(20))
    with pytest.raises(ValueError, match=r"^parallel_analysis: n_rows can be given only with a spectrum"):
        parallel_analysis(np.eye(20), 20)
    for draws in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match="draws must be a whole number of at least 1"):
            parallel_analysis(spectrum, 50, draws=draws)
    for quantile in (0.0, 1.0):
        with pytest.raises(ValueError, match="quantile must be between"):
            parallel_analysis(spectrum, 50, quantile=quantile)
