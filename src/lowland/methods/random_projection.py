"""Random projection."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .. import arrays, hadamard, pool
from ..distances import SquaredEuclidean
from ..errors import DataError, RankWarning
from ..parameters import RANDOM_STATE, AnyOf, Choice, Integer, Real, Rule
from ..planning import DataShape, Plan, check_allocation, dense_seconds
from ..reducer import Recorder, seed
from ..rows import Block, RowSource, block_rows
from ..settings import threads
from ..spectral import dense
from ..spectral.routes import rank_tolerance
from .linear import Compressor, LinearReducer

Array = Any

_SAMPLE = 200  # rows whose 19,900 pairs are measured
_DRAWN = 1 << 20  # normal numbers that one task draws
_TILE = 128  # rows that go through a sparse matrix at a time, so that they stay in the cache
_UNKNOWN = 10**6  # rows of a stream that does not say how many it has


class RandomProjection(LinearReducer):
    """A random linear map to few dimensions keeps all distances nearly (Johnson, Lindenstrauss 1984).

    y = A x with random A;   (1 − ε)‖u − v‖² ≤ ‖Au − Av‖² ≤ (1 + ε)‖u − v‖² for all pairs of N rows, with high
    probability, once k ≥ 4 ln N / (ε²/2 − ε³/3) (Dasgupta, Gupta 2003).

    The map does not look at the rows: there is nothing to solve, and the bound depends on their number, not on the
    columns. A fit reads them once, to check them and to measure on a sample what the map does to distances.

    Parameters
    ----------
    n_components : int or "auto"
        Number of dimensions, at most that of the columns. "auto" is the bound above for the rows at hand. Where it
        reaches the number of columns there is nothing to gain: all columns are kept as they are, with a warning.
    kind : {"gaussian", "sparse", "hadamard"}
        Independent normal numbers; a matrix of which 1/√D is not zero (the density of Li, Hastie, Church 2006, with as
        many entries for each column: Kane, Nelson 2014); or a subsampled randomised Hadamard transform, which needs
        D log D additions for a row.
    eps : float in (0, 1)
        ε, the relative error of squared distances that is tolerated: it sets "auto", and what `fit_info_` counts.
    random_state : int, generator or None
        Seed of the map; None is seed 0.

    Attributes
    ----------
    kind_ : str
        The kind in use; "identity" where all columns were kept.
    mean_ : array (D,)
        Mean of the training rows; `inverse_transform` returns the row nearest to it.
    n_components_, n_samples_ : int
        Dimensions, rows seen.
    fit_info_ : FitInfo
        Share of sampled pairs within ε, mean and worst relative error of their squared distances.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X = np.random.default_rng(0).standard_normal((100, 3000))
    >>> model = lowland.RandomProjection(eps=0.3).fit(X)
    >>> model.n_components_, model.fit_info_.evidence["pairs within eps"]
    (512, 1.0)
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": AnyOf((Choice(("auto",)), Integer(1))),
        "kind": Choice(("gaussian", "sparse", "hadamard")),
        "eps": Real(0, 1),
        "random_state": RANDOM_STATE,
    }
    _state: ClassVar[tuple[str, ...]] = (
        "kind_",
        "matrix_",
        "positions_",
        "signs_",
        "mean_",
        "n_components_",
        "n_samples_",
    )

    kind_: str
    matrix_: Array  # gaussian: D × k
    positions_: Array  # sparse: where each column's entries stand (D × c); hadamard: which entries are kept (k)
    signs_: Array  # of those entries (D × c); of the columns (D)
    mean_: Array
    n_samples_: int

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        kind: str = "gaussian",
        eps: float = 0.1,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kind = kind
        self.eps = eps
        self.random_state = random_state

    def _size(self, n: int, d: int) -> tuple[int, str]:
        """Return the number of dimensions and the kind of map for N rows of D columns."""
        if self.n_components == "auto":
            k = bound(n, self.eps)
            return (k, self.kind) if k < d else (d, "identity")
        k = int(self.n_components)
        if k > d:
            raise DataError(
                f"RandomProjection: n_components={k} is more than the number of columns, {d}, and would reduce "
                f"nothing; ask for {d} at most"
            )
        return k, self.kind

    def _plan(self, shape: DataShape) -> Plan:
        n, d = shape.n_rows or _UNKNOWN, shape.n_features
        k, kind = self._size(n, d)
        size, width = shape.dtype.itemsize, max(1, math.ceil(k / math.sqrt(d)))
        model = {"gaussian": size * d * k, "sparse": 5 * d * width, "hadamard": d + 8 * k, "identity": 5 * d}[kind]
        sampled = int(min(n, _SAMPLE) * d * max(shape.density, 1e-3 if shape.sparse else 0))
        drawn = {"gaussian": min(d * k, _DRAWN) * min(threads(), 2), "sparse": 3 * d * width, "hadamard": 3 * d}
        parts = {
            "projection": model,
            "random numbers": 8 * drawn.get(kind, d),
            "sample of rows": 8 * min(n, _SAMPLE) * (3 * k + 3 * min(n, _SAMPLE)) + 32 * sampled,
            "blocks": threads() * min(n, block_rows(d)) * d // 8 + 8 * d * (2 + 2 * threads()),
        }
        return Plan(
            method="RandomProjection",
            algorithm=kind,
            bytes=sum(parts.values()) + shape.copied,
            seconds=dense_seconds(4.0 * shape.entries + 2.0 * _SAMPLE * d * k, shape.dtype) + 1e-8 * model / size,
            approximate=kind != "identity",
            model_bytes=model + 8 * d,
            parts=parts,
            remedy="ask for fewer components, or take kind='hadamard', whose map is only signs and places",
        )

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        rng, d = seed(self.random_state), rows.n_features
        with record.stage("read"):
            seen = _read(rows, rng)
        n, self.mean_, self.n_samples_ = seen.count, seen.mean, seen.count
        if n == 1:
            raise DataError("RandomProjection: there is only 1 sample, and so no distance to keep; give more rows")
        if not seen.differ:
            raise DataError("all rows are equal (rank 0): there is no distance to keep; give rows that differ")
        self.n_components_, self.kind_ = self._size(n, d)
        if self.kind_ == "identity":
            record.warn(
                f"RandomProjection: to keep distances of {n} rows within eps={self.eps:g}, {bound(n, self.eps)} "
                f"dimensions are needed, and there are {d} columns: all were kept as they are; raise eps, or set "
                "n_components",
                RankWarning,
            )
        with record.stage("draw"):
            self._draw(d, rows.dtype, rng)
        with record.stage("measure"):
            self._measure(seen, record)
        record.note(algorithm=self.kind_, approximate=self.kind_ != "identity")

    def _draw(self, d: int, dtype: Any, rng: np.random.Generator) -> None:
        k = self.n_components_
        if self.kind_ == "gaussian":
            check_allocation(dtype.itemsize * d * k, f"the {d} × {k} matrix", "ask for fewer components")
            self.matrix_ = _normal(d, k, dtype, rng)
        elif self.kind_ == "sparse":
            self.positions_, self.signs_ = _scattered(d, k, max(1, math.ceil(k / math.sqrt(d))), rng)
        elif self.kind_ == "hadamard":
            self.signs_, self.positions_ = hadamard.draw(d, k, rng)
        else:
            self.positions_ = np.arange(d, dtype=np.int32)[:, None]
            self.signs_ = np.ones((d, 1), dtype=np.int8)

    def _measure(self, seen: _Seen, record: Recorder) -> None:
        """Record what the map does to the squared distances of the sample's pairs."""
        X = seen.sample
        largest = abs(X).max()  # the squares of huge or tiny rows would not be numbers
        X = X / (largest or X.dtype.type(1))
        true, kept = _squares(X), _squares(self._row_map()(X))
        different = true > 0
        error = np.abs(kept[different] / true[different] - 1.0)
        record.evidence["pairs measured"] = len(error)
        if len(error) == 0:
            return
        record.evidence["pairs within eps"] = float(np.mean(error <= self.eps))
        record.evidence["mean distortion"] = float(error.mean())
        record.evidence["worst distortion"] = float(error.max())
        if self.kind_ != "identity":
            record.note(approximation_error=float(error.max()))

    def _sparse_matrix(self, dtype: Any) -> Any:
        """Return Aᵀ (D × k) as a sparse matrix: each column of the data has c entries ±c^(−½)."""
        d, c = self.positions_.shape
        values = (self.signs_ * c**-0.5).astype(dtype).ravel()
        where = (values, self.positions_.ravel(), np.arange(0, d * c + 1, c))
        return sp.csr_array(where, shape=(d, self.n_components_))

    def _row_map(self) -> Callable[[Array], Array]:
        if self.kind_ == "gaussian":
            matrix = self.matrix_
            return lambda block: _times(block, matrix)
        if self.kind_ == "hadamard":
            signs, places = self.signs_, self.positions_
            return lambda block: _in_numpy(block, lambda rows: hadamard.project(rows, signs, places))
        ways = {kind: self._sparse_matrix(kind) for kind in (np.float32, np.float64)}
        back = {kind: way.T.tocsr() for kind, way in ways.items()}

        def project(rows: Array) -> Array:
            kind = rows.dtype.type
            return (rows @ ways[kind]).toarray() if sp.issparse(rows) else _scatter(rows, back[kind])

        return lambda block: _in_numpy(block, project)

    def _offset(self) -> Array:
        return np.zeros(self.n_features_in_)

    def compressor(self) -> Compressor:
        """Return A, a = 0, B = A⁺ and b = m − A⁺A m: of all rows that map to y, B y + b is nearest to the mean m."""
        k, d = self.n_components_, self.n_features_in_
        check_allocation(32 * k * d, f"the inverse of a {k} × {d} matrix", "rebuild from fewer components")
        if self.kind_ == "gaussian":
            A = np.ascontiguousarray(self.matrix_.T, dtype=np.float64)
        elif self.kind_ == "hadamard":
            A = hadamard.matrix(self.signs_, self.positions_)
        else:
            A = self._sparse_matrix(np.float64).T.toarray()
        U, s, V = dense.svd(A)
        keep = s > rank_tolerance(k, d, np.float64) * s[0]
        B = (V[:, keep] / s[keep]) @ U[:, keep].T
        return Compressor(A, np.zeros(k), B, self.mean_ - B @ (A @ self.mean_))


