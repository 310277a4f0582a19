"""The mathematics of probabilistic PCA with gaps: rows that miss the same columns are taken together.

For a pattern with observed columns o: W_o, M_o = W_oᵀW_o + σ²I (k × k), and by the matrix inversion lemma
C_oo⁻¹ = (I − W_o M_o⁻¹ W_oᵀ)/σ²; nothing larger than k × k is inverted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError
from ..rows import Block, RowSource, require_finite
from ..spectral import dense
from ..spectral.solve import fix_signs

Array = np.ndarray[Any, Any]

_LOG_2PI = float(np.log(2 * np.pi))


@dataclass
class Group:
    """Rows with one pattern of gaps: their observed columns, count, mean, and a factor F with FᵀF = scatter."""

    observed: Array
    n: float
    mean: Array
    factor: Array


@dataclass(frozen=True)
class Model:
    """Closed-form PPCA of a covariance: leading values, directions, variance left for the noise, whole spectrum."""

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
        return self.V * np.sqrt((self.values - self.noise).clip(0))


def closed_form(S: Array, k: int) -> Model:
    """Return the model of largest likelihood for a covariance S."""
    values, vectors = dense.eigh(S)
    values, vectors = values[::-1].clip(0), vectors[:, ::-1]
    return Model(values[:k], fix_signs(vectors[:, :k]), float(values[k:].sum()), values)


class Patterns:
    """Rows grouped by which columns they miss; groups with more rows than columns keep only a square factor."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.groups: dict[bytes, Group] = {}
        self.n_rows = 0
        self.missing = 0

    @property
    def complete(self) -> bool:
        """Tell whether no value is missing."""
        return self.missing == 0

    def scan(self, rows: RowSource) -> None:
        """Count what is missing; refuse infinities and columns with nothing observed."""
        seen = np.zeros(self.n_features, dtype=np.int64)
        for block in rows.blocks():
            seen += self._check(block)
        self._refuse_empty(seen)

    def _check(self, block: Block) -> Array:
        from .. import arrays

        require_finite(block, allow_nan=True)
        present = ~np.isnan(arrays.to_numpy(block.rows))
        self.missing += int(present.size - present.sum())
        return np.asarray(present.sum(axis=0))

    def _refuse_empty(self, seen: Array) -> None:
        empty = np.flatnonzero(seen == 0)
        if len(empty):
            raise DataError(f"column {int(empty[0])} has no observed value at all: leave it out")

    def collect(self, rows: RowSource) -> None:
        """Sum the rows into groups."""
        from .. import arrays

        self.missing, seen = 0, np.zeros(self.n_features, dtype=np.int64)
        for block in rows.blocks():
            seen += self._check(block)
            X = arrays.to_numpy(block.rows).astype(np.float64)
            gaps = np.isnan(X)
            packed = np.packbits(gaps, axis=1)
            order = np.lexsort(packed.T[::-1])
            changes = np.flatnonzero((packed[order][1:] != packed[order][:-1]).any(axis=1)) + 1
            for part in np.split(order, changes):
                observed = np.flatnonzero(~gaps[part[0]])
                self._add(packed[part[0]].tobytes(), observed, X[np.sort(part)][:, observed])
            self.n_rows += len(X)
        self._refuse_empty(seen)

    def _add(self, key: bytes, observed: Array, X: Array) -> None:
        n, mean = float(len(X)), X.mean(axis=0)
        factor = _square(X - mean)
        held = self.groups.get(key)
        if held is None:
            self.groups[key] = Group(observed, n, mean, factor)
            return
        total, delta = held.n + n, mean - held.mean
        link = np.sqrt(held.n * n / total) * delta
        held.factor = _square(np.vstack([held.factor, factor, link[None, :]]))
        held.mean, held.n = held.mean + delta * (n / total), total

    def start(self) -> tuple[Array, Array]:
        """Return the observed means and variances, independent columns: a start that no row is left out of."""
        n, total, squares = (np.zeros(self.n_features) for _ in range(3))
        for g in self.groups.values():
            n[g.observed] += g.n
            total[g.observed] += g.n * g.mean
        mean = total / n
        for g in self.groups.values():
            squares[g.observed] += (g.factor**2).sum(axis=0) + g.n * (g.mean - mean[g.observed]) ** 2
        full = self.groups.get(np.packbits(np.zeros((1, self.n_features), dtype=bool), axis=1)[0].tobytes())
        if full is not None and full.n > 2 * self.n_features:  # enough complete rows: their covariance is closer
            return mean, full.factor.T @ full.factor / full.n
        return mean, np.diag(squares / n)


