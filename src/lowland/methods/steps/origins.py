"""To which columns of a table the columns after some steps belong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .step import Step

Array = Any

_ORTHONORMAL = 1e-4  # largest deviation from orthonormality; float32 leaves less


@dataclass(frozen=True)
class Origins:
    """The columns that a row's numbers come from.

    ``names`` are the columns, ``groups`` the column of each number, ``rotation`` (k, d) takes numbers back through a
    method with orthonormal axes first. ``from_table``: whether all steps could be traced back, so that the columns are
    those of the table; ``unchanged``: whether there are no steps, so that the numbers are those of the table.
    """

    names: list[str]
    groups: Array
    rotation: Array | None = None
    from_table: bool = True
    unchanged: bool = False

    def products(self, a: Array, b: Array) -> Array:
        """Return the products of two arrays (n, k) of numbers, added up by column."""
        if self.rotation is not None:
            a, b = a @ self.rotation, b @ self.rotation
        products = a * b
        if np.array_equal(self.groups, np.arange(len(self.names))):
            return products
        members = sp.csr_array(
            (np.ones(len(self.groups)), (self.groups, np.arange(len(self.groups)))),
            shape=(len(self.names), len(self.groups)),
        )
        return (members @ products.T).T


def origins(steps: Sequence[Any], names: Sequence[str]) -> Origins:
    """Trace the columns after fitted steps, which have these names, back to the columns of the table.

    A level of a category belongs to its category, a part of a date to its date. PCA before the method and FAMD as an
    encoder are orthogonal: differences are rotated back. The trace ends at a step that mixes columns in another way.

    >>> import lowland
    >>> step = lowland.steps.EncodeCategories().fit([[1.0, "a"], [2.0, "b"]])
    >>> found = origins([step], step.get_feature_names_out())
    >>> differences = np.array([[3.0, 1.0, -1.0]])
    >>> found.names, found.groups.tolist(), found.products(differences, differences).tolist()
    (['x0', 'x1'], [0, 1, 1], [[9.0, 2.0]])
    """
    now, groups, rotation = [str(name) for name in names], np.arange(len(names)), None
    for step in reversed(steps):
        turn, places, before = _traced(step, now)
        if before is None or (turn is not None and not np.array_equal(groups, np.arange(len(now)))):
            return Origins(now, groups, rotation, from_table=False)
        if turn is not None:
            rotation = turn if rotation is None else rotation @ turn
            groups = np.arange(turn.shape[1])
        now, groups = before, places[groups]
    return Origins(now, groups, rotation, unchanged=not steps)


def _traced(step: Any, names: list[str]) -> tuple[Array | None, Array, list[str] | None]:
    """Return a step's rotation, the place of each (rotated) number among its columns, and their names."""
    if isinstance(step, Step):
        places = step.origin()
        if places is None:
            return None, np.empty(0), None
        return step.rotation(), np.asarray(places, dtype=np.intp), list(step.names_in_)
    d = getattr(step, "n_features_in_", None)
    if d is None:
        return None, np.empty(0), None
    own = getattr(step, "feature_names_in_", None)
    before = [f"x{j}" for j in range(d)] if own is None else [str(name) for name in own]
    V = getattr(step, "components_", None)
    if V is not None:
        if type(step).__name__ not in ("PCA", "TruncatedSVD") or getattr(step, "whiten", False):
            return None, np.empty(0), None
        V = np.asarray(V, dtype=np.float64)
        close = np.abs(V @ V.T - np.eye(len(V))).max() <= _ORTHONORMAL
        return V, np.arange(d), before if close else None
    if len(names) == d and _keeps_columns(step):
        return None, np.arange(d), before
    return None, np.empty(0), None


def _keeps_columns(step: Any) -> bool:
    """Return whether a transformer of scikit-learn changes each column by itself."""
    return type(step).__name__ in ("StandardScaler", "RobustScaler", "MinMaxScaler", "SimpleImputer", "OrdinalEncoder")
