"""`lowland.data.scan`: what it opens, how it seeks, and what it says of files that are damaged or change."""

from __future__ import annotations

import os
import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lowland import data
from lowland.core.errors import DataError
from lowland.data import TableScan, scan
from scan_files import ALL, FILES, SCANS

X = np.random.default_rng(0).standard_normal((1000, 4))


def joined(table, start=0, rows=None):
    return np.concatenate([np.empty((0, table.n_features)), *table.arrays(start, rows=rows)])


# -- rows ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ALL)
@pytest.mark.parametrize("start", [0, 1, 332, 333, 334, 999, 1000])
def test_a_pass_begins_anywhere(form, start, tmp_path):
    table = ALL[form](tmp_path, X)
    np.testing.assert_array_equal(joined(table, start, 100), X[start:])
    frames = list(table.frames(start, rows=100))
    assert sum(frame.height for frame in frames) == 1000 - start
    for frame in frames:
        assert dict(frame.schema) == table.schema
    if frames:
        np.testing.assert_array_equal(pl.concat(frames).to_numpy(), X[start:])


@pytest.mark.parametrize("form", ALL)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_a_scan_says_of_itself(form, dtype, tmp_path):
    table = ALL[form](tmp_path, X.astype(dtype))
    dtype = np.float64 if "csv" in form else dtype  # text has no float32
    assert isinstance(table, TableScan)
    assert (table.n_features, table.dtype, table.count(), table.n_rows) == (4, dtype, 1000, 1000)
    assert all(a.dtype == dtype and a.flags.c_contiguous and a.flags.writeable for a in table.arrays())
    assert table.names in (None, ["c0", "c1", "c2", "c3"])
    assert list(table.schema) == (table.names or ["x0", "x1", "x2", "x3"])
    assert "1000 × 4" in repr(table)


@pytest.mark.parametrize("dtype", ["f2", "i4", "u1", "bool", ">i8", ">f4", "g"])
def test_every_type_of_number_of_an_npy_file(dtype, tmp_path):
    array = np.arange(12).reshape(4, 3).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    table = scan(tmp_path / "a.npy")
    assert table.dtype == (np.float32 if dtype in ("f2", ">f4") else np.float64)
    np.testing.assert_array_equal(joined(table), array.astype(table.dtype))
    integers = array.dtype.kind in "iub"
    assert all((kind.is_integer() or kind == pl.Boolean) == integers for kind in table.schema.values())


def test_columns_of_arrays_are_chosen_by_number(tmp_path):
    table = SCANS["npy"](tmp_path, X)
    chosen = scan(tmp_path / "rows.npy", columns=["x2", "x0"])
    np.testing.assert_array_equal(joined(chosen), X[:, [2, 0]])
    assert chosen.names == ["x2", "x0"]
    assert scan(tmp_path / "rows.npy", drop=["x1"]).names == ["x0", "x2", "x3"]
    assert chosen.fingerprint() != table.fingerprint()
    for bad, text in ((["x4"], "no column 'x4'; its columns are x0 … x3"), (["x0", "x0"], "listed twice")):
        with pytest.raises(DataError, match=text):
            scan(tmp_path / "rows.npy", columns=bad)


@pytest.mark.parametrize("write", ["write_parquet", "write_ipc"])
def test_columns_of_tables_are_chosen_as_by_read(write, tmp_path):
    path = tmp_path / ("t.parquet" if write == "write_parquet" else "t.arrow")
    frame = pl.DataFrame(
        {"id": ["a", "b", "c"], "n": [1, 2, None], "x": [0.5, 1.5, 2.5], "b": [True, False, True], "e": [None] * 3}
    )
    getattr(frame, write)(path)
    table, read = scan(path), data.read(path)
    assert table.names == read.select().names == ["n", "x", "b"]
    np.testing.assert_array_equal(joined(table), read.select().X)
    assert pl.concat(table.frames()).equals(frame)
    assert scan(path, columns=["x", "n"]).names == ["x", "n"]
    assert list(scan(path, columns=["x", "id"]).schema) == ["x", "id"]
    assert scan(path, drop=["x", "id"]).names == ["n", "b"]
    with pytest.raises(DataError, match="column 'id': it contains text; only numeric columns"):
        scan(path, columns=["id"]).names  # noqa: B018
    with pytest.raises(DataError, match="no column 'idd'; did you mean 'id'"):
        scan(path, columns=["idd"])
    with pytest.raises(DataError, match="no numeric column is left"):
        scan(path, columns=None, drop=["n", "x", "b"]).n_features  # noqa: B018
    assert [f.columns for f in scan(path, columns=["id"]).frames()] == [["id"]]  # frames need no numbers


