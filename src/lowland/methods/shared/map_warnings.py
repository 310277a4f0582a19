"""Warnings about a map made from distances: too few coordinates, arbitrary axes, landmarks that disagree."""

from __future__ import annotations

from typing import Any

from ...contract.fit_info import Recorder
from ...core.errors import DataError, DegenerateWarning, LowlandWarning, RankWarning
from ...core.message import Message, message

Array = Any

MAX_DISAGREEMENT = 0.3  # of the map's size: two sets of landmarks that differ by more have not found one map


def require_rank(name: str, n_components: int, rank: int, record: Recorder, *, zero: bool = True) -> None:
    """Refuse points that are all equal; warn where fewer coordinates exist than were asked for.

    ``zero`` tells whether all distances are zero, where the rank is.
    """
    if rank == 0:
        raise DataError(
            f"{name}: the points have rank 0: all distances are zero, so the metric sees equal objects; a "
            "map needs at least two that differ"
            if zero
            else f"{name}: the points have rank 0: no eigenvalue of the distances exceeds rounding error; "
            "give the distances with more digits"
        )
    if rank < n_components:
        record.warn(
            f"{name}: the distances have rank {rank} (positive eigenvalues), so only {rank} of the {n_components} "
            "requested components exist",
            RankWarning,
        )


def warn_arbitrary_axes(
    name: str, n_components: int, values: Array, total: float, count: int, floor: float, record: Recorder
) -> None:
    """Warn where the last eigenvalue kept and the first left out are equal: any rotation of them is as good.

    ``values`` are the leading ones of ``count``, whose sum is ``total``. Where the next one is not among them, it is
    at least the mean of the others. Values that differ by no more than ``floor`` are equal.
    """
    k = n_components
    if count <= k or len(values) < k or not values[k - 1] > floor:
        return
    following = float(values[k]) if len(values) > k else (total - float(values[:k].sum())) / (count - k)
    if values[k - 1] - following > floor:
        return
    last = int((values >= values[k - 1] - floor).sum())
    whole = message("; {n_components} includes all equal ones", n_components=last) if len(values) >= count else ""
    equal = f"{name}: eigenvalues {k} and {k + 1} are equal ({values[k - 1]:.4g}), so the axes are arbitrary: rotated "
    record.warn(Message(equal, "ones explain the distances equally well", whole), DegenerateWarning)


def note_disagreement(name: str, n_components: int, error: float, count: int, record: Recorder) -> None:
    """Record the measured error of a fit by ``count`` landmarks; warn where it is large."""
    record.note(approximation_error=error)
    if error > MAX_DISAGREEMENT:
        record.warn(
            message(
                f"{name}: two sets of {count} landmarks do not agree on one map (approximation_error {error:.2g} of "
                f"its size). Use more landmarks, or {{landmarks}}; if the warning stays, no map of {n_components} "
                "dimensions is clearly the best, and another {n_components} may fit better",
                landmarks=None,
                n_components=...,
            ),
            LowlandWarning,
        )
