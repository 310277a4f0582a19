"""Which points are neighbours: a number of nearest ones, or all within a radius."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.arrays import to_numpy
from ..core.errors import DataError
from ..core.message import Message, Setting, message
from ..pairs.distances import learn, metric
from ..rows.object_rows import gather, take
from ..rows.row_source import RowSource

NEIGHBORS = 10  # the default; where there are no more rows than that, each is the neighbour of all others
_SAMPLE, _OBJECTS = 500, 50  # rows, or objects of a function, whose pairs tell how many neighbours a radius gives


@dataclass(frozen=True)
class NeighborRule:
    """The ``n_neighbors`` nearest points, or all within ``radius``, or with ``complete`` all; ``owner`` is the method.

    >>> NeighborRule("LLE", 5, None).count(100), NeighborRule("LLE", None, 0.5).count(100)
    (5, 99)
    """

    owner: str
    n_neighbors: int | None
    radius: float | None
    complete: bool = False

    @property
    def reach(self) -> float | None:
        """The distance up to which points are neighbours; None where they are counted."""
        return np.inf if self.complete else self.radius

    def require(self, n: int, what: str) -> None:
        """Refuse parameters that n points, or fewer, cannot have; ``what`` is counted."""
        if self.n_neighbors is not None and self.radius is not None:
            text = (
                f"Both {{n_neighbors}} and {{radius}} are provided. {self.owner} needs one of them: for a radius, use "
            )
            raise DataError(Message(message(text, n_neighbors=..., radius=...), Setting("n_neighbors", None)))
        if self.n_neighbors is None and self.radius is None and not self.complete:
            raise DataError(message(f"{self.owner}: set {{n_neighbors}} or {{radius}}", n_neighbors=..., radius=...))
        if self.n_neighbors is not None and n <= self.n_neighbors != NEIGHBORS:
            text = f": {{n_neighbors}} must be less than the number of {what}, {n}; it can be {n - 1} at most"
            raise DataError(message(self.owner + text, n_neighbors=self.n_neighbors))

    def count(self, n: int) -> int:
        """Return the neighbours of each of n points; with a radius it bounds them."""
        return n - 1 if self.n_neighbors is None or self.complete else min(int(self.n_neighbors), n - 1)

    def planned(self, n: int, rows: RowSource | None, spec: str | Callable[[Any, Any], Any]) -> int:
        """Return the rough number of neighbours of n rows for a plan; of a radius without rows to look at the default.

        A sparse square of affinities, which are ``complete``, has as many as it stores.
        """
        if n > 1:  # fit reports the one-row case
            self.require(n, "rows")
        k = self.count(n)
        if self.complete and spec == "precomputed" and rows is not None and rows.sparse:
            k = round(n * rows.shape.density)
        elif self.n_neighbors is None and not self.complete:
            k = NEIGHBORS if rows is None else self._sampled(rows, spec, n)
        return max(1, min(k, n - 1))

    def _sampled(self, rows: RowSource, spec: str | Callable[[Any, Any], Any], n: int) -> int:
        """Return the rough mean number of rows within the radius, from pairs of a sample."""
        radius = float(self.radius or 0.0)
        if isinstance(spec, str) and spec == "precomputed":
            D = gather(rows, sparse=True)
            if sp.issparse(D):  # most are stored in one direction or in both
                return round(2 * int((D.data <= radius).sum()) / n)
            D = to_numpy(D[_spread(n, _SAMPLE)])
            return round(int((radius >= D).sum()) / len(D)) - 1
        items = take(rows, _spread(n, _SAMPLE if isinstance(spec, str) else _OBJECTS))
        items = items if sp.issparse(items) else to_numpy(items)
        D = to_numpy(metric(spec, items, {} if callable(spec) else learn(spec, items))(items, items))
        return round((int((radius >= D).sum()) - len(D)) / max(1, len(D) * (len(D) - 1)) * n)


def _spread(n: int, count: int) -> Any:
    """Return up to ``count`` of the numbers below n, in equal steps."""
    return np.linspace(0, n - 1, min(n, count)).astype(np.int64)
