"""ICA beside scikit-learn's FastICA and picard: ``python -m benchmarks.separation [--rows N] [--sources K]``.

First known sources of six kinds (Laplace, uniform, sine, sawtooth, square wave, exponential) are mixed and separated:
the Amari distance of each program, mean over five mixtures. Then one large mixture and one table of real rows are
timed: medians of three fits, programs taking turns. One judge looks at all results: the angle by which a further step
would turn a source, and Σ|E[G(s)] − E[G(ν)]|, which all of them try to make large. The programs run with their own
defaults, and FastICA also to a tighter tolerance.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import FastICA

import lowland
from lowland.methods.linear import ica_reliability, ica_rotation, ica_white_rows

Array = Any


def sources(n: int, k: int, rng: np.random.Generator) -> Array:
    """Make six kinds of sources in turn, n × k."""
    t = np.arange(n)
    kinds: tuple[Callable[[int], Array], ...] = (
        lambda i: rng.laplace(size=n),
        lambda i: rng.uniform(-1, 1, n),
        lambda i: np.sin(t * (0.01 + 0.0137 * i) + i),
        lambda i: (t * (0.003 + 0.0011 * i)) % 1,
        lambda i: np.where(np.sin(t * (0.02 + 0.0093 * i)) < 0, -1.0, 1.0),
        lambda i: rng.exponential(size=n),
    )
    return np.column_stack([kinds[i % len(kinds)](i) for i in range(k)])


def amari(P: Array) -> float:
    """Return how far P is from a scaled permutation, between 0 and 1."""
    P, k = np.abs(P), len(P)
    rows, columns = (P / P.max(axis=1, keepdims=True)).sum(), (P / P.max(axis=0)).sum()
    return float((rows + columns - 2 * k) / (2 * k * (k - 1)))


def ours(X: Array, seed: int) -> Array:
    """Separate by Lowland."""
    return lowland.ICA(random_state=seed).fit(X).components_


def scikit(X: Array, seed: int) -> Array:
    """Separate by scikit-learn."""
    return FastICA(whiten="unit-variance", random_state=seed).fit(X).components_


def scikit_tight(X: Array, seed: int) -> Array:
    """Separate by scikit-learn, to an angle of 1e-4 as ours: its tolerance is on 1 − |cos|."""
    return FastICA(whiten="unit-variance", random_state=seed, tol=5e-9, max_iter=500).fit(X).components_


def peer(X: Array, seed: int) -> Array:
    """Separate by picard."""
    from picard import picard

    K, W, _ = picard(X.T, random_state=seed)
    return W @ K


PROGRAMS: dict[str, Callable[[Array, int], Array]] = {
    "lowland": ours,
    "FastICA": scikit,
    "FastICA, tight": scikit_tight,
    "picard": peer,
}


def judge(X: Array, unmixing: Array) -> tuple[float, float]:
    """Return the angle of a further step and the sum of contrasts, by the same rule for all."""
    Y = (X - X.mean(axis=0)) @ unmixing.T
    seen = ica_white_rows.White([np.ascontiguousarray((Y / Y.std(axis=0)).T)]).look(np.eye(len(unmixing)), "logcosh")
    turn = ica_rotation.fixed_point(seen)[0]
    return turn, float(np.abs(seen.value - ica_reliability.gaussian("logcosh")[0]).sum())


def separate(sizes: list[tuple[int, int]]) -> None:
    """Print the Amari distances."""
    print(f"{'rows × sources':<18}" + "".join(f"{name:>16}" for name in PROGRAMS))
    for n, k in sizes:
        errors: dict[str, list[float]] = {name: [] for name in PROGRAMS}
        for draw in range(5):
            rng = np.random.default_rng(draw)
            S, A = sources(n, k, rng), rng.standard_normal((k, k))
            for name, program in PROGRAMS.items():
                errors[name].append(amari(program(S @ A.T, draw) @ A))
        print(f"{f'{n} × {k}':<18}" + "".join(f"{np.mean(seen):>16.4f}" for seen in errors.values()), flush=True)


def compare(title: str, X: Array, A: Array | None = None) -> None:
    """Print times and what the judge says of one table."""
    seconds: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    found = {name: program(X, 0) for name, program in PROGRAMS.items()}  # imports and compiled loops are warm
    for _ in range(3):
        for name, program in PROGRAMS.items():
            start = time.perf_counter()
            found[name] = program(X, 0)
            seconds[name].append(time.perf_counter() - start)
    print(f"\n{title}\n{'program':<18}{'s':>8}{'Amari':>10}{'next turn':>12}{'contrast':>10}")
    for name, unmixing in found.items():
        turn, contrast = judge(X, unmixing)
        distance = "" if A is None else f"{amari(unmixing @ A):.4f}"
        print(
            f"{name:<18}{statistics.median(seconds[name]):>8.3f}{distance:>10}{turn:>12.1e}{contrast:>10.4f}",
            flush=True,
        )


def main() -> None:
    """Compare on known sources, on a large mixture and on real rows."""
    parser = argparse.ArgumentParser(prog="benchmarks.separation", description="Compare programs for ICA.")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--sources", type=int, default=20)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    separate([(2000, 2), (5000, 6), (10_000, 12), (20_000, 20)])
    rng = np.random.default_rng(0)
    S, A = sources(given.rows, given.sources, rng), rng.standard_normal((given.sources, given.sources))
    compare(f"{given.rows} × {given.sources}, known sources", S @ A.T, A)
    X = lowland.data.digits()[0]
    compare("digits, 20 principal components", lowland.PCA(20).fit_transform(X))


if __name__ == "__main__":
    main()
