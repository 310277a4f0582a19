"""Columns and rows on the axes of a model: loadings, correlations, contributions and squared cosines.

Z are the columns as the method's fit saw them (centred, and scaled where it scales), Y the coordinates. All numbers of
columns follow from the loadings L = cov(Z, Y)/sd(Y), the covariances of columns and standardised axes, which for PCA
are V√λ. So they are defined for every method, and for PCA and FAMD they are those of FactoMineR (Lê, Josse & Husson
2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..core.errors import DataError
from ..core.message import Message, Owner, Phrase, Setting
from .model_axes import ModelAxes, model_axes

Array = Any


@dataclass(frozen=True, eq=False)
class AxisTable:
    """A number for each column (or row) of a table and each axis of a model.

    Attributes
    ----------
    values : (m, k) array
        The numbers.
    names, axes : tuple of str
        Names of the m columns or rows, and of the k axes.
    weights : (k,) array or None
        Variances of the axes, by which the numbers of several axes are averaged; None: they are added up.
    """

    values: Array
    names: tuple[str, ...]
    axes: tuple[str, ...]
    weights: Array | None = None

    def combined(self, axes: Sequence[int]) -> Array:
        """Return one number for each column or row over several axes, counted from 1.

        Contributions are averaged with the variances of the axes, squared cosines are added up.
        """
        places = checked_axes(axes, len(self.axes))
        chosen = self.values[:, places]
        if self.weights is None:
            return chosen.sum(axis=1)
        weights = np.asarray(self.weights, dtype=np.float64)[places]
        return chosen @ weights / weights.sum()

    def to_frame(self) -> pl.DataFrame:
        """Return a data frame: the names, and a column for each axis."""
        return pl.DataFrame({"name": list(self.names), **{a: self.values[:, i] for i, a in enumerate(self.axes)}})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype=dtype)


def checked_axes(axes: Sequence[int], n_axes: int) -> list[int]:
    """Return the places of axes, which are counted from 1; raise for one that the model does not have."""
    numbers = [axes] if isinstance(axes, int | np.integer) else list(axes)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
            raise ValueError(f"axes are whole numbers, counted from 1; got {number!r}")
        if number > n_axes:
            kept = Phrase(f"n_components = {n_axes}", f"the model has {n_axes}")
            more = Setting("n_components", int(number))
            raise ValueError(Message(f"axis {number} was not kept (", kept, "); fit with ", more))
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(Message(Setting("axes"), f" must be one or more different numbers; got {axes!r}"))
    return [int(number) - 1 for number in numbers]


def column_loadings(model: Any, X: Any = None) -> AxisTable:
    """Return the covariance of each column with each axis, the axis scaled to variance 1.

    For PCA this is V√λ (`PCA.loadings_`); with ``scale=True`` these are correlations. For methods with orthonormal
    components the rows are not needed; for others, such as ICA and LPP, give the training rows.

    Parameters
    ----------
    model : Reducer or Pipeline
        A fitted method with components over columns. Of a recipe, the columns are those after its preprocessing.
    X : rows, optional
        The training rows.

    Examples
    --------
    >>> import lowland
    >>> from sklearn.datasets import load_iris
    >>> model = lowland.PCA(2, scale=True).fit(load_iris(as_frame=True).data)
    >>> column_loadings(model).values.round(2).tolist()
    [[0.89, 0.36], [-0.46, 0.88], [0.99, 0.02], [0.96, 0.06]]
    """
    found = model_axes(model, X, "column_loadings", linear=True)
    if found.directions is not None and found.variances is not None:
        return _table(found, found.directions * np.sqrt(found.variances))
    return _table(found, _loadings(found.with_rows("column_loadings")))


def column_correlations(model: Any, X: Any) -> AxisTable:
    """Return the Pearson correlation of each column with each axis.

    Parameters
    ----------
    model : Reducer, Pipeline or array
        A fitted model of any method, or the coordinates of the rows, (n, k).
    X : rows
        Usually the training rows. Of a recipe and FAMD, the columns are the encoded ones: a level is a column of 0
        and 1. Constant columns have the correlation 0.

    Examples
    --------
    >>> import lowland
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> found = column_correlations(lowland.PCA(2).fit(X), X)
    >>> found.names[0], found.values[0].round(3).tolist()
    ('x0', [0.897, 0.391])
    """
    found = model_axes(model, X, "column_correlations").with_rows("column_correlations")
    return _table(found, correlation_values(found))


def column_cos2(model: Any, X: Any) -> AxisTable:
    """Return how well each axis shows each column: the squared correlation; over all axes of PCA the sum is 1.

    Methods that do not centre the rows (TruncatedSVD) have squared cosines about zero instead.

    Examples
    --------
    >>> import lowland
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> column_cos2(lowland.PCA().fit(X), X).values.sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    found = model_axes(model, X, "column_cos2").with_rows("column_cos2")
    return _table(found, cos2_values(found))


