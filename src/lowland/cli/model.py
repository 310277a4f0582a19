"""Build a model from options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..contract import registry
from ..core.errors import DataError
from .answer import UsageError
from .inputs import read_array
from .options import MethodOptions
from .outputs import is_table

if TYPE_CHECKING:
    from ..contract.parameters import Rule
    from ..contract.reducer import Reducer
    from .input import Input

DEFAULT_COMPONENTS = "2"
_KNOWN = "known"  # --set weights=known: the pairs whose distance is not missing


def find_method(name: str) -> registry.Method:
    """Find a method by name; raise `UsageError` with similar names for an unknown one."""
    try:
        return registry.method(name)
    except ValueError as error:
        raise UsageError(str(error)) from error


def build_model(options: MethodOptions) -> Reducer:
    """Make the unfitted model that the options describe."""
    from ..contract.parameters import takes_array

    cls = find_method(options.method).load()
    texts = _assignments(options)
    known = texts.get("weights") == _KNOWN and takes_array(cls._parameters.get("weights"))
    if known:
        del texts["weights"]  # `fill_in` sets them when the distances have been read
    try:
        values = {key: _value(cls.__name__, cls._parameters, key, text) for key, text in texts.items()}
    except DataError:
        raise
    except ValueError as error:
        raise UsageError(error.args[0]) from error
    model = cls(**values)
    if known and not model._pairwise:
        raise UsageError("weights=known ignores missing distances and requires --set metric=precomputed")
    return model


def components_of(options: MethodOptions) -> str | None:
    """Return the number of dimensions that the options ask for; None if the method decides."""
    method = find_method(options.method)
    if method.family == "random" or any(item.replace(" ", "").startswith("n_components=") for item in options.set):
        return options.components
    return options.components or (DEFAULT_COMPONENTS if "n_components" in method.load()._parameters else None)


def scaled_by_step(model: Reducer, options: MethodOptions) -> bool:
    """Return whether --scale needs a step, because the method has no parameter for it."""
    return options.scale and "scale" not in model._parameters


def fill_in(model: Reducer, options: MethodOptions, given: Input) -> None:
    """Set the parameters that depend on the data: weights=known."""
    from ..data.squares import known_pairs

    if any(item.replace(" ", "") == f"weights={_KNOWN}" for item in options.set):
        model.set_params(weights=known_pairs(given.rows.array))


def files_of(options: MethodOptions) -> tuple[Path, ...]:
    """Return the files that parameters are read from."""
    named = [Path(item.partition("=")[2].strip()) for item in options.set]
    return tuple(path for path in named if is_table(path))


def _value(owner: str, rules: Mapping[str, Rule], key: str, text: str) -> Any:
    """Parse a parameter; a matrix is read from the file that the text names."""
    from ..contract.parameters import parse, takes_array

    path = Path(text)
    if takes_array(rules.get(key)) and is_table(path):
        return read_array(path)
    return parse(owner, rules, key, text)


def _assignments(options: MethodOptions) -> dict[str, str]:
    """Return the text of each parameter; raise `UsageError` if one is given twice."""
    texts: dict[str, str] = {}
    for item in options.set:
        key, separator, text = item.partition("=")
        key = key.strip().replace("-", "_")
        if not separator or not key:
            raise UsageError(f"--set {item}: write it as key=value, such as --set solver=svd")
        if key in texts:
            raise UsageError(f"--set {key} is given twice")
        texts[key] = text.strip()
    if options.components is not None and "n_components" in texts:
        raise UsageError("--components and --set n_components are the same parameter; use only one of them")
    method = find_method(options.method)
    cls = method.load()
    if "n_components" in cls._parameters:
        own = (
            method.family == "random" and options.components is None
        )  # a bound on the distances decides, not 2 for a picture
        if not own:
            texts.setdefault("n_components", options.components or DEFAULT_COMPONENTS)
    elif options.components is not None:
        raise UsageError(
            f"{cls.__name__} does not take --components; `lowland methods {method.name}` lists its parameters"
        )
    if options.scale:
        if "scale" in texts:
            raise UsageError("--scale and --set scale are the same parameter; use only one of them")
        if "scale" in cls._parameters:  # else a step scales the columns: see `scaled_by_step`
            texts["scale"] = "true"
    return texts
