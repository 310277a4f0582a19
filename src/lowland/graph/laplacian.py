"""Edge weights of a graph, its Laplacians, and their smallest eigenpairs.

W symmetric, d = W1:   L = D − W,   N = I − D^(−½) W D^(−½),   P = D⁻¹W.
N u = λ u  ⇔  L y = λ D y  ⇔  P y = (1 − λ) y   with   y = D^(−½) u.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.cost import holding
from ..core.errors import DataError
from ..core.message import Message, Setting
from ..spectral.nullspace import Small, reduced, smallest
from ..spectral.solve import DENSE_LIMIT, fix_signs
from ..spectral.walks import Leading, leading, scaled
from .graph import Graph

Array = Any

REMEDY = "use fewer neighbours or rows, or reduce the rows with PCA first"
_FULL_SHARE = 0.25  # of the entries: a matrix with more is not sparse
HOPS = 20  # across a compact graph: a sheet of 20,000 points takes 90, Gaussian points in 4 dimensions 17
TINY = 1e-200  # minimum weight of a kernel between all points, whose sums must be above 0
FLOOR = 1e-6  # minimum weight of an edge, that of a distance of 5.3 σ, so that no edge vanishes by underflow


def median_distance(graph: Graph) -> float:
    """Return the median of the distances from all points to the neighbours in their lists."""
    return float(np.median(graph.distances))


def own_widths(graph: Graph, n_neighbors: int) -> Array:
    """Return σ_i of each point: the distance to the middle one of its ``n_neighbors`` nearest, or of all it has.

    >>> own_widths(Graph.of_lists([[1, 2, 3]] * 4, [[1.0, 2.0, 7.0]] * 4), 3).tolist()
    [2.0, 2.0, 2.0, 2.0]
    """
    return graph.distances[graph.indptr[:-1] + middle(np.minimum(graph.degrees, n_neighbors))]


def middle(counts: Any) -> Any:
    """Return the position of the middle one of so many neighbours, the nearer of two."""
    return (counts + 1) // 2 - 1


def edge_weights(distances: Array, sigma: Array | float, least: float = FLOOR) -> Array:
    """Return the weights max(exp(−d²/(2σ²)), least) of distances; σ = ∞ makes all of them 1.

    Much smaller weights would underflow, and a connected graph would become disconnected.

    >>> edge_weights(np.array([0.0, 1.0, 100.0]), 1.0).round(6).tolist()
    [1.0, 0.606531, 1e-06]
    """
    w = np.asarray(distances, dtype=np.float64) / (np.sqrt(2) * sigma)
    with np.errstate(over="ignore"):  # distances whose squares overflow get the minimum weight
        return np.maximum(np.exp(-w * w), least)


def affinity(graph: Graph, sigma: Array | float, least: float = FLOOR) -> Any:
    """Return W of the symmetric graph: two points are linked when either is in the list of the other.

    σ is one number, or one for each point; then that of an edge is √(σ_i σ_j) (Zelnik-Manor & Perona 2004).

    >>> one_way = Graph(np.array([0, 1, 2, 2]), np.array([1, 2], np.int32), np.array([1.0, 0.5]))
    >>> affinity(one_way, np.inf).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    edges = graph.symmetric()
    single = np.ndim(sigma) == 0
    width = sigma if single else np.sqrt(np.repeat(sigma, edges.degrees) * np.take(sigma, edges.indices))
    weights = edge_weights(edges.distances, width, least)
    full = least < FLOOR
    judged = _each(np.maximum, weights, edges) if full else weights  # of all pairs most may be far apart
    if single and float(np.median(judged)) <= least:
        distance = float(np.median(_each(np.minimum, edges.distances, edges))) if full else median_distance(graph)
        raise vanishing(float(sigma), distance, full=full)
    indptr = edges.indptr.astype(np.int32) if len(weights) < 2**31 else edges.indptr
    W = sp.csr_array((weights, edges.indices.copy(), indptr), shape=(graph.n, graph.n))  # sorted here, not in the graph
    W.sort_indices()
    return W


def _each(rule: Any, values: Array, edges: Graph) -> Array:
    """Return the largest or the smallest value of each point that has edges."""
    return rule.reduceat(values, edges.indptr[:-1][edges.degrees > 0])


def vanishing(sigma: float, distance: float, *, full: bool) -> DataError:
    """Return the error for weights that vanish; of a kernel between all points those of the nearest one count."""
    whose, times = ("the nearest points of most points", 30) if full else ("most neighbours", 5)
    what = "the nearest" if full else "neighbours"
    return DataError(
        Message(
            Setting("bandwidth", float(f"{sigma:g}")),
            f" is too small: {whose} are more than {times} times as far away, and their weights exp(−d²/(2σ²)) vanish; "
            f"the median distance of {what} is {distance:g}",
        )
    )


def degrees(W: Any) -> Array:
    """Return d = W1, the sum of each row."""
    return np.asarray(W.sum(axis=1)).ravel()


def laplacian(W: Any) -> Any:
    """Return L = D − W."""
    return sp.csr_array(sp.diags_array(degrees(W)) - W)


