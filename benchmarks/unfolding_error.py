"""How far is the large-N road of MVU from the optimum? ``python -m benchmarks.unfolding_error [--rows N] [--noise S]``.

Above 100 points MVU goes from a semidefinite program for 20 smooth functions to steps of all points, whose number is
limited. Here the same steps go on until lengths and balance are right to the tolerance or get no better. That stands
for the optimum: a program for 20,000 points has no other solver. Shown for each stage: the objective (variance) over
that optimum, the RMS error of neighbours' distances, the gap between dual and primal, and the Procrustes distance of
the map from the optimum's and from the flat sheet. ``approximation_error``, which a fit claims, is the RMS error of
distances.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

import lowland
from lowland.graph.graph import Graph
from lowland.graph.neighbors import neighbor_graph
from lowland.methods.manifold import mvu
from lowland.methods.manifold.mvu_descent import Rods, unfold
from lowland.spectral.nullspace import smallest
from lowland.spectral.procrustes import procrustes

Points = np.ndarray[Any, Any]


def axes(points: Points, scale: float) -> Points:
    """Return the first two principal coordinates, in the units of the data."""
    _, V = np.linalg.eigh(points.T @ points)
    return np.asarray(points @ V[:, ::-1][:, :2] * np.sqrt(scale))


def functions(graph: Graph, rods: Rods) -> Points:
    """Return the points that the program of few functions gives, before any step."""
    null, rng = np.full((rods.n, 1), rods.n**-0.5), np.random.default_rng(0)
    Q = smallest(rods.laplacian(), 20, null=null, rng=rng).vectors
    start, r = mvu._start(rods, Q, mvu._reach(graph) / rods.scale, 2, rng)
    return np.ascontiguousarray(start[:, :r])


def main() -> None:
    """Print one line for each stage."""
    parser = argparse.ArgumentParser(prog="benchmarks.unfolding_error", description="Check the large-N road of MVU.")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--steps", type=int, default=3000, help="at most, for the optimum")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    given = parser.parse_args()
    warnings.simplefilter("ignore", lowland.LowlandWarning)
    X, truth = lowland.data.swiss_roll(given.rows, noise=given.noise)
    graph = neighbor_graph(X, 10).symmetric()
    rods = Rods(graph)

    start = time.perf_counter()
    few = functions(graph, rods)
    seconds = [time.perf_counter() - start]
    start = time.perf_counter()
    model = lowland.MVU().fit(X)
    seconds.append(time.perf_counter() - start)
    start = time.perf_counter()
    end = unfold(rods, few, steps=given.steps, tolerance=given.tolerance)
    seconds.append(time.perf_counter() - start)

    info, best = model.fit_info_, float((end.points**2).sum()) * rods.scale / rods.n
    optimum = axes(end.points, rods.scale)
    alone = float((few**2).sum()) * rods.scale / rods.n
    claimed = float(info.approximation_error)
    lines = [
        ("20 functions alone", axes(few, rods.scale), alone, rods.error(few), None),
        ("MVU", model.embedding_, info.evidence["variance"], claimed, info.residual),
        (f"{end.steps} steps", optimum, best, end.error, end.imbalance),
    ]
    print(f"{'road':<20}{'objective':>11}{'lengths':>10}{'gap':>10}{'map off':>10}{'from flat':>10}{'s':>7}")
    for (name, Y, variance, error, gap), took in zip(lines, seconds, strict=True):
        off, flat = (procrustes(Y, other, scale=False).error for other in (optimum, truth))
        shown = "–" if gap is None else f"{gap:.1e}"
        print(f"{name:<20}{variance / best:>11.5f}{error:>10.1e}{shown:>10}{off:>10.1e}{flat:>10.1e}{took:>7.0f}")
    print(
        f"claimed approximation_error {claimed:.1e}; objective off by {abs(info.evidence['variance'] / best - 1):.1e}"
    )


if __name__ == "__main__":
    main()
