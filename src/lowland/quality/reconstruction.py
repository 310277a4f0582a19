"""How much of the rows comes back from their coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import arrays
from ..errors import DataError
from ..measure import Measure
from ..pairwise import tiles
from .anchors import Labels, labels

Array = Any

KINDS = ("share", "rms")
_ENTRIES = 1 << 24  # numbers restored at a time


def reconstruction_error(model: Any, X: Any, *, kind: str = "share", groups: Any = None, Y: Any = None) -> Measure:
    """What is lost on the way to the map and back: x̂ = inverse_transform(transform(x)).

    The share of the variance, Σ‖x − x̂‖²/Σ‖x − x̄‖² (x̄ the mean of these rows), or the root mean square of the entries
    of x − x̂ (``kind="rms"``). Methods on neighbours return their training rows digit for digit, which says nothing:
    give rows that the model has not seen.

    Parameters
    ----------
    model : Reducer, scikit-learn transformer or Pipeline
        Fitted, with `inverse_transform`.
    X : array or sparse matrix
        Rows, seen or not.
    kind : {"share", "rms"}
        Share of the variance, or root mean square in the unit of the columns.
    groups : sequence, optional
        A label for each row; ``.groups`` of the result then holds the error of each group.
    Y : array, optional
        The coordinates of the rows, where they are known already.

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
        raise ValueError(f"{owner}: kind must be 'share' or 'rms'; it is {kind!r}")
    found = groups if groups is None else labels(groups, len_of(X), owner)
    return error_from(model, X, Y, kind, found)


def error_from(model: Any, X: Any, Y: Any, kind: str, groups: Labels | None) -> Measure:
    """Return the error with groups that were read already."""
    lost, spread, width = row_errors(model, X, Y)

    def value(rows: Any) -> Measure:
        whole = float(spread[rows].sum()) if kind == "share" else float(width * len(lost[rows]))
        if not whole > 0:
            return Measure(np.nan)
        share = float(lost[rows].sum()) / whole
        return Measure(share if kind == "share" else float(np.sqrt(share)))

    found = value(slice(None))
    if np.isnan(found):
        raise DataError("reconstruction_error: the rows do not vary, so there is no share of variance; use kind='rms'")
    if groups is None:
        return found
    parts = {name: value(groups.members(code)) for code, name in enumerate(groups.names)}
    return Measure(float(found), groups=parts)


def row_errors(model: Any, X: Any, Y: Any = None) -> tuple[Array, Array, int]:
    """Return ‖x − x̂‖² and ‖x − x̄‖² of each row, and the number of columns; a few rows are restored at a time."""
    if not callable(getattr(model, "inverse_transform", None)) or getattr(model, "_fitted_pairwise", False):
        raise ValueError(
            f"reconstruction_error: {type(model).__name__} has no way back from its coordinates; use kruskal_stress or "
            "distance_error, which need none"
        )
    coordinates = model.transform(X) if Y is None else Y
    rows = plain_rows(X)
    n, width = rows.shape
    mean = np.asarray(rows.mean(axis=0), dtype=np.float64).reshape(-1)
    lost, spread = np.empty(n), np.empty(n)
    for part in tiles(n, max(1, _ENTRIES // max(1, width))):
        x, back = _dense(rows[part]), _dense(model.inverse_transform(coordinates[part]))
        lost[part], spread[part] = ((x - back) ** 2).sum(axis=1), ((x - mean) ** 2).sum(axis=1)
    return lost, spread, width


def plain_rows(X: Any) -> Any:
    """Return rows as an array, or as a sparse matrix that can be cut."""
    if sp.issparse(X):
        return X.tocsr()
    return X.to_numpy() if hasattr(X, "to_numpy") else arrays.to_numpy(X) if hasattr(X, "shape") else np.asarray(X)


def _dense(rows: Any) -> Array:
    plain = plain_rows(rows)
    return np.asarray(plain.toarray() if sp.issparse(plain) else plain, dtype=np.float64)


def len_of(X: Any) -> int:
    """Return the number of rows."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
