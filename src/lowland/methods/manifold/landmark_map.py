"""Maps through landmarks, for data whose sparse factor does not fit: Y = ZỸ, smoothed, and its measured error.

Z holds each point's barycentric weights on the landmarks nearest to it by path length; see M. Vladymyrov & M. Á.
Carreira-Perpiñán, ECML PKDD 2013, who take the nearest by Euclidean distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contract.fit_info import Recorder
from ...contract.parameters import AnyOf, Integer, Nothing, Rule
from ...core.cost import dense_seconds, largest, sparse_seconds
from ...core.errors import DataError, LowlandWarning
from ...core.message import message
from ...graph.geodesics import geodesic_cost
from ...graph.landmark_weights import PATHS, landmark_weights, nearest_along
from ...graph.points import Piece
from ...spectral.procrustes import procrustes
from ..shared.landmarks import uniform

Array = Any

LANDMARKS: Rule = AnyOf((Nothing(), Integer(1)))
SMOOTH = 40  # degree of the polynomial that takes the kinks out; 100 halves LTSA's error, for 2.5 times the products
_LANDMARKS_PER_POINT = 10  # that make up a point: LTSA's maps of swiss rolls were alike with 6, 8 and 10
_LARGE_ERROR = 0.3  # of the map's size: an error that leaves little of it


def landmark_count(model: Any, n: int) -> int | None:
    """Return the landmarks of a component of n points; None where it is solved exactly."""
    count = getattr(model, "landmarks", None)
    return None if count is None or count >= n else int(count)


@dataclass(frozen=True)
class LandmarkMap:
    """The parameter ``landmarks`` of a method: None is exact, a number is that many, drawn by the seed."""

    owner: str
    landmarks: int | None
    n_components: int

    @classmethod
    def of(cls, model: Any) -> LandmarkMap:
        """Return the landmarks that a model asks for."""
        return cls(type(model).__name__, model.landmarks, model.n_components)

    def check(self, n: int) -> None:
        """Refuse a number of landmarks that cannot span the map, or that saves nothing."""
        if self.landmarks is None:
            return
        least = self.n_components + 2
        if self.landmarks < least:
            text = f": {{landmarks}} is too few for {{n_components}}: at least {least} are needed, better hundreds"
            raise DataError(message(self.owner + text, landmarks=self.landmarks, n_components=self.n_components))
        if self.landmarks >= n:
            text = f": {{landmarks}} must be less than the number of distinct rows, {n}; None is exact"
            raise DataError(message(self.owner + text, landmarks=self.landmarks))

    def solve(
        self, piece: Piece, count: int, record: Recorder, rng: np.random.Generator, solve: Callable[[Any, int], Any]
    ) -> tuple[Any, float]:
        """Return what ``solve(Z, degree)`` finds through landmarks, and the distance of its map from the exact one.

        That is measured as the distance from a map that falls short in the same two ways, and further: of half as many
        other landmarks, smoothed a quarter as long. Two maps of one kind share what both lack: on swiss rolls their
        distance was down to a fifth of the true error, and this one from 0.7 times to 30 times it.
        """
        with record.stage("landmarks"):
            half = max(self.n_components + 2, count // 2)
            first, other = (self._weights(piece, uniform(piece.n, size, rng)) for size in (count, half))
        with record.stage("solve"):
            found = solve(first, SMOOTH)
        with record.stage("error"):
            error = procrustes(_points(solve(other, SMOOTH // 4)), _points(found), scale=False).error
        if error > _LARGE_ERROR:
            record.warn(
                message(
                    f"{self.owner}: {half} and {count} landmarks do not agree on one map (approximation_error "
                    f"{error:.2g} of its size): use more landmarks, or {{landmarks}}",
                    landmarks=None,
                ),
                LowlandWarning,
            )
        return found, error

    def _weights(self, piece: Piece, chosen: Array) -> Any:
        k = min(len(chosen), self._nearest)
        return landmark_weights(piece.geometry, chosen, *nearest_along(piece.graph, chosen, k))

    @property
    def _nearest(self) -> int:
        return max(_LANDMARKS_PER_POINT, 2 * (self.n_components + 1))

    def cost(self, n: int, count: int, neighbors: int, entries: float) -> tuple[dict[str, int], float]:
        """Return memory and seconds of a map through landmarks, for a matrix of so many entries."""
        k, width = self._nearest, self.n_components + 8
        at_once = min(count, max(16, PATHS // n))
        paths, searching = geodesic_cost(n, neighbors, count, 4)
        weights = {"matrix": int(12 * entries), "weights on landmarks": 2 * n * k * 16}
        searching_paths = {"paths to landmarks": 4 * n * at_once + paths["search for paths"] + n * k * 24}
        solving = {
            "products with landmarks": 5 * n * k * 12,
            "landmark matrices": 6 * 8 * count**2,
            "vectors": 8 * n * 8 * width,
        }
        parts = weights | largest(searching_paths, solving)  # one after the other
        seconds = dense_seconds(2 * 15.0 * count**3, np.dtype(np.float64))
        return parts, seconds + 2 * searching + sparse_seconds(2.0 * entries * (SMOOTH * width + 8 * k))


def _points(found: Any) -> Array:
    """Return the map, of vectors of length 1 or of functions of variance 1."""
    return found.functions if hasattr(found, "functions") else found.vectors
