"""Random projection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..parameters import RANDOM_STATE, AnyOf, Choice, Integer, Real, Rule
from .linear import LinearReducer

Array = Any


class RandomProjection(LinearReducer):
    """Random projection."""

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": AnyOf((Choice(("auto",)), Integer(1))),
        "kind": Choice(("gaussian", "sparse", "hadamard")),
        "eps": Real(0, 1),
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        kind: str = "gaussian",
        eps: float = 0.1,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kind = kind
        self.eps = eps
        self.random_state = random_state
