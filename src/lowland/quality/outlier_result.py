"""The result of `outliers`: flagged rows, measures, and a summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.formatting import format_share
from ..core.show import show
from .odd_columns import OddColumn
from .reference import Ranking

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Array = Any

_LISTED = 5  # most rows named in the summary
_ROWS_PER_FLAG = 10  # if one row in 10 or more is flagged, they may be a separate group

WORDS = {
    "distance": "far from its nearest neighbours",
    "t2": "extreme along the first axes",
    "spe": "far from the plane of the first axes",
}


def is_group(flagged: int, n: int) -> bool:
    """Return whether so many of n rows may be a separate group."""
    return _ROWS_PER_FLAG * flagged >= n


class Searched(NamedTuple):
    """The rows among which nearest neighbours were searched: how many, and how many of them are different."""

    rows: int
    distinct: int


@dataclass(frozen=True, eq=False)
class Outliers:
    """Flagged rows, most extreme first, and their measures; see `outliers`.

    Attributes
    ----------
    rows : array of int
        Numbers of the flagged rows, the largest ratio to a limit first.
    reasons : tuple
        The measures that flagged each of them: "distance", "t2", "spe".
    distance, t2, spe : array (N,) or None
        The measures of all rows; None if not available (see ``missing``).
    limits : dict
        The limit of each measure.
    severity : array (N,)
        The largest ratio of a measure to its limit (square roots for T² and SPE); rows above 1 are flagged.
    missing : dict
        Measures that are not available, each with the reason.
    heavy : dict
        Measures with heavier tails than normal, each with the number of rows that are beyond the limit for normal data
        and not flagged.
    turn : float or None
        Rotation of the first axis, in degrees, when the flagged rows are removed; None if the first two variances are
        not distinct, with the flagged rows or without.
    angles : array (k,) or None
        Principal angles, in degrees, between the first k axes with and without them.
    share, share_without : float or None
        Share of the variance on the first axis with all rows, and without the flagged rows.
    n_components : int or None
        Number of axes for T² and SPE.
    level : float
        1 − false-positive rate in normally distributed data.
    names : tuple of str or None
        Names of all rows.
    columns : tuple or None
        For each flagged row the columns in which it is unusual, the most unusual first: ``column``, ``value``,
        ``median`` of all rows and robust ``z``. Empty if only the combination of values is unusual; None if there are
        no columns.
    ranking : Ranking or None
        Why rows are ranked and at most 1 % flagged, if the limits are not valid; otherwise None.
    searched : Searched or None
        The rows among which neighbours were searched (``rows``: all, or a random sample of a large table), and how many
        of them are different (``distinct``): equal rows count once as neighbours.
    rounds, stable : int, bool
        Number of iterations of the fit to the inliers, and whether it converged.
    sentence : str
        A summary.
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
    searched: Searched | None = None

    @property
    def mask(self) -> Array:
        """True for the flagged rows: ``X[~found.mask]`` removes them."""
        mask = np.zeros(len(self.severity), dtype=bool)
        mask[self.rows] = True
        return mask

    @property
    def may_be_a_group(self) -> bool:
        """Whether a tenth of the rows or more is flagged: so many may be a separate group."""
        return is_group(len(self.rows), len(self.severity))

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return self.sentence

    def figure(self) -> Figure:
        """Draw the largest ratio of a measure to its limit for each row, with names of the most extreme ones."""
        figure: Figure = show("outliers", self).figure
        return figure

    def _repr_html_(self) -> str:
        text: str = show("outliers html", self)
        return text

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
        """Return the result as plain values, without the measures of rows that are not flagged."""
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
            "searched": None if self.searched is None else self.searched._asdict(),
            "stable": self.stable,
        }


ODD = " Unusual values of "  # begins the last part of the summary


