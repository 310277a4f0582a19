"""Subjects of reports: a fitted model and its map, new rows on such a map, or a map made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contract import registry
from ..core.errors import DataError
from . import trust
from .compared import Compared, compared_rows, not_comparable
from .subject import Subject

if TYPE_CHECKING:
    from ..contract.reducer import Reducer
    from ..quality.novelty_result import Novelty
    from ..quality.report import Report

Array = Any


def of_model(model: Reducer, embedding: Any, *, X: Any = None, **about: Any) -> Subject:
    """Return the subject of a report on a fitted model and its map; ``about`` are further fields of `Subject`."""
    Y = np.asarray(embedding)
    behind = None if X is None or not_comparable(model) else _behind(model, X)
    groups = groups_of(about.get("color"), len(Y))
    mixed = about.get("mixed")
    if behind is not None and mixed is not None and mixed.same_distances:
        behind = replace(behind, given=mixed.rows)  # the same rows, by columns that have names
    found = None if X is None else trust.measure(model, X, Y, groups, about.get("steps"), behind)
    names = [str(name) for name in model.get_feature_names_out()]
    return Subject(embedding=Y, axis_names=names, model=model, behind=behind, found=found, **about)


def of_new_rows(
    model: Reducer, embedding: Any, *, X: Any, training: Array | None, novelty: Novelty | None, **about: Any
) -> Subject:
    """Return the subject of a report on new rows that a model placed; ``training`` is the map of the training rows."""
    return of_model(model, embedding, X=X, training=training, novelty=novelty, new=True, **about)


def of_any_map(behind: Compared, embedding: Any, axis_names: Sequence[str], found: Report, **about: Any) -> Subject:
    """Return the subject of a report on a map made elsewhere, of which ``found`` are the measures.

    The method is known if the names of the axes tell it, such as tsne0, tsne1.
    """
    Y = np.asarray(embedding)
    measured = trust.of_report(found, behind, Y, groups_of(about.get("color"), len(Y)))
    method = method_of_axes(axis_names)
    return Subject(embedding=Y, axis_names=axis_names, method=method, behind=behind, found=measured, **about)


def method_of_axes(names: Sequence[str]) -> str | None:
    """Return the registered name of the method that numbered axes are named after.

    >>> method_of_axes(["tsne0", "tsne1"]), method_of_axes(["x", "y"])
    ('tsne', None)
    """
    stem = names[0].rstrip("_0123456789").lower() if names else ""
    return next((row.name for row in registry.METHODS if row.class_name.lower() == stem), None)


def groups_of(color: Any, n: int) -> list[Any] | None:
    """Return the groups of a colour column; None for continuous numbers, and if no group has two rows."""
    from ..plots.coloring import Groups, read_colors

    if color is None or (not _is_text(color) and not isinstance(read_colors(color, n), Groups)):
        return None
    values = color.to_list() if hasattr(color, "to_list") else np.asarray(color).tolist()
    known = [value for value in values if value is not None]
    return values if len(set(known)) < len(known) else None


def _is_text(color: Any) -> bool:
    """Return whether a column contains text, so that its values are groups."""
    return str(getattr(color, "dtype", "")) in ("String", "Categorical")


def _behind(model: Reducer, X: Any) -> Compared | None:
    """Return the rows as the model compared them; None if they cannot be read, which `trust.measure` explains."""
    try:
        return compared_rows(model, X)
    except DataError:
        return None
