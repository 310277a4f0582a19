"""Approximate graphs of very many rows, by nearest neighbour descent (Dong, Moses, Li 2011), with measured recall."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..pairs.pairwise import tiles
from .blocked import BlockSearcher
from .graph import Graph
from .measures import EuclideanRows

Array = Any

_RECALL_ROWS = 1000  # rows on which the recall is measured
_EXTRA_NEIGHBORS = 10  # additional neighbours of the descent, which increase its recall


class DescentSearcher(BlockSearcher):
    """An approximate graph from pynndescent with exact distances; searches for new rows are exact.

    The result of pynndescent depends on its number of threads, so it uses one.
    """

    def __init__(self, measure: EuclideanRows, seed: int) -> None:
        super().__init__(measure)
        self.algorithm, self.seed = "nearest neighbour descent", seed

    def graph(self, k: int, ties: str = "cut") -> Graph:
        """Return approximately the k nearest others of each point; ``ties="keep"`` also keeps ties with the last."""
        self._require(k, self.n - 1)
        from pynndescent import NNDescent

        rows = np.empty((self.n, self.measure.width), dtype=np.float32)
        for part in tiles(self.n, 4096):
            rows[part] = self.measure.X[part] - self.measure.shift
        wanted = min(k + 1 + _EXTRA_NEIGHBORS, self.n)
        found, _ = NNDescent(rows, "euclidean", n_neighbors=wanted, random_state=self.seed, n_jobs=1).neighbor_graph
        pieces = [self._cleaned(part, found[part], k) for part in tiles(self.n, 1 << 14)]
        indices, d = (np.concatenate(x) for x in zip(*pieces, strict=True))
        recall = self._recall(d, k)
        if ties == "cut":
            lists = indices[:, :k], self.measure.finish(d[:, :k])
            return Graph.of_lists(*lists, algorithm=self.algorithm, recall=recall)
        keep = d <= d[:, k - 1 : k]
        edges = np.nonzero(keep)[0], indices[keep], self.measure.finish(d[keep])
        return Graph.of_edges(self.n, *edges, algorithm=self.algorithm, recall=recall)

    def _cleaned(self, part: slice, found: Array, k: int) -> tuple[Array, Array]:
        """Return the found neighbours sorted by exact distances; rows with fewer than k are searched exactly."""
        own = np.arange(part.start, part.stop)
        n, m = found.shape
        d = self.measure.raw(self.measure.X[part], np.repeat(np.arange(n), m), np.maximum(found, 0).ravel())
        d = d.reshape(n, m)
        d[(found < 0) | (found == own[:, None])] = np.inf
        short = np.flatnonzero(np.isinf(d).sum(axis=1) > m - k)
        by_number = np.argsort(found, axis=1)
        found, d = (np.take_along_axis(x, by_number, axis=1) for x in (found, d))
        by_distance = np.argsort(d, axis=1, kind="stable")
        found, d = (np.take_along_axis(x, by_distance, axis=1) for x in (found, d))
        if len(short):
            found[short, :k], d[short, :k] = self._others(own[short], k)
            d[short, k:] = np.inf
        return found, d

    def _others(self, numbers: Array, k: int) -> tuple[Array, Array]:
        """Return the k nearest others of some points, exactly."""
        self._prepare()
        rows = self.measure.own(numbers)
        indices, _ = self._looked_up(rows, lambda part: self._look_up(part, k + 1), 256, k + 1)
        other = indices != numbers[:, None]
        other[other.all(axis=1), -1] = False  # the row itself may be missing after equal rows of lower number
        indices = indices[other].reshape(-1, k)
        i = np.repeat(np.arange(len(numbers)), k)
        return indices, self.measure.raw(rows.rows, i, indices.ravel()).reshape(-1, k)

    def _recall(self, d: Array, k: int) -> float:
        """Return the share of found neighbours no farther than the true k-th, over a sample of rows."""
        sample = np.sort(np.random.default_rng(self.seed).permutation(self.n)[:_RECALL_ROWS])
        _, true = self._others(sample, k)
        return float((d[sample, :k] <= true[:, -1:]).mean())
