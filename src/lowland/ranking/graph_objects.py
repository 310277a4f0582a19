"""Edges of graphs of networkx and igraph, recognised by what they offer: neither package is needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.message import Message, Setting
from .raw_edges import RawEdges


def is_graph(value: Any) -> bool:
    """Return whether an object is a graph of networkx or igraph."""
    return _is_networkx(value) or _is_igraph(value)


def _is_networkx(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("nodes", "edges", "adjacency", "is_directed"))


def _is_igraph(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("vs", "es", "get_edgelist", "is_directed"))


def edges_of_graph(graph: Any, weight: str | bool | None) -> tuple[RawEdges, bool]:
    """Return the edges, with the attribute ``weight`` where the edges have one, and whether they are directed."""
    read = _of_networkx if _is_networkx(graph) else _of_igraph
    return read(graph, weight), bool(graph.is_directed())


def _of_networkx(graph: Any, weight: str | bool | None) -> RawEdges:
    """Return the edges; one without the attribute has the weight 1, as in networkx."""
    names = list(graph.nodes)
    number = {name: i for i, name in enumerate(names)}
    rows = list(graph.edges(data=True))
    attribute = weight if isinstance(weight, str) else "weight"
    known = any(attribute in data for _, _, data in rows)
    if isinstance(weight, str) and not known and rows:
        raise _no_attribute(weight)
    weights = None
    if known and weight is not False:
        weights = _numbers([data.get(attribute, 1.0) for _, _, data in rows], attribute)
    source = np.fromiter((number[a] for a, _, _ in rows), np.int32, len(rows))
    target = np.fromiter((number[b] for _, b, _ in rows), np.int32, len(rows))
    return RawEdges(source, target, weights, len(names), names)


def _of_igraph(graph: Any, weight: str | bool | None) -> RawEdges:
    pairs = np.asarray(graph.get_edgelist(), dtype=np.int32).reshape(-1, 2)
    attribute = weight if isinstance(weight, str) else "weight"
    known = attribute in graph.es.attributes()
    if isinstance(weight, str) and not known:
        raise _no_attribute(weight)
    weights = _numbers(graph.es[attribute], attribute) if known and weight is not False else None
    names = graph.vs["name"] if "name" in graph.vs.attributes() else None
    source, target = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    return RawEdges(source, target, weights, len(graph.vs), names)


def _no_attribute(name: str) -> DataError:
    return DataError(Message(Setting("weight", name), ": no edge of the graph has this attribute"))


def _numbers(values: Any, attribute: str) -> Any:
    try:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the attribute {attribute!r} of some edges is not a number") from error
