"""The small end of LLE's matrix on a swiss roll: ``python -m benchmarks.nullspace [N ...] [--solver S ...]``.

Each solver runs in a process of its own. ``L`` is the entries of the factor that were foretold, ``stored`` what it
holds (for SuperLU both triangles), ``GB`` the growth of memory by its peak, ``cpu`` the seconds of all threads: where
the machine is shared, that is the figure to compare. ``rank`` is the rank correlation of the first vector with the arc.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .harness import ROOT, Figures, environment
from .worker import resident

SOLVERS = ("superlu", "cholesky")
Array = np.ndarray[Any, Any]


def swiss_roll(n: int) -> tuple[Array, Array]:
    """Return points of a roll and where they lie along it."""
    rng = np.random.default_rng(0)
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    return np.column_stack([t * np.cos(t), 21 * rng.random(n), t * np.sin(t)]), t


def lle_matrix(X: Array, k: int, block: int = 50_000) -> Any:
    """Return (I − W)ᵀ(I − W), W rebuilding each point from its k neighbours."""
    from scipy.spatial import cKDTree

    n = len(X)
    near = cKDTree(X).query(X, k + 1, workers=-1)[1][:, 1:]
    W = np.empty((n, k))
    for start in range(0, n, block):
        rows = slice(start, start + block)
        Z = X[near[rows]] - X[rows, None]
        C = Z @ Z.transpose(0, 2, 1)
        C[:, range(k), range(k)] += 1e-3 * np.trace(C, axis1=1, axis2=2)[:, None]
        w = np.linalg.solve(C, np.ones((len(C), k, 1)))[..., 0]
        W[rows] = w / w.sum(axis=1, keepdims=True)
    B = sp.eye_array(n, format="csr") - sp.csr_array((W.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), (n, n))
    return sp.csr_array(B.T @ B)


def work(n: int, k: int, solver: str) -> None:
    """Solve once and print the figures; runs in a process of its own."""
    from scipy.stats import spearmanr

    from lowland.spectral import smallest

    smallest(lle_matrix(swiss_roll(6000)[0], k), 2, null=np.full((6000, 1), 6000**-0.5), solver=solver)  # compiled
    X, t = swiss_roll(n)
    M = lle_matrix(X, k)
    null = np.full((n, 1), n**-0.5)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # let VmHWM start anew from here
    before, cpu = resident("VmRSS"), time.process_time()
    found = smallest(M, 2, null=null, solver=solver)
    told: Figures = {
        "nnz": M.nnz,
        "predicted": found.predicted,
        "fill": found.fill,
        **found.seconds,
        "cpu": time.process_time() - cpu,
        "bytes": resident("VmHWM") - before,
        "residual": found.residual,
        "values": found.values.tolist(),
        "rank": abs(float(spearmanr(t, found.vectors[:, 0])[0])),
    }
    print(json.dumps(told))


def run(n: int, k: int, solver: str) -> Figures:
    """Start a process for one solver and return its figures."""
    command = [sys.executable, "-m", "benchmarks.nullspace", "--worker", solver, "-k", str(k), str(n)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def main() -> None:
    """Run each solver at each size and print a line for it."""
    parser = argparse.ArgumentParser(prog="benchmarks.nullspace", description="Small eigenpairs of LLE's matrix.")
    parser.add_argument("n", nargs="*", type=int, default=[20_000, 100_000])
    parser.add_argument("-k", type=int, default=10, help="neighbours")
    parser.add_argument("--solver", nargs="+", choices=SOLVERS, default=SOLVERS)
    parser.add_argument("--worker", choices=SOLVERS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.n[0], given.k, given.worker)
        return
    columns = ("N", "k", "nnz M", "L M", "stored M", "factor s", "solve s", "cpu s", "GB", "residual", "rank")
    print(f"{'solver':<10}" + "".join(f"{c:>10}" for c in columns))
    for n in given.n:
        for solver in given.solver:
            r = run(n, given.k, solver)
            if "error" in r:
                print(f"{solver:<10}{n:>10}  failed: {r['error']}", flush=True)
                continue
            predicted = "-" if r["predicted"] is None else f"{r['predicted'] / 1e6:.1f}"
            print(
                f"{solver:<10}{n:>10}{given.k:>10}{r['nnz'] / 1e6:>10.2f}{predicted:>10}{r['fill'] / 1e6:>10.1f}"
                f"{r['factor']:>10.2f}{r['solve']:>10.2f}{r['cpu']:>10.1f}{r['bytes'] / 1e9:>10.2f}"
                f"{r['residual']:>10.1e}{r['rank']:>10.5f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
