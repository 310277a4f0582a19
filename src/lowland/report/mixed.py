"""Columns of a table behind rows that a step before the method has mixed: axes of FAMD, or of another method."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import LowlandWarning

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

Array = Any


@dataclass(frozen=True, eq=False)
class MixedColumns:
    """Columns before they were mixed.

    ``rows`` (n, d) are their values, ``names`` their names. ``turn`` (k, d): the columns that the method got as sums
    of them; None if they are not sums. ``same_distances``: whether distances between rows were kept.
    """

    rows: Any
    names: Sequence[str]
    turn: Array | None = None
    same_distances: bool = False


def columns_before(steps: Pipeline, frame: Any) -> MixedColumns | None:
    """Return the columns of a table as they are before a fitted step mixes them; None if no step does."""
    from ..methods.steps import EncodeCategories

    mixing = [name == "pre" or getattr(step, "encoder_", None) is not None for name, step in steps.steps]
    if not any(mixing):
        return None
    at = mixing.index(True)
    first, rest = steps.steps[at][1], [step for _, step in steps.steps[at:]]
    with warnings.catch_warnings():  # the steps have said it of these rows
        warnings.simplefilter("ignore", LowlandWarning)
        rows = frame if at == 0 else steps[:at].transform(frame)
    coded = isinstance(first, EncodeCategories)
    if coded:
        rows = first.coded(rows)
    names = getattr(rows, "columns", None)
    names = steps[:at].get_feature_names_out() if names is None else names
    return MixedColumns(rows, [str(name) for name in names], _turn(rest), same_distances=coded and len(rest) == 1)


def _turn(steps: Sequence[Any]) -> Array | None:
    """Return the product of the axes of steps; None if one of them does not make sums of columns."""
    total = None
    for step in steps:
        V = step.rotation() if hasattr(step, "rotation") else getattr(step, "components_", None)
        if V is None or getattr(step, "whiten", False):
            return None
        V = np.asarray(V, dtype=np.float64)
        total = V if total is None else V @ total
    return total
