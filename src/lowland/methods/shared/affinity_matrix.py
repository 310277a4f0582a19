"""The affinities of the training rows of a fitted model, made again when they are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ...core.cost import check_allocation
from ...core.random import seed
from ...graph.components import components
from ...graph.laplacian import FLOOR, affinity
from ...graph.points import PointMetric, PointSet
from ...rows.units import Power, scaled_back
from .full_kernel import kernel_of
from .placing import numbers_of_rows, training_points

Array = Any


def matrix_degree(model: Any) -> Power:
    """Return the power of the rows' unit that affinities have: 1 where they are the rows."""
    return 1 if model.affinity_ == "precomputed" else 0


@scaled_back("affinity_matrix_")
def affinity_matrix(model: Any) -> Array:
    """Return the affinities of the training rows, made again when they are read; AttributeError where they are lost."""
    check_is_fitted(model)
    given, points = vars(model).get("given_affinities_"), None if model._fitted_pairwise else training_points(model)
    if given is None and points is None:
        what = "loaded" if model.affinity_ == "precomputed" else "fitted on distances"
        raise AttributeError(f"{type(model).__name__}: a model that was {what} does not keep its affinities")
    W = given if points is None else _of_points(model, points)
    return W.astype(model.embedding_.dtype)


def _of_points(model: Any, points: Array) -> Array:
    rule, n = model._input.fitted(model), points.shape[0]
    if model.affinity_ == "function":
        return rule(points)
    alone, metric = np.arange(n), PointMetric(type(model).__name__, rule, model.metric_state_)
    found, rows = PointSet(metric, points, alone, alone), numbers_of_rows(model)
    if model.affinity_ == "rbf":
        check_allocation(2 * 8 * len(rows) ** 2, f"the affinities of {len(rows)} rows", "fit on fewer rows")
        W = kernel_of(found, model.pieces_[0]["bandwidth"])
    else:
        W = _of_neighbors(model, found)
    return W if len(rows) == n else W[rows][:, rows]


def _of_neighbors(model: Any, found: PointSet) -> Array:
    """Return the affinities along the edges of the graph of the fit."""
    n = len(found.first)
    start = 0 if model.random_state is None else int(seed(model.random_state).integers(2**31))
    hood = found.neighbors(lambda n: model.neighbors_, start=start, radius=model.radius_)
    labels = components(hood.graph)
    pieces = [hood.bridged(labels)[0]] if len(model.pieces_) == 1 else hood.split(labels)
    parts = [
        affinity(piece.graph, state["bandwidth"], state.get("least", FLOOR)).tocoo()
        for piece, state in zip(pieces, model.pieces_, strict=True)
    ]
    where = [np.concatenate([p.numbers[x.coords[i]] for p, x in zip(pieces, parts, strict=True)]) for i in (0, 1)]
    return sp.csr_array((np.concatenate([part.data for part in parts]), where), shape=(n, n))
