"""`Table`: named columns, and the selection of those to reduce."""

from __future__ import annotations

import csv
import difflib
import io
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core.cost import check_allocation
from ..core.errors import DataError, MissingExtraError
from ..core.message import Advice, Message, Phrase, Setting
from .kinds import MIN_ROWS, ColumnKind, Stray, column_kind
from .kinds import not_numeric as not_numeric

if TYPE_CHECKING:
    import pandas

Matrix = NDArray[np.floating[Any]]

TOO_BIG = "choose fewer columns"
TEXTS_TO_NUMBERS = Message(
    "Texts must become numbers first: counts of their words with ",
    Setting("texts", "tfidf"),
    ", or embeddings in a column of lists, read with ",
    Setting("vector", "COLUMN"),
)
CATEGORIES_TO_NUMBERS = Phrase(
    "Columns of categories can be coded as numbers: lowland.recipe(method, categories='famd')",
    "Columns of categories can be coded as numbers with --categories famd",
)


@dataclass(frozen=True, eq=False)
class Selection:
    """The numbers chosen from a table.

    ``X`` is C-contiguous: float32 if every chosen column is, else float64; a missing value is NaN.
    ``left_out`` maps each excluded column to the reason, such as ``{"species": "text"}``.
    """

    X: Matrix
    names: list[str]
    left_out: dict[str, str]


@dataclass(frozen=True, eq=False)
class MixedSelection:
    """Numeric and categorical columns chosen from a table, unconverted; ``left_out`` as in `Selection`."""

    frame: pl.DataFrame
    names: list[str]
    left_out: dict[str, str]


