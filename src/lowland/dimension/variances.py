"""The spectrum of a table, found once: what all linear counts of dimensions are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError
from ..measure import Z95, Measure
from ..reducer import seed
from ..rows import RowSource, as_rows
from ..spectral import rowspace
from ..spectral.rowspace import Scaling, Wanted

Array = Any

WHOLE = 5000  # of the smaller side: larger tables get their leading values only
LEADING = 200


@dataclass(frozen=True)
class Variances:
    """Eigenvalues of a covariance, descending, and what is known of the table behind them.

    ``size`` is how many values there could be, min(N − 1, D): those that are not in ``values`` are zero if it is
    ``complete``, else unknown. ``columns`` holds the variances of the columns where they are known.
    """

    values: Array
    total: float
    size: int
    n_rows: int | None = None
    n_columns: int | None = None
    complete: bool = True
    columns: Array | None = None
    names: Sequence[str] | None = None

    @property
    def rank(self) -> int:
        """How many dimensions the rows span; where only the leading values are known, as many as there could be."""
        return int(np.count_nonzero(self.values > 0)) if self.complete else self.size

    def padded(self, owner: str) -> Array:
        """Return all values, zeros included; refuse where only the leading ones are known."""
        if not self.complete:
            raise DataError(
                f"{owner} needs the whole spectrum, and of a table of {self.n_columns:,} columns only the {LEADING} "
                f"leading values were computed (whole up to {WHOLE:,}); reduce it first, or use variance_share"
            )
        return np.concatenate([self.values, np.zeros(max(0, self.size - len(self.values)))])

    def rows(self, owner: str) -> int:
        """Return the number of rows; refuse where a spectrum came without it."""
        if self.n_rows is None:
            raise DataError(f"{owner} must know how many rows are behind the spectrum: give n_rows")
        return self.n_rows

    def spread(self) -> float:
        """Return the relative half-width of an eigenvalue's 95 % interval: 1.96 √(2/(N − 1)), for normal rows."""
        return 0.0 if self.n_rows is None or self.n_rows < 2 else float(Z95 * np.sqrt(2 / (self.n_rows - 1)))


def variances_of(
    X: Any,
    n_rows: int | None = None,
    *,
    scale: bool = False,
    owner: str = "dimension",
    flat: bool = False,
    random_state: int | None = None,
) -> Variances:
    """Return the spectrum of rows, or take one that is given (a list of eigenvalues, with ``n_rows``).

    ``flat``: a given spectrum may be all zero.

    >>> variances_of([[0.0, 1.0], [2.0, 1.0], [1.0, 1.0]]).values.round(12).tolist()
    [1.0]
    """
    if isinstance(X, Variances):
        return X
    if not isinstance(X, RowSource) and np.ndim(_plain(X)) == 1:
        return _given(X, n_rows, owner, flat)
    if n_rows is not None:
        raise ValueError(f"{owner}: n_rows goes with a spectrum; rows count themselves")
    rows = as_rows(X, owner=owner)
    smaller = min(rows.n_features, rows.n_rows or rows.n_features)
    wanted = Wanted() if smaller <= WHOLE else Wanted(count=LEADING)
    space = rowspace.decompose(rows, wanted, Scaling(center=True, scale=scale, ddof=1), rng=seed(random_state))
    solved = space.solved
    degrees = max(1, solved.n_rows - 1)
    columns = solved.variances if solved.scale is None else np.where(solved.variances > 0, 1.0, 0.0)
    return Variances(
        np.asarray(solved.spectrum) / degrees,
        solved.total / degrees,
        min(solved.n_rows - 1, rows.n_features),
        solved.n_rows,
        rows.n_features,
        solved.complete,
        np.asarray(columns),
        rows.names,
    )


def _plain(X: Any) -> Any:
    """Return what tells a list of eigenvalues from rows, which may be frames, sparse or tensors."""
    return X if isinstance(X, np.ndarray) else [] if isinstance(X, list | tuple) and _numbers(X) else [[]]


def _numbers(X: Sequence[Any]) -> bool:
    return all(np.ndim(x) == 0 and not isinstance(x, str) for x in X)


def _given(spectrum: Any, n_rows: int | None, owner: str, flat: bool) -> Variances:
    values = np.asarray(spectrum, dtype=np.float64)
    if len(values) == 0 or (not flat and not (values > 0).any()):
        raise DataError(f"{owner}: no eigenvalue is above zero: the data do not vary")
    slack = 1e-10 * float(np.abs(values).max())  # solvers leave rounding below zero and in the order
    wrong = ~np.isfinite(values) | (values < -slack)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise DataError(f"{owner}: eigenvalues are finite and not negative; number {place} is {values[place]}")
    if (np.diff(values) > slack).any():
        raise DataError(f"{owner}: eigenvalues must descend; if these are rows, give them as a 2-D table")
    values = values.clip(0)
    if n_rows is not None and (isinstance(n_rows, bool) or n_rows < 2):
        raise ValueError(f"{owner}: n_rows is a whole number of at least 2; it is {n_rows!r}")
    return Variances(values, float(values.sum()), len(values), n_rows, len(values))


def leading(values: Array, limits: Array, spread: float) -> Measure:
    """Count the leading values above their limits; the interval lets each value err by its relative spread."""
    counts = [_run(values * factor > limits) for factor in (1.0, 1 / (1 + spread), 1 + spread)]
    return Measure(counts[0], counts[1], counts[2])


def _run(above: Array) -> int:
    below = np.flatnonzero(~above)
    return int(below[0]) if len(below) else len(above)
