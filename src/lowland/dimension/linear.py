"""Number of linear dimensions: counts from the spectrum of the covariance.

Each function takes rows, or eigenvalues in descending order with the numbers of rows and columns. Constant columns are
not counted. Intervals are for rows that are about normal, where the relative standard error of an eigenvalue is √(2/N);
without the number of rows there is no interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.measure import Measure
from ..core.message import Message, Owner, Setting
from ..spectral.solved import components_for_share
from ..spectral.variances import leading, variances_of

Array = Any

NO_GAP = 1.5  # a smaller ratio is no gap


def variance_share(
    X: Any, n_rows: int | None = None, n_columns: int | None = None, *, share: float = 0.95, scale: bool = False
) -> Measure:
    """Return the number of components that hold a share of the variance.

    The smallest m with (λ₁ + … + λ_m)/Σλ ≥ share. Its interval is that of the cumulative share, by the delta method.

    Parameters
    ----------
    X : array, sparse matrix, data frame, RowSource, or list of eigenvalues
        Rows; or a spectrum, descending, with ``n_rows``.
    n_rows : int, optional
        Number of rows of a spectrum; without it there is no interval.
    n_columns : int, optional
        Number of columns of a spectrum that is cut at its rank; default: the number of values.
    share : float
        The share of the variance, between 0 and 1.
    scale : bool
        Scale each column to unit variance first.

    Examples
    --------
    >>> variance_share([0.0938, 0.0007]), variance_share([0.0884, 0.0725])
    (1, 2)
    """
    if not 0 < share < 1:
        raise ValueError(
            Message(Owner("variance_share"), Setting("share"), f" must be between 0 and 1; it is {share!r}")
        )
    found = variances_of(X, n_rows, n_columns, scale=scale, owner="variance_share").relative
    m = components_for_share(found.values, found.total, share)
    if m is None:
        raise DataError(
            Message(
                Owner("variance_share"),
                f"the {len(found.values)} computed components hold "
                f"{found.values.sum() / found.total:.0%} of the variance; give a smaller share",
            )
        )
    held = np.cumsum(found.values) / found.total
    error = found.spread() * _share_deviation(found.values, found.total, held)
    low = np.flatnonzero(held + error >= share * (1 - 1e-12))
    high = np.flatnonzero(held - error >= share * (1 - 1e-12))
    return Measure(m, min(m, int(low[0]) + 1), max(m, int(high[0]) + 1 if len(high) else len(held)))


def _share_deviation(values: Array, total: float, held: Array) -> Array:
    """Return the standard error of each cumulative share for independent relative errors of 1 of the eigenvalues."""
    squares = np.cumsum(values**2)
    rest = squares[-1] - squares
    return np.sqrt((1 - held) ** 2 * squares + held**2 * rest) / total


def largest_gap(X: Any, n_rows: int | None = None, n_columns: int | None = None, *, scale: bool = False) -> Measure:
    """Return the number of components before the largest ratio of successive eigenvalues, λ_m/λ_{m+1}.

    Only the values that make up 95 % of the variance, and the next one, are used: among tiny values ratios have no
    meaning. If no ratio is at least 1.5, there is no gap and all components count. The interval contains the positions
    of all ratios that may be the largest, or large enough: the standard error of the logarithm of a ratio is 2/√N.

    Examples
    --------
    >>> largest_gap([5.0, 4.0, 0.1, 0.09]), largest_gap([0.0881, 0.0769])
    (2, 2)
    """
    found = variances_of(X, n_rows, n_columns, scale=scale, owner="largest_gap").relative
    reach = components_for_share(found.values, found.total, 0.95) or len(found.padded("largest_gap"))
    falls = np.log(found.values[:-1] / found.values[1:])[:reach]
    error = np.sqrt(2) * found.spread()
    best, enough = float(falls.max(initial=0.0)), float(np.log(NO_GAP))
    place = int(np.argmax(falls)) + 1 if best >= enough else found.rank
    others = np.flatnonzero(falls >= max(best - np.sqrt(2) * error, enough - error)) + 1
    places = [place, *others, *([found.rank] if best < enough + error else [])]
    return Measure(place, min(places), max(places))


def participation_ratio(
    X: Any, n_rows: int | None = None, n_columns: int | None = None, *, scale: bool = False
) -> Measure:
    """Return (Σλ)²/Σλ², the number of components of equal variance with the same value.

    With fewer rows than columns it cannot exceed the number of rows and is too small.

    Examples
    --------
    >>> participation_ratio([1.0, 1.0, 1.0]), participation_ratio([0.0938, 0.0007])
    (3, 1.015)
    """
    found = variances_of(X, n_rows, n_columns, scale=scale, owner="participation_ratio").relative
    values = found.padded("participation_ratio")
    squares = float((values**2).sum())
    ratio = max(1.0, found.total**2 / squares)  # at least 1 in spite of rounding
    slope = 2 * (1 / found.total - values / squares) * values
    error = found.spread() * float(np.sqrt((slope**2).sum()))
    return Measure(ratio, max(1.0, ratio * np.exp(-error)), min(max(ratio, found.size), ratio * np.exp(error)))


def broken_stick(X: Any, n_rows: int | None = None, n_columns: int | None = None, *, scale: bool = False) -> Measure:
    """Return the number of leading components above the broken-stick distribution.

    The expected length of the k-th longest of p pieces is b_k = (1/p) Σ_{i=k}^p 1/i. Zero if no component is above it.

    Examples
    --------
    >>> broken_stick([6.0, 0.5, 0.3, 0.2])
    1

    References
    ----------
    S. Frontier, Étude de la décroissance des valeurs propres dans une analyse en composantes principales (1976).
    """
    found = variances_of(X, n_rows, n_columns, scale=scale, owner="broken_stick").relative
    values = found.padded("broken_stick")
    return leading(values / found.total, sticks(len(values)), found.spread())


def sticks(p: int) -> Array:
    """Return the expected lengths of the pieces of a stick broken at p − 1 random points, longest first.

    >>> sticks(2).tolist()
    [0.75, 0.25]
    """
    return np.cumsum(1 / np.arange(p, 0, -1))[::-1] / p


def gavish_donoho(X: Any, n_rows: int | None = None, n_columns: int | None = None, *, scale: bool = False) -> Measure:
    """Return the number of singular values above the optimal hard threshold for unknown noise.

    The singular values of noise with equal variance in all columns follow the Marchenko–Pastur distribution. Keeping
    those above τ = ω(β)·median minimises the error for a signal of low rank, with β = min(N, D)/max(N, D),
    ω(β) = λ(β)/√µ(β), λ(β)² = 2(β + 1) + 8β/(β + 1 + √(β² + 14β + 1)) and µ(β) the median of the distribution, found
    numerically. At least half of the values must be noise.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> signal = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 20))
    >>> gavish_donoho(signal + 0.1 * rng.standard_normal((500, 20)))
    2

    References
    ----------
    M. Gavish, D. L. Donoho, The optimal hard threshold for singular values is 4/√3, IEEE Trans. Inf. Theory 60 (2014).
    """
    found = variances_of(X, n_rows, n_columns, scale=scale, owner="gavish_donoho").relative
    values, degrees = found.padded("gavish_donoho"), found.rows("gavish_donoho") - 1
    columns = found.n_columns
    singular = np.sqrt(values * degrees)
    limit = omega(min(degrees, columns) / max(degrees, columns)) * float(np.median(singular))
    return leading(values, np.full(len(values), limit**2 / degrees), found.spread())


def omega(beta: float) -> float:
    """Return the threshold relative to the median singular value, for unknown noise.

    >>> round(omega(1.0), 3)
    2.858
    """
    best = 2 * (beta + 1) + 8 * beta / (beta + 1 + np.sqrt(beta**2 + 14 * beta + 1))
    return float(np.sqrt(best / marchenko_pastur_median(beta)))


def marchenko_pastur_median(beta: float) -> float:
    """Return the median of the Marchenko–Pastur distribution for an aspect ratio 0 < β ≤ 1.

    With x = a + (b − a) sin²θ, where a, b = (1 ∓ √β)², the density becomes smooth, and Gauss–Legendre quadrature is
    exact up to rounding.

    >>> round(marchenko_pastur_median(1.0), 4)
    0.6528
    """
    from scipy.optimize import brentq

    a, b = (1 - np.sqrt(beta)) ** 2, (1 + np.sqrt(beta)) ** 2
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def place(angle: Any) -> Any:
        return a + (b - a) * np.sin(angle) ** 2

    def excess(angle: float) -> float:
        t = angle * (nodes + 1) / 2
        density = (b - a) ** 2 * np.sin(2 * t) ** 2 / (4 * np.pi * beta * place(t))
        return float(angle / 2 * (weights * density).sum()) - 0.5

    return float(place(brentq(excess, 1e-6, np.pi / 2, xtol=1e-14)))
