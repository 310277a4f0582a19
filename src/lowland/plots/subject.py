"""What figures of a fitted model are drawn from: its method, its map, its rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..contract.axis_names import axis_labels, has_meaningful_axes, method_title
from ..contract.reducer import Reducer
from ..data.pixels import pixel_shape
from ..quality.models import as_array, cut_chain
from ..quality.spaces import FAMD, coded

Array = Any


class PlottedModel:
    """A fitted model or Pipeline, and perhaps rows.

    Parameters
    ----------
    model : Reducer or Pipeline
        ``method`` is the model itself, or the last method among the steps of a Pipeline.
    X : array, optional
        Rows as the model takes them.
    """

    def __init__(self, model: Any, X: Any = None) -> None:
        from sklearn.utils.validation import check_is_fitted

        steps = getattr(model, "steps", None)
        methods = [i for i, (_, step) in enumerate(steps or ()) if isinstance(step, Reducer)]
        if not isinstance(model, Reducer) and not methods:
            raise ValueError(
                f"a figure is drawn from a fitted method of Lowland, or a Pipeline with one; got a "
                f"{type(model).__name__}. For any coordinates Y, use lowland.plots.scatter(Y)"
            )
        self.model, self.X = model, X
        self._at = methods[-1] if methods else 0
        self.method: Reducer = steps[self._at][1] if steps and methods else model
        check_is_fitted(self.method)

    @property
    def title(self) -> str:
        """The name of the method."""
        return method_title(self.method)

    @cached_property
    def rows(self) -> Any:
        """The rows as the method takes them: after the steps before it."""
        if self.X is None or self.method is self.model or self._at == 0:
            return self.X
        return self.model[: self._at].transform(self.X)

    @property
    def has_map(self) -> bool:
        """Whether coordinates are known: of given rows, or of the training rows, if the model keeps them."""
        return self.X is not None or getattr(self.method, "embedding_", None) is not None

    @cached_property
    def Y(self) -> Array:
        """The coordinates of the given rows, or of the training rows."""
        if self.X is not None:
            return as_array(self.model.transform(self.X))
        Y = np.asarray(self.method.embedding_, dtype=np.float64)
        return as_array(self.model[self._at + 1 :].transform(Y)) if self._aligned else Y

    @property
    def _aligned(self) -> bool:
        """Whether further steps move the method's coordinates."""
        return self.method is not self.model and self._at + 1 < len(self.model.steps)

    @property
    def labels(self) -> list[str]:
        """Names of the axes, with their shares of variance unless a further step moves them."""
        return axis_labels(self.method, shares=not self._aligned)

    @property
    def meaningful_axes(self) -> bool:
        """Whether the numbers on the axes mean something."""
        return has_meaningful_axes(self.method) and not self._aligned

    @cached_property
    def pixels(self) -> tuple[int, ...] | None:
        """The shape of images, if the names of the columns tell that they are pixels."""
        return pixel_shape(self._names)

    @property
    def has_named_columns(self) -> bool:
        """Whether the columns have names of their own, not x0, x1, …, which are those of arrays."""
        return self._names is not None and any(not (name[:1] == "x" and name[1:].isdecimal()) for name in self._names)

    @cached_property
    def _names(self) -> list[str] | None:
        """The names of the columns that the method gets."""
        names = getattr(self.method, "feature_names_in_", None)
        if names is None and self._at > 0:
            try:
                names = self.model[: self._at].get_feature_names_out()
            except (AttributeError, ValueError):  # a step of other libraries may not know them
                return None
        return None if names is None else [str(name) for name in names]

    @cached_property
    def judged(self) -> tuple[Any, Any]:
        """The rows that the map is compared with, and their metric."""
        head, rest, _ = cut_chain(self.model, None, "plot")
        rows = self.X if head is None else head.transform(self.X)
        first = rest.steps[0][1] if hasattr(rest, "steps") else rest
        return compared_rows(self.method, rows) if first is self.method else (rows, "euclidean")


def compared_rows(model: Reducer, X: Any) -> tuple[Any, Any]:
    """Return rows as a model compares them, and the metric."""
    if hasattr(model, "coded_names_"):
        return coded(X, FAMD)
    if getattr(model, "scale", False) is True:
        from ..graph.neighbors import objects

        return objects(X, "euclidean", "plot") / model.scale_, "euclidean"
    return X, getattr(model, "metric", "euclidean")
