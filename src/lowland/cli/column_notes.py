"""What commands say of columns that they reduce though nobody named them: identifiers and coded labels."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ..core.errors import LowlandWarning
from ..data.coded_labels import coded_labels
from ..data.table import name_list
from .answer import note
from .wording import has_option

if TYPE_CHECKING:
    from ..data.scans.table_scan import TableScan
    from ..data.table import Table

_KEEPING = ("--color", "--target")  # leave a column out of the data and colour or score by it


def say_of_columns(table: Table, names: Sequence[str], *, famd: bool = False) -> None:
    """Warn of identifiers, and note coded labels, that are among the columns to reduce though nobody named them.

    ``names`` are the columns that are reduced as numbers; ``famd``: the method takes categories.
    """
    _warn_of_identifiers(table, names)
    note_coded_labels(table, names, famd=famd)


def _warn_of_identifiers(table: Table, names: Sequence[str]) -> None:
    """Warn if a column that is named as an identifier, and differs in each row, is reduced with the others."""
    from ..data.column_names import called_identifier
    from ..data.kinds import column_kind
    from ..data.squares import row_numbers

    counted = row_numbers(table)
    for name in table.names:
        if (
            name in names
            and name != counted
            and called_identifier(name)
            and column_kind(table.column(name)).kind == "id"
        ):
            warnings.warn(
                f"{table.source}: column {name!r} looks like an identifier and is reduced like the other columns; to "
                f"keep it beside the coordinates, add --id {shlex.quote(name)}",
                LowlandWarning,
                stacklevel=4,
            )


def note_coded_labels(table: Table, names: Collection[str], *, famd: bool = False) -> None:
    """Note the reduced columns that look like coded labels, what that does, and the options for them.

    ``names`` are the columns that are reduced as numbers; ``famd``: the method takes categories.
    """
    found = coded_labels(table, names)
    if not found:
        return
    listed = " and ".join(f"{name!r} ({n} different values)" for name, n in found.items())
    one = len(found) == 1
    looks = "column {} looks like a coded label and is" if one else "columns {} look like coded labels and are"
    text = f"{table.source}: {looks.format(listed)} reduced as numbers, so rows of nearby codes count as alike; "
    first, all_of_them = next(iter(found)), shlex.quote(name_list(list(found)))
    keeping = next((option for option in _KEEPING if has_option(option)), None)
    remedies = [f"--drop {all_of_them} to leave {'it' if one else 'them'} out"]
    if keeping is not None:
        use = "colour by it" if keeping == "--color" else "score maps by it"
        remedies.insert(0, f"{keeping} {shlex.quote(first)} to leave {'it' if one else first} out and {use}")
    if has_option("--types"):
        types = f"--types category={all_of_them}" + ("" if famd else " --categories famd")
        remedies.append(f"{types} to reduce {'it as a category' if one else 'them as categories'}")
    note(f"{text}add {', or '.join(remedies)}")


def note_coded_labels_of_scan(table: TableScan, apart: Collection[str]) -> None:
    """Note the same of a table that is read in blocks, by its first rows; ``apart`` are not reduced as numbers."""
    from ..data.table import Table

    names = table.names if table.has_names else None
    first = None if names is None else next(table.first_frames(), None)
    if names is not None and first is not None:
        note_coded_labels(Table(first, table.source), [name for name in names if name not in apart])