def _square(Z: Array) -> Array:
    return np.linalg.qr(Z, mode="r") if Z.shape[0] > Z.shape[1] > 0 else Z


def expected_moments(patterns: Patterns, mean: Array, model: Model) -> tuple[Array, Array, float]:
    """Return the expected mean and covariance given what is observed, and the log-likelihood of the present model."""
    d, W = patterns.n_features, model.W
    noise = max(model.noise, 1e-12 * float(model.values[0]))
    n = float(patterns.n_rows)
    first, second, likelihood = np.zeros(d), np.zeros((d, d)), 0.0
    for g in patterns.groups.values():
        o = g.observed
        m = np.setdiff1d(np.arange(d), o, assume_unique=True)
        delta = g.mean - mean[o]
        rows = np.vstack([g.factor, np.sqrt(g.n) * delta[None, :]])  # stands for Σ (x_o − m_o)(x_o − m_o)ᵀ
        inverse, logdet = _small_inverse(W[o], noise)
        fill = W[m] @ inverse @ W[o].T if len(m) else np.zeros((0, len(o)))
        whole = np.empty((len(rows), d))
        whole[:, o], whole[:, m] = rows, rows @ fill.T
        second += whole.T @ whole
        if len(m):
            second[np.ix_(m, m)] += g.n * noise * (np.eye(len(m)) + W[m] @ inverse @ W[m].T)
        first[o] += g.n * delta
        first[m] += g.n * (fill @ delta)
        z = rows @ W[o]
        distance = (float((rows**2).sum()) - float(((z @ inverse) * z).sum())) / noise
        full = logdet + (len(o) - W.shape[1]) * np.log(noise)
        likelihood -= 0.5 * (g.n * (len(o) * _LOG_2PI + full) + distance)
    shift = first / n
    return mean + shift, second / n - shift[:, None] * shift[None, :], likelihood


def _small_inverse(W: Array, noise: float) -> tuple[Array, float]:
    """Return (WᵀW + σ²I)⁻¹ and the log-determinant of what was inverted."""
    values, Q = dense.eigh(W.T @ W + noise * np.eye(W.shape[1]))
    return (Q / values) @ Q.T, float(np.log(values).sum())


def _by_pattern(X: Array) -> list[tuple[Array, Array]]:
    """Return (row numbers, observed columns) for each pattern of gaps."""
    gaps = np.isnan(X)
    packed = np.packbits(gaps, axis=1)
    _, inverse = np.unique(packed, axis=0, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(inverse.ravel()[order])) + 1)
    return [(part, np.flatnonzero(~gaps[part[0]])) for part in parts]


def posterior(X: Array, W: Array, mean: Array, noise: float) -> Array:
    """Return E[z | observed part] for each row; a row with nothing observed has the prior mean 0."""
    noise = max(noise, 1e-12 * float((W**2).sum()))
    out = np.zeros((len(X), W.shape[1]))
    for part, o in _by_pattern(X):
        if len(o):
            inverse, _ = _small_inverse(W[o], noise)
            out[part] = (X[np.ix_(part, o)] - mean[o]) @ W[o] @ inverse
    return out


def log_likelihood(X: Array, W: Array, mean: Array, noise: float) -> Array:
    """Return ln N(x_o; m_o, W_oW_oᵀ + σ²I) for each row's observed part."""
    out = np.zeros(len(X))
    for part, o in _by_pattern(X):
        if len(o):
            inverse, logdet = _small_inverse(W[o], noise)
            Z = X[np.ix_(part, o)] - mean[o]
            z = Z @ W[o]
            distance = ((Z**2).sum(axis=1) - ((z @ inverse) * z).sum(axis=1)) / noise
            out[part] = -0.5 * (len(o) * _LOG_2PI + logdet + (len(o) - W.shape[1]) * np.log(noise) + distance)
    return out
