"""TruncatedSVD at the accuracy of approximate methods: ``python -m benchmarks.svd_accuracy [words]``.

100 triplets of the sparse tables of the speed rows, by scikit-learn's randomized SVD (n_iter=5), by gensim (defaults of
its LSI model: 2 power iterations and 100 extra columns; and defaults of its function `stochastic_svd`: none, and k) and
by Lowland with the largest ``tol`` of a list at which it is at least as accurate as each of them: in the largest
relative error of a singular value, in the largest residual over σ₁, and in the share of the table kept. The contenders
take turns; the median time counts.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from lowland import TruncatedSVD

from . import datasets, judges
from .cases import FLAT, WORDS

K = 100
TOLERANCES = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.07, 0.05, 0.03, 0.025, 0.022, 0.02, 0.018, 0.016, 0.014, 0.01, 7e-3, 5e-3)
Triplets = tuple[np.ndarray, np.ndarray, np.ndarray]


def randomized(X: Any) -> Triplets:
    """scikit-learn's randomized SVD."""
    from sklearn.utils.extmath import randomized_svd

    U, s, V = randomized_svd(X, K, n_iter=5, random_state=0)
    return U, s, V.T


def gensim(**options: Any) -> Callable[[Any], Triplets]:
    """gensim's stochastic SVD of the transpose; it returns no document vectors, which are made here."""

    def fit(X: Any) -> Triplets:
        from gensim.models.lsimodel import stochastic_svd

        V, s = stochastic_svd(sp.csc_matrix(X.T), K, X.shape[1], random_seed=0, **options)
        return X @ V / s, s, V

    return fit


PEERS: dict[str, Callable[[Any], Triplets]] = {
    "randomized, n_iter=5": randomized,
    "gensim, LsiModel": gensim(power_iters=2, extra_dims=100),
    "gensim, stochastic_svd": gensim(),
}


def lowland(tol: float | None) -> Callable[[Any], Triplets]:
    """Lowland's block Krylov method, stopped at a residual."""

    def fit(X: Any) -> Triplets:
        model = TruncatedSVD(K, solver="krylov", tol=tol).fit(X)
        return model.U_, model.singular_values_, model.components_.T

    return fit


def errors(X: Any, found: Triplets, truth: np.ndarray) -> tuple[float, float, float]:
    """Return the largest relative error of a value, the largest residual over σ₁, and the share of ‖X_k‖² lost."""
    U, s, V = found
    U = U / np.linalg.norm(U, axis=0)
    V = V / np.linalg.norm(V, axis=0)
    miss = max(np.linalg.norm(X @ V - U * s, axis=0).max(), np.linalg.norm(X.T @ U - V * s, axis=0).max())
    lost = max(0.0, 1 - float((s**2).sum() / (truth**2).sum()))
    return float(np.abs(s / truth - 1).max()), float(miss / truth[0]), lost


def loosest(X: Any, truth: np.ndarray, goal: tuple[float, ...]) -> float | None:
    """Return the largest tolerance at which Lowland is at least as accurate as the goal in all measures."""
    for tol in TOLERANCES:
        if all(a <= b for a, b in zip(errors(X, lowland(tol)(X), truth), goal, strict=True)):
            return tol
    return None


def compare(X: Any, truth: np.ndarray, peer: str, rounds: int) -> None:
    """Print errors and median times of a peer and of Lowland at its accuracy."""
    goal = errors(X, PEERS[peer](X), truth)
    tol = loosest(X, truth, goal)
    contenders = {peer: PEERS[peer], f"lowland, tol={tol}": lowland(tol)}
    seconds: dict[str, list[float]] = {label: [] for label in contenders}
    found: dict[str, Triplets] = {}
    for _ in range(rounds):
        for label, fit in contenders.items():
            start = time.perf_counter()
            found[label] = fit(X)
            seconds[label].append(time.perf_counter() - start)
    for label, times in seconds.items():
        e = errors(X, found[label], truth)
        took = statistics.median(times)
        print(f"  {label:<24}{took:>8.2f} s   value {e[0]:.1e}   residual {e[1]:.1e}   lost {e[2]:.1e}")
    theirs, ours = (statistics.median(times) for times in seconds.values())
    print(f"  {peer} / lowland: {theirs / ours:.2f}", flush=True)


def main() -> None:
    """Print a table for each data set."""
    parser = argparse.ArgumentParser(prog="benchmarks.svd_accuracy", description="TruncatedSVD at equal errors.")
    parser.add_argument("tables", nargs="*", metavar="words|uniform", help="tables (default: both)")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    recipes = {"words": WORDS, "uniform": FLAT}
    if unknown := set(asked.tables) - set(recipes):
        parser.error(f"no table {', '.join(sorted(unknown))}; known: {', '.join(recipes)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.tables or recipes:
            recipe = datasets.scaled(recipes[name], K, 1.0)
            X = sp.csr_array(datasets.prepare(recipe, Path(folder)), dtype=np.float64)
            truth = judges.singular(X, K)["values"]
            print(f"\n{name}, {X.shape[0]} × {X.shape[1]}, {X.nnz} entries")
            for peer in PEERS:
                compare(X, truth, peer, asked.rounds)


if __name__ == "__main__":
    main()
