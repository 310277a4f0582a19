"""`transform_file`: the coordinates of a table, written block by block."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..contract.reducer import Reducer
from ..core.errors import CellError, DataError
from ..core.message import Message, Owner, Setting
from ..data.table_stream import check_streamed, table_stream
from ..data.writing import embedding_frame
from ..engines import Piece
from ..methods.steps.chain import split_at_method
from ..rows.block import block_rows
from ..rows.row_source import READ_ONCE, RowSource
from ..rows.shared_scan import SharedScan, read_by
from .coordinates import RowMap, of_method, of_steps
from .interpolation import interpolator
from .placement_error import numbers
from .sample_fit import drawn, pieces_of, takes_frames

if TYPE_CHECKING:
    import polars as pl

Array = Any

PLACEMENTS = ("transform", "interpolate")
_ALIGNED_ENTRIES = 1 << 25  # of the smallest piece that has whole blocks of all methods of a model
_COMPARED_ROWS = 10_000  # whose interpolated places are compared with those of transform
_OTHER_SEED = 0x5EED  # so that they are not those that a fit on a sample with the same seed has seen


@dataclass(frozen=True)
class Written:
    """What `transform_file` wrote.

    ``error`` is the median distance, as a share of the radius of the map, between interpolated places and those of
    `transform`; ``error_90`` its 90 % quantile, over ``compared`` rows drawn from the table. None where rows were
    placed by `transform`.
    """

    path: Path
    n_rows: int
    columns: tuple[str, ...]
    placement: str = "transform"
    error: float | None = None
    error_90: float | None = None
    compared: int = 0


def transform_file(
    model: Any,
    source: Any,
    out: str | os.PathLike[str],
    *,
    keep: Sequence[str] = (),
    placement: str = "transform",
    random_state: int | None = 0,
    engine: str = "local",
) -> Written:
    """Write the coordinates of a table to a file, block by block; memory does not grow with the table.

    The values are those of ``model.transform`` of the whole table, bit for bit. The file gets its name when it is
    complete; an error, a full disk or an interruption leaves nothing under it.

    Parameters
    ----------
    model : Reducer or Pipeline
        A fitted model.
    source : scan, path, RowSource, array, sparse matrix, data frame or function that returns blocks
        The table.
    out : path
        ``.csv`` and ``.tsv`` (also with ``.gz``), ``.parquet``, ``.arrow``, ``.feather`` or ``.npy``.
    keep : list of column names
        Columns of a scan or data frame that are copied before the coordinates, such as identifiers.
    placement : {"transform", "interpolate"}
        "interpolate" places a row at the weighted mean of the places of its nearest training rows: for t-SNE, UMAP and
        the methods on neighbour graphs, where `transform` of many rows would take too long. The error is measured
        against `transform` on 10,000 rows of the table.
    random_state : int or None
        Seed of these rows; None is 0.
    engine : {"local", "dask"}
        "dask": the workers of the current ``distributed.Client`` read the file of a scan and place its rows; this
        process writes them.

    Returns
    -------
    Written
        The number of rows, the columns, and the error of an interpolation.

    Examples
    --------
    >>> import numpy as np, lowland, os, tempfile
    >>> X = np.random.default_rng(0).normal(size=(10_000, 5))
    >>> model = lowland.PCA(2).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "map.npy")
    ...     written = lowland.transform_file(model, lowland.RowSource.from_blocks([X[:3000], X[3000:]]), file)
    ...     bool(np.array_equal(np.load(file), model.transform(X))), written.columns
    (True, ('pca0', 'pca1'))
    """
    if placement not in PLACEMENTS:
        allowed = f" must be 'transform' or 'interpolate'; it is {placement!r}"
        raise ValueError(Message(Owner("transform_file"), Setting("placement"), allowed))
    path = Path(out)
    check_streamed(path)
    check_is_fitted(model)
    table = read_by(opened(source), engine, "transform_file")
    found = Written(path, 0, (), placement)
    row_map = None
    if placement == "interpolate":
        row_map = interpolator(split_at_method(model)[1])
        found = _compared(found, model, table, row_map, 0 if random_state is None else int(random_state))
    names = [str(name) for name in model.get_feature_names_out()]
    with table_stream(path) as file:
        for kept, Y in placed(model, table, keep, row_map):
            file.write(embedding_frame(Y, names, keep=kept))
    return replace(found, n_rows=file.n_rows, columns=tuple(file.schema or ()))


def opened(source: Any) -> Any:
    """Return a table; a path is scanned."""
    if isinstance(source, str | os.PathLike):
        from ..data import scan

        return scan(source)
    return source


def placed(
    model: Any, X: Any, keep: Sequence[str] = (), row_map: RowMap | None = None
) -> Iterator[tuple[pl.DataFrame | None, Array]]:
    """Yield the kept columns (or None) and the coordinates of a table, of blocks in their order."""
    alone = isinstance(model, Reducer)
    if alone and not keep and not takes_frames(model) and not _has_more_columns(model, X):
        for Y in of_method(model, X, row_map):
            yield None, Y
        return
    names = getattr(X, "names", None)
    if isinstance(X, SharedScan):
        on_worker = _PlacedPiece(model, names, list(keep), row_map)
        yield from X.map_frames(on_worker, _aligned_rows(model, len(X.schema)), large=bool(keep))
        return
    yield from _placed_frames(model, names, _frames_of(X) if keep else pieces_of(X), keep, row_map)


def _placed_frames(
    model: Any, names: Sequence[str] | None, pieces: Iterator[Any], keep: Sequence[str], row_map: RowMap | None
) -> Iterator[tuple[pl.DataFrame | None, Array]]:
    """Yield the kept columns (or None) and the coordinates of consecutive pieces of a table with all its columns."""
    alone, queue = isinstance(model, Reducer), _Kept(list(keep))
    pieces = queue.tapped(pieces) if keep else pieces
    if alone and not takes_frames(model):
        pieces = (_columns_for(model, names, keep, piece) for piece in pieces)
    elif alone:
        wanted = getattr(model, "feature_names_in_", None)
        own = None if wanted is None else [str(name) for name in wanted]
        pieces = (_with_columns(piece, own) for piece in pieces) if own or names is None else pieces
    steps = [model] if alone else [step for _, step in model.steps]
    for made in of_steps(steps, pieces, row_map):
        Y = made.to_numpy() if hasattr(made, "to_numpy") else made
        yield (queue.next(len(Y)) if keep else None), Y


class _PlacedPiece:
    """Places the rows of a piece on a worker; errors about a cell name its row in the table."""

    def __init__(self, model: Any, names: Sequence[str] | None, keep: list[str], row_map: RowMap | None) -> None:
        self._model, self._names, self._keep, self._row_map = model, names, keep, row_map

    def __call__(self, piece: Piece) -> list[tuple[Any, Array]]:
        try:
            return list(_placed_frames(self._model, self._names, iter([piece.rows]), self._keep, self._row_map))
        except CellError as error:
            raise error.changed(row=(error.row or 0) + piece.start) from error.__cause__


def _aligned_rows(model: Any, width: int) -> int:
    """Return the rows of which pieces must have whole multiples, so that all methods of a model have their blocks.

    Where that is too long for the memory of a worker, the blocks of the first method.
    """
    steps = [model] if isinstance(model, Reducer) else [step for _, step in model.steps]
    sizes = [block_rows(step.n_features_in_) for step in steps if isinstance(step, Reducer)]
    rows = math.lcm(*sizes)
    return rows if rows * width <= _ALIGNED_ENTRIES else sizes[0]


def _has_more_columns(model: Any, X: Any) -> bool:
    """Return whether a scan has the columns of a model among others, or in another order."""
    wanted = getattr(model, "feature_names_in_", None)
    names = getattr(X, "names", None) if hasattr(X, "frames") else None
    return wanted is not None and names is not None and list(wanted) != list(names) and set(wanted) <= set(X.schema)


def _frames_of(X: Any) -> Iterator[pl.DataFrame]:
    """Yield a table as polars data frames; raise where it has no named columns."""
    import narwhals.stable.v2 as nw

    for piece in pieces_of(X):
        try:
            yield nw.from_native(piece, eager_only=True).to_polars()
        except TypeError as error:
            nameless = " names columns, and this table has none; give a scan or a data frame"
            raise DataError(Message(Owner("transform_file"), Setting("keep"), nameless)) from error


def _columns_for(model: Reducer, names: Sequence[str] | None, keep: Sequence[str], frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of a method by their names, in the type that a scan gives them."""
    import polars as pl

    wanted = getattr(model, "feature_names_in_", None)
    if wanted is None:
        own = names or frame.columns
        wanted = [name for name in own if name not in set(keep)]
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        lacking = f"the table has no column {missing[0]!r}, which the model needs"
        raise DataError(Message(Owner("transform_file"), lacking))
    chosen = frame.select([str(name) for name in wanted])
    kinds = chosen.dtypes
    kind = pl.Float32 if all(k == pl.Float32 for k in kinds) else pl.Float64
    numeric = all(k.is_numeric() or k == pl.Boolean for k in kinds)
    return chosen.select(pl.all().cast(kind)) if numeric else chosen  # others are refused, with the cell


