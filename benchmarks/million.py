"""Every method on a million rows: ``python -m benchmarks.million [METHOD ...] [--rows N]``.

Each fit runs in a process of its own. The plan is asked first; then time, peak growth of memory and what the fit says
of its own error are shown beside it. The aim is under 16 GB and 10 minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

from .datasets import correlated
from .harness import ROOT, Figures, environment
from .judges import Errors
from .manifold_cases import order_errors, roll, truth
from .worker import resident

LIMIT_BYTES, LIMIT_SECONDS = 16e9, 600.0
JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "kernel_pca": ("KernelPCA", {"landmarks": 1000, "preimage": None}),
    "kernel_pca_inverse": ("KernelPCA", {"landmarks": 1000}),
    "classical_mds": ("ClassicalMDS", {"metric": "cosine"}),
    "metric_mds": ("MetricMDS", {}),
    "nonmetric_mds": ("NonmetricMDS", {}),
    "isomap": ("Isomap", {}),
    "lle": ("LLE", {}),
    "modified_lle": ("ModifiedLLE", {}),
    "hessian_lle": ("HessianLLE", {}),
    "ltsa": ("LTSA", {}),
    "laplacian_eigenmaps": ("LaplacianEigenmaps", {}),
    "diffusion_maps": ("DiffusionMaps", {}),
    "lpp": ("LPP", {}),
    "npe": ("NPE", {}),
    "mvu": ("MVU", {}),
    "ica": ("ICA", {}),
    "random_projection": ("RandomProjection", {"n_components": 20}),
    "som": ("SOM", {}),
    "autoencoder": ("Autoencoder", {"epochs": 1}),
    "famd": ("FAMD", {}),
    "umap": ("UMAP", {}),
    "tsne": ("TSNE", {}),
}
FIRST, LAST = "isomap", "mvu"  # of those on the swiss roll, whose flat shape is known; others on 50 correlated columns
ON_SHEET = tuple(JOBS)[list(JOBS).index(FIRST) : list(JOBS).index(LAST) + 1]


def work(name: str, rows: int) -> None:
    """Fit one job and print its figures; runs in a process of its own."""
    import lowland

    class_name, options = JOBS[name]
    cls = getattr(lowland, class_name)
    size = {"n_components": 2} if "n_components" in cls._parameters else {}
    model = cls(**size | {"random_state": 0} | options)
    X = roll(rows, 3, "float64") if name in ON_SHEET else correlated(rows, 50, "float64")
    model.fit(X[: 2000 if name in ON_SHEET else 300])  # imports and compiled kernels are warm
    plan = lowland.plan(model, X)
    before = resident("VmRSS")
    start = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - start
    info = model.fit_info_
    told = {"seconds": seconds, "bytes": resident("VmHWM") - before, "data_bytes": X.nbytes}
    told |= {"plan_bytes": plan.bytes, "plan_seconds": plan.seconds, "approximation_error": info.approximation_error}
    if name in ON_SHEET:
        Y = SimpleNamespace(embedding_=model.embedding_ if hasattr(model, "embedding_") else model.transform(X))
        seen: Errors = order_errors(Y, X, truth(X, 2))
        told |= {"arc": 1 - seen["value_error"], "height": 1 - seen["vector_error"]}
    print(json.dumps(told | {"stages": dict(info.seconds), "evidence": {k: str(v) for k, v in info.evidence.items()}}))


def run(name: str, rows: int) -> Figures:
    """Start a process for one job and return its figures."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.million", "--worker", name, "--rows", str(rows)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def main() -> None:
    """Run the jobs one after another and print a line for each."""
    parser = argparse.ArgumentParser(prog="benchmarks.million", description="Fit every method on many rows.")
    parser.add_argument("method", nargs="*", choices=[*JOBS, []], help="which (default: all)")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--worker", choices=list(JOBS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.worker, given.rows)
        return
    print(f"{'method':<20}{'s':>8}{'plan s':>9}{'GB':>7}{'plan GB':>9}{'error':>10}  verdict")
    for name in given.method or JOBS:
        r = run(name, given.rows)
        if "error" in r:
            print(f"{name:<20}failed: {r['error']}", flush=True)
            continue
        fits = r["bytes"] + r["data_bytes"] < LIMIT_BYTES and r["seconds"] < LIMIT_SECONDS
        figures = f"{r['seconds']:>8.1f}{r['plan_seconds']:>9.1f}{r['bytes'] / 1e9:>7.2f}{r['plan_bytes'] / 1e9:>9.2f}"
        error = r["approximation_error"]
        order = f"  arc {r['arc']:.4f}, height {r['height']:.4f}" if "arc" in r else ""
        told = "exact" if error is None else f"{error:.3g}"
        print(f"{name:<20}{figures}{told:>10}  {'met' if fits else 'NOT met'}{order}")
        print(f"  {', '.join(f'{k} {v:.1f} s' for k, v in r['stages'].items())}", flush=True)


if __name__ == "__main__":
    main()
