"""Choosing columns and checking new rows against the training rows."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...contract.fit_info import level_of_the_caller
from ...contract.parameters import AnyOf, Choice, ColumnList, Nothing, Rule
from ...core.errors import CellError, DataError, LowlandWarning, UnitsWarning
from ...core.message import Message, Phrase, Remedies, message
from ...data.cells import cell_advice, stray_among_numbers
from ...data.dates import ORDERS, compact_dates, named_months, ordered_dates
from ...data.table import name_list
from . import frames
from .column_sizes import Sizes
from .rules import ColumnTypes
from .step import Step
from .training_rows import Passes, TrainingRows

Array = Any
Column = str | int

KINDS = (frames.NUMBER, frames.CATEGORY, frames.DATE)
TYPES = (*KINDS, *ORDERS)
UNITS_RATIO = 300.0  # ratio of median sizes from which on another unit is suspected: 1000 less the spread of a sample
_LISTED = 5  # columns named in a warning
_CODINGS = (": choose ", Phrase("categories='one-hot', 'famd' or 'drop'", "--categories one-hot, famd or drop"))


class SelectColumns(Step):
    """Choose columns by name, remember their types, and check new rows against them.

    New rows are matched by name, in any order. A missing column and a column of another type are errors. Values whose
    typical size differs from that of the training rows by a factor of 300 or more, and most of which lie outside their
    range, give a `UnitsWarning`.

    Parameters
    ----------
    columns : list of column names or numbers, or None
        Columns to use; None: all.
    drop : list of column names or numbers, or None
        Columns to leave out.
    types : dict or None
        Types by column name, "number", "category" or "date": numeric codes as categories, texts as numbers or as
        dates (ISO 8601, 5-Jan-2024, Jan 5, 2024), and 20240105 as a date; "dmy" or "mdy": texts such as 01/02/2024 as
        dates, day or month first. Others are taken from the table: texts and booleans are categories, except texts of
        which most are numbers (with cells such as <0.5 in between), which are an error.
    kinds : list of str
        Types of columns that are used: "number", "category", "date".
    others : str
        Columns of other types: "error" refuses them, "warn" leaves them out with a warning, "drop" without.

    Attributes
    ----------
    names_in_, kinds_in_, names_out_ : lists of str
        The chosen columns and the type of each; the same names.
    dtypes_ : list of str
        Types of the columns in the table, for `inverse_transform`.
    low_, middle_, high_ : array
        Smallest, median and largest absolute value of each column of numbers that is not 0; NaN for others.

    Examples
    --------
    >>> import polars as pl, lowland
    >>> table = pl.DataFrame({"id": [7, 8], "age": [31, 54], "sex": ["f", "m"]})
    >>> step = lowland.steps.SelectColumns(drop=["id"]).fit(table)
    >>> step.transform(table.select("sex", "id", "age")).columns
    ['age', 'sex']
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "columns": AnyOf((Nothing(), ColumnList())),
        "drop": AnyOf((Nothing(), ColumnList())),
        "types": AnyOf((Nothing(), ColumnTypes(TYPES))),
        "kinds": ColumnList(),
        "others": Choice(("error", "warn", "drop")),
    }

    dtypes_: list[str]
    low_: Array
    middle_: Array
    high_: Array

    def __init__(
        self,
        columns: list[Column] | None = None,
        *,
        drop: list[Column] | None = None,
        types: dict[str, str] | None = None,
        kinds: list[str] | tuple[str, ...] = KINDS,
        others: str = "error",
    ) -> None:
        self.columns, self.drop, self.types, self.kinds, self.others = columns, drop, types, kinds, others

    def _choose(self, rows: TrainingRows) -> list[str]:
        owner, names, types = type(self).__name__, rows.names, rows.types()
        if wrong := [kind for kind in self.kinds if kind not in KINDS]:
            raise ValueError(f"{owner}: kinds has {wrong[0]!r}; it may have {', '.join(KINDS)}")
        wanted = names if self.columns is None else frames.positions(names, self.columns, owner, "columns")
        left_out = frames.positions(names, self.drop or [], owner, "drop")
        frames.positions(names, list(self.types or {}), owner, "types")
        dropped = set(left_out)
        chosen = [name for name in wanted if name not in dropped]
        self._require_no_numbers_as_text(rows.first(), chosen)
        kinds = dict(zip(chosen, rows.selected(chosen).changed(self._converted).kinds(), strict=True))
        other = [name for name in chosen if kinds[name] not in (*self.kinds, frames.EMPTY)]
        chosen = [name for name in chosen if kinds[name] in (*self.kinds, frames.EMPTY)]
        if other and (self.others == "error" or not chosen):
            raise DataError(
                message(
                    f"{owner}: column {other[0]!r} holds {_WORDS[kinds[other[0]]]} ({types[other[0]]}), which this "
                    "recipe does not use: leave it out with {drop} or encode it",
                    drop=[other[0]],
                )
            )
        if not chosen:
            text = f"{owner}: no column is left; choose others in {{columns}} or {{drop}}"
            raise DataError(Message(message(text, columns=..., drop=...), Phrase(", or in kinds", "")))
        if other and self.others == "warn":
            listed = ", ".join(map(repr, other[:_LISTED])) + (
                f", … ({len(other)} in all)" if len(other) > _LISTED else ""
            )
            words = " and ".join(sorted({_WORDS[kinds[name]] for name in other}))
            has_categories = any(kinds[name] == frames.CATEGORY for name in other)
            text = Message(f"columns of {words} are left out ({listed})", *(_CODINGS if has_categories else ()))
            warnings.warn(text, LowlandWarning, stacklevel=level_of_the_caller())
        return chosen

    def _require_no_numbers_as_text(self, frame: pl.DataFrame, chosen: list[str]) -> None:
        """Raise for a column of numbers that a few cells, such as <0.5, made text: it would become categories."""
        schema, declared = frame.schema, self.types or {}
        for name in chosen:
            if schema[name] != pl.String or name in declared:
                continue
            stray = stray_among_numbers(frame[name])
            if stray is None:
                continue
            category = Message(
                "if the column is a category, say so with ",
                Phrase(f"types={{{name!r}: 'category'}}", f"--types {shlex.quote(f'category={name_list([name])}')}"),
            )
            number = frame.columns.index(name)
            advice = Remedies(*cell_advice(stray.cell).actions[:-1], category)
            raise CellError(f"{stray.cell!r} among numbers", advice, row=stray.row, column=number, name=name)

    def _converted(self, frame: pl.DataFrame) -> pl.DataFrame:
        types = self.types or {}
        if not types:
            return frame
        return frame.with_columns(
            _as_type(frame[name], types[name], number) for number, name in enumerate(frame.columns) if name in types
        )

    def _learn(self, rows: TrainingRows) -> Passes:
        self.names_out_ = list(self.names_in_)
        types = rows.types()
        self.dtypes_ = [str(types[name]) for name in self.names_in_]
        sizes = Sizes(self._of_kind(frames.NUMBER), rows.known_rows)
        yield [sizes]
        table = np.full((len(self.names_in_), 3), np.nan)
        table[[kind == frames.NUMBER for kind in self.kinds_in_]] = sizes.table
        self.low_, self.middle_, self.high_ = table.T.copy()

    @property
    def keeps_rows(self) -> bool:
        """Whether the result is the columns that were learned from: always."""
        return True

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame

    def _look_at(self, frame: pl.DataFrame) -> None:
        """Warn of columns most of whose values are far outside the training range: they may be in another unit."""
        names = self._of_kind(frames.NUMBER)
        if not names or not frame.height:
            return
        sizes = Sizes(names, frame.height)
        sizes.add(sizes.part(0, frame))
        places = [j for j, kind in enumerate(self.kinds_in_) if kind == frames.NUMBER]
        for name, j, (_, middle, _) in zip(names, places, sizes.table, strict=True):
            if np.isnan(self.middle_[j]) or np.isnan(middle):
                continue
            ratio = middle / float(self.middle_[j])
            larger = ratio >= UNITS_RATIO and _most_beyond(frame[name], self.high_[j], above=True)
            smaller = ratio <= 1 / UNITS_RATIO and _most_beyond(frame[name], self.low_[j], above=False)
            if larger or smaller:
                factor = ratio if larger else 1 / ratio
                times = f"{float(f'{factor:.2g}'):,.0f} times {'larger' if larger else 'smaller'}"
                warnings.warn(
                    f"column {name!r}: the new values are about {times} than in the training rows (median {middle:.4g} "
                    f"v. {self.middle_[j]:.4g}): check the unit",
                    UnitsWarning,
                    stacklevel=level_of_the_caller(),
                )

    def _restore(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the columns, with texts of booleans as booleans; columns that were left out stay left out."""
        flags, schema = (
            [n for n, kind in zip(self.names_in_, self.dtypes_, strict=True) if kind == "Boolean"],
            frame.schema,
        )
        return frame.with_columns(pl.col(name) == "true" for name in flags if schema[name] == pl.String)


def _most_beyond(column: pl.Series, size: float, *, above: bool) -> bool:
    """Return whether most values of a column that are not 0 are larger, or smaller, in size."""
    sizes = np.abs(column.cast(pl.Float64).to_numpy())
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return 2 * int(np.count_nonzero(sizes > size if above else sizes < size)) > len(sizes)


_WORDS = {frames.NUMBER: "numbers", frames.CATEGORY: "categories", frames.DATE: "dates", frames.OTHER: "other types"}


def _as_type(column: pl.Series, kind: str, number: int) -> pl.Series:
    """Return a column in a declared type; a cell that cannot be read so is an error with its row."""
    now = frames.kind_of(column)
    if now in (frames.DATE if kind in ORDERS else kind, frames.EMPTY):
        return column
    if kind == frames.CATEGORY:
        return _as_text(column)
    compact = compact_dates(column) if kind == frames.DATE and now == frames.NUMBER else None
    if compact is not None:
        return _all_read(column, compact, kind, number)
    if column.dtype != pl.String:
        what = "date" if kind in ORDERS else kind
        held = _WORDS.get(now, "other values")
        raise DataError(
            f"column {column.name!r} contains {held}, which cannot be read as a {what}: do not name it in types",
            column=number,
        )
    if kind == frames.NUMBER:
        made = column.str.strip_chars().cast(pl.Float64, strict=False).fill_nan(None)
    else:
        made = _as_times(column)
        others = (named_months(column), compact_dates(column)) if kind == frames.DATE else ()
        for other in (*others, None if kind == frames.DATE else ordered_dates(column, kind)):
            made = made if other is None else made.fill_null(other)
    return _all_read(column, made, kind, number)


def _all_read(column: pl.Series, made: pl.Series, kind: str, number: int) -> pl.Series:
    """Return a converted column; raise for the first cell that could not be read."""
    wrong = (column.is_not_null() & made.is_null()).to_numpy()
    if wrong.any():
        i = int(np.argmax(wrong))
        what, advice = f"{column[i]!r}, which is not a {kind},", cell_advice(str(column[i]))
        if kind in ORDERS:
            what = f"{column[i]!r}, which is not a date with the {'day' if kind == 'dmy' else 'month'} first,"
        elif kind == frames.DATE and column.dtype == pl.String:
            advice = _order_advice(column)
        raise CellError(what, advice, row=i, column=number, name=column.name)
    return made


def _order_advice(column: pl.Series) -> Remedies:
    """Return the remedies for texts that are not ISO dates: the order of day and month, if it is a matter of that."""
    fits = [order for order in ORDERS if ordered_dates(column, order).count() == column.count()]
    words = {"dmy": "the day is first", "mdy": "the month is first"}
    name = name_list([column.name])
    orders = [
        Message(
            "use ",
            Phrase(f"types={{{column.name!r}: {order!r}}}", f"--types {shlex.quote(f'{order}={name}')}"),
            f" if {words[order]}",
        )
        for order in fits
    ]
    return Remedies(*orders) if orders else frames.FINITE


def _as_text(column: pl.Series) -> pl.Series:
    """Return codes as text: 1 and 1.0 are the same level.

    >>> _as_text(pl.Series([1.0, 2.5, None])).to_list(), _as_text(pl.Series([1, 2])).to_list()
    (['1', '2.5', None], ['1', '2'])
    """
    if not column.dtype.is_float():
        return column.cast(pl.String)
    whole = (column == column.round()) & (column.abs() < 2**53)
    texts = column.cast(pl.String)
    return (
        texts.to_frame("t")
        .select(
            pl.when(whole.fill_null(False))
            .then(column.cast(pl.Int64, strict=False).cast(pl.String))
            .otherwise(pl.col("t"))
        )
        .to_series()
        .rename(column.name)
    )


def _as_times(column: pl.Series) -> pl.Series:
    """Return texts as times, each by the first format of ISO 8601 that it has; an offset is turned into UTC.

    >>> _as_times(pl.Series(["2024-01-31", "2024-01-31T10:30Z", "soon"])).to_list()
    [datetime.datetime(2024, 1, 31, 0, 0), datetime.datetime(2024, 1, 31, 10, 30), None]
    """
    texts = column.str.strip_chars().str.replace("T", " ", literal=True).str.replace(r"Z$", "+0000")
    made = texts.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
    for clock in ("%H:%M:%S%.f", "%H:%M"):
        made = made.fill_null(texts.str.to_datetime(f"%Y-%m-%d {clock}", strict=False, time_unit="us"))
        zoned = texts.str.to_datetime(f"%Y-%m-%d {clock}%z", strict=False, time_unit="us")
        made = made.fill_null(zoned.dt.convert_time_zone("UTC").dt.replace_time_zone(None))
    return made.rename(column.name)
