"""How well are the eigenvectors of LLE and its kin solved? ``python -m benchmarks.local_methods [lle] … [--rows N]``.

A swiss roll, 10 neighbours. Shown is max ‖My − λy‖/λ, λ = yᵀMy/yᵀy, of each contender's map, for the matrix M that its
own method defines. scikit-learn's patches leave the centre out, and its "hessian" has the matrix of LTSA (all columns
of a full QR are taken). Times, memory and the order of points are cases of `benchmarks.run`.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.manifold import LocallyLinearEmbedding

import lowland
from lowland.graph.geometry import Coordinates
from lowland.graph.neighbors import searcher
from lowland.graph.patches import Patches, tangent_frames, with_center
from lowland.methods.shared.graph_based import GraphReducer

Array = Any
NEIGHBORS = 10
MODELS: dict[str, type[GraphReducer]] = {
    "lle": lowland.LLE,
    "ltsa": lowland.LTSA,
    "hessian": lowland.HessianLLE,
    "modified": lowland.ModifiedLLE,
}
THEIRS = {"lle": "standard", "ltsa": "ltsa", "hessian": "hessian", "modified": "modified"}


def ours(job: str, X: Array, **options: Any) -> tuple[Array, Any]:
    """Return our map, and the matrix whose small end it is."""
    seen: list[Any] = []

    class Watched(MODELS[job]):  # type: ignore[misc]
        def _matrix(self, piece: Any, patches: Patches) -> Any:
            seen.append(super()._matrix(piece, patches))
            return seen[-1]

    return Watched(n_neighbors=NEIGHBORS, **options).fit_transform(X), seen[0]


def without_centres(X: Array) -> Any:
    """Return the matrix of LTSA on patches of the neighbours alone."""
    patches = Patches(np.arange(len(X) + 1) * NEIGHBORS, searcher("euclidean", X).graph(NEIGHBORS).indices)
    frames = patches.over(Coordinates(X), lambda G: tangent_frames(with_center(G), 2), 3)
    return patches.matrix(frames, complement=True)


def residual(M: Any, Y: Array) -> float:
    """Return max ‖My − λy‖/λ over the columns, centred."""
    Q = Y - Y.mean(axis=0)
    Q /= np.linalg.norm(Q, axis=0)
    values = np.einsum("ij,ij->j", Q, M @ Q)
    return float((np.linalg.norm(M @ Q - Q * values, axis=0) / np.abs(values)).max())


def main() -> None:
    """Print a line for each contender."""
    parser = argparse.ArgumentParser(prog="benchmarks.local_methods", description="Residuals of LLE and its kin.")
    parser.add_argument("jobs", nargs="*", help=f"of {', '.join(MODELS)} (default: all)")
    parser.add_argument("--rows", type=int, default=20_000)
    given = parser.parse_args()
    if unknown := set(given.jobs) - set(MODELS):
        parser.error(f"no job is called {unknown.pop()!r}; there are {', '.join(MODELS)}")
    X = lowland.data.swiss_roll(given.rows)[0]
    for job in given.jobs or MODELS:
        Y, M = ours(job, X)
        print(f"{job:<10}{'lowland':<20}{residual(M, Y):>10.1e}", flush=True)
        if job == "lle":
            Z, N = ours(job, X, reg="auto")
            print(f"{job:<10}{'lowland, reg=auto':<20}{residual(N, Z):>10.1e}", flush=True)
        peer = LocallyLinearEmbedding(n_neighbors=NEIGHBORS, method=THEIRS[job], eigen_solver="arpack", random_state=0)
        Y, M = peer.fit_transform(X), without_centres(X) if job in ("ltsa", "hessian") else M
        print(f"{job:<10}{'scikit-learn':<20}{residual(M, Y):>10.1e}", flush=True)


if __name__ == "__main__":
    main()
