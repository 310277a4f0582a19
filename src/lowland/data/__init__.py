"""Reading and writing of tables, and sample data of known shape.

>>> from lowland import data
>>> X, truth = data.swiss_roll(200, random_state=0)
>>> X.shape, truth.shape
((200, 3), (200, 2))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names

__all__ = [
    "ArrayTable",
    "ColumnKind",
    "Dataset",
    "Inspection",
    "MatrixInspection",
    "ReadOptions",
    "Selection",
    "SparseTable",
    "Table",
    "TableScan",
    "check_output",
    "circle",
    "cities",
    "digits",
    "embedding_frame",
    "fishbowl",
    "flat_grid",
    "inspect_matrix",
    "inspect_table",
    "list_datasets",
    "load_dataset",
    "low_rank",
    "noisy_circle",
    "parse_dates",
    "punctured_sphere",
    "read",
    "read_any",
    "read_matrix",
    "read_table",
    "s_curve",
    "scan",
    "spheres",
    "swiss_hole",
    "swiss_roll",
    "write_table",
]

if TYPE_CHECKING:
    from .arraytable import ArrayTable, SparseTable
    from .catalogue.dataset import Dataset
    from .catalogue.loading import list_datasets, load_dataset
    from .dates import parse_dates
    from .inspection import Inspection, MatrixInspection, inspect_matrix, inspect_table
    from .kinds import ColumnKind
    from .options import ReadOptions
    from .places import cities
    from .reading import read, read_any, read_matrix, read_table
    from .samples import digits, low_rank, noisy_circle, s_curve, spheres, swiss_roll
    from .scans.opening import scan
    from .scans.table_scan import TableScan
    from .shapes import circle, fishbowl, flat_grid, punctured_sphere, swiss_hole
    from .table import Selection, Table
    from .writing import check_output, embedding_frame, write_table

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".arraytable": "ArrayTable SparseTable",
        ".catalogue.dataset": "Dataset",
        ".catalogue.loading": "list_datasets load_dataset",
        ".dates": "parse_dates",
        ".inspection": "Inspection MatrixInspection inspect_matrix inspect_table",
        ".places": "cities",
        ".kinds": "ColumnKind",
        ".options": "ReadOptions",
        ".reading": "read read_any read_matrix read_table",
        ".scans.opening": "scan",
        ".scans.table_scan": "TableScan",
        ".samples": "digits low_rank noisy_circle s_curve spheres swiss_roll",
        ".shapes": "circle fishbowl flat_grid punctured_sphere swiss_hole",
        ".table": "Selection Table",
        ".writing": "check_output embedding_frame write_table",
    },
)
