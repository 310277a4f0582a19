"""Columns of a scatter as JSON: numbers as typed arrays, categories as codes and labels, other texts as they are."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

Array = Any

MAX_TEXT = 300  # characters of a cell
_FEW_NUMBERS = 12  # up to this many different whole numbers are treated as groups, as in plots/coloring.py
_MANY_LABELS = 256  # up to this many different texts are categories; more of them if rows share labels
_TYPES = {"u1": "u8", "i1": "i8", "i2": "i16", "i4": "i32", "f4": "f32", "f8": "f64"}
_EXACT_FLOAT32 = 2**24


def values_of(column: Any) -> list[Any]:
    """Return the values of a column of any library as a list of Python values.

    >>> values_of(np.array([1.5, 2.5]))
    [1.5, 2.5]
    """
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist())
    if hasattr(column, "to_list"):
        return list(column.to_list())
    if isinstance(column, np.ndarray):
        return list(column.tolist())
    return [value.item() if isinstance(value, np.generic) else value for value in column]


def packed(values: Array) -> dict[str, str]:
    """Return numbers as the base64 text of their little-endian bytes.

    >>> packed(np.array([1, 2], dtype=np.uint8))
    {'type': 'u8', 'data': 'AQI='}
    """
    array = np.ascontiguousarray(values)
    name = _TYPES[array.dtype.str[1:]]
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return {"type": name, "data": base64.b64encode(little.tobytes()).decode("ascii")}


def packed_column(name: str, values: list[Any]) -> dict[str, Any]:
    """Return a column as JSON.

    >>> packed_column("size", [1.5, None])["kind"], packed_column("species", ["a", "b", "a"])["labels"]
    ('number', ['a', 'b'])
    """
    known = [value for value in values if not is_missing(value)]
    numeric = bool(known) and all(type(value) in (int, float) for value in known)
    whole = numeric and all(type(value) is int for value in known)
    if numeric and not (whole and len(set(known)) <= _FEW_NUMBERS):
        return {"name": name, "kind": "number", "values": packed(_numbers(values, whole and len(known) == len(values)))}
    distinct = set(known)
    texts = {value: _short(value) for value in distinct}
    if len(distinct) > max(_MANY_LABELS, len(values) // 2):
        return {
            "name": name,
            "kind": "text",
            "values": [None if is_missing(value) else texts[value] for value in values],
        }
    order = sorted(distinct, key=lambda value: (value, "") if whole else (0, texts[value]))
    codes = {value: code for code, value in enumerate(order)}
    numbered = np.array([-1 if is_missing(value) else codes[value] for value in values], dtype=np.int64)
    return {
        "name": name,
        "kind": "category",
        "codes": packed(_smallest(numbered, (np.int8, np.int16, np.int32))),
        "labels": [texts[value] for value in order],
    }


def is_missing(value: Any) -> bool:
    """Return whether a value stands for a missing one: None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _numbers(values: list[Any], whole: bool) -> Array:
    """Return numbers in the smallest type that shows them with six digits, whole numbers in full."""
    if whole and max(map(abs, values)) < 2**31:
        return _smallest(np.array(values, dtype=np.int64), (np.uint8, np.int8, np.int16, np.int32))
    found = np.array([np.nan if is_missing(value) else value for value in values], dtype=np.float64)
    size = np.abs(found[np.isfinite(found) & (found != 0)])
    large = bool((size >= _EXACT_FLOAT32).any())
    tiny = bool((size < np.finfo(np.float32).tiny).any())
    return found if large or tiny else found.astype(np.float32)


def _smallest(numbers: Array, types: tuple[Any, ...]) -> Array:
    low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    fitting = next(kind for kind in types if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    return numbers.astype(fitting)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
