"""PageRank beside power iteration in SciPy and igraph: from an array of edges to scores.

    python -m benchmarks.ranking [--rounds 5] [--nodes 1000000] [--edges 10000000] [--folder FOLDER]

Two graphs with skewed degrees, of which 15 % of the nodes have no links out: links at random, and 80 % of the links
within hosts of 200 nodes, which needs more steps. Contenders take turns in one process, after one round that does not
count. All stop at a 1-norm of the change of at most 1e-10, except igraph's PRPACK, which has its own tolerance. The
change of the scores by one step of the walk is measured afterwards, in the same way for all.

With ``--folder``, a folder that contains, also in subfolders, NAME.npz with the array ``edges`` and
NAME_pagerank_hits.csv with the columns pagerank, hub and authority for each node: the largest difference from these
scores.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from lowland.ranking import hits, pagerank

Array = Any
DAMPING, TOL = 0.85, 1e-10


def graph(n: int, m: int, local: float, seed: int = 0) -> Array:
    """Return m edges between n nodes; degrees fall with rank r as (r + 100)^−0.6 (out) and (r + 100)^−0.9 (in)."""
    rng = np.random.default_rng(seed)
    ends = []
    for power, none in ((0.6, 0.15), (0.9, 0.05)):
        pull = rng.permutation((np.arange(n) + 100.0) ** -power)
        pull[rng.random(n) < none] = 0
        total = np.cumsum(pull)
        ends.append(np.searchsorted(total, rng.random(m) * total[-1], side="right"))
    source, target = ends
    near = rng.random(m) < local
    host = 200
    inside = np.minimum(source // host * host + (host * rng.random(m) ** 2).astype(np.int64), n - 1)
    return np.stack([source, np.where(near, inside, target)], axis=1).astype(np.int64)


def by_scipy(edges: Array, n: int) -> tuple[Array, int]:
    """Do the power iteration on a CSR matrix of the links by target."""
    A = sp.csr_array((np.ones(len(edges)), (edges[:, 1], edges[:, 0])), shape=(n, n))
    out = np.bincount(edges[:, 0], minlength=n)
    share = np.divide(DAMPING, out, out=np.zeros(n), where=out > 0)
    x = np.full(n, 1 / n)
    steps = 0
    change = np.inf
    while change > TOL:
        y = A @ (share * x)
        y += (1 - y.sum()) / n
        change = np.abs(y - x).sum()
        x = y
        steps += 1
    return x, steps


def by_igraph(edges: Array, n: int) -> tuple[Array, int]:
    """Let igraph build its graph and call PRPACK."""
    import igraph

    return np.array(igraph.Graph(n=n, edges=edges, directed=True).pagerank(damping=DAMPING)), 0


def by_lowland(edges: Array, n: int) -> tuple[Array, int]:
    """Call `pagerank`."""
    result = pagerank(edges, DAMPING, tol=TOL, n_nodes=n)
    return result.scores, result.iterations


def last_change(edges: Array, n: int, x: Array) -> float:
    """Return the 1-norm of the change by one step of the walk."""
    out = np.bincount(edges[:, 0], minlength=n)
    share = np.divide(DAMPING * x, out, out=np.zeros(n), where=out > 0)
    y = np.bincount(edges[:, 1], share[edges[:, 0]], minlength=n)
    return float(np.abs(y + (1 - y.sum()) / n - x).sum())


def compare(n: int, m: int, rounds: int, contenders: dict[str, Callable[[Array, int], tuple[Array, int]]]) -> None:
    """Print time and accuracy of all contenders on both graphs."""
    print(f"{'graph':8} {'contender':10} {'seconds':>8} {'least':>8} {'steps':>6} {'change':>9} {'ratio':>6}")
    for title, local in (("random", 0.0), ("hosts", 0.8)):
        edges = graph(n, m, local)
        seconds: dict[str, list[float]] = {name: [] for name in contenders}
        results: dict[str, tuple[Array, int]] = {}
        for turn in range(rounds + 1):
            for name, run in contenders.items():
                if name == "igraph" and turn > 1:
                    continue  # once is enough: it takes much longer
                start = time.perf_counter()
                results[name] = run(edges, n)
                if turn or name == "igraph":
                    seconds[name].append(time.perf_counter() - start)
        ours = float(np.median(seconds["lowland"]))
        for name, (x, steps) in results.items():
            median, least = float(np.median(seconds[name])), min(seconds[name])
            told = f"{last_change(edges, n, x):9.1e} {median / ours:6.2f}"
            print(f"{title:8} {name:10} {median:8.3f} {least:8.3f} {steps or '':>6} {told}")


def check(folder: Path) -> None:
    """Print the largest differences from the scores in a folder."""
    for table in sorted(folder.rglob("*_pagerank_hits.csv")):
        name = table.name.removesuffix("_pagerank_hits.csv")
        with np.load(next(folder.rglob(f"{name}.npz"))) as archive:
            edges = archive["edges"].astype(np.int64)
        want = np.genfromtxt(table, delimiter=",", names=True)
        walk, both = pagerank(edges, n_nodes=len(want)), hits(edges, n_nodes=len(want))
        found = {"pagerank": walk.scores, "hub": both.hubs, "authority": both.authorities}
        errors = ", ".join(f"{key} {np.abs(want[key] - values).max():.1e}" for key, values in found.items())
        print(f"{name}: {walk.n_nodes} nodes, {walk.n_edges} edges; largest difference: {errors}")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    if chosen.folder is not None:
        check(chosen.folder)
        return
    contenders = {"lowland": by_lowland, "scipy": by_scipy}
    try:
        import igraph  # noqa: F401

        contenders["igraph"] = by_igraph
    except ImportError:
        print("igraph is not installed: pip install igraph")
    compare(chosen.nodes, chosen.edges, chosen.rounds, contenders)


if __name__ == "__main__":
    main()
