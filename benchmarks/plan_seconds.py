"""Rough seconds of plans beside measured ones: every method on small and middling tables, and reports of maps.

    python -m benchmarks.plan_seconds            # fits, then reports
    python -m benchmarks.plan_seconds --only pca,lle

Each figure is the median of three runs in a warmed process; run nothing else beside it.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import lowland
from lowland import quality
from lowland.contract import registry
from lowland.quality.costs import report_seconds

FITS = ((150, 4), (1000, 20), (5000, 50), (600, 20_000))
REPORTS = ((150, 4), (1000, 20), (5000, 50), (10_000, 50), (20_000, 20), (100_000, 20), (500_000, 10), (600, 20_000))
SLOW = 60.0  # planned seconds from which on a fit is left out


def rows(n: int, width: int) -> np.ndarray[Any, Any]:
    """Return a curved sheet in so many columns, with noise."""
    rng = np.random.default_rng(0)
    sheet, _ = lowland.data.swiss_roll(n, random_state=0)
    return sheet @ rng.normal(size=(3, width)) + rng.normal(0, 0.1, (n, width))


def seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """Return the median time, after a first call that is not counted where it is quick."""
    start = time.perf_counter()
    call()
    first = time.perf_counter() - start
    if first > 10:
        return first
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def fits(names: list[str]) -> None:
    """Print the plan and the time of fits."""
    print(f"{'method':<22}{'rows':>8}{'columns':>9}{'planned s':>12}{'measured s':>12}{'measured/planned':>18}")
    off = 0
    for row in registry.METHODS:
        if names and row.name not in names:
            continue
        cls: Any = row.load()
        for n, width in FITS:
            model = cls(n_components=2) if "n_components" in cls._parameters else cls()
            planned = lowland.plan(model, shape=(n, width)).seconds
            if planned > SLOW:
                continue
            X = rows(n, width)
            took = seconds(lambda model=model, X=X: model.fit(X))
            off += not 1 / 3 <= took / planned <= 3
            print(f"{row.name:<22}{n:>8}{width:>9}{planned:>12.4f}{took:>12.4f}{took / planned:>18.2f}", flush=True)
    print(f"more than a factor of 3 off: {off}")


def reports() -> None:
    """Print the plan and the time of reports."""
    print(f"{'report':<22}{'rows':>8}{'columns':>9}{'planned s':>12}{'measured s':>12}{'measured/planned':>18}")
    for n, width in REPORTS:
        X = rows(n, width)
        Y = lowland.PCA(n_components=2).fit_transform(X)
        planned, took = report_seconds(n, width), seconds(lambda X=X, Y=Y: quality.report(X, Y), 1)
        print(f"{'':<22}{n:>8}{width:>9}{planned:>12.2f}{took:>12.2f}{took / planned:>18.2f}", flush=True)


def main() -> None:
    """Read the command line and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="methods, separated by commas; no reports then")
    names = [name for name in parser.parse_args().only.split(",") if name]
    warnings.simplefilter("ignore")
    fits(names)
    if not names:
        reports()


if __name__ == "__main__":
    main()
