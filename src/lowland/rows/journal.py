"""`Journal`: what keeps the sums of passes over rows, so that an interrupted fit can continue."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple


class Progress(NamedTuple):
    """How far a pass has come: rows that are in the sums, the sums as plain values, and whether it has ended."""

    rows: int
    state: dict[str, Any]
    ended: bool = False


class Journal(ABC):
    """Keeps the sums of each pass over a source. An accumulator asks for them when it begins a pass.

    Passes are told apart by their order, which is that of the first run, and by what they add up.
    """

    @abstractmethod
    def begin(self, kind: str) -> Progress | None:
        """Begin the next pass and return what is known of it, or None."""

    @abstractmethod
    def due(self) -> bool:
        """Return whether the sums should be kept now."""

    @abstractmethod
    def keep(self, progress: Progress) -> None:
        """Keep the sums of the present pass."""
