"""What the methods share that fit local patches together: LLE, modified and Hessian LLE, LTSA.

Each patch (a point and its neighbours) has a quadratic form Φ_i that is near zero for functions that are right on it.
The map is what makes Σ_i y_iᵀΦ_i y_i smallest: the small end of M = Σ_i S_i Φ_i S_iᵀ, S_i choosing the patch, constants
left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ...contract.reducer import Recorder
from ...core.cost import DataShape, dense_seconds, largest, sparse_seconds
from ...core.errors import DataError, NotConvergedWarning
from ...graph.geometry import around_seconds
from ...graph.patches import Patches, affine, batch_bytes
from ...spectral.factor_costs import factor_entries, solve_cost
from ...spectral.nullspace import Small, reduced, smallest
from ..shared.eigenspaces import warn_cut
from ..shared.graph_based import Cost, Embedded, Piece, Unfolding
from .landmarked import Landmarked

Array = Any

_LOOSE = 1e-3  # an angle of the eigenvectors that a picture begins to show


class Aligned(Unfolding):
    """A reducer by the small end of a sum of local forms.

    Subclasses write `_matrix`, `_columns` and `_least_neighbors`.
    """

    _algorithm: ClassVar[str]
    _keeps_lengths: ClassVar[bool] = False
    _needs_columns: ClassVar[bool] = True
    _remedy_of_fill: ClassVar[str] = (
        "take fewer rows or neighbours, reduce the rows with PCA first, or use LTSA or ModifiedLLE with landmarks=2000"
    )
    _copies: ClassVar[int] = 5  # of a batch's products that a thread holds while it works

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
        if k < least:
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
        found, about = self._solve(M, piece, record, rng)
        self._tell_doubt(found, n, record)
        self._tell_concentration(found.vectors, self._more_neighbors(n), record)
        record.evidence["relative gap"] = found.gap
        return Embedded(found.vectors * n**0.5, found.values, about=about)

    def _solve(self, M: Any, piece: Piece, record: Recorder, rng: np.random.Generator) -> tuple[Small, dict[str, Any]]:
        """Return the small end of M, and what the record should say of it."""
        n = piece.n
        with record.stage("solve"):
            found = smallest(M, self.n_components_, null=np.full((n, 1), n**-0.5), rng=rng, remedy=self._remedy_of_fill)
        record.tell_checked(found.checked)
        about = {"solver": found.solver, "residual": found.residual, "iterations": found.products or None}
        return found, {"algorithm": self._algorithm, **about}

    def _tell_doubt(self, found: Small, n: int, record: Recorder) -> None:
        """Warn of coordinates that are not determined."""
        cut = found.whole != self.n_components_
        if cut and found.above_rounding:
            warn_cut(type(self).__name__, self.n_components_, found.whole, record)
        elif cut or (found.residual > _LOOSE and not found.approximate):  # that of landmarks is told as their error
            known = "not determined" if cut else f"known to {found.residual:.1g} only"
            record.warn(
                f"{type(self).__name__}: the coordinates are {known}: their eigenvalues lie below rounding or very "
                "close to others (pieces that hang together loosely, patches that say too little, or symmetry); "
                f"{self._more_neighbors(n)}, or disconnected='separate'",
                NotConvergedWarning,
            )

    def _more_neighbors(self, n: int) -> str:
        """Say how patches could know more: by neighbours, where a piece of n points has more of them."""
        if self.neighbors_ < n - 1:
            return f"take more neighbours than {self.neighbors_}"
        return "take more rows, for each point has all others as its neighbours already"

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> Cost:
        degree = _entries(n, k) / n
        patches, seconds = self._patch_cost(shape, n, k)
        solving = {"matrix": 2 * 12 * _entries(n, k), **solve_cost(n, degree, self.n_components)}  # and M + σI
        seconds += sparse_seconds(150.0 * factor_entries(n, degree))
        return Cost(self._algorithm, largest(patches, solving), seconds)

    def _patch_cost(self, shape: DataShape, n: int, k: int) -> tuple[dict[str, int], float]:
        """Return memory and seconds of the patches."""
        m = k + 1
        parts = {
            "patches": n * m * (8 * self._columns(k) + 4 + 24),
            "batches": batch_bytes(n, k, shape.n_features, self._copies),
        }
        return parts, around_seconds(shape, n, k) + dense_seconds(300.0 * n * m**3, np.dtype(np.float64))


def _entries(n: int, k: int) -> int:
    """Return how many entries M has for a sheet; points of more dimensions share fewer patches."""
    return n * min(n, 3 * (k + 1))


class Tangent(Landmarked, Aligned):
    """An aligned reducer that places new rows by the affine map of their neighbours' tangent coordinates."""

    _remedy_of_fill: ClassVar[str] = (
        "set landmarks=2000 for an approximate map, take fewer rows or neighbours, or reduce the rows with PCA first"
    )

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 10,
        metric: str | Callable[[Any, Any], Any] = "euclidean",
        landmarks: int | None = None,
        disconnected: str = "bridge",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.landmarks = landmarks
        self.disconnected = disconnected
        self.random_state = random_state

    def _solve(self, M: Any, piece: Piece, record: Recorder, rng: np.random.Generator) -> tuple[Small, dict[str, Any]]:
        n, count = piece.n, self._count_landmarks(piece.n)
        if count is None:
            return super()._solve(M, piece, record, rng)

        def solve(Z: Any, smooth: int) -> Small:
            return reduced(M, Z, self.n_components_, null=np.full((n, 1), n**-0.5), smooth=smooth)

        found, error = self._by_landmarks(piece, count, record, rng, solve)
        about = {"solver": found.solver, "residual": found.backward, "approximate": True, "approximation_error": error}
        return found, {"algorithm": f"{self._algorithm}, {count} landmarks", **about}

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> Cost:
        count = self._count_landmarks(n)
        if count is None:
            return super()._embed_cost(shape, n, k)
        patches, seconds = self._patch_cost(shape, n, k)
        parts, solving = self._landmark_cost(n, count, k, _entries(n, k))
        algorithm = f"{self._algorithm}, {count} landmarks"
        return Cost(algorithm, largest(patches, parts), seconds + solving, approximate=True)

    def _weigh(self, G: Array) -> Array:
        return affine(G, self.n_components_)
