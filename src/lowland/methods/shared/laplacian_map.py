"""Maps by eigenvectors of a graph's Laplacian: bandwidth, warnings, placing of new rows, cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...contract.fit_info import Recorder
from ...contract.parameters import AnyOf, Choice, FunctionRule, Real, Rule
from ...core.cost import sparse_seconds
from ...core.errors import NotConvergedWarning
from ...core.message import message
from ...graph.graph import Graph
from ...graph.laplacian import FLOOR, TINY, Harmonics, edge_weights, median_distance, middle, own_widths
from ...rows.units import Power, Units
from ...spectral.factor_costs import factor_entries, solve_cost
from .eigenspaces import warn_concentrated, warn_cut
from .graph_based import GRAPH_PARAMETERS, GRAPH_UNITS, Embedded, EmbeddingCost
from .pair_units import degree, double_degree

Array = Any

BANDWIDTH: Rule = AnyOf((Choice(("median",)), Real(0)))
LAPLACIAN_PARAMETERS: Mapping[str, Rule] = {
    **GRAPH_PARAMETERS,
    "affinity": AnyOf((Choice(("nearest_neighbors", "rbf", "precomputed")), FunctionRule())),
    "bandwidth": AnyOf((Choice(("median", "adaptive")), Real(0))),
}
LAPLACIAN_UNITS: Units = {**GRAPH_UNITS, "bandwidth_": degree, "bandwidth": degree}
EDGES_PER_NEIGHBOR = 1.2  # of the symmetric graph of a sheet, for each neighbour in a list; at most there are 2
_INVISIBLE_ANGLE = 1e-6  # of the eigenvectors: what pictures do not show
_ROUNDING_VALUE = 1e-9  # eigenvalues below may be equal by rounding alone


def bandwidth_of(model: Any, graph: Graph) -> float:
    """Return σ of the heat weights exp(−d²/(2σ²)): the parameter in the unit of the fit, or the median distance."""
    if isinstance(model.bandwidth, str):
        return median_distance(graph)
    return float(model._in_unit(float(model.bandwidth), degree(model)))


def widths_of(model: Any, graph: Graph) -> Array | float:
    """Return σ of the heat weights, or with ``bandwidth="adaptive"`` that of each point.

    Of a kernel between all points both rules look at the nearest ``n_neighbors`` alone.
    """
    full = model.affinity == "rbf" and model.n_neighbors is not None
    k = min(model.n_neighbors, graph.n - 1) if full else model.neighbors_
    if model.bandwidth == "adaptive":
        return own_widths(graph, k)
    if full and isinstance(model.bandwidth, str):
        return float(np.median(graph.distances.reshape(graph.n, -1)[:, :k]))
    return bandwidth_of(model, graph)


def least_weight(model: Any) -> float:
    """Return the least weight of an edge: only a kernel between all points may have negligible ones."""
    return TINY if model.affinity == "rbf" else FLOOR


def keep_bandwidth(model: Any, record: Recorder) -> None:
    """Store and record the bandwidth of the largest component; of adaptive ones the median."""
    model.affinity_ = "function" if callable(model.affinity) else model.affinity
    model.bandwidth_ = float(np.median(model.pieces_[0]["bandwidth"]))
    if np.isfinite(model.bandwidth_):
        record.evidence["bandwidth"] = model.bandwidth_


def about_harmonics(
    name: str, k: int, found: Harmonics, record: Recorder, loose: float = _INVISIBLE_ANGLE
) -> dict[str, Any]:
    """Return what the record should say of the solve; warn where eigenvectors are not determined."""
    cut = found.whole != k
    if cut and found.values[-1] > _ROUNDING_VALUE:
        warn_cut(name, k, found.whole, record)
    elif cut or found.residual > loose:
        known = "not determined" if cut else f"known to {found.residual:.1g} only"
        record.warn(
            message(
                f"{name}: the eigenvectors are {known}, since their eigenvalues are very close to others (weakly "
                "connected parts of the graph, or symmetry); use more neighbours or another {n_components}",
                n_components=...,
            ),
            NotConvergedWarning,
        )
    remedy = message("increase {n_neighbors}, or use a larger {bandwidth}", n_neighbors=..., bandwidth=...)
    warn_concentrated(name, found.functions, remedy, record)
    record.tell_checked(found.checked)
    about = {"algorithm": "graph Laplacian", "solver": found.solver, "residual": found.residual}
    return {**about, "iterations": found.products or None}


def with_bandwidth(small: Embedded, sigma: Array | float) -> Embedded:
    """Return a map of few points by their distances; new rows join as weighted means, as if λ were 0."""
    return replace(small, state={"bandwidth": sigma, "factor": np.ones(1)})


def nystrom(state: dict[str, Array], neighbors: Array, distances: Array) -> Array:
    """Return y(x) = Σ_j p(x, j) y_j/µ, with p(x, ·) the weights of x over their sum, µ the eigenvalue of D⁻¹W.

    ``state`` of a component holds its ``bandwidth``, one or that of each point; the eigenvalues of D⁻¹W as ``factor``;
    and as ``density`` what the weights of new rows are divided by.
    """
    sigma = state["bandwidth"]
    if np.ndim(sigma):
        own = distances[:, middle(distances.shape[1]), None]
        sigma = np.sqrt(own * sigma[neighbors])
    p = edge_weights(distances, sigma, state.get("least", FLOOR))
    if "density" in state:
        p /= state["density"][neighbors]
    return _extended(state, p, state["points"][neighbors])


def nystrom_of(state: dict[str, Array], A: Array) -> Array:
    """Return y(x) of new rows that have the affinities A to all points of a component."""
    return _extended(state, A / state["density"] if "density" in state else A, state["points"])


def _extended(state: dict[str, Array], p: Array, points: Array) -> Array:
    p = p / p.sum(axis=1, keepdims=True)
    Y = (p[:, None, :] @ points)[:, 0, :]
    mu = state["factor"]
    lost = np.abs(mu) <= len(state["points"]) * np.finfo(np.float64).eps  # P forgets these: nothing to extend by
    scale = np.where(lost, 1.0, mu)
    if 1 < len(mu) < Y.shape[1]:  # a component of a few points has fewer coordinates
        scale, lost = (np.pad(x, (0, Y.shape[1] - len(mu)), constant_values=1) for x in (scale, lost))
    return np.where(lost, 0.0, Y / scale)


def generator_values(values: Array, sigma: Array | float) -> Array:
    """Return 2(1 − λ)/σ², of the generator (I − P)·2/σ², for the eigenvalues 1 − λ; σ = 1 where there is none for all.

    A step of the walk has the variance σ² in every direction, so P = I + σ²Δ/2 + … for many points.
    """
    return 2 * values / (1.0 if np.ndim(sigma) or np.isnan(sigma) else sigma) ** 2


def generator_degree(model: Any) -> Power:
    """Return the power of the rows' unit of the generator's eigenvalues."""
    sigma = model.pieces_[0]["bandwidth"]
    return 0 if np.ndim(sigma) or np.isnan(sigma) else -double_degree(model)


def laplacian_cost(n: int, k: int, n_components: int) -> EmbeddingCost:
    """Return what eigenvectors of the Laplacian of n points with k neighbours take."""
    edges = EDGES_PER_NEIGHBOR * n * k
    parts = {"weights and Laplacian": int(4 * 12 * edges), **solve_cost(n, edges / n + 1, n_components)}
    seconds = sparse_seconds(60.0 * factor_entries(n, edges / n + 1) + 400.0 * edges * (n_components + 8))
    return EmbeddingCost("graph Laplacian", parts, seconds, model_bytes=8 * n)
