"""Maps of path lengths: how they are kept, where they put new rows, and how well they are shown."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...core import thread_pool
from ...core.cost import check_allocation
from ...core.errors import DataError
from ...core.message import message
from ...graph.geodesics import geodesics
from ...graph.points import Piece
from ...rows.units import scaled_back
from ...spectral.distance import scale
from ...spectral.solve import sign_of_columns
from ..shared.distance_based import REPLICA_ROWS
from ..shared.extension import Triangulation, disagreement
from ..shared.graph_based import Embedded
from ..shared.landmarks import Landmarks
from ..shared.placing import numbers_of_rows

Array = Any

_FLOAT32_ABOVE = 10**8  # distances to landmarks beyond which they are kept in float32
_DISTANCES_AT_ONCE = 1 << 18
_FEWER = "fit on fewer rows, or read pieces_"


def place_by_paths(state: dict[str, Array], neighbors: Array, distances: Array) -> Array:
    """Return where path lengths through their neighbours put new rows.

    ``state`` of a component holds its ``geodesics``, and ``map``, ``origin`` and ``shift`` of the triangulation.
    """
    D = state["geodesics"]
    Y = np.zeros((len(neighbors), state["points"].shape[1]))
    step = max(1, _DISTANCES_AT_ONCE // D.shape[1])
    for start in range(0, len(neighbors), step):
        rows = slice(start, start + step)
        delta = np.full((len(neighbors[rows]), D.shape[1]), np.inf)
        for j in range(neighbors.shape[1]):
            np.minimum(delta, D[neighbors[rows, j]] + distances[rows, j, None], out=delta)
        offset = (state["origin"] - delta * delta)[:, None, :] @ state["map"]  # row by row: the same bits in any batch
        Y[rows, : len(state["shift"])] = offset[:, 0, :] + state["shift"]
    return Y


@scaled_back("dist_matrix_")
def path_lengths(model: Any) -> Array:
    """Return the path lengths between all training rows, infinite between components; AttributeError of landmarks."""
    _require_all(model, AttributeError)
    rows, first, kind = numbers_of_rows(model), model.pieces_[0]["geodesics"], model.embedding_.dtype
    whole = len(model.pieces_) == 1 and len(rows) == len(first)
    size = (1 if whole else 2) * kind.itemsize * len(rows) ** 2
    check_allocation(size, f"the path lengths between {len(rows)} rows", _FEWER)
    if whole:
        return first.astype(kind)
    out = np.full((rows.max() + 1,) * 2, np.inf, dtype=kind)
    for piece in model.pieces_:
        out[np.ix_(piece["numbers"], piece["numbers"])] = piece["geodesics"]
    return out[np.ix_(rows, rows)]


@scaled_back("eigenvalues_")
def reconstruction_error(model: Any) -> float:
    """Return ‖B − YYᵀ‖/n, B = −½ J δ² J, of the n points of the largest component."""
    _require_all(model, DataError)
    D, Y = model.pieces_[0]["geodesics"], model.pieces_[0]["points"]
    n, means = len(D), np.array([np.vdot(row, row) for row in D]) / len(D)
    step = max(1, _DISTANCES_AT_ONCE // n)

    def part(start: int) -> float:
        rows = slice(start, start + step)
        error = (means[rows, None] + means - means.mean() - D[rows] ** 2) / 2 - Y[rows] @ Y.T
        return float(np.vdot(error, error))

    return float(np.sqrt(sum(thread_pool.run(part, range(0, n, step))))) / n


def _require_all(model: Any, kind: type[Exception]) -> None:
    check_is_fitted(model)
    if any(piece["geodesics"].shape[1] < len(piece["numbers"]) for piece in model.pieces_):
        text = "Isomap: the path lengths between all points are not known; fit with {landmarks}"
        raise kind(message(text, landmarks=None))


def path_precision(n: int, m: int, wanted: Landmarks | None) -> np.dtype[Any]:
    """Return how path lengths are kept: 1e-7 of them is far below what landmarks miss."""
    return np.dtype(np.float64 if wanted is None or n * m <= _FLOAT32_ABOVE else np.float32)


def place_all(D: Array, placement: Triangulation) -> Array:
    """Return where the path lengths to the landmarks put every point."""
    step = max(1, _DISTANCES_AT_ONCE // D.shape[1])
    parts = (D[start : start + step] for start in range(0, len(D), step))
    return np.concatenate(list(thread_pool.run(placement.place, parts)))


def halves_disagreement(D: Array, chosen: Array, k: int, rng: np.random.Generator) -> float:
    """Return the error of a map through half of the landmarks: how far the maps of two halves lie apart, over √2.

    That is somewhat more than the error of all of them (1.4 times on sheets), and costs no further paths.
    """
    sample = np.sort(rng.permutation(len(D))[:REPLICA_ROWS])
    maps = []
    for half in np.array_split(rng.permutation(len(chosen)), 2):
        mutual = D[chosen[half][:, None], half].astype(np.float64)
        found = scale(mutual, k, float(np.finfo(D.dtype).eps), rng)
        maps.append(Triangulation.of(found).place(D[sample[:, None], half]))
    return disagreement(*maps, scale=False)


def residual_variances(D: Array, Y: Array, Z: Array) -> Array:
    """Return 1 − r² between the distances D (N × m) and those of the points Y from Z in 1, 2, … dimensions.

    Pairs of a point and itself do not count: their distances are zero and add nothing to the sums.
    """
    (n, m), k = D.shape, Y.shape[1]
    step, columns = max(1, _DISTANCES_AT_ONCE // m), np.ascontiguousarray(Z.T)

    def sums(start: int) -> Array:
        delta = D[start : start + step].astype(np.float64)
        square, found = np.zeros_like(delta), np.empty((k, 5))
        for c in range(k):
            square += (Y[start : start + step, c, None] - columns[c]) ** 2
            d = np.sqrt(square)
            found[c] = delta.sum(), np.vdot(delta, delta), d.sum(), np.vdot(d, d), np.vdot(delta, d)
        return found

    total = sum(thread_pool.run(sums, range(0, n, step)), np.zeros((k, 5)))
    x, xx, y, yy, xy = total.T
    pairs = n * m - m
    if pairs == 0:
        return np.zeros(k)
    below = (xx - x * x / pairs) * (yy - y * y / pairs)
    return 1 - np.divide((xy - x * y / pairs) ** 2, below, out=np.ones(k), where=below > 0)


def few_points(piece: Piece, k: int) -> Embedded:
    """Return the map of a piece of few points by the paths between all of them."""
    everyone = np.arange(piece.n)
    D = geodesics(piece.graph.symmetric(), everyone)
    if piece.n == 1:
        alone = Triangulation(np.zeros((1, 1)), np.zeros(1), np.zeros(1))
        return kept(D, everyone, np.zeros((1, 1)), np.zeros(1), alone, {})
    found = scale(D, k, float(np.finfo(np.float64).eps), np.random.default_rng(0))
    return kept(D, everyone, found.points, found.values, Triangulation.of(found), {})


def kept(D: Array, chosen: Array, Y: Array, values: Array, placement: Triangulation, about: Any) -> Embedded:
    """Return a finished map, its columns signed by the one rule, with what new rows and the record need."""
    signs = sign_of_columns(Y)
    Y = Y * signs
    M = np.ascontiguousarray(placement.map * signs)  # as model files return it: products round by the order in memory
    state = {"geodesics": D, "map": M, "origin": placement.origin, "shift": placement.shift * signs}
    return Embedded(Y, values, state, about, {"residual_variance_": residual_variances(D, Y, Y[chosen])})
