"""Tables of categories: FAMD and prince in one run, and a million rows as a stream. ``python -m benchmarks.mixed``.

Rows have 20 columns of 10 levels each, moved by one hidden level. Each side is run in a fresh process, three times, and
the median is told, with the growth of memory over what the data and the imports took. The error is that of the first
two eigenvalues of multiple correspondence analysis, held against a dense decomposition of the Burt table by LAPACK. A
stream is generated as it is read; the seconds of generating it twice stand beside.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

COLUMNS, LEVELS, BLOCK = 20, 10, 50_000


def codes(start: int, n: int) -> np.ndarray:
    """Return the levels of rows from ``start`` on as numbers."""
    rng = np.random.default_rng(start)
    hidden = rng.integers(0, LEVELS, n)
    columns = []
    for j in range(COLUMNS):
        own = rng.integers(0, LEVELS, n)
        columns.append(np.where(rng.random(n) < 0.3, (hidden + j) % LEVELS, own))
    return np.array(columns)


def block(start: int, n: int) -> Any:
    """Return rows from ``start`` on as a polars frame of texts."""
    import polars as pl

    names = pl.Series([f"level {i}" for i in range(LEVELS)])
    return pl.DataFrame({f"c{j}": names[column] for j, column in enumerate(codes(start, n))})


def blocks(rows: int) -> Iterator[Any]:
    """Yield the table in blocks."""
    for start in range(0, rows, BLOCK):
        yield block(start, min(BLOCK, rows - start))


def burt(rows: int) -> np.ndarray:
    """Return the first two eigenvalues by definition: of D^-½ B D^-½ / Q, the trivial one left out."""
    B = np.zeros((COLUMNS * LEVELS, COLUMNS * LEVELS))
    for start in range(0, rows, BLOCK):
        found = codes(start, min(BLOCK, rows - start))
        G = np.zeros((found.shape[1], COLUMNS * LEVELS))
        G[np.arange(len(G)), found + LEVELS * np.arange(COLUMNS)[:, None]] = 1.0
        B += G.T @ G
    root = np.sqrt(np.diag(B))
    return np.linalg.eigvalsh(B / root[:, None] / root[None, :] / COLUMNS)[::-1][1:3]


def growth() -> int:
    """Return the largest size of the process so far, in bytes."""
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def measure(side: str, rows: int) -> dict[str, Any]:
    """Run one side in this process: seconds, memory, eigenvalues."""
    import polars as pl

    if side == "prince":
        import prince

        small = block(0, 500).to_pandas()
        prince.MCA(n_components=2, random_state=0).fit(small)  # imports are warm
        data = pl.concat(blocks(rows)).to_pandas()
        before, start = growth(), time.perf_counter()
        model = prince.MCA(n_components=2, random_state=0).fit(data)
        model.row_coordinates(data)
        return {"s": time.perf_counter() - start, "mb": (growth() - before) / 1e6, "values": list(model.eigenvalues_)}
    import lowland

    lowland.FAMD(2).fit_transform(block(0, 5000))
    given: Any = (lambda: blocks(rows)) if side == "stream" else pl.concat(blocks(rows)).to_pandas()
    before, start = growth(), time.perf_counter()
    famd = lowland.FAMD(2).fit(given)
    fitted = time.perf_counter() - start
    if side != "stream":
        famd.transform(given)
    found = {"s": time.perf_counter() - start, "mb": (growth() - before) / 1e6, "fit": fitted}
    return {**found, "values": (famd.eigenvalues_ / COLUMNS).tolist()}


def main() -> None:
    """Compare, one line a side."""
    parser = argparse.ArgumentParser(prog="benchmarks.mixed", description="Categories: FAMD and prince.")
    parser.add_argument("--rows", type=int, default=100_000, help="of the comparison")
    parser.add_argument("--stream", type=int, default=1_000_000, help="rows of the stream")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=2, metavar=("SIDE", "ROWS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one[0], int(given.one[1]))))
        return
    print(f"{'side':<10}{'rows':>10}{'s':>8}{'MB':>8}{'error':>10}")
    for side, rows in (("lowland", given.rows), ("prince", given.rows), ("stream", given.stream)):
        truth, runs = burt(rows), []
        for _ in range(given.repeats):
            command = [sys.executable, "-m", "benchmarks.mixed", "--one", side, str(rows)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{side:<10}{rows:>10}  failed: {(done.stderr.strip().splitlines() or ['killed'])[-1][:80]}")
                break
            runs.append(json.loads(done.stdout.splitlines()[-1]))
        else:
            seconds, size = (statistics.median(run[key] for run in runs) for key in ("s", "mb"))
            error = max(abs(v / t - 1) for run in runs for v, t in zip(run["values"], truth, strict=True))
            words = ""
            if side == "stream":
                start = time.perf_counter()
                for _ in range(2):
                    for _ in blocks(rows):
                        pass
                words = f"  of which {time.perf_counter() - start:.1f} s for generating the rows twice"
            print(f"{side:<10}{rows:>10}{seconds:>8.2f}{size:>8.0f}{error:>10.1e}{words}", flush=True)


if __name__ == "__main__":
    main()
