"""Linear counts: closed forms, published values, intervals, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lowland import RowSource
from lowland.core.errors import DataError
from lowland.core.measure import Measure
from lowland.data import digits
from lowland.dimension import (
    broken_stick,
    gavish_donoho,
    largest_gap,
    minka,
    parallel_analysis,
    participation_ratio,
    variance_share,
)
from lowland.dimension.linear import marchenko_pastur_median, omega, sticks
from lowland.spectral.minka import evidence
from lowland.spectral.variances import LEADING, variances_of

RULES = (variance_share, largest_gap, participation_ratio, broken_stick, gavish_donoho, minka, parallel_analysis)
# Eigenvalues of four point clouds in the plane: a line, a thicker one, a circle, a filled square.
PAIRS = [(0.0938, 0.0007), (0.1260, 0.0054), (0.0884, 0.0725), (0.0881, 0.0769)]


def planted(rng, n, d, k, noise):
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) + noise * rng.standard_normal((n, d))


# -- values that are known ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [variance_share, largest_gap])
def test_the_worked_pairs_are_one_one_two_two(rule):
    assert [rule(pair) for pair in PAIRS] == [1, 1, 2, 2]
    assert [round(participation_ratio(pair)) for pair in PAIRS] == [1, 1, 2, 2]


def test_gavish_and_donoho_published_constants():
    assert omega(1.0) == pytest.approx(2.858, abs=5e-4)
    betas = np.linspace(0.05, 1, 20)
    cubic = 0.56 * betas**3 - 0.95 * betas**2 + 1.82 * betas + 1.43  # the paper's fit, right to 0.02
    np.testing.assert_allclose([omega(b) for b in betas], cubic, atol=0.021)


@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0])
def test_median_of_marchenko_and_pastur_is_that_of_noise(beta):
    n = 1000
    X = np.random.default_rng(0).standard_normal((n, int(beta * n)))
    values = np.linalg.svd(X, compute_uv=False) ** 2 / n
    assert marchenko_pastur_median(beta) == pytest.approx(np.median(values), rel=0.01)


def test_broken_stick_is_the_mean_of_broken_sticks():
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.uniform(size=(40_000, 3)), axis=1)
    pieces = np.sort(np.diff(np.hstack([np.zeros((40_000, 1)), cuts, np.ones((40_000, 1))]), axis=1), axis=1)[:, ::-1]
    np.testing.assert_allclose(sticks(4), pieces.mean(axis=0), atol=2e-3)
    assert sticks(7).sum() == pytest.approx(1)
    b = sticks(4)
    just = np.array([b[0] + 0.01, b[1] + 0.01, b[2] - 0.01, b[3] - 0.01])
    assert broken_stick(just) == 2
    assert broken_stick([1.0, 1.0, 1.0]) == 0


@pytest.mark.parametrize(("n", "d", "k", "noise"), [(200, 10, 3, 0.3), (500, 20, 7, 1.0), (100, 12, 2, 0.5)])
def test_minka_is_scikit_learns(n, d, k, noise):
    from sklearn.decomposition import PCA

    for seed in range(4):
        X = planted(np.random.default_rng(seed), n, d, k, noise)
        assert minka(X) == PCA(n_components="mle", svd_solver="full").fit(X).n_components_


@pytest.mark.parametrize(
    ("n", "d", "rank"), [(100, 10, 3), (500, 10, 3), (12, 10, 4), (60, 10, 9), (40, 6, 1), (40, 6, 5)]
)
def test_minka_of_rows_in_a_subspace_is_its_dimension(n, d, rank):
    from sklearn.decomposition import PCA

    for seed in range(3):
        X = planted(np.random.default_rng(seed), n, d, rank, 0.0)
        assert minka(X) == PCA(n_components="mle", svd_solver="full").fit(X).n_components_ == rank
        assert minka(1e-7 * X) == minka(X.astype(np.float32)) == rank
        values = np.linalg.eigvalsh(np.cov(X.T))[::-1].clip(0)
        assert minka(values, n) == rank
    wide = planted(np.random.default_rng(0), 9, 30, 3, 0.0)
    assert minka(wide) == 3


def test_minka_of_digits_is_scikit_learns():
    from sklearn.decomposition import PCA

    X, _, _ = digits()
    varying = X[:, X.std(axis=0) > 0]
    for table, count in ((X, 61), (varying, 60)):  # of 64 columns 3 are constant
        assert minka(table) == PCA(n_components="mle", svd_solver="full").fit(table).n_components_ == count
        assert minka(1e-6 * table) == count  # where scikit-learn's says 57


def test_minka_does_not_count_columns_that_do_not_vary():
    for seed in range(3):
        X = planted(np.random.default_rng(seed), 200, 8, 3, 0.2)
        assert minka(X) == minka(np.column_stack([X, np.full((200, 2), 5.1)])) == 3


@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-6])
def test_the_limit_of_little_noise_is_that_of_none(noise):
    for seed in range(3):
        assert minka(planted(np.random.default_rng(seed), 200, 10, 3, noise)) == 3


def test_evidence_is_minkas_formula_term_by_term():
    from sklearn.decomposition._pca import _assess_dimension

    values = np.array([5.0, 3.0, 1.2, 1.0, 0.3])
    expected = [_assess_dimension(values, k, 80) for k in range(1, 5)]
    np.testing.assert_allclose(evidence(values, 80), expected, rtol=1e-12)


def test_minka_with_equal_eigenvalues_is_finite():
    assert minka([4.0, 1.0, 1.0, 1.0], 100) == 1
    assert 1 <= minka([1.0, 1.0, 1.0], 100) <= 2


def test_gavish_donoho_finds_planted_signals_and_the_rank_of_clean_ones():
    rng = np.random.default_rng(1)
    assert gavish_donoho(planted(rng, 400, 40, 5, 0.5)) == 5
    assert gavish_donoho(planted(rng, 60, 300, 4, 0.5)) == 4
    assert gavish_donoho(planted(rng, 100, 20, 3, 0.0)) == 3


def test_participation_ratio_of_equal_values_is_their_number():
    assert participation_ratio(np.full(17, 2.5)) == pytest.approx(17, rel=1e-14)
    assert participation_ratio([3.0, 1.0]) == pytest.approx(16 / 10)


def test_one_dimension_in_many_columns_is_one_in_spite_of_rounding():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = participation_ratio(np.outer(rng.uniform(size=300), rng.standard_normal(6)) + 3)
        assert 1 <= found.low <= found <= found.high == pytest.approx(1, abs=1e-9)


def test_largest_gap_looks_no_further_than_95_percent_needs():
    assert largest_gap([5.0, 4.0, 3.0, 0.01, 1e-9]) == 3
    assert largest_gap([1.0, 0.9, 0.8]) == 3  # no gap: all of them


# -- the same of rows, of a spectrum, of a stream ----------------------------------------------------------------------


each = pytest.mark.parametrize("rule", RULES, ids=lambda f: f.__name__)
unturned = pytest.mark.parametrize("rule", [r for r in RULES if r is not parallel_analysis], ids=lambda f: f.__name__)


@each
@pytest.mark.parametrize("shape", [(150, 12), (30, 70)], ids=["tall", "wide"])
def test_rows_spectrum_stream_and_sparse_agree(rule, shape):
    rng = np.random.default_rng(3)
    X = planted(rng, *shape, 3, 0.4)
    X[np.abs(X) < 0.2] = 0.0
    expected = rule(X)
    assert isinstance(expected, Measure)
    assert rule(sp.csr_array(X)) == pytest.approx(expected, rel=1e-9)
    assert rule(RowSource.from_blocks([X[:20], X[20:]])) == pytest.approx(expected, rel=1e-9)
    values = np.linalg.eigvalsh(np.cov(X, rowvar=False))[::-1]
    cut = values[: min(shape[0] - 1, shape[1])]
    if rule is parallel_analysis:
        assert rule(values, shape[0], X.var(axis=0, ddof=1)) == expected
        assert rule(cut, shape[0], X.var(axis=0, ddof=1)) == expected
    else:
        for found in (rule(values, shape[0]), rule(cut, shape[0], shape[1])):
            assert found == pytest.approx(expected, rel=1e-9)
            assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


@unturned
def test_counts_do_not_depend_on_units_rotation_or_empty_columns(rule):
    rng = np.random.default_rng(4)
    X = planted(rng, 200, 9, 3, 0.5)
    Q = np.linalg.qr(rng.standard_normal((9, 9)))[0]
    assert rule(1e-4 * X @ Q + 7) == pytest.approx(rule(X), rel=1e-9)
    wide = rule(np.hstack([X, np.zeros((200, 6)), np.full((200, 6), 0.1)]))  # a tenth is no binary number
    assert (wide, wide.low, wide.high) == pytest.approx((rule(X), rule(X).low, rule(X).high), rel=1e-9)


@each
@pytest.mark.parametrize("unit", [1e-100, 1e80])
def test_counts_do_not_depend_on_very_small_or_large_units(rule, unit):
    X = planted(np.random.default_rng(4), 100, 6, 2, 0.5)
    found, expected = rule(unit * X), rule(X)
    assert (found, found.low, found.high) == pytest.approx((expected, expected.low, expected.high), rel=1e-9)


@pytest.mark.parametrize(("n", "d", "k"), [(60, 300, 4), (12, 100, 2), (30, 31, 3)])
def test_minka_of_fewer_rows_than_columns(n, d, k):
    """The noise is the mean over all D − k directions, of which N rows show N − 1 − k."""
    for seed in range(3):
        assert minka(planted(np.random.default_rng(seed), n, d, k, 0.5)) == k


def test_scale_gives_every_column_the_same_weight():
    X = np.random.default_rng(5).standard_normal((300, 4)) * [100, 1, 1, 1]
    assert variance_share(X) == 1
    assert variance_share(X, scale=True) == 4
    assert participation_ratio(X, scale=True) > 3.5


def test_a_spectrum_is_that_of_so_many_columns():
    with pytest.raises(ValueError, match="3 eigenvalues are positive, more than n_columns=2"):
        minka([3.0, 2.0, 1.0], 50, 2)
    for count in (0, 2.5, True):
        with pytest.raises(ValueError, match="n_columns must be a whole number of at least 1"):
            broken_stick([3.0, 2.0, 1.0], 50, count)
    with pytest.raises(ValueError, match="n_columns can be given only with a spectrum"):
        minka(np.eye(5), n_columns=5)


# -- intervals ---------------------------------------------------------------------------------------------------------


def test_intervals_hold_the_population_value():
    """Over repeated normal samples of a known spectrum."""
    truth = np.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.25])
    ratio, rng = truth.sum() ** 2 / (truth**2).sum(), np.random.default_rng(6)
    held = shares = 0
    for _ in range(200):
        X = rng.standard_normal((120, 6)) * np.sqrt(truth)
        found = participation_ratio(X)
        held += found.low <= ratio <= found.high
        m = variance_share(X, share=0.8)
        shares += m.low <= 3 <= m.high  # 4 + 2 + 1 of 8 are 87.5 %, 4 + 2 are 75 %
    assert held >= 180
    assert shares >= 190


def test_the_interval_of_the_largest_gap_holds_the_other_places_it_may_have():
    values = [5.0, 4.9, 2.0, 1.9, 1.0, 0.98]  # falls by 2.45 after two, by 1.9 after four
    assert (largest_gap(values, 12).low, largest_gap(values, 12).high) == (1, 6)  # anything goes
    assert (largest_gap(values, 200).low, largest_gap(values, 200).high) == (2, 4)
    sure = largest_gap(values, 100_000)
    assert sure.low == sure == sure.high == 2
    none = largest_gap([1.0, 0.9, 0.63, 0.6], 200)  # 1.43 might be 1.5
    assert (none.low, none, none.high) == (2, 4, 4)


def test_without_a_number_of_rows_there_is_no_interval():
    found = variance_share([3.0, 2.0, 1.0])
    assert found.low == found == found.high
    wide = variance_share([3.0, 2.0, 1.0], 10, share=0.8)
    assert wide.low < wide.high


def test_minkas_interval_widens_where_evidence_is_thin():
    rng = np.random.default_rng(7)
    sure, thin = minka(planted(rng, 2000, 10, 3, 0.1)), minka(planted(rng, 25, 10, 3, 2.0))
    assert sure.low == sure == sure.high == 3
    assert thin.low < thin.high


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [variance_share, broken_stick, minka])
def test_bad_spectra_are_refused(rule):
    for spectrum, message in (
        ([1.0, 2.0], "must be in descending order"),
        ([1.0, -0.5], "number 1 is -0.5"),
        ([np.nan, 1.0], "number 0 is nan"),
        ([0.0, 0.0], "do not vary"),
        ([], "do not vary|no rows|2-D"),
    ):
        with pytest.raises(DataError, match=message):
            rule(spectrum, 50)


def test_number_of_rows_belongs_to_a_spectrum():
    with pytest.raises(DataError, match="pass n_rows"):
        gavish_donoho([3.0, 1.0])
    with pytest.raises(ValueError, match="only with a spectrum, not with rows"):
        minka(np.eye(5), 5)
    for count in (1, 10.5, True):
        with pytest.raises(ValueError, match="n_rows must be a whole number of at least 2"):
            minka([3.0, 1.0], count)


def test_bad_rows_and_parameters_are_refused():
    X = np.ones((10, 3))
    with pytest.raises(DataError, match="do not vary"):
        variance_share(X)
    X[4, 1] = np.nan
    with pytest.raises(DataError, match="row 4, column 1"):
        participation_ratio(X)
    for share in (0, 1, 1.5, -0.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            variance_share([2.0, 1.0], share=share)


def test_of_a_very_wide_table_only_the_leading_values_are_used(monkeypatch):
    monkeypatch.setattr("lowland.spectral.variances.WHOLE", 100)
    rng = np.random.default_rng(8)
    X = sp.random_array((1500, 1200), density=0.01, rng=rng, format="csr")
    found = variances_of(X)
    assert not found.complete
    assert len(found.values) >= LEADING
    for rule in (broken_stick, largest_gap):
        with pytest.raises(DataError, match="whole spectrum"):
            rule(found)
    few = planted(rng, 400, 300, 3, 0.01)
    assert variance_share(few) == 3
