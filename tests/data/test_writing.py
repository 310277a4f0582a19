"""Writing: whole files or none, and what is written is read back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lowland.core.errors import DataError, LowlandError
from lowland.data import check_output, embedding_frame, read_table, write_table, writing

TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
FRAME = pl.DataFrame({"n": [1, 2, None], "x": [0.1, None, -1e300], "s": ["a,b", None, 'q"\n\tz']})
QUICK = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

floats = st.none() | st.floats(allow_nan=False)
# A letter in front: whatever looks like a number or a missing value is read as one.
words = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).map("w".__add__)


@pytest.mark.parametrize("ending", [*TEXT, ".parquet"])
def test_a_mixed_table_comes_back(tmp_path: Path, ending: str) -> None:
    write_table(tmp_path / f"t{ending}", FRAME)
    assert read_table(tmp_path / f"t{ending}").frame.equals(FRAME, null_equal=True)


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet"])
@QUICK
@given(rows=st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), floats, words), min_size=1, max_size=8))
def test_any_values_come_back(tmp_path: Path, ending: str, rows: list[tuple[Any, ...]]) -> None:
    schema = {"i": pl.Int64, "f": pl.Float64, "w": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    write_table(tmp_path / f"t{ending}", frame)
    again = read_table(tmp_path / f"t{ending}").frame
    assert again["i"].to_list() == frame["i"].to_list()
    assert again["f"].cast(pl.Float64).to_list() == frame["f"].to_list()
    assert again["w"].cast(pl.String).to_list() == frame["w"].to_list()


@QUICK
@given(values=st.lists(floats, min_size=1, max_size=6))
def test_a_lone_column_keeps_its_missing_values(tmp_path: Path, values: list[float | None]) -> None:
    write_table(tmp_path / "t.csv", pl.DataFrame({"f": pl.Series(values, dtype=pl.Float64)}))
    assert read_table(tmp_path / "t.csv").frame["f"].to_list() == values


@pytest.mark.parametrize("ending", [".npy", ".npz"])
@QUICK
@given(X=hnp.arrays(st.sampled_from([np.float32, np.float64]), hnp.array_shapes(min_dims=2, max_dims=2, max_side=5)))
def test_arrays_come_back_bit_for_bit(tmp_path: Path, ending: str, X: Any) -> None:
    names = [f"c{j}" for j in range(X.shape[1])]
    write_table(tmp_path / f"t{ending}", pl.DataFrame(X, schema=names, orient="row"))
    again = read_table(tmp_path / f"t{ending}")
    assert again.select().X.dtype == X.dtype
    np.testing.assert_array_equal(again.select().X, X)
    assert again.names == (names if ending == ".npz" else [f"x{j}" for j in range(X.shape[1])])


def test_missing_values_are_nan_in_arrays_and_text_is_refused(tmp_path: Path) -> None:
    write_table(tmp_path / "t.npy", FRAME.select("n", "x"))
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), [[1, 0.1], [2, np.nan], [np.nan, -1e300]])
    said = r"u\.npy can store only numbers, and these columns are not numeric: s; use \.csv"
    with pytest.raises(DataError, match=said):
        write_table(tmp_path / "u.npy", FRAME)
    assert os.listdir(tmp_path) == ["t.npy"]


@pytest.mark.parametrize("ending", [*TEXT, ".parquet", ".npz"])
def test_the_same_table_gives_the_same_bytes(tmp_path: Path, ending: str) -> None:
    frame = FRAME.drop("s") if ending == ".npz" else FRAME
    files = [tmp_path / f"a{ending}", tmp_path / f"b{ending}"]
    for file in files:
        write_table(file, frame)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("old")

    def stop(file: Any, *_: Any) -> None:
        file.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(writing, "_write_frame", stop)
    with pytest.raises(KeyboardInterrupt):
        write_table(path, FRAME)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.csv"]


def test_a_full_disk_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LowlandError, match=r"t\.csv: cannot be written: No space left on device"):
        write_table(tmp_path / "t.csv", FRAME)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="permission bits and links are POSIX")
def test_permissions_and_links_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    write_table(link, FRAME)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert read_table(real).n_rows == 3


def test_outputs_can_be_checked_before_the_work(tmp_path: Path) -> None:
    assert check_output(tmp_path / "T.CSV.GZ") == ".csv.gz"
    with pytest.raises(DataError, match="is a folder"):
        check_output(tmp_path)
    with pytest.raises(DataError, match=r"cannot write this kind of file; it can write \.csv, "):
        check_output(tmp_path / "t.ods")
    with pytest.raises(DataError, match=r"folder .*none does not exist"):
        check_output(tmp_path / "none" / "t.csv")


def test_nested_values_do_not_fit_into_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"t\.csv cannot store this table: .*\.parquet can store every type"):
        write_table(tmp_path / "t.csv", pl.DataFrame({"a": [[1], [2]]}))
    assert os.listdir(tmp_path) == []


def test_coordinates_follow_the_kept_columns_in_row_order() -> None:
    Y = np.array([[0.0, 1.0], [2.0, 3.0]], dtype=np.float32)
    frame = embedding_frame(Y, ["pca0", "pca1"], ids=pl.Series("id", ["b", "a"]), keep=pl.DataFrame({"z": [9, 8]}))
    assert frame.columns == ["id", "z", "pca0", "pca1"]
    assert frame.rows() == [("b", 9, 0.0, 1.0), ("a", 8, 2.0, 3.0)]
    assert frame["pca0"].dtype == pl.Float32


def test_names_that_are_taken_get_an_ending() -> None:
    keep = pl.DataFrame({"pca0": [1], "pca0_1": [2], "id": [5]})
    assert embedding_frame([[7.0]], ["pca0"], keep=keep).columns == ["pca0", "pca0_1", "id", "pca0_2"]
    same = embedding_frame([[7.0]], ["y"], ids=pl.Series("id", [5]), keep=keep)
    assert same.columns == ["pca0", "pca0_1", "id", "y"]  # the identity is kept already
    other = embedding_frame([[7.0]], ["y"], ids=pl.Series("id", [6]), keep=keep)
    assert other.columns == ["id_1", "pca0", "pca0_1", "id", "y"]


def test_coordinates_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match=r"shape \(1, 2\) do not fit 1 names"):
        embedding_frame([[1.0, 2.0]], ["a"])
    with pytest.raises(DataError, match="column 'z' has 2 rows, the coordinates 1"):
        embedding_frame([[1.0]], ["a"], keep=pl.DataFrame({"z": [1, 2]}))
