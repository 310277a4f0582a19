"""The rows that a command works on, and their places in the file."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.errors import CellError, DataError
from ..core.message import Item, Message, Part, parts_of
from .options import KeepOptions
from .wording import has_option

if TYPE_CHECKING:
    import polars as pl
    from sklearn.pipeline import Pipeline

    from ..data.table import Table

_NAMES_LISTED, _ALL_LISTED = 12, 20  # names of columns in a report; up to 20 are all listed
_FILL = "fill such cells with --missing ppca (or median, mean)"
_DROP = ", or leave the rows out with --missing drop-rows"
_MISSING = {"NaN": "missing value", "a missing category": "missing category"}


@dataclass(frozen=True)
class Input:
    """Rows for a model; a sparse matrix has neither names nor a table.

    ``id``: the column of row identifiers; ``steps``: the fitted steps that made the rows from the table.
    """

    rows: Any
    shape: tuple[int, int]
    source: str
    names: list[str] | None = None
    table: Table | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    pairwise: bool = False
    steps: Pipeline | None = None
    warnings: Sequence[str] = ()  # of the steps
    scanned: bool = False  # the rows are read in blocks
    id_scan: Any = None  # the identifiers of such rows
    named: list[str] | None = None  # names of the rows from another table
    coded: Sequence[str] = ()  # columns that a note called coded labels

    def locate(self, error: ValueError) -> Message:
        """Return the message of an error with its place in the file (line, column name) instead of array indices."""
        if isinstance(error, CellError) and error.row is not None and error.column is not None:
            name = f"x{error.column}" if self.names is None else self.names[error.column]
            if self.table is not None and error.name in self.table.names:
                name = str(error.name)  # a step counts its own columns
            place = f"{self.source}, row {error.row}, column {name!r}"
            if self.table is not None:
                place = self.table.place(error.row, name)
            what = _MISSING.get(error.what, f"it contains {error.what.rstrip(',')}")
            if error.what == "NaN" and has_option("--missing") and self.table is not None and not self.pairwise:
                drop = "" if has_option("--anchors") else _DROP  # a map has all rows
                return Message(f"{place}: {what}; {_FILL}{drop}")
            return Message(f"{place}: {what}: ", error.advice)
        text = error.args[0] if error.args else ""
        return Message(f"{self.source}: ", *(self._with_name(part) for part in parts_of(text)))

    def _with_name(self, part: str | Part) -> str | Part:
        """Append the name of an object to its number."""
        names = self.labels() if self.pairwise and isinstance(part, Item) else None
        if names is None or not isinstance(part, Item) or part.number >= len(names):
            return part
        return f"{part} ({names[part.number]})"

    def labels(self) -> list[str] | None:
        """Return a name for each row: its identifier, or for a square matrix its column name; None without names."""
        if self.named is not None:
            return self.named
        if self.table is None:
            return None
        if self.id is not None:
            return ["" if value is None else str(value) for value in self.table.column(self.id).to_list()]
        return self.names if self.pairwise and has_names(self.table) else None

    def kept(self, keep: KeepOptions, copied: Sequence[str] = ()) -> tuple[pl.Series | None, pl.DataFrame | None]:
        """Return the identifier column and the columns to write before the coordinates, ``copied`` among them."""
        import polars as pl

        if self.table is None:
            return None, None
        ids = None if self.id is None else self.table.column(self.id)
        if keep.keep_columns:
            return ids, self.table.with_aside()
        names = [*([] if keep.color is None else [keep.color]), *keep.shown, *copied]
        columns = [self.table.column(name) for name in dict.fromkeys(names)]
        columns = [column for column in columns if _is_cell(column)]
        return ids, pl.DataFrame(columns) if columns else None


def _is_cell(column: pl.Series) -> bool:
    """Return whether the values of a column are single cells; images as bytes are not."""
    return not (column.dtype.is_nested() or str(column.dtype) == "Binary")


def row_names(given: Input) -> list[str]:
    """Return a name for each row: its identifier, or its line or row number in the file."""
    labels = given.labels()
    if labels is not None:
        return labels
    first = None if given.table is None else given.table.first_line
    word, start = ("row", 0) if first is None else ("line", first)
    return [f"{word} {start + i}" for i in range(given.shape[0])]


def columns_in_words(given: Input) -> str:
    """Return the number of columns with the first names, such as "13: alcohol, ash, …", or the size of images."""
    from ..data.pixels import pixel_shape

    count, names = f"{given.shape[1]:,}", given.names
    image = pixel_shape(names)
    if image is not None:
        colours = " in three colours" if len(image) == 3 else ""
        return f"{count}: images of {image[1]} × {image[0]} pixels{colours}"
    before = None if given.steps is None else getattr(given.steps.steps[0][1], "names_in_", None)
    if before is not None and set(before) != set(names or ()):  # steps made other columns of those of the table
        return f"{_counted(before)} ({count} column{'' if count == '1' else 's'} after the steps below)"
    if names is None or names == default_names(given.shape[1]):
        return count
    return _counted(names)


def left_out_in_words(given: Input) -> dict[str, str]:
    """Return the fact "left out" of a report: the first columns that are not reduced, with reasons; {} without any."""
    left = [f"{name} ({reason})" for name, reason in given.left_out.items() if reason != "kept aside"]
    more = f", … ({len(left):,} in all)" if len(left) > _ALL_LISTED else ""
    return {"left out": ", ".join(left[:_ALL_LISTED]) + more} if left else {}


def _counted(names: Sequence[str]) -> str:
    shown = names if len(names) <= _ALL_LISTED else names[:_NAMES_LISTED]
    return f"{len(names):,}: {', '.join(shown)}{', …' if len(shown) < len(names) else ''}"


def default_names(n: int) -> list[str]:
    """Return default names for n unnamed columns."""
    return [f"x{i}" for i in range(n)]


def has_names(table: Table) -> bool:
    """Return whether the file has column names; otherwise they are the default names."""
    return bool(table.names != default_names(table.n_columns))


def require_columns(table: Table, wanted: Sequence[str], *, filled: bool = False) -> None:
    """Raise `DataError` if columns are missing; the message lists them with similar names, and all that are needed.

    ``filled``: the model fills missing values.
    """
    there = [*table.names, *table.aside.columns]
    missing = [name for name in wanted if name not in there]
    if not missing:
        return
    lost = f"{len(missing)} of the {len(wanted)} columns" if len(wanted) > 1 else "the column"
    needs = f" The model requires {_listed(wanted)}." if len(wanted) > 1 else ""
    has = f" {table.source} has {_listed(there)}."
    empty = " The model fills missing values, so a column may also be empty." if filled else ""
    raise DataError(
        f"{table.source} is missing {lost} that the model requires: {_near(missing, there, wanted)}; rename or add "
        f"columns in {table.source}.{needs}{has}{empty}"
    )


def _listed(names: Sequence[str]) -> str:
    more = f", … ({len(names):,} in all)" if len(names) > _NAMES_LISTED else ""
    return f"{', '.join(names[:_NAMES_LISTED])}{more}"


def _near(missing: Sequence[str], there: Sequence[str], wanted: Sequence[str]) -> str:
    """Return missing names, each with similar ones (in any case) of columns that the model does not use."""
    free = {name.lower(): name for name in there if name not in wanted}
    texts = []
    for name in missing[:5]:
        near = [free[key] for key in difflib.get_close_matches(name.lower(), list(free), n=3, cutoff=0.5)]
        texts.append(f"{name!r}" + (f" (similar: {', '.join(near)})" if near else ""))
    return ", ".join(texts) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")


def step_for(kind: str) -> str:
    """Return the options that make numbers of text or dates."""
    if kind == "text":
        return "add --categories one-hot or --categories famd, use --method famd, or, for its words, --texts tfidf"
    return "add --dates elapsed or --dates cyclic" if kind == "dates" else "remove it from --columns"
