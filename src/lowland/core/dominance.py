"""When one column or two hold most of the variance, a reduction mostly repeats them: one rule for all who say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .formatting import format_share
from .message import Message, Setting

MOST = 0.75  # more than this of three columns or more is said in any case
MOST_OF_TWO = 0.95  # one of two columns nearly always has the larger part
HALF = 0.5  # less than this, and the other columns outweigh it
TIMES_THE_OTHERS = 9.0  # a standard deviation three times that of the others
LIKE_THE_FIRST = 0.25  # half its standard deviation: such a second column is named with the first
FEWEST_FOR_A_PAIR = 5  # among fewer columns two are about half of all, and a plane in three is no matter of units


def dominant_columns(variances: Any) -> tuple[tuple[int, ...], float] | None:
    """Return the one or two columns that hold most of the variance and their share, or None where none do.

    A column dominates if it holds more than all others together and its variance is more than nine times their mean.
    Of D columns that is a share of max(1/2, 9/(8 + D)): 69 % of 5, 60 % of 7, half of 10 or more. From 75 % on it
    always does. So a share that is large only because there are few columns is not reported: iris, four lengths in
    one unit, has a column with 68 % (6 times the mean of the others); the flight number of nycflights, 63 % of 13
    columns (21 times), is reported. Two columns dominate by the same rule, together more than half and each more than
    nine times the mean of the others, unless the first does so alone and the second is far smaller.

    >>> dominant_columns([1.0, 100.0, 2.0])
    ((1,), 0.970873786407767)
    >>> dominant_columns([18.0, 18.0, 1.0, 1.0, 1.0, 1.0])
    ((0, 1), 0.9)
    >>> dominant_columns([6.0, 2.0, 2.0])
    """
    values = np.asarray(variances, dtype=np.float64)
    total, varying = float(values.sum()), int((values > 0).sum())
    if len(values) < 2 or not total > 0:
        return None
    first, second = (int(i) for i in np.argsort(-values, kind="stable")[:2])
    one, both = float(values[first] / total), float((values[first] + values[second]) / total)
    alone = one > _most_of_one(varying, len(values))
    if varying >= FEWEST_FOR_A_PAIR and not (alone and values[second] < LIKE_THE_FIRST * values[first]):
        others = (1 - both) * total / (varying - 2)
        if both > HALF and values[second] > TIMES_THE_OTHERS * others:
            return (first, second), both
    return ((first,), one) if alone else None


def _most_of_one(varying: int, width: int) -> float:
    """Return the share from which one column dominates; constant columns count only towards the case of two."""
    if width == 2:
        return MOST_OF_TWO
    return min(MOST, max(HALF, TIMES_THE_OTHERS / (TIMES_THE_OTHERS + varying - 1)))


def dominant_words(variances: Any, names: Sequence[Any] | None) -> str | None:
    """Say which one or two columns hold most of the variance, and how much; None where none do.

    Either way the subject is singular, so that a sentence can go on with "it".

    >>> dominant_words([1.0, 100.0, 2.0], ["age", "income", "height"])
    "column 'income' holds 97.1 % of the variance"
    >>> dominant_words([18.0, 18.0, 1.0, 1.0, 1.0, 1.0], None)
    'the pair of columns 0 and 1 holds 90.0 % of the variance'
    """
    found = dominant_columns(variances)
    if found is None:
        return None
    columns, share = found
    named = [str(column) if names is None else repr(str(names[column])) for column in columns]
    subject = f"column {named[0]}" if len(named) == 1 else f"the pair of columns {named[0]} and {named[1]}"
    return f"{subject} holds {format_share(share)} of the variance"


def dominance(words: str, effect: str, remedy: Setting) -> Message:
    """Return the warning that one or two columns dominate: the words of `dominant_words`, the effect and the remedy.

    >>> text = dominance("column 0 holds 97 % of the variance", "so axis 1 repeats it", Setting("scale", True))
    >>> print(text.split("; ")[1])
    if the columns have different units, use scale=True, which divides each by its standard deviation
    """
    units = "; if the columns have different units, use ", remedy, ", which divides each by its standard deviation"
    return Message(f"{words}, {effect}", *units)
