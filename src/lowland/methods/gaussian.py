"""The mathematics of probabilistic PCA with gaps: rows that miss the same columns are taken together.

For a pattern with observed columns o, all follows from the thin decomposition W_o = P S Qᵀ: the observed part
has covariance C_oo = P (S² + σ²I) Pᵀ + σ² (I − PPᵀ), and E[z | x_o] = Q S (S² + σ²I)⁻¹ Pᵀ (x_o − m_o). No
matrix is inverted, so a small σ² costs no digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays, pool
from ..errors import DataError
from ..rows import Block, RowSource, require_finite
from ..settings import report_progress
from ..spectral import dense
from ..spectral.solve import fix_signs

Array = np.ndarray[Any, Any]

NOISE_FLOOR = 1e-12  # of the first eigenvalue: EM on data without noise would shrink σ² for ever
_BATCH_ENTRIES = 1 << 18  # numbers in a batch of groups: its few temporaries stay in the processor's cache
_EPS = float(np.finfo(np.float64).eps)
_LOG_2PI = float(np.log(2 * np.pi))


@dataclass
class Group:
    """Rows with one pattern of gaps: observed columns, count, mean, and a factor F with FᵀF = scatter."""

    observed: Array
    n: float
    mean: Array
    factor: Array


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


class Patterns:
    """Rows grouped by which columns they miss; large groups keep only a square factor of their scatter."""

    def __init__(self, n_features: int, names: Sequence[Any] | None = None) -> None:
        self.n_features, self.names = n_features, names
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
        for done, block in enumerate(rows.blocks(), start=1):
            seen += self._observed(block)[1].sum(axis=0)
            report_progress("patterns", done, rows.block_count())
        self._refuse_empty(seen)

    def _observed(self, block: Block) -> tuple[Array, Array]:
        """Return the rows and which of their values are there."""
        require_finite(block, allow_nan=True)
        X = arrays.to_numpy(block.rows)
        there = ~np.isnan(X)
        self.missing += int(there.size - there.sum())
        return X, there

    def _refuse_empty(self, seen: Array) -> None:
        empty = np.flatnonzero(seen == 0)
        if len(empty):
            first = int(empty[0])
            name = first if self.names is None else repr(str(self.names[first]))
            raise DataError(f"column {name} has no observed value at all: leave it out")

    def collect(self, rows: RowSource) -> None:
        """Sum the rows into groups."""
        self.missing, seen = 0, np.zeros(self.n_features, dtype=np.int64)
        for done, block in enumerate(rows.blocks(), start=1):
            report_progress("groups", done, rows.block_count())
            X, there = self._observed(block)
            seen += there.sum(axis=0)
            for part, observed in by_pattern(there):
                self._add(there[part[0]].tobytes(), observed, X[np.ix_(part, observed)].astype(np.float64))
            self.n_rows += len(X)
        self._refuse_empty(seen)

    def _add(self, key: bytes, observed: Array, X: Array) -> None:
        n, mean = float(len(X)), X.mean(axis=0)
        factor = _square(X - mean) if len(X) > 1 else X[:0]
        held = self.groups.get(key)
        if held is None:
            self.groups[key] = Group(observed, n, mean, factor)
            return
        total, delta = held.n + n, mean - held.mean
        link = np.sqrt(held.n * n / total) * delta
        held.factor = _square(np.vstack([held.factor, factor, link[None, :]]))
        held.mean, held.n = held.mean + delta * (n / total), total

    def column_moments(self) -> tuple[Array, Array]:
        """Return mean and variance of what is observed in each column; refuse rows that do not vary."""
        n, total, squares = (np.zeros(self.n_features) for _ in range(3))
        for g in self.groups.values():
            n[g.observed] += g.n
            total[g.observed] += g.n * g.mean
        mean = total / n
        for g in self.groups.values():
            squares[g.observed] += (g.factor**2).sum(axis=0) + g.n * (g.mean - mean[g.observed]) ** 2
        variances = squares / n
        if (variances <= (4 * _EPS * np.abs(mean)) ** 2).all():
            raise DataError(
                "the observed values do not vary in any column (rank 0); a reduction needs at least two distinct rows"
            )
        return mean, variances

    def start(self) -> tuple[Array, Array]:
        """Return a first mean and covariance, exact where no value is missing."""
        mean, variances = self.column_moments()
        full = self.groups.get(np.ones(self.n_features, dtype=bool).tobytes())
        if full is not None and (self.complete or full.n > 2 * self.n_features):
            return mean, full.factor.T @ full.factor / full.n
        return mean, np.diag(variances)


def _square(Z: Array) -> Array:
    """Return at most as many rows as columns with the same scatter."""
    if Z.shape[1] == 0:
        return Z[:0]
    return Z if Z.shape[0] <= Z.shape[1] else np.asarray(np.linalg.qr(Z, mode="r"))


@dataclass(frozen=True)
class Batch:
    """Groups with equally many factor rows, side by side, zero where nothing is observed.

    there (B, D), n (B,), mean (B, D), factors (B, r, D).
    """

    there: Array
    n: Array
    mean: Array
    factors: Array


def batches(groups: Iterable[Group], d: int) -> list[Batch]:
    """Stack groups, so that a step of EM is a few large products whatever the number of patterns."""
    by_size: dict[int, list[Group]] = {}
    for g in groups:
        by_size.setdefault(len(g.factor), []).append(g)
    found = []
    for r, alike in sorted(by_size.items()):
        size = max(1, _BATCH_ENTRIES // (d * (r + 1)))
        found += [_stack(alike[first : first + size], r, d) for first in range(0, len(alike), size)]
    return found


def _stack(groups: list[Group], r: int, d: int) -> Batch:
    B = len(groups)
    batch = Batch(np.zeros((B, d)), np.array([g.n for g in groups]), np.zeros((B, d)), np.zeros((B, r, d)))
    for i, g in enumerate(groups):
        batch.there[i, g.observed] = 1.0
        batch.mean[i, g.observed] = g.mean
        batch.factors[i][:, g.observed] = g.factor
    return batch


@dataclass(frozen=True)
class Seen:
    """What the observed columns tell of z: W_o = P S Qᵀ, and the noise; leading axes are patterns."""

    P: Array
    s: Array
    Qt: Array
    noise: float

    @classmethod
    def of(cls, W: Array, noise: float) -> Seen:
        """Decompose the rows of W that belong to the observed columns (others may stand as zeros)."""
        P, s, Q = dense.svd(W)
        return cls(P, s, Q.mT, noise)

    def coordinates(self, Z: Array) -> Array:
        """Return E[z | x_o] for rows x_o − m_o: Q S (S² + σ²I)⁻¹ Pᵀ."""
        s = self.s
        sure = s > self.P.shape[-2] * _EPS * s[..., :1]  # without noise, an unseen direction divides by zero
        gain = np.divide(s, s**2 + self.noise, out=np.zeros_like(s), where=sure)
        return np.asarray((Z @ self.P * gain[..., None, :]) @ self.Qt)

    @property
    def spread(self) -> Array:
        """A root of the covariance of z given x_o, σ (S² + σ²I)^−½ Qᵀ: its square is that covariance."""
        return np.asarray(np.sqrt(self.noise / (self.s**2 + self.noise))[..., None] * self.Qt)

    def log_determinant(self, observed: Any) -> Any:
        """Return ln |C_oo| for patterns of so many observed columns."""
        return np.log(self.s**2 + self.noise).sum(axis=-1) + (observed - self.s.shape[-1]) * np.log(self.noise)

    def distances(self, Z: Array) -> Array:
        """Return zᵀ C_oo⁻¹ z for each row of Z: along P, and across it."""
        along = Z @ self.P
        across = Z - along @ self.P.mT
        inside = (along**2 / (self.s**2 + self.noise)[..., None, :]).sum(axis=-1)
        return np.asarray(inside + (across**2).sum(axis=-1) / self.noise)


def expected_moments(groups: list[Batch], mean: Array, model: Model) -> tuple[Array, Array, float]:
    """Return expected mean and covariance given what is observed, and the present model's log-likelihood."""
    d, W = len(mean), model.W
    noise = max(model.noise, NOISE_FLOOR * float(model.values[0]))

    def step(batch: Batch) -> tuple[Array, Array, float]:
        there, n = batch.there, batch.n
        seen = Seen.of(there[:, :, None] * W, noise)
        root, gaps = np.sqrt(n)[:, None, None], 1 - there[:, None, :]
        rows = np.concatenate([batch.factors, root * (batch.mean - there * mean)[:, None, :]], axis=1)
        whole = rows + gaps * (seen.coordinates(rows) @ W.T)  # stands for the rows with their gaps filled
        unsure = root * gaps * (seen.spread @ W.T)
        both = np.concatenate([whole, unsure], axis=1).reshape(-1, d)
        second = both.T @ both + np.diag(noise * (n @ (1 - there)))
        observed = there.sum(axis=1)
        terms = n * (observed * _LOG_2PI + seen.log_determinant(observed)) + seen.distances(rows).sum(axis=1)
        return (root[:, 0] * whole[:, -1]).sum(axis=0), second, -0.5 * float(terms.sum())

    first, second, likelihood = np.zeros(d), np.zeros((d, d)), 0.0
    for part in pool.run(step, groups):
        first, second, likelihood = first + part[0], second + part[1], likelihood + part[2]
    n = sum(float(batch.n.sum()) for batch in groups)
    shift = first / n
    return mean + shift, second / n - shift[:, None] * shift[None, :], likelihood


