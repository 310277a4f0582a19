"""The two sides of an evaluation: the data and the map, as points with distances."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..contract.fit_info import level_of_the_caller
from ..core.errors import FILL, CellError, DataError
from ..core.message import Message, Owner, Part, Phrase, Remedies, parts_of
from ..graph.measures import BoundMetric, EuclideanRows, RuleRows, SparseRows, SquareRows, measure
from ..graph.neighbors import objects
from ..pairs.distance_checks import check_function
from ..pairs.pairwise import cut, tiles
from ..rows import columns
from ..rows.object_rows import are_objects

Array = Any
Metric = str | Callable[[Any, Any], Any]

_SURE = 1e-10  # relative error above which a distance from products is recomputed from differences
_GATHERED_ENTRIES = 1 << 22  # numbers gathered at a time
BOTH = Remedies("fill it", "leave the row out of data and map")


class Sides(NamedTuple):
    """The data and the map, point by point in the same order."""

    data: BoundMetric
    map: BoundMetric
    n: int


def sides(X: Any, Y: Any, metric: Metric = "euclidean", owner: str = "quality") -> Sides:
    """Return both sides, checked: finite, of equal length, at least 3 points, not all equal.

    Parameters
    ----------
    X : array, sparse matrix, data frame, list of objects
        The data; with ``metric="precomputed"`` their distances.
    Y : array
        The map: coordinates, one row for each of X's.
    metric : str or callable
        Metric of the data; the map is always compared by Euclidean distances. "famd", also used where a table has
        categories: the distances of FAMD.
    owner : str
        Name of the function in error messages.
    """
    X, metric = coded(X, metric)
    data, map = one_side(X, metric, owner, "X", BOTH), one_side(Y, "euclidean", owner, "Y", BOTH)
    require_same_rows(data.n, map.n, owner)
    if data.n < 3:
        raise DataError(Message(Owner(owner), f"{data.n} points have no neighbourhoods to compare; give at least 3"))
    if _all_equal(data):
        raise DataError(
            Message(
                Owner(owner),
                "all points of X are equal, so there is nothing to compare; check how X was made (constant "
                "columns, selected columns)",
            )
        )
    if _all_equal(map):
        raise DataError(
            Message(
                Owner(owner),
                "all points of Y are equal, so there is nothing to compare; check how the map was made (a failed "
                "fit, a constant column)",
            )
        )
    return Sides(data, map, data.n)


def require_same_rows(n: int, of_map: int, owner: str) -> None:
    """Raise if the data and the map have different numbers of rows."""
    if n != of_map:
        different = f"X has {n} rows and Y has {of_map}; give a map of the same rows, in the same order"
        raise DataError(Message(Owner(owner), different))


def require_map(Y: Any) -> None:
    """Raise if Y is a list or a single column, not a table of coordinates."""
    if are_objects(Y):
        raise DataError(
            "a map must be a 2-D table of numbers, with a row of coordinates for each point; convert a single "
            "column with values.reshape(-1, 1) or column.to_frame()"
        )


FAMD = "famd"  # the metric of tables with categories


def coded(X: Any, metric: Metric) -> tuple[Any, Metric]:
    """Return data and metric as they are, or, for a table with categories, its rows in the metric of FAMD.

    >>> import polars as pl
    >>> rows, metric = coded(pl.DataFrame({"x": [1.0, 2.0, 3.0], "k": ["red", "blue", "red"]}), "euclidean")
    >>> rows.shape, metric
    ((3, 2), 'euclidean')
    """
    if not isinstance(metric, str) or metric not in ("euclidean", FAMD):
        return X, metric
    if metric == FAMD or has_categories(X):
        return np.asarray(famd_axes(X).transform(X)), "euclidean"
    return X, metric


def has_categories(X: Any) -> bool:
    """Return whether a table has columns of text, of booleans in a data frame, or of a categorical type."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
        return False
    if are_objects(X) or sp.issparse(X) or not (isinstance(X, list | tuple) or hasattr(X, "shape")):
        return False
    table = columns.of_table(X)
    return table is not None and bool(columns.categorical(table, columns.ColumnRequest()))


def famd_axes(X: Any) -> Any:
    """Return a fitted FAMD with all axes: its distances weight numeric and categorical columns equally."""
    from ..methods.steps.encode_categories import all_axes

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit of a model gives them
        return all_axes(X)


