"""The same table in many dialects, the options that set them, and cells that are almost numbers."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from lowland.core.errors import DataError
from lowland.data import Table, read, scan
from lowland.data.kinds import Stray

NAMES = ["patient", "crp", "ferritin", "sex", "visit", "größe"]
ROWS = [
    ["p1", 0.1, 1234567.25, "m", "2024-01-31", 180],
    ["p2", -12.5, 0.30000000000000004, "f", "2024-02-01", 165],
    ["p3", None, 2.5e-7, "f", None, 171],
    ["p4", 1e22, 98765.4321, "m", "1999-12-31", 158],
]


def text(separator: str, decimal: str = ".", thousands: str = "", missing: str = "", quote: bool = False) -> str:
    def cell(value: Any) -> str:
        if value is None:
            return missing
        if isinstance(value, (str, int)):
            return str(value)
        written = f"{value:,.15f}".rstrip("0").rstrip(".") if thousands and 1e3 < value < 1e9 else repr(value)
        table = str.maketrans({",": thousands, ".": decimal})
        return written.translate(table)

    rows = [NAMES, *([cell(value) for value in row] for row in ROWS)]
    return "".join(separator.join(f'"{c}"' if quote else c for c in row) + "\n" for row in rows)


def zst_file(path: Path, content: str) -> bytes:
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(content.encode())
    return path.read_bytes()


DIALECTS: dict[str, tuple[str, bytes, str]] = {
    "comma": ("t.csv", text(",").encode(), ""),
    "semicolon, decimal comma": ("t.csv", text(";", ",").encode(), "semicolon-separated, decimal comma"),
    "tab, UTF-8 with BOM": ("t.tsv", text("\t").encode("utf-8-sig"), ""),
    "pipe": ("t.txt", text("|").encode(), "pipe-separated"),
    "semicolon, thousands, cp1252": (
        "t.csv",
        text(";", ",", ".").encode("cp1252"),
        "semicolon-separated, decimal comma, points between thousands, cp1252",
    ),
    "UTF-16, tab, decimal comma": ("t.txt", text("\t", ",").encode("utf-16"), "tab-separated, decimal comma, UTF-16"),
    "UTF-16 without mark": ("t.csv", text(",").encode("utf-16-le"), "UTF-16-LE"),
    "quoted commas and thousands": ("t.csv", text(",", ".", ",", quote=True).encode(), "commas between thousands"),
    "comments": (
        "t.csv",
        ("# a table\n#  made by hand\n\n" + text(",")).encode(),
        "2 comment lines skipped, 1 other line before the table skipped",
    ),
    "runs of spaces": (
        "t.txt",
        text("   ", missing="NA").replace("\n", "  \n").encode(),
        "space-separated",
    ),
    "sep line of Excel": ("t.csv", ("sep=;\r\n" + text(";", ",")).replace("\n", "\r\n").encode(), "semicolon"),
    "gzip": ("t.csv.gz", gzip.compress(text(",").encode()), ""),
    "apostrophes": ("t.csv", text(";", ".", "'").encode(), "semicolon-separated, apostrophes between thousands"),
    "old Mac line ends": ("t.csv", text(",").replace("\n", "\r").encode(), ""),
}


@pytest.mark.parametrize("name", DIALECTS)
def test_the_same_table_in_many_dialects_has_the_same_bits(tmp_path: Path, name: str) -> None:
    file, content, said = DIALECTS[name]
    (tmp_path / file).write_bytes(content)
    check(read(tmp_path / file), said)


def test_zstandard_is_unpacked(tmp_path: Path) -> None:
    zst_file(tmp_path / "t.csv.zst", text(";", ","))
    check(read(tmp_path / "t.csv.zst"), "semicolon-separated, decimal comma")
    whole = (tmp_path / "t.csv.zst").read_bytes()
    (tmp_path / "t.csv.zst").write_bytes(whole[: len(whole) // 2] + b"xx")
    with pytest.raises(DataError, match=r"t\.csv\.zst"):
        read(tmp_path / "t.csv.zst")


def check(table: Table, said: str) -> None:
    assert table.names == NAMES
    assert table.faults == {}
    expected = np.array([[np.nan if row[j] is None else row[j] for j in (1, 2, 5)] for row in ROWS], dtype=float)
    np.testing.assert_array_equal(table.select(columns=["crp", "ferritin", "größe"]).X, expected)
    assert table.frame.dtypes == [pl.String, pl.Float64, pl.Float64, pl.String, pl.Date, pl.Int64]
    assert table.column("sex").to_list() == ["m", "f", "f", "m"]
    assert len(table.notes) == bool(said)
    assert said in "".join(table.notes)


def put(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("a;b\n1,5;x\n", {"sep": ",", "header": False}, {"x0": ["a;b", "1"], "x1": [None, "5;x"]}),
        ("a,b\n1,200\n", {"sep": ";", "decimal": ","}, {"a,b": [1.2]}),
        ("a,b\n1,200\n", {"sep": ";", "thousands": ","}, {"a,b": [1200]}),
        ("a;b\n1.200;1\n", {"decimal": ",", "thousands": "."}, {"a": [1200], "b": [1]}),
        ("junk\nmore\na,b\n1,2\n", {"skip_rows": 2}, {"a": [1], "b": [2]}),
        ("a,b\n% note, here, now\n1,2\n%\n3,4\n", {"comment": "%"}, {"a": [1, 3], "b": [2, 4]}),
        ("1,2\n3,4\n", {"header": True}, {"1": [3], "2": [4]}),
        ("a,b\nc,d\n", {"header": False}, {"x0": ["a", "c"], "x1": ["b", "d"]}),
        ("a,b\n1,n.d.\n-,2\n999,999.0\n", {"na": ["n.d.", "-", "999"]}, {"a": [1, None, None], "b": [None, 2, None]}),
        ("a,b\n007,1e2\n 7,NA\n", {"names": "a"}, {"a": ["007", "7"], "b": [100.0, None]}),
        ('a,b\n"007",1e2\n7,NA\n', {"names": [1]}, {"a": [7, 7], "b": ["1e2", None]}),
        ("a,b\n< 1,5.0\n2,6.0\n", {"names": ["a", "b"]}, {"a": ["< 1", "2"], "b": [5, 6]}),
        ("a,b\n1,< 0.5\n2,3\n", {"below_limit": "half"}, {"a": [1, 2], "b": [0.25, 3.0]}),
        ("a,b\n1,<0.5\n2,3\n", {"below_limit": "missing"}, {"a": [1, 2], "b": [None, 3.0]}),
        ("a;b\n1;<0,5\n2;3,5\n", {"below_limit": "half"}, {"a": [1, 2], "b": [0.25, 3.5]}),
        ("a\n\xe9\n".encode("latin-1"), {"encoding": "latin-1"}, {"a": ["é"]}),
        (b"a\n\xe9\n", {}, {"a": ["é"]}),
    ],
)
def test_options_decide(tmp_path: Path, content: str | bytes, options: dict[str, Any], expected: Any) -> None:
    if options == {"sep": ",", "header": False}:
        with pytest.raises(DataError, match="expected 1 column"):
            read(put(tmp_path, content), **options)
        return
    assert read(put(tmp_path, content), **options).frame.to_dict(as_series=False) == expected


def test_rows_without_a_header_are_noticed_by_repeated_words(tmp_path: Path) -> None:
    table = read(put(tmp_path, "5.1,3.5,setosa\n4.9,3.0,setosa\n7.0,3.2,versicolor\n", "iris.data"))
    assert table.names == ["x0", "x1", "x2"]
    assert table.n_rows == 3
    assert "no header" in table.notes[0]
    spectra = read(put(tmp_path, "sample,400.5,401\ns1,0.1,0.2\ns2,0.3,0.4\n"))
    assert spectra.names == ["sample", "400.5", "401"]


def test_names_in_a_comment_line_are_used(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "t.txt", [[1.5, 2.5], [3.0, 4.0]], header="length width")
    table = read(tmp_path / "t.txt")
    assert table.names == ["length", "width"]
    np.testing.assert_array_equal(table.select().X, [[1.5, 2.5], [3.0, 4.0]])


def test_values_below_the_limit_of_detection_are_an_error_with_the_remedy(tmp_path: Path) -> None:
    table = read(put(tmp_path, "a,b\n1,<0.5\n2,7\n3,<0.5\n4,n.d.\n"))
    with pytest.raises(DataError) as caught:
        table.select()
    assert str(caught.value) == (
        "t.csv, line 2, column 'b': '<0.5' is not a number; if it is a value below the limit of detection, use "
        "below_limit='half' or below_limit='missing', or exclude the column with drop=['b']"
    )
    assert table.stray == {"b": [Stray(2, "<0.5", 2), Stray(5, "n.d.", 1)]}
    assert table.kinds()["b"].stray == tuple(table.stray["b"])


def test_an_unclear_comma_is_not_guessed(tmp_path: Path) -> None:
    table = read(put(tmp_path, "a;b\n1,200;1\n2,300;2\n"))
    assert "it may mean 1.200 or 1200: set decimal=',' or thousands=','" in table.faults["a"]
    clear = read(put(tmp_path, "a;b\n1,200;1\n2,300,000;2\n"))
    assert clear.column("a").to_list() == [1200, 2300000]
    decimal = read(put(tmp_path, "a;b\n4,500;1,250\n1086,000;2,000\n"))  # thousands would be 1,086,000
    assert decimal.frame.rows() == [(4.5, 1.25), (1086.0, 2.0)]


@pytest.mark.parametrize(
    ("text", "b"),
    [
        ("a;b\n1,5;2,5\n2,5;<0.5\n3,5;< 0,5\n4,5;<0.005\n", [2.5, 0.25, 0.25, 0.0025]),
        ("a;b\n1,5;2\n2,5;<0.5\n3,5;<1,250\n", [2.0, 0.25, 0.625]),
        ("a;b\n1,5;2.5\n2,5;<0,5\n3,5;3.5\n", [2.5, 0.25, 3.5]),
        ("a;b\n1.234;2.5\n2.5;<0,5\n3.5;3.125\n", [2.5, 0.25, 3.125]),
    ],
)
def test_limits_may_have_the_decimal_mark_of_another_device(text: str, b: list[float], tmp_path: Path) -> None:
    path = put(tmp_path, text)
    halves = read(path, below_limit="half").frame
    assert halves["b"].to_list() == b
    assert halves["a"].dtype == pl.Float64
    missing = read(path, below_limit="missing").frame["b"].to_list()
    cells = [line.split(";")[1] for line in text.splitlines()[1:]]
    assert missing == [None if cell.startswith("<") else value for cell, value in zip(cells, b, strict=True)]
    scanned = pl.concat(scan(path, below_limit="half").frames())
    assert scanned["b"].to_list() == b


def test_an_ambiguous_limit_names_the_decimal_mark_and_the_cell(tmp_path: Path) -> None:
    path = put(tmp_path, "a;b\n1,5;2,5\n2,5;<0.5\n3,5;<1.200\n4,5;3,5\n")
    message = read(path, below_limit="half").faults["b"]
    assert "line 4, column 'b': '<1.200'" in message
    assert "below_limit" not in message
    assert "the decimal mark of the table is a comma: write the cell as <1,200 or <1200, or set thousands" in message
    assert read(path, below_limit="half", thousands=".").frame["b"].to_list() == [2.5, 0.25, 600.0, 3.5]
    table = read(path)
    assert [cell.ambiguous for cell in table.kinds()["b"].stray] == [False, True]


def test_a_point_in_a_table_with_decimal_commas_names_the_mark(tmp_path: Path) -> None:
    table = read(put(tmp_path, "a;b\n1,5;2,5\n0.7;2\n3,5;4,5\n"))
    assert "'0.7' is not a number; the decimal mark of the table is a comma: write the cell as 0,7" in table.faults["a"]


def test_points_between_thousands_are_never_read_as_decimal_points(tmp_path: Path) -> None:
    table = read(put(tmp_path, "a;b;c\n1.200;1.234,5;0.5\n2.300;7,25;1.5\n"))
    assert table.frame.rows() == [(1200, 1234.5, 0.5), (2300, 7.25, 1.5)]
    unclear = read(put(tmp_path, "a;b\n1.200;1,5\n2.300;7,25\n"))
    remedy = "the decimal mark of the table is a comma: write the cell as 1,200 or 1200, or set thousands='.'"
    assert f"it may mean 1.200 or 1200, as {remedy}" in unclear.faults["a"]
    late = "".join(f"{i % 900 + 1}.200;{i}\n" for i in range(50_000))
    assert "'1.200' is not a number" in read(put(tmp_path, "a;b\n" + late + "1.200;1,5\n")).faults["a"]


def test_marks_that_appear_late_are_noticed(tmp_path: Path) -> None:
    rows = "".join(f"{i};{i}\n" for i in range(50_000))
    table = read(put(tmp_path, "a;b\n" + rows + "1,5;2\n"))
    assert table.column("a")[-1] == 1.5
    assert table.frame.dtypes == [pl.Float64, pl.Int64]
    assert table.notes == ("read as semicolon-separated, decimal comma",)


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        (["2024-01-31", "2024-02-29"], pl.Date),
        (["31.12.2024", "1.1.2025"], pl.Date),
        (["12/31/2024", "1/2/2025"], pl.Date),
        (["2024-01-31T12:30:15Z", "2024-01-31T12:30:15+02:00"], pl.Datetime),
        (["2024-01-31 12:30", "2024-01-31 12:45"], pl.Datetime),
        (["31.12.2024 08:15", "1.1.2025 9:00:30"], pl.Datetime),
        (["1/2/2025", "2/3/2025"], pl.String),  # the order is not clear
        (["2024-02-30", "2024-01-01"], pl.String),
    ],
)
def test_dates_are_parsed_where_their_order_is_clear(tmp_path: Path, cells: list[str], dtype: Any) -> None:
    table = read(put(tmp_path, "day,n\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells))))
    assert table.frame.dtypes[0] == dtype
    assert table.kinds()["day"].kind == ("date" if cells[0] != "2024-02-30" else "category")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"sepp": ","}, "there is no reading option 'sepp'; the options are format, sep"),
        ({"sep": "ab"}, "sep='ab': it must be one character"),
        ({"decimal": ";"}, r"decimal=';': it must be one of '\.', ','"),
        ({"encoding": "utf-9"}, "encoding='utf-9': Python has no text encoding"),
        ({"encoding": "base64"}, "encoding='base64'"),
        ({"below_limit": "zero"}, "below_limit='zero'"),
        ({"names": [1.5]}, "names"),
        ({"names": ["nosuch"]}, "has no column 'nosuch'"),
        ({"skip_rows": -1}, "skip_rows=-1"),
        ({"skip_rows": 99}, "skip_rows=99"),
        ({"decimal": ",", "thousands": ","}, "thousands=','"),
        ({"sheet": "x"}, r"t\.csv: sheet is not an option of the format csv"),
        ({"format": "docx"}, "format='docx': the formats are csv, tsv"),
        ({"na": 5j}, "na=5j"),
        ({"vector": "zz"}, "has no column 'zz'"),
        ({"normalize": "l2"}, "normalize applies to arrays"),
    ],
)
def test_wrong_options_are_errors_that_name_them(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(DataError, match=text):
        read(put(tmp_path, "a,b\n1,2\n"), **options)


def test_numbers_are_correctly_rounded(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((500, 4)) * 10.0 ** rng.integers(-300, 300, (500, 4))
    body = "\n".join(",".join(map(repr, row)) for row in values.tolist())
    np.testing.assert_array_equal(read(put(tmp_path, "a,b,c,d\n" + body + "\n")).select().X, values)
    comma = body.replace(",", ";").replace(".", ",")
    np.testing.assert_array_equal(read(put(tmp_path, "a;b;c;d\n" + comma + "\n")).select().X, values)
    thousands = [[float(f"{v:.3f}") for v in row] for row in (rng.random((200, 2)) * 1e7).tolist()]
    body = "\n".join(";".join(f"{v:,.3f}" for v in row) for row in thousands)
    np.testing.assert_array_equal(read(put(tmp_path, "a;b\n" + body + "\n")).select().X, thousands)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(("line", "options"), [("# a comment", {}), ("words of a preamble", {"skip_rows": 9_000})])
def test_a_long_preamble_is_not_the_whole_file(
    tmp_path: Path, line: str, options: dict[str, int], encoding: str
) -> None:
    file = tmp_path / "t.csv"
    file.write_text(f"{line}\n" * 9_000 + "a,b\n1,2\n3,4\n" + "5,6\n" * 90_000, encoding=encoding)
    table = read(file, **options)
    assert (table.names, table.n_rows) == (["a", "b"], 90_002)


def test_skipping_every_line_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="skip_rows=9 skips all lines of the file; use a smaller number"):
        read(put(tmp_path, "a,b\n1,2\n3,4\n"), skip_rows=9)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "cp1252"])
def test_a_named_encoding_of_python_is_taken(tmp_path: Path, encoding: str) -> None:
    table = read(put(tmp_path, "größe,b\n1,2\n3,4\n".encode(encoding)), encoding=encoding)
    assert table.names == ["größe", "b"]


def test_unit_signs_are_advised_against_without_options_that_do_not_help(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'\$5' is not a number; write all numbers of the column with the same"):
        read(put(tmp_path, "a,b\n1,$5\n2,7\n")).select()


def test_spaces_that_do_not_split_all_lines_are_told(tmp_path: Path) -> None:
    path = put(tmp_path, "pid age crp\nP0 46 1.1\nP1 38 \nP2  67 1.9\nP3 55 2.5\n")
    for notes in (read(path).notes, scan(path).notes):
        assert any("read as one column" in note and "use sep='space'" in note for note in notes)
    assert not read(put(tmp_path, "words\nthe 1 first line\nanother line\na third one of words\n")).notes
    assert not read(put(tmp_path, "x\n1\n2\n3\n")).notes


@pytest.mark.parametrize("form", ["Jan 5 2024", "January 5 2024", "Jan 5, 2024", "Jan 5 2024 10:30"])
def test_dates_with_the_month_first_by_name(tmp_path: Path, form: str) -> None:
    other = form.replace("Jan", "Feb").replace("uary", "ruary").replace(" 5", " 17")
    path = put(tmp_path, f'a,b\n1,"{form}"\n2,"{other}"\n3,\n')
    frame = read(path).frame
    assert [value and (value.year, value.month, value.day) for value in frame["b"]] == [
        (2024, 1, 5),
        (2024, 2, 17),
        None,
    ]
    assert pl.concat(scan(path).frames()).equals(frame)
    assert "month day" in read(path).notes[0]
    assert read(put(tmp_path, "a,b\n1,Jan 5 2024\n2,Feb 30 2024\n")).frame["b"].dtype == pl.String
