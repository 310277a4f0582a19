"""A fitted method as JSON values and arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..contract import functions, parameters, registry
from ..core.arrays import to_numpy
from ..core.errors import ModelFileError
from .container import SUSPECT, Arrays
from .values import Encoder, NamedFunction, encode

if TYPE_CHECKING:
    from ..contract.fit_info import FitInfo
    from ..contract.reducer import Reducer

EXPONENT = "exponent_"  # set where a fit divided the rows by a power of two: see `units`
RANDOM = (np.random.Generator, np.random.RandomState)
_MAX_EXPONENT = 1074  # largest absolute exponent of a float64


def method_record(model: Reducer, arrays: Arrays, prefix: str = "", more: Encoder | None = None) -> dict[str, Any]:
    """Return a fitted method as JSON values; arrays are added to ``arrays`` under names that begin with ``prefix``."""
    from ..rows.units import fit_view

    held = fit_view(model)
    learned = {name: getattr(held, name) for name in model._state if hasattr(held, name)}
    if EXPONENT in vars(model):
        learned[EXPONENT] = model.exponent_
    return {
        "class": type(model).__name__,
        "parameters": method_parameters(model, arrays, prefix, more),
        "fit_info": encode(model.fit_info_.to_dict(), "fit_info_", None),
        "feature_names": feature_names(model),
        "n_features": int(model.n_features_in_),
        "values": {name: encode(value, f"{prefix}{name}", arrays, more=more) for name, value in learned.items()},
    }


def method_parameters(model: Reducer, arrays: Arrays, prefix: str, more: Encoder | None) -> dict[str, Any]:
    """Return the parameters of a method as JSON values."""
    rules = type(model)._parameters
    given = {name: _parameter(name, value, rules.get(name)) for name, value in model.get_params(deep=False).items()}
    _check_parameters(type(model), given)
    return {
        name: encode(value, f"{prefix}parameters.{name}", arrays, parameter=True, more=more)
        for name, value in given.items()
    }


def feature_names(model: Any) -> list[str] | None:
    """Return the names of the columns, or None."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def read_fit_info(told: Any) -> FitInfo:
    """Return the diagnostics of a fit; raise a ModelFileError where they cannot be shown."""
    from ..contract.fit_info import FitInfo

    try:
        info = FitInfo.from_dict(told)
        whole = all(isinstance(text, str) for row in info.rows() for text in row)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"its fit_info cannot be read; {SUSPECT}") from error
    if not whole:
        raise ModelFileError(f"its fit_info contains values that are not text or numbers; {SUSPECT}")
    return info


def build_method(record: Mapping[str, Any], stored: Mapping[str, Any], state: Any, told: Any) -> Reducer:
    """Return the method of a checked record, with its decoded parameters, state and fit_info."""
    cls = method_row(record).load()
    given = {name: _parameter(name, value) for name, value in stored.items()}
    _check_parameters(cls, given)
    model = cls(**given)
    if state is None:
        return model
    if unknown := sorted(set(state) - {*cls._state, *([EXPONENT] if cls._units else [])}):
        raise ModelFileError(f"{cls.__name__} has no learned attribute {unknown[0]!r}; {SUSPECT}")
    exponent = state.get(EXPONENT, 0)
    if type(exponent) is not int or abs(exponent) > _MAX_EXPONENT:
        raise ModelFileError(f"its {EXPONENT} is {exponent!r}, not the exponent of a float64; {SUSPECT}")
    info = read_fit_info(told)
    for name, value in {**state, "n_features_in_": record["n_features"], "fit_info_": info}.items():
        setattr(model, name, value)
    if record["feature_names"] is not None:
        model.feature_names_in_ = np.array(record["feature_names"], dtype=object)
    return model


def with_functions(stored: Mapping[str, Any], given: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the parameters with the functions passed to `load`, or those registered by the name in the file."""
    wanted = {name: value for name, value in stored.items() if isinstance(value, NamedFunction)}
    if extra := sorted(set(given) - set(wanted)):
        raise ModelFileError(f"{prefix + extra[0]!r} was passed to load, but it is not a function of this model")
    out = dict(stored)
    for name, value in wanted.items():
        known = given.get(name) or (functions.find(value.name) if value.name else None)
        if known is None:
            remedy = f"lowland.load(path, {prefix}{name}=…)"
            if value.name:
                remedy += f", or register it as {value.name!r} with lowland.functions.register"
            raise ModelFileError(
                f"its {name} is a function, and model files contain no code: pass it in Python, {remedy}; the command "
                "line cannot use this model"
            )
        out[name] = known
    return out


def method_row(record: Mapping[str, Any]) -> registry.Method:
    """Return the registry's row of the class that a record names."""
    row = registry.by_class(record["class"])
    if row is None:
        raise ModelFileError(f"it names the class {record['class']!r}, which Lowland {__version__} does not have")
    return row


def _parameter(name: str, value: Any, rule: parameters.Rule | None = None) -> Any:
    """Return a parameter as a plain Python value; functions and random generators stay, and matrices become arrays."""
    value = value.item() if isinstance(value, np.generic) else value
    if parameters.takes_array(rule) and parameters.ArrayRule().accepts(value):
        return to_numpy(value)
    if value is None or isinstance(value, (bool, int, float, str, np.ndarray, *RANDOM)) or callable(value):
        return value
    if isinstance(value, (tuple, list)):
        return type(value)(_parameter(name, item) for item in value)
    what = f"a {type(value).__name__}, and a model file stores only numbers, text, arrays, lists and None"
    remedy = f"set_params({name}=...) with such a value, which keeps the fitted model"
    raise ModelFileError(f"parameter {name!r} is {what}; use {remedy}")


def _check_parameters(cls: type[Reducer], given: Mapping[str, Any]) -> None:
    names = set(cls._get_param_names())
    if wrong := sorted(names.symmetric_difference(given)):
        raise ModelFileError(f"parameter {wrong[0]!r} of {cls.__name__} is missing or unknown; {SUSPECT}")
    try:
        parameters.check(cls.__name__, cls._parameters, given)
    except ValueError as error:
        raise ModelFileError(str(error)) from error
