"""`lowland evaluate` of tables that are read in blocks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import CellError, DataError, DistanceMatrixWarning
from .answer import UsageError, note
from .input import Input, default_names
from .judged_map import map_of, reading_map
from .matching import coordinates, coordinates_among, method_columns, refuse_swapped, require_either
from .options import KeepOptions, TableOptions
from .progress import progress_bar
from .reading_options import ReadingOptions
from .scanned_input import scanned
from .streaming import opened
from .trust_options import TrustOptions, is_coded

if TYPE_CHECKING:
    import polars as pl

    from ..data.scans.table_scan import TableScan
    from ..data.table import Table
    from ..quality.pointwise import Pointwise
    from ..quality.report import Report

_ORDER = (
    "; rows of tables that are read in blocks are matched by their order: sort both tables by {by!r}, or give a map "
    "with the rows of the data in their order"
)


@dataclass(frozen=True)
class ScannedMap:
    """A map beside a table that is read in blocks: its rows, which are a scan or an array, and its columns."""

    rows: Any
    names: list[str]
    source: str
    n_rows: int
    columns: Sequence[str]
    path: Path
    reading: Any
    table: Table | None = None  # of a format that is read whole

    def column(self, name: str) -> Iterator[Any]:
        """Yield the values of a column."""
        if self.table is not None:
            return iter(self.table.column(name).to_list())
        return values_of(opened(self.path, self.reading, [name]), name)


@dataclass(frozen=True)
class StreamedReport:
    """A report of tables that are read in blocks.

    ``names`` are those of the coordinates, ``by`` is the column of matched identifiers, ``known`` the data's columns.
    """

    found: Report
    given: Input
    names: list[str]
    by: str | None
    known: Sequence[str]
    ids: Mapping[int, str] | None = None  # of the least reliable rows, if only the map has identifiers

    def row_names(self) -> Mapping[int, str]:
        """Return the names of the least reliable rows: their identifiers, or their numbers."""
        numbers = [point.number for point in self.found.worst]
        if self.ids is not None:
            return {number: self.ids[number] for number in numbers}
        if self.given.id_scan is None:
            return {number: f"row {number}" for number in numbers}
        ids = rows_of_column(self.given.id_scan, str(self.given.id), sorted(numbers))
        return {number: "" if value is None else str(value) for number, value in zip(sorted(numbers), ids, strict=True)}

    def write(self, out: Path, data: Path, reading: ReadingOptions, target: str | None) -> None:
        """Write the measures of the evaluated rows, after their identifiers and groups."""
        import polars as pl

        from ..data.writing import write_table

        points: Pointwise = self.found.points
        frame = points.to_frame().rename({"point": "row"}).cast({"row": pl.Int64})
        for name in (target, self.given.id):
            if name is not None and name in self.known:
                frame = frame.rename({name: f"{name}_1"}) if name in frame.columns else frame
                values = rows_of_column(opened(data, reading, [name], id=self.given.id), name, points.point.tolist())
                frame = frame.insert_column(0, values)
        write_table(out, frame)
        note(f"{out} has the {len(points):,} evaluated rows of {self.found.n:,}")


def refuse(**options: Any) -> None:
    """Raise `UsageError` for options that draw or describe every row."""
    for name, value in options.items():
        if value:
            raise UsageError(
                f"--{name} shows all rows and needs the tables in memory; remove it, or evaluate a part of the rows"
            )


def report_in_blocks(
    data: Path, embedding: Path | None, columns: TableOptions, options: TrustOptions, anchors: int | str | None
) -> StreamedReport:
    """Measure a map in passes over both tables."""
    from ..data.table import name_list
    from ..quality import report

    columns = replace(columns, reading=columns.reading.naming(options.id))
    with reading_map(embedding, data):
        map = _map(data, embedding, columns, options)
    there = opened(data, columns.reading)
    known = list(there.schema) if there.has_names else []
    if embedding is not None and options.x is None and not method_columns(map.names):
        refuse_swapped(data, embedding, known, len(map.names))
    placed = [name for name in (options.x, options.y) if name in known]
    target, id = (name if name in known else None for name in (options.target, options.id))
    keep = KeepOptions(color=target, id=id, supplementary=tuple(name_list([name]) for name in placed))
    mixed = is_coded(map.names, options)
    given = scanned(data, columns, keep, pairwise=options.metric == "precomputed", categories=mixed)
    given = replace(given, names=given.names or default_names(given.shape[1]))
    if given.shape[0] != map.n_rows:
        raise DataError(
            f"{given.source} has {given.shape[0]} rows and {map.source} has {map.n_rows}, and rows are matched by "
            "order; give a map of the same rows"
        )
    by = _matched(given, map, options.id, known)
    labels = _labels(data, columns, map, options.target, known)
    words = f"the columns of {given.source}{' as FAMD codes them' if mixed else ''}"
    with progress_bar(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DistanceMatrixWarning)
        try:
            found = report(
                given.rows,
                map.rows,
                options.quality_neighbors,
                metric="famd" if mixed else options.metric,
                anchors=anchors,
                groups=labels,
                space=words,
                random_state=options.seed,
            )
        except CellError as error:
            raise _located(error, given, map) from error
    if found.scope:
        note(found.scope)
    elif found.n < given.shape[0]:
        note(found.warnings[0])
    worst, ids = {point.number for point in found.worst}, None
    if options.id is not None and id is None and options.id in map.columns:
        ids = {row: str(value) for row, value in enumerate(map.column(options.id)) if row in worst}
    return StreamedReport(found, given, map.names, by, known, ids)


def _map(data: Path, embedding: Path | None, columns: TableOptions, options: TrustOptions) -> ScannedMap:
    """Open the coordinates: in blocks if their format can be read so."""
    from ..data.scans.opening import SUFFIXES

    path = embedding or data
    reading = columns.reading if embedding is None else ReadingOptions().naming(options.id)
    if not path.name.lower().endswith(SUFFIXES):
        read, names = map_of(data, embedding, options.x, options.y, columns.reading, options.id)
        return ScannedMap(coordinates(read, names), names, read.source, read.n_rows, read.names, path, reading, read)
    if (options.x is None) != (options.y is None) or (embedding is None and options.x is None):
        map_of(data, embedding, options.x, options.y, columns.reading)  # raises: the coordinates are not named
    table = opened(path, reading)
    schema = list(table.schema) if table.has_names else default_names(table.n_features)
    if options.x is not None:
        names = [str(options.x), str(options.y)]
    else:
        names = coordinates_among(schema, table.names or schema, table.source)
    rows = opened(path, reading, names) if table.has_names else table
    return ScannedMap(rows, names, table.source, rows.count(), schema if table.has_names else [], path, reading)


def _matched(given: Input, map: ScannedMap, id: str | None, known: Sequence[str]) -> str | None:
    """Return the column of identifiers that both tables have in the same order; None if rows are matched by order."""
    if id is None:
        return None
    require_either(id, "--id", known, given.source, map.columns, map.source)
    if id not in known or id not in map.columns:
        note(f"only one of the tables has a column {id!r}; rows are matched by order")
        return None
    for row, (here, there) in enumerate(zip(values_of(given.id_scan, id), map.column(id), strict=True)):
        if str(here) != str(there):
            raise DataError(
                f"row {row} is {here} in {given.source} and {there} in {map.source}{_ORDER.format(by=id)}", row=row
            )
    return id


def _labels(
    data: Path, columns: TableOptions, map: ScannedMap, name: str | None, known: Sequence[str]
) -> list[Any] | None:
    """Return the group labels, from the data or otherwise from the map; equal ones are one object."""
    if name is None:
        return None
    require_either(name, "--target", known, data.name, map.columns, map.source)
    values = values_of(opened(data, columns.reading, [name]), name) if name in known else map.column(name)
    one: dict[Any, Any] = {}
    return [sys.intern(value) if isinstance(value, str) else one.setdefault(value, value) for value in values]


def values_of(table: TableScan, name: str) -> Iterator[Any]:
    """Yield the values of a column of a table that is read in blocks."""
    return (value for frame in table.frames() for value in frame[name].to_list())


def rows_of_column(table: TableScan, name: str, numbers: Sequence[int]) -> pl.Series:
    """Return a column at some rows, ascending."""
    import numpy as np
    import polars as pl

    found, start, wanted = [], 0, np.asarray(numbers, dtype=np.int64)
    for frame in table.frames():
        low, high = np.searchsorted(wanted, [start, start + frame.height])
        found.append(frame[name].gather(wanted[low:high] - start))
        start += frame.height
    return pl.concat(found)


def _located(error: CellError, given: Input, map: ScannedMap) -> DataError:
    """Return the error with the file of the cell and the name of its column."""
    of_map = error.subject.endswith("Y")
    source, names = (map.source, map.names) if of_map else (given.source, given.names)
    name = error.name or (names[error.column] if names and error.column is not None else f"x{error.column}")
    what = "missing value" if error.what == "NaN" else f"it contains {error.what}"
    place = error.where or f"{source}, row {error.row}"
    return DataError(
        f"{place}, column {str(name)!r}: {what}; fill it, or leave the row out of both tables",
        row=error.row,
        column=error.column,
    )


__all__ = ["StreamedReport", "refuse", "report_in_blocks"]
