"""Fitting local patches together: LLE, modified and Hessian LLE, LTSA.

Each patch (a point and its neighbours) has a quadratic form Φ_i that is near zero for functions that are right on it.
The map minimises Σ_i y_iᵀΦ_i y_i: the small end of M = Σ_i S_i Φ_i S_iᵀ, S_i selecting the patch, without constants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contract.reducer import Recorder
from ...core.cost import DataShape, dense_seconds, largest, sparse_seconds
from ...core.errors import DataError, NotConvergedWarning
from ...graph.geometry import around_seconds
from ...graph.patches import Patches, batch_bytes
from ...spectral.factor_costs import factor_entries, solve_cost
from ...spectral.nullspace import Small, reduced, smallest
from ..shared.eigenspaces import warn_concentrated, warn_cut
from ..shared.graph_based import Embedded, EmbeddingCost
from ..shared.neighborhood import Piece
from .landmark_map import LandmarkMap

Array = Any

FEWER = "take fewer rows or neighbours, reduce the rows with PCA first"
_VISIBLE_ANGLE = 1e-3  # of the eigenvectors: what a picture begins to show


@dataclass(frozen=True)
class PatchAlignment:
    """The small end of a sum of local forms.

    ``columns`` is how many numbers a patch's form takes for each member; ``landmarks`` of a method that has them, None
    of one that has not; ``copies`` of a batch's products that a thread holds while it works.
    """

    owner: str
    algorithm: str
    n_components: int
    columns: int
    landmarks: LandmarkMap | None = None
    copies: int = 5

    # -- training -----------------------------------------------------------------------------------------

    def require_neighbors(self, k: int, least: int, n: int) -> int:
        """Return k; refuse fewer neighbours than patches need to determine the coordinates of n points."""
        if k < least:
            rows = f", and there are only {n} distinct rows" if k == n - 1 else ""
            raise DataError(
                f"{self.owner}: n_neighbors={k} is too few for n_components={self.n_components}: "
                f"at least {least} are needed{rows}"
            )
        return k

    def embed(
        self,
        piece: Piece,
        matrix: Callable[[Piece, Patches], Any],
        k: int,
        n_neighbors: int,
        record: Recorder,
        rng: np.random.Generator,
    ) -> Embedded:
        """Return k coordinates of a component, from the sparse symmetric M that ``matrix`` makes of its patches."""
        n = piece.n
        with record.stage("patches"):
            M = matrix(piece, Patches.of_graph(piece.graph))
        count = None if self.landmarks is None else self.landmarks.count(n)
        null = np.full((n, 1), n**-0.5)
        if self.landmarks is None or count is None:
            found, about = self._exactly(M, k, null, record, rng)
        else:
            found, error = self.landmarks.solve(
                piece, count, record, rng, lambda Z, smooth: reduced(M, Z, k, null=null, smooth=smooth)
            )
            about = {"solver": found.solver, "residual": found.backward, "approximate": True}
            about |= {"approximation_error": error, "algorithm": f"{self.algorithm}, {count} landmarks"}
        remedy = _more_neighbors(n_neighbors, n)
        self._tell_doubt(found, k, remedy, record)
        warn_concentrated(self.owner, found.vectors, remedy, record)
        record.evidence["relative gap"] = found.gap
        return Embedded(found.vectors * n**0.5, found.values, about=about)

    def _exactly(
        self, M: Any, k: int, null: Array, record: Recorder, rng: np.random.Generator
    ) -> tuple[Small, dict[str, Any]]:
        """Return the small end of M, and what the record should say of it."""
        with record.stage("solve"):
            found = smallest(M, k, null=null, rng=rng, remedy=self._remedy)
        record.tell_checked(found.checked)
        about = {"solver": found.solver, "residual": found.residual, "iterations": found.products or None}
        return found, {"algorithm": self.algorithm, **about}

    @property
    def _remedy(self) -> str:
        """Say what to do where the factor does not fit."""
        if self.landmarks is None:
            return f"{FEWER}, or use LTSA or ModifiedLLE with landmarks=2000"
        return (
            "set landmarks=2000 for an approximate map, take fewer rows or neighbours, or reduce the rows with PCA "
            "first"
        )

    def _tell_doubt(self, found: Small, k: int, remedy: str, record: Recorder) -> None:
        """Warn of coordinates that are not determined."""
        cut = found.whole != k
        if cut and found.above_rounding:
            warn_cut(self.owner, k, found.whole, record)
        elif cut or (found.residual > _VISIBLE_ANGLE and not found.approximate):  # landmarks have an error of their own
            known = "not determined" if cut else f"known to {found.residual:.1g} only"
            record.warn(
                f"{self.owner}: the coordinates are {known}: their eigenvalues lie below rounding or very close to "
                "others (pieces that hang together loosely, patches that say too little, or symmetry); "
                f"{remedy}, or disconnected='separate'",
                NotConvergedWarning,
            )

    # -- cost ---------------------------------------------------------------------------------------------

    def cost(self, shape: DataShape, n: int, k: int) -> EmbeddingCost:
        """Return what embedding n points with k neighbours takes."""
        count, entries = None if self.landmarks is None else self.landmarks.count(n), _entries(n, k)
        patches, seconds = self.patch_cost(shape, n, k)
        if self.landmarks is not None and count is not None:
            parts, solving = self.landmarks.cost(n, count, k, entries)
            algorithm = f"{self.algorithm}, {count} landmarks"
            return EmbeddingCost(algorithm, largest(patches, parts), seconds + solving, approximate=True)
        degree = entries / n
        matrices = {"matrix": 2 * 12 * entries, **solve_cost(n, degree, self.n_components)}  # and M + σI
        seconds += sparse_seconds(150.0 * factor_entries(n, degree))
        return EmbeddingCost(self.algorithm, largest(patches, matrices), seconds)

    def patch_cost(self, shape: DataShape, n: int, k: int) -> tuple[dict[str, int], float]:
        """Return memory and seconds of the patches."""
        m = k + 1
        parts = {
            "patches": n * m * (8 * self.columns + 4 + 24),
            "batches": batch_bytes(n, k, shape.n_features, self.copies),
        }
        return parts, around_seconds(shape, n, k) + dense_seconds(300.0 * n * m**3, np.dtype(np.float64))


def _more_neighbors(k: int, n: int) -> str:
    """Say how patches could know more: by neighbours, where a component of n points has more of them."""
    if k < n - 1:
        return f"take more neighbours than {k}"
    return "take more rows, for each point has all others as its neighbours already"


def _entries(n: int, k: int) -> int:
    """Return how many entries M has for a sheet; points of more dimensions share fewer patches."""
    return n * min(n, 3 * (k + 1))
