"""Model files: a fitted model as one safetensors file, without code in it, sealed by a checksum.

The learned arrays are tensors; everything else is one JSON text in the header. ``docs/model-file.md``
describes the format for readers in other languages. Loading builds only classes that the registry lists.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import pkgutil
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import __version__, parameters, planning, registry
from .errors import ModelFileError

if TYPE_CHECKING:
    from .reducer import Reducer

Arrays = dict[str, np.ndarray]
FORMAT_VERSION = 1
_HEADER_LIMIT = 100_000_000  # safetensors' own; it also bounds what a forged length can make us allocate
_BLANK = b"0" * 64  # stands in the digest's place while the file is hashed
_DIGEST = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_FIELDS: dict[str, Any] = {
    "format_version": int,
    "lowland_version": str,
    "class": str,
    "parameters": dict,
    "fit_info": dict,
    "feature_names": (list, type(None)),
    "n_features": int,
    "values": dict,
}
_DTYPES = {np.dtype(code).name for code in "?bhiqBHIQefd"}  # boolean, whole and real numbers
# The only objects that may stand inside learned state: what `partial_fit` accumulates.
_OBJECTS = {"Moments": "lowland.moments:Moments", "RFactor": "lowland.moments:RFactor"}
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive, as .npz, .xlsx and torch's .pt files are"),
    (b"\x89PNG", "a PNG image"),
    (b"\x80", "perhaps a pickle, which Lowland never loads because it can run code"),
)
_SUSPECT = "the file was altered, or Lowland did not write it"


class _Bad(Exception):
    """What is wrong, before the place is known; `_place` turns it into a `ModelFileError`."""


@contextlib.contextmanager
def _place(where: str) -> Iterator[None]:
    try:
        yield
    except _Bad as error:
        raise ModelFileError(f"{where}: {error}") from error.__cause__
    except OSError as error:
        raise ModelFileError(f"{where}: {error.strerror or error}") from error
    except RecursionError as error:
        raise ModelFileError(f"{where}: its values are nested too deeply") from error


def save(model: Reducer, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file; an existing file is replaced only when the new one is complete.

    Parameters
    ----------
    model : a fitted model of one of Lowland's methods; its parameters must be plain (a seed, no generator).
    path : the file to write; ``.lowland`` is the customary ending. Its folder must exist.

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

    name, target = type(model).__name__, os.fspath(path)
    with _place(f"{name} cannot be saved to {target}"):
        row = registry.by_class(name)
        if row is None or row.load() is not type(model):
            raise _Bad(f"{name} is not one of Lowland's methods, and a file must not name any other class")
        check_is_fitted(model, "fit_info_")
        arrays: Arrays = {}
        _write(target, *_pack(_record(model, arrays), arrays))


def load(path: str | os.PathLike[str]) -> Reducer:
    """Read a model that `save` wrote; its `transform` gives the same bits.

    No code is run and nothing is unpickled. A file that is truncated, altered, foreign or from a newer
    format is a `ModelFileError`. See `save` for an example.
    """
    with _place(os.fspath(path)):
        record, arrays, _ = _read(os.fspath(path))
        return _build(record, arrays)


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Say what a model file holds, without building the model; the checksum is verified all the same.

    Returns
    -------
    dict with ``class method parameters format_version lowland_version feature_names n_features fit_info``,
    ``arrays`` (each name with its ``dtype`` and ``shape``) and ``bytes``, the file's size.
    """
    with _place(os.fspath(path)):
        record, arrays, size = _read(os.fspath(path))
        out = {name: _decode(value, {}) for name, value in record.items() if name != "values"}
        forms = {name: {"dtype": a.dtype.name, "shape": list(a.shape)} for name, a in sorted(arrays.items())}
        return out | {"method": _method(record).name, "arrays": forms, "bytes": size}


