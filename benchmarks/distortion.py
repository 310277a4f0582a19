"""Random projections: distances, speed, a long stream. ``python -m benchmarks.distortion [bound] [speed] [stream]``.

``bound``: the share of pairs whose squared distance is kept within eps at the Johnson–Lindenstrauss bound, for easy and
hard rows, beside scikit-learn's two projections to as many dimensions. ``speed``: seconds of fit_transform, medians of
turns taken one after another in one process, data and code warm. ``stream``: a million rows that never lie in memory
together, fitted in one pass and transformed in a second, in a process of its own whose growth of memory is shown.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

import lowland
from lowland.methods.random.random_projection import bound

from .harness import ROOT, environment
from .worker import resident

Array = Any
KINDS = ("gaussian", "sparse", "hadamard")
ROUNDS = 3
BLOCK = 4096


def contenders(k: int) -> dict[str, Any]:
    """Return unfitted models to k dimensions, ours and theirs."""
    ours = {f"lowland {kind}": lowland.RandomProjection(k, kind=kind, random_state=0) for kind in KINDS}
    theirs = {
        "sklearn gaussian": GaussianRandomProjection(k, random_state=0),
        "sklearn sparse": SparseRandomProjection(k, dense_output=True, random_state=0),
    }
    return ours | theirs


def tables(n: int, d: int) -> dict[str, Array]:
    """Return easy and hard rows."""
    rng = np.random.default_rng(0)
    spikes = np.zeros((n, d))
    spikes[np.arange(n), rng.integers(0, d, n)] = rng.exponential(size=n) + 0.1
    column = np.zeros((n, d))
    column[:, d // 2] = rng.standard_normal(n)
    waves = scipy.linalg.hadamard(1 << (d - 1).bit_length())[:n, :d].astype(float)
    return {
        "normal": rng.standard_normal((n, d)),
        "heavy tails": rng.standard_cauchy((n, d)),
        "spikes": spikes,
        "one column": column,
        "Hadamard rows": waves,
    }


def at_the_bound(n: int = 500, d: int = 4000, eps: float = 0.2) -> None:
    """Print the share of pairs within eps, and the worst pair, for each table and contender."""
    k = bound(n, eps)
    print(f"{n} rows of {d} columns to {k} dimensions, the bound for eps = {eps}: pairs within eps (worst)")
    for name, X in tables(n, d).items():
        true = pdist(X, "sqeuclidean")
        for who, model in contenders(k).items():
            error = np.abs(pdist(model.fit_transform(X), "sqeuclidean")[true > 0] / true[true > 0] - 1)
            print(f"  {name:<16}{who:<20}{np.mean(error <= eps):>9.5f}  ({error.max():.3f})", flush=True)


def turns(jobs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return median seconds of jobs that take turns, each done once before."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for job in jobs.values():
        job()
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in seconds.items()}


def speed(n: int = 20_000, d: int = 4000, k: int = 800) -> None:
    """Print the seconds of fit and transform on dense rows of both precisions and on sparse ones."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    counts = sp.random_array((n, 50_000), density=1e-3, rng=rng, format="csr")
    for name, rows in (("float64", X), ("float32", X.astype(np.float32)), ("sparse, 50,000 columns", counts)):
        models = contenders(k)
        jobs = {who: (lambda model=model, rows=rows: model.fit_transform(rows)) for who, model in models.items()}
        found = turns(jobs)
        print(f"{rows.shape[0]} × {rows.shape[1]} {name} to {k} dimensions, seconds of fit_transform")
        for who, seconds in found.items():
            kind = who.split()[1]
            ratio = found.get(f"sklearn {kind}", found["sklearn gaussian"]) / seconds
            print(
                f"  {who:<20}{seconds:>8.2f}{'' if who.startswith('sk') else f'  {ratio:.1f} × its peer'}", flush=True
            )


def blocks(n: int, d: int) -> Iterator[Array]:
    """Yield correlated rows, made as they are read."""
    mix = np.random.default_rng(0).standard_normal((20, d)).astype(np.float32)
    for start in range(0, n, BLOCK):
        rng = np.random.default_rng([1, start])
        m = min(BLOCK, n - start)
        hidden = rng.standard_normal((m, 20), dtype=np.float32)
        yield hidden @ mix + rng.standard_normal((m, d), dtype=np.float32)


def stream(n: int, d: int, eps: float, kind: str) -> None:
    """Fit and transform a stream; print the figures of this process as JSON."""
    lowland.RandomProjection(10, kind=kind).fit(blocks(BLOCK, d)).transform(next(blocks(BLOCK, d)))  # warm
    start = time.perf_counter()
    for _ in blocks(n, d):
        pass
    making = time.perf_counter() - start
    before = resident("VmRSS")
    start = time.perf_counter()
    model = lowland.RandomProjection(eps=eps, kind=kind).fit(blocks(n, d))
    fitting = time.perf_counter() - start
    start = time.perf_counter()
    seen = sum(len(model.transform(rows)) for rows in blocks(n, d))
    mapping = time.perf_counter() - start
    told = {"rows": seen, "k": model.n_components_, "making": making, "fit": fitting, "transform": mapping}
    print(json.dumps(told | {"bytes": resident("VmHWM") - before, "evidence": dict(model.fit_info_.evidence)}))


def streams(n: int, d: int = 1000, eps: float = 0.5) -> None:
    """Run the stream for each kind in a process of its own."""
    print(f"a stream of {n} × {d} float32 ({4 * n * d / 1e9:.1f} GB), eps = {eps}")
    for kind in KINDS:
        words = ["--worker", kind, "--rows", str(n), "--columns", str(d), "--eps", str(eps)]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.distortion", *words],
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            print(f"  {kind:<10}failed: {done.stderr.strip().splitlines()[-1]}")
            continue
        r = json.loads(done.stdout.strip().splitlines()[-1])
        print(
            f"  {kind:<10}{r['k']} dimensions, fit {r['fit']:.1f} s, transform {r['transform']:.1f} s (making the rows "
            f"{r['making']:.1f} s of each), {r['bytes'] / 1e9:.2f} GB; within eps "
            f"{r['evidence']['pairs within eps']:.4f}, worst {r['evidence']['worst distortion']:.3f}",
            flush=True,
        )


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(prog="benchmarks.distortion", description="Random projections measured.")
    parser.add_argument("parts", nargs="*", choices=["bound", "speed", "stream", []], help="which (default: all)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the stream")
    parser.add_argument("--columns", type=int, default=1000, help="of the stream")
    parser.add_argument("--eps", type=float, default=0.5, help="of the stream")
    parser.add_argument("--worker", choices=KINDS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        stream(given.rows, given.columns, given.eps, given.worker)
        return
    wanted = given.parts or ["bound", "speed", "stream"]
    if "bound" in wanted:
        at_the_bound()
    if "speed" in wanted:
        speed()
    if "stream" in wanted:
        streams(given.rows, given.columns, given.eps)


if __name__ == "__main__":
    main()
