"""Neighbour graphs: searches, components, shortest paths, Laplacians and local patches.

**Searches.** A `Searcher` finds the nearest of a fixed set, for the set itself or for new rows; the table of searches
is at the head of `neighbors`. All give the same answer: neighbours in the order of distance and then of number, also
where the last place is tied; distances in float64, computed from differences and added up in one order. So a pair has
the same bits in a KD-tree and in a blocked search, for one row or many. The blocked search multiplies in float32. A
bound on the rounding of these products decides for each row whether a point that was left out could have been nearer;
if so, the row is searched again in float64. Products are taken 512 columns at a time (`scores`), so the bound grows
with 512 + D/512 and not with D. If many rows of a first sample fail the test, the set is cut into clusters that
provably share no neighbours, each searched around its own mean. Beyond N²·D = 1e13 the graph is approximate, and its
recall is measured.

**Duplicate rows** are one point in every graph method: otherwise two equal rows could get different coordinates,
which no ``transform`` could return, and each would be reconstructed from the other alone. They are found by hashes of
their first 32 columns, then of more columns for rows that still share a hash, and compared at the end (`distinct`):
no entry is read more than twice.

**Patches.** Locally linear methods see points through `Geometry` only: the inner products of the offsets of a point's
neighbours, from coordinates or from distances. So they accept any metric and precomputed distances.
"""

from .graph import Graph
from .neighbors import neighbor_graph
from .paths import Path, shortest_path

__all__ = ["Graph", "Path", "neighbor_graph", "shortest_path"]
