"""Interpretation of a colour column: named groups, or a continuous scale."""

from __future__ import annotations

import re
from collections.abc import Sequence
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

    def limits(self, ends: tuple[float | str, float | str]) -> tuple[float, float]:
        """Return the ends of the scale as numbers; "p5" is the 5th percentile of the present values.

        >>> read_colors([0.5, 1.5, 2.5, 9.5], 4).limits(("p0", "p50"))
        (0.5, 2.0)
        """
        low, high = (self._end(end) for end in ends)
        if not low <= high:
            raise ValueError(f"color_limits must rise; got {ends!r}, that is {low:.4g} and {high:.4g}")
        return low, high

    def _end(self, end: float | str) -> float:
        if not isinstance(end, str):
            return float(end)
        try:
            percent = float(end.removeprefix("p"))
        except ValueError:
            percent = -1.0
        if not (end.startswith("p") and 0 <= percent <= 100):
            raise ValueError(f'color_limits: an end is a number, or a percentile such as "p99"; got {end!r}')
        return float(np.percentile(self.values[self.present], percent)) if self.present.any() else 0.0


@dataclass(frozen=True)
class Groups:
    """A group number for each row, a label for each group; ``missing`` and ``others`` are numbers, or -1.

    ``tones`` are the places of the groups in the palette, if these are not their numbers.
    """

    codes: np.ndarray[Any, Any]
    labels: tuple[str, ...]
    missing: int = -1
    others: int = -1
    tones: tuple[int, ...] = ()

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
    place = groups.tones[code] if groups.tones else code
    return look.palette[place], SHAPES[place * len(SHAPES) // len(PALETTE)]


def read_colors(color: Any, n: int, highlight: Sequence[Any] | None = None) -> Scale | Groups:
    """Read a colour column: a sequence, array or Series with one value a row.

    Of ``highlight``, names of groups, each keeps its colour, and all other groups share one grey entry.

    >>> read_colors([1, 2, 1], 3).labels
    ('1', '2')
    >>> read_colors(["a", "b", "c"], 3, highlight=["b"]).labels
    ('b', 'other (2 groups)')
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
        if highlight is not None:
            raise ValueError("highlight needs groups, but color has numbers on a scale; give them as text")
        numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
        return Scale(numbers, np.isfinite(numbers))
    return _groups(values, known, highlight)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbers inside of texts by their values: "group 2" before "group 10"."""
    parts = re.split("([0-9]+)", text)
    return [(0, int(part), "") if part[:1].isdecimal() and part.isascii() else (1, 0, part) for part in parts]


def _groups(values: list[Any], known: list[Any], highlight: Sequence[Any] | None) -> Groups:
    counts: dict[Any, int] = {}
    for value in known:
        counts[value] = counts.get(value, 0) + 1
    names = sorted(counts, key=lambda value: (value, []) if isinstance(value, int) else (0, _natural(str(value))))
    rare: list[Any] = []
    tones: tuple[int, ...] = ()
    if highlight is not None:
        every, names = names, _highlighted(names, highlight)
        rare = [name for name in every if name not in names]
        tones = tuple(every.index(name) for name in names) if len(every) <= GROUPS_MOST else ()
    elif len(names) > GROUPS_MOST:
        largest = sorted(names, key=lambda value: -counts[value])  # stable: equal counts stay in order of name
        rare = largest[GROUPS_MOST - 1 :]
        names = sorted(set(names).difference(rare), key=names.index)
    codes = {name: code for code, name in enumerate(names)}
    labels = [str(name) for name in names]
    others = missing = -1
    if rare:
        others = len(labels)
        smaller = "" if highlight is not None else "smaller "
        labels.append(f"other ({len(rare):,} {smaller}group{'' if len(rare) == 1 else 's'})")
        codes.update(dict.fromkeys(rare, others))
    if len(known) < len(values):
        missing = len(labels)
        labels.append("missing")
    found = np.array([missing if _is_missing(value) else codes[value] for value in values], dtype=np.int64)
    return Groups(found, tuple(labels), missing, others, tones)


def _highlighted(names: list[Any], highlight: Sequence[Any]) -> list[Any]:
    """Return the groups to highlight, in the order of the groups; refuse unknown names and too many."""
    wanted = [highlight] if isinstance(highlight, str) else list(highlight)
    by_text = {str(name): name for name in names}
    unknown = [name for name in wanted if str(name) not in by_text]
    if unknown or not wanted:
        listed = ", ".join(map(repr, list(by_text)[:GROUPS_MOST])) + (", …" if len(by_text) > GROUPS_MOST else "")
        what = f"there is no group {str(unknown[0])!r}" if unknown else "no group is named"
        raise ValueError(f"highlight: {what}; the groups are {listed}")
    if len(set(map(str, wanted))) > GROUPS_MOST - 1:
        raise ValueError(f"highlight at most {GROUPS_MOST - 1} groups; got {len(wanted)}")
    chosen = {str(name) for name in wanted}
    return [name for name in names if str(name) in chosen]