def sentence(
    found: Outliers, nus: Mapping[str, float | None], before: bool | None = None, after: bool | None = None
) -> str:
    """Return a summary of the result.

    ``nus`` are the degrees of freedom of the tails; ``before`` and ``after``: whether there is a distinct first axis
    with all rows, and without the flagged rows.
    """
    n, m = len(found.severity), len(found.rows)
    by_chance = n * (1 - found.level)
    number = f"{by_chance:,.0f}" if by_chance >= 10 else f"{by_chance:.2g}"
    reported = by_chance >= 0.01 and found.ranking is None
    usual = f"expected by chance in normal data: {number}" if reported else ""
    if m == 0:
        text = f"None of {n:,} rows is flagged" + (f" ({usual})." if usual else ".")
    else:
        listed = ", ".join(_called(found, int(i)) for i in found.rows[:_LISTED]) + (", …" if m > _LISTED else "")
        text = f"{m:,} of {n:,} rows {'is' if m == 1 else 'are'} flagged: {listed}"
        text += f" ({usual})." if usual else "." * (m <= _LISTED)
    if found.ranking is not None:
        text += f" {found.ranking.sentence}"
    elif found.may_be_a_group:
        text += " So many rows may be a separate group rather than outliers: inspect them before removing them."
    if m and found.share is not None and found.share_without is not None:
        text += f" {_axis(found, bool(before), bool(after))}"
    for name, count in found.heavy.items() if found.ranking is None else ():
        nu = nus.get(name)
        like = "" if nu is None else f" (like a t distribution with {nu:.2g} degrees of freedom)"
        rest = (
            "1 row beyond the limit for normal data is"
            if count == 1
            else f"{count} rows beyond the limit for normal data are"
        )
        text += f" The tail of {_NAMES[name]} is heavier than normal{like}: {rest} not flagged."
    if found.searched is not None:
        text += _search_words(found.searched, n, axes=found.t2 is not None)
    if found.columns:
        text += f"{ODD}{_called(found, int(found.rows[0]))}: {odd_words(found.columns[0])}."
    return text


def _search_words(searched: Searched, n: int, *, axes: bool) -> str:
    """Report a sample of rows among which neighbours were searched, and what equal rows count for."""
    text, which = "", "row" if searched.rows - searched.distinct == 1 else "rows"
    if searched.rows < n:
        which = "of the random rows"
        text += f" Distances are to the nearest of {searched.rows:,} random rows" + (
            ", and medians are of these; T² and the squared residual are of all rows." if axes else "."
        )
    if copies := searched.rows - searched.distinct:
        text += f" {copies:,} {which} {'repeats' if copies == 1 else 'repeat'} another row: as neighbours, equal rows "
        text += "count once, so copies do not hide an outlier" + ("; for the axes, each counts." if axes else ".")
    return text


def odd_words(columns: tuple[OddColumn, ...]) -> str:
    """List the columns in which a row is unusual, or report that no single one is."""
    return ", ".join(map(str, columns)) or "none (only the combination)"


def _axis(found: Outliers, before: bool, after: bool) -> str:
    """Report the effect of the flagged rows on the first axis."""
    assert found.share is not None
    assert found.share_without is not None
    them = "it" if len(found) == 1 else "them"
    now, then = format_share(found.share_without), format_share(found.share)
    if found.turn is not None:
        turned = f"the first principal axis turns by {found.turn:.3g}°"
        return f"Without {them} {turned} and holds {now} of the variance instead of {then}."
    if before:
        share = f"the largest share of the variance is {now} instead of {then}"
        return f"Without {them} there is no distinct first principal axis: {share}."
    if after:
        return f"There is a distinct first principal axis only without {them}; it holds {now} of the variance."
    return f"There is no distinct first principal axis with or without {them}."


_NAMES = {"distance": "the distances", "t2": "T²", "spe": "the squared residual"}


def _called(found: Outliers, i: int) -> str:
    return f"row {i}" if found.names is None else found.names[i]
