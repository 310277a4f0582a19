"""How often the intervals of a comparison hold: ``python -m benchmarks.intervals [--samples 100] [--rows 300 2000]``.

Samples of three clusters in five dimensions. Each is mapped by PCA, which is fitted anew to every sample, and by the
first two columns, which are the same map each time. An interval holds when the mean over all samples lies in it: 95 of
100 should. So do those of the difference of the two maps, by which candidates are ranked. Beside them stands the half
width over 1.96 standard deviations of the values: 1 is right, less is too narrow. For other methods, whose maps are
made anew by chance, see ``--methods``: what the fit adds is no part of an interval, and is seen here.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

Array = Any

CRITERIA = ("local", "global", "target")


def sample(n: int, seed: int) -> tuple[Array, Array]:
    """Three clusters in five dimensions, and which row is of which."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(3, size=n)
    return rng.standard_normal((n, 5)) + 4 * np.eye(3, 5)[kinds], kinds


def entry(X: Array, kinds: Array, method: str | None) -> dict[str, Any]:
    """Measure one map of a sample as a comparison does; without a method, the first two columns."""
    from lowland.comparison.dataset import read
    from lowland.comparison.measuring import Placed, criteria
    from lowland.comparison.structure import Truth, direct_distances
    from lowland.contract import registry

    given, _ = read(X, kinds, "euclidean", None, 0.2, 0)
    Y = X[:, :2].copy()
    if method is not None:
        model = registry.method(method).load()(n_components=2, random_state=0)
        Y[~given.held] = model.fit_transform(X[~given.held])
        Y[given.held] = model.transform(X[given.held])
    truth = Truth(direct_distances(given), {})
    return {"criteria": criteria(given, truth, Placed(Y, np.arange(given.n)), 10, False)}


def main() -> None:
    """Draw samples and print how often intervals hold the mean over them."""
    from lowland.comparison.ranking import Judge

    parser = argparse.ArgumentParser(prog="benchmarks.intervals", description="Coverage of the intervals.")
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--rows", type=int, nargs="*", default=[300, 600, 2000])
    parser.add_argument("--methods", nargs="*", default=["pca"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| rows | map | criterion | held | half width / 1.96 sd |\n|---|---|---|---|---|")
    for n in given.rows:
        start = time.perf_counter()
        found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
        for seed in range(given.samples):
            X, kinds = sample(n, seed)
            plain = entry(X, kinds, None)
            for method in given.methods:
                other = entry(X, kinds, method)
                judge = Judge([plain, other])
                for name in CRITERIA:
                    for key, one in ((method, other), ("first two columns", plain)):
                        m = judge.measure(one, name)
                        found.setdefault((key, name), []).append((float(m), m.low, m.high))
                    middle, half = judge.difference(other, plain, [name])
                    both = f"{method} less first two columns", name
                    found.setdefault(both, []).append((middle, middle - half, middle + half))
        for (key, name), told in found.items():
            values, low, high = np.array(told).T
            held = np.mean((low <= values.mean()) & (values.mean() <= high))
            wide = (high - low).mean() / (2 * 1.96 * values.std(ddof=1))
            print(f"| {n:,} | {key} | {name} | {held:.2f} | {wide:.2f} |")
        print(f"<!-- {n} rows: {time.perf_counter() - start:.0f} s -->", flush=True)


if __name__ == "__main__":
    main()
