"""Modified locally linear embedding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ...contract.fit_info import Recorder
from ...contract.parameters import Rule
from ...core.cost import DataShape
from ...graph.patches import Patches, flatness, several_weights
from ...graph.points import Piece
from ..shared.graph_based import GRAPH_PARAMETERS, Embedded, EmbeddingCost, GraphReducer
from .landmark_map import LANDMARKS
from .patch_alignment import (
    affine_weights,
    align,
    alignment_cost,
    count_patch_neighbors,
    patches_of,
    reconstruction_error,
)

Array = Any


class ModifiedLLE(GraphReducer):
    """LLE with several weight vectors a point, which together determine the map better than one (Zhang & Wang 2006).

    min Σ_i ‖y_i 1ᵀ − Σ_j y_j W_ij‖² with unit covariance, W_i = (1 − α_i) w_i 1ᵀ + V_i H_i: V_i are the eigenvectors of
    G_i whose eigenvalues are small, w_i the weights of LLE, H_i a reflection that makes every column sum to 1.

    How many vectors a point has is found from the data: as many, up to k − d, as keep the sum of their eigenvalues over
    that of the others below η, the median over all points of Σ_{l>d} λ_l/Σ_{l≤d} λ_l.

    Parameters
    ----------
    n_components : int
        Number of coordinates d.
    n_neighbors : int or None
        Neighbours of a point, more than ``n_components``. Equal rows are one point.
    radius : float or None
        With ``n_neighbors=None``: all points within this distance are neighbours. New rows have at least the nearest.
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is a square matrix of distances, and new rows are distances to the
        training objects; or a function of two objects or two blocks.
    landmarks : int or None
        None: exact. A number: the map is made through so many points drawn by the seed, and is approximate; for data
        whose exact map would take too much memory. More than ``n_components + 1``, better some hundreds.
    disconnected : str
        What to do when the graph is not connected: "bridge" adds the shortest links, "separate" embeds each and lays
        them side by side, "error" refuses.
    random_state : int or None
        Seed of the solver, of the landmarks and of an approximate search; None is seed 0.

    Attributes
    ----------
    embedding_ : (N, k) array
        The training points; the distinct ones are centred, with unit covariance.
    eigenvalues_ : (k,) array
        Of the sum of local forms, smallest first.
    reconstruction_error_ : float
        Their sum: the mean of the local forms over the points.
    component_labels_ : (N,) array
        The piece of the graph that each row is in, the largest first.
    neighbors_ : int
        The number of neighbours used.
    fit_info_ : FitInfo
        Residual of the eigenvectors, relative to the gap (with landmarks to the norm of the matrix, and the measured
        distance from the exact map); seconds of each stage.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X, truth = lowland.data.swiss_roll(1000)
    >>> Y = lowland.ModifiedLLE().fit_transform(X)
    >>> bool(abs(np.corrcoef(Y[:, 0], truth[:, 0])[0, 1]) > 0.99)
    True
    """

    _algorithm: ClassVar[str] = "several weights a point"
    _keeps_lengths: ClassVar[bool] = False
    _needs_columns: ClassVar[bool] = True
    _parameters: ClassVar[Mapping[str, Rule]] = {**GRAPH_PARAMETERS, "landmarks": LANDMARKS}

    reconstruction_error_ = property(reconstruction_error, doc=reconstruction_error.__doc__)

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = 10,
        radius: float | None = None,
        metric: str | Callable[[Any, Any], Any] = "euclidean",
        landmarks: int | None = None,
        disconnected: str = "bridge",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric
        self.landmarks = landmarks
        self.disconnected = disconnected
        self.random_state = random_state

    @property
    def _least_neighbors(self) -> int:
        return self.n_components + 1

    _count_neighbors = count_patch_neighbors
    _weigh = affine_weights

    def _embed(self, piece: Piece, record: Recorder, rng: np.random.Generator) -> Embedded:
        if piece.n <= self._least_neighbors:  # of several within a radius: others have more points than neighbours
            return self._small(piece)
        with record.stage("patches"):
            M = self._matrix(piece, patches_of(self, piece.graph))
        return align(self, piece, M, record, rng)

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> EmbeddingCost:
        return alignment_cost(self, shape, n, k, columns=max(1, k - self.n_components), copies=8)

    def _matrix(self, piece: Piece, patches: Patches) -> Any:
        d = self.n_components
        geometry = patches.remembered(piece.geometry)
        eta = float(np.median(patches.each(geometry, lambda G: flatness(G, d), stage="flatness")))

        def forms(G: Array) -> Array:  # a column of ones over the negative weights, for each weight vector in use
            W = several_weights(G, d, eta)
            return np.concatenate([(W != 0).any(axis=1, keepdims=True).astype(float), -W], axis=1)

        most = int(np.diff(patches.indptr).max()) - 1 - d
        return patches.matrix(patches.over(geometry, forms, most, stage="weights"))
