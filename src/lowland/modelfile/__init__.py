"""Model files: a fitted model as one safetensors file with a checksum and without code.

The learned arrays are tensors; everything else is one JSON text in the header. ``docs/model-file.md``
describes the format for other languages. Loading creates only classes that the registry lists, and of others the
steps and transformers in ``contract/saved_classes.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .. import __version__
from ..contract import registry
from ..core.errors import ModelFileError
from .container import NODE_FIELDS, SUSPECT, Arrays, check_new_rows, pack, read
from .records import build_method, method_record, with_functions
from .values import decode

__all__ = ["describe", "load", "save"]


def save(model: Any, path: str | os.PathLike[str], *, new_rows: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to one file; an existing file is replaced only when the new one is complete.

    Parameters
    ----------
    model : Reducer, Step, Pipeline or ColumnTransformer
        A fitted model of one of Lowland's methods or steps; or a Pipeline or ColumnTransformer of these and of
        scikit-learn's StandardScaler, RobustScaler, MinMaxScaler, SimpleImputer, OneHotEncoder, OrdinalEncoder and
        FunctionTransformer, also nested. Parameters must be plain values, arrays or random generators of NumPy, which
        are stored in the state they have now. For a function (kernel, metric, transform) only the registered name is
        stored: see `lowland.functions.register`; elementwise functions of NumPy have names.
    path : str or path
        The file to write, usually with the suffix ``.lowland``. Its folder must exist.
    new_rows : dict, optional
        How the command line reads new rows of the same form: ``file``, a name in place of theirs, and ``options`` of
        `lowland transform`. `lowland reduce` stores them, and `lowland info` proposes a command with them.

    Raises
    ------
    ModelFileError
        The model contains a value or a class that a model file cannot store.
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
    from ..data.atomic import atomic_file

    target = os.fspath(path)
    with _place(f"{type(model).__name__} cannot be saved to {target}"):
        arrays: Arrays = {}
        parts = pack(_record(model, arrays, new_rows), arrays)
    with atomic_file(target) as file:
        file.writelines(parts)


def _record(model: Any, arrays: Arrays, new_rows: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the header of a fitted model: format 1 for a method, format 2 for all else, format 3 with ``new_rows``."""
    from sklearn.utils.validation import check_is_fitted

    from .nodes import class_row, is_fitted, node_of, output_of

    row = class_row(type(model).__name__)
    versions: dict[str, Any] = {"format_version": 2 if new_rows is None else 3, "lowland_version": __version__}
    if new_rows is not None:
        check_new_rows(new_rows)
        versions["new_rows"] = dict(new_rows)
    if isinstance(row, registry.Method) and row.load() is type(model):
        check_is_fitted(model, "fit_info_")
        if output_of(model) is None and new_rows is None:
            record = method_record(model, arrays)
            # an array stored under the attribute's own name needs no entry
            values = {name: value for name, value in record["values"].items() if value != {"$array": name}}
            return versions | {"format_version": 1} | record | {"values": values}
    if row.class_name == "Pipeline" and (unfitted := [n for n, s in model.steps if not (_is_name(s) or is_fitted(s))]):
        raise ModelFileError(f"step {unfitted[0]!r} is not fitted; call fit first")
    check_is_fitted(model)
    return versions | node_of(model, arrays)


def _is_name(step: Any) -> bool:
    return step is None or isinstance(step, str)


def load(path: str | os.PathLike[str], **given: Any) -> Any:
    """Read a model that `save` wrote; its `transform` gives the same bits.

    No code is run and nothing is unpickled. A file that is missing, truncated, altered, of another program or of a
    newer format raises a `ModelFileError`. See `save` for an example.

    Parameters
    ----------
    path : str or path
        The file.
    **given : callables
        The model's functions that are not registered by name, as in ``load("words.lowland", kernel=my_kernel)``; in a
        Pipeline by step and parameter, ``load("words.lowland", method__kernel=my_kernel)``.
    """
    with _place(os.fspath(path)):
        record, arrays, _ = read(os.fspath(path))
        if record["format_version"] == 1:
            stored = {name: decode(value, arrays) for name, value in record["parameters"].items()}
            state = {name: decode(value, arrays) for name, value in record["values"].items()}
            state |= arrays  # arrays that no value refers to are attributes
            return build_method(record, with_functions(stored, given), state, decode(record["fit_info"], {}))
        from .nodes import build_node

        node = {name: value for name, value in record.items() if name in NODE_FIELDS}
        model = build_node(node, arrays, given)
        if arrays:
            raise ModelFileError(f"nothing refers to its array {min(arrays)!r}; {SUSPECT}")
        return model


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the contents of a model file without creating the model; the checksum is verified.

    Returns
    -------
    dict
        ``class method parameters format_version lowland_version feature_names n_features fit_info``,
        ``arrays`` (each name with its ``dtype`` and ``shape``), ``objects`` (number of training objects stored as
        text), ``functions`` (parameters that are functions, which the file does not contain), ``output`` (what
        `set_output` chose, or None), ``new_rows`` (see `save`; None if the file has none), ``bytes``, its size, and
        ``steps``: for a Pipeline or ColumnTransformer each
        model in it with its ``name`` (nested ones as ``outer__inner``), ``class``, ``method``, ``parameters``,
        ``feature_names``, ``n_features``, ``fit_info`` and ``output``. Their last method gives ``method`` and
        ``fit_info`` of the file.
    """
    from .describing import described_method, described_node

    with _place(os.fspath(path)):
        record, arrays, size = read(os.fspath(path))
        forms = {name: {"dtype": a.dtype.name, "shape": list(a.shape)} for name, a in sorted(arrays.items())}
        told = described_method if record["format_version"] == 1 else described_node
        return told(record, arrays) | {"arrays": forms, "bytes": size}


@contextmanager
def _place(where: str) -> Iterator[None]:
    """Prefix the messages of ModelFileErrors with the file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{where}: {error}") from error.__cause__
    except RecursionError as error:
        raise ModelFileError(f"{where}: its values are nested too deeply") from error