def _record(model: Reducer, arrays: Arrays) -> dict[str, Any]:
    """Turn the model into the header's JSON values; what is an array goes to ``arrays``."""
    given = {name: _parameter(name, value) for name, value in model.get_params(deep=False).items()}
    _check_parameters(type(model), given)
    learned = {name: getattr(model, name) for name in model._state if hasattr(model, name)}
    values = {name: _encode(value, name, arrays) for name, value in learned.items()}
    names = getattr(model, "feature_names_in_", None)
    return {
        "format_version": FORMAT_VERSION,
        "lowland_version": __version__,
        "class": type(model).__name__,
        "parameters": {name: _encode(value, name, None) for name, value in given.items()},
        "fit_info": _encode(model.fit_info_.to_dict(), "fit_info_", None),
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": int(model.n_features_in_),
        # an array of the attribute's own name needs no second mention
        "values": {name: value for name, value in values.items() if value != {"$array": name}},
    }


def _build(record: Mapping[str, Any], arrays: Arrays) -> Reducer:
    """Build the model that a checked file describes."""
    from .reducer import FitInfo

    cls = _method(record).load()
    given = {name: _parameter(name, _decode(value, {})) for name, value in record["parameters"].items()}
    _check_parameters(cls, given)
    state = {name: _decode(value, arrays) for name, value in record["values"].items()}
    state |= arrays  # what no value referred to is an attribute by itself
    if unknown := sorted(set(state) - set(cls._state)):
        raise _Bad(f"{cls.__name__} has no learned attribute {unknown[0]!r}; {_SUSPECT}")
    try:
        info = FitInfo.from_dict(_decode(record["fit_info"], {}))
    except (TypeError, ValueError) as error:
        raise _Bad(f"its fit_info cannot be read; {_SUSPECT}") from error
    model = cls(**given)
    for name, value in {**state, "n_features_in_": record["n_features"], "fit_info_": info}.items():
        setattr(model, name, value)
    if record["feature_names"] is not None:
        model.feature_names_in_ = np.array(record["feature_names"], dtype=object)
    return model


def _method(record: Mapping[str, Any]) -> registry.Method:
    row = registry.by_class(record["class"])
    if row is None:
        raise _Bad(f"it names the class {record['class']!r}, which Lowland {__version__} does not have")
    return row


