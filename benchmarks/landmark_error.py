"""Is the error that a landmark fit claims its true one? ``python -m benchmarks.landmark_error [isomap] [--rows N]``.

Each method fits the same rows through landmarks and exactly. Kernel PCA claims the share of the kernel's trace that is
missed: held against the trace itself, with the errors of eigenvalues and map beside it. Classical scaling claims the
distance of its map from the exact one, and so does Isomap, here of swiss rolls with and without noise; metric scaling
claims the share of stress above the exact fit's. Modified and Hessian LLE, LTSA and Laplacian eigenmaps claim the
distance of their maps, of swiss rolls and through a tenth of the rows. Non-metric scaling claims the distance of its
map; its exact fit sorts all pairs, so at most 5,000 rows are taken.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import lowland
from lowland.pairs.distances import metric
from lowland.pairs.kernels import kernel
from lowland.pairs.pairwise import against
from lowland.spectral.procrustes import procrustes

from .datasets import correlated
from .judges import width


def kernel_pca(X: np.ndarray) -> tuple[float, float, str]:
    """Return claimed and true error of kernel PCA, and what they mean for the components."""
    gamma = width(X)
    few = lowland.KernelPCA(10, gamma=gamma, preimage=None, landmarks=1000).fit(X)
    all_pairs = lowland.KernelPCA(10, gamma=gamma, preimage=None, landmarks=None).fit(X)
    rule = kernel("rbf", X, gamma=gamma)
    K = rule(few.anchors_, few.anchors_)
    values, Q = np.linalg.eigh(K)
    keep = values > 1e-12 * values[-1]
    compare = against(rule, few.anchors_, lambda k: ((k @ (Q[:, keep] / np.sqrt(values[keep]))) ** 2).sum(axis=1))
    true = 1 - float(np.mean(np.concatenate([compare(X[a : a + 4096]) for a in range(0, len(X), 4096)])))
    off = np.abs(few.eigenvalues_ / all_pairs.eigenvalues_ - 1).max()
    apart = procrustes(few.embedding_, all_pairs.embedding_, scale=False).error
    return float(few.fit_info_.approximation_error), true, f"eigenvalues {off:.1e}, map {apart:.1e}"


def classical_mds(X: np.ndarray, name: str) -> tuple[float, float, str]:
    """Return claimed and true distance from the exact map."""
    few = lowland.ClassicalMDS(metric=name, landmarks=1000).fit(X)
    exact = lowland.ClassicalMDS(metric=name, landmarks=None).fit(X)
    true = procrustes(few.embedding_, exact.embedding_, scale=False).error
    return float(few.fit_info_.approximation_error), true, name


def isomap(rows: int, noise: float) -> tuple[float, float, str]:
    """Return claimed and true distance from the exact map for 500 landmarks, means over three draws of them."""
    X = lowland.data.swiss_roll(rows, noise=noise)[0]
    exact = lowland.Isomap(landmarks=None).fit(X).embedding_
    claimed, true = [], []
    for draw in range(3):
        few = lowland.Isomap(landmarks=500, random_state=draw).fit(X)
        claimed.append(few.fit_info_.approximation_error)
        true.append(procrustes(few.embedding_, exact, scale=False).error)
    return float(np.mean(claimed)), float(np.mean(true)), f"noise {noise:g}"


def unfolding(name: str, rows: int, noise: float) -> tuple[float, float, str]:
    """Return claimed and true distance from the exact map of a swiss roll, means over three draws of landmarks."""
    Model = getattr(lowland, name)
    X = lowland.data.swiss_roll(rows, noise=noise)[0]
    exact = Model().fit(X).embedding_
    claimed, true = [], []
    for draw in range(3):
        few = Model(landmarks=rows // 10, random_state=draw).fit(X)
        claimed.append(few.fit_info_.approximation_error)
        true.append(procrustes(few.embedding_, exact, scale=False).error)
    return (
        float(np.mean(claimed)),
        float(np.mean(true)),
        f"noise {noise:g}, true from {min(true):.2g} to {max(true):.2g}",
    )


def metric_mds(X: np.ndarray) -> tuple[float, float, str]:
    """Return claimed and true share of raw stress above the exact fit's."""
    few = lowland.MetricMDS(landmarks=2000).fit(X)
    exact = lowland.MetricMDS(landmarks=None, max_iter=1000).fit(X)
    rule, total = metric("euclidean", X), {"few": 0.0, "exact": 0.0}
    flat = metric("euclidean", few.embedding_)
    for a in range(0, len(X), 512):
        delta = rule(X[a : a + 512], X)
        for key, model in (("few", few), ("exact", exact)):
            Y = model.embedding_
            total[key] += float(((flat(Y[a : a + 512], Y) - delta) ** 2).sum())
    return float(few.fit_info_.approximation_error), 1 - total["exact"] / total["few"], "raw stress"


def nonmetric_mds(X: np.ndarray) -> tuple[float, float, str]:
    """Return claimed and true distance from the exact map, whose scale is free."""
    few = lowland.NonmetricMDS(landmarks=1000).fit(X)
    exact = lowland.NonmetricMDS(landmarks=None).fit(X)
    true = procrustes(few.embedding_, exact.embedding_, scale=True).error
    return float(few.fit_info_.approximation_error), true, f"{len(X)} rows"


def main() -> None:
    """Compare, one line a method."""
    parser = argparse.ArgumentParser(prog="benchmarks.landmark_error", description="Check claimed errors.")
    parser.add_argument("methods", nargs="*", help="such as kernelpca or isomap (default: all)")
    parser.add_argument("--rows", type=int, default=20_000)
    given = parser.parse_args()
    warnings.simplefilter("ignore", lowland.LowlandWarning)
    X = correlated(given.rows, 50, "float64")
    jobs = {
        "KernelPCA": lambda: kernel_pca(X),
        "ClassicalMDS, cosine": lambda: classical_mds(X, "cosine"),
        "ClassicalMDS, city-block": lambda: classical_mds(X, "cityblock"),
        "Isomap": lambda: isomap(given.rows, 0.0),
        "Isomap, noise": lambda: isomap(given.rows, 0.3),
        "ModifiedLLE": lambda: unfolding("ModifiedLLE", given.rows, 0.0),
        "HessianLLE": lambda: unfolding("HessianLLE", given.rows, 0.0),
        "LTSA": lambda: unfolding("LTSA", given.rows, 0.0),
        "LTSA, noise": lambda: unfolding("LTSA", given.rows, 0.3),
        "LaplacianEigenmaps": lambda: unfolding("LaplacianEigenmaps", given.rows, 0.0),
        "MetricMDS": lambda: metric_mds(X),
        "NonmetricMDS": lambda: nonmetric_mds(X[: min(given.rows, 5000)]),
    }
    print(f"{'method':<26}{'claimed':>10}{'true':>10}{'s':>8}")
    kinds = {name.split(",")[0].lower() for name in jobs}
    if unknown := set(given.methods) - kinds:
        parser.error(f"no method is called {unknown.pop()!r}; there are {', '.join(sorted(kinds))}")
    wanted = {name: job for name, job in jobs.items() if name.split(",")[0].lower() in (given.methods or kinds)}
    for name, job in wanted.items():
        start = time.perf_counter()
        claimed, true, words = job()
        print(f"{name:<26}{claimed:>10.3g}{true:>10.3g}{time.perf_counter() - start:>8.0f}  {words}", flush=True)


if __name__ == "__main__":
    main()
