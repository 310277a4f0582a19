"""Probabilistic PCA."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import arrays, pool
from ..errors import DataError, NotConvergedWarning
from ..parameters import RANDOM_STATE, Integer, Real, Rule
from ..planning import DataShape, Plan, check_allocation
from ..reducer import Recorder, seed
from ..rows import RowSource
from ..settings import report_progress
from ..spectral import rowspace
from ..spectral.rowspace import Scaling, Wanted
from .gaussian import Patterns, closed_form, expected_moments, log_likelihood, posterior
from .linear import Compressor, LinearReducer, tell, warn_dominant

Array = Any


class ProbabilisticPCA(LinearReducer):
    """A Gaussian with few directions and even noise (Tipping & Bishop 1999); takes and fills missing values (NaN).

    x = W z + m + ε,  z ~ N(0, I),  ε ~ N(0, σ²I);   σ² = mean of the discarded λ,  W = V (Λ − σ²I)^½.

    Complete data are solved in closed form. With missing values, EM alternates between the moments expected given
    what is observed, row patterns taken together, and the closed form; each step raises the likelihood. The
    coordinates are posterior means E[z | observed part of x]; ``inverse_transform`` gives E[x | z], so
    ``inverse_transform(transform(X))`` fills every gap with its conditional mean.

    Parameters
    ----------
    n_components : number of directions, fewer than the columns (one is left for the noise).
    max_iter, tol : EM stops when the log-likelihood per row grows by less than ``tol`` times its size.
    random_state : seed of `sample` and of iterative solvers; None is seed 0.

    Attributes
    ----------
    components_ : (k, D) orthonormal directions. ``weights_`` : (D, k) W. ``explained_variance_`` : (k,) λ of the model.
    noise_variance_ : σ². ``mean_`` : (D,). ``total_variance_``, ``spectrum_`` as in `PCA`. ``log_likelihood_`` : of the
    training rows. ``n_iter_`` : EM steps (1 for the closed form).

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
    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "max_iter": Integer(1),
        "tol": Real(0, 1),
        "random_state": RANDOM_STATE,
    }
    _state: ClassVar[tuple[str, ...]] = (
        "components_",
        "explained_variance_",
        "explained_variance_ratio_",
        "noise_variance_",
        "mean_",
        "spectrum_",
        "total_variance_",
        "log_likelihood_",
        "n_components_",
        "n_samples_",
        "n_iter_",
    )

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
        self, n_components: int = 2, *, max_iter: int = 1000, tol: float = 1e-9, random_state: int | None = None
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _plan(self, shape: DataShape) -> Plan:
        wanted = Wanted(count=self.n_components)
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

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        d, k = rows.n_features, self.n_components
        limit = min(d, rows.n_rows or d)
        if k > limit:
            raise DataError(
                f"ProbabilisticPCA: n_components={k} is more than min(rows, columns) = {limit} "
                f"(n_samples = {rows.n_rows}, n_features = {d}); ask for {limit} at most"
            )
        patterns = Patterns(d)
        if rows.reiterable:
            with record.stage("patterns"):
                patterns.scan(rows)
        if rows.reiterable and patterns.complete:
            self._closed_form(rows, record)
        else:
            self._expectation_maximisation(rows, patterns, record)

    def _closed_form(self, rows: RowSource, record: Recorder) -> None:
        with record.stage("solve"):
            space = rowspace.decompose(
                rows, Wanted(count=self.n_components), Scaling(ddof=0), rng=seed(self.random_state)
            )
        tell(record, space, self.n_components, "ProbabilisticPCA")
        solved = space.solved
        warn_dominant(record, solved.variances, getattr(self, "feature_names_in_", None), "ProbabilisticPCA")
        n = solved.weight
        values = space.values**2 / n
        left = solved.total / n - float(values.sum())
        self.n_samples_ = solved.n_rows
        self._learn(values, space.directions, max(left, 0.0), solved.mean, solved.spectrum / n, rows.dtype)
        self.log_likelihood_, self.n_iter_ = self._closed_likelihood(n), 1
        record.evidence["log-likelihood per row"] = self.log_likelihood_ / n
        record.evidence["noise variance"] = self.noise_variance_

    def _learn(self, values: Array, V: Array, left: float, mean: Array, spectrum: Array, dtype: Any) -> None:
        """Set the model from its eigenvalues, directions and the variance left over for the noise."""
        d, k = len(mean), len(values)
        self.n_components_ = k
        self.noise_variance_ = left / (d - k) if d > k else 0.0
        self.components_ = np.ascontiguousarray(V.T).astype(dtype)
        self.explained_variance_ = values
        self.total_variance_ = float(values.sum()) + left
        self.explained_variance_ratio_ = values / self.total_variance_
        self.spectrum_, self.mean_ = spectrum, mean

    def _closed_likelihood(self, n: float) -> float:
        """Return the log-likelihood at the optimum: −n/2 (D ln 2π + Σ ln λ + (D − k) ln σ² + D)."""
        d, k = len(self.mean_), self.n_components_
        if d > k and self.noise_variance_ <= 0:
            return float("inf")
        tail = (d - k) * np.log(self.noise_variance_) if d > k else 0.0
        return float(-0.5 * n * (d * np.log(2 * np.pi) + np.log(self.explained_variance_).sum() + tail + d))

    def _expectation_maximisation(self, rows: RowSource, patterns: Patterns, record: Recorder) -> None:
        d, k = rows.n_features, self.n_components
        check_allocation(4 * 8 * d * d, f"EM on {d} columns with missing values", "reduce fewer columns")
        with record.stage("patterns"):
            patterns.collect(rows)
        history: list[float] = []
        with record.stage("EM"), pool.one_blas_thread():
            mean, S = patterns.start()
            model = closed_form(S, k)
            for iteration in range(self.max_iter):
                mean, S, likelihood = expected_moments(patterns, mean, model)
                history.append(likelihood)
                report_progress("EM", iteration + 1, self.max_iter)
                model = closed_form(S, k)
                if iteration and history[-1] - history[-2] <= self.tol * abs(history[-1]):
                    break
            else:
                record.warn(
                    f"ProbabilisticPCA: EM did not settle in max_iter={self.max_iter} steps; raise max_iter or tol",
                    NotConvergedWarning,
                )
        self.n_samples_ = patterns.n_rows
        self._learn(model.values, model.V, model.left, mean, model.spectrum, rows.dtype)
        self.log_likelihood_, self.n_iter_ = history[-1], len(history)
        gain = history[-1] - history[-2] if len(history) > 1 else 0.0
        record.note(algorithm="EM", solver="dense", iterations=len(history), residual=abs(gain / history[-1]))
        record.evidence["log-likelihood per row"] = history[-1] / patterns.n_rows
        record.evidence["noise variance"] = self.noise_variance_
        record.evidence["missing"] = patterns.missing / (patterns.n_rows * d)
        record.evidence["patterns"] = len(patterns.groups)

    # -- use ----------------------------------------------------------------------------------------------------

    @property
    def weights_(self) -> Array:
        """(D, k) W = V (Λ − σ²I)^½."""
        return self.components_.T * np.sqrt((self.explained_variance_ - self.noise_variance_).clip(0))

    @property
    def eigenvalues_(self) -> Array:
        """The model's leading eigenvalues, the same as ``explained_variance_``."""
        return self.explained_variance_

    def _offset(self) -> Array:
        return self.mean_

    def compressor(self) -> Compressor:
        """Return A = M⁻¹Wᵀ with M = WᵀW + σ²I, a = −Am, B = W, b = m (for rows without gaps)."""
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
            return arrays.like(posterior(rows, W, self.mean_, self.noise_variance_), block, np.float64)

        return project

    def _inverse_map(self) -> Callable[[Array], Array]:
        """Return z → m + W z; a coordinate that is missing has its prior mean, 0."""
        rebuild = super()._inverse_map()

        def fill(block: Array) -> Array:
            xp = arrays.namespace(block)
            return rebuild(xp.where(xp.isnan(block), xp.zeros_like(block), block))

        return fill

    def fill(self, X: Any) -> Array:
        """Return X with every missing value replaced by its mean given the observed part of the row."""
        check_is_fitted(self)
        source = self._rows(X, reset=False)
        there, back = self._row_map(), self._inverse_map()

        def fill(block: Array) -> Array:
            xp, rows = arrays.namespace(block), arrays.cast(block, np.float64)
            return xp.where(xp.isnan(rows), back(there(block)), rows)

        return source.map_blocks(fill, self.n_features_in_)

    def score_samples(self, X: Any) -> Array:
        """Return the log-likelihood of each row (of its observed part where values are missing)."""
        check_is_fitted(self)
        if self.noise_variance_ <= 0:
            raise DataError("the noise variance is zero, so the density is not finite; fit with fewer components")
        source = self._rows(X, reset=False)
        W = self.weights_.astype(np.float64)

        def work(block: Array) -> Array:
            rows = arrays.to_numpy(block).astype(np.float64)
            return arrays.like(log_likelihood(rows, W, self.mean_, self.noise_variance_)[:, None], block, np.float64)

        return source.map_blocks(work, 1)[:, 0]

    def score(self, X: Any, y: None = None) -> float:
        """Return the mean log-likelihood of the rows."""
        return float(np.mean(arrays.to_numpy(self.score_samples(X))))

    def sample(self, n_samples: int = 1, *, random_state: int | None = None) -> Array:
        """Draw rows from the model; ``random_state`` defaults to the model's own."""
        check_is_fitted(self)
        rng = seed(self.random_state if random_state is None else random_state)
        z = rng.standard_normal((n_samples, self.n_components_))
        noise = rng.standard_normal((n_samples, self.n_features_in_)) * np.sqrt(self.noise_variance_)
        return (self.mean_ + z @ self.weights_.T + noise).astype(self.components_.dtype)

