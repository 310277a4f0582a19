"""Outlier detection: flagged rows, reasons, and their effect on the principal axes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays, thread_pool
from ..core.dominance import dominance, dominant_words
from ..core.errors import DataError, DominantColumnWarning, LowlandWarning
from ..core.message import SCALE, Message, Owner, Setting
from ..core.random import seed
from ..core.whole import is_whole
from ..graph.neighbors import objects
from ..rows.object_rows import are_objects, take
from ..rows.row_source import RowSource, as_rows, single_pass_error
from ..spectral.solved import ComponentRule
from .checks import check_level, check_neighbors, row_names
from .limits import Limit
from .neighbor_distance import UNKNOWN, distance_limit, divided, neighbor_search, normal_distances, sample
from .novelty_detection import novelty
from .novelty_result import Novelty
from .odd_columns import OddColumn, indicators, odd_columns
from .outlier_result import WORDS, Outliers, Searched, is_group, sentence
from .reference import MOST_RANKED, Ranking, ranking
from .robust_pca import ROWS_EACH, InlierSearch, Judged, RobustAxes, angles, distinct_first
from .spaces import FAMD, famd_axes, has_categories, naming

__all__ = ["WORDS", "Novelty", "Outliers", "novelty", "outliers"]

Array = Any
Metric = str | Callable[[Any, Any], Any]
Measured = dict[str, tuple[Array, Limit]]  # measures of all rows by name, each with its limit

LEAST = 10  # least number of rows
_OBJECTS_AT_ONCE = 4096  # objects compared at a time


def outliers(
    X: Any,
    n_neighbors: int = 10,
    *,
    n_components: int | str = "auto",
    level: float = 0.999,
    metric: Metric = "euclidean",
    scale: bool = False,
    names: Sequence[Any] | None = None,
    anchors: int | str | None = "auto",
    random_state: int | None = None,
    table: Any = None,
) -> Outliers:
    """Find outliers, explain why each is flagged, and measure their effect on the principal axes.

    Each row has three measures, each with a limit:

    - distance: to its ``n_neighbors``-th nearest neighbour (Ramaswamy, Rastogi and Shim 2000);
    - T² = Σ y_j²/λ_j: Hotelling's statistic over the first principal axes of the inliers;
    - SPE = ‖x − x̂‖²: the squared residual from these axes (Jackson and Mudholkar 1979).

    The axes are fitted to the inliers: rows beyond a limit are left out of the fit, which is repeated until the set of
    inliers does not change, from a robust start (50 % breakdown). So outliers do not determine the axes that they are
    measured against. In normally distributed data a fraction of about ``1 − level`` of the rows is flagged. If the
    inliers have heavier tails than normal, this is reported and the limits are those of a t distribution fitted to
    them. If a tenth of the rows or more is beyond the limits and the other rows are not normally distributed (such as
    mostly duplicates), the limits are not valid: rows are then ranked by the axes of all rows, and at most 1 % are
    flagged (``ranking`` gives the reason).

    Parameters
    ----------
    X : array, sparse matrix, data frame, list of objects, blocks
        At least 10 rows. With ``metric="precomputed"`` a distance matrix: then, as with a metric of objects, only
        the distance is measured. A table with categories is measured in the metric of FAMD, which standardises the
        numbers; a level that makes a row unusual is listed as "column=level".
    n_neighbors : int
        k of the k-nearest-neighbour distance. In a cluster of more than k outliers this distance is small; T² and SPE
        still detect the cluster if it is separate.
    n_components : int or "auto"
        Number of principal axes; "auto": by parallel analysis of the inliers (10 if both the rows and the columns
        exceed 750). At most a fifth of the number of rows.
    level : float
        1 − false-positive rate in normally distributed data, in (0.5, 1).
    metric : str or callable
        Metric of the nearest-neighbour distance.
    scale : bool
        Divide each column by its standard deviation (of the inliers) first.
    names : sequence, optional
        Names of the rows, for messages and tables.
    anchors : int, "auto" or None
        Number of rows, drawn at random, to search for neighbours: "auto": all up to 10,000, otherwise 5,000; None: all.
    random_state : int, optional
        Random seed; None is 0.
    table : data frame, optional
        The table that steps made X of, such as axes of FAMD: unusual columns are those of this table. Default: X.

    Returns
    -------
    Outliers

    Examples
    --------
    A single outlier rotates the first axis by 60 degrees:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> t = rng.standard_normal(100)
    >>> X = np.column_stack([t, 0.5 * t + 0.1 * rng.standard_normal(100)])
    >>> X[17] = 0.0, 30.0
    >>> found = outliers(X)
    >>> found.rows.tolist(), found.reasons
    ([17], (('distance', 't2', 'spe'),))
    >>> round(found.turn)
    60

    References
    ----------
    J. E. Jackson, A User's Guide to Principal Components, Wiley 1991. N. Locantore et al., Robust principal component
    analysis for functional data, Test 8 (1999). S. Ramaswamy, R. Rastogi, K. Shim, Efficient algorithms for mining
    outliers from large data sets, SIGMOD 2000.
    """
    check_parameters(n_neighbors, n_components, level, anchors)
    if not isinstance(scale, bool | np.bool_):
        raise ValueError(Message(Owner("outliers"), Setting("scale"), f" must be true or false; it is {scale!r}"))
    asked = _Request(n_neighbors, n_components, level, metric, bool(scale), names, anchors, seed(random_state), table)
    known = are_objects(X) or metric == "precomputed"
    with thread_pool.one_blas_thread(), naming("outliers, X"):
        return _by_distances(X, asked) if known else _by_rows(X, asked)


@dataclass(frozen=True)
class _Request:
    """The parameters of `outliers`."""

    k: int
    n_components: int | str
    level: float
    metric: Metric
    scale: bool
    names: Sequence[Any] | None
    anchors: int | str | None
    rng: np.random.Generator
    table: Any = None


def _by_distances(X: Any, asked: _Request) -> Outliers:
    """Find outliers among objects of which only distances are known."""
    if asked.scale:
        raise DataError(Message(Owner("outliers"), "a distance matrix has no columns to scale; remove ", SCALE))
    if asked.n_components != "auto":
        raise DataError(
            Message(Owner("outliers"), "a distance matrix has no principal axes; remove ", Setting("n_components"))
        )
    square = asked.metric == "precomputed"
    items = objects(X, asked.metric, "outliers")
    if sp.issparse(items):
        raise DataError(Message(Owner("outliers"), "a sparse distance matrix is incomplete; give a dense one"))
    n = items.shape[0]
    _require_rows(n)
    few = sample(n, asked.anchors, asked.rng)
    some = items[np.ix_(few, few)] if square and len(few) < n else items[few] if len(few) < n else items
    _require_neighbors(asked.k, len(few))
    search = neighbor_search(asked.metric, some, asked.k)

    def against(block: Array) -> Array:
        return search.distances(block[:, few[search.first]] if square else block)

    d = np.concatenate([against(items[i : i + _OBJECTS_AT_ONCE]) for i in range(0, n, _OBJECTS_AT_ONCE)])
    null = normal_distances(UNKNOWN, search.search.n, search.k, asked.rng)
    reach = distance_limit(d, null, 1 - asked.level)
    why = "the input is a distance matrix" if square else "the objects are not rows of numbers"
    names = row_names(asked.names, X, n, "outliers")
    searched = Searched(len(few), search.search.n)
    return _result(_measured(d, reach, None), None, None, asked.level, names, searched, {"t2": why, "spe": why})


def _by_rows(X: Any, asked: _Request) -> Outliers:
    """Find outliers among rows of numbers."""
    from ..data.squares import warn_of_square

    given, (X, shown, labels) = X, _coded(X, asked)
    if labels is not None:
        asked = replace(asked, scale=False, metric="euclidean")
    rows = as_rows(arrays.to_numpy(X) if arrays.is_foreign(X) else X, owner="outliers")
    if not rows.reiterable:
        raise single_pass_error("outliers")
    n = rows.count()
    _require_rows(n)
    names = row_names(asked.names, given, n, "outliers")
    few = sample(n, asked.anchors, asked.rng)
    _require_neighbors(asked.k, len(few))
    some = _take(rows, few)
    if rows.array is not None:
        warn_of_square(rows.array, "outliers, X", stacklevel=4)
    share = (1 - asked.level) / (3 if rows.n_features > 1 else 2)  # of each measure
    inliers = InlierSearch(rows, some, _count(asked, rows), asked.scale, share, asked.rng)
    kept = inliers.find()
    d, reach, distinct_rows = _distances(rows, some, asked, inliers.judged(kept).axes, share)
    never = d > reach.value
    if (never & kept).any():
        kept = inliers.settle(kept & ~never, never)
    judged = inliers.judged(kept)
    measures = _measured(d, reach, judged)
    ordinary = severity_of(measures) <= 1
    reason = ranking(judged, ordinary, some, few) if is_group(n - int(ordinary.sum()), n) else None
    if reason is not None:
        judged = inliers.whole(recount=asked.n_components == "auto")
        d, reach, distinct_rows = _distances(rows, some, asked, judged.axes, share)
        measures = _measured(d, reach, judged)
    if not asked.scale and labels is None:
        _warn_dominant(judged.axes, rows.names)
    told = labels
    if asked.table is not None:
        shown, told = indicators(asked.table, n)
    missing = {} if judged.spe_limit is not None else {"spe": "the axes span all dimensions, so there is no residual"}
    out = _result(
        measures,
        judged,
        inliers,
        asked.level,
        names,
        Searched(len(few), distinct_rows),
        missing,
        reason,
        lambda numbers: _odd(rows, some, numbers) if told is None else odd_columns(shown[numbers], shown, told),
    )
    if not inliers.stable:
        warnings.warn(
            Message(
                Owner("outliers"),
                f"the set of inliers did not converge in {inliers.rounds} iterations: some rows are near a limit",
            ),
            LowlandWarning,
            stacklevel=3,
        )
    return out


def _coded(X: Any, asked: _Request) -> tuple[Any, Any, list[str] | None]:
    """Return a table with categories as coordinates of FAMD, and as numbers and indicators with their names."""
    if asked.metric not in ("euclidean", FAMD) or not (asked.metric == FAMD or has_categories(X)):
        return X, None, None
    famd = famd_axes(X)
    return famd.transform(X), famd.coded(X) * famd.scale_ + famd.mean_, famd.coded_names_


def _odd(rows: RowSource, some: Array, numbers: Array) -> tuple[tuple[OddColumn, ...], ...]:
    """Return the columns in which some rows are unusual."""
    order = np.argsort(numbers)
    found = odd_columns(_take(rows, numbers[order]), some, rows.names) if len(numbers) else ()
    return tuple(found[place] for place in np.argsort(order))


def _count(asked: _Request, rows: RowSource) -> int | None:
    """Return the requested number of components, None for ``auto``."""
    if asked.n_components == "auto":
        return None
    count, n = int(asked.n_components), rows.count()
    most = max(1, min(rows.n_features, n // ROWS_EACH))
    if count > most:
        large = f" is too large for {n} rows and {rows.n_features} columns; use at most {most} (no more than one "
        raise DataError(
            Message(Owner("outliers"), Setting("n_components", count), large, f"component for every {ROWS_EACH} rows)")
        )
    return count


def _distances(
    rows: RowSource, some: Array, asked: _Request, axes: RobustAxes, share: float
) -> tuple[Array, Limit, int]:
    """Return the nearest-neighbour distance of each row, its limit for inliers with these axes, and the distinct rows.

    The last is the number of different ones among the rows that were searched.
    """
    search = neighbor_search(asked.metric, divided(some, axes.scale), asked.k)
    found = rows.map_blocks(lambda block: search.distances(divided(block, axes.scale))[:, None], 1, np.float64)
    d = arrays.to_numpy(found)[:, 0]
    spectrum = np.concatenate([axes.variances, axes.rest()]) if asked.metric == "euclidean" else UNKNOWN
    n = search.search.n
    return d, distance_limit(d, normal_distances(spectrum, n, search.k, asked.rng), share), n


def _measured(d: Array, reach: Limit, judged: Judged | None) -> Measured:
    """Return the available measures, each with its limit."""
    found = {"distance": (d, reach)}
    if judged is not None:
        found["t2"] = judged.t2, judged.t2_limit
        if judged.spe_limit is not None:
            found["spe"] = judged.spe, judged.spe_limit
    return found


def severity_of(measures: Measured) -> Array:
    """Return the largest ratio of a measure to its limit for each row (square roots for T² and SPE)."""
    severity = np.zeros(len(measures["distance"][0]))
    for name, (values, limit) in measures.items():
        ratio = values / limit.value if limit.value > 0 else np.where(values > 0, np.inf, 0.0)
        severity = np.maximum(severity, ratio if name == "distance" else np.sqrt(ratio))
    return severity


def _raised(measures: Measured) -> Measured:
    """Raise all limits by the same factor until at most `MOST_RANKED` of the rows are flagged."""
    severity = severity_of(measures)
    most = int(MOST_RANKED * len(severity))
    times = float(-np.partition(-severity, most)[most]) * (
        1 + 1e-9
    )  # just above the first row that is not to be flagged
    if not 1 < times < np.inf:
        return measures
    powers = {name: times if name == "distance" else times**2 for name in measures}
    return {
        name: (values, replace(limit, value=powers[name] * limit.value, normal=powers[name] * limit.value))
        for name, (values, limit) in measures.items()
    }


def _result(
    measures: Measured,
    judged: Judged | None,
    inliers: InlierSearch | None,
    level: float,
    names: tuple[str, ...] | None,
    searched: Searched,
    missing: Mapping[str, str],
    reason: Ranking | None = None,
    columns_of: Callable[[Array], tuple[tuple[OddColumn, ...], ...]] | None = None,
) -> Outliers:
    """Combine the measures into the result; ``reason``: why rows are only ranked."""
    found = measures if reason is None else _raised(measures)
    severity = severity_of(found)
    flagged = np.flatnonzero(severity > 1)
    flagged = flagged[np.argsort(-severity[flagged], kind="stable")]
    reasons = tuple(tuple(name for name, (v, limit) in found.items() if v[i] > limit.value) for i in flagged)
    spared = {name: int(((v > limit.normal) & (severity <= 1)).sum()) for name, (v, limit) in found.items()}
    heavy = {name: count for name, count in spared.items() if count}
    turned: tuple[Any, ...] = (
        (None,) * 6 if inliers is None or judged is None else _turned(inliers, flagged, judged.axes.k)
    )
    turn, between, share, share_without, *clear = turned
    out = Outliers(
        flagged,
        reasons,
        found["distance"][0],
        None if judged is None else judged.t2,
        judged.spe if judged is not None and "spe" in found else None,
        {name: limit.value for name, (_, limit) in found.items()},
        severity,
        missing,
        heavy,
        turn,
        between,
        share,
        share_without,
        None if judged is None else judged.axes.k,
        level,
        names,
        0 if inliers is None else inliers.rounds,
        True if inliers is None else inliers.stable,
        "",
        None if columns_of is None else columns_of(flagged),
        reason,
        searched,
    )
    nus = {name: limit.nu for name, (_, limit) in found.items() if limit.nu is not None}
    return replace(out, sentence=sentence(out, nus, *clear))


def _turned(inliers: InlierSearch, flagged: Array, k: int) -> tuple[float | None, Array, float, float, bool, bool]:
    """Return the rotation of the first axis, the principal angles of the first k, and the first axis' variance shares.

    Also return whether the first axis is distinct, with all rows and without the flagged ones: if the first variances
    are equal, the axis is arbitrary and its rotation has no meaning.
    """
    kept = np.ones(inliers.n, dtype=bool)
    wanted = ComponentRule(
        count=min(max(k, 2), inliers.rows.n_features, inliers.n - len(flagged) - 1)
    )  # two, to test whether the first is distinct
    before = inliers.fit(kept, wanted)
    kept[flagged] = False
    after = before if len(flagged) == 0 else inliers.fit(kept, wanted)
    shares = float(before.variances[0] / before.total), float(after.variances[0] / after.total)
    clear = distinct_first(before), distinct_first(after)
    if len(flagged) == 0:
        return 0.0, np.zeros(k), *shares, *clear
    turn = float(angles(before.directions[:, :1], after.directions[:, :1])[0]) if all(clear) else None
    return turn, angles(before.directions[:, :k], after.directions[:, :k]), *shares, *clear


# -- checks --------------------------------------------------------------------------------------------


def _take(rows: RowSource, numbers: Array) -> Array:
    """Return some rows after checking their values."""
    if rows.sparse:
        for block in rows.blocks():
            rows.check(block)
        if rows.array is not None:
            return rows.array[numbers]
        return sp.vstack([block.rows for block in rows.blocks()]).tocsr()[numbers]
    return take(rows, numbers)


def check_parameters(k: int, n_components: int | str, level: float, anchors: int | str | None) -> None:
    """Raise ValueError for parameters that are invalid for any data."""
    check_neighbors(k, "outliers")
    check_level(level, "outliers")
    if n_components != "auto" and not is_whole(n_components, 1):
        least = f" must be a whole number ≥ 1 or 'auto'; it is {n_components!r}"
        raise ValueError(Message(Owner("outliers"), Setting("n_components"), least))
    if anchors is not None and anchors != "auto" and not is_whole(anchors, LEAST):
        least = f" must be a whole number ≥ {LEAST}, 'auto' or None; it is {anchors!r}"
        raise ValueError(Message(Owner("outliers"), Setting("anchors"), least))


def _require_rows(n: int) -> None:
    if n < LEAST:
        few = f"{n} {'row is' if n == 1 else 'rows are'} too few to detect outliers; give at least {LEAST}"
        raise DataError(Message(Owner("outliers"), few))


def _require_neighbors(k: int, n: int) -> None:
    if k >= n:
        few = f" must be less than the number of rows searched ({n})"
        raise DataError(Message(Owner("outliers"), Setting("n_neighbors", k), few))


def _warn_dominant(axes: RobustAxes, names: Sequence[str] | None) -> None:
    found = dominant_words(axes.columns, names)
    if found is not None:
        text = dominance(found, "so it dominates the distances", SCALE)
        warnings.warn(Message(Owner("outliers"), text), DominantColumnWarning, stacklevel=4)
