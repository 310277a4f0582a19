"""Principal component analysis."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ...contract.parameters import RANDOM_STATE, AnyOf, Boolean, Choice, Integer, Nothing, Real, Rule, check
from ...contract.reducer import Recorder
from ...core import arrays
from ...core.cost import DataShape, Plan, check_allocation
from ...core.errors import DataError, LowlandWarning
from ...core.random import seed
from ...rows.moments import Accumulator, Moments, RFactor
from ...rows.row_source import RowSource
from ...rows.units import Units, fit_view, scaled, scaled_back
from ...spectral import rowspace
from ...spectral.routes import degrees
from ...spectral.rowspace import ROUTES, RowSpace
from ...spectral.solved import ComponentRule, Scaling
from ..shared.linear_map import Compressor, LinearReducer, check_count, tell, warn_dominant

Array = Any


def _unit(model: Any) -> int:
    """Return the power of the rows' unit that coordinates have: none where columns are divided by their deviations."""
    return 1 if model.scale_ is None else 0


def _results(model: Any) -> tuple[str, ...]:
    """Return the learned attributes that are solved from an accumulator."""
    return (*(name for name in model._state if name != "accumulator_"), "fit_info_")


class PCA(LinearReducer):
    """Principal component analysis: the orthogonal directions of largest variance (Pearson 1901; Hotelling 1933).

    C = (X − 1mᵀ)ᵀ(X − 1mᵀ)/(N − ddof) = V Λ Vᵀ;   y = Vᵀ(x − m);   x̂ = m + V y.

    Parameters
    ----------
    n_components : int, float, "auto" or None
        A number; a share of the variance in (0, 1); "auto" for parallel analysis (components that independent
        columns would not show, at least 1); None for all (the rank).
    solver : str
        "auto" chooses by shape (`lowland.spectral.rowspace.table`); "covariance" eigenvectors of C; "gram" the dual
        problem for fewer rows than columns; "svd" QR and singular values, keeps the smallest ones; "krylov" block
        Krylov on the rows; "power" repeated multiplication and deflation.
    center : bool
        Subtract the mean (off: uncentred second moments).
    scale : bool
        Divide each column by its standard deviation (correlation PCA).
    whiten : bool
        Divide coordinates by √λ, so that they have unit variance.
    ddof : int
        Variances are divided by N − ddof: 1 as in R's prcomp, 0 as in princomp.
    random_state : int, generator or None
        Seed of the iterative solvers and of parallel analysis; None is seed 0.

    Attributes
    ----------
    components_ : array (k, D)
        The directions, as rows.
    explained_variance_, eigenvalues_ : array (k,)
        λ, the variance along each direction.
    explained_variance_ratio_ : array (k,)
        λ over the total variance.
    singular_values_ : array (k,)
        Of the centred rows.
    mean_, scale_ : array (D,)
        What was subtracted and divided by, in float64; ``scale_`` is None unless ``scale``.
    spectrum_ : array
        All eigenvalues where they are cheap, else those computed.
    total_variance_ : float
        The sum of all eigenvalues, exact even where ``spectrum_`` is not whole.
    n_components_, n_samples_ : int
        Directions kept, rows seen.
    fit_info_ : FitInfo
        What was run and how exact it is.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X = np.array([[1.0, 0.0], [2.0, 1.5], [3.0, 1.0], [4.0, 3.0]])
    >>> pca = lowland.PCA(n_components=1, scale=True).fit(X)
    >>> pca.transform(X).shape, pca.fit_info_.algorithm
    ((4, 1), 'svd')
    >>> bool(np.allclose(lowland.PCA().fit(X).inverse_transform(lowland.PCA().fit_transform(X)), X))
    True
    """

    _streams: ClassVar[bool] = True
    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": AnyOf((Nothing(), Integer(1), Real(0, 1), Choice(("auto",)))),
        "solver": Choice(("auto", *ROUTES)),
        "center": Boolean(),
        "scale": Boolean(),
        "whiten": Boolean(),
        "ddof": Integer(0),
        "random_state": RANDOM_STATE,
    }
    _units: ClassVar[Units] = {
        "mean_": 1,
        "scale_": 1,
        "singular_values_": _unit,
        "explained_variance_": lambda model: 2 * _unit(model),
        "spectrum_": lambda model: 2 * _unit(model),
        "total_variance_": lambda model: 2 * _unit(model),
        "loadings": _unit,
        "transform": lambda model: 0 if model.whiten else _unit(model),
        "inverse_transform": 1,
        "residual": 1,
    }

    components_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    singular_values_: Array
    mean_: Array
    scale_: Array | None
    spectrum_: Array
    total_variance_: float
    n_samples_: int
    accumulator_: Accumulator

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        solver: str = "auto",
        center: bool = True,
        scale: bool = False,
        whiten: bool = False,
        ddof: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.center = center
        self.scale = scale
        self.whiten = whiten
        self.ddof = ddof
        self.random_state = random_state

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Learn the directions from the rows of X; a weight of 2 counts a row twice."""
        return self._run_fit(X, sample_weight)

    def partial_fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Take in more rows, exactly: any batches in any order give the same model as one fit.

        Sums of squares are kept, and solved when a result is first asked for. They do not show singular values below
        about 1e-7 of the largest, which `fit` does; where such values are asked for, a warning says so. With
        ``solver="svd"`` an R factor is kept, which shows them. `fit` keeps neither: after it, the first call begins
        anew and warns.
        """
        first = "accumulator_" not in vars(self)
        if first:
            if "components_" in vars(self):
                warnings.warn(
                    "PCA: fit keeps no sums that partial_fit could add to, so this begins anew with these rows alone; "
                    "to add rows later, give the first ones to partial_fit too",
                    LowlandWarning,
                    stacklevel=2,
                )
            check(type(self).__name__, self._parameters, self.get_params(deep=False))
            if self.solver in ("gram", "krylov"):
                raise ValueError(
                    f"PCA: partial_fit keeps sums over rows, which solver={self.solver!r} does not use; "
                    "take 'auto', 'covariance', 'svd' or 'power'"
                )
            self._forget()
        rows = self._rows(X, reset=first).weighted(sample_weight)
        if first:
            d = rows.n_features
            check_allocation(
                2 * 8 * d * d,
                f"exact partial_fit on {d} columns",
                "use fit with solver='krylov', or fewer columns",
            )
            self.accumulator_ = RFactor(d) if self.solver == "svd" else Moments(d, precise=True)
            self._keep_unit(self._exponent_of(rows))
        try:
            self.accumulator_.update(scaled(rows, -vars(self).get("exponent_", 0)))
        except BaseException:
            if first:
                self._forget()
            raise
        for name in _results(self):
            self.__dict__.pop(name, None)
        return self

    def __getattr__(self, name: str) -> Any:
        # Reached only for names that are not set: after partial_fit, solve when a result is first read.
        if "accumulator_" in vars(self) and name in _results(self):
            model = fit_view(self)
            model._solve_accumulator()
            self.__dict__.update({learned: vars(model)[learned] for learned in _results(self)})
            return getattr(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        return "components_" in vars(self) or "accumulator_" in vars(self)

    def _solve_accumulator(self) -> None:
        record = Recorder(type(self).__name__)
        with record.stage("solve"):
            space = rowspace.from_accumulator(
                self.accumulator_,
                self._wanted(),
                self._scaling(),
                rng=seed(self.random_state),
                solver="power" if self.solver == "power" else "auto",
            )
        self._learn(space, record, self.accumulator_.dtype)
        self.fit_info_ = record.info(None)

    def _wanted(self) -> ComponentRule:
        k = self.n_components
        if k is None:
            return ComponentRule()
        if isinstance(k, str):
            return ComponentRule(rule=self._parallel)
        return ComponentRule(share=float(k)) if 0 < k < 1 else ComponentRule(count=int(k))

    def _parallel(self, solved: Any) -> int:
        from ...spectral.parallel_analysis import parallel_analysis

        variances = solved.variances if solved.scale is None else np.where(solved.variances > 0, 1.0, 0.0)
        divisor = degrees(solved.weight, self.ddof)
        key = int(seed(self.random_state).integers(2**31))
        return int(
            parallel_analysis(solved.spectrum / divisor, max(2, round(solved.weight)), variances, random_state=key)
        )

    def _takes_means_off(self) -> bool:
        return self.center

    def _scaling(self) -> Scaling:
        return Scaling(self.center, self.scale, self.ddof)

    def _plan(self, shape: DataShape) -> Plan:
        wanted = self._wanted()
        check_count("PCA", wanted.count, shape.n_rows, shape.n_features)
        name = rowspace.route(shape, wanted) if self.solver == "auto" else self.solver
        smaller = min(shape.n_rows or shape.n_features, shape.n_features)
        k = min(smaller, wanted.count or smaller)
        parts, seconds = rowspace.cost(name, shape, k, altered=self.scale or not self.center)
        return Plan(
            method="PCA",
            algorithm=name,
            bytes=sum(parts.values()) + shape.copied,
            seconds=seconds,
            model_bytes=k * shape.n_features * shape.dtype.itemsize + 16 * shape.n_features + 40 * k,
            parts=parts,
            remedy="ask for few components with solver='krylov', or reduce fewer columns",
        )

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        wanted = self._wanted()
        check_count("PCA", wanted.count, rows.n_rows, rows.n_features)
        with record.stage("solve"):
            space = rowspace.decompose(rows, wanted, self._scaling(), solver=self.solver, rng=seed(self.random_state))
        self._learn(space, record, rows.dtype)

    def _learn(self, space: RowSpace, record: Recorder, dtype: Any) -> None:
        solved = space.solved
        count = self._wanted().count
        check_count("PCA", count, solved.n_rows, len(solved.mean))
        divisor = degrees(solved.weight, self.ddof)
        if solved.weight <= self.ddof:
            raise DataError(
                f"PCA: the weights sum to {solved.weight:g}, which leaves no degree of freedom with ddof={self.ddof}; "
                "scale them to sum to the number of rows, or use ddof=0"
            )
        tell(record, space, count, "PCA")
        if self.center and not self.scale:
            warn_dominant(record, solved.variances, getattr(self, "feature_names_in_", None), "PCA", "use scale=True")
        self.n_components_, self.n_samples_ = len(space.values), solved.n_rows
        self.components_ = np.array(space.directions.T, dtype=dtype, order="C")
        self.singular_values_ = space.values
        self.explained_variance_ = space.values**2 / divisor
        self.total_variance_ = solved.total / divisor
        self.explained_variance_ratio_ = self.explained_variance_ / self.total_variance_
        self.spectrum_ = solved.spectrum / divisor
        self.mean_ = solved.mean if self.center else np.zeros_like(solved.mean)
        self.scale_ = solved.scale
        record.evidence["share of variance"] = float(self.explained_variance_ratio_.sum())
        record.evidence["components"] = self.n_components_
        if not solved.complete:
            record.evidence["spectrum"] = f"{len(solved.spectrum)} largest values and the total"

    @property
    def eigenvalues_(self) -> Array:
        """Eigenvalues of the covariance, the same as ``explained_variance_``."""
        return self.explained_variance_

    @property
    @scaled_back("loadings")
    def loadings_(self) -> Array:
        """(D, k) V √λ: with ``scale`` the correlations of columns and components."""
        return self.components_.T * np.sqrt(self.explained_variance_)

    def _offset(self) -> Array:
        return self.mean_

    def _compressor(self) -> Compressor:
        # Without scaling and whitening A = Vᵀ, a = −Vᵀm, B = V, b = m.
        V = self.components_.astype(np.float64)
        root = np.sqrt(self.explained_variance_)[:, None] if self.whiten else 1.0
        scale = 1.0 if self.scale_ is None else self.scale_
        A = V / scale / root
        B = (V * scale * root).T
        return Compressor(A, -A @ self.mean_, B, self.mean_)

    @scaled_back("contributions")
    def contributions(self, X: Any) -> Array:
        """Return each row's share of each component's variance, y²/((N − ddof) λ): 1 in sum over the training rows."""
        Y = self._coordinates(X)
        degrees_of_freedom = self.singular_values_**2 / self.explained_variance_
        return Y**2 / (self.explained_variance_ * degrees_of_freedom)

    @scaled_back("cos2")
    def cos2(self, X: Any) -> Array:
        """Return how well each component shows each row: y²/‖x − m‖², between 0 and 1; 0 for a row at the mean."""
        Y = self._coordinates(X)
        source = self._rows(X, reset=False)
        scale = 1.0 if self.scale_ is None else self.scale_

        def squares(block: Array) -> Array:
            B = block.toarray() if hasattr(block, "toarray") else arrays.to_numpy(block)
            Z = (B.astype(np.float64) - self.mean_) / scale
            return (Z * Z).sum(axis=1, keepdims=True)

        length = arrays.to_numpy(source.map_blocks(squares, 1)).astype(np.float64)
        return np.divide(Y**2, length, out=np.zeros_like(Y), where=length > 0)

    def _coordinates(self, X: Any) -> Array:
        """Return coordinates in float64 with their variances, whitened or not."""
        Y = arrays.to_numpy(self.transform(X)).astype(np.float64)
        return Y * np.sqrt(self.explained_variance_) if self.whiten else Y
