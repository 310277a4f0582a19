"""The distribution of the nodes at which a random walk starts again."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.message import Message, Owner, Setting
from .edges import Edges

Array = Any


def restart_shares(personalization: Any, graph: Edges) -> Array:
    """Return the probability of each node, from weights by name or in order; None: all the same."""
    if personalization is None:
        return np.full(graph.n, 1.0 / graph.n)
    if isinstance(personalization, Mapping):
        weights = _by_name(personalization, graph)
    else:
        try:
            weights = np.asarray(personalization, dtype=np.float64)
        except (TypeError, ValueError):
            raise _refusal("must be a mapping from names to weights, or a weight for each node") from None
        if weights.shape != (graph.n,):
            shape = " × ".join(map(str, weights.shape)) or "one"
            raise _refusal(f"has {shape} weights; the graph has {graph.n} nodes")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        place = int(np.argmax(bad))
        name = place if graph.names is None else graph.names[place]
        raise _refusal(f"has the weight {weights[place]:g} for node {name!r}; weights must be finite and not negative")
    most = float(weights.max())
    if most == 0:
        raise _refusal("has the sum 0; give at least one node a positive weight")
    weights = weights / most  # the sum of very large weights would overflow
    return weights / weights.sum()


def _by_name(personalization: Mapping[Any, Any], graph: Edges) -> Array:
    names = range(graph.n) if graph.names is None else graph.names
    number = {name: i for i, name in enumerate(names)} if graph.names is not None else None
    weights = np.zeros(graph.n)
    for name, weight in personalization.items():
        place = number.get(name) if number is not None else _place(name, graph.n)
        if place is None:
            near = difflib.get_close_matches(str(name), [str(known) for known in names][:100_000], n=3, cutoff=0.5)
            hint = f"; similar: {', '.join(near)}" if near else ""
            raise _refusal(f"names the node {name!r}, which the graph does not have{hint}")
        try:
            weights[place] = float(weight)
        except (TypeError, ValueError):
            raise _refusal(f"has the weight {weight!r} for node {name!r}; weights must be numbers") from None
    return weights


def _place(name: Any, n: int) -> int | None:
    whole = isinstance(name, int | np.integer) and not isinstance(name, bool)
    return int(name) if whole and 0 <= name < n else None


def _refusal(problem: str) -> DataError:
    return DataError(Message(Owner("pagerank"), Setting("personalization"), f" {problem}"))
