"""One act in a fresh process: make the data of a case, or time one fit. Its last line is a JSON object."""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from . import datasets
from .cases import Case
from .manifold_cases import EVERY


def resident(field: str) -> int:
    """Read ``VmRSS`` (now) or ``VmHWM`` (highest) of this process in bytes; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def measure(case: Case, contender: str, file: Path, reference: Path) -> dict[str, float]:
    """Time one fit and judge its result.

    The data are in memory and the same fit has been done once before the clock starts, so that imports,
    compilation, thread pools and buffers are warm: one peer's first fit takes four times its second.
    """
    fit = case.peers[contender]()
    X = datasets.load(file)
    fit(X, case.k)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # let VmHWM start anew from here
    before = resident("VmRSS")
    start = time.perf_counter()
    model = fit(X, case.k)
    seconds = time.perf_counter() - start
    growth = max(0, resident("VmHWM") - before)
    with np.load(reference) as stored:
        errors = case.judge.errors(model, X, stored)
    return {"seconds": seconds, "bytes": growth} | errors


def main(case_name: str, folder: str, scale: str, contender: str = "") -> None:
    """Make the data of a case, or with a contender's name time its fit."""
    case = next(case for case in EVERY if case.name == case_name)
    recipe = datasets.scaled(case.data, case.k, float(scale))
    answer: dict[str, Any] = {}
    reference = Path(folder) / f"{case.name}.reference.npz"
    try:
        if contender:
            answer = measure(case, contender, recipe.path(Path(folder)), reference)
        else:
            np.savez(reference, **case.judge.reference(datasets.prepare(recipe, Path(folder)), case.k))
    except ImportError as error:
        answer = {"error": f"missing: {error}"}
    except Exception as error:  # whatever a contender raises is its result, and is shown in the table
        answer = {"error": f"failed: {type(error).__name__}: {error}"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
