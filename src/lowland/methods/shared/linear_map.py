"""Linear methods: a row x maps to A x + a, and coordinates y back to B y + b; their plans, checks and warnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ...contract.reducer import Recorder, Reducer
from ...core import arrays
from ...core.cost import DataShape, Plan
from ...core.dominance import dominance, dominant_words, only_varying
from ...core.errors import DataError, DominantColumnWarning, NotConvergedWarning
from ...core.message import DENSE, SCALE, Message, Setting, message
from ...core.settings import memory_limit
from ...rows.units import Units, fit_view, power, scaled_back, times
from ...spectral import rowspace
from ...spectral.rowspace import RowSpace
from ...spectral.solved import ComponentRule
from .row_tails import summarize as summarize

_FEW_COMPONENTS = 10  # proposed with a Krylov solver where all components do not fit in memory

Array = Any


LINEAR_UNITS: Units = {  # of every method that subtracts a mean
    **dict.fromkeys(("mean_", "inverse_transform", "residual"), 1),
    "get_covariance": 2,
    "get_precision": -2,
}


class Compressor(NamedTuple):
    """The pair of affine maps y = A x + a and x′ = B y + b."""

    A: Array
    a: Array
    B: Array
    b: Array

    @classmethod
    def about(cls, mean: Array, A: Array, B: Array) -> Compressor:
        """Return the maps y = A (x − m) and x′ = m + B y."""
        return cls(A, -A @ mean, B, mean)


class LinearReducer(Reducer):
    """A reducer whose maps to and from the components are affine; a subclass writes `_compressor`."""

    _allow_sparse: ClassVar[bool] = True

    def _needs_length(self) -> bool:
        return self._reads_again or getattr(self, "solver", "auto") in ("gram", "krylov", "power")

    def compressor(self) -> Compressor:
        """Return A, a, B, b of the linear compressor: y = A x + a, and the reconstruction x′ = B y + b."""
        check_is_fitted(self)
        found, exponent = fit_view(self)._compressor(), vars(self).get("exponent_", 0)
        out = power(self, "transform")
        powers = (out - 1, out, 1 - out, 1)
        return Compressor(*(times(part, round(exponent * p)) for part, p in zip(found, powers, strict=True)))

    def _compressor(self) -> Compressor:
        """Return A, a, B, b in the units of the fit."""
        raise NotImplementedError

    def _offset(self) -> Array:
        """Return what is subtracted from dense rows before they are multiplied."""
        return self.mean_ if self._takes_means_off() else np.zeros(self.n_features_in_)

    def _row_map(self) -> Callable[[Array], Array]:
        A, a, *_ = self._compressor()
        offset = self._offset()

        def project(block: Array) -> Array:
            if sp.issparse(block):
                return np.asarray(block @ A.T) + a
            return arrays.less(block, offset) @ arrays.t(arrays.like(A, block, np.float64))

        return project

    @scaled_back("inverse_transform")
    def inverse_transform(self, X: Any) -> Array:
        """Map reduced rows back to the original columns: B y + b."""
        source = self._reduced(X, allow_nan=self._allow_nan)
        return source.map_blocks(self._inverse_map(), self.n_features_in_)

    def _inverse_map(self) -> Callable[[Array], Array]:
        *_, B, b = self._compressor()

        def rebuild(block: Array) -> Array:
            Y = arrays.cast(block, np.float64)
            return Y @ arrays.t(arrays.like(B, block, np.float64)) + arrays.like(b, block, np.float64)

        return rebuild

    @scaled_back("residual")
    def residual(self, X: Any) -> Array:
        """Return x − x̂: the rows less their reconstruction."""
        check_is_fitted(self)
        source = self._rows(X, reset=False)
        if source.sparse:
            raise DataError(Message("the residual of sparse rows is dense; give ", DENSE, " if it fits in memory"))
        there, back = self._row_map(), self._inverse_map()
        return source.map_blocks(lambda block: arrays.cast(block, np.float64) - back(there(block)), self.n_features_in_)


def check_count(owner: str, count: int | None, n: int | None, d: int) -> None:
    """Refuse more components than rows (where their number is known) or columns."""
    limit = d if n is None else min(n, d)
    if count is not None and count > limit:
        if n == 1:
            raise DataError(
                f"{owner}: the table has only 1 row (n_samples = 1); a reduction needs at least 2 different rows"
            )
        where = "" if n is None else f" (n_samples = {n}, n_features = {d})"
        text = f"{owner}: {{n_components}} is more than min(rows, columns) = {limit}{where}; ask for {limit} at most"
        raise DataError(message(text, n_components=count))


def linear_plan(
    model: Reducer, shape: DataShape, count: int | None, *, altered: bool = False, remedy: str | None = None
) -> Plan:
    """Return the plan of decomposing the rows into ``count`` directions (None: all), by the model's ``solver``.

    ``altered`` says that the rows are scaled, or not centred; ``remedy=None`` proposes the Krylov solver where it fits.
    """
    n, d = shape.n_rows, shape.n_features
    check_count(type(model).__name__, count, n, d)
    solver = getattr(model, "solver", "auto")
    route = rowspace.route(shape, ComponentRule(count=count)) if solver == "auto" else solver
    k = count or min(n or d, d)
    parts, seconds = rowspace.cost(route, shape, k, altered=altered)
    model_bytes = k * d * shape.dtype.itemsize + 16 * d + 40 * k
    plan = Plan.of(type(model).__name__, route, shape, parts, seconds, model_bytes=model_bytes, remedy=remedy or "")
    return _with_krylov_remedy(plan, shape, count) if remedy is None else plan


def _with_krylov_remedy(plan: Plan, shape: DataShape, count: int | None) -> Plan:
    """Return a plan with its remedy; the Krylov solver is proposed only where it fits in the memory limit."""
    fewer, few = "reduce fewer rows or columns", min(count or _FEW_COMPONENTS, _FEW_COMPONENTS)
    limit = memory_limit()
    if plan.bytes > limit and plan.algorithm != "krylov" and shape.n_rows is not None and shape.reiterable:
        parts, _ = rowspace.cost("krylov", shape, few)
        if sum(parts.values()) + shape.copied <= limit:
            return replace(
                plan, remedy=message(f"ask for {few} components with {{solver}}, or {fewer}", solver="krylov")
            )
    return replace(plan, remedy=fewer)


def tell(record: Recorder, space: RowSpace, asked: int | None, owner: str) -> None:
    """Write what a row-space decomposition did into the record, and warn where it fell short."""
    solved = space.solved
    record.note(
        algorithm=solved.route,
        solver=solved.solver,
        iterations=solved.products or None,
        residual=solved.residual,
    )
    record.tell_checked(solved.checked)
    if space.short or space.unseen:
        record.warn_short(len(space.values), asked, space.unseen)
    if not solved.converged:
        record.warn(
            message(
                f"{owner}: the iteration stopped before its tolerance (residual {solved.residual:.2g}); {{solver}} "
                "does not iterate on the rows",
                solver="covariance",
            ),
            NotConvergedWarning,
        )


def warn_dominant(model: Reducer, record: Recorder, variances: Array, remedy: Setting | None = SCALE) -> None:
    """Warn if one or two unscaled columns hold most of the variance, or if only one varies."""
    names = getattr(model, "feature_names_in_", None)
    words, only = dominant_words(variances, names), only_varying(variances, names)
    if only is not None:
        record.warn(f"{type(model).__name__}: {only}", DominantColumnWarning)
    if words is not None:
        text = dominance(words, "so the leading components mostly repeat it", remedy)
        record.warn(Message(f"{type(model).__name__}: ", text), DominantColumnWarning)
