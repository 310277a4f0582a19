"""Decimal and thousands marks of numbers: which marks a table uses, and its cells as plain numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

_SPACES = " \u00a0\u202f\u2009"
_APOSTROPHES = "'\u2019"
_CLASSES = {" ": f"[{_SPACES}]", "'": f"[{_APOSTROPHES}]", ",": ",", ".": r"\."}


@dataclass(frozen=True)
class Marks:
    """The decimal mark and the thousands mark (None: there is none) of a table.

    >>> Marks(",", ".").plain("1.234,5")
    '1234.5'
    """

    decimal: str = "."
    thousands: str | None = None

    @property
    def pattern(self) -> str:
        """The regular expression of a number with these marks."""
        point = _CLASSES[self.decimal]
        whole = "[0-9]+"
        if self.thousands:
            whole = f"(?:[0-9]{{1,3}}(?:{_CLASSES[self.thousands]}[0-9]{{3}})+|[0-9]+)"
        return rf"[+-]?(?:(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf(?:inity)?))"

    def plain(self, cell: str) -> str:
        """Return a number with a decimal point and no thousands marks; any other cell as it is."""
        if not re.fullmatch(self.pattern, cell):
            return cell
        if self.thousands:
            cell = re.sub(_CLASSES[self.thousands], "", cell)
        return cell.replace(self.decimal, ".")

    def matches(self, cells: pl.Series) -> pl.Series:
        """Return which trimmed cells are numbers with these marks."""
        return _matches(cells, self.pattern).fill_null(False)

    def rewritten(self, cells: pl.Series) -> pl.Series:
        """Return trimmed cells with the other decimal mark replaced, where it cannot separate thousands.

        >>> Marks(",").rewritten(pl.Series(["0.5", "0.005", "1.200", "1,5"])).to_list()
        ['0,5', '0,005', '1.200', '1,5']
        """
        other = "." if self.decimal == "," else ","
        sure = _matches(cells, _DECIMALS[other]) & ~_matches(cells, self.pattern)
        replaced = cells.str.replace(other, self.decimal, literal=True)
        return pl.select(pl.when(sure).then(replaced).otherwise(cells).alias(cells.name)).to_series()

    def numbers(self, cells: pl.Series) -> pl.Series | None:
        """Return trimmed cells as numbers, or None if some cell is not a number with these marks."""
        if not _matches(cells, self.pattern).all(ignore_nulls=True):
            return None
        if self.thousands:
            cells = cells.str.replace_all(_CLASSES[self.thousands], "")
        if self.decimal != ".":
            cells = cells.str.replace(self.decimal, ".", literal=True)
        whole = cells.str.strip_prefix("+").cast(pl.Int64, strict=False)
        if whole.null_count() == cells.null_count():
            return whole
        return cells.cast(pl.Float64)


PLAIN = Marks()


class MarkEvidence(NamedTuple):
    """Which marks the cells of a column use without doubt; ``thousands`` is the mark."""

    decimal_comma: bool = False
    thousands: str | None = None


# Without doubt: 1,5, 0,123 and 1086,250 have decimal commas, 1.234.567 and 1.234,5 thousands points, 1 200 spaces.
_ANY = rf"[+-]?[0-9]*(?:[{_SPACES}{_APOSTROPHES},.][0-9]+)*[.,]?(?:[eE][+-]?[0-9]+)?"
_DECIMAL_COMMA = (
    r"[+-]?(?:[0-9]*,(?:[0-9]{1,2}|[0-9]{4,})|0+,[0-9]+|[0-9]{4,},[0-9]+|[0-9]*,[0-9]+[eE][+-]?[0-9]+|"
    rf"[0-9]{{1,3}}(?:[{_SPACES}{_APOSTROPHES}.][0-9]{{3}})+,[0-9]+)"
)
_DECIMALS = {  # numbers with one mark that cannot separate thousands
    mark: rf"[+-]?(?:[0-9]+{point}(?:[0-9]{{0,2}}|[0-9]{{4,}})|{point}[0-9]+|(?:0+|[0-9]{{4,}}){point}[0-9]+|"
    rf"[0-9]*{point}[0-9]+[eE][+-]?[0-9]+)(?:[eE][+-]?[0-9]+)?"
    for mark, point in ((",", ","), (".", r"\."))
}
_GROUPS = {
    ".": r"[+-]?[0-9]{1,3}(?:(?:\.[0-9]{3})+,[0-9]+|(?:\.[0-9]{3}){2,})",
    ",": r"[+-]?[0-9]{1,3}(?:(?:,[0-9]{3})+\.[0-9]*|(?:,[0-9]{3}){2,})",
    " ": rf"[+-]?[0-9]{{1,3}}(?:[{_SPACES}][0-9]{{3}})+(?:[.,][0-9]+)?",
    "'": rf"[+-]?[0-9]{{1,3}}(?:[{_APOSTROPHES}][0-9]{{3}})+(?:[.,][0-9]+)?",
}


def evidence(cells: pl.Series) -> MarkEvidence | None:
    """Return which marks the numbers of a column of trimmed cells use without doubt; None if most cells are no numbers.

    >>> evidence(pl.Series(["1.234,5", "12", "n.d.", None]))
    MarkEvidence(decimal_comma=True, thousands='.')
    """
    numbers = cells.filter(_matches(cells, _ANY) & cells.str.contains("[0-9]"))
    if 2 * len(numbers) <= cells.count():
        return None
    cells = numbers
    thousands = next((mark for mark, pattern in _GROUPS.items() if _matches(cells, pattern).any()), None)
    return MarkEvidence(bool(_matches(cells, _DECIMAL_COMMA).any()), thousands)


def marks_of(columns: Iterable[pl.Series], decimal: str | None, thousands: str | None, separator: str) -> Marks:
    """Return the marks of a table from its columns of trimmed cells; ``decimal`` and ``thousands`` are those set.

    Where commas separate the cells, a decimal comma is not detected: a cell such as 1,5 may be a list.

    >>> marks_of([pl.Series(["1,5", "2"]), pl.Series(["x", "y"])], None, None, ";")
    Marks(decimal=',', thousands=None)
    """
    if decimal is not None and thousands is not None:
        return Marks(decimal, thousands or None)
    proofs = [proof for proof in map(evidence, columns) if proof is not None]
    groups = [proof.thousands for proof in proofs if proof.thousands is not None]
    if decimal is None:
        commas = any(proof.decimal_comma for proof in proofs) and separator != ","
        decimal = "," if commas and "," not in groups else "."
    mark = thousands or None
    if thousands is None:
        mark = next((group for group in groups if group != decimal), None)
    return Marks(decimal, mark)


def _matches(cells: pl.Series, pattern: str) -> pl.Series:
    return cells.str.contains(f"^(?:{pattern})$")