def normalized(W: Any) -> tuple[Any, Array]:
    """Return N = I − D^(−½) W D^(−½) and its known null vector, √d of length 1."""
    root = np.sqrt(degrees(W))
    N = scaled(W, 1 / root)
    np.negative(N.data, out=N.data)
    return sp.csr_array(N + sp.eye_array(W.shape[0], format="csr")), root / np.linalg.norm(root)


def with_diagonal(W: Any) -> Any:
    """Return W + I: the weight of a point with itself, at distance 0, is 1."""
    return sp.csr_array(W + sp.eye_array(W.shape[0], format="csr"))


def without_density(W: Any, alpha: float) -> tuple[Any, Array]:
    """Return W_ij/(q_i q_j)^α with q = W1, which removes the density of the points, and q^α (Coifman & Lafon 2006)."""
    q = degrees(W) ** alpha
    return (W if alpha == 0 else scaled(W, 1 / q)), q


@dataclass(frozen=True)
class Harmonics:
    """The smoothest functions on a graph after the constant one: L y = λ D y, ascending.

    They have the mean 0 and the variance 1 under the weights d: Σ d_i y_i = 0 and Σ d_i y_i² = Σ d_i. ``residual``
    estimates the sine of the angle to the exact ones, ``products`` counts the blocks that the solver multiplied. If
    the number of functions splits an eigenspace, ``whole`` functions would contain it (None: more than were computed).
    """

    values: Array
    functions: Array
    degrees: Array
    solver: str
    residual: float
    whole: int | None
    products: int
    checked: int | None


def harmonics_of(W: Any, Z: Any, k: int, smooth: int) -> Harmonics:
    """Return approximate solutions of L y = λ D y: the best of the maps ZỸ of landmarks, smoothed (`reduced`).

    ``residual`` is ‖Nu − λu‖/‖N‖, which does not bound the error of the functions.
    """
    d = degrees(W)
    N, null = normalized(W)
    found = reduced(N, sp.csr_array(sp.diags_array(np.sqrt(d)) @ Z), k, null=null[:, None], smooth=smooth)
    return _finished(W, d, found, found.backward)


def harmonics(W: Any, k: int, rng: np.random.Generator, solver: str = "auto", remedy: str = REMEDY) -> Harmonics:
    """Return the k smallest solutions of L y = λ D y beyond the constant.

    ``solver`` is one of `lowland.spectral.nullspace`, which factor N; or "krylov", which multiplies by D^(−½) W D^(−½).
    "auto" tries krylov if the graph has more than 1500 points and is `compact`: then λ is not small and a factor is
    nearly dense (20,000 Gaussian points in 4 dimensions: 3 s instead of 10 s, 12,000 in 6 dimensions: 0.5 s instead of
    18 s). Its result is used if it is as exact as that of a factor.

    A last step y ← P y/(1 − λ) changes nothing in exact arithmetic; if d is small, it restores the digits lost in
    u = √d y.

    >>> path = sp.csr_array(np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1))
    >>> found = harmonics(path, 1, np.random.default_rng(0))
    >>> found.values.round(12).tolist(), np.abs(found.functions).round(6).ravel().tolist()
    ([1.0], [1.414214, 0.0, 1.414214])
    """
    d = degrees(W)
    easy = solver == "auto" and W.shape[0] > DENSE_LIMIT and k <= 50 and compact(W)
    found: Leading | Small | None = None
    if solver == "auto" and W.nnz > _FULL_SHARE * float(W.shape[0]) ** 2:  # a factor would be dense
        easy = W.shape[0] > DENSE_LIMIT
        solver = "dense"
    with holding(W):
        if easy or solver == "krylov":
            found = leading(W, d, k, rng, always=solver == "krylov", remedy=remedy)
        if found is None:
            N, null = normalized(W)
            found = smallest(N, k, null=null[:, None], rng=rng, solver=solver, remedy=remedy)
    return _finished(W, d, found, found.residual)


def _finished(W: Any, d: Array, found: Leading | Small, residual: float) -> Harmonics:
    """Return y = D^(−½) u, of mean 0 and variance 1 under the weights d, with fixed signs."""
    Y = _averaged(W, d, found.vectors / np.sqrt(d)[:, None], found.values)
    weight = d / d.sum()
    Y -= weight @ Y
    Y /= np.sqrt(weight @ Y**2)
    used = found.solver if isinstance(found, Small) else "krylov"
    return Harmonics(found.values, fix_signs(Y), d, used, residual, found.whole, found.products, found.checked)


def compact(W: Any) -> bool:
    """Return whether the first point reaches all others in `HOPS` steps, and no edge has a negligible weight."""
    if W.data.min() <= FLOOR * W.data.max():
        return False
    reached = np.zeros(W.shape[0])
    reached[0] = 1.0
    for _ in range(HOPS):
        reached = (W @ reached + reached > 0).astype(np.float64)
        if reached.all():
            return True
    return False


def _averaged(W: Any, d: Array, Y: Array, values: Array) -> Array:
    """Return P Y/(1 − λ) for the columns with λ well below 1."""
    clear = values < 0.5
    if not clear.any():
        return Y
    out = Y.copy()
    out[:, clear] = (W @ Y[:, clear]) / d[:, None] / (1 - values[clear])
    return out