def _parameter(name: str, value: Any) -> Any:
    """Return a parameter as a plain Python value."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    seed = isinstance(value, (np.random.RandomState, np.random.Generator))
    remedy = f"set_params({name}=0), a seed," if seed else f"set_params({name}=...) with such a value"
    what = f"a {type(value).__name__}, and a model file holds only numbers, text, booleans and None"
    raise _Bad(f"parameter {name!r} is {what}; {remedy} keeps what was learned")


def _check_parameters(cls: type[Reducer], given: Mapping[str, Any]) -> None:
    names = set(cls._get_param_names())
    if wrong := sorted(names.symmetric_difference(given)):
        raise _Bad(f"parameter {wrong[0]!r} of {cls.__name__} is missing or unknown; {_SUSPECT}")
    try:
        parameters.check(cls.__name__, cls._parameters, given)
    except ValueError as error:
        raise _Bad(str(error)) from error


def _encode(value: Any, name: str, arrays: Arrays | None) -> Any:
    """Turn a value into JSON; its arrays go to ``arrays`` (None: plain values only), named after ``name``."""
    if isinstance(value, np.generic) and value.dtype.name in _DTYPES:
        plain = _encode(value.item(), name, None)
        # a NumPy scalar decides the dtype of what it meets, so learned state keeps its type
        return plain if arrays is None else {"$scalar": value.dtype.name, "value": plain}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": str(value)}
    if type(value) in (list, tuple):
        items = [_encode(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]
        return items if type(value) is list else {"$tuple": items}
    if type(value) is dict and all(isinstance(key, str) and key[:1] != "$" for key in value):
        # only identifiers enter an array's path: with dots or digits in it, two paths could come out alike
        paths = [f"{name}.{key if key.isidentifier() else i}" for i, key in enumerate(value)]
        return {k: _encode(v, path, arrays) for path, (k, v) in zip(paths, value.items(), strict=True)}
    if arrays is not None and type(value) in (np.ndarray, np.memmap) and value.dtype.name in _DTYPES:
        arrays[name] = np.asarray(value, dtype=value.dtype.newbyteorder("="), order="C")
        return {"$array": name}
    if arrays is not None and hasattr(value, "to_state"):
        kind, state = value.to_state()
        if kind in _OBJECTS and type(value) is pkgutil.resolve_name(_OBJECTS[kind]):
            # the object knows its scalars' types, so plain ones will do
            state = {k: v.item() if isinstance(v, np.generic) else v for k, v in state.items()}
            return {"$object": kind, "state": _encode(state, name, arrays)}
    what = type(value).__name__ + (f" of {value.dtype}" if isinstance(value, np.ndarray) else "")
    raise _Bad(f"{name} is a {what}, and a model file holds only numbers, text and real NumPy arrays")


def _decode(value: Any, arrays: Arrays) -> Any:
    """Turn JSON back into a value; an array that it refers to is taken out of ``arrays``."""
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next((key for key in value if key[:1] == "$"), None)
    if tag is None:
        return {key: _decode(item, arrays) for key, item in value.items()}
    try:
        return _decode_tagged(tag, value[tag], value, arrays)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _Bad(f"its {tag!r} entry cannot be read ({error}); {_SUSPECT}") from error


def _decode_tagged(tag: str, content: Any, entry: dict[str, Any], arrays: Arrays) -> Any:
    if tag == "$array":
        return arrays.pop(content)
    if tag == "$float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if tag == "$scalar" and content in _DTYPES:
        plain = _decode(entry["value"], arrays)
        return np.dtype(content).type(plain if isinstance(plain, float) else int(plain))
    if tag == "$tuple" and isinstance(content, list):
        return tuple(_decode(content, arrays))
    if tag == "$object":
        return pkgutil.resolve_name(_OBJECTS[content]).from_state(_decode(entry["state"], arrays))
    raise ValueError(f"{content!r} is unknown")


def _seal(head: bytes, body: memoryview) -> bytes:
    """Hash the whole file with zeros in the digest's place."""
    digest = hashlib.sha256(_DIGEST.sub(b'"sha256":"%s"' % _BLANK, head))
    digest.update(body)
    return digest.hexdigest().encode()


def _pack(record: dict[str, Any], arrays: Arrays) -> tuple[bytes, memoryview]:
    """Return the file's header and body, sealed. The same model always gives the same bytes."""
    from safetensors.numpy import save as serialize

    text = json.dumps(record, allow_nan=False, separators=(",", ":"))
    data = serialize(arrays, {"lowland": text, "sha256": _BLANK.decode()})
    size = 8 + int.from_bytes(data[:8], "little")
    if size > _HEADER_LIMIT:
        raise _Bad(f"its header of {size} bytes passes {_HEADER_LIMIT}; shorten the feature names")
    # safetensors writes the two entries in random order; a fixed one makes files comparable byte by byte
    entries = [b'"lowland":' + json.dumps(text).encode(), b'"sha256":"%s"' % _BLANK]
    head = data[:size].replace(b",".join(reversed(entries)), b",".join(entries), 1)
    if not head[8:].startswith(b'{"__metadata__":{' + b",".join(entries)) or len(_DIGEST.findall(head)) != 1:
        raise _Bad("the installed safetensors writes an unknown form; pip install -U lowland safetensors")
    body = memoryview(data)[size:]
    return _DIGEST.sub(b'"sha256":"%s"' % _seal(head, body), head), body


