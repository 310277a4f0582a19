"""Model files: a fitted model as one safetensors file with a checksum and without code.

The learned arrays are tensors; everything else is one JSON text in the header. ``docs/model-file.md``
describes the format for other languages. Loading creates only classes that the registry lists.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..contract import functions, parameters, registry
from ..core.arrays import to_numpy
from ..core.errors import ModelFileError
from .container import FORMAT_VERSION, SUSPECT, Arrays, pack, read
from .values import NamedFunction, decode, encode

if TYPE_CHECKING:
    from ..contract.reducer import Reducer

__all__ = ["describe", "load", "save"]

_EXPONENT = "exponent_"  # set where a fit divided the rows by a power of two: see `units`
_RANDOM = (np.random.Generator, np.random.RandomState)
_MAX_EXPONENT = 1074  # largest absolute exponent of a float64


def save(model: Reducer, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file; an existing file is replaced only when the new one is complete.

    Parameters
    ----------
    model : Reducer
        A fitted model of one of Lowland's methods; its parameters must be plain values, arrays or random generators of
        NumPy, which are stored in the state they have now. For a function (kernel, metric) only the registered name is
        stored: see `lowland.functions.register`.
    path : str or path
        The file to write, usually with the suffix ``.lowland``. Its folder must exist.

    Raises
    ------
    ModelFileError
        The model contains a value that a model file cannot store.
    OSError
        The file cannot be written: full disk, missing folder, no permission.

    Examples
    --------
    >>> import lowland, os, tempfile
    >>> model = lowland.PCA(n_components=1).fit([[1.0, 0.0], [2.0, 1.5], [3.0, 1.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "line.lowland")
    ...     lowland.save(model, file)
    ...     again = lowland.load(file)
    >>> bool((again.components_ == model.components_).all())
    True
    """
    from sklearn.utils.validation import check_is_fitted

    from ..data.atomic import atomic_file

    name, target = type(model).__name__, os.fspath(path)
    with _place(f"{name} cannot be saved to {target}"):
        row = registry.by_class(name)
        if row is None or row.load() is not type(model):
            raise ModelFileError(
                f"{name} is not one of Lowland's methods, and model files store only those; fit it again where it is "
                "needed"
            )
        check_is_fitted(model, "fit_info_")
        arrays: Arrays = {}
        parts = pack(_record(model, arrays), arrays)
    with atomic_file(target) as file:
        file.writelines(parts)


def load(path: str | os.PathLike[str], **given: Any) -> Reducer:
    """Read a model that `save` wrote; its `transform` gives the same bits.

    No code is run and nothing is unpickled. A file that is missing, truncated, altered, of another program or of a
    newer format raises a `ModelFileError`. See `save` for an example.

    Parameters
    ----------
    path : str or path
        The file.
    **given : callables
        The model's functions that are not registered by name, as in ``load("words.lowland", kernel=my_kernel)``.
    """
    with _place(os.fspath(path)):
        record, arrays, _ = read(os.fspath(path))
        return _build(record, arrays, given)


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the contents of a model file without creating the model; the checksum is verified.

    Returns
    -------
    dict
        ``class method parameters format_version lowland_version feature_names n_features fit_info``,
        ``arrays`` (each name with its ``dtype`` and ``shape``), ``objects`` (number of training objects stored as
        text), ``functions`` (parameters that are functions, which the file does not contain) and ``bytes``, its size.
    """
    with _place(os.fspath(path)):
        record, arrays, size = read(os.fspath(path))
        out = {name: decode(value, {}) for name, value in record.items() if name not in ("values", "parameters")}
        given = {name: decode(value, dict(arrays)) for name, value in record["parameters"].items()}
        out["parameters"] = {name: _described(value) for name, value in given.items()}
        out["functions"] = sorted(name for name, value in given.items() if isinstance(value, NamedFunction))
        anchors = record["values"].get("anchors_")
        out["objects"] = len(anchors["$texts"]) if isinstance(anchors, dict) and "$texts" in anchors else 0
        forms = {name: {"dtype": a.dtype.name, "shape": list(a.shape)} for name, a in sorted(arrays.items())}
        return out | {"method": _method(record).name, "arrays": forms, "bytes": size}


@contextmanager
def _place(where: str) -> Iterator[None]:
    """Prefix the messages of ModelFileErrors with the file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{where}: {error}") from error.__cause__
    except RecursionError as error:
        raise ModelFileError(f"{where}: its values are nested too deeply") from error


