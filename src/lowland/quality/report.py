"""A report on the reliability of a map: all measures, a summary and the least reliable points."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.errors import DataError
from ..core.measure import Measure
from ..core.show import show
from ..rows.sampling import Sample, sample_of_scan
from .anchors import ALL, labels
from .chance import by_chance
from .contrast import contrast_of, warn_of_concentration, warn_of_dominance
from .geodesics import geodesic_correlation
from .pair_measures import MONOTONE, SPEARMAN, correlation_of, error_of, residual_of, sammon_of, stress_of
from .pairs import PairTable, UndefinedError
from .pointwise import Pointwise, pointwise_from
from .purity import Purity, purity_of
from .rank_curves import curve_of
from .rank_measures import at_chance, from_table, worst_ranks
from .ranks import RankTable, rank_table
from .spaces import Metric, coded, has_categories, sides
from .verdicts import Verdict

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Array = Any

WORST = 10  # number of least reliable points listed
GIVEN = "the rows as given"

_CURVE = 25_000_000  # anchors × points sorted for the curve, on each side

_RANKS = ("trustworthiness", "continuity", "neighborhood_overlap", "lcmc")
_PAIR_MEASURES: dict[str, Callable[[PairTable], Measure]] = {
    "pearson": correlation_of,
    "stress": stress_of,
    "sammon_stress": sammon_of,
    "residual_variance": residual_of,
    "distance_error": error_of,
}


ORDER = (
    *_RANKS,
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
    def verdict(self) -> Verdict:
        """Good, fair or poor, for neighbours and for distances."""
        names = ("trustworthiness", "continuity", "spearman", "geodesic_spearman")
        return Verdict(*(float(self.measures[name]) for name in names))

    @property
    def sentence(self) -> str:
        """A summary: neighbours, distances, and the least reliable group."""
        trust, kept, shared = (self.measures[name] for name in _RANKS[:3])
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

    def table_lines(self, names: Sequence[str] | None = None) -> list[str]:
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


def report(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    metric: Metric = "euclidean",
    anchors: int | str | None = "auto",
    pairs: int | str | None = "auto",
    groups: Any = None,
    space: str = GIVEN,
    random_state: int | None = None,
) -> Report:
    """Measure how reliable a map is, by all measures of this module.

    Neighbours are compared once for all local measures, and pairs are sampled once for all global ones.

    Parameters
    ----------
    X : array, sparse matrix, data frame, list of objects
        The data of the map; with ``metric="precomputed"`` their distances.
    Y : array
        The map, one row for each of X's.
    n_neighbors : int or None
        Number of neighbours in the local measures; None: 10, or a quarter of the points if there are fewer than 40.
    metric : str or callable
        Metric of the data; the map is compared by Euclidean distances. A table with categories is compared by FAMD's
        distances, "famd": numbers standardised, levels weighted by 1/share.
    anchors : int, "auto" or None
        Number of points to evaluate; "auto": all up to 10,000, otherwise 5,000.
    pairs : int, "auto" or None
        Number of pairs whose distances are compared; "auto": all up to 10,000 points (5,000 for ``spearman`` and
        ``monotone_stress``, which sort them; fewer with many columns), then 1,000,000.
    groups : sequence, optional
        A label for each point: every measure is then also computed for each group; ``rnx_auc`` only for the largest
        ones if there are more groups than its anchors (50 of a million points).
    space : str
        Description of X in the report, such as the original columns or the output of an earlier step.
    random_state : int, optional
        Random seed of the sampled points and pairs; None is 0.

    Examples
    --------
    >>> import lowland
    >>> X, _ = lowland.data.swiss_roll(400, random_state=0)
    >>> found = report(X, lowland.PCA(n_components=2).fit_transform(X))
    >>> found["continuity"] > 0.95, found["trustworthiness"] < 0.95, found.exact
    (True, True, True)
    >>> print(found.sentence)  # doctest: +ELLIPSIS
    Neighbours: fair (trustworthiness 0.909, continuity 0.981; ...). Distances: fair (rank correlation 0.893). ...
    """
    sample = sample_of_scan(X)
    if sample is not None:
        given: dict[str, Any] = {"metric": metric, "anchors": anchors, "pairs": pairs, "space": space}
        given |= {"groups": None if groups is None else _rows_of_sample(groups, sample, "groups")}
        own = _rows_of_sample(Y, sample, "Y")
        return _of_sample(report(sample.rows, own, n_neighbors, **given, random_state=random_state), sample)
    shown = "famd" if metric == "euclidean" and has_categories(X) else metric
    X, metric = coded(X, shown)
    both = sides(X, Y, metric, "report")
    named = None if groups is None else labels(groups, both.n, "report")
    k = max(1, min(10, both.n // 4)) if n_neighbors is None else n_neighbors
    table = rank_table(both, k, anchors, random_state, named, owner="report")
    drawn = PairTable(both, pairs, random_state, named, "report")
    found = {name: from_table(name, table) for name in _RANKS}
    found["rnx_auc"] = curve_of(both, curve_anchors(anchors, both.n), random_state, named).auc
    found |= {name: _defined(measure, drawn) for name, measure in _PAIR_MEASURES.items()}
    found["geodesic_spearman"] = geodesic_correlation(
        X, Y, table.n_neighbors, metric=metric, groups=named, random_state=random_state
    )
    found["spearman"], found["monotone_stress"] = drawn.of_order(SPEARMAN, MONOTONE)  # one sorting for both
    chance = {name: at_chance(name, table.n, table.n_neighbors) for name in _RANKS}
    chance |= {"rnx_auc": 0.0, "pearson": 0.0, "spearman": 0.0, "geodesic_spearman": 0.0, "residual_variance": 1.0}
    contrast = contrast_of(both.data, random_state, "report")
    said = (warn_of_concentration(contrast, "report"), warn_of_dominance(both.data, _names(X), "report"))
    return Report(
        both.n,
        table.n_neighbors,
        shown if isinstance(shown, str) else getattr(shown, "__name__", "a function"),
        space,
        {name: found[name] for name in ORDER},
        chance,
        contrast,
        None if named is None or _no_group_repeats(named) else purity_of(table),
        _worst(table),
        pointwise_from(table),
        tuple(text for text in said if text is not None),
        () if named is None else named.names,
        by_chance(both, table, random_state),
    )


def _rows_of_sample(values: Any, sample: Sample, name: str) -> Any:
    """Return the values of the sampled rows: of a scan or of one value or row for each row of the table."""
    found = sample_of_scan(values, len(sample.numbers))
    n = found.n_rows if found is not None else len(values)
    if n != sample.n_rows:
        raise DataError(f"report: {name} has {n:,} rows, and the table {sample.n_rows:,}")
    return np.asarray(values)[sample.numbers] if found is None else found.rows


def _of_sample(found: Report, sample: Sample) -> Report:
    """Return a report of sampled rows: it says so, and numbers of rows are those of the table."""
    if not sample.sentence:
        return found
    worst = tuple(point._replace(number=int(sample.numbers[point.number])) for point in found.worst)
    points = replace(found.points, point=sample.numbers[found.points.point])
    told = f"{sample.sentence}: neighbours are the nearest rows of the sample"
    return replace(found, worst=worst, points=points, warnings=(told, *found.warnings))


def _no_group_repeats(named: Any) -> bool:
    codes = named.codes[named.codes >= 0]
    return len(np.unique(codes)) == len(codes)


def _names(X: Any) -> Any:
    """Return the column names, or None if the data have none."""
    names = getattr(X, "names", getattr(X, "columns", None))
    return None if names is None or callable(names) else list(names)


def _defined(measure: Callable[[PairTable], Measure], table: PairTable) -> Measure:
    """Return a measure, or NaN if it is undefined for these points."""
    try:
        return measure(table)
    except UndefinedError:
        return Measure(np.nan)


def curve_anchors(anchors: int | str | None, n: int) -> int | str | None:
    """Return the number of anchors of the curve: fewer for many points, because all points are sorted for each.

    >>> curve_anchors("auto", 20_000), curve_anchors("auto", 1_000_000), curve_anchors(300, 20_000)
    (1000, 50, 300)
    >>> curve_anchors(3000, 1_000_000), curve_anchors(None, 1_000_000)
    (50, None)
    """
    if anchors is None or n <= ALL:
        return anchors
    most = max(50, min(1000, _CURVE // n))
    return most if isinstance(anchors, str) else min(anchors, most)


def _worst(table: RankTable) -> tuple[Point, ...]:
    most = worst_ranks(table.n, table.n_neighbors)
    trust, kept = 1 - table.false_ranks / most, 1 - table.missing_ranks / most
    least = np.minimum(trust, kept)
    order = np.argsort(least, kind="stable")[: min(WORST, np.count_nonzero(least < 1))]
    return tuple(Point(int(table.anchors.numbers[i]), float(trust[i]), float(kept[i])) for i in order)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the rows of a table as lines with aligned columns."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return ["  ".join(f"{x:<{w}}" for x, w in zip(row, widths, strict=True)).rstrip() for row in rows]
