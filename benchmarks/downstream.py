"""Reductions before a learner: the table of docs/downstream.md.

    python -m benchmarks.downstream [iris] [wine] [digits] [letter] [kdd99] [--folder FOLDER]

10 nearest neighbours, 10 folds. For each method the smallest number of components that loses nothing measurable, with
its accuracy; otherwise the best number that was tried. FOLDER contains letter/letter.npz and kdd99/kdd99.npz.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from lowland.quality import downstream

from .harness import TABLES

CASES = ("iris", "wine", "digits", "letter", "kdd99")
SAMPLED = 5000  # rows of kdd99


def rows_of(name: str, folder: Path) -> tuple[Any, Any]:
    """Return rows and classes."""
    if name in ("iris", "wine", "digits"):
        return {"iris": load_iris, "wine": load_wine, "digits": load_digits}[name](return_X_y=True)
    with np.load(folder / name / f"{name}.npz") as found:
        if name == "letter":
            return found["X"].astype(np.float64), found["y"]
        chosen = np.sort(np.random.default_rng(0).choice(int(found["n_train"]), SAMPLED, replace=False))
        return found["X"][chosen].astype(np.float64), found["label_names"][found["label_code"][chosen]]


def main() -> None:
    """Print a row of the table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"some of {', '.join(CASES)}; default: all")
    parser.add_argument("--folder", type=Path, default=TABLES, help="where letter and kdd99 lie")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.cases or CASES:
        X, y = rows_of(name, options.folder)
        start = time.perf_counter()
        found = downstream(X, y, steps=StandardScaler() if name in ("wine", "kdd99") else None)
        cells = [name, f"{found.n_rows:,} × {found.n_columns}", f"{found.everything.score:.3f}"]
        for method, k in found.smallest.items():
            trials = found.of(method)
            best = max(trials, key=lambda trial: (trial.score, -trial.k))
            if k is None:
                cells.append(f"none; {best.k}: {best.score:.3f}")
            else:
                cells.append(f"k = {k}: {next(t for t in trials if t.k == k).score:.3f}")
        print("|", " | ".join(cells), f"| destroyed: {found.destroyed is not None};", end=" ")
        print(f"{time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
