"""Imputation: error of hidden cells, and distance of the PCA map to that of the complete table.

    python -m benchmarks.imputation

Wine (178 × 13) and a table of rank 3 with noise (300 × 20), 5, 15 and 30 % of the cells hidden at random, mean of five
draws. Error: root mean square over the hidden cells, in standard deviations of the complete columns. Map: root mean
square distance of the planar PCA map of the scaled, filled table to that of the complete one, after Procrustes,
relative to the size of the complete map. Beside the means, medians and probabilistic PCA of `lowland.steps`:
scikit-learn's IterativeImputer with its default, Bayesian ridge regression.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import lowland
from lowland.quality import procrustes

Array = Any
SHARES = (0.05, 0.15, 0.3)
DRAWS = 5


def tables() -> dict[str, Array]:
    from sklearn.datasets import load_wine

    rng = np.random.default_rng(0)
    low = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 20)) + 0.5 * rng.standard_normal((300, 20))
    return {"wine": load_wine().data, "rank 3": low * np.exp(rng.uniform(-3, 3, 20))}


def imputers() -> dict[str, Any]:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    ours = {name: lowland.steps.ImputeMissing(name) for name in ("mean", "median", "ppca")}
    return {**ours, "IterativeImputer": IterativeImputer(random_state=0, max_iter=30)}


def planar_map(X: Array) -> Array:
    return lowland.PCA(2, scale=True).fit_transform(X)


def measure() -> Iterator[tuple[str, float, str, float, float, float]]:
    """Yield table, share, imputer, error, distance of maps, and seconds, each the mean over draws."""
    from sklearn.base import clone

    for name, X in tables().items():
        sd, complete = X.std(axis=0), planar_map(X)
        for share in SHARES:
            results: dict[str, list[tuple[float, float, float]]] = {}
            for draw in range(DRAWS):
                hidden = np.random.default_rng(100 + draw).random(X.shape) < share
                gaps = np.where(hidden, np.nan, X)
                for who, imputer in imputers().items():
                    start = time.perf_counter()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        filled = clone(imputer).fit_transform(gaps)
                    seconds = time.perf_counter() - start
                    error = float(np.sqrt((((filled - X) / sd)[hidden] ** 2).mean()))
                    away = procrustes(planar_map(filled), complete).error
                    results.setdefault(who, []).append((error, away, seconds))
            for who, rows in results.items():
                error, away, seconds = np.mean(rows, axis=0)
                yield name, share, who, float(error), float(away), float(seconds)


def main() -> None:
    print(f"{'table':8} {'hidden':>6} {'imputer':18} {'error, sd':>9} {'map':>7} {'seconds':>8}")
    for name, share, who, error, away, seconds in measure():
        print(f"{name:8} {share:6.0%} {who:18} {error:9.3f} {away:7.3f} {seconds:8.3f}")


if __name__ == "__main__":
    main()
