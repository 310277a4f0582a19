"""How many components, and which width of the kernel, remove noise best: chosen by the error on held-out images."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.errors import LowlandWarning
from ..methods.kernel.kernel_pca import KernelPCA
from ..pairs.kernels import median_gamma
from .noise import Trial, quiet_pca

Array = Any
Strength = tuple[int, float | None]  # components, and width of the kernel over the median distance

COUNTS = (2, 4, 8, 16, 32, 64, 128, 256)
WIDTHS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
_START = (32, 1.4)  # near the best of digits with noise of half their range
_MEDIAN_ROWS = 500  # of which the median distance is taken


def linear_errors(train: Array, trial: Trial, counts: Sequence[int] | None = None) -> dict[Strength, float]:
    """Return the error of PCA with 1, 2, … components, or with the given numbers of them."""
    pca = quiet_pca(None, train)
    scores = pca.transform(trial.given)
    left = np.asarray(pca.mean_) - trial.target
    errors: dict[Strength, float] = {}
    for i, direction in enumerate(np.asarray(pca.components_)):
        left = left + scores[:, i : i + 1] * direction
        if counts is None or i + 1 in counts:
            errors[i + 1, None] = float(np.mean(left * left)) - trial.constant
    return errors


def kernel_errors(train: Array, trial: Trial, components: int | None, width: float | None) -> dict[Strength, float]:
    """Return the errors of kernel PCA at the numbers of components and widths that a grid search tried.

    The search goes to the best of the neighbours on the grid until none is better.
    """
    most = len(train) - 1
    counts = [components] if components is not None else [k for k in COUNTS if k <= most] or [1]
    widths = [width] if width is not None else list(WIDTHS)
    errors: dict[Strength, float] = {}

    def error(i: int, j: int) -> float:
        key = (counts[i], widths[j])
        if key not in errors:
            errors[key] = trial.error(denoise_kernel(train, trial.given, *key))
        return errors[key]

    _descend(error, (_nearest(counts, _START[0]), _nearest(widths, _START[1])), (len(counts), len(widths)))
    return errors


def _nearest(values: Sequence[float], wanted: float) -> int:
    return min(range(len(values)), key=lambda i: abs(math.log(values[i] / wanted)))


def _descend(error: Callable[[int, int], float], start: tuple[int, int], shape: tuple[int, int]) -> None:
    """Move from a point of a grid to the best of its neighbours until none is better."""
    i, j = start
    while True:
        near = [
            (i + a, j + b)
            for a in (-1, 0, 1)
            for b in (-1, 0, 1)
            if 0 <= i + a < shape[0] and 0 <= j + b < shape[1] and abs(a) + abs(b) <= 1
        ]
        best = min(near, key=lambda place: (error(*place), place))
        if error(*best) >= error(i, j):
            return
        i, j = best


def kernel_gamma(train: Array, width: float) -> float:
    """Return γ = 1/(2σ²) of a Gaussian whose σ is ``width`` times the median distance of the images."""
    return float(median_gamma("rbf", train[:_MEDIAN_ROWS]) / width**2)


def denoise_linear(train: Array, noisy: Array, components: int) -> Array:
    """Return noisy images projected on the plane of the first components."""
    pca = quiet_pca(components, train)
    return pca.inverse_transform(pca.transform(noisy))


def denoise_kernel(train: Array, noisy: Array, components: int, width: float | None) -> Array:
    """Return the pre-images of noisy images projected on kernel components (Mika et al. 1999)."""
    assert width is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowlandWarning)  # fewer components than asked for are an answer here
        model = KernelPCA(components, gamma=kernel_gamma(train, width), preimage="fixed-point", random_state=0)
        model.fit(train)
        return model.inverse_transform(model.transform(noisy))
