"""The first call of every method: ``python -m benchmarks.cold_start [METHOD ...] [--rows N]``.

Each runs in a fresh process whose folder of compiled loops is empty, on a swiss roll. Shown are the seconds from the
start of the process to its end after one fit and transform, what of that the fit alone took, the processor's seconds,
which tell more on a busy machine, and the same once more with the folder that the first process has filled. The aim is
under 10 s at 1,000 points.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

from .harness import ROOT, Figures, environment

LIMIT_SECONDS = 10.0


def work(name: str, rows: int) -> None:
    """Fit one method and print what its fit took; runs in a process of its own."""
    from lowland.contract.registry import method
    from lowland.data import swiss_roll

    X: Any = swiss_roll(rows)[0]
    start = time.perf_counter()
    model = method(name).load()().fit(X)
    seconds = time.perf_counter() - start
    model.transform(X[:10] + 0.01)
    print(json.dumps({"fit": seconds}))


def spent() -> float:
    """Return the seconds that ended child processes have had of the processors."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(name: str, rows: int, folder: str) -> Figures:
    """Start a process for one method that keeps its compiled loops in ``folder``; return its figures."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.cold_start", "--worker", name, "--rows", str(rows)]
    places = environment() | {"NUMBA_CACHE_DIR": folder}
    start, before = time.perf_counter(), spent()
    done = subprocess.run(command, cwd=ROOT, env=places, capture_output=True, text=True, check=False)
    seconds, processor = time.perf_counter() - start, spent() - before
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return {"seconds": seconds, "processor": processor} | dict(json.loads(done.stdout.strip().splitlines()[-1]))


def main() -> None:
    """Run the methods one after another and print a line for each."""
    from lowland.contract.registry import METHODS

    known = [row.name for row in METHODS]
    parser = argparse.ArgumentParser(prog="benchmarks.cold_start", description="Time the first call of every method.")
    parser.add_argument("method", nargs="*", choices=[*known, []], help="which (default: all)")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--worker", choices=known, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.worker, given.rows)
        return
    print(f"{'method':<22}{'first s':>10}{'its fit':>9}{'cpu':>8}{'second s':>10}{'its fit':>9}{'cpu':>8}  verdict")
    for name in given.method or known:
        with tempfile.TemporaryDirectory() as folder:
            first, second = (run(name, given.rows, folder) for _ in range(2))
        if "error" in first or "error" in second:
            print(f"{name:<22}failed: {first.get('error') or second['error']}", flush=True)
            continue
        figures = "".join(f"{r['seconds']:>10.2f}{r['fit']:>9.2f}{r['processor']:>8.2f}" for r in (first, second))
        print(f"{name:<22}{figures}  {'met' if first['seconds'] < LIMIT_SECONDS else 'NOT met'}", flush=True)


if __name__ == "__main__":
    main()
