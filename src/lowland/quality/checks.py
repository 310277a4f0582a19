"""Checks of parameters, and names of rows, that `outliers` and `novelty` share."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from ..core.errors import DataError
from ..core.message import Message, Owner, Setting
from ..core.whole import is_whole


def check_level(level: Any, owner: str) -> None:
    """Raise ValueError unless the level is between 0.5 and 1."""
    if isinstance(level, bool) or not isinstance(level, numbers.Real) or not 0.5 < float(level) < 1:
        limits = f" must be a number in (0.5, 1), such as 0.999; it is {level!r}"
        raise ValueError(Message(Owner(owner), Setting("level"), limits))


def check_neighbors(k: Any, owner: str) -> None:
    """Raise ValueError unless the number of neighbours is a positive integer."""
    if not is_whole(k, 1):
        raise ValueError(Message(Owner(owner), Setting("n_neighbors"), f" must be a whole number ≥ 1; it is {k!r}"))


def row_names(names: Sequence[Any] | None, X: Any, n: int, owner: str) -> tuple[str, ...] | None:
    """Return the names of the rows: those given, or the labels of a pandas index unless it is a RangeIndex."""
    if names is None:
        index = getattr(X, "index", None)
        if index is None or callable(index) or type(index).__name__ == "RangeIndex":
            return None
        names = list(index)
    if len(names) != n:
        raise DataError(
            Message(Owner(owner), f"{len(names)} names for {n} rows; give one for each row, in their order")
        )
    return tuple(str(name) for name in names)
