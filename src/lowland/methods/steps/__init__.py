"""Preprocessing steps with learned state: what stands between a table and a method.

A step takes pandas, polars and Arrow tables or arrays, works on polars columns, and returns a polars frame for a table
and an array for an array, unless `set_output` says otherwise. Columns of new rows are matched by name, in any order;
additional columns are ignored. A step learns in `fit` only: each row that `transform` returns depends on that row and
on the training rows, never on other new rows. `lowland.recipe` composes steps and a method to a scikit-learn Pipeline.

>>> import lowland
>>> lowland.steps.ScaleColumns().fit_transform([[1.0], [2.0], [3.0]]).round(3).tolist()
[[-1.225], [0.0], [1.225]]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_names

__all__ = [
    "AlignMap",
    "EncodeCategories",
    "EncodeDates",
    "EncodeTexts",
    "ImputeMissing",
    "NormalizeRows",
    "ScaleColumns",
    "SelectColumns",
    "Step",
    "TransformColumns",
    "preprocessing",
]

if TYPE_CHECKING:
    from .align_map import AlignMap
    from .chain import preprocessing
    from .encode_categories import EncodeCategories
    from .encode_dates import EncodeDates
    from .encode_texts import EncodeTexts
    from .impute_missing import ImputeMissing
    from .normalize_rows import NormalizeRows
    from .scale_columns import ScaleColumns
    from .select_columns import SelectColumns
    from .step import Step
    from .transform_columns import TransformColumns

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".align_map": "AlignMap",
        ".chain": "preprocessing",
        ".encode_categories": "EncodeCategories",
        ".encode_dates": "EncodeDates",
        ".encode_texts": "EncodeTexts",
        ".impute_missing": "ImputeMissing",
        ".normalize_rows": "NormalizeRows",
        ".scale_columns": "ScaleColumns",
        ".select_columns": "SelectColumns",
        ".step": "Step",
        ".transform_columns": "TransformColumns",
    },
)