def column_contributions(model: Any, X: Any = None, *, levels: bool = False) -> AxisTable:
    """Return the share of each column in each axis, in percent; every axis sums to 100.

    100 L²/ΣL²; for orthonormal components (PCA, TruncatedSVD, ProbabilisticPCA, FAMD) this is 100 v², and the rows are
    not needed.

    Parameters
    ----------
    model : Reducer or Pipeline
        A fitted method with components over columns.
    X : rows, optional
        The training rows; needed for methods without orthonormal components, such as ICA and LPP.
    levels : bool
        For FAMD: a value for each level, not the sum over the levels of a column.

    Examples
    --------
    >>> import lowland
    >>> from sklearn.datasets import load_iris
    >>> model = lowland.PCA(2, scale=True).fit(load_iris().data)
    >>> column_contributions(model).values[:, 0].round(1).tolist()
    [27.2, 7.3, 33.7, 31.9]
    """
    found = model_axes(model, X, "column_contributions", linear=True)
    if levels and found.groups is None:
        raise ValueError(
            Message(Owner("column_contributions"), Setting("levels", True), " is for FAMD with categories")
        )
    L = found.directions
    if L is None:
        L = _loadings(found.with_rows("column_contributions"))
    squares = L**2
    values = 100 * squares / squares.sum(axis=0)
    if found.groups is None or levels:
        return _table(found, values, found.axis_weights())
    names, first = found.groups
    summed = np.add.reduceat(values, first, axis=0)
    return AxisTable(summed, tuple(names), found.axes, found.axis_weights())


def column_relationships(model: Any, X: Any = None) -> AxisTable:
    """Return how strongly each column of a table depends on each axis, from 0 to 1.

    For FAMD: r² of a column of numbers, the correlation ratio η² of a column of categories; an axis sums to its
    eigenvalue. For other methods: the squared correlations, `column_cos2`, which need the rows.

    Examples
    --------
    >>> import lowland
    >>> rows = [[1.0, "red"], [2.0, "red"], [3.0, "blue"], [5.0, "blue"], [6.0, "green"]]
    >>> column_relationships(lowland.FAMD(1).fit(rows)).values.round(2).tolist()
    [[0.96], [0.96]]
    """
    found = model_axes(model, X, "column_relationships")
    if found.groups is None:
        return column_cos2(model, X)
    shares = column_contributions(model)
    return AxisTable(shares.values / 100 * found.variances, shares.names, shares.axes)


def row_contributions(model: Any, X: Any, *, names: Sequence[str] | None = None) -> AxisTable:
    """Return the share of each row in the sum of squares of each axis, in percent; every axis sums to 100.

    Parameters
    ----------
    model : Reducer, Pipeline or array
        A fitted model of any method, or the coordinates of the rows.
    X : rows
        Usually the training rows; None with coordinates.
    names : sequence of str, optional
        Names of the rows; default: their numbers, from 0.

    Examples
    --------
    >>> import lowland
    >>> X = [[0.0, 0.0], [1.0, 2.0], [5.0, 3.0]]
    >>> row_contributions(lowland.PCA(1).fit(X), X).values[:, 0].round(1).tolist()
    [36.6, 3.0, 60.4]
    """
    found = model_axes(model, X, "row_contributions")
    if found.Y is None:
        raise DataError(Message(Owner("row_contributions"), "give the rows, X"))
    Y = found.Y if found.directions is not None else found.Y - found.Y.mean(axis=0)
    squares = _unit(Y) ** 2
    sums = squares.sum(axis=0)
    values = 100 * squares / np.where(sums > 0, sums, 1.0)
    return AxisTable(values, _row_names(names, len(Y)), found.axes, found.axis_weights())


