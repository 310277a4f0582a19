"""`Report`: the measures of a map, with a summary and the least reliable points."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.measure import Measure
from ..core.show import show
from .pointwise import Pointwise
from .purity import Purity
from .verdicts import Verdict

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

RANKS = ("trustworthiness", "continuity", "neighborhood_overlap", "lcmc")  # of neighbours

ORDER = (
    *RANKS,
    "rnx_auc",
    "spearman",
    "geodesic_spearman",
    "pearson",
    "monotone_stress",
    "stress",
    "sammon_stress",
    "residual_variance",
    "distance_error",
)


class Point(NamedTuple):
    """A point by its number, with its trustworthiness and continuity."""

    number: int
    trustworthiness: float
    continuity: float


@dataclass(frozen=True, eq=False)
class Report:
    """Measures of a map; prints as a table with a summary. See `report`.

    Attributes
    ----------
    n, n_neighbors : int
        Number of points, and of neighbours in the local measures.
    metric, space : str
        Metric of the data, and the space that the map is compared with.
    measures : mapping of str to Measure
        Each with its interval, and with ``.groups`` if groups were given. NaN if a measure is undefined.
    chance : mapping of str to float
        Expected values for a random map.
    contrast : Measure
        Mean distance in the data divided by the mean distance to the nearest neighbour; near 1 neighbours are random.
    purity : Purity or None
        With groups, the share of neighbours in the same group, in the data and in the map.
    worst : tuple of Point
        The least reliable of the evaluated points; perfect points are not listed.
    points : Pointwise
        Measures of each evaluated point.
    warnings : tuple of str
        Warnings about the reliability of the measures.
    by_chance : bool
        Whether neighbours and distances are preserved no better than by a map with shuffled rows.
    sample_rows : int or None
        For tables that are read in blocks, the number of sampled rows to which the measures in ``of_sample`` refer;
        None if all measures are those of all rows.
    """

    n: int
    n_neighbors: int
    metric: str
    space: str
    measures: Mapping[str, Measure]
    chance: Mapping[str, float]
    contrast: Measure
    purity: Purity | None
    worst: tuple[Point, ...]
    points: Pointwise = field(repr=False)
    warnings: tuple[str, ...] = ()
    groups: tuple[Hashable, ...] = field(default=())
    by_chance: bool = False
    sample_rows: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "measures", MappingProxyType(dict(self.measures)))
        object.__setattr__(self, "chance", MappingProxyType(dict(self.chance)))

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy cannot be sent to a process by itself
        values = [dict(x) if isinstance(x, MappingProxyType) else x for x in vars(self).values()]
        return Report, tuple(values)

    def __getitem__(self, name: str) -> Measure:
        """Return a measure by its name."""
        if name not in self.measures:
            raise KeyError(f"{name!r}; there are {', '.join(self.measures)}")
        return self.measures[name]

    @property
    def exact(self) -> bool:
        """Whether all points and pairs were used; the ``contrast``, which describes the data, may still be sampled."""
        return all(measure.exact for measure in self.measures.values())

    @property
    def of_sample(self) -> tuple[str, ...]:
        """Names of the measures of a sample; the other ones compare anchors with all rows."""
        return () if self.sample_rows is None else tuple(name for name in self.measures if name not in RANKS)

    @property
    def scope(self) -> str:
        """What the measures of tables that are read in blocks refer to; empty if all are of all rows."""
        if self.sample_rows is None:
            return ""
        every = ", ".join(RANKS[:-1]) + f" and {RANKS[-1]}"
        more = ", purity" if self.purity is not None else ""
        return (
            f"{every}{more}, the relative contrast and the measures of rows compare {len(self.points):,} anchors with "
            f"all {self.n:,} rows; the other measures are of a sample of {self.sample_rows:,} rows, and their "
            "intervals do not include the choice of the sample"
        )

    @property
    def verdict(self) -> Verdict:
        """Good, fair or poor, for neighbours and for distances."""
        names = ("trustworthiness", "continuity", "spearman", "geodesic_spearman")
        return Verdict(*(float(self.measures[name]) for name in names))

    @property
    def sentence(self) -> str:
        """A summary: neighbours, distances, and the least reliable group."""
        trust, kept, shared = (self.measures[name] for name in RANKS[:3])
        order = self.measures["spearman"]
        if self.by_chance:
            return (
                f"No better than chance (trustworthiness {trust:.3f}, continuity {kept:.3f}; rank correlation "
                f"{order:.3f}): are the rows of the data and of the map in the same order?"
            )
        text = self.verdict.sentence(f"; {shared * self.n_neighbors:.1f} of {self.n_neighbors} are the same")
        worst = self.worst_group
        if worst is not None and trust.groups is not None:
            low = min(trust.groups[worst], (kept.groups or trust.groups)[worst])
            which = "trustworthiness" if trust.groups[worst] <= (kept.groups or trust.groups)[worst] else "continuity"
            text += f" Neighbours are kept worst in group {worst} ({which} {low:.3f})."
        if self.purity is not None:
            text += f" {self.purity.sentence}"
        return text

    @property
    def is_poor(self) -> bool:
        """Whether neighbours are called poor in ``sentence``; then another map may be better."""
        return "neighbours" in self.verdict.poor

    @property
    def worst_group(self) -> Hashable | None:
        """The group whose neighbours are preserved worst; None without groups."""
        trust, kept = self.measures["trustworthiness"].groups, self.measures["continuity"].groups
        if not trust or not kept or len(trust) < 2:
            return None
        found: Hashable = min(trust, key=lambda name: min(float(trust[name]), float(kept[name])))
        return found

    def rows(self) -> list[tuple[str, str, str]]:
        """Return (name, value with interval, chance) for a table."""
        chance = self.chance
        found = [(n, str(m), f"{chance[n]:.4g}" if n in chance else "") for n, m in self.measures.items()]
        if self.purity is not None:
            found.append(("purity in the data", str(self.purity.data), f"{self.purity.chance:.4g}"))
            found.append(("purity in the map", str(self.purity.map), f"{self.purity.chance:.4g}"))
        return [*found, ("relative contrast", str(self.contrast), "1")]

    def table_lines(self, names: Sequence[str] | Mapping[int, str] | None = None) -> list[str]:
        """Return the lines of the table, without summary and warnings; the last line lists the least reliable points.

        They are given by number (``least trusted points: 7, 2``), or by name if ``names`` of all points are given
        (``least trusted rows: ...``).
        """
        rows = [("measure", "value [95 %]" if not self.exact else "value", "chance"), *self.rows()]
        head = (
            f"{self.n:,} points, {self.n_neighbors} neighbours; trust is measured against {self.space} ({self.metric})"
        )
        lines = [head, "", *_aligned(rows)]
        if len(self.groups) > 1:
            lines += ["", *_aligned(self._group_rows())]
        worst = ", ".join(str(point.number) if names is None else names[point.number] for point in self.worst)
        which, seen = "points" if names is None else "rows", len(self.points)
        if seen < self.n:
            which = f"of the {seen:,} evaluated {which}"
        return [*lines, "", f"least trusted {which}: {worst or 'none, all keep their neighbours'}"]

    def __str__(self) -> str:
        return "\n".join([*self.table_lines(), self.sentence, *self.warnings])

    def _group_rows(self) -> list[tuple[str, ...]]:
        names = ("trustworthiness", "continuity", "spearman")
        head = ("group", *names, *(("purity data", "purity map") if self.purity else ()))
        parts = [self.measures[name].groups or {} for name in names]
        if self.purity:
            parts += [self.purity.data.groups or {}, self.purity.map.groups or {}]
        return [head, *((str(g), *(f"{part[g]:.4g}" if g in part else "" for part in parts)) for g in self.groups)]

    def figure(self) -> Figure:
        """Draw the measures between 0 and 1, with their intervals and values by chance."""
        figure: Figure = show("measures", self).figure
        return figure

    def _repr_html_(self) -> str:
        text: str = show("report html", self)
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {
            "n": self.n,
            "n_neighbors": self.n_neighbors,
            "metric": self.metric,
            "space": self.space,
            "measures": {name: measure.to_dict() for name, measure in self.measures.items()},
            "chance": dict(self.chance),
            "contrast": self.contrast.to_dict(),
            "purity": None if self.purity is None else self.purity.to_dict(),
            "worst": [point._asdict() for point in self.worst],
            "by_chance": self.by_chance,
            "sample_rows": self.sample_rows,
            "sentence": self.sentence,
            "warnings": list(self.warnings),
        }

    def to_frame(self) -> pl.DataFrame:
        """Return one row for each measure, and for each measure and group."""
        import polars as pl

        rows = []
        for name, whole in self.measures.items():
            for group, m in ((None, whole), *((whole.groups or {}).items())):
                rows.append((name, None if group is None else str(group), float(m), m.low, m.high, m.exact))
        schema = {
            "measure": pl.String,
            "group": pl.String,
            "value": pl.Float64,
            "low": pl.Float64,
            "high": pl.Float64,
            "exact": pl.Boolean,
        }
        return pl.DataFrame(rows, schema=schema, orient="row")


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the rows of a table as lines with aligned columns."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return ["  ".join(f"{x:<{w}}" for x, w in zip(row, widths, strict=True)).rstrip() for row in rows]
