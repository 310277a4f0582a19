"""Find the coordinate columns of a map, and match its rows with the rows of the data."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.command_line import command_line
from ..core.errors import DataError, LowlandWarning
from .answer import UsageError, note

if TYPE_CHECKING:
    from ..data.table import Table
    from .input import Input


def read_map(
    path: Path, id: str | None = None, unnamed: Callable[[Table], None] | None = None
) -> tuple[Table, list[str]]:
    """Read a map and find its coordinates: numbered columns with the name of a method, else all numeric columns.

    ``id``: the column of identifiers, which are kept as they are written; ``unnamed`` is called with a table without
    such names, and may raise.
    """
    from ..data.arraytable import SparseTable
    from .reading_options import ReadingOptions

    table = ReadingOptions().naming(id).read(path)
    if isinstance(table, SparseTable):
        raise DataError(f"{table.source} is a sparse matrix; give a table of coordinates")
    found = method_columns(table.names)
    if not found and unnamed is not None:
        unnamed(table)
    return table, found or numeric_columns(table.select().names, table.source)


def count_numbers(table: Table) -> int:
    """Return the number of columns of numbers, those with stray cells included."""
    from ..data.table import not_numeric

    return sum(name in table.faults or not_numeric(table.column(name).dtype) is None for name in table.names)


def refuse_swapped(data: Path, map: Path, known: Sequence[str], n_numbers: int) -> None:
    """Raise `UsageError` if the data look like a map of the other table, which has more columns of numbers.

    ``known`` are the columns of the data; of the ``n_numbers`` columns of the other table none has the name of a
    coordinate.
    """
    placed = method_columns(known)
    if placed and len(placed) < n_numbers:
        right = command_line("evaluate", map, data)
        raise UsageError(
            f"{data.name} has coordinates ({', '.join(placed[:3])}{', …' if len(placed) > 3 else ''}) and {map.name} "
            f"has none: give the data first, then the map: {right}; if {map.name} is the map, name its coordinates "
            "with --x and --y"
        )


def coordinates_among(names: Sequence[str], numeric: Sequence[str], source: str) -> list[str]:
    """Return the coordinates among the columns of a map: those named by a method, else all numeric ones."""
    return method_columns(names) or numeric_columns(numeric, source)


def method_columns(names: Sequence[str]) -> list[str]:
    """Return the last series of columns with the name of a method: pca0, pca1, …"""
    from ..contract import registry

    return numbered(names, {method.class_name.lower() for method in registry.METHODS})


def numeric_columns(names: Sequence[str], source: str) -> list[str]:
    """Return the numeric columns of a map without such names, and say that they are used."""
    listed = f"{', '.join(names[:6])}{' …' if len(names) > 6 else ''}"
    note(f"{source} has no columns such as pca0, pca1; its numeric columns are used as the coordinates: {listed}")
    return list(names)


def numbered(names: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the last series of columns name0, name1, … with a known name; repeated names end in _1.

    >>> numbered(["id", "pca0", "pca1", "piece"], {"pca"})
    ['pca0', 'pca1']
    >>> numbered(["pca0", "pca0_1", "pca1"], {"pca"})
    ['pca0_1', 'pca1']
    """
    series: dict[str, dict[int, str]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)(\d+)(?:_\d+)?", name)
        if match is not None and match[1] in known:
            series.setdefault(match[1], {})[int(match[2])] = name  # coordinates are the last columns, so later ones win
    whole = [found for found in series.values() if sorted(found) == list(range(len(found)))]
    return [whole[-1][i] for i in range(len(whole[-1]))] if whole else []


def coordinates(table: Table, names: list[str]) -> Any:
    """Return the coordinates; raise `DataError` if one is missing or not finite."""
    Y = table.select(columns=names).X
    bad = np.argwhere(~np.isfinite(Y))
    if len(bad):
        row, column = (int(x) for x in bad[0])
        raise DataError(
            f"{table.place(row, names[column])}: the coordinate is missing or not finite; remove such rows from both "
            "tables",
            row=row,
            column=column,
        )
    return Y


def require_either(name: str, option: str, ours: Collection[str], data: str, theirs: Collection[str], map: str) -> None:
    """Raise `DataError` if neither the data nor the map has a column; the message names similar ones."""
    if name in ours or name in theirs:
        return
    lower = {known.lower(): known for known in (*theirs, *ours)}
    same = [name.lower()] if name.lower() in lower else None
    near = [lower[key] for key in same or difflib.get_close_matches(name.lower(), list(lower), n=3, cutoff=0.5)]
    hint = f"; did you mean {' or '.join(repr(one) for one in near)}?" if near else ""
    raise DataError(f"neither {data} nor {map} has a column {name!r} for {option}{hint}")


def matching_column(given: Input, map: Table, id: str | None) -> str | None:
    """Return the column by which rows are matched, or None if they are matched by order."""
    ours = () if given.table is None else given.table.names
    if id is None or (id in ours and id in map.names):
        return id
    require_either(id, "--id", ours, given.source, map.names, map.source)
    note(f"only one of the tables has a column {id!r}; rows are matched by order")
    return None


def matched_rows(given: Input, map: Table, by: str | None) -> Any:
    """Return the numbers of the map's rows in the order of the data."""
    n = given.shape[0]
    if by is None or given.table is None:
        if map.n_rows != n:
            raise DataError(
                f"{given.source} has {n} rows and {map.source} has {map.n_rows}, and rows are matched by order; give a "
                "map of the same rows, or match the rows by a column of both tables with --id"
            )
        return np.arange(n)
    here, there = (_places(table, by) for table in (given.table, map))
    lost = [name for name in here if name not in there]
    if lost:
        few = ", ".join(lost[:5]) + (", …" if len(lost) > 5 else "")
        raise DataError(f"{map.source} is missing {len(lost)} of the {n} rows of {given.source} (by {by!r}): {few}")
    if len(there) > len(here):
        note(f"{map.source} has {len(there) - len(here)} rows that are not in {given.source}; they are ignored")
    return np.array([there[name] for name in here])


def naming_column(given: Input, map: Table, but: Collection[str]) -> tuple[str | None, bool]:
    """Return a column that identifies the same rows in both tables, and whether their order is the same.

    If the order differs, warn: matching rows by order is then wrong.
    """
    if given.table is None or given.table.n_rows != map.n_rows:
        return None, False
    for name in given.table.names:
        if name in but or name not in map.names:
            continue
        here, there = given.table.column(name), map.column(name)
        if any(column.dtype.is_float() or column.null_count() for column in (here, there)):
            continue
        a, b = here.cast(str, strict=False), there.cast(str, strict=False)
        if a.n_unique() < len(a) or not a.sort().equals(b.sort()):
            continue
        same = bool((a == b).all())
        if not same:
            warnings.warn(
                f"{given.source} and {map.source} both have a column {name!r}, in a different order, but rows are "
                f"matched by order; to match them by this column, add --id {name}",
                LowlandWarning,
                stacklevel=2,
            )
        return name, same
    return None, False


def _places(table: Table, id: str) -> dict[str, int]:
    """Return the row of each identifier; raise `DataError` for missing and duplicate ones."""
    places: dict[str, int] = {}
    for row, value in enumerate(table.column(id).to_list()):
        if value is None:
            raise DataError(f"{table.place(row, id)}: the identifier is missing; rows are matched by it", row=row)
        if str(value) in places:
            first = table.place(places[str(value)])
            raise DataError(
                f"{table.place(row, id)}: duplicate identifier {value} (also in {first}); rows are matched by it, so "
                "its values must be unique",
                row=row,
            )
        places[str(value)] = row
    return places
