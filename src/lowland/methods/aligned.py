"""What the methods share that fit local patches together: LLE, modified and Hessian LLE, LTSA.

Each patch (a point and its neighbours) has a quadratic form Φ_i that is near zero for functions that are right on it.
The map is what makes Σ_i y_iᵀΦ_i y_i smallest: the small end of M = Σ_i S_i Φ_i S_iᵀ, S_i choosing the patch, constants
left out.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..errors import DataError, LowlandWarning, NotConvergedWarning
from ..graph.patches import Patches, affine
from ..planning import DataShape, dense_seconds, sparse_seconds
from ..reducer import Recorder
from ..spectral.nullspace import smallest
from .eigenspaces import warn_cut
from .graph_based import Cost, Embedded, Piece, Unfolding

Array = Any

_LOOSE = 1e-3  # an angle of the eigenvectors that a picture begins to show
_FEW = 0.01  # of all points: a coordinate that lives on fewer is no coordinate of the whole
_REMEDY = "take fewer rows or neighbours, or reduce the rows with PCA first"


class Aligned(Unfolding):
    """A reducer by the small end of a sum of local forms.

    Subclasses write `_matrix`, `_columns` and `_least_neighbors`.
    """

    _algorithm: ClassVar[str]
    _keeps_lengths: ClassVar[bool] = False

    def _columns(self, k: int) -> int:
        """Return how many numbers a patch's form takes for each member, with k neighbours a point."""
        raise NotImplementedError

    def _least_neighbors(self) -> int:
        """Return the number of neighbours below which patches say nothing about ``n_components`` coordinates."""
        raise NotImplementedError

    def _matrix(self, piece: Piece, patches: Patches) -> Any:
        """Return M, sparse and symmetric to the bit."""
        raise NotImplementedError

    def _count_neighbors(self, n: int, record: Recorder) -> int:
        k, least, d = super()._count_neighbors(n, record), self._least_neighbors(), self.n_components
        if k < least and n > d + 1:  # so few points are laid out by their distances
            rows = f", and there are only {n} distinct rows" if k == n - 1 else ""
            raise DataError(
                f"{type(self).__name__}: n_neighbors={k} is too few for n_components={d}: "
                f"at least {least} are needed{rows}"
            )
        return k

    def _embed(self, piece: Piece, record: Recorder, rng: np.random.Generator) -> Embedded:
        n = piece.n
        with record.stage("patches"):
            M = self._matrix(piece, Patches.of_graph(piece.graph))
        with record.stage("solve"):
            found = smallest(M, self.n_components, null=np.full((n, 1), n**-0.5), rng=rng, remedy=_REMEDY)
        cut = found.whole != self.n_components
        if cut and found.above_rounding:
            warn_cut(type(self).__name__, self.n_components, found.whole, record)
        elif cut or found.residual > _LOOSE:
            known = "not determined" if cut else f"known to {found.residual:.1g} only"
            record.warn(
                f"{type(self).__name__}: the coordinates are {known}: their eigenvalues lie below rounding or very "
                "close to others (pieces that hang together loosely, patches that say too little, or symmetry); take "
                "more neighbours, or disconnected='separate'",
                NotConvergedWarning,
            )
        self._tell_concentration(found.vectors, record)
        record.evidence["relative gap"] = found.gap
        about = {
            "algorithm": self._algorithm,
            "solver": found.solver,
            "residual": found.residual,
            "iterations": found.products or None,
        }
        return Embedded(found.vectors * n**0.5, found.values, about=about)

    def _tell_concentration(self, V: Array, record: Recorder) -> None:
        """Warn of a coordinate that is large for a few points and near zero for the others: 1/Σv⁴ counts those few."""
        few = 1 / (V**4).sum(axis=0)
        if few.min() < _FEW * len(V):
            record.warn(
                f"{type(self).__name__}: coordinate {int(few.argmin()) + 1} sets about {few.min():.0f} points apart "
                "and leaves all others in one place: these few share too few neighbours with the rest; take more "
                f"neighbours than {self.neighbors_}",
                LowlandWarning,
            )

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> Cost:
        m, d = k + 1, self.n_components
        entries = n * min(n, 3 * m)  # of M for a sheet; points of more dimensions share fewer patches
        fill = n * min(n / 2, entries / n + 10 * np.log2(max(2, n)))
        parts = {
            "patches": n * m * (8 * self._columns(k) + 4 + 24),
            "matrix": 3 * 12 * entries,
            "factor": int(8 * fill),
            "vectors": 8 * n * 12 * (d + 8),
        }
        seconds = dense_seconds(300.0 * n * m**3, np.dtype(np.float64)) + sparse_seconds(150.0 * fill)
        return Cost(self._algorithm, parts, seconds)


class Tangent(Aligned):
    """An aligned reducer that places new rows by the affine map of their neighbours' tangent coordinates."""

    def _weigh(self, G: Array) -> Array:
        return affine(G, self.n_components_)
