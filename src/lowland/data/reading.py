"""Reading of tables and matrices: `read_table`, `read_matrix`, `read_any`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.cost import check_allocation
from ..core.errors import DataError
from .formats import READABLE, suffix

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from .table import Table

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None}


def read_table(path: str | Path) -> Table:
    """Read a table from ``.csv .tsv .txt`` (also with ``.gz``), ``.parquet``, ``.npy`` or ``.npz``.

    Text files are UTF-8, with a header in the first line; ``.txt`` may use tabs or commas, and ``.csv`` and ``.txt``
    semicolons. With tabs or semicolons, columns of numbers with decimal commas (1,5) are read as numbers. A first
    line that contains only numbers is read as a row, and columns are named x0, x1, …  Empty cells and NA, N/A, NaN,
    nan, null, NULL, None and ? are missing. Blank lines are skipped, except in a file of one column, where
    each is a missing value. A column's type depends on all of its cells. A column of numbers with some text
    in it, or of formatted numbers (1,200 or 7 %), raises an error when it is selected, and the message
    names the line; a column mostly of text is text.

    An ``.npy`` file is memory-mapped. An ``.npz`` file must hold one 2-D array, or one named X or data;
    its column names may be in a 1-D array named columns or features. Nothing is ever unpickled.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "small.csv")
    ...     _ = file.write_text("a,b,kind\\n1,2.5,x\\n3,NA,y\\n")
    ...     table = read_table(file)
    >>> table.names, table.n_rows, table.select().left_out
    (['a', 'b', 'kind'], 2, {'kind': 'text'})
    """
    file, ending = _existing(path)
    if ending == ".parquet":
        return _read_parquet(file)
    if ending in (".npy", ".npz"):
        from . import arrayfiles

        return arrayfiles.read_npy(file) if ending == ".npy" else arrayfiles.read_npz(file)
    from .delimited import read_delimited

    return read_delimited(file, _SEPARATORS[ending.removesuffix(".gz")])


def read_matrix(path: str | Path) -> csr_array[Any]:
    """Read a sparse matrix that `scipy.sparse.save_npz` wrote, as a CSR array."""
    file, ending = _existing(path)
    if ending != ".npz":
        raise DataError(f"{file.name}: a sparse matrix must be an .npz file written by scipy.sparse.save_npz")
    from .arrayfiles import read_sparse

    return read_sparse(file)


def read_any(path: str | Path) -> Table | csr_array[Any]:
    """Read a file as a `Table`, or as a CSR array if it is a sparse ``.npz``."""
    file, ending = _existing(path)
    if ending == ".npz":
        from .arrayfiles import is_sparse

        if is_sparse(file):
            return read_matrix(file)
    return read_table(file)


def _existing(path: str | Path) -> tuple[Path, str]:
    file = Path(path)
    if file.is_dir():
        raise DataError(f"{file} is a folder; give one file ({', '.join(READABLE)})")
    if not file.exists():
        raise DataError(f"{file}: no such file")
    return file, suffix(file, READABLE, "read")


def _read_parquet(path: Path) -> Table:
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    from .table import Table

    try:
        with pq.ParquetFile(path) as file:
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            check_allocation(
                sum(group.total_byte_size for group in groups),
                f"reading {path.name}",
                "keep fewer columns",
            )
            twice = sorted(name for name, n in Counter(file.schema_arrow.names).items() if n > 1)
            if twice:
                raise DataError(
                    f"{path.name}: more than one column is named {', '.join(map(repr, twice))}; rename them"
                )
            frame = pl.from_arrow(file.read())
    except (pa.ArrowException, OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path.name} is damaged or not a Parquet file: {error}") from error
    assert isinstance(frame, pl.DataFrame)
    if frame.height == 0 or frame.width == 0:
        raise DataError(f"{path.name} has no {'rows' if frame.width else 'columns'}")
    return Table(frame, path.name)
