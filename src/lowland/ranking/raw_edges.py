"""Edges as they are read, before their weights are checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Array = Any


@dataclass(frozen=True, eq=False)
class RawEdges:
    """Links between numbered nodes; ``weights`` and ``names`` as in `Edges`."""

    source: Array
    target: Array
    weights: Array | None
    n: int
    names: Sequence[Any] | None = None
