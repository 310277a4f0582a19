"""How far `transform` puts rows from where a fit that includes them has them, and which neighbours they keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..contract.reducer import Reducer
from ..core import arrays
from ..graph.neighbors import searcher
from ..methods.steps.chain import preprocessing
from ..rows.row_source import RowSource
from ..spectral.procrustes import procrustes

Array = Any

_NEIGHBORS = 15


@dataclass(frozen=True)
class Placement:
    """Errors as shares of the radius of the map, and shares of neighbours kept; None where they were not measured.

    ``refit`` is the median distance of sample rows between the two fits: no placement can be better by this measure.
    ``kept_by_sample`` is the share for rows of the sample, which the fit has seen.
    """

    median: float | None = None
    high: float | None = None
    refit: float | None = None
    kept: float | None = None
    kept_by_sample: float | None = None
    neighbors: int = _NEIGHBORS

    def evidence(self) -> dict[str, Any]:
        """Return the values by the names that a record shows."""
        return {
            "placement error, 90 %": self.high,
            "difference of two fits": self.refit,
            f"neighbours kept of {self.neighbors}, test rows": self.kept,
            f"neighbours kept of {self.neighbors}, sample rows": self.kept_by_sample,
        }


def placement(model: Any, sample: Any, tests: Any, both: Any) -> Placement:
    """Measure the placement of test rows by a model fitted on a sample; ``both`` are the rows of the two."""
    known, placed = numbers(model.transform(sample)), numbers(model.transform(tests))
    k = min(_NEIGHBORS, len(known) - 1)
    kept = _kept(model, sample, tests, known, placed, k) or (None, None)
    center = known.mean(axis=0)
    radius = float(np.sqrt(((known - center) ** 2).sum(axis=1).mean()))
    again = clone(model).fit(both)
    refit = numbers(_own_places(again, both))
    known, placed, refit = _same_width(known, placed, refit)
    if not radius > 0 or not np.ptp(refit[: len(known)], axis=0).any():  # a map of one point has no radius
        return Placement(kept=kept[0], kept_by_sample=kept[1], neighbors=k)
    laid = procrustes(refit[: len(known)], known)(refit)
    errors = np.linalg.norm(laid[len(known) :] - placed, axis=1) / radius
    moved = np.linalg.norm(laid[: len(known)] - known, axis=1) / radius
    low, high = np.quantile(errors, (0.5, 0.9))
    return Placement(float(low), float(high), float(np.median(moved)), kept[0], kept[1], k)


def _own_places(model: Any, rows: Any) -> Any:
    """Return where a model has its training rows."""
    found = getattr(model, "embedding_", None)
    return model.transform(rows) if found is None else found


def numbers(Y: Any) -> Array:
    """Return coordinates as float64 of NumPy."""
    Y = Y.to_numpy() if hasattr(Y, "to_numpy") else Y
    return np.asarray(arrays.to_numpy(Y), dtype=np.float64)


def _same_width(*maps: Array) -> tuple[Array, ...]:
    k = max(Y.shape[1] for Y in maps)
    return tuple(np.pad(Y, ((0, 0), (0, k - Y.shape[1]))) for Y in maps)


def _kept(model: Any, sample: Any, tests: Any, known: Array, placed: Array, k: int) -> tuple[float, float] | None:
    """Return the share of neighbours among the sample that are neighbours on the map: of tests, and of sample rows."""
    seen, unseen = _compared(model, sample), _compared(model, tests)
    if seen is None or unseen is None or k < 1:
        return None
    (rows, rule), (new, _) = seen, unseen
    in_data, on_map = searcher(rule, rows), searcher("euclidean", known)
    kept = _overlap(in_data.query(new, k)[0], on_map.query(placed, k)[0])
    some = np.linspace(0, len(known) - 1, min(len(known), len(placed))).astype(np.int64)
    near = (_others(found.query(points[some], k + 1)[0], some) for found, points in ((in_data, rows), (on_map, known)))
    return kept, _overlap(*near)


def _others(neighbors: Array, own: Array) -> Array:
    """Return lists of neighbours without the row itself, or without the last one where equal rows came before it."""
    places = neighbors != own[:, None]
    places[places.all(axis=1), -1] = False
    return neighbors[places].reshape(len(own), -1)


def _overlap(one: Array, other: Array) -> float:
    return float((one[:, :, None] == other[:, None, :]).any(axis=2).mean())


def _compared(model: Any, rows: Any) -> tuple[Array, Any] | None:
    """Return the rows that a method compares, and its metric (Euclidean where it has none); None if not numbers."""
    head, last = preprocessing(model)
    if head is not None:
        rows = head.transform(rows)
    first = last.steps[0][1] if hasattr(last, "steps") else last
    rule: Any = "euclidean"
    if getattr(first, "categorical_columns_", None):
        rows = first.coded(rows)
    elif isinstance(first, Reducer) and first._input.parameter == "metric":
        rule = first._input.rule(first)
    rows = rows.array if isinstance(rows, RowSource) else rows
    rows = rows if sp.issparse(rows) else arrays.to_numpy(rows.to_numpy() if hasattr(rows, "to_numpy") else rows)
    if rows.dtype == object:
        return (rows, rule) if callable(rule) else None
    values = rows.data if sp.issparse(rows) else rows
    if not np.isfinite(np.asarray(values, dtype=np.float64)).all():
        return None  # rows with gaps have no distances
    return (rows if rows.dtype.kind == "f" else rows.astype(np.float64)), rule
