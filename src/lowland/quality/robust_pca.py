"""Robust PCA: principal components of the inliers, so that outliers do not determine the axes.

The start has a breakdown point of 50 %: spherical principal components (Locantore et al. 1999), which use only the
direction of each row from the centre, and then the half of the rows nearest to them. From there the rows within the
limits are fitted and measured again until the set of inliers does not change: the reweighting of robust covariances
(Rousseeuw and Van Driessen 1999). Every step is one pass over the rows, which may be blocks or sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.settings import report_progress
from ..rows.row_source import RowSource
from ..spectral import dense, rowspace
from ..spectral.parallel_analysis import parallel_analysis
from ..spectral.routes import degrees
from ..spectral.solve import DENSE_LIMIT
from ..spectral.solved import ComponentRule, Scaling
from .limits import Law, Limit, deleted, hotelling, limit
from .neighbor_distance import divided
from .residuals import as_new, new_law

Array = Any

ROUNDS = 30  # most iterations; a few are enough unless rows are near a limit
FIRST = 10  # number of components of the start, and of `auto` if parallel analysis would take too long
ROWS_EACH = 5  # least number of rows for each component
_EQUAL_VARIANCES_LEVEL = 0.01  # level of the test for equal first variances
_FLAT_SHARE = 1e-12  # of the variance: a smaller residual is rounding
_CANCELLED = 1e-5  # of the subtracted squares: smaller residuals are recomputed from differences
_DENSE_ENTRIES = 1 << 21  # entries of sparse rows made dense at a time
_RESIDUAL_ROUNDING = 1e-13  # of a row's squared length: a smaller residual is zero up to rounding


@dataclass(frozen=True)
class RobustAxes:
    """Mean, scales, k directions (as columns) with their variances, and the computed part of the spectrum."""

    mean: Array
    scale: Array | None
    directions: Array
    variances: Array
    spectrum: Array
    total: float
    columns: Array  # variances of the unscaled columns
    n: int

    @property
    def k(self) -> int:
        """Number of directions."""
        return len(self.variances)

    @property
    def share(self) -> float:
        """Share of the variance along the directions."""
        return float(self.variances.sum()) / self.total if self.total > 0 else 1.0

    @property
    def flat(self) -> bool:
        """Whether the residual is zero up to rounding."""
        return float(self.rest().sum()) <= _FLAT_SHARE * self.total

    def rest(self) -> Array:
        """Return the residual's variances."""
        return rest_of(self.spectrum, self.total, self.k)


def residual(axes: RobustAxes) -> Law:
    """Return the distribution of SPE for new rows; if the residual is zero, any residual above rounding is extreme."""
    if axes.flat:
        return Law(1.0, np.inf, _FLAT_SHARE * axes.total)
    return new_law(axes.variances, axes.rest(), axes.n)


