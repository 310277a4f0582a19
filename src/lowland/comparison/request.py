"""What was asked of a comparison, checked."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..contract.parameters import Integer
from ..core.errors import DataError
from ..core.message import Message, Owner, Setting
from . import candidates
from .candidates import Candidate
from .dataset import Dataset

ASKED = ("n_components", "metric", "n_neighbors", "sample", "held_out", "random_state")  # what a record keeps
NEIGHBORS = 10  # in a neighbourhood; of few rows a quarter of them


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    n_components: int
    metric: str
    n_neighbors: int | None
    sample: int | None
    held_out: float
    random_state: int
    methods: str | Sequence[Any]

    def check(self) -> None:
        """Raise ValueError for what is not allowed."""
        from ..pairs.distances import METRICS

        if not isinstance(self.metric, str) or self.metric not in (*METRICS, "precomputed"):
            raise ValueError(
                Message(
                    Owner("compare"),
                    Setting("metric"),
                    f" must be one of {', '.join(sorted(METRICS))} or 'precomputed'; got {self.metric!r}. Distances by "
                    "another function can be given as 'precomputed'",
                )
            )
        for name, low in (("n_components", 1), ("n_neighbors", 1), ("random_state", 0), ("sample", 20)):
            given = getattr(self, name)
            if not Integer(low).accepts(given) and not (name in ("sample", "n_neighbors") and given is None):
                raise ValueError(
                    Message(Owner("compare"), Setting(name), f" must be {Integer(low).describe()}; got {given!r}")
                )
        share: Any = self.held_out
        if isinstance(share, bool) or not isinstance(share, numbers.Real) or not 0 <= float(share) <= 0.5:
            text = f" is the share of rows to hold out, from 0 to 0.5; got {self.held_out!r}"
            raise ValueError(Message(Owner("compare"), Setting("held_out"), text))
        if isinstance(self.methods, str) and self.methods != "auto":
            raise ValueError(
                Message(
                    Owner("compare"),
                    Setting("methods"),
                    f" must be 'auto' or a list such as [{self.methods!r}]; got {self.methods!r}",
                )
            )

    def against(self, given: Dataset) -> Request:
        """Return the same with what the data decide; raise what only shows with them."""
        if self.n_neighbors is not None and self.n_neighbors > given.n - 2:
            many = f" is too many for {given.n} rows; give at most {given.n - 2}"
            raise DataError(Message(Owner("compare"), Setting("n_neighbors", self.n_neighbors), many))
        if given.kind != "distances" and self.n_components > given.n_columns:
            many = f" is more than the number of columns, {given.n_columns}"
            raise DataError(Message(Owner("compare"), Setting("n_components", self.n_components), many))
        return replace(self, n_neighbors=self.n_neighbors or min(NEIGHBORS, given.n // 4))

    def candidates(self, kind: str) -> tuple[list[Candidate], dict[str, str]]:
        """Return the candidates of the first round and why methods are left out."""
        if self.methods != "auto":
            assert not isinstance(self.methods, str)
            k, seed = self.n_components, self.random_state
            return candidates.requested_candidates(self.methods, kind, k, self.metric, seed), {}
        names, left = candidates.automatic(kind)
        made, more = candidates.first_of(names, kind, self.n_components, self.metric, self.random_state)
        return made, {**left, **more}
