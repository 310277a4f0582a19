"""Interpretation of a colour column: named groups, or a continuous scale."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from .style import PALETTE, SHAPES, current

GROUPS_MOST = len(PALETTE)  # with more groups, the smaller ones share the last entry
_FEW_NUMBERS = 12  # up to this many different whole numbers are treated as groups


@dataclass(frozen=True)
class Scale:
    """A number for each row; ``present`` is False for missing values."""

    values: np.ndarray[Any, Any]
    present: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Groups:
    """A group number for each row, a label for each group; ``missing`` and ``others`` are numbers, or -1."""

    codes: np.ndarray[Any, Any]
    labels: tuple[str, ...]
    missing: int = -1
    others: int = -1

    @property
    def named(self) -> list[int]:
        """Numbers of the groups with a name of their own: not missing values, not the rest."""
        return [code for code in range(len(self.labels)) if code not in (self.missing, self.others)]


def group_style(code: int, groups: Groups) -> tuple[str, str]:
    """Return the colour and the marker of a group in the current theme."""
    look = current()
    if code == groups.missing:
        return look.faint, "x"
    if code == groups.others:
        return look.faint, "."
    return look.palette[code], SHAPES[code * len(SHAPES) // len(PALETTE)]


def read_colors(color: Any, n: int) -> Scale | Groups:
    """Read a colour column: a sequence, array or Series with one value a row.

    >>> read_colors([1, 2, 1], 3).labels
    ('1', '2')
    >>> read_colors([0.5, float("nan"), 1.5], 3).present.tolist()
    [True, False, True]
    """
    values = color.to_list() if hasattr(color, "to_list") else np.asarray(color).tolist()
    if len(values) != n:
        raise ValueError(f"color has {len(values)} values for {n} rows")
    known = [value for value in values if not _is_missing(value)]
    numeric = bool(known) and all(type(value) in (int, float) for value in known)
    few = all(type(value) is int for value in known) and len(set(known)) <= _FEW_NUMBERS
    if numeric and not few:
        numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
        return Scale(numbers, np.isfinite(numbers))
    return _groups(values, known)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbers inside of texts by their values: "group 2" before "group 10"."""
    parts = re.split("([0-9]+)", text)
    return [(0, int(part), "") if part[:1].isdecimal() and part.isascii() else (1, 0, part) for part in parts]


def _groups(values: list[Any], known: list[Any]) -> Groups:
    counts: dict[Any, int] = {}
    for value in known:
        counts[value] = counts.get(value, 0) + 1
    names = sorted(counts, key=lambda value: (value, []) if isinstance(value, int) else (0, _natural(str(value))))
    rare: list[Any] = []
    if len(names) > GROUPS_MOST:
        largest = sorted(names, key=lambda value: -counts[value])  # stable: equal counts stay in order of name
        rare = largest[GROUPS_MOST - 1 :]
        names = sorted(set(names).difference(rare), key=names.index)
    codes = {name: code for code, name in enumerate(names)}
    labels = [str(name) for name in names]
    others = missing = -1
    if rare:
        others = len(labels)
        labels.append(f"other ({len(rare):,} smaller groups)")
        codes.update(dict.fromkeys(rare, others))
    if len(known) < len(values):
        missing = len(labels)
        labels.append("missing")
    found = np.array([missing if _is_missing(value) else codes[value] for value in values], dtype=np.int64)
    return Groups(found, tuple(labels), missing, others)
