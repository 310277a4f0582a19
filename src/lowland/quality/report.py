"""A report on the reliability of a map: all measures, a summary and the least reliable points."""

from __future__ import annotations

from typing import Any

from .anchors import labels
from .contrast import contrast_of
from .ranks import rank_table
from .report_measures import ComparedSides, ReportOptions, column_names, curve_anchors, report_of
from .report_result import Point, Report
from .scanned_report import groups_of_rows, of_sample, report_of_scan, tables_of
from .spaces import Metric, coded, has_categories, sides

__all__ = ["GIVEN", "Point", "Report", "curve_anchors", "report"]

GIVEN = "the rows as given"


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
    X : array, sparse matrix, data frame, list of objects, `lowland.data.scan`
        The data of the map; with ``metric="precomputed"`` their distances.
    Y : array, `lowland.data.scan`
        The map, one row for each of X's. If X or Y is a scan with more than 20,000 rows, measures of neighbours compare
        anchors with all rows, in passes over both, and the other ones are those of a sample (`Report.of_sample`).
    n_neighbors : int or None
        Number of neighbours in the local measures; None: 10, or a quarter of the points if there are fewer than 40.
    metric : str or callable
        Metric of the data; the map is compared by Euclidean distances. A table with categories is compared by FAMD's
        distances, "famd": numbers standardised, levels weighted by 1/share.
    anchors : int, "auto" or None
        Number of points to evaluate; "auto": all up to 10,000, otherwise 5,000. For a scan "auto" is less if there are
        more than 4 million rows (20,000,000,000 divided by their number) or 20,000 columns, but at least 500.
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
    options = ReportOptions(n_neighbors, metric, anchors, pairs, groups, space, random_state)
    tables = tables_of(X, Y, metric)
    if tables is not None:
        if not tables.small and tables.by_blocks:
            return report_of_scan(tables, options)
        X, Y, sample = tables.sample()
        if not tables.small:
            few = None if groups is None else groups_of_rows(labels(groups, tables.n_rows, "report"), sample)
            given: dict[str, Any] = {
                "anchors": anchors,
                "pairs": pairs,
                "groups": few,
                "space": space,
                "random_state": random_state,
            }
            return of_sample(report(X, Y, n_neighbors, metric=metric, **given), sample, tables.n_rows)
        metric, shown = tables.metric, tables.shown
    else:
        shown = "famd" if metric == "euclidean" and has_categories(X) else metric
        X, metric = coded(X, shown)
    both = sides(X, Y, metric, "report")
    named = None if groups is None else labels(groups, both.n, "report")
    table = rank_table(both, options.neighbors(both.n), anchors, random_state, named, owner="report")
    contrast = contrast_of(both.data, random_state, "report")
    return report_of(ComparedSides(X, Y, metric, shown, both, named, column_names(X)), table, contrast, options)
