"""Class accuracy: the share of rows whose class is guessed right, for all rows and for each class.

`lowland.compare` scores maps by it with votes of nearest neighbours, `lowland.quality.downstream` with any learner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any


@dataclass(frozen=True)
class Target:
    """Classes of the rows: a code for each, −1 where it is missing, and the names of the codes."""

    name: str
    codes: Array
    names: tuple[str, ...]


def voted(votes: Array, count: int) -> Array:
    """Return the class that most of each row's votes are for; of equal ones, that of the first vote among them.

    >>> voted(np.array([[0, 1, 1, 2, 2, 0], [2, 1, 1, 0, 2, 1]]), 3).tolist()
    [0, 1]
    """
    rows = np.arange(len(votes))
    counts = np.zeros((len(votes), count), dtype=np.int64)
    for column in votes.T:
        counts[rows, column] += 1
    leads = np.take_along_axis(counts, votes, axis=1) == counts.max(axis=1)[:, None]
    return votes[rows, leads.argmax(axis=1)]


def share_right(guesses: Array, codes: Array) -> Array:
    """Return the share of right guesses, for each column of guesses; −1 is no guess, NaN the share of none.

    >>> share_right(np.array([0, 1, 1, -1]), np.array([0, 1, 0, 1])).round(3).tolist()
    0.667
    """
    guesses = np.asarray(guesses)
    truth = codes[:, None] if guesses.ndim == 2 else codes
    counted = (guesses >= 0) & (truth >= 0)
    total = counted.sum(axis=0)
    return (counted & (guesses == truth)).sum(axis=0) / np.where(total > 0, total, np.nan)


def by_class(guess: Array, target: Target) -> dict[str, float]:
    """Return the share of each class that is guessed right; a row without a guess (−1) counts as wrong."""
    return {
        name: float((guess[target.codes == code] == code).mean())
        for code, name in enumerate(target.names)
        if (target.codes == code).any()
    }


def balanced(classes: dict[str, float]) -> float:
    """Return the balanced accuracy: the mean over classes, whatever their sizes."""
    return float(np.mean(list(classes.values())))


def largest_share(codes: Array) -> float:
    """Return the share of the largest class, which is the accuracy of naming it always."""
    known = codes[codes >= 0]
    return float(np.bincount(known).max() / len(known))


def confused(guess: Array, target: Target) -> dict[str, str]:
    """Return for each class the other one that it is most often taken for."""
    out = {}
    for code, name in enumerate(target.names):
        wrong = guess[(target.codes == code) & (guess != code)]
        if len(wrong):
            out[name] = target.names[int(np.bincount(wrong).argmax())]
    return out
