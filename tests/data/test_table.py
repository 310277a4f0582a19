"""Choosing columns, arrays and Parquet as tables, sparse matrices."""

from __future__ import annotations

import datetime
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import lowland
from lowland.core.errors import DataError, MemoryLimitError
from lowland.data import ArrayTable, SparseTable, Table, read_any, read_matrix, read_table

FRAME = pl.DataFrame(
    {
        "whole": [1, 2],
        "half": pl.Series([0.5, None], dtype=pl.Float32),
        "yes": [True, None],
        "money": [Decimal("1.25"), Decimal("2.50")],
        "kind": ["x", "y"],
        "group": pl.Series(["u", "v"], dtype=pl.Categorical),
        "day": [datetime.date(2024, 1, 1)] * 2,
        "at": [datetime.datetime(2024, 1, 1)] * 2,
        "took": [datetime.timedelta(1)] * 2,
        "clock": [datetime.time(1)] * 2,
        "list": [[1], [2]],
        "bytes": [b"1", b"2"],
        "void": pl.Series([None, None], dtype=pl.Float64),
    }
)
LEFT_OUT = {
    "kind": "text",
    "group": "text",
    "day": "dates",
    "at": "dates",
    "took": "durations",
    "clock": "times",
    "list": "nested values",
    "bytes": "binary values",
    "void": "empty",
}


@pytest.fixture
def table() -> Table:
    return Table(FRAME, "mix.parquet")


def test_numeric_columns_are_chosen_and_the_rest_is_named_with_a_reason(table: Table) -> None:
    chosen = table.select()
    assert chosen.names == ["whole", "half", "yes", "money"]
    assert chosen.left_out == LEFT_OUT
    assert chosen.X.dtype == np.float64
    assert chosen.X.flags.c_contiguous
    np.testing.assert_array_equal(chosen.X, [[1, 0.5, 1, 1.25], [2, np.nan, np.nan, 2.5]])


def test_float32_only_where_every_chosen_column_is(table: Table) -> None:
    assert table.select(columns=["half"]).X.dtype == np.float32
    assert table.select(columns=["half", "whole"]).X.dtype == np.float64


def test_the_order_of_columns_is_kept(table: Table) -> None:
    chosen = table.select(columns=["money", "whole"])
    assert chosen.names == ["money", "whole"]
    np.testing.assert_array_equal(chosen.X, [[1.25, 1], [2.5, 2]])


def test_drop_and_keep_aside(table: Table) -> None:
    assert table.select(drop=["half", "kind"], keep_aside=["yes"]).names == ["whole", "money"]
    both = table.select(columns=["whole", "half", "money"], drop=["half"], keep_aside=["money"])
    assert both.names == ["whole"]
    assert both.left_out == {"half": "dropped", "money": "kept aside"}


def test_an_empty_column_that_was_asked_for_is_all_nan(table: Table) -> None:
    assert np.isnan(table.select(columns=["void", "whole"]).X[:, 0]).all()


def test_text_that_was_asked_for_is_an_error(table: Table) -> None:
    with pytest.raises(DataError, match=r"mix\.parquet, column 'kind': it contains text"):
        table.select(columns=["whole", "kind"])


def test_nothing_left_is_an_error_with_the_reasons(table: Table) -> None:
    with pytest.raises(DataError, match=r"no numeric column is left to reduce; left out: kind \(text\)"):
        table.select(drop=["whole", "half", "yes", "money"])


def test_a_column_asked_for_twice_is_an_error(table: Table) -> None:
    with pytest.raises(DataError, match="twice: whole"):
        table.select(columns=["whole", "half", "whole"])


@pytest.mark.parametrize("argument", ["columns", "drop", "keep_aside"])
def test_a_wrong_name_lists_the_near_ones(table: Table, argument: str) -> None:
    with pytest.raises(DataError, match=r"has no column 'Mony'; did you mean 'money'\?"):
        table.select(**{argument: ["Mony"]})  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"has no column 'zzz'; it has 'whole', .* \(13 in all\)"):
        table.column("zzz")


def test_column_and_place(table: Table) -> None:
    assert table.column("kind").to_list() == ["x", "y"]
    assert table.place(1, "kind") == "mix.parquet, row 1, column 'kind'"
    assert Table(FRAME, "mix.csv", 2).place(0) == "mix.csv, line 2"


