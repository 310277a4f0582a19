"""What the axes of a fitted model are made of: columns, coordinates, directions and variances, for every method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..contract import registry
from ..core import arrays
from ..core.errors import DataError
from ..methods.steps.align_map import AlignMap
from ..methods.steps.chain import preprocessing
from ..rows.row_source import as_rows
from .reconstruction import plain_rows

Array = Any

_ORTHONORMAL = 1e-4  # largest deviation from orthonormality; float32 leaves less
_LINEAR = "PCA, TruncatedSVD, ProbabilisticPCA, FAMD, ICA, LPP and NPE"


@dataclass(frozen=True, eq=False)
class ModelAxes:
    """The axes of a model.

    ``Z`` (n, D) are the rows as the fit saw them, measured from its origin and scaled, ``Y`` (n, k) their coordinates;
    both None without rows. ``directions`` (D, k) are orthonormal components, or None. ``variances`` are those of the
    axes by the model. ``groups``: names of the table's columns and the first coded column of each, if levels are coded.
    """

    title: str
    names: tuple[str, ...]
    axes: tuple[str, ...]
    shares: Array | None = None
    directions: Array | None = None
    variances: Array | None = None
    centred: bool = True
    groups: tuple[list[str], list[int]] | None = None
    Z: Array = None
    Y: Array = None

    def with_rows(self, owner: str) -> ModelAxes:
        """Return the same, or raise if no rows were given."""
        if self.Z is None:
            raise DataError(f"{owner}: {self.title} needs the rows, X, for this")
        return self

    def axis_weights(self) -> Array | None:
        """Return the variances of the axes: those of the model, else those of the coordinates."""
        if self.variances is not None:
            return self.variances
        return None if self.Y is None else np.asarray(self.Y.var(axis=0))

    def labels(self) -> list[str]:
        """Return the names of the axes with their shares of the variance: "PCA 1 (61.2 %)"."""
        if self.shares is None:
            return list(self.axes)
        return [f"{name} ({100 * share:.1f} %)" for name, share in zip(self.axes, self.shares, strict=True)]


def is_model(model: Any) -> bool:
    """Return whether this is a model, not an array of coordinates."""
    return hasattr(model, "transform") and hasattr(model, "fit")


def title_of(method: Any) -> str:
    """Return the title of a method, or the name of its class."""
    row = registry.by_class(type(method).__name__)
    return type(method).__name__ if row is None else str(row.title)


def model_axes(model: Any, X: Any = None, owner: str = "axes", *, linear: bool = False) -> ModelAxes:
    """Read the axes of a fitted model, of a Pipeline that ends in one, or of the coordinates (n, k) of rows.

    Columns are those that the first method of a Pipeline gets: filled, encoded and scaled. An `AlignMap` after the
    method is left out: it turns the map, and its axes are not components any more. ``linear`` refuses methods without
    components over columns.
    """
    if not is_model(model):
        return _of_coordinates(model, X, owner, linear)
    head, rest = preprocessing(model)
    chain = [step for _, step in rest.steps] if hasattr(rest, "steps") else [rest]
    chain = [step for step in chain if not isinstance(step, AlignMap)]
    first, last = chain[0], chain[-1]
    if linear and any(getattr(method, "components_", None) is None for method in chain):
        bad = next(method for method in chain if getattr(method, "components_", None) is None)
        raise ValueError(
            f"{owner}: {type(bad).__name__} has no components over columns (methods that have: {_LINEAR}); "
            "column_correlations and correlation_circle take any method"
        )
    V = _directions(chain)
    names, groups = _names(head, first)
    k = _n_axes(last)
    title = title_of(last)
    shares = getattr(last, "explained_variance_ratio_", None)
    Z, Y = (None, None) if X is None else _rows(head, chain, X)
    return ModelAxes(
        title=title,
        names=names,
        axes=tuple(f"{title} {i + 1}" for i in range(k)),
        shares=None if shares is None or len(chain) > 1 else np.asarray(shares, dtype=np.float64),
        directions=V,
        variances=_variances(last),
        centred=_centred(first),
        groups=groups,
        Z=Z,
        Y=Y,
    )


def _of_coordinates(Y: Any, X: Any, owner: str, linear: bool) -> ModelAxes:
    Y = dense(Y)
    if Y.ndim != 2 or 0 in Y.shape or not np.isfinite(Y).all():
        raise DataError(f"{owner}: give a fitted model or an array of finite coordinates, n x k; got shape {Y.shape}")
    if linear:
        raise ValueError(f"{owner}: coordinates have no components; give the fitted model ({_LINEAR})")
    Z = None if X is None else dense(X)
    if Z is not None and (Z.ndim != 2 or len(Z) != len(Y)):
        raise DataError(f"{owner}: the coordinates have {len(Y)} rows, X has shape {Z.shape}")
    names = () if Z is None else tuple(column_names(X, Z.shape[1]))
    return ModelAxes("coordinates", names, tuple(f"coordinate {i + 1}" for i in range(Y.shape[1])), Z=Z, Y=Y)


def _n_axes(method: Any) -> int:
    V = getattr(method, "components_", None)
    return len(V) if V is not None else len(method.get_feature_names_out())


def _directions(chain: list[Any]) -> Array | None:
    """Return (D, k) the product of orthonormal components, or None if a method's are not."""
    total = None
    for place, method in enumerate(chain):
        V = getattr(method, "components_", None)
        if V is None or (place and getattr(method, "scale_", None) is not None):
            return None
        if place < len(chain) - 1 and getattr(method, "whiten", False):
            return None
        V = np.asarray(arrays.to_numpy(V), dtype=np.float64)
        if np.abs(V @ V.T - np.eye(len(V))).max() > _ORTHONORMAL:
            return None
        total = V if total is None else V @ total
    return None if total is None else total.T


