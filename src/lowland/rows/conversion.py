"""Conversion of lists, objects, sparse matrices and columns to arrays of numbers, with errors that name the cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.errors import CellError, DataError
from ..core.message import Remedies

Array = Any

_COMPLEX = "Complex data not supported: give the real and imaginary parts as separate columns"


def working(kind: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which numbers of this dtype are processed: float32 or float64."""
    return np.dtype(np.float32 if kind.kind == "f" and kind.itemsize <= 4 else np.float64)


def from_lists(X: Any) -> np.ndarray[Any, Any]:
    """Return nested lists as an array; raise for rows of different lengths."""
    try:
        return np.asarray(X)
    except ValueError:
        lengths = [len(row) if hasattr(row, "__len__") else 1 for row in X]
        bad = next((i for i, n in enumerate(lengths) if n != lengths[0]), None)
        if bad is None:
            raise
        raise DataError(
            f"row {bad} has {lengths[bad]} values, row 0 has {lengths[0]}: all rows must have the same length", row=bad
        ) from None


def dense(array: Array) -> Array:
    """Return a 2-D array of real numbers, converted from objects or text if needed."""
    if array.ndim != 2:
        raise DataError(
            f"Expected a 2-D table of rows and columns, got {array.ndim}-D data of shape {tuple(array.shape)}. "
            "Reshape your data either using array.reshape(-1, 1) if your data has a single feature or "
            "array.reshape(1, -1) if it contains a single sample."
        )
    if arrays.is_foreign(array):
        return _tensor(array)
    if array.dtype.kind in "fiub":
        return array
    if array.dtype.kind == "c":
        raise DataError(_COMPLEX)
    if array.dtype.kind in "mM":
        raise DataError(f"{array.dtype} contains dates or times: convert them to numbers, such as days since a start")
    return _from_objects(array)


def _tensor(array: Array) -> Array:
    """Return a tensor detached from its gradients; raise if it cannot be summed by blocks of rows."""
    kind = str(array.dtype)
    if "complex" in kind:
        raise DataError(_COMPLEX)
    if "bfloat16" in kind or "float8" in kind:
        raise DataError(f"{kind} is too imprecise for sums: convert the tensor to float32")
    if "sparse" in str(getattr(array, "layout", "")):
        raise DataError("sparse tensors are not supported: pass X.to_dense() or a scipy.sparse matrix")
    return arrays.detached(array)


def _from_objects(array: Array) -> Array:
    """Return Python objects or text as numbers; raise for the first cell that is not a number."""
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        for (i, j), value in np.ndenumerate(array.astype(object)):
            try:
                float(value)
            except (TypeError, ValueError) as error:
                refuse(value, error, Remedies("convert it", "leave the column out"), i, j)
        raise


def refuse(value: Any, error: Exception, advice: Remedies, row: int, column: int, name: str | None = None) -> NoReturn:
    """Raise for a cell that is not a number: as in scikit-learn, TypeError for objects and ValueError for text."""
    cell = CellError(f"{value!r}, which is not a number ({error}),", advice, row=row, column=column, name=name)
    if isinstance(error, TypeError):
        raise TypeError(str(cell)) from None
    raise cell from None


def sparse(X: Any) -> Any:
    """Return a sparse matrix as CSR in float32 or float64."""
    if X.ndim != 2:
        raise DataError(f"Expected a 2-D table of rows and columns, got sparse data of shape {X.shape}")
    if X.dtype.kind == "c":
        raise DataError(_COMPLEX)
    if X.dtype.kind not in "fiub":
        raise DataError(f"sparse data must be numeric; its dtype is {X.dtype}")
    csr = sp.csr_array(X)
    return csr if csr.dtype in (np.float32, np.float64) else csr.astype(working(csr.dtype))


def column(name: str, number: int, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a data frame's column as float64; raise for a cell that is not a number."""
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)

    def no_number(i: int, value: Any, error: Exception) -> NoReturn:
        refuse(value, error, Remedies("leave the column out", "encode it"), i, number, name)

    return cells(values, no_number)


def cells(values: np.ndarray[Any, Any], no_number: Callable[[int, Any, Exception], NoReturn]) -> np.ndarray[Any, Any]:
    """Return objects as float64, NaN for missing values; ``no_number`` raises for other values."""
    out = np.empty(len(values))
    for i, value in enumerate(values.astype(object)):
        try:
            out[i] = np.nan if is_missing(value) else float(value)
        except (TypeError, ValueError) as error:
            no_number(i, value, error)
    return out


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or a missing value of pandas.

    >>> is_missing(None), is_missing(float("nan")), is_missing(Decimal("NaN")), is_missing("")
    (True, True, True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def header(names: Sequence[str]) -> Any:
    """Return a data frame without rows, from which scikit-learn reads the names."""
    import polars as pl

    return pl.DataFrame(schema=dict.fromkeys(names, pl.Float64))
