"""Do the limits hold? They are those of normal rows, so the rows within them must look like normal rows."""

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

MOST_RANKED = 0.01  # share of rows that are flagged at most where they can only be ranked
_NARROW_RATIO = (
    0.25  # median over that of the law: 0.4 of a t with 2 degrees of freedom, 0.02 where most rows repeat others
)
_COPIES = 10  # rows for each different one, from which on most rows are copies, which follow no such law


@dataclass(frozen=True)
class Ranking:
    """Why rows are ranked instead of judged: the share beyond the limits, and how often the others repeat.

    ``drawn`` of the others were compared, and ``different`` of them differ.
    """

    beyond: float
    drawn: int
    different: int

    @property
    def copies(self) -> bool:
        """Whether most of the other rows repeat others."""
        return self.drawn >= _COPIES * max(1, self.different)

    @property
    def sentence(self) -> str:
        """The reason in plain words."""
        text = f"{format_share(self.beyond)} of the rows lie beyond them, and the others are not normally distributed"
        if self.copies:
            text += f" (most of them repeat others: {self.different:,} of {self.drawn:,} drawn at random are different)"
        return (
            f"The limits do not hold for these data: {text}. So the rows are ranked by how far they lie from all rows, "
            f"and at most {format_share(MOST_RANKED)} of them are flagged."
        )


def ranking(judged: Judged, ordinary: Array, some: Array, places: Array) -> Ranking | None:
    """Return why rows can only be ranked; None where the ordinary rows follow the laws that the limits come from.

    They do not where most of them are copies of a few, or where a few of them make the variances, so that the median of
    T² or SPE is far below that of its law. The axes and limits are then those of the copies, and all else lies beyond.
    ``some`` rows have these ``places`` among all.
    """
    others = some[np.flatnonzero(ordinary[places])]
    different = len(distinct(comparable("euclidean", others), square=False).first) if others.shape[0] else 0
    found = Ranking(1 - float(ordinary.mean()), int(others.shape[0]), different)
    return found if found.copies or _narrow(judged, ordinary) else None


def _narrow(judged: Judged, ordinary: Array) -> bool:
    """Tell whether the median of T² or SPE is far below that of its law."""
    if np.median(judged.t2[ordinary]) < _NARROW_RATIO * hotelling(judged.axes.k, judged.axes.n - 1).beyond(0.5):
        return True
    if judged.spe_limit is None or judged.axes.flat:
        return False
    return bool(np.median(judged.spe[ordinary]) < _NARROW_RATIO * residual(judged.axes).beyond(0.5))
