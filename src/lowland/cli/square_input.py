"""Distance matrices that are read as tables of rows: the warning, and the command that reads them as distances."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.command_line import command_line
from ..core.errors import DistanceMatrixWarning
from ..core.message import Message
from .options import TableOptions

if TYPE_CHECKING:
    from .input import Input
    from .next_commands import SameRows


def warn_of_square(given: Input, *, by_map: bool = False) -> int | None:
    """Warn if a table is a distance matrix and is about to be used as rows; return its number of missing pairs.

    None: it is no such table, or it is read as distances. ``by_map``: the command, or its method, does not take
    distances, so the warning names a reduction. A matrix with missing pairs has one in any case: other commands need
    all pairs.
    """
    if given.pairwise or given.table is None:
        return None
    from ..data.squares import PRECOMPUTED, missing_pairs, square_words
    from ..recipes.proposal import distance_options

    missing = missing_pairs(given.table)
    if missing is None:
        return None
    remedy = PRECOMPUTED
    if by_map or missing:
        options = {name: value for name, value in distance_options(missing).items() if name != "components"}
        remedy = Message(f"reduce it with `{command_line('reduce', **options)}`")
    warnings.warn(square_words(given.source, remedy), DistanceMatrixWarning, stacklevel=2)
    return missing


def without_columns(rows: SameRows) -> SameRows:
    """Return the rows without the choice of columns and the steps, which a distance matrix cannot have."""
    return replace(rows, columns=TableOptions(reading=rows.columns.reading))


def as_distances(rows: SameRows, missing: int, command: str | None = None, *files: object, **options: Any) -> str:
    """Return the command that reads a table as a distance matrix: ``command`` with --metric precomputed.

    It is the reduction that `lowland info` proposes if ``command`` is None or pairs are missing.
    """
    from ..recipes.proposal import distance_options, output_files

    rows = without_columns(rows)
    if command is None or missing:
        return rows.command("reduce", first=distance_options(missing), **output_files(str(rows.data)))
    return rows.command(command, *files, **{**options, "metric": "precomputed"})
