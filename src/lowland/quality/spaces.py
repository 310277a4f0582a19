"""The two sides of a comparison: the data as given and the map, as points whose distances can be asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..contract.fit_info import level_of_the_caller
from ..core.errors import FILL, CellError, DataError
from ..core.message import Advice, Message, Part
from ..graph.measures import BoundMetric, EuclideanRows, RuleRows, SparseRows, SquareRows, measure
from ..graph.neighbors import objects
from ..pairs.distances import check_function
from ..pairs.pairwise import cut, tiles
from ..rows.object_rows import are_objects

Array = Any
Metric = str | Callable[[Any, Any], Any]

_SURE = 1e-10  # relative error above which a product's distance is taken from differences instead
_GATHERED_ENTRIES = 1 << 22  # numbers gathered at a time
_BOTH = Advice("fill it", "leave the row out of data and map")


class Sides(NamedTuple):
    """The data and the map, point by point in the same order."""

    data: BoundMetric
    map: BoundMetric
    n: int


def sides(X: Any, Y: Any, metric: Metric = "euclidean", owner: str = "quality") -> Sides:
    """Return both sides, checked: finite, of one length, at least 3 points, neither of them a single point.

    Parameters
    ----------
    X : array, sparse matrix, data frame, list of objects
        The data; with ``metric="precomputed"`` their distances.
    Y : array
        The map: coordinates, one row for each of X's.
    metric : str or callable
        How the data are compared; the map is always compared by Euclidean distances.
    owner : str
        Whom errors name.
    """
    data, map = one_side(X, metric, f"{owner}, X", _BOTH), one_side(Y, "euclidean", f"{owner}, Y", _BOTH)
    if data.n != map.n:
        raise DataError(
            f"{owner}: X has {data.n} rows and Y has {map.n}; give the map of these very rows, in their order"
        )
    if data.n < 3:
        raise DataError(f"{owner}: {data.n} points have no neighbourhoods to compare; give at least 3")
    if _in_one_place(data):
        raise DataError(
            f"{owner}: all points of X lie in one place, so there is nothing that a map could keep; look at how X was "
            "made (columns of one value, a choice of columns)"
        )
    if _in_one_place(map):
        raise DataError(
            f"{owner}: all points of Y lie in one place, so the map says nothing; look at how it was made (a fit that "
            "failed, a column of one value)"
        )
    return Sides(data, map, data.n)


def famd_axes(X: Any) -> Any:
    """Return the FAMD of all axes, fitted: distances in it weigh columns of numbers and of categories fairly."""
    from ..contract import registry

    famd: Any = registry.method("famd").load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ties and rank: all axes are wanted, however many there are
        first = famd(n_components=1).fit(X)
        width = len(first.coded_names_) - len(first.categorical_columns_)  # K levels are K − 1 free columns
        return famd(n_components=min(width, first.n_samples_), unseen="ignore").fit(X)


@contextmanager
def naming(owner: str, remedy: Part = FILL) -> Iterator[None]:
    """Let errors about cells and shapes say whose they are, with a remedy that there is here.

    What checks the rows of a fit calls all of them X and advises another method, which is no choice of a measure.

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
        if str(error).startswith(owner.split(",")[0]):
            raise
        raise DataError(Message(f"{owner}: ", error.args[0]), row=error.row, column=error.column) from None


def one_side(X: Any, metric: Metric, owner: str, remedy: Part = FILL) -> BoundMetric:
    """Return points that can be compared, checked; ``owner`` is whom errors name, ``remedy`` what they advise."""
    square = isinstance(metric, str) and metric == "precomputed"
    if square and sp.issparse(X):
        raise DataError(f"{owner}: a sparse square of distances leaves pairs unknown; give all of them, X.toarray()")
    is_map = owner.endswith(", Y")
    with naming(owner, remedy):
        if is_map and are_objects(X):
            raise DataError(
                "a map is a table of numbers, a row of coordinates for each point, which this is not; of one column, "
                "too, give a table: values.reshape(-1, 1) or column.to_frame()"
            )
        items = objects(X, metric, owner)
        found = measure(metric, items, None)
    if not square:
        from ..data.squares import PRECOMPUTED, warn_of_square

        wish = Message("give the coordinates of the points") if is_map else PRECOMPUTED
        warn_of_square(items, owner, wish, stacklevel=level_of_the_caller() + 1)
    if callable(metric) and isinstance(found, RuleRows):
        check_function(found.rule, items, owner)
    return found


def _in_one_place(side: BoundMetric) -> bool:
    """Tell whether all points are one, as far as that shows without a distance for each pair."""
    if isinstance(side, EuclideanRows):
        return not any((side.X[part] != side.X[0]).any() for part in tiles(side.n, 4096))
    if isinstance(side, SquareRows):
        return not any(side.D[part].any() for part in tiles(side.n, 512))
    return not np.any(distances_from(side, np.zeros(1, dtype=np.intp)))


def distances_from(side: BoundMetric, numbers: Array) -> Array:
    """Return the distances of some points to all, m × n, each right to 1e-10 of itself at least.

    Quick values are products; where their rounding could be seen, the pair is taken from its differences.
    """
    rows = side.own(numbers)
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
    """Return the distances of pairs of points, the same bits in every order.

    Where a metric compares blocks only, the pairs must be blocks of `SIDE` × `SIDE`, as `rectangles` makes them.
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


SIDE = 32  # of a block of pairs, where a metric compares blocks only


def rectangles(i: Array, j: Array) -> tuple[Array, Array]:
    """Return all pairs of each `SIDE` points of i with the `SIDE` of j beside them, block after block.

    >>> a, b = rectangles(np.arange(SIDE), np.arange(SIDE))
    >>> len(a), a[:2].tolist(), b[:2].tolist()
    (1024, [0, 0], [0, 1])
    """
    first, second = i.reshape(-1, SIDE), j.reshape(-1, SIDE)
    return np.repeat(first, SIDE, axis=1).reshape(-1), np.tile(second, (1, SIDE)).reshape(-1)
