"""Rotate white rows so that their coordinates are as far from Gaussian as possible: the main step of ICA.

Given rows z with mean 0 and covariance I, sources y = Wz are sought with W orthogonal. All that is needed of the rows
is one pass for

    C = E[g(y)yᵀ],  h = E[g′(y)],  v = E[G(y)]    with a contrast G and g = G′,

and two ways to the optimum are steps on these k × k numbers. With κ = h − diag C, which is zero for a Gaussian source
and whose sign tells on which side of it a source lies:

- symmetric FastICA turns W by the orthogonal matrix nearest to sign(κ)(diag h − C) (Hyvärinen 1999);
- Picard-O descends on Σ sign(κᵢ) vᵢ by L-BFGS, each pair of sources scaled by its curvature (|κᵢ| + |κⱼ|)/2 (Ablin,
  Cardoso, Gramfort 2018).

To first order the two steps are the same. The curvature is exact where sources are independent: there FastICA is done
in a dozen steps and needs no line search. Where they are not, as in most real data, FastICA crawls or goes in circles,
and Picard-O learns from its last steps what the curvature lacks. So `separate` begins with the first and ends with the
second: of 117 fits to 13 tables all converged, of FastICA's 64 in 400 steps. Picard-O alone converged, too, but to the
nearest optimum: with 12 % less contrast on 20 principal components of digits.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core import arrays
from ...core.cost import DataShape, dense_seconds
from ...core.errors import DataError
from ...core.message import message
from ...core.settings import report_progress, threads
from ...spectral import dense
from ...spectral.routes import rank_tolerance
from .ica_white_rows import Pass, WhiteRows, held_rows, panel_rows

Array = Any

CONTRASTS = ("logcosh", "exp", "cube")
_FIRST = 50  # steps of FastICA before Picard-O: its long steps leave poor optima behind
_STEPS_REMEMBERED = 10  # steps that Picard-O remembers
_FLEXIBLE = 20  # steps in which a source may change sides of the Gaussian; then the goal stands still, and is reached
_HALVINGS = 12  # of a step that does not descend
_FLOOR = 0.01  # least curvature of a pair, as a share of the largest
_IDLE = 8  # steps without any gain after which a search has come to rest
_PASSES = 40  # over the rows, in a usual fit
_LAST_PASSES = 5  # over all rows, after a start on some of them
_FINE = 1e-9  # turns below this fall from step to step, or are rounding; larger ones of FastICA may go in circles


@dataclass(frozen=True)
class Separation:
    """The rotation, what the last pass saw under it, and how far from the goal it is.

    ``turn`` is the angle in radians by which the next step would turn the source that it turns most; ``resting`` says
    that it falls no more, whatever the number of steps.
    """

    W: Array
    seen: Pass
    turn: float
    iterations: int
    converged: bool
    resting: bool = False


class Steps:
    """Counts the steps of a whole search and tells them."""

    def __init__(self, stage: str, total: int) -> None:
        self._stage, self._total, self._done = stage, total, 0

    def next(self) -> None:
        """Begin a step."""
        self._done += 1
        self.tell()

    def tell(self) -> None:
        """Report the step that is being taken; the callback may cancel."""
        report_progress(self._stage, self._done, self._total)


class _Rest:
    """Tells when a search has come to rest: neither its goal nor its turn was lower than ever for some steps."""

    def __init__(self) -> None:
        self._goal = self._turn = np.inf
        self._idle = 0

    def after(self, turn: float, goal: float = 0.0) -> bool:
        """Tell whether it rests after a step that led here."""
        lower = turn < self._turn or goal < self._goal - _noise(goal)
        self._turn, self._goal = min(turn, self._turn), min(goal, self._goal)
        self._idle = 0 if lower else self._idle + 1
        return self._idle >= _IDLE


def _noise(goal: float) -> float:
    """Return what rounding may add to a goal."""
    return 1e-14 * abs(goal) + 1e-14


def polar(M: Array) -> Array:
    """Return the orthogonal matrix nearest to M."""
    U, _, V = dense.svd(M)
    return U @ V.T


def separate(
    white: WhiteRows, W: Array, *, contrast: str, tol: float, max_iter: int, stage: str = "separation"
) -> Separation:
    """Take a few steps of FastICA, then as many of Picard-O as it needs."""
    steps = Steps(stage, max_iter)
    first = fastica(white, W, contrast=contrast, tol=tol, max_iter=min(_FIRST, max_iter), steps=steps)
    if first.converged or first.resting or first.iterations >= max_iter:
        return first
    left = max_iter - first.iterations
    rest = picard(white, first.W, contrast=contrast, tol=tol, max_iter=left, seen=first.seen, steps=steps)
    return replace(rest, iterations=rest.iterations + first.iterations)


def warm_rows(k: int) -> int:
    """Return how many rows are enough for a good start; four times as many or more are worth it."""
    return max(20_000, 100 * k)


def start(white: WhiteRows, W: Array, rng: np.random.Generator, *, contrast: str, tol: float, max_iter: int) -> Array:
    """Return W, turned on a random part of the rows where there are many: most steps then cost a fraction."""
    count = warm_rows(white.k)
    if white.n < 4 * count:
        return W
    some, rough = white.some(count, rng), max(tol, 1e-3)
    return separate(some, W, contrast=contrast, tol=rough, max_iter=max_iter, stage="start on some rows").W


def fastica(
    white: WhiteRows, W: Array, *, contrast: str, tol: float, max_iter: int, steps: Steps | None = None
) -> Separation:
    """Turn W by FastICA's symmetric fixed point until a step turns no source by more than ``tol``, or none by less."""
    steps, rest = steps or Steps("separation", max_iter), _Rest()
    seen, step, resting = white.look(W, contrast), 0, False
    turn, R = fixed_point(seen)
    while turn > tol and step < max_iter and not resting:
        step += 1
        steps.next()
        W = polar(R @ W)
        seen = white.look(W, contrast)
        turn, R = fixed_point(seen)
        resting = rest.after(turn) and turn < _FINE
    return Separation(W, seen, turn, step, turn <= tol, resting)


