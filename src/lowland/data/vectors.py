"""A column of equally long lists of numbers as one array, without Python lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..core.cost import check_allocation
from ..core.errors import DataError
from ..core.message import Message, Setting

_REMEDY = "read fewer rows"
_WORDS: dict[str, Callable[[Any], bool]] = {
    "text": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind),
    "dates": lambda kind: pa.types.is_date(kind) or pa.types.is_timestamp(kind),
    "times or durations": pa.types.is_temporal,
    "bytes": lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind),
}


def array_of(column: Any, place: str, first_row: int = 0) -> NDArray[Any]:
    """Return an Arrow column of lists as a 2-D array; float16 becomes float32. ``first_row`` is for messages.

    >>> array_of(pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32())), "t.parquet, column 'v'").dtype
    dtype('float32')
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return fill(chunks, len(column), column.type, place, first_row)


def fill(chunks: Iterable[Any], n_rows: int, kind: Any, place: str, first_row: int = 0) -> NDArray[Any]:
    """Return the rows of all chunks in one new array; each chunk is needed only while it is copied."""
    if not is_vectors(kind):
        raise DataError(
            Message(
                f"{place}: it contains {_contents(kind)}; ",
                Setting("vector"),
                " needs a column with a list of numbers in each row, all of one length, such as embeddings in a "
                "Parquet file; to reduce columns of numbers, leave ",
                Setting("vector"),
                " out",
            )
        )
    out: NDArray[Any] | None = None
    start = 0
    for chunk in chunks:
        if len(chunk) == 0:
            continue
        block = _block(chunk, first_row + start, None if out is None else out.shape[1], place)
        if out is None:
            check_allocation(n_rows * block.shape[1] * block.dtype.itemsize, place, _REMEDY)
            out = np.empty((n_rows, block.shape[1]), block.dtype)
        out[start : start + len(block)] = block
        start += len(block)
    if out is None or start != n_rows:
        raise DataError(f"{place}: it has no rows")
    return out


def is_vectors(kind: Any) -> bool:
    """Return whether an Arrow type is a list of numbers."""
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(test(kind) for test in lists):
        return False
    return bool(pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))


def _contents(kind: Any) -> str:
    """Return what a column of an Arrow type contains, in words.

    >>> [_contents(kind) for kind in (pa.float64(), pa.large_string(), pa.list_(pa.string()), pa.date32())]
    ['one number in each row', 'text', 'lists of other values than numbers', 'dates']
    """
    if pa.types.is_nested(kind):
        return "lists of other values than numbers" if "list" in str(kind) else "nested values"
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return "one number in each row"
    if pa.types.is_boolean(kind):
        return "true or false in each row"
    if pa.types.is_null(kind):
        return "only missing values"
    return next((words for words, test in _WORDS.items() if test(kind)), str(kind))


def _block(chunk: Any, first_row: int, width: int | None, place: str) -> NDArray[Any]:
    if chunk.null_count:
        row = first_row + int(np.flatnonzero(np.asarray(chunk.is_null()))[0])
        raise DataError(f"{place}, row {row}: the vector is missing; leave the row out")
    if pa.types.is_fixed_size_list(chunk.type):
        lengths = np.full(len(chunk), chunk.type.list_size)
    else:
        lengths = np.diff(np.asarray(chunk.offsets))
    width = int(lengths[0]) if width is None else width
    if width == 0:
        raise DataError(f"{place}, row {first_row}: the vector is empty")
    odd = np.flatnonzero(lengths != width)
    if odd.size:
        row = int(odd[0])
        raise DataError(
            f"{place}, row {first_row + row}: the vector has {lengths[row]} numbers, those before it {width}; "
            "vectors must be equally long"
        )
    flat = chunk.flatten()
    values = flat.to_numpy(zero_copy_only=False)
    if flat.null_count and values.dtype.kind != "f":
        values = values.astype(np.float64)
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    block: NDArray[Any] = values.reshape(len(chunk), width)
    return block
