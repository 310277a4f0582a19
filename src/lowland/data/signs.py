"""Signs beside the numbers of cells: minus signs of other scripts, limits of detection, units."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import polars as pl
import pyarrow.compute as pc

BELOW, ABOVE = "<≤", ">≥"
LIMIT_SIGNS = f"{BELOW}{ABOVE}="  # before a limit of detection, in cells of values below or above it
UNIT_SIGNS = "%‰$€£¥"
_MINUS = "\u2212\u2012\u2013\ufe63\uff0d"  # minus, figure dash, en dash, small and full-width hyphen
_BEFORE = rf"^(\s*[$€£¥]?)[{_MINUS}]([$€£¥]?[.,]?[0-9])"
_POWER = rf"([0-9.,][eE])[{_MINUS}]([0-9])"
_NUMBER = r"\s*[+-]?[0-9.,]+([eE][+-]?[0-9]+)?"
BELOW_LIMIT = re.compile(rf"[{BELOW}]=?{_NUMBER}")
ABOVE_LIMIT = re.compile(rf"[{ABOVE}]=?{_NUMBER}")
_SPACE = " \u00a0\u202f"


class Limits(NamedTuple):
    """How cells such as <0.5 and >100 are read: "error", "half" or "limit", or "missing"."""

    below: str = "error"
    above: str = "error"


def with_minus(cell: str) -> str:
    """Return a number with a plain minus sign, if a sign of another script is directly before its digits.

    >>> with_minus("−3"), with_minus("–2.5e−4"), with_minus("– 3"), with_minus("a–3")
    ('-3', '-2.5e-4', '– 3', 'a–3')
    """
    return re.sub(_POWER, r"\1-\2", re.sub(_BEFORE, r"\1-\2", cell))


def with_minuses(cells: Any) -> Any:
    """Do the same for Arrow strings."""
    if not pc.any(pc.match_substring_regex(cells, f"[{_MINUS}]")).as_py():
        return cells
    return pc.replace_substring_regex(
        pc.replace_substring_regex(cells, pattern=_BEFORE, replacement=r"\1-\2"), pattern=_POWER, replacement=r"\1-\2"
    )


def unit_sign(cells: pl.Series) -> str | None:
    """Return the sign of a unit that all trimmed cells have at the same end, such as "%" or "$", or None.

    >>> [unit_sign(pl.Series(cells)) for cells in (["5%", "7 %", None], ["-$3", "$4"], ["5%", "6"])]
    ['%', '$', None]
    """
    first = next(iter(cells.drop_nulls().head(1)), "")
    for sign in UNIT_SIGNS:
        if sign in first and cells.str.contains(_signed(sign)).all(ignore_nulls=True):
            return sign
    return None


def without_sign(cells: pl.Series, sign: str) -> pl.Series:
    """Return cells without the sign that all of them have.

    >>> without_sign(pl.Series(["-$3", "$ 4"]), "$").to_list()
    ['-3', '4']
    """
    return cells.str.replace(rf"[{_SPACE}]*{re.escape(sign)}[{_SPACE}]*", "")


def _signed(sign: str) -> str:
    mark = re.escape(sign)
    before = "" if sign in "%‰" else rf"^[+-]?{mark}[{_SPACE}]?[+-]?[0-9.,][^{UNIT_SIGNS}]*$|"
    return rf"{before}^[+-]?[0-9.,][^{UNIT_SIGNS}]*{mark}$"


def limits_in(cells: pl.Series, signs: str) -> pl.Series:
    """Return which trimmed cells begin with the sign of a limit."""
    return cells.str.contains(f"^[{signs}]").fill_null(False)


def read_limits(values: pl.Series, cells: pl.Series, limits: Limits) -> pl.Series:
    """Return numbers with those of cells such as <0.5 and >100 replaced as ``limits`` say."""
    below, above = limits_in(cells, BELOW), limits_in(cells, ABOVE)
    made = pl.lit(values)
    if below.any():
        made = pl.when(below).then(pl.lit(None) if limits.below == "missing" else values / 2).otherwise(made)
    if above.any() and limits.above == "missing":
        made = pl.when(above).then(pl.lit(None)).otherwise(made)
    return pl.select(made.alias(values.name)).to_series() if (below | above).any() else values