def fixed_point(seen: Pass) -> tuple[float, Array]:
    """Return FastICA's turn and the largest angle in it."""
    sides = _sides(seen)
    R = polar(sides[:, None] * (np.diag(seen.slope) - seen.C))
    return float(np.linalg.norm(R - np.eye(len(R)), axis=1).max()), R


def picard(
    white: WhiteRows,
    W: Array,
    *,
    contrast: str,
    tol: float,
    max_iter: int,
    seen: Pass | None = None,
    steps: Steps | None = None,
) -> Separation:
    """Descend by Picard-O until the scaled gradient would turn no source by more than ``tol``, or nothing is gained.

    ``seen`` is the pass under W, where it was made already.
    """
    seen = white.look(W, contrast) if seen is None else seen
    goal, rest, steps = _Goal(_sides(seen), seen), _Rest(), steps or Steps("separation", max_iter)
    memory: deque[tuple[Array, Array]] = deque(maxlen=_STEPS_REMEMBERED)
    step, resting = 0, False
    while goal.turn > tol and step < max_iter and not resting:
        steps.next()
        found = _descend(white, W, goal, _direction(goal, memory), contrast, steps)
        if found is None and memory:  # what was learned misleads here
            memory.clear()
            found = _descend(white, W, goal, _direction(goal, memory), contrast, steps)
        if found is None:
            resting = True  # no step descends any more: rounding
            break
        W, seen, E = found
        after = _Goal(goal.sides, seen)
        memory.append((E, after.gradient - goal.gradient))
        step += 1
        if step <= _FLEXIBLE and (_sides(seen) != goal.sides).any():
            memory.clear()
            after, rest = _Goal(_sides(seen), seen), _Rest()
        goal = after
        resting = rest.after(goal.turn, goal.value)
    return Separation(W, seen, goal.turn, step, goal.turn <= tol, resting)


def _sides(seen: Pass) -> Array:
    """Return +1 for sources on one side of the Gaussian, −1 for those on the other."""
    return np.where(seen.curvature < 0, -1.0, 1.0)


