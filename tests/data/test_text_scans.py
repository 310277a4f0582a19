"""Scans of text files: the cells, types and errors of `lowland.data.read`, whatever the parts that are read."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lowland
from lowland import data
from lowland.core.errors import CellError, DataError
from lowland.data import scan
from lowland.data.scans import text, text_blocks

N = 400


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Read parts of 700 bytes; the first look takes 900."""
    monkeypatch.setattr(text, "_BLOCK_BYTES", 700)
    monkeypatch.setattr(text, "_LOOK_BYTES", 900)


def patients():
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(N)],
            "a": rng.standard_normal(N),
            "k": rng.integers(0, 5, N),
            "day": [f"{1 + i % 28}.{1 + i % 12}.2024" for i in range(N)],
            "note": [f'x "{i}" , y\nz' if i % 7 == 0 else "é"[: i % 2] or "q" for i in range(N)],
            "well": [["true", "false"][i % 2] for i in range(N)],
            "z": [None if i % 9 == 5 else value for i, value in enumerate(rng.standard_normal(N))],
        }
    )


def plain(**columns):
    return pl.DataFrame(columns).write_csv()


def equal_to_read(path, **options):
    """Compare frames and arrays of a scan with those of `read`, and return the scan."""
    table, whole = scan(path, **options), data.read(path, **options)
    frame = pl.concat(table.frames())
    assert frame.schema == whole.frame.schema == pl.Schema(table.schema)
    assert frame.equals(whole.frame)
    expected = whole.select()
    assert table.names == expected.names
    np.testing.assert_array_equal(np.concatenate(list(table.arrays())), expected.X)
    assert scan(path, **options).count() == whole.n_rows
    return table


DIALECTS = {
    "commas": lambda t: t.encode(),
    "crlf": lambda t: t.replace("\n", "\r\n").encode(),
    "cp1252": lambda t: t.encode("cp1252"),
    "utf-16": lambda t: t.encode("utf-16"),
    "byte order mark": lambda t: t.encode("utf-8-sig"),
    "preamble": lambda t: ('# export, 5" of rain\n\n' + t).encode(),
    "no last newline": lambda t: t.rstrip("\n").encode(),
    "blank lines": lambda t: t.replace("\np17,", "\n\np17,").replace("\np200,", "\n\n\np200,").encode(),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_read_as_by_read(dialect, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(DIALECTS[dialect](patients().write_csv()))
    table = equal_to_read(path)
    assert table.names == ["a", "k", "well", "z"]
    assert table.notes == data.read(path).notes


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_separators_and_decimal_commas(separator, tmp_path):
    path = tmp_path / "t.txt"
    path.write_text(patients().drop("day").write_csv(separator=separator).replace(".", ","), encoding="utf-8")
    equal_to_read(path)


def test_runs_of_spaces(tmp_path):
    path = tmp_path / "t.dat"
    rows = np.random.default_rng(0).standard_normal((N, 3))
    path.write_text("\n".join("  ".join(f"{x:8.4f}" for x in row) for row in rows) + "\n")
    equal_to_read(path)


def test_packed_files_are_unpacked_as_they_are_read(tmp_path):
    content = patients().write_csv().encode()
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(content))
    equal_to_read(tmp_path / "t.csv.gz")
    import pyarrow as pa

    with pa.CompressedOutputStream(str(tmp_path / "t.csv.zst"), "zstd") as file:
        file.write(content)
    equal_to_read(tmp_path / "t.csv.zst")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(content)[:-200])
    with pytest.raises(DataError, match="damaged or truncated"):
        list(scan(tmp_path / "t.csv.gz").arrays())


def test_unpacked_text_may_exceed_the_memory_limit(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(plain(a=np.arange(40_000.0), b=np.arange(40_000.0)).encode()))
    with lowland.config(memory_limit=100_000):
        with pytest.raises(DataError, match="memory limit"):
            data.read(path)
        assert sum(len(part) for part in scan(path).arrays()) == 40_000


def test_lines_that_end_in_carriage_returns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(plain(a=np.arange(N) / 4, b=np.arange(N)).replace("\n", "\r").encode())
    table = scan(path)
    assert np.concatenate(list(table.arrays()))[:, 0].tolist() == (np.arange(N) / 4).tolist()


def test_comments_among_the_rows(tmp_path):
    path = tmp_path / "t.csv"
    lines = plain(a=np.arange(N) / 4, b=np.arange(N)).splitlines()
    lines[300:300] = ['# a "comment', "# another"]
    path.write_text("\n".join(lines))
    table = equal_to_read(path, comment="#")
    assert table.place(350, "a") == "t.csv, line 354, column 'a'"


