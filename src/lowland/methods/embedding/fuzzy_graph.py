"""The fuzzy graph of UMAP: weights of neighbours, and what labels or a numeric target make of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...contract.fit_info import Recorder
from ...core import arrays, thread_pool
from ...core.errors import DataError, LowlandWarning
from ...core.message import message
from ...graph.graph import Graph
from ...graph.neighbors import searcher
from ...graph.points import Neighborhood
from ...pairs.pairwise import tiles
from ...rows.conversion import is_missing
from .neighbor_embedding import assembled, package

Array = Any

CATEGORICAL = "categorical"
UNKNOWN = -1  # the label of a row without one, as in umap-learn
_HALVINGS = 64  # of the interval that holds a bandwidth
_SHORTEST = 1e-3  # of a point's mean distance: bandwidths below are no longer lowered
_POINTS_AT_ONCE = 1 << 13  # points whose bandwidths are found at a time
_FAR = 2.5  # distance of different labels at target_weight=0, as in umap-learn
_INFINITE = 1e12  # that at target_weight=1


def memberships(distances: Array, *, nearest: bool = True) -> Array:
    """Return exp(−(d − ρ)/σ) for rows of k distances, nearest first, with σ so that they add up to log₂.

    ρ is the distance to the nearest, and the point itself counts as a neighbour in log₂(k + 1). New rows have ρ = 0,
    and log₂ k. σ is found by bisection, all rows at once.

    >>> w = memberships(np.array([[1.0, 2.0, 3.0]], dtype=np.float32))
    >>> float(w[0, 0]), round(float(w.sum()), 5)  # log₂ 4
    (1.0, 2.0)
    """
    m, k = distances.shape
    d = distances.astype(np.float64)
    rho = d[:, :1] if nearest else np.zeros((m, 1))
    target = np.log2(k + 1 if nearest else k)
    offsets = d - rho
    low, high, sigma = np.zeros((m, 1)), np.full((m, 1), np.inf), np.ones((m, 1))
    summed = slice(None) if nearest else slice(1, None)  # of new rows umap-learn leaves the nearest out
    for _ in range(_HALVINGS):
        more = np.exp(-offsets[:, summed] / sigma).sum(axis=1, keepdims=True) > target
        low, high = np.where(more, low, sigma), np.where(more, sigma, high)
        sigma = np.where(np.isinf(high), 2 * sigma, (low + high) / 2)
    floor = _SHORTEST * d.sum(axis=1, keepdims=True) / (k + 1 if nearest else k)
    return np.exp(-offsets / np.maximum(sigma, floor)).astype(np.float32).astype(np.float64)


def fuzzy_union(graph: Graph) -> Any:
    """Return w_ij = w_j|i + w_i|j − w_j|i w_i|j over neighbours.

    >>> from lowland.graph import neighbor_graph
    >>> W = fuzzy_union(neighbor_graph(np.array([[0.0], [1.0], [3.0], [6.0]]), 2))
    >>> bool(abs(W - W.T).max() < 1e-6), float(W.toarray()[0, 1])  # nearest neighbours are members in full
    (True, 1.0)
    """

    W = assembled(graph, _weigh, np.float32)
    back = sp.csr_array(W.T)
    return W + back - W.multiply(back)


def _weigh(distances: Array) -> Array:
    parts = thread_pool.run(lambda part: memberships(distances[part]), tiles(len(distances), _POINTS_AT_ONCE))
    return np.concatenate(list(parts))


# -- what a target does ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SupervisedTarget:
    """What each row is known to be: labels (codes, `UNKNOWN` of those without) or rows of numbers with a metric."""

    values: Array
    metric: str
    weight: float

    @classmethod
    def of(cls, y: Any, n: int, metric: str, weight: float) -> SupervisedTarget:
        """Read the ``y`` of a fit of n rows.

        >>> SupervisedTarget.of(["cat", "dog", None, "cat"], 4, "categorical", 0.5).values.tolist()
        [0, 1, -1, 0]
        """
        given = np.asarray(arrays.to_numpy(y))
        if given.shape[:1] != (n,) or given.ndim > 2 or (metric == CATEGORICAL and given.size != n):
            what = "one label" if metric == CATEGORICAL else "one value, or one row of values,"
            raise DataError(f"UMAP: y must have {what} for each of the {n} rows; its shape is {given.shape}")
        return cls(_codes(given.ravel()) if metric == CATEGORICAL else _numbers(given), metric, weight)

    def tell(self, record: Recorder) -> None:
        """Write into the record what was used."""
        if self.metric != CATEGORICAL:
            record.evidence["target"] = f"{self.metric} distances"
            return
        count, unknown = len(np.unique(self.values[self.values >= 0])), int((self.values < 0).sum())
        record.evidence["target"] = f"{count} labels" + (f", {unknown} rows without" if unknown else "")

    def of_points(self, hood: Neighborhood, record: Recorder) -> SupervisedTarget:
        """Return the target of each point. Equal rows are one: its label is unknown where theirs differ."""
        m = hood.graph.n
        if self.metric != CATEGORICAL:
            sums = [np.bincount(hood.inverse, column, m) for column in self.values.T]
            return SupervisedTarget(
                np.column_stack(sums) / np.bincount(hood.inverse, minlength=m)[:, None], *self._rule
            )
        known = self.values >= 0
        low, high = np.full(m, np.iinfo(np.int64).max), np.full(m, UNKNOWN)
        np.minimum.at(low, hood.inverse[known], self.values[known])
        np.maximum.at(high, hood.inverse[known], self.values[known])
        if mixed := int((low < high).sum()):
            record.warn(
                f"UMAP: {mixed} groups of equal rows have different labels in y; their label counts as unknown",
                LowlandWarning,
            )
        return SupervisedTarget(np.where(low == high, high, UNKNOWN), *self._rule)

    @property
    def _rule(self) -> tuple[str, float]:
        return self.metric, self.weight

    def intersected(self, W: Any, k: int) -> Any:
        """Return the fuzzy graph of points cut down to pairs that are alike in the target, by umap-learn.

        Edges between different labels keep exp(−2.5/(1 − weight)) of their weight, those of an unknown one exp(−1). A
        numeric target has weights of k neighbours of its own. Each point then gets a full edge again.
        """
        library = package("umap.umap_", "UMAP")
        W = sp.csr_matrix(W, copy=True)  # umap-learn writes into it
        if self.metric == CATEGORICAL:
            far = _FAR / (1 - self.weight) if self.weight < 1 else _INFINITE
            return library.discrete_metric_simplicial_set_intersection(W, self.values, far_dist=far)
        T = sp.csr_matrix(self._graph(k))
        both = library.general_simplicial_set_intersection(W, T, self.weight)
        return library.reset_local_connectivity(both)

    def _graph(self, k: int) -> Any:
        """Return w_j|i of the values. ρ is the least distance to another value: many may be equal."""
        graph = searcher(self.metric, self.values).graph(min(k, len(self.values) - 1))

        def weigh(d: Array) -> Array:
            nearest = np.min(d, axis=1, where=d > 0, initial=np.inf, keepdims=True)
            return _weigh(np.maximum(d - np.where(np.isinf(nearest), 0.0, nearest), 0.0))

        return assembled(graph, weigh, np.float32)


def _codes(labels: Array) -> Array:
    """Return labels as whole numbers from 0, `UNKNOWN` where the label is −1, NaN or None."""
    if labels.dtype.kind == "f" and not (np.isnan(labels) | (labels == np.round(labels))).all():
        row = int(np.flatnonzero(~np.isnan(labels) & (labels != np.round(labels)))[0])
        raise DataError(
            message(
                f"UMAP: y holds fractions ({labels[row]:g} at row {row}), which are no labels; use {{target_metric}} "
                "for a numeric target",
                target_metric="euclidean",
            )
        )
    if labels.dtype.kind not in "fiub":
        codes: dict[Any, int] = {}
        known = [UNKNOWN if is_missing(v) or v == UNKNOWN else codes.setdefault(v, len(codes)) for v in labels.tolist()]
        return np.array(known, dtype=np.int64)
    known = ~np.isnan(labels) & (labels != UNKNOWN) if labels.dtype.kind == "f" else labels != UNKNOWN
    out = np.full(len(labels), UNKNOWN, dtype=np.int64)
    out[known] = np.unique(labels[known], return_inverse=True)[1]
    return out


def _numbers(values: Array) -> Array:
    """Return a numeric target as rows in float64."""
    if values.dtype.kind not in "fiub" or not np.isfinite(values).all():
        raise DataError(
            message(
                "UMAP: y has a value that is not a finite number; use {target_metric} for labels",
                target_metric=CATEGORICAL,
            )
        )
    return values.reshape(len(values), -1).astype(np.float64)
