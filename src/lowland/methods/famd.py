"""Factor analysis of mixed data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..parameters import RANDOM_STATE, Choice, Integer, Rule
from .linear import LinearReducer

Array = Any


class FAMD(LinearReducer):
    """Factor analysis of mixed data."""

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "unseen": Choice(("error", "ignore")),
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        unseen: str = "error",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.unseen = unseen
        self.random_state = random_state
