"""What the methods on a graph's Laplacian share: weights of edges, their bandwidth, and how new rows join."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...contract.parameters import AnyOf, Choice, Real, Rule
from ...contract.reducer import Recorder
from ...core.cost import DataShape, sparse_seconds
from ...core.errors import NotConvergedWarning
from ...graph.geometry import Geometry
from ...graph.graph import Graph
from ...graph.laplacian import Harmonics, edge_weights, median_distance
from ...rows.row_source import RowSource
from ...rows.units import Units
from ...spectral.factor_costs import factor_entries, solve_cost
from .eigenspaces import warn_cut
from .graph_based import Cost, Embedded, GraphReducer, Piece, Unfolding
from .pair_units import degree

Array = Any

BANDWIDTH: Rule = AnyOf((Choice(("median",)), Real(0)))
EDGES = 1.2  # of the symmetric graph of a sheet, for each neighbour in a list; at most there are 2
_LOOSE = 1e-6  # an angle of the eigenvectors that pictures do not show
_TINY = 1e-9  # eigenvalues below may be equal by rounding alone


class LaplacianReducer(Unfolding):
    """A reducer by eigenvectors of D⁻¹W; subclasses have ``bandwidth`` and write `_embed`.

    A piece's state holds its ``bandwidth``, the eigenvalues of D⁻¹W as ``factor``, and as ``density`` what the weights
    of new rows are divided by.
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {**GraphReducer._parameters, "bandwidth": BANDWIDTH}
    _state: ClassVar[tuple[str, ...]] = (*GraphReducer._graph_state, "bandwidth_")
    _units: ClassVar[Units] = {**Unfolding._units, "bandwidth_": degree, "bandwidth": degree}
    _keeps_square: ClassVar[bool] = False
    _keeps_lengths: ClassVar[bool] = False

    bandwidth: float | str
    bandwidth_: float

    def _sigma(self, graph: Graph) -> float:
        """Return σ of the heat weights exp(−d²/(2σ²)); infinity makes all of them 1."""
        if isinstance(self.bandwidth, str):
            return median_distance(graph)
        return float(self._in_unit(float(self.bandwidth), degree(self)))

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        super()._fit(rows, record)
        self.bandwidth_ = self.pieces_[0]["bandwidth"]
        if np.isfinite(self.bandwidth_):
            record.evidence["bandwidth"] = self.bandwidth_

    def _about(self, found: Harmonics, record: Recorder, loose: float = _LOOSE) -> dict[str, Any]:
        """Return what the record should say of the solve; warn where eigenvectors are not determined."""
        name, cut = type(self).__name__, found.whole != self.n_components_
        if cut and found.values[-1] > _TINY:
            warn_cut(name, self.n_components_, found.whole, record)
        elif cut or found.residual > loose:
            known = "not determined" if cut else f"known to {found.residual:.1g} only"
            record.warn(
                f"{name}: the eigenvectors are {known}, since their eigenvalues lie very close to others (parts of the "
                "graph that hang together loosely, or symmetry); take more neighbours, or other n_components",
                NotConvergedWarning,
            )
        self._tell_concentration(found.functions, "take more neighbours, or a larger bandwidth", record)
        record.tell_checked(found.checked)
        about = {"algorithm": "graph Laplacian", "solver": found.solver, "residual": found.residual}
        return {**about, "iterations": found.products or None}

    def _small(self, piece: Piece) -> Embedded:
        """Few points are laid out by their distances; new rows join as weighted means, as if λ were 0."""
        found = super()._small(piece)
        sigma = self._sigma(piece.graph) if piece.n > 1 else 1.0
        return replace(found, state={"bandwidth": sigma, "factor": np.ones(1)})

    def _place(
        self, state: dict[str, Array], geometry: Geometry, block: Array, neighbors: Array, distances: Array
    ) -> Array:
        """Nyström: y(x) = Σ_j p(x, j) y_j/µ, with p(x, ·) the weights of x over their sum, µ the eigenvalue of D⁻¹W."""
        p = edge_weights(distances, state["bandwidth"])
        if "density" in state:
            p /= state["density"][neighbors]
        p /= p.sum(axis=1, keepdims=True)
        Y = (p[:, None, :] @ state["points"][neighbors])[:, 0, :]
        mu = state["factor"]
        lost = np.abs(mu) <= len(state["points"]) * np.finfo(np.float64).eps  # P forgets these: nothing to extend by
        return np.where(lost, 0.0, Y / np.where(lost, 1.0, mu))

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> Cost:
        edges = EDGES * n * k
        parts = {"weights and Laplacian": int(4 * 12 * edges), **solve_cost(n, edges / n + 1, self.n_components)}
        seconds = sparse_seconds(60.0 * factor_entries(n, edges / n + 1) + 400.0 * edges * (self.n_components + 8))
        return Cost("graph Laplacian", parts, seconds, model_bytes=8 * n)
