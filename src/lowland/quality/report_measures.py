"""All measures of a map, computed once for each kind: the content of a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.measure import Measure
from .anchors import ALL, Anchors, Labels
from .chance import by_chance
from .contrast import warn_of_concentration, warn_of_dominance
from .geodesics import geodesic_correlation
from .pair_measures import MONOTONE, SPEARMAN, correlation_of, error_of, residual_of, sammon_of, stress_of
from .pairs import PairTable, UndefinedError
from .pointwise import pointwise_from
from .purity import purity_of
from .rank_curves import curve_of
from .rank_measures import at_chance, from_table, worst_ranks
from .ranks import RankTable
from .report_result import ORDER, RANKS, Point, Report
from .spaces import Metric, Sides

WORST = 10  # number of least reliable points listed

_CURVE = 25_000_000  # anchors × points sorted for the curve, on each side

_PAIR_MEASURES: dict[str, Callable[[PairTable], Measure]] = {
    "pearson": correlation_of,
    "stress": stress_of,
    "sammon_stress": sammon_of,
    "residual_variance": residual_of,
    "distance_error": error_of,
}


@dataclass(frozen=True)
class ReportOptions:
    """The options of a report; see `report`."""

    n_neighbors: int | None
    metric: Metric
    anchors: int | str | None
    pairs: int | str | None
    groups: Any
    space: str
    random_state: int | None

    def neighbors(self, n: int) -> int:
        """Return the number of neighbours for n points."""
        return max(1, min(10, n // 4)) if self.n_neighbors is None else self.n_neighbors


def column_names(X: Any) -> list[Any] | None:
    """Return the column names, or None if the data have none."""
    names = getattr(X, "names", getattr(X, "columns", None))
    return None if names is None or callable(names) else list(names)


@dataclass(frozen=True)
class ComparedSides:
    """Data and map, as given and as sides, for the measures of pairs and paths; ``names`` are those of the columns."""

    X: Any
    Y: Any
    metric: Metric
    shown: Metric
    both: Sides
    named: Labels | None
    names: Any


def report_of(
    compared: ComparedSides, table: RankTable, contrast: Measure, options: ReportOptions, sample_rows: int | None = None
) -> Report:
    """Return the report: neighbours are those of the table of ranks, other measures those of the compared rows.

    ``sample_rows`` is the number of compared rows if they are a sample of those in the table.
    """
    both, seed, named = compared.both, options.random_state, table.anchors.names
    drawn = PairTable(both, options.pairs, seed, compared.named, "report")
    found = {"rnx_auc": curve_of(both, curve_anchors(options.anchors, both.n), seed, compared.named).auc}
    found |= {name: _defined(measure, drawn) for name, measure in _PAIR_MEASURES.items()}
    found["geodesic_spearman"] = geodesic_correlation(
        compared.X, compared.Y, table.n_neighbors, metric=compared.metric, groups=compared.named, random_state=seed
    )
    found["spearman"], found["monotone_stress"] = drawn.of_order(SPEARMAN, MONOTONE)  # one sorting for both
    if sample_rows is not None:
        found = {name: _sampled(measure) for name, measure in found.items()}
    found |= {name: from_table(name, table) for name in RANKS}
    chance = {name: at_chance(name, table.n, table.n_neighbors) for name in RANKS}
    chance |= {"rnx_auc": 0.0, "pearson": 0.0, "spearman": 0.0, "geodesic_spearman": 0.0, "residual_variance": 1.0}
    said = (warn_of_concentration(contrast, "report"), warn_of_dominance(both.data, compared.names, "report"))
    metric = compared.shown
    return Report(
        table.n,
        table.n_neighbors,
        metric if isinstance(metric, str) else getattr(metric, "__name__", "a function"),
        options.space,
        {name: found[name] for name in ORDER},
        chance,
        contrast,
        None if named is None or _no_group_repeats(table.anchors) else purity_of(table),
        _worst(table),
        pointwise_from(table),
        tuple(text for text in said if text is not None),
        () if named is None else named,
        by_chance(both, table, seed),
        sample_rows,
    )


def _sampled(measure: Measure) -> Measure:
    """Return a measure of a sample, which is not exact, even if it is of all pairs of the sample."""
    groups = None if measure.groups is None else {name: _sampled(part) for name, part in measure.groups.items()}
    return Measure(float(measure), measure.low, measure.high, exact=False, groups=groups)


def _no_group_repeats(chosen: Anchors) -> bool:
    assert chosen.codes is not None
    codes = chosen.codes[chosen.codes >= 0]
    return len(np.unique(codes)) == len(codes)


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
