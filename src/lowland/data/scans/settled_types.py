"""Types of the columns of a text that its beginning settles, and later cells held to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pyarrow as pa

from ...core.errors import DataError
from ...core.message import Advice, Message, Remedies, Setting
from ..cells import MISSING, StrayCell, as_text
from ..cleaning import Problem, TypedColumns, type_columns
from ..columns import without_codes
from ..dates import dates_in
from ..delimited import TextFile
from ..dialect import Dialect
from ..marks import Marks
from ..options import IfThere, ReadOptions
from ..signs import Limits

_TYPES = {"number": pl.Float64(), "whole": pl.Int64(), "text": pl.String(), "category": pl.String()}


@dataclass(frozen=True)
class Settled:
    """The types of columns, their date forms and number marks, and the columns that had no value.

    ``asked`` are the types that the user set, by column; columns of names are text, as a later name may need that.
    """

    types: dict[str, pl.DataType]
    forms: Mapping[str, str]
    marks: Marks
    empty: set[str]
    asked: Mapping[str, str]
    options: ReadOptions
    signs: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, file: TextFile, typed: TypedColumns, asked: Mapping[str, str] | None, options: ReadOptions) -> Settled:
        """Return the types of a beginning; ``asked`` are those that the user sets, by column."""
        for name in options.names:
            if isinstance(name, str) and not isinstance(name, IfThere) and name not in typed.frame.columns:
                raise DataError(f"{file.source.name} has no column {name!r}, which is to hold names")
        names = {name: "text" for j, name in enumerate(typed.frame.columns) if options.holds_names(j, name)}
        asked = names | dict(asked or {})
        for name, kind in asked.items():
            if name not in typed.frame.columns:
                raise DataError(f"{file.source.name} has no column {name!r}, whose type is set")
            if kind not in _TYPES:
                raise DataError(
                    Message(Setting("types", {name: kind}), f": a type is one of {', '.join(map(repr, _TYPES))}")
                )
        types = {name: _TYPES[asked[name]] if name in asked else kind for name, kind in typed.frame.schema.items()}
        empty = {column.name for column in typed.frame.get_columns() if column.null_count() == len(column)}
        fixed = replace(options, decimal=typed.marks.decimal, thousands=typed.marks.thousands or "")
        return cls(types, typed.date_forms, typed.marks, empty - set(asked), asked, fixed, typed.signs)

    def widened(self, types: Mapping[str, pl.DataType]) -> Settled:
        """Return these types with floats for whole numbers where another part of the table has fractions."""
        wider = {
            name: pl.Float64()
            for name, kind in self.types.items()
            if kind == pl.Int64() and types.get(name) == pl.Float64() and name not in self.asked
        }
        return replace(self, types={**self.types, **wider}) if wider else self

    def dialect(self, dialect: Dialect, whole_numbers: bool | None) -> Dialect:
        """Return a dialect whose columns have the settled types; ``whole_numbers``: see `frame`."""
        whole = "float" if whole_numbers is False else "int"
        words: dict[pl.DataType, str] = {pl.Int64(): whole, pl.Float64(): "float"}
        kinds = tuple("" if name in self.empty else words.get(self.types[name], "") for name in dialect.names)
        return replace(dialect, kinds=kinds, marks=self.marks)

    def frame(self, file: TextFile, cells: Mapping[str, Any], height: int, whole_numbers: bool | None) -> pl.DataFrame:
        """Return some columns of a part as a frame of the settled types; raise for a cell that does not fit.

        ``whole_numbers``: True keeps integers and refuses fractions among them, False makes them floats, and None makes
        floats of columns that have fractions in this part.
        """
        made: dict[str, pl.Series] = {}
        others = {name: column for name, column in cells.items() if self.types[name] != pl.String()}
        typed = self._typed(file, others)
        problems = {problem.name: problem for problem in typed.problems}
        for name, column in cells.items():
            kind = self.types[name]
            if kind == pl.String():
                texts = as_text(name, _as_arrow(column), (*MISSING, *self.options.na))
                if self.options.holds_names(file.dialect.names.index(name), name):
                    texts = texts.str.strip_chars()
                made[name] = _codes(texts) if self.asked.get(name) == "category" else texts
                continue
            fractions = whole_numbers is None and typed.frame[name].dtype == pl.Float64()
            if kind == pl.Int64() and (fractions or whole_numbers is False):
                kind = pl.Float64()
            if name not in problems:
                self._require_sign(file, name, typed.signs.get(name), column, typed.frame[name])
            made[name] = self._held(file, name, kind, typed.frame[name], column, problems.get(name), height)
        return without_codes(pl.DataFrame(made), self.options)

    def require_empty(self, file: TextFile, cells: Mapping[str, Any], height: int) -> None:
        """Raise if a column that is left out because its first cells are missing has a value."""
        for name, column in cells.items():
            texts = as_text(name, _as_arrow(column), (*MISSING, *self.options.na))
            if texts.null_count() < height:
                row = int(texts.is_not_null().arg_max() or 0)
                raise DataError(
                    Message(
                        f"{file.source.name}, line {file.lines({row}, height)[row]}, column {name!r}: {texts[row]!r} "
                        "is the first value of this column, which is left out because the cells before are missing",
                        Advice(
                            "; ",
                            Remedies(
                                Message("read it with ", Setting("types", {name: "number"})),
                                Message("leave it out with ", Setting("drop", [name])),
                            ),
                        ),
                    )
                )

    def _require_sign(self, file: TextFile, name: str, sign: str | None, cells: Any, found: pl.Series) -> None:
        """Raise if the numbers of a column have another sign, such as %, than the first ones."""
        if not found.dtype.is_numeric() or found.null_count() == len(found) or sign == self.signs.get(name):
            return
        row, first = int(found.is_not_null().arg_max() or 0), self.signs.get(name)
        cell, how = pl.Series(name, _as_arrow(cells))[row], f"with {first}" if first else "without sign"
        raise DataError(
            f"{file.source.name}, line {file.lines({row}, len(found))[row]}, column {name!r}: "
            f"{cell!r} is not written {how}, as the first cells of the column are; "
            "write all numbers of the column with the same sign, or without"
        )

    def _typed(self, file: TextFile, cells: Mapping[str, Any]) -> TypedColumns:
        if not cells:
            return TypedColumns(pl.DataFrame(), [], self.marks, None)
        dialect = replace(file.dialect, names=list(cells), marks=self.marks)
        return type_columns(dialect, list(cells.values())[::-1], self.options)

    def _held(
        self,
        file: TextFile,
        name: str,
        kind: pl.DataType,
        found: pl.Series,
        cells: Any,
        problem: Problem | None,
        height: int,
    ) -> pl.Series:
        """Return a typed column if it is of the settled type or can be without loss."""
        if found.null_count() == height:
            return found.cast(kind) if found.dtype != pl.String() else pl.Series(name, [None] * height, kind)
        if name in self.forms and found.dtype != kind:
            dates = dates_in(pl.Series(name, _as_arrow(cells)), self.forms[name])
            found = found if dates is None else dates
        if found.dtype == kind:
            return found
        widened = (kind == pl.Float64() and found.dtype.is_integer()) or (
            isinstance(kind, pl.Datetime) and found.dtype == pl.Date()
        )
        if widened:
            return found.cast(kind)
        if kind.is_numeric() and found.dtype == pl.String():
            raise self._no_number(file, name, found, problem, height)
        raise self._other(file, name, kind, cells, height)

    def _no_number(
        self, file: TextFile, name: str, found: pl.Series, problem: Problem | None, height: int
    ) -> DataError:
        """Return the error of the first cell that is not a number."""
        if problem is None:  # most cells of this part are no numbers
            numbers = self.marks.matches(found.str.strip_chars())
            row = int((~numbers & found.is_not_null()).arg_max() or 0)
            dialect, own = replace(file.dialect, marks=self.marks), self.options
            limits = Limits(own.below_limit or "error", own.above_limit or "error")
            problem = Problem(name, (StrayCell(row, str(found[row])),), False, dialect, limits)
        row = problem.stray[0].row
        return DataError(problem.message(file.source.name, file.lines({row}, height)))

    def _other(self, file: TextFile, name: str, kind: pl.DataType, cells: Any, height: int) -> DataError:
        """Return the error of the first cell that is not of the settled type."""
        words = "a whole number" if kind == pl.Int64() else "true or false" if kind == pl.Boolean() else "a date"
        texts = pl.Series(name, _as_arrow(cells)) if not isinstance(cells, pl.Series) else cells
        fits = _fits(texts, kind, self.forms.get(name))
        row = int((~fits & texts.is_not_null()).arg_max() or 0)
        place = f"{file.source.name}, line {file.lines({row}, height)[row]}, column {name!r}"
        other = "number" if kind == pl.Int64() else "text"
        return DataError(
            Message(
                f"{place}: {texts[row]!r} is not {words}, as the first cells of the column are",
                Advice("; ", Remedies("correct it", Message("read the column with ", Setting("types", {name: other})))),
            )
        )


def _codes(texts: pl.Series) -> pl.Series:
    """Return texts in which whole numbers are written alike, as codes of a column of numbers are.

    >>> _codes(pl.Series(["007", "A1", None])).to_list()
    ['7', 'A1', None]
    """
    return texts.str.strip_chars().cast(pl.Int64, strict=False).cast(pl.String).fill_null(texts)


def _fits(texts: pl.Series, kind: pl.DataType, form: str | None) -> pl.Series:
    """Return which cells are of a type."""
    if texts.dtype.is_numeric():
        return (texts == texts.floor()).fill_null(True) if texts.dtype.is_float() else texts.is_null().not_()
    bare = texts.str.strip_chars()
    if kind == pl.Int64():
        return bare.cast(pl.Int64, strict=False).is_not_null()
    if kind == pl.Boolean():
        return bare.str.to_lowercase().is_in(["true", "false"])
    return pl.Series(
        [value is None or dates_in(pl.Series([value]), form or "") is not None for value in bare.to_list()]
    )


def _as_arrow(cells: Any) -> Any:
    """Return cells as Arrow strings."""
    column = cells.to_arrow() if isinstance(cells, pl.Series) else cells
    return column.cast(pa.string())
