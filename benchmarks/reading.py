"""How much code a call goes through: ``python -m benchmarks.reading [METHOD ...]``.

For ``fit`` and ``transform`` of each method: the functions of `methods/` and `contract/` that are entered, their
non-blank lines, and how often execution moves from one file of the package to another. The moves are also counted for
three calls on their own: `PCA.fit_transform`, `LLE.fit` and `lowland reduce --report`.
"""

from __future__ import annotations

import argparse
import inspect
import io
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import polars as pl

import lowland
from lowland import cli, registry

SOURCE = Path(lowland.__file__).parent
ROOMS = ("methods", "contract")
DEFAULT = ("lle", "isomap", "pca", "tsne")


class Reading:
    """Watches calls: the code that is entered, and the switches between files."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        self.switches, self._last = 0, ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note the call of a function of the package."""
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(str(SOURCE)):
            return
        self.codes.add(frame.f_code)
        if threading.current_thread() is threading.main_thread() and file != self._last:
            self.switches, self._last = self.switches + 1, file

    def lines(self, *rooms: str) -> int:
        """Return the non-blank lines of the functions that were entered, in some rooms; inner functions count once."""
        seen: set[tuple[str, int]] = set()
        for code in self.codes:
            if Path(code.co_filename).relative_to(SOURCE).parts[0] in rooms:
                text, start = inspect.getsourcelines(code)
                seen |= {(code.co_filename, start + i) for i, line in enumerate(text) if line.strip()}
        return len(seen)

    def files(self, *rooms: str) -> int:
        """Return the files that were entered, in some rooms or in all."""
        names = {code.co_filename for code in self.codes}
        return sum(not rooms or Path(name).relative_to(SOURCE).parts[0] in rooms for name in names)


def watched(work: Any) -> Reading:
    """Run something under a profile of all threads."""
    reading = Reading()
    threading.setprofile(reading)
    sys.setprofile(reading)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return reading


def swiss_roll() -> tuple[Any, Any]:
    """Return training rows and a few new ones."""
    rows = lowland.data.swiss_roll(405)[0]
    return rows[:400], rows[400:]


def of_method(name: str) -> Reading:
    """Watch fit and transform of a method with its defaults; what is loaded once is not counted."""
    (X, Z), cls = swiss_roll(), registry.method(name).load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cls().fit(X).transform(Z)
        return watched(lambda: cls().fit(X).transform(Z))


def of_calls() -> dict[str, Reading]:
    """Watch three calls, each for the second time."""
    X = swiss_roll()[0]
    with tempfile.TemporaryDirectory() as folder:
        table, out, page = (Path(folder) / name for name in ("roll.csv", "map.csv", "map.html"))
        lowland.data.write_table(table, pl.DataFrame(X, schema=["x", "y", "z"], orient="row"))
        command = ["reduce", str(table), "--out", str(out), "--report", str(page)]
        calls: dict[str, Callable[[], Any]] = {
            "PCA.fit_transform": lambda: lowland.PCA().fit_transform(X),
            "LLE.fit": lambda: lowland.LLE().fit(X),
            "reduce --report": lambda: cli.main(command),
        }
        found = {}
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            for name, call in calls.items():
                call()
                found[name] = watched(call)
    return found


def main() -> None:
    """Print a row for each method, then one for each call."""
    parser = argparse.ArgumentParser(prog="benchmarks.reading", description="How much code a call goes through.")
    parser.add_argument("methods", nargs="*", default=DEFAULT)
    lowland.config(threads=1)  # a profile does not see threads that were there before it
    print(f"{'method':<22}{'classes':>8}{'fit + transform: lines':>24}{'files':>7}{'switches':>10}")
    for name in parser.parse_args().methods:
        cls = registry.method(name).load()
        classes = sum(base.__module__.startswith("lowland") for base in cls.__mro__)
        found = of_method(name)
        print(f"{name:<22}{classes:>8}{found.lines(*ROOMS):>24}{found.files(*ROOMS):>7}{found.switches:>10}")
    print(f"\n{'call':<22}{'files':>8}{'switches':>10}")
    for name, found in of_calls().items():
        print(f"{name:<22}{found.files():>8}{found.switches:>10}")


if __name__ == "__main__":
    main()
