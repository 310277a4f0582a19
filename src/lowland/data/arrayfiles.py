"""NumPy's ``.npy`` and ``.npz``, and sparse matrices that SciPy saved. Pickled objects are never loaded."""

from __future__ import annotations

import io
import math
import tokenize
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ..core.cost import check_allocation
from ..core.errors import DataError, NoRowsError
from .arraytable import ArrayTable, SparseTable
from .damage import damaged
from .options import ReadOptions
from .source import Source

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_DAMAGE = (
    *(ValueError, OSError, EOFError, KeyError, TypeError, SyntaxError, OverflowError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, tokenize.TokenError),
)
_PREFERRED = ("X", "data")
_COLUMN_NAMES = ("columns", "features", "feature_names")
_COLUMN_KINDS = "fiubUSM"  # numbers, words and dates
_MAX_COLUMNS_BESIDE = 20
_SPARSE = {"format", "shape", "data"}
_SPARSE_MEMBERS = {*_SPARSE, "indices", "indptr", "row", "col", "coords", "offsets", "_is_array"}
_REMEDY = "save it as .npy, which is read from disk as needed"


@dataclass(frozen=True)
class _Member:
    """One array of an ``.npz`` file, as its header describes it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"{self.dtype} {self.shape}"

    def beside(self, n_rows: int) -> bool:
        """Whether the array has one or a few values for each of these rows."""
        few = len(self.shape) == 1 or (len(self.shape) == 2 and 0 < self.shape[1] <= _MAX_COLUMNS_BESIDE)
        return few and self.shape[0] == n_rows and self.dtype.kind in _COLUMN_KINDS


def read_npy(source: Source, options: ReadOptions) -> ArrayTable:
    """Open an array as a table, mapped from disk: nothing is read until it is used."""
    try:
        array = np.load(source.path, mmap_mode="r", allow_pickle=False) if source.path else _load(source)
    except _DAMAGE as error:
        raise _damaged(source, error) from error
    if not isinstance(array, np.ndarray):  # np.load ignores the name: this is a zip archive
        array.close()
        raise DataError(f"{source.name} is an .npz archive; rename it to end in .npz")
    check_array(source.name, array.shape, array.dtype)
    return ArrayTable(array, source.name)


def read_npz(source: Source, options: ReadOptions) -> ArrayTable | SparseTable:
    """Read the one 2-D array of an ``.npz`` file, or the one named X or data, or a sparse matrix that SciPy saved.

    Arrays with one value for each row become columns kept aside; ``kind_code`` with ``kind_names``, codes and what they
    stand for, become the categories ``kind``. Arrays that fit neither the rows nor the columns are not read, and a note
    says so (not of those beside a sparse matrix).
    """
    members = _members(source)
    if members.keys() >= _SPARSE:
        return _sparse_table(source, members)
    name = _choose(source.name, members)
    member = members[name]
    check_array(f"{source.name}, array {name!r}", member.shape, member.dtype)
    size = sum(math.prod(own.shape) * own.dtype.itemsize for own in members.values())
    check_allocation(size, f"reading {source.name}", _REMEDY)
    n_rows, width = member.shape
    try:
        with _load(source) as archive:
            array = archive[name]
            labels = _column_names(archive, members, n_rows, width)
            beside = {
                own: archive[own]
                for own, other in members.items()
                if own not in (name, labels[0]) and other.beside(n_rows)
            }
            beside, lists = _decoded(beside, archive, members)
    except _DAMAGE as error:
        raise _damaged(source, error) from error
    aside = pl.DataFrame([column for own, values in beside.items() for column in _columns(own, values)])
    used = {name, labels[0], *beside, *lists}
    unread = {own: other for own, other in members.items() if own not in used}
    wide = [own for own, other in unread.items() if len(other.shape) == 2 and other.shape[0] == n_rows]
    notes = [
        f"not read, since they {why}: {'; '.join(f'{own}: {unread[own]}' for own in names)}"
        for why, names in (
            (f"do not fit the rows of {name}", [own for own in unread if own not in wide]),
            (f"are neither {name} nor columns beside it (of at most {_MAX_COLUMNS_BESIDE} each)", wide),
        )
        if names
    ]
    return ArrayTable(array, source.name, labels[1], aside=aside, notes=tuple(notes))


def _sparse_table(source: Source, members: dict[str, _Member]) -> SparseTable:
    """Read a sparse matrix, and the arrays beside it that name its columns or have one value for each row."""
    matrix = _read_sparse(source, members)
    others = {name: member for name, member in members.items() if name not in _SPARSE_MEMBERS}
    if not others:
        return SparseTable(matrix, source.name)
    n_rows, width = matrix.shape
    try:
        with _load(source) as archive:
            own, names = _column_names(archive, others, n_rows, width)
            beside = {name: archive[name] for name, member in others.items() if name != own and member.beside(n_rows)}
    except _DAMAGE as error:
        raise _damaged(source, error) from error
    aside = pl.DataFrame([column for name, values in beside.items() for column in _columns(name, values)])
    return SparseTable(matrix, source.name, names, aside=aside)


def _load(source: Source) -> Any:
    return np.load(source.path or io.BytesIO(source.content or b""), allow_pickle=False)


def _read_sparse(source: Source, members: dict[str, _Member]) -> csr_array[Any]:
    """Read a sparse matrix that `scipy.sparse.save_npz` wrote."""
    from scipy import sparse

    size = sum(math.prod(member.shape) * member.dtype.itemsize for member in members.values())
    check_allocation(2 * size, f"reading {source.name}", "")
    try:
        loaded = sparse.load_npz(source.path or io.BytesIO(source.content or b""))
        check_array(source.name, loaded.shape, loaded.dtype)
        matrix = sparse.csr_array(loaded)
        matrix.check_format(full_check=True)
    except DataError:
        raise
    except (*_DAMAGE, TypeError, IndexError, AttributeError, NotImplementedError) as error:
        raise _damaged(source, error) from error
    return matrix


def _decoded(beside: dict[str, Any], archive: Any, members: dict[str, _Member]) -> tuple[dict[str, Any], list[str]]:
    """Replace codes by the names that they stand for; return also the arrays that this used."""
    decoded: dict[str, Any] = {}
    used: list[str] = []
    for own, values in beside.items():
        stem = own.removesuffix("_code")
        names = members.get(f"{stem}_names")
        codes = own != stem and stem not in members and values.ndim == 1 and values.dtype.kind in "iu"
        n_levels = 0 if names is None or len(names.shape) != 1 or names.dtype.kind not in "US" else names.shape[0]
        if codes and values.min() >= 0 and values.max() < n_levels:
            decoded[stem] = archive[f"{stem}_names"][values]
            used += [own, f"{stem}_names"]
        else:
            decoded[own] = values
    return decoded, used


def _columns(name: str, values: Any) -> list[pl.Series]:
    """Return an array with one or a few values for each row as columns."""
    if values.ndim == 1:
        return [_column(name, values)]
    return [_column(f"{name}_{j}", values[:, j]) for j in range(values.shape[1])]


def _column(name: str, values: Any) -> pl.Series:
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    return pl.Series(
        name, values.tolist() if values.dtype.kind == "U" else values.astype(values.dtype.newbyteorder("="))
    )


def _members(source: Source) -> dict[str, _Member]:
    """Read only the headers of the arrays, so that a large archive need not be unpacked."""
    members: dict[str, _Member] = {}
    try:
        with source.raw() as raw, zipfile.ZipFile(raw) as archive:
            for entry in archive.namelist():
                with archive.open(entry) as file:
                    version = np.lib.format.read_magic(file)
                    header = (
                        np.lib.format.read_array_header_1_0
                        if version == (1, 0)
                        else np.lib.format.read_array_header_2_0
                    )
                    shape, _, dtype = header(file)
                    members[entry.removesuffix(".npy")] = _Member(shape, dtype)
    except (*_DAMAGE, NotImplementedError, RuntimeError) as error:
        raise _damaged(source, error) from error
    return members


def _choose(file: str, members: dict[str, _Member]) -> str:
    tables = [name for name, member in members.items() if len(member.shape) == 2]
    for name in _PREFERRED:
        if name in tables:
            return name
    if len(tables) == 1:
        return tables[0]
    listed = "; ".join(f"{name}: {member}" for name, member in members.items()) or "nothing"
    problem = "several 2-D arrays" if tables else "no 2-D array"
    raise DataError(f"{file} contains {problem}: {listed}. Save the table as a 2-D array named X")


def _column_names(
    archive: Any, members: dict[str, _Member], n_rows: int, width: int
) -> tuple[str | None, list[str] | None]:
    """Return the array with the column names, and the names; (None, None) without one."""
    words = [name for name, member in members.items() if member.shape == (width,) and member.dtype.kind == "U"]
    lone = words if len(words) == 1 and width != n_rows else []  # the only words that fit the columns, not the rows
    for name in [*_COLUMN_NAMES, *lone]:
        if name in words:
            names = [str(label) for label in archive[name]]
            if len(set(names)) == width:
                return name, names
    return None, None


def check_array(where: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise unless an array of this shape and type is a table of numbers."""
    if dtype.kind == "O":
        raise DataError(
            f"{where}: dtype object cannot be loaded without pickle, which can run code; save plain numbers"
        )
    if dtype.kind not in "fiub":
        kind = "complex numbers cannot be reduced" if dtype.kind == "c" else "a table needs real numbers"
        raise DataError(f"{where}: dtype {dtype} (shape {shape}): {kind}")
    if len(shape) != 2:
        raise DataError(
            f"{where}: shape {shape} has {len(shape)} dimension{'s' * (len(shape) != 1)}; "
            "a table needs two, rows by columns: reshape it"
        )
    if shape[0] == 0:
        raise NoRowsError(f"{where}: shape {shape}: the table has no rows")
    if shape[1] == 0:
        raise DataError(f"{where}: shape {shape}: the table has no columns")


def _damaged(source: Source, error: Exception) -> DataError:
    if any(word in str(error) for word in ("Object arrays", "Python objects", "pickle")):
        return DataError(f"{source.name}: dtype object is stored as pickle, which can run code; save plain numbers")
    if isinstance(error, OSError) and error.strerror:
        return DataError(f"{source.path or source.name}: cannot be read: {error.strerror}")
    return damaged(source.name, "a NumPy file", error)
