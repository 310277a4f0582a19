"""The true dimension of known shapes and of real data: the consensus of `estimate` beside each raw estimator.

    python -m benchmarks.dimensions [--rows 5000 20000] [--shapes cube sphere …] [--peer PYTHON] [--real]

Shapes: cubes, spheres, the swiss roll, and affine subspaces of 20 columns with noise of 1, 3 and 5 % of a side, all for
d = 1 … 10; the goal is ±0.5 for d ≤ 5 and ±10 % above. Then shapes by which no constant of the estimator was chosen:
Gaussian, Laplace and Student clouds, balls. Then hard ones, which were looked at when the rules for curvature and for
borders were made: flat tori, waves, rolls in more dimensions, skewed densities. ``--real`` takes digits, letter,
isomap_faces (true 3) and olivetti. ``--peer`` names a Python that has scikit-dimension, whose estimators then get the
same rows.

An estimate is never more than the rank of the rows, and shapes without noise are embedded in more columns than they
span: so the rank alone bounds them. The column "free" is the estimate without that bound, and is counted beside it.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lowland
from lowland.dimension import estimate
from lowland.dimension.angles import plateau

from .harness import TABLES

PEERS = ("TwoNN", "MLE", "CorrInt", "ESS", "DANCo", "MOM", "TLE")
PEER_ROWS = 2500  # scikit-dimension takes minutes for more
PEER_SECONDS = 120
Array = Any
Shape = Callable[[np.random.Generator, int, int], Array]


def cube(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.uniform(size=(n, d))


def sphere(rng: np.random.Generator, n: int, d: int) -> Array:
    X = rng.standard_normal((n, d + 1))
    return X / np.linalg.norm(X, axis=1)[:, None]


def roll(rng: np.random.Generator, n: int, d: int) -> Array:
    """Make a swiss roll of any height: d = 2 is the usual one."""
    t = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n))
    return np.column_stack([t * np.cos(t), t * np.sin(t), 21 * rng.uniform(size=(n, d - 1))])


def affine(noise: float) -> Shape:
    def make(rng: np.random.Generator, n: int, d: int) -> Array:
        Q = np.linalg.qr(rng.standard_normal((20, d)))[0]
        return cube(rng, n, d) @ Q.T + noise * rng.standard_normal((n, 20))

    return make


def ball(rng: np.random.Generator, n: int, d: int) -> Array:
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1)[:, None] * rng.uniform(size=(n, 1)) ** (1 / d)


def torus(rng: np.random.Generator, n: int, d: int) -> Array:
    t = rng.uniform(0, 2 * np.pi, (n, d))
    return np.column_stack([np.cos(t), np.sin(t)])


def waves(rng: np.random.Generator, n: int, d: int) -> Array:
    """Make 40 cosines of random directions: curved everywhere, in as many columns."""
    return np.cos(rng.uniform(size=(n, d)) @ (2 * rng.standard_normal((d, 40))) + rng.uniform(0, 6, 40))


GOAL: dict[str, tuple[Shape, range]] = {
    "cube": (cube, range(1, 11)),
    "sphere": (sphere, range(1, 11)),
    "swiss roll": (roll, range(2, 3)),
    "affine, noise 1 %": (affine(0.01), range(1, 11)),
    "affine, noise 3 %": (affine(0.03), range(1, 11)),
    "affine, noise 5 %": (affine(0.05), range(1, 11)),
}
UNSEEN: dict[str, tuple[Shape, range]] = {
    "gaussian": (lambda r, n, d: r.standard_normal((n, d)), range(1, 11)),
    "laplace": (lambda r, n, d: r.laplace(size=(n, d)), range(2, 11, 4)),
    "student, 3 degrees": (lambda r, n, d: r.standard_t(3, (n, d)), range(2, 11, 4)),
    "ball": (ball, range(2, 11, 4)),
}
HARD: dict[str, tuple[Shape, range]] = {
    "torus": (torus, range(1, 6)),
    "waves": (waves, range(1, 6)),
    "higher roll": (roll, range(3, 10, 2)),
    "skewed": (lambda r, n, d: r.beta(0.7, 2.0, (n, d)), range(2, 11, 4)),
}


def embedded(X: Array) -> Array:
    """Turn rows into five more columns, so that the number of columns tells nothing."""
    p = X.shape[1]
    return X @ np.linalg.qr(np.random.default_rng(p).standard_normal((p + 5, p)))[0].T


def right(value: float, d: int) -> bool:
    return abs(value - d) <= (0.5 if d <= 5 else 0.1 * d)


def table(shapes: dict[str, tuple[Shape, range]], sizes: list[int], chosen: list[str] | None) -> None:
    """Print a line for each shape, dimension and number of rows."""
    print(
        f"{'shape':20} {'N':>6} {'d':>3} {'consensus':>10} {'interval':>16} {'free':>6} {'two_nn':>7} {'l-b':>6} "
        f"{'corr':>6}   s"
    )
    hits = free = lines = held = 0
    for name, (make, dims) in shapes.items():
        for n in sizes:
            for d in dims:
                if chosen and name not in chosen:
                    continue
                X = embedded(make(np.random.default_rng(1000 * d + n), n, d))
                start = time.perf_counter()
                found = estimate(X)
                seconds = time.perf_counter() - start
                value, raw = found.consensus["nonlinear"], found.nonlinear
                unbound = float(plateau(found.scales).value)
                mark = "" if right(value, d) else "  missed"
                mark += "" if right(unbound, d) else "  free missed"
                hits, lines, held = hits + right(value, d), lines + 1, held + (value.low <= d <= value.high)
                free += right(unbound, d)
                print(
                    f"{name:20} {n:6} {d:3} {float(value):10.2f} {value.low:7.2f} to {value.high:5.2f} {unbound:6.2f} "
                    f"{float(raw['two_nn']):7.2f} {float(raw['levina_bickel']):6.2f} "
                    f"{float(raw['correlation_dimension']):6.2f} {seconds:5.1f}{mark}",
                    flush=True,
                )
    print(
        f"within the goal: {hits} of {lines}, free of the rank {free} of {lines}; interval holds d: {held} of {lines}\n"
    )


def real_data(folder: Path) -> dict[str, Array]:
    """Return real tables by name."""
    return {
        "digits": lowland.data.digits()[0].astype(np.float64),
        "letter": np.load(folder / "letter" / "letter.npz")["X"].astype(np.float64),
        "isomap_faces": np.load(folder / "isomap_faces" / "isomap_faces_32x32.npz")["X"].astype(np.float64),
        "olivetti": np.load(folder / "olivetti_faces" / "olivetti.npz")["X"].astype(np.float64),
    }


def peer(python: str, X: Array) -> dict[str, str]:
    """Return what scikit-dimension's estimators say of the rows (2,500 of them at most), with their seconds."""
    code = f"""
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np, skdim
X = np.unique(np.load(sys.argv[1]), axis=0)
X = X[np.random.default_rng(0).permutation(len(X))[:{PEER_ROWS}]]
print(round(float(getattr(skdim.id, sys.argv[2])().fit(X).dimension_), 2))
"""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.npy")
        np.save(file, X)
        for name in PEERS:
            start = time.perf_counter()
            try:
                words = [python, "-c", code, str(file), name]
                done = subprocess.run(words, capture_output=True, text=True, timeout=PEER_SECONDS, check=False)
            except subprocess.TimeoutExpired:
                found[name] = f"more than {PEER_SECONDS} s"
                continue
            said = (done.stdout or done.stderr).strip().splitlines() or [""]
            found[name] = f"{said[-1]} ({time.perf_counter() - start:.0f} s)"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[5000, 20_000])
    parser.add_argument("--shapes", nargs="*", help="only these")
    parser.add_argument("--peer", help="a Python with scikit-dimension")
    parser.add_argument("--real", action="store_true", help="real data only")
    parser.add_argument("--folder", type=Path, default=TABLES, help="where the real tables lie")
    options = parser.parse_args()
    warnings.simplefilter("ignore", lowland.core.errors.LowlandWarning)  # the table shows where they would be
    if not options.real:
        for shapes in (GOAL, UNSEEN, HARD):
            table(shapes, options.rows, options.shapes)
    for name, X in real_data(options.folder).items():
        start = time.perf_counter()
        found = estimate(X)
        print(f"{name} {X.shape}, {time.perf_counter() - start:.1f} s\n{found}")
        if options.peer:
            print("scikit-dimension:", peer(options.peer, X))
        print(flush=True)


if __name__ == "__main__":
    main()
