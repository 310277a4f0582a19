"""Kinds of input: rows of numbers, or objects that a metric or kernel compares.

A method holds one as ``_input``. `Reducer` asks it what may be given and how it becomes a row source.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.cost import DataShape
from ..core.errors import DataError
from ..pairs.distances import DEGREES, MOVABLE
from ..rows.object_rows import ObjectRows, are_objects
from ..rows.row_source import RowSource, as_rows, single_pass_error

_MOVABLE = (*MOVABLE, "rbf", "laplacian")  # metrics and kernels that a shift of all rows does not change


class Rows:
    """Rows of numbers."""

    needs_length = False  # whether the number of rows must be known before the plan

    def takes_objects(self, model: Any) -> bool:
        """Tell whether rows may be any objects, which a function of the user's compares."""
        return False

    def pairwise(self, model: Any) -> bool:
        """Tell whether rows hold values for pairs, so that a fit takes a square of them."""
        return False

    def fitted_pairwise(self, model: Any) -> bool:
        """Tell whether the fit was on values for pairs, so that new rows hold values for the training objects."""
        return False

    def has_units(self, model: Any) -> bool:
        """Tell whether rows may be scaled: whether the parameters mean the same in all units."""
        return bool(model._units)

    def takes_means_off(self, model: Any) -> bool:
        """Tell whether a constant added to a column changes nothing: then the size of a column is its spread."""
        return True

    def source(self, model: Any, X: Any) -> RowSource:
        """Turn input into a row source."""
        return as_rows(X, allow_nan=model._allow_nan, allow_sparse=model._allow_sparse, owner=type(model).__name__)

    def remedy(self, model: Any) -> str:
        """Say which columns new rows must have."""
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            return f"Give the {model.n_features_in_} columns of the fit, in their order."
        listed = ", ".join(repr(str(name)) for name in names[:10]) + (", …" if len(names) > 10 else "")
        return f"Give the columns of the fit in their order, X[model.feature_names_in_]: {listed}."


@dataclass(frozen=True)
class Compared(Rows):
    """Rows, objects or a precomputed square, compared as the parameter of this name says: a metric or a kernel.

    A fitted model keeps the name of the rule, "function" for one of the user's, so that `set_params` does not change
    it; ``kept`` returns that name. ``values`` is what precomputed rows hold, in words.
    """

    parameter: str
    kept: Callable[[Any], str]
    values: str = "its distances to"
    needs_length = True

    def given(self, model: Any) -> Any:
        """Return the value of the parameter."""
        return getattr(model, self.parameter)

    def takes_objects(self, model: Any) -> bool:  # noqa: D102
        return callable(self.given(model))

    def pairwise(self, model: Any) -> bool:  # noqa: D102
        return isinstance(given := self.given(model), str) and given == "precomputed"

    def fitted_pairwise(self, model: Any) -> bool:  # noqa: D102
        return self.kept(model) == "precomputed"

    def has_units(self, model: Any) -> bool:  # noqa: D102
        given = self.given(model)
        return super().has_units(model) and isinstance(given, str) and given in DEGREES

    def takes_means_off(self, model: Any) -> bool:  # noqa: D102
        return self.given(model) in _MOVABLE

    def source(self, model: Any, X: Any) -> RowSource:  # noqa: D102
        if self.pairwise(model) and (count := _length_of_line(X)) is not None:
            self._refuse_line(model, count)
        if are_objects(X):
            if self.takes_objects(model):
                return ObjectRows(X)
            if not self.pairwise(model):
                raise DataError(
                    f"{type(model).__name__}: these are texts or other objects, and {self.parameter}="
                    f"{self.given(model)!r} compares rows of numbers: give {self.parameter}= a function of two "
                    "objects, or make a table of them"
                )
        return super().source(model, X)

    def _refuse_line(self, model: Any, count: int) -> None:
        """Say how to make rows of values that stand in one line: one half of a square, or one new object's."""
        name = type(model).__name__
        if getattr(model, "n_features_in_", None) == count:
            raise DataError(
                f"{name}: a new object is a row of its own: give X.reshape(1, -1), whose {count} columns are "
                f"{self.values} the training objects"
            )
        n = (1 + math.isqrt(1 + 8 * count)) // 2
        hint = (
            f"if it is one half of a square for {n} objects, as scipy.spatial.distance.pdist gives it, take "
            "scipy.spatial.distance.squareform(X)"
            if n * (n - 1) == 2 * count
            else "one half of a square, in a line, would have N(N − 1)/2"
        )
        raise DataError(
            f"{name}: precomputed values for pairs are a square matrix, and this is one line of {count} values; {hint}"
        )

    def remedy(self, model: Any) -> str:  # noqa: D102
        if not self.fitted_pairwise(model):
            return super().remedy(model)
        n = model.n_features_in_
        return (
            f"Give one row for each new object: {self.values} the {n} training objects, in their order ({n} columns)."
        )

    # -- the metric or kernel -----------------------------------------------------------------------------

    def name(self, model: Any) -> str:
        """Return the name of the metric or kernel as a fitted model keeps it: "function" for one of the user's."""
        return "function" if self.takes_objects(model) else str(self.given(model))

    def fitted(self, model: Any) -> str | Callable[[Any, Any], Any]:
        """Return the metric or kernel of the fit.

        A function is not kept, since model files hold none: it is that of the parameter.
        """
        name, given = self.kept(model), self.given(model)
        if name != "function":
            return name
        if not callable(given):
            raise DataError(
                f"the model was fitted with a function as {self.parameter}, which is now {given!r}; fit it again"
            )
        return given  # type: ignore[no-any-return]


METRIC_INPUT = Compared("metric", lambda model: model.metric_)


def require_length(model: Any, rows: RowSource | DataShape) -> int:
    """Return the number of rows; refuse blocks that can be read only once."""
    if rows.n_rows is None or not rows.reiterable:
        raise single_pass_error(type(model).__name__)
    return rows.n_rows


def require_count(model: Any, shape: DataShape, limit: int, what: str) -> None:
    """Refuse more components than there can be."""
    name, k = type(model).__name__, model.n_components
    if limit == 0:
        raise DataError(
            f"{name}: n_components={k} is more than {what} = 0 (n_samples = {shape.n_rows}): one row alone has no map; "
            "give more rows"
        )
    if k > limit:
        raise DataError(
            f"{name}: n_components={k} is more than {what} = {limit} (n_samples = {shape.n_rows}, n_features = "
            f"{shape.n_features}); ask for {limit} at most"
        )


def _length_of_line(X: Any) -> int | None:
    """Return how many values X has where it is one line of numbers and no table."""
    if isinstance(X, list | tuple):
        return len(X) if X and all(isinstance(value, numbers.Real) for value in X) else None
    shape = getattr(X, "shape", None)
    return int(shape[0]) if isinstance(shape, tuple) and len(shape) == 1 else None
