"""Widths of the Gaussian kernel by rules that need no labels: ``python -m benchmarks.kernel_width [--seeds 3]``.

Each rule chooses a width from the training rows; kernel PCA with that width is scored on other rows, beside linear PCA,
the median distance and the best width of a grid (which looks at the score).

- Spheres, moons, rings, blobs: accuracy of a linear classifier on the components. Spheres have radii 40 and 40·ratio;
  for spheres of unequal numbers of rows it is the mean of the two groups'.
- Digits: accuracy of 5 nearest neighbours on the components.
- USPS: 1000 × the mean squared error of denoised digits (noise of standard deviation 0.5); smaller is better.
- Clouds: Gaussian data. The mean squared cosine between the components and PCA's; 1 is linear PCA.

The constants of ``auto`` were chosen with seeds 0 to 3; the table uses seeds from 100 on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, make_blobs, make_circles, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowland
from lowland.methods.kernel.width import LOCAL_WIDTH, MIN_NEIGHBORS, ROWS_PER_NEIGHBOR
from lowland.pairs.distances import metric

from .harness import TABLES

Array = Any
Data = tuple[Array, Array, Array, Array]  # training rows, their labels, test rows, theirs
GRID = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.4, 2.0)  # σ over the median distance
ROWS = 400


class Case(NamedTuple):
    """Data by seed, the number of components, the score of an unfitted reducer, and whether more is better."""

    make: Callable[[int], Data]
    components: int
    score: Callable[[Any, Data], float]
    up: bool = True


# -- scores ---------------------------------------------------------------------------------------------------------


def linear(model: Any, data: Data) -> float:
    X, y, new, truth = data
    return float(make_pipeline(model, StandardScaler(), LogisticRegression()).fit(X, y).score(new, truth))


def balanced(model: Any, data: Data) -> float:
    X, y, new, truth = data
    pipe = make_pipeline(model, StandardScaler(), LogisticRegression(class_weight="balanced")).fit(X, y)
    return float(balanced_accuracy_score(truth, pipe.predict(new)))


def nearest(model: Any, data: Data) -> float:
    X, y, new, truth = data
    return float(make_pipeline(model, KNeighborsClassifier(5)).fit(X, y).score(new, truth))


def denoised(model: Any, data: Data) -> float:
    X, _, noisy, clean = data
    if isinstance(model, lowland.KernelPCA):
        model.set_params(preimage="fixed-point")
    model.fit(X)
    return 1000 * float(np.mean((model.inverse_transform(model.transform(noisy)) - clean) ** 2))


def straight(model: Any, data: Data) -> float:
    X = data[0]
    return cosines(model.fit_transform(X), lowland.PCA(model.n_components).fit_transform(X))


def cosines(A: Array, B: Array) -> float:
    """Return the mean squared cosine between the spans of the centred columns."""
    P, Q = (np.linalg.qr(Y - Y.mean(axis=0))[0] for Y in (A, B))
    return float(((P.T @ Q) ** 2).sum() / A.shape[1])


# -- data -----------------------------------------------------------------------------------------------------------


def twice(make: Callable[[int], tuple[Array, Array]]) -> Callable[[int], Data]:
    """Return a function that makes training and test rows by two seeds."""
    return lambda seed: (*make(seed), *make(seed + 10_000))


def spheres(ratio: float, noise: float = 0.0) -> Callable[[int], Data]:
    return twice(lambda seed: lowland.data.spheres(ROWS, (40.0, 40.0 * ratio), noise=noise, random_state=seed))


def many_spheres(inner: int, outer: int, d: int) -> Callable[[int], Data]:
    """Return so many rows on spheres of radii 40 and 100 in d dimensions."""

    def make(seed: int) -> tuple[Array, Array]:
        Z = np.random.default_rng(seed).standard_normal((inner + outer, d))
        y = np.repeat([0, 1], [inner, outer])
        return Z / np.linalg.norm(Z, axis=1)[:, None] * np.array([40.0, 100.0])[y, None], y

    return twice(make)


def moons(noise: float) -> Callable[[int], Data]:
    return twice(lambda seed: make_moons(ROWS, noise=noise, random_state=seed))


def rings(noise: float) -> Callable[[int], Data]:
    return twice(lambda seed: make_circles(ROWS, noise=noise, factor=0.4, random_state=seed))


def blobs(seed: int) -> Data:
    X, y = make_blobs(2 * ROWS, centers=5, n_features=10, cluster_std=2.0, random_state=seed)
    return X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]


def digits(seed: int) -> Data:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    a, b = order[:600], order[600:1200]
    return X[a], y[a], X[b], y[b]


def usps(folder: Path, train_noise: float) -> Callable[[int], Data]:
    def make(seed: int) -> Data:
        rng = np.random.default_rng(seed)
        digits = np.load(folder / "usps" / "usps.npz")["X_train"]
        order = rng.permutation(len(digits))
        X, clean = digits[order[:500]].astype(np.float64), digits[order[500:600]].astype(np.float64)
        noise = rng.standard_normal
        return X + train_noise * noise(X.shape), None, clean + 0.5 * noise(clean.shape), clean

    return make


def cloud(d: int, decay: float) -> Callable[[int], Data]:
    """Return Gaussian rows with standard deviations 1, decay, decay², …"""

    def make(seed: int) -> Data:
        X = np.random.default_rng(seed).standard_normal((ROWS, d)) * decay ** np.arange(d)
        return X, None, X, None

    return make


def cases(folder: Path) -> dict[str, Case]:
    return {
        **{f"spheres, ratio {ratio}": Case(spheres(ratio), 2, linear) for ratio in (1.5, 2.0, 2.5, 4.0)},
        "spheres, ratio 2.5, noise 5": Case(spheres(2.5, 5.0), 2, linear),
        **{f"spheres, {d} dimensions": Case(many_spheres(200, 200, d), 2, linear) for d in (5, 10)},
        **{
            f"spheres, {inner} and {outer} rows": Case(many_spheres(inner, outer, 3), 2, balanced)
            for inner, outer in ((100, 400), (200, 800), (400, 100))
        },
        **{f"moons, noise {noise}": Case(moons(noise), 2, linear) for noise in (0.05, 0.1, 0.2)},
        **{f"rings, noise {noise}": Case(rings(noise), 2, linear) for noise in (0.05, 0.1)},
        "5 blobs in 10 dimensions": Case(blobs, 2, linear),
        **{f"digits, {k} components": Case(digits, k, nearest) for k in (2, 5, 10, 20)},
        **{f"USPS, clean training, {k}": Case(usps(folder, 0.0), k, denoised, False) for k in (8, 32)},
        **{f"USPS, noisy training, {k}": Case(usps(folder, 0.5), k, denoised, False) for k in (8, 32)},
        "cloud, 2 dimensions": Case(cloud(2, 0.7), 2, straight),
        "cloud, 3 dimensions, long": Case(cloud(3, 0.4), 2, straight),
        "cloud, 5 dimensions": Case(cloud(5, 0.8), 2, straight),
        "cloud, 20 dimensions": Case(cloud(20, 0.9), 2, straight),
    }


# -- rules: distances over their median, number of components → width over the median --------------------------------


def leading(K: Array, k: int | None = None) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of the centred kernel, largest first."""
    values, V = np.linalg.eigh(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())
    return values[::-1][:k], V[:, ::-1][:, :k]


