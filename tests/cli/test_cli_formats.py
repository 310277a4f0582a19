"""One table in every kind of file: the coordinates are the same bits, and identifiers and labels come along."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import io as scipy_io
from scipy import sparse

from lowland.data import write_table

NAMES = ["crp", "ferritin", "size"]


def make_frame() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    X = (rng.standard_normal((40, 3)) @ [[2000.0, 900.0, 0.5], [0.0, 1500.0, 0.3], [0.0, 0.0, 800.0]]).round(4)
    ids, groups = [f"p{i}" for i in range(40)], ["müde" if i % 3 else "wach" for i in range(40)]
    return pl.DataFrame({"id": ids, **dict(zip(NAMES, X.T, strict=True)), "group": groups})


FRAME = make_frame()
X = FRAME.select(NAMES).to_numpy()


def delimited(separator: str = ",", decimal: str = ".", thousands: str = "", lead: str = "") -> str:
    def cell(value: Any) -> str:
        if isinstance(value, str):
            return value
        written = f"{value:,.4f}" if thousands else repr(value)
        return written.translate(str.maketrans({",": thousands, ".": decimal}))

    rows = [FRAME.columns, *([cell(value) for value in row] for row in FRAME.iter_rows())]
    return lead + "".join(separator.join(row) + "\n" for row in rows)


def zstandard(content: bytes) -> bytes:
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as out:
        out.write(content)
    return packed.getvalue().to_pybytes()


def workbook(path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("notes").write_row(0, 0, ["nothing", "here"])
        page = book.add_worksheet("lab")
        for i, row in enumerate([FRAME.columns, *FRAME.rows()]):
            page.write_row(i, 0, row)


def partitioned(folder: Path) -> None:
    for (group,), part in FRAME.partition_by("group", as_dict=True, maintain_order=True).items():
        (folder / f"group={group}").mkdir(parents=True)
        write_table(folder / f"group={group}" / "part.parquet", part.drop("group"))


def parts(folder: Path) -> None:
    folder.mkdir()
    FRAME[:15].write_csv(folder / "part-0.csv")
    FRAME[15:].write_csv(folder / "part-1.csv")


def archive(path: Path) -> None:
    y, ids = np.array(FRAME["group"].to_list()), np.array(FRAME["id"].to_list())
    np.savez(path, X=X, names=np.array(NAMES), group=y, id=ids)


def text(content: str, encoding: str = "utf-8") -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(content.encode(encoding))


def packed(pack: Callable[[bytes], bytes], content: str) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(pack(content.encode()))


def table(path: Path) -> None:
    write_table(path, FRAME)


RECORDS = "".join(json.dumps(row) + "\n" for row in FRAME.to_dicts())
FILES: dict[str, tuple[str, Callable[[Path], Any], list[str]]] = {
    "comma": ("t.csv", text(delimited()), []),
    "semicolon and decimal comma": ("t.csv", text(delimited(";", ",")), []),
    "set by options": (
        "t.csv",
        text("junk\n" + delimited(";", ",", "."), "cp1252"),
        ["--sep", ";", "--decimal", ",", "--thousands", ".", "--encoding", "cp1252", "--skip-rows", "1", "--header"],
    ),
    "tab": ("t.tsv", text(delimited("\t")), []),
    "pipe": ("t.txt", text(delimited("|")), []),
    "thousands": ("t.csv", text(delimited(";", ",", ".")), []),
    "byte order mark": ("t.csv", text(delimited(), "utf-8-sig"), []),
    "UTF-16": ("t.csv", text(delimited(), "utf-16"), []),
    "cp1252": ("t.csv", text(delimited(";", ","), "cp1252"), []),
    "latin-1": ("t.csv", text(delimited(";", ","), "latin-1"), ["--encoding", "latin-1"]),
    "gzip": ("t.csv.gz", packed(gzip.compress, delimited()), []),
    "zstd": ("t.csv.zst", packed(zstandard, delimited()), []),
    "comment lines": ("t.csv", text(delimited(lead="# made by hand\n# in μg/l\n")), []),
    "parquet": ("t.parquet", table, []),
    "arrow": ("t.arrow", table, []),
    "feather": ("t.feather", table, []),
    "ndjson": ("t.ndjson", text(RECORDS), []),
    "jsonl.gz": ("t.jsonl.gz", packed(gzip.compress, RECORDS), []),
    "json": ("t.json", text(json.dumps(FRAME.to_dicts())), []),
    "sheet of a workbook": ("t.xlsx", workbook, ["--sheet", "lab"]),
    "npz with names and ids": ("t.npz", archive, []),
    "files of a pattern": ("parts", parts, []),
    "partitioned folder": ("cut", partitioned, []),
    "no suffix": ("table", text(delimited()), ["--format", "csv"]),
}
KEPT = ["id", "group", "pca0", "pca1"]


@pytest.fixture
def coordinates(run: Any, tmp_path: Path) -> pl.DataFrame:
    (tmp_path / "first.csv").write_text(delimited())
    assert run("reduce", "first.csv", "--id", "id", "--color", "group", "-o", "first-map.parquet").code == 0
    made = pl.read_parquet("first-map.parquet")
    assert made.columns == KEPT
    return made


@pytest.mark.parametrize("kind", FILES)
def test_coordinates_are_the_same_bits(run: Any, tmp_path: Path, coordinates: pl.DataFrame, kind: str) -> None:
    name, write, options = FILES[kind]
    write(tmp_path / name)
    path = "parts/part-*.csv" if name == "parts" else name
    done = run("reduce", path, *options, "--id", "id", "--color", "group", "-o", "map.parquet")
    assert done.code == 0, done.err
    made = pl.read_parquet("map.parquet")
    if name == "cut":  # the rows come folder by folder
        made = made.sort(pl.col("id").str.slice(1).cast(pl.Int32))
        np.testing.assert_allclose(made.select(KEPT[2:]), coordinates.select(KEPT[2:]), rtol=1e-9, atol=1e-9)
        made = made.with_columns(coordinates.select(KEPT[2:]).get_columns())
    assert made.rows() == coordinates.rows()


def sparse_archive(path: Path) -> None:
    sparse.save_npz(path, sparse.csr_array(X))


def matrix_market(path: Path) -> None:
    memory = io.BytesIO()
    scipy_io.mmwrite(memory, sparse.coo_array(X), precision=17)
    path.write_bytes(gzip.compress(memory.getvalue()))


@pytest.mark.parametrize(
    ("name", "write"),
    [("t.npy", lambda path: np.save(path, X)), ("t.npz", sparse_archive), ("t.mtx.gz", matrix_market)],
)
def test_matrices_without_names(run: Any, tmp_path: Path, coordinates: pl.DataFrame, name: str, write: Any) -> None:
    write(tmp_path / name)
    assert run("reduce", name, "-o", "map.npy").code == 0
    expected = coordinates.select(KEPT[2:]).to_numpy()
    np.testing.assert_allclose(np.load("map.npy"), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "arrow", "ndjson", "npz", "xlsx"])
def test_standard_input(run: Any, tmp_path: Path, coordinates: pl.DataFrame, ending: str, monkeypatch: Any) -> None:
    name = f"t.{ending}"
    if ending == "xlsx":
        write_table(tmp_path / name, FRAME)
    else:
        _, write, _ = {file: row for row in FILES.values() for file in [row[0]]}[name]
        write(tmp_path / name)
    content = Path(name).read_bytes() if name != "t.csv" else delimited().encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    words = ["--format", ending.removesuffix(".gz")]
    done = run("reduce", "-", *words, "--id", "id", "--color", "group", "-o", "map.parquet")
    assert done.code == 0, done.err
    assert pl.read_parquet("map.parquet").rows() == coordinates.rows()


def test_files_without_a_suffix(run: Any, tmp_path: Path) -> None:
    write_table(tmp_path / "t.parquet", FRAME)
    (tmp_path / "t.parquet").rename(tmp_path / "packed")
    (tmp_path / "plain").write_text(delimited())
    for command in ("info", "reduce"):
        assert run(command, "packed").code == 0  # known by its first bytes
        refused = run(command, "plain")
        assert refused.code == 3
        assert "--format csv" in refused.err
        assert run(command, "plain", "--format", "csv").code == 0


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet", ".arrow", ".feather", ".xlsx"])
def test_maps_are_written_and_read_back(run: Any, tmp_path: Path, coordinates: pl.DataFrame, ending: str) -> None:
    done = run("reduce", "first.csv", "--id", "id", "--color", "group", "-o", f"map{ending}", "--model", "m.lowland")
    assert done.code == 0, done.err
    done = run("inverse", "m.lowland", f"map{ending}", "--id", "id", "-o", "back.parquet")
    assert done.code == 0, done.err
    back = pl.read_parquet("back.parquet")
    assert back.columns == ["id", *NAMES]
    assert back["id"].to_list() == FRAME["id"].to_list()


def test_inverse_takes_the_reading_options(run: Any, tmp_path: Path, coordinates: pl.DataFrame) -> None:
    assert run("reduce", "first.csv", "--id", "id", "-o", "map.csv", "--model", "m.lowland").code == 0
    assert run("inverse", "m.lowland", "map.csv", "-o", "back.parquet").code == 0
    lines = Path("map.csv").read_text().replace(",", ";").replace(".", ",")
    Path("other.csv").write_text("made elsewhere\n" + lines)
    done = run("inverse", "m.lowland", "other.csv", "-o", "detected.parquet")  # the title, and the marks
    assert "1 line before the table skipped" in done.err
    assert pl.read_parquet("detected.parquet").equals(pl.read_parquet("back.parquet"))
    done = run("inverse", "m.lowland", "other.csv", "--skip-rows", "1", "--decimal", ",", "-o", "again.parquet")
    assert done.code == 0, done.err
    assert pl.read_parquet("again.parquet").equals(pl.read_parquet("back.parquet"))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_vector_says_what_a_column_without_lists_contains(run: Any, tmp_path: Path, suffix: str) -> None:
    table = pl.DataFrame({"x0": [1.0, 2.0, 3.5], "n": [1, 5, 2], "word": ["a", "b", "c"], "yes": [True, False, True]})
    table.write_csv(tmp_path / "t.csv")
    table.write_parquet(tmp_path / "t.parquet")
    one = "one number in each row"
    for name, contents in {"x0": one, "n": one, "word": "text", "yes": "true or false in each row"}.items():
        done = run("reduce", f"t.{suffix}", "--vector", name)
        assert done.code == 3
        assert (
            f"t.{suffix}, column {name!r}: it contains {contents}; --vector needs a column with a list of" in done.err
        )
        assert done.err.endswith("to reduce columns of numbers, leave --vector out\n")
    assert run("reduce", f"t.{suffix}", "-o", "map.csv").code == 0