def _with_columns(piece: Any, wanted: list[str] | None) -> Any:
    """Return the columns of a model that takes data frames; others, such as kept ones, are left out.

    A model without names gets an array in place of the names x0, x1, … that a scan gives to the columns of an array.
    """
    import polars as pl

    if not isinstance(piece, pl.DataFrame):
        return piece
    if wanted is not None:
        return piece.select(wanted) if set(wanted) <= set(piece.columns) else piece
    plain = piece.columns == [f"x{j}" for j in range(piece.width)]
    return piece.to_numpy() if plain and all(kind.is_numeric() for kind in piece.dtypes) else piece


class _Kept:
    """The columns to copy, held until the coordinates of their rows are there."""

    def __init__(self, names: list[str]) -> None:
        self.names, self._held = names, deque[Any]()

    def tapped(self, frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield the frames and hold their columns."""
        for frame in frames:
            missing = [name for name in self.names if name not in frame.columns]
            if missing:
                listed = f"{', '.join(frame.columns[:10])}{', …' if frame.width > 10 else ''}"
                unknown = f" names {missing[0]!r}, which is not a column of the table; it has {listed}"
                raise DataError(Message(Owner("transform_file"), Setting("keep"), unknown))
            self._held.append(frame.select(self.names))
            yield frame

    def next(self, n: int) -> pl.DataFrame:
        """Return the columns of the next n rows."""
        import polars as pl

        parts: list[pl.DataFrame] = []
        while n:
            frame = self._held.popleft()
            parts.append(frame[:n])
            if frame.height > n:
                self._held.appendleft(frame[n:])
            n -= parts[-1].height
        return pl.concat(parts, how="vertical_relaxed")


def _compared(found: Written, model: Any, X: Any, row_map: RowMap, seed: int) -> Written:
    """Measure interpolated places of some rows against those of `transform`."""
    if isinstance(X, Iterator) or not getattr(X, "reiterable", True):
        raise DataError(
            Message(
                Owner("transform_file"),
                Setting("placement", "interpolate"),
                f" reads the rows twice, and {READ_ONCE}; give a function that returns new blocks",
            )
        )
    sample, names = drawn(model, X, _COMPARED_ROWS, seed + _OTHER_SEED)
    rows = sample.rows if names is None else RowSource.from_array(sample.rows, names=list(names))
    own = numbers(model.transform(rows))
    quick = np.concatenate([numbers(Y) for _, Y in placed(model, rows, (), row_map)])
    radius = float(np.sqrt(((own - own.mean(axis=0)) ** 2).sum(axis=1).mean())) or 1.0
    low, high = np.quantile(np.linalg.norm(own - quick, axis=1) / radius, (0.5, 0.9))
    return replace(found, error=float(low), error_90=float(high), compared=len(own))