def bound(n: int, eps: float) -> int:
    """Return the number of dimensions that keeps the squared distances of n rows within eps.

    >>> bound(1_000_000, 0.5), bound(10_000, 0.1)
    (664, 7895)
    """
    return max(1, math.ceil(4 * math.log(n) / (eps**2 / 2 - eps**3 / 3)))


class _Seen:
    """What one reading of the rows leaves: their number and mean, whether any two differ, and a sample of them."""

    def __init__(self, d: int) -> None:
        self.count, self.mean, self.differ = 0, np.zeros(d), False
        self.sample: Any = None


def _read(rows: RowSource, rng: np.random.Generator) -> _Seen:
    """Read the rows once; the sample is Vitter's reservoir, so that a stream need not say its length."""
    seen, held, first = _Seen(rows.n_features), list[Array](), None

    def work(block: Block) -> tuple[Block, Array]:
        rows.check(block)
        return block, _mean(block.rows)

    for block, mean in pool.run(work, rows.blocks(), stage="read", total=rows.block_count()):
        m = block.rows.shape[0]
        first = _host(block.rows[:1]) if first is None else first
        seen.differ = seen.differ or _differ(block.rows, first)
        for i, place in _places(seen.count, m, rng):
            held[place : place + 1] = [_host(block.rows[i : i + 1])]  # beyond the end it is appended
        seen.count += m
        seen.mean += (mean - seen.mean) * (m / seen.count)
    seen.sample = sp.vstack(held, format="csr") if rows.sparse else np.vstack(held)
    return seen


