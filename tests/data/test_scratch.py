"""The temporary copy of a text table: parsed once, the same rows, nothing left behind."""

from __future__ import annotations

import gc
import os
from collections import namedtuple

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.core.errors import DataError, WriteError
from lowland.data import scan
from lowland.data.scans import scratch, text

ROWS = 4000
MANY = 9000  # three blocks


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_BLOCK_BYTES", 1 << 14)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"a": rng.standard_normal(ROWS), "n": rng.integers(0, 9, ROWS), "t": rng.choice(["x", "y, z", "ä"], ROWS)}
    ).with_columns(pl.when(pl.int_range(ROWS) % 9 == 0).then(None).otherwise(pl.col("a")).alias("a"))
    frame.write_csv(tmp_path / "rows.csv")
    (tmp_path / "copies").mkdir()
    return tmp_path / "rows.csv"


def counted(monkeypatch):
    """Count the parts of text that are parsed."""
    calls, own = [], text.TextScan._frame

    def frame(self, *words, **more):
        calls.append(1)
        return own(self, *words, **more)

    monkeypatch.setattr(text.TextScan, "_frame", frame)
    return calls


def test_text_is_parsed_once(file, monkeypatch):
    plain = pl.concat(list(scan(file).frames()))
    calls = counted(monkeypatch)
    table = scan(file, scratch=file.parent / "copies")
    assert pl.concat(list(table.frames())).equals(plain)
    parsed = len(calls)
    assert parsed > 3
    assert table.count() == ROWS
    for start in (0, 1, 1999, ROWS):
        assert pl.concat([plain[:0], *table.frames(start)]).equals(plain[start:])
    numbers = np.concatenate(list(table.arrays()))
    np.testing.assert_array_equal(numbers, plain.select("a", "n").to_numpy())
    assert len(calls) == parsed
    assert table.passes == 3


def test_nothing_is_left_behind(file):
    table = scan(file, scratch=file.parent / "copies")
    held = list(table.frames())
    if os.path.isdir("/proc/self/fd"):
        assert os.listdir(file.parent / "copies") == []  # also if the process were killed now
    del table, held
    gc.collect()
    assert os.listdir(file.parent / "copies") == []


def test_a_pass_that_is_not_finished_makes_no_copy(file, monkeypatch):
    table = scan(file, scratch=file.parent / "copies")
    next(iter(table.frames()))
    calls = counted(monkeypatch)
    assert sum(frame.height for frame in table.frames()) == ROWS
    assert calls


@pytest.mark.parametrize("free", [0, 3])
def test_a_nearly_full_disk_is_spared(file, monkeypatch, free):
    """With room for three batches, or none: rows are the same, and the reason is told."""
    monkeypatch.setattr(scratch, "_LOOK_EVERY", 1)
    monkeypatch.setattr(scratch, "_BATCH_ENTRIES", 1000)
    looks = iter([50] * free + [9] * 10_000)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(scratch.shutil, "disk_usage", lambda path: usage(100, 0, next(looks)))
    plain = pl.concat(list(scan(file).frames()))
    table = scan(file, scratch=file.parent / "copies")
    for _ in range(2):
        assert pl.concat(list(table.frames())).equals(plain)
    assert "has no room for a temporary copy (the disk is nearly full)" in table.scratch.failure
    assert os.listdir(file.parent / "copies") == []


def test_a_changed_file_is_refused_in_the_first_pass_and_later_has_no_effect(file):
    table = scan(file, scratch=file.parent / "copies")
    whole = pl.concat(list(table.frames()))
    file.write_text("a,n,t\n1,2,x\n")
    assert pl.concat(list(table.frames())).equals(whole)
    fresh = scan(file, scratch=file.parent / "copies")
    file.write_text("a,n,t\n1,2,x\n3,4,y\n")
    with pytest.raises(DataError, match="changed since it was opened"):
        list(fresh.frames())


