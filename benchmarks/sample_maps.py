"""Maps of 10 million rows by a sample: ``python -m benchmarks.sample_maps FILE.parquet [--rows N] [--methods umap …]``.

FILE has 10 columns of 12 clusters of unequal sizes and widths, on planes of 2 to 6 dimensions; it is made if it is not
there. Each map is made by `lowland reduce` and judged by `lowland evaluate` (anchors against all rows), each in a
process of its own: wall time, peak of memory, error of placed rows, and measures of trust.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

METHODS = ("umap", "tsne", "isomap", "lle")
MEASURES = ("trustworthiness", "continuity", "neighborhood_overlap", "rnx_auc", "spearman")
LIMIT_SECONDS = 1800.0
_ROWS, _COLUMNS, _CLUSTERS = 500_000, 10, 12
_WATCH = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def write(file: Path, rows: int) -> None:
    """Write the table in groups of rows, in random order of clusters."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    centres = rng.standard_normal((_CLUSTERS, _COLUMNS)) * 6
    planes = [rng.standard_normal((2 + i % 5, _COLUMNS)) * rng.uniform(0.5, 1.5) for i in range(_CLUSTERS)]
    shares = rng.dirichlet(np.full(_CLUSTERS, 3.0))
    names = [f"x{j}" for j in range(_COLUMNS)]
    part = file.with_suffix(".part")
    with pq.ParquetWriter(part, pa.schema([(name, pa.float64()) for name in names])) as out:
        for start in range(0, rows, _ROWS):
            labels = rng.choice(_CLUSTERS, size=min(_ROWS, rows - start), p=shares)
            X = centres[labels] + 0.2 * rng.standard_normal((len(labels), _COLUMNS))
            for i, plane in enumerate(planes):
                of = labels == i
                X[of] += rng.standard_normal((int(of.sum()), len(plane))) @ plane
            out.write_table(pa.table(dict(zip(names, X.T, strict=True))))
    part.replace(file)


def command(*words: str) -> tuple[float, float, dict[str, Any]]:
    """Run a command of lowland; return its wall time, its peak of memory in GB and its JSON."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _WATCH, sys.executable, "-m", "lowland", *words, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds = time.perf_counter() - start
    return seconds, int(done.stderr.split()[-1]) * 1024 / 1e9, json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--sample", type=int, default=20_000)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    arguments = parser.parse_args()
    if not arguments.file.exists():
        write(arguments.file, arguments.rows)
    out = arguments.file.with_name(arguments.file.stem + "-map.parquet")
    for method in arguments.methods:
        source = str(arguments.file)
        words = ("--method", method, "--stream", "--sample", str(arguments.sample), "--out", str(out))
        seconds, peak, made = command("reduce", source, *words)
        stream = made["stream"]
        print(
            f"{method:8} {seconds:6.0f} s ({'met' if seconds <= LIMIT_SECONDS else 'MISSED'}: {LIMIT_SECONDS:.0f} s)",
            f"{peak:.2f} GB, placed by {stream['placement']}, placement error {stream['placement_error']}",
            f"(two fits {made['fit_info']['evidence'].get('difference of two fits')}),",
            f"interpolation error {stream['interpolation_error']}",
            flush=True,
        )
        seconds, peak, judged = command("evaluate", source, str(out), "--stream")
        values = ", ".join(f"{name} {judged['measures'][name]['value']:.3f}" for name in MEASURES)
        print(f"{'':8} judged in {seconds:.0f} s, {peak:.2f} GB: {values}", flush=True)
        out.unlink()


if __name__ == "__main__":
    main()
