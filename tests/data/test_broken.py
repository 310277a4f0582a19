"""Broken files: whatever the bytes are, reading them gives a table or an error of Lowland."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy import io as scipy_io
from scipy import sparse

from lowland.core.errors import DataError, MemoryLimitError
from lowland.data import read, write_table
from lowland.data.formats import READABLE

FUZZ = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def whole_files() -> dict[str, bytes]:
    """A small valid file of each format."""
    frame = pl.DataFrame({"a": [1.5, 2.5, None], "b": [1, 2, 3], "c": ["x", "y", "z"]})
    files: dict[str, bytes] = {}
    text = frame.write_csv()
    files |= {".csv": text.encode(), ".csv.gz": gzip.compress(text.encode()), ".txt": text.encode("utf-16")}
    files[".tsv"] = text.replace(",", "\t").encode("utf-8-sig")
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as out:
        out.write(text.encode())
    files[".csv.zst"] = packed.getvalue().to_pybytes()
    for ending, write in ((".parquet", "write_parquet"), (".arrow", "write_ipc"), (".ndjson", "write_ndjson")):
        memory = io.BytesIO()
        getattr(frame, write)(memory)
        files[ending] = memory.getvalue()
    files[".json"] = json.dumps(frame.to_dicts()).encode()
    X = np.arange(12.0).reshape(4, 3)
    for ending, save in ((".npy", lambda f: np.save(f, X)), (".npz", lambda f: np.savez(f, X=X, y=np.arange(4)))):
        memory = io.BytesIO()
        save(memory)
        files[ending] = memory.getvalue()
    memory = io.BytesIO()
    scipy_io.mmwrite(memory, sparse.eye_array(4))
    files[".mtx"], files[".mtx.gz"] = memory.getvalue(), gzip.compress(memory.getvalue())
    return files


def workbook(tmp_path_factory: Any) -> bytes:
    path = tmp_path_factory.mktemp("book") / "t.xlsx"
    write_table(path, pl.DataFrame({"a": [1.5, 2.5], "c": ["x", "y"]}))
    return bytes(path.read_bytes())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: Any) -> dict[str, bytes]:
    return {**whole_files(), ".xlsx": workbook(tmp_path_factory)}


def attempt(path: Path, **options: Any) -> None:
    """Read a file and use the table; anything but an error of Lowland fails the test."""
    try:
        table = read(path, **options)
        table.kinds()
        table.select()
    except (DataError, MemoryLimitError):
        return
    assert table.n_rows > 0


@FUZZ
@given(data=st.data())
def test_damaged_files_of_every_format(tmp_path: Path, whole: dict[str, bytes], data: st.DataObject) -> None:
    ending = data.draw(st.sampled_from(sorted(whole)))
    content = bytearray(whole[ending])
    damage = data.draw(st.sampled_from(["cut", "flip", "zero", "insert", "repeat"]))
    at = data.draw(st.integers(0, len(content) - 1))
    end = data.draw(st.integers(at, min(len(content), at + 64)))
    if damage == "cut":
        del content[at:]
    elif damage == "flip":
        content[at] ^= data.draw(st.integers(1, 255))
    elif damage == "zero":
        content[at:end] = bytes(end - at)
    elif damage == "insert":
        content[at:at] = data.draw(st.binary(max_size=20))
    else:
        content[at:at] = content[at:end] * 3
    (tmp_path / f"t{ending}").write_bytes(content)
    attempt(tmp_path / f"t{ending}")


@FUZZ
@given(content=st.binary(max_size=300), ending=st.sampled_from(READABLE))
def test_any_bytes_under_any_name(tmp_path: Path, content: bytes, ending: str) -> None:
    (tmp_path / f"t{ending}").write_bytes(content)
    attempt(tmp_path / f"t{ending}")


NUMBERS = [
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
WORDS = ["NA", "x", "é", "#", '"', '""', '"a', "true", "sep=;", "\0", "\ufeff", "$5", "7 %", " "]
DATES = ["2024-01-31", "2024-02-30", "31.12.2024", "1/2/2024", "2024-01-31T12:30Z"]
CELLS = st.sampled_from([*NUMBERS, *WORDS, *DATES])
BREAKS = st.sampled_from(["\n", "\r\n", "\r", "\n\n"])
OPTIONS = st.fixed_dictionaries(
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


@settings(FUZZ, max_examples=500)
@given(
    rows=st.lists(st.lists(CELLS, max_size=4), max_size=6),
    separator=st.sampled_from([",", ";", "\t", "|", " ", "  "]),
    newline=BREAKS,
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    ending=st.sampled_from([".csv", ".tsv", ".txt"]),
    options=OPTIONS,
)
def test_any_text_with_any_options(
    tmp_path: Path, rows: Any, separator: str, newline: str, encoding: str, ending: str, options: dict[str, Any]
) -> None:
    text = newline.join(separator.join(row) for row in rows)
    (tmp_path / f"t{ending}").write_bytes(text.encode(encoding, errors="replace"))
    attempt(tmp_path / f"t{ending}", **options)


@settings(FUZZ, max_examples=100)
@given(data=st.data())
def test_damaged_images(tmp_path: Path, data: st.DataObject) -> None:
    memory = io.BytesIO()
    Image.new("RGB", (8, 8), (1, 2, 3)).save(memory, data.draw(st.sampled_from(["png", "gif", "bmp", "jpeg", "tiff"])))
    content = bytearray(memory.getvalue())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    (tmp_path / "t.png").write_bytes(content)
    attempt(tmp_path, image_size=(8, 8))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b"\n" * 1000),
        ("t.csv", b'"' * 999),
        ("t.csv", b"a" * 200_000),
        ("t.csv", b"," * 50_000 + b"\n" + b"," * 50_000),
        ("t.csv", b"a,a\n1,2\n"),
        ("t.csv", b"\xff\xfe"),
        ("t.csv", b"\xef\xbb\xbf"),
        ("t.csv", b"# only\n# comments\n"),
        ("t.csv", b'a,b\n"1\n2",3\n4'),
        ("t.csv.gz", b""),
        ("t.csv.zst", b"\x28\xb5\x2f\xfd"),
        ("t.txt", b"\x00\x01" * 100),
        ("t.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999, 99999), }\n"),
        ("t.npy", b"\x93NUMPY\x01\x00v\x00{'descr': __import__('os'), 'fortran_order': False, 'shape': (1,), }   \n"),
        ("t.npy", b"\x80\x04K\x01."),
        ("t.json", b'{"a": NaN}'),
        ("t.json", b'[{"a": 1}, {"a": {"b": [1, "x"]}}]'),
        ("t.json", b"\xff\xff"),
        ("t.ndjson", b'{"a": 1}\n{"a": "x"}\n{"b": [1]}\n'),
        ("t.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 99999999\n1 1 1\n"),
        ("t.mtx", b"%%MatrixMarket matrix array real general\n3 3\n1\n"),
        ("t.parquet", b"PAR1" + b"\xff" * 100 + b"PAR1"),
        ("t.arrow", b"ARROW1\0\0" + b"\xff" * 100 + b"ARROW1"),
        ("t.xlsx", b"PK\x03\x04" + b"\0" * 100),
    ],
)
def test_a_corpus_of_broken_files(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    attempt(tmp_path / name)


def test_archives_that_are_not_what_their_name_says(tmp_path: Path) -> None:
    for name in ("t.npz", "t.xlsx"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("X.npy", b"not an array")
            archive.writestr("../evil.npy", b"")
        with pytest.raises(DataError, match=rf"{name} is damaged"):
            read(tmp_path / name)
    np.savez(tmp_path / "t.npz", X=np.array([[{}]], dtype=object))
    with pytest.raises(DataError, match="pickle"):
        read(tmp_path / "t.npz")


@pytest.mark.parametrize("name", ["a\0b.csv", "x" * 5000, "*", "[", ""])
def test_names_that_are_no_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError):
        read(str(tmp_path / "none" / name))


WORDS_AND_NUMBERS = [
    "",
    "1",
    "-2",
    "2.5",
    "1e5",
    "1e400",
    "-0",
    "007",
    "9" * 19,
    "NA",
    "NAN",
    "inf",
    " 3",
    "x",
    "+4",
    "1_0",
]
PLAIN_CELLS = st.sampled_from(WORDS_AND_NUMBERS)


@settings(FUZZ, max_examples=300)
@given(
    rows=st.lists(st.lists(PLAIN_CELLS, min_size=1, max_size=4), min_size=1, max_size=6),
    width=st.integers(2, 3),
    repeats=st.sampled_from([1, 1, 100]),
    newline=BREAKS,
    last=st.booleans(),
)
def test_polars_and_arrow_read_the_same_table(
    tmp_path: Path, rows: Any, width: int, repeats: int, newline: str, last: bool
) -> None:
    """Plain text is read by polars; the table and the errors are those of the careful reader."""
    body = [["1.5"] * width] * repeats + rows  # a late cell may be unlike the first ones
    text = newline.join(",".join(row) for row in [[f"c{j}" for j in range(width)], *body]) + newline * last
    path = tmp_path / "t.csv"
    path.write_text(text, newline="")

    def outcome() -> Any:
        try:
            table = read(path)
        except DataError as error:
            return str(error)
        return table.frame.to_dict(as_series=False), table.frame.schema, table.first_line, table.faults, table.stray

    plain = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lowland.data.delimited.read_plain", lambda *_: None)
        assert str(outcome()) == str(plain)
