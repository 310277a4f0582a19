"""What `column_groups` returns: groups of columns, near-duplicates, and correlations with axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.formatting import count, format_share, format_signed
from ..core.show import show
from .column_order import ColumnCorrelations

if TYPE_CHECKING:
    import polars as pl

Array = Any

_NAMED = 4  # columns named in a sentence


class NearDuplicate(NamedTuple):
    """A column that can be dropped, the column to keep instead, and their correlation."""

    column: str
    kept: str
    correlation: float


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that move together.

    ``columns`` are ordered by their correlation with the group's own first principal axis, ``weights``; a negative one
    moves against the others. ``share`` is the share of the group's variance on that axis. ``axis`` is the axis of the
    whole table that the group's axis is most correlated with, ``correlation`` by how much.
    """

    columns: tuple[str, ...]
    weights: tuple[float, ...]
    share: float
    axis: str
    correlation: float

    def words(self, most: int = 12) -> str:
        """Return the columns as text, those that move against the others with a minus."""
        shown = [f"{'−' if w < 0 else ''}{name}" for name, w in zip(self.columns[:most], self.weights, strict=False)]
        more = len(self.columns) - most
        return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


@dataclass(frozen=True, eq=False)
class ColumnGroups:
    """Which columns of a table move together; see `column_groups`.

    Attributes
    ----------
    names : tuple of str
        The columns, without ``constant`` ones, which have no correlation.
    groups : tuple of ColumnGroup
        Groups, the largest first; other columns belong to none. ``by_tree`` says how they were found.
    duplicates : tuple of NearDuplicate
        Columns that can be dropped; None if they were not looked for.
    lost : float
        Share of the variance of the scaled columns that is lost if they are dropped and predicted from those kept.
    components_lost : float or None
        The same for as many principal components as columns are kept.
    axes : (d, k) array
        Correlation of every column with every axis, ``axis_names``.
    matrix : ColumnCorrelations
        Correlations of the columns that are drawn, in the order of their tree.
    chance : float
        Absolute correlation that no pair of unrelated normal columns exceeds, with a probability of 95 % (Bonferroni).
    """

    names: tuple[str, ...]
    n_rows: int
    groups: tuple[ColumnGroup, ...]
    duplicates: tuple[NearDuplicate, ...] | None
    lost: float
    components_lost: float | None
    axes: Array = field(repr=False)
    axis_names: tuple[str, ...]
    matrix: ColumnCorrelations = field(repr=False)
    chance: float
    threshold: float
    duplicate: float
    by_tree: bool = True
    constant: tuple[str, ...] = ()

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: number for number, group in enumerate(self.groups) for name in group.columns}

    def group_of(self, column: str) -> int | None:
        """Return the number of a column's group, from 0; None if it belongs to none."""
        return self._places.get(column)

    @property
    def keep(self) -> tuple[str, ...]:
        """The columns that are left when near-duplicates are dropped."""
        dropped = {pair.column for pair in self.duplicates or ()}
        return tuple(name for name in self.names if name not in dropped)

    def axis_columns(self, axis: int, most: int = _NAMED) -> list[tuple[str, float]]:
        """Return the columns most correlated with an axis, counted from 0, with their correlations."""
        values = self.axes[:, axis]
        return [(self.names[j], float(values[j])) for j in np.argsort(-np.abs(values), kind="stable")[:most]]

    @property
    def drawn_words(self) -> str:
        """What the heat map shows."""
        d, shown = len(self.names), len(self.matrix.names)
        if shown == d:
            return f"{count(d, 'column')}, ordered by their tree"
        return f"{shown} of {d:,} columns: those most correlated with each axis"

    @property
    def sentence(self) -> str:
        """A summary."""
        d, inside = len(self.names), len(self._places)
        parts = [self._grouped(inside, d)]
        if self.groups:
            first = self.groups[0]
            parts.append(f"The largest: {first.words(_NAMED)} ({first.axis}, r = {format_signed(first.correlation)}).")
        if self.threshold < self.chance:
            parts.append(
                f"With {count(self.n_rows, 'row')}, correlations up to {self.chance:.2f} occur by chance among so many "
                "pairs: groups may be accidental."
            )
        if self.duplicates is None:
            parts.append("Near-duplicate columns were not looked for.")
        elif self.duplicates:
            parts.append(self._dropped())
        else:
            parts.append(f"No column is a near-duplicate of another (|r| ≥ {self.duplicate:g}).")
        if self.constant:
            listed = ", ".join(self.constant[:_NAMED]) + (", …" if len(self.constant) > _NAMED else "")
            parts.append(f"Left out because they are constant: {listed}.")
        return " ".join(parts)

    def _grouped(self, inside: int, d: int) -> str:
        """Say how many columns are in groups; of too many columns only correlations with axes are known."""
        groups = count(len(self.groups), "group")
        if self.by_tree and self.groups:
            return f"{inside:,} of {d:,} columns move together in {groups} (|r| about {self.threshold:g} or more)."
        if self.by_tree:
            return f"None of the {d:,} columns move together (|r| about {self.threshold:g} or more)."
        looked = f"|r| ≥ {self.threshold:g} with an axis"
        other = "so many columns are not compared with each other"
        if self.groups:
            return f"{inside:,} of {d:,} columns have {looked}; they are in {groups}, by axis ({other})."
        return f"None of the {d:,} columns has {looked}; columns may still move together, but {other}."

    def _dropped(self) -> str:
        kept, dropped = len(self.keep), len(self.duplicates or ())
        what, them = ("as a near-duplicate", "it") if dropped == 1 else ("as near-duplicates", "them")
        text = (
            f"{count(dropped, 'column')} can be dropped {what} (|r| ≥ {self.duplicate:g}): the {kept:,} kept columns "
            f"predict {them} and lose {_small(self.lost)} of the variance of the scaled columns"
        )
        if self.components_lost is None or kept >= self.n_rows:  # all components of so few rows lose nothing
            return f"{text}."
        return f"{text}; {count(kept, 'principal component')} would lose {_small(self.components_lost)}."

    def to_frame(self) -> pl.DataFrame:
        """Return a data frame with a row for each column: group, kept or not, and correlations with the axes."""
        import polars as pl

        pairs = {pair.column: pair for pair in self.duplicates or ()}
        groups = [self.group_of(name) for name in self.names]
        return pl.DataFrame(
            {
                "column": list(self.names),
                "group": pl.Series([None if g is None else g + 1 for g in groups], dtype=pl.Int64),
                "keep": [name not in pairs for name in self.names],
                "duplicate_of": pl.Series(
                    [pairs[name].kept if name in pairs else None for name in self.names], dtype=pl.String
                ),
                **{axis: self.axes[:, i] for i, axis in enumerate(self.axis_names)},
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without the matrix of correlations."""
        own = ("n_rows", "lost", "components_lost", "chance", "threshold", "duplicate", "by_tree")
        return {
            "columns": list(self.names),
            **{name: getattr(self, name) for name in own},
            "groups": [group.to_dict() for group in self.groups],
            "duplicates": None if self.duplicates is None else [pair._asdict() for pair in self.duplicates],
            "keep": list(self.keep),
            "axes": {name: self.axes[:, i].tolist() for i, name in enumerate(self.axis_names)},
            "constant": list(self.constant),
            "sentence": self.sentence,
        }

    def plot(self, **options: Any) -> Any:
        """Draw the heat map with the groups; options as in `lowland.plots.column_groups`."""
        return show("column groups", self, **options)

    def __str__(self) -> str:
        return self.sentence


def _small(share: float) -> str:
    return "less than 0.1 %" if 0 < share < 0.001 else format_share(share)


def shown_columns(axes: Array, most: int) -> Sequence[int]:
    """Return the places of the columns that are most correlated with each axis, equally many for each, in order.

    >>> shown_columns(np.array([[0.9, 0.0], [0.8, 0.1], [0.7, 0.2], [0.0, 0.5]]), 2)
    [0, 3]
    """
    size = np.abs(axes)
    ranks = np.argsort(np.argsort(-size, axis=0, kind="stable"), axis=0)  # of a column on each axis
    return sorted(np.lexsort((-size.max(axis=1), ranks.min(axis=1)))[:most].tolist())
