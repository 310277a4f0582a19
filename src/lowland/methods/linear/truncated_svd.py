"""Truncated singular value decomposition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from ...contract.parameters import RANDOM_STATE, AnyOf, Choice, Integer, Nothing, Real, Rule, check
from ...contract.reducer import Recorder
from ...core import arrays, thread_pool
from ...core.cost import DataShape, Plan
from ...core.errors import DataError
from ...core.random import seed
from ...core.settings import report_progress
from ...rows.row_source import RowSource, as_rows, block_rows, require_finite, single_pass_error
from ...rows.units import Units, fit_view, scaled
from ...spectral import rowspace
from ...spectral.krylov import extra_basis
from ...spectral.rowspace import ROUTES
from ...spectral.solved import ComponentRule, Scaling
from ...spectral.svd_update import Decomposition
from ..shared.linear_map import Compressor, LinearReducer, check_count, linear_plan, tell

Array = Any

_DENSE_ENTRIES = 1 << 24  # an update works on dense rows: 128 MB of them at a time
_TYPICAL_ROWS = 10**6  # assumed for the plan of a stream of unknown length


class TruncatedSVD(LinearReducer):
    """The k strongest singular triplets of uncentred rows: latent semantic indexing (Deerwester et al. 1990).

    X ≈ U Σ Vᵀ;   y = Vᵀx;   x̂ = V y.

    Of a table of documents × terms, rows of U are documents, columns of Vᵀ terms, Σ strengths. Sparse rows stay sparse.

    Parameters
    ----------
    n_components : int
        Number of triplets, at most min(rows, columns).
    solver : str
        As in `PCA`; "auto" takes block Krylov for large sparse rows.
    tol : float or None
        Stop block Krylov when ‖Xv − σu‖ and ‖Xᵀu − σv‖ are at most tol·σ₁ for each triplet: a bound on the error of σ.
        None continues to rounding error, as the other solvers always do; more than 0.2 counts as 0.2.
    random_state : int, generator or None
        Seed of the iterative solvers; None is seed 0.

    Attributes
    ----------
    U_, components_, singular_values_ : array (N, k), array (k, D), array (k,)
        Left vectors of the training rows; Vᵀ, the right vectors as rows; Σ, in descending order.
    explained_variance_, explained_variance_ratio_ : array (k,)
        Variances of the coordinates UΣ, and their share of the total variance of the columns.
    energy_, energy_ratio_, lost_energy_ : float, array (k,), float
        ‖X‖², the sum of all squared entries; the shares σ²/‖X‖²; the part of ‖X‖² that `partial_fit` has cut off.
    n_components_, n_samples_, fit_info_ : int, int, FitInfo
        Triplets kept; rows seen; what was run and how exact it is.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X = np.array([[2.0, 1.0, 0.0], [4.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    >>> svd = lowland.TruncatedSVD(2).fit(X)
    >>> np.round(svd.singular_values_, 6).tolist()
    [5.0, 1.0]
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "solver": Choice(("auto", *ROUTES)),
        "tol": AnyOf((Nothing(), Real(0, 1))),
        "random_state": RANDOM_STATE,
    }
    _units: ClassVar[Units] = {
        **dict.fromkeys(("singular_values_", "transform", "inverse_transform", "residual"), 1),
        **dict.fromkeys(("explained_variance_", "energy_", "lost_energy_"), 2),
    }

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

    def __init__(
        self, n_components: int = 2, *, solver: str = "auto", tol: float | None = None, random_state: int | None = None
    ) -> None:
        self.n_components, self.solver, self.tol, self.random_state = n_components, solver, tol, random_state

    def _takes_means_off(self) -> bool:
        return False

    def _needs_length(self) -> bool:
        return True  # U has a row for each row

    def _plan(self, shape: DataShape) -> Plan:
        plan = linear_plan(self, shape, self.n_components, altered=True, remedy="ask for fewer components")
        n, k = shape.n_rows or _TYPICAL_ROWS, self.n_components
        d, extra = shape.n_features, {"left vectors": 16 * n * k}
        if plan.algorithm == "krylov":  # it finds the left vectors anyway
            extra = {"wider blocks": 8 * (n + d) * extra_basis(k, min(n, d), self.tol)}
        parts = {**plan.parts, **extra}
        return replace(plan, bytes=plan.bytes + sum(extra.values()), model_bytes=8 * (n + d) * k, parts=parts)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        if not rows.reiterable:
            raise single_pass_error("TruncatedSVD", "add the blocks with partial_fit")
        with record.stage("solve"):
            rule, rng = ComponentRule(count=self.n_components, tol=self.tol), seed(self.random_state)
            space = rowspace.decompose(rows, rule, Scaling(False, ddof=0), solver=self.solver, rng=rng, want_left=True)
        tell(record, space, self.n_components, "TruncatedSVD")
        solved = space.solved
        if self.tol is not None and solved.route == "krylov":
            record.note(approximate=True, approximation_error=solved.residual)
        columns = np.stack([solved.mean * solved.weight, solved.variances * solved.weight])
        sums = solved.n_rows, solved.total, 0.0, columns
        self._learn(Decomposition(np.asarray(space.left), space.values, space.directions, *sums), rows.dtype)
        record.evidence["share of the table"] = float(self.energy_ratio_.sum())

    def _learn(self, found: Decomposition, dtype: Any) -> None:
        U, s = found.U, found.s
        self.n_components_, self.n_samples_, self.singular_values_ = len(s), found.n, s
        self.U_, self.components_ = U.astype(dtype), np.array(found.V.T, dtype=dtype, order="C")
        self.energy_, self.lost_energy_, self.column_sums_ = found.energy, found.lost, found.columns
        spread = np.array([column.var() for column in U.T])  # one by one: var of all makes two copies of U
        self.explained_variance_ = s**2 * spread  # σ²/n − mean² would lose its digits to a large mean
        total = float(found.columns[1].sum()) / found.n
        self.explained_variance_ratio_ = self.explained_variance_ / total if total > 0 else 0 * s
        self.energy_ratio_ = s**2 / found.energy

    def partial_fit(self, X: Any, y: None = None) -> Self:
        """Add rows to the decomposition without a refit (Zha & Simon 1999).

        The triplets of [UΣVᵀ; X′] come from a small matrix, exactly while the rank of all rows stays within
        n_components. Beyond that ``lost_energy_`` sums what is cut off; a fit to all rows at once would hold at most
        that much more of ‖X‖², a share of ``fit_info_.approximation_error``. The first call is `fit`, unless the rows
        are fewer than n_components or can be read only once. A call that fails leaves the model as it was.

        >>> import numpy as np, lowland
        >>> X = np.outer([1.0, 2.0, 3.0, 4.0], [3.0, 4.0])
        >>> svd = lowland.TruncatedSVD(1).fit(X[:2]).partial_fit(X[2:])
        >>> bool(np.allclose(svd.singular_values_, lowland.TruncatedSVD(1).fit(X).singular_values_))
        True
        """
        rows = as_rows(X, owner=type(self).__name__)
        if fresh := not hasattr(self, "components_"):
            check(type(self).__name__, self._parameters, self.get_params(deep=False))
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
        record, d = Recorder(type(self).__name__), rows.n_features
        if fresh:
            check_count("TruncatedSVD", self.n_components, None, d)  # further rows may come
        dtype = rows.dtype if fresh else self.components_.dtype
        with record.stage("update"), thread_pool.one_blas_thread():
            for block in rows.blocks(max(self.n_components, min(block_rows(d), _DENSE_ENTRIES // d))):
                report_progress("update", block.start, rows.n_rows)
                require_finite(block)
                X = block.rows.toarray() if rows.sparse else arrays.to_numpy(block.rows)
                held = Decomposition.empty(d) if fresh else self._decomposition()
                self._learn(held.with_rows(X.astype(np.float64), self.n_components, dtype), dtype)
                fresh = False
        if self.n_components_ == 0:
            raise DataError("all values are zero (rank 0); start with rows that are not")
        error = self.lost_energy_ / self.energy_
        record.note(algorithm="update", solver="dense", approximate=error > 0, approximation_error=error)
        record.evidence["share of the table"] = float(self.energy_ratio_.sum())
        self.fit_info_ = record.info(None)

    def _decomposition(self) -> Decomposition:
        U, V = self.U_.astype(np.float64), self.components_.T.astype(np.float64)
        rest = self.n_samples_, self.energy_, self.lost_energy_, self.column_sums_
        return Decomposition(U, self.singular_values_, V, *rest)

    def _compressor(self) -> Compressor:
        V = self.components_.astype(np.float64)
        return Compressor(V, np.zeros(len(V)), V.T, np.zeros(V.shape[1]))
