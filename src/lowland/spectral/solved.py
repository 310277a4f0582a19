"""Parameters and results of a decomposition of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .rounding import varies

Array = Any


@dataclass(frozen=True)
class Scaling:
    """Centring and scaling of the columns before the decomposition."""

    center: bool = True
    scale: bool = False
    ddof: int = 1


@dataclass(frozen=True)
class Solved:
    """The result of a route, before it is cut to the wanted components.

    ``spectrum`` holds squared singular values, descending (all of them if ``complete``), ``vectors`` the right
    singular vectors, ``total`` the exact sum of squares, ``variances`` those of the unscaled columns;
    ``tolerance`` is the ratio to σ₁ below which a value is rounding; ``doubt`` is what the last wanted value would
    need, if squares were not corrected (see `rowspace.doubt`).
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
        """The largest possible number of nonzero singular values; centring reduces it by one."""
        return min(self.n_rows - self.centered, len(self.mean))

    @property
    def varying(self) -> Array:
        """Which columns vary; without centring, which are not zero."""
        return varies(self.variances, self.mean) if self.centered else (self.variances > 0) | (self.mean != 0)

    @property
    def expected(self) -> int:
        """The largest possible number without constant columns; at least 1."""
        return max(1, min(self.possible, int(self.varying.sum())))


@dataclass(frozen=True)
class ComponentRule:
    """The number of components: a number, a share of the total, all (the rank), or a rule on the spectrum.

    ``tol`` is the residual, relative to σ₁, at which a Krylov iteration on the rows may stop; None: rounding. With
    ``leading``, only ``count`` pairs are solved for, even where all of them cost little more. With ``count`` and
    ``rule``, the rule picks from the ``count`` largest values.
    """

    count: int | None = None
    share: float | None = None
    rule: Callable[[Solved], int] | None = None
    tol: float | None = None
    leading: bool = False

    @property
    def whole(self) -> bool:
        """Whether the rule needs the whole spectrum."""
        return self.count is None and self.share is None

    def pick(self, solved: Solved) -> int | None:
        """Return the number of components from the values found so far; None if more are needed."""
        found = len(solved.spectrum)
        if self.count is not None:
            if found < self.count and not solved.complete:
                return None
            return min(self.count, found if self.rule is None else self.rule(solved))
        if self.share is not None:
            m = components_for_share(solved.spectrum, solved.total, self.share)
            return found if m is None and solved.complete else m
        return self.rule(solved) if self.rule is not None else found


def components_for_share(spectrum: Any, total: float, share: float) -> int | None:
    """Return the smallest number of components with this share of the total, or None if these do not reach it.

    Returns None for a total of zero.

    >>> components_for_share([0.0938, 0.0007], 0.0945, 0.95)
    1
    """
    if total <= 0:
        return None
    held = np.cumsum(np.asarray(spectrum, dtype=np.float64))
    reached = np.flatnonzero(held >= share * total * (1 - 1e-12))
    return int(reached[0]) + 1 if len(reached) else None
