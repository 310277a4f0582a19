"""Edges as numbers of nodes, from whatever holds a graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import thread_pool
from ..core.errors import DataError
from ..core.message import Message, Owner, Setting
from ..core.whole import is_whole
from .raw_edges import RawEdges

Array = Any

_MAX_NODES = 2**31 - 1
_NODES_PER_EDGE, _FEW_NODES = 100, 1_000_000  # beyond, numbers are taken for identifiers
_ROWS_PER_TASK = 1 << 20


@dataclass(frozen=True, eq=False)
class Edges:
    """Links from node ``source[e]`` to node ``target[e]``, with weights (None: all are 1), of n nodes.

    ``names`` are those of the nodes in order; None: their numbers. ``n_edges`` counts the edges before those without
    direction became two links; the given weights were divided by 2**``exponent``.
    """

    source: Array
    target: Array
    weights: Array | None
    n: int
    names: Sequence[Any] | None
    directed: bool
    n_edges: int
    exponent: int = 0


def edges_of(
    owner: str,
    edges: Any,
    directed: bool | None = None,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | bool | None = None,
    n_nodes: int | None = None,
) -> Edges:
    """Return the links of a graph, checked; ``owner`` is the function that messages name."""
    try:
        found = _read(edges, source, target, weight, n_nodes)
    except DataError as error:
        raise DataError(Message(Owner(owner), error.args[0]), row=error.row, column=error.column) from error
    raw, own = found
    weights, exponent = _checked_weights(owner, raw.weights)
    if raw.n == 0:
        raise DataError(Message(Owner(owner), "the graph has no nodes; give at least one edge"))
    one_way = own if directed is None else bool(directed)
    made = Edges(raw.source, raw.target, weights, raw.n, raw.names, one_way, len(raw.source), exponent)
    return made if one_way else _both_ways(made)


def _read(
    edges: Any, source: str | None, target: str | None, weight: str | bool | None, n_nodes: int | None
) -> tuple[RawEdges, bool]:
    """Return the edges, and whether they are directed."""
    from . import edge_tables, graph_objects

    if graph_objects.is_graph(edges):
        _refuse(source=source, target=target, n_nodes=n_nodes)
        return graph_objects.edges_of_graph(edges, weight)
    if hasattr(edges, "tocoo") and hasattr(edges, "nnz"):
        _refuse(source=source, target=target, n_nodes=n_nodes)
        return _of_matrix(edges, weight is not False), True
    if isinstance(edges, list | tuple):
        edges = edge_tables.array_of_rows(edges)
    if isinstance(edges, np.ndarray) and edges.dtype.names is None:
        _refuse(source=source, target=target)
        return _of_array(edges, weight is not False, n_nodes), True
    from ..data.arraytable import ArrayTable, SparseTable
    from ..data.reading import read

    is_file = isinstance(edges, str | os.PathLike) or hasattr(edges, "read")
    table = edge_tables.read_edges(edges, source, target, weight) if is_file else read(edges)
    if isinstance(table, SparseTable):
        return _of_matrix(table.matrix, weight is not False), True
    if isinstance(table, ArrayTable) and source is None and target is None:
        return _of_array(np.asarray(table.array), weight is not False, n_nodes), True
    _refuse(n_nodes=n_nodes)
    return edge_tables.edges_of_table(table, source, target, weight), True


def _refuse(**options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            what = "an array of node numbers" if name == "n_nodes" else "a table"
            raise DataError(Message(Setting(name, value), f" is only for {what}; leave it out"))


def _of_matrix(matrix: Any, weighted: bool) -> RawEdges:
    if matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"the sparse matrix has shape {matrix.shape}; an adjacency matrix must be square")
    if matrix.dtype.kind not in "fiub":
        raise DataError(f"the sparse matrix contains {matrix.dtype}; weights must be real numbers")
    entries = matrix.tocoo()
    values = np.asarray(entries.data, dtype=np.float64)
    source, target = (np.asarray(part, dtype=np.int32) for part in (entries.row, entries.col))
    if not weighted or (values == 1).all():
        stored = values != 0
        return RawEdges(source[stored], target[stored], None, matrix.shape[0])
    return RawEdges(source, target, values, matrix.shape[0])


def _of_array(array: Array, weighted: bool, n_nodes: int | None) -> RawEdges:
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        square = array.ndim == 2 and array.shape[0] == array.shape[1] > 3
        hint = "; for an adjacency matrix pass scipy.sparse.csr_array(A)" if square else ""
        raise DataError(f"an array of edges has 2 columns, or 3 with weights; got shape {array.shape}{hint}")
    if array.dtype.kind not in "fiub":
        from .edge_tables import edges_of_names

        _refuse(n_nodes=n_nodes)
        return edges_of_names(array, weighted)
    weights = np.array(array[:, 2], dtype=np.float64) if array.shape[1] == 3 and weighted else None
    if array.dtype.kind == "f":
        _check_whole(array[:, :2])
    source, target, most = _node_columns(array)
    n = most + 1
    if n_nodes is not None:
        if not is_whole(n_nodes, n):
            raise DataError(Message(Setting("n_nodes", n_nodes), f": the edges need at least {n} nodes"))
        n = int(n_nodes)
    elif n > max(_FEW_NODES, _NODES_PER_EDGE * len(array)):
        raise DataError(
            f"{len(array)} edges have node numbers up to {most}, as if they were identifiers; pass them as names, in a "
            "table or as an array of strings"
        )
    return RawEdges(source, target, weights, n)


def _check_whole(nodes: Array) -> None:
    bad = np.argwhere(~(np.isfinite(nodes) & (nodes == np.floor(nodes))))
    if len(bad):
        row, column = (int(place) for place in bad[0])
        raise DataError(
            f"the edges have {nodes[row, column]} at row {row}, column {column}; nodes are numbers from 0, or names",
            row=row,
            column=column,
        )


def _node_columns(array: Array) -> tuple[Array, Array, int]:
    """Return the first two columns as 32-bit numbers, and the largest of them."""
    m = len(array)
    source, target = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32)

    def part(start: int) -> tuple[int, int]:
        rows = slice(start, start + _ROWS_PER_TASK)
        block = array[rows, :2]
        least, most = int(block.min()), int(block.max())
        if least >= 0 and most < _MAX_NODES:
            source[rows], target[rows] = block[:, 0], block[:, 1]
        return least, most

    limits = list(thread_pool.run(part, range(0, m, _ROWS_PER_TASK)))
    least, most = min((low for low, _ in limits), default=0), max((high for _, high in limits), default=-1)
    if least < 0:
        row = int(np.argmax((array[:, :2] < 0).any(axis=1)))
        raise DataError(f"row {row} of the edges has a negative node number; nodes are counted from 0", row=row)
    if most >= _MAX_NODES:
        raise DataError(f"node number {most} is too large; pass identifiers as names, in a table or as strings")
    return source, target, most


def _checked_weights(owner: str, weights: Array | None) -> tuple[Array | None, int]:
    """Return weights between 0 and 1, scaled by a power of two, and its exponent."""
    if weights is None:
        return None, 0
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        kind = "is missing" if np.isnan(weights[row]) else f"is {weights[row]:g}"
        problem = f"the weight of edge {row} {kind}; weights must be finite and not negative"
        raise DataError(Message(Owner(owner), problem), row=row)
    most = float(weights.max(initial=0.0))
    exponent = int(np.frexp(most)[1])
    return np.ldexp(weights, -exponent), exponent


def _both_ways(edges: Edges) -> Edges:
    """Return every edge in both directions; one from a node to itself stays one link."""
    other = edges.source != edges.target
    source = np.concatenate((edges.source, edges.target[other]))
    target = np.concatenate((edges.target, edges.source[other]))
    weights = None if edges.weights is None else np.concatenate((edges.weights, edges.weights[other]))
    return Edges(source, target, weights, edges.n, edges.names, False, edges.n_edges, edges.exponent)
