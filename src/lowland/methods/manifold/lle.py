"""Locally linear embedding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ...contract.fit_info import Recorder
from ...contract.parameters import AnyOf, Choice, Real, Rule
from ...core.cost import DataShape
from ...graph.patches import Patches, barycentric, noise_ridge
from ...graph.points import Piece
from ...rows.row_source import RowSource
from ..shared.graph_based import GRAPH_PARAMETERS, Embedded, EmbeddingCost, GraphReducer
from .patch_alignment import align, alignment_cost, reconstruction_error

Array = Any


class LLE(GraphReducer):
    """Locally linear embedding: preserve the weights that reconstruct rows from their neighbours (Roweis & Saul 2000).

    min |x_i − Σ_j w_ij x_j|² with Σ_j w_ij = 1, w zero off the neighbours;   then min Σ_i |y_i − Σ_j w_ij y_j|² with
    unit covariance: the small end of M = (I − W)ᵀ(I − W), constants left out.

    The weights do not change when rows are rotated, shifted or scaled. With more neighbours than dimensions the weights
    are not unique, so they are regularised: (G + r·tr(G)·I) w ∝ 1, G the inner products of the neighbours' offsets.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    n_neighbors : int or None
        Neighbours that make up a point. Equal rows are one point.
    radius : float or None
        With ``n_neighbors=None``: all points within this distance are neighbours. New rows have at least the nearest.
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is a square matrix of distances, and new rows are distances to the
        training objects; or a function of two objects or two blocks.
    reg : float or "auto"
        r. "auto": what each point's neighbours have outside ``n_components`` dimensions, the mean of the smallest
        k − n_components eigenvalues of G over its trace, and at least 1e-4. Less than the rounding of G (4k·2e-16)
        counts as that.
    disconnected : str
        What to do when the graph is not connected: "bridge" adds the shortest links, "separate" embeds each and lays
        them side by side, "error" refuses.
    random_state : int or None
        Seed of the solver and of an approximate search; None is seed 0.

    Attributes
    ----------
    embedding_ : (N, k) array
        The training points; the distinct ones are centred, with unit covariance.
    eigenvalues_ : (k,) array
        Of M, smallest first.
    reconstruction_error_ : float
        Their sum: the mean over the points of |y_i − Σ_j w_ij y_j|².
    component_labels_ : (N,) array
        The piece of the graph that each row is in, the largest first.
    neighbors_ : int
        The number of neighbours used.
    reg_ : float or "auto"
        r of the fit, which new rows are placed with.
    fit_info_ : FitInfo
        Residual of the eigenvectors, relative to the gap; seconds of each stage.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X, truth = lowland.data.swiss_roll(1000)
    >>> Y = lowland.LLE(n_neighbors=12).fit_transform(X)
    >>> bool(abs(np.corrcoef(Y[:, 0], truth[:, 0])[0, 1]) > 0.98)
    True
    """

    _algorithm: ClassVar[str] = "barycentric weights"
    _keeps_lengths: ClassVar[bool] = False
    _needs_columns: ClassVar[bool] = True
    _parameters: ClassVar[Mapping[str, Rule]] = {
        **GRAPH_PARAMETERS,
        "reg": AnyOf((Choice(("auto",)), Real(0))),
    }

    reg_: float | str

    reconstruction_error_ = property(reconstruction_error, doc=reconstruction_error.__doc__)

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = 10,
        radius: float | None = None,
        metric: str | Callable[[Any, Any], Any] = "euclidean",
        reg: float | str = 1e-3,
        disconnected: str = "bridge",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric
        self.reg = reg
        self.disconnected = disconnected
        self.random_state = random_state

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        self.reg_ = self.reg if isinstance(self.reg, str) else float(self.reg)
        super()._fit(rows, record)

    def _weigh(self, G: Array) -> Array:
        return barycentric(G, noise_ridge(G, self.n_components_) if isinstance(self.reg_, str) else self.reg_)

    def _embed(self, piece: Piece, record: Recorder, rng: np.random.Generator) -> Embedded:
        def rows(G: Array) -> Array:  # of I − W
            return np.pad(-self._weigh(G), ((0, 0), (1, 0)), constant_values=1.0)[:, :, None]

        with record.stage("patches"):
            patches = Patches.of_graph(piece.graph)
            M = patches.matrix(patches.over(piece.geometry, rows, 1, stage="weights"))
        return align(self, piece, M, record, rng)

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> EmbeddingCost:
        return alignment_cost(self, shape, n, k, columns=1)
