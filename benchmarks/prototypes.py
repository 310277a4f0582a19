"""SOM and MiniSom on digits: quantisation error, topographic error, seconds. ``python -m benchmarks.prototypes``.

Both train a 20 × 20 grid on the 1797 digits (row by row: epochs · rows steps). The two errors pull against each other,
and how much of each there is goes by the last neighbourhood radius. So each map of MiniSom is held against the map of
Lowland, of a few radii, that is at most as torn and nearest to the rows: first of those with as many epochs, and where
none is as good, of those with four times as many, which still take a fraction of MiniSom's time.
The errors of all maps are measured by one function, not by the contenders. Seconds are medians of the rounds, in which
contenders take turns; imports, compiled code and the caches are warm.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import lowland

GRID = (20, 20)
RADII = (0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.85, 1.0)
LONGER = 4  # times as many epochs
Errors = tuple[float, float]
Job = tuple[str, Any]  # whose, and which map


def errors(X: np.ndarray, W: np.ndarray, places: np.ndarray, reach: float) -> Errors:
    """Return mean distance to the nearest unit, and the share of rows whose two nearest units are further apart."""
    squares = np.stack([((X - w) ** 2).sum(axis=1) for w in W], axis=1)
    two = np.argpartition(squares, 1, axis=1)[:, :2]  # in any order: only their distance counts
    apart = np.linalg.norm(places[two[:, 0]] - places[two[:, 1]], axis=1)
    return float(np.sqrt(squares.min(axis=1)).mean()), float((apart > reach).mean())


def minisom(X: np.ndarray, topology: str, how: dict[str, Any], epochs: int) -> tuple[np.ndarray, np.ndarray]:
    """Train MiniSom; return its prototypes and their places."""
    from minisom import MiniSom

    options = {k: v for k, v in how.items() if k not in ("start", "train")}
    peer = MiniSom(*GRID, X.shape[1], topology=topology, random_seed=0, **options)
    if how.get("start") == "pca":
        peer.pca_weights_init(X)
    kind = how.get("train", "train")
    getattr(peer, kind)(X, epochs if kind == "train_batch_offline" else epochs * len(X))
    xx, yy = peer.get_euclidean_coordinates()
    return peer.get_weights().reshape(-1, X.shape[1]), np.column_stack([xx.ravel(), yy.ravel()])


PEERS: dict[str, dict[str, Any]] = {
    "row by row, defaults": {},
    "batch, defaults": {"train": "train_batch_offline"},
    "row by row, PCA start, σ 1, rate 0.5 to 0": {
        "start": "pca",
        "train": "train_random",
        "decay_function": "linear_decay_to_zero",
    },
    "row by row, PCA start, σ 2, rate 0.2": {
        "start": "pca",
        "train": "train_random",
        "sigma": 2.0,
        "learning_rate": 0.2,
    },
    "row by row, PCA start, σ 3, rate 0.2 to 0": {
        "start": "pca",
        "train": "train_random",
        "sigma": 3.0,
        "learning_rate": 0.2,
        "decay_function": "linear_decay_to_zero",
    },
    "batch, PCA start, σ 2, rate 1": {
        "start": "pca",
        "train": "train_batch_offline",
        "sigma": 2.0,
        "learning_rate": 1.0,
    },
}


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what the work returns, and its seconds."""
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def compare(X: np.ndarray, topology: str, epochs: int, rounds: int) -> None:
    """Print a line for each radius of ours, then for each map of the peer."""
    reach = 1.01 if topology == "hexagonal" else 1.42
    jobs: dict[Job, Callable[[], tuple[np.ndarray, np.ndarray]]] = {}
    for end, times in itertools.product(RADII, (1, LONGER)):
        model = lowland.SOM(GRID, topology=topology, epochs=times * epochs, sigma_end=end)
        jobs["lowland", (end, times)] = lambda model=model: (model.fit(X).codebook_, model.positions_)
    for name, how in PEERS.items():
        jobs["minisom", name] = lambda how=how: minisom(X, topology, how, epochs)
    found: dict[Job, Errors] = {}
    seconds: dict[Job, list[float]] = {job: [] for job in jobs}
    for _ in range(rounds):
        for job, work in jobs.items():
            (W, places), took = timed(work)
            found[job] = errors(X, W, places, reach)
            seconds[job].append(took)
    middle = {job: statistics.median(values) for job, values in seconds.items()}
    print(f"\n{topology}, {GRID[0]} × {GRID[1]}, {epochs} epochs, {len(X)} rows")
    for (who, name), (near, torn) in found.items():
        label = f"MiniSom, {name}" if who == "minisom" else f"SOM, sigma_end={name[0]}, {name[1] * epochs} epochs"
        line = f"{label:<52}{near:>8.3f}{torn:>8.3f}{middle[who, name]:>9.3f} s"
        if who == "minisom":
            line += "".join(verdict(found, middle, name, times, epochs) for times in (1, LONGER))
        print(line, flush=True)


def verdict(found: dict[Job, Errors], middle: dict[Job, float], peer: str, times: int, epochs: int) -> str:
    """Say whether one of our maps of so many epochs is at most as torn as the peer's, as near, and faster."""
    near, torn = found["minisom", peer]
    able = [job for job, seen in found.items() if job[0] == "lowland" and job[1][1] == times and seen[1] <= torn]
    if not able:
        return f"  {times * epochs} epochs: NOT met, none is as little torn"
    best = min(able, key=lambda job: found[job][0])
    faster = middle["minisom", peer] / middle[best]
    word = "met" if found[best][0] <= near and faster > 1 else "NOT met"
    ours = f"{found[best][0]:.3f}, {found[best][1]:.3f}"
    return f"  {times * epochs} epochs: {word} by sigma_end={best[1][0]}: {ours}, {faster:.0f} × as fast"


def main() -> None:
    """Compare on both topologies."""
    parser = argparse.ArgumentParser(prog="benchmarks.prototypes", description="Compare SOM and MiniSom on digits.")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    X = np.ascontiguousarray(load_digits().data)
    lowland.SOM((3, 3), epochs=2).fit(X).transform(X)
    print(f"{'':<52}{'near':>8}{'torn':>8}{'time':>9}")
    for topology in ("rectangular", "hexagonal"):
        compare(X, topology, given.epochs, given.rounds)


if __name__ == "__main__":
    main()
