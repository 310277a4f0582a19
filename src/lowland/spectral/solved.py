"""What a decomposition of rows is asked for, and what a route found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .rounding import varies

Array = Any


@dataclass(frozen=True)
class Scaling:
    """What is done to the columns before the decomposition."""

    center: bool = True
    scale: bool = False
    ddof: int = 1


@dataclass(frozen=True)
class Solved:
    """All that a route found, before it is cut to the wanted components.

    ``spectrum`` holds squared singular values, descending (all of them if ``complete``), ``vectors`` the right
    singular vectors, ``total`` the exact sum of squares, ``variances`` those of the unscaled columns;
    ``tolerance`` is the ratio to σ₁ below which a value is rounding; ``doubt`` says what the last wanted value would
    need, where squares were not made good (see `rowspace.doubt`).
    """

    route: str
    n_rows: int
    weight: float
    mean: Array
    scale: Array | None
    variances: Array
    centered: bool
    total: float
    spectrum: Array
    vectors: Array
    complete: bool
    tolerance: float
    doubt: str = ""
    residual: float = 0.0
    solver: str = ""
    products: int = 0
    converged: bool = True
    checked: int | None = None
    left: Array | None = None

    @property
    def possible(self) -> int:
        """How many singular values can be above zero: centring takes one from the rows."""
        return min(self.n_rows - self.centered, len(self.mean))

    @property
    def expected(self) -> int:
        """The same without the columns that do not vary, which add none; at least 1."""
        varying = varies(self.variances, self.mean) if self.centered else (self.variances > 0) | (self.mean != 0)
        return max(1, min(self.possible, int(varying.sum())))


@dataclass(frozen=True)
class ComponentRule:
    """How many components: a number, a share of the total, all (the rank), or by a rule on the spectrum."""

    count: int | None = None
    share: float | None = None
    rule: Callable[[Solved], int] | None = None

    @property
    def whole(self) -> bool:
        """Tell whether the whole spectrum is needed to decide."""
        return self.count is None and self.share is None

    def pick(self, solved: Solved) -> int | None:
        """Return the number of components given the values found so far; None if more are needed."""
        found = len(solved.spectrum)
        if self.count is not None:
            return min(self.count, found) if found >= self.count or solved.complete else None
        if self.share is not None:
            m = components_for_share(solved.spectrum, solved.total, self.share)
            return found if m is None and solved.complete else m
        return self.rule(solved) if self.rule is not None else found


def components_for_share(spectrum: Any, total: float, share: float) -> int | None:
    """Return the smallest number of components that hold the share of the total, or None if these do not.

    A total of zero has no shares: None.

    >>> components_for_share([0.0938, 0.0007], 0.0945, 0.95)
    1
    """
    if total <= 0:
        return None
    held = np.cumsum(np.asarray(spectrum, dtype=np.float64))
    reached = np.flatnonzero(held >= share * total * (1 - 1e-12))
    return int(reached[0]) + 1 if len(reached) else None
