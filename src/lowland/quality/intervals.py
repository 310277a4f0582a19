"""Confidence intervals from parts of the data: jackknife and batch means.

The half width is t·σ, with Student's t for the number of parts. For a function of sums, σ comes from the jackknife: the
values without each part in turn (Tukey 1958; Efron and Stein 1981). For other values σ = s/√B, where s is the standard
deviation over B batches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.measure import Measure

Array = Any
Span = tuple[float, float]


def of_parts(
    parts: Array,
    value: Callable[[Array], float],
    span: Span,
    *,
    exact: bool = False,
    whole: Array | None = None,
    twice: Array | None = None,
) -> Measure:
    """Return a function of the sum of parts (B × sums), with its jackknife interval.

    Parts may share terms, as points share pairs; ``whole`` is then the sum without double counting. The sampling
    variance of shared terms is counted once for each of their two parts. ``twice`` are sums of the shared terms in B
    groups: their jackknife variance is subtracted once.

    >>> of_parts(np.array([[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]), lambda s: s[0] / s[1], (0.0, 9.0))
    2 [0, 4.484]
    """
    whole = parts.sum(axis=0) if whole is None else whole
    found = float(value(whole))
    if not np.isfinite(found):
        return Measure(found, exact=exact)
    count, variance = _left_out(whole, parts, value)
    if count < 2:
        return Measure(found, *span, exact=exact)
    if twice is not None:
        variance = max(variance - _left_out(whole, twice, value)[1], variance / 2)
    return _around(found, float(np.sqrt(variance)), count, span, exact=exact)


def _left_out(whole: Array, parts: Array, value: Callable[[Array], float]) -> tuple[int, float]:
    """Return the number of parts with a finite value, and the jackknife variance."""
    without = np.array([value(whole - part) for part in parts])
    without = without[np.isfinite(without)]
    count = len(without)
    return count, (count - 1) * float(np.var(without)) if count else 0.0


def of_batches(found: float, batches: Any, span: Span, *, fitted: bool = False) -> Measure:
    """Return the value of all batches together, with the interval from its values in each batch.

    ``fitted``: a curve is fitted to the pairs, and overfitting makes the value too low. The squared error hidden by
    monotone regression falls as n^(−2/3) (C.-H. Zhang 2002), so batches of n/B pairs hide B^(2/3) times as much. The
    difference estimates the bias, and the upper end of the interval is raised by it.
    """
    few = np.asarray(batches, dtype=np.float64)
    few = few[np.isfinite(few)]
    if not np.isfinite(found):
        return Measure(found, exact=False)
    if len(few) < 2:
        return Measure(found, *span, exact=False)
    hidden = 0.0
    if fitted:
        square = found * found + max(0.0, found * found - float(np.mean(few * few))) / (len(few) ** (2 / 3) - 1)
        hidden = float(np.sqrt(square)) - found
    return _around(found, float(np.std(few, ddof=1)) / np.sqrt(len(few)), len(few), span, exact=False, above=hidden)


def ratio(upper: Array, lower: Array, span: Span = (0.0, np.inf), *, exact: bool = True) -> Measure:
    """Return Σupper/Σlower over rows, with the interval for a population of such rows (by linearisation)."""
    count, value = len(upper), float(upper.sum() / lower.sum())
    if count < 2:
        return Measure(value, *span, exact=exact)
    error = float(np.std(upper - value * lower, ddof=1) / (lower.mean() * np.sqrt(count)))
    return _around(value, error, count, span, exact=exact)


def _around(value: float, error: float, count: int, span: Span, *, exact: bool, above: float = 0.0) -> Measure:
    """Return a value with an interval of t standard errors, clipped to the span."""
    from scipy.special import stdtrit

    half = float(stdtrit(count - 1, 0.975)) * error
    low, high = max(span[0], value - half), min(span[1], value + half + above)
    return Measure(value, min(value, low), max(value, high), exact=exact)


def jackknife(without: Array) -> float:
    """Return the half width of a 95 % interval, from the values θ_f without each of F folds.

    t √((F − 1)/F Σ (θ_f − mean)²), with Student's t of F − 1 degrees (the delete-group jackknife: Tukey 1958; Kott
    2001). It is also valid if θ is not a mean over rows, as long as it is smooth in them.

    >>> rows = np.array([1.0, 2.0, 4.0, 5.0])  # for a mean with one row in each fold it is Student's interval
    >>> round(jackknife((rows.sum() - rows) / 3), 3), round(3.1824 * float(rows.std(ddof=1)) / 2, 3)
    (2.905, 2.905)
    """
    from scipy.special import stdtrit

    folds = np.asarray(without, dtype=np.float64)
    count = len(folds)
    if count < 2:
        return 0.0
    spread = (count - 1) / count * float(((folds - folds.mean()) ** 2).sum())
    return float(stdtrit(count - 1, 0.975) * np.sqrt(spread))
