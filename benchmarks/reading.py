"""How much code a call goes through: ``python -m benchmarks.reading [METHOD ...]``.

For ``fit`` and ``transform`` of each method: the functions of `methods/` and `contract/` that are entered, their
non-blank lines, and how often execution moves from one file of the package to another.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import threading
import warnings
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import lowland
from lowland import registry

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
        """Return the files that were entered, in some rooms."""
        names = {code.co_filename for code in self.codes}
        return sum(Path(name).relative_to(SOURCE).parts[0] in rooms for name in names)


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


def main() -> None:
    """Print a row for each method."""
    parser = argparse.ArgumentParser(prog="benchmarks.reading", description="How much code a call goes through.")
    parser.add_argument("methods", nargs="*", default=DEFAULT)
    lowland.config(threads=1)  # a profile does not see threads that were there before it
    rows = lowland.data.swiss_roll(405)[0]
    X, Z = rows[:400], rows[400:]
    print(f"{'method':<22}{'classes':>8}{'fit + transform: lines':>24}{'files':>7}{'switches':>10}")
    for name in parser.parse_args().methods:
        cls = registry.method(name).load()
        classes = sum(base.__module__.startswith("lowland") for base in cls.__mro__)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls().fit(X).transform(Z)  # what is loaded once is not counted
            found = watched(lambda cls=cls: cls().fit(X).transform(Z))
        print(f"{name:<22}{classes:>8}{found.lines(*ROOMS):>24}{found.files(*ROOMS):>7}{found.switches:>10}")


if __name__ == "__main__":
    main()