def _variances(method: Any) -> Array | None:
    """Return the variance along each axis by the model; about zero where the method does not centre."""
    if not _centred(method) and hasattr(method, "singular_values_"):
        n = getattr(method, "n_samples_", None)
        if getattr(method, "explained_variance_", None) is None or not hasattr(method, "mean_"):
            return None if n is None else np.asarray(method.singular_values_, dtype=np.float64) ** 2 / n
    values = getattr(method, "explained_variance_", None)
    if values is None and hasattr(method, "coded_names_"):
        values = method.eigenvalues_
    return None if values is None else np.asarray(values, dtype=np.float64)


def _centred(method: Any) -> bool:
    if type(method).__name__ == "TruncatedSVD":
        return False
    return bool(getattr(method, "center", True))


def _names(head: Any, first: Any) -> tuple[tuple[str, ...], tuple[list[str], list[int]] | None]:
    """Return the names of the columns of Z, and for FAMD those of the table with the first coded column of each."""
    own = getattr(first, "feature_names_in_", None)
    if own is None and head is not None:
        own = head.get_feature_names_out()
    names = [f"x{j}" for j in range(first.n_features_in_)] if own is None else [str(name) for name in own]
    if not hasattr(first, "coded_names_"):
        return tuple(names), None
    if not first.categorical_columns_:
        return tuple(names), None
    coded = tuple(str(name) for name in first.coded_names_)
    return coded, (names, [int(place) for place in first._layout.first])


def _rows(head: Any, chain: list[Any], X: Any) -> tuple[Array, Array]:
    """Return rows as the first method's fit saw them, and their coordinates."""
    given = X if head is None else head.transform(X)
    Y = given
    for method in chain:
        Y = method.transform(Y)
    first = chain[0]
    if hasattr(first, "coded"):
        return np.asarray(first.coded(given), dtype=np.float64), dense(Y)
    if getattr(first, "_pairwise", False):
        raise DataError(f"{type(first).__name__} was fitted to pairwise values, which have no columns")
    Z = dense(given)
    if np.isnan(Z).any() and hasattr(first, "fill"):
        Z = dense(first.fill(given))
    mean, scale = getattr(first, "mean_", None), getattr(first, "scale_", None)
    Z = Z if mean is None else Z - np.asarray(mean, dtype=np.float64)
    return (Z if scale is None else Z / np.asarray(scale, dtype=np.float64)), dense(Y)


def column_names(X: Any, width: int) -> list[str]:
    """Return the names of the columns of a table; x0, x1, … where it has none."""
    names = getattr(X, "columns", None)
    return [f"x{j}" for j in range(width)] if names is None else [str(name) for name in names]


def dense(X: Any) -> Array:
    """Return rows as a dense array of float64; a cell that is no number is an error that names it."""
    plain = plain_rows(X)
    try:
        return np.asarray(plain.toarray() if sp.issparse(plain) else plain, dtype=np.float64)
    except (TypeError, ValueError):
        as_rows(X)  # this error names the cell
        raise
