"""The spectrum of a table, which all linear estimates of dimension share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.measure import Z95, Measure
from ..core.message import Message, Owner
from ..core.random import seed
from ..rows import units
from ..rows.row_source import RowSource, as_rows
from . import rowspace
from .routes import square_tolerance
from .solved import ComponentRule, Scaling, Solved

Array = Any

WHOLE = 5000  # smaller side up to which the whole spectrum is computed, else the leading values only
LEADING = 200


@dataclass(frozen=True, eq=False)
class Variances:
    """Eigenvalues of a covariance, descending, and the shape and column variances of its table.

    ``n_columns`` counts the columns that vary. ``size`` is the largest possible number of values, min(N − 1, D): those
    that are not in ``values`` are zero if it is ``complete``, else unknown. ``columns`` are the variances of the
    columns, if known, ``scale`` their divisors.
    """

    values: Array
    total: float
    size: int
    n_rows: int | None
    n_columns: int
    complete: bool = True
    columns: Array | None = None
    names: Sequence[str] | None = None
    scale: Array | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions that the rows span; its upper bound if only the leading values are known."""
        return int(np.count_nonzero(self.values > 0)) if self.complete else self.size

    @property
    def bound(self) -> int:
        """An upper bound on the dimension of the population.

        It is the rank if that is below min(N − 1, D), since the rows then lie in a subspace. If N rows span N − 1
        dimensions, more rows could span more, and the number of columns is the bound.
        """
        return self.rank if self.rank < self.size else self.n_columns

    @property
    def relative(self) -> Variances:
        """The same in units of the first value, so that squares neither overflow nor underflow."""
        unit = float(self.values[0]) if len(self.values) and self.values[0] > 0 else 1.0
        columns = None if self.columns is None else self.columns / unit
        return replace(self, values=self.values / unit, total=self.total / unit, columns=columns)

    def padded(self, owner: str) -> Array:
        """Return all values, including zeros; raise if only the leading ones are known."""
        if not self.complete:
            raise DataError(
                f"{owner} needs the whole spectrum, but for a table of {self.n_columns:,} columns only the {LEADING} "
                f"leading values are computed (all up to {WHOLE:,}); reduce it first, or use variance_share"
            )
        return np.concatenate([self.values, np.zeros(max(0, self.size - len(self.values)))])

    def rows(self, owner: str) -> int:
        """Return the number of rows; raise if a spectrum was given without it."""
        if self.n_rows is None:
            raise DataError(f"{owner} needs the number of rows of the spectrum: pass n_rows")
        return self.n_rows

    def spread(self) -> float:
        """Return the relative half-width of an eigenvalue's 95 % interval: 1.96 √(2/(N − 1)), for normal rows."""
        return 0.0 if self.n_rows is None or self.n_rows < 2 else float(Z95 * np.sqrt(2 / (self.n_rows - 1)))


def variances_of(
    X: Any,
    n_rows: int | None = None,
    n_columns: int | None = None,
    *,
    scale: bool = False,
    owner: str = "dimension",
    flat: bool = False,
    random_state: int | None = None,
) -> Variances:
    """Return the spectrum of rows, or a given one: eigenvalues, with the numbers of rows and columns.

    ``flat``: a given spectrum may be all zero. Rows whose squares overflow or underflow are divided by a power of two
    first, and the values are those of the divided rows: estimates of dimension use only their ratios.

    >>> variances_of([[0.0, 1.0], [2.0, 1.0], [1.0, 1.0]]).values.round(12).tolist()
    [1.0]
    """
    if isinstance(X, Variances):
        return X
    if not isinstance(X, RowSource) and np.ndim(_plain(X)) == 1:
        return _from_eigenvalues(X, n_rows, n_columns, owner, flat)
    if n_rows is not None or n_columns is not None:
        name = "n_columns" if n_rows is None else "n_rows"
        raise ValueError(Message(Owner(owner), f"{name} can be given only with a spectrum, not with rows"))
    rows = as_rows(X, owner=owner)
    exponent = units.exponent_of(rows, spread=True)
    rows = units.scaled(rows, -exponent)
    smaller = min(rows.n_features, rows.n_rows or rows.n_features)
    wanted = ComponentRule() if smaller <= WHOLE else ComponentRule(count=LEADING)
    space = rowspace.decompose(rows, wanted, Scaling(center=True, scale=scale, ddof=1), rng=seed(random_state))
    found = from_solved(space.solved, max(1, space.solved.n_rows - 1))
    return replace(found, names=rows.names, scale=units.times(space.solved.scale, exponent))


