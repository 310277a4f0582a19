"""Shapes with a known truth, generated from their parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from ...core.cost import check_allocation
from ...core.errors import DataError
from ...core.message import Message, Setting
from .. import places, samples, shapes
from ..arraytable import ArrayTable
from ..table import Table
from . import planar
from .dataset import Dataset

_SHAPES = {
    "bent_line": planar.bent_line,
    "circle": planar.ring,
    "cloud": planar.cloud,
    "correlated": planar.correlated,
    "fishbowl": shapes.fishbowl,
    "hidden_classes": planar.hidden_classes,
    "line": planar.line,
    "punctured_sphere": shapes.punctured_sphere,
    "s_curve": samples.s_curve,
    "spheres": samples.spheres,
    "square": planar.square,
    "swiss_hole": shapes.swiss_hole,
    "swiss_roll": samples.swiss_roll,
}
_BYTES_PER_POINT = 8 * 16  # coordinates, truth and what the generators hold meanwhile
_MAX_CUBE = 10_000  # dimensions


def points(row: Dataset, **parameters: Any) -> ArrayTable:
    """Generate a shape; its truth is kept aside."""
    n = parameters["n"]
    if isinstance(n, int):
        check_allocation(n * _BYTES_PER_POINT, f"{n:,} points", "generate fewer points")
    X, truth = _SHAPES[row.name](**parameters)  # type: ignore[operator]
    known = np.empty((len(X), 0)) if truth is None else np.asarray(truth).reshape(len(X), -1)
    aside = pl.DataFrame(dict(zip(row.aside, known.T, strict=True)))
    return ArrayTable(X, row.name, aside=aside, notes=row.notes, roles=row.roles)


def distances(row: Dataset, part: str) -> Table:
    """Return the distances of the cities, or their places."""
    D, names, north_east = places.cities()
    city = pl.DataFrame({"city": names})
    if part == "distances":
        return ArrayTable(D, row.name, names, aside=city, notes=row.notes)
    return ArrayTable(north_east, row.name, ["north", "east"], aside=city, notes=row.notes)


def volumes(row: Dataset, dimensions: int) -> Table:
    """Return the volume of the sphere inscribed in the unit cube: π^(d/2) 0.5^d / Γ(d/2 + 1)."""
    if isinstance(dimensions, bool) or not isinstance(dimensions, int) or not 1 <= dimensions <= _MAX_CUBE:
        raise DataError(
            Message(Setting("dimensions"), f" must be a whole number from 1 to {_MAX_CUBE:,}; got {dimensions!r}")
        )
    count = range(1, dimensions + 1)
    logs = [d / 2 * math.log(math.pi) - d * math.log(2) - math.lgamma(d / 2 + 1) for d in count]
    frame = pl.DataFrame({"dimension": list(count), "sphere": [math.exp(log) for log in logs], "cube": 1.0})
    return Table(frame, row.name, notes=row.notes)