@dataclass(frozen=True, eq=False)
class Table:
    """A table with named columns.

    Parameters
    ----------
    frame : the columns, as a polars DataFrame.
    source : the file's name, for messages.
    first_line : the line of the file with the first row; None if rows and lines do not correspond.
    faults : columns of numbers with some text in them, each with the message that `select` raises for it.
    notes : what the reader detected that the user may want to know.
    stray : for the columns with faults, the first cells that are not numbers.
    aside : columns that came with the table and are not reduced unless they are named: row labels of pandas, labels
        and names of an ``.npz`` file, file names of images.
    roles : columns with the text, the image or the target of each row, such as ``{"image": "photo"}``; they are not
        reduced.
    codes : columns of numbers that a text file writes as identifiers, such as 001, a different one in each row.

    Examples
    --------
    >>> table = Table(pl.DataFrame({"a": [1, 2], "b": [0.5, None], "kind": ["x", "y"]}), "small.csv", 2)
    >>> chosen = table.select()
    >>> chosen.names, chosen.left_out
    (['a', 'b'], {'kind': 'text'})
    >>> chosen.X
    array([[1. , 0.5],
           [2. , nan]])
    """

    frame: pl.DataFrame
    source: str
    first_line: int | None = None
    faults: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    stray: Mapping[str, list[Stray]] = field(default_factory=dict)
    aside: pl.DataFrame = field(default_factory=pl.DataFrame)
    roles: Mapping[str, str] = field(default_factory=dict)
    codes: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return self.frame.columns

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.frame.height

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.names)

    @property
    def X(self) -> Matrix:
        """The numbers to reduce: every numeric column without a role, as `select` returns them.

        >>> Table(pl.DataFrame({"a": [1, 2], "kind": ["x", "y"]}), "small.csv").X
        array([[1.],
               [2.]])
        """
        return self.select().X

    @property
    def y(self) -> NDArray[Any] | None:
        """The target of each row (a label, or a true coordinate): the column with this role; None without one.

        >>> Table(pl.DataFrame({"a": [1, 2], "kind": ["x", "y"]}), "small.csv", roles={"target": "kind"}).y.tolist()
        ['x', 'y']
        """
        if "target" not in self.roles:
            return None
        target = self.column(self.roles["target"])
        return np.array(target.to_list()) if target.dtype == pl.String else target.to_numpy()

    def to_polars(self) -> pl.DataFrame:
        """Return all columns as a polars DataFrame: those kept aside, then the others.

        >>> Table(pl.DataFrame({"a": [1, 2]}), "small.csv", aside=pl.DataFrame({"id": [7, 8]})).to_polars().columns
        ['id', 'a']
        """
        return self.with_aside()

    def to_pandas(self) -> pandas.DataFrame:
        """Return all columns as a pandas DataFrame, in the order of `to_polars`; pandas must be installed.

        >>> Table(pl.DataFrame({"a": [1, 2]}), "small.csv").to_pandas().shape
        (2, 1)
        """
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("to_pandas needs pandas: pip install pandas") from error
        return pandas.DataFrame({column.name: column.to_list() for column in self.with_aside().get_columns()})

    def column(self, name: str) -> pl.Series:
        """Return one column; an unknown name raises a DataError that lists similar names."""
        self._require([name])
        return self._any_series(name)

    def with_aside(self) -> pl.DataFrame:
        """Return all columns: those kept aside, then the others."""
        return self.aside.hstack(self.frame.get_columns()) if self.aside.width else self.frame

    def kinds(self) -> dict[str, ColumnKind]:
        """Return what each column is: number, category, date, text, id, constant, empty or other, with the reason.

        >>> Table(pl.DataFrame({"a": [1.5, 2.5, 0.1], "b": ["x", "y", "x"]}), "small.csv").kinds()["b"].kind
        'category'
        """
        return dict(self._kinds)

    @cached_property
    def _kinds(self) -> dict[str, ColumnKind]:
        kinds = {}
        for column in (*self.aside.get_columns(), *self._all_series()):
            name = column.name
            if name in self.faults:
                kinds[name] = ColumnKind.of_stray(self.stray.get(name, ()), column.null_count())
            elif name in self.roles.values() and name != self.roles.get("target"):
                kinds[name] = ColumnKind("text" if self.roles.get("text") == name else "other", self._role(name))
            elif name in self.codes and column.len() >= MIN_ROWS:
                kinds[name] = ColumnKind("id", "different numbers with leading zeros or very many digits")
            else:
                kinds[name] = column_kind(column)
        return kinds

    def place(self, row: int, column: str | None = None) -> str:
        """Return the place of a row (counted from 0) in the file, for messages.

        >>> Table(pl.DataFrame({"a": [1, 2]}), "small.csv", 2).place(1, "a")
        "small.csv, line 3, column 'a'"
        """
        where = f"row {row}" if self.first_line is None else f"line {self.first_line + row}"
        return f"{self.source}, {where}" + ("" if column is None else f", column {column!r}")

    def select(
        self,
        columns: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        keep_aside: Sequence[str] = (),
    ) -> Selection:
        """Choose the columns to reduce and return them as one matrix.

        Parameters
        ----------
        columns : names to reduce, in this order; each must be numeric. Default: every numeric column.
        drop : names to leave out.
        keep_aside : names that are never reduced (colours, identifiers).
        """
        chosen, left_out = self._checked_choice(columns, drop or (), keep_aside)
        return Selection(self._matrix(chosen), chosen, left_out)

    def select_mixed(
        self,
        columns: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        keep_aside: Sequence[str] = (),
    ) -> MixedSelection:
        """Choose columns as `select` does, including text columns.

        >>> table = Table(pl.DataFrame({"a": [1, 2], "kind": ["x", "y"]}), "small.csv")
        >>> table.select_mixed().names
        ['a', 'kind']
        """
        chosen, left_out = self._checked_choice(columns, drop or (), keep_aside, taken=("text",))
        return MixedSelection(self._frame_of(chosen), chosen, left_out)

    def _checked_choice(
        self, columns: Sequence[str] | None, drop: Sequence[str], keep_aside: Sequence[str], taken: Collection[str] = ()
    ) -> tuple[list[str], dict[str, str]]:
        """Return the chosen and the excluded columns; ``taken`` lists further kinds of columns that can be reduced."""
        self._require([*(columns or ()), *drop, *keep_aside])
        chosen, left_out = self._choose(columns, set(drop), set(keep_aside), taken)
        for name in chosen:
            if name in self.faults:
                raise DataError(self.faults[name])
        if not chosen:
            excluded = ", ".join(f"{name} ({why})" for name, why in left_out.items())
            problem = f"{self.source}: no numeric column is left to reduce"
            problem += f"; left out: {excluded}" if excluded else ""
            if "text" in self.roles:
                raise DataError(Message(problem, Advice(". ", TEXTS_TO_NUMBERS)))
            if (lists := self._lists(left_out)) is not None:
                raise DataError(
                    Message(
                        problem, Advice(f"; reduce the lists of numbers in {lists!r} with ", Setting("vector", lists))
                    )
                )
            coding = [Advice(". ", CATEGORIES_TO_NUMBERS)] if "text" in left_out.values() else []
            raise DataError(Message(problem, *coding))
        return chosen, left_out

    def _lists(self, names: Collection[str]) -> str | None:
        """Return the first of the columns that contains lists of numbers, or None."""
        inner = {name: getattr(self.frame.schema[name], "inner", None) for name in names if name in self.frame.columns}
        return next((name for name, kind in inner.items() if kind is not None and kind.is_numeric()), None)

    def _choose(
        self, columns: Sequence[str] | None, drop: Collection[str], aside: Collection[str], taken: Collection[str] = ()
    ) -> tuple[list[str], dict[str, str]]:
        chosen: list[str] = []
        left_out: dict[str, str] = {}
        if columns is None:
            for name in self.names:
                if name in drop or name in aside:
                    continue
                reason = None if name in self.faults else self._reason(name)
                if reason is None or reason in taken:
                    chosen.append(name)
                else:
                    left_out[name] = reason
            return chosen, left_out
        twice = sorted(name for name, n in Counter(columns).items() if n > 1)
        if twice:
            raise DataError(f"{self.source}: these columns are listed twice: {', '.join(twice)}; list each once")
        for name in columns:
            # The user named the column twice: it is not reduced, and the report lists it as left out.
            if name in drop or name in aside:
                left_out[name] = "dropped" if name in drop else "kept aside"
                continue
            reason = None if name in self.faults else self._reason(name)
            if reason not in (None, "empty", *taken):  # an empty column is all NaN, which some methods accept
                raise DataError(
                    f"{self.source}, column {name!r}: it contains {reason}; only numeric columns can be reduced"
                )
            chosen.append(name)
        return chosen, left_out

    def _reason(self, name: str) -> str | None:
        """Return why a column cannot be reduced, or None."""
        if name in self.roles.values():
            return self._role(name)
        series = self._any_series(name)
        if name.startswith("__index_level_"):  # where pandas puts row labels in Parquet files
            return "row labels"
        if series.null_count() == len(series):
            return "empty"
        return not_numeric(series.dtype)

    def _role(self, name: str) -> str:
        return f"{next(role for role, column in self.roles.items() if column == name)} of the rows"

    def _series(self, name: str) -> pl.Series:
        return self.frame[name]

    def _all_series(self) -> Iterable[pl.Series]:
        return self.frame.get_columns()

    def _any_series(self, name: str) -> pl.Series:
        return self.aside[name] if self.aside.width and name in self.aside.columns else self._series(name)

    def _frame_of(self, names: Sequence[str]) -> pl.DataFrame:
        if self.aside.width and not set(names).isdisjoint(self.aside.columns):
            return pl.DataFrame([self._any_series(name) for name in names])
        return self.frame.select(names)

    def _matrix(self, names: list[str]) -> Matrix:
        chosen = self._frame_of(names)
        single = all(dtype == pl.Float32 for dtype in chosen.dtypes)
        kind = pl.Float32 if single else pl.Float64
        check_allocation(self.n_rows * len(names) * (4 if single else 8), f"the numbers of {self.source}", TOO_BIG)
        return np.ascontiguousarray(chosen.select(pl.all().cast(kind)).to_numpy(order="c"))

    def _require(self, names: Sequence[str]) -> None:
        known = {*self.names, *self.aside.columns}
        for name in names:
            if name not in known:
                self._unknown(name)

    def _unknown(self, name: str) -> NoReturn:
        names = [*self.aside.columns, *self.names]  # those of images after the few that are not pixels
        lower = {known.lower(): known for known in names}
        near = [lower[key] for key in difflib.get_close_matches(name.lower(), list(lower), n=3, cutoff=0.5)]
        if near:
            hint = f"did you mean {' or '.join(map(repr, near))}?"
        else:
            more = f", … ({len(names)} in all)" if len(names) > 10 else ""
            hint = f"it has {', '.join(map(repr, names[:10]))}{more}"
        raise DataError(f"{self.source} has no column {name!r}; {hint}")


def name_list(names: Sequence[str]) -> str:
    """Return column names as ``--columns`` and ``--drop`` read them: names with a comma are quoted.

    >>> print(name_list(["a", "b, c"]))
    a,"b, c"
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()
