"""t-SNE and UMAP beside the libraries they wrap: ``python -m benchmarks.neighbor_embeddings [tsne] [--sizes …]``.

Digits: trustworthiness of maps from several seeds, ours and the library's, and the median seconds of three fits each in
turn; how near new rows and raw placements of training rows come to the map. ``--sizes 50000 100000`` times single fits
of clustered rows of 50 columns, a step towards a million. Both sides have a seed, so umap-learn runs on one thread.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness

import lowland

SEEDS = range(3)
Fit = Callable[[np.ndarray, int], Any]


def ours(name: str) -> Fit:
    cls = {"tsne": lowland.TSNE, "umap": lowland.UMAP}[name]
    return lambda X, seed: cls(random_state=seed).fit(X)


def theirs(name: str) -> Fit:
    """Return a fit by the library, with the search that it takes by itself."""
    if name == "tsne":
        import openTSNE

        jobs = lowland.settings.threads()
        return lambda X, seed: openTSNE.TSNE(random_state=seed, n_jobs=jobs).fit(X)
    import umap

    return lambda X, seed: umap.UMAP(random_state=seed, n_jobs=1).fit(X)


def coordinates(model: Any) -> np.ndarray:
    return np.asarray(getattr(model, "embedding_", model))


def beside_the_library(name: str) -> None:
    """Print trustworthiness and seconds of both on digits, and what becomes of held-out rows."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    train, new = X[:1500], X[1500:]
    seconds: dict[str, list[float]] = {}
    trust: dict[str, list[float]] = {}
    held: dict[str, list[float]] = {}
    sides = {"lowland": ours(name), "library": theirs(name)}
    for fit in sides.values():
        fit(train[:200], 0)  # compiled and warm
    for seed in SEEDS:
        for side, fit in sides.items():
            start = time.perf_counter()
            model = fit(train, seed)
            seconds.setdefault(side, []).append(time.perf_counter() - start)
            Y = coordinates(model)
            trust.setdefault(side, []).append(trustworthiness(train, Y, n_neighbors=10))
            start = time.perf_counter()
            Z = np.asarray(model.transform(new))
            spent = time.perf_counter() - start
            near = np.linalg.norm(Z[:, None] - Y, axis=2).argmin(axis=1)
            held.setdefault(side, []).extend([float((y[:1500][near] == y[1500:]).mean()), spent])
    for side in sides:
        values = ", ".join(f"{t:.4f}" for t in trust[side])
        print(
            f"{name:<6}{side:<9}trustworthiness {values}   fit {median(seconds[side]):6.2f} s   new rows: "
            f"{np.mean(held[side][::2]):.3f} beside their digit, {median(held[side][1::2]):.2f} s",
            flush=True,
        )
    raw(name, train)


def raw(name: str, X: np.ndarray) -> None:
    """Print how far training rows fall from their places when they are treated as new, moved by 1e-9."""
    model = ours(name)(X, 0)
    Y, Z = model.embedding_, model.transform(X + 1e-9)
    away = np.linalg.norm(Z - Y, axis=1) / np.sqrt(((Y - Y.mean(axis=0)) ** 2).sum(axis=1).mean())
    low, high = np.quantile(away, [0.5, 0.95])
    print(f"{name:<6}raw placement of training rows, over the map's radius: median {low:.4f}, 95 % {high:.3f}")


def clustered(rows: int, columns: int = 50) -> np.ndarray:
    """Return a hundred clusters of unlike widths."""
    rng = np.random.default_rng(0)
    middles, widths = 4 * rng.standard_normal((100, columns)), rng.uniform(0.5, 1.5, 100)
    which = rng.integers(100, size=rows)
    return (middles[which] + widths[which, None] * rng.standard_normal((rows, columns))).astype(np.float32)


def many_rows(name: str, rows: int) -> None:
    """Print time and memory of one fit, with its plan."""
    X = clustered(rows)
    model = {"tsne": lowland.TSNE, "umap": lowland.UMAP}[name]()
    plan = lowland.plan(model, X)
    start = time.perf_counter()
    model.fit(X)
    spent, info = time.perf_counter() - start, model.fit_info_
    stages = ", ".join(f"{stage} {value:.0f}" for stage, value in info.seconds.items())
    print(
        f"{name:<6}{rows:>9,} × 50   {spent:7.0f} s ({stages}; planned {plan.seconds:.0f})   "
        f"{(info.peak_bytes or 0) / 1e9:.2f} GB (planned {plan.bytes / 1e9:.2f}, process "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f})   neighbours kept "
        f"{info.evidence['neighbours kept']:.3f}",
        flush=True,
    )


def main() -> None:
    """Compare on digits, or time larger tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.neighbor_embeddings", description="t-SNE and UMAP.")
    parser.add_argument("methods", nargs="*", help="tsne, umap (default: both)")
    parser.add_argument("--sizes", type=int, nargs="*", default=[], help="rows of tables to time instead")
    given = parser.parse_args()
    if unknown := set(given.methods) - {"tsne", "umap"}:
        parser.error(f"no method is called {unknown.pop()!r}; there are tsne, umap")
    warnings.simplefilter("ignore")
    for name in given.methods or ["tsne", "umap"]:
        for rows in given.sizes:
            many_rows(name, rows)
        if not given.sizes:
            beside_the_library(name)


if __name__ == "__main__":
    main()