def row_cos2(model: Any, X: Any, *, names: Sequence[str] | None = None) -> AxisTable:
    """Return how well each axis shows each row: y²/‖z‖², between 0 and 1; over all axes the sum is 1.

    It needs orthonormal components: PCA, TruncatedSVD, ProbabilisticPCA or FAMD. A row at the mean has 0.

    Parameters
    ----------
    model : Reducer or Pipeline
        A fitted model. Of a recipe, ‖z‖ is the length of the preprocessed row.
    X : rows
        Training or new rows.
    names : sequence of str, optional
        Names of the rows; default: their numbers, from 0.

    Examples
    --------
    >>> import lowland
    >>> X = [[0.0, 0.0], [3.0, 0.5], [6.0, 0.0], [3.0, 8.0]]
    >>> row_cos2(lowland.PCA(1).fit(X), X).values[:, 0].round(2).tolist()
    [0.33, 1.0, 0.33, 1.0]
    """
    found = model_axes(model, X, "row_cos2", linear=True)
    if found.directions is None:
        raise ValueError(
            Message(
                Owner("row_cos2"),
                f"{found.title} has no orthonormal components, so the squares of its axes do not add up; use "
                "PCA, TruncatedSVD, ProbabilisticPCA or FAMD, or lowland.quality.pointwise for the quality of each row",
            )
        )
    Z = _unit(found.with_rows("row_cos2").Z)
    lengths = (Z**2).sum(axis=1, keepdims=True)
    P = Z @ found.directions
    values = np.divide(P**2, lengths, out=np.zeros_like(P), where=lengths > 0)
    return AxisTable(values, _row_names(names, len(Z)), found.axes)


def correlation_values(found: ModelAxes) -> Array:
    """Return (D, k) the correlations of columns and axes that were read with rows."""
    return _cosines(_centred(found.Z), _centred(found.Y))


def cos2_values(found: ModelAxes) -> Array:
    """Return (D, k) the squared correlations, or the squared cosines about zero if the method does not centre."""
    return correlation_values(found) ** 2 if found.centred else _cosines(_unit(found.Z), _unit(found.Y)) ** 2


def _table(found: ModelAxes, values: Array, weights: Array | None = None) -> AxisTable:
    """Return a table with the names of a model's columns and axes."""
    return AxisTable(np.asarray(values, dtype=np.float64), found.names, found.axes, weights)


def _row_names(names: Sequence[str] | None, n: int) -> tuple[str, ...]:
    if names is None:
        return tuple(str(i) for i in range(n))
    if len(names) != n:
        raise ValueError(f"got {len(names)} names for {n} rows")
    return tuple(str(name) for name in names)


def _unit(A: Array) -> Array:
    """Return an array divided by its largest value, so that squares neither overflow nor underflow."""
    return A / (float(np.abs(A).max(initial=0.0)) or 1.0)


def _centred(A: Array) -> Array:
    """Return centred columns, each of size about 1; a column that is constant up to rounding becomes zero."""
    sizes = np.abs(A).max(axis=0)
    A = A / np.where(sizes > 0, sizes, 1.0)
    A = A - A.mean(axis=0)
    A[:, np.abs(A).max(axis=0) <= 8 * np.finfo(np.float64).eps] = 0.0
    return A


def _cosines(A: Array, B: Array) -> Array:
    """Return the cosines of the angles between the columns of A and those of B; 0 for a zero column."""
    lengths = np.outer(np.linalg.norm(A, axis=0), np.linalg.norm(B, axis=0))
    return np.divide(A.T @ B, lengths, out=np.zeros(lengths.shape), where=lengths > 0)


def _loadings(found: ModelAxes) -> Array:
    """Return (D, k) the covariance of each column with each axis over the axis' standard deviation."""
    Z, Y = found.Z, found.Y
    if found.centred:
        Z, Y = Z - Z.mean(axis=0), Y - Y.mean(axis=0)
    degrees = max(1, len(Z) - 1)
    sd = np.sqrt((Y**2).sum(axis=0) / degrees)
    return Z.T @ Y / degrees / np.where(sd > 0, sd, 1.0)
