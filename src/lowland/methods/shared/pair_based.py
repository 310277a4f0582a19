"""What methods that compare objects pair by pair share: all of them with all, or with landmarks."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, ClassVar

from ...contract.reducer import Reducer
from ...core.cost import DataShape
from ...core.errors import DataError
from ...pairs.distances import DEGREES, MOVABLE
from ...rows.object_rows import are_objects
from ...rows.row_source import RowSource
from ...rows.units import Power
from .landmarks import Landmarks, wanted

CALL_SECONDS = 1e-6  # of a function in Python, roughly
_MOVABLE = (*MOVABLE, "rbf", "laplacian")  # metrics and kernels


def degree(model: Any) -> Power:
    """Return the power of the rows' unit that distances have by the metric of the fit."""
    return DEGREES.get(model.metric_, 0)


def double_degree(model: Any) -> Power:
    """Return the power of the rows' unit that squared distances have."""
    return 2 * degree(model)


def of_anchors(model: Any) -> Power:
    """Return the power that stored training objects have: 1 of rows, 0 of the numbers of precomputed objects."""
    return 0 if model._fitted_pairwise else 1


class PairReducer(Reducer):
    """A reducer of objects that a metric or kernel compares, whose parameter ``_compared_by`` names.

    Subclasses have the parameters ``n_components``, ``landmarks`` and ``random_state``, too.
    """

    _compared_by: ClassVar[str]
    _values: ClassVar[str] = "its distances to"  # what precomputed rows hold, in words
    _finds_gaps: ClassVar[bool] = False  # whether the method looks for missing values of pairs by itself
    _strategy: ClassVar[str] = "uniform"
    _exact_below: ClassVar[int] = 10_000  # "auto" takes landmarks above it
    _landmark_count: ClassVar[int] = 1000

    n_components: int
    landmarks: int | str | None
    random_state: Any

    @property
    def _takes_objects(self) -> bool:
        return callable(getattr(self, self._compared_by))

    @property
    def _pairwise(self) -> bool:
        return isinstance(given := getattr(self, self._compared_by), str) and given == "precomputed"

    @property
    def _fitted_pairwise(self) -> bool:
        """Tell whether the fit was on precomputed values, so that new rows hold values for the training objects."""
        return self._pairwise

    def _has_units(self) -> bool:
        given = getattr(self, self._compared_by)
        return super()._has_units() and isinstance(given, str) and given in DEGREES

    def _takes_means_off(self) -> bool:
        return getattr(self, self._compared_by) in _MOVABLE

    def _source(self, X: Any) -> RowSource:
        if self._pairwise and (count := _length_of_line(X)) is not None:
            self._refuse_line(count)
        if not self._takes_objects and not self._pairwise and are_objects(X):
            name = self._compared_by
            raise DataError(
                f"{type(self).__name__}: these are texts or other objects, and {name}={getattr(self, name)!r} compares "
                f"rows of numbers: give {name}= a function of two objects, or make a table of them"
            )
        return super()._source(X)

    def _refuse_line(self, count: int) -> None:
        """Say how to make rows of values that stand in one line: one half of a square, or one new object's."""
        if getattr(self, "n_features_in_", None) == count:
            raise DataError(
                f"{type(self).__name__}: a new object is a row of its own: give X.reshape(1, -1), whose {count} "
                f"columns are {self._values} the training objects"
            )
        n = (1 + math.isqrt(1 + 8 * count)) // 2
        hint = (
            f"if it is one half of a square for {n} objects, as scipy.spatial.distance.pdist gives it, take "
            "scipy.spatial.distance.squareform(X)"
            if n * (n - 1) == 2 * count
            else "one half of a square, in a line, would have N(N − 1)/2"
        )
        raise DataError(
            f"{type(self).__name__}: precomputed values for pairs are a square matrix, and this is one line of {count} "
            f"values; {hint}"
        )

    def _rows(self, X: Any, *, reset: bool) -> RowSource:
        source = super()._rows(X, reset=reset)
        if self._finds_gaps and (self._pairwise if reset else self._fitted_pairwise):
            source.allow_nan = True  # what to do about a missing pair is not what to do about a missing cell
        return source

    def _remedy(self) -> str:
        if not self._fitted_pairwise:
            return super()._remedy()
        n = self.n_features_in_
        return (
            f"Give one row for each new object: {self._values} the {n} training objects, in their order ({n} columns)."
        )

    def _name_of_rule(self) -> str:
        """Return the name of the metric or kernel, as a fitted model keeps it: "function" for one of the user's."""
        return "function" if self._takes_objects else getattr(self, self._compared_by)

    def _rule_of(self, name: str) -> str | Callable[[Any, Any], Any]:
        """Return the metric or kernel of the fit by the name that was kept: `set_params` does not change a model.

        A function is not kept, since model files hold none: it is that of the parameter.
        """
        given = getattr(self, self._compared_by)
        if name != "function":
            return name
        if not callable(given):
            raise DataError(
                f"the model was fitted with a function as {self._compared_by}, which is now {given!r}; fit it again"
            )
        return given  # type: ignore[no-any-return]

    def _needs_length(self) -> bool:
        return True

    def _check_length(self, rows: RowSource | DataShape) -> int:
        """Return the number of rows; refuse blocks that can be read only once."""
        if rows.n_rows is None or not rows.reiterable:
            raise DataError(
                f"{type(self).__name__} reads the rows several times, and these blocks can be read only once; give one "
                "array, or a function that starts a new reading: RowSource.from_blocks(lambda: …)"
            )
        return rows.n_rows

    def _check_count(self, shape: DataShape, limit: int, what: str) -> None:
        """Refuse more components than there can be."""
        if limit == 0:
            raise DataError(
                f"{type(self).__name__}: n_components={self.n_components} is more than {what} = 0 (n_samples = "
                f"{shape.n_rows}): one row alone has no map; give more rows"
            )
        if self.n_components > limit:
            raise DataError(
                f"{type(self).__name__}: n_components={self.n_components} is more than {what} = {limit} "
                f"(n_samples = {shape.n_rows}, n_features = {shape.n_features}); ask for {limit} at most"
            )

    def _landmarks(self, n: int) -> Landmarks | None:
        """Return how many landmarks the fit takes and how they are chosen; None for an exact fit."""
        count = max(self._landmark_count, 4 * self.n_components)
        return wanted(self.landmarks, n, exact_below=self._exact_below, count=count, strategy=self._strategy)


def _length_of_line(X: Any) -> int | None:
    """Return how many values X has where it is one line of numbers and no table."""
    if isinstance(X, list | tuple):
        return len(X) if X and all(isinstance(value, numbers.Real) for value in X) else None
    shape = getattr(X, "shape", None)
    return int(shape[0]) if isinstance(shape, tuple) and len(shape) == 1 else None
