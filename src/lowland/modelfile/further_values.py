"""Further kinds of values in format 2, which learned state of scikit-learn's transformers has."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .container import DTYPES, Arrays
from .values import Decoder, Encoder, decode, encode

_TEXT_TYPE = re.compile(r"[<>=|]?U\d{1,6}")
_TYPES = {*DTYPES, "object"}


def encode_further(value: Any, name: str, arrays: Arrays, parameter: bool, more: Encoder) -> Any:
    """Return a value as JSON, or None if it is none of these kinds."""

    def inner(part: Any, place: str) -> Any:
        return encode(part, f"{name}.{place}", arrays, parameter=parameter, more=more)

    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic | int | float)):
        kind = np.dtype(value)
        text = kind.str if kind.kind == "U" else kind.name
        known = text in _TYPES or _TEXT_TYPE.fullmatch(text)
        return {"$dtype": text, "type": isinstance(value, type)} if known else None
    if isinstance(value, slice):
        return {"$slice": [inner(part, str(i)) for i, part in enumerate((value.start, value.stop, value.step))]}
    if type(value) is dict and not all(isinstance(key, str) and key[:1] != "$" for key in value):
        return {"$dict": [[inner(k, f"{i}.key"), inner(v, f"{i}.value")] for i, (k, v) in enumerate(value.items())]}
    if type(value) is np.ndarray and value.dtype.kind == "U" and value.ndim == 1:
        return {"$strings": value.tolist(), "dtype": value.dtype.str}
    if type(value) is np.ndarray and value.dtype == object and value.ndim == 1:
        if all(type(item) is str for item in value):
            return None  # "$texts" of format 1
        return {"$cells": [inner(item, str(i)) for i, item in enumerate(value.tolist())]}
    if type(value).__module__.startswith("pandas.") and type(value).__name__.endswith("Index"):
        return inner(value.tolist(), "names")
    return None


def decode_further(tag: str, content: Any, entry: dict[str, Any], arrays: Arrays, more: Decoder) -> Any:
    """Return the value of a tagged entry; ValueError for an unknown tag."""
    if tag == "$dtype" and isinstance(content, str) and (content in _TYPES or _TEXT_TYPE.fullmatch(content)):
        kind = np.dtype(content)
        return kind.type if entry.get("type") is True else kind
    if tag == "$slice" and isinstance(content, list) and len(content) == 3:
        return slice(*decode(content, arrays, more))
    if tag == "$dict" and isinstance(content, list):
        return {decode(key, arrays, more): decode(value, arrays, more) for key, value in content}
    if tag == "$strings" and all(isinstance(text, str) for text in content) and _TEXT_TYPE.fullmatch(entry["dtype"]):
        return np.array(content, dtype=entry["dtype"])
    if tag == "$cells" and isinstance(content, list):
        out = np.empty(len(content), dtype=object)
        for i, item in enumerate(content):
            out[i] = decode(item, arrays, more)
        return out
    raise ValueError(f"{content!r} is unknown")
