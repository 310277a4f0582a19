"""What stands above the rows of a table: titles, repeated names and units, in text and workbooks alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import lowland
from lowland.core.errors import DataError
from lowland.data import inspect_table, read, scan
from lowland.data.heading import is_unit, title_rows, units_in
from lowland.recipes.proposal import proposed_command

HEADER = ["pid", "age", "crp", "sex"]
UNITS = ["", "years", "mg/L", ""]
ROWS = [[f"P{i:03d}", str(30 + i % 17), f"{0.5 + i * 1.7:.1f}", "fm"[i % 2]] for i in range(40)]
TITLE = [["Lab export 2024"], ["Printed 01.02.2024"], []]


def text(path: Path, *parts: list[list[str]], sep: str = ",") -> Path:
    path.write_text("".join(sep.join(row) + "\n" for part in parts for row in part))
    return path


def workbook(path: Path, *parts: list[list[str]]) -> Path:
    import xlsxwriter

    with xlsxwriter.Workbook(path, {"strings_to_numbers": True}) as book:
        sheet = book.add_worksheet()
        for i, row in enumerate(row for part in parts for row in part):
            for j, cell in enumerate(row):
                if cell:
                    sheet.write(i, j, cell)
    return path


def made(folder: Path, form: str, *parts: list[list[str]]) -> Path:
    return workbook(folder / "t.xlsx", *parts) if form == "xlsx" else text(folder / "t.csv", *parts)


@pytest.fixture
def plain(tmp_path: Path) -> pl.DataFrame:
    return read(text(tmp_path / "plain.csv", [HEADER], ROWS)).frame


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_a_row_of_units_is_left_out_with_a_note(tmp_path: Path, form: str, plain: pl.DataFrame) -> None:
    path = made(tmp_path, form, [HEADER, UNITS], ROWS)
    table = read(path)
    assert table.frame.equals(plain)
    word = "line" if form == "csv" else "row"
    assert table.notes == (f"{word} 2 holds units: years, mg/L; left out",)
    proposed = proposed_command(table, inspect_table(table), "t.csv")
    assert "--na" not in proposed
    kept = read(path, units=False)
    assert kept.n_rows == len(ROWS) + 1
    assert set(kept.faults) == {"age", "crp"}
    forced = read(made(tmp_path, form, [HEADER, ["", "A", "B", ""]], ROWS), units=True)
    assert forced.frame.equals(plain)


def test_a_scan_leaves_units_out_and_counts_lines_as_read_does(tmp_path: Path, plain: pl.DataFrame) -> None:
    path = text(tmp_path / "t.csv", [HEADER, UNITS], ROWS)
    table = scan(path)
    assert pl.concat(table.frames()).equals(plain)
    assert table.count() == len(ROWS)
    assert "line 2 holds units: years, mg/L; left out" in table.notes
    wrong = [*ROWS[:20], ["P020", "41", "oops", "f"], *ROWS[21:]]
    table = read(text(tmp_path / "wrong.csv", [HEADER, UNITS], wrong))
    assert "line 23, column 'crp': 'oops'" in str(table.faults["crp"])
    assert table.first_line == 3
    assert pl.concat(scan(path, n_rows=len(ROWS)).frames()).equals(plain)


def test_units_in_a_long_text_are_left_out_of_its_first_part_only(tmp_path: Path) -> None:
    rows = [[f"{i}", f"{i % 7}.5", "2.25"] for i in range(300_000)]
    table = scan(text(tmp_path / "long.csv", [["n", "age", "crp"], ["", "years", "mg/L"]], rows))
    assert table.count() == 300_000
    assert sum(frame.height for frame in table.frames()) == 300_000
    assert sum(span.stop - span.start for span in table.spans(100_000)) == 300_000


@pytest.mark.parametrize(
    "first",
    [
        ["P999", "n.d.", "n.d.", "f"],
        ["P999", "n.d.", "mg/L", "f"],
        ["", "NA", "NA", ""],
        ["P999", "30", "mg/L", "f"],
        ["P999", "-", "-", "m"],
        ["", "unknown", "x9", ""],
    ],
)
def test_a_row_of_values_is_kept(tmp_path: Path, first: list[str]) -> None:
    assert read(text(tmp_path / "t.csv", [HEADER, first], ROWS)).n_rows == len(ROWS) + 1


def test_units_are_told_by_their_form() -> None:
    units = ["years", "mg/L", "ug/L", "µg/dl", "10^9/L", "mmol/l", "%", "°C", "[kg]", "(mmHg)", "U/L", "bpm", "m²"]
    assert [is_unit(unit) for unit in units] == [True] * len(units)
    assert not any(map(is_unit, ("n.d.", "P000", "high", "3", "1.5", "ill", "pos", "missing", "")))
    assert not units_in(["years"], [["30"]])  # one row shows nothing
    assert not units_in(["m", "kg"], [["m", "70"], ["f", "60"], ["m", "65"]])


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_a_title_above_the_table_is_skipped_with_a_note(tmp_path: Path, form: str, plain: pl.DataFrame) -> None:
    table = read(made(tmp_path, form, TITLE, [HEADER, UNITS], ROWS))
    assert table.frame.equals(plain)
    assert "3 lines before" in table.notes[0] if form == "csv" else "3 rows before" in table.notes[0]
    assert "5 holds units" in table.notes[1]
    assert read(made(tmp_path, form, TITLE, [HEADER], ROWS), skip_rows=3).frame.equals(plain)
    filled = [[*row, *[""] * (4 - len(row))] for row in TITLE]  # as Excel writes them to text
    assert read(made(tmp_path, form, filled, [HEADER], ROWS)).frame.equals(plain)


def test_titles_of_texts_with_other_separators_are_skipped(tmp_path: Path, plain: pl.DataFrame) -> None:
    path = text(tmp_path / "t.csv", [["Lab, of the town, 2024"]], sep=",")
    path.write_text(path.read_text() + text(tmp_path / "u.csv", [HEADER], ROWS, sep=";").read_text())
    assert read(path).frame.equals(plain)
    assert pl.concat(scan(path).frames()).equals(plain)
    wrong = path.read_text().replace("P005;35", "P005;oops")
    path.write_text(wrong)
    assert "line 8, column 'age': 'oops'" in str(read(path).faults["age"])


@pytest.mark.parametrize(
    "content",
    [
        [["a", "b"], ["1", "2"], ["3", "4"]],
        [["", "value"], ["x", "n.d."], ["y", "5"], ["z", "6"]],
        [["1", "2", "3"], ["4", "5", "6"], ["7", "8", "9"]],
        [["name", "kind", "town"], ["x", "y", "z"], ["u", "v", "w"]],
    ],
)
def test_an_ordinary_beginning_is_no_title(content: list[list[str]]) -> None:
    assert title_rows(content) == 0


def test_lines_around_a_table_that_cannot_be_skipped_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    text(path, [HEADER], ROWS, [["Total rows: 40"]])
    with pytest.raises(DataError, match=r"line 42: expected 4 columns.*ends before 'Total rows: 40': delete this line"):
        read(path)
    rows = [["x", "y", "z", "u"]] * 5
    text(path, [["A title"]], rows)
    with pytest.raises(DataError, match=r"line 2: expected 1 column .*use skip_rows=1"):
        read(path)


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_columns_of_one_name_are_numbered_with_a_note(tmp_path: Path, form: str) -> None:
    rows = [["1", "2", "3", "4"], ["2", "3", "4", "5"], ["3", "5", "1", "6"]]
    table = read(made(tmp_path, form, [["a", "b", "a", ""]], rows))
    assert table.names == ["a", "b", "a_1", "column_4"]
    assert table.frame["a_1"].to_list() == [3, 4, 1]
    assert table.notes == ("columns with the same name were renamed: a_1 (another a)",)
    if form == "csv":
        assert list(scan(tmp_path / "t.csv").schema) == table.names
    assert lowland.PCA(1).fit(table.select().X).n_features_in_ == 4


def test_rows_above_the_header_of_a_sheet_may_be_blank(tmp_path: Path, plain: pl.DataFrame) -> None:
    options: Any
    for options in ({}, {"skip_rows": 1}, {"skip_rows": 2}):
        assert read(workbook(tmp_path / "t.xlsx", [[], []], [HEADER], ROWS), **options).frame.equals(plain)