def test_only_the_chosen_columns_are_read(tmp_path):
    good = pa.table({"a": X[:, 0], "b": X[:, 1]})
    pq.write_table(good, tmp_path / "t.parquet", row_group_size=500, use_dictionary=False, compression="none")
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    place = content.index(X[500:600, 1].tobytes())
    content[place - 20 : place + 100] = b"\xff" * 120  # pages of column b, in the second row group
    (tmp_path / "t.parquet").write_bytes(content)
    np.testing.assert_array_equal(joined(scan(tmp_path / "t.parquet", columns=["a"])), X[:, :1])


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64(), pa.int32()])
@pytest.mark.parametrize("fixed", [True, False])
def test_a_column_of_vectors(kind, fixed, tmp_path):
    rows = [[i, 2 * i, 3 * i] for i in range(50)]
    values = pa.array(np.array(rows, dtype=kind.to_pandas_dtype()).ravel(), kind)
    column = (
        pa.FixedSizeListArray.from_arrays(values, 3)
        if fixed
        else pa.ListArray.from_arrays(np.arange(0, 151, 3, dtype=np.int32), values)
    )
    pq.write_table(pa.table({"v": column, "id": list(range(50))}), tmp_path / "v.parquet", row_group_size=20)
    table = scan(tmp_path / "v.parquet", vector="v")
    expected = data.read(tmp_path / "v.parquet", vector="v").select().X
    assert (table.n_features, table.dtype, table.names) == (3, expected.dtype, None)
    np.testing.assert_array_equal(joined(table, 7, 11), expected[7:])
    with pytest.raises(DataError, match="has no column 'w'"):
        scan(tmp_path / "v.parquet", vector="w")


def test_vectors_of_other_lengths_name_their_row(tmp_path):
    rows = [[1.0, 2.0]] * 30 + [[1.0, 2.0, 3.0]]
    pq.write_table(pa.table({"v": rows}), tmp_path / "v.parquet", row_group_size=10)
    with pytest.raises(DataError, match=r"v\.parquet, column 'v', row 30: the vector has 3 numbers"):
        joined(scan(tmp_path / "v.parquet", vector="v"))


def test_a_missing_value_is_nan(tmp_path):
    pl.DataFrame({"a": [1.0, None], "b": [None, 2]}).write_parquet(tmp_path / "t.parquet")
    np.testing.assert_array_equal(joined(scan(tmp_path / "t.parquet")), [[1.0, np.nan], [np.nan, 2.0]])


def test_a_function_is_called_at_each_pass():
    calls = []

    def blocks():
        calls.append(1)
        return iter([X[:300], X[300:]])

    table = scan(blocks, n_rows=1000)
    for _ in range(2):
        np.testing.assert_array_equal(joined(table), X)
    assert len(calls) == 3  # one to look
    assert table.source == "the blocks of blocks"


def test_a_function_may_use_its_buffer_again():
    def blocks():
        buffer = np.empty((10, 4))
        for i in range(0, 1000, 10):
            buffer[:] = X[i : i + 10]
            yield buffer

    np.testing.assert_array_equal(np.concatenate(list(scan(blocks).arrays())), X)


# -- identity --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FILES)
def test_the_fingerprint_changes_with_the_data(form, tmp_path):
    table = FILES[form](tmp_path, X)
    first = table.fingerprint()
    assert pickle.loads(pickle.dumps(table)).fingerprint() == first
    table.count()
    assert table.fingerprint() == first
    Z = X.copy()
    Z[0, 0] += 1.0
    assert FILES[form](tmp_path, Z).fingerprint() != first


def test_the_fingerprint_of_a_function_is_of_its_first_block():
    one, other = scan(lambda: iter([X]), name="f"), scan(lambda: iter([X + 1]), name="f")
    before = one.fingerprint()
    one.count()
    assert one.fingerprint() == before != other.fingerprint()


@pytest.mark.parametrize("form", FILES)
def test_a_pickled_scan_reads_the_same_rows(form, tmp_path):
    table = pickle.loads(pickle.dumps(FILES[form](tmp_path, X)))
    np.testing.assert_array_equal(joined(table), X)


# -- faults ----------------------------------------------------------------------------------------------------------


