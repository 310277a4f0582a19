"""How far the sources of ICA can be trusted: which look like Gaussian noise, and how much of another each holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...contract.reducer import Recorder
from ...core.errors import NotConvergedWarning
from ...core.message import message
from .ica_rotation import Separation
from .ica_white_rows import Pass

Array = Any

_NATURE = {  # G itself, for the Gaussian's value
    "logcosh": lambda y: np.logaddexp(y, -y) - np.log(2.0),
    "exp": lambda y: -np.exp(-(y**2) / 2),
    "cube": lambda y: y**4 / 4,
}


def gaussian(contrast: str) -> tuple[float, float]:
    """Return the mean of G over n standardised Gaussian values as n grows, and √n times its standard deviation.

    Sources have mean 0 and variance 1 in the very rows that are averaged, so only the part of G(ν) that 1, ν and ν²
    do not explain makes the mean vary. The trapezium rule is exact to rounding.

    >>> mean, deviation = gaussian("cube")
    >>> round(mean, 12), round(deviation**2, 12)
    (0.75, 1.5)
    """
    y = np.linspace(-14, 14, 2801)
    p = np.exp(-(y**2) / 2)
    p /= p.sum()
    G = _NATURE[contrast](y)
    left = G.copy()
    for known in (np.ones_like(y), y, (y**2 - 1) / np.sqrt(2)):  # orthonormal under the Gaussian
        left -= float(p @ (G * known)) * known
    return float(p @ G), float(np.sqrt(p @ left**2))


def like_noise(value: Array, n: int, contrast: str) -> int:
    """Return how many sources look as Gaussian noise does after a search among n rows, given their E[G].

    A search turns p Gaussian sources away from the Gaussian, the further the more directions there are. So the p
    nearest ones are noise if the furthest of them lies within the `search_limit` of p; the largest such p is returned.

    >>> like_noise(np.array([0.75, 0.76, 0.9]), 10_000, "cube")
    2
    """
    mean, deviation = gaussian(contrast)
    far = np.sort(np.abs(value - mean)) * np.sqrt(n) / deviation
    within = np.flatnonzero(far <= search_limit(np.arange(1, len(far) + 1), n, contrast))
    return int(within[-1]) + 1 if len(within) else 0


def search_limit(p: Array, n: int, contrast: str) -> Array:
    """Return the standard errors that the furthest of p Gaussian sources hardly ever passes after a search of n rows.

    3 + 0.55(p − 1)^0.85, fitted to simulated searches of 300 to 30,000 rows for up to 40 sources. Where rows are few, a
    direction through a single row does more, above all under "cube": of n rows the longest hardly passes
    r² = p + 2√(p ln n) + 2 ln n (Laurent, Massart 2000), and G(r)/n is what it adds to the mean.
    """
    mean, deviation = gaussian(contrast)
    longest = np.sqrt(p + 2 * np.sqrt(p * np.log(n)) + 2 * np.log(n))
    return np.maximum(3 + 0.55 * (p - 1.0) ** 0.85, (_NATURE[contrast](longest) - mean) / (deviation * np.sqrt(n)))


def expected_error(seen: Pass, n: int) -> Array:
    """Return how much of source j is expected in estimate i (k × k, RMS), for n independent rows.

    The asymptotic variance of symmetric FastICA: (γᵢ + γⱼ + κⱼ²)/(n(|κᵢ| + |κⱼ|)²) with γ = E[g²] − E[gy]² (Tichavský,
    Koldovský, Oja 2006). Picard-O has the same optimum. Where nothing tells two sources apart it is large; 1 at most.
    """
    kappa = np.abs(seen.curvature)
    gamma = np.maximum(seen.power - np.diag(seen.C) ** 2, 0.0)
    above = gamma[:, None] + gamma[None, :] + kappa[None, :] ** 2
    below = n * (kappa[:, None] + kappa[None, :]) ** 2
    out = np.sqrt(np.divide(above, below, out=np.ones_like(above), where=below > above))
    np.fill_diagonal(out, 0.0)
    return out


def judge(found: Separation, n: int, contrast: str, tol: float, record: Recorder) -> None:
    """Record how far the sources of n rows can be trusted, and warn where the search did not converge."""
    record.note(iterations=found.iterations, residual=found.turn)
    record.evidence["expected share of another source"] = float(expected_error(found.seen, n).max())
    record.evidence["sources like Gaussian noise"] = like_noise(found.seen.value, n, contrast)
    if not found.converged:
        remedy = (
            "further iterations gain nothing, because {tol} is below rounding error; increase it"
            if found.resting
            else "increase {max_iter}, or use fewer components: nearly Gaussian sources cannot be separated"
        )
        steps = f"{found.iterations} iteration{'s' * (found.iterations != 1)}"
        turn = f"ICA: not converged after {steps} (change {found.turn:.2g} rad, tol {tol:g}); "
        record.warn(message(turn + remedy, tol=tol, max_iter=...), NotConvergedWarning)
