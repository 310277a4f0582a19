"""Functions by name: a model file holds no code, so it can only say what a kernel, metric or transform is called.

NumPy's elementwise functions have the names ``numpy.log1p`` and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]

_NUMPY = "numpy."
_known: dict[str, Function] = {}


def register(name: str, function: Function | None = None) -> Any:
    """Give a kernel, a metric or a transform a name by which model files know it; also as a decorator.

    `lowland.save` writes the name, and `lowland.load` finds the function if it is registered under that name by then.
    A name is given once; to give it to the same function again is no error.

    Examples
    --------
    >>> import lowland
    >>> @lowland.functions.register("doctest-overlap")
    ... def overlap(a, b):
    ...     return len(set(a) & set(b))
    >>> lowland.functions.name_of(overlap)
    'doctest-overlap'
    """
    if function is None:
        return lambda given: register(name, given)
    if not callable(function) or not isinstance(name, str) or not name:
        raise ValueError(f"register needs a name and a function; got {name!r} and {function!r}")
    if name.startswith(_NUMPY):
        raise ValueError(f"names that begin with {_NUMPY!r} are for NumPy's own functions; choose another name")
    if _known.get(name, function) is not function:
        raise ValueError(
            f"the name {name!r} belongs to another function: choose one of its own, such as one with a version"
        )
    _known[name] = function
    return function


def name_of(function: Function) -> str | None:
    """Return the name a function is registered by, or that of an elementwise function of NumPy, or None.

    >>> import numpy as np
    >>> name_of(np.log1p), name_of(max)
    ('numpy.log1p', None)
    """
    known = next((name for name, known in _known.items() if known is function), None)
    if known is not None:
        return known
    own = f"{_NUMPY}{getattr(function, '__name__', '')}"
    return own if _ufunc(own) is function else None


def find(name: str) -> Function | None:
    """Return the function of a name, or None."""
    return _known.get(name) or _ufunc(name)


def _ufunc(name: str) -> Function | None:
    """Return an elementwise function of NumPy by its name; nothing else of NumPy has a name here."""
    import numpy as np

    found = getattr(np, name.removeprefix(_NUMPY), None) if name.startswith(_NUMPY) else None
    return found if isinstance(found, np.ufunc) else None
