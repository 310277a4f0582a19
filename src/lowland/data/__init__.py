"""Reading and writing of tables, and sample data of known shape.

>>> from lowland import data
>>> X, truth = data.swiss_roll(200, random_state=0)
>>> X.shape, truth.shape
((200, 3), (200, 2))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "ArrayTable": "table",
    "Inspection": "inspection",
    "MatrixInspection": "inspection",
    "Selection": "table",
    "Table": "table",
    "check_output": "writing",
    "circle": "shapes",
    "cities": "places",
    "digits": "samples",
    "embedding_frame": "writing",
    "fishbowl": "shapes",
    "flat_grid": "shapes",
    "inspect_matrix": "inspection",
    "inspect_table": "inspection",
    "low_rank": "samples",
    "noisy_circle": "samples",
    "punctured_sphere": "shapes",
    "read_any": "reading",
    "read_matrix": "reading",
    "read_table": "reading",
    "s_curve": "samples",
    "spheres": "samples",
    "swiss_hole": "shapes",
    "swiss_roll": "samples",
    "write_table": "writing",
}

__all__ = [
    "ArrayTable",
    "Inspection",
    "MatrixInspection",
    "Selection",
    "Table",
    "check_output",
    "circle",
    "cities",
    "digits",
    "embedding_frame",
    "fishbowl",
    "flat_grid",
    "inspect_matrix",
    "inspect_table",
    "low_rank",
    "noisy_circle",
    "punctured_sphere",
    "read_any",
    "read_matrix",
    "read_table",
    "s_curve",
    "spheres",
    "swiss_hole",
    "swiss_roll",
    "write_table",
]

if TYPE_CHECKING:
    from .inspection import Inspection, MatrixInspection, inspect_matrix, inspect_table
    from .places import cities
    from .reading import read_any, read_matrix, read_table
    from .samples import digits, low_rank, noisy_circle, s_curve, spheres, swiss_roll
    from .shapes import circle, fishbowl, flat_grid, punctured_sphere, swiss_hole
    from .table import ArrayTable, Selection, Table
    from .writing import check_output, embedding_frame, write_table


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lowland.data' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
