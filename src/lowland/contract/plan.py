"""`lowland.plan`: what a fit will cost, without running it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.cost import DataShape, Plan
from ..core.errors import DataError
from ..core.message import Message, Owner, Setting
from ..rows.conversion import working
from ..rows.row_source import single_pass_error
from . import parameters

if TYPE_CHECKING:
    from ..rows.row_source import RowSource
    from .reducer import Reducer


def plan(
    model: Reducer,
    X: Any = None,
    *,
    shape: tuple[int, int] | None = None,
    dtype: Any = None,
    density: float | None = None,
) -> Plan:
    """Say what ``model.fit`` would cost, without doing it.

    Parameters
    ----------
    model : Reducer
        Not necessarily fitted.
    X : data
        What would be given to `fit`; or give ``shape`` instead.
    shape : tuple of two ints
        Rows and columns.
    dtype : NumPy dtype
        Of the data that ``shape`` describes; default float64.
    density : float
        For a sparse table, the share of entries that are stored, in (0, 1].

    Examples
    --------
    >>> import lowland
    >>> p = lowland.plan(lowland.PCA(n_components=10), shape=(1_000_000, 100))
    >>> p.algorithm, p.approximate, p.bytes < 1e9
    ('covariance', False, True)
    """
    from .reducer import Reducer

    if not isinstance(model, Reducer):
        raise TypeError(
            Message(
                Owner("plan"), Setting("model"), f" must be a Lowland estimator such as lowland.PCA(2); got {model!r}"
            )
        )
    if (X is None) == (shape is None):
        raise ValueError("plan needs either the data or shape=(rows, columns)")
    parameters.check(type(model).__name__, model._parameters, model.get_params(deep=False))  # as a fit does
    if X is not None:
        if dtype is not None or density is not None:
            raise ValueError("dtype and density belong to shape=(rows, columns); leave them out if data are given")
        if isinstance(X, Iterator):
            raise ValueError("a plan would use up the iterator's first block: give lowland.RowSource.from_blocks(X)")
        source = model._input.source(model, X)
        if model._needs_length():
            _know_length(source, type(model).__name__)
        if model._pairwise and source.n_rows != source.n_features:
            raise DataError(
                f"{type(model).__name__}: precomputed values for pairs are a square; these are {source.n_rows} × "
                f"{source.n_features}"
            )
        return _with_overhead(model._plan_rows(source), model, source.shape)
    if shape is None or len(shape) != 2 or min(shape) < 1:
        raise ValueError(Message(Setting("shape"), f" must be (rows, columns), both at least 1; got {shape}"))
    rows, columns = shape
    if density is not None and not 0 < density <= 1:
        raise ValueError(f"density is the share of stored entries, in (0, 1]; got {density}")
    kind = working(np.dtype(np.float64 if dtype is None else dtype))
    table = DataShape(int(rows), int(columns), kind, 1.0 if density is None else density, density is not None)
    return _with_overhead(model._plan(table), model, table)


def _with_overhead(cost: Plan, model: Reducer, shape: DataShape) -> Plan:
    """Return a plan with the time that arithmetic does not explain: checks, calls, reading, and loops over rows."""
    fixed, per_row = model._overhead
    more = fixed + per_row * (shape.n_rows or 0) + model._entry_seconds * shape.entries
    return replace(cost, seconds=cost.seconds + more)


def _know_length(source: RowSource, owner: str) -> None:
    """Count the rows of a source that does not say how many it has, as a fit would."""
    if source.reiterable:
        source.count()
    elif source.n_rows is None:
        raise single_pass_error(owner, "plan for shape=(rows, columns)")
