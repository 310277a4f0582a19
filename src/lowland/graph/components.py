"""Graphs that fall into pieces: which points hang together, and the shortest links that would join the pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .graph import Graph
from .search import KnownLinks, Link, Searcher

Array = Any


def components(graph: Graph) -> Array:
    """Return the number of each point's piece: the largest is 0, of equal ones that of the lowest point first.

    EdgeLengths count both ways.

    >>> components(Graph.of_lists([[1], [0], [3], [2], [3]], [[1.0]] * 5)).tolist()
    [1, 1, 0, 0, 0]
    """
    edges = graph.csr(np.ones(len(graph.indices), dtype=np.int8))  # a distance of zero is an edge, too
    _, labels = sp.csgraph.connected_components(edges, directed=True, connection="weak")
    return by_size(labels)


def by_size(labels: Array) -> Array:
    """Number groups 0, 1, … by their sizes, largest first; equal ones by their first members."""
    sizes = np.bincount(labels)
    first = np.empty(len(sizes), dtype=np.int64)
    first[labels[::-1]] = np.arange(len(labels))[::-1]  # the last that is written is the first member
    order = np.lexsort((first, -sizes))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[labels]


def bridge(graph: Graph, search: Searcher, labels: Array | None = None) -> tuple[Graph, int]:
    """Join the pieces of a graph by the shortest links there are; return the new graph and the number of links.

    The links are the minimum spanning tree of the pieces, found in rounds (Borůvka 1926): each piece but the largest
    looks for the nearest point outside, and all take their links at once, so at most half of the pieces are left.
    Only the points outside the largest piece are looked up: with a KD-tree a round costs a search for each, otherwise
    they are compared with all points.
    """
    labels = components(graph) if labels is None else np.asarray(labels)
    pieces = int(labels.max()) + 1
    if pieces == 1:
        return graph, 0
    merged, seen, links = labels, KnownLinks.nothing(graph.n), []
    while pieces > 1:
        found = search.ways_out(merged, int(np.bincount(merged).argmax()), seen)
        links.append(_needed(found, merged, pieces))
        a, b = merged[links[-1].inside], merged[links[-1].outside]
        joined = sp.coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(pieces, pieces))
        left, group = sp.csgraph.connected_components(joined, directed=False)
        merged, pieces = group[merged], int(left)
    _, d, a, b = (np.concatenate(x) for x in zip(*links, strict=True))
    return graph.linked(a, b, d), len(d)


def _needed(link: Link, labels: Array, pieces: int) -> Link:
    """Leave out links that close a ring: two pieces may choose each other, by two links where rounding differs."""
    low, high = np.minimum(link.inside, link.outside), np.maximum(link.inside, link.outside)
    order = np.lexsort((high, low, link.distance))
    link = Link(*(x[order] for x in link))
    a, b = labels[link.inside], labels[link.outside]
    pair = np.minimum(a, b) * pieces + np.maximum(a, b)
    first = np.sort(np.unique(pair, return_index=True)[1])
    rank = sp.coo_array((first + 1.0, (a[first], b[first])), shape=(pieces, pieces)).tocsr()
    tree = sp.csgraph.minimum_spanning_tree(rank)
    kept = np.sort(tree.data.astype(np.int64) - 1)
    return Link(*(x[kept] for x in link))
