"""The rows behind a map, in the space in which its method compared them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..contract.reducer import Reducer

MANY_ROWS = 100_000  # above, fewer points are compared in each part of a report
FEW_ANCHORS = 1_000  # points compared with all others of so many rows


@dataclass(frozen=True, eq=False)
class Compared:
    """Rows behind a map.

    ``rows`` and ``metric`` give the distances that the map is compared with, ``space`` describes them; ``given`` are
    the rows with their own columns, and ``scale`` says whether these were divided by their standard deviations.
    """

    rows: Any
    metric: Any
    space: str
    given: Any
    scale: bool = False

    @property
    def n(self) -> int:
        """Number of rows."""
        count = getattr(self.given, "count", None)
        return int(count()) if hasattr(self.given, "blocks") and count is not None else int(_height(self.given))

    @property
    def named(self) -> Any:
        """The rows with their own columns, as figures take them."""
        return named_rows(self.given)

    @property
    def pairwise(self) -> bool:
        """Whether the rows are a matrix of distances."""
        return bool(isinstance(self.metric, str) and self.metric == "precomputed")

    @property
    def anchors(self) -> int | str:
        """Number of points to compare with all others: "auto", or fewer where there are very many rows."""
        return FEW_ANCHORS if self.are_many else "auto"

    @property
    def are_many(self) -> bool:
        """Whether there are so many rows that only some are compared with all others."""
        return self.n > MANY_ROWS


def _height(rows: Any) -> int:
    return rows.shape[0] if hasattr(rows, "shape") else len(rows)


def named_rows(rows: Any) -> Any:
    """Return a row source as figures take rows: an array, or a table with the names of the columns.

    Sparse rows with names stay a row source: a table of them would be dense.
    """
    array = getattr(rows, "array", None) if hasattr(rows, "blocks") else None
    if array is None:
        return rows
    if getattr(rows, "names", None) is None:
        return array
    if hasattr(array, "tocsr"):
        return rows
    import polars as pl

    return pl.DataFrame(array, schema=list(rows.names))


def compared_rows(model: Reducer, X: Any) -> Compared:
    """Return the rows as a model compared them: by its metric, and scaled if it scaled them."""
    metric = getattr(model, "metric", "euclidean")
    if isinstance(metric, str) and metric == "precomputed":
        return Compared(X, metric, "the given distances", X)
    if hasattr(model, "coded_names_"):
        from ..quality.spaces import famd_axes

        return Compared(famd_axes(X).transform(X), metric, "the columns as FAMD codes them", X)
    if getattr(model, "scale", False) is True:
        from ..graph.neighbors import objects

        rows = objects(X, "euclidean", "X") / model.scale_
        return Compared(rows, metric, "the columns, each divided by its standard deviation", X, scale=True)
    scaled = bool(isinstance(metric, str) and metric == "seuclidean")
    return Compared(X, metric, "the columns", X, scale=scaled)


def not_comparable(model: Reducer) -> str | None:
    """Return why the rows of a model have no distances that can be measured; None if they have."""
    from ..pairs.distances import METRICS

    if getattr(model, "kernel", None) == "precomputed":
        return "the input is a matrix of similarities, not distances"
    metric = getattr(model, "metric", "euclidean")
    if isinstance(metric, str) and metric not in (*METRICS, "precomputed"):
        return f"the metric {metric!r} is defined by a plugin"
    return None
