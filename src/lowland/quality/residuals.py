"""Distributions of the squared residual (SPE) from the principal plane, for fitted rows and for new rows.

The plane is fitted to its rows, so their residuals are smaller than those of new rows. By how much follows from the
spectrum alone: the left singular vectors of normal rows are uniformly distributed (Haar), for any covariance. So a
fitted row is √n λ_j times the entries of a uniformly distributed unit vector in n − 1 dimensions, which gives the
distribution for fitted rows. If such a row is removed from the scatter by a rank-one downdate (Golub 1973), it is a new
row for the remaining fit, which gives the distribution for new rows, for any shape of the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from ..core import thread_pool
from .limits import Law, residual_law, three_point_law

Array = Any

POINTS = (0.5, 0.9, 0.99)  # quantiles to which the distribution is fitted
_ROWS_TAKEN_OUT = 4000  # simulated rows
_ROWS_AT_ONCE = 250  # simulated rows at a time
_SINGLE_EIGENVALUES = 40  # eigenvalues on either side of the cut that are used individually; farther ones in groups
_GROWTH = 1.25  # growth of the groups
_GRID = 240  # points at which the distribution for fitted rows is computed
_FARTHEST = 7.0  # normal score above which values are extrapolated proportionally
_MANY = 10**9  # with so many rows, fitted rows and new rows have the same distribution


def new_law(first: Array, rest: Array, n: int) -> Law:
    """Return the distribution of SPE for normal rows that were not among the n fitted ones.

    ``first`` and ``rest`` are the variances along the axes and of the residual, descending. Rows are simulated and
    removed from the fit. The residual is relative to that of the other rows, which accounts for a scale estimated from
    few rows. The quantiles of weighted χ² are known, and only the ratio to those of the same draws is simulated.
    """
    k, unit = len(first), float(first[0])
    above, many = _groups(np.asarray(first)[::-1] / unit)
    below, more = _groups(np.asarray(rest) / unit)
    values = np.concatenate([above[::-1], below]) * (n - 1)
    counts = np.concatenate([many[::-1], more])
    rng = np.random.default_rng(0)  # fixed: the sample approximates an integral
    squares = rng.chisquare(counts, (_ROWS_TAKEN_OUT, len(counts)))
    lengths = squares.sum(axis=1)
    if n - 1 > counts.sum():
        lengths += rng.chisquare(n - 1 - counts.sum(), _ROWS_TAKEN_OUT)
    masses = np.ascontiguousarray(values * squares / lengths[:, None])
    off, fallen = _taken_out(values, masses, len(above))
    others = (values * counts)[len(above) :].sum() - masses.sum(axis=1) + fallen  # residual of the other rows
    found = n / (n - 1) * off / (others / (n - 2)) * _one_row_more(n, k)
    same = squares[:, len(above) :] @ below
    known, total = residual_law(rest), float(np.sum(rest / unit))
    places = [known.beyond(1 - p) * total * float(np.quantile(found, p) / np.quantile(same, p)) for p in POINTS]
    return three_point_law(places, POINTS, n - k - 1)


def _taken_out(values: Array, masses: Array, k: int) -> tuple[Array, Array]:
    """Return the squared residual of each row from the plane fitted without it, and the drop of the k eigenvalues."""
    from .residuals_loops import left_out

    off, fallen = np.empty(len(masses)), np.empty(len(masses))

    def piece(start: int) -> None:
        part = slice(start, start + _ROWS_AT_ONCE)
        left_out(values, masses[part], k, off[part], fallen[part])

    for _ in thread_pool.run(piece, range(0, len(masses), _ROWS_AT_ONCE)):
        pass
    return off, fallen


def _one_row_more(n: int, k: int) -> float:
    """Return the residual variance of n rows relative to that of n − 1 rows, for many columns."""
    return (1 - k / (n - 2)) / (1 - k / (n - 1))


def _groups(values: Array) -> tuple[Array, Array]:
    """Return the means and sizes of groups of values; the groups grow with the distance from the first value."""
    ends = [*range(min(_SINGLE_EIGENVALUES, len(values)) + 1)]
    step = 1.0
    while ends[-1] < len(values):
        step *= _GROWTH
        ends.append(min(len(values), ends[-1] + int(np.ceil(step))))
    counts = np.diff(ends)
    return np.add.reduceat(values, ends[:-1]) / counts, counts.astype(np.float64)


def as_new(spe: Array, rest: Array, n: int, law: Law) -> Array:
    """Convert SPE of fitted rows to the value with the same tail probability for new rows.

    For fitted rows SPE = Σ a_j v_j² with a = (n − 1)²/n · λ_j and a unit vector v in n − 1 dimensions. The value of
    weighted χ² with the same tail probability comes from the same approximation, so that its errors cancel; the ratio
    of the two distributions then gives the value for new rows.
    """
    unit, known = float(rest[0]), residual_law(rest)
    weights = np.asarray(rest) / unit
    fitted, fitted_scores = _scores(weights, n)
    chi2, chi2_scores = _scores(weights, _MANY)
    # scores must be nondecreasing for the interpolation
    score = np.clip(np.maximum.accumulate(fitted_scores), -_FARTHEST, _FARTHEST)
    shares = special.ndtr(-score)
    ratio = np.array([max(0.0, law.beyond(share)) / known.beyond(share) for share in shares.tolist()])
    new = np.interp(score, np.maximum.accumulate(chi2_scores), chi2) * ratio
    given = np.asarray(spe) / unit
    inside = np.interp(given, np.concatenate([[0.0], fitted]), np.concatenate([[0.0], new]))
    edge = int(np.searchsorted(score, _FARTHEST)) - 1  # above it, values are extrapolated proportionally
    return unit * np.where(given > fitted[edge], new[edge] * given / fitted[edge], inside)


def _scores(weights: Array, n: int) -> tuple[Array, Array]:
    """Return ascending values of SPE of n fitted rows, and the normal scores of their tail probabilities.

    Σ a v² > t where Σ (a − t) g² > 0 for n − 1 normal g, whose cumulant function is K(s) = −½ Σ ln(1 − 2s(a − t)).
    With its saddle point s, where K′(s) = 0, and w² = −2K(s), u = s √K″(s), both with the sign of s, the score is
    w + ln(u/w)/w (Lugannani and Rice 1980; Barndorff-Nielsen 1986).
    """
    values, counts = _groups((n - 1) ** 2 / n * weights)
    mean = float(values @ counts) / (n - 1)
    values, counts = np.append(values, 0.0), np.append(counts, max(0.0, n - 1 - counts.sum()))
    below, above = np.geomspace(1e-6, 1, _GRID // 4, endpoint=False), np.geomspace(1, values[0] / mean, _GRID)
    t = mean * np.concatenate([below, above[1:-1]])  # neither the mean, where w = u = 0, nor the maximum a₁
    excess = values - t[:, None]  # a − t
    low, high = -0.5 / t, 0.5 / excess[:, 0]
    for _ in range(80):  # bisection: K′ grows from −∞ to ∞ between them
        s = ((low + high) / 2)[:, None]
        rising = (counts * excess / (1 - 2 * s * excess)).sum(axis=1) > 0
        low, high = np.where(rising, low, s[:, 0]), np.where(rising, s[:, 0], high)
    K = -0.5 * (counts * np.log1p(-2 * s * excess)).sum(axis=1)
    second = 2 * (counts * (excess / (1 - 2 * s * excess)) ** 2).sum(axis=1)  # K″
    u = s[:, 0] * np.sqrt(second)
    w = np.sign(u) * np.sqrt(np.maximum(-2 * K, 0.0))
    far = np.abs(w) > 0.01  # near the mean both vanish: interpolate the correction
    correction = np.interp(t, t[far], np.log(u[far] / w[far]) / w[far])
    return t, w + correction
