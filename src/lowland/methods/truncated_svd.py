"""Truncated singular value decomposition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from .. import arrays, pool
from ..errors import DataError
from ..parameters import RANDOM_STATE, Choice, Integer, Rule
from ..planning import DataShape, Plan
from ..reducer import Recorder, seed
from ..rows import RowSource
from ..spectral import dense, rowspace
from ..spectral.rowspace import ROUTES, Scaling, Wanted
from ..spectral.solve import sign_of_columns
from .linear import Compressor, LinearReducer, tell

Array = Any


class TruncatedSVD(LinearReducer):
    """The k strongest singular triplets of uncentred rows: latent semantic indexing (Deerwester et al. 1990).

    X ≈ U Σ Vᵀ;   y = Vᵀx;   x̂ = V y.

    For a table of documents × terms, the rows of U are documents, the columns of Vᵀ terms, Σ the strength of
    each concept. Sparse rows stay sparse. Components are ordered by singular value.

    Parameters
    ----------
    n_components : number of triplets, at most min(rows, columns).
    solver : as in `PCA`; "auto" takes block Krylov for large sparse rows.
    random_state : seed of the iterative solvers; None is seed 0.

    Attributes
    ----------
    U_ : (N, k) left vectors of the training rows. ``components_`` : (k, D) is Vᵀ. ``singular_values_`` : (k,) is Σ.
    explained_variance_, explained_variance_ratio_ : variances of the coordinates, and their share of the columns' total.
    energy_ratio_ : (k,) σ² over ‖X‖², the share of the table itself.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X = np.array([[2.0, 1.0, 0.0], [4.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    >>> svd = lowland.TruncatedSVD(2).fit(X)
    >>> np.round(svd.singular_values_, 6).tolist()
    [5.0, 1.0]
    >>> bool(np.allclose(svd.U_ * svd.singular_values_, svd.transform(X)))
    True
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "solver": Choice(("auto", *ROUTES)),
        "random_state": RANDOM_STATE,
    }
    _state: ClassVar[tuple[str, ...]] = (
        "components_",
        "singular_values_",
        "U_",
        "explained_variance_",
        "explained_variance_ratio_",
        "energy_ratio_",
        "energy_",
        "column_sums_",
        "lost_energy_",
        "n_components_",
        "n_samples_",
    )

    components_: Array
    singular_values_: Array
    U_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    energy_ratio_: Array
    energy_: float
    column_sums_: Array
    lost_energy_: float
    n_samples_: int

    def __init__(self, n_components: int = 2, *, solver: str = "auto", random_state: int | None = None) -> None:
        self.n_components = n_components
        self.solver = solver
        self.random_state = random_state

    def _plan(self, shape: DataShape) -> Plan:
        wanted = Wanted(count=self.n_components)
        name = rowspace.route(shape, wanted) if self.solver == "auto" else self.solver
        n = shape.n_rows or 10**6
        k = min(self.n_components, n, shape.n_features)
        parts, seconds = rowspace.cost(name, shape, k)
        if name != "krylov":
            parts["left vectors"] = 16 * n * k
        return Plan(
            method="TruncatedSVD",
            algorithm=name,
            bytes=sum(parts.values()) + shape.copied,
            seconds=seconds,
            model_bytes=8 * (n + shape.n_features) * k,
            parts=parts,
            remedy="ask for fewer components",
        )

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        limit = rows.n_features if rows.n_rows is None else min(rows.n_rows, rows.n_features)
        if self.n_components > limit:
            raise DataError(
                f"TruncatedSVD: n_components={self.n_components} is more than min(rows, columns) = {limit} "
                f"(n_samples = {rows.n_rows}, n_features = {rows.n_features}); ask for {limit} at most"
            )
        if not rows.reiterable:
            raise DataError("TruncatedSVD keeps U and reads the rows twice; give a function that starts a new reading")
        with record.stage("solve"):
            space = rowspace.decompose(
                rows,
                Wanted(count=self.n_components),
                Scaling(center=False, ddof=0),
                solver=self.solver,
                rng=seed(self.random_state),
                want_left=True,
            )
        tell(record, space, self.n_components, "TruncatedSVD")
        solved = space.solved
        self.n_samples_ = solved.n_rows
        self.energy_, self.lost_energy_ = solved.total, 0.0
        self.column_sums_ = np.stack([solved.mean * solved.weight, solved.variances * solved.weight])
        self._learn(np.asarray(space.left), space.values, space.directions, rows.dtype)
        record.evidence["share of the table"] = float(self.energy_ratio_.sum())

    def _learn(self, U: Array, s: Array, V: Array, dtype: Any) -> None:
        self.n_components_ = len(s)
        self.U_, self.components_ = U.astype(dtype), np.ascontiguousarray(V.T).astype(dtype)
        self.singular_values_ = s
        n = self.n_samples_
        mean = self.column_sums_[0] / n
        self.explained_variance_ = (s**2 / n - (V.T @ mean) ** 2).clip(0)
        total = float(self.column_sums_[1].sum()) / n
        self.explained_variance_ratio_ = self.explained_variance_ / total if total > 0 else 0 * s
        self.energy_ratio_ = s**2 / self.energy_

    def partial_fit(self, X: Any, y: None = None) -> Self:
        """Add rows to the decomposition without a refit (Zha & Simon 1999).

        The triplets of [UΣVᵀ; X′] are found from a small matrix. Exact while the rank stays within
        n_components; what is cut off is summed in ``fit_info_.approximation_error``, the share of ‖X‖² lost so far.
        """
        if not hasattr(self, "components_"):
            return self.fit(X)
        rows = self._rows(X, reset=False)
        record = Recorder(type(self).__name__)
        with record.stage("update"), pool.one_blas_thread():
            for block in rows.blocks():
                self._add_rows(block.rows)
        error = self.lost_energy_ / self.energy_
        record.note(
            algorithm="update",
            solver="dense",
            approximate=error > 8 * np.finfo(np.float64).eps * len(self.U_),
            approximation_error=error,
        )
        record.evidence["share of the table"] = float(self.energy_ratio_.sum())
        self.fit_info_ = record.info(None)
        return self

    def _add_rows(self, block: Array) -> None:
        from ..rows import Block, require_finite

        require_finite(Block(self.n_samples_, block, None))
        V, s, U = self.components_.T.astype(np.float64), self.singular_values_, self.U_.astype(np.float64)
        k, m = len(s), block.shape[0]
        if not sp.issparse(block):
            block = arrays.to_numpy(block).astype(np.float64)
        inside = np.asarray(block @ V)  # m × k: what the known concepts explain of the new rows
        rest = (block.toarray() if sp.issparse(block) else block) - inside @ V.T
        outside, R = dense.orthonormal(rest.T)  # D × min(m, D): directions that are new
        small = np.block([[np.diag(s), np.zeros((k, R.shape[0]))], [inside, R.T]])
        P, values, Q = dense.svd(small)
        keep = min(max(self.n_components, 1), int((values > 8 * np.finfo(float).eps * np.sqrt(k + m) * values[0]).sum()))
        right = np.hstack([V, outside]) @ Q[:, :keep]
        left = np.vstack([U @ P[:k, :keep], P[k:, :keep]])
        signs = sign_of_columns(right)
        self.lost_energy_ += float((values[keep:] ** 2).sum())
        self.energy_ += float((block.power(2) if sp.issparse(block) else block**2).sum())
        self._add_columns(block)
        self._learn(left * signs, values[:keep], right * signs, self.components_.dtype)

    def _add_columns(self, block: Array) -> None:
        """Merge the columns' sums and centred squares of new rows."""
        n, m = self.n_samples_, block.shape[0]
        sums = np.asarray(block.sum(axis=0)).ravel()
        raw = np.asarray((block.power(2) if sp.issparse(block) else block**2).sum(axis=0)).ravel()
        delta = sums / m - self.column_sums_[0] / n
        squares = self.column_sums_[1] + (raw - sums**2 / m).clip(0) + delta**2 * (n * m / (n + m))
        self.column_sums_ = np.stack([self.column_sums_[0] + sums, squares])
        self.n_samples_ = n + m

    def _offset(self) -> Array:
        return np.zeros(self.n_features_in_)

    def compressor(self) -> Compressor:
        """Return A = Vᵀ, a = 0, B = V, b = 0."""
        V = self.components_.astype(np.float64)
        return Compressor(V, np.zeros(len(V)), V.T, np.zeros(V.shape[1]))


