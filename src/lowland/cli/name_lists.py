"""Lists of column names and of numbers on the command line."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from .answer import UsageError


def split_names(texts: Sequence[str], option: str) -> list[str] | None:
    """Read column names from comma-separated texts; a name with a comma is put in double quotes.

    >>> split_names(['a,b', '"c,d"'], "--columns")
    ['a', 'b', 'c,d']
    """
    if not texts:
        return None
    names = [name.strip() for row in csv.reader(texts, skipinitialspace=True) for name in row]
    if not names or not all(names):
        raise UsageError(f"{option} takes column names separated by commas, such as {option} height,weight")
    return names


def split_counts(text: str, option: str) -> list[int]:
    """Read whole numbers from 1 up, separated by commas.

    >>> split_counts("2, 5,10", "--components")
    [2, 5, 10]
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise UsageError(f"{option} {text}: write whole numbers ≥ 1, separated by commas, such as 2,5,10")
    return [int(part) for part in parts]
