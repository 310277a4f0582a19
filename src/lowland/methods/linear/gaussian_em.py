"""The mathematics of probabilistic PCA with gaps.

For a pattern with observed columns o, all follows from the thin decomposition W_o = P S Qᵀ: the observed part
has covariance C_oo = P (S² + σ²I) Pᵀ + σ² (I − PPᵀ), and E[z | x_o] = Q S (S² + σ²I)⁻¹ Pᵀ (x_o − m_o). No
matrix is inverted, so a small σ² costs no digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...contract.reducer import Recorder
from ...core import arrays, thread_pool
from ...core.cost import check_allocation
from ...core.errors import NotConvergedWarning
from ...core.message import message
from ...core.settings import report_progress
from ...rows.row_source import RowSource
from ...spectral import dense
from ...spectral.routes import rank_tolerance, square_tolerance
from ...spectral.rowspace import RowSpace
from ...spectral.solve import fix_signs
from .gaussian_model import LOG_2PI, ObservedColumns
from .missing_patterns import Batch, Patterns, batches, by_pattern

Array = np.ndarray[Any, Any]
BlockMap = Callable[[Any], Any]

NOISE_FLOOR = 1e-12  # of the first eigenvalue: EM on data without noise would shrink σ² for ever


@dataclass(frozen=True)
class Model:
    """Closed form of a covariance: leading values, directions, variance left for noise, whole spectrum."""

    values: Array
    V: Array
    left: float
    spectrum: Array

    @property
    def noise(self) -> float:
        """σ²."""
        d, k = self.V.shape
        return self.left / (d - k) if d > k else 0.0

    @property
    def W(self) -> Array:
        """V (Λ − σ²I)^½."""
        return np.asarray(self.V * np.sqrt((self.values - self.noise).clip(0)))

    def largest_likelihood(self, n: int) -> float:
        """Return the log-likelihood of n rows of this covariance: −n/2 (D ln 2π + Σ ln λ + (D − k) ln σ² + D)."""
        d, k = self.V.shape
        if d > k and self.noise <= 0:
            return float("inf")
        tail = (d - k) * np.log(self.noise) if d > k else 0.0
        return float(-0.5 * n * (d * np.log(2 * np.pi) + np.log(self.values).sum() + tail + d))

    def significant(self, floor: float) -> Model:
        """Return the model without directions and noise of at most ``floor`` times the first value."""
        tiny = floor * float(self.values[0])
        k = int((self.values > tiny).sum())
        left = self.left if self.noise > tiny else 0.0
        return replace(self, values=self.values[:k], V=self.V[:, :k], left=left)


def closed_form(S: Array, k: int) -> Model:
    """Return the model of largest likelihood for a covariance S."""
    values, vectors = dense.eigh(S)
    values, vectors = values[::-1].clip(0), vectors[:, ::-1]
    return Model(values[:k], fix_signs(vectors[:, :k]), float(values[k:].sum()), values)


@dataclass(frozen=True)
class Estimate:
    """A model of n rows: their mean, variances of the columns, log-likelihood, steps of EM, what else to record."""

    model: Model
    mean: Array
    variances: Array
    n: int
    likelihood: float
    steps: int = 1
    evidence: Mapping[str, float] = field(default_factory=dict)


def from_space(space: RowSpace) -> Estimate:
    """Return the estimate for decomposed rows, in closed form."""
    solved, n = space.solved, space.solved.weight
    model = Model(space.values**2 / n, space.directions, space.discarded(n), solved.spectrum / n)
    return Estimate(model, solved.mean, solved.variances, solved.n_rows, model.largest_likelihood(solved.n_rows))


def expected_moments(groups: list[Batch], mean: Array, model: Model) -> tuple[Array, Array, float]:
    """Return expected mean and covariance given what is observed, and the present model's log-likelihood."""
    d, W = len(mean), model.W
    noise = max(model.noise, NOISE_FLOOR * float(model.values[0]))

    def step(batch: Batch) -> tuple[Array, Array, float]:
        there, n = batch.there, batch.n
        seen = ObservedColumns.of(there[:, :, None] * W, noise)
        root, gaps = np.sqrt(n)[:, None, None], 1 - there[:, None, :]
        rows = np.concatenate([batch.factors, root * (batch.mean - there * mean)[:, None, :]], axis=1)
        whole = rows + gaps * (seen.coordinates(rows) @ W.T)  # stands for the rows with their gaps filled
        unsure = root * gaps * (seen.spread @ W.T)
        both = np.concatenate([whole, unsure], axis=1).reshape(-1, d)
        second = both.T @ both + np.diag(noise * (n @ (1 - there)))
        observed = there.sum(axis=1)
        terms = n * (observed * LOG_2PI + seen.log_determinant(observed)) + seen.distances(rows).sum(axis=1)
        return (root[:, 0] * whole[:, -1]).sum(axis=0), second, -0.5 * float(terms.sum())

    first, second, likelihood = np.zeros(d), np.zeros((d, d)), 0.0
    for part in thread_pool.run(step, groups):
        first, second, likelihood = first + part[0], second + part[1], likelihood + part[2]
    n = sum(float(batch.n.sum()) for batch in groups)
    shift = first / n
    return mean + shift, second / n - shift[:, None] * shift[None, :], likelihood


