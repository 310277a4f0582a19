"""The coordinates of a table, block by block: the bits of `transform` of the whole table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..contract.reducer import Reducer
from ..core import arrays, thread_pool
from ..core.errors import CellError
from ..rows import units
from ..rows.block import Block, block_rows
from ..rows.row_source import RowSource
from ..rows.sampling import cut

Array = Any
RowMap = Callable[[Array], Array]


def of_method(model: Reducer, X: Any, row_map: RowMap | None = None) -> Iterator[Array]:
    """Yield the coordinates of rows of numbers, of blocks in their order; ``row_map`` replaces the model's own."""
    view = units.fit_view(model)
    source: RowSource = view._rows(X, reset=False)
    work = view._row_map() if row_map is None else row_map

    def step(block: Block) -> Array:
        source.check(block)
        return arrays.to_numpy(arrays.cast(work(block.rows), source.dtype))

    for part in source.map(step, stage="transform"):
        yield units.in_rows_units(model, part, "transform")


def block_map(model: Reducer, row_map: RowMap | None = None) -> Callable[[Any], Array]:
    """Return what transforms one block after another: `transform`, with what it needs made once."""
    view = units.fit_view(model)
    work = view._row_map() if row_map is None else row_map

    def transform(rows: Any) -> Array:
        Y = view._rows(rows, reset=False).map_blocks(work, model.n_components_)
        return arrays.to_numpy(units.in_rows_units(model, Y, "transform"))

    return transform


def of_steps(steps: Iterable[Any], pieces: Iterable[Any], last: RowMap | None = None) -> Iterator[Any]:
    """Yield what steps and methods, one after another, make of consecutive pieces of a table.

    Each method gets blocks of the size and at the places that it has in a table in memory, so that results are the same
    bits. ``last`` replaces the row map of the last method.
    """
    chain = [step for step in steps if step is not None and step != "passthrough"]
    methods = [step for step in chain if isinstance(step, Reducer)]
    stream = iter(pieces)
    for step in chain:
        work = step.transform
        if isinstance(step, Reducer):
            stream = _in_blocks(stream, step.n_features_in_)
            work = block_map(step, last if step is methods[-1] else None)
        stream = _mapped(work, stream, "transform" if step is chain[-1] else None)
    return stream


def _in_blocks(pieces: Iterator[Any], width: int) -> Iterator[Any]:
    """Yield pieces as the blocks of a method; the first says whether they are sparse."""
    import scipy.sparse as sp

    first = next(pieces, None)
    if first is None:
        return
    yield from cut(_chained(first, pieces), block_rows(width, bool(sp.issparse(first))))


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _mapped(work: Callable[[Any], Any], pieces: Iterator[Any], stage: str | None) -> Iterator[Any]:
    """Apply work to pieces on the thread pool, in order; an error about a cell names its row in the table."""

    def numbered() -> Iterator[tuple[int, Any]]:
        start = 0
        for piece in pieces:
            yield start, piece
            start += piece.shape[0]

    def step(item: tuple[int, Any]) -> Any:
        start, piece = item
        try:
            return work(piece)
        except CellError as error:
            raise error.changed(row=(error.row or 0) + start) from error.__cause__

    return thread_pool.run(step, numbered(), stage=stage)
