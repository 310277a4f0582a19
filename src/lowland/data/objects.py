"""Tables from objects in memory: NumPy, scipy.sparse, pandas, polars, Arrow, torch."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import polars as pl

from ..core.errors import DataError
from ..core.formatting import first_line
from ..core.message import Message, Setting
from .arrayfiles import check_array
from .arraytable import ArrayTable, SparseTable
from .columns import finished
from .options import ReadOptions
from .table import Table
from .tablefiles import check_names, table_of
from .textcolumns import retyped

_FRAME = ("na", "below_limit", "above_limit", "decimal", "thousands", "vector", "text", "image", "normalize")


def read_object(value: Any, options: ReadOptions) -> Table:
    """Return an object as a table; arrays are not copied."""
    table = _table(value)
    whole = isinstance(table, (ArrayTable, SparseTable))
    refused = [name for name in options.set_options() if name not in (("normalize",) if whole else _FRAME)]
    if refused:
        raise DataError(Message(f"{table.source}: ", Setting(refused[0]), " is not an option for this kind of object"))
    if not whole:
        table = retyped(table.source, table, options)
    return finished(table, options)


def _table(value: Any) -> Table:
    if isinstance(value, Table):
        return value
    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    if isinstance(value, pl.Series):
        value = value.to_frame()
    if isinstance(value, pl.DataFrame):
        return table_of("the polars frame", value)
    if _is(value, "pandas", "DataFrame", "Series"):
        return _from_pandas(value)
    if _is(value, "torch", "Tensor"):
        return _from_array(_from_torch(value), "the tensor")
    if hasattr(value, "tocsr") and hasattr(value, "nnz"):
        return _from_sparse(value)
    if hasattr(value, "__arrow_c_stream__"):
        return _from_arrow(value)
    if isinstance(value, (np.ndarray, list, tuple)) or hasattr(value, "__array__"):
        return _from_array(value, "the array")
    if isinstance(value, dict):
        try:
            return table_of("the dict", pl.DataFrame(value))
        except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
            raise DataError(f"the dict is not a table of columns: {first_line(error)}") from error
    raise DataError(
        f"an object of type {type(value).__name__} cannot be read as a table; pass a path, a NumPy or SciPy array, a "
        "data frame or an Arrow table"
    )


def _is(value: Any, package: str, *classes: str) -> bool:
    """Return whether a value is of a class of a package that need not be installed."""
    module = sys.modules.get(package)
    return module is not None and isinstance(value, tuple(getattr(module, name) for name in classes))


def _from_array(value: Any, source: str) -> Table:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise DataError(f"{source} cannot be read as a table: {first_line(error)}") from error
    if array.dtype.names is not None and array.ndim == 1:  # a structured array has named columns
        return table_of(source, pl.DataFrame({name: array[name] for name in array.dtype.names}))
    check_array(source, array.shape, array.dtype)
    return ArrayTable(array, source)


def _from_torch(value: Any) -> Any:
    value = value.detach().cpu()
    if str(value.layout) != "torch.strided":
        raise DataError(f"the tensor has the layout {value.layout}; pass value.to_dense() or a scipy.sparse matrix")
    return (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()


def _from_sparse(value: Any) -> SparseTable:
    from scipy import sparse

    check_array("the sparse matrix", value.shape, value.dtype)
    return SparseTable(sparse.csr_array(value), "the sparse matrix")


def _from_arrow(value: Any) -> Table:
    import pyarrow as pa

    try:
        table = pa.table(value)
        check_names("the Arrow table", table.column_names)
        frame = pl.from_arrow(table)
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"the Arrow stream cannot be read as a table: {first_line(error)}") from error
    assert isinstance(frame, pl.DataFrame)
    return table_of("the Arrow table", frame)


def _from_pandas(value: Any) -> Table:
    """Return a frame of pandas; row labels are kept aside unless they only count the rows."""
    import pyarrow as pa

    frame = value.to_frame() if value.ndim == 1 else value
    source = "the pandas frame"
    names = [str(name) for name in frame.columns]
    check_names(source, names)
    labels = frame.index
    plain = type(labels).__name__ == "RangeIndex" and labels.name is None
    try:
        columns = pa.Table.from_pandas(frame.set_axis(names, axis=1), preserve_index=False)
        made = pl.from_arrow(columns)
        aside = pl.DataFrame() if plain else _labels(labels, names)
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise DataError(f"{source} cannot be read: {first_line(error)}") from error
    assert isinstance(made, pl.DataFrame)
    return Table(table_of(source, made).frame, source, aside=aside)


def _labels(labels: Any, taken: list[str]) -> pl.DataFrame:
    import pyarrow as pa

    frame = labels.to_frame(index=False)
    names = [str(own) if own is not None else "index" for own in labels.names]
    if labels.nlevels > 1:
        names = [str(own) if own is not None else f"index_{level}" for level, own in enumerate(labels.names)]
    frame.columns = [f"{name}_label" if name in taken else name for name in names]
    made = pl.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))
    assert isinstance(made, pl.DataFrame)
    return made