def from_patterns(
    rows: RowSource, names: Sequence[Any] | None, k: int, record: Recorder, *, tol: float, max_iter: int
) -> Estimate:
    """Return the estimate for rows read once: by EM, or in closed form where no value turns out missing."""
    d = rows.n_features
    check_allocation(4 * 8 * d * d, f"the covariance of {d} columns with missing values", "reduce fewer columns")
    patterns = Patterns(d, names)
    with record.stage("patterns"):
        patterns.collect(rows)
    n, (mean, S), variances = patterns.n_rows, patterns.start(), patterns.column_moments()[1]
    if not patterns.missing:
        least = max(square_tolerance(d), rank_tolerance(n, d, rows.dtype))
        model = closed_form(S, k).significant(least**2)
        if len(model.values) < k:
            record.warn_short(len(model.values), k, least, "one array is not squared")
        record.note(algorithm="closed form", solver="dense")
        return Estimate(model, mean, variances, n, model.largest_likelihood(n))
    with record.stage("EM"), thread_pool.one_blas_thread():
        mean, model, history = expectation_maximisation(patterns, mean, closed_form(S, k), record, tol, max_iter)
    model = model.significant(10 * NOISE_FLOOR)
    if len(model.values) < k:
        record.warn_short(len(model.values), k)
    gain = abs(history[-1] - history[-2]) / int(patterns.seen.sum()) if len(history) > 1 else None
    record.note(algorithm="EM", solver="dense", iterations=len(history), residual=gain)
    likelihood = float("inf") if model.noise == 0 and len(model.values) < d else history[-1]
    evidence = {"missing": patterns.missing / (n * d), "patterns": len(patterns.groups)}
    return Estimate(model, mean, variances, n, likelihood, len(history), evidence)


def expectation_maximisation(
    patterns: Patterns, mean: Array, model: Model, record: Recorder, tol: float, max_iter: int
) -> tuple[Array, Model, list[float]]:
    """Return the mean and the model that EM ends with, and the log-likelihood before each step."""
    history, k = list[float](), len(model.values)
    groups = batches(patterns.groups.values(), patterns.n_features)
    for step in range(1, max_iter + 1):
        next_mean, S, likelihood = expected_moments(groups, mean, model)
        history.append(likelihood)
        report_progress("EM", step, max_iter)
        # Compared with the number of values: the likelihood itself changes with the units of the columns.
        if step > 1 and history[-1] - history[-2] <= tol * int(patterns.seen.sum()):
            break
        if step < max_iter:
            mean, model = next_mean, closed_form(S, k)
    else:
        record.warn(
            message(
                f"ProbabilisticPCA: EM did not converge in {max_iter} steps; raise {{max_iter}} or {{tol}}",
                max_iter=...,
                tol=...,
            ),
            NotConvergedWarning,
        )
    return mean, model, history


