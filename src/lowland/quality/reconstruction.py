"""Reconstruction error: how well rows are restored from their coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.errors import DataError
from ..core.measure import Measure
from ..core.message import Message, Owner, Setting
from ..graph.neighbors import objects
from ..pairs.pairwise import tiles
from .anchors import Labels, labels
from .spaces import naming

Array = Any

KINDS = ("share", "rms")
_RESTORED_ENTRIES = 1 << 24  # numbers restored at a time


def reconstruction_error(model: Any, X: Any, *, kind: str = "share", groups: Any = None, Y: Any = None) -> Measure:
    """Return the error of x̂ = inverse_transform(transform(x)).

    The share of the variance, Σ‖x − x̂‖²/Σ‖x − x̄‖² (x̄ the mean of these rows), or the root mean square of the entries
    of x − x̂ (``kind="rms"``). Neighbour-based methods restore training rows exactly, which is not informative: give
    held-out rows.

    Parameters
    ----------
    model : Reducer, scikit-learn transformer or Pipeline
        A fitted model with `inverse_transform`.
    X : array or sparse matrix
        Training or new rows.
    kind : {"share", "rms"}
        Share of the variance, or root mean square in the unit of the columns.
    groups : sequence, optional
        A label for each row; ``.groups`` of the result is then the error of each group.
    Y : array, optional
        The coordinates of the rows, if already computed.

    Examples
    --------
    >>> import lowland
    >>> X = np.random.default_rng(0).normal(size=(40, 4)) * [4.0, 2.0, 1.0, 0.5]
    >>> model = lowland.PCA(n_components=2).fit(X)
    >>> round(reconstruction_error(model, X) + model.explained_variance_ratio_.sum(), 12)
    1.0
    """
    owner = "reconstruction_error"
    if kind not in KINDS:
        raise ValueError(Message(Owner(owner), Setting("kind"), f" must be 'share' or 'rms'; it is {kind!r}"))
    found = groups if groups is None else labels(groups, len_of(X), owner)
    return error_from(model, X, Y, kind, found)


def error_from(model: Any, X: Any, Y: Any, kind: str, groups: Labels | None) -> Measure:
    """Return the error; ``groups`` have been read."""
    lost, spread, width = row_errors(model, X, Y)
    if kind == "share" and not spread.any():
        raise DataError(
            Message(
                Owner("reconstruction_error"),
                "the rows do not vary, so there is no share of variance; use ",
                Setting("kind", "rms"),
            )
        )

    def value(rows: Any) -> Measure:
        if kind == "rms":
            return Measure(float(np.sqrt(lost[rows].mean() / width)))
        whole = float(spread[rows].sum())
        return Measure(float(lost[rows].sum()) / whole if whole > 0 else np.nan)

    found = value(slice(None))
    if groups is None:
        return found
    parts = {name: value(groups.members(code)) for code, name in enumerate(groups.names)}
    return Measure(float(found), groups=parts)


def row_errors(model: Any, X: Any, Y: Any = None) -> tuple[Array, Array, int]:
    """Return ‖x − x̂‖² and ‖x − x̄‖² of each row, and the number of columns; a few rows are restored at a time."""
    owner, name = "reconstruction_error", type(model).__name__
    if not callable(getattr(model, "inverse_transform", None)) or getattr(model, "_fitted_pairwise", False):
        raise ValueError(
            Message(
                Owner(owner),
                f"{name} has no inverse transform; use kruskal_stress or distance_error, which do not need one",
            )
        )
    rows = numbers(model, X, owner, "X")
    coordinates = model.transform(X) if Y is None else Y
    n, width = rows.shape
    if len_of(coordinates) != n:
        raise DataError(
            Message(
                Owner(owner),
                f"X has {n} rows and Y has {len_of(coordinates)}; give the coordinates of the same rows, in "
                "the same order",
            )
        )
    mean = np.asarray(rows.mean(axis=0, dtype=np.float64)).reshape(
        -1
    )  # in float64: sums of float32 rows are inaccurate
    lost, spread = np.empty(n), np.empty(n)
    for part in tiles(n, max(1, _RESTORED_ENTRIES // max(1, width))):
        x, back = _dense(rows[part]), _dense(model.inverse_transform(coordinates[part]))
        if back.shape != x.shape:
            raise DataError(
                Message(
                    Owner(owner),
                    f"X has {width} columns, but {name} restores {back.shape[1]}; give the columns of the "
                    "training rows",
                )
            )
        lost[part], spread[part] = ((x - back) ** 2).sum(axis=1), ((x - mean) ** 2).sum(axis=1)
    return lost, spread, width


def numbers(model: Any, X: Any, owner: str, name: str) -> Any:
    """Return rows as a checked array or sparse matrix of finite numbers."""
    if getattr(model, "categorical_columns_", None):
        raise DataError(
            Message(
                Owner(owner),
                f"{type(model).__name__} was fitted to categories, which cannot be subtracted; use report on the table "
                "and the coordinates, which compares FAMD's distances",
            )
        )
    with naming(f"{owner}, {name}"):
        return objects(X, "euclidean", owner)


def plain_rows(X: Any) -> Any:
    """Return rows as an array, or as a sparse matrix that can be sliced."""
    if hasattr(X, "blocks") and getattr(X, "array", None) is not None:
        X = X.array
    if sp.issparse(X):
        return X.tocsr()
    return X.to_numpy() if hasattr(X, "to_numpy") else arrays.to_numpy(X) if hasattr(X, "shape") else np.asarray(X)


def _dense(rows: Any) -> Array:
    plain = plain_rows(rows)
    return np.asarray(plain.toarray() if sp.issparse(plain) else plain, dtype=np.float64)


def len_of(X: Any) -> int:
    """Return the number of rows."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
