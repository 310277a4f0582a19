"""One table in every format: names, values, types, and what each column is, are those of the table in memory."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import io as scipy_io
from scipy import sparse

from lowland.data import ArrayTable, SparseTable, Table, read, write_table
from lowland.data.formats import FORMATS
from lowland.data.squares import find_square

N = 12
FRAME = pl.DataFrame(
    {
        "id": [f"P{i:02d}" for i in range(N)],
        "größe": [None if i == 5 else round(0.1 * i**3 - 2.5e-7, 10) for i in range(N)],  # Excel keeps 16 digits
        "count": [(7 * i) % 11 for i in range(N)],
        "yes": [i % 3 == 0 for i in range(N)],
        "sex": ["f", "m", "m"] * (N // 3),
        "stage": ["II", None, "I"] * (N // 3),
        "day": [None if i == 2 else dt.date(2024, 2, 27) + dt.timedelta(days=9 * i) for i in range(N)],
        "at": [dt.datetime(2024, 1, 31, 12, 30, 15) + dt.timedelta(hours=31 * i) for i in range(N)],
        "note": [f"a remark, number {i}; it has several words and a comma" for i in range(N)],
        "device": ["A7"] * N,
    }
)
KINDS = ("id", "number", "number", "number", "category", "category", "date", "date", "text", "constant")
X = FRAME.select("größe", "count").to_numpy()


def plain(**options: Any) -> bytes:
    return FRAME.write_csv(**options).encode()


def zstandard(content: bytes) -> bytes:
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as out:
        out.write(content)
    return packed.getvalue().to_pybytes()


def table(path: Path) -> None:
    write_table(path, FRAME)


def content(made: Callable[[], bytes]) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(made())


def records() -> list[dict[str, Any]]:
    return [{name: _plain(value) for name, value in row.items()} for row in FRAME.to_dicts()]


def columns() -> dict[str, list[Any]]:
    return {name: [_plain(value) for value in FRAME[name]] for name in FRAME.columns}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value


def lines() -> bytes:
    return "".join(json.dumps(row) + "\n" for row in records()).encode()


TABLES: dict[str, Callable[[Path], Any]] = {
    "t.csv": table,
    "t.csv.gz": table,
    "t.csv.zst": content(lambda: zstandard(plain())),
    "t.tsv": table,
    "t.tsv.gz": table,
    "t.tsv.zst": content(lambda: zstandard(plain(separator="\t"))),
    "t.txt": content(lambda: plain(separator="|").decode().encode("utf-16")),
    "t.data": content(lambda: plain(separator=";")),
    "t.parquet": table,
    "t.pq": lambda path: FRAME.write_parquet(path),
    "t.arrow": table,
    "t.feather": table,
    "t.ipc": lambda path: FRAME.write_ipc(path),
    "t.ndjson": content(lines),
    "t.jsonl": content(lines),
    "t.jsonl.gz": content(lambda: gzip.compress(lines())),
    "t.json": content(lambda: json.dumps(records()).encode()),
    "columns.json": content(lambda: json.dumps(columns()).encode()),
    "t.xlsx": table,
}


@pytest.mark.parametrize("name", TABLES)
def test_values_types_names_and_kinds_come_back(tmp_path: Path, name: str) -> None:
    TABLES[name](tmp_path / name)
    again = read(tmp_path / name)
    assert again.names == FRAME.columns
    assert again.frame.rows() == FRAME.rows()
    assert [kind.base_type() for kind in again.frame.dtypes] == [kind.base_type() for kind in FRAME.dtypes]
    assert tuple(kind.kind for kind in again.kinds().values()) == KINDS
    assert {name: kind.missing for name, kind in again.kinds().items() if kind.missing} == {
        "größe": 1,
        "stage": 4,
        "day": 1,
    }
    np.testing.assert_array_equal(again.select(columns=["größe", "count"]).X, X)


def test_kinds_of_the_table_in_memory() -> None:
    assert tuple(kind.kind for kind in Table(FRAME, "t").kinds().values()) == KINDS


def archive(path: Path) -> None:
    beside = {"id": FRAME["id"].to_numpy().astype(str), "sex": FRAME["sex"].to_numpy().astype(str)}
    np.savez(path, X=X, names=np.array(["größe", "count"]), y=np.arange(N) % 3, **beside)


def matrix_market(path: Path) -> None:
    memory = io.BytesIO()
    scipy_io.mmwrite(memory, sparse.coo_array(np.nan_to_num(X)), precision=17)
    packed = memory.getvalue()
    path.write_bytes(gzip.compress(packed) if path.suffix == ".gz" else packed)


def test_an_archive_keeps_names_labels_and_identifiers(tmp_path: Path) -> None:
    archive(tmp_path / "t.npz")
    again = read(tmp_path / "t.npz")
    assert isinstance(again, ArrayTable)
    assert again.names == ["größe", "count"]
    np.testing.assert_array_equal(again.select().X, X)
    assert again.column("id").to_list() == FRAME["id"].to_list()
    assert again.column("sex").to_list() == FRAME["sex"].to_list()
    assert again.column("y").to_list() == [i % 3 for i in range(N)]
    kinds = again.kinds()
    assert [kinds[name].kind for name in ("id", "sex", "größe")] == ["id", "category", "number"]
    assert not again.notes


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8, np.bool_])
def test_an_array_keeps_its_values(tmp_path: Path, dtype: Any) -> None:
    values = np.random.default_rng(0).integers(0, 2 if dtype is np.bool_ else 100, (5, 3)).astype(dtype)
    np.save(tmp_path / "t.npy", values)
    made = read(tmp_path / "t.npy").select().X
    np.testing.assert_array_equal(made, values.astype(made.dtype))
    assert made.dtype == (np.float32 if dtype is np.float32 else np.float64)


@pytest.mark.parametrize("name", ["t.npz", "t.mtx", "t.mtx.gz"])
def test_a_sparse_matrix_stays_sparse(tmp_path: Path, name: str) -> None:
    S = sparse.csr_array(np.nan_to_num(X))
    sparse.save_npz(tmp_path / name, S) if name == "t.npz" else matrix_market(tmp_path / name)
    again = read(tmp_path / name)
    assert isinstance(again, SparseTable)
    assert again.matrix.nnz == np.count_nonzero(np.nan_to_num(X))
    np.testing.assert_array_equal(again.matrix.toarray(), np.nan_to_num(X))


PAIRS = np.round(np.abs(np.subtract.outer(np.arange(6.0) ** 1.5, np.arange(6.0) ** 1.5)), 3)
WHO = ["Rome", "Oslo", "Köln", "Bern", "Riga", "Kyiv"]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".arrow", ".ndjson", ".xlsx"])
def test_distances_keep_the_names_of_their_objects(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame({"city": WHO, **{name: PAIRS[:, j] for j, name in enumerate(WHO)}})
    path = tmp_path / f"t{ending}"
    frame.write_ndjson(path) if ending == ".ndjson" else write_table(path, frame)
    again = read(path)
    square = find_square(again)
    assert square is not None
    assert (square.id, square.columns) == ("city", WHO)
    np.testing.assert_array_equal(again.select(columns=square.columns).X, PAIRS)
    assert again.column("city").to_list() == WHO


def test_every_format_of_files_has_a_round_trip() -> None:
    tested = {"".join(Path(name).suffixes) for name in TABLES} | {".npy", ".npz", ".mtx", ".mtx.gz"}
    for row in FORMATS:
        assert not row.suffixes or tested & set(row.suffixes), row.name
