"""What happened to cells between the file and the method, in sentences for a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from .input import Input
    from .reading_options import ReadingOptions

_NAMED = 6  # columns that a sentence lists


def cells_in_words(given: Input, reading: ReadingOptions) -> list[str]:
    """Say which cells were read as missing or as parts of limits, how many were filled, and what is constant."""
    said = []
    if reading.na:
        said.append(f"Read as missing, beside the usual marks: {', '.join(map(repr, reading.na))}.")
    if reading.below_limit in ("half", "missing"):
        how = "half of the limit" if reading.below_limit == "half" else "missing"
        said.append(f"Numbers below a limit, such as <0.5, read as {how}.")
    if reading.above_limit in ("limit", "missing"):
        how = "the limit" if reading.above_limit == "limit" else "missing"
        said.append(f"Numbers above a limit, such as >100, read as {how}.")
    columns = _columns(given)
    if not columns:
        return said
    gaps = [column for column in columns if _missing(column)]
    if gaps:
        number = sum(map(_missing, gaps))
        cells = sum(len(column) for column in columns)
        what = "Filled" if _are_filled(given, gaps) else "Missing, for a step or the method to deal with:"
        share = f"{100 * number / cells:.2g} % of the cells"
        said.append(f"{what} {number:,} cells in {len(gaps):,} of {len(columns):,} columns ({share}).")
    constant = [column.name for column in columns if column.drop_nulls().n_unique() < 2]
    if constant:
        more = f" and {len(constant) - _NAMED:,} more" if len(constant) > _NAMED else ""
        said.append(f"Constant columns, which tell nothing: {', '.join(constant[:_NAMED])}{more}.")
    return said


def _columns(given: Input) -> Sequence[pl.Series]:
    """Return the columns of the table that are reduced, as they were read."""
    if given.table is None or given.pairwise:
        return []
    names = given.names if given.steps is None else given.steps.steps[0][1].names_in_
    frame = given.table.frame
    return [frame[name] for name in names or () if name in frame.columns]


def _missing(column: pl.Series) -> int:
    found = column.null_count()
    return found + int(column.is_nan().sum() or 0) if column.dtype.is_float() else found


def _are_filled(given: Input, gaps: Sequence[pl.Series]) -> bool:
    """Return whether a step fills the gaps; one that does not fill categories refuses them."""
    step = None if given.steps is None else given.steps.named_steps.get("missing")
    return step is not None and (step.method != "keep" or not any(column.dtype.is_numeric() for column in gaps))
