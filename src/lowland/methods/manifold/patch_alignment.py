"""Fitting local patches together: LLE, modified and Hessian LLE, LTSA.

Each patch (a point and its neighbours) has a quadratic form Φ_i that is near zero for functions that are right on it.
The map minimises Σ_i y_iᵀΦ_i y_i: the small end of M = Σ_i S_i Φ_i S_iᵀ, S_i selecting the patch, without constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...contract.fit_info import Recorder
from ...core.cost import DataShape, largest, sparse_seconds
from ...core.errors import DataError, NotConvergedWarning
from ...core.message import Estimator, Message, Setting, message
from ...graph.graph import Graph
from ...graph.patches import Patches, affine, patch_cost
from ...graph.points import Piece
from ...spectral.factor_costs import factor_entries, solve_cost
from ...spectral.nullspace import Small, reduced, smallest
from ..shared.eigenspaces import warn_concentrated, warn_cut
from ..shared.graph_based import Embedded, EmbeddingCost
from ..shared.landmarks import FEW_LANDMARKS
from ..shared.neighborhood import count_neighbors
from .landmark_map import LandmarkMap, landmark_count

Array = Any

_FEWER = "take fewer rows or neighbours, or reduce the rows with PCA first"
_REMEDY = {  # where the factor does not fit, by whether the method has landmarks
    True: message(f"use {{landmarks}} for an approximate map, {_FEWER}", landmarks=FEW_LANDMARKS),
    False: Message(f"{_FEWER}, or use ", Estimator("LTSA"), " with ", Setting("landmarks", FEW_LANDMARKS)),
}
_ALL_NEIGHBORS = "take more rows: each point has all others as its neighbours already"
_VISIBLE_ANGLE = 1e-3  # of the eigenvectors: what a picture begins to show


def count_patch_neighbors(model: Any, n: int, record: Recorder) -> int:
    """Return the neighbours of n points; refuse fewer than patches need to determine the coordinates."""
    LandmarkMap.of(model).check(n)
    k, least = count_neighbors(model, n, record), model._least_neighbors
    if k < least:
        rows = f", and there are only {n} distinct rows" if k == n - 1 else ""
        text = f": {{n_neighbors}} is too few for {{n_components}}: at least {least} are needed{rows}"
        raise DataError(message(type(model).__name__ + text, n_neighbors=k, n_components=model.n_components))
    return k


def affine_weights(model: Any, G: Array) -> Array:
    """Return the weights of new points: those of the affine function that is nearest around them."""
    return affine(G, model.n_components_)


def patches_of(model: Any, graph: Graph) -> Patches:
    """Return the patches of a graph; refuse a radius that leaves points with fewer neighbours than a patch needs."""
    least, short = model._least_neighbors, int((graph.degrees < model._least_neighbors).sum())
    if short and model.radius_ is not None:
        text = f": {short} of {graph.n} points have fewer than {least} neighbours within {{radius}}, which "
        need = "{n_components} needs: use a larger radius, or n_neighbors"
        values = {"radius": model.radius, "n_components": model.n_components}
        raise DataError(message(type(model).__name__ + text + need, **values))
    return Patches.of_graph(graph)


def reconstruction_error(model: Any) -> float:
    """Return the sum of ``eigenvalues_``: Σ_i y_iᵀ Φ_i y_i / N, of LLE the mean of |y_i − Σ_j w_ij y_j|².

    Of LLE, scikit-learn's number is the same: its coordinates are shorter by √N, and it does not divide by N. That of
    modified LLE is the same on a surface in three dimensions, and differs in more; the other two have other factors.
    """
    return float(model.eigenvalues_.sum())


def align(model: Any, piece: Piece, M: Any, record: Recorder, rng: np.random.Generator) -> Embedded:
    """Return the coordinates of a component: the small end of the sum M of its local forms, without constants."""
    name, n, k, neighbors = type(model).__name__, piece.n, model.n_components_, model.neighbors_
    count, null = landmark_count(model, n), np.full((n, 1), n**-0.5)
    if count is None:
        with record.stage("solve"):
            remedy = _REMEDY["landmarks" in model._parameters] if n > FEW_LANDMARKS else _FEWER
            small = smallest(M, k, null=null, rng=rng, remedy=remedy)
        record.tell_checked(small.checked)
        about = {"algorithm": model._algorithm, "iterations": small.products or None, "residual": small.residual}
    else:
        small, about = _by_landmarks(model, piece, M, null, count, record, rng)
    rule = ("n_neighbors", f" (now {neighbors})") if model.radius_ is None else ("radius", "")
    remedy = Message("increase ", Setting(rule[0]), rule[1]) if neighbors < n - 1 else _ALL_NEIGHBORS
    if small.whole != k or (small.residual > _VISIBLE_ANGLE and count is None):  # landmarks have an error of their own
        _warn_undetermined(name, small, k, remedy, record)
    warn_concentrated(name, small.vectors, remedy, record)
    record.evidence["relative gap"] = small.gap
    return Embedded(small.vectors * n**0.5, small.values, about={**about, "solver": small.solver})


def _by_landmarks(
    model: Any, piece: Piece, M: Any, null: Array, count: int, record: Recorder, rng: np.random.Generator
) -> tuple[Small, dict[str, Any]]:
    """Return the small end of M on maps through landmarks, and what the record should say of it."""
    small, error = LandmarkMap.of(model).solve(
        piece, count, record, rng, lambda Z, smooth: reduced(M, Z, model.n_components_, null=null, smooth=smooth)
    )
    about = {"algorithm": f"{model._algorithm}, {count} landmarks", "approximate": True, "approximation_error": error}
    return small, {**about, "residual": small.backward}


def _warn_undetermined(name: str, small: Small, k: int, remedy: str, record: Recorder) -> None:
    cut = small.whole != k
    if cut and small.above_rounding:
        warn_cut(name, k, small.whole, record)
        return
    record.warn(
        Message(
            f"{name}: the coordinates are {'not determined' if cut else f'known to {small.residual:.1g} only'}: their "
            "eigenvalues are below rounding or very close to others (weakly connected parts of the graph, too few "
            "neighbours, or symmetry); ",
            remedy,
            message(", or use {disconnected}", disconnected="separate"),
        ),
        NotConvergedWarning,
    )


def alignment_cost(model: Any, shape: DataShape, n: int, k: int, columns: int, copies: int = 5) -> EmbeddingCost:
    """Return what embedding n points takes; forms have so many ``columns`` for a member, threads ``copies`` of G."""
    patches, seconds = patch_cost(shape, n, k, columns, copies)
    entries = n * min(n, 3 * (k + 1))  # of M for a sheet; points of more dimensions share fewer patches
    if (count := landmark_count(model, n)) is not None:
        parts, solving = LandmarkMap.of(model).cost(n, count, k, entries)
        algorithm, parts = f"{model._algorithm}, {count} landmarks", largest(patches, parts)
        return EmbeddingCost(algorithm, parts, seconds + solving, approximate=True)
    matrices = {"matrix": 2 * 12 * entries, **solve_cost(n, entries / n, model.n_components)}  # and M + σI
    seconds += sparse_seconds(150.0 * factor_entries(n, entries / n))
    return EmbeddingCost(model._algorithm, largest(patches, matrices), seconds)
