"""Models of models (format 2): Pipelines, ColumnTransformers, steps and scikit-learn's transformers as nested records.

A record is built only of classes that the registry or `saved_classes` lists, with their own parameters and learned
attributes. Functions are stored by name. Nothing else is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import __version__
from ..contract import parameters, registry
from ..contract.saved_classes import SAVED, SavedClass, saved_class
from ..core.errors import ModelFileError
from . import records
from .container import NODE_FIELDS, SUSPECT, Arrays, check_fields
from .further_values import decode_further, encode_further
from .values import decode, encode

OUTPUTS = (None, "default", "pandas", "polars")
_NAMED = {"Pipeline": ("steps",), "ColumnTransformer": ("transformers", "transformers_")}  # lists of named models


def is_model(value: Any) -> bool:
    """Return whether a value is an estimator in the manner of scikit-learn."""
    return hasattr(value, "get_params") and hasattr(value, "fit") and not isinstance(value, type)


def is_fitted(model: Any) -> bool:
    """Return whether a model has learned something, or, for a Pipeline, all of its steps have."""
    if type(model).__name__ == "Pipeline":
        return all(is_fitted(step) for _, step in model.steps if is_model(step))
    return hasattr(model, "fit_info_") or (hasattr(model, "n_features_in_") and not hasattr(model, "_run_fit"))


def output_of(model: Any) -> str | None:
    """Return what `set_output` chose."""
    found = getattr(model, "_sklearn_output_config", {}).get("transform")
    return None if found is None else str(found)


# -- writing -----------------------------------------------------------------------------------------------------


def node_of(model: Any, arrays: Arrays, prefix: str = "") -> dict[str, Any]:
    """Return a model as a record; arrays are added to ``arrays`` under names that begin with ``prefix``."""
    output, row = {"output": output_of(model)}, class_row(type(model).__name__)
    if row.load() is not type(model):
        raise _refusal(type(model).__name__)
    if isinstance(row, registry.Method):
        if is_fitted(model):
            return records.method_record(model, arrays, prefix, _encode_more) | output
        given = records.method_parameters(model, arrays, prefix, _encode_more)
        return {"class": row.class_name, "parameters": given, **_UNFITTED} | output
    shown = model.get_params(deep=False)
    if row.class_name == "Pipeline" and shown.get("memory") is not None:
        raise ModelFileError("the Pipeline caches its steps in a folder; use set_params(memory=None) before saving")
    if row.class_name == "ColumnTransformer" and hasattr(model, "_columns"):
        chosen = zip(shown["transformers"], model._columns, strict=True)
        shown["transformers"] = [(name, step, columns) for (name, step, _), columns in chosen]  # what selectors chose
    given = {name: _encoded(row, name, value, arrays, prefix, True) for name, value in shown.items()}
    node = {"class": row.class_name, "parameters": given}
    if not is_fitted(model):
        return node | _UNFITTED | output
    names = type(model)._state if row.is_step else row.state
    learned = {name: getattr(model, name) for name in names if name in vars(model)}
    n = getattr(model, "n_features_in_", None)
    return {
        **node,
        "fit_info": None,
        "feature_names": records.feature_names(model) if n is not None else None,
        "n_features": None if n is None else int(n),
        "values": {name: _encoded(row, name, value, arrays, prefix, False) for name, value in learned.items()},
    } | output


_UNFITTED: dict[str, Any] = {"fit_info": None, "feature_names": None, "n_features": None, "values": None}


def class_row(name: str) -> registry.Method | SavedClass:
    """Return the row of a class that a model file can hold."""
    row = registry.by_class(name) or saved_class(name)
    if row is None:
        raise _refusal(name)
    return row


def _refusal(name: str) -> ModelFileError:
    listed = ", ".join(row.class_name for row in SAVED if not row.is_step and row.class_name != "MissingIndicator")
    return ModelFileError(
        f"{name} is not one of Lowland's methods or steps, and of others model files store only {listed}; leave it out "
        "of the model, or fit it again where it is needed"
    )


def _encoded(row: SavedClass, name: str, value: Any, arrays: Arrays, prefix: str, parameter: bool) -> Any:
    """Return a parameter or a learned attribute as JSON; named models keep their names."""
    if name not in _NAMED.get(row.class_name, ()):
        path = f"{prefix}{'parameters.' if parameter else ''}{name}"
        return encode(value, path, arrays, parameter=parameter, more=_encode_more)
    out, path = [], f"{prefix}{name}"
    for i, (step, model, *columns) in enumerate(value):
        place = f"{path}.{step if str(step).isidentifier() else i}"
        if not (model is None or isinstance(model, str) or is_model(model)):
            raise ModelFileError(f"step {step!r} is a {type(model).__name__}, which is not a model")
        made = {"$model": node_of(model, arrays, f"{place}."), "name": str(step)} if is_model(model) else model
        rest = [encode(c, f"{place}.columns", arrays, more=_encode_more) for c in columns]
        out.append([str(step), made, *rest])
    return out


def _encode_more(value: Any, name: str, arrays: Arrays, parameter: bool) -> Any:
    if is_model(value):
        return {"$model": node_of(value, arrays, f"{name}."), "name": ""}
    return encode_further(value, name, arrays, parameter, _encode_more)


# -- reading -----------------------------------------------------------------------------------------------------


def build_node(node: Any, arrays: Arrays, called: Mapping[str, Any], prefix: str = "") -> Any:
    """Return the model of a record; ``called`` are functions passed to `load`, by their path from here."""
    check_fields(node, NODE_FIELDS)
    if node["output"] not in OUTPUTS:
        raise ModelFileError(f"its output is {node['output']!r}, not the name of a table library; {SUSPECT}")
    row = class_row_of_file(node["class"])
    used: set[str] = set()

    def more(tag: str, content: Any, entry: dict[str, Any], arrays: Arrays) -> Any:
        if tag != "$model":
            return decode_further(tag, content, entry, arrays, more)
        name = entry.get("name", "")
        if not isinstance(name, str):
            raise ValueError("a name must be text")
        start = f"{name}__" if name else ""
        inner = {key.removeprefix(start): value for key, value in called.items() if name and key.startswith(start)}
        used.update(f"{start}{key}" for key in inner)
        return build_node(content, arrays, inner, f"{prefix}{start}")

    stored = {name: decode(value, arrays, more) for name, value in node["parameters"].items()}
    values = node["values"]
    state = None if values is None else {name: decode(value, arrays, more) for name, value in values.items()}
    own = {key: value for key, value in called.items() if key not in used}
    if isinstance(row, registry.Method):
        told = decode(node["fit_info"], {}) if node["fit_info"] is not None else None
        if (state is None) != (told is None):
            raise ModelFileError(f"its {row.class_name} is half fitted; {SUSPECT}")
        model: Any = records.build_method(node, records.with_functions(stored, own, prefix), state, told)
    else:
        given = records.with_functions(stored, own, prefix)
        model = _build_saved(row, node, given, state)
    if node["output"] is not None:
        model._sklearn_output_config = {"transform": node["output"]}
    return model


def class_row_of_file(name: str) -> registry.Method | SavedClass:
    """Return the row of a class that a file names."""
    row = registry.by_class(name) or saved_class(name)
    if row is None:
        raise ModelFileError(f"it names the class {name!r}, which Lowland {__version__} does not have")
    return row


def _build_saved(row: SavedClass, node: Mapping[str, Any], given: dict[str, Any], state: dict[str, Any] | None) -> Any:
    cls = row.load()
    known = set(cls._get_param_names())
    if unknown := sorted(set(given) - known):
        raise ModelFileError(f"parameter {unknown[0]!r} of {row.class_name} is unknown; {SUSPECT}")
    for name in _NAMED.get(row.class_name, ()):
        for holder in (given, state or {}):
            if name in holder:
                holder[name] = _named(holder[name], row.class_name)
    if given.get("memory") is not None:
        raise ModelFileError(f"its memory is {given['memory']!r}, and loaded models have no cache; {SUSPECT}")
    try:
        model = cls(**given)
        if row.is_step:
            own = given if row.class_name != "ImputeMissing" else {"unseen": "error"} | given  # of older files
            parameters.check(row.class_name, cls._parameters, own)
        elif row.class_name == "Pipeline":
            model._validate_steps()
        else:
            model._validate_params()
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        raise ModelFileError(f"{row.class_name} cannot be built: {error}") from error
    names = cls._state if row.is_step else row.state
    for name, value in (state or {}).items():
        if name not in names:
            raise ModelFileError(f"{row.class_name} has no learned attribute {name!r}; {SUSPECT}")
        setattr(model, name, value)
    if row.class_name != "Pipeline" and state is not None:
        if node["n_features"] is not None:
            model.n_features_in_ = node["n_features"]
        if node["feature_names"] is not None:
            model.feature_names_in_ = np.array(node["feature_names"], dtype=object)
    return model


def _named(value: Any, owner: str) -> list[tuple[Any, ...]]:
    """Return named models as scikit-learn has them: tuples of name, model and, for columns, these."""
    width = 2 if owner == "Pipeline" else 3
    right = isinstance(value, list) and all(
        isinstance(item, list)
        and len(item) == width
        and isinstance(item[0], str)
        and (item[1] in (None, "passthrough", "drop") if isinstance(item[1], str | None) else is_model(item[1]))
        for item in value
    )
    if not right or not value:
        raise ModelFileError(f"the list of models of its {owner} cannot be read; {SUSPECT}")
    return [tuple(item) for item in value]
