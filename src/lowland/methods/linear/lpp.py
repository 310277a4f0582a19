"""Locality preserving projections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...contract.fit_info import Recorder
from ...contract.inputs import METRIC_INPUT, Compared
from ...contract.parameters import Choice, Rule
from ...core.cost import DataShape, Plan
from ...graph.laplacian import affinity, degrees
from ...graph.points import Piece
from ...rows.row_source import RowSource
from ...rows.units import Units
from ..shared.graph_based import GRAPH_OVERHEAD
from ..shared.laplacian_map import BANDWIDTH, bandwidth_of
from ..shared.linear_map import LinearReducer
from ..shared.neighborhood import rule_of
from ..shared.pair_units import degree
from .projections import (
    PROJECTION_PARAMETERS,
    PROJECTION_UNITS,
    EdgeWeights,
    fit_projection,
    projection_compressor,
    projection_plan,
)

Array = Any


class LPP(LinearReducer):
    """The linear map that keeps neighbours together: Laplacian eigenmaps among linear functions (He & Niyogi 2004).

    y = A(x − m);   min Σ w_ij |y_i − y_j|² subject to Σ d_i y_i y_iᵀ = (Σ d_i) I:   XᵀLX a = λ XᵀDX a,
    L = D − W, d = W1, X centred with the weights d, so m = Σ d_i x_i/Σ d_i and no constant is among the solutions.

    Where the rows have as many dimensions as there are points less one, this is `LaplacianEigenmaps` itself.

    Parameters
    ----------
    n_components : int
        Number of directions, at most min(rows, columns).
    n_neighbors : int or None
        Neighbours of each point. Two points are linked when either is among the other's neighbours. Equal rows are one
        point.
    radius : float or None
        With ``n_neighbors=None``: all points within this distance are neighbours. New rows have at least the nearest.
    metric : str
        A metric of SciPy by name: how neighbours are found. The map is linear whatever it is.
    weights : str
        "heat": w = exp(−d²/(2σ²)), but at least 1e-6; "binary": w = 1.
    bandwidth : float or "median"
        σ of the heat weights. "median" is the median of the distances from all points to their neighbours.
    disconnected : str
        What to do when the graph is not connected: "bridge" adds the shortest links, "error" refuses. There is no
        "separate": one linear map serves all pieces.
    random_state : int or None
        Seed of an approximate search; None is seed 0.

    Attributes
    ----------
    components_ : (k, D) array
        A, one direction a row, in the order of their eigenvalues; they are not orthogonal. The training points have
        variance 1 along each, under the weights d.
    mean_ : (D,) array
        m, in float64.
    eigenvalues_ : (k,) array
        λ, smallest first: how far neighbours differ along the direction.
    rank_ : int
        Dimensions of the centred rows; what is solved has this size.
    bandwidth_ : float
        σ of the fit; infinity with binary weights.
    n_components_ : int
        Directions found: fewer than asked for where the rank is lower.
    fit_info_ : FitInfo
        Residual, seconds, rank, pieces.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X, labels, _ = lowland.data.digits()
    >>> model = lowland.LPP(n_neighbors=12).fit(X)
    >>> model.transform(X[:3]).shape, model.rank_
    ((3, 2), 61)
    """

    _input: ClassVar[Compared] = METRIC_INPUT
    _reads_again: ClassVar[bool] = True
    _overhead: ClassVar[tuple[float, float]] = GRAPH_OVERHEAD
    _parameters: ClassVar[Mapping[str, Rule]] = {
        **PROJECTION_PARAMETERS,
        "weights": Choice(("heat", "binary")),
        "bandwidth": BANDWIDTH,
    }
    _units: ClassVar[Units] = {**PROJECTION_UNITS, "bandwidth_": degree}

    bandwidth_: float
    components_: Array
    mean_: Array
    eigenvalues_: Array
    metric_: str
    neighbors_: int
    rank_: int

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = 10,
        radius: float | None = None,
        metric: str = "euclidean",
        weights: str = "heat",
        bandwidth: float | str = "median",
        disconnected: str = "bridge",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric
        self.weights = weights
        self.bandwidth = bandwidth
        self.disconnected = disconnected
        self.random_state = random_state

    def _plan(self, shape: DataShape, rows: RowSource | None = None) -> Plan:
        return projection_plan(self, shape, rule_of(self).planned(shape.n_rows or 1, rows, self.metric))

    def _plan_rows(self, rows: RowSource) -> Plan:
        return self._plan(rows.shape, rows)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        self.metric_ = self._input.name(self)  # by which a bandwidth is in the unit of the rows
        fit_projection(self, rows, record, self._edges).keep(self)

    _compressor = projection_compressor

    def _offset(self) -> Array:
        return self.mean_

    def _edges(self, piece: Piece) -> EdgeWeights:
        """Return heat or binary weights of the graph's edges, and the degrees of its points."""
        self.bandwidth_ = np.inf if self.weights == "binary" else bandwidth_of(self, piece.graph)
        W = affinity(piece.graph, self.bandwidth_)
        return EdgeWeights(W, degrees(W), squared=False)