def _write(target: str, head: bytes, body: memoryview) -> None:
    """Write beside the target, then rename: at no moment is there half a file under the target's name."""
    place = Path(os.path.realpath(target))
    if place.is_dir():
        raise _Bad("it is a folder; name a file in it")
    if not place.parent.is_dir():
        raise _Bad(f"there is no folder {os.path.dirname(target)!r}; create it first")
    draft = place.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.writelines((head, body))
            file.flush()
            os.fsync(file.fileno())
        if place.exists():  # as open() does: a file that is overwritten keeps its permissions
            os.chmod(draft, place.stat().st_mode & 0o7777)
        os.replace(draft, place)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    # The file is complete by now; a system on which folders cannot be opened has no more to give.
    with contextlib.suppress(OSError):
        folder = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _read(path: str) -> tuple[dict[str, Any], Arrays, int]:
    """Return the record, the arrays and the size of a file whose version, checksum and form are right."""
    if not os.path.isfile(path):
        raise _Bad("not a file; name the model file itself" if os.path.exists(path) else "no such file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = _header_length(file.read(9), size) + 8
        file.seek(8)
        metadata = _json(file.read(start - 8)).get("__metadata__")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("lowland"), str):
            raise _Bad("this safetensors file is no Lowland model: another program's, or altered")
        planning.check_allocation(2 * size, f"reading the model {path}", "lowland.config(memory_limit=...)")
        file.seek(0)
        data = file.read()
    record = _json(metadata["lowland"])
    digest = _seal(data[:start], memoryview(data)[start:]).decode()
    sealed = metadata == {"lowland": metadata["lowland"], "sha256": digest}
    sealed = sealed and len(_DIGEST.findall(data[:start])) == 1
    version = record.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        doubt = "" if sealed else "; its checksum is not this format's, so it may also have been altered"
        newer = f"format {version}; this one reads up to {FORMAT_VERSION}"
        raise _Bad(f"written by a newer Lowland ({newer}); upgrade with pip install -U lowland{doubt}")
    arrays = _arrays(data)
    if not sealed:
        raise _Bad("the checksum is wrong: the file was altered after it was written; fetch or save it again")
    _check_record(record)
    return record, arrays, len(data)


def _header_length(start: bytes, size: int) -> int:
    """Read the header's length from the file's first 9 bytes; refuse what cannot be one."""
    if size < 9:
        raise _Bad(f"{'only' if size else 'empty:'} {size} bytes; its copy or download was broken off")
    length = int.from_bytes(start[:8], "little")
    if start[8:] != b"{" or length > _HEADER_LIMIT:
        foreign = next((f"it is {kind}" for magic, kind in _FOREIGN if start.startswith(magic)), _SUSPECT)
        raise _Bad(f"this is no Lowland model: {foreign}")
    if 8 + length > size:
        raise _Bad(f"the file was cut off within its header, at byte {size} of {8 + length}; fetch it again")
    return length


def _json(text: bytes | str) -> dict[str, Any]:
    """Parse an object in which no key occurs twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key occurs twice")
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=unique)
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")
    except ValueError as error:
        raise _Bad(f"its header cannot be read ({error}); {_SUSPECT}") from error
    return value


def _arrays(data: bytes) -> Arrays:
    """Return the file's arrays as ordinary ones: writable, aligned, C-contiguous."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as deserialize

    try:
        arrays: Arrays = deserialize(data)
    except (SafetensorError, KeyError, ValueError, OverflowError) as error:
        raise _Bad(f"cut off or altered: its arrays do not lie as its header says ({error})") from error
    for name, array in arrays.items():
        if array.dtype.name not in _DTYPES:
            raise _Bad(f"array {name!r} is of {array.dtype}, which no model has; {_SUSPECT}")
        # booleans are read as bytes, so that a forged 2 does not become a bool that is neither true nor false
        plain = array.view("u1").astype(bool) if array.dtype.kind == "b" else array
        arrays[name] = np.require(plain, requirements=["C", "A", "W"])
    return arrays


def _check_record(record: Mapping[str, Any]) -> None:
    """Refuse a record with a missing, unknown or ill-typed field."""
    for name in {**_FIELDS, **record}:
        kind, value = _FIELDS.get(name, ()), record.get(name, ...)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise _Bad(f"field {name!r} of its header is missing, unknown or of the wrong type; {_SUSPECT}")
    names, n = record["feature_names"], record["n_features"]
    named = names is None or (len(names) == n and all(isinstance(name, str) for name in names))
    if not named or min(n, record["format_version"]) < 1:
        raise _Bad(f"its format_version, n_features or feature_names are impossible; {_SUSPECT}")
