"""Dimension from the directions of neighbours, at a series of scales.

Random directions in d dimensions have cos²θ = 1/d on average. Unlike estimates from distances, which become equal for
few points in many dimensions, this needs no dense sampling: neighbourhoods may cover a large part of the data.

Let z be the offset of a random neighbour of a point, M = E zzᵀ, µ = E z and Σ = M − µµᵀ. In the interior of flat data
of uniform density Σ = M = sI, and d = (tr Σ)²/tr Σ², the local participation ratio. Near a border µ ≠ 0 and Σ is
narrower across it, so this is too low. For a ball cut by a plane through its centre, and for a linear density,

    d = tr M · tr Σ / tr(ΣM)

holds exactly, and for several planes at right angles nearly so in more than a few dimensions. Other planes lie between
the two cases, so the estimate is the mean of both and its interval contains both. If the data are curved, µ points out
of them, and only a share τ of |µ|² is tangential. Along a direction cut in half the variance is still a share
c(d) ≥ ¼ of s, and normal to the data it is almost zero. So τ = min(1, µᵀΣµ / (c s |µ|²)), and
d = (tr Σ + τ|µ|²) tr Σ / tr(ΣM).

All means are over products of distinct neighbours, so they are unbiased for any number of neighbours.

Noise adds its variance ν to tr Σ at every scale and almost nothing to tr Σ². So √tr Σ² = (tr Σ − ν)/√d over scales, and
the slope gives d in spite of noise. It is used if the participation ratio decreases as neighbourhoods grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core import thread_pool
from ..core.errors import DataError
from ..core.measure import Measure
from ..core.message import Message, Owner
from ..pairs.pairwise import tiles
from ..rows.units import times
from .neighbors import levina_bickel_of
from .points import Points, choose_anchors

Array = Any

SMALLEST, LARGEST = 8, 32  # neighbours at the finest scale; sampled neighbours at a coarser one
ANCHORS = 2000  # points whose neighbourhoods are used
REFERENCE = 100_000  # most points searched for neighbours
POOLS = 16  # most disjoint subsamples at a coarse scale
DRAWS = 200  # bootstrap samples of the anchors
FALL, DEEP = 1.05, 1.25  # ratio of the finest scale's dimension that indicates noise, and that is clear noise
MOST_BORDER = 1.25  # largest factor of the border correction
WINDOW = 3  # scales in a plateau
ROOM, RELATIVE_ROOM = 0.35, 0.12  # variation allowed in a plateau, absolute and relative
RISE = 1.05  # ratio over the finest scales that indicates curvature within the distance of neighbours
LONG, FILLED = 0.4, 0.5  # largest share of the fine scales' dimension; of the dimension of the space
FAR = 0.5  # estimates from distances below this share of the dimension by directions are ignored
SUNK = 3.0  # noise dominates if the coarsest scales have this many times fewer dimensions than any plateau
BIAS = 0.03  # relative bias left by borders and curvature: above that of cubes and spheres of 1 to 10 dimensions
MOST = 1e6  # upper limit of an estimate: larger ratios are rounding
_OFFSETS_AT_ONCE = 1 << 20  # entries of offsets in memory at a time
_WEIGHTS = 1 << 22  # weights of resampled anchors in memory at a time


class AngleSums(NamedTuple):
    """Moments (m × 7) around the anchors at one scale, with the radii of the neighbourhoods."""

    neighbors: float  # number of points in a neighbourhood
    moments: Array  # relative to ``unit``, as the radii, so that fourth powers do not overflow
    radii: Array
    unit: float
    independent: float  # number of neighbourhoods that do not overlap
    distances: float  # dimension by the distances at this scale (Levina and Bickel); NaN if all are equal


@dataclass(frozen=True, eq=False)
class ScaleCurve:
    """The dimension at each scale, from fine to coarse.

    ``value`` is the estimate: the mean of ``inner`` (by Σ alone) and ``outer`` (with the border correction), or, where
    ``noisy``, the same of the slopes. ``low`` and ``high`` are the two for resampled anchors (draws × scales).
    """

    neighbors: Array
    radius: Array
    inner: Array
    outer: Array
    distances: Array
    noisy: Array
    value: Array
    low: Array
    high: Array


class Plateau(NamedTuple):
    """The range ``first`` … ``last`` of scales with a constant dimension, and its value."""

    value: Measure
    first: int
    last: int
    level: bool  # whether there is such a range
    rising: bool  # whether the dimension rises from the finest scale on and was extrapolated to scale zero
    spanned: bool = False  # whether the value is the maximum for this number of points


def moments(G: Array) -> Array:
    """Return (B × 7) unbiased tr M, tr Σ, (tr M)², tr M |µ|², tr M², µᵀMµ, |µ|⁴ from products of offsets (B × k × k).

    Sums over pairs, triples and quadruples of distinct neighbours, from row sums of the products.
    """
    k = G.shape[1]
    g = np.einsum("bii->bi", G).copy()
    G = G.copy()
    G[:, np.arange(k), np.arange(k)] = 0.0
    row = G.sum(axis=2)
    table, rows, squares = row.sum(axis=1), (row * row).sum(axis=1), np.einsum("bij,bij->b", G, G)
    pairs, triples, fours = k * (k - 1), k * (k - 1) * (k - 2), k * (k - 1) * (k - 2) * (k - 3)
    whole = g.sum(axis=1)
    return np.column_stack(
        [
            whole / k,
            whole / k - table / pairs,
            (whole**2 - (g * g).sum(axis=1)) / pairs,
            (g * (table[:, None] - 2 * row)).sum(axis=1) / triples,
            squares / pairs,
            (rows - squares) / triples,
            (table * table - 4 * rows + 2 * squares) / fours,
        ]
    )


def kept_by_half(d: Array) -> Array:
    """Return the variance c(d) of half a ball across the cut, relative to that of the ball.

    1 − (d + 2) (E|z|)², with E|z| = Γ(d/2 + 1)/(√π Γ((d + 3)/2)) for a ball of radius 1.

    >>> kept_by_half(np.array([1.0])).round(6).tolist()
    [0.25]
    """
    from scipy.special import gammaln

    mean = np.exp(gammaln(d / 2 + 1) - gammaln((d + 3) / 2)) / np.sqrt(np.pi)
    return 1 - (d + 2) * mean**2


def dimensions(means: Array) -> tuple[Array, Array]:
    """Return (tr Σ)²/tr Σ² and (tr Σ + τ|µ|²) tr Σ/tr(ΣM) from means of the moments (… × 7)."""
    _, _, mm, mu, square, bent, drift = np.moveaxis(means, -1, 0)
    inner = _ratio(mm - 2 * mu + drift, square - 2 * bent + drift)
    inner = np.maximum(inner, 1.0)
    within, length = np.maximum(bent - drift, 0.0), np.maximum(mu - drift, 0.0)  # µᵀΣµ and tr Σ |µ|²
    outer = inner
    for _ in range(3):  # c and s depend on d, weakly
        room = kept_by_half(outer) * length / outer
        share = np.where(room > 0, np.minimum(1.0, within / np.where(room > 0, room, 1.0)), 0.0)
        outer = _ratio(mm - 2 * mu + drift + share * length, square - 2 * bent + drift + within)
        outer = np.maximum(outer, inner)
    return inner, outer


def _ratio(above: Array, below: Array) -> Array:
    """Return a ratio of moments; unbiased estimates of the denominator may be near zero or negative."""
    return above / np.maximum(below, np.abs(above) / MOST + 1e-300)


def scan(points: Points, rng: np.random.Generator, anchors: int | str | None = "auto") -> list[AngleSums]:
    """Return the moments of neighbourhoods of 8, 16, … up to all points.

    Up to 32 neighbours are used directly. A larger neighbourhood is sampled by the 32 nearest points of a random
    subsample of the data; several disjoint subsamples serve different anchors.
    """
    chosen = rng.permutation(choose_anchors(points.n, anchors, rng, "estimate", ANCHORS))
    order = rng.permutation(points.n)[:REFERENCE]
    largest = int(min(LARGEST, max(4, (len(order) - 1) // 3)))
    found: list[AngleSums] = []
    unit = 0.0
    sizes = [len(order)]
    while sizes[-1] // 2 >= 1.4 * largest:
        sizes.append(sizes[-1] // 2)
    if sizes[-1] > largest + 2:
        sizes.append(largest + 2)  # neighbourhoods of nearly all points
    for size in sizes:
        parts = max(1, min(POOLS, len(order) // size))
        pieces = [np.sort(order[i * size : (i + 1) * size]) for i in range(parts)]
        if size == points.n:
            pieces = [np.arange(points.n)]
        lists = [points.nearest(chosen[i::parts], piece, largest + 1) for i, piece in enumerate(pieces)]
        unit = unit or 2.0 ** round(float(np.log2(np.median(lists[0][1]))))  # a power of two, so division is exact
        for k in _sizes(largest) if size == len(order) else [largest]:
            found.append(_sums(points, chosen, lists, k, size, unit))
    if not np.isfinite([scale.distances for scale in found]).any():
        raise DataError(
            Message(
                Owner("estimate"),
                "all points are equally far from each other, so the dimension cannot be estimated; use another "
                "metric or more rows",
            )
        )
    return found


def _sizes(largest: int) -> list[int]:
    sizes = [largest]
    while sizes[-1] >= 2 * SMALLEST:
        sizes.append(sizes[-1] // 2)
    return sizes[::-1]


def _sums(points: Points, chosen: Array, lists: list[tuple[Array, Array]], k: int, size: int, unit: float) -> AngleSums:
    parts = len(lists)
    neighbors, distances = np.empty((len(chosen), k), dtype=np.int64), np.empty((len(chosen), k + 1))
    for i, (indices, lengths) in enumerate(lists):
        neighbors[i::parts], distances[i::parts] = indices[:, :k], lengths[:, : k + 1]

    def batch(part: slice) -> Array:
        return moments(points.geometry.around(chosen[part], neighbors[part]) / unit / unit)

    work = tiles(len(chosen), max(1, _OFFSETS_AT_ONCE // (k * max(k, points.geometry.width or k))))
    found = np.concatenate(list(thread_pool.run(batch, work, stage="directions", total=len(work))))
    independent = min(len(chosen), parts * size / k)
    return AngleSums(
        k * points.n / size,
        found,
        distances[:, k] / unit,
        times(unit, points.exponent),
        independent,
        _by_distance(distances),
    )


def _by_distance(distances: Array) -> float:
    try:
        return float(levina_bickel_of(distances, distances.shape[1], distances.shape[1]))
    except DataError:  # all neighbours are equally far: only directions are used at this scale
        return float("nan")


def curve(scales: list[AngleSums], rng: np.random.Generator) -> ScaleCurve:
    """Return the dimension at each scale, with bootstrap values.

    Neighbourhoods overlap, so only as many anchors are drawn as there are disjoint neighbourhoods: intervals are
    conservative.
    """
    common = scales[len(scales) // 2].radii  # slopes compare scales, so all use the same unit
    key, most = int(rng.integers(2**62)), max(_count(scale) for scale in scales)
    own, shared = [], []
    for scale in scales:
        table = np.hstack([_in_units(scale.moments, scale.radii), _in_units(scale.moments, common)])
        means = _resampled(table, _count(scale), most, np.random.default_rng(key))
        own.append(means[:, :7])
        shared.append(means[:, 7:])
    inner, outer = dimensions(np.stack(own, axis=1))
    within, across, noise = slopes(np.stack(shared, axis=1))
    noisy = _noisy(inner[0], within[0], noise[0])
    low: Array = np.where(noisy, within, inner)
    high: Array = np.maximum(low, np.where(noisy, across, outer))
    return ScaleCurve(
        np.array([scale.neighbors for scale in scales]),
        np.array([scale.unit * float(np.median(scale.radii)) for scale in scales]),
        inner[0],
        outer[0],
        np.array([scale.distances for scale in scales]),
        noisy,
        (low[0] + high[0]) / 2,
        low[1:],
        high[1:],
    )


def _count(scale: AngleSums) -> int:
    """Return the number of anchors in a bootstrap sample at a scale."""
    return max(4, int(scale.independent))


def _resampled(table: Array, count: int, most: int, rng: np.random.Generator) -> Array:
    """Return the mean of a table (m × c) over its rows, and over those of each bootstrap sample.

    All scales use the same anchors and random numbers; a scale with fewer disjoint neighbourhoods uses the first
    ``count`` of the ``most`` drawn. So the errors of the scales are correlated, as they are for other data.
    """
    m, step = len(table), max(1, _WEIGHTS // max(len(table), most))
    with thread_pool.one_blas_thread():
        means = [np.full((1, m), 1 / m) @ table]
        for part in tiles(DRAWS, step):
            drawn = rng.integers(0, m, size=(part.stop - part.start, most))[:, :count]
            rows = np.arange(len(drawn))[:, None] * m
            weights = np.bincount((drawn + rows).ravel(), minlength=len(drawn) * m).reshape(len(drawn), m) / count
            means.append(weights @ table)
    return np.concatenate(means)


def _noisy(inner: Array, within: Array, noise: Array) -> Array:
    """Return at which scales the decrease from the finest scale is due to noise.

    A large decrease is. A small one may be due to borders; noise with a share ν/S of the finest scale's variance raises
    the dimension there by 1/(1 − ν/S)², and at least this must be observed.
    """
    fall = inner[0] / inner
    expected = within / np.maximum(1 - noise, 0.5) ** 2
    shallow = (noise < 0.5) & (expected <= 1.1 * inner[0])
    noisy = (fall > FALL) & ((fall > DEEP) | shallow) & (within < inner)
    beside = np.concatenate([[False], noisy[:-1]]) | np.concatenate([noisy[1:], [True]])
    return noisy & beside  # an isolated noisy scale is chance


def _in_units(values: Array, radii: Array) -> Array:
    unit = radii[:, None] ** 2
    return np.concatenate([values[:, :2] / unit, values[:, 2:] / unit**2], axis=1)


def slopes(means: Array) -> tuple[Array, Array, Array]:
    """Return the dimension by slopes over neighbouring scales (… × scales), by Σ alone and with border correction.

    With S = tr Σ, T = tr M, B² = tr Σ² and C² = tr(ΣM): (ΔS/ΔB)² and ΔT ΔS/ΔC². Also the noise ν = S − B √d that the
    first implies, over S at the finest scale.
    """
    T, S, _, _, square, bent, drift = np.moveaxis(means, -1, 0)
    B, C = (np.sqrt(np.maximum(x, 0.0)) for x in (square - 2 * bent + drift, square - bent))
    n = S.shape[-1]
    below, above = np.maximum(np.arange(n) - 1, 0), np.minimum(np.arange(n) + 1, n - 1)

    def rise(x: Array) -> Array:
        return np.maximum(x[..., above] - x[..., below], 1e-12 * x[..., above] + 1e-300)

    def ratio(x: Array, y: Array) -> Array:  # of radii or squares that hardly rise; its square does not overflow
        return np.minimum(rise(x) / rise(y), MOST_BORDER * MOST)

    within = np.clip(ratio(S, B) ** 2, 1.0, MOST)
    across = np.clip(ratio(T, C) * ratio(S, C), within, MOST_BORDER * within)
    return within, across, (S - B * np.sqrt(within)) / np.maximum(S[..., :1], 1e-300)


def plateau(found: ScaleCurve, size: int | None = None) -> Plateau:
    """Return the lowest plateau: a range of scales over which the dimension is constant.

    Noise raises the dimension at fine scales and curvature at coarse ones; in between it is lowest. If it rises from
    the finest scale on, there is no plateau. To first order in r², curvature multiplies the dimension by e^{c r²}, so
    ln d is extrapolated to r = 0, and averaged with the estimate from distances, which curvature affects less.

    ``size`` is the dimension of the surrounding space, if known. At fine scales noise fills most of it. If the fine
    scales have far fewer dimensions and the coarse ones still fewer, the shape is elongated, not noisy, and the fine
    scales are used.
    """
    n = len(found.value)
    width = min(n, WINDOW if n > WINDOW + 1 else WINDOW - 1)
    windows = [slice(i, i + width) for i in range(n - width + 1)]
    means = np.array([found.value[w].mean() for w in windows])
    spreads = np.array([np.ptp(found.value[w]) for w in windows]) / _room(means)
    stable = np.flatnonzero(spreads <= 1)
    lowest = float(means[stable].min()) if len(stable) else np.inf
    start = found.value[:width]
    if width > 2 and (np.diff(start) > 0).all() and start[-1] > RISE * start[0] and lowest > start[0]:
        return _extrapolated(found, width)
    sunk = SUNK * means.min() < (lowest if len(stable) else means.max())
    level = len(stable) > 0 and not sunk
    best = int(stable[np.argmin(means[stable])]) if level else int(np.argmin(means if sunk else spreads))
    if size is not None and spreads[0] <= 1 and means[best] < LONG * means[0] and means[0] < FILLED * size:
        sunk, level, best = False, True, 0
    window = windows[best]
    values = found.value[window]
    value = float(values.min() if sunk else values.mean())
    low = float(np.quantile(found.low[:, window].mean(axis=1), 0.025))
    high = float(np.quantile(found.high[:, window].mean(axis=1), 0.975))
    if not level:
        low, high = 1.0 if sunk else min(low, float(values.min())), max(high, float(values.max()))
    first, last = window.start, window.stop - 1
    while level and first > 0 and abs(found.value[first - 1] - value) <= _room(value):
        first -= 1
    while level and last < n - 1 and abs(found.value[last + 1] - value) <= _room(value):
        last += 1
    return Plateau(_measured(value, low, high), first, last, level, rising=False)


def _extrapolated(found: ScaleCurve, width: int) -> Plateau:
    """Return the dimension extrapolated to scale zero, averaged with the estimate from distances.

    A much lower estimate from distances is due to clusters or discrete values, not to curvature, and is ignored.
    """
    radius = found.radius[:width] / found.radius[0]  # so that squares do not overflow
    x = radius**2 - (radius**2).mean()
    draws = np.vstack([found.value, (found.low + found.high) / 2])[:, :width]
    y = np.log(draws)
    slope = (y * x).sum(axis=1) / max(float((x * x).sum()), 1e-300)  # 0 if tied distances make all radii equal
    back = np.maximum(1.0, np.exp(y.mean(axis=1) - slope * (radius**2).mean()))
    second = float(found.distances[0])
    low, high = np.quantile(back[1:], [0.025, 0.975])
    second = second if second >= FAR * back[0] else float(back[0])
    value = (float(back[0]) + second) / 2
    return Plateau(_measured(value, min(float(low), second), max(float(high), second)), 0, 0, level=False, rising=True)


def _measured(value: float, low: float, high: float) -> Measure:
    low, high = max(1.0, low * (1 - BIAS)), high * (1 + BIAS)
    return Measure(value, min(low, value), max(high, value), exact=False)


def _room(value: Any) -> Any:
    return np.maximum(ROOM, RELATIVE_ROOM * value)
