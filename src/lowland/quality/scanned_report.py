"""Reports of tables that are read in blocks: anchors are compared with all rows, and pairs are those of a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.measure import Measure
from ..core.message import Message, Owner, Setting
from ..data.scans.table_scan import TableScan
from ..graph.measures import BoundMetric
from ..rows import sampling
from ..rows.block import Block
from ..rows.paired_rows import PairedBlock, PairedRows
from ..rows.row_source import RowSource, as_rows
from ..rows.scan_rows import ScanRows
from .anchors import Labels, anchors_of_scan, check_seed, choose, labels
from .block_counting import AnchorSide
from .block_ranks import block_rank_table
from .coded_blocks import coded_in_blocks, divided
from .contrast import ROWS, contrast_from, contrast_points, sums_and_least
from .ranks import check_count
from .report_measures import ComparedSides, ReportOptions, column_names, report_of
from .report_result import Report
from .spaces import BOTH, FAMD, Metric, coded, has_categories, naming, require_map, require_same_rows, sides

Array = Any

_WHOLE = ("mahalanobis",)  # metrics that learn more than the scale of each column from all rows


@dataclass(frozen=True)
class Tables:
    """Data and map, at least one of them read in blocks.

    ``metric`` compares the rows of ``both``, and ``shown`` those of the table as given; ``by_blocks``: whether anchors
    can be compared with all rows.
    """

    both: PairedRows
    metric: Metric
    shown: Metric
    names: Any
    by_blocks: bool

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.both.n_rows

    @property
    def small(self) -> bool:
        """Whether there are so few rows that all of them are read, for a report of arrays."""
        return self.n_rows <= sampling.SCAN_ROWS

    def sample(self) -> tuple[Array, Array, Array]:
        """Return the rows of data and map in a sample, which are all of a small table, and their numbers."""
        numbers = sampling.numbers_of(self.n_rows, sampling.SCAN_ROWS)
        X, Y = self.rows(numbers)
        named = X if self.names is None else RowSource.from_array(X, names=list(self.names))
        return named, Y, numbers

    def rows(self, numbers: Array) -> tuple[Array, Array]:
        """Return some rows of both tables, from a pass that checks all rows."""

        def check(source: RowSource, name: str) -> Callable[[Block], None]:
            def one(block: Block) -> None:
                with naming(f"report, {name}", BOTH):
                    source.check(block)

            return one

        return self.both.gather(numbers, (check(self.both.first, "X"), check(self.both.second, "Y")))


def tables_of(X: Any, Y: Any, metric: Metric) -> Tables | None:
    """Return data and map if one of them is read in blocks, else None."""
    if not (is_scanned(X) or is_scanned(Y)):
        return None
    if isinstance(metric, str) and metric == "precomputed":
        whole = " takes a matrix of distances in memory, not a table that is read in blocks; give rows and a metric"
        raise DataError(Message(Owner("report"), Setting("metric", "precomputed"), whole))
    require_map(Y)
    names, shown = column_names(X), metric
    found = coded_in_blocks(X, metric) if is_scanned(X) else None
    if found is not None:
        X, metric, shown, names = found, "euclidean", FAMD, None
    elif not is_scanned(X):
        shown = FAMD if metric == "euclidean" and has_categories(X) else metric
        X, metric = coded(X, shown)
        names = column_names(X)
    with naming("report, X", BOTH):
        data = as_rows(X, allow_sparse=False, owner="report")
    with naming("report, Y", BOTH):
        map = as_rows(Y, allow_sparse=False, owner="report")
    require_same_rows(data.count(), map.count(), "report")
    by_blocks = isinstance(metric, str) and metric not in _WHOLE
    if metric == "seuclidean" and data.count() > sampling.SCAN_ROWS:
        with naming("report, X", BOTH):
            data, metric = divided(data), "euclidean"
    return Tables(PairedRows(data, map), metric, shown, names, by_blocks)


def is_scanned(X: Any) -> bool:
    """Return whether a table is read in blocks."""
    return isinstance(X, TableScan | ScanRows)


def report_of_scan(tables: Tables, options: ReportOptions) -> Report:
    """Return the report of tables that are read in blocks, by three passes over both."""
    n, seed = tables.n_rows, check_seed(options.random_state, "report")
    k = check_count(options.neighbors(n), n, "report")
    named = None if options.groups is None else labels(options.groups, n, "report")
    count = anchors_of_scan(options.anchors, n, tables.both.first.n_features)
    chosen = choose(n, count, seed, named, owner="report")
    sample = sampling.numbers_of(n, sampling.SCAN_ROWS)
    if k >= len(sample):
        many = f" is too large for a table that is read in blocks; the largest allowed is {len(sample) - 1:,}"
        raise DataError(Message(Owner("report"), Setting("n_neighbors", k), many))
    some = contrast_points(n, seed, "report")
    every = np.unique(np.concatenate([sample, chosen.numbers, some]))
    rows = tables.rows(every)
    X, Y = (part[np.searchsorted(every, sample)] for part in rows)
    both = sides(X, Y, tables.metric, "report")
    contrast = _Contrast(both.data, rows[0][np.searchsorted(every, some)], some)
    places = np.searchsorted(every, chosen.numbers)
    anchors = [AnchorSide(side, part[places], k) for side, part in zip(both[:2], rows, strict=True)]
    del rows
    table = block_rank_table(tables.both, (anchors[0], anchors[1]), k, chosen, contrast)
    compared = ComparedSides(X, Y, tables.metric, tables.shown, both, groups_of_rows(named, sample), tables.names)
    found = report_of(compared, table, contrast.measure(n), options, len(sample))
    return replace(found, warnings=(found.scope, *found.warnings))


class _Contrast:
    """The relative contrast, from sums over blocks: called for each block, and then given the results in order."""

    def __init__(self, side: BoundMetric, rows: Array, numbers: Array) -> None:
        self.side, self.numbers, self.rows = side, numbers, side.prepare(rows)
        self.total, self.least = np.zeros(len(numbers)), np.full(len(numbers), np.inf)

    def __call__(self, block: PairedBlock) -> tuple[Array, Array]:
        return sums_and_least(self.side.on(block.rows[0]), self.rows, block.places(self.numbers))

    def add(self, found: tuple[Array, Array]) -> None:
        """Add the result of a block."""
        self.total += found[0]
        np.minimum(self.least, found[1], out=self.least)

    def measure(self, n: int) -> Measure:
        """Return the contrast of n rows."""
        return contrast_from(self.total / (n - 1), self.least, exact=n <= ROWS)


def groups_of_rows(named: Labels | None, numbers: Array) -> Labels | None:
    """Return the groups of some rows: those that have any of them.

    >>> groups_of_rows(labels(["b", "a", None, "b"], 4), np.array([0, 2]))
    Labels(names=('b',), codes=array([ 0, -1]))
    """
    if named is None:
        return None
    codes = named.codes[numbers]
    present = np.unique(codes[codes >= 0])
    place = np.full(len(named.names) + 1, -1)  # the last one is for points without a label
    place[present] = np.arange(len(present))
    return Labels(tuple(named.names[g] for g in present), place[codes]) if len(present) else None


def of_sample(found: Report, numbers: Array, n: int) -> Report:
    """Return a report of sampled rows: it says so, and numbers of rows are those of the table."""
    worst = tuple(point._replace(number=int(numbers[point.number])) for point in found.worst)
    points = replace(found.points, point=numbers[found.points.point])
    told = (
        f"measured on a sample of {len(numbers):,} of the {n:,} rows: neighbours are the nearest rows of the sample, "
        f"because the metric {found.metric} compares no anchors with a table that is read in blocks"
    )
    return replace(found, worst=worst, points=points, warnings=(told, *found.warnings))
