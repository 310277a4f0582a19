"""Classes that neighbours guess: with all points, and without each fold of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.neighbors import neighbor_graph
from ..quality.class_accuracy import voted

Array = Any


def guesses(Y: Array, codes: Array, count: int, n_neighbors: int, judged: Array, fold: Array, folds: int) -> Array:
    """Return the class that the k nearest others guess for the judged points, each of which has a class.

    Columns: with all points, then without each fold, whose points do not vote; −1 for those that are left out.
    """
    left = np.array([len(Y), *(len(Y) - np.bincount(fold, minlength=folds))])
    lists, out = _lists(Y, n_neighbors, judged, fold, folds), np.full((len(judged), folds + 1), -1)
    for column, size in enumerate(left):
        rows, k = np.flatnonzero(fold[judged] != column - 1), min(n_neighbors, int(size) - 1)
        kept = fold[lists[rows]] != column - 1
        nearest = kept & (np.cumsum(kept, axis=1) <= k)
        if k > 0:
            out[rows, column] = voted(codes[lists[rows][nearest].reshape(len(rows), k)], count)
    return out


def _lists(Y: Array, k: int, judged: Array, fold: Array, folds: int) -> Array:
    """Return the neighbours of the judged points, nearest first, so many that without any fold k of them are left."""
    most = len(Y) - 1
    width = min(k + k // 2 + 4, most)
    while True:
        lists = neighbor_graph(Y, width, metric="euclidean").indices.reshape(len(Y), width)[judged]
        others = [((fold[lists] != f).sum(axis=1) >= k) | (fold[judged] == f) for f in range(folds)]
        if width == most or all(enough.all() for enough in others):
            return lists
        width = min(2 * width, most)