def test_one_column_with_blank_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "\n".join("" if i % 50 == 7 else str(i / 4) for i in range(N)) + "\n")
    equal_to_read(path)


def test_options_for_cells(tmp_path):
    path = tmp_path / "t.csv"
    values = [
        "<0.5" if i % 20 == 3 else "n.d." if i % 31 == 4 else "999" if i % 40 == 9 else f"{i / 8}" for i in range(N)
    ]
    path.write_text(plain(a=values, b=list(range(N))))
    equal_to_read(path, below_limit="half", na=["n.d.", "999"])


def test_text_columns_keep_their_cells(tmp_path):
    path = tmp_path / "t.csv"
    codes = ["x1"] * 5 + [f"{i:05d}" for i in range(N - 5)]  # in most parts all cells are numbers
    path.write_text(plain(code=codes, b=list(range(N))))
    assert pl.concat(scan(path, types={"code": "text"}).frames())["code"].to_list() == codes


def test_dates_keep_the_order_of_the_first_ones(tmp_path):
    path = tmp_path / "t.csv"
    days = [f"{13 + i % 5}/2/2024" if i < 20 else "3/2/2024" for i in range(N)]
    path.write_text(plain(day=days, b=list(range(N))))
    equal_to_read(path)


@given(
    rows=st.lists(
        st.tuples(st.integers(-999, 999), st.text('ab",;\n\r é', max_size=12), st.floats(-1e3, 1e3)),
        min_size=1,
        max_size=60,
    ),
    size=st.integers(1, 300),
)
@settings(max_examples=60, deadline=None)
def test_any_part_length_gives_the_same_rows(rows, size, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "t.csv"
    frame = pl.DataFrame(
        {"n": [r[0] for r in rows], "t": [f"w{r[1]}w" for r in rows], "x": [r[2] for r in rows]}, strict=False
    )
    path.write_bytes(frame.write_csv(quote_style="non_numeric").encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_BLOCK_BYTES", size)
        patch.setattr(text, "_LOOK_BYTES", 10_000)
        table = scan(path)
        found = pl.concat(table.frames())
        assert found.equals(data.read(path).frame)
        assert table.count() == len(rows)


def test_quotation_marks_inside_of_cells(tmp_path):
    path = tmp_path / "t.csv"
    pipes = [f'{i}" pipe' if i % 3 == 0 else '"a\nb"' if i % 50 == 7 else "flat" for i in range(N)]
    path.write_text("size,n\n" + "".join(f"{pipe},{i / 4}\n" for i, pipe in enumerate(pipes)))
    equal_to_read(path)


def test_methods_give_the_bits_of_the_table_in_memory(tmp_path):
    path = tmp_path / "t.csv"
    frame = patients().drop("z")
    path.write_text(frame.write_csv(), encoding="utf-8")
    expected = lowland.PCA(2).fit(data.read(path).select().X)
    np.testing.assert_array_equal(lowland.PCA(2).fit(scan(path)).components_, expected.components_)


# -- errors ----------------------------------------------------------------------------------------------------------


def written(tmp_path, row, cell, column="a", **columns):
    """Write two columns of numbers with another cell in one row, and return the scan."""
    table = {"a": [f"{i / 4}" for i in range(N)], "b": [str(i) for i in range(N)], **columns}
    table[column] = [cell if i == row else value for i, value in enumerate(table[column])]
    (tmp_path / "t.csv").write_text(plain(**table))
    return scan(tmp_path / "t.csv")


def test_text_among_later_numbers_names_its_line(tmp_path):
    table = written(tmp_path, 300, "n.d.")
    with pytest.raises(
        DataError, match=r"t\.csv, line 302, column 'a': 'n\.d\.' is not a number; correct it.*na='n\.d\.'"
    ):
        list(table.arrays())
    with pytest.raises(DataError, match="line 302"):
        list(table.frames())
    assert sum(len(part) for part in scan(tmp_path / "t.csv", drop=["a"]).arrays()) == N
    assert sum(len(part) for part in scan(tmp_path / "t.csv", na="n.d.").arrays()) == N


def test_text_after_numbers_names_its_line(tmp_path):
    cells = [f"{i / 4}" if i < 250 else "word" for i in range(N)]
    (tmp_path / "t.csv").write_text(plain(a=cells, b=list(range(N))))
    with pytest.raises(DataError, match=r"t\.csv, line 252, column 'a': 'word' is not a number"):
        list(scan(tmp_path / "t.csv").arrays())
    assert pl.concat(scan(tmp_path / "t.csv", types={"a": "text"}).frames())["a"].to_list() == cells


def test_text_among_the_first_numbers_is_found_when_it_is_opened(tmp_path):
    table = written(tmp_path, 3, "n.d.")
    with pytest.raises(DataError, match=r"line 5, column 'a': 'n\.d\.' is not a number"):
        table.names  # noqa: B018
    assert scan(tmp_path / "t.csv", drop=["a"]).names == ["b"]


def test_a_later_fraction_among_whole_numbers(tmp_path):
    n = 12_000  # beyond the 64 kB that tell the dialect
    cells = ["7.5" if i == 11_000 else str(i) for i in range(n)]
    (tmp_path / "t.csv").write_text(plain(a=np.arange(n) / 4, b=cells))
    table = scan(tmp_path / "t.csv")
    assert table.schema["b"] == pl.Int64
    assert np.concatenate(list(table.arrays()))[11_000, 1] == 7.5  # arrays are floats anyway
    pattern = r"line 11002, column 'b': '7\.5' is not a whole number.*types=\{'b': 'number'\}"
    with pytest.raises(DataError, match=pattern):
        list(table.frames())
    frame = pl.concat(scan(tmp_path / "t.csv", types={"b": "number"}).frames())
    assert frame.schema["b"] == pl.Float64
    assert frame.equals(data.read(tmp_path / "t.csv").frame)


def test_later_cells_of_dates_and_truth_values(tmp_path):
    days, truths = ["2024-01-31"] * N, ["true"] * N
    table = written(tmp_path, 300, "soon", column="day", day=days)
    with pytest.raises(DataError, match=r"line 302, column 'day': 'soon' is not a date, as the first cells"):
        list(table.frames())
    table = written(tmp_path, 300, "perhaps", column="well", well=truths)
    with pytest.raises(DataError, match=r"line 302, column 'well': 'perhaps' is not true or false"):
        list(table.arrays())


def test_a_column_that_begins_empty(tmp_path):
    cells = ["" if i < 300 else "2.5" for i in range(N)]
    (tmp_path / "t.csv").write_text(plain(a=list(range(N)), b=cells, c=list(range(N))))
    table = scan(tmp_path / "t.csv")
    assert table.names == ["a", "c"]
    with pytest.raises(
        DataError, match=r"line 302, column 'b': '2\.5' is the first value.*types=\{'b': 'number'\}.*drop="
    ):
        list(table.arrays())
    assert scan(tmp_path / "t.csv", drop=["b"]).count() == N
    assert list(scan(tmp_path / "t.csv", drop=["b"]).arrays())
    asked = scan(tmp_path / "t.csv", types={"b": "number"})
    assert asked.names == ["a", "b", "c"]
    np.testing.assert_array_equal(np.concatenate(list(asked.arrays())), data.read(tmp_path / "t.csv").select().X)


@pytest.mark.parametrize("line", ["1.5,2,3", "1.5"])
def test_a_later_line_with_other_columns(line, tmp_path):
    lines = plain(a=np.arange(N) / 4, b=np.arange(N)).splitlines()
    lines[300] = line
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with pytest.raises(
        DataError, match=rf"t\.csv, line 301: expected 2 columns as in line 1, got {line.count(',') + 1}"
    ):
        list(scan(tmp_path / "t.csv").arrays())


def test_later_bytes_that_are_not_utf8(tmp_path):
    content = plain(a=[str(i) for i in range(N)], t=["x"] * 300 + ["é"] + ["x"] * (N - 301))
    (tmp_path / "t.csv").write_bytes(content.encode("cp1252"))
    with pytest.raises(DataError, match=r"t\.csv, line 302: byte \d+ is not UTF-8; save the file as UTF-8, or set"):
        list(scan(tmp_path / "t.csv").frames())
    frame = pl.concat(scan(tmp_path / "t.csv", encoding="cp1252").frames())
    assert frame["t"][300] == "é"
    (tmp_path / "t.csv").write_bytes(content.replace("é", "\x81").encode("latin-1"))
    with pytest.raises(DataError, match=r"t\.csv, line 302: the bytes are not cp1252; use another encoding"):
        list(scan(tmp_path / "t.csv", encoding="cp1252").frames())


def test_a_quotation_mark_that_is_never_closed(tmp_path, monkeypatch):
    lines = plain(t=["x"] * N, b=list(range(N))).splitlines()
    lines[300] = '"open,1'
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with pytest.raises(DataError, match="line 301: unclosed quotation mark; close it"):
        list(scan(tmp_path / "t.csv").frames())
    lines[300], lines[150] = "x,300", '"open,1'
    (tmp_path / "t.csv").write_text("\n".join(lines))
    monkeypatch.setattr(text_blocks, "_MAX_RECORD_BYTES", 1000)
    with pytest.raises(DataError, match=r"one row takes more than .*; look for an unclosed quotation mark"):
        list(scan(tmp_path / "t.csv").frames())


def test_a_missing_cell_is_named_by_its_line(tmp_path):
    table = written(tmp_path, 300, "", column="a")
    with pytest.raises(CellError, match=r"NaN at row 300, column 0 \('a'\), in t\.csv, line 302: fill it") as caught:
        lowland.PCA(1).fit(table)
    assert (caught.value.row, caught.value.column) == (300, 0)


def test_lines_of_rows_with_line_breaks(tmp_path):
    (tmp_path / "t.csv").write_text(patients().write_csv(), encoding="utf-8")
    table = scan(tmp_path / "t.csv")
    table.count()
    assert table.place(0) == "t.csv, line 2"
    assert table.place(300, "a") == f"t.csv, line {302 + 43}, column 'a'"  # every seventh row takes two lines


@pytest.mark.parametrize(
    ("content", "text"), [("", "is empty"), ("a,b\n", "has a header but no rows"), ("\n\n", "blank")]
)
def test_files_without_rows(content, text, tmp_path):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(DataError, match=text):
        scan(tmp_path / "t.csv")


def test_wrong_options(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="no column 'c', whose type is set"):
        scan(tmp_path / "t.csv", types={"c": "text"})
    with pytest.raises(DataError, match="a type is one of 'number', 'whole', 'text'"):
        scan(tmp_path / "t.csv", types={"a": "float"})
    with pytest.raises(DataError, match="it has 1 rows and had 5"):
        list(scan(tmp_path / "t.csv", n_rows=5).arrays())


# -- several files ---------------------------------------------------------------------------------------------------


def test_types_of_several_files_are_settled_by_the_first(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1.5,x\n")
    (tmp_path / "2.csv").write_text("b,a\ny,2\n7,3\n")
    table = scan(str(tmp_path / "*.csv"))
    assert pl.concat(table.frames()).rows() == [(1.5, "x"), (2.0, "y"), (3.0, "7")]
    (tmp_path / "2.csv").write_text("a,b\n1,y\nword,y\n")
    with pytest.raises(DataError, match=r"2\.csv, line 3, column 'a': 'word' is not a number"):
        list(scan(tmp_path).arrays())


def test_whole_numbers_of_one_file_and_fractions_of_another_are_floats(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n5,1\n")
    (tmp_path / "b.csv").write_text("x,y\n1.5,2\n3,7\n")
    (tmp_path / "c.csv").write_text("x,y\n2,2\n9,3\n")
    table, whole = scan(tmp_path), data.read(tmp_path)
    assert pl.Schema(table.schema) == whole.frame.schema == pl.Schema({"x": pl.Float64, "y": pl.Int64})
    assert pl.concat(table.frames()).equals(whole.frame)
    want = lowland.recipe(lowland.PCA(1), missing="mean").fit(whole.frame)
    for rows in (scan(tmp_path), scan(tmp_path, scratch=True)):
        found = lowland.recipe(lowland.PCA(1), missing="mean").fit(rows)
        np.testing.assert_array_equal(found[-1].components_, want[-1].components_)


def test_categories_are_written_alike(tmp_path):
    codes = ["007", *["12"] * 200, *["A1"] * 200]
    (tmp_path / "t.csv").write_text(plain(code=codes, b=list(range(401))))
    found = pl.concat(scan(tmp_path / "t.csv", types={"code": "category"}).frames())["code"]
    assert found.to_list() == ["7", *codes[1:]]


def test_files_of_one_table_have_the_same_columns(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("a,c\n1,2\n")
    with pytest.raises(DataError, match=r"2\.csv and 1\.csv have different columns: 'b', 'c'"):
        scan(tmp_path)
    np.save(tmp_path / "3.npy", np.zeros((2, 2)))
    with pytest.raises(
        DataError, match=r"3\.npy is npy and 1\.csv is csv; the files of one table must have one format"
    ):
        scan(tmp_path)