def only_file(folder):
    (path,) = folder.iterdir()
    return path


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("frames", [False, True])
def test_a_file_that_changes_during_a_pass(form, frames, tmp_path):
    table = FILES[form](tmp_path, X)
    pieces = table.frames(rows=10) if frames else table.arrays(rows=10)
    next(pieces)
    found = only_file(tmp_path).stat()
    os.utime(only_file(tmp_path), ns=(found.st_atime_ns, found.st_mtime_ns + 1_000_000_000))
    with pytest.raises(DataError, match="it changed while it was read; wait until the file is complete"):
        list(pieces)
    with pytest.raises(DataError, match="it changed since it was opened"):
        list(table.arrays())


@pytest.mark.parametrize("form", FILES)
def test_a_file_that_is_truncated_during_a_pass(form, tmp_path):
    table = FILES[form](tmp_path, np.tile(X, (200, 1)))
    pieces = table.arrays(rows=10)
    next(pieces)
    path = only_file(tmp_path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 3)
    with pytest.raises(DataError, match="it changed while it was read"):
        list(pieces)


@pytest.mark.parametrize("form", FILES)
def test_a_file_that_is_removed(form, tmp_path):
    table = FILES[form](tmp_path, X)
    only_file(tmp_path).unlink()
    with pytest.raises(DataError, match="it was removed since it was opened"):
        list(table.arrays())


def test_a_function_with_fewer_rows_at_the_second_pass():
    lengths = iter([1000, 1000, 900, 1100])
    table = scan(lambda: iter([np.resize(X, (next(lengths), 4))]))
    assert table.count() == 1000
    with pytest.raises(DataError, match="it has 900 rows and had 1000"):
        list(table.arrays())
    with pytest.raises(DataError, match="more than the 1000 rows"):
        list(table.arrays())


def test_a_truncated_npy_file(tmp_path):
    np.save(tmp_path / "a.npy", X)
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content[:-5])
    with pytest.raises(DataError, match=r"a\.npy is truncated: 1000 × 4 numbers of float64 take 32128 bytes"):
        scan(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.empty((0, 3)), "the table has no rows"),
        (np.empty((3, 0)), "the table has no columns"),
        (np.zeros(3), "a table needs two, rows by columns: reshape it"),
        (np.zeros((2, 2), dtype=complex), "complex numbers cannot be reduced"),
        (np.array([["a", "b"]]), "a table needs real numbers"),
    ],
)
def test_npy_files_that_are_no_tables(array, text, tmp_path):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(DataError, match=text):
        scan(tmp_path / "a.npy")


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[object()]]), allow_pickle=True)
    with pytest.raises(DataError, match="dtype object cannot be loaded without pickle"):
        scan(tmp_path / "a.npy")


@pytest.mark.parametrize("name", ["a.npy", "a.parquet", "a.arrow"])
@pytest.mark.parametrize("content", [b"", b"nonsense" * 100])
def test_damaged_files(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name}.*(damaged|not a)"):
        scan(tmp_path / name)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_tables_without_rows_or_columns(name, tmp_path):
    write = pl.DataFrame.write_parquet if name == "t.parquet" else pl.DataFrame.write_ipc
    write(pl.DataFrame({"a": []}, schema={"a": pl.Float64}), tmp_path / name)
    with pytest.raises(DataError, match="has no rows"):
        scan(tmp_path / name)
    write(pl.DataFrame(), tmp_path / name)
    with pytest.raises(DataError, match=r"has no (rows|columns)"):
        scan(tmp_path / name)


def test_raw_numbers_need_a_shape(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(X.tobytes())
    with pytest.raises(DataError, match="raw numbers need n_columns, such as n_columns=10"):
        scan(path, format="raw", dtype="f8")
    with pytest.raises(DataError, match="no whole number of rows of 7 × float64"):
        scan(path, format="raw", dtype="f8", n_columns=7)
    with pytest.raises(DataError, match="not a type of NumPy"):
        scan(path, format="raw", dtype="f9", n_columns=4)
    with pytest.raises(DataError, match="n_columns=0: it must be a whole number of at least 1"):
        scan(path, format="raw", dtype="f8", n_columns=0)
    with pytest.raises(DataError, match="name the format, such as format='raw'"):
        scan(path)


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        (lambda: iter([]), "have no rows"),
        (lambda: iter([np.zeros(3)]), "blocks must be 2-D arrays of numbers"),
        (lambda: iter([np.zeros((2, 0))]), "block 0 has no columns"),
        (lambda: np.zeros((2, 2)), "must return an iterator"),
    ],
    ids=["nothing", "one dimension", "no columns", "an array"],
)
def test_functions_that_return_no_rows(blocks, text):
    with pytest.raises(DataError, match=text):
        scan(blocks)