class _Goal:
    """The goal Σ ±E[G(yᵢ)] at one place: value, gradient over rotations, scale of each pair."""

    def __init__(self, sides: Array, seen: Pass) -> None:
        self.sides = sides
        self.value = float(sides @ seen.value)
        signed = sides[:, None] * seen.C
        self.gradient = (signed - signed.T) / 2
        kappa = sides * seen.curvature
        scale = (kappa[:, None] + kappa[None, :]) / 2
        self.scale = np.maximum(scale, max(_FLOOR * np.abs(kappa).max(), 1e-12))
        self.turn = float(np.linalg.norm(self.gradient / self.scale, axis=1).max())


def _direction(goal: _Goal, memory: deque[tuple[Array, Array]]) -> Array:
    """Return the L-BFGS direction, a skew matrix (Nocedal 1980).

    SciPy's L-BFGS moves in a flat space, with one scale for all its variables; here a step turns W, and each pair of
    sources has a scale of its own, which changes from step to step.
    """
    # Not shared with stress and MVU: pairs without curvature are skipped here, and sums are pairwise, not BLAS's.
    Q, used = goal.gradient.copy(), []
    for E, Y in reversed(memory):
        rho = float((E * Y).sum())
        if rho <= 0:  # the goal was not convex along that step
            continue
        a = float((E * Q).sum()) / rho
        Q -= a * Y
        used.append((E, Y, rho, a))
    Q /= goal.scale
    for E, Y, rho, a in reversed(used):
        Q += (a - float((Y * Q).sum()) / rho) * E
    return -Q


def _descend(
    white: WhiteRows, W: Array, goal: _Goal, D: Array, contrast: str, steps: Steps
) -> tuple[Array, Pass, Array] | None:
    """Return the first place on the way of halved steps where the goal is less by enough, its pass and the step."""
    slope = float((goal.gradient * D).sum())
    if slope >= 0:
        return None
    noise = _noise(goal.value)
    size = 1.0
    for halving in range(_HALVINGS):
        if halving:
            steps.tell()  # each try is a pass over all rows
        moved = polar((np.eye(len(W)) + size * D) @ W)
        seen = white.look(moved, contrast)
        if float(goal.sides @ seen.value) <= goal.value + 1e-4 * size * slope + noise:
            return moved, seen, size * D
        size /= 2
    return None


def cost(shape: DataShape, k: int) -> tuple[dict[str, int], dict[str, int], float]:
    """Return the memory of whitening and of the search for k sources, and the rough seconds of both."""
    n, d = shape.n_rows or 1, shape.n_features
    warm, block = warm_rows(k), min(n, panel_rows(k, d))
    at_once = min(threads(), -(-n // block))
    held = 8 * n * k if held_rows(shape, k) else 0
    whitening = {"white rows": held, "whitening": 8 * at_once * block * (k + d) + 3 * 8 * k * d}
    separating = {
        "white rows": held,
        "rows of the start": 2 * 8 * warm * k if n >= 4 * warm else 0,
        "estimates": 8 * at_once * block * 2 * k + 8 * k * k * (2 * threads() + 30) + 5 * 8 * k * d,
    }
    passes = _LAST_PASSES + _PASSES * warm / n if n >= 4 * warm else _PASSES
    flops = passes * n * (4.0 * k * k + 120.0 * k)
    return whitening, separating, dense_seconds(flops + 2.0 * n * d * k, np.dtype(np.float64))


def first_rotation(w_init: Any, k: int, rng: np.random.Generator) -> Array:
    """Return the orthogonal matrix that the search starts from: the one nearest to ``w_init``, or a random one."""
    if w_init is None:
        return polar(rng.standard_normal((k, k)))
    W = np.asarray(arrays.to_numpy(w_init), dtype=np.float64)
    if W.shape != (k, k) or not np.isfinite(W).all():
        raise DataError(
            message(
                f"ICA: {{w_init}} must be a finite {k} × {k} matrix, one row for each source; its shape is {W.shape}",
                w_init=...,
            )
        )
    s = dense.svd(W)[1]
    rank = int((s > rank_tolerance(k, k, np.float64) * s[0]).sum())
    if rank < k:
        raise DataError(
            message(
                f"ICA: {{w_init}} has rank {rank}, below its {k} rows, so no single orthogonal matrix is nearest to "
                "it; give rows that are linearly independent",
                w_init=...,
            )
        )
    return polar(W)