# -- Parquet --------------------------------------------------------------------------------------------


def test_parquet_keeps_types(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "mix.parquet")
    again = read_table(tmp_path / "mix.parquet")
    assert again.first_line is None
    assert again.select().names == ["whole", "half", "yes", "money"]
    assert again.select().left_out == LEFT_OUT


def test_row_labels_of_pandas_are_not_reduced(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 9]).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").select().left_out == {"__index_level_0__": "row labels"}


def test_damaged_and_empty_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": range(1000)}).write_parquet(path)
    whole = path.read_bytes()
    for content in (b"", whole[:-100], b"PAR1" + bytes(200), whole[:4] + bytes(100) + whole[104:]):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"t\.parquet is damaged or not a Parquet file"):
            read_table(path)
    pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)}).write_parquet(path)
    with pytest.raises(DataError, match=r"t\.parquet has no rows"):
        read_table(path)


# -- NumPy ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_npy_is_mapped_and_not_copied(tmp_path: Path, dtype: Any) -> None:
    X = np.arange(12, dtype=dtype).reshape(4, 3)
    np.save(tmp_path / "x.npy", X)
    table = read_table(tmp_path / "x.npy")
    assert isinstance(table, ArrayTable)
    assert table.names == ["x0", "x1", "x2"]
    assert (table.n_rows, table.n_columns, table.first_line) == (4, 3, None)
    chosen = table.select()
    assert chosen.X is table.array
    assert isinstance(chosen.X, np.memmap)
    np.testing.assert_array_equal(chosen.X, X)
    assert "frame" not in vars(table)
    np.testing.assert_array_equal(table.frame.to_numpy(), X)
    assert repr(table) == f"ArrayTable('x.npy', 4 × 3, {np.dtype(dtype)})"


def test_choosing_columns_of_an_array_needs_no_frame(tmp_path: Path) -> None:
    X = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "x.npy", X)
    table = read_table(tmp_path / "x.npy")
    assert table.column("x1").to_list() == [1, 4, 7, 10]
    for chosen, index in (
        (table.select(columns=["x2", "x0"]), [2, 0]),
        (table.select(drop=["x1"]), [0, 2]),
        (table.select(keep_aside=["x0"]), [1, 2]),
    ):
        np.testing.assert_array_equal(chosen.X, X[:, index])
        assert chosen.X.flags.c_contiguous
    assert "frame" not in vars(table)


@pytest.mark.parametrize("dtype", ["uint8", "bool", "int64", "float16", ">f8", ">f4"])
def test_other_numbers_become_native_floats_in_c_order(tmp_path: Path, dtype: str) -> None:
    X = np.asfortranarray(np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype))
    np.save(tmp_path / "x.npy", X)
    table = read_table(tmp_path / "x.npy")
    chosen = table.select().X
    assert chosen.dtype == np.float64 or (dtype == ">f4" and chosen.dtype == np.float32)
    assert chosen.dtype.isnative
    assert chosen.flags.c_contiguous
    np.testing.assert_array_equal(chosen, X.astype(float))
    assert all(kind.is_float() == (X.dtype.kind == "f") for kind in table.frame.dtypes)  # labels stay whole
    np.testing.assert_array_equal(table.frame.to_numpy(), X)


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.zeros((2, 3, 4)), r"shape \(2, 3, 4\) has 3 dimensions"),
        (np.zeros(5), r"shape \(5,\) has 1 dimension;"),
        (np.zeros((2, 2), complex), r"dtype complex128 .*complex numbers cannot be reduced"),
        (np.array([["a"]]), "dtype <U1"),
        (np.zeros((2, 2), "datetime64[s]"), "dtype datetime64"),
        (np.zeros((0, 3)), "the table has no rows"),
        (np.zeros((3, 0)), "the table has no columns"),
        (np.array([[1, None]], dtype=object), "dtype object"),
    ],
)
@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_arrays_that_are_no_tables_are_refused(tmp_path: Path, array: Any, text: str, ending: str) -> None:
    path = tmp_path / f"x{ending}"
    if ending == ".npy":
        np.save(path, array)
    else:
        np.savez(path, X=array)
        if array.ndim != 2:
            text = r"contains no 2-D array: X: float64 \(" + str(array.shape[0])
    with pytest.raises(DataError, match=text) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"x{ending}")