def test_what_is_no_source(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        scan(tmp_path / "none.npy")
    with pytest.raises(DataError, match="give a table in memory to the method itself"):
        scan(X)
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(DataError, match="sep is not an option of scanning the format npy; it takes none"):
        scan(tmp_path / "a.npy", sep=";")
    with pytest.raises(DataError, match="format='xlsx': scan reads"):
        scan(tmp_path / "a.npy", format="xlsx")
    with pytest.raises(DataError, match="has 1000 rows; a pass cannot begin at row 1001"):
        scan(tmp_path / "a.npy").arrays(1001)


def test_places_name_file_row_and_column(tmp_path):
    assert SCANS["npy"](tmp_path, X).place(7, 2) == "rows.npy, row 7, column 2"
    assert SCANS["parquet"](tmp_path, X).place(7, 2) == "rows.parquet, row 7, column 'c2'"
    assert SCANS["parquet"](tmp_path, X).place(7) == "rows.parquet, row 7"


def write_parts(folder, suffix):
    """Write one table in three parts, of which the first and the last have no rows."""
    folder.mkdir()
    frame = pl.DataFrame({"x": [1.0, 2.0, 4.0], "y": [0.0, 1.0, 5.0]})
    for name, part in zip("abc", (frame[:0], frame, frame[:0]), strict=True):
        file = folder / f"{name}{suffix}"
        if suffix == ".npy":
            np.save(file, part.to_numpy())
        else:
            {".csv": part.write_csv, ".parquet": part.write_parquet, ".arrow": part.write_ipc}[suffix](file)
    return frame


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".npy"])
def test_parts_without_rows_are_left_out(tmp_path, suffix):
    frame = write_parts(tmp_path / "parts", suffix)
    table, whole = scan(tmp_path / "parts"), data.read(tmp_path / "parts")
    for notes in (table.notes, whole.notes):
        assert any(note.startswith(f"2 files without rows were left out: a{suffix}") for note in notes)
    assert table.count() == whole.n_rows == 3
    np.testing.assert_array_equal(np.concatenate(list(table.arrays())), frame.to_numpy())
    np.testing.assert_array_equal(whole.select().X, frame.to_numpy())
    (tmp_path / "parts" / f"b{suffix}").unlink()
    for opened in (scan, data.read):
        with pytest.raises(DataError, match=rf"a{suffix}.*no rows"):
            opened(tmp_path / "parts")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_numbers_in_one_part_and_dates_in_another_are_refused(tmp_path, suffix):
    days = pl.Series(["2020-01-01", "2020-01-02"]).str.to_date()
    for name, x in (("a", [1, 2]), ("b", days)):
        frame = pl.DataFrame({"x": x, "y": [1.5, 2]})
        (frame.write_csv if suffix == ".csv" else frame.write_parquet)(tmp_path / f"{name}{suffix}")
    with pytest.raises(DataError, match=r"column 'x': it contains dates and numbers; the files of one table"):
        data.read(tmp_path)
    if suffix == ".csv":  # types are settled by the first file
        with pytest.raises(DataError, match=r"b\.csv, line 2, column 'x': '2020-01-01' is not a whole number"):
            list(scan(tmp_path).frames())
    else:
        with pytest.raises(DataError, match=r"column 'x': it contains dates and numbers; the files of one table"):
            scan(tmp_path)


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system takes no advice on its page cache")
@pytest.mark.parametrize(("memory", "dropped"), [(1 << 20, True), (1 << 40, False)], ids=["larger", "smaller"])
def test_pages_of_a_file_larger_than_the_memory_are_dropped(memory, dropped, tmp_path, monkeypatch):
    X = np.random.default_rng(0).standard_normal((100_000, 128))
    np.save(tmp_path / "x.npy", X)
    advice = []
    monkeypatch.setattr(os, "posix_fadvise", lambda file, start, size, what: advice.append((start, size, what)))
    monkeypatch.setattr("lowland.data.scans.files.physical_memory", lambda: memory)
    table = scan(tmp_path / "x.npy")
    np.testing.assert_array_equal(np.concatenate(list(table.arrays())), X)
    assert bool(advice) == dropped
    ends = [start + size for start, size, _ in advice]
    assert [start for start, _, _ in advice[1:]] == ends[:-1]  # one after another, only what was read
    assert all(
        what == os.POSIX_FADV_DONTNEED and end <= X.nbytes + 128 for end, (_, _, what) in zip(ends, advice, strict=True)
    )
