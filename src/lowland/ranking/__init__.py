"""Ranking of the nodes of a graph by its links: PageRank, and the hubs and authorities of HITS.

>>> from lowland.ranking import hits, pagerank
>>> links = [("a", "c"), ("b", "c"), ("c", "a")]
>>> pagerank(links).top(1)[0][0], hits(links).top(1)[0][0]
('c', 'c')

**PageRank** is a linear system, not an eigenproblem: pages without links out ("dangling") and pages without links in
need no iteration (Ipsen & Selee 2008), links of a page to itself are solved for directly, and the total is corrected
after each step. On a million pages, with four of five of ten million links within hosts, this took 48 steps, and power
iteration on the whole matrix 86 (`benchmarks/ranking.py`). Gauss–Seidel steps are fewer, but each takes longer:
about the same time in all.

**The graph** is built by counting, in two passes over the edges on all threads: repeated edges need not be found, as
their weights add up in the products.

**HITS** is the leading singular triplet of the adjacency matrix, by `lowland.spectral`, for each part of the graph in
which hubs and authorities are connected. Parts whose norm is bounded below the largest are not solved. A tie between
parts is thereby found from the structure of the graph, not from rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names

__all__ = ["Hits", "PageRank", "hits", "pagerank"]

if TYPE_CHECKING:
    from .hubs import hits
    from .random_walk import pagerank
    from .result import Hits, PageRank

__getattr__, __dir__ = lazy_names(__name__, {".hubs": "hits", ".random_walk": "pagerank", ".result": "Hits PageRank"})
