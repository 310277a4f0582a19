"""Correlations of columns, and an order in which correlated columns are next to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import DataError
from .model_axes import column_names, dense

Array = Any

ORDERS = ("tree", "absolute", "axis", "table")
MOST_OPTIMAL = 500  # columns up to which the leaves of the tree are ordered optimally, which takes cubic time


@dataclass(frozen=True, eq=False)
class ColumnCorrelations:
    """Correlations of columns with each other, in the order of ``names``; ``order`` are their places in the table."""

    values: Array
    names: tuple[str, ...]
    order: tuple[int, ...]


def ordered_correlations(X: Any, *, order: str = "tree", names: Sequence[str] | None = None) -> ColumnCorrelations:
    """Return the Pearson correlations of all pairs of columns, ordered so that correlated columns are neighbours.

    Parameters
    ----------
    X : table of numbers, without missing values
        Rows.
    order : {"tree", "absolute", "axis", "table"}
        "tree": leaves of the average-linkage tree of the distances √(2 − 2r), ordered so that neighbours are as close
        as possible (up to 500 columns); "absolute": the same of √(2 − 2|r|), which puts columns of opposite sign
        together; "axis": by loading on the first principal axis of the scaled columns; "table": as they are.
    names : sequence of str, optional
        Names of the columns; default: those of the table.

    Examples
    --------
    >>> X = [[1.0, 5.0, 2.0], [2.0, 1.0, 4.1], [3.0, 4.0, 5.9], [4.0, 2.0, 8.2]]
    >>> found = ordered_correlations(X)
    >>> found.names, found.values[0].round(2).tolist()
    (('x1', 'x0', 'x2'), [1.0, -0.42, -0.45])
    """
    Z = dense(X)
    owner = "ordered_correlations"
    if order not in ORDERS:
        raise ValueError(f"{owner}: order must be one of {', '.join(map(repr, ORDERS))}; got {order!r}")
    if Z.ndim != 2 or len(Z) < 2 or Z.shape[1] < 2:
        raise DataError(f"{owner}: give two or more rows and columns; got shape {Z.shape}")
    labels = column_names(X, Z.shape[1]) if names is None else [str(name) for name in names]
    if len(labels) != Z.shape[1]:
        raise ValueError(f"{owner}: got {len(labels)} names for {Z.shape[1]} columns")
    if not np.isfinite(Z).all():
        bad = labels[int(np.flatnonzero(~np.isfinite(Z).all(axis=0))[0])]
        raise DataError(f"{owner}: column {bad!r} has missing or infinite values; fill or drop them first")
    constant = np.flatnonzero(np.ptp(Z, axis=0) == 0)
    if len(constant):
        raise DataError(f"{owner}: column {labels[constant[0]]!r} is constant, so it has no correlation; drop it")
    R = np.clip(np.corrcoef(Z / np.abs(Z).max(axis=0), rowvar=False), -1.0, 1.0)
    places = _places(Z, R, order)
    return ColumnCorrelations(R[np.ix_(places, places)], tuple(labels[j] for j in places), tuple(places))


def _places(Z: Array, R: Array, order: str) -> list[int]:
    if order == "table":
        return list(range(len(R)))
    if order == "axis":
        from ..methods.linear.pca import PCA

        return [int(j) for j in np.argsort(-PCA(1, scale=True).fit(Z).components_[0], kind="stable")]
    from scipy.cluster.hierarchy import leaves_list

    return [int(j) for j in leaves_list(column_tree(R, absolute=order == "absolute"))]


def column_tree(R: Array, *, absolute: bool) -> Array:
    """Return the average-linkage tree of columns, from their correlations or the absolute values of these."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    D = np.sqrt(np.maximum(0.0, 2 - 2 * (np.abs(R) if absolute else R)))
    np.fill_diagonal(D, 0.0)
    return linkage(squareform(D, checks=False), "average", optimal_ordering=len(R) <= MOST_OPTIMAL)
