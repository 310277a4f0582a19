"""What users have, as arrays of numbers: lists, objects, sparse matrices, columns; or the cell that is no number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.errors import CellError, DataError
from ..core.message import Advice

Array = Any

_COMPLEX = "Complex data not supported: give the real and imaginary parts as columns of their own"


def working(kind: np.dtype[Any]) -> np.dtype[Any]:
    """Return the precision in which numbers of a kind are worked on."""
    return np.dtype(np.float32 if kind.kind == "f" and kind.itemsize <= 4 else np.float64)


def from_lists(X: Any) -> np.ndarray[Any, Any]:
    """Turn nested lists into an array; rows of different lengths are named."""
    try:
        return np.asarray(X)
    except ValueError:
        lengths = [len(row) if hasattr(row, "__len__") else 1 for row in X]
        bad = next((i for i, n in enumerate(lengths) if n != lengths[0]), None)
        if bad is None:
            raise
        raise DataError(
            f"row {bad} has {lengths[bad]} values, row 0 has {lengths[0]}: give rows of one length", row=bad
        ) from None


def dense(array: Array) -> Array:
    """Return a 2-D array of real numbers, converted from objects or text if need be."""
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
        raise DataError(f"{array.dtype} holds dates or times: turn them into numbers such as days since a start")
    return _from_objects(array)


def _tensor(array: Array) -> Array:
    """Return a tensor without its gradients; refuse what cannot be summed by blocks of rows."""
    kind = str(array.dtype)
    if "complex" in kind:
        raise DataError(_COMPLEX)
    if "bfloat16" in kind or "float8" in kind:
        raise DataError(f"{kind} has too few digits to sum: convert the tensor to float32 first")
    if "sparse" in str(getattr(array, "layout", "")):
        raise DataError("sparse tensors are not taken: give X.to_dense(), or a scipy.sparse matrix")
    return arrays.detached(array)


def _from_objects(array: Array) -> Array:
    """Turn Python objects or text into numbers, or name the first cell that is none."""
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        for (i, j), value in np.ndenumerate(array.astype(object)):
            try:
                float(value)
            except (TypeError, ValueError) as error:
                refuse(value, error, Advice("convert it", "leave the column out"), i, j)
        raise


def refuse(value: Any, error: Exception, advice: Advice, row: int, column: int, name: str | None = None) -> NoReturn:
    """Name the cell that is no number; as scikit-learn does, objects are a TypeError and text is a ValueError."""
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
        raise DataError(f"sparse data must hold numbers; its dtype is {X.dtype}")
    csr = sp.csr_array(X)
    return csr if csr.dtype in (np.float32, np.float64) else csr.astype(working(csr.dtype))


def column(name: str, number: int, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a data frame's column as float64, or name the cell that is no number."""
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)

    def no_number(i: int, value: Any, error: Exception) -> NoReturn:
        refuse(value, error, Advice("leave the column out", "encode it"), i, number, name)

    return cells(values, no_number)


def cells(values: np.ndarray[Any, Any], no_number: Callable[[int, Any, Exception], NoReturn]) -> np.ndarray[Any, Any]:
    """Return objects as float64, NaN where one is missing; ``no_number`` refuses what is no number."""
    out = np.empty(len(values))
    for i, value in enumerate(values.astype(object)):
        try:
            out[i] = np.nan if is_missing(value) else float(value)
        except (TypeError, ValueError) as error:
            no_number(i, value, error)
    return out


def is_missing(value: Any) -> bool:
    """Tell None, NaN, and the marks of pandas from values.

    >>> is_missing(None), is_missing(float("nan")), is_missing(Decimal("NaN")), is_missing("")
    (True, True, True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def header(names: Sequence[str]) -> Any:
    """Return a data frame of no rows: scikit-learn reads names from nothing less."""
    import polars as pl

    return pl.DataFrame(schema=dict.fromkeys(names, pl.Float64))
