"""Whether functions and squares are distances: symmetric, not negative, zero from an object to itself."""

from __future__ import annotations

import numpy as np

from ..core import arrays
from ..core.errors import DataError, ScaleError
from ..core.message import KNOWN_PAIRS, Estimator, Item, Message, Owner, Setting
from .pairwise import Array, Pairwise, check_symmetric, refuse_missing, short

_TRIAL_OBJECTS = 16  # objects on which a function is tried
_MAX_ASYMMETRY = 1e-6  # share of the largest distance; larger differences are not rounding
_SMALLEST, _LARGEST = 1e-70, 1e70  # distances whose fourth powers can be summed over all pairs
_MAX_SELF_DISTANCE = 1e-3  # share of the largest distance; roots of differences lose half of their digits


def check_function(rule: Pairwise, objects: Array, owner: str) -> None:
    """Raise if a function is not a metric on 16 of the objects: negative, asymmetric, or d(x, x) not zero."""
    few = objects[:: max(1, len(objects) // _TRIAL_OBJECTS)][:_TRIAL_OBJECTS]
    D = arrays.to_numpy(rule(few, few))
    scale = float(np.abs(D).max())

    def refuse(off: Array, slack: float, text: str) -> None:
        if off.max() <= max(slack, 100 * rule.eps) * scale:
            return
        i, j = (int(place) for place in np.unravel_index(int(off.argmax()), off.shape))
        words = text.format(value=D[i, j], back=D[j, i], a=short(few[i]), b=short(few[j]))
        raise DataError(Message(Owner(owner), f"the metric function {words}"))

    refuse(-D, _MAX_ASYMMETRY, "is negative: {value:g} for the objects {a} and {b}")
    refuse(
        np.abs(D - D.T),
        _MAX_ASYMMETRY,
        "is not symmetric: {value:g} for the objects {a} and {b}, {back:g} in reverse order; if both measure the same, "
        "use their mean",
    )
    refuse(
        np.diag(np.abs(np.diag(D))),
        _MAX_SELF_DISTANCE,
        "returns {value:g} for the object {a} and itself, where a distance is zero; if it is a similarity, convert it "
        "to a distance",
    )


def check_distances(D: Array, owner: str, known: Array | None = None) -> None:
    """Raise if D is not a distance matrix: not square, negative, NaN, asymmetric, or not zero on the diagonal.

    ``known`` marks the pairs to check if some are missing.
    """

    other = Message("") if owner == "MetricMDS" else Message(Estimator("MetricMDS"), " with ")
    remedy = Message(other, Setting("weights", KNOWN_PAIRS), " leaves such pairs out")

    def check(block: Array, rows: slice, columns: slice) -> None:
        if block.min() >= 0 and block.max() < np.inf:  # false for NaN; a mask is made only if needed
            return
        bad = ~(block >= 0) | np.isinf(block)
        if known is not None:
            bad &= known[rows, columns] != 0
        if bad.any():
            if known is None:
                refuse_missing(D, owner, "distance", "D", remedy)
            i, j = np.argwhere(bad)[0]
            what = "is negative" if block[i, j] < 0 else "is not a number"
            place = Item("row", rows.start + int(i)), ", ", Item("column", columns.start + int(j))
            rule = "; distances are positive or zero"
            raise DataError(Message(Owner(owner), f"a distance {what}: {block[i, j]:g} at ", *place, rule))

    slack = check_symmetric(D, owner, "distances", "D", known=known, check=check)
    own = np.abs(arrays.to_numpy(arrays.namespace(D).linalg.diagonal(D)))
    if own.max() > slack:
        worst = int(own.argmax())
        problem = f" has distance {own[worst]:g} to itself; it must be zero"
        raise DataError(Message(Owner(owner), Item("object", worst), problem))


def check_size(D: Array, owner: str) -> None:
    """Raise if the squares of the distances overflow or underflow."""
    largest = float(D.max())
    if _SMALLEST < largest < _LARGEST or largest == 0:
        return
    what, remedy = ("underflow", "multiply") if largest < 1 else ("overflow", "divide")
    raise ScaleError(
        Message(
            Owner(owner),
            f"the largest distance is {largest:.2g}, and sums of its powers {what}; {remedy} the distances by a "
            "constant",
        )
    )