def _places(start: int, m: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return which of m rows enter the reservoir, and whose place they take; rows before start have been seen."""
    number = np.arange(start, start + m)
    place = np.where(number < _SAMPLE, number, (rng.random(m) * (number + 1)).astype(np.int64))
    return [(int(i), int(place[i])) for i in np.flatnonzero(place < _SAMPLE)]


def _host(rows: Array) -> Array:
    """Copy rows into memory of our own."""
    return rows.copy() if sp.issparse(rows) else arrays.to_numpy(rows).copy()


def _mean(rows: Array) -> Array:
    if sp.issparse(rows):
        return np.asarray(rows.sum(axis=0, dtype=np.float64)).ravel() / rows.shape[0]
    return arrays.to_numpy(rows).sum(axis=0, dtype=np.float64) / rows.shape[0]


def _differ(rows: Array, first: Array) -> bool:
    """Tell whether some row is not the first of all."""
    if not sp.issparse(rows):
        return bool((arrays.to_numpy(rows) != first).any())
    repeated = sp.csr_array(np.ones((rows.shape[0], 1), dtype=rows.dtype)) @ first
    return bool((rows - repeated).count_nonzero())


def _normal(d: int, k: int, dtype: Any, rng: np.random.Generator) -> Array:
    """Return a D × k matrix of normal numbers of variance 1/k, the same whatever the precision and the threads."""
    out, root = np.empty((d, k), dtype=dtype), int(rng.integers(2**63))
    step = max(1, _DRAWN // k)

    def fill(start: int) -> None:
        part = out[start : start + step]
        np.multiply(
            np.random.default_rng([root, start]).standard_normal(part.shape), k**-0.5, out=part, casting="unsafe"
        )

    for _ in pool.run(fill, range(0, d, step), stage="draw", total=-(-d // step)):
        pass
    return out


def _scattered(d: int, k: int, c: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return places and signs of c entries for each column, one in each of c equal stretches of the k dimensions.

    With as many entries in every column a row with one entry keeps its length exactly. Independent entries, of which a
    column has now more and now fewer, would not keep it.
    """
    edges = np.arange(c + 1) * k // c
    places = rng.integers(edges[:-1], edges[1:], size=(d, c), dtype=np.int64).astype(np.int32)
    return places, (2 * rng.integers(0, 2, (d, c), dtype=np.int8) - 1).astype(np.int8)


def _times(block: Array, matrix: Array) -> Array:
    if sp.issparse(block):
        return np.asarray(block @ matrix.astype(block.dtype, copy=False))
    return block @ arrays.like(matrix, block, arrays.dtype_of(block))


def _scatter(rows: Array, back: Any) -> Array:
    """Return rows @ Aᵀ for dense rows and A in CSR form, a few rows at a time."""
    out = np.empty((len(rows), back.shape[0]), dtype=rows.dtype)
    for start in range(0, len(rows), _TILE):
        part = rows[start : start + _TILE]
        out[start : start + _TILE] = (back @ np.ascontiguousarray(part.T)).T
    return out


def _in_numpy(block: Array, work: Callable[[Array], Array]) -> Array:
    """Apply NumPy's work to rows of any library."""
    return arrays.like(work(arrays.to_numpy(block)), block) if arrays.is_foreign(block) else work(block)


def _squares(X: Array) -> Array:
    """Return the squared distances of all pairs of rows, one of each, in float64."""
    i, j = np.triu_indices(X.shape[0], 1)
    if not sp.issparse(X):
        rule = SquaredEuclidean(X.mean(axis=0, dtype=np.float64))
        prepared = rule.prepare(X)
        return rule.between(prepared, prepared)[i, j]
    X = X.astype(np.float64)
    lengths = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    squares, sums = (X @ X.T).toarray()[i, j], lengths[i] + lengths[j]
    squares = sums - 2 * squares
    near = squares < 1e-6 * sums  # the product has lost their digits
    difference = X[i[near]] - X[j[near]]
    squares[near] = np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
    return squares
