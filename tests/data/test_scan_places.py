"""Scans of several files, of zarr arrays and of URLs."""

from __future__ import annotations

import builtins
import datetime
import pickle

import numpy as np
import polars as pl
import pytest

from lowland import data
from lowland.core.errors import DataError, MissingExtraError
from lowland.data import scan

X = np.random.default_rng(0).standard_normal((90, 4))


def joined(table, start=0):
    return np.concatenate([np.empty((0, table.n_features)), *table.arrays(start)])


@pytest.fixture
def without(monkeypatch):
    """Makes the import of a package fail."""

    def hide(package):
        real = builtins.__import__

        def absent(name, *args, **kwargs):
            if name.partition(".")[0] == package:
                raise ImportError(f"No module named {package!r}")
            return real(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", absent)

    return hide


# -- several files ---------------------------------------------------------------------------------------------------


@pytest.fixture
def parts(tmp_path):
    for i, rows in enumerate(np.split(X, 3)):
        np.save(tmp_path / f"{i}.npy", rows)
    return tmp_path


def test_folders_patterns_and_lists_are_one_table(parts):
    files = [parts / f"{i}.npy" for i in range(3)]
    (parts / "_SUCCESS").write_text("")
    (parts / "readme.md").write_text("not a table")
    for source in (parts, str(parts), str(parts / "?.npy"), files, [str(file) for file in files]):
        table = scan(source)
        assert table.n_rows == 90
        np.testing.assert_array_equal(joined(table), X)
    turned = scan(files[::-1])  # a list has an order
    np.testing.assert_array_equal(joined(turned), np.concatenate(np.split(X, 3)[::-1]))


def test_whole_files_are_skipped(parts):
    table = scan(parts)
    (parts / "0.npy").unlink()  # never opened again
    np.testing.assert_array_equal(joined(table, 30), X[30:])
    np.testing.assert_array_equal(joined(table, 45), X[45:])
    with pytest.raises(DataError, match=r"0\.npy: it was removed since it was opened"):
        joined(table, 29)


def test_a_part_that_changes(parts):
    table = scan(parts)
    before = table.fingerprint()
    np.save(parts / "1.npy", X[:40])
    assert scan(parts).fingerprint() != before
    with pytest.raises(DataError, match=r"1\.npy: it changed since it was opened"):
        joined(table)


def test_rows_of_parts_have_places(parts):
    assert scan(parts).place(31, 2) == "1.npy, row 1, column 2"


def test_parts_of_other_shapes(parts):
    np.save(parts / "2.npy", X[:, :3])
    with pytest.raises(DataError, match=r"2\.npy has 3 columns and 0\.npy has 4; the files of one table must"):
        scan(parts)


def test_types_of_parts_are_joined(tmp_path):
    pl.DataFrame({"a": [1, 2], "b": ["x", "y"], "e": [None, None]}, schema_overrides={"e": pl.Float64}).write_parquet(
        tmp_path / "1.parquet"
    )
    pl.DataFrame({"e": [7.0], "a": [2.5], "b": ["z"]}).write_parquet(tmp_path / "2.parquet")
    table = scan(tmp_path)
    assert table.schema == {"a": pl.Float64, "b": pl.String, "e": pl.Float64}
    frame = pl.concat(table.frames())
    assert frame.equals(data.read(tmp_path).frame)
    assert table.names == ["a", "e"]
    np.testing.assert_array_equal(joined(table), frame.select("a", "e").to_numpy())
    pl.DataFrame({"e": [7.0], "a": ["word"], "b": ["z"]}).write_parquet(tmp_path / "2.parquet")
    assert scan(tmp_path).names == ["e"]  # text, as for read
    assert pl.concat(scan(tmp_path).frames()).equals(data.read(tmp_path).frame)
    for other in ([1], {"x": 1}, datetime.date(2024, 1, 31)):
        pl.DataFrame({"e": [7.0], "a": [other], "b": ["z"]}).write_parquet(tmp_path / "2.parquet")
        with pytest.raises(DataError, match="columns of the same types"):
            scan(tmp_path)


def test_float32_and_float64_parts(tmp_path):
    np.save(tmp_path / "1.npy", X.astype(np.float32))
    np.save(tmp_path / "2.npy", X)
    table = scan(tmp_path)
    assert table.dtype == np.float64
    np.testing.assert_array_equal(joined(table)[:90], X.astype(np.float32).astype(np.float64))


def test_folders_that_stand_for_columns(tmp_path):
    (tmp_path / "year=2024").mkdir()
    np.save(tmp_path / "year=2024" / "0.npy", X)
    np.testing.assert_array_equal(joined(scan(tmp_path)), X)
    assert scan(tmp_path).keys == {"year": [2024]}
    table = data.read(tmp_path)
    assert table.aside["year"].to_list() == [2024] * len(X)
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(joined(scan([tmp_path / "year=2024" / "0.npy"])), X)


def test_nothing_to_read(tmp_path):
    for source, text in (
        (tmp_path, "no file that scan reads"),
        (str(tmp_path / "*.npy"), "no file that scan reads"),
        ([], "the list of files is empty"),
        ([tmp_path / "none.npy"], "no such file"),
    ):
        with pytest.raises(DataError, match=text):
            scan(source)


# -- zarr ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [(7, 4), (90, 1), (1, 4), (16, 3)])
def test_zarr_arrays_of_any_chunks(chunks, tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(str(tmp_path / "a.zarr"), data=X, chunks=chunks)
    table = scan(tmp_path / "a.zarr")
    for start in (0, 1, 16, 89, 90):
        np.testing.assert_array_equal(joined(table, start), X[start:])
        np.testing.assert_array_equal(np.concatenate([X[:0], *table.arrays(start, rows=5)]), X[start:])
    assert pickle.loads(pickle.dumps(table)).fingerprint() == table.fingerprint()


def test_zarr_groups(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.create_group(str(tmp_path / "g"))
    group.create_array("counts", data=np.arange(90))
    group.create_array("rows", data=X.astype(np.float32))
    table = scan(tmp_path / "g")
    assert (table.dtype, table.source) == (np.float32, "g, array 'rows'")
    group.create_array("more", data=X)
    with pytest.raises(DataError, match="name one 2-D array with array"):
        scan(tmp_path / "g")
    np.testing.assert_array_equal(joined(scan(tmp_path / "g", array="more")), X)
    with pytest.raises(DataError, match="a table needs two"):
        scan(tmp_path / "g", array="counts")


def test_a_zarr_array_that_changes(tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(str(tmp_path / "a.zarr"), data=X, chunks=(10, 4))
    table = scan(tmp_path / "a.zarr")
    before = table.fingerprint()
    array[50, 2] = 7.0
    assert scan(tmp_path / "a.zarr").fingerprint() != before
    with pytest.raises(DataError, match="it changed since it was opened"):
        joined(table)


def test_a_damaged_zarr_array(tmp_path):
    pytest.importorskip("zarr")
    (tmp_path / "a.zarr").mkdir()
    with pytest.raises(DataError, match="damaged or not a zarr array"):
        scan(tmp_path / "a.zarr")


def test_zarr_needs_its_extra(tmp_path, without):
    (tmp_path / "a.zarr").mkdir()
    without("zarr")
    with pytest.raises(MissingExtraError, match=r'pip install "lowland\[zarr\]"'):
        scan(tmp_path / "a.zarr")


# -- URLs ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def bucket():
    """A folder of fsspec's memory with one table in several formats."""
    fsspec = pytest.importorskip("fsspec")
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d"], orient="row")
    for name, write in {
        "rows.npy": lambda file: np.save(file, X),
        "rows.parquet": frame.write_parquet,
        "rows.arrow": frame.write_ipc,
        "rows.csv": frame.write_csv,
    }.items():
        with fsspec.open(f"memory://bucket/{name}", "wb") as file:
            write(file)
    yield "memory://bucket"
    fsspec.filesystem("memory").rm("/bucket", recursive=True)


@pytest.mark.parametrize("name", ["rows.npy", "rows.parquet", "rows.arrow", "rows.csv", "*.npy"])
def test_files_of_urls(name, bucket):
    table = scan(f"{bucket}/{name}")
    for start in (0, 7, 90):
        np.testing.assert_array_equal(joined(table, start), X[start:])
    assert table.fingerprint() == scan(f"{bucket}/{name}").fingerprint()


def test_local_files_as_urls(tmp_path):
    pytest.importorskip("fsspec")
    np.save(tmp_path / "a.npy", X)
    (tmp_path / "t.csv.gz").write_bytes(__import__("gzip").compress(b"a,b\n1,2\n3,4\n"))
    np.testing.assert_array_equal(joined(scan(f"file://{tmp_path}/a.npy")), X)
    np.testing.assert_array_equal(joined(scan(f"file://{tmp_path}/t.csv.gz")), [[1, 2], [3, 4]])
    np.save(tmp_path / "b.npy", X + 1)
    table = scan(f"file://{tmp_path}/*.npy")
    np.testing.assert_array_equal(joined(table, 60), np.concatenate([X[60:], X + 1]))
    assert pickle.loads(pickle.dumps(table)).n_rows == 180


def test_a_file_of_a_url_that_changes(bucket):
    import fsspec

    table = scan(f"{bucket}/rows.npy")
    with fsspec.open(f"{bucket}/rows.npy", "wb") as file:
        np.save(file, X + 1)
    with pytest.raises(DataError, match="it changed since it was opened"):
        joined(table)
    fsspec.filesystem("memory").rm("/bucket/rows.npy")
    with pytest.raises(DataError, match="it was removed since it was opened"):
        joined(table)


def test_zarr_of_a_url():
    pytest.importorskip("fsspec")
    zarr = pytest.importorskip("zarr")
    zarr.create_array("memory://zarrs/a.zarr", data=X, chunks=(10, 2), overwrite=True)
    np.testing.assert_array_equal(joined(scan("memory://zarrs/a.zarr"), 15), X[15:])


def test_urls_that_lead_nowhere():
    pytest.importorskip("fsspec")
    with pytest.raises(DataError, match=r"memory://none/a\.npy: no such file"):
        scan("memory://none/a.npy")
    with pytest.raises(DataError, match="nosuch"):
        scan("nosuch://a/b.npy")


def test_urls_need_their_extra(without):
    without("fsspec")
    with pytest.raises(MissingExtraError, match=r'pip install "lowland\[remote\]"'):
        scan("memory://a.npy")


def test_keys_of_folders_are_in_frames_if_they_are_asked_for(tmp_path):
    for year, site in ((2023, "a"), (2024, "b")):
        folder = tmp_path / f"year={year}" / f"site={site}"
        folder.mkdir(parents=True)
        pl.DataFrame({"x": [1.0, float(year)], "year": [0, 0]}).write_parquet(folder / "part.parquet")
    table = scan(tmp_path)
    assert table.names == ["x"]  # a column with the name of a key yields to it
    assert list(table.schema) == ["x"]
    assert table.notes == data.read(tmp_path).notes[1:]
    beside = scan(tmp_path, keys=["site", "year"])
    assert beside.names == ["x"]
    assert pl.concat(beside.frames()).rows() == [
        (1.0, "a", 2023),
        (2023.0, "a", 2023),
        (1.0, "b", 2024),
        (2024.0, "b", 2024),
    ]
    assert beside.fingerprint() != table.fingerprint()
    with pytest.raises(DataError, match="year is a key of the folders"):
        scan(tmp_path, columns=["x", "year"])
    with pytest.raises(DataError, match=r"keys=\['month'\]: it has the keys year, site"):
        scan(tmp_path, keys=["month"])
