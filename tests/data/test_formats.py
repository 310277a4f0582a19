"""Every format: what is written is read back with names, types and identifiers."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from scipy import io as scipy_io
from scipy import sparse

import lowland
from lowland.core.errors import DataError
from lowland.data import ArrayTable, SparseTable, read, write_table
from lowland.data.pixels import pixel_names, pixel_shape

FRAME = pl.DataFrame(
    {
        "id": ["p1", "p2", "p3"],
        "whole": [1, None, -3],
        "half": [0.1, 2.5e-300, None],
        "yes": [True, False, None],
        "kind": ["a,b", 'q"\n', None],
        "day": [datetime.date(2024, 1, 31), None, datetime.date(1999, 12, 31)],
        "at": [datetime.datetime(2024, 1, 31, 12, 30, 15), None, datetime.datetime(2000, 1, 1)],
    }
)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet", ".arrow", ".feather", ".xlsx"])
def test_a_table_comes_back_with_names_types_and_missing_values(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"t{ending}"
    write_table(file, FRAME)
    again = read(file).frame
    assert again.columns == FRAME.columns
    assert again.rows() == FRAME.rows()
    assert [a.base_type() for a in again.dtypes] == [b.base_type() for b in FRAME.dtypes]
    first = file.read_bytes()
    write_table(file, FRAME)
    assert file.read_bytes() == first  # the same table gives the same bytes


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_formats_that_know_types_keep_them(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame(
        {
            "f4": pl.Series([0.5, None], dtype=pl.Float32),
            "u1": pl.Series([1, 255], dtype=pl.UInt8),
            "cat": pl.Series(["x", "y"], dtype=pl.Categorical),
            "list": [[1.0, 2.0], [3.0]],
            "bytes": [b"a", None],
            "code": ["007", "008"],
        }
    )
    write_table(tmp_path / f"t{ending}", frame)
    again = read(tmp_path / f"t{ending}").frame
    assert again.dtypes == frame.dtypes
    assert again.rows() == frame.rows()


def test_an_arrow_stream_is_read_like_a_file(tmp_path: Path) -> None:
    table = FRAME.to_arrow()
    with pa.ipc.new_stream(tmp_path / "t.arrow", table.schema) as out:
        out.write_table(table)
    assert read(tmp_path / "t.arrow").frame.rows() == FRAME.rows()


def test_json_in_its_common_shapes(tmp_path: Path) -> None:
    rows = [{"a": 1, "b": "x", "v": [1.0, 2.0]}, {"a": 2.5, "b": None, "v": [3.0, 4.0]}]
    columns = {"a": [1, 2.5], "b": ["x", None], "v": [[1.0, 2.0], [3.0, 4.0]]}
    (tmp_path / "t.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    (tmp_path / "records.json").write_text(json.dumps(rows))
    (tmp_path / "columns.json").write_text(json.dumps(columns))
    split = {"columns": ["a", "b", "v"], "index": ["r", "s"], "data": [list(row.values()) for row in rows]}
    (tmp_path / "split.json").write_text(json.dumps(split))
    nested = {name: dict(zip("rs", cells, strict=True)) for name, cells in columns.items()}
    (tmp_path / "pandas.json").write_text(json.dumps(nested))
    for file in sorted(tmp_path.iterdir()):
        assert read(file).frame.to_dict(as_series=False) == columns, file
    for name in ("split.json", "pandas.json"):
        assert read(tmp_path / name).column("index").to_list() == ["r", "s"]
    (tmp_path / "rows.json").write_text("[[1, 2], [3, null]]")
    np.testing.assert_array_equal(read(tmp_path / "rows.json").select().X, [[1, 2], [3, np.nan]])


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("t.ndjson", '{"a": 1}\n{"a": \n', "line 2: it is not JSON"),
        ("t.ndjson", '{"a": 1}\n[1]\n', "line 2: it must be a JSON object"),
        ("t.ndjson", "", "is empty"),
        ("t.json", "{", "is damaged or not a JSON file"),
        ("t.json", "5", "a table in JSON is a list of records"),
        ("t.json", "[[1, 2], [3]]", "row 1: it has 1 cells"),
        ("t.json", '[[1, "x"]]', "row 0, column 1: 'x' is not a number"),
        ("t.json", '{"a": [1, 2], "b": [1]}', "cannot be read as a table"),
        ("t.json", "[" * 100_000, "not a JSON file"),
    ],
)
def test_json_that_is_no_table_is_refused(tmp_path: Path, name: str, content: str, text: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=text):
        read(tmp_path / name)


# -- workbooks ------------------------------------------------------------------------------------------


def test_sheets_are_chosen_by_name_or_number(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        for sheet, value in (("one", 1.5), ("two", "<0.5")):
            page = book.add_worksheet(sheet)
            page.write_row(0, 0, ["a", "b"])
            page.write_row(1, 0, [value, 2])
            page.write_row(2, 0, [7.25, 3])
    first = read(tmp_path / "t.xlsx")
    assert first.frame.to_dict(as_series=False) == {"a": [1.5, 7.25], "b": [2, 3]}
    assert first.notes == ("read sheet 'one'; not read: 'two'",)
    for sheet in ("two", 1):
        second = read(tmp_path / "t.xlsx", sheet=sheet, below_limit="half")
        assert second.column("a").to_list() == [0.25, 7.25]
    assert "below_limit='half'" in read(tmp_path / "t.xlsx", sheet="two").faults["a"]
    with pytest.raises(DataError, match="has no sheet='three'; it has 'one', 'two'"):
        read(tmp_path / "t.xlsx", sheet="three")
    bare = read(tmp_path / "t.xlsx", header=False, skip_rows=1)
    assert bare.frame.to_dict(as_series=False) == {"x0": [1.5, 7.25], "x1": [2, 3]}


def test_a_workbook_stores_text_as_text(tmp_path: Path) -> None:
    write_table(tmp_path / "t.xlsx", pl.DataFrame({"a": ["=1+1", "https://example.org"], "b": [1, 2]}))
    assert read(tmp_path / "t.xlsx").column("a").to_list() == ["=1+1", "https://example.org"]
    with pytest.raises(DataError, match=r"a sheet of Excel holds 1,048,575 rows"):
        write_table(tmp_path / "u.xlsx", pl.DataFrame({"a": range(1_048_576)}))
    assert not (tmp_path / "u.xlsx").exists()


# -- arrays ---------------------------------------------------------------------------------------------


def test_arrays_of_an_archive_are_kept_beside_the_table(tmp_path: Path) -> None:
    X = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    np.savez(
        tmp_path / "t.npz",
        X=X,
        y=np.array([0, 1, 1]),
        ids=np.array(["a", "b", "c"]),
        when=np.array(["2024-01-01", "2024-01-02", "2024-01-03"], dtype="datetime64[D]"),
        features=np.array(["length", "width"]),
        pose=np.arange(6).reshape(3, 2),
        extra=np.zeros(7),
        made=np.array({"by": "hand"}, dtype=object),
    )
    table = read(tmp_path / "t.npz")
    assert isinstance(table, ArrayTable)
    assert table.names == ["length", "width"]
    np.testing.assert_array_equal(table.select().X, X)
    assert table.select().X.dtype == np.float32
    assert table.aside.columns == ["y", "ids", "when", "pose_0", "pose_1"]
    assert table.column("pose_1").to_list() == [1, 3, 5]
    assert table.column("y").to_list() == [0, 1, 1]
    assert table.column("ids").to_list() == ["a", "b", "c"]
    assert table.column("when").dtype == pl.Datetime or table.column("when").dtype == pl.Date
    assert table.notes == ("not read, since they do not fit the rows of X: extra: float64 (7,); made: object ()",)
    np.testing.assert_array_equal(table.select(columns=["width", "y"]).X, np.column_stack([X[:, 1], [0, 1, 1]]))
    assert table.select(keep_aside=["y"]).names == ["length", "width"]
    assert table.with_aside().columns == [*table.aside.columns, "length", "width"]
    assert table.kinds()["ids"].kind == "id"


@pytest.mark.parametrize("name", ["t.mtx", "t.mtx.gz"])
def test_matrix_market(tmp_path: Path, name: str) -> None:
    S = sparse.random_array((20, 30), density=0.1, rng=np.random.default_rng(0))
    plain = io.BytesIO()
    scipy_io.mmwrite(plain, S)
    content = plain.getvalue()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    table = read(tmp_path / name)
    assert isinstance(table, SparseTable)
    np.testing.assert_array_equal(table.matrix.toarray(), S.toarray())
    assert table.n_rows == 20
    np.testing.assert_array_equal(table.select(columns=["x3", "x1"]).X.toarray(), S.toarray()[:, [3, 1]])
    np.testing.assert_array_equal(table.frame.to_numpy(), S.toarray())


def test_matrix_market_dense_symmetric_and_wrong(tmp_path: Path) -> None:
    file = tmp_path / "t.mtx"
    scipy_io.mmwrite(str(file), np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(read(file).select().X, np.arange(6.0).reshape(2, 3))
    file.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 2\n2 1\n3 3\n")
    np.testing.assert_array_equal(read(file).select().X.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    for content, text in (
        ("hello", "must begin with"),
        ("%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1 0\n", "complex numbers"),
        ("%%MatrixMarket matrix coordinate real general\n2 2\n", "size of the matrix"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", "damaged"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n9 9 1\n", "damaged"),
    ):
        file.write_text(content)
        with pytest.raises(DataError, match=text):
            read(file)


# -- folders --------------------------------------------------------------------------------------------


def picture(path: Path, value: int, size: tuple[int, int] = (4, 3), mode: str = "L") -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    Image.new(mode, size, value if mode == "L" else (value, 0, 255)).save(path)


def test_a_folder_of_images_is_one_array(tmp_path: Path) -> None:
    picture(tmp_path / "cats" / "b.png", 7)
    picture(tmp_path / "dogs" / "a.png", 9)
    (tmp_path / "README").write_text("pictures")
    table = read(tmp_path)
    assert isinstance(table, ArrayTable)
    np.testing.assert_array_equal(table.array, np.repeat([[7], [9]], 12, axis=1))
    assert table.column("file").to_list() == ["cats/b.png", "dogs/a.png"]
    assert table.column("folder").to_list() == ["cats", "dogs"]
    assert table.roles == {"image": "file"}
    assert table.notes == ("2 grey images of 4 × 3 pixels", "not read: 1 file of other kinds")
    assert table.names[:12:5] == ["pixel_0_0", "pixel_1_1", "pixel_2_2"]
    assert pixel_shape(table.names[:12]) == (3, 4)
    colour = read(tmp_path, image_mode="colour", image_size=(2, 2))
    assert pixel_shape(colour.names[:12]) == (2, 2, 3)
    assert colour.select().X.shape == (2, 12)
    picture(tmp_path / "dogs" / "c.png", 9, (5, 3))
    with pytest.raises(DataError, match=r"c\.png: it has 5 × 3 pixels and b\.png has 4 × 3; .* image_size=\(4, 3\)"):
        read(tmp_path)
    picture(tmp_path / "dogs" / "c.png", 9, mode="RGB")
    assert read(tmp_path).select().X.shape == (3, 36)
    (tmp_path / "dogs" / "c.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"c\.png is damaged or not an image"):
        read(tmp_path)


def test_a_folder_of_texts_is_a_table(tmp_path: Path) -> None:
    (tmp_path / "news").mkdir()
    (tmp_path / "a.txt").write_text("Hello, world\nsecond line", encoding="utf-8")
    (tmp_path / "news" / "b.txt").write_bytes("Grüße".encode("cp1252"))
    (tmp_path / "news" / "empty.txt").write_text("")
    table = read(tmp_path)
    assert table.frame.rows() == [
        ("a.txt", "", "Hello, world\nsecond line"),
        ("news/b.txt", "news", "Grüße"),
        ("news/empty.txt", "news", ""),
    ]
    assert table.roles == {"text": "text"}
    with pytest.raises(DataError, match="sep is not an option of the format texts"):
        read(tmp_path, sep=",")


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_partitioned_folders_and_patterns_are_one_table(tmp_path: Path, ending: str) -> None:
    for year, site, value in ((2023, "a", 1), (2024, "b", 2.5)):
        folder = tmp_path / f"year={year}" / f"site={site}"
        folder.mkdir(parents=True)
        write_table(folder / f"part{ending}", pl.DataFrame({"x": [value, 3], "n": ["u", "v"]}))
    (tmp_path / "_SUCCESS").write_text("")
    table = read(tmp_path)
    rows = [(2023, "a", 1.0, "u"), (2023, "a", 3.0, "v"), (2024, "b", 2.5, "u"), (2024, "b", 3.0, "v")]
    assert table.names == ["x", "n"]  # keys are not reduced
    assert table.aside.columns == ["year", "site"]
    assert table.to_polars().rows() == rows
    assert table.notes[0] == "read 2 files"
    assert table.notes[1].startswith("year, site: keys of the folders, which are not reduced unless they are named")
    assert table.select(columns=["year", "x"]).X.tolist() == [[2023, 1], [2023, 3], [2024, 2.5], [2024, 3]]
    assert read(str(tmp_path / "*" / "*" / f"*{ending}")).to_polars().rows() == rows
    assert read(str(tmp_path / "year=2023" / "**" / f"*{ending}")).frame.rows() == [(1, "u"), (3, "v")]
    write_table(tmp_path / "year=2024" / "site=b" / f"z{ending}", pl.DataFrame({"x": [1], "m": ["u"]}))
    with pytest.raises(DataError, match=r"have different columns: 'm', 'n'"):
        read(tmp_path)
    with pytest.raises(DataError, match="no file matches"):
        read(str(tmp_path / "*.zip"))


def test_arrays_in_a_folder_are_stacked(tmp_path: Path) -> None:
    for i in range(2):
        np.save(tmp_path / f"part{i}.npy", np.full((2, 3), i, dtype=np.float32))
    np.testing.assert_array_equal(read(tmp_path).select().X, np.repeat([[0.0], [1.0]], 2, axis=0) * np.ones(3))
    np.save(tmp_path / "part2.npy", np.ones((2, 4)))
    with pytest.raises(DataError, match=r"part2\.npy has 4 columns and .*part0\.npy has 3"):
        read(tmp_path)


def test_standard_input_and_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for content, options in (
        (b"a;b\n1,5;2\n", {}),
        (gzip.compress(b"a,b\n1.5,2\n"), {"format": "csv"}),
        (b'{"a": 1.5, "b": 2}\n', {"format": "ndjson"}),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert read("-", **options).frame.rows() == [(1.5, 2)]
        assert read(io.BytesIO(content), **options).frame.rows() == [(1.5, 2)]
    for ending in (".parquet", ".arrow", ".xlsx", ".npz", ".npy"):
        write_table(tmp_path / f"t{ending}", pl.DataFrame({"a": [1.5], "b": [2.25]}))
        with (tmp_path / f"t{ending}").open("rb") as file:
            assert read(file, format=ending).select().X.tolist() == [[1.5, 2.25]]
    with (tmp_path / "t.parquet").open("rb") as file:
        assert read(file).n_rows == 1  # the first bytes tell the format


# -- vectors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".ndjson"])
@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float64(), 3), pa.large_list(pa.float16())])
def test_a_column_of_vectors_becomes_the_array(tmp_path: Path, ending: str, kind: Any) -> None:
    X = np.arange(15).reshape(5, 3) / 4
    values = X.astype(np.float16).tolist() if pa.types.is_float16(kind.value_type) else X.tolist()
    flat = [[np.float16(x) for x in row] for row in values] if pa.types.is_float16(kind.value_type) else values
    table = pa.table({"id": list("abcde"), "v": pa.array(flat, kind)})
    file = tmp_path / f"t{ending}"
    if ending == ".parquet":
        pq.write_table(table, file, row_group_size=2)
    elif ending == ".arrow":
        with pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table, max_chunksize=2)
    else:
        file.write_text("".join(json.dumps({"id": i, "v": v}) + "\n" for i, v in zip("abcde", X.tolist(), strict=True)))
    again = read(file, vector="v")
    assert isinstance(again, ArrayTable)
    np.testing.assert_array_equal(again.array, X)
    if ending != ".ndjson":
        assert again.array.dtype == (np.float64 if kind.value_type == pa.float64() else np.float32)
    assert again.column("id").to_list() == list("abcde")
    unit = read(file, vector="v", normalize="l2")
    np.testing.assert_allclose(np.linalg.norm(unit.select().X, axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([[1.0, 2.0], [3.0, 4.0], [5.0]], r"column 'v', row 2: the vector has 1 numbers, those before it 2"),
        ([[1.0, 2.0], None], r"row 1: the vector is missing"),
        ([[], [1.0]], r"row 0: the vector is empty"),
        ([["a"], ["b"]], r"lists of other values than numbers; vector needs a column with a list of numbers"),
        ([1.0, 2.0], r"one number in each row; vector needs a column with a list of numbers"),
    ],
)
def test_columns_that_are_no_vectors_are_refused(tmp_path: Path, rows: Any, text: str) -> None:
    pq.write_table(pa.table({"v": pa.array(rows)}), tmp_path / "t.parquet", row_group_size=2)
    with pytest.raises(DataError, match=text):
        read(tmp_path / "t.parquet", vector="v")


def test_texts_and_images_travel_with_the_rows(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "x": [1.0, 2.0],
            "abstract": ["long text", "more"],
            "photo": [{"bytes": b"1", "path": "a"}] * 2,
            "raw": [b"1"] * 2,
        }
    )
    write_table(tmp_path / "t.parquet", frame)
    table = read(tmp_path / "t.parquet", text="abstract", image="photo")
    assert table.roles == {"text": "abstract", "image": "photo"}
    assert table.select().left_out["abstract"] == "text of the rows"
    assert table.select_mixed().names == ["x"]
    assert table.kinds()["photo"].reason == "image of the rows"
    assert read(tmp_path / "t.parquet", image="raw").roles == {"image": "raw"}
    with pytest.raises(DataError, match="column 'x': images must be paths, bytes"):
        read(tmp_path / "t.parquet", image="x")
    with pytest.raises(DataError, match="column 'x': it contains numbers, not text"):
        read(tmp_path / "t.parquet", text="x")


# -- limits ---------------------------------------------------------------------------------------------


def test_what_unpacks_past_the_memory_limit_is_refused_with_the_figure(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 5_000_000))
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(20_000_000))
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((1000, 2500)))
    (tmp_path / "t.mtx").write_text("%%MatrixMarket matrix coordinate real general\n999999999999 5 1\n1 1 1\n")
    with lowland.config(memory_limit="4MB"):
        for name in ("t.csv.gz", "t.xlsx", "t.npz", "t.mtx"):
            with pytest.raises(lowland.LowlandError, match=rf"{name}.*\d MB") as caught:
                read(tmp_path / name)
            assert "memory limit" in str(caught.value)


def test_an_image_of_too_many_pixels_is_refused_unread(tmp_path: Path) -> None:
    Image.new("1", (20_000, 6_000)).save(tmp_path / "big.png")
    assert (tmp_path / "big.png").stat().st_size < 50_000
    with pytest.raises(DataError, match=r"big\.png: the image unpacks to 120,000,000 pixels; the limit is 100,000,000"):
        read(tmp_path)


@pytest.mark.parametrize(
    "names",
    [
        ["pixel_0_1", "pixel_0_0"],
        ["pixel_0_0", "pixel_1_1"],
        pixel_names(3, 3)[:-1],
        [*pixel_names(2, 2), "age"],
        pixel_names(2, 2, start=2),
        [],
    ],
)
def test_names_that_are_not_all_pixels_in_order_tell_no_image(names: list[str]) -> None:
    assert pixel_shape(names) is None


def test_an_array_of_many_columns_beside_x_is_named_with_the_reason(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.eye(10), big=np.ones((10, 50)), y=np.arange(10), junk=np.ones(7))
    assert read(tmp_path / "t.npz").notes == (
        "not read, since they do not fit the rows of X: junk: float64 (7,)",
        "not read, since they are neither X nor columns beside it (of at most 20 each): big: float64 (10, 50)",
    )