def _record(model: Reducer, arrays: Arrays) -> dict[str, Any]:
    """Return the model as JSON values of the header; arrays are added to ``arrays``."""
    from ..rows.units import fit_view

    rules = type(model)._parameters
    given = {name: _parameter(name, value, rules.get(name)) for name, value in model.get_params(deep=False).items()}
    _check_parameters(type(model), given)
    held = fit_view(model)
    learned = {name: getattr(held, name) for name in model._state if hasattr(held, name)}
    if _EXPONENT in vars(model):
        learned[_EXPONENT] = model.exponent_
    values = {name: encode(value, name, arrays) for name, value in learned.items()}
    names = getattr(model, "feature_names_in_", None)
    return {
        "format_version": FORMAT_VERSION,
        "lowland_version": __version__,
        "class": type(model).__name__,
        "parameters": {name: encode(value, f"parameters.{name}", arrays) for name, value in given.items()},
        "fit_info": encode(model.fit_info_.to_dict(), "fit_info_", None),
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": int(model.n_features_in_),
        # an array stored under the attribute's own name needs no entry
        "values": {name: value for name, value in values.items() if value != {"$array": name}},
    }


def _build(record: Mapping[str, Any], arrays: Arrays, called: Mapping[str, Any]) -> Reducer:
    """Build the model that a checked file describes."""
    from ..contract.fit_info import FitInfo

    cls = _method(record).load()
    stored = {name: decode(value, arrays) for name, value in record["parameters"].items()}
    given = {name: _parameter(name, value) for name, value in _with_functions(stored, called).items()}
    _check_parameters(cls, given)
    state = {name: decode(value, arrays) for name, value in record["values"].items()}
    state |= arrays  # arrays that no value refers to are attributes
    if unknown := sorted(set(state) - {*cls._state, *([_EXPONENT] if cls._units else [])}):
        raise ModelFileError(f"{cls.__name__} has no learned attribute {unknown[0]!r}; {SUSPECT}")
    exponent = state.get(_EXPONENT, 0)
    if type(exponent) is not int or abs(exponent) > _MAX_EXPONENT:
        raise ModelFileError(f"its {_EXPONENT} is {exponent!r}, not the exponent of a float64; {SUSPECT}")
    told = decode(record["fit_info"], {})
    try:
        info = FitInfo.from_dict(told)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"its fit_info cannot be read; {SUSPECT}") from error
    model = cls(**given)
    for name, value in {**state, "n_features_in_": record["n_features"], "fit_info_": info}.items():
        setattr(model, name, value)
    if record["feature_names"] is not None:
        model.feature_names_in_ = np.array(record["feature_names"], dtype=object)
    return model


def _with_functions(stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with the functions passed to `load`, or those registered by the name in the file."""
    wanted = {name: value for name, value in stored.items() if isinstance(value, NamedFunction)}
    if extra := sorted(set(given) - set(wanted)):
        raise ModelFileError(f"{extra[0]!r} was passed to load, but it is not a function of this model")
    out = dict(stored)
    for name, value in wanted.items():
        known = given.get(name) or (functions.find(value.name) if value.name else None)
        if known is None:
            remedy = f"lowland.load(path, {name}=…)"
            if value.name:
                remedy += f", or register it as {value.name!r} with lowland.functions.register"
            raise ModelFileError(
                f"its {name} is a function, and model files contain no code: pass it in Python, {remedy}; the command "
                "line cannot use this model"
            )
        out[name] = known
    return out


def _described(value: Any) -> Any:
    """Return a parameter as a plain value; functions and arrays as a description."""
    if isinstance(value, NamedFunction):
        return f"function {value.name!r}" if value.name else "a function"
    if isinstance(value, _RANDOM):
        return str(value)  # such as Generator(PCG64)
    return parameters.told(value)


def _method(record: Mapping[str, Any]) -> registry.Method:
    row = registry.by_class(record["class"])
    if row is None:
        raise ModelFileError(f"it names the class {record['class']!r}, which Lowland {__version__} does not have")
    return row


def _parameter(name: str, value: Any, rule: parameters.Rule | None = None) -> Any:
    """Return a parameter as a plain Python value; functions and random generators stay, and matrices become arrays."""
    value = value.item() if isinstance(value, np.generic) else value
    if parameters.takes_array(rule) and parameters.ArrayRule().accepts(value):
        return to_numpy(value)
    if value is None or isinstance(value, (bool, int, float, str, np.ndarray, *_RANDOM)) or callable(value):
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
