"""What `lowland.compare` recommends, and why: ``python -m benchmarks.recommendation [CASE ...] [--budget 3min]``.

Digits, letter, the isomap faces, a swiss roll and a Gaussian cloud. Each has an answer that is right for a stated
reason: the roll is curved, so not PCA; the cloud has no structure but its covariance, so PCA; the faces lie on a
manifold of three dimensions, so a method for manifolds; digits and letters are classes in many dimensions, so not a
straight map. Shown are the recommendation, whether it is right, its reasons, the best five, and the time against the
budget. How often the intervals hold that ties rest on is measured by ``python -m benchmarks.intervals``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .harness import TABLES


class Case(NamedTuple):
    """A table, its classes if it has some, and which families of methods, or methods by name, are right for it."""

    make: Callable[[Path], tuple[Any, Any]]
    right: tuple[str, ...]
    why: str


def roll(_: Path) -> tuple[Any, Any]:
    from lowland.data import swiss_roll

    return swiss_roll(2000, noise=0.1, random_state=0)[0], None


def cloud(_: Path) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((2000, 10)) @ rng.standard_normal((10, 10)), None


def digits(_: Path) -> tuple[Any, Any]:
    from lowland.data import digits

    X, labels, _names = digits()
    return X, labels


def faces(folder: Path) -> tuple[Any, Any]:
    with np.load(folder / "isomap_faces" / "isomap_faces_32x32.npz") as stored:
        return np.asarray(stored["X"], dtype=np.float64), None


def letter(folder: Path) -> tuple[Any, Any]:
    with np.load(folder / "letter" / "letter.npz", allow_pickle=False) as stored:
        name = "X_train" if "X_train" in stored.files else "X"
        return np.asarray(stored[name], dtype=np.float64), stored[name.replace("X", "y")]


CASES = {
    "roll": Case(roll, ("manifold",), "a sheet that is curved, not clustered"),
    "cloud": Case(cloud, ("linear",), "no structure but its covariance"),
    # UMAP is listed with the embeddings, yet it is a method for manifolds: it takes the rows for a sample of one,
    # measures along it by local distances (McInnes, Healy, Melville 2018, section 2), and lays out that graph. t-SNE
    # makes no such assumption, so it would not do here.
    "faces": Case(faces, ("manifold", "umap"), "poses and light on a manifold of three dimensions"),
    "digits": Case(
        digits, ("manifold", "embedding", "network"), "ten classes that a straight map of 2 dimensions mixes"
    ),
    "letter": Case(
        letter, ("manifold", "embedding", "network"), "26 classes that a straight map of 2 dimensions mixes"
    ),
}


def main() -> None:
    """Compare on each case and print what came of it."""
    import lowland
    from lowland.comparison.budget import parse_seconds

    parser = argparse.ArgumentParser(prog="benchmarks.recommendation", description="Recommendations and their reasons.")
    parser.add_argument("case", nargs="*", choices=[*CASES, []], help="which (default: all)")
    parser.add_argument("--budget", default="3min", help="time for each")
    parser.add_argument("--folder", type=Path, default=TABLES, help="where the tables lie")
    given = parser.parse_args()
    limit, wrong = parse_seconds(given.budget), 0
    for name in given.case or CASES:
        case = CASES[name]
        X, target = case.make(given.folder)
        start = time.perf_counter()
        found = lowland.compare(X, budget=given.budget, target=target)
        seconds = time.perf_counter() - start
        advice = found.recommend()
        right = bool({advice.method, lowland.registry.method(advice.method).family} & {*case.right})
        kept = seconds <= 1.2 * limit
        wrong += not (right and kept)
        print(f"\n{name} ({X.shape[0]:,} × {X.shape[1]}; {case.why}): {'right' if right else 'WRONG'}")
        print(f"  {seconds:.0f} s of {limit:.0f} s: {'within 20 %' if kept else 'TOO LONG'}")
        print("  " + str(advice).replace("\n", "\n  "))
        print("  " + "\n  ".join(str(found).splitlines()[:6]), flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