def rest_of(spectrum: Array, total: float, k: int) -> Array:
    """Return the variances after the first k.

    If only the leading ones are known, the others are assumed to equal the last known one, as many as the total allows.
    This is the widest distribution with the same sum, so the limit is conservative.
    """
    known = np.asarray(spectrum, dtype=np.float64)[k:]
    known = known[known > 0]
    left = total - float(np.asarray(spectrum, dtype=np.float64).sum())
    if left <= 1e-9 * total:
        return known
    last = float(spectrum[-1])
    whole = int(min(left // last, 1e6))
    part = left - whole * last if whole < 1e6 else 0.0
    size = left / whole if whole == int(1e6) else last
    return np.concatenate([known, np.full(whole, size), [part] if part > 0 else []])


def fit(
    rows: RowSource, weights: Array | None, wanted: ComponentRule, scale: bool, rng: np.random.Generator
) -> RobustAxes:
    """Return the principal components of weighted rows."""
    space = rowspace.decompose(rows.weighted(weights), wanted, Scaling(True, scale, 1), rng=rng)
    solved = space.solved
    divisor = degrees(solved.weight, 1)
    return RobustAxes(
        solved.mean,
        solved.scale,
        space.directions,
        space.values**2 / divisor,
        solved.spectrum / divisor,
        solved.total / divisor,
        solved.variances,
        solved.n_rows,
    )


def judge(rows: RowSource, axes: RobustAxes, variances: Array | None = None) -> tuple[Array, Array]:
    """Return T² = Σ y²/λ and SPE = ‖z‖² − ‖y‖² of each row, z centred and scaled, y along the directions."""
    out = arrays.to_numpy(rows.map_blocks(judging(axes, variances), 2, np.float64))
    return out[:, 0], out[:, 1]


def judging(axes: RobustAxes, variances: Array | None = None) -> Callable[[Array], Array]:
    """Return the function that computes T² and SPE of a block of rows."""
    V, spans = axes.directions, axes.variances if variances is None else variances
    whole = axes.k == len(axes.mean)
    scale = np.ones(len(axes.mean)) if axes.scale is None else axes.scale

    def both(block: Array) -> Array:
        if sp.issparse(block):
            Y, rest = _by_products(divided(sp.csr_array(block, dtype=np.float64), scale), axes.mean / scale, V)
        else:
            Y, rest = _by_differences((arrays.cast(block, np.float64) - axes.mean) / scale, V)
        squares = (Y * Y).sum(axis=1)
        rest = np.where(rest > _RESIDUAL_ROUNDING * (rest + squares), rest, 0.0)
        return np.column_stack([(Y * Y / spans).sum(axis=1), np.zeros(len(rest)) if whole else rest])

    return both


def _by_differences(Z: Array, V: Array) -> tuple[Array, Array]:
    """Return the coordinates of centred rows along V, and the squared residuals; Z is overwritten."""
    Y = Z @ V
    Z -= Y @ V.T
    return Y, np.einsum("ij,ij->i", Z, Z)


def _by_products(B: Array, mean: Array, V: Array) -> tuple[Array, Array]:
    """Return the same for sparse rows minus a mean, without making them dense: ‖b‖² − 2 bᵀm + ‖m‖² − ‖y‖².

    If the result is small relative to ‖b‖² + ‖m‖², cancellation makes it inaccurate, and it is recomputed from
    differences.
    """
    Y = np.asarray(B @ V) - mean @ V
    sizes = np.asarray(B.multiply(B).sum(axis=1)).ravel() + float(mean @ mean)
    rest = sizes - 2 * np.asarray(B @ mean) - (Y * Y).sum(axis=1)
    lost = np.flatnonzero(rest <= _CANCELLED * sizes)
    step = max(1, _DENSE_ENTRIES // len(mean))
    for start in range(0, len(lost), step):
        part = lost[start : start + step]
        Y[part], rest[part] = _by_differences(B[part].toarray() - mean, V)
    return Y, rest


@dataclass(frozen=True)
class Judged:
    """Axes of the inliers, and T² and SPE of all rows with their limits (None: there is no residual)."""

    axes: RobustAxes
    t2: Array
    spe: Array
    t2_limit: Limit
    spe_limit: Limit | None

    def outside(self) -> Array:
        """Return which rows exceed a limit."""
        found = self.t2 > self.t2_limit.value
        if self.spe_limit is not None:
            found = found | (self.spe > self.spe_limit.value)
        return np.asarray(found)


class InlierSearch:
    """The search for the inliers among some rows.

    Parameters
    ----------
    rows : RowSource
        Rows that can be read several times.
    few : array
        A sample of them (or all), for medians and quartiles.
    count : int or None
        Number of components; None: by parallel analysis of the inliers.
    scale : bool
        Whether columns are divided by their standard deviations.
    share : float
        Share of normal rows beyond each limit.
    """

    def __init__(
        self, rows: RowSource, few: Array, count: int | None, scale: bool, share: float, rng: np.random.Generator
    ) -> None:
        self.rows, self.few, self.count, self.scale, self.share, self.rng = rows, few, count, scale, share, rng
        self.n = rows.count()
        self.most = max(1, min(rows.n_features, self.n // ROWS_EACH))
        self.stable, self.rounds = True, 0
        self._last: tuple[bytes, Judged] | None = None

    def fit(self, kept: Array | None, wanted: ComponentRule) -> RobustAxes:
        """Fit some of the rows."""
        return fit(self.rows, None if kept is None or kept.all() else kept.astype(float), wanted, self.scale, self.rng)

    def find(self) -> Array:
        """Return which rows are inliers; also sets the number of components."""
        near = self._half()
        if near is None:
            kept = np.ones(self.n, dtype=bool)
        else:
            axes = self.fit(near, ComponentRule(count=min(self.most, self.count or FIRST)))
            kept = self._within(axes, near)
        if self.count is None:
            self.count = self._components(kept)
        return self.settle(kept, np.zeros(self.n, dtype=bool))

    def whole(self, *, recount: bool) -> Judged:
        """Measure all rows by the axes of all rows; ``recount``: choose the number of components again."""
        kept = np.ones(self.n, dtype=bool)
        if recount:
            self.count = self._components(kept)
        self.stable = True
        return self.judged(kept)

    def settle(self, kept: Array, never: Array) -> Array:
        """Fit and measure until the set of inliers does not change; rows of ``never`` are excluded.

        Rows near a limit may alternate between in and out: in a cycle, the union of its sets is returned.
        """
        seen: dict[bytes, int] = {}
        trail: list[Array] = []
        for done in range(1, ROUNDS + 1):
            report_progress("inliers", done, None)
            self.rounds += 1
            seen[kept.tobytes()] = len(trail)
            trail.append(kept)
            again = ~self.judged(kept).outside() & ~never
            if again.sum() <= self.n / 2:  # no majority is left: the limits are not valid for these rows
                break
            if again.tobytes() in seen:
                self.stable = True
                return np.logical_or.reduce(trail[seen[again.tobytes()] :])
            kept = again
        self.stable = False
        return kept

    def judged(self, kept: Array) -> Judged:
        """Measure all rows by the axes of the kept rows, each as if it had not been fitted."""
        key = kept.tobytes()
        if self._last is None or self._last[0] != key:  # repeated calls for the same rows are cached
            self._last = key, self._judged(kept)
        return self._last[1]

    def _judged(self, kept: Array) -> Judged:
        assert self.count is not None
        axes = self.fit(kept, ComponentRule(count=min(self.count, self.most)))
        t2, spe, left = self._as_new(axes, kept)
        along = hotelling(axes.k, axes.n - 1)
        if left is None:
            return Judged(axes, t2, spe, limit(t2, along, self.share), None)
        # the tail of each measure is fitted to the rows within the limit of the other
        far, off = t2 > along.beyond(self.share), spe > left.beyond(self.share)
        return Judged(axes, t2, spe, limit(t2[~off], along, self.share), limit(spe[~far], left, self.share))

    # -- steps --------------------------------------------------------------------------------------------

    def _as_new(self, axes: RobustAxes, fitted: Array) -> tuple[Array, Array, Law | None]:
        """Return T² and SPE of all rows as if they were new, and the distribution of SPE (None without a residual)."""
        t2, spe = judge(self.rows, axes)
        t2[fitted] = deleted(t2[fitted], axes.n)
        if axes.k == len(axes.mean):
            return t2, spe, None
        law = residual(axes)
        if not axes.flat:
            spe[fitted] = as_new(spe[fitted], axes.rest(), axes.n, law)
        return t2, spe, law

    def _half(self) -> Array | None:
        """Return the half of the rows nearest to spherical components; None if half of the rows are equal."""
        middle, unit = self._middle()
        squares = self._squares(middle, unit)
        wanted = ComponentRule(count=min(self.most, self.count or FIRST))
        if not np.quantile(squares, 0.5) > 0:
            return None
        for _ in range(2):  # the second time around the mean of the first
            w = 1 / np.maximum(squares, np.quantile(squares[squares > 0], 0.1))
            axes = fit(self.rows, w * (self.n / w.sum()), wanted, self.scale, self.rng)
            squares = self._squares(axes.mean, unit)
        Y = coordinates(self.few, axes)
        spans = np.median(np.abs(Y - np.median(Y, axis=0)), axis=0) ** 2
        t2, spe = judge(self.rows, axes, np.where(spans > 0, spans, axes.variances))
        score = _relative(t2) + _relative(spe)
        order = np.argsort(score, kind="stable")
        near = np.zeros(self.n, dtype=bool)
        near[order[: self.n // 2 + 1]] = True
        return near

    def _within(self, axes: RobustAxes, near: Array) -> Array:
        """Return the rows within the limits of a fit to half of the rows, rescaled by the medians."""
        t2, spe, left = self._as_new(axes, near)
        law = hotelling(axes.k, axes.n)
        kept = _relative(t2) <= law.beyond(self.share) / law.beyond(0.5)
        if left is not None:
            kept &= _relative(spe) <= left.beyond(self.share) / left.beyond(0.5)
        return kept if kept.sum() > self.n / 2 else np.ones(self.n, dtype=bool)

    def _components(self, kept: Array) -> int:
        """Return the number of components by parallel analysis."""
        if min(int(kept.sum()) - 1, self.rows.n_features) > DENSE_LIMIT // 2:
            return min(FIRST, self.most)
        axes = self.fit(kept, ComponentRule(rule=lambda solved: 1))  # the whole spectrum
        spans = axes.columns if axes.scale is None else axes.columns / axes.scale**2  # 0 for constant columns
        key = int(self.rng.integers(2**31))
        return min(int(parallel_analysis(axes.spectrum, axes.n, spans, random_state=key)), self.most)

    def _middle(self) -> tuple[Array, Array]:
        """Return the medians and the units of the columns; constant columns have unit 1."""
        middle, unit, _ = middle_and_spread(self.few)
        return middle, np.where(unit > 0, unit, 1.0) if self.scale else np.ones(self.rows.n_features)

    def _squares(self, middle: Array, unit: Array) -> Array:
        """Return the squared distances from the centre."""
        none = RobustAxes(middle, unit, np.zeros((len(middle), 0)), np.empty(0), np.empty(0), 0.0, np.empty(0), self.n)
        return judge(self.rows, none)[1]


def middle_and_spread(rows: Array) -> tuple[Array, Array, Array]:
    """Return the medians and interquartile ranges of columns, and which columns have a positive range.

    For a column with equal quartiles, such as rare events, the standard deviation is used. For sparse columns, whose
    quartiles are mostly 0, means and standard deviations are used.
    """
    if sp.issparse(rows):
        return *_moments(sp.csr_array(rows, dtype=np.float64)), np.zeros(rows.shape[1], dtype=bool)
    low, middle, high = np.quantile(rows, (0.25, 0.5, 0.75), axis=0).astype(np.float64)
    spread = high - low
    mostly_one = spread == 0
    spread[mostly_one] = np.std(rows[:, mostly_one], axis=0, dtype=np.float64)
    return middle, spread, ~mostly_one


def _moments(rows: Array) -> tuple[Array, Array]:
    """Return the means and standard deviations of sparse columns, including zeros that are not stored."""
    n, d = rows.shape
    mean = np.asarray(rows.mean(axis=0)).ravel()
    unstored = n - np.bincount(rows.indices, minlength=d)
    squares = np.bincount(rows.indices, (rows.data - mean[rows.indices]) ** 2, minlength=d)
    return mean, np.sqrt((squares + unstored * mean**2) / n)


def coordinates(block: Array, axes: RobustAxes) -> Array:
    """Return the coordinates of rows along the axes."""
    scale = 1.0 if axes.scale is None else axes.scale
    if sp.issparse(block):
        V = axes.directions / np.reshape(scale, (-1, 1)) if axes.scale is not None else axes.directions
        return np.asarray(block @ V) - axes.mean @ V
    return (np.asarray(block, dtype=np.float64) - axes.mean) / scale @ axes.directions


def distinct_first(axes: RobustAxes) -> bool:
    """Return whether the first variance is significantly larger than the second.

    If two variances are equal, n·ln((λ₁ + λ₂)²/(4 λ₁λ₂)) follows χ² with 2 degrees of freedom (Anderson 1963); if more
    are equal, the first two of a sample are closer, and it is smaller.
    """
    if axes.k < 2 or not axes.variances[1] > 0:
        return True
    ratio = float(axes.variances[0] / axes.variances[1])
    return bool(axes.n * np.log((1 + ratio) ** 2 / (4 * ratio)) > -2 * np.log(_EQUAL_VARIANCES_LEVEL))


def angles(A: Array, B: Array) -> Array:
    """Return the principal angles between the spans of two matrices with orthonormal columns, in degrees, ascending.

    Cosines are the singular values of AᵀB; small angles, for which the cosine is inaccurate, come from the sines, the
    singular values of B − A AᵀB (Björck and Golub 1973).

    >>> angles(np.eye(3)[:, :1], np.array([[1.0], [1.0], [0.0]]) / np.sqrt(2)).round(6).tolist()
    [45.0]
    """
    C = A.T @ B
    cosines = np.clip(dense.svd(C)[1], 0, 1)
    sines = np.clip(dense.svd(B - A @ C)[1], 0, 1)[::-1][-len(cosines) :]
    small = cosines**2 > 0.5
    return np.degrees(np.where(small, np.arcsin(sines), np.arccos(cosines)))


def _relative(values: Array) -> Array:
    """Return values divided by their median; if it is zero, infinity for positive values."""
    middle = float(np.median(values))
    if middle > 0:
        return values / middle
    return np.where(values > 0, np.inf, 0.0)
