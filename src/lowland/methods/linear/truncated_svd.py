"""Truncated singular value decomposition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ...contract import parameters
from ...contract.parameters import RANDOM_STATE, Choice, Integer, Rule
from ...contract.reducer import Recorder
from ...core import arrays, thread_pool
from ...core.cost import DataShape, Plan
from ...core.errors import DataError
from ...core.random import seed
from ...core.settings import report_progress
from ...rows.row_source import RowSource, as_rows, block_rows, require_finite
from ...rows.units import Units, fit_view, scaled
from ...spectral import dense, rowspace
from ...spectral.routes import rank_tolerance
from ...spectral.rowspace import ROUTES
from ...spectral.solve import sign_of_columns
from ...spectral.solved import ComponentRule, Scaling
from ..shared.linear_map import Compressor, LinearReducer, check_count, tell

Array = Any

_DENSE_ENTRIES = 1 << 24  # an update works on dense rows: 128 MB of them at a time


class TruncatedSVD(LinearReducer):
    """The k strongest singular triplets of uncentred rows: latent semantic indexing (Deerwester et al. 1990).

    X ≈ U Σ Vᵀ;   y = Vᵀx;   x̂ = V y.

    For a table of documents × terms, the rows of U are documents, the columns of Vᵀ terms, Σ the strength of
    each concept. Sparse rows stay sparse. Components are ordered by singular value.

    Parameters
    ----------
    n_components : int
        Number of triplets, at most min(rows, columns).
    solver : str
        As in `PCA`; "auto" takes block Krylov for large sparse rows.
    random_state : int, generator or None
        Seed of the iterative solvers; None is seed 0.

    Attributes
    ----------
    U_ : array (N, k)
        Left vectors of the training rows.
    components_ : array (k, D)
        Vᵀ, the right vectors as rows.
    singular_values_ : array (k,)
        Σ, in descending order.
    explained_variance_, explained_variance_ratio_ : array (k,)
        Variances of the coordinates UΣ, and their share of the total variance of the columns.
    energy_ : float
        ‖X‖², the sum of all squared entries.
    energy_ratio_ : array (k,)
        σ² over ‖X‖², the share of the table itself.
    lost_energy_ : float
        What `partial_fit` has cut off so far, in units of ‖X‖².
    n_components_, n_samples_ : int
        Triplets kept, rows seen.
    fit_info_ : FitInfo
        What was run and how exact it is.

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

    components_: Array
    singular_values_: Array
    U_: Array
    explained_variance_: Array
    _units: ClassVar[Units] = {
        "singular_values_": 1,
        "explained_variance_": 2,
        "energy_": 2,
        "lost_energy_": 2,
        "transform": 1,
        "inverse_transform": 1,
        "residual": 1,
    }

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

    def _takes_means_off(self) -> bool:
        return False

    def _needs_length(self) -> bool:
        return True  # U has a row for each row

    def _plan(self, shape: DataShape) -> Plan:
        check_count("TruncatedSVD", self.n_components, shape.n_rows, shape.n_features)
        wanted = ComponentRule(count=self.n_components)
        name = rowspace.route(shape, wanted) if self.solver == "auto" else self.solver
        n = shape.n_rows or 10**6
        k = min(self.n_components, n, shape.n_features)
        parts, seconds = rowspace.cost(name, shape, k, altered=True)
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
        check_count("TruncatedSVD", self.n_components, rows.n_rows, rows.n_features)
        if not rows.reiterable:
            raise DataError(
                "TruncatedSVD keeps U and reads the rows twice; give a function that starts a new reading, "
                "or add the blocks with partial_fit"
            )
        with record.stage("solve"):
            space = rowspace.decompose(
                rows,
                ComponentRule(count=self.n_components),
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
        self.U_, self.components_ = U.astype(dtype), np.array(V.T, dtype=dtype, order="C")
        self.singular_values_ = s
        self.explained_variance_ = s**2 * U.var(axis=0)  # σ²/n − mean² would lose its digits to a large mean
        total = float(self.column_sums_[1].sum()) / self.n_samples_
        self.explained_variance_ratio_ = self.explained_variance_ / total if total > 0 else 0 * s
        self.energy_ratio_ = s**2 / self.energy_

    def partial_fit(self, X: Any, y: None = None) -> Self:
        """Add rows to the decomposition without a refit (Zha & Simon 1999).

        The triplets of [UΣVᵀ; X′] are found from a small matrix. The first call is `fit`, unless the rows are
        fewer than n_components or can be read only once. The result is exact while the rank of all rows stays
        within n_components. Beyond that, what the updates cut off is summed in ``lost_energy_``, and
        ``fit_info_.approximation_error`` is its share of ‖X‖²: a fit to all rows at once would hold at most
        that much more. A call that fails leaves the model as it was.

        >>> import numpy as np, lowland
        >>> X = np.outer([1.0, 2.0, 3.0, 4.0], [3.0, 4.0])
        >>> svd = lowland.TruncatedSVD(1).fit(X[:2]).partial_fit(X[2:])
        >>> bool(np.allclose(svd.singular_values_, lowland.TruncatedSVD(1).fit(X).singular_values_))
        True
        """
        rows = as_rows(X, owner=type(self).__name__)
        fresh = not hasattr(self, "components_")
        if fresh:
            parameters.check(type(self).__name__, self._parameters, self.get_params(deep=False))
            if rows.reiterable and (rows.n_rows is None or rows.n_rows >= self.n_components):
                return self.fit(rows)
        held = dict(vars(self))
        try:
            source = self._rows(rows, reset=fresh)
            if fresh:
                self._keep_unit(self._exponent_of(source))
            model = fit_view(self)  # the update works on what was learned, in its own units
            model._update(scaled(source, -vars(self).get("exponent_", 0)), fresh)
            self.__dict__.update({name: value for name, value in vars(model).items() if name != "_scaled_by"})
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(held)
            raise
        return self

    def _update(self, rows: RowSource, fresh: bool) -> None:
        record = Recorder(type(self).__name__)
        if fresh:
            self._start_empty(rows)
        size = max(self.n_components, min(block_rows(rows.n_features), _DENSE_ENTRIES // rows.n_features))
        with record.stage("update"), thread_pool.one_blas_thread():
            for block in rows.blocks(size):
                report_progress("update", block.start, rows.n_rows)
                require_finite(block)
                X = block.rows.toarray() if rows.sparse else arrays.to_numpy(block.rows)
                self._add_rows(X.astype(np.float64))
        if self.n_components_ == 0:
            raise DataError("all values are zero (rank 0): start with rows that are not")
        error = self.lost_energy_ / self.energy_
        record.note(algorithm="update", solver="dense", approximate=error > 0, approximation_error=error)
        record.evidence["share of the table"] = float(self.energy_ratio_.sum())
        self.fit_info_ = record.info(None)

    def _start_empty(self, rows: RowSource) -> None:
        """Set the decomposition of no rows at all."""
        d = rows.n_features
        check_count("TruncatedSVD", self.n_components, None, d)  # further rows may come
        self.n_samples_, self.energy_, self.lost_energy_ = 0, 0.0, 0.0
        self.column_sums_ = np.zeros((2, d))
        self.singular_values_ = np.empty(0)
        self.U_, self.components_ = np.empty((0, 0), dtype=rows.dtype), np.empty((0, d), dtype=rows.dtype)

    def _add_rows(self, rows: Array) -> None:
        V, s, U = self.components_.T.astype(np.float64), self.singular_values_, self.U_.astype(np.float64)
        k, dtype = len(s), self.components_.dtype
        inside = rows @ V  # m × k: what the known concepts explain of the new rows
        rest = rows - inside @ V.T
        again = rest @ V  # once more: a small rest is not yet orthogonal to the known concepts
        inside, rest = inside + again, rest - again @ V.T
        outside, R = dense.orthonormal(rest.T)  # D × min(m, D): directions that are new
        P, values, Q = dense.svd(np.block([[np.diag(s), np.zeros((k, len(R)))], [inside, R.T]]))
        tolerance = rank_tolerance(len(U) + len(rows), len(V), dtype)
        rank = int((values > tolerance * values[0]).sum())
        keep = min(self.n_components, rank)
        right = np.hstack([V, outside]) @ Q[:, :keep]
        left = np.vstack([U @ P[:k, :keep], P[k:, :keep]])
        signs = sign_of_columns(right)
        self.lost_energy_ += float((values[keep:rank] ** 2).sum())
        self.energy_ += float((rows**2).sum())
        self._add_columns(rows)
        self._learn(left * signs, values[:keep], right * signs, dtype)

    def _add_columns(self, rows: Array) -> None:
        """Merge the columns' sums and centred squares of new rows."""
        n, m = self.n_samples_, len(rows)
        mean = rows.mean(axis=0)
        delta = mean - self.column_sums_[0] / max(n, 1)
        squares = self.column_sums_[1] + ((rows - mean) ** 2).sum(axis=0) + delta**2 * (n * m / (n + m))
        self.column_sums_ = np.stack([self.column_sums_[0] + m * mean, squares])
        self.n_samples_ = n + m

    def _offset(self) -> Array:
        return np.zeros(self.n_features_in_)

    def _compressor(self) -> Compressor:
        V = self.components_.astype(np.float64)
        return Compressor(V, np.zeros(len(V)), V.T, np.zeros(V.shape[1]))
