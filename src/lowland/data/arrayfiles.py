"""NumPy's ``.npy`` and ``.npz``, and sparse matrices that SciPy saved. Pickled objects are never loaded."""

from __future__ import annotations

import math
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.cost import check_allocation
from ..core.errors import DataError
from .table import ArrayTable

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_DAMAGE = (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)
_PREFERRED = ("X", "data")
_COLUMN_NAMES = ("columns", "features", "feature_names")
_SPARSE = {"format", "shape", "data"}
_REMEDY = "save it as .npy, which is read from disk as needed"


@dataclass(frozen=True)
class _Member:
    """One array of an ``.npz`` file, as its header describes it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"{self.dtype} {self.shape}"


def read_npy(path: Path) -> ArrayTable:
    """Open an array as a table, mapped from disk: nothing is read until it is used."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except _DAMAGE as error:
        raise _damaged(path, error) from error
    if not isinstance(array, np.ndarray):  # np.load ignores the name: this is a zip archive
        array.close()
        raise DataError(f"{path.name} is an .npz archive; rename it to end in .npz")
    _check(path.name, array.shape, array.dtype)
    return ArrayTable(array, path.name)


def read_npz(path: Path) -> ArrayTable:
    """Read the one 2-D array of an ``.npz`` file, or the one named X or data."""
    members = _members(path)
    if members.keys() >= _SPARSE:
        raise DataError(f"{path.name} contains a sparse matrix; read it with lowland.data.read_matrix or read_any")
    name = _choose(path.name, members)
    member = members[name]
    _check(f"{path.name}, array {name!r}", member.shape, member.dtype)
    check_allocation(math.prod(member.shape) * member.dtype.itemsize, f"reading {path.name}", _REMEDY)
    try:
        with np.load(path, allow_pickle=False) as archive:
            return ArrayTable(archive[name], path.name, _column_names(archive, members, member.shape[1]))
    except _DAMAGE as error:
        raise _damaged(path, error) from error


def is_sparse(path: Path) -> bool:
    """Return whether an ``.npz`` file holds a sparse matrix of SciPy."""
    return _members(path).keys() >= _SPARSE


def read_sparse(path: Path) -> csr_array[Any]:
    """Read a sparse matrix that `scipy.sparse.save_npz` wrote."""
    from scipy import sparse

    members = _members(path)
    if not members.keys() >= _SPARSE:
        raise DataError(f"{path.name} contains no sparse matrix; read a dense one with lowland.data.read_table")
    size = sum(math.prod(member.shape) * member.dtype.itemsize for member in members.values())
    check_allocation(2 * size, f"reading {path.name}", "")
    try:
        loaded = sparse.load_npz(path)
        _check(path.name, loaded.shape, loaded.dtype)
        matrix = sparse.csr_array(loaded)
        matrix.check_format(full_check=True)
    except DataError:
        raise
    except (*_DAMAGE, TypeError) as error:
        raise _damaged(path, error) from error
    return matrix


def _members(path: Path) -> dict[str, _Member]:
    """Read only the headers of the arrays, so that a large archive need not be unpacked."""
    members: dict[str, _Member] = {}
    try:
        with zipfile.ZipFile(path) as archive:
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
        raise _damaged(path, error) from error
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


def _column_names(archive: Any, members: dict[str, _Member], width: int) -> list[str] | None:
    for name in _COLUMN_NAMES:
        if name in members and members[name].shape == (width,) and members[name].dtype.kind == "U":
            names = [str(label) for label in archive[name]]
            if len(set(names)) == width:
                return names
    return None


def _check(where: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
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
    if 0 in shape:
        raise DataError(f"{where}: shape {shape}: the table has no {'rows' if shape[0] == 0 else 'columns'}")


def _damaged(path: Path, error: Exception) -> DataError:
    if any(word in str(error) for word in ("Object arrays", "Python objects", "pickle")):
        return DataError(f"{path.name}: dtype object is stored as pickle, which can run code; save plain numbers")
    if isinstance(error, OSError) and error.strerror:
        return DataError(f"{path}: cannot be read: {error.strerror}")
    return DataError(f"{path.name} is damaged, truncated or not a {path.suffix} file: {error}")
