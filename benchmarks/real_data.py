"""Every graph method on real tables: ``python -m benchmarks.real_data [METHOD ...] [--table NAME] [--limit SECONDS]``.

USPS (7,291 × 256), Letter (20,000 × 16, 1,332 repeated rows), the Olivetti faces (400 × 4,096) and the first 50,000
connections of KDD 99 (38 columns, heavy tails, most rows repeated). Each fit runs in a process of its own and is ended
at the limit. Shown are the seconds, whether the map, the places of 100 training rows and their way back are finite, how
far those rows come from their own places (over the spread of the map), and every warning.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .harness import ROOT, Figures, environment
from .harness import TABLES as FOLDER

TABLES = {"usps": "usps/usps.npz", "letter": "letter/letter.npz", "olivetti": "olivetti_faces/olivetti.npz",
          "kdd99": "kdd99/kdd99.npz"}  # fmt: skip
ROWS = 50_000
METHODS = (
    "isomap",
    "lle",
    "modified_lle",
    "hessian_lle",
    "ltsa",
    "laplacian_eigenmaps",
    "diffusion_maps",
    "lpp",
    "npe",
    "mvu",
)


def table(name: str, folder: Path) -> Any:
    """Read a table as rows of float64."""
    with np.load(folder / TABLES[name], allow_pickle=False) as stored:
        X = stored["X_train" if "X_train" in stored.files else "X"]
    return np.ascontiguousarray(X[:ROWS], dtype=np.float64)


def work(name: str, table_name: str, folder: Path) -> None:
    """Fit one method on one table and print what came of it; runs in a process of its own."""
    from lowland.contract.registry import method

    X = table(table_name, folder)
    model: Any = method(name).load()()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        start = time.perf_counter()
        Y = model.fit_transform(X)
        seconds = time.perf_counter() - start
    some = X[:: max(1, len(X) // 100)]
    placed = model.transform(some)
    back = model.inverse_transform(placed)
    away = float(np.abs(placed - Y[:: max(1, len(X) // 100)]).max() / np.ptp(Y, axis=0).max())
    print(
        json.dumps(
            {
                "seconds": seconds,
                "finite": all(bool(np.isfinite(A).all()) for A in (Y, placed, back)),
                "away": away,
                "residual": model.fit_info_.residual,
                "warnings": [f"{type(w.message).__name__}: {w.message}" for w in told],
            }
        )
    )


def run(name: str, table_name: str, folder: Path, limit: float) -> Figures:
    """Start a process for one fit and return its figures."""
    command = [sys.executable, "-m", "benchmarks.real_data", "--worker", name, "--table", table_name]
    command += ["--folder", str(folder)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {limit:g} s"}
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def main() -> None:
    """Run every method on every table and print a line for each, with its warnings below."""
    parser = argparse.ArgumentParser(prog="benchmarks.real_data", description="Fit graph methods on real tables.")
    parser.add_argument("method", nargs="*", choices=[*METHODS, []], help="which (default: all)")
    parser.add_argument("--table", choices=list(TABLES), help="only this one")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the tables lie")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which a fit is ended")
    parser.add_argument("--worker", choices=METHODS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder = given.folder.resolve()
    if given.worker:
        work(given.worker, given.table, folder)
        return
    print(f"{'table':<10}{'method':<22}{'s':>8}{'away':>10}{'residual':>10}  finite")
    for table_name in [given.table] if given.table else TABLES:
        for name in given.method or METHODS:
            r = run(name, table_name, folder, given.limit)
            if "error" in r:
                print(f"{table_name:<10}{name:<22}failed: {r['error']}", flush=True)
                continue
            residual = "–" if r["residual"] is None else f"{r['residual']:.1e}"
            figures = f"{r['seconds']:>8.1f}{r['away']:>10.1e}{residual:>10}"
            print(f"{table_name:<10}{name:<22}{figures}  {'yes' if r['finite'] else 'NO'}")
            for line in r["warnings"]:
                print(f"    {line}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
