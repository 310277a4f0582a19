"""What a search and the concepts of an index return."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

Array = Any

_ROUNDING = 1e-6  # of the largest weight: weights are kept in float32


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Documents in the order of their similarity to a query; iterates over pairs (index, score).

    ``indices`` and ``scores`` are arrays; ``ids`` are the names of the documents, or None; ``terms`` are, for each
    document, its terms with the largest part in the score, whether the query has them or not.

    >>> result = SearchResult(np.array([4, 2]), np.array([0.9, 0.5]))
    >>> list(result)
    [(4, 0.9), (2, 0.5)]
    """

    indices: Array
    scores: Array
    ids: list[str] | None = None
    _explain: Callable[[Array], list[list[tuple[str, float]]]] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return iter(zip(self.indices.tolist(), self.scores.tolist(), strict=True))

    @cached_property
    def terms(self) -> list[list[tuple[str, float]]]:
        """For each document, its terms with the largest part in the score, as pairs (term, part)."""
        return [[] for _ in self.indices] if self._explain is None else self._explain(self.indices)

    def __repr__(self) -> str:
        lines = []
        for place, (index, score) in enumerate(self):
            name = "" if self.ids is None else f"  {self.ids[place]}"
            lines.append(f"{index:>6} {score:7.3f}{name}  {', '.join(term for term, _ in self.terms[place])}")
        return "\n".join([" index   score  terms", *lines])


@dataclass(frozen=True)
class Concept:
    """An axis of an index: its strength σ, and the terms and documents with the largest weights of either sign."""

    number: int
    strength: float
    terms: list[tuple[str, float]]
    documents: list[tuple[int, float]]

    def __str__(self) -> str:
        return f"{self.number} (σ = {self.strength:.3g}): " + ", ".join(
            f"{'−' if weight < 0 else ''}{term}" for term, weight in self.terms
        )


def strongest(values: Array, count: int) -> Array:
    """Return the places of the largest values, in descending order; ties in the order of their places.

    >>> strongest(np.array([0.1, 0.7, 0.7, 0.3]), 3).tolist()
    [1, 2, 3]
    """
    count = min(count, len(values))
    if count <= 0:
        return np.empty(0, dtype=np.intp)
    if count < len(values):
        limit = np.partition(values, len(values) - count)[len(values) - count]
        places = np.flatnonzero(values >= limit)
    else:
        places = np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")[:count]]


def heaviest(weights: Array, count: int) -> Array:
    """Return the places of the weights of the largest size, in descending order, without those that are rounding.

    >>> heaviest(np.array([0.1, -0.7, 1e-9, 0.3]), 4).tolist()
    [1, 3, 0]
    """
    size = np.abs(weights)
    places = strongest(size, count)
    return places[size[places] > _ROUNDING * size.max(initial=0.0)]