def test_npz_takes_the_lone_table_or_the_one_named_x(tmp_path: Path) -> None:
    path, A, B = tmp_path / "x.npz", np.ones((2, 3)), np.zeros((4, 2))
    np.savez(path, images=A, labels=np.arange(2))
    np.testing.assert_array_equal(read_table(path).select().X, A)
    for name in ("X", "data"):
        np.savez_compressed(path, other=A, **{name: B})
        np.testing.assert_array_equal(read_table(path).select().X, B)
    np.savez(path, one=A, two=B, y=np.arange(3))
    with pytest.raises(DataError) as caught:
        read_table(path)
    assert "several 2-D arrays" in str(caught.value)
    assert "one: float64 (2, 3); two: float64 (4, 2); y: int64 (3,)" in str(caught.value)


def test_npz_may_name_its_columns(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", X=np.ones((2, 2)), features=np.array(["length", "width"]))
    assert read_table(tmp_path / "x.npz").names == ["length", "width"]
    np.savez(tmp_path / "x.npz", X=np.ones((2, 2)), features=np.array(["length", "length"]))
    assert read_table(tmp_path / "x.npz").names == ["x0", "x1"]


@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_damaged_arrays_are_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x{ending}"
    (np.save if ending == ".npy" else np.savez)(path, np.ones((50, 50)))
    whole = path.read_bytes()
    for content in (b"", whole[:100], whole[: len(whole) // 2], b"hello, world", b"\x80\x04K\x01."):
        path.write_bytes(content)
        with pytest.raises(DataError, match=rf"^x\{ending}"):
            read_table(path)


def test_altered_bytes_of_an_archive_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, X=np.ones((50, 50)))
    whole = bytearray(path.read_bytes())
    whole[5000] ^= 1
    path.write_bytes(whole)
    with pytest.raises(DataError, match=r"x\.npz is damaged"):
        read_table(path)


def test_an_array_past_the_memory_limit_is_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", X=np.zeros((1000, 100)))
    np.save(tmp_path / "x.npy", np.zeros((1000, 100), dtype=np.int8))
    with lowland.config(memory_limit=100_000):
        with pytest.raises(MemoryLimitError, match=r"x\.npz"):
            read_table(tmp_path / "x.npz")
        table = read_table(tmp_path / "x.npy")
        with pytest.raises(MemoryLimitError, match=r"x\.npy"):
            table.select()


# -- sparse ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_matrices_are_read_as_csr(tmp_path: Path, kind: Any) -> None:
    S = sparse.random_array((20, 30), density=0.1, rng=np.random.default_rng(0), format=kind)
    sparse.save_npz(tmp_path / "s.npz", S)
    table = read_any(tmp_path / "s.npz")
    assert isinstance(table, SparseTable)
    for again in (read_matrix(tmp_path / "s.npz"), table.matrix, table.select().X):
        assert isinstance(again, sparse.csr_array)
        np.testing.assert_array_equal(again.toarray(), S.toarray())
    with pytest.raises(DataError, match="sparse matrix"):
        read_table(tmp_path / "s.npz")


def test_sparse_matrices_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    sparse.save_npz(path, sparse.csr_array(np.eye(3, dtype=complex)))
    with pytest.raises(DataError, match=r"s\.npz: dtype complex128"):
        read_matrix(path)
    fields = {"format": b"csr", "shape": (2, 2), "data": [1.0], "indptr": [0, 1, 1]}
    np.savez(path, indices=[9], **fields)
    with pytest.raises(DataError, match=r"s\.npz is damaged"):
        read_matrix(path)
    np.savez(path, X=np.eye(2))
    with pytest.raises(DataError, match=r"s\.npz contains no sparse matrix"):
        read_matrix(path)
    assert isinstance(read_any(path), Table)
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r"a\.csv contains no sparse matrix"):
        read_matrix(tmp_path / "a.csv")


def test_the_room_opens_without_heavy_imports() -> None:
    code = "import sys, lowland.data; print([m for m in ('numpy', 'polars', 'pyarrow', 'sklearn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
