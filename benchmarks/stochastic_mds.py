"""Landmarks or stochastic descent for scaling many rows? ``python -m benchmarks.stochastic_mds [--rows 8000]``.

Stochastic descent (Zheng, Pawar, Goodman 2018) moves two points at a time to where their distance is nearer to the one
given: each by μ(δ − d)/2 along their line, μ = min(1, wη), with η falling exponentially. Here w = 1, and rows are
shuffled and cut into groups whose pairs are visited one by one, so that distances come from matrix products. The paper
lets η fall from 1 to 0.1. That forgets the start and leaves noise; from 0.1 to 0.003 is the better choice of those
tried (1, 0.1 to 0.1, 0.01, 0.003, 0.001). All start from classical scaling, as the exact fit does.

A map must take new rows too. ``placed among m`` replaces a map by what `transform` would make of it: each row is placed
among m of the map's points, drawn at random, and these stay. Landmark maps of lowland are made that way already.

Stress is Σ(d − δ)² over all pairs; printed are its excess over that of the exact fit, as the mean, least and most of
several seeds, and the seconds of one step. It can be negative: the exact fit ends in one of several minima. What
landmark fits claim of themselves, `fit_info_.approximation_error`, is the share of their stress that an exact fit takes
off which starts from them; that is measured too.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba as nb
import numpy as np

import lowland
from lowland.methods.distance.placement import Placement
from lowland.pairs.distances import metric
from lowland.pairs.pairwise import against

LETTERS = Path(__file__).resolve().parents[2] / "shared" / "data" / "letter" / "letter.npz"
GROUP = 64  # rows whose pairs are visited together
COUNTS = (1000, 2000)  # landmarks, and points of a map that rows are placed among
PAPER, TUNED, REFINING = (1.0, 0.1), (0.1, 0.003), (0.02, 0.003)  # first and last η; the third is not tuned
Array = Any


# -- stochastic descent -----------------------------------------------------------------------------------


@nb.njit(nb.void(nb.float64[:, ::1], nb.int64[:, ::1], nb.float64[:, :, ::1], nb.float64), nogil=True, cache=True)
def visit(Y, groups, delta, mu):  # type: ignore[no-untyped-def]
    """Move both points of every pair of each group, one pair after the other."""
    k = Y.shape[1]
    for g in range(len(groups)):
        for a in range(groups.shape[1]):
            i = groups[g, a]
            for b in range(a):
                j, d = groups[g, b], 0.0
                for c in range(k):
                    d += (Y[i, c] - Y[j, c]) ** 2
                d = np.sqrt(d)
                if d == 0.0:
                    continue  # no line to move along
                r = 0.5 * mu * (delta[g, a, b] - d) / d
                for c in range(k):
                    move = r * (Y[i, c] - Y[j, c])
                    Y[i, c] += move
                    Y[j, c] -= move


def stochastic(X: Array, start: Array, visits: int, eta: tuple[float, float], seed: int) -> Array:
    """Return the map after about ``visits`` visits of each row, while η falls from its first to its last value."""
    Y, norms, rng = np.array(start, dtype=np.float64), (X**2).sum(axis=1), np.random.default_rng(seed)
    passes = max(2, round(visits / (GROUP - 1)))
    for step in np.geomspace(*eta, passes):
        groups = rng.permutation(len(X))[: len(X) // GROUP * GROUP].reshape(-1, GROUP)  # the rest: another time
        rows, squares = X[groups], norms[groups]
        delta = squares[:, :, None] + squares[:, None, :] - 2.0 * rows @ rows.transpose(0, 2, 1)
        visit(Y, groups, np.sqrt(np.maximum(delta, 0.0)), min(1.0, step))
    return Y


# -- what is compared -------------------------------------------------------------------------------------


def stress(X: Array, Y: Array) -> float:
    """Return Σ(d − δ)² over all pairs, each counted once."""
    far, near, total = metric("euclidean", X), metric("euclidean", Y), 0.0
    for a in range(0, len(X), 512):
        off = (near(Y[a : a + 512], Y[a:]) - far(X[a : a + 512], X[a:])) ** 2
        total += float(off.sum() - off[:, :512].sum() / 2)  # pairs within the block come twice
    return total


def taken_off(X: Array, Y: Array) -> float:
    """Return the share of the stress that an exact fit takes off which starts from the map, in percent."""
    found = lowland.MetricMDS(landmarks=None, init=Y, max_iter=1000).fit(X)
    return 100 * (1 - found.raw_stress_ / stress(X, Y))


def placed(X: Array, Y: Array, count: int, seed: int) -> Array:
    """Return the rows placed among some of the points of a map, as `transform` places new ones."""
    rng = np.random.default_rng(seed)
    few = np.sort(rng.choice(len(X), count, replace=False))
    place = against(metric("euclidean", X[few]), X[few], Placement(Y[few]))
    return np.concatenate([place(X[a : a + 4096]) for a in range(0, len(X), 4096)])


def compare(X: Array, visits: int, seeds: range) -> None:
    """Print one line a map: its stress above the exact fit's, in percent, and its seconds."""
    claims: list[float] = []

    def exact() -> Array:
        return lowland.MetricMDS(landmarks=None, max_iter=1000).fit_transform(X)

    def landmarks(count: int, seed: int) -> Array:
        model = lowland.MetricMDS(landmarks=count, random_state=seed).fit(X)
        claims.append(100 * float(model.fit_info_.approximation_error))
        return model.embedding_

    def line(name: str, maps: list[Array], seconds: float) -> list[Array]:
        excess = [100 * (stress(X, Y) / best - 1) for Y in maps]
        spread = f"{np.mean(excess):>8.2f} %  ({min(excess):.2f} to {max(excess):.2f})"
        print(f"  {name:<36}{spread:<32}{seconds / len(maps):>6.1f} s", flush=True)
        return maps

    def tried(name: str, make: Callable[[int], Array]) -> list[Array]:
        begun = time.perf_counter()
        maps = [make(seed) for seed in seeds]
        return line(name, maps, time.perf_counter() - begun)

    def with_anchors(maps: list[Array], *counts: int) -> None:
        for count in counts:
            tried(f"  placed among {count}", lambda seed, count=count: placed(X, maps[seed], count, seed))

    begun = time.perf_counter()
    Y = exact()
    seconds, best = time.perf_counter() - begun, stress(X, Y)
    with_anchors(line("exact", [Y], seconds) * len(seeds), *COUNTS)
    begin = lowland.PCA(2).fit_transform(X)  # classical scaling of Euclidean distances
    tried("stochastic, η as in the paper", lambda seed: stochastic(X, begin, visits, PAPER, seed))
    with_anchors(tried("stochastic, η tuned", lambda seed: stochastic(X, begin, visits, TUNED, seed)), *COUNTS)
    for count in COUNTS:
        claims.clear()
        few = tried(f"{count} landmarks", partial(landmarks, count))
        print(
            f"    of seed 0 an exact fit from there takes off {taken_off(X, few[0]):.2f} %; claimed {claims[0]:.2f} %"
        )
        refined = tried(
            "  then stochastic", lambda seed, few=few: stochastic(X, few[seed], visits // 4, REFINING, seed)
        )
        with_anchors(refined, count)


def gaussian_groups(rows: int) -> Array:
    """Make ten round groups of 50 columns, whose centres lie about as far apart as two rows of one group."""
    rng = np.random.default_rng(20_240_601)
    return rng.standard_normal((10, 50))[rng.integers(10, size=rows)] + rng.standard_normal((rows, 50))


def letters(rows: int) -> Array:
    """Read letter recognition: 16 columns, equal rows among them."""
    with np.load(LETTERS) as file:
        X = file["X"].astype(np.float64)
    return X[np.sort(np.random.default_rng(0).permutation(len(X))[:rows])]


def main() -> None:
    """Compare on both data sets."""
    parser = argparse.ArgumentParser(prog="benchmarks.stochastic_mds", description="Landmarks or stochastic descent?")
    parser.add_argument("--rows", type=int, default=8000, help="an exact fit holds 8 bytes a pair: 3.2 GB for 20,000")
    parser.add_argument("--visits", type=int, default=16_000, help="pairs that each row is visited in")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", nargs="*", choices=("groups", "letters"), help="both by default, letters where found")
    given = parser.parse_args()
    warnings.simplefilter("ignore", lowland.LowlandWarning)
    makers = {"groups": gaussian_groups, "letters": letters}
    for name in given.data or [name for name in makers if name != "letters" or LETTERS.exists()]:
        X = makers[name](given.rows)
        print(f"{name}: {X.shape[0]} rows, {X.shape[1]} columns; {given.visits} visits of each row")
        compare(X, given.visits, range(given.seeds))


if __name__ == "__main__":
    main()
