"""Time and memory of reading a CSV file: ``python -m benchmarks.reading_tables [ROWS] [COLUMNS]``.

Each reader runs in a fresh process on a file of normal numbers; the file was read before, so it is in the cache. The
times are the best of three and include start-up; memory is the peak of the process. The last line of the CSV file is
the command `lowland reduce` (PCA) to coordinates and a model. Then a Parquet column of vectors is read, and reduced.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READERS = {
    "polars.read_csv": "import polars; polars.read_csv({file!r})",
    "lowland.data.read": "from lowland.data import read; read({file!r})",
    "read and select": "from lowland.data import read; read({file!r}).select()",
    "lowland reduce": "from lowland.cli import main; main(['reduce', {file!r}, *{written!r}])",
}
VECTORS = {
    "vectors of 64": "from lowland.data import read; read({file!r}, vector='v')",
    "lowland reduce": "from lowland.cli import main; main(['reduce', {file!r}, '--vector', 'v', *{written!r}])",
}
_PEAK = "; print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"  # Linux


def measure(code: str, repeats: int = 3) -> tuple[float, float]:
    """Return the least seconds of a fresh process, and its peak memory in MB."""
    best, peak = float("inf"), 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code + _PEAK], capture_output=True, text=True, check=True)
        best, peak = min(best, time.perf_counter() - start), int(done.stdout.split()[-1]) / 1024
    return best, peak


def main() -> None:
    """Print a row for each reader."""
    import numpy as np
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    parser = argparse.ArgumentParser(prog="benchmarks.reading_tables", description="Time and memory of reading.")
    parser.add_argument("rows", nargs="?", type=int, default=200_000)
    parser.add_argument("columns", nargs="?", type=int, default=50)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder, "table.csv"))
        pl.DataFrame(rng.standard_normal((given.rows, given.columns))).write_csv(file)
        size = Path(file).stat().st_size / 2**20
        print(f"{given.rows:,} × {given.columns} numbers, {size:.0f} MB of text")
        base = None
        written = [
            "--method",
            "pca",
            "--out",
            str(Path(folder, "map.csv")),
            "--model",
            str(Path(folder, "map.lowland")),
        ]
        for name, code in READERS.items():
            seconds, peak = measure(code.format(file=file, written=written))
            base = base or seconds
            print(f"{name:<22}{seconds:>8.2f} s{seconds / base:>8.2f} ×{peak:>9.0f} MB")
        vectors = str(Path(folder, "vectors.parquet"))
        flat = rng.standard_normal(given.rows * 64, dtype=np.float32)
        column = pa.FixedSizeListArray.from_arrays(pa.array(flat), 64)
        pq.write_table(pa.table({"v": column}), vectors, row_group_size=100_000)
        print(f"a column of vectors, {flat.nbytes / 2**20:.0f} MB in memory")
        for name, code in VECTORS.items():
            seconds, peak = measure(code.format(file=vectors, written=written))
            print(f"{name:<22}{seconds:>8.2f} s{'':>10}{peak:>9.0f} MB")


if __name__ == "__main__":
    main()
