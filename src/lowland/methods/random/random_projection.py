"""Random projection."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...contract.parameters import RANDOM_STATE, AnyOf, Choice, Integer, Real, Rule
from ...contract.reducer import Recorder
from ...core import arrays
from ...core.cost import DataShape, Plan, check_allocation, dense_seconds
from ...core.errors import DataError, RankWarning
from ...core.random import seed
from ...core.settings import threads
from ...pairs.distances import SquaredEuclidean
from ...rows.row_source import RowSource, block_rows
from ...rows.units import Units
from ...spectral import dense
from ...spectral.routes import rank_tolerance
from ..shared.linear_map import Compressor, LinearReducer
from . import hadamard, random_maps
from .row_sample import SAMPLE, RowSample, read

Array = Any

_UNKNOWN = 10**6  # rows of a stream that does not say how many it has


class RandomProjection(LinearReducer):
    """A random linear map to few dimensions keeps all distances nearly (Johnson, Lindenstrauss 1984).

    y = A x with random A;   (1 − ε)‖u − v‖² ≤ ‖Au − Av‖² ≤ (1 + ε)‖u − v‖² for all pairs of N rows can be had
    once k ≥ 4 ln N / (ε²/2 − ε³/3) (Dasgupta, Gupta 2003).

    At this k their proof lets each pair fail with a chance of 2/N² at most, so that all pairs hold with one of 1/N at
    least; the true chance is far better. It is a proof for Gaussian maps; the other kinds have bounds with other
    constants, and keep distances as well where that was measured.

    The map does not look at the rows: there is nothing to solve, and the bound depends on their number, not on the
    columns. A fit reads them once, to check them and to measure on a sample what the map does to distances.

    Parameters
    ----------
    n_components : int or "auto"
        Number of dimensions, at most that of the columns. "auto" is the bound above for the rows at hand. Where it
        reaches the number of columns there is nothing to gain: all columns are kept as they are, with a warning.
    kind : {"gaussian", "sparse", "hadamard"}
        Independent normal numbers; a matrix with a few signs in each column, max(⌈k/√D⌉, ⌈εk/7⌉, 8) of them (Li,
        Hastie, Church 2006; Kane, Nelson 2014); or a subsampled randomised Hadamard transform, which needs D log D
        additions for a row.
    eps : float in (0, 1)
        ε, the relative error of squared distances that is tolerated: it sets "auto", what `fit_info_` counts, and how
        full a sparse map is.
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

    _streams: ClassVar[bool] = True
    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": AnyOf((Choice(("auto",)), Integer(1))),
        "kind": Choice(("gaussian", "sparse", "hadamard")),
        "eps": Real(0, 1),
        "random_state": RANDOM_STATE,
    }
    _units: ClassVar[Units] = {"mean_": 1, "transform": 1, "inverse_transform": 1, "residual": 1}

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
        size, width = shape.dtype.itemsize, random_maps.entries(d, k, self.eps)
        model = {"gaussian": size * d * k, "sparse": 5 * d * width, "hadamard": d + 8 * k, "identity": 0}[kind]
        sampled = int(min(n, SAMPLE) * d * max(shape.density, 1e-3 if shape.sparse else 0))
        at_once = {"gaussian": random_maps.drawn(d * k), "sparse": random_maps.drawn(d * width)}
        drawn = 3 * d if kind == "hadamard" else at_once.get(kind, 0) * min(threads(), 2)
        parts = {
            "projection": model,
            "random numbers": 8 * drawn,
            "sample of rows": 8 * min(n, SAMPLE) * (3 * k + 3 * min(n, SAMPLE)) + 32 * sampled,
            "blocks": threads() * min(n, block_rows(d)) * d // 8 + 8 * d * (2 + 2 * threads()),
        }
        return Plan(
            method="RandomProjection",
            algorithm=kind,
            bytes=sum(parts.values()) + shape.copied,
            seconds=dense_seconds(4.0 * shape.entries + 2.0 * SAMPLE * d * k, shape.dtype)
            + 5e-9 * shape.entries  # of checking them
            + 1e-8 * model / size,
            approximate=kind != "identity",
            model_bytes=model + 8 * d,
            parts={name: size for name, size in parts.items() if size},
            remedy="ask for fewer components, or take kind='hadamard', whose map is only signs and places",
        )

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        rng, d = seed(self.random_state), rows.n_features
        with record.stage("read"):
            seen = read(rows, rng)
        n, self.mean_, self.n_samples_ = seen.count, seen.mean, seen.count
        if n == 1:
            raise DataError("RandomProjection: there is only 1 sample, and so no distance to keep; give more rows")
        if not seen.differ:
            raise DataError("all rows are equal (rank 0): there is no distance to keep; give rows that differ")
        self.n_components_, self.kind_ = self._size(n, d)
        if self.kind_ == "identity":
            record.warn(
                f"RandomProjection: to keep distances of {n} rows within eps={self.eps:g}, {_told(bound(n, self.eps))} "
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
            self.matrix_ = random_maps.normal(d, k, dtype, rng)
        elif self.kind_ == "sparse":
            c = random_maps.entries(d, k, self.eps)
            check_allocation(5 * d * c, f"places and signs of {c} entries for {d} columns", "ask for fewer components")
            self.positions_, self.signs_ = random_maps.scattered(d, k, c, rng)
        elif self.kind_ == "hadamard":
            self.signs_, self.positions_ = hadamard.draw(d, k, rng)

    def _measure(self, seen: RowSample, record: Recorder) -> None:
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

    def _row_map(self) -> Callable[[Array], Array]:
        if self.kind_ == "identity":
            return lambda block: block.toarray() if sp.issparse(block) else block
        if self.kind_ == "gaussian":
            matrix = self.matrix_
            return lambda block: random_maps.times(block, matrix)
        signs, places, k = self.signs_, self.positions_, self.n_components_
        if self.kind_ == "hadamard":
            return lambda block: _in_numpy(block, lambda rows: hadamard.project(rows, signs, places))
        return lambda block: _in_numpy(block, lambda rows: random_maps.scatter(rows, places, signs, k))

    def _takes_means_off(self) -> bool:
        return False

    def _offset(self) -> Array:
        return np.zeros(self.n_features_in_)

    def _matrix(self) -> Array:
        """Return A, k × D, in float64."""
        k, d = self.n_components_, self.n_features_in_
        check_allocation(8 * k * d, f"the {k} × {d} matrix", "rebuild from fewer components")
        if self.kind_ == "identity":
            return np.eye(d)
        if self.kind_ == "gaussian":
            return np.ascontiguousarray(self.matrix_.T, dtype=np.float64)
        if self.kind_ == "hadamard":
            return hadamard.matrix(self.signs_, self.positions_)
        return random_maps.matrix(self.positions_, self.signs_, k)

    def _way_back(self) -> tuple[Array, Array]:
        """Return B = A⁺ and b = m − A⁺A m; both are kept, since the decomposition costs more than a fit."""
        if not hasattr(self, "_back_"):
            k, d = self.n_components_, self.n_features_in_
            check_allocation(32 * k * d, f"the inverse of a {k} × {d} matrix", "rebuild from fewer components")
            A = self._matrix()
            U, s, V = dense.svd(A)
            keep = s > rank_tolerance(k, d, np.float64) * s[0]
            B = (V[:, keep] / s[keep]) @ U[:, keep].T
            largest = abs(self.mean_).max() or 1.0  # sums of huge entries would not be numbers
            self._back_ = B, self.mean_ - largest * (B @ (A @ (self.mean_ / largest)))
        return self._back_

    def __getstate__(self) -> dict[str, Any]:  # a copy finds its own way back: B is large, and A says it all
        return {name: value for name, value in super().__getstate__().items() if name != "_back_"}

    def _compressor(self) -> Compressor:
        # B = A⁺ and b = m − A⁺A m: of all rows that map to y, B y + b is nearest to the mean m
        A = self._matrix()
        B, b = (A, np.zeros(len(A))) if self.kind_ == "identity" else self._way_back()
        return Compressor(A, np.zeros(len(A)), B, b)

    def _inverse_map(self) -> Callable[[Array], Array]:
        if self.kind_ == "identity":
            return lambda block: block
        B, b = self._way_back()
        return lambda block: arrays.cast(block, np.float64) @ arrays.like(B.T, block) + arrays.like(b, block)


def bound(n: int, eps: float) -> int:
    """Return the number of dimensions that keeps the squared distances of n rows within eps.

    >>> bound(1_000_000, 0.5), bound(10_000, 0.1)
    (664, 7895)
    """
    needed = 4 * math.log(n) / (0.5 - eps / 3) / eps / eps  # one by one: the square of a small eps is 0
    return sys.maxsize if needed >= sys.maxsize else max(1, math.ceil(needed))


def _told(k: int) -> str:
    return f"{k}" if k < 10**15 else "more than 10¹⁵"


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
