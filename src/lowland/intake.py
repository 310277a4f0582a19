"""What users have, as arrays of numbers: lists, objects, sparse matrices, columns; or the cell that is no number."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from . import arrays
from .errors import DataError

Array = Any


def working(kind: np.dtype[Any]) -> np.dtype[Any]:
    """Return the precision that other kinds of numbers are converted to."""
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
            f"row {bad} has {lengths[bad]} values, row 0 has {lengths[0]}: give rows of one length"
        ) from None


def dense(array: Array) -> Array:
    """Return a 2-D array of real numbers, converted from objects or text if need be."""
    if array.ndim != 2:
        raise DataError(
            f"Expected a 2-D table of rows and columns, got {array.ndim}-D data of shape {tuple(array.shape)}. "
            "Reshape your data either using array.reshape(-1, 1) if your data has a single feature or "
            "array.reshape(1, -1) if it contains a single sample."
        )
    if isinstance(array, np.ndarray) and array.dtype.kind not in "fiub":
        if array.dtype.kind == "c":
            raise DataError("Complex data not supported: give the real and imaginary parts as columns of their own")
        if array.dtype.kind in "mM":
            raise DataError(f"{array.dtype} holds dates or times: turn them into numbers such as days since a start")
        return _from_objects(array)
    if arrays.is_foreign(array):
        if "complex" in str(array.dtype):
            raise DataError("Complex data not supported: give the real and imaginary parts as columns of their own")
        if "bfloat16" in str(array.dtype) or "float8" in str(array.dtype):
            raise DataError(f"{array.dtype} has too few digits to sum: convert the tensor to float32 first")
    return array


def _from_objects(array: Array) -> Array:
    """Turn Python objects or text into numbers, or name the first cell that is none."""
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        for (i, j), value in np.ndenumerate(array.astype(object)):
            try:
                float(value)
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else DataError
                message = (
                    f"row {i}, column {j}: {value!r} is not a number ({error}); convert it or leave the column out"
                )
                raise kind(message) from None
        raise


def sparse(X: Any) -> Any:
    """Return a sparse matrix as CSR in float32 or float64."""
    if X.ndim != 2:
        raise DataError(f"Expected a 2-D table of rows and columns, got sparse data of shape {X.shape}")
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported: give the real and imaginary parts as columns of their own")
    if X.dtype.kind not in "fiub":
        raise DataError(f"sparse data must hold numbers; its dtype is {X.dtype}")
    csr = sp.csr_array(X)
    return csr if csr.dtype in (np.float32, np.float64) else csr.astype(working(csr.dtype))


def column_or_error(name: str, column: Any) -> np.ndarray[Any, Any]:
    """Return a data frame's column as float64, or name the cell that is no number."""
    values = np.asarray(column)
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    out = np.empty(len(values))
    for i, value in enumerate(values.astype(object)):
        try:
            out[i] = np.nan if value is None else float(value)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else DataError
            message = (
                f"column {name!r}, row {i}: {value!r} is not a number ({error}); leave the column out or encode it"
            )
            raise kind(message) from None
    return out
