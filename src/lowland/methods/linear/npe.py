"""Neighbourhood preserving embedding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...contract.fit_info import Recorder
from ...contract.inputs import METRIC_INPUT, Compared
from ...contract.parameters import Rule
from ...core.cost import DataShape, Plan
from ...graph.geometry import around_seconds
from ...graph.patches import Patches, barycentric
from ...graph.points import Piece
from ...rows.row_source import RowSource
from ...rows.units import Units
from ..shared.graph_based import GRAPH_OVERHEAD
from ..shared.linear_map import LinearReducer
from ..shared.neighborhood import rule_of
from .projections import (
    PROJECTION_PARAMETERS,
    PROJECTION_UNITS,
    EdgeWeights,
    fit_projection,
    projection_compressor,
    projection_plan,
)

Array = Any


class NPE(LinearReducer):
    """The linear map that keeps how neighbours make up a point: LLE among linear functions (He et al. 2005).

    y = A(x − m);   min Σ_i |y_i − Σ_j w_ij y_j|² subject to cov(y) = I:   XᵀMX a = λ XᵀX a,   M = (I − W)ᵀ(I − W),
    w the barycentric weights of `LLE`, which sum to 1 for each point; X centred.

    Parameters
    ----------
    n_components : int
        Number of directions, at most min(rows, columns).
    n_neighbors : int or None
        Neighbours that make up a point. Equal rows are one point.
    radius : float or None
        With ``n_neighbors=None``: all points within this distance are neighbours. New rows have at least the nearest.
    metric : str
        A metric of SciPy by name: how neighbours are found and weighed. The map is linear whatever it is.
    disconnected : str
        What to do when the graph is not connected: "bridge" adds the shortest links, "error" refuses. There is no
        "separate": one linear map serves all pieces.
    random_state : int or None
        Seed of an approximate search; None is seed 0.

    Attributes
    ----------
    components_ : (k, D) array
        A, one direction a row, in the order of their eigenvalues; they are not orthogonal. The training points have
        variance 1 along each.
    mean_ : (D,) array
        m, in float64: the mean of the distinct rows.
    eigenvalues_ : (k,) array
        λ, smallest first: how badly the neighbours make up a point along the direction.
    rank_ : int
        Dimensions of the centred rows; what is solved has this size.
    n_components_ : int
        Directions found: fewer than asked for where the rank is lower.
    fit_info_ : FitInfo
        Residual, seconds, rank, pieces.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X, labels, _ = lowland.data.digits()
    >>> model = lowland.NPE(n_neighbors=12).fit(X)
    >>> model.transform(X[:3]).shape, model.rank_
    ((3, 2), 61)
    """

    _input: ClassVar[Compared] = METRIC_INPUT
    _reads_again: ClassVar[bool] = True
    _overhead: ClassVar[tuple[float, float]] = GRAPH_OVERHEAD
    _parameters: ClassVar[Mapping[str, Rule]] = PROJECTION_PARAMETERS
    _units: ClassVar[Units] = PROJECTION_UNITS

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
        disconnected: str = "bridge",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric
        self.disconnected = disconnected
        self.random_state = random_state

    def _plan(self, shape: DataShape, rows: RowSource | None = None) -> Plan:
        k = rule_of(self).planned(n := shape.n_rows or 1, rows, self.metric)
        return projection_plan(self, shape, k, around_seconds(shape, n, k))

    def _plan_rows(self, rows: RowSource) -> Plan:
        return self._plan(rows.shape, rows)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        fit_projection(self, rows, record, self._edges).keep(self)

    _compressor = projection_compressor

    def _offset(self) -> Array:
        return self.mean_

    def _edges(self, piece: Piece) -> EdgeWeights:
        """Return barycentric weights of the points among their neighbours."""
        patches = Patches.of_graph(piece.graph)

        def weigh(G: Array) -> Array:
            return np.pad(barycentric(G), ((0, 0), (1, 0)))[:, :, None]  # a patch begins with the point itself

        w = patches.over(piece.geometry, weigh, 1, stage="weights").ravel()
        n = piece.n
        W = sp.csr_array((w, patches.members, patches.indptr), shape=(n, n))
        return EdgeWeights(W, np.ones(n), squared=True)
