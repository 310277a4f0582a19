"""Model files taken apart, changed, and sealed with a right checksum."""

import hashlib
import json
import struct


def take_apart(data):
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["lowland"]), data[8 + length :]


def put_together(header, body):
    """Seal a header (a dict, or JSON text with 64 zeros for the digest) and a body."""
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    data = struct.pack("<Q", len(text)) + text + body
    digest = hashlib.sha256(data).hexdigest().encode()
    return data.replace(b'"sha256":"' + b"0" * 64, b'"sha256":"' + digest, 1)


def forge(path, change, *, tensors=None, body=None):
    """Rewrite a file with a changed record, and a right checksum."""
    header, record, old_body = take_apart(path.read_bytes())
    change(record)
    header["__metadata__"] = {"lowland": json.dumps(record), "sha256": "0" * 64}
    header = header if tensors is None else {"__metadata__": header["__metadata__"], **tensors}
    path.write_bytes(put_together(header, old_body if body is None else body))
    return path
