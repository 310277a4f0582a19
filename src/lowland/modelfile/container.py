"""The container: a safetensors file with a JSON record and a checksum in its header.

The messages of its `ModelFileError`s do not name the file; the caller adds it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core import cost
from ..core.errors import ModelFileError

Arrays = dict[str, np.ndarray]
FORMAT_VERSION = 3  # the newest that is read; what an older format can hold is written in it
DTYPES = {np.dtype(code).name for code in "?bhiqBHIQefd"}  # boolean, whole and real numbers
SUSPECT = "the file was altered, or Lowland did not write it"

_HEADER_LIMIT = 100_000_000  # safetensors' own limit; it also bounds what a forged length can make us allocate
_BLANK = b"0" * 64  # placeholder for the digest while the file is hashed
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
# Format 2: models inside models, and the output that set_output chose. Only methods have a fit_info.
NODE_FIELDS: dict[str, Any] = {
    "class": str,
    "parameters": dict,
    "fit_info": (dict, type(None)),
    "feature_names": (list, type(None)),
    "n_features": (int, type(None)),
    "values": (dict, type(None)),
    "output": (str, type(None)),
}
_NEW_ROWS = "new_rows"  # format 3: format 2 and how the command line reads new rows
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive, as .npz, .xlsx and torch's .pt files are"),
    (b"\x89PNG", "a PNG image"),
    (b"\x89HDF", "an HDF5 file"),
    (b"PAR1", "a Parquet table"),
    (b"ARROW1", "an Arrow or Feather table"),
    (b"\x1f\x8b", "a gzip file: a table, perhaps, whose name must end in .csv.gz, .tsv.gz or .txt.gz"),
    (b'{"', "JSON text: a table, perhaps, which must be converted to .csv or .parquet"),
    (b"[", "JSON text: a table, perhaps, which must be converted to .csv or .parquet"),
    (b"\x80", "perhaps a pickle, which Lowland never loads because it can run code"),
)


def pack(record: dict[str, Any], arrays: Arrays) -> tuple[bytes, memoryview]:
    """Return the file's header, with the checksum, and its body. The same model gives the same bytes."""
    from safetensors.numpy import save as serialize

    text = json.dumps(record, allow_nan=False, separators=(",", ":"))
    data = serialize(arrays, {"lowland": text, "sha256": _BLANK.decode()})
    size = 8 + int.from_bytes(data[:8], "little")
    if size > _HEADER_LIMIT:
        raise ModelFileError(f"its header has {size} bytes, more than {_HEADER_LIMIT}; shorten the feature names")
    # safetensors writes the two entries in random order; a fixed one makes files comparable byte by byte
    entries = [b'"lowland":' + json.dumps(text).encode(), b'"sha256":"%s"' % _BLANK]
    head = data[:size].replace(b",".join(reversed(entries)), b",".join(entries), 1)
    if not head[8:].startswith(b'{"__metadata__":{' + b",".join(entries)) or len(_DIGEST.findall(head)) != 1:
        raise ModelFileError("the installed safetensors writes an unknown layout; pip install -U lowland safetensors")
    body = memoryview(data)[size:]
    return _DIGEST.sub(b'"sha256":"%s"' % _seal(head, body), head), body


def read(path: str) -> tuple[dict[str, Any], Arrays, int]:
    """Return the record, the arrays and the size of a file, after checking version, checksum and fields."""
    if not os.path.isfile(path):
        raise ModelFileError("not a file; give the name of the model file" if os.path.exists(path) else "no such file")
    try:
        data, start, metadata = _content(path)
    except OSError as error:
        raise ModelFileError(error.strerror or str(error)) from error
    record = _json(metadata["lowland"])
    digest = _seal(data[:start], memoryview(data)[start:]).decode()
    sealed = metadata == {"lowland": metadata["lowland"], "sha256": digest}
    sealed = sealed and len(_DIGEST.findall(data[:start])) == 1
    version = record.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        doubt = "" if sealed else "; its checksum is not this format's, so it may also have been altered"
        newer = f"format {version}; this version reads up to {FORMAT_VERSION}"
        raise ModelFileError(f"written by a newer Lowland ({newer}); upgrade with pip install -U lowland{doubt}")
    arrays = _arrays(data)
    if not sealed:
        raise ModelFileError("the checksum is wrong: the file was altered after it was written; copy or save it again")
    _check_record(record)
    return record, arrays, len(data)


