"""CSV and TSV: what is read, and the place that is named when it cannot be."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import lowland
from lowland.core.errors import DataError, MemoryLimitError
from lowland.data import Table, delimited, read_table
from lowland.data.cells import MISSING


def put(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_table(path)
    return str(caught.value)


def columns(table: Table) -> dict[str, list[object]]:
    return table.frame.to_dict(as_series=False)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "a,b\n1,2.5\n3,4\n"),
        ("t.CSV", "a,b\n1,2.5\n3,4"),
        ("t.csv", "a,b\r\n1,2.5\r\n3,4\r\n"),
        ("t.csv", "\ufeffa,b\n1,2.5\n3,4\n"),
        ("t.csv", '"a","b"\n"1","2.5"\n"3",4\n'),
        ("t.csv", "a, b\n 1 ,  2.5\n3,\t4\n"),
        ("t.tsv", "a\tb\n1\t2.5\n3\t4\n"),
        ("t.txt", "a\tb\n1\t2.5\n3\t4\n"),
        ("t.txt", "a,b\n1,2.5\n3,4\n"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2.5\n3,4\n")),
        ("t.tsv.gz", gzip.compress(b"a\tb\n1\t2.5\n") + gzip.compress(b"3\t4\n")),
    ],
    ids=[
        "csv",
        "no-last-newline",
        "windows-newlines",
        "byte-order-mark",
        "quoted",
        "spaces-around-cells",
        "tsv",
        "txt-with-tabs",
        "txt-with-commas",
        "gzip",
        "gzip-of-two-members",
    ],
)
def test_every_kind_of_text_file_gives_the_same_table(tmp_path: Path, name: str, content: str | bytes) -> None:
    table = read_table(put(tmp_path, content, name))
    assert columns(table) == {"a": [1, 3], "b": [2.5, 4.0]}
    assert table.frame.dtypes == [pl.Int64, pl.Float64]
    assert (table.source, table.first_line, table.n_rows, table.n_columns) == (name, 2, 2, 2)


def test_quoted_cells_keep_separators_quotes_and_line_breaks(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, 'a,b\n"x, ""y""",1\n"two\nlines",2\n'))
    assert columns(table) == {"a": ['x, "y"', "two\nlines"], "b": [1, 2]}
    assert table.first_line is None  # rows and lines no longer agree


@pytest.mark.parametrize("token", MISSING)
def test_missing_words_are_null_and_nan_in_the_matrix(tmp_path: Path, token: str) -> None:
    table = read_table(put(tmp_path, f"a,b,c\n1,x,2\n{token}, {token} ,3\n"))
    assert columns(table) == {"a": [1, None], "b": ["x", None], "c": [2, 3]}
    np.testing.assert_array_equal(table.select().X, [[1, 2], [np.nan, 3]])


def test_infinities_are_numbers(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, "a\ninf\n-inf\nInfinity\n1\n"))
    assert columns(table) == {"a": [np.inf, -np.inf, np.inf, 1.0]}


def test_types_follow_from_all_cells(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, "i,f,t,s,big\n1,1,true,x,9007199254740993\n2,.5,FALSE,2,1\n3,1e3,,y,2\n"))
    assert table.frame.dtypes == [pl.Int64, pl.Float64, pl.Boolean, pl.String, pl.Int64]
    assert table.frame["big"][0] == 9007199254740993  # a float would have lost the last digit
    chosen = table.select()
    assert chosen.names == ["i", "f", "t", "big"]
    assert chosen.left_out == {"s": "text"}
    np.testing.assert_array_equal(chosen.X[:, 2], [1, 0, np.nan])


def test_a_first_line_of_numbers_is_a_row(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, "1,NA\n3,4\n"))
    assert columns(table) == {"x0": [1, 3], "x1": [None, 4]}
    assert table.first_line == 1
    assert "first line" in table.notes[0]


def test_an_unnamed_column_is_named_by_its_position(tmp_path: Path) -> None:
    assert read_table(put(tmp_path, ",0,1\nr,1.5,2\n")).names == ["column_1", "0", "1"]


def test_blank_lines_are_skipped_but_are_missing_values_in_a_lone_column(tmp_path: Path) -> None:
    assert columns(read_table(put(tmp_path, "a,b\n1,2\n\n3,4\n\n"))) == {"a": [1, 3], "b": [2, 4]}
    assert columns(read_table(put(tmp_path, "a\n1\n\n3\n"))) == {"a": [1, None, 3]}


