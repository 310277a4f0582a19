"""What a model file holds, as plain values, without building the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..contract import parameters, registry
from ..core.errors import ModelFileError
from .container import NODE_FIELDS, SUSPECT, Arrays, check_fields
from .further_values import decode_further
from .nodes import class_row_of_file
from .records import RANDOM, method_row, read_fit_info
from .values import NamedFunction, decode


def described_method(record: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Return the contents of a record of format 1."""
    out = {name: decode(value, {}) for name, value in record.items() if name not in ("values", "parameters")}
    given = {name: decode(value, dict(arrays)) for name, value in record["parameters"].items()}
    read_fit_info(out["fit_info"])
    return out | {
        "method": method_row(record).name,
        "parameters": {name: _shown(value) for name, value in given.items()},
        "functions": sorted(name for name, value in given.items() if isinstance(value, NamedFunction)),
        "objects": _objects(record["values"]),
        "steps": [],
        "output": None,
        "new_rows": None,
    }


def described_node(record: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Return the contents of a record of format 2; ``steps`` lists the models of a Pipeline or ColumnTransformer."""
    nodes = list(_walk("", {k: v for k, v in record.items() if k in NODE_FIELDS}))
    steps = [_step(path, node, arrays) for path, node in nodes[1:]]
    top = _step("", nodes[0][1], arrays)
    methods = [step for step in (top, *steps) if step["method"]]
    first = next((step for step in (top, *steps) if step["n_features"] is not None), top)
    return {name: record[name] for name in ("format_version", "lowland_version", "class", "output")} | {
        "method": methods[-1]["method"] if methods else "",
        "parameters": top["parameters"] if not steps else {},
        "functions": sorted(name for step in (top, *steps) for name in step.pop("functions")),
        "feature_names": first["feature_names"],
        "n_features": first["n_features"],
        "fit_info": methods[-1]["fit_info"] if methods else None,
        "objects": sum(_objects(node["values"] or {}) for _, node in nodes),
        "steps": steps,
        "new_rows": record.get("new_rows"),
    }


def _step(path: str, node: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    row = class_row_of_file(node["class"])
    given = {name: decode(value, dict(arrays), _names_of_models) for name, value in node["parameters"].items()}
    start = f"{path}__" if path else ""
    told = decode(node["fit_info"], {})
    if told is not None:
        read_fit_info(told)
    return {
        "name": path,
        "class": node["class"],
        "method": row.name if isinstance(row, registry.Method) else "",
        "parameters": {name: _shown(value) for name, value in given.items()},
        "functions": [f"{start}{name}" for name, value in given.items() if isinstance(value, NamedFunction)],
        "feature_names": node["feature_names"],
        "n_features": node["n_features"],
        "fit_info": told,
        "output": node["output"],
    }


def _names_of_models(tag: str, content: Any, entry: dict[str, Any], arrays: Arrays) -> Any:
    if tag == "$model":
        check_fields(content, NODE_FIELDS)
        return class_row_of_file(content["class"]).class_name
    return decode_further(tag, content, entry, arrays, _names_of_models)


def _walk(path: str, node: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield a record and the named models in it, outer ones first; learned copies stand for what was given."""
    check_fields(node, NODE_FIELDS)
    yield path, node
    learned = (node["values"] or {}).get("transformers_")
    lists = (
        learned if learned is not None else node["parameters"].get("steps", node["parameters"].get("transformers", []))
    )
    if not isinstance(lists, list):
        raise ModelFileError(f"the list of models of its {node['class']} cannot be read; {SUSPECT}")
    for item in lists:
        if not isinstance(item, list) or len(item) < 2 or not isinstance(item[0], str):
            raise ModelFileError(f"the list of models of its {node['class']} cannot be read; {SUSPECT}")
        if isinstance(item[1], dict) and "$model" in item[1]:
            yield from _walk(f"{path}__{item[0]}" if path else item[0], item[1]["$model"])


def _objects(values: Mapping[str, Any]) -> int:
    """Return the number of training objects that are stored as text."""
    anchors = values.get("anchors_")
    return len(anchors["$texts"]) if isinstance(anchors, dict) and "$texts" in anchors else 0


def _shown(value: Any) -> Any:
    """Return a parameter as a plain value; functions, arrays and types as a description."""
    if isinstance(value, NamedFunction):
        return f"function {value.name!r}" if value.name else "a function"
    if isinstance(value, RANDOM) or (type(value).__module__ == "numpy" and not hasattr(value, "shape")):
        return str(value)  # such as Generator(PCG64)
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, list | tuple):
        return [_shown(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _shown(item) for key, item in value.items()}
    return str(value) if isinstance(value, slice) else parameters.told(value)
