"""Planned and measured memory of every method: ``python -m benchmarks.plans [METHOD ...] [--shape NAME ...]``.

Each fit runs in a fresh process that has fitted the same method to a small table of the same kind before, so that
imports, compiled loops and the thread pool are not counted. Measured is the highest resident memory during the fit
less that just before it. A plan of 100 MB or more should be 0.5 to 1.5 times the measured growth, a smaller one within
50 MB of it. By default each table is fitted in float64 on 1, 2 and 8 threads and in float32 on 2; ``--full`` takes all
combinations.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .harness import ROOT, Figures, environment
from .worker import resident

SMALL_PLAN, SLACK = 100e6, 50e6  # bytes: plans below the first may be off by the second
LEAST, MOST = 0.5, 1.5
WARM_ROWS, WARM_COLUMNS, WARM_ENTRIES = 2000, 2000, 800_000  # of the table that is fitted first, the last if sparse
WARM_POINTS = 6000  # of a sheet: above 5000 points graph methods load further compiled loops
TIMEOUT = 300.0
SEED = 0


class Shape(NamedTuple):
    """A table: rows, columns, and for a sparse one the share of entries that are stored."""

    rows: int
    columns: int
    density: float | None = None


SHAPES = {
    "tall": Shape(200_000, 50),
    "sheet": Shape(50_000, 50),
    "wide": Shape(600, 60_000),
    "wider": Shape(400, 200_000),
    "square": Shape(3000, 3000),
    "small square": Shape(1200, 1200),
    "sparse tall": Shape(200_000, 2000, 0.005),
    "sparse wide": Shape(1000, 200_000, 0.005),
    "sparse large": Shape(40_000, 60_000, 0.0005),
}
DENSE = ("tall", "wide", "wider", "square")
SPARSE = ("sparse tall", "sparse wide", "sparse large")
NEIGHBORS = ("sheet", "wide", "wider", "square", "sparse wide")  # of 200,000 rows the search alone takes minutes
ALL_AXES = ("sheet", "wide", "small square")  # all principal axes are found first


class Job(NamedTuple):
    """The tables that a method takes in reasonable time, and options that keep iterations few."""

    shapes: tuple[str, ...]
    options: dict[str, Any]


JOBS: dict[str, Job] = {
    "pca": Job((*DENSE, *SPARSE), {"n_components": 10}),
    "truncated_svd": Job((*DENSE, *SPARSE), {"n_components": 10}),
    "classical_mds": Job(DENSE, {}),
    "metric_mds": Job(DENSE, {"max_iter": 5}),
    "nonmetric_mds": Job(DENSE, {"max_iter": 5}),
    "kernel_pca": Job(DENSE, {}),
    "probabilistic_pca": Job(DENSE, {}),
    "lpp": Job(ALL_AXES, {}),
    "npe": Job(ALL_AXES, {}),
    "isomap": Job(NEIGHBORS, {}),
    "lle": Job(NEIGHBORS, {}),
    "modified_lle": Job(NEIGHBORS, {}),
    "hessian_lle": Job(NEIGHBORS, {}),
    "ltsa": Job(NEIGHBORS, {}),
    "laplacian_eigenmaps": Job(NEIGHBORS, {}),
    "diffusion_maps": Job(NEIGHBORS, {}),
    "mvu": Job(NEIGHBORS, {}),
    "ica": Job(DENSE, {"n_components": 10, "max_iter": 5}),
    "random_projection": Job((*DENSE, *SPARSE), {"n_components": 40}),
    "famd": Job(DENSE, {}),
    "som": Job(DENSE, {"epochs": 2}),
    "autoencoder": Job(DENSE, {"epochs": 1}),
    "tsne": Job(NEIGHBORS, {"max_iter": 5}),
    "umap": Job(NEIGHBORS, {"n_epochs": 5}),
}


@dataclass(frozen=True)
class Case:
    """One fit: a method, a table, a precision and a number of threads; ``limit`` is the memory limit in bytes."""

    method: str
    shape: str
    dtype: str = "float64"
    threads: int = 2
    limit: int | None = None


def table(shape: Shape, dtype: str) -> Any:
    """Make a rolled sheet with noise in all columns, or sparse random entries; plans of graphs are made for sheets."""
    from lowland.data import swiss_roll

    rng, (n, d, density) = np.random.default_rng(SEED), shape
    if density is not None:
        count = int(n * d * density)
        where = rng.integers(0, n, count), rng.integers(0, d, count)
        return sp.csr_array((rng.standard_normal(count, dtype=dtype), where), shape=(n, d))
    axes = np.linalg.qr(rng.standard_normal((d, 3)))[0].T
    X = np.empty((n, d), dtype=dtype)
    sheet = swiss_roll(n, random_state=0)[0] @ axes if n * d <= 1 << 22 else swiss_roll(n, random_state=0)[0]
    step = max(1, (1 << 22) // d)
    for start in range(0, n, step):
        block = X[start : start + step]
        part = sheet[start : start + step]
        block[:] = part if part.shape[1] == d else part @ axes
        block += 0.01 * rng.standard_normal(block.shape, dtype=dtype)
    return X


def release() -> None:
    """Give freed memory back to the system, so that the growth begins at what is in use (glibc)."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def work(case: Case) -> None:
    """Fit one case and print its figures; runs in a process of its own."""
    import lowland
    from lowland.contract.registry import method

    warnings.simplefilter("ignore")
    shape, job, cls = SHAPES[case.shape], JOBS[case.method], method(case.method).load()
    lowland.config(threads=case.threads)
    most = WARM_POINTS if case.shape == "sheet" else WARM_ROWS
    rows, columns = min(shape.rows, most), min(shape.columns, WARM_COLUMNS)
    small = Shape(rows, columns, shape.density and WARM_ENTRIES / (rows * columns))
    cls(**job.options).fit(table(small, case.dtype))
    X, model = table(shape, case.dtype), cls(**job.options)
    if case.limit is not None:
        lowland.config(memory_limit=case.limit)
    plan = lowland.plan(model, X)
    release()
    Path("/proc/self/clear_refs").write_text("5")  # let VmHWM start anew from here
    before, start, refused = resident("VmRSS"), time.perf_counter(), False
    try:
        model.fit(X)
    except lowland.MemoryLimitError:
        refused = True
    figures = {"planned": plan.bytes, "measured": max(0, resident("VmHWM") - before), "refused": refused}
    figures |= {"seconds": time.perf_counter() - start, "algorithm": plan.algorithm, "parts": dict(plan.parts)}
    print(json.dumps(figures))