@contextmanager
def naming(owner: str, remedy: Part = FILL) -> Iterator[None]:
    """Name the function and argument in errors about cells and shapes, and replace the remedy.

    The checks of rows call every input X and suggest another method, which does not apply to a measure.

    >>> with naming("report, Y"):
    ...     raise CellError("NaN", "use ProbabilisticPCA", row=2, column=0)
    Traceback (most recent call last):
    lowland.core.errors.CellError: report, Y contains NaN at row 2, column 0: fill it or leave the row out
    """
    try:
        yield
    except CellError as error:
        raise error.changed(subject=owner, advice=remedy) from None
    except DataError as error:
        if isinstance(parts_of(error.args[0])[0], Owner):
            raise
        raise DataError(Message(Owner(owner), error.args[0]), row=error.row, column=error.column) from None


def one_side(X: Any, metric: Metric, function: str, argument: str = "X", remedy: Part = FILL) -> BoundMetric:
    """Return checked points with distances; Y is a map. Errors name the function, the argument and the remedy."""
    owner, is_map = f"{function}, {argument}", argument == "Y"
    square = isinstance(metric, str) and metric == "precomputed"
    if square and sp.issparse(X):
        raise DataError(
            Message(
                Owner(owner),
                "a sparse distance matrix is incomplete; give all distances",
                Phrase(", such as X.toarray()", ", in a dense table"),
            )
        )
    with naming(owner, remedy):
        if is_map:
            require_map(X)
        items = objects(X, metric, owner)
        found = measure(metric, items, None)
    if not square:
        from ..data.squares import PRECOMPUTED, warn_of_square

        wish = Message("give the coordinates of the points") if is_map else PRECOMPUTED
        warn_of_square(items, owner, wish, stacklevel=level_of_the_caller() + 1)
    if callable(metric) and isinstance(found, RuleRows):
        check_function(found.rule, items, owner)
    return found


def _all_equal(side: BoundMetric) -> bool:
    """Return whether all points are equal, without computing all distances."""
    if isinstance(side, EuclideanRows):
        return not any((side.X[part] != side.X[0]).any() for part in tiles(side.n, 4096))
    if isinstance(side, SquareRows):
        return not any(side.D[part].any() for part in tiles(side.n, 512))
    return not np.any(distances_from(side, np.zeros(1, dtype=np.intp)))


def distances_from(side: BoundMetric, numbers: Array) -> Array:
    """Return the distances of some points to all, m × n, with a relative error of at most 1e-10.

    They come from matrix products; if rounding may exceed this error, a distance is recomputed from differences.
    """
    return distances_to(side, side.own(numbers))


def distances_to(side: BoundMetric, rows: Any) -> Array:
    """Return the distances of rows, prepared for the metric, to all points, with the same error."""
    V = side.compare(rows)
    if not isinstance(side, EuclideanRows | SparseRows):
        return V
    i, j = np.nonzero(side.slack(rows, np.arange(side.n)[None, :]) > _SURE * V)
    exact = side.exact(rows, i, j, V[i, j])
    V[i, j] = 0.0
    if side.finish_as == "euclidean":
        np.sqrt(V, out=V)
    elif side.finish_as == "cosine":
        V /= 2.0
    V[i, j] = exact
    return V


def distances_of(side: BoundMetric, i: Array, j: Array) -> Array:
    """Return the distances of pairs of points, with the same bits in any order.

    For a metric that compares blocks only, the pairs must be blocks of `SIDE` × `SIDE`, as made by `rectangles`.
    """
    if isinstance(side, SquareRows):
        return np.asarray(side.D[i, j], dtype=np.float64)
    if isinstance(side, EuclideanRows):
        return side.finish(side.raw(side.X, i, j))
    out = np.empty(len(i))
    if isinstance(side, RuleRows):
        for part in tiles(len(i), SIDE * SIDE):
            block = side.rule.between(cut(side.prepared, i[part][::SIDE]), cut(side.prepared, j[part][:SIDE]))
            out[part] = np.asarray(block).reshape(-1)
        return out
    for part in tiles(len(i), max(1, _GATHERED_ENTRIES // max(1, getattr(side, "terms", 1)))):
        out[part] = side.exact(side.own(i[part]), np.arange(part.stop - part.start), j[part], out[part])
    return out


SIDE = 32  # side of a block of pairs, for metrics that compare blocks only


def rectangles(i: Array, j: Array) -> tuple[Array, Array]:
    """Return all pairs of each `SIDE` points of i with the corresponding `SIDE` points of j, block after block.

    >>> a, b = rectangles(np.arange(SIDE), np.arange(SIDE))
    >>> len(a), a[:2].tolist(), b[:2].tolist()
    (1024, [0, 0], [0, 1])
    """
    first, second = i.reshape(-1, SIDE), j.reshape(-1, SIDE)
    return np.repeat(first, SIDE, axis=1).reshape(-1), np.tile(second, (1, SIDE)).reshape(-1)
