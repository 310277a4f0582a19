"""Objects in memory as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from lowland.core.errors import DataError
from lowland.data import ArrayTable, SparseTable, Table, read


def test_arrays_are_not_copied() -> None:
    X = np.arange(6.0).reshape(3, 2)
    table = read(X)
    assert isinstance(table, ArrayTable)
    assert table.select().X is X
    assert read(table) is table
    unit = read(X, normalize="l2").select().X
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)
    np.testing.assert_array_equal(X, np.arange(6.0).reshape(3, 2))  # the caller's array is as it was
    assert read([[1, 2], [3, 4]]).select().X.tolist() == [[1, 2], [3, 4]]
    named = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", int), ("b", float)])
    assert read(named).frame.to_dict(as_series=False) == {"a": [1, 3], "b": [2.5, 4.5]}


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_matrices(kind: Any) -> None:
    table = read(kind(np.eye(3)))
    assert isinstance(table, SparseTable)
    assert isinstance(table.matrix, sparse.csr_array)
    assert repr(table) == "SparseTable('the sparse matrix', 3 × 3, 3 stored)"
    unit = read(kind(np.array([[3.0, 4.0], [0.0, 0.0]])), normalize="l2")
    np.testing.assert_allclose(unit.select().X.toarray(), [[0.6, 0.8], [0, 0]])


def test_polars_frames_lazy_ones_and_series() -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    for value in (frame, frame.lazy()):
        assert read(value).frame.equals(frame)
    assert read(frame["a"]).names == ["a"]


def test_pandas_keeps_row_labels_aside() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.5, None], 7: pd.Categorical(["x", "y"])})
    plain = read(frame)
    assert plain.aside.width == 0
    assert plain.frame.to_dict(as_series=False) == {"a": [1.5, None], "7": ["x", "y"]}
    labelled = read(frame.set_axis(["r", "s"], axis=0))
    assert labelled.column("index").to_list() == ["r", "s"]
    assert labelled.select().names == ["a"]
    named = read(frame.rename_axis("patient"))
    assert named.aside.columns == ["patient"]
    two = read(frame.set_index(pd.MultiIndex.from_tuples([("u", 1), ("v", 2)], names=["site", None])))
    assert two.aside.to_dict(as_series=False) == {"site": ["u", "v"], "index_1": [1, 2]}
    clash = read(pd.DataFrame({"index": [1, 2]}, index=[5, 6]))
    assert clash.names == ["index"]
    assert clash.aside.columns == ["index_label"]
    with pytest.raises(DataError, match="more than one column is named 'a'"):
        read(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match="the pandas frame cannot be read"):
        read(pd.DataFrame({"a": [1, "x", [2]]}))


def test_anything_that_streams_arrow() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.table({"a": [1, 2], "v": [[1.0, 2.0], [3.0, 4.0]]}).__arrow_c_stream__(requested_schema)

    assert read(Stream()).column("a").to_list() == [1, 2]
    assert read(Stream(), vector="v").select().X.tolist() == [[1, 2], [3, 4]]
    assert read(pa.table({"a": [1]})).n_rows == 1


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    value = torch.arange(6, dtype=torch.float32).reshape(3, 2)
    assert read(value).select().X.tolist() == value.tolist()
    assert read(value.to(torch.bfloat16)).select().X.dtype == np.float32
    assert read(value.requires_grad_()).n_rows == 3
    with pytest.raises(DataError, match=r"torch\.sparse_coo"):
        read(value.detach().to_sparse())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "an object of type int cannot be read as a table"),
        (np.zeros(3), "shape"),
        (np.array([["a"]]), "dtype <U1"),
        ([[1], [2, 3]], "cannot be read as a table"),
        ({"a": [1], "b": [1, 2]}, "not a table of columns"),
        (pl.DataFrame(), "has no columns"),
        (pl.DataFrame({"a": []}), "has no rows"),
        (sparse.csr_array(np.eye(2) * 1j), "complex"),
    ],
)
def test_other_objects_are_refused(value: Any, text: str) -> None:
    with pytest.raises(DataError, match=text):
        read(value)


def test_options_of_files_are_refused_for_objects() -> None:
    with pytest.raises(DataError, match="sep is not an option for this kind of object"):
        read(pl.DataFrame({"a": [1]}), sep=";")
    with pytest.raises(DataError, match="vector is not an option"):
        read(np.eye(2), vector="x0")


def test_cells_of_a_frame_follow_the_options() -> None:
    frame = pl.DataFrame({"a": ["1", "<0.5", "n.d."], "b": [1, 999, 3], "c": ["x", "y", "z"]})
    table = read(frame, na=["n.d.", "999"], below_limit="half")
    assert table.frame.to_dict(as_series=False) == {"a": [1, 0.25, None], "b": [1, None, 3], "c": ["x", "y", "z"]}
    assert read(frame).frame.equals(frame)  # without options, text is text


def test_kinds_of_columns() -> None:
    n = 60
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "row": range(1, n + 1),
            "patient_id": rng.permutation(n) + 1000,
            "name": [f"n{i:02d}" for i in range(n)],
            "age": rng.integers(20, 90, n),
            "grade": rng.integers(0, 4, n),
            "stage": rng.integers(1, 3, n).astype(float),
            "crp": rng.standard_normal(n),
            "ill": rng.random(n) > 0.5,
            "sex": ["m", "f"] * (n // 2),
            "day": [f"{1 + i % 28}.2.2024" for i in range(n)],
            "at": [datetime_at(i) for i in range(n)],
            "note": [f"a long free text that says something about case {i}, and more" for i in range(n)],
            "one": [3] * n,
            "void": pl.Series([None] * n, dtype=pl.Float64),
            "list": [[1]] * n,
        }
    )
    kinds = Table(frame, "t").kinds()
    assert {name: kind.kind for name, kind in kinds.items()} == {
        "row": "id",
        "patient_id": "id",
        "name": "id",
        "age": "number",
        "grade": "number",
        "stage": "number",
        "crp": "number",
        "ill": "number",
        "sex": "category",
        "day": "date",
        "at": "date",
        "note": "text",
        "one": "constant",
        "void": "empty",
        "list": "other",
    }
    assert [name for name, kind in kinds.items() if kind.proposed == "category"] == ["grade", "stage", "ill"]
    assert kinds["void"].missing == n
    assert kinds["one"].reason == "every value is 3"


def datetime_at(i: int) -> Any:
    import datetime

    return datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=i)
