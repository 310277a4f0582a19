"""Probabilistic PCA."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...contract.parameters import RANDOM_STATE, Integer, Real, Rule
from ...contract.reducer import Recorder
from ...core.cost import DataShape, Plan
from ...core.random import seed
from ...rows.row_source import RowSource
from ...rows.units import Units, scaled_back
from ...spectral import rowspace
from ...spectral.solved import ComponentRule, Scaling
from ..shared.linear_map import LINEAR_UNITS, Compressor, LinearReducer, linear_plan, summarize, tell, warn_dominant
from . import gaussian_em, gaussian_model
from .missing_patterns import REMEDY, cost, survey

Array = Any


class ProbabilisticPCA(LinearReducer):
    """A Gaussian of low-rank covariance plus isotropic noise (Tipping & Bishop 1999); fills missing values (NaN).

    x = W z + m + ε,  z ~ N(0, I),  ε ~ N(0, σ²I);   σ² = mean of the discarded λ,  W = V (Λ − σ²I)^½.

    Complete data are solved in closed form. With missing values, EM alternates between the moments expected given
    the observed values and the closed form; no step lowers the likelihood. Coordinates are E[z | observed part of x].

    Parameters
    ----------
    n_components : int
        Number of directions; with as many as columns no noise is left.
    max_iter, tol : int, float
        EM stops after this many steps, with a warning, or when one raises the log-likelihood by less than tol a value.
    random_state : int, generator or None
        Seed of `sample` and of iterative solvers; None is seed 0.

    Attributes
    ----------
    components_, weights_ : array (k, D), array (D, k)
        V, orthonormal directions as rows; W.
    explained_variance_, eigenvalues_, explained_variance_ratio_ : array (k,)
        λ of the model, divided by N; the same; λ over the total variance.
    mean_, noise_variance_, total_variance_, spectrum_ : array (D,), float, float, array
        m; σ²; the others as in `PCA`, divided by N; with missing values, of the expected covariance.
    log_likelihood_, n_iter_ : float, int
        Of the training rows, infinite where they have no noise; EM steps (1 for the closed form).
    n_components_, n_samples_, fit_info_ : int, int, FitInfo
        Directions kept; rows seen; what was run and how exact it is.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) @ [[1.0, 2.0, 3.0]] + 0.1 * rng.standard_normal((200, 3))
    >>> X[3, 1] = np.nan
    >>> bool(abs(lowland.ProbabilisticPCA(1).fit(X).fill(X)[3, 1] - 2 * X[3, 0]) < 0.5)
    True
    """

    _allow_nan: ClassVar[bool] = True
    _allow_sparse: ClassVar[bool] = False
    _streams: ClassVar[bool] = True
    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "max_iter": Integer(1),
        "tol": Real(0, 1),
        "random_state": RANDOM_STATE,
    }
    _units: ClassVar[Units] = {
        **LINEAR_UNITS,
        **dict.fromkeys(("weights", "fill", "sample"), 1),
        **dict.fromkeys(("explained_variance_", "noise_variance_", "noise variance"), 2),
        **dict.fromkeys(("spectrum_", "total_variance_"), 2),
    }

    components_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    noise_variance_: float
    mean_: Array
    spectrum_: Array
    total_variance_: float
    log_likelihood_: float
    n_samples_: int
    row_tails_: dict[str, Any]
    n_iter_: int

    def __init__(
        self, n_components: int = 2, *, max_iter: int = 1000, tol: float = 1e-9, random_state: int | None = None
    ) -> None:
        self.n_components, self.max_iter, self.tol, self.random_state = n_components, max_iter, tol, random_state

    def _plan(self, shape: DataShape) -> Plan:
        plan = linear_plan(self, shape, self.n_components, remedy="reduce fewer columns")
        algorithm, model = f"closed form ({plan.algorithm}); EM if values are missing", 8 * (self.n_components + 1)
        return replace(plan, algorithm=algorithm, model_bytes=model * shape.n_features)

    def _plan_rows(self, rows: RowSource) -> Plan:
        plan = self._plan(rows.shape)
        gaps = survey(rows) if rows.reiterable else None  # blocks that are read once are checked as they come
        if gaps is None:
            return plan
        parts, seconds = cost(gaps, rows.n_features, self.n_components)
        total = sum(parts.values()) + rows.shape.copied
        return replace(plan, algorithm="EM", bytes=total, seconds=seconds, parts=parts, remedy=REMEDY)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        k, names = self.n_components, getattr(self, "feature_names_in_", None)
        if not rows.reiterable or (record.plan is not None and record.plan.algorithm == "EM"):
            found = gaussian_em.from_patterns(rows, names, k, record, tol=self.tol, max_iter=self.max_iter)
        else:
            with record.stage("solve"):
                space = rowspace.decompose(rows, ComponentRule(count=k), Scaling(ddof=0), rng=seed(self.random_state))
            tell(record, space, k, "ProbabilisticPCA")
            found = gaussian_em.from_space(space)
        warn_dominant(self, record, found.variances, None)
        model = found.model
        self.n_components_, self.n_samples_, self.n_iter_ = len(model.values), found.n, found.steps
        self.components_ = np.ascontiguousarray(model.V.T).astype(rows.dtype)
        self.mean_, self.noise_variance_, self.log_likelihood_ = found.mean, model.noise, found.likelihood
        self.explained_variance_, self.spectrum_ = model.values, model.spectrum
        self.total_variance_ = float(model.values.sum()) + model.left
        self.explained_variance_ratio_ = model.values / self.total_variance_
        record.evidence |= {"log-likelihood per row": found.likelihood / found.n, "noise variance": model.noise}
        record.evidence |= found.evidence
        summarize(self, rows)

    def _keep_unit(self, exponent: int, record: Recorder | None = None) -> None:
        super()._keep_unit(exponent, record)
        if exponent and record is not None:  # a density has the rows' unit to the power −1 for each value
            lost = self.n_features_in_ * (1 - record.evidence.get("missing", 0.0)) * exponent * float(np.log(2))
            self.log_likelihood_ -= self.n_samples_ * lost
            record.evidence["log-likelihood per row"] -= lost

    @property
    @scaled_back("weights")
    def weights_(self) -> Array:
        """(D, k) W = V (Λ − σ²I)^½."""
        return self.components_.T * np.sqrt((self.explained_variance_ - self.noise_variance_).clip(0))

    eigenvalues_ = property(attrgetter("explained_variance_"), doc="The same as ``explained_variance_``.")

    def _compressor(self) -> Compressor:
        # for rows without gaps: A = M⁻¹Wᵀ with M = WᵀW + σ²I, B = W
        V = self.components_.astype(np.float64)
        root = np.sqrt((self.explained_variance_ - self.noise_variance_).clip(0))
        return Compressor.about(self.mean_, V * (root / self.explained_variance_)[:, None], (V * root[:, None]).T)

    def _row_map(self) -> Callable[[Array], Array]:
        return gaussian_em.projection(super()._row_map(), *self._gaussian())

    def _inverse_map(self) -> Callable[[Array], Array]:
        return gaussian_em.reconstruction(super()._inverse_map())

    def _gaussian(self) -> tuple[Array, Array, float]:
        return self.weights_.astype(np.float64), self.mean_, self.noise_variance_

    @scaled_back("fill")
    def fill(self, X: Any) -> Array:
        """Return X with every missing value replaced by its mean given the observed part of the row."""
        check_is_fitted(self)
        fill = gaussian_em.filling(self._row_map(), self._inverse_map())
        return self._rows(X, reset=False).map_blocks(fill, self.n_features_in_)

    @scaled_back("score_samples")
    def score_samples(self, X: Any) -> Array:
        """Return the log-likelihood of each row (of its observed part where values are missing)."""
        check_is_fitted(self)
        gaussian_model.LowRankGaussian.of(self).require_density()
        work = gaussian_em.log_density(*self._gaussian(), lost=gaussian_model.log_unit(self))
        return self._rows(X, reset=False).map_blocks(work, 1)[:, 0]

    def score(self, X: Any, y: None = None) -> float:
        """Return the mean log-likelihood of the rows."""
        return gaussian_model.score(self, X)

    def get_covariance(self) -> Array:
        """Return the model's covariance of the columns, W Wᵀ + σ²I (D, D)."""
        return gaussian_model.covariance(self)

    def get_precision(self) -> Array:
        """Return the inverse of `get_covariance`; an error where σ² is 0 and directions are left out."""
        return gaussian_model.precision(self)

    @scaled_back("sample")
    def sample(self, n_samples: int = 1, *, random_state: int | None = None) -> Array:
        """Draw rows from the model; ``random_state`` defaults to the model's own."""
        check_is_fitted(self)
        rng = seed(self.random_state if random_state is None else random_state)
        z = rng.standard_normal((n_samples, self.n_components_))
        noise = rng.standard_normal((n_samples, self.n_features_in_)) * np.sqrt(self.noise_variance_)
        return (self.mean_ + z @ self.weights_.T + noise).astype(self.components_.dtype)
