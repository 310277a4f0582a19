"""Noise taken off digits: Gaussian kernel PCA against linear PCA at its best, over noise, widths and components.

    python -m benchmarks.denoising [--rows 1500] [--train clean|noisy]

USPS digits (16 × 16, pixels in [0, 1]) get Gaussian noise of standard deviation σ. Both methods learn from the training
digits, project the noisy test digits on their components and go back to pixels; the error is the mean squared
difference from the clean test digits. Linear PCA is given its best number of components out of all 256; the kernel its
best of a grid of widths and numbers. Both choices look at the test digits, so they show what each method can do; the
next lines choose by a validation set of other digits, which is what a user can do. The last line is the best linear
filter, which does not cut components but shrinks each by λ/(λ + σ²): it has to be told σ.

``--train clean`` (the default) learns the shape of digits from clean ones, as where an archive is good and a new
camera is not. ``--train noisy`` has noise on the training digits too: no clean digit is ever seen.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import lowland

from .harness import TABLES

NOISE = (0.25, 0.5, 1.0)
WIDTHS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)  # σ of the kernel over the median distance of the training digits
COUNTS = (8, 16, 32, 64, 128, 256)
Array = Any


def mse(A: Array, B: Array) -> float:
    return float(np.mean((A - B) ** 2))


def linear_errors(train: Array, noisy: Array, clean: Array) -> list[float]:
    """Return the error of linear PCA for 1, 2, … all components."""
    pca = lowland.PCA().fit(train)
    left = pca.mean_ - clean
    scores = pca.transform(noisy)
    errors = []
    for i, direction in enumerate(pca.components_):
        left = left + scores[:, i : i + 1] * direction
        errors.append(float(np.mean(left**2)))
    return errors


def filter_error(train: Array, noisy: Array, clean: Array, noise: float, trained_on_noise: bool) -> float:
    """Return the error of the Wiener filter with the covariance of the training digits."""
    pca = lowland.PCA().fit(train)
    values = np.maximum(pca.explained_variance_ - noise**2, 0) if trained_on_noise else pca.explained_variance_
    return mse(pca.mean_ + pca.transform(noisy) * (values / (values + noise**2)) @ pca.components_, clean)


def kernel_errors(train: Array, sets: list[tuple[Array, Array]]) -> dict[tuple[float, int], list[float]]:
    """Return the error on each (noisy, clean) set for each width and number of components."""
    median = float(np.sqrt(1 / (2 * lowland.KernelPCA(2, gamma="median", preimage=None).fit(train).gamma_)))
    found = {}
    for width in WIDTHS:
        for k in COUNTS:
            model = lowland.KernelPCA(k, gamma=1 / (2 * (width * median) ** 2), preimage="fixed-point").fit(train)
            found[width, k] = [mse(model.inverse_transform(model.transform(noisy)), clean) for noisy, clean in sets]
    return found


def show(noise: float, linear: list[list[float]], kernel: dict[tuple[float, int], list[float]]) -> None:
    """Print the table of one noise level; errors come as [test, validation]."""
    print(f"\nnoise {noise} (mean squared error of the noisy digits {noise**2:.4f})")
    print("width \\ components " + "".join(f"{k:>9}" for k in COUNTS))
    for width in WIDTHS:
        print(f"{width:>8} × median  " + "".join(f"{kernel[width, k][0]:9.4f}" for k in COUNTS))
    for label, judge in (("at its best", 0), ("chosen by validation", 1)):
        m = int(np.argmin(linear[judge]))
        pick = min(kernel, key=lambda key: kernel[key][judge])
        print(
            f"{label}: linear {linear[0][m]:.4f} ({m + 1} components), kernel {kernel[pick][0]:.4f} "
            f"({pick[0]} × median, {pick[1]} components), ratio {kernel[pick][0] / linear[0][m]:.3f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1500, help="training digits (7091 at most)")
    parser.add_argument("--test", type=int, default=300, help="test digits (2007 at most)")
    parser.add_argument(
        "--train", choices=("clean", "noisy"), default="clean", help="what the training digits look like"
    )
    parser.add_argument("--folder", type=Path, default=TABLES, help="where usps/usps.npz lies")
    options = parser.parse_args()
    digits, rng, start = np.load(options.folder / "usps" / "usps.npz"), np.random.default_rng(0), time.perf_counter()
    order = rng.permutation(len(digits["X_train"]))
    validation = digits["X_train"][order[:200]].astype(np.float64)
    train = digits["X_train"][order[200:][: options.rows]].astype(np.float64)
    test = digits["X_test"][rng.permutation(len(digits["X_test"]))[: options.test]].astype(np.float64)
    print(f"{len(train)} {options.train} training digits, {len(test)} test digits, {len(validation)} for validation")
    noise = lambda level, X: X + level * rng.standard_normal(X.shape)  # noqa: E731
    sets = {level: [(noise(level, X), X) for X in (test, validation)] for level in NOISE}
    together = [NOISE] if options.train == "clean" else [(level,) for level in NOISE]
    for levels in together:  # clean digits are learned once for all levels
        learned = train if options.train == "clean" else noise(levels[0], train)
        kernel = kernel_errors(learned, [pair for level in levels for pair in sets[level]])
        for i, level in enumerate(levels):
            linear = [linear_errors(learned, *pair) for pair in sets[level]]
            show(level, linear, {key: errors[2 * i : 2 * i + 2] for key, errors in kernel.items()})
            shrunk = filter_error(learned, *sets[level][0], level, options.train == "noisy")
            print(f"linear filter that is told the noise: {shrunk:.4f}", flush=True)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
