"""t-SNE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..parameters import RANDOM_STATE, Integer, Real, Rule
from ..reducer import Reducer

Array = Any


class TSNE(Reducer):
    """t-SNE."""

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "perplexity": Real(1),
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.random_state = random_state
