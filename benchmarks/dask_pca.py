"""PCA of a Dask array: ``python benchmarks/dask_pca.py [--peer PYTHON] [--workers 1 2 4] [--rows N]``.

Ten components of N × 100 rows in float64 that the workers already hold, by Lowland and, with ``--peer`` (the Python of
an environment that has dask-ml), by dask-ml with its exact and its randomised solver. Each library, solver and number
of workers has a process and a cluster of its own, of one thread for each worker; the first fit warms up, the median of
three counts. Errors are against LAPACK's QR and SVD of the whole table. ``--lazy GB`` fits rows that are generated
while they are read. All show the memory of a worker, the largest task and the bytes that left the workers.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

COLUMNS, COMPONENTS, CHUNK = 100, 10, 50_000
SOLVERS = {"lowland": ("auto",), "dask-ml": ("full", "randomized")}


def chunk(block_info: Any = None) -> Any:
    """Return the rows of one chunk, which depend on its place alone: ten strong directions and noise, means near 10."""
    import numpy as np

    (a, b), _ = block_info[None]["array-location"]
    rng, turn = np.random.default_rng([7, a]), np.random.default_rng(7).standard_normal((COMPONENTS, COLUMNS))
    strong = rng.standard_normal((b - a, COMPONENTS)) * 0.8 ** np.arange(COMPONENTS)
    return strong @ turn + 0.1 * rng.standard_normal((b - a, COLUMNS)) + 10.0


def rows(n: int, size: int = CHUNK) -> Any:
    import dask.array as da

    lengths = (size,) * (n // size) + ((n % size,) if n % size else ())
    return da.map_blocks(chunk, chunks=(lengths, (COLUMNS,)), dtype="f8")


def model_of(library: str, solver: str) -> Any:
    if library == "lowland":
        import lowland

        return lowland.PCA(COMPONENTS, solver=solver)
    from dask_ml.decomposition import PCA

    return PCA(COMPONENTS, svd_solver=solver, random_state=0)


def errors(model: Any, X: Any) -> tuple[float, float]:
    """Return the largest relative error of a variance, and the sine of the largest angle between the subspaces."""
    import numpy as np

    X = X.compute()
    X -= X.mean(axis=0)
    _, s, V = np.linalg.svd(np.linalg.qr(X, mode="r"))
    true = s[:COMPONENTS] ** 2 / (len(X) - 1)
    W = np.asarray(model.components_)
    missed = W - (W @ V[:COMPONENTS].T) @ V[:COMPONENTS]
    found = np.asarray(model.explained_variance_)
    return float(np.abs(found / true - 1).max()), float(np.linalg.norm(missed, 2))


def peak() -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def sent(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


class Largest:
    """Notes the largest result of a task on the scheduler."""

    def __init__(self) -> None:
        from distributed.diagnostics.plugin import SchedulerPlugin

        owner = self
        self.bytes, self.names = 0, dict[str, int]()

        class Plugin(SchedulerPlugin):
            def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
                if finish == "memory":
                    task = self.scheduler.tasks[key]
                    owner.names[task.group_key] = max(owner.names.get(task.group_key, 0), task.nbytes)
                    owner.bytes = max(owner.bytes, task.nbytes)

        self.plugin = Plugin()


def measure(library: str, solver: str, workers: int, n: int, lazy: bool, check: bool) -> dict[str, Any]:
    """Fit on a cluster of this many processes; runs in a process of its own."""
    from distributed import Client, LocalCluster, wait

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        X = rows(n)
        if not lazy:
            X = X.persist()
            wait(X)
        model_of(library, solver).fit(rows(4 * CHUNK))
        largest = Largest()
        cluster.scheduler.add_plugin(largest.plugin)
        largest.plugin.scheduler = cluster.scheduler
        before, seconds = sum(client.run(sent).values()), []
        for _ in range(1 if lazy else 3):
            start = time.perf_counter()
            model = model_of(library, solver).fit(X)
            seconds.append(time.perf_counter() - start)
        out = {
            "library": library,
            "solver": solver,
            "workers": workers,
            "rows": n,
            "seconds": statistics.median(seconds),
            "spread": [min(seconds), max(seconds)],
            "bytes sent in one fit": (sum(client.run(sent).values()) - before) // len(seconds),
            "largest task": largest.bytes,
            "peak of a worker": max(client.run(peak).values()),
        }
        if check:
            out["value error"], out["vector error"] = errors(model, X)
        return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="the Python of an environment that has dask-ml")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--lazy", type=float, help="GB of rows that are generated while they are read")
    parser.add_argument("--only", nargs=2, metavar=("LIBRARY", "SOLVER"), help="measure one of them in this process")
    given = parser.parse_args()
    n = int(given.lazy * 1e9) // (8 * COLUMNS) if given.lazy else given.rows
    if given.only:
        print(json.dumps(measure(*given.only, given.workers[0], n, bool(given.lazy), given.lazy is None)))
        return
    pythons = {"lowland": sys.executable} | ({"dask-ml": given.peer} if given.peer else {})
    for workers in given.workers:
        for library, python in pythons.items():
            for solver in SOLVERS[library]:
                size = ["--lazy", str(given.lazy)] if given.lazy else ["--rows", str(n)]
                call = [python, __file__, "--only", library, solver, "--workers", str(workers), *size]
                done = subprocess.run(call, capture_output=True, text=True, env=dict(os.environ))
                print(done.stdout.strip() or done.stderr.strip()[-500:], flush=True)


if __name__ == "__main__":
    main()
