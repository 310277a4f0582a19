"""Check whether the limits are valid: they assume that the rows within them are about normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.formatting import format_share
from ..graph.measures import comparable
from ..graph.neighbors import distinct
from .limits import hotelling
from .robust_pca import Judged, residual

Array = Any

MOST_RANKED = 0.01  # largest share of flagged rows if rows are only ranked
# Smallest median relative to that of the distribution: a t with 2 degrees of freedom has 0.4, tables of mostly
# duplicates 0.02.
_NARROW_RATIO = 0.25
_COPIES = 10  # with this many rows for each distinct one, most rows are duplicates


@dataclass(frozen=True)
class Ranking:
    """Why rows are only ranked: the share beyond the limits, and the number of duplicates among the others.

    ``drawn`` of the others were compared, and ``different`` of them are distinct; ``sampled``: not all of them.
    """

    beyond: float
    drawn: int
    different: int
    sampled: bool = False

    @property
    def copies(self) -> bool:
        """Whether most of the other rows are duplicates."""
        return self.drawn >= _COPIES * max(1, self.different)

    @property
    def sentence(self) -> str:
        """The reason as text."""
        text = f"{format_share(self.beyond)} of the rows lie beyond them, and the others are not normally distributed"
        if self.copies:
            which = f"{self.drawn:,} {'random ones' if self.sampled else 'rows'}"
            text += f" (they are mostly copies: of {which}, only {self.different:,} are different)"
        return (
            f"The usual limits are not valid for these data: {text}. The axes are therefore those of all rows, and "
            f"the limits are such that at most {format_share(MOST_RANKED)} of the rows are flagged."
        )


def ranking(judged: Judged, ordinary: Array, some: Array, places: Array) -> Ranking | None:
    """Return why rows can only be ranked; None if the inliers follow the distributions that the limits assume.

    They do not if most of them are duplicates, or if a few of them make up the variances, so that the median of T² or
    SPE is far below that of its distribution. The axes and limits are then those of the duplicates, and all other rows
    exceed them. ``some`` rows have the numbers ``places``.
    """
    others = some[np.flatnonzero(ordinary[places])]
    different = len(distinct(comparable("euclidean", others), square=False).first) if others.shape[0] else 0
    sampled = len(places) < len(ordinary)
    found = Ranking(1 - float(ordinary.mean()), int(others.shape[0]), different, sampled)
    return found if found.copies or _narrow(judged, ordinary) else None


def _narrow(judged: Judged, ordinary: Array) -> bool:
    """Return whether the median of T² or SPE is far below that of its distribution."""
    if np.median(judged.t2[ordinary]) < _NARROW_RATIO * hotelling(judged.axes.k, judged.axes.n - 1).beyond(0.5):
        return True
    if judged.spe_limit is None or judged.axes.flat:
        return False
    return bool(np.median(judged.spe[ordinary]) < _NARROW_RATIO * residual(judged.axes).beyond(0.5))