def by_pattern(there: Array) -> list[tuple[Array, Array]]:
    """Return (row numbers in order, observed columns) for each pattern of values that are there."""
    packed = np.packbits(there, axis=1)
    order = np.lexsort(packed.T)  # stable, so rows of one pattern stay in order
    changes = np.flatnonzero((packed[order][1:] != packed[order][:-1]).any(axis=1)) + 1
    return [(part, np.flatnonzero(there[part[0]])) for part in np.split(order, changes)]


def posterior(X: Array, W: Array, mean: Array, noise: float) -> Array:
    """Return E[z | observed part] for each row; a row with nothing observed has the prior mean 0."""
    out = np.zeros((len(X), W.shape[1]))
    for part, o in by_pattern(~np.isnan(X)):
        out[part] = Seen.of(W[o], noise).coordinates(X[np.ix_(part, o)] - mean[o])
    return out


def log_likelihood(X: Array, W: Array, mean: Array, noise: float) -> Array:
    """Return ln N(x_o; m_o, W_oW_oᵀ + σ²I) for each row's observed part; 0 where nothing is observed."""
    out = np.zeros(len(X))
    for part, o in by_pattern(~np.isnan(X)):
        seen = Seen.of(W[o], noise)
        distances = seen.distances(X[np.ix_(part, o)] - mean[o])
        out[part] = -0.5 * (len(o) * _LOG_2PI + seen.log_determinant(len(o)) + distances)
    return out
