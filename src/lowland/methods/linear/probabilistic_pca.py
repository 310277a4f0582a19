"""Probabilistic PCA."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...contract.parameters import RANDOM_STATE, Integer, Real, Rule
from ...contract.reducer import Recorder
from ...core import arrays, thread_pool
from ...core.cost import DataShape, Plan, check_allocation
from ...core.errors import DataError, NotConvergedWarning
from ...core.random import seed
from ...core.settings import report_progress
from ...rows.row_source import RowSource
from ...rows.units import Units, scaled_back
from ...spectral import rowspace
from ...spectral.routes import rank_tolerance, square_tolerance
from ...spectral.solved import ComponentRule, Scaling
from ..shared.linear_map import Compressor, LinearReducer, check_count, tell, warn_dominant
from .gaussian_em import NOISE_FLOOR, Model, closed_form, expected_moments, log_likelihood, posterior
from .missing_patterns import REMEDY, Patterns, batches, cost, survey

Array = Any


class ProbabilisticPCA(LinearReducer):
    """A Gaussian with few directions and even noise (Tipping & Bishop 1999); takes and fills gaps (NaN).

    x = W z + m + ε,  z ~ N(0, I),  ε ~ N(0, σ²I);   σ² = mean of the discarded λ,  W = V (Λ − σ²I)^½.

    Complete data are solved in closed form. With missing values, EM alternates between the moments expected
    given what is observed, row patterns taken together, and the closed form; no step lowers the likelihood.
    The coordinates are posterior means E[z | observed part of x]; ``inverse_transform`` gives E[x | z], so
    ``inverse_transform(transform(X))`` fills every gap with its conditional mean.

    Parameters
    ----------
    n_components : int
        Number of directions; fewer than the columns, or no noise is left and there is no density.
    max_iter : int
        EM stops after so many steps, with a warning.
    tol : float
        EM stops when a step raises the log-likelihood by less than this for each observed value.
    random_state : int, generator or None
        Seed of `sample` and of iterative solvers; None is seed 0.

    Attributes
    ----------
    components_ : array (k, D)
        Orthonormal directions, as rows.
    weights_ : array (D, k)
        W.
    explained_variance_, eigenvalues_ : array (k,)
        λ of the model, divided by N.
    explained_variance_ratio_ : array (k,)
        λ over the total variance.
    noise_variance_ : float
        σ².
    mean_ : array (D,)
        m.
    total_variance_, spectrum_ : float, array
        As in `PCA`, divided by N; with gaps, of the expected covariance.
    log_likelihood_ : float
        Of the training rows; infinite where they have no noise.
    n_iter_ : int
        EM steps (1 for the closed form).
    n_components_, n_samples_ : int
        Directions kept, rows seen.
    fit_info_ : FitInfo
        What was run and how exact it is.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) @ [[1.0, 2.0, 3.0]] + 0.1 * rng.standard_normal((200, 3))
    >>> X[3, 1] = np.nan
    >>> model = lowland.ProbabilisticPCA(1).fit(X)
    >>> filled = model.fill(X)
    >>> bool(abs(filled[3, 1] - 2 * filled[3, 0]) < 0.5)
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
        "mean_": 1,
        "explained_variance_": 2,
        "noise_variance_": 2,
        "spectrum_": 2,
        "total_variance_": 2,
        "noise variance": 2,
        **dict.fromkeys(("weights", "inverse_transform", "residual", "fill", "sample"), 1),
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
    n_iter_: int

    def __init__(
        self,
        n_components: int = 2,
        *,
        max_iter: int = 1000,
        tol: float = 1e-9,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _plan(self, shape: DataShape) -> Plan:
        check_count("ProbabilisticPCA", self.n_components, shape.n_rows, shape.n_features)
        wanted = ComponentRule(count=self.n_components)
        name = rowspace.route(shape, wanted)
        k = min(self.n_components, shape.n_features)
        parts, seconds = rowspace.cost(name, shape, k)
        return Plan(
            method="ProbabilisticPCA",
            algorithm=f"closed form ({name}); EM if values are missing",
            bytes=sum(parts.values()) + shape.copied,
            seconds=seconds,
            model_bytes=8 * (k + 1) * shape.n_features,
            parts=parts,
            remedy="reduce fewer columns",
        )

    def _plan_rows(self, rows: RowSource) -> Plan:
        """With gaps, EM is run, and what it takes depends on their patterns."""
        plan = self._plan(rows.shape)
        found = survey(rows) if rows.reiterable else None  # blocks that are read once are checked as they come
        if found is None:
            return plan
        parts, seconds = cost(found, rows.n_features, min(self.n_components, rows.n_features))
        taken = sum(parts.values()) + rows.shape.copied
        return replace(plan, algorithm="EM", bytes=taken, seconds=seconds, parts=parts, remedy=REMEDY)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        d = rows.n_features
        check_count("ProbabilisticPCA", self.n_components, rows.n_rows, d)
        if rows.reiterable and (record.plan is None or record.plan.algorithm != "EM"):
            self._closed_form(rows, record)
            return
        check_allocation(4 * 8 * d * d, f"the covariance of {d} columns with missing values", "reduce fewer columns")
        patterns = Patterns(d, getattr(self, "feature_names_in_", None))
        with record.stage("patterns"):
            patterns.collect(rows)
        self._from_patterns(patterns, rows.dtype, record)

    def _closed_form(self, rows: RowSource, record: Recorder) -> None:
        with record.stage("solve"):
            space = rowspace.decompose(
                rows, ComponentRule(count=self.n_components), Scaling(ddof=0), rng=seed(self.random_state)
            )
        tell(record, space, self.n_components, "ProbabilisticPCA")
        solved = space.solved
        warn_dominant(
            record,
            solved.variances,
            getattr(self, "feature_names_in_", None),
            "ProbabilisticPCA",
            "standardise them first",
        )
        n = solved.weight
        values = space.values**2 / n
        if solved.complete:  # the difference below would leave rounding where there is no noise
            left = float(solved.spectrum[len(values) :].sum()) / n
        else:
            left = max(solved.total / n - float(values.sum()), 0.0)
        self.n_samples_ = solved.n_rows
        model = Model(values, space.directions, left, solved.spectrum / n)
        self._learn(model, solved.mean, rows.dtype)
        self._conclude(self._closed_likelihood(n), 1, record)

    def _keep_unit(self, exponent: int, record: Recorder | None = None) -> None:
        super()._keep_unit(exponent, record)
        if exponent and record is not None:  # a density is one of the rows' unit to the power −1 for each value
            values = self.n_features_in_ * (1 - record.evidence.get("missing", 0.0))
            lost = values * exponent * float(np.log(2))
            self.log_likelihood_ -= self.n_samples_ * lost
            record.evidence["log-likelihood per row"] -= lost

    def _learn(self, model: Model, mean: Array, dtype: Any) -> None:
        self.n_components_ = len(model.values)
        self.noise_variance_ = model.noise
        self.components_ = np.ascontiguousarray(model.V.T).astype(dtype)
        self.explained_variance_ = model.values
        self.total_variance_ = float(model.values.sum()) + model.left
        self.explained_variance_ratio_ = model.values / self.total_variance_
        self.spectrum_, self.mean_ = model.spectrum, mean

    def _conclude(self, likelihood: float, steps: int, record: Recorder) -> None:
        self.log_likelihood_, self.n_iter_ = likelihood, steps
        record.evidence["log-likelihood per row"] = likelihood / self.n_samples_
        record.evidence["noise variance"] = self.noise_variance_

    def _closed_likelihood(self, n: float) -> float:
        """Return the log-likelihood at the optimum: −n/2 (D ln 2π + Σ ln λ + (D − k) ln σ² + D)."""
        d, k = len(self.mean_), self.n_components_
        if d > k and self.noise_variance_ <= 0:
            return float("inf")
        tail = (d - k) * np.log(self.noise_variance_) if d > k else 0.0
        return float(-0.5 * n * (d * np.log(2 * np.pi) + np.log(self.explained_variance_).sum() + tail + d))

    def _from_patterns(self, patterns: Patterns, dtype: Any, record: Recorder) -> None:
        """Learn from rows summed by pattern: in closed form if they turn out complete, else by EM."""
        k, n = self.n_components, patterns.n_rows
        mean, S = patterns.start()
        model = closed_form(S, k)
        history: list[float] = []
        if patterns.missing:
            with record.stage("EM"), thread_pool.one_blas_thread():
                mean, model, history = self._expectation_maximisation(patterns, mean, model, record)
        d = patterns.n_features
        least = max(square_tolerance(d), rank_tolerance(n, d, dtype))
        kept = model.significant(10 * NOISE_FLOOR if history else least**2)
        if len(kept.values) < k:
            record.warn_short(len(kept.values), k, 0.0 if history else least, "one array is not squared")
        names = getattr(self, "feature_names_in_", None)
        warn_dominant(record, patterns.column_moments()[1], names, "ProbabilisticPCA", "standardise them first")
        self.n_samples_ = n
        self._learn(kept, mean, dtype)
        if not history:
            record.note(algorithm="closed form", solver="dense")
            self._conclude(self._closed_likelihood(n), 1, record)
            return
        gain = abs(history[-1] - history[-2]) / int(patterns.seen.sum()) if len(history) > 1 else None
        record.note(algorithm="EM", solver="dense", iterations=len(history), residual=gain)
        degenerate = kept.noise == 0 and self.n_components_ < patterns.n_features
        self._conclude(float("inf") if degenerate else history[-1], len(history), record)
        record.evidence["missing"] = patterns.missing / (n * patterns.n_features)
        record.evidence["patterns"] = len(patterns.groups)

    def _expectation_maximisation(
        self, patterns: Patterns, mean: Array, model: Model, record: Recorder
    ) -> tuple[Array, Model, list[float]]:
        """Return the mean and the model that EM ends with, and the log-likelihood before each step."""
        history: list[float] = []
        groups = batches(patterns.groups.values(), patterns.n_features)
        for step in range(1, self.max_iter + 1):
            next_mean, S, likelihood = expected_moments(groups, mean, model)
            history.append(likelihood)
            report_progress("EM", step, self.max_iter)
            # Beside the number of values, and not the likelihood itself, which changes with the units of the columns.
            if step > 1 and history[-1] - history[-2] <= self.tol * int(patterns.seen.sum()):
                break
            if step < self.max_iter:
                mean, model = next_mean, closed_form(S, self.n_components)
        else:
            record.warn(
                f"ProbabilisticPCA: EM did not settle in max_iter={self.max_iter} steps; raise it, or tol",
                NotConvergedWarning,
            )
        return mean, model, history

    # -- use -------------------------------------------------------------------------------------------

    @property
    @scaled_back("weights")
    def weights_(self) -> Array:
        """(D, k) W = V (Λ − σ²I)^½."""
        return self.components_.T * np.sqrt((self.explained_variance_ - self.noise_variance_).clip(0))

    @property
    def eigenvalues_(self) -> Array:
        """The model's leading eigenvalues, the same as ``explained_variance_``."""
        return self.explained_variance_

    def _offset(self) -> Array:
        return self.mean_

    def _compressor(self) -> Compressor:
        # A = M⁻¹Wᵀ with M = WᵀW + σ²I, a = −Am, B = W, b = m (for rows without gaps)
        V = self.components_.astype(np.float64)
        root = np.sqrt((self.explained_variance_ - self.noise_variance_).clip(0))
        A = V * (root / self.explained_variance_)[:, None]
        return Compressor(A, -A @ self.mean_, (V * root[:, None]).T, self.mean_)

    def _row_map(self) -> Callable[[Array], Array]:
        whole = super()._row_map()
        W = self.weights_.astype(np.float64)

        def project(block: Array) -> Array:
            xp = arrays.namespace(block)
            if not bool(xp.any(xp.isnan(block))):
                return whole(block)
            rows = arrays.to_numpy(block).astype(np.float64)
            found = posterior(rows, W, self.mean_, self.noise_variance_)
            complete = ~np.isnan(rows).any(axis=1)
            found[complete] = whole(rows[complete])  # the same map whatever rows stand beside it
            return arrays.like(found, block, np.float64)

        return project

    def _inverse_map(self) -> Callable[[Array], Array]:
        """Return z → m + W z; a coordinate that is missing has its prior mean, 0."""
        rebuild = super()._inverse_map()

        def fill(block: Array) -> Array:
            xp = arrays.namespace(block)
            return rebuild(xp.where(xp.isnan(block), xp.zeros_like(block), block))

        return fill

    @scaled_back("fill")
    def fill(self, X: Any) -> Array:
        """Return X with every missing value replaced by its mean given the observed part of the row."""
        check_is_fitted(self)
        source = self._rows(X, reset=False)
        there, back = self._row_map(), self._inverse_map()

        def fill(block: Array) -> Array:
            xp, rows = arrays.namespace(block), arrays.cast(block, np.float64)
            return xp.where(xp.isnan(rows), back(there(block)), rows)

        return source.map_blocks(fill, self.n_features_in_)

    @scaled_back("score_samples")
    def score_samples(self, X: Any) -> Array:
        """Return the log-likelihood of each row (of its observed part where values are missing)."""
        check_is_fitted(self)
        if self.noise_variance_ <= 0:
            raise DataError("the noise variance is zero, so the density is not finite; fit with fewer components")
        source = self._rows(X, reset=False)
        W, lost = self.weights_.astype(np.float64), self._scaled_by * np.log(2)  # for each value, in units of the fit

        def work(block: Array) -> Array:
            rows = arrays.to_numpy(block).astype(np.float64)
            found = log_likelihood(rows, W, self.mean_, self.noise_variance_) - lost * (~np.isnan(rows)).sum(axis=1)
            return arrays.like(found[:, None], block, np.float64)

        return source.map_blocks(work, 1)[:, 0]

    def score(self, X: Any, y: None = None) -> float:
        """Return the mean log-likelihood of the rows."""
        return float(np.mean(arrays.to_numpy(self.score_samples(X))))

    @scaled_back("sample")
    def sample(self, n_samples: int = 1, *, random_state: int | None = None) -> Array:
        """Draw rows from the model; ``random_state`` defaults to the model's own."""
        check_is_fitted(self)
        rng = seed(self.random_state if random_state is None else random_state)
        z = rng.standard_normal((n_samples, self.n_components_))
        noise = rng.standard_normal((n_samples, self.n_features_in_)) * np.sqrt(self.noise_variance_)
        return (self.mean_ + z @ self.weights_.T + noise).astype(self.components_.dtype)
