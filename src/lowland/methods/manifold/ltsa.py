"""Local tangent space alignment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ...contract.fit_info import Recorder
from ...contract.parameters import Rule
from ...core.cost import DataShape
from ...graph.patches import tangent_frames, with_center
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


class LTSA(GraphReducer):
    """Points whose patches are affine maps of their tangent coordinates (Zhang & Zha 2004).

    min Σ_i min_{c, L} Σ_j |y_j − c − L θ_ij|² with unit covariance, j over patch i (a point and its neighbours), θ_ij
    its tangent coordinates there. The local form is Φ_i = I − T_i T_iᵀ, T_i = [1/√m, U_i], U_i the leading eigenvectors
    of the patch's centred products.

    A sheet that was bent without stretching comes out flat, up to one affine map.

    Parameters
    ----------
    n_components : int
        Number of coordinates, and dimensions of the tangent spaces.
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
    >>> Y = lowland.LTSA().fit_transform(X)
    >>> bool(abs(np.corrcoef(Y[:, 0], truth[:, 0])[0, 1]) > 0.99)
    True
    """

    _algorithm: ClassVar[str] = "tangent alignment"
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
        d, patches = self.n_components, patches_of(self, piece.graph)
        with record.stage("patches"):
            frames = patches.over(piece.geometry, lambda G: tangent_frames(with_center(G), d), d + 1, stage="tangents")
            M = patches.matrix(frames, complement=True)
        return align(self, piece, M, record, rng)

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> EmbeddingCost:
        return alignment_cost(self, shape, n, k, columns=self.n_components + 1)
