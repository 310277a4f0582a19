"""One act in a fresh process: make the data of a case, or time one fit. Its last line is a JSON object."""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from . import datasets
from .cases import CASES, Case


def resident(field: str) -> int:
    """Read ``VmRSS`` (now) or ``VmHWM`` (highest) of this process in bytes; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def measure(case: Case, contender: str, file: Path) -> dict[str, float]:
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
    return {"seconds": seconds, "bytes": growth} | judge(model, X, file.with_suffix(".reference.npz"))


def judge(model: Any, X: Any, reference: Path) -> dict[str, float]:
    """Return the errors of a fit against the reference.

    ``value_error`` is the largest relative error of a variance or singular value. ``vector_error`` is for PCA
    the sine of the largest angle to the reference subspace; for the SVD, whose close values leave the
    subspace undetermined, the largest ‖Xᵀu − σv‖ / σ₁ with u = Xv / ‖Xv‖.
    """
    with np.load(reference) as stored:
        values, V = stored["values"], stored["vectors"].T
    sparse = scipy.sparse.issparse(X)
    found = np.asarray(model.singular_values_ if sparse else model.explained_variance_, np.float64)
    W = np.asarray(model.components_, np.float64).T
    if found.shape != values.shape or W.shape != V.shape:
        raise ValueError(f"{len(found)} components came back, {len(values)} were asked for")
    if sparse:
        U = X @ W
        R = X.T @ (U / np.linalg.norm(U, axis=0)) - W * found
        vector_error = np.linalg.norm(R, axis=0).max() / values[0]
    else:
        Q = np.linalg.qr(W)[0]
        vector_error = np.linalg.norm(Q - V @ (V.T @ Q), 2)
    value_error = np.max(np.abs(found - values) / values)
    return {"value_error": float(value_error), "vector_error": float(vector_error)}


def main(case_name: str, folder: str, scale: str, contender: str = "") -> None:
    """Make the data of a case, or with a contender's name time its fit."""
    case = next(case for case in CASES if case.name == case_name)
    recipe = datasets.scaled(case.data, case.k, float(scale))
    answer: dict[str, Any] = {}
    try:
        if contender:
            answer = measure(case, contender, recipe.path(Path(folder)))
        elif not recipe.path(Path(folder)).exists():
            datasets.prepare(recipe, case.k, Path(folder))
    except ImportError as error:
        answer = {"error": f"missing: {error}"}
    except Exception as error:  # whatever a contender raises is its result, and is shown in the table
        answer = {"error": f"failed: {type(error).__name__}: {error}"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
