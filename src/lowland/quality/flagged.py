"""What a search for outliers hands back: the rows, the evidence, and both in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..settings import format_share
from .odd_columns import OddColumn
from .reference import Ranking

if TYPE_CHECKING:
    import polars as pl

Array = Any

_LISTED = 5  # rows that a sentence names
_GROUP = 10  # one flagged row in so many: from there on they may be a group of their own

WORDS = {
    "distance": "far from its neighbours",
    "t2": "far out along the first axes",
    "spe": "off the plane of the first axes",
}


def is_group(flagged: int, n: int) -> bool:
    """Tell whether so many of n rows may be a group of their own."""
    return _GROUP * flagged >= n


@dataclass(frozen=True, eq=False)
class Outliers:
    """Rows that stand out, worst first, and the evidence; see `outliers`.

    Attributes
    ----------
    rows : array of int
        Numbers of the flagged rows, the farthest beyond its limit first.
    reasons : tuple
        For each of them the measures that flagged it: "distance", "t2", "spe".
    distance, t2, spe : array (N,) or None
        The measures of all rows; None where there is none (see ``missing``).
    limits : dict
        Up to where each measure is ordinary.
    severity : array (N,)
        How many times its limit the worst measure of a row is, T² and SPE by their roots: above 1 is flagged.
    missing : dict
        Why a measure is missing.
    heavy : dict
        Measures whose bulk is spread more widely than that of normal rows, with the number of rows that lie beyond the
        limit for normal rows and are not flagged.
    turn : float or None
        Degrees by which the first axis turns when the flagged rows are left out; None where, with them or without,
        no axis stands out from the second.
    angles : array (k,) or None
        Principal angles, in degrees, between the first k axes with and without them.
    share, share_without : float or None
        Share of the variance that the first axis holds with all rows, and without the flagged ones.
    n_components : int or None
        Axes behind T² and SPE.
    level : float
        Share of ordinary normal rows that is not flagged.
    names : tuple of str or None
        Names of all rows.
    columns : tuple or None
        For each flagged row the columns in which it is unusual, the most unusual first: ``column``, ``value``,
        ``median`` of all rows and robust ``z``. Empty where each value is ordinary and only their combination is not;
        None where there are no columns.
    ranking : Ranking or None
        Why rows are ranked, and at most 1 % flagged, where the limits do not hold; None where they do.
    rounds, stable : int, bool
        How often the bulk was fitted, and whether the same rows stayed in the end.
    sentence : str
        All of that in plain words.
    """

    rows: Array
    reasons: tuple[tuple[str, ...], ...]
    distance: Array
    t2: Array | None
    spe: Array | None
    limits: Mapping[str, float]
    severity: Array
    missing: Mapping[str, str]
    heavy: Mapping[str, int]
    turn: float | None
    angles: Array | None
    share: float | None
    share_without: float | None
    n_components: int | None
    level: float
    names: tuple[str, ...] | None
    rounds: int
    stable: bool
    sentence: str
    columns: tuple[tuple[OddColumn, ...], ...] | None = None
    ranking: Ranking | None = None

    @property
    def mask(self) -> Array:
        """True for the flagged rows: ``X[~found.mask]`` leaves them out."""
        mask = np.zeros(len(self.severity), dtype=bool)
        mask[self.rows] = True
        return mask

    @property
    def may_be_a_group(self) -> bool:
        """Whether a tenth of the rows or more is flagged: that many may be a group of their own."""
        return is_group(len(self.rows), len(self.severity))

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return self.sentence

    def table(self, *, all: bool = False) -> pl.DataFrame:
        """Return the flagged rows (or all of them, in their order) as a polars data frame."""
        import polars as pl

        chosen = np.arange(len(self.severity)) if all else self.rows
        reasons = dict(zip(self.rows.tolist(), self.reasons, strict=True))
        columns: dict[str, Any] = {"row": chosen}
        if self.names is not None:
            columns["name"] = [self.names[i] for i in chosen]
        if all:
            columns["flagged"] = self.mask
        columns["reason"] = [", ".join(reasons.get(int(i), ())) for i in chosen]
        columns["severity"] = self.severity[chosen]
        for name in WORDS:
            values = getattr(self, name)
            if values is not None:
                columns[name] = values[chosen]
        return pl.DataFrame(columns, schema_overrides={"reason": pl.String, "name": pl.String} if self.names else None)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain values, without the measures of ordinary rows."""
        return {
            "rows": self.rows.tolist(),
            "names": None if self.names is None else [self.names[i] for i in self.rows],
            "reasons": [list(why) for why in self.reasons],
            "columns": None if self.columns is None else [[odd._asdict() for odd in row] for row in self.columns],
            "ranking": None if self.ranking is None else asdict(self.ranking),
            "severity": self.severity[self.rows].tolist(),
            "limits": dict(self.limits),
            "missing": dict(self.missing),
            "heavy": dict(self.heavy),
            "turn": self.turn,
            "angles": None if self.angles is None else self.angles.tolist(),
            "share": self.share,
            "share_without": self.share_without,
            "n_components": self.n_components,
            "level": self.level,
            "n_rows": len(self.severity),
            "stable": self.stable,
        }


