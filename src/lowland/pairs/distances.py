"""Metrics: those of SciPy by name, or a function; their parameters are computed once from the training rows.

Euclidean and cosine distances are matrix products of rows minus the training mean, so that a large mean costs no
digits; distances of pairs too close for products are computed from differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.errors import DataError, ScaleError
from ..core.message import Part, Phrase, Setting
from . import sparse
from .pairwise import Array, Function, Pairwise, Precomputed, Prepared, tiles

_CANCELLED_SHARE = 1e-6  # share of the squared norms below which a product has lost six of its sixteen digits
_DIFFERENCES_AT_ONCE = 1 << 20  # entries of differences held at once

METRICS = (
    "euclidean",
    "sqeuclidean",
    "cityblock",
    "cosine",
    "correlation",
    "chebyshev",
    "canberra",
    "braycurtis",
    "seuclidean",
    "mahalanobis",
    "jensenshannon",
    "hamming",
    "jaccard",
    "dice",
    "matching",
    "rogerstanimoto",
    "sokalsneath",
    "yule",
)
# The power of the rows' unit in their distances. Metrics that are not listed only test values for equality.
DEGREES = {
    "euclidean": 1,
    "sqeuclidean": 2,
    "cityblock": 1,
    "cosine": 0,
    "correlation": 0,
    "chebyshev": 1,
    "canberra": 0,
    "braycurtis": 0,
    "seuclidean": 0,
    "mahalanobis": 0,
    "jensenshannon": 0,
    "precomputed": 1,
}
# Metrics that compare rows by their differences: a constant added to a column changes nothing.
MOVABLE = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "seuclidean", "mahalanobis")
# Metrics that compare sparse rows: by products, or city-block distances by merging the stored entries of pairs.
SPARSE_METRICS = ("euclidean", "sqeuclidean", "cosine", "cityblock")
# Metrics of booleans. For other numbers SciPy returns 0 or meaningless values.
_LOGICAL = ("jaccard", "dice", "rogerstanimoto", "sokalsneath", "yule")
# Names of metrics in other libraries, and what to use here. Minkowski is left out because it needs a power,
# Russell-Rao because the distance of an object to itself is not zero.
OTHER_NAMES: dict[str, Part] = {
    "manhattan": Setting("metric", "cityblock"),
    "taxicab": Setting("metric", "cityblock"),
    "l1": Setting("metric", "cityblock"),
    "l2": Setting("metric", "euclidean"),
    "linf": Setting("metric", "chebyshev"),
    "sokalmichener": Setting("metric", "rogerstanimoto"),
    "minkowski": Phrase(
        "a function of two rows, such as lambda a, b: (abs(a - b) ** p).sum() ** (1 / p)",
        "cityblock (power 1), euclidean (power 2) or chebyshev (power ∞); for another power, compute the distances "
        "yourself and use precomputed",
    ),
}


class SquaredEuclidean(Pairwise):
    """‖x − y‖² = ‖x‖² + ‖y‖² − 2xᵀy of rows shifted by the training mean."""

    def __init__(self, shift: Array) -> None:
        self.shift = shift

    def prepare(self, block: Array) -> Prepared:
        """Return shifted rows, their squared norms, and the original rows, float32 ones without a copy.

        Sparse rows are not shifted: that would make them dense.
        """
        X = block if _is_single(block) else _rows(block)
        Z = X if sp.issparse(X) else _rows(arrays.less(X, self.shift))
        with np.errstate(over="ignore"):
            squares = squared_norms(Z)
        if not bool(arrays.namespace(squares).isfinite(squares).all()):
            raise ScaleError(
                f"the squares of the rows overflow (the largest entry is {float(abs(X).max()):.1g}): divide the rows "
                "by a constant"
            )
        return Z, squares, X

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return squared distances."""
        (Z, z2, X), (W, w2, Y) = A, B
        if sp.issparse(Z) != sp.issparse(W):  # the dense rows must be as those, without a shift
            Z, z2, W, w2 = *_as_they_are(Z, z2, X), *_as_they_are(W, w2, Y)
        S = sparse.products(Z, W)
        S *= -2.0
        S += z2[:, None]
        S += w2[None, :]
        _repair(S, _CANCELLED_SHARE * (z2[:, None] + w2[None, :]) > S, X, Y)
        return S