def run(case: Case) -> Figures:
    """Start a process for one case and return its figures."""
    command = [sys.executable, "-m", "benchmarks.plans", "--worker", json.dumps(asdict(case))]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {TIMEOUT:.0f} s"}
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or [f"the process ended with code {done.returncode}"])[-1]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def within(planned: float, measured: float) -> bool:
    """Tell whether a plan is near enough to what was measured."""
    if planned < SMALL_PLAN:
        return abs(planned - measured) <= SLACK
    return LEAST <= planned / max(1.0, measured) <= MOST


def kinds(full: bool) -> list[tuple[str, int]]:
    """Return the precisions and numbers of threads that each table is fitted with."""
    if full:
        return list(product(("float64", "float32"), (1, 2, 8)))
    return [("float64", 1), ("float64", 2), ("float64", 8), ("float32", 2)]


def line(case: Case, found: Figures) -> str:
    """Lay out one case as a line of the table."""
    head = f"{case.method:<20}{case.shape:<13}{case.dtype:<9}{case.threads:>3}"
    if "error" in found:
        return f"{head}  failed: {found['error']}"
    planned, measured = found["planned"], found["measured"]
    ratio = planned / max(1.0, measured)
    figures = f"{planned / 1e6:>10.0f}{measured / 1e6:>10.0f}{ratio:>7.2f}{found['seconds']:>8.1f}"
    verdict = "refused" if found["refused"] else "met" if within(planned, measured) else "NOT met"
    return f"{head}{figures}  {verdict:<8}{found['algorithm']}"


def main() -> None:
    """Run the cases one after another and print a line for each."""
    parser = argparse.ArgumentParser(prog="benchmarks.plans", description="Hold plans against measured memory.")
    parser.add_argument("method", nargs="*", choices=[*JOBS, []], help="which methods (default: all)")
    parser.add_argument("--shape", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--dtype", nargs="+", choices=["float64", "float32"])
    parser.add_argument("--threads", nargs="+", type=int)
    parser.add_argument("--full", action="store_true", help="all combinations of precision and threads")
    parser.add_argument("--limit", type=float, help="memory limit in MB: fits are refused or stay below it")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(Case(**json.loads(given.worker)))
        return
    chosen = list(product(given.dtype or ("float64",), given.threads or (2,)))
    chosen = chosen if given.dtype or given.threads else kinds(given.full)
    limit = None if given.limit is None else int(given.limit * 1e6)
    print(f"{'method':<20}{'table':<13}{'dtype':<9}{'thr':>3}{'plan MB':>10}{'real MB':>10}{'ratio':>7}{'s':>8}")
    for name in given.method or JOBS:
        for shape in (s for s in JOBS[name].shapes if s in given.shape):
            for dtype, threads in chosen:
                case = Case(name, shape, dtype, threads, limit)
                print(line(case, run(case)), flush=True)


if __name__ == "__main__":
    main()
