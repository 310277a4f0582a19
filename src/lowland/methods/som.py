"""Self-organising map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..parameters import RANDOM_STATE, Choice, Integer, Integers, Rule
from ..reducer import Reducer

Array = Any


class SOM(Reducer):
    """Self-organising map."""

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "grid": Integers(1, length=2),
        "topology": Choice(("rectangular", "hexagonal")),
        "epochs": Integer(1),
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        grid: tuple[int, int] = (20, 20),
        *,
        topology: str = "rectangular",
        epochs: int = 20,
        random_state: int | None = None,
    ) -> None:
        self.grid = grid
        self.topology = topology
        self.epochs = epochs
        self.random_state = random_state
