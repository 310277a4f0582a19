"""What linear maps that keep a neighbour graph share: y = A(x − m), A from two small quadratic forms.

min tr(A C Aᵀ) subject to A B Aᵀ = I, with C = XᵀMX of the graph's matrix M and B = XᵀDX, D the weights of the points.
Both are formed in the principal axes of the rows, scaled so that B is the identity up to rounding: dependent columns
have dropped out there, and what is solved has the size of the rank, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...contract.fit_info import Recorder
from ...contract.parameters import Choice, Rule
from ...core import thread_pool
from ...core.cost import DataShape, Plan, dense_seconds, sparse_seconds
from ...core.errors import DataError
from ...core.random import seed
from ...core.settings import threads
from ...graph.neighbors import approximate, search_cost
from ...graph.points import Piece
from ...pairs.distances import METRICS
from ...rows.row_source import RowSource, as_rows, block_rows
from ...rows.units import Units
from ...spectral import generalized_eigen, rowspace
from ...spectral.dual import Dual, dual
from ...spectral.dual import cost as dual_cost
from ...spectral.rowspace import RowSpace
from ...spectral.solve import sign_of_columns
from ...spectral.solved import ComponentRule, Scaling
from ..shared.graph_based import GRAPH_PARAMETERS
from ..shared.linear_map import Compressor, check_count
from ..shared.neighborhood import count_neighbors, learn_neighborhood, pieces_of

Array = Any


@dataclass(frozen=True)
class EdgeWeights:
    """Weights w_ij of directed edges in CSR form; T = Σ_j w_ij (x_i − x_j) is what the quadratic form is made of.

    ``squared``: C = TᵀT, and all points count the same; else C = XᵀT, and ``masses`` are the weights of the points.
    """

    weights: Any
    masses: Array
    squared: bool


PROJECTION_PARAMETERS: Mapping[str, Rule] = {
    **GRAPH_PARAMETERS,
    "metric": Choice(METRICS),
    "disconnected": Choice(("bridge", "error")),  # one linear map is one map for all components: none is separate
}
PROJECTION_UNITS: Units = {"components_": -1, "mean_": 1, "inverse_transform": 1, "residual": 1}


def projection_plan(model: Any, shape: DataShape, k: int, edges_seconds: float = 0.0) -> Plan:
    """Return the plan of a fit with k neighbours; ``edges_seconds`` is the rough time of the weights, beyond edges."""
    n, d = shape.n_rows or 1, shape.n_features
    check_count(type(model).__name__, model.n_components, shape.n_rows, d)
    r, name = min(n, d), model._input.name(model)
    search, seconds = search_cost(shape, k, name)
    route = rowspace.route(shape, ComponentRule())
    small = route == "gram"  # of wide rows only their coordinates are multiplied (`DualAxes`)
    axes, more = dual_cost(shape) if small else rowspace.cost(route, shape, r)
    inner = r if small else d
    block = min(n, block_rows(inner))
    ahead, wide = min(2 * threads(), -(-n // block)), 2 * r + (0 if small or shape.sparse else d)
    edges = 12 * 1.5 * n * k
    stages: tuple[dict[str, int], ...] = (  # one after another: what a stage needed is free in the next
        search,
        {"graph": 12 * n * k, "edges": int(3.5 * edges)},  # both ways round, united, weighed
        {"edges": int(edges), **axes},
        {
            "edges": int(edges),
            "quadratic forms": 8 * r * r * (2 * ahead + 6) + 8 * min(threads(), ahead) * block * wide,
        },
    )
    parts = max(stages, key=lambda stage: sum(stage.values()))
    if small and not shape.sparse:  # measured: threads keep the buffers of the search while the axes are found
        parts = {**search, **axes, "edges": int(edges)}
    if shape.sparse:
        parts["copy of the rows"] = int(1.5 * shape.entries * shape.dtype.itemsize)
    flops = (0.0 if small else 4.0 * n * d * r) + 4.0 * n * r * r + 3.0 * n * k * inner + 15.0 * r**3
    seconds += more + edges_seconds + sparse_seconds(300.0 * n * k)
    return Plan.of(
        type(model).__name__,
        f"principal axes by {route}",
        shape,
        parts,
        gathers=True,
        seconds=seconds + dense_seconds(flops, np.dtype(np.float64)),
        approximate=approximate(shape, name),
        model_bytes=model.n_components * d * shape.dtype.itemsize + 8 * d,
        remedy="use fewer rows or columns, or reduce the rows with PCA first",
    )


@dataclass(frozen=True)
class Projection:
    """A linear map found from a neighbour graph."""

    components: Array
    mean: Array
    eigenvalues: Array
    rank: int
    n_neighbors: int

    def keep(self, model: Any) -> None:
        """Store the map in a model."""
        model.metric_, model.neighbors_ = model._input.name(model), self.n_neighbors
        model.components_, model.mean_, model.eigenvalues_ = self.components, self.mean, self.eigenvalues
        model.rank_, model.n_components_ = self.rank, len(self.components)


def fit_projection(
    model: Any, rows: RowSource, record: Recorder, edges_of: Callable[[Piece], EdgeWeights]
) -> Projection:
    """Return the map that keeps the graph of the rows, weighed by ``edges_of``; no training row is kept."""
    n, rng, owner = rows.count(), seed(model.random_state), type(model).__name__
    check_count(owner, model.n_components, n, rows.n_features)
    if n == 1:
        raise DataError(f"{owner}: there is only 1 sample, and so no neighbour; give more rows")
    with record.stage("neighbours"):
        hood = learn_neighborhood(model, rows, record, lambda n, record: count_neighbors(model, n, record))
    with record.stage("pieces"):
        ((piece,), _) = pieces_of(model, hood, record)
    points, k = hood.points, hood.n_neighbors
    del hood  # the graph may have been bridged
    with record.stage("weights"):
        edges = edges_of(piece)
    del piece
    with record.stage("principal axes"):
        axes = principal_axes(as_rows(points).weighted(edges.masses), rng)
    with record.stage("solve"):
        A, values = _solve(model, points, edges, axes, record)
    return Projection(A.astype(rows.dtype), axes.solved.mean, values, axes.rank, k)


def _solve(model: Any, points: Array, edges: EdgeWeights, axes: Axes, record: Recorder) -> tuple[Array, Array]:
    """Solve C v = λ B v in the scaled principal axes; return the directions and λ."""
    k = min(model.n_components, axes.rank)
    if k < model.n_components:
        record.warn_short(k, model.n_components)
    C, B = axes.forms(points, edges)
    values, V = generalized_eigen(C, B, k)
    length = np.linalg.norm(C, axis=0).max()  # the longest column is no longer than ‖C‖
    residual = np.linalg.norm(C @ V - (B @ V) * values, axis=0).max() / length
    A = axes.back(V) * np.sqrt(edges.masses.sum())  # the training rows get variance 1
    record.note(algorithm=f"principal axes by {axes.solved.route}", solver="generalised LAPACK")
    record.note(residual=float(residual))
    record.evidence["rank"] = axes.rank
    return np.ascontiguousarray((A * sign_of_columns(A)).T), values


def projection_compressor(model: Any) -> Compressor:
    """Return both ways: x′ = A⁺ y + m is the row nearest to the mean that maps to y."""
    A, mean = model.components_.astype(np.float64), model.mean_
    length = np.linalg.norm(A, axis=1, keepdims=True)  # rows of very different lengths are no lack of rank
    return Compressor(A, -A @ mean, np.linalg.pinv(A / length) / length.T, mean)


class Axes:
    """The rows in their principal axes, each scaled to unit length: Z = (X − 1mᵀ)P with P = V/σ."""

    def __init__(self, space: RowSpace) -> None:
        self.solved, self.rank = space.solved, len(space.values)
        self._P = space.directions / space.values

    def forms(self, points: Array, edges: EdgeWeights) -> tuple[Array, Array]:
        """Return C and B of the rows."""
        return forms(points, edges, self.solved.mean, self._P)

    def back(self, V: Array) -> Array:
        """Return P V: directions of the rows from those in the axes."""
        return self._P @ V


class DualAxes(Axes):
    """The same of few wide rows, whose coordinates are known: Z = U/√w, and D × N numbers are never held."""

    def __init__(self, found: Dual) -> None:
        self.solved, self.rank, self._dual = found.solved, len(found.values), found

    def forms(self, points: Array, edges: EdgeWeights) -> tuple[Array, Array]:
        """Return C and B of the rows."""
        Z = self._dual.left / np.sqrt(edges.masses)[:, None]
        return forms(Z, edges, np.zeros(self.rank), None)

    def back(self, V: Array) -> Array:
        """Return P V."""
        return self._dual.directions_times(V / self._dual.values[:, None])


def principal_axes(rows: RowSource, rng: np.random.Generator) -> Axes:
    """Return the principal axes of weighted rows; of wide ones without the directions, where their squares allow."""
    scaling = Scaling(True, False, 0)
    if rowspace.route(rows.shape, ComponentRule()) == "gram" and (found := dual(rows, scaling, rng=rng)) is not None:
        return DualAxes(found)
    return Axes(rowspace.decompose(rows, ComponentRule(), scaling, rng=rng))


def forms(points: Array, edges: EdgeWeights, mean: Array, P: Array | None) -> tuple[Array, Array]:
    """Return C and B of the rows Z = (X − 1mᵀ)P, summed by blocks in their order; without P the points are Z."""
    W = edges.weights
    points = points if sp.issparse(points) else np.ascontiguousarray(points)  # once, not in every block
    n, r = points.shape[0], points.shape[1] if P is None else P.shape[1]
    step = block_rows(points.shape[1])

    def work(start: int) -> tuple[Array, Array]:
        stop = min(n, start + step)
        Z, T = points[start:stop], _differences(W, points, start, stop)
        if P is not None:
            Z, T = _projected(Z, mean, P), T @ P
        scaled = Z * edges.masses[start:stop, None]
        return (T.T @ T if edges.squared else Z.T @ T), Z.T @ scaled

    C, B = np.zeros((r, r)), np.zeros((r, r))
    starts = range(0, n, step)
    for c, b in thread_pool.run(work, starts, stage="quadratic forms", total=len(starts)):
        C += c
        B += b
    return (C + C.T) / 2, (B + B.T) / 2


def _projected(block: Array, mean: Array, P: Array) -> Array:
    if sp.issparse(block):
        return np.asarray(block @ P) - mean @ P
    return (block.astype(np.float64) - mean) @ P


def _differences(W: Any, X: Array, start: int, stop: int) -> Array:
    """Return Σ_j w_ij (x_i − x_j) for some rows i."""
    if sp.issparse(X):
        part = W[start:stop]
        return sp.diags_array(np.asarray(part.sum(axis=1)).ravel()) @ X[start:stop] - part @ X
    from ...graph.laplacian_loops import differences

    out = np.empty((stop - start, X.shape[1]))
    differences(W.indptr, W.indices, W.data, X, out, start)
    return out
