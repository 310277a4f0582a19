"""Columns that outweigh all others because of their units: the rules and the text of every such warning.

A reduction by variances mostly repeats columns with most of the variance. Neighbours are local, and on a long band one
column has most of the variance too, so for neighbours a column must have a far larger range than any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .formatting import format_share
from .message import Message, Setting

_ALWAYS_DOMINANT = 0.75  # share of the variance, with three or more columns
_DOMINANT_OF_TWO = 0.95  # with two columns one of them nearly always has the larger share
_MIN_SHARE = 0.5  # with a smaller share the other columns outweigh it
_TIMES_THE_MEAN = 9.0  # variance as a multiple of the others' mean: three times their standard deviation
_SECOND_TO_FIRST = 0.25  # a second column with this share of the first one's variance is reported with it
_MIN_COLUMNS_FOR_A_PAIR = 5  # two of fewer columns are about half of the table, whatever their units
_TIMES_OTHER_RANGES = 100.0  # the other columns then change its distances by a ten-thousandth at most
_FAMD_AXIS = re.compile(r"famd[0-9]+")


def dominant_columns(variances: Any) -> tuple[tuple[int, ...], float] | None:
    """Return the one or two columns with most of the variance and their share, or None if no column dominates.

    A column dominates if it holds more than all others together and its variance is more than nine times their mean.
    With D columns that is a share above max(1/2, 9/(8 + D)): 69 % of 5, 60 % of 7, half of 10 or more. Above 75 % it
    always does. A share that is large only because there are few columns is therefore not reported: iris, four lengths
    in one unit, has a column with 68 % (6 times the mean of the others); the flight number of nycflights, 63 % of 13
    columns (21 times), is reported. Two columns dominate if together they hold more than half and each is more than
    nine times the mean of the others, unless the first dominates alone and the second is far smaller. The only column
    that varies does not dominate: scaling changes nothing about constant ones (see `only_varying`).

    >>> dominant_columns([1.0, 100.0, 2.0])
    ((1,), 0.970873786407767)
    >>> dominant_columns([18.0, 18.0, 1.0, 1.0, 1.0, 1.0])
    ((0, 1), 0.9)
    >>> dominant_columns([6.0, 2.0, 2.0])
    """
    values = np.asarray(variances, dtype=np.float64)
    total, varying = float(values.sum()), int((values > 0).sum())
    if varying < 2 or not total > 0:
        return None
    first, second = (int(i) for i in np.argsort(-values, kind="stable")[:2])
    one, both = float(values[first] / total), float((values[first] + values[second]) / total)
    alone = one > _dominant_share(varying, len(values))
    if varying >= _MIN_COLUMNS_FOR_A_PAIR and not (alone and values[second] < _SECOND_TO_FIRST * values[first]):
        others = (1 - both) * total / (varying - 2)
        if both > _MIN_SHARE and values[second] > _TIMES_THE_MEAN * others:
            return (first, second), both
    return ((first,), one) if alone else None


def _dominant_share(varying: int, width: int) -> float:
    """Return the share above which one column dominates; ``width`` includes the constant columns."""
    if width == 2:
        return _DOMINANT_OF_TWO
    return min(_ALWAYS_DOMINANT, max(_MIN_SHARE, _TIMES_THE_MEAN / (_TIMES_THE_MEAN + varying - 1)))


def dominant_words(variances: Any, names: Sequence[Any] | None) -> str | None:
    """Return a sentence on the one or two columns with most of the variance, or None if no column dominates.

    The subject is always singular, so that the next clause can say "it". Axes of FAMD never dominate by their units:
    FAMD has weighted the columns, and the first axis has the largest variance by construction.

    >>> dominant_words([1.0, 100.0, 2.0], ["age", "income", "height"])
    "column 'income' holds 97.1 % of the variance"
    >>> dominant_words([18.0, 18.0, 1.0, 1.0, 1.0, 1.0], None)
    'the pair of columns 0 and 1 holds 90.0 % of the variance'
    """
    found = dominant_columns(variances)
    if found is None or _are_famd_axes(names):
        return None
    columns, share = found
    named = [_name(column, names) for column in columns]
    subject = f"column {named[0]}" if len(named) == 1 else f"the pair of columns {named[0]} and {named[1]}"
    return f"{subject} holds {format_share(share)} of the variance"


def only_varying(variances: Any, names: Sequence[Any] | None) -> str | None:
    """Return a sentence on the only column that varies, or None if several or none do, or if it is the only column.

    >>> only_varying([0.0, 4.0, 0.0], ["year", "income", "country"])
    "column 'income' holds all of the variance, because the other 2 columns are constant"
    >>> only_varying([1.0, 4.0, 0.0], None)
    """
    values = np.asarray(variances, dtype=np.float64)
    varying = np.flatnonzero(values > 0)
    if len(varying) != 1 or len(values) < 2:
        return None
    others = "the other column is" if len(values) == 2 else f"the other {len(values) - 1:,} columns are"
    return f"column {_name(int(varying[0]), names)} holds all of the variance, because {others} constant"


def range_words(ranges: Any, names: Sequence[Any] | None) -> str | None:
    """Return a sentence on the column that alone decides which rows are neighbours, or None if there is none.

    Ranges are None where units do not matter.

    >>> range_words([1.0, 500.0, 2.0], ["age", "income", "height"])
    "the range of column 'income' is 250 times that of any other column"
    >>> range_words([1.0, 50.0, 2.0], None)
    """
    values = np.asarray([] if ranges is None else ranges, dtype=np.float64)
    if len(values) < 2 or _are_famd_axes(names):
        return None
    second, first = np.argsort(values, kind="stable")[-2:]
    if not 0 < _TIMES_OTHER_RANGES * values[second] < values[first]:  # constant columns count in no unit
        return None
    times = f"{values[first] / values[second]:,.0f} times that of any other column"
    return f"the range of column {_name(int(first), names)} is {times}"


def _are_famd_axes(names: Sequence[Any] | None) -> bool:
    """Return whether all columns are axes of FAMD, by their names."""
    return names is not None and all(_FAMD_AXIS.fullmatch(str(name)) for name in names)


def _name(column: int, names: Sequence[Any] | None) -> str:
    return str(column) if names is None else repr(str(names[column]))


def dominance(words: str, effect: str, remedy: Setting | None) -> Message:
    """Return the warning that columns dominate: ``words`` of one of the rules above, the effect and the remedy.

    None is for methods without a parameter that scales the columns.

    >>> text = dominance("column 0 holds 97 % of the variance", "so axis 1 repeats it", Setting("scale", True))
    >>> print(text.split("; ")[1])
    if the columns have different units, use scale=True, which divides each by its standard deviation
    """
    units = f"{words}, {effect}; if the columns have different units, "
    if remedy is None:
        return Message(units, "divide each by its standard deviation first")
    return Message(units, "use ", remedy, ", which divides each by its standard deviation")
