"""Autoencoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..parameters import RANDOM_STATE, Integer, Integers, Rule
from ..reducer import Reducer

Array = Any


class Autoencoder(Reducer):
    """Autoencoder."""

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "hidden": Integers(1),
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        hidden: tuple[int, ...] = (256, 64),
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.hidden = hidden
        self.random_state = random_state
