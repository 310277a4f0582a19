"""Diffusion maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...contract.fit_info import Recorder
from ...contract.inputs import Compared
from ...contract.parameters import Boolean, Real, Rule
from ...core.cost import DataShape, Plan
from ...core.errors import DataError
from ...core.message import message
from ...graph.geometry import Geometry
from ...graph.laplacian import affinity, harmonics, with_diagonal, without_density
from ...graph.points import Piece
from ...rows.row_source import RowSource
from ...rows.units import Units
from ..shared.affinities import AFFINITY_INPUT, new_affinities
from ..shared.full_kernel import fitted_whole, whole_plan
from ..shared.graph_based import Embedded, EmbeddingCost, GraphReducer
from ..shared.laplacian_map import (
    LAPLACIAN_PARAMETERS,
    LAPLACIAN_UNITS,
    about_harmonics,
    generator_degree,
    generator_values,
    keep_bandwidth,
    laplacian_cost,
    least_weight,
    nystrom,
    widths_of,
    with_bandwidth,
)

Array = Any


class DiffusionMaps(GraphReducer):
    """Diffusion maps: coordinates whose distances are diffusion distances of a random walk (Coifman & Lafon 2006).

    w_ii = 1,   q = W1,   K_ij = w_ij/(q_i q_j)^α,   P = D⁻¹K,   P ψ = λ ψ;   y_i = (λ₁ᵗ ψ₁(i), …, λ_kᵗ ψ_k(i)).
    A new row:  ψ(x) = Σ_j p(x, j) ψ_j/λ with p(x, j) ∝ w(x, j)/q_j^α over its neighbours j.

    With all coordinates, |y_i − y_j| is the diffusion distance: the distance of the walks that start at i and j,
    after t steps. α = 1 removes the effect of sampling density; α = 0 does not. Without the diagonal,
    α = 0 and 0 steps are `LaplacianEigenmaps`.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    n_neighbors : int or None
        Neighbours of each point. Two points are linked when either is among the other's neighbours.
    radius : float or None
        With ``n_neighbors=None``: all points within this distance are neighbours. New rows have at least the nearest.
    affinity : str or callable
        "nearest_neighbors"; "rbf": the same heat weights between all points; "precomputed": X is the square of
        affinities, dense or sparse, and new rows hold affinities to the training objects; or a function of rows that
        returns such a square, and of new and training rows for `transform`. The last two have no metric or bandwidth.
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is a square matrix of distances; or a function of two objects.
    alpha : float
        From 0, the walk on the data as sampled, to 1, the walk on their shape alone; 0.5 is Fokker–Planck.
    n_steps : float
        Steps t of the walk: the more, the coarser. 0 leaves the eigenvectors as they are.
    bandwidth : float or str
        σ of the weights w = exp(−d²/(2σ²)), which are at least 1e-6. "median" is the median of the distances from all
        points to their neighbours. "adaptive": w_ij = exp(−d²/(2σ_i σ_j)), σ_i the distance to the middle one of the
        point's neighbours.
    diagonal : bool
        Whether a point is linked to itself, with w = 1.
    disconnected : str
        What to do with several pieces: "bridge" adds the shortest links, "separate" lays maps side by side, "error".
    random_state : int or None
        Seed of the solver; None is seed 0.

    Attributes
    ----------
    embedding_ : (N, k) array
        The training points: λᵗψ, ψ of mean 0 and variance 1 under the stationary distribution of the walk.
    eigenvalues_ : (k,) array
        λ of P, largest first; the constant with λ = 1 is left out. Of the largest piece, where there are several.
    generator_eigenvalues_ : (k,) array
        2(1 − λ)/σ²: with α = 1, many points and neighbours that reach 3σ, eigenvalues of −Δ on the shape. With
        adaptive bandwidths 2(1 − λ).
    bandwidth_ : float
        σ of the fit, of the largest piece; the median of adaptive ones.
    component_labels_ : (N,) array
        Which piece of the neighbour graph a row is in, 0 the largest.
    n_components_ : int
        Coordinates found.
    fit_info_ : FitInfo
        Solver, residual, seconds, bandwidth, pieces.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X, angle = lowland.data.noisy_circle(300, noise=0.0)
    >>> model = lowland.DiffusionMaps(n_neighbors=8).fit(X)
    >>> model.embedding_.shape, bool((model.eigenvalues_ < 1).all())
    ((300, 2), True)
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        **LAPLACIAN_PARAMETERS,
        "alpha": Real(0, 1, closed=True),
        "n_steps": Real(0, 1e6, closed=True),
        "diagonal": Boolean(),
    }
    _units: ClassVar[Units] = {**LAPLACIAN_UNITS, "generator_eigenvalues_": generator_degree}
    _input: ClassVar[Compared] = AFFINITY_INPUT
    _keeps_square: ClassVar[bool] = False
    _keeps_lengths: ClassVar[bool] = False

    alpha: float
    n_steps: float
    diagonal: bool
    affinity: str | Callable[..., Any]
    affinity_: str
    bandwidth: float | str
    bandwidth_: float
    generator_eigenvalues_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = 10,
        radius: float | None = None,
        affinity: str | Callable[..., Any] = "nearest_neighbors",
        metric: str | Callable[[Any, Any], Any] = "euclidean",
        alpha: float = 1.0,
        n_steps: float = 1,
        bandwidth: float | str = "median",
        diagonal: bool = True,
        disconnected: str = "bridge",
        random_state: int | None = None,
    ) -> None:
        self.n_components, self.n_neighbors, self.radius = n_components, n_neighbors, radius
        self.affinity = affinity
        self.metric = metric
        self.alpha = alpha
        self.n_steps = n_steps
        self.bandwidth = bandwidth
        self.diagonal = diagonal
        self.disconnected = disconnected
        self.random_state = random_state

    def _plan(self, shape: DataShape, rows: RowSource | None = None) -> Plan:
        return whole_plan(self, shape) or super()._plan(shape, rows)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        if not fitted_whole(self, rows, record):
            super()._fit(rows, record)
        keep_bandwidth(self, record)

    def _row_map(self) -> Callable[[Array], Array]:
        return new_affinities(self) if self.affinity_ in ("precomputed", "function") else super()._row_map()

    def _embed(self, piece: Piece, record: Recorder, rng: np.random.Generator) -> Embedded:
        sigma = widths_of(self, piece.graph)
        with record.stage("weights"):
            W = affinity(piece.graph, sigma, least_weight(self))
            W = with_diagonal(W) if self.diagonal else W
        return self._of_weights(W, sigma, self.n_components_, record, rng)

    def _of_weights(self, W: Any, sigma: Array | float, k: int, record: Recorder, rng: np.random.Generator) -> Embedded:
        K, density = without_density(W, float(self.alpha))
        with record.stage("solve"):
            found = harmonics(K, k, rng)
        values = 1 - found.values
        state = {"bandwidth": sigma, "factor": values, "density": density, "least": least_weight(self)}
        about = about_harmonics("DiffusionMaps", k, found, record)
        learned = {"generator_eigenvalues_": generator_values(found.values, sigma)}
        return Embedded(found.functions * self._powers(values), values, state, about, learned)

    def _small(self, piece: Piece) -> Embedded:
        found = with_bandwidth(super()._small(piece), widths_of(self, piece.graph) if piece.n > 1 else 1.0)
        return replace(found, learned={"generator_eigenvalues_": np.full(len(found.values), np.nan)})

    def _place(
        self, state: dict[str, Array], geometry: Geometry, block: Array, neighbors: Array, distances: Array
    ) -> Array:
        return nystrom(state, neighbors, distances)

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> EmbeddingCost:
        return laplacian_cost(n, k, self.n_components)

    def _powers(self, values: Array) -> Array:
        """Return λᵗ; a fraction of a step has no meaning for a negative λ."""
        t = float(self.n_steps)
        if not t.is_integer() and (values < 0).any():
            text = f" is a fraction, and the eigenvalue {values.min():.3g} is negative: its power is not real; "
            remedy = "use a whole number of steps, fewer components or more rows"
            raise DataError(message("DiffusionMaps: {n_steps}" + text + remedy, n_steps=t))
        return values**t
