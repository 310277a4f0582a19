"""UMAP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..parameters import RANDOM_STATE, Integer, Rule
from ..reducer import Reducer

Array = Any


class UMAP(Reducer):
    """UMAP."""

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "n_neighbors": Integer(2),
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 15,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.random_state = random_state
