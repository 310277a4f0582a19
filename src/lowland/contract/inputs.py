"""Kinds of input: rows of numbers, or objects that a metric or kernel compares.

A method holds one as ``_input``. `Reducer` asks it what may be given and how it becomes a row source.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.cost import DataShape
from ..core.errors import DataError
from ..core.message import DENSE, Message, Owner, Phrase, message
from ..rows.object_rows import ObjectRows, are_objects
from ..rows.row_source import RowSource, as_rows, single_pass_error

_SENTENCE = 3  # words of a text at least


class Rows:
    """Rows of numbers."""

    parameter: str = ""  # of the metric or kernel that compares rows

    def rule(self, model: Any) -> Any:
        """Return the parameter that says how rows are compared; plain rows have none."""
        return None

    def kept(self, model: Any) -> str:
        """Return the name of the metric or kernel of a fitted model."""
        return ""

    def source(self, model: Any, X: Any) -> RowSource:
        """Turn input into a row source."""
        if _are_texts(X):
            raise _error_of_texts(type(model).__name__)
        return as_rows(X, allow_nan=model._allow_nan, allow_sparse=model._allow_sparse, owner=type(model).__name__)

    def remedy(self, model: Any) -> str:
        """Say which columns new rows must have."""
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            return f"Give the {model.n_features_in_} columns of the fit, in their order."
        listed = ", ".join(repr(str(name)) for name in names[:10]) + (", …" if len(names) > 10 else "")
        own = Phrase(", X[model.feature_names_in_]", "")
        return Message("Give the columns of the fit in their order", own, f": {listed}.")


@dataclass(frozen=True)
class Compared(Rows):
    """Rows, objects or a precomputed square, compared as the parameter of this name says: a metric or a kernel.

    A fitted model keeps the name of the rule, "function" for one of the user's, so that `set_params` does not change
    it: in ``metric_``, or with other facts in ``kernel_``. ``values`` is what precomputed rows hold, in words;
    ``sparse_square``: whether a precomputed square may be sparse, with some of the pairs.
    """

    parameter: str
    values: str = "its distances to"
    sparse_square: bool = True

    def rule(self, model: Any) -> Any:  # noqa: D102
        return getattr(model, self.parameter, None)

    def kept(self, model: Any) -> str:  # noqa: D102
        learned = getattr(model, f"{self.parameter}_")
        return str(learned["name"] if isinstance(learned, dict) else learned)

    def source(self, model: Any, X: Any) -> RowSource:  # noqa: D102
        if model._pairwise and (count := _length_of_line(X)) is not None:
            raise self._error_of_line(model, count)
        if are_objects(X) and not model._pairwise:
            if not callable(self.rule(model)):
                raise self._error_of_objects(model, X)
            return ObjectRows(X)
        rows = super().source(model, X)
        if rows.sparse and model._pairwise and not self.sparse_square:
            raise self._error_of_sparse(model)
        return rows

    def _error_of_sparse(self, model: Any) -> DataError:
        return DataError(
            Message(
                f"{type(model).__name__} does not take a sparse matrix of precomputed values: it needs all pairs; ",
                "pass ",
                DENSE,
                " if the pairs that are not stored are zero",
            )
        )

    def _error_of_objects(self, model: Any, X: Any) -> DataError:
        if _are_texts(X):
            return _error_of_texts(type(model).__name__, f", or give {self.parameter}= a function of two texts")
        given = f"{self.parameter}={getattr(model, self.parameter)!r}"
        return DataError(
            f"{type(model).__name__}: these are texts or other objects, and {given} compares rows of numbers: give "
            f"{self.parameter}= a function of two objects, or make a table of them"
        )

    def _error_of_line(self, model: Any, count: int) -> DataError:
        """Say how to make rows of values that stand in one line: one half of a square, or one new object's."""
        name, n = type(model).__name__, (1 + math.isqrt(1 + 8 * count)) // 2
        if getattr(model, "n_features_in_", None) == count:
            return DataError(
                f"{name}: a new object is a row of its own: give X.reshape(1, -1), whose {count} columns are "
                f"{self.values} the training objects"
            )
        hint = (
            f"if it is one half of a square for {n} objects, as scipy.spatial.distance.pdist gives it, take "
            "scipy.spatial.distance.squareform(X)"
            if n * (n - 1) == 2 * count
            else "one half of a square, in a line, would have N(N − 1)/2"
        )
        return DataError(
            f"{name}: precomputed values for pairs are a square matrix, and this is one line of {count} values; {hint}"
        )

    def remedy(self, model: Any) -> str:  # noqa: D102
        if not model._fitted_pairwise:
            return super().remedy(model)
        n = model.n_features_in_
        return (
            f"Give one row for each new object: {self.values} the {n} training objects, in their order ({n} columns)."
        )

    # -- the metric or kernel -----------------------------------------------------------------------------

    def name(self, model: Any) -> str:
        """Return the name of the metric or kernel as a fitted model keeps it: "function" for one of the user's."""
        return "function" if callable(rule := self.rule(model)) else str(rule)

    def fitted(self, model: Any) -> Any:
        """Return the metric or kernel of the fit; a function is that of the parameter, since model files hold none."""
        if (name := self.kept(model)) != "function":
            return name
        if not callable(rule := self.rule(model)):
            raise DataError(f"fitted with a function as {self.parameter}, which is now {rule!r}; fit it again")
        return rule


def _are_texts(X: Any) -> bool:
    """Return whether X is a list or column of texts, or an array with sentences in all cells."""
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return X.dtype.kind in "OU" and all(map(_is_sentence, X[:100].ravel().tolist()))
    return are_objects(X) and _are_strings(X[:100])


def _are_strings(some: Any) -> bool:
    """Return whether objects, of which some may be missing, are texts."""
    known = [item for item in list(some) if item is not None]
    return bool(known) and all(isinstance(item, str) for item in known)


def _is_sentence(cell: Any) -> bool:
    """Return whether a cell is a text of several words, unlike most names of categories."""
    return isinstance(cell, str) and len(cell.split()) >= _SENTENCE


def _error_of_texts(owner: str, more: str = "") -> DataError:
    return DataError(
        Message(
            Owner(owner),
            "these are texts or other objects, and it reduces rows of numbers: ",
            Phrase(
                f'count their words with lowland.recipe({owner}(), texts="tfidf"), or search them with '
                f"lowland.text.LatentSemanticIndex{more}",
                "count their words with --texts tfidf, or search them with `lowland text index`",
            ),
        )
    )


METRIC_INPUT = Compared("metric")


def require_length(model: Any, shape: DataShape) -> int:
    """Return the number of rows; refuse blocks that can be read only once."""
    if shape.n_rows is None or not shape.reiterable:
        raise single_pass_error(type(model).__name__)
    return shape.n_rows


def require_count(model: Any, shape: DataShape, limit: int, what: str) -> None:
    """Refuse more components than there can be."""
    if model.n_components > limit:
        remedy = f"ask for {limit} at most" if limit else "one row alone has no map; give more rows"
        size = f"(n_samples = {shape.n_rows}, n_features = {shape.n_features})"
        text = f"{type(model).__name__}: {{n_components}} is more than {what} = {limit} {size}; {remedy}"
        raise DataError(message(text, n_components=model.n_components))


def _length_of_line(X: Any) -> int | None:
    """Return how many values X has where it is one line of numbers and no table."""
    if isinstance(X, list | tuple):
        return len(X) if X and all(isinstance(value, numbers.Real) for value in X) else None
    shape = getattr(X, "shape", None)
    return int(shape[0]) if isinstance(shape, tuple) and len(shape) == 1 else None
