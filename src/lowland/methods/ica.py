"""Independent component analysis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..parameters import RANDOM_STATE, AnyOf, Choice, Integer, Nothing, Real, Rule
from .linear import LinearReducer

Array = Any


class ICA(LinearReducer):
    """Independent component analysis."""

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": AnyOf((Nothing(), Integer(1))),
        "contrast": Choice(("logcosh", "exp", "cube")),
        "algorithm": Choice(("auto", "fastica", "picard")),
        "whiten": Choice(("unit-variance", "arbitrary-variance")),
        "max_iter": Integer(1),
        "tol": Real(0),
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        contrast: str = "logcosh",
        algorithm: str = "auto",
        whiten: str = "unit-variance",
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.contrast = contrast
        self.algorithm = algorithm
        self.whiten = whiten
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
