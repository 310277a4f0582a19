"""Expansion of the graph of distinct points to all rows: equal rows are neighbours at distance zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.cost import check_allocation
from ..core.message import Code, Message, Remedies
from ..pairs.pairwise import tiles
from .distinct import Distinct
from .graph import Graph, spread
from .graph import starts as heads

Array = Any

_POINTS_AT_ONCE = 1 << 14  # points expanded at a time
_MANY_EQUAL = Message(Remedies("use fewer neighbours", Message("use ", Code("ties='cut'"))), ": many rows are equal")


def expand(graph: Graph, same: Distinct, k: int | None, ties: str) -> Graph:
    """Return the graph of all rows from that of the distinct ones: k neighbours each, or all (None).

    With ``ties="cut"`` only the first k + 1 of equal rows can be neighbours, so the work does not grow with the square
    of their number.
    """
    n = len(same.inverse)
    if len(same.first) == n:
        return graph
    members = np.argsort(same.inverse, kind="stable")
    sizes = np.bincount(same.inverse)
    starts = np.cumsum(sizes) - sizes
    cap = n if k is None or ties == "keep" else k + 1
    counts, indices, distances = np.zeros(n, dtype=np.int64), [], []
    total = 0
    for part in tiles(len(sizes), _POINTS_AT_ONCE):
        point, row, d = _lists(graph, part, members, starts, np.minimum(sizes, cap))
        lengths = np.bincount(point - part.start, minlength=part.stop - part.start)
        begin = np.cumsum(lengths) - lengths
        mine = members[starts[part.start] : starts[part.stop - 1] + sizes[part.stop - 1]]  # the rows of these points
        if k is not None and ties == "cut":
            lengths = np.minimum(lengths, k + 1)  # one more: the row itself may be among them
        owner = same.inverse[mine] - part.start
        total += int(lengths[owner].sum())
        check_allocation(24 * total, "the graph of all rows", _MANY_EQUAL)
        at, which = spread(begin[owner], lengths[owner])
        keep = row[at] != mine[which]
        at, which = at[keep], which[keep]
        if k is not None:
            at, which = _cut(at, which, d, len(mine), k, ties)
        counts[mine] = np.bincount(which, minlength=len(mine))
        indices.append(row[at])
        distances.append(d[at])
    return _in_order(graph, members, counts, np.concatenate(indices), np.concatenate(distances))


def _lists(graph: Graph, part: slice, members: Array, starts: Array, sizes: Array) -> tuple[Array, Array, Array]:
    """Return point, row and distance of the possible neighbours of some points, their own rows first."""
    a, b = graph.indptr[part.start], graph.indptr[part.stop]
    numbers = np.arange(part.start, part.stop)
    source = np.concatenate([numbers, np.repeat(numbers, graph.degrees[part])])
    target = np.concatenate([numbers, graph.indices[a:b]])
    d = np.concatenate([np.zeros(len(numbers)), graph.distances[a:b]])
    at, which = spread(starts[target], sizes[target])
    point, row, d = source[which], members[at], d[which]
    order = np.lexsort((row, d, point))
    return point[order], row[order], d[order]


def _cut(at: Array, which: Array, d: Array, n: int, k: int, ties: str) -> tuple[Array, Array]:
    """Keep the first k of each list, or all as far as the k-th."""
    counts = np.bincount(which, minlength=n)
    begin = np.cumsum(counts) - counts
    keep = np.arange(len(which)) - begin[which] < k
    if ties == "keep":
        keep |= d[at] <= d[at[(begin + np.minimum(counts, k) - 1)[which]]]
    return at[keep], which[keep]


def _in_order(graph: Graph, members: Array, counts: Array, indices: Array, distances: Array) -> Graph:
    """Return lists in the order of ``members`` in the order of the rows."""
    indptr = heads(counts)
    there = counts[members]
    begin = np.empty(len(counts), dtype=np.int64)
    begin[members] = np.cumsum(there) - there
    at, _ = spread(begin, counts)
    return Graph(indptr, indices[at].astype(np.int32), distances[at], graph.algorithm, graph.recall)
