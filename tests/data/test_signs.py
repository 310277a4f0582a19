"""Signs beside numbers: minus signs of other scripts, values above a limit, units."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from lowland.core.errors import DataError
from lowland.data import inspect_table, read, scan
from lowland.recipes.proposal import proposed_command


def put(folder: Path, text: str) -> Path:
    (folder / "t.csv").write_text(text)
    return folder / "t.csv"


def both(path: Path, **options: object) -> pl.DataFrame:
    """Return the table as `read` and `scan` read it, which must be the same."""
    frame = read(path, **options).frame
    assert pl.concat(scan(path, **options).frames()).equals(frame)
    return frame


def proposed(path: Path) -> str:
    table = read(path)
    return proposed_command(table, inspect_table(table), "t.csv")


@pytest.mark.parametrize("minus", ["\u2212", "\u2012", "\u2013"])
@pytest.mark.parametrize("rows", ["1,2\n{}3,4\n5,6\n", "{}1.5,2\n{}3,4\n.5,6\n", "1,2\n{}.5e{}2,3\n4,5\n"])
def test_a_minus_sign_of_another_script_is_a_minus(tmp_path: Path, minus: str, rows: str) -> None:
    plain = read(put(tmp_path, "a,b\n" + rows.replace("{}", "-"))).frame
    assert both(put(tmp_path, "a,b\n" + rows.replace("{}", minus))).equals(plain)


def test_minus_signs_in_later_parts_and_with_decimal_commas(tmp_path: Path) -> None:
    lines = [f"{i},{i % 9}.5" for i in range(400_000)]
    lines[-1] = "\u22127,\u22120.5"
    frame = pl.concat(scan(put(tmp_path, "a,b\n" + "\n".join(lines) + "\n")).frames())
    assert frame.row(-1) == (-7, -0.5)
    assert both(put(tmp_path, "a;b\n\u22121,5;2\n3,5;1\n"))["a"].to_list() == [-1.5, 3.5]


def test_a_dash_is_no_minus_and_no_name_is_changed(tmp_path: Path) -> None:
    table = read(put(tmp_path, "a,b\n1,2\n2,\u2013\n3,4\n"))
    assert [cell.cell for cell in table.stray["b"]] == ["\u2013"]
    assert read(put(tmp_path, "a,b\n\u20131,2\nx,3\n"), names=["a"]).frame["a"].to_list() == ["\u20131", "x"]
    assert read(put(tmp_path, "a,b\nu\u20131,2\nv\u20132,3\n")).frame["a"].to_list() == ["u\u20131", "v\u20132"]


def test_words_with_digits_are_not_proposed_as_missing(tmp_path: Path) -> None:
    words = proposed(put(tmp_path, "a,b,c\n1,2,5\n3a,4,6\n5,n.d.,7\n9,8,1\n"))
    assert "--drop a" in words
    assert "--na n.d." in words
    assert "3a" not in words


def test_values_above_a_limit_are_read_as_told(tmp_path: Path) -> None:
    path = put(tmp_path, "a,b\n1,>100\n2,7\n3,<0.5\n4,≥ 40\n5,9\n")
    table = read(path)
    assert [cell.cell for cell in table.stray["b"]] == [">100", "<0.5", "≥ 40"]
    message = "'>100' is not a number; if it is a value above the limit of detection, use above_limit='limit' or"
    with pytest.raises(DataError, match=message):
        table.select()
    assert both(path, above_limit="limit", below_limit="half")["b"].to_list() == [100, 7, 0.25, 40, 9]
    assert both(path, above_limit="missing", below_limit="half")["b"].to_list() == [None, 7, 0.25, None, 9]
    assert "below_limit" in read(path, above_limit="limit").faults["b"]
    assert "above_limit" in read(path, below_limit="half").faults["b"]
    assert "--below-limit half --above-limit limit" in proposed(path)
    assert "--na" not in proposed(path)
    commas = put(tmp_path, "a;b\n1,5;>100,5\n2,5;7,5\n3,5;>20.5\n4,5;1\n")
    assert both(commas, above_limit="limit")["b"].to_list() == [100.5, 7.5, 20.5, 1.0]


def test_a_text_column_of_a_frame_names_the_remedy() -> None:
    import lowland

    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["1.5", "2", ">100"]})
    with pytest.raises(DataError, match=r"lowland.data.read\(table, above_limit='limit'\) or above_limit='missing'"):
        lowland.recipe(lowland.PCA(1)).fit(frame)
    assert read(frame, above_limit="limit").frame["b"].to_list() == [1.5, 2.0, 100.0]


def test_a_sign_that_all_cells_have_is_left_out_with_a_note(tmp_path: Path) -> None:
    path = put(tmp_path, "a,b,c\n5%,$3,1 €\n7 %,-$4.5,2€\n,$1,3€\n")
    assert both(path).to_dict(as_series=False) == {"a": [5, 7, None], "b": [3.0, -4.5, 1.0], "c": [1, 2, 3]}
    notes = read(path).notes
    assert "numbers are read without % in a" in notes
    assert "numbers are read without $ in b" in notes
    assert list(scan(path).notes) == list(notes)
    commas = put(tmp_path, "a;b\n1,5 %;1.200,5 €\n2,5 %;1.000,0 €\n")
    assert both(commas).to_dict(as_series=False) == {"a": [1.5, 2.5], "b": [1200.5, 1000.0]}


@pytest.mark.parametrize("cells", [["5%", "6", "7%"], ["$3", "€4", "$5"], ["5%", "x%", "7%"]])
def test_a_column_with_several_signs_is_an_error(tmp_path: Path, cells: list[str]) -> None:
    rows = "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))
    table = read(put(tmp_path, f"a,b\n{rows}"))
    assert table.frame["b"].to_list() == cells
    with pytest.raises(DataError, match=r"column 'b'"):
        table.select(columns=["b"])


@pytest.mark.parametrize(("first", "later"), [("5%", "6"), ("5", "6%")])
def test_a_scan_holds_later_cells_to_the_sign_of_the_first(tmp_path: Path, first: str, later: str) -> None:
    lines = [f"{i}.25,{first}" for i in range(600_000)] + [f"{i}.25,{later}" for i in range(600_000)]
    table = scan(put(tmp_path, "a,b\n" + "\n".join(lines) + "\n"))
    with pytest.raises(DataError, match=r"line \d+, column 'b'.*the same sign, or without"):
        for _ in table.frames():
            pass
