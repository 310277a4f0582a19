"""Connected components of graphs, and the shortest links between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .graph import Graph
from .search import KnownLinks, Link, Searcher

Array = Any


def components(graph: Graph) -> Array:
    """Return the connected component of each point, numbered by size, largest first; ties by their first points.

    Edges count in both directions.

    >>> components(Graph.of_lists([[1], [0], [3], [2], [3]], [[1.0]] * 5)).tolist()
    [1, 1, 0, 0, 0]
    """
    edges = graph.csr(np.ones(len(graph.indices), dtype=np.int8))  # a distance of zero is an edge, too
    _, labels = sp.csgraph.connected_components(edges, directed=True, connection="weak")
    return by_size(labels)


def by_size(labels: Array) -> Array:
    """Number groups 0, 1, … by size, largest first; ties by their first members."""
    sizes = np.bincount(labels)
    first = np.empty(len(sizes), dtype=np.int64)
    first[labels[::-1]] = np.arange(len(labels))[::-1]  # reversed, so that the first member is written last
    order = np.lexsort((first, -sizes))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[labels]


def bridge(graph: Graph, search: Searcher, labels: Array | None = None) -> tuple[Graph, int]:
    """Join the connected components by the shortest links; return the new graph and the number of links.

    The links are the minimum spanning tree of the components, found in rounds (Borůvka 1926): each component but the
    largest is linked to the nearest point outside, so each round leaves at most half of the components. Only points
    outside the largest component are searched: by a KD-tree, or by comparison with all points.
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
    """Leave out links that close a cycle: two components may choose different links to each other due to rounding."""
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