def _as_they_are(Z: Array, squares: Array, X: Array) -> tuple[Array, Array]:
    """Return rows without the shift, and their squared norms."""
    return (Z, squares) if sp.issparse(Z) else ((own := _rows(X)), squared_norms(own))


def _rows(block: Array) -> Array:
    """Return rows in float64 and C order, so that sums do not depend on the layout of the table; sparse rows as CSR."""
    if sp.issparse(block):
        return sparse.canonical(block)
    X = arrays.cast(block, np.float64)
    return X if arrays.is_foreign(X) else np.ascontiguousarray(X)


def _is_single(block: Array) -> bool:
    """Return whether rows are NumPy float32, which NumPy's ufuncs convert to float64 without a copy."""
    return isinstance(block, np.ndarray) and block.dtype == np.float32


def squared_norms(Z: Array) -> Array:
    """Return the squared norms of rows, a few rows at a time, to limit the memory of the squares."""
    if sp.issparse(Z):
        return sparse.row_squares(Z)
    if arrays.is_foreign(Z) or Z.size <= _DIFFERENCES_AT_ONCE:
        return (Z * Z).sum(axis=1)
    parts = tiles(len(Z), max(1, _DIFFERENCES_AT_ONCE // Z.shape[1]))
    return np.concatenate([(Z[part] * Z[part]).sum(axis=1) for part in parts])


def _repair(S: Array, near: Array, X: Array, Y: Array) -> None:
    """Recompute squared distances that are tiny relative to the norms from differences, in place."""
    near = arrays.to_numpy(near)
    rows, columns = np.nonzero(near)
    step = max(1, _DIFFERENCES_AT_ONCE // max(1, X.shape[1]))
    for start in range(0, len(rows), step):
        i, j = rows[start : start + step], columns[start : start + step]
        S[i, j] = sparse.squared_differences(X, Y, i, j)


class Euclidean(SquaredEuclidean):
    """‖x − y‖."""

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return distances."""
        S = super().between(A, B)
        return arrays.namespace(S).sqrt(S)


class Cosine(SquaredEuclidean):
    """1 − cos of the angle: half the squared distance of unit rows; ``center`` gives the correlation distance."""

    def __init__(self, center: bool = False) -> None:
        super().__init__(0.0)
        self.center = center

    def prepare(self, block: Array) -> Prepared:
        """Return unit rows, their squared norms, and the unit rows again."""
        if sp.issparse(block):
            Z = sparse.unit_rows(block)
            squares = squared_norms(Z)
            self._require_lengths(squares)
            return Z, squares, Z
        Z = _rows(block)
        xp = arrays.namespace(Z)
        largest = xp.max(xp.abs(Z), axis=1)
        Z = Z / xp.where(largest > 0, largest, xp.ones_like(largest))[:, None]  # so that the squares do not overflow
        if self.center:
            Z = Z - xp.mean(Z, axis=1)[:, None]
        size = xp.linalg.vector_norm(Z, axis=1)
        self._require_lengths(arrays.to_numpy(size))
        Z = Z / size[:, None]
        return Z, squared_norms(Z), Z

    def _require_lengths(self, size: Array) -> None:
        if (size > 0).all():
            return
        row = int(np.flatnonzero(size == 0)[0])
        name, what = ("correlation", "constant") if self.center else ("cosine", "zero")
        raise DataError(f"the {name} distance is undefined for a row that is {what} (row {row} of its block)")

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return 1 − cos."""
        return super().between(A, B) / 2.0


class SciPyMetric(Pairwise):
    """A metric of scipy.spatial.distance, with its parameters taken from the training rows."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.name, self.options = name, dict(options)

    def prepare(self, block: Array) -> Prepared:
        """Return the rows in float64; raise for other values than 0 and 1 if the metric needs booleans."""
        X = arrays.cast(block, np.float64)
        if self.name in _LOGICAL:
            _require_logical(arrays.to_numpy(X), self.name)
        return X

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return distances."""
        from scipy.spatial.distance import cdist

        out = cdist(arrays.to_numpy(A), arrays.to_numpy(B), self.name, **self.options)
        if not np.isfinite(out).all():
            i, j = np.argwhere(~np.isfinite(out))[0]
            raise DataError(
                f"the {self.name} distance of rows {arrays.to_numpy(A)[i]} and {arrays.to_numpy(B)[j]} is {out[i, j]}"
            )
        return arrays.like(out, A)


class CityBlock(SciPyMetric):
    """Σ|x_i − y_i|; of sparse rows from the entries that either stores, by scikit-learn."""

    def __init__(self) -> None:
        super().__init__("cityblock", {})

    def prepare(self, block: Array) -> Prepared:
        """Return the rows in float64, dense or sparse."""
        return sparse.canonical(block) if sp.issparse(block) else super().prepare(block)

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return distances."""
        if not (sp.issparse(A) and sp.issparse(B)):
            return super().between(sparse.filled(A), sparse.filled(B))
        from sklearn.metrics.pairwise import manhattan_distances

        with np.errstate(over="ignore", invalid="ignore"):  # of a sum that scikit-learn checks
            out = manhattan_distances(sparse.short_numbers(A), sparse.short_numbers(B))
        if not np.isfinite(out).all():
            raise ScaleError("the cityblock distances of sparse rows overflow: divide the rows by a constant")
        return np.asarray(out)


def _require_logical(X: Array, name: str) -> None:
    other = X[(X != 0) & (X != 1)]
    if len(other):
        raise DataError(
            f"the {name} distance needs booleans, and the rows contain {other[0]:g}: convert them, for example by "
            "X > 0, or use a metric of numbers"
        )


def metric(
    spec: str | Callable[[Any, Any], Any], training: Array, state: Mapping[str, Array] | None = None
) -> Pairwise:
    """Bind a metric to its training objects.

    Parameters
    ----------
    spec : str or callable
        One of `METRICS`, ``"precomputed"``, or a function of two objects or two blocks.
    training : array
        The training objects; only their mean or scatter is used.
    state : mapping, optional
        The result of `learn` from an earlier binding, used instead of ``training``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> metric("euclidean", X)(X, X).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    if callable(spec):
        return Function(spec, "metric", training)
    if spec == "precomputed":
        return Precomputed()
    learned = learn(spec, training) if state is None else state
    if spec in ("euclidean", "sqeuclidean"):
        return (Euclidean if spec == "euclidean" else SquaredEuclidean)(learned["shift"])
    if spec in ("cosine", "correlation"):
        return Cosine(center=spec == "correlation")
    if spec == "cityblock":
        return CityBlock()
    return SciPyMetric(spec, learned)


def row_bytes(name: str, itemsize: int) -> int:
    """Return the additional bytes that a metric needs for each entry of the rows, for plans.

    Euclidean distances use centred rows, angles unit rows, both in float64. Metrics of SciPy use float64 rows, which
    are a copy if the rows have another type.

    >>> row_bytes("euclidean", 4), row_bytes("cityblock", 4), row_bytes("cityblock", 8)
    (8, 8, 0)
    """
    copies = {"euclidean": 1, "sqeuclidean": 1, "cosine": 2, "correlation": 2}
    return 8 * copies.get(name, int(itemsize != 8))


def learn(spec: str, training: Array) -> dict[str, Array]:
    """Return the parameters of a metric from the training rows; SciPy would compute them from each block."""
    if sp.issparse(training):  # sparse rows are not shifted: that would make them dense
        return {"shift": np.zeros(training.shape[1])} if spec in ("euclidean", "sqeuclidean") else {}
    if spec in ("euclidean", "sqeuclidean"):
        return {"shift": arrays.to_numpy(training).mean(axis=0, dtype=np.float64)}
    if spec not in ("seuclidean", "mahalanobis"):
        return {}
    X = arrays.to_numpy(training).astype(np.float64)
    if spec == "seuclidean":
        variances = X.var(axis=0, ddof=1)
        return {"V": np.where(variances > 0, variances, 1.0)}  # constant columns are not scaled, as in PCA
    scatter = np.cov(X, rowvar=False).reshape(X.shape[1], X.shape[1])
    if np.linalg.matrix_rank(scatter) < len(scatter):
        raise DataError("mahalanobis needs linearly independent columns: drop some, or reduce with PCA first")
    return {"VI": np.linalg.inv(scatter)}
