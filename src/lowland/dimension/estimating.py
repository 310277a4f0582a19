"""Estimate the number of linear and of intrinsic dimensions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..core.dominance import dominance, dominant_words
from ..core.errors import DataError, DominantColumnWarning, LowlandWarning
from ..core.measure import Measure
from ..core.message import SCALE, Message, Owner, message_of
from ..core.random import seed
from ..graph.neighbors import objects
from ..rows.object_rows import are_objects, gather
from ..rows.row_source import as_rows
from ..rows.sampling import sample_of_scan
from ..spectral.minka import minka
from ..spectral.parallel_analysis import above_null
from ..spectral.variances import Variances, variances_of
from . import linear as counts
from . import repeats
from .angles import Plateau, curve, plateau, scan
from .closed import is_closed
from .consensus import counting_all, median
from .correlation import correlation_dimension
from .levels import explain, that_matter, two_valued
from .neighbors import TIED, discrete, levina_bickel_of, neighbor_range, two_nn_of
from .notes import doubts, many, rough, sentence
from .points import ANGLES, Points, Spec, choose_anchors, in_memory, left_out, points_of, ties, unit_rows
from .result import Estimate

Array = Any

# metrics for which the spectrum describes the same distances, and the linear method with as many dimensions
_LINEAR: dict[Any, str] = dict.fromkeys(("euclidean", "sqeuclidean"), "PCA") | dict.fromkeys(
    ANGLES, "a linear method of unit rows"
)


def estimate(
    X: Any,
    *,
    n_neighbors: int | tuple[int, int] | None = None,
    metric: Spec = "euclidean",
    scale: bool = False,
    anchors: int | str | None = "auto",
    random_state: int | None = None,
) -> Estimate:
    """Estimate the number of dimensions of data: linear (needed by PCA) and intrinsic (of a curved shape).

    Linear counts come from the spectrum; their consensus is the median, where a rule that finds no component above
    noise counts all dimensions. The intrinsic dimension comes from the directions of neighbours at several scales:
    noise adds dimensions at fine scales, curvature at coarse ones, and the lowest plateau is reported. Estimates from
    distances are reported, too; they use the finest scale only, count noise as dimensions and are too low in many
    dimensions.

    Parameters
    ----------
    X : array, sparse matrix, data frame, RowSource, list of objects
        The rows; with ``metric="precomputed"`` their distances, for which there are no linear counts.
    n_neighbors : int or (int, int), optional
        The neighbours that `levina_bickel` averages over; default: 10 to 20, or all where there are fewer.
    metric : str or callable
        Metric of the rows. Squared distances (sqeuclidean, cosine, correlation) are replaced by their roots. For cosine
        and correlation the linear counts are those of unit rows, too; for other metrics they are those of the rows, and
        the two are not compared.
    scale : bool
        Scale each column to unit variance first.
    anchors : int, None or "auto"
        Number of points whose neighbours are used: None: all; "auto": all up to 2,000 for directions and pairs, and up
        to 10,000 for distances to neighbours. At most 100,000 points (pairs: 10,000), drawn at random, are searched. If
        rows nearly repeat others, one of each group is used, from at most 20,000 random rows.
    random_state : int, optional
        Random seed; None is 0.

    Returns
    -------
    Estimate
        The table with its consensus and a sentence; prints as a table.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.random.default_rng(0).uniform(0, 2 * np.pi, 500)
    >>> found = estimate(np.column_stack([np.cos(t), np.sin(t)]))
    >>> round(found.consensus["linear"]), round(found.consensus["nonlinear"])
    (2, 1)
    >>> found.sentence.split(":")[0]
    'The data have about 1 dimension (1 to 1.03) but 2 linear dimensions'
    """
    sample = sample_of_scan(X)
    source, spectrum = _table(in_memory(X) if sample is None else sample.rows, metric, scale, random_state)
    around = _around(
        points_of(source, "euclidean" if metric in ANGLES else metric, "estimate"), n_neighbors, anchors, random_state
    )
    points, notes = around.points, around.notes
    rng = seed(random_state)
    scales = curve(scan(points, rng, anchors), rng)
    bound = None if spectrum is None or callable(metric) else _size(spectrum, points.n)
    level = _limited(plateau(scales, bound), bound, points.n)
    nonlinear, skipped = _nonlinear(around, anchors, random_state)
    nonlinear, consensus = {"directions": level.value, **nonlinear}, {"nonlinear": level.value}
    linear: dict[str, Measure] = {}
    counted, every = dict[str, int](), dict[str, str]()
    sure = not (around.doubtful or many(level.value.high, points.n) or rough(level, scales))
    sure = sure and (level.level or level.rising)
    if spectrum is not None:
        linear, unusable, every = _linear(spectrum, random_state)
        skipped = unusable | skipped
        counted = {name: spectrum.rank if name in every else round(value) for name, value in linear.items()}
    if counted:
        consensus = {"linear": median(counted), **consensus}
        assert spectrum is not None
        sure = sure and not consensus["linear"] >= spectrum.rank < _size(spectrum, points.n)  # rows too few for fewer
    if ties(around.distances) > TIED:
        notes.append(discrete(ties(around.distances)))
    notes += doubts(level, scales, points.n)
    for text in notes:
        warnings.warn(Message(Owner("dimension"), text), LowlandWarning, stacklevel=2)
    if spectrum is not None and not scale:
        notes += _dominant(spectrum)
    of_sample = "" if sample is None else sample.sentence
    if of_sample:
        notes.append(of_sample)
    method = _LINEAR.get(metric)
    d = max(1, round(level.value))
    flat = round(consensus.get("linear", d + 1))
    levels = 0 if spectrum is None or flat <= d else that_matter(two_valued(X), spectrum.n_columns)
    sure = sure and not explain(levels, flat, d)
    closed = sure and flat > d and is_closed(points, d, seed(random_state))
    said = sentence(consensus, level, points.n, sure=sure, linear=method, closed=closed, levels=levels)
    coordinates = flat if "linear" in consensus and method and flat > d and not sure else d + closed
    return Estimate(
        linear,
        nonlinear,
        consensus,
        said,
        tuple(notes),
        skipped,
        scales,
        level,
        spectrum,
        points.n_rows,
        closed,
        coordinates,
        method if "linear" in consensus else None,
        of_sample,
        counted,
        every,
    )


def _table(X: Any, metric: Spec, scale: bool, random_state: int | None) -> tuple[Any, Variances | None]:
    """Return the rows as they are compared (scaled, or of unit length), and their spectrum."""
    if metric == "precomputed" or are_objects(X):
        if scale:
            none = " applies to columns, and a distance matrix has none; remove it"
            raise ValueError(Message(Owner("estimate"), SCALE, none))
        return X, None
    from ..data.squares import warn_of_square

    rows, names = X, None
    spectrum = None
    if scale or metric not in ANGLES:
        spectrum = variances_of(X, scale=scale, owner="estimate", random_state=random_state)
        rows, names = _divided(X, spectrum.scale), spectrum.names
    if metric in ANGLES:
        names = as_rows(X, owner="estimate").names
        rows = unit_rows(objects(rows, metric, "estimate"), str(metric))
        spectrum = replace(variances_of(rows, owner="estimate", random_state=random_state), names=names)
    warn_of_square(X, "estimate, X", stacklevel=4)
    return rows, spectrum


def _divided(X: Any, scale: Array | None) -> Any:
    """Return rows divided by the standard deviations of their columns."""
    if scale is None:
        return X
    import scipy.sparse as sp

    from ..core import arrays

    rows = gather(as_rows(X, owner="estimate"), sparse=True)
    if sp.issparse(rows):
        return rows @ sp.diags_array(1 / scale)
    return (
        np.ascontiguousarray(arrays.to_numpy(rows), dtype=np.float64) / scale
    )  # C order, so that sums have the same bits


class _Around(NamedTuple):
    """Points, the distances to the neighbours of some or all of them, and notes for the result."""

    points: Points
    distances: Array
    range: tuple[int, int]  # neighbours that levina_bickel averages over
    notes: list[str]
    doubtful: bool
    sampled: bool = False  # whether only some of the groups of repeated rows are among the points


def _around(points: Points, n_neighbors: Any, anchors: int | str | None, random_state: int | None) -> _Around:
    """Search the neighbours; if rows nearly repeat others, use one of each group."""
    notes = [left_out(points)] if points.n < points.n_rows else []
    usual = (min(10, points.n - 1), min(20, points.n - 1))
    low, high = usual if n_neighbors is None else neighbor_range(n_neighbors, points.n, "estimate")

    def look(points: Points) -> Array:
        numbers = choose_anchors(points.n, anchors, seed(random_state), "estimate")
        return points.nearest(numbers, np.arange(points.n), min(max(high, repeats.REACH + 1), points.n - 1))[1]

    distances = look(points)
    if not repeats.repeated(distances):
        return _Around(points, distances, (low, high), notes, doubtful=False)
    kept = repeats.one_of_each(points, seed(random_state))
    notes.append(repeats.repeats_note(points, kept))
    most = kept.n - 1
    return _Around(
        kept,
        look(kept),
        (min(low, most), min(high, most)),
        notes,
        doubtful=kept.n == points.n,
        sampled=points.n > repeats.GROUPED,
    )


def _linear(spectrum: Variances, random_state: int | None) -> tuple[dict[str, Measure], dict[str, str], dict[str, str]]:
    """Return the counts, why some are missing, and why some count all dimensions in the consensus."""
    rules: dict[str, Callable[[], Measure]] = {
        "variance_share": lambda: counts.variance_share(spectrum),
        "largest_gap": lambda: counts.largest_gap(spectrum),
        "participation_ratio": lambda: counts.participation_ratio(spectrum),
        "broken_stick": lambda: counts.broken_stick(spectrum),
        "parallel_analysis": lambda: above_null(spectrum, spectrum.columns, seed(random_state)),
        "minka": lambda: minka(spectrum),
        "gavish_donoho": lambda: counts.gavish_donoho(spectrum),
    }
    found, skipped = _each(rules)
    every = counting_all(found, spectrum.rank)
    if "parallel_analysis" in every:
        found["parallel_analysis"] = Measure(1, 1, max(1.0, found["parallel_analysis"].high))  # one by definition
    return found, skipped, every


def _each(rules: Mapping[str, Callable[[], Measure]]) -> tuple[dict[str, Measure], dict[str, str]]:
    """Return the results of the rules, and why some have none."""
    found: dict[str, Measure] = {}
    skipped: dict[str, str] = {}
    for name, rule in rules.items():
        try:
            found[name] = rule()
        except DataError as error:  # such as too many columns or equal distances; other rules may work
            skipped[name] = message_of(error)
    return found, skipped


def _nonlinear(
    around: _Around, anchors: int | str | None, random_state: int | None
) -> tuple[dict[str, Measure], dict[str, str]]:
    """Return the estimates from distances, and why some are missing."""
    points, distances, (low, high) = around.points, around.distances, around.range
    exact = len(distances) == points.n
    found, skipped = _each(
        {
            "two_nn": lambda: two_nn_of(distances, exact=exact),
            "levina_bickel": lambda: levina_bickel_of(distances, low, high, exact=exact),
            "correlation_dimension": lambda: correlation_dimension(points, anchors=anchors, random_state=random_state),
        }
    )
    if around.sampled:
        found = {name: Measure(value, value.low, value.high, exact=False) for name, value in found.items()}
    return found, skipped


def _size(spectrum: Variances, n: int) -> int:
    """Return the largest possible dimension of n distinct points: the number of columns if they have full rank."""
    return spectrum.n_columns if spectrum.rank >= n - 1 else spectrum.bound


def _limited(level: Plateau, bound: int | None, n: int) -> Plateau:
    """Limit a plateau to the dimension of the space, and to n − 1, the maximum for n points.

    In the second case the true number may be anything up to the bound, which the interval includes.
    """
    value, most = level.value, float(n - 1)
    if value >= most and (bound is None or bound > most):
        high = value.high if bound is None else float(bound)
        return level._replace(value=Measure(most, min(value.low, most), high, exact=value.exact), spanned=True)
    return level if bound is None else level._replace(value=_at_most(value, bound))


def _at_most(value: Measure, most: int) -> Measure:
    """Limit an estimate to ``most`` dimensions; an interval above them is shifted down."""
    d = min(float(value), float(most))
    low = value.low if value.low < d else max(1.0, d - (value - value.low))
    return Measure(d, min(low, d), max(d, min(value.high, float(most))), exact=value.exact)


def _dominant(spectrum: Variances) -> list[str]:
    words = None if spectrum.columns is None else dominant_words(spectrum.columns, spectrum.names)
    if words is None:
        return []
    text = dominance(words, "so the estimate mostly describes it", SCALE)
    warnings.warn(Message(Owner("dimension"), text), DominantColumnWarning, stacklevel=3)
    return [text]
