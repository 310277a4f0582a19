"""Conversion of learned values to JSON and back: arrays are stored apart, types that JSON lacks are tagged by ``$``."""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..contract.functions import name_of
from ..core.errors import ModelFileError
from .container import DTYPES, SUSPECT, Arrays

# The only objects in learned state: the accumulators of `partial_fit`.
_OBJECTS = {"Moments": "lowland.rows.moments:Moments", "RFactor": "lowland.rows.moments:RFactor"}


_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")  # those of NumPy


class NamedFunction(NamedTuple):
    """A function in a model file: the name it was registered by, or None."""

    name: str | None


Encoder = Callable[[Any, str, Arrays, bool], Any]
Decoder = Callable[[str, Any, dict[str, Any], Arrays], Any]


def encode(
    value: Any, name: str, arrays: Arrays | None, *, parameter: bool = False, more: Encoder | None = None
) -> Any:
    """Return a value as JSON; its arrays are added to ``arrays`` (None: plain values only), named after ``name``.

    Functions and random generators are allowed in a ``parameter``. ``more`` encodes further kinds of values; it returns
    None for all others.
    """
    if more is not None and arrays is not None and (further := more(value, name, arrays, parameter)) is not None:
        return further
    options: dict[str, Any] = {"parameter": parameter, "more": more}
    if isinstance(value, np.generic) and value.dtype.name in DTYPES:
        plain = encode(value.item(), name, None)
        # the dtype of a NumPy scalar affects results, so learned state keeps it
        return plain if arrays is None else {"$scalar": value.dtype.name, "value": plain}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": str(value)}
    if type(value) in (list, tuple):
        items = [encode(item, f"{name}.{i}", arrays, **options) for i, item in enumerate(value)]
        return items if type(value) is list else {"$tuple": items}
    if type(value) is dict and all(isinstance(key, str) and key[:1] != "$" for key in value):
        # only identifiers become part of an array's path: with dots or digits in them, two paths could be equal
        paths = [f"{name}.{key if key.isidentifier() else i}" for i, key in enumerate(value)]
        return {k: encode(v, path, arrays, **options) for path, (k, v) in zip(paths, value.items(), strict=True)}
    if arrays is not None and type(value) in (np.ndarray, np.memmap) and value.dtype.name in DTYPES:
        arrays[name] = np.asarray(value, dtype=value.dtype.newbyteorder("="), order="C")
        return {"$array": name}
    if arrays is not None and isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1:
        return {"$texts": _texts(value, name)}
    if arrays is not None and hasattr(value, "to_state"):
        kind, state = value.to_state()
        if kind in _OBJECTS and type(value) is pkgutil.resolve_name(_OBJECTS[kind]):
            # the object restores its scalars' types
            state = {k: v.item() if isinstance(v, np.generic) else v for k, v in state.items()}
            return {"$object": kind, "state": encode(state, name, arrays)}
    if isinstance(value, np.random.Generator | np.random.RandomState) and parameter:
        return {"$random": type(value).__name__, "state": encode(_random_state(value, name), name, arrays)}
    if callable(value) and parameter:
        return {"$function": name_of(value)}
    what = type(value).__name__ + (f" of {value.dtype}" if isinstance(value, np.ndarray) else "")
    raise ModelFileError(f"{name} is a {what}, and a model file stores only numbers, text and real NumPy arrays")


def _random_state(value: Any, name: str) -> dict[str, Any]:
    """Return the state of a random generator, with the name of its bit generator."""
    state: Any = value.bit_generator.state if isinstance(value, np.random.Generator) else value.get_state(legacy=False)
    if state.get("bit_generator") not in _BIT_GENERATORS:
        raise ModelFileError(
            f"{name} is a random generator that NumPy does not have; use set_params(random_state=0), a seed, which "
            "keeps the fitted model"
        )
    return dict(state)


def _with_state(kind: str, state: dict[str, Any]) -> Any:
    """Return the random generator with this state."""
    if state["bit_generator"] not in _BIT_GENERATORS or kind not in ("Generator", "RandomState"):
        raise ValueError(f"{kind} of {state['bit_generator']!r} is unknown")
    bits = getattr(np.random, state["bit_generator"])()
    if kind == "Generator":
        bits.state = state
        return np.random.Generator(bits)
    out = np.random.RandomState(bits)
    out.set_state(state)
    return out


def _texts(objects: Any, name: str) -> list[str]:
    for i, thing in enumerate(objects):
        if not isinstance(thing, str):
            raise ModelFileError(
                f"object {i} of {name} is a {type(thing).__name__}, and a model file stores only objects that are "
                "text: convert them to text that the function can parse"
            )
    return [str(thing) for thing in objects]


def decode(value: Any, arrays: Arrays, more: Decoder | None = None) -> Any:
    """Return the value of JSON; the arrays that it refers to are removed from ``arrays``.

    ``more`` decodes further tags; it raises ValueError for unknown ones.

    >>> decode({"a": {"$tuple": [1, {"$float": "inf"}]}}, {})
    {'a': (1, inf)}
    """
    if isinstance(value, list):
        return [decode(item, arrays, more) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next((key for key in value if key[:1] == "$"), None)
    if tag is None:
        return {key: decode(item, arrays, more) for key, item in value.items()}
    try:
        return _decode_tagged(tag, value[tag], value, arrays, more)
    except ModelFileError:
        raise  # the message of an inner entry is more precise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"its {tag!r} entry cannot be read ({error}); {SUSPECT}") from error


def _decode_tagged(tag: str, content: Any, entry: dict[str, Any], arrays: Arrays, more: Decoder | None) -> Any:
    if tag == "$array":
        return arrays.pop(content)
    if tag == "$float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if tag == "$scalar" and content in DTYPES:
        plain = decode(entry["value"], arrays)
        return np.dtype(content).type(plain if isinstance(plain, float) else int(plain))
    if tag == "$tuple" and isinstance(content, list):
        return tuple(decode(content, arrays, more))
    if tag == "$texts" and all(isinstance(text, str) for text in content):
        return np.array([*content, None], dtype=object)[:-1]  # with a None among them NumPy keeps strings as objects
    if tag == "$function" and (content is None or isinstance(content, str)):
        return NamedFunction(content)
    if tag == "$random":
        return _with_state(content, decode(entry["state"], arrays))
    if tag == "$object":
        return pkgutil.resolve_name(_OBJECTS[content]).from_state(decode(entry["state"], arrays))
    if more is not None:
        return more(tag, content, entry, arrays)
    raise ValueError(f"{content!r} is unknown")
