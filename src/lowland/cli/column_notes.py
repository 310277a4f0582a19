"""What commands say of columns that they reduce though nobody named them: identifiers and coded labels."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ..core.errors import LowlandWarning
from .answer import note
from .wording import has_option

if TYPE_CHECKING:
    from ..data.scans.table_scan import TableScan
    from ..data.table import Table

_NAMED = 3  # columns that a note lists
_KEEPING = ("--color", "--target")  # leave a column out of the data and colour or score by it


def say_of_columns(
    table: Table, names: Sequence[str], *, famd: bool = False, tails: bool = True, labelled: bool = False
) -> tuple[str, ...]:
    """Warn of identifiers, and note coded labels and long tails, among the columns to reduce if nobody named them.

    Return the coded labels. ``names`` are the columns that are reduced as numbers; ``famd``: the method takes
    categories; ``tails``: no step changes the tails; ``labelled``: another column is the label already.
    """
    _warn_of_identifiers(table, names)
    coded = note_coded_labels(table, names, famd=famd, labelled=labelled)
    if tails:
        _note_long_tails(table, names)
    return coded


def _note_long_tails(table: Table, names: Sequence[str]) -> None:
    """Note the columns in which a few large values may decide the result, with the option that shortens them."""
    from ..data.long_tails import long_tails
    from ..data.table import not_numeric

    numbers = [name for name in names if not_numeric(table.column(name).dtype) is None and name not in table.faults]
    found = long_tails(table, numbers)
    if found.transform is None or not has_option("--transform"):
        return
    columns = found.columns
    some = f"{', '.join(columns[:_NAMED])}{', …' if len(columns) > _NAMED else ''}"
    which = f"column {columns[0]!r} has" if len(columns) == 1 else f"{len(columns):,} columns ({some}) have"
    note(
        f"{table.source}: {which} a long tail to large values, which may decide the result; to shorten "
        f"{'it' if len(columns) == 1 else 'them'}, add --transform {shlex.quote(found.transform)}"
    )


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


def note_coded_labels(
    table: Table, names: Collection[str], *, famd: bool = False, labelled: bool = False
) -> tuple[str, ...]:
    """Note the reduced columns that look like coded labels, what that does, and the options for them; return them.

    ``names`` are the columns that are reduced as numbers; ``famd``: the method takes categories; ``labelled``: another
    column is the label already.
    """
    from ..data.coded_labels import coded_labels
    from ..data.table import name_list

    found = coded_labels(table, names)
    if not found:
        return ()
    listed = " and ".join(f"{name!r} ({n} different values)" for name, n in found.items())
    one = len(found) == 1
    looks = (
        f"column {listed} looks like a coded label and is reduced as a number"
        if one
        else f"columns {listed} look like coded labels and are reduced as numbers"
    )
    text = f"{table.source}: {looks}, so that rows of nearby codes count as alike; "
    first, all_of_them = next(iter(found)), shlex.quote(name_list(list(found)))
    keeping = None if labelled else next((option for option in _KEEPING if has_option(option)), None)
    if keeping is None or not one:
        remedies = [f"--drop {all_of_them} to leave {'it' if one else 'them'} out"]
    if keeping is not None:
        use = "colour by it" if keeping == "--color" else "score maps by it"
        own = f"{keeping} {shlex.quote(first)} to leave {'it' if one else first} out and {use}"
        remedies = [own] if one else [own, *remedies]
    if has_option("--types"):
        types = f"--types category={all_of_them}" + ("" if famd else " --categories famd")
        remedies.append(f"{types} to reduce {'it as a category' if one else 'them as categories'}")
    note(f"{text}add {', or '.join(remedies)}")
    return tuple(found)


def note_coded_labels_of_scan(table: TableScan, apart: Collection[str], *, labelled: bool = False) -> tuple[str, ...]:
    """Note the same of a table that is read in blocks, by its first rows; ``apart`` are not reduced as numbers."""
    from ..data.table import Table

    names = table.names if table.has_names else None
    first = None if names is None else next(table.first_frames(), None)
    if names is None or first is None:
        return ()
    numbers = [name for name in names if name not in apart]
    return note_coded_labels(Table(first, table.source), numbers, labelled=labelled)
