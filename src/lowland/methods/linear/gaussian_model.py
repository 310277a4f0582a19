"""The Gaussian of probabilistic PCA, low-rank covariance plus isotropic noise: covariance, inverse, density.

Nothing here inverts a matrix, and a density needs no D × D matrix: C = P (S² + σ²I) Pᵀ + σ² (I − PPᵀ) is diagonal along
the columns of P and across them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ...core import arrays
from ...core.cost import check_allocation
from ...core.errors import DataError
from ...rows.block import block_rows
from ...rows.units import scaled_back
from ...spectral import dense

Array = Any

LOG_2PI = float(np.log(2 * np.pi))
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ObservedColumns:
    """What the observed columns tell of z: W_o = P S Qᵀ, and the noise; leading axes are patterns.

    Without noise, P must be square: a density exists only where all directions have a variance.
    """

    P: Array
    s: Array
    Qt: Array
    noise: float

    @classmethod
    def of(cls, W: Array, noise: float) -> ObservedColumns:
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
        along = np.log(self.s**2 + self.noise).sum(axis=-1)
        return along + (observed - self.s.shape[-1]) * np.log(self.noise) if self.noise > 0 else along

    def distances(self, Z: Array) -> Array:
        """Return zᵀ C_oo⁻¹ z for each row of Z: along P, and across it."""
        along = Z @ self.P
        inside = (along**2 / (self.s**2 + self.noise)[..., None, :]).sum(axis=-1)
        if not self.noise > 0:
            return np.asarray(inside)
        across = Z - along @ self.P.mT
        return np.asarray(inside + (across**2).sum(axis=-1) / self.noise)

    def log_likelihood(self, Z: Array) -> Array:
        """Return ln N(z; 0, C_oo) for each row of Z, which has the observed columns alone."""
        observed = Z.shape[-1]
        return -0.5 * (observed * LOG_2PI + self.log_determinant(observed) + self.distances(Z))


@dataclass(frozen=True)
class LowRankGaussian:
    """N(m, S C S) with C = V (Λ − σ²I) Vᵀ + σ²I; S holds the divisors of the columns, 1 where there are none."""

    mean: Array
    V: Array
    values: Array
    noise: float
    scale: Any

    @classmethod
    def of(cls, model: Any) -> LowRankGaussian:
        """Return the Gaussian of a fitted model, in the unit of its fit."""
        V = np.ascontiguousarray(model.components_.T, dtype=np.float64)
        scale = getattr(model, "scale_", None)
        noise, scale = float(model.noise_variance_), np.ones(len(V)) if scale is None else scale
        return cls(model.mean_, V, np.maximum(model.explained_variance_, noise), noise, scale)

    def require_density(self) -> None:
        """Raise if the covariance is singular."""
        d, k = self.V.shape
        if k < d and self.noise <= 0:
            raise DataError(
                f"the noise variance is zero, so the covariance of {d} columns has rank {k} and no inverse, and the "
                "density is not finite; fit with fewer components, or with more rows than columns"
            )

    def covariance(self) -> Array:
        """Return S C S."""
        return self._sum(self.values - self.noise, self.noise) * self.scale * self.scale[:, None]

    def precision(self) -> Array:
        """Return the inverse of the covariance, with C⁻¹ = V (Λ⁻¹ − σ⁻²I) Vᵀ + σ⁻²I."""
        self.require_density()
        across = 1 / self.noise if self.noise > 0 else 0.0
        return self._sum(1 / self.values - across, across) / self.scale / self.scale[:, None]

    def _sum(self, along: Array, across: float) -> Array:
        """Return V diag(along) Vᵀ + across · I."""
        d = len(self.V)
        check_allocation(3 * 8 * d * d, f"the covariance of {d} columns", "score rows without it, or use fewer columns")
        out = (self.V * along) @ self.V.T
        out[np.arange(d), np.arange(d)] += across
        return out

    def log_density(self) -> Callable[[Array], Array]:
        """Return the map of blocks of rows to their log-density, as one column."""
        self.require_density()
        d, k = self.V.shape
        seen = ObservedColumns(self.V, np.sqrt(self.values - self.noise), np.eye(k), self.noise)
        divided = float(np.log(self.scale).sum())  # rows divided by S are denser

        def part(rows: Array) -> Array:
            return seen.log_likelihood((rows.astype(np.float64) - self.mean) / self.scale) - divided

        def work(block: Array) -> Array:
            if not sp.issparse(block):
                return arrays.like(part(arrays.to_numpy(block))[:, None], block, np.float64)
            step = block_rows(d)  # sparse blocks can have more rows than fit when they are written out
            pieces = [part(block[i : i + step].toarray()) for i in range(0, block.shape[0], step)]
            return np.concatenate(pieces)[:, None]

        return work


# -- of fitted models that have such a Gaussian --------------------------------------------------------------------


@scaled_back("get_covariance", learned=True)
def covariance(model: Any) -> Array:
    """Return the covariance of the columns (D, D), in the units of the rows."""
    check_is_fitted(model)
    return LowRankGaussian.of(model).covariance().astype(model.components_.dtype, copy=False)


@scaled_back("get_precision", learned=True)
def precision(model: Any) -> Array:
    """Return the inverse of the covariance (D, D)."""
    check_is_fitted(model)
    return LowRankGaussian.of(model).precision().astype(model.components_.dtype, copy=False)


@scaled_back("score_samples")
def score_samples(model: Any, X: Any) -> Array:
    """Return the log-likelihood of each row, without a D × D matrix."""
    check_is_fitted(model)
    density, lost = LowRankGaussian.of(model).log_density(), log_unit(model) * model.n_features_in_
    return model._rows(X, reset=False).map_blocks(lambda block: density(block) - lost, 1)[:, 0]


def score(model: Any, X: Any) -> float:
    """Return the mean log-likelihood of the rows."""
    return float(np.mean(arrays.to_numpy(model.score_samples(X))))


def noise_of_spectrum(model: Any) -> float:
    """Return the mean of the discarded eigenvalues of a PCA: those computed, and what is left of the total variance."""
    k, size = model.n_components_, min(model.n_samples_, model.n_features_in_)
    left = model.total_variance_ - float(model.spectrum_.sum())
    rounding = size * float(np.finfo(model.components_.dtype).eps) * model.total_variance_
    discarded = model.spectrum_[k:].sum() + (left if left > rounding else 0.0)
    return float(discarded / max(size - k, 1))


def log_unit(model: Any) -> float:
    """Return what the log-density of rows, in their own unit, is less by for each value than in the unit of the fit."""
    return float(model._scaled_by * np.log(2))