def sentence(
    found: Outliers, nus: Mapping[str, float | None], before: bool | None = None, after: bool | None = None
) -> str:
    """Say in plain words what was found.

    ``nus`` are the degrees of freedom of the tails; ``before`` and ``after`` tell whether a first axis stands out with
    all rows, and without the flagged ones.
    """
    n, m = len(found.severity), len(found.rows)
    by_chance = n * (1 - found.level)
    number = f"{by_chance:,.0f}" if by_chance >= 10 else f"{by_chance:.2g}"
    told = by_chance >= 0.01 and found.ranking is None
    usual = f"of normal rows {number} would be flagged by chance" if told else ""
    if m == 0:
        text = f"None of {n} rows stands out" + (f" ({usual})." if usual else ".")
    else:
        listed = ", ".join(_called(found, int(i)) for i in found.rows[:_LISTED]) + (", …" if m > _LISTED else "")
        text = f"{m} of {n} rows {'stands' if m == 1 else 'stand'} out: {listed}"
        text += f" ({usual})." if usual else "." * (m <= _LISTED)
    if found.ranking is not None:
        text += f" {found.ranking.sentence}"
    elif found.may_be_a_group:
        text += " That many may be a group of their own rather than outliers: look at them before leaving them out."
    if m and found.share is not None and found.share_without is not None:
        text += f" {_axis(found, bool(before), bool(after))}"
    for name, count in found.heavy.items() if found.ranking is None else ():
        nu = nus.get(name)
        like = "" if nu is None else f", as of a t with {nu:.2g} degrees of freedom"
        rest = (
            "1 row beyond the limit of normal rows is"
            if count == 1
            else f"{count} rows beyond the limit of normal rows are"
        )
        text += f" The tail of {_NAMES[name]} is heavier than normal{like}: {rest} not flagged."
    if found.columns:
        text += f" Unusual in {_called(found, int(found.rows[0]))}: {odd_words(found.columns[0])}."
    return text


def odd_words(columns: tuple[OddColumn, ...]) -> str:
    """Name the columns in which a row is unusual, or say that no single one is."""
    return ", ".join(map(str, columns)) or "the combination of values (each by itself is ordinary)"


def _axis(found: Outliers, before: bool, after: bool) -> str:
    """Say what the flagged rows do to the first axis, or that there is none to turn."""
    assert found.share is not None
    assert found.share_without is not None
    them = "it" if len(found) == 1 else "them"
    now, then = format_share(found.share_without), format_share(found.share)
    if found.turn is not None:
        turned = f"the first axis turns by {found.turn:.3g}°"
        return f"Without {them} {turned} and holds {now} of the variance instead of {then}."
    if before:
        return f"Without {them} no first axis stands out: the largest share of the variance is {now} instead of {then}."
    if after:
        return f"Only without {them} does a first axis stand out; it holds {now} of the variance."
    return f"No first axis stands out with or without {them}, so none is turned."


_NAMES = {"distance": "the distances", "t2": "T²", "spe": "the residual"}


def _called(found: Outliers, i: int) -> str:
    return f"row {i}" if found.names is None else found.names[i]