def from_solved(solved: Solved, divisor: float) -> Variances:
    """Return the spectrum of decomposed rows, their sums of squares divided by ``divisor``."""
    varying = solved.varying
    columns = np.where(varying, solved.variances if solved.scale is None else 1.0, 0.0)
    spectrum, width = np.asarray(solved.spectrum), int(varying.sum())
    values = spectrum[spectrum > solved.tolerance**2 * spectrum[0]][: max(1, solved.possible)]  # others are rounding
    size = min(solved.n_rows - solved.centered, width)
    return Variances(values / divisor, solved.total / divisor, size, solved.n_rows, width, solved.complete, columns)


def _plain(X: Any) -> Any:
    """Return X as an array if it may be a list of eigenvalues; rows may be frames, sparse or tensors."""
    return X if isinstance(X, np.ndarray) else [] if isinstance(X, list | tuple) and _numbers(X) else [[]]


def _numbers(X: Sequence[Any]) -> bool:
    return all(np.ndim(x) == 0 and not isinstance(x, str) for x in X)


def _from_eigenvalues(spectrum: Any, n_rows: int | None, n_columns: int | None, owner: str, flat: bool) -> Variances:
    """Return checked eigenvalues; as for rows, those that may be rounding of the first are zero."""
    values = np.asarray(spectrum, dtype=np.float64)
    if len(values) == 0 or (not flat and not (values > 0).any()):
        raise DataError(Message(Owner(owner), "no eigenvalue is positive: the data do not vary"))
    slack = 1e-10 * float(np.abs(values).max())  # solvers leave rounding below zero and in the order
    wrong = ~np.isfinite(values) | (values < -slack)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise DataError(
            Message(Owner(owner), f"eigenvalues must be finite and nonnegative; number {place} is {values[place]}")
        )
    if (np.diff(values) > slack).any():
        raise DataError(
            Message(Owner(owner), "eigenvalues must be in descending order; if these are rows, pass a 2-D table")
        )
    _check_count(n_rows, "n_rows", 2, owner)
    _check_count(n_columns, "n_columns", 1, owner)
    values = np.sort(np.where(values > square_tolerance(len(values)) ** 2 * values.max(), values, 0.0))[::-1]
    rank = int(np.count_nonzero(values))
    width = len(values) if n_columns is None else int(n_columns)
    if rank > width:
        raise ValueError(
            Message(Owner(owner), f"{rank} eigenvalues are positive, more than n_columns={n_columns} columns can have")
        )
    size = width if n_rows is None else min(int(n_rows) - 1, width)
    return Variances(values[:rank], float(values.sum()), max(rank, size), n_rows, width)


def _check_count(count: Any, name: str, least: int, owner: str) -> None:
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if count is not None and not (whole and count >= least):
        raise ValueError(Message(Owner(owner), f"{name} must be a whole number of at least {least}; got {count!r}"))


def leading(values: Array, limits: Array, spread: float) -> Measure:
    """Return the number of leading values above their limits; the interval allows each value its relative spread."""
    counts = [_run(values * factor > limits) for factor in (1.0, 1 / (1 + spread), 1 + spread)]
    return Measure(counts[0], counts[1], counts[2])


def _run(above: Array) -> int:
    below = np.flatnonzero(~above)
    return int(below[0]) if len(below) else len(above)