# -- rows with gaps -------------------------------------------------------------------------------------------------


def projection(project: BlockMap, W: Array, mean: Array, noise: float) -> BlockMap:
    """Return the map of blocks to E[z | observed part]; ``project`` maps rows without gaps."""

    def work(block: Any) -> Any:
        xp = arrays.namespace(block)
        if not bool(xp.any(xp.isnan(block))):
            return project(block)
        rows = arrays.to_numpy(block).astype(np.float64)
        Z = posterior(rows, W, mean, noise)
        complete = ~np.isnan(rows).any(axis=1)
        Z[complete] = project(rows[complete])  # the same map whatever rows stand beside it
        return arrays.like(Z, block, np.float64)

    return work


def reconstruction(rebuild: BlockMap) -> BlockMap:
    """Return the map of blocks z to E[x | z]; a missing coordinate has its prior mean, 0."""

    def work(block: Any) -> Any:
        xp = arrays.namespace(block)
        return rebuild(xp.where(xp.isnan(block), xp.zeros_like(block), block))

    return work


def filling(project: BlockMap, rebuild: BlockMap) -> BlockMap:
    """Return the map of blocks that fills gaps with E[x | observed part]."""

    def work(block: Any) -> Any:
        xp, rows = arrays.namespace(block), arrays.cast(block, np.float64)
        return xp.where(xp.isnan(rows), rebuild(project(block)), rows)

    return work


def log_density(W: Array, mean: Array, noise: float, lost: float) -> BlockMap:
    """Return the map of blocks to the log-likelihood of each row, less ``lost`` for each observed value."""

    def work(block: Any) -> Any:
        rows = arrays.to_numpy(block).astype(np.float64)
        density = log_likelihood(rows, W, mean, noise) - lost * (~np.isnan(rows)).sum(axis=1)
        return arrays.like(density[:, None], block, np.float64)

    return work


def posterior(X: Array, W: Array, mean: Array, noise: float) -> Array:
    """Return E[z | observed part] for each row; a row with nothing observed has the prior mean 0."""
    out = np.zeros((len(X), W.shape[1]))
    for part, o in by_pattern(~np.isnan(X)):
        out[part] = ObservedColumns.of(W[o], noise).coordinates(X[np.ix_(part, o)] - mean[o])
    return out


def log_likelihood(X: Array, W: Array, mean: Array, noise: float) -> Array:
    """Return ln N(x_o; m_o, W_oW_oᵀ + σ²I) for each row's observed part; 0 where nothing is observed."""
    out = np.zeros(len(X))
    for part, o in by_pattern(~np.isnan(X)):
        out[part] = ObservedColumns.of(W[o], noise).log_likelihood(X[np.ix_(part, o)] - mean[o])
    return out


def mapped_spread(there: Array, W: Array, noise: float, A: Array) -> Array:
    """Return the covariance of A x given the observed part of x, for each row; A is (k, D), the result (n, k, k).

    Cov(x_m | x_o) = W_m Cov(z | x_o) W_mᵀ + σ²I for the missing columns m; observed ones have none.
    """
    out = np.zeros((len(there), len(A), len(A)))
    for part, o in by_pattern(there):
        m = np.setdiff1d(np.arange(there.shape[1]), o, assume_unique=True)
        if len(m):
            along = A[:, m] @ W[m] @ _posterior_root(W[o], noise)
            out[part] = along @ along.T + noise * A[:, m] @ A[:, m].T
    return out


def _posterior_root(W: Array, noise: float) -> Array:
    """Return R with R Rᵀ = Cov(z | x_o) for the rows W_o of the observed columns; I where nothing is observed."""
    k = W.shape[1]
    if len(W) == 0:
        return np.eye(k)
    seen = ObservedColumns.of(W, noise)
    hidden = np.eye(k) - seen.Qt.T @ seen.Qt  # directions without any observed column keep their variance
    return np.hstack([seen.spread.T, hidden])