def test_a_fit_has_the_bits_of_the_table_in_memory(file):
    how = {"missing": "median", "categories": "one-hot", "scale": "standard"}
    whole = lowland.recipe(lowland.PCA(2), **how).fit(lowland.data.read(file).frame)
    table = scan(file, scratch=True)
    model = lowland.fit(lowland.recipe(lowland.PCA(2), **how), table)
    np.testing.assert_array_equal(model[-1].components_, whole[-1].components_)
    assert table.scratch.failure is None


@pytest.fixture
def late(file, monkeypatch):
    """Whole numbers with a fraction long after the beginning, which settles their type, and large identifiers."""
    monkeypatch.setattr(text, "_LOOK_BYTES", 1 << 14)
    cells = ["1.5" if i == MANY - 10 else str(i % 7) for i in range(MANY)]
    frame = pl.DataFrame({"a": np.arange(MANY) % 11 / 4, "n": cells, "id": 2**60 + np.arange(MANY)})
    frame.write_csv(file)
    return file


def test_later_fractions_are_numbers_of_arrays_and_of_steps(late):
    whole = lowland.data.read(late).frame.select("a", "n")
    plain = np.concatenate(list(scan(late, drop=["id"]).arrays()))
    np.testing.assert_array_equal(plain, whole.to_numpy())
    table = scan(late, drop=["id"], scratch=late.parent / "copies")
    for _ in range(2):  # written, then read
        np.testing.assert_array_equal(np.concatenate(list(table.arrays())), plain)
    assert table.scratch.failure is None
    for how in ({"missing": "median", "scale": "standard"}, {"scale": "robust"}):
        want = lowland.recipe(lowland.PCA(1), **how).fit(whole)
        for rows in (scan(late, drop=["id"]), scan(late, drop=["id"], scratch=late.parent / "copies")):
            model = lowland.fit(lowland.recipe(lowland.PCA(1), **how), rows)
            np.testing.assert_array_equal(model[-1].components_, want[-1].components_)


def test_frames_with_later_fractions_are_refused_by_their_line_with_and_without_a_copy(late):
    table = scan(late, scratch=late.parent / "copies")
    frames = list(table.number_frames())
    assert {frame.schema["n"] for frame in frames} == {pl.Int64, pl.Float64}
    ids = [value for frame in frames for value in frame["id"].to_list()]
    assert ids == list(range(2**60, 2**60 + MANY))  # whole numbers keep their digits
    for rows in (table, scan(late)):
        with pytest.raises(DataError, match=r"rows\.csv, line 8992, column 'n': '1\.5' is not a whole number"):
            list(rows.frames())
    for start in (0, 1999, 8990):
        found = pl.concat(table.number_frames(start), how="vertical_relaxed")
        assert found["id"].to_list() == ids[start:]


def test_kept_columns_with_later_fractions_are_refused_not_cut(late, tmp_path):
    model = lowland.PCA(1).fit(lowland.data.read(late).frame.select("a", "n"))
    table = scan(late, scratch=late.parent / "copies")
    lowland.transform_file(model, table, tmp_path / "map.csv", keep=["id"])
    assert pl.read_csv(tmp_path / "map.csv")["id"].to_list() == list(range(2**60, 2**60 + MANY))
    with pytest.raises(DataError, match=r"column 'n' has a fraction in row 8990, .* types=\{'n': 'number'\}"):
        lowland.transform_file(model, table, tmp_path / "all.csv", keep=["n"])
    lowland.transform_file(model, scan(late, types={"n": "number"}), tmp_path / "all.csv", keep=["n"])
    assert pl.read_csv(tmp_path / "all.csv")["n"][8990] == 1.5


def test_cells_that_cannot_be_used_are_named_by_line(file):
    with pytest.raises(lowland.DataError, match=r"NaN at row 0, column 0 \('a'\), in rows\.csv, line 2"):
        lowland.PCA(2).fit(scan(file, columns=["a", "n"], scratch=True))


def test_what_has_no_copy_is_refused(file, tmp_path):
    np.save(tmp_path / "rows.npy", np.eye(3))
    with pytest.raises(DataError, match=r"only text is copied; rows\.npy is none"):
        scan(tmp_path / "rows.npy", scratch=True)
    with pytest.raises(WriteError, match="the folder for temporary copies does not exist"):
        scan(file, scratch=tmp_path / "nowhere")
