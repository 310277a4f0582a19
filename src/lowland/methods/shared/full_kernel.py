"""Maps of the heat kernel between all points, ``affinity="rbf"``: a dense square of distances becomes the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...contract.fit_info import Recorder
from ...contract.inputs import require_count
from ...core import settings, thread_pool
from ...core.arrays import to_numpy
from ...core.cost import DataShape, Plan, check_allocation, dense_seconds
from ...core.errors import DataError
from ...core.message import Message, Owner, Setting
from ...core.random import seed
from ...graph.laplacian import REMEDY, TINY, edge_weights, middle, vanishing
from ...graph.points import PointSet
from ...pairs.distances import metric, row_bytes
from ...pairs.pairwise import square, tiles
from ...rows.row_source import RowSource
from ...spectral.solve import DENSE_LIMIT
from ...spectral.solve_costs import krylov_bytes
from .affinities import fit_affinities, gives_affinities, piece_of
from .graph_based import side_by_side
from .neighborhood import components_of_points, keep_points, learn_points, rule_of
from .pair_units import degree
from .placing import points_of

Array = Any

_STORED = 12  # bytes of a weight and its column
_AT_ONCE = 4  # the weights, those that the solver multiplies by, and what makes one of the other
_DENSE = 7  # matrices that the dense solver holds


def fitted_whole(model: Any, rows: RowSource, record: Recorder) -> bool:
    """Fit a map of given affinities, or of the kernel between all points; return whether the model asks for one."""
    _check_weights(model)
    if gives_affinities(model.affinity):
        fit_affinities(model, rows, record)
        return True
    if _is_full(model, rows.sparse):
        _fit_full(model, rows, record)
        return True
    return False


def _is_full(model: Any, sparse: bool) -> bool:
    """Return whether a fit needs the dense kernel; ``sparse``: whether the rows are. Landmarks use a graph.

    Of a sparse square of distances only those that are stored are known.
    """
    landmarks = getattr(model, "landmarks", None) is not None
    return model.affinity == "rbf" and not landmarks and not (model._pairwise and sparse)


def _check_weights(model: Any) -> None:
    """Raise if a kernel between all points is to have equal weights, which say nothing."""
    if model.affinity == "rbf" and getattr(model, "weights", "heat") == "binary":
        rbf, heat = Setting("affinity", "rbf"), Setting("weights", "heat")
        near = Setting("affinity", "nearest_neighbors")
        equal = " makes all weights equal, so the data have no effect; use ", heat, " or ", near
        raise DataError(Message(Owner(type(model).__name__), Setting("weights", "binary"), " with ", rbf, *equal))


def _fit_full(model: Any, rows: RowSource, record: Recorder) -> None:
    """Fit the map of the heat kernel between all distinct points by the model's ``_of_weights``."""
    n, rng = rows.count(), seed(model.random_state)
    require_count(model, rows.shape, n - 1, "the number of points less one")
    with record.stage("affinities"):
        points, D = _separate(learn_points(model, rows, record))
        k = model._count_neighbors(len(D), record)
        keep_points(model, points, k, square=False)
        model.n_components_, model.radius_ = components_of_points(model, n, len(D), record), np.inf
        sigma, nearest = _widths(model, D)
        _weigh(D, sigma)
        if np.ndim(sigma) == 0 and np.median(edge_weights(nearest, sigma, TINY)) <= TINY:
            raise vanishing(float(sigma), float(np.median(nearest)), full=True)
        W = _stored(D, diagonal=bool(getattr(model, "diagonal", False)))
        del D
    record.evidence["mean neighbours"] = k
    if len(points.first) < len(points.inverse):
        record.evidence["distinct rows"] = len(points.first)
    found = model._of_weights(W, sigma, model.n_components_, record, rng)
    model._tell([found], record)
    model.pieces_ = side_by_side([piece_of(np.arange(len(points.first)))], [found], model.n_components_)
    model.embedding_ = points_of(model.pieces_, model.n_components_)[points.inverse].astype(rows.dtype)
    model.component_labels_, model.point_numbers_ = np.zeros(n, dtype=np.int32), points.repeated


