"""PCA of a file larger than memory beside reading it: ``python -m benchmarks.beyond_memory FILE [--gb 36]``.

FILE is an .npy file of 128 float64 columns, or a .csv file of 50 with 2 % of its cells empty, and is made if it is not
there. Fresh processes take turns: one only reads (the bytes of the .npy file; the CSV file through the parser that the
fit uses), the others fit: PCA of the .npy file, recipes with PCA of the CSV file. Times include start-up. Memory is the
peak of the process.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

_PEAK = "\nprint(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"  # Linux
_EMPTY = 0.02  # share of the cells of the CSV file
_ROWS = 125_000  # of the block that is written again and again, each time a little larger

_BYTES = """
buffer = bytearray(1 << 23)
with open({file!r}, "rb", buffering=0) as opened:
    while opened.readinto(buffer):
        pass
"""
_PASS = """
from lowland.data import scan
for _ in scan({file!r}).arrays():
    pass
"""
_PCA = """
import lowland
model = lowland.PCA(10).fit(lowland.data.scan({file!r}))
"""
_RECIPE = """
import lowland
table = lowland.data.scan({{file!r}}, scratch=True)
model = lowland.recipe(lowland.PCA(10), missing="{missing}", scale="standard").fit(table)
"""


def write_npy(file: Path, n_bytes: float, columns: int = 128) -> None:
    """Write correlated columns with different means; blocks differ by a factor and a shift."""
    import numpy as np

    rng = np.random.default_rng(0)
    block = rng.standard_normal((_ROWS, columns)) @ (
        rng.standard_normal((columns, columns)) * np.linspace(2, 0.1, columns)
    )
    n = int(n_bytes / (8 * columns))
    with file.open("wb") as out:
        np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": (n, columns)})
        for i, start in enumerate(range(0, n, _ROWS)):
            rows = block[: min(_ROWS, n - start)] * (1 + 0.001 * (i % 7)) + 0.01 * i
            out.write(rows.data)


def write_csv(file: Path, n_bytes: float, columns: int = 50) -> None:
    """Write the same text block until the file is large enough; the first line has the names."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    block = rng.standard_normal((_ROWS, columns)) @ rng.standard_normal((columns, columns))
    block[rng.random(block.shape) < _EMPTY] = np.nan
    text = pl.DataFrame(block, schema=[f"c{j}" for j in range(columns)]).fill_nan(None).write_csv().encode()
    head, _, body = text.partition(b"\n")
    with file.open("wb") as out:
        out.write(head + b"\n")
        while out.tell() < n_bytes:
            out.write(body)


def measure(code: str) -> tuple[float, float]:
    """Return the seconds of a fresh process, and its peak memory in MB."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code + _PEAK], capture_output=True, text=True, check=True)
    return time.perf_counter() - start, int(done.stdout.split()[-1]) / 1024


def main() -> None:
    """Print the times, their ratio and the memory."""
    parser = argparse.ArgumentParser(prog="benchmarks.beyond_memory", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--gb", type=float, default=36.0)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    is_csv = given.file.suffix == ".csv"
    if not given.file.exists():
        (write_csv if is_csv else write_npy)(given.file, given.gb * 1e9)
    fits = {"bytes alone": _BYTES, "PCA": _PCA}
    if is_csv:
        recipes = {f"recipe, {how}": _RECIPE.format(missing=how) for how in ("mean", "median")}
        fits = {"parser alone": _PASS, **recipes}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in fits}
    for _ in range(given.rounds):
        for name, code in fits.items():
            times[name].append(measure(code.format(file=str(given.file))))
    name = next(iter(fits))
    base = statistics.median(seconds for seconds, _ in times[name])
    print(f"{given.file.stat().st_size / 1e9:.1f} GB, median of {given.rounds}")
    for label, found in times.items():
        seconds, peak = statistics.median(s for s, _ in found), max(p for _, p in found)
        print(f"{label:<16}{seconds:>8.1f} s{seconds / base:>8.2f} ×{peak:>9.0f} MB")


if __name__ == "__main__":
    main()