def best(criterion: Callable[[Array, int], float]) -> Callable[[Array, int], float]:
    """Return the rule that takes the width of the grid with the largest criterion of the kernel matrix."""
    return lambda D, k: max(GRID, key=lambda width: criterion(np.exp(-(D**2) / (2 * width**2)), k))


def local(D: Array, k: int) -> float:
    neighbor = max(MIN_NEIGHBORS, -(-len(D) // ROWS_PER_NEIGHBOR))
    return min(1.0, LOCAL_WIDTH * float(np.exp(np.log(np.partition(D, neighbor, axis=1)[:, neighbor]).mean())))


def variance(K: Array, k: int) -> float:
    return float(K[np.triu_indices(len(K), 1)].var())


def gap(K: Array, k: int) -> float:
    values = leading(K, k + 1)[0]
    return float(1 - values[k] / values[k - 1])


def entropy(K: Array, k: int) -> float:
    """Return minus the distance of the spectrum's entropy from half of its maximum."""
    values = np.maximum(leading(K)[0], 1e-12)
    p = values / values.sum()
    return -abs(float(-(p * np.log(p)).sum()) - np.log(len(K)) / 2)


def stability(K: Array, k: int) -> float:
    """Return how far two halves of the rows agree on the components of all rows."""
    order = np.random.default_rng(0).permutation(len(K))
    halves = order[: len(K) // 2], order[len(K) // 2 :]
    return cosines(*(K[:, half] @ leading(K[np.ix_(half, half)], k)[1] for half in halves))


RULES: dict[str, Callable[[Array, int], float]] = {
    "median": lambda D, k: 1.0,
    "local": local,
    "variance": best(variance),
    "leading": best(lambda K, k: float(leading(K, k)[0].sum())),
    "gap": best(gap),
    "entropy": best(entropy),
    "stability": best(stability),
}
COLUMNS = ("PCA", "median", "auto", *list(RULES)[1:], "best")


def run(case: Case, seeds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the mean score of each column, and its mean width over the median."""
    scores: dict[str, list[float]] = {name: [] for name in COLUMNS}
    widths: dict[str, list[float]] = {name: [] for name in COLUMNS}
    grid = []
    for seed in range(100, 100 + seeds):
        data = case.make(seed)
        X, k = data[0], case.components
        D = metric("euclidean", X)(X, X)
        median = float(np.median(D[np.triu_indices(len(D), 1)]))
        known: dict[float, float] = {}

        def at(width: float, data: Data = data, median: float = median, known: dict[float, float] = known) -> float:
            if width not in known:
                gamma = 1 / (2 * (width * median) ** 2)
                known[width] = case.score(lowland.KernelPCA(case.components, gamma=gamma, preimage=None), data)
            return known[width]

        chosen = {name: rule(D / median, k) for name, rule in RULES.items()}
        auto = lowland.KernelPCA(k, preimage=None).fit(X).gamma_
        chosen["auto"] = round(float(np.sqrt(1 / (2 * auto))) / median, 9)
        for name, width in chosen.items():
            scores[name].append(at(width))
            widths[name].append(width)
        scores["PCA"].append(case.score(lowland.PCA(min(k, X.shape[1])), data))
        grid.append([at(width) for width in GRID])
    means = np.mean(grid, axis=0)
    place = int(means.argmax() if case.up else means.argmin())
    scores["best"], widths["best"] = [float(means[place])], [GRID[place]]
    return {name: float(np.mean(scores[name])) for name in COLUMNS}, {
        name: float(np.mean(widths[name])) for name in COLUMNS if widths[name]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="data sets of each kind")
    parser.add_argument("--only", default="", help="data whose name contains this")
    parser.add_argument("--folder", type=Path, default=TABLES, help="where usps/usps.npz lies")
    options = parser.parse_args()
    print("| data | " + " | ".join(COLUMNS) + " | widths: auto, local, best |")
    print("|---" * (len(COLUMNS) + 2) + "|")
    for name, case in cases(options.folder).items():
        if options.only not in name:
            continue
        scores, widths = run(case, options.seeds)
        digits = 2 if case.up else 1
        row = " | ".join(f"{scores[column]:.{digits}f}" for column in COLUMNS)
        print(f"| {name} | {row} | {', '.join(f'{widths[w]:.2f}' for w in ('auto', 'local', 'best'))} |", flush=True)


if __name__ == "__main__":
    main()
