"""The result of `novelty`: measures of new rows, their limits, and the columns that make rows unusual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.formatting import count
from .unusual_columns import UnusualColumn, frequent

if TYPE_CHECKING:
    import polars as pl

Array = Any

NAMES = ("t2", "spe", "distance", "cell", "terms")


@dataclass(frozen=True, eq=False)
class Novelty:
    """The result of `novelty`: the measures of each new row, their limits, and which rows exceed one.

    Attributes
    ----------
    t2, spe, distance : array (N,) or None
        Hotelling's T², the squared residual, and the distance to the training rows; None if not available.
    limits : dict
        The limit of each measure.
    missing : dict
        Measures that are not available, each with the reason.
    novel : array of bool (N,)
        Whether a measure exceeds its limit.
    judged : array of bool (N,)
        False for rows with missing values: their measures are NaN, and ``novel`` is False.
    level : float
        1 − false-positive rate for rows like the training rows.
    names : tuple of str or None
        Names of the rows.
    unusual : tuple
        For each row the columns that make it novel, at most three: ``column``, ``value``, ``measure`` and ``share``,
        the column's share of the measure. Empty for rows that are not novel.
    cell : array (N,) or None
        The largest squared deviation of a single number from the mean or from its prediction by the other columns,
        relative to its limit; None if not available.
    terms : array (N,) or None
        Of texts, by how many standard errors the share of terms that the training texts do not have exceeds theirs.
    """

    t2: Array | None
    spe: Array | None
    distance: Array | None
    limits: Mapping[str, float]
    missing: Mapping[str, str]
    novel: Array
    judged: Array
    level: float
    names: tuple[str, ...] | None = None
    unusual: tuple[tuple[UnusualColumn, ...], ...] = ()
    cell: Array | None = None
    terms: Array | None = None

    @property
    def sentence(self) -> str:
        """A summary of the result."""
        n, m = int(self.judged.sum()), int(self.novel.sum())
        left = len(self.novel) - n
        if n == 0:
            return f"None of {left} rows can be judged: each has missing values."
        called = [f"row {i}" if self.names is None else self.names[i] for i in np.flatnonzero(self.novel)[:5]]
        listed = ", ".join(called) + (", …" if m > 5 else "")
        rows = f"{n} rows" if left == 0 else f"{n} rows without missing values"
        found = f"{m} of {rows} {'is' if m == 1 else 'are'} unlike the training rows"
        text = f"{found}: {listed}{'' if m > 5 else '.'}" if m else f"None of {rows} is unlike the training rows."
        text += self._columns_sentence()
        if left == 0:
            return text
        return f"{text} The other {f'{left} rows have' if left > 1 else 'row has'} missing values and cannot be judged."

    def _columns_sentence(self) -> str:
        """Return the sentence about the unusual columns: of one row with their values, of several the most frequent."""
        rows = [row for row in self.unusual if row]
        if not rows:
            return ""
        if int(self.novel.sum()) == 1:
            return f" Unusual in it: {', '.join(map(str, rows[0]))}."
        often = self.unusual_columns
        listed = ", ".join(f"{name} ({count(times, 'row')})" for name, times in list(often.items())[:3])
        return f" {self._extreme_sentence()}Most frequent unusual columns: {listed}."

    def _extreme_sentence(self) -> str:
        """Return the sentence about the row that exceeds a limit by the largest factor; empty if it has no columns."""
        ratios = np.zeros(len(self.novel))
        for name, limit in self.limits.items():
            power = 2 if name == "distance" else 1  # the others are squares
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                ratios = np.fmax(ratios, (np.asarray(getattr(self, name)) / limit) ** power)
        i = int(np.argmax(np.where(self.novel, ratios, -1.0)))
        if not self.unusual[i]:
            return ""
        called = f"row {i}" if self.names is None else self.names[i]
        return f"Most extreme: {called} ({', '.join(map(str, self.unusual[i]))}). "

    @property
    def unusual_columns(self) -> dict[str, int]:
        """The columns listed in ``unusual``, and for how many rows, most frequent first."""
        return frequent(self.unusual)

    def __str__(self) -> str:
        return self.sentence

    def columns(self) -> dict[str, Array]:
        """Return the available measures, and ``novel``, by name."""
        there = {name: getattr(self, name) for name in NAMES if getattr(self, name) is not None}
        return {**there, "novel": self.novel}

    def table(self) -> pl.DataFrame:
        """Return the measures of all rows as a polars data frame; those of rows with missing values are null.

        The column "unusual" lists the unusual columns of novel rows with their values, as text.
        """
        import polars as pl

        called = {} if self.names is None else {"name": list(self.names)}
        frame = pl.DataFrame({**called, **self.columns(), "known": self.judged})
        measures = [pl.when("known").then(name).alias(name) for name in self.columns()]
        listed = pl.Series("unusual", self.unusual_texts(), dtype=pl.String)
        return frame.with_columns(*measures, listed).drop("known")

    def unusual_texts(self) -> list[str | None]:
        """Return the unusual columns of each row with their values, as text; None for rows without any."""
        return [", ".join(map(str, row)) or None for row in self.unusual] or [None] * len(self.novel)
