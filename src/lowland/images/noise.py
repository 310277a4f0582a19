"""How strong the noise of images is, and what an error is worth that can only be seen through noise.

**Level.** Noise that is independent in all pixels adds σ² to every eigenvalue of the covariance, while images need few
components. So the small eigenvalues are noise. Without clean images σ² is their lower quartile over that of the
Marchenko–Pastur law, by which the number of images spreads them (Gavish & Donoho 2014 take the median, which fine
detail of images raises), or the median of |a − b − c + d|/2 over squares of four pixels, over 0.6745 (as Donoho &
Johnstone 1994 do with wavelets), whichever is smaller: detail raises both. With clean images it is what noisy
ones have more than clean ones outside the plane of half of the components.

**Risk.** The error of a method on noisy images y = x + e cannot be computed without x. But for any noise ω of the same
variance, y + √α ω and y − ω/√α have uncorrelated noise, so the mean of ‖f(y + √α ω) − (y − ω/√α)‖² is the error of f at
noise of variance (1 + α)σ² plus a constant (Oliveira, Lei, Tibshirani 2021, arXiv:2111.09447).
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import LowlandWarning
from ..methods.linear.pca import PCA

Array = Any

ALPHA = 0.25
SHARE = 0.25  # of the eigenvalues that lie below the one that tells the level


class Trial(NamedTuple):
    """Images to denoise in a trial, what they are compared with, and the part of the squared error that is noise."""

    given: Array
    target: Array
    constant: float

    def error(self, denoised: Array) -> float:
        """Return the mean squared error of denoised images, an estimate where clean ones are not known."""
        off = denoised - self.target
        return float(np.mean(off * off)) - self.constant


def trial_of_clean(clean: Array, noise: float, rng: np.random.Generator) -> Trial:
    """Return clean images with noise, to be compared with themselves."""
    return Trial(clean + noise * rng.standard_normal(clean.shape), clean, 0.0)


def trial_of_noisy(noisy: Array, noise: float, rng: np.random.Generator) -> Trial:
    """Return noisy images with more noise, to be compared with others whose noise is uncorrelated with theirs."""
    extra = noise * rng.standard_normal(noisy.shape)
    return Trial(noisy + ALPHA**0.5 * extra, noisy - extra / ALPHA**0.5, noise**2 * (1 + 1 / ALPHA))


def noise_level(noisy: Array, clean: Array | None = None, shape: tuple[int, ...] | None = None) -> float:
    """Return the standard deviation of the noise of images, (n, pixels), in units of their pixels.

    ``shape`` is that of an image, (height, width) or (height, width, 3).

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 40)) + 0.5 * rng.standard_normal((300, 40))
    >>> round(noise_level(X), 2)
    0.5
    """
    if clean is not None:
        return _beside_clean(noisy, clean)
    squares = _of_squares(noisy, shape) if shape is not None and min(shape[:2]) > 1 else np.inf
    return float(min(_of_eigenvalues(noisy), squares))


def _of_squares(noisy: Array, shape: tuple[int, ...]) -> float:
    X = noisy.reshape(len(noisy), *shape)
    details = (X[:, 1:, 1:] - X[:, :-1, 1:] - X[:, 1:, :-1] + X[:, :-1, :-1]) / 2
    return float(np.median(np.abs(details)) / 0.6745)


def _of_eigenvalues(noisy: Array) -> float:
    n, d = len(noisy) - 1, noisy.shape[1]  # one degree of freedom is the mean
    off = noisy - noisy.mean(axis=0)
    if not off.any():
        return 0.0
    values = quiet_pca(None, noisy).explained_variance_
    full = np.zeros(min(n, d))
    full[: min(len(values), len(full))] = values[: len(full)]
    wide = max(1.0, d / n)  # of more pixels than images, n of d eigenvalues carry the noise of all
    return float(np.sqrt(np.quantile(full, SHARE) / (wide * marchenko_pastur_quantile(min(n, d) / max(n, d)))))


def _beside_clean(noisy: Array, clean: Array) -> float:
    half = len(clean) // 2
    plane = quiet_pca(max(1, min(half - 1, clean.shape[1]) // 2), clean[:half])
    left = clean.shape[1] - plane.n_components_

    def outside(rows: Array) -> float:
        off = rows - plane.inverse_transform(plane.transform(rows))
        return float((off * off).sum(axis=1).mean() / left)

    return float(np.sqrt(max(outside(noisy) - outside(clean[half:]), 0.0)))


def marchenko_pastur_quantile(beta: float, share: float = SHARE) -> float:
    """Return a quantile of the eigenvalues of the covariance of unit noise, for ``beta`` columns per row (at most 1).

    >>> round(marchenko_pastur_quantile(1e-6, 0.5), 3), round(marchenko_pastur_quantile(1.0, 0.5), 3)
    (1.0, 0.653)
    """
    low, high = (1 - beta**0.5) ** 2, (1 + beta**0.5) ** 2
    angle = (np.arange(20_000) + 0.5) * np.pi / 20_000
    t = low + (high - low) * (1 - np.cos(angle)) / 2  # so that the density has no infinite end
    mass = np.sqrt((high - t) * (t - low)) / t * np.sin(angle)
    return float(t[np.searchsorted(np.cumsum(mass) / mass.sum(), share)])


def quiet_pca(k: int | None, rows: Array) -> PCA:
    """Return PCA of images, without its advice on columns and on ranks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowlandWarning)
        return PCA(k, random_state=0).fit(rows)