def kernel_of(points: PointSet, sigma: Array | float) -> Array:
    """Return the weights exp(−d²/(2σ²)) of all pairs of points, 1 on the diagonal."""
    D = _distances(points)
    _weigh(D, sigma)
    np.fill_diagonal(D, 1.0)
    return D


def _distances(points: PointSet) -> Array:
    n = points.points.shape[0]
    check_allocation(2 * 8 * n * n, f"the distances between {n:,} points", REMEDY)
    if points.metric.precomputed:
        D = np.asarray(points.points, dtype=np.float64)
        return (D + D.T) / 2
    rule = metric(points.metric.metric, points.points, dict(points.metric.state))
    return to_numpy(square(rule, points.points, stage="affinities"))


def _separate(points: PointSet) -> tuple[PointSet, Array]:
    """Return the points and their distances, infinite on the diagonal, once points at distance zero are one."""
    while True:
        if len(points.first) < 2:
            raise points.too_few()
        D = _distances(points)
        np.fill_diagonal(D, np.inf)
        if D.all():
            return points, D
        points = points.merged(sp.csr_array(D == 0))


def _widths(model: Any, D: Array) -> tuple[Array | float, Array]:
    """Return σ, one or that of each point, and the distance of each point to its nearest.

    Both rules for σ look at the ``n_neighbors`` nearest points alone, or at all if there is no number.
    """
    most = len(D) - 1
    k = most if model.n_neighbors is None else min(int(model.n_neighbors), most)
    if not isinstance(model.bandwidth, str):
        return float(model._in_unit(float(model.bandwidth), degree(model))), D.min(axis=1)
    near = np.concatenate([np.sort(np.partition(D[part], k - 1, axis=1)[:, :k], axis=1) for part in tiles(len(D))])
    return (near[:, middle(k)].copy() if model.bandwidth == "adaptive" else float(np.median(near))), near[:, 0]


def _weigh(D: Array, sigma: Array) -> None:
    """Replace distances by their weights, a few rows at a time."""

    def work(part: slice) -> None:
        D[part] = edge_weights(D[part], sigma if np.ndim(sigma) == 0 else np.sqrt(np.outer(sigma[part], sigma)), TINY)

    for _ in thread_pool.run(work, tiles(len(D), 64)):
        pass


def _stored(D: Array, *, diagonal: bool) -> Any:
    """Return all weights as a sparse matrix, which solvers take, with 1 on the diagonal or without one."""
    n = len(D)
    columns = np.tile(np.arange(n, dtype=np.int32), n)
    if diagonal:
        np.fill_diagonal(D, 1.0)
        return sp.csr_array((D.ravel(), columns, np.arange(n + 1) * n), shape=D.shape)
    data, columns = (values.ravel()[1:].reshape(n - 1, n + 1)[:, :-1].ravel() for values in (D, columns))
    return sp.csr_array((data, columns, np.arange(n + 1) * (n - 1)), shape=D.shape)


def whole_plan(model: Any, shape: DataShape) -> Plan | None:
    """Return the plan of a fit of the kernel between all rows; None for other fits."""
    if not _is_full(model, shape.sparse):
        return None
    n, d, k = shape.n_rows or 1, shape.n_features, model.n_components
    rule_of(model).planned(n, None, model._input.rule(model))  # refuses wrong numbers of neighbours
    name, squares = model._input.name(model), float(n) * n
    solver = 8 * _DENSE * n * n if n <= DENSE_LIMIT else krylov_bytes(k + 2, n)
    kept = 8 * n if model._pairwise else int(shape.entries * shape.dtype.itemsize * (1.5 if shape.sparse else 1))
    prepared = 0 if model._pairwise else shape.entries * row_bytes(name, shape.dtype.itemsize)
    parts = {"weights": _AT_ONCE * _STORED * n * n, "solver": solver, "rows": kept + prepared}
    products = (0.0 if model._pairwise else squares * d) + (10 * squares * n if n <= DENSE_LIMIT else 0.0)
    seconds = dense_seconds(products, np.dtype(np.float64)) + squares * (1e-7 + 2e-7 / settings.threads())
    size = sum(parts.values()) + shape.copied + shape.gathered
    model_bytes = kept + 2 * 8 * n * k + 8 * n
    return Plan(type(model).__name__, "graph Laplacian", size, seconds, True, model_bytes, parts, Message(REMEDY))