def test_text_among_numbers_is_an_error_that_names_the_place(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, "a,b\n1,2\n3,4\n5,abc\n"))
    with pytest.raises(DataError) as caught:
        table.select()
    assert str(caught.value) == (
        "table.csv, line 4, column 'b': 'abc' is not a number; correct it, or, if it means a missing value, use "
        "na='abc', or exclude the column with drop=['b']"
    )
    assert table.select(drop=["b"]).names == ["a"]  # the remedy works
    assert table.select(columns=["a"]).names == ["a"]
    assert table.select(keep_aside=["b"]).names == ["a"]


@pytest.mark.parametrize(
    ("cells", "error"),
    [("1,x", True), ("1,x,y", False), ("1,2,x", True), ("x,y,NA,1", False), ("NA,NA,1,x", True)],
)
def test_half_numbers_make_a_column_of_numbers(tmp_path: Path, cells: str, error: bool) -> None:
    rows = "".join(f"{i},{cell}\n" for i, cell in enumerate(cells.split(",")))
    table = read_table(put(tmp_path, "i,mixed\n" + rows))
    assert bool(table.faults) is error
    if not error:
        assert table.select().left_out == {"mixed": "text"}


def test_the_line_is_right_after_blank_lines_and_line_breaks_in_quotes(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, 'name,b\n"two\nlines",1\n\n"x",2\n"y",oops\n'))
    assert "table.csv, line 6, column 'b': 'oops'" in table.faults["b"]


@pytest.mark.parametrize("bad_row", [3, 199_999])
def test_a_late_text_cell_is_treated_as_an_early_one(tmp_path: Path, bad_row: int) -> None:
    rows = [f"{i},{i}.5" for i in range(200_001)]
    rows[bad_row] = f"{bad_row},oops"
    table = read_table(put(tmp_path, "a,b\n" + "\n".join(rows) + "\n"))
    assert table.frame.dtypes == [pl.Int64, pl.String]
    assert f"line {bad_row + 2}, column 'b': 'oops'" in table.faults["b"]


def test_a_late_fraction_makes_floats(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, "a,b\n" + "1,2\n" * 200_000 + "0.5,2\n"))
    assert table.frame.dtypes == [pl.Float64, pl.Int64]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("a,b\n1,2\n3\n", "table.csv, line 3: expected 2 columns as in line 1, got 1"),
        ("a,b\n1,2\n\n3,4,5\n6\n", "table.csv, line 4: expected 2 columns as in line 1, got 3"),
        ('a,b\n"x\ny",2\n3\n', "table.csv, line 4: expected 2 columns as in line 1, got 1"),
        ("1,2\n3\n", "table.csv, line 2: expected 2 columns as in line 1, got 1"),
        ("# made by hand\na,b\n1,2\n3\n", "table.csv, line 4: expected 2 columns as in line 2, got 1"),
        (
            "a,b\n1,2\n# end\n",
            "table.csv, line 3: expected 2 columns as in line 1, got 1; if it is a comment",
        ),
    ],
)
def test_ragged_rows_are_refused(tmp_path: Path, content: str, place: str) -> None:
    assert refusal(put(tmp_path, content)).startswith(place)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "table.csv is empty"),
        ("\n\n", "table.csv contains only blank"),
        ("a,b", "table.csv has a header but no rows"),
        ("a,b\n", "table.csv has a header but no rows"),
        ("a,b\n\n\n", "table.csv has a header but no rows"),
        ("a,\xe9\n1,\xfc\n".encode() + b"3,\xff\n", "table.csv, line 3: byte 3 is not UTF-8"),
        (b"a,b\n1,\0\n", "table.csv is not a text file: it contains null bytes"),
        ('a,b\n1,2\n3,"x\n5,6\n', "table.csv, line 3: unclosed quotation mark"),
    ],
)
def test_unusable_text_is_refused_with_the_reason(tmp_path: Path, content: str | bytes, text: str) -> None:
    assert refusal(put(tmp_path, content)).startswith(text)


def test_a_quote_inside_a_bare_cell_is_an_ordinary_sign(tmp_path: Path) -> None:
    assert columns(read_table(put(tmp_path, 'a,b\n1,x\n3,5" pipe'))) == {"a": [1, 3], "b": ["x", '5" pipe']}


def test_damaged_gzip_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b"a,b\n1,2\n" * 5000)
    for content in (packed[:-9], packed[:40], b"a,b\n1,2\n", packed[:30] + b"\0\0\0\0" + packed[34:]):
        assert refusal(put(tmp_path, content, "t.csv.gz")).startswith("t.csv.gz: the gzip data are damaged")


def test_a_line_far_wider_than_the_first_ones(tmp_path: Path) -> None:
    wide = "w" * (delimited._BYTES_AT_ONCE + 1_000_000)
    table = read_table(put(tmp_path, f"a,b\n1,x\n2,{wide}\n3,y\n"))
    assert table.frame["b"].str.len_chars().to_list() == [1, len(wide), 1]


