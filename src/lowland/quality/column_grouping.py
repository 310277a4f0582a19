"""Which columns of a table move together: groups, near-duplicates, and correlations with axes.

Up to `MOST_SQUARE` columns, all pairs are compared in one square and groups are branches of its tree. Of more columns
no such square is made: each belongs to the axis that it is most correlated with, and near-duplicates are found block by
block.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.cost import check_allocation
from ..core.errors import DataError, LowlandWarning
from ..core.message import Message, Owner, Setting
from ..core.settings import report_progress
from ..core.thread_pool import matmul
from .column_groups_result import ColumnGroup, ColumnGroups, NearDuplicate, shown_columns
from .column_order import ColumnCorrelations, column_tree
from .model_axes import column_names, dense

Array = Any

MOST_SQUARE = 2000  # columns up to which all pairs are compared at once
SHOWN = 60  # columns drawn of a wider table
_BLOCK = 2000  # columns compared at a time with those that are kept
_AXES = 5


def column_groups(
    X: Any,
    *,
    axes: Any = None,
    axis_names: Sequence[str] | None = None,
    n_components: int | None = None,
    names: Sequence[str] | None = None,
    threshold: float = 0.5,
    duplicate: float | None = 0.95,
) -> ColumnGroups:
    """Find which columns move together, which can be dropped, and how each is correlated with each axis.

    Up to 2,000 columns, groups are the branches of the average-linkage tree of the distances √(2 − 2|r|) below the
    height of ``threshold``: columns of opposite sign belong together. Of more columns no square of correlations is
    made: a column belongs to the axis that it is most correlated with, if |r| is at least ``threshold``.

    A column is a near-duplicate if its |r| with a column before it that is kept is at least ``duplicate``.

    Parameters
    ----------
    X : table of numbers
        Rows. A missing or infinite value is an error that names the column: correlations over different rows for each
        pair do not fit together, so fill the values (`lowland.steps.ImputeMissing`) or leave the rows out.
    axes : array (n, k), optional
        Coordinates of the rows on other axes, such as a map. Default: principal components of the scaled columns.
    axis_names, names : sequence of str, optional
        Names of the axes and of the columns; default: PCA 1, PCA 2, …, and those of the table.
    n_components : int, optional
        Number of principal components; default: 5, or fewer.
    threshold, duplicate : float
        Absolute correlation in a group, and of a near-duplicate; None: near-duplicates are not looked for.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> found = column_groups(load_iris(as_frame=True).data)
    >>> found.groups[0].words(), [pair.column for pair in found.duplicates]
    ('petal length (cm), petal width (cm), sepal length (cm)', ['petal width (cm)'])
    """
    for name, value in (("threshold", threshold), ("duplicate", 1.0 if duplicate is None else duplicate)):
        if not 0 < value <= 1:
            raise ValueError(_said(Setting(name), f" must be above 0 and at most 1; it is {value!r}"))
    S, labels, constant = _standard(X, names)
    n, d = S.shape
    A, titles, spectrum = _axes(S, axes, axis_names, n_components)
    places = list(range(d)) if d <= MOST_SQUARE else list(shown_columns(A, SHOWN))
    R = np.clip(matmul(np.ascontiguousarray(S[:, places].T), S[:, places]), -1.0, 1.0)
    tree = column_tree(R, absolute=True)
    members = _branches(tree, threshold) if d <= MOST_SQUARE else _by_axis(A, threshold)
    groups = [_group(S, columns, labels, A, titles) for columns in members]
    pairs = None if duplicate is None else _duplicates(S, labels, duplicate)
    kept = d - len(pairs or ())
    return ColumnGroups(
        tuple(labels),
        n,
        tuple(sorted(groups, key=lambda group: -len(group.columns))),
        pairs,
        float(sum(1 - pair.correlation**2 for pair in pairs or ()) / d),
        None if spectrum is None or len(spectrum) < min(kept, n - 1) else max(0.0, float(1 - spectrum[:kept].sum())),
        A,
        tuple(titles),
        _ordered(R, tree, places, labels),
        chance_correlation(n, d),
        threshold,
        1.0 if duplicate is None else duplicate,
        d <= MOST_SQUARE,
        tuple(constant),
    )


def _said(*parts: Any) -> Message:
    return Message(Owner("column_groups"), *parts)


def _standard(X: Any, names: Sequence[str] | None) -> tuple[Array, list[str], list[str]]:
    """Return the columns with mean 0 and length 1, their names, and the names of constant ones, which are left out."""
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) == 2:
        check_allocation(3 * 8 * int(shape[0]) * int(shape[1]), "three copies of the table", "choose fewer columns")
    Z = dense(X)
    if Z.ndim != 2 or len(Z) < 3 or Z.shape[1] < 2:
        raise DataError(_said(f"give three or more rows and two or more columns; got shape {Z.shape}"))
    labels = column_names(X, Z.shape[1]) if names is None else [str(name) for name in names]
    if len(labels) != Z.shape[1]:
        raise ValueError(_said(f"got {len(labels)} names for {Z.shape[1]} columns"))
    bad = np.flatnonzero(~np.isfinite(Z).all(axis=0))
    if len(bad):
        raise DataError(
            _said(f"column {labels[bad[0]]!r} has missing or infinite values; fill them or leave these rows out"),
            row=int(np.flatnonzero(~np.isfinite(Z[:, bad[0]]))[0]),
            column=int(bad[0]),
        )
    varies = np.ptp(Z, axis=0) > 0
    if varies.sum() < 2:
        raise DataError(_said("fewer than two columns vary, so there are no correlations"))
    constant = [name for name, here in zip(labels, varies, strict=True) if not here]
    labels = [name for name, here in zip(labels, varies, strict=True) if here]
    Z = Z[:, varies] if constant else Z
    Z = Z / np.abs(Z).max(axis=0)
    Z -= Z.mean(axis=0)
    Z /= np.linalg.norm(Z, axis=0)
    return Z, labels, constant


def _axes(S: Array, given: Any, names: Sequence[str] | None, k: int | None) -> tuple[Array, list[str], Array | None]:
    """Return the correlations of columns with axes, the names of these, and the shares of all principal components."""
    n, d = S.shape
    spectrum = None
    if given is None:
        from ..methods.linear.pca import PCA

        most = min(n - 1, d)
        if k is not None and not 1 <= k <= most:
            raise ValueError(_said(Setting("n_components"), f" must be from 1 to {most}; it is {k}"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowlandWarning)  # of a rank below the number of axes
            model = PCA(min(_AXES, most) if k is None else k).fit(S)
            Y = np.asarray(model.transform(S))
        spectrum = np.asarray(model.spectrum_) / model.total_variance_
        titles = [f"PCA {i + 1}" for i in range(Y.shape[1])]
    else:
        Y = dense(given)
        if Y.ndim != 2 or len(Y) != n or not np.isfinite(Y).all():
            raise DataError(_said(Setting("axes"), f" must be finite coordinates of the {n} rows; shape {Y.shape}"))
        titles = [f"axis {i + 1}" for i in range(Y.shape[1])]
    if names is not None:
        titles = [str(name) for name in names]
    if len(titles) != Y.shape[1]:
        raise ValueError(_said(f"got {len(titles)} names for {Y.shape[1]} axes"))
    Y = Y - Y.mean(axis=0)
    sizes = np.linalg.norm(Y, axis=0)
    Y = Y / np.where(sizes > 0, sizes, np.inf)
    return np.clip(matmul(np.ascontiguousarray(S.T), Y), -1.0, 1.0), titles, spectrum


def _branches(tree: Array, threshold: float) -> list[Array]:
    """Return the branches of the tree with two or more columns."""
    from scipy.cluster.hierarchy import fcluster

    codes = fcluster(tree, np.sqrt(2 - 2 * threshold) * (1 + 1e-12), "distance")
    found = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    return [columns for columns in found if len(columns) > 1]


def _by_axis(A: Array, threshold: float) -> list[Array]:
    """Return the columns of each axis."""
    best, size = np.abs(A).argmax(axis=1), np.abs(A).max(axis=1)
    found = [np.flatnonzero((best == axis) & (size >= threshold)) for axis in range(A.shape[1])]
    return [columns for columns in found if len(columns) > 1]


def _group(S: Array, columns: Array, labels: list[str], A: Array, titles: list[str]) -> ColumnGroup:
    """Describe a group by its own first principal axis, and the axis of the table nearest to that."""
    from ..methods.linear.pca import PCA

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowlandWarning)
        model = PCA(1).fit(S[:, columns])
    t = np.asarray(model.transform(S[:, columns]))[:, 0]
    weights = S[:, columns].T @ (t / np.linalg.norm(t))
    if weights[np.abs(weights).round(12).argmax()] < 0:  # the column nearest to the axis moves with it
        weights, t = -weights, -t
    order = np.argsort(-np.abs(weights).round(12), kind="stable")
    # Correlation of the group's axis with each axis: both are sums of columns for principal components, and for any
    # axes the covariance of t with an axis is the weighted sum of those of the columns.
    slopes = np.asarray(model.components_)[0]
    slopes = slopes if (slopes @ weights) > 0 else -slopes
    near = slopes @ A[columns] / np.linalg.norm(t)
    axis = int(np.abs(near).argmax())
    return ColumnGroup(
        tuple(labels[columns[j]] for j in order),
        tuple(float(weights[j]) for j in order),
        float(model.explained_variance_ratio_[0]),
        titles[axis],
        float(np.clip(near[axis], -1.0, 1.0)),
    )


def _duplicates(S: Array, labels: list[str], least: float) -> tuple[NearDuplicate, ...]:
    """Go through the columns and drop those with |r| ≥ least to a column that was kept before."""
    d = S.shape[1]
    kept: list[int] = []
    found: list[NearDuplicate] = []
    for start in range(0, d, _BLOCK):
        here = np.arange(start, min(start + _BLOCK, d))
        block = np.ascontiguousarray(S[:, here].T)
        nearest, size = np.full(len(here), -1), np.zeros(len(here))
        for first in range(0, len(kept), _BLOCK):
            some = np.array(kept[first : first + _BLOCK])
            r = matmul(block, S[:, some])
            best = np.abs(r).argmax(axis=1)
            value = r[np.arange(len(here)), best]
            better = np.abs(value) > np.abs(size)
            nearest[better], size[better] = some[best[better]], value[better]
        own = matmul(block, S[:, here])
        for j in range(len(here)):
            if abs(size[j]) >= least:
                pair = (labels[here[j]], labels[nearest[j]], float(np.clip(size[j], -1.0, 1.0)))
                found.append(NearDuplicate(*pair))
                continue
            kept.append(int(here[j]))
            later = np.flatnonzero(np.abs(own[j, j + 1 :]) > np.abs(size[j + 1 :])) + j + 1
            nearest[later], size[later] = here[j], own[j, later]
        report_progress("columns", int(here[-1]) + 1, d)
    return tuple(found)


def _ordered(R: Array, tree: Array, places: list[int], labels: list[str]) -> ColumnCorrelations:
    from scipy.cluster.hierarchy import leaves_list

    order = leaves_list(tree)
    return ColumnCorrelations(
        R[np.ix_(order, order)], tuple(labels[places[j]] for j in order), tuple(places[j] for j in order)
    )


def chance_correlation(n: int, d: int) -> float:
    """Return the |r| that no pair of d independent normal columns of n rows exceeds in 95 % of tables (Bonferroni).

    >>> round(chance_correlation(65, 53), 2), round(chance_correlation(600, 60_000), 2)
    (0.49, 0.27)
    """
    from scipy.special import stdtrit

    t = -float(stdtrit(n - 2, 0.025 / (d * (d - 1) / 2)))
    return t / float(np.sqrt(n - 2 + t * t))
