"""How far a value may be off, told by the spread of its parts.

Half the interval is t·σ, t Student's for the number of parts. For a function of sums σ is the jackknife's: the values
without each of the parts in turn tell how much one part moves the whole (Tukey 1958; Efron and Stein 1981). Where a
value has no sums, σ = s/√B, s the standard deviation of its values in B batches.
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
    """Return a function of the sum of parts (B × sums), with the interval that leaving each part out tells.

    Parts may share terms, as points share pairs: ``whole`` is then the sum. What chance adds to shared terms is seen
    from each of their parts. ``twice`` are sums of the terms with two parts, each in one of B groups: leaving these out
    tells how much that is, and once of it is taken off.

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
    """Return how many parts can be left out, and the variance that doing so tells."""
    without = np.array([value(whole - part) for part in parts])
    without = without[np.isfinite(without)]
    count = len(without)
    return count, (count - 1) * float(np.var(without)) if count else 0.0


def of_batches(found: float, batches: Any, span: Span, *, fitted: bool = False) -> Measure:
    """Return a value of all batches together, with the interval that its values in each of them tell.

    ``fitted``: a curve is fitted to the pairs, closer to few than to many, so that the value is too low. The squared
    error that monotone regression hides falls with n^(−2/3) (C.-H. Zhang 2002), so batches of n/B pairs hide B^(2/3)
    times as much, and their mean tells how much that is. The interval reaches up by it.
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
    """Return Σupper/Σlower over rows, with the interval for rows like these (linearised)."""
    count, value = len(upper), float(upper.sum() / lower.sum())
    if count < 2:
        return Measure(value, *span, exact=exact)
    error = float(np.std(upper - value * lower, ddof=1) / (lower.mean() * np.sqrt(count)))
    return _around(value, error, count, span, exact=exact)


def _around(value: float, error: float, count: int, span: Span, *, exact: bool, above: float = 0.0) -> Measure:
    """Return a value within t standard errors, t for so many parts, as far as the span goes."""
    from scipy.special import stdtrit

    half = float(stdtrit(count - 1, 0.975)) * error
    low, high = max(span[0], value - half), min(span[1], value + half + above)
    return Measure(value, min(value, low), max(value, high), exact=exact)


def jackknife(without: Array) -> float:
    """Return the half width of a 95 % interval, from the values θ_f without each of F folds.

    t √((F − 1)/F Σ (θ_f − mean)²), with Student's t of F − 1 degrees (the delete-group jackknife: Tukey 1958; Kott
    2001). It also holds where θ is no mean over rows, as long as it is smooth in them.

    >>> rows = np.array([1.0, 2.0, 4.0, 5.0])  # of a mean, and one row a fold, it is Student's interval
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