def test_many_columns(tmp_path: Path) -> None:
    names = [f"gene{i}" for i in range(3000)]
    body = "\n".join(",".join(str(i * j) for i in range(3000)) for j in range(3))
    X = read_table(put(tmp_path, ",".join(names) + "\n" + body + "\n")).select().X
    np.testing.assert_array_equal(X, np.outer(range(3), range(3000)))


def test_a_file_past_the_memory_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = put(tmp_path, "a,b\n" + "1.25,2.5\n" * 1000)
    with lowland.config(memory_limit=10_000), pytest.raises(MemoryLimitError, match=r"table\.csv"):
        read_table(path)


def test_missing_files_folders_and_foreign_names(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.csv").endswith("none.csv: no such file")
    assert "contains no files" in refusal(tmp_path)
    message = refusal(put(tmp_path, "x", "table.ods"))
    assert "table.ods" in message
    assert ".csv, .tsv" in message
    assert "cannot read" in refusal(put(tmp_path, "x", ".csv"))


@pytest.mark.parametrize(
    "cells", [["1,200", "2,300", "900"], ["1,5", "2.5", "0,1"], ["$5.00", "6", "$7"], ["5 %", "6%", "7"]]
)
def test_numbers_written_for_people_are_not_left_out_as_text(tmp_path: Path, cells: list[str]) -> None:
    rows = "".join(f"{i}\t{cell}\n" for i, cell in enumerate(cells))
    message = read_table(put(tmp_path, "i\tpay\n" + rows, "t.tsv")).faults["pay"]
    line, cell = (3, "2.5") if cells[1] == "2.5" else (2, cells[0])  # most of these have a decimal comma
    advice = "it may mean 1.200 or 1200" if cell == "1,200" else "write all numbers of the column with the same sign"
    advice = "the decimal mark of the table is a comma: write the cell as 2,5" if cell == "2.5" else advice
    assert f"t.tsv, line {line}, column 'pay': {cell!r} is not a number; {advice}" in message


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("k;a;b\nx;1,5;1,200\ny;-0,25;2,300\nz;;12\n", "t.csv"),
        ("k;a;b\nx;1,5;1,200\ny;-0,25;2,300\nz;NA;12\n", "t.txt"),
        ("k\ta\tb\nx\t1,5\t1,200\ny\t-0,25\t2,300\nz\t\t12\n", "t.tsv"),
        ('"k";"a";"b"\n"x";"1,5";"1,200"\n"y";"-0,25";"2,300"\n"z";"";"12"\n', "t.csv"),
    ],
)
def test_decimal_commas_are_read_where_no_comma_separates(tmp_path: Path, content: str, name: str) -> None:
    table = read_table(put(tmp_path, content, name))
    # In b every comma could separate thousands; those of a cannot, and a table is written in one way.
    assert columns(table) == {"k": ["x", "y", "z"], "a": [1.5, -0.25, None], "b": [1.2, 2.3, 12.0]}
    assert table.faults == {}
    expected = "read as decimal comma" if name.endswith("tsv") else "read as semicolon-separated, decimal comma"
    assert table.notes == (expected,)


def test_rows_of_decimal_commas_need_no_header(tmp_path: Path) -> None:
    assert columns(read_table(put(tmp_path, "1,5;2\n2,25;3\n"))) == {"x0": [1.5, 2.25], "x1": [2, 3]}
    assert columns(read_table(put(tmp_path, "a;b\n1.5;2\n"))) == {"a": [1.5], "b": [2]}


def test_between_commas_a_decimal_comma_is_named_as_the_cause(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, 'a,b\n"1,5",2\n"2,5",3\n'))
    assert "'1,5' is not a number; use decimal points, as in 1234.5, separate the cells by" in table.faults["a"]


def test_dates_words_and_versions_are_text(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, "a,b,c,d\n2024-01-31,x1,1.2.3,12:30\n2024-02-01,x2,1.2.4,12:40\n"))
    assert table.faults == {}


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_no_thread_of_arrow_holds_a_python_file(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a thread, still at work when the process ended, aborted it."""
    given: list[object] = []
    real = delimited.arrow_csv.read_csv

    def spy(file: object, **options: object) -> object:
        given.append(file)
        return real(file, **options)

    monkeypatch.setattr(delimited.arrow_csv, "read_csv", spy)
    content = b'a,b\n1,"2"\n'
    read_table(put(tmp_path, gzip.compress(content) if name.endswith(".gz") else content, name))
    assert isinstance(given[0], pa.NativeFile)
    assert not isinstance(given[0], pa.PythonFile)
