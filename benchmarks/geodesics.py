"""Shortest paths against SciPy: ``python -m benchmarks.geodesics [--rounds 3]``.

Contenders take turns in this process; the median of the rounds counts. Wall time, and processor time of all threads,
which a busy machine disturbs less, in milliseconds for each source. Paths must agree to the last bit. Isomap against
its peers is a case of `benchmarks.run`, the error of its landmarks part of `benchmarks.landmark_error`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from lowland.data import swiss_roll
from lowland.graph.geodesics import geodesics
from lowland.graph.neighbors import neighbor_graph

FEW = 40  # sources that SciPy gets: its time is that of one, times their number


def clock(job: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return seconds by the wall and of the processors, and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = job()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def compare(n: int, count: int, rounds: int) -> str:
    """Return a line of the table."""
    from scipy.sparse.csgraph import dijkstra

    graph = neighbor_graph(swiss_roll(n)[0], 10).symmetric()
    sources = np.random.default_rng(0).permutation(n)[:count]
    few = sources[:FEW]
    geodesics(graph, few)
    times = []
    for _ in range(rounds):
        wall, cpu, D = clock(lambda: geodesics(graph, sources))
        peer_wall, peer_cpu, want = clock(lambda: dijkstra(graph.csr(), directed=True, indices=few))
        times.append([wall / count, cpu / count, peer_wall / len(few), peer_cpu / len(few)])
    each = 1e3 * np.median(times, axis=0)
    same = "yes" if np.array_equal(D[: len(few)], want) else "NO"
    return "".join(f"{t:>9.3f}" for t in each) + f"{each[2] / each[0]:>8.1f}{each[3] / each[1]:>7.1f}  {same}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.geodesics", description="Shortest paths against SciPy.")
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    heads = ("ours", "cpu", "SciPy", "cpu")
    print(f"{'points':>8}{'sources':>9}  ms" + "".join(f"{h:>9}" for h in heads) + f"{'ratio':>8}{'cpu':>7}  same bits")
    for n, count in ((10_000, 10_000), (10_000, 1000), (100_000, 500)):
        print(f"{n:>8}{count:>9}  ms" + compare(n, count, rounds), flush=True)


if __name__ == "__main__":
    main()
