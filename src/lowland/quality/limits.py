"""Control limits of T² and of the squared residual, also for tails heavier than normal.

T² and the squared residual (SPE) of normal rows have distributions of the form offset + slope · h · F(h, dof). If the
inliers have heavier tails, the distribution of a multivariate t is used, c · h · F(h, ν), fitted to the inliers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

Array = Any

LOW, HIGH = 0.5, 0.9  # quantiles of the inliers that measure their spread
SURE = 2.5  # standard errors by which the spread of the inliers must exceed that of normal rows
_H = (1.0, 1e4)  # range of the degrees of freedom h of a weighted sum
_NU = (0.5, 1e4)  # range of ν; above it a t distribution is practically normal


@dataclass(frozen=True)
class Law:
    """The distribution of offset + slope · h · F(h, dof)."""

    h: float
    dof: float
    slope: float
    offset: float = 0.0

    def beyond(self, share: float) -> float:
        """Return the value that this share of the rows exceeds."""
        return float(self.offset + self.slope * self.h * f_beyond(share, self.h, self.dof))

    @property
    def degrees(self) -> float:
        """h of the distribution without an offset that has the same mean and variance."""
        mean = self.offset + self.slope * self.h
        return mean**2 / (self.slope**2 * self.h)


def f_beyond(share: float, h: float, dof: float) -> float:
    """Return the value that this share of an F variate with h and dof degrees of freedom exceeds.

    >>> round(f_beyond(0.01, 2, 48), 4)
    5.0767
    """
    if dof > 1e8:
        return float(special.chdtri(h, share)) / h
    b = float(special.betaincinv(dof / 2, h / 2, share))
    return dof / h * (1 / b - 1) if b > 0 else np.inf


def hotelling(k: int, n: int) -> Law:
    """Return the distribution of T² = Σ y²/λ over k components, for a row not among the n fitted ones.

    T² ~ k (n² − 1)/(n (n − k)) · F(k, n − k)   (Hotelling 1931; Jackson 1991, Tracy, Young and Mason 1992).

    >>> round(hotelling(2, 50).beyond(0.01), 3)
    10.572
    """
    return Law(k, n - k, (n * n - 1) / (n * (n - k)))


def residual_law(rest: Array) -> Law:
    """Return the distribution of SPE = ‖x − x̂‖² for normal rows with these residual variances.

    Pearson's χ² approximation by three moments θ_r = Σ λ^r: θ₁ + (χ²_h − h)·√(θ₂/h), h = θ₂³/θ₃² (Imhof 1961). It is
    exact for equal variances.
    """
    unit = float(np.max(rest))  # powers of the variances themselves could overflow
    first, second, third = (float(((rest / unit) ** r).sum()) for r in (1, 2, 3))
    h = second**3 / third**2
    slope = float(np.sqrt(second / h))
    return Law(h, np.inf, unit * slope, unit * max(0.0, first - slope * h))


def three_point_law(places: Sequence[float], points: Sequence[float], rows: float) -> Law:
    """Return the distribution offset + slope · h · F(h, h · rows) with these quantiles.

    A wider tail gives a smaller h. h is limited so that the offset stays positive.
    """
    wanted = (places[2] - places[0]) / (places[1] - places[0])

    def law(log_h: float) -> tuple[float, Law]:
        h = float(np.exp(log_h))
        q = [h * f_beyond(1 - p, h, h * rows) for p in points]
        slope = (places[1] - places[0]) / (q[1] - q[0])
        return (q[2] - q[0]) / (q[1] - q[0]), Law(h, h * rows, slope, places[0] - slope * q[0])

    low, high = np.log(_H[0]), np.log(_H[1])
    for _ in range(40):
        middle = (low + high) / 2
        ratio, found = law(middle)
        low, high = (middle, high) if ratio > wanted and found.offset > 0 else (low, middle)
    return law(low)[1]


def deleted(t2: Array, n: int) -> Array:
    """Convert T² of fitted rows to T² with respect to a fit without the row.

    By Sherman and Morrison, with u = T²/(n − 1):  T²₍₋ᵢ₎ = (n/(n − 1))² (n − 2) u/(1 − n u/(n − 1)).
    """
    u = t2 / (n - 1)
    left = np.maximum(1 - n * u / (n - 1), np.finfo(float).eps)  # zero: without the row that direction has no variance
    return (n / (n - 1)) ** 2 * (n - 2) * u / left


def spread(values: Array) -> float:
    """Return log(q₀.₉/q₀.₅), a measure of the spread of positive values above their median."""
    low, high = np.quantile(values, (LOW, HIGH))
    return float(np.log(high) - np.log(low)) if low > 0 else np.inf


def spread_error(quantile: Any, n: int) -> float:
    """Return the standard error of `spread` for n values of a distribution with this quantile function.

    Sample quantiles are jointly normal with covariances p(1 − q)/(n f f′); of their logarithms, divided by the values.
    """
    step = 1e-3
    slopes = [(np.log(quantile(p + step)) - np.log(quantile(p - step))) / (2 * step) for p in (LOW, HIGH)]
    a, b = slopes
    variance = a * a * LOW * (1 - LOW) + b * b * HIGH * (1 - HIGH) - 2 * a * b * LOW * (1 - HIGH)
    return float(np.sqrt(max(variance, 0.0) / n))


@dataclass(frozen=True)
class Limit:
    """The limit above which a row is flagged, and the limit for normal rows.

    ``nu``: degrees of freedom of the t distribution fitted to heavy tails; ``width``: spread of the logarithms of the
    distances relative to that of normal rows.
    """

    value: float
    normal: float
    nu: float | None = None
    width: float = 1.0


def limit(values: Array, law: Law, share: float) -> Limit:
    """Return the limit that this share of normal rows exceeds; values below it are the inliers.

    If the spread of the inliers exceeds that of the distribution by `SURE` standard errors, the limit comes from a t
    distribution fitted to their quantiles: rows beyond the normal limit then count as its tail.
    """
    normal = law.beyond(share)
    bulk = values[values <= normal]
    if len(bulk) < 20:
        return Limit(normal, normal)

    def ordinary(p: float) -> float:
        return law.beyond(1 - p * (1 - share))  # the inliers are truncated at the limit

    found = spread(bulk)
    expected = float(np.log(ordinary(HIGH)) - np.log(ordinary(LOW)))
    if not np.isfinite(found) or found <= expected + SURE * spread_error(ordinary, len(bulk)):
        return Limit(normal, normal)
    h, inside = law.degrees, len(bulk) / len(values)
    tops = 1 - HIGH * inside, 1 - LOW * inside

    def width(nu: float) -> float:
        return float(np.log(f_beyond(tops[0], h, nu)) - np.log(f_beyond(tops[1], h, nu)))

    low, high = np.log(_NU[0]), np.log(_NU[1])
    for _ in range(50):  # bisection: a wider spread has fewer degrees of freedom
        middle = (low + high) / 2
        low, high = (middle, high) if width(float(np.exp(middle))) > found else (low, middle)
    nu = float(np.exp((low + high) / 2))
    unit = float(np.quantile(bulk, LOW)) / f_beyond(tops[1], h, nu)
    return Limit(max(normal, unit * f_beyond(share, h, nu)), normal, nu)
