"""Files that are broken, and ways to break whole ones."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from scipy import io as scipy_io
from scipy import sparse

from lowland.data.formats import READABLE


def whole_files() -> dict[str, bytes]:
    """A small valid file of each format, by its suffix."""
    numbers = {"a": [1.5, 2.5, None, 0.25, 3.0], "b": [1, 2, 3, 5, 8]}
    frame = pl.DataFrame(numbers | {"c": ["x", "y", "z", "x", "y"]})
    files: dict[str, bytes] = {}
    text = frame.write_csv()
    files |= {".csv": text.encode(), ".csv.gz": gzip.compress(text.encode()), ".txt": text.encode("utf-16")}
    files[".tsv"] = text.replace(",", "\t").encode("utf-8-sig")
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as out:
        out.write(text.encode())
    files[".csv.zst"] = packed.getvalue().to_pybytes()
    writers = {".parquet": "write_parquet", ".arrow": "write_ipc", ".ndjson": "write_ndjson", ".xlsx": "write_excel"}
    for ending, write in writers.items():
        memory = io.BytesIO()
        getattr(frame, write)(memory)
        files[ending] = memory.getvalue()
    files[".json"] = json.dumps(frame.to_dicts()).encode()
    X = np.arange(12.0).reshape(4, 3) ** 2
    for ending, save in ((".npy", lambda f: np.save(f, X)), (".npz", lambda f: np.savez(f, X=X, y=np.arange(4)))):
        memory = io.BytesIO()
        save(memory)
        files[ending] = memory.getvalue()
    memory = io.BytesIO()
    scipy_io.mmwrite(memory, sparse.eye_array(4))
    files[".mtx"], files[".mtx.gz"] = memory.getvalue(), gzip.compress(memory.getvalue())
    return files


@st.composite
def damage(draw: st.DrawFn, whole: bytes) -> bytes:
    """Break a file in one place: cut it, change bytes, insert some, or repeat a part."""
    content = bytearray(whole)
    kind = draw(st.sampled_from(["cut", "flip", "zero", "insert", "repeat"]))
    at = draw(st.integers(0, len(content) - 1))
    end = draw(st.integers(at, min(len(content), at + 64)))
    if kind == "cut":
        del content[at:]
    elif kind == "flip":
        content[at] ^= draw(st.integers(1, 255))
    elif kind == "zero":
        content[at:end] = bytes(end - at)
    elif kind == "insert":
        content[at:at] = draw(st.binary(max_size=20))
    else:
        content[at:at] = content[at:end] * 3
    return bytes(content)


any_bytes = st.tuples(st.sampled_from(READABLE), st.binary(max_size=300))

_NUMBERS = [
    "",
    "1",
    "-2.5",
    "1,5",
    "1.234,5",
    "1 200",
    "1'200",
    "<0.5",
    "≤ 1,2",
    "inf",
    "nan",
    "1e999",
    "9" * 30,
    "0x1F",
]
_WORDS = ["NA", "x", "é", "#", '"', '""', '"a', "true", "sep=;", "\0", "\ufeff", "$5", "7 %", " "]
_DATES = ["2024-01-31", "2024-02-30", "31.12.2024", "1/2/2024", "2024-01-31T12:30Z"]
_CELLS = st.sampled_from([*_NUMBERS, *_WORDS, *_DATES])
BREAKS = st.sampled_from(["\n", "\r\n", "\r", "\n\n"])


@st.composite
def any_text(draw: st.DrawFn) -> tuple[str, bytes]:
    """A suffix and the bytes of a text with cells of all kinds."""
    rows = draw(st.lists(st.lists(_CELLS, max_size=4), max_size=6))
    separator = draw(st.sampled_from([",", ";", "\t", "|", " ", "  "]))
    text = draw(BREAKS).join(separator.join(row) for row in rows)
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    return draw(st.sampled_from([".csv", ".tsv", ".txt"])), text.encode(encoding, errors="replace")


reading_options = st.fixed_dictionaries(
    {},
    optional={
        "sep": st.sampled_from([",", ";", "tab", "|", " "]),
        "decimal": st.sampled_from([".", ","]),
        "thousands": st.sampled_from(["", " ", "'"]),
        "encoding": st.sampled_from(["utf-8", "utf-16", "cp1252", "ascii"]),
        "header": st.booleans(),
        "skip_rows": st.integers(0, 5),
        "comment": st.sampled_from(["#", "x"]),
        "na": st.lists(st.sampled_from(["x", "999", "1"]), max_size=2),
        "below_limit": st.sampled_from(["error", "half", "missing"]),
        "vector": st.sampled_from(["a", "x0"]),
    },
)

_NPY = b"\x93NUMPY\x01\x00v\x00"
CORPUS = [
    ("t.csv", b""),
    ("t.csv", b"\n" * 1000),
    ("t.csv", b'"' * 999),
    ("t.csv", b"a" * 200_000),
    ("t.csv", b"," * 50_000 + b"\n" + b"," * 50_000),
    ("t.csv", b"a,a\n1,2\n"),
    ("t.csv", b"a,b\n1,2\n3,4\n5\n"),
    ("t.csv", b"a,b\n1e308,-1e308\n-1e308,1e308\n1e308,1e308\n"),
    ("t.csv", b"a,b\n1,inf\n2,-inf\n3,1\n"),
    ("t.csv", b"a,b\n,\n,\n"),
    ("t.csv", b"a,b\n1,1\n1,1\n1,1\n"),
    ("t.csv", b"a,b\n1,2\n"),
    ("t.csv", b"\xff\xfe"),
    ("t.csv", b"\xef\xbb\xbf"),
    ("t.csv", b"# only\n# comments\n"),
    ("t.csv", b'a,b\n"1\n2",3\n4'),
    ("t.csv", b"[bold]a[/bold],b\n[red],1\n[/],2\n"),
    ("t.csv", b"a,b\x1b[2J\n1,2\n3,4\n4,9\n"),
    ("t.csv.gz", b""),
    ("t.csv.gz", gzip.compress(b"")),
    ("t.csv.zst", b"\x28\xb5\x2f\xfd"),
    ("t.txt", b"\x00\x01" * 100),
    ("t.npy", b""),
    ("t.npy", _NPY + b"{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999, 99999), }\n"),
    ("t.npy", _NPY + b"{'descr': '<f8', 'fortran_order': False, 'shape': (-5, 3), }".ljust(117) + b"\n"),
    ("t.npy", _NPY + b"{'descr': __import__('os'), 'fortran_order': False, 'shape': (1,), }   \n"),
    ("t.npy", b"\x80\x04K\x01."),
    ("t.npz", b"PK\x05\x06" + bytes(18)),
    ("t.json", b""),
    ("t.json", b'{"a": NaN}'),
    ("t.json", b"{}"),
    ("t.json", b"[" * 100_000),
    ("t.json", b'[{"a": 1}, {"a": {"b": [1, "x"]}}]'),
    ("t.json", b"\xff\xff"),
    ("t.ndjson", b'{"a": 1}\n{"a": "x"}\n{"b": [1]}\n'),
    ("t.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 99999999\n1 1 1\n"),
    ("t.mtx", b"%%MatrixMarket matrix coordinate real general\n99999999999 2 1\n1 1 1\n"),
    ("t.mtx", b"%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 nan\n"),
    ("t.mtx", b"%%MatrixMarket matrix coordinate real symmetric\n4 4 2\n1 1 1\n2 2 1l"),
    ("t.mtx", b"%%MatrixMarket matrix coordinate real symmetric\n4 4 2\n1 1 1\n2 2 1\0\0\0\0"),
    ("t.mtx", b"%%MatrixMarket matrix array real general\n3 3\n1\n"),
    ("t.parquet", b"PAR1" + b"\xff" * 100 + b"PAR1"),
    ("t.arrow", b"ARROW1\0\0" + b"\xff" * 100 + b"ARROW1"),
    ("t.xlsx", b"PK\x03\x04" + b"\0" * 100),
    ("t.lowland", b""),
    ("t.lowland", b"\xff" * 64),
    ("t.lowland", b"\x02\0\0\0\0\0\0\0{}"),
    ("t.docx", b"PK\x03\x04"),
    ("t", b"\x7fELF"),
]
