"""Make the class of a method from a class of another package: its parameters, and which classes are refused.

Each has a class of its own, and not one adapter with the other class as a parameter: `clone`, `get_params` and
the printed form of scikit-learn read the parameters from the signature of a class's constructor.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from .plugin_adapter import Anything, PluginReducer, WithInverse
from .reducer import Reducer

_NAMES = ("n_components", "n_dims", "n_dimensions", "n_dim", "ndim")  # what others call the number of dimensions
AUTO = "auto"  # the first of those that the class has
_LEARNED = {*Reducer.__annotations__, *PluginReducer.__annotations__, "feature_names_in_"}
_made: dict[tuple[type, str, str | None, str], type[PluginReducer]] = {}  # for copies


def wrap(cls: type, title: str, components: str | None, defaults: Mapping[str, Any]) -> type[PluginReducer]:
    """Make the `Reducer` class of a transformer class; ``components`` as `plugins.register` takes it.

    >>> import numpy as np
    >>> from sklearn.decomposition import FastICA
    >>> Sources = wrap(FastICA, "Sources", AUTO, {"whiten": "unit-variance"})
    >>> Sources(2).get_params()["whiten"], Sources(2).fit_transform(np.eye(5)[:, :3]).shape
    ('unit-variance', (5, 2))
    """
    _refuse_unfit(cls)
    taken = _arguments(cls)
    if components == AUTO:
        components = next((name for name in _NAMES if name in taken), None)
    elif components is not None and components not in taken:
        raise ValueError(f"{cls.__name__} has no parameter {components!r}; it has {', '.join(taken) or 'none'}")
    elif components not in (None, "n_components") and "n_components" in taken:
        raise ValueError(
            f"{cls.__name__} has a parameter n_components beside {components}, and in Lowland both would be called "
            "n_components: wrap it in a class with other parameter names"
        )
    names: dict[str, Any] = {}
    for name, default in taken.items():
        known = "n_components" if name == components else name
        names[known] = defaults.get(known, default)
        if names[known] is inspect.Parameter.empty:  # a method can be made without saying anything
            raise ValueError(f"{cls.__name__} needs a value for {name}: give one in defaults={{{known!r}: …}}")
    if unknown := sorted(set(defaults) - set(names)):
        raise ValueError(f"{cls.__name__} has no parameter {unknown[0]!r}; it has {', '.join(names) or 'none'}")
    base = WithInverse if hasattr(cls, "inverse_transform") else PluginReducer
    if mine := [name for name in names if hasattr(base, name) or name in _LEARNED]:
        raise ValueError(
            f"{cls.__name__} has a parameter {mine[0]!r}, and a method of Lowland has something else by that name: "
            "wrap it in a class with other parameter names"
        )
    digest, kept = _digest(defaults), dict(defaults)

    def __reduce__(self: PluginReducer) -> tuple[Any, ...]:  # the class is made here: no module knows its name
        return empty, (cls, type(self).__name__, components, kept, digest), self.__getstate__()

    made = type(
        title,
        (base,),
        {
            "__doc__": f"{first_line(cls)}\n\n{cls.__module__}.{cls.__qualname__} as a method of Lowland.",
            "__module__": cls.__module__,
            "__init__": _constructor(names, title, cls),
            "_parameters": {name: Anything(cls.__name__) for name in names},
            "_state": (),  # a model file holds no object of another package
            "_wrapped": cls,
            "_components": components,
            "_defaults": kept,
            "__reduce__": __reduce__,
        },
    )
    _made[cls, title, components, digest] = made
    return made


def _refuse_unfit(cls: type) -> None:
    """Refuse a class that does not reduce rows, or not rows alone."""
    if not (hasattr(cls, "fit_transform") or (hasattr(cls, "fit") and hasattr(cls, "transform"))):
        raise TypeError(f"{cls.__name__} has neither fit_transform nor fit and transform: it does not reduce rows")
    for name in ("fit_transform", "fit"):
        try:
            _, *given = inspect.signature(getattr(cls, name)).parameters.values()  # without the object itself
        except (AttributeError, TypeError, ValueError):
            continue  # it has none, or one that cannot be read
        needed = [p.name for p in given if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        if len(needed) > 1:
            raise TypeError(
                f"{cls.__name__}.{name} needs {' and '.join(needed[1:])} beside the rows, and a method of Lowland "
                "learns from rows alone: wrap it in a class that supplies the rest"
            )


def no_components(cls: type) -> str:
    """Say that no parameter has a usual name for the number of dimensions, and what to do."""
    return (
        f"{cls.__name__} has no parameter by a usual name for the number of dimensions (it has "
        f"{', '.join(_arguments(cls)) or 'none'}); register(…, components=…) names it"
    )


def _digest(defaults: Mapping[str, Any]) -> str:
    """Return a short text that differs between different defaults."""
    try:
        return hashlib.sha256(pickle.dumps(sorted(defaults.items()))).hexdigest()
    except Exception:  # something in them cannot be sent to other processes; here it is the same object or it is not
        return " ".join(f"{name}:{id(value)}" for name, value in sorted(defaults.items()))


def first_line(cls: type) -> str:
    """Return the first line of a class's docstring as a sentence."""
    lines = (inspect.getdoc(cls) or "").strip().splitlines()
    return f"{lines[0].strip().rstrip('.')}." if lines and "__doc__" in vars(cls) else f"{cls.__name__}."


def _arguments(cls: type) -> dict[str, Any]:
    """Return the constructor's parameters and their defaults, `inspect.Parameter.empty` where there is none."""
    try:
        found = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        raise TypeError(
            f"the parameters of {cls.__name__} cannot be read: wrap it in a class with a signature"
        ) from None
    loose = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    if any(p.kind is inspect.Parameter.POSITIONAL_ONLY for p in found):
        raise TypeError(f"{cls.__name__} has positional-only parameters: wrap it in a class with named parameters")
    return {p.name: p.default for p in found if p.kind not in loose}


def _constructor(values: Mapping[str, Any], title: str, cls: type) -> Callable[..., None]:
    """Return an `__init__` that only stores; the number of dimensions may come without its name."""
    order = sorted(values, key=lambda name: name != "n_components")
    kinds = {"n_components": inspect.Parameter.POSITIONAL_OR_KEYWORD}
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    rest = [
        inspect.Parameter(name, kinds.get(name, inspect.Parameter.KEYWORD_ONLY), default=values[name]) for name in order
    ]
    signature = inspect.Signature([own, *rest])

    def __init__(*args: Any, **kwargs: Any) -> None:
        if "n_components" not in values and (len(args) > 1 or "n_components" in kwargs):
            raise TypeError(f"{title}: {no_components(cls)}")
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{title}: {error}; it takes {', '.join(order) or 'no parameters'}") from None
        bound.apply_defaults()
        given = dict(bound.arguments)
        owner = given.pop("self")
        for name, value in given.items():
            setattr(owner, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def empty(cls: type, title: str, components: str | None, defaults: Mapping[str, Any], digest: str) -> PluginReducer:
    """Make an object without its contents, for copies and other processes."""
    key = cls, title, components, digest
    if key not in _made:
        _made[key] = wrap(cls, title, components, defaults)
    return _made[key].__new__(_made[key])
