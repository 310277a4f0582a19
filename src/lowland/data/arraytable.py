"""Tables that are one array: `ArrayTable` (dense) and `SparseTable` (CSR)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core.cost import check_allocation
from ..core.errors import DataError
from .table import TOO_BIG, Matrix, Selection, Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class ArrayTable(Table):
    """A table that is one 2-D array, possibly memory-mapped; ``frame`` is built when it is first used.

    `select` without arguments returns the array itself if it is float32 or float64 in C order. ``image_shape`` is
    (height, width) or (height, width, 3) if the rows are the pixels of images, else None.

    >>> array = np.eye(3)
    >>> ArrayTable(array, "eye.npy").select().X is array
    True
    """

    array: NDArray[Any]
    image_shape: tuple[int, ...] | None
    _labels: list[str]

    def __init__(
        self,
        array: NDArray[Any],
        source: str,
        names: Sequence[str] | None = None,
        *,
        aside: pl.DataFrame | None = None,
        notes: tuple[str, ...] = (),
        roles: Mapping[str, str] | None = None,
        image_shape: tuple[int, ...] | None = None,
    ) -> None:
        object.__setattr__(self, "image_shape", image_shape)
        object.__setattr__(self, "array", array)  # the dataclass is frozen; `frame` is computed from the array later
        _set_fields(self, array.shape[1], source, names, aside, notes, roles)

    def __repr__(self) -> str:
        return f"ArrayTable({self.source!r}, {self.n_rows} × {self.n_columns}, {self.array.dtype})"

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The columns as a polars DataFrame: a copy of the array."""
        size = self.array.size * self._column_type.itemsize
        check_allocation(size, f"the columns of {self.source}", TOO_BIG)
        return pl.DataFrame([self._numbered(j) for j in range(self.n_columns)])

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._labels)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.array.shape[0])

    def _reason(self, name: str) -> str | None:
        # Every column of the array is numeric.
        return super()._reason(name) if self.aside.width and name in self.aside.columns else None

    def _series(self, name: str) -> pl.Series:
        return self._numbered(self._labels.index(name))

    def _all_series(self) -> Iterable[pl.Series]:
        return map(self._numbered, range(self.n_columns))

    @property
    def _column_type(self) -> np.dtype[Any]:
        own = self.array.dtype.newbyteorder("=")
        return own if own.kind in "iub" else _working(own)  # integers stay integers: they may name or colour rows

    def _numbered(self, j: int) -> pl.Series:
        return pl.Series(self._labels[j], np.ascontiguousarray(self.array[:, j], dtype=self._column_type))

    def _matrix(self, names: list[str]) -> Matrix:
        if not self.aside.is_empty() and not set(names) <= set(self._labels):
            return super()._matrix(names)
        kind = _working(self.array.dtype)
        if names == self._labels and self.array.dtype == kind and self.array.flags.c_contiguous:
            return self.array
        check_allocation(self.n_rows * len(names) * kind.itemsize, f"the numbers of {self.source}", TOO_BIG)
        chosen = self.array
        if names != self._labels:
            place = {name: j for j, name in enumerate(self._labels)}
            chosen = np.take(self.array, [place[name] for name in names], axis=1)
        return np.ascontiguousarray(chosen, dtype=kind)


class SparseTable(Table):
    """A table that is one sparse matrix in CSR form; `select` returns its columns as a CSR array.

    >>> from scipy import sparse
    >>> table = SparseTable(sparse.csr_array(np.eye(3)), "eye.npz", ["a", "b", "c"])
    >>> table.select(columns=["c", "a"]).X.toarray()[2]
    array([1., 0.])
    """

    matrix: csr_array[Any]
    _labels: list[str]

    def __init__(
        self,
        matrix: csr_array[Any],
        source: str,
        names: Sequence[str] | None = None,
        *,
        aside: pl.DataFrame | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        object.__setattr__(self, "matrix", matrix)
        _set_fields(self, matrix.shape[1], source, names, aside, notes, None)

    def __repr__(self) -> str:
        return f"SparseTable({self.source!r}, {self.n_rows} × {self.n_columns}, {self.matrix.nnz} stored)"

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The columns as a polars DataFrame: a dense copy of the matrix."""
        return pl.DataFrame(self._dense(self._labels), schema=self._labels, orient="row")

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._labels)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.matrix.shape[0])

    def select(
        self,
        columns: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        keep_aside: Sequence[str] = (),
    ) -> Selection:
        """Choose the columns to reduce and return them as one CSR array; columns kept aside cannot be among them."""
        chosen, left_out = self._checked_choice(columns, drop or (), keep_aside)
        for name in chosen:
            if name in self.aside.columns:
                raise DataError(f"{self.source}, column {name!r}: it is kept aside from the sparse matrix")
        X = self.matrix if chosen == self._labels else self.matrix[:, self._places(chosen)]
        return Selection(X, chosen, left_out)

    def _reason(self, name: str) -> str | None:
        return None

    def _series(self, name: str) -> pl.Series:
        return pl.Series(name, self._dense([name])[:, 0])

    def _all_series(self) -> Iterable[pl.Series]:
        columns = self.matrix.tocsc()
        return (pl.Series(name, columns[:, [j]].toarray().ravel()) for j, name in enumerate(self._labels))

    def _places(self, names: Sequence[str]) -> list[int]:
        place = {name: j for j, name in enumerate(self._labels)}
        return [place[name] for name in names]

    def _dense(self, names: Sequence[str]) -> NDArray[Any]:
        size = self.n_rows * len(names) * self.matrix.dtype.itemsize
        check_allocation(size, f"a dense copy of {self.source}", TOO_BIG)
        dense: NDArray[Any] = self.matrix[:, self._places(names)].toarray()
        return dense


def _set_fields(
    table: ArrayTable | SparseTable,
    width: int,
    source: str,
    names: Sequence[str] | None,
    aside: pl.DataFrame | None,
    notes: tuple[str, ...],
    roles: Mapping[str, str] | None,
) -> None:
    """Set the fields of a frozen table whose ``frame`` is computed when it is first used."""
    labels = [f"x{j}" for j in range(width)] if names is None else list(names)
    fields: dict[str, Any] = {
        "source": source,
        "first_line": None,
        "faults": {},
        "notes": notes,
        "stray": {},
        "_labels": labels,
    }
    if aside is not None and aside.width:
        taken = {*labels}
        aside = aside.rename({name: f"{name}_aside" for name in aside.columns if name in taken})
    fields |= {"_labels": labels, "aside": pl.DataFrame() if aside is None else aside, "roles": roles or {}}
    for name, value in fields.items():
        object.__setattr__(table, name, value)


def _working(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32) if dtype == np.float32 else np.dtype(np.float64)