def _content(path: str) -> tuple[bytes, int, dict[str, Any]]:
    """Return all bytes, the offset of the arrays and the metadata; other files are rejected after a few bytes."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = _header_length(file.read(9), size) + 8
        file.seek(8)
        metadata = _json(file.read(start - 8)).get("__metadata__")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("lowland"), str):
            raise ModelFileError("this safetensors file is not a Lowland model: of another program, or altered")
        cost.check_allocation(2 * size, f"reading the model {path}", "")
        file.seek(0)
        return file.read(), start, metadata


def _seal(head: bytes, body: memoryview) -> bytes:
    """Return the hash of the whole file with zeros in place of the digest."""
    digest = hashlib.sha256(_DIGEST.sub(b'"sha256":"%s"' % _BLANK, head))
    digest.update(body)
    return digest.hexdigest().encode()


def _header_length(start: bytes, size: int) -> int:
    """Return the header's length from the file's first 9 bytes; raise if it is impossible."""
    if size < 9:
        raise ModelFileError(f"not a Lowland model file, or incomplete ({size} bytes)")
    length = int.from_bytes(start[:8], "little")
    if start[8:] != b"{" or length > _HEADER_LIMIT:
        foreign = next((f"it is {kind}" for magic, kind in _FOREIGN if start.startswith(magic)), SUSPECT)
        raise ModelFileError(f"not a Lowland model: {foreign}")
    if 8 + length > size:
        raise ModelFileError(f"the file is truncated within its header, at byte {size} of {8 + length}; copy it again")
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
        raise ModelFileError(f"the header is damaged ({error}); copy the file again or refit the model") from error
    return value


def _arrays(data: bytes) -> Arrays:
    """Return the file's arrays, writable, aligned and C-contiguous."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as deserialize

    try:
        arrays: Arrays = deserialize(data)
    except (SafetensorError, KeyError, ValueError, OverflowError) as error:
        raise ModelFileError(f"truncated or altered: its arrays do not match its header ({error})") from error
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES:
            raise ModelFileError(f"array {name!r} has dtype {array.dtype}, which no model uses; {SUSPECT}")
        # booleans are read as bytes, so that a forged 2 does not become a bool that is neither true nor false
        plain = array.view("u1").astype(bool) if array.dtype.kind == "b" else array
        arrays[name] = np.require(plain, requirements=["C", "A", "W"])
    return arrays


def _check_record(record: Mapping[str, Any]) -> None:
    """Raise if a field of the record is missing, unknown or of the wrong type."""
    version = record.get("format_version")
    if type(version) is int and version in (2, 3):
        heads = {name: _FIELDS[name] for name in ("format_version", "lowland_version")}
        check_fields(record, heads | NODE_FIELDS | ({_NEW_ROWS: dict} if version == 3 else {}))
        if version == 3:
            check_new_rows(record[_NEW_ROWS])
        return
    check_fields(record, _FIELDS)
    if record["format_version"] < 1 or record["n_features"] < 1:
        raise ModelFileError(f"its format_version, n_features or feature_names are invalid; {SUSPECT}")


def check_new_rows(new_rows: Mapping[str, Any]) -> None:
    """Raise if it does not name a file, and options whose values are text, true, or lists of text."""
    options = new_rows.get("options")
    right = set(new_rows) == {"file", "options"} and isinstance(new_rows["file"], str) and isinstance(options, dict)
    for name, value in options.items() if isinstance(options, dict) else ():
        texts = value if isinstance(value, list) else [value]
        right = right and name.isidentifier() and all(type(text) in (str, int, bool) for text in texts)
    if not right:
        raise ModelFileError(f"its new_rows are not a file and options of a command; {SUSPECT}")


def check_fields(record: Any, fields: Mapping[str, Any]) -> None:
    """Raise if a field is missing, unknown or of the wrong type, or if the feature names do not match their number."""
    if not isinstance(record, dict):
        raise ModelFileError(f"a model inside it is not a JSON object; {SUSPECT}")
    for name in {**fields, **record}:
        kind, value = fields.get(name, ()), record.get(name, ...)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ModelFileError(f"field {name!r} of its header is missing, unknown or of the wrong type; {SUSPECT}")
    names, n = record["feature_names"], record["n_features"]
    named = names is None or (len(names) == n and all(isinstance(name, str) for name in names))
    if not named or (n is not None and n < 0):
        raise ModelFileError(f"its format_version, n_features or feature_names are invalid; {SUSPECT}")
