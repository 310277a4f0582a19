"""Isomap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ...contract.fit_info import Recorder
from ...contract.parameters import Choice, LandmarkRule, Rule
from ...core.cost import DataShape, dense_seconds
from ...core.errors import DataError
from ...core.message import message
from ...graph.geodesics import geodesic_cost, geodesics
from ...graph.geometry import Geometry
from ...graph.points import Piece
from ...pairs.distance_checks import check_size
from ...rows.units import Units
from ...spectral.distance import scale
from ...spectral.solve_costs import square_solve_cost
from ..shared.extension import Triangulation, to_principal_axes
from ..shared.graph_based import GRAPH_PARAMETERS, GRAPH_UNITS, Embedded, EmbeddingCost, GraphReducer
from ..shared.landmarks import LandmarkDefaults, Landmarks, uniform
from ..shared.map_warnings import note_disagreement, warn_arbitrary_axes
from ..shared.pair_units import degree, double_degree
from ..shared.placing import State
from .path_map import (
    few_points,
    halves_disagreement,
    kept,
    path_lengths,
    path_precision,
    place_all,
    place_by_paths,
    reconstruction_error,
)

Array = Any

_LANDMARKS = LandmarkDefaults(count=500)


class Isomap(GraphReducer):
    """Points whose distances are those along the data: classical scaling of shortest paths (Tenenbaum et al. 2000).

    δ_ij = shortest path in the neighbour graph;   −½ J δ² J = V Λ Vᵀ;   Y = V Λ^½.
    A new row:  δ(x, ℓ) = min_j (d(x, j) + δ(j, ℓ)) over its neighbours j;   y = ½ Λ^(−½) Vᵀ (mean δ² − δ(x)²).

    Of large sets landmarks ℓ place all points by the last formula (de Silva & Tenenbaum 2003).

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    n_neighbors : int or None
        Neighbours of each point. Two points are linked when either is among the other's neighbours.
    radius : float or None
        With ``n_neighbors=None``: neighbours are all points within this distance; a new row has at least the nearest.
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is a square matrix of distances, dense or sparse; or a function of
        two objects. Entries that a sparse matrix does not store are unknown; a stored zero is that training object.
    landmarks : int, str or None
        None: exact, with the paths between all points. "auto": exact up to 10,000 points, else 500 landmarks (or 4 for
        each component, if that is more). Or a number, at least 2 (n_components + 1).
    disconnected : str
        What to do with several components: "bridge" adds the shortest links, "separate" maps each by itself, "error".
    ties : str
        Of neighbours as far as the last one, "cut" takes those with lower numbers, "keep" takes all.
    random_state : int or None
        Seed of the solver and of the landmarks; None is seed 0.

    Attributes
    ----------
    embedding_ : (N, k) array
        The training points, centred, along their principal axes.
    eigenvalues_ : (k,) array
        Of −½ J δ² J, largest first; with landmarks, sums of squares of the coordinates.
    residual_variance_ : (k,) array
        1 − r² between path lengths and distances on the map of 1, 2, …, k dimensions, over all pairs of points, or of
        a landmark and a point. Where it levels off is the dimension.
    dist_matrix_ : (N, N) array
        δ between all rows, infinite between pieces; made when it is read. An exact fit has it, landmarks do not.
    component_labels_ : (N,) array
        Which piece of the neighbour graph a row is in, 0 the largest. Eigenvalues and residual variances are its.
    n_components_ : int
        Coordinates found: fewer where fewer eigenvalues are positive.
    fit_info_ : FitInfo
        Its evidence has the goodness of fit as in `ClassicalMDS`, the share of negative eigenvalues, and pieces.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X, truth = lowland.data.swiss_roll(1000)
    >>> Y = lowland.Isomap(n_neighbors=10).fit_transform(X)
    >>> bool(abs(np.corrcoef(Y[:, 0], truth[:, 0])[0, 1]) > 0.99)
    True
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        **GRAPH_PARAMETERS,
        "landmarks": LandmarkRule(("uniform",)),
        "ties": Choice(("cut", "keep")),
    }
    _units: ClassVar[Units] = {
        **GRAPH_UNITS,
        "embedding_": degree,
        "eigenvalues_": double_degree,
        "transform": degree,
        "smallest eigenvalue": double_degree,
        "dist_matrix_": degree,
    }
    _keeps_square: ClassVar[bool] = False  # new rows join by path lengths
    _ranked: ClassVar[str] = "the path lengths (their positive eigenvalues)"

    residual_variance_: Array
    dist_matrix_ = property(path_lengths, doc="(N, N) path lengths between the training rows.")

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = 10,
        radius: float | None = None,
        metric: str | Callable[[Any, Any], Any] = "euclidean",
        landmarks: int | str | None = "auto",
        disconnected: str = "bridge",
        ties: str = "cut",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric
        self.landmarks = landmarks
        self.disconnected = disconnected
        self.ties = ties
        self.random_state = random_state

    def _landmarks(self, n: int) -> Landmarks | None:
        """Return the landmarks of a fit of n points; None where it is exact."""
        found, k = _LANDMARKS.of(self, n), self.n_components
        if found is None or found.count >= n:
            return None
        if found.count < 2 * (k + 1):
            text = f"Isomap: {found.count} landmarks are too few for {{n_components}}: use at least {2 * (k + 1)} "
            raise DataError(message(text + "(half of them make a second map), better 4 for each", n_components=k))
        return found

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> EmbeddingCost:
        wanted, d = self._landmarks(n), self.n_components
        m = n if wanted is None else wanted.count
        itemsize = path_precision(n, m, wanted).itemsize
        parts, seconds = geodesic_cost(n, k, m, itemsize)
        name, size, flops = square_solve_cost(m, d, squares=6)
        parts[name] = size
        flops += 4.0 * n * m * (d + 8)  # residual variances and placement
        algorithm = "all shortest paths" if wanted is None else f"{m} landmarks ({wanted.strategy})"
        seconds += dense_seconds(flops, np.dtype(np.float64))
        return EmbeddingCost(algorithm, parts, seconds, itemsize * n * m + 8 * m * (d + 1), wanted is not None)

    def _embed(self, piece: Piece, record: Recorder, rng: np.random.Generator) -> Embedded:
        name, n, k, wanted = type(self).__name__, piece.n, self.n_components, self._landmarks(piece.n)
        graph = piece.graph.symmetric()
        chosen = np.arange(n) if wanted is None else uniform(n, wanted.count, rng)
        with record.stage("shortest paths"):
            kind = path_precision(n, len(chosen), wanted)
            D = geodesics(graph, chosen, dtype=kind, by_point=wanted is not None, stage="shortest paths")
        with record.stage("solve"):
            mutual = D if wanted is None else D[chosen].astype(np.float64)
            check_size(mutual, "Isomap")
            found = scale(mutual, self.n_components_, float(np.finfo(kind).eps), rng)
            warn_arbitrary_axes(name, k, found.seen, found.B.trace(), len(mutual) - 1, found.floor, record)
            if "goodness of fit" not in record.evidence:  # the largest piece comes first
                record.evidence.update(found.evidence(rng))
            record.tell_checked(found.pairs.checked)
        about = {"algorithm": "all shortest paths", "solver": found.pairs.solver, "residual": found.pairs.residual}
        about["iterations"] = found.pairs.products or None
        Y, values, placement = found.points, found.values, Triangulation.of(found)
        if wanted is not None:
            with record.stage("place"):
                Y, values, placement = to_principal_axes(place_all(D, placement), placement)
            with record.stage("error"):
                error = halves_disagreement(D, chosen, Y.shape[1], rng)
                note_disagreement(name, k, error, len(chosen) // 2, record)
            about |= {"approximate": True, "approximation_error": error}
            about["algorithm"] = f"{len(chosen)} landmarks ({wanted.strategy})"
        with record.stage("residual variance"):
            return kept(D, chosen, Y, values, placement, about)

    def _small(self, piece: Piece) -> Embedded:
        """Lay out a piece of few points by its path lengths, like any other."""
        return few_points(piece, self.n_components_)

    def reconstruction_error(self) -> float:
        """Return ‖B − YYᵀ‖/n with B = −½ J δ² J, as scikit-learn does, of the n points of the largest component."""
        return reconstruction_error(self)

    def _place(self, state: State, geometry: Geometry, block: Array, neighbors: Array, distances: Array) -> Array:
        return place_by_paths(state, neighbors, distances)
