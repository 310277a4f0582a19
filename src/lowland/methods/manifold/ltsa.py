"""Local tangent space alignment."""

from __future__ import annotations

from typing import Any

from ...graph.patches import Patches, tangent_frames, with_center
from ..shared.graph_based import Piece
from .aligned import Tangent


class LTSA(Tangent):
    """Points whose patches are affine maps of their tangent coordinates (Zhang & Zha 2004).

    min Σ_i min_{c, L} Σ_j |y_j − c − L θ_ij|² with unit covariance, j over patch i (a point and its neighbours), θ_ij
    its tangent coordinates there. The local form is Φ_i = I − T_i T_iᵀ, T_i = [1/√m, U_i], U_i the leading eigenvectors
    of the patch's centred products.

    A sheet that was bent without stretching comes out flat, up to one affine map.

    Parameters
    ----------
    n_components : int
        Number of coordinates, and dimensions of the tangent spaces.
    n_neighbors : int
        Neighbours of a point, more than ``n_components``. Equal rows are one point.
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is the square of distances, and new rows are distances to the
        training objects; or a function of two objects or two blocks.
    landmarks : int or None
        None: exact. A number: the map is made through so many points drawn by the seed, and is approximate; for data
        whose exact map would take too much memory. More than ``n_components + 1``, better some hundreds.
    disconnected : str
        What to do when the graph falls into pieces: "bridge" adds the shortest links, "separate" embeds each and lays
        them side by side, "error" refuses.
    random_state : int or None
        Seed of the solver, of the landmarks and of an approximate search; None is seed 0.

    Attributes
    ----------
    embedding_ : (N, k) array
        The training points; the distinct ones are centred, with unit covariance.
    eigenvalues_ : (k,) array
        Of the sum of local forms, smallest first.
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

    _algorithm = "tangent alignment"

    def _least_neighbors(self) -> int:
        return self.n_components + 1

    def _columns(self, k: int) -> int:
        return self.n_components + 1

    def _matrix(self, piece: Piece, patches: Patches) -> Any:
        d = self.n_components
        frames = patches.over(piece.geometry, lambda G: tangent_frames(with_center(G), d), d + 1, stage="tangents")
        return patches.matrix(frames, complement=True)
