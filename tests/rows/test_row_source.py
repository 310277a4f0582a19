"""`RowSource`: what it takes, how it cuts, and how it names the place of what is wrong."""

from __future__ import annotations

import itertools
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import lowland
from lowland import RowSource
from lowland.core.errors import DataError
from lowland.rows.row_source import Block, as_rows, block_rows, require_finite

X6 = np.arange(12.0).reshape(6, 2)


def joined(source, size=None):
    parts = [b.rows.toarray() if sp.issparse(b.rows) else np.asarray(b.rows) for b in source.blocks(size)]
    return np.concatenate(parts)


# -- what is taken -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        np.asfortranarray,
        lambda X: X.tolist(),
        lambda X: X.astype(int),
        lambda X: X.astype(object),
        lambda X: X.astype(str),
        lambda X: pd.DataFrame(X),
        lambda X: pd.DataFrame(X).astype("Float64"),
        lambda X: pl.DataFrame(X),
        lambda X: pa.table({"a": X[:, 0], "b": X[:, 1]}),
        sp.csr_array,
        sp.coo_matrix,
        sp.csc_array,
        lambda X: iter([X[:4], X[4:]]),
        lambda X: lambda: (X[:1], X[1:]),
        lambda X: RowSource.from_blocks([X[:1], X[1:]]),
        lambda X: np.ma.masked_array(X),
        lambda X: RowSource.from_array(X),
        lambda X: RowSource.from_array(sp.csr_array(X), names=["a", "b"]),
        lambda X: iter([pd.DataFrame(X[:2]), pd.DataFrame(X[2:])]),
        as_rows,
    ],
)
def test_every_kind_gives_the_same_rows(make):
    source = as_rows(make(X6))
    assert (source.n_features, source.dtype) == (2, np.float64)
    np.testing.assert_array_equal(joined(source, 4), X6)


def test_tensors_stay_tensors(backend):
    X = backend(X6)
    blocks = list(as_rows(X).blocks(4))
    assert [type(b.rows) for b in blocks] == [type(X)] * 2
    np.testing.assert_array_equal(np.concatenate([np.asarray(b.rows) for b in blocks]), X6)


def test_tensors_lose_their_gradients(rng):
    torch = pytest.importorskip("torch")
    plain = torch.from_numpy(rng.standard_normal((30, 4)))
    tracked = plain.clone().requires_grad_()
    expected = lowland.PCA(2).fit_transform(plain)
    found = lowland.PCA(2).fit_transform(tracked)
    assert not found.requires_grad
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    weights = torch.arange(30.0, requires_grad=True)
    assert lowland.PCA(2).fit(RowSource.from_blocks([tracked], n_rows=30), sample_weight=weights).n_samples_ == 29
    with pytest.raises(DataError, match=r"pass X\.to_dense\(\)"):
        as_rows(plain.to_sparse())


def test_a_numpy_matrix_is_its_array():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        source = as_rows(np.matrix(X6))
    assert type(source.array) is np.ndarray


# -- names ---------------------------------------------------------------------------------------------------


def test_names_reach_the_model(rng):
    X = rng.standard_normal((20, 3))
    source = RowSource.from_array(X, names=["a", "b", "c"])
    assert source.names == ("a", "b", "c")
    assert np.shares_memory(source.array, X)
    model = lowland.PCA(1).fit(source)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.transform(RowSource.from_array(X, names=["b", "a", "c"]))


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], ["a", "a"], [0, 1], "a"])
def test_names_must_fit_the_columns(names):
    with pytest.raises(DataError, match=r"names must be 2 distinct strings, one for each column; got"):
        RowSource.from_array(X6, names=names)


def test_one_array_is_no_iterator():
    with pytest.raises(DataError, match="use from_blocks for blocks"):
        RowSource.from_array(iter([X6]))


def test_blocks_of_frames_keep_their_names_and_must_agree():
    frame = pd.DataFrame(X6, columns=["a", "b"])
    assert lowland.PCA(1).fit(iter([frame[:2], frame[2:]])).feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(DataError, match="block 1: column 0 is 'b'; in block 0 it was 'a'") as error:
        joined(RowSource.from_blocks([frame, frame[["b", "a"]]]))
    assert error.value.column == 0


def test_columns_without_names_have_none():
    assert as_rows(pd.DataFrame(X6)).names is None  # pandas counts them
    assert as_rows(X6).names is None


@pytest.mark.parametrize(
    ("kind", "working"),
    [
        ("f4", "f4"),
        ("f8", "f8"),
        ("f2", "f4"),
        ("i8", "f8"),
        ("u1", "f8"),
        ("?", "f8"),
        ("g", "f8"),
        (">f4", "f4"),
    ],
)
def test_numbers_are_converted_block_by_block(kind, working):
    source = as_rows(X6.astype(kind))
    assert source.dtype == np.dtype(working)
    assert {b.rows.dtype for b in source.blocks(2)} == {np.dtype(working)}
    if kind not in ("f2", ">f4"):  # scipy.sparse knows neither
        rows = as_rows(sp.csr_array(X6.astype(kind)))
        assert {b.rows.dtype for b in rows.blocks(2)} == {rows.dtype} == {np.dtype(working)}


def test_arrays_of_floats_are_not_copied():
    source = as_rows(X6)
    assert source.array is X6
    assert all(np.shares_memory(b.rows, X6) for b in source.blocks(4))
    assert source.shape.copied == 0
    assert as_rows(pd.DataFrame(X6)).shape.copied == X6.nbytes


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (np.zeros(3), "got 1-D data of shape"),
        (np.zeros((2, 2, 2)), "got 3-D data of shape"),
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros((3, 0)), "0 feature"),
        (np.zeros((2, 2), complex), "Complex data not supported"),
        (sp.csr_array(np.zeros((2, 2), complex)), "Complex data not supported"),
        ([[1, 2], [3]], "row 1 has 1"),
        ([["1", "2"], ["3", "x"]], "'x', which is not a number .* at row 1, column 1: "),
        (pd.DataFrame({"a": [1, 2], "b": ["3", "y"]}), r"'y', which is not a number .* at row 1, column 1 \('b'\)"),
        (pl.DataFrame({"a": [1, 2], "b": ["3", "y"]}), r"'y', which is not a number .* at row 1, column 1 \('b'\)"),
        (np.ma.masked_array(X6, mask=X6 == 3), "masked"),
        ("table.csv", r"not a file name.*read_table\('table\.csv'\)"),
        (Path("table.csv"), r"not a file name.*read_table\('table\.csv'\)"),
        (pl.Series([1.0, 2.0]), "got 1-D data of shape"),
        (pd.Series([1.0, 2.0]), "got 1-D data of shape"),
        (pl.LazyFrame({"a": [1.0]}), r"pass X\.collect\(\)"),
        (pd.DataFrame(X6, columns=["a", "a"]), "'a' 2 times: rename the columns"),
        (iter([]), "the iterator or all of its blocks are empty"),
    ],
    ids=lambda value: None if isinstance(value, str) else type(value).__name__,  # the same in every process
)
def test_what_cannot_be_rows_is_refused(bad, text):
    with pytest.raises(DataError, match=text):
        as_rows(bad)


def test_sparse_only_where_it_is_taken():
    with pytest.raises(DataError, match=r"ProbabilisticPCA does not take sparse data; .*toarray"):
        as_rows(sp.csr_array(X6), allow_sparse=False, owner="ProbabilisticPCA")


# -- how rows are cut ----------------------------------------------------------------------------------------


@given(
    n=st.integers(1, 60),
    size=st.integers(1, 20),
    first=st.one_of(st.none(), st.integers(1, 20)),
    cuts=st.lists(st.integers(0, 60), max_size=6),
    sparse=st.booleans(),
)
def test_blocks_have_the_asked_size_whatever_the_cut(n, size, first, cuts, sparse):
    X = np.arange(2.0 * n).reshape(n, 2)
    edges = sorted({0, n, *(c for c in cuts if c < n)})
    table = sp.csr_array(X) if sparse else X
    pieces = [table[a:b] for a, b in itertools.pairwise(edges)]
    whole = as_rows(table).blocks(size, first)
    streamed = RowSource.from_blocks(iter(pieces)).blocks(size, first)
    for a, b in zip(whole, streamed, strict=True):
        assert a.start == b.start
        assert sp.issparse(b.rows) == sparse
        np.testing.assert_array_equal(
            *(r.toarray() if sparse else r for r in (a.rows, b.rows)), err_msg=f"block at {a.start}"
        )
    lengths = [b.rows.shape[0] for b in as_rows(table).blocks(size, first)]
    assert sum(lengths) == n
    assert lengths[0] == min(n, first or size)
    assert all(length == size for length in lengths[1:-1])


def test_block_size_depends_on_the_width_alone():
    assert [block_rows(d) for d in (1, 512, 1024, 10**4, 60_000, 10**7)] == [4096, 4096, 4096, 419, 69, 1]
    assert [block_rows(d, sparse=True) for d in (512, 10**4, 60_000, 10**7)] == [4096, 419, 256, 256]


def test_functions_and_lists_can_be_read_again_and_an_iterator_once():
    readings = []

    def read():
        readings.append(len(readings))
        return iter([X6[:5], X6[5:]])

    again = RowSource.from_blocks(read)
    assert again.reiterable
    assert again.n_rows is None
    for _ in range(3):
        np.testing.assert_array_equal(joined(again, 4), X6)
    assert again.n_rows == again.count() == 6
    assert len(readings) == 3  # the look at the first block did not cost a reading

    for blocks in ([X6[:5], X6[5:]], (X6[:5], X6[5:])):
        source = RowSource.from_blocks(blocks)
        assert source.reiterable
        for _ in range(2):
            np.testing.assert_array_equal(joined(source, 4), X6)
        assert lowland.PCA(1).fit_transform(source).shape == (6, 1)

    once = RowSource.from_blocks(iter([X6]))
    assert not once.reiterable
    np.testing.assert_array_equal(joined(once), X6)
    with pytest.raises(DataError, match="read only once and were already read"):
        joined(once)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_reader_may_use_one_buffer_for_all_its_blocks(threads, rng, backend):
    X = rng.standard_normal((30_000, 4))

    def read():
        buffer = backend(np.empty((10_000, 4)))
        for start in (0, 10_000, 20_000):
            buffer[:] = backend(X[start : start + 10_000])
            yield buffer

    with lowland.config(threads=threads):
        model = lowland.PCA(2, solver="covariance").fit(read())
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(model.explained_variance_, lowland.PCA(2).fit(X).explained_variance_, rtol=1e-12)


def test_a_reading_left_half_way_does_not_spoil_the_next():
    source = RowSource.from_blocks(lambda: iter([X6[:3], X6[3:]]))
    assert next(source.blocks(2)).rows.shape == (2, 2)
    np.testing.assert_array_equal(joined(source), X6)


def test_a_function_that_does_not_start_anew_is_found_out():
    pieces = iter([X6[:3], X6[3:]])
    source = RowSource.from_blocks(lambda: pieces)
    joined(source)
    with pytest.raises(DataError, match=r"second pass.* no rows"):
        joined(source)


def test_a_reading_of_another_length_is_found_out():
    lengths = iter([6, 5])
    source = RowSource.from_blocks(lambda: iter([X6[: next(lengths)]]))
    assert source.count() == 6
    with pytest.raises(DataError, match=r"the blocks have 5 rows, .*6"):
        joined(source)


@pytest.mark.parametrize("said", [5, 7])
def test_a_wrong_number_of_rows_is_found_out(said):
    source = RowSource.from_blocks(lambda: iter([X6[:4], X6[4:]]), n_rows=said)
    with lowland.config(threads=1), pytest.raises(DataError, match=f"but n_rows={said}"):
        source.map_blocks(lambda rows: rows, 2)


@pytest.mark.parametrize(
    ("second", "text"),
    [
        (np.zeros((2, 3)), r"block 1 has 3 columns \(dense\); block 0 had 2 \(dense\)"),
        (sp.csr_array((2, 2)), r"block 1 has 2 columns \(sparse\); block 0 had 2 \(dense\)"),
        (np.array([["1", "x"]]), "block 1: .*'x', which is not a number .* at row 0, column 1"),
        (np.zeros(2), "block 1: Expected a 2-D table"),
    ],
)
def test_a_bad_block_is_named(second, text):
    with pytest.raises(DataError, match=text):
        joined(RowSource.from_blocks(iter([X6, second])))


def test_blocks_without_rows_change_nothing():
    empty = np.zeros((0, 2))
    np.testing.assert_array_equal(joined(RowSource.from_blocks(iter([X6[:2], empty, X6[2:], empty]))), X6)
    np.testing.assert_array_equal(joined(RowSource.from_blocks(lambda: iter([empty, X6]))), X6)
    with pytest.raises(DataError, match="no rows"):
        RowSource.from_blocks(iter([empty, empty]))


def test_a_block_of_higher_precision_is_not_rounded_in_silence():
    with pytest.raises(DataError, match="block 1 is float64; block 0 was float32"):
        joined(RowSource.from_blocks(iter([X6.astype(np.float32), X6])))


def test_a_refused_fit_transform_or_plan_leaves_an_iterator_whole():
    pieces = iter([X6[:2], X6[2:]])
    with pytest.raises(DataError, match="read only once"):
        lowland.PCA(1).fit_transform(pieces)
    assert lowland.PCA(1).fit(pieces).n_samples_ == 6
    pieces = iter([X6[:2], X6[2:]])
    with pytest.raises(ValueError, match="from_blocks"):
        lowland.plan(lowland.PCA(1), pieces)
    assert lowland.PCA(1).fit(pieces).n_samples_ == 6


# -- weights -------------------------------------------------------------------------------------------------


def test_weights_follow_their_rows():
    w = np.arange(1.0, 7.0)
    for source in (as_rows(X6), RowSource.from_blocks(lambda: iter([X6[:1], X6[1:]]), n_rows=6)):
        blocks = list(source.weighted(w).blocks(4))
        assert [b.weights.tolist() for b in blocks] == [[1, 2, 3, 4], [5, 6]]


@pytest.mark.parametrize(
    ("w", "text"),
    [
        (np.ones(5), r"one value for each of the 6 rows; its shape is \(5,\)"),
        (np.ones((6, 1)), r"its shape is \(6, 1\)"),
        ([1, 1, -1, 1, 1, 1], "row 2 has -1"),
        ([1, 1, 1, 1, np.nan, 1], "row 4 has nan"),
        (np.zeros(6), "all sample weights are zero"),
    ],
)
def test_bad_weights_are_refused(w, text):
    with pytest.raises(DataError, match=text):
        as_rows(X6).weighted(w)


def test_weights_need_a_known_number_of_rows():
    with pytest.raises(DataError, match="known number"):
        RowSource.from_blocks(iter([X6])).weighted(np.ones(6))


@pytest.mark.parametrize("make", [as_rows, lambda X: RowSource.from_blocks(lambda: iter([X[:2], X[2:]]), n_rows=6)])
def test_weights_of_one_fit_do_not_stick_to_the_source(make):
    source = make(X6 + [[0.0, 1.0]] * 6)
    weighted = lowland.PCA(1).fit(source, sample_weight=[5, 1, 1, 1, 1, 1]).mean_
    plain = lowland.PCA(1).fit(source).mean_
    assert weighted[0] != plain[0]
    np.testing.assert_allclose(plain, X6.mean(axis=0) + np.array([0, 1]))


# -- what is not finite --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "name"), [(np.nan, "NaN"), (np.inf, r"infinity \(inf\)"), (-np.inf, r"infinity \(-inf\)")]
)
@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csr_array, "torch"])
def test_what_is_not_finite_is_named(value, name, make):
    X = np.ones((5, 4))
    X[0, :3] = 0
    X[3, 2] = value
    if make == "torch":
        make = pytest.importorskip("torch").from_numpy
    with pytest.raises(DataError, match=f"{name} at row 103, column 2: ") as error:
        require_finite(Block(100, make(X), None))
    assert (error.value.row, error.value.column) == (103, 2)
    with pytest.raises(DataError, match=rf"{name} at row 3, column 2 \('c'\): "):
        require_finite(Block(0, make(X), None, ["a", "b", "c", "d"]))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("solver", ["svd", "covariance", "gram", "krylov"])
@pytest.mark.parametrize("n", [20, 5000])
def test_the_column_is_named_whatever_the_road(kind, solver, n):
    X = np.arange(2.0 * n).reshape(n, 2)
    X[n - 3, 1] = np.nan
    with pytest.raises(DataError, match=rf"NaN at row {n - 3}, column 1 \('income'\)") as error:
        lowland.PCA(1, solver=solver).fit(RowSource.from_array(kind(X), names=["age", "income"]))
    assert (error.value.row, error.value.column) == (n - 3, 1)


def test_the_place_of_an_error_is_known_or_none():
    for bad, place in (
        ([[1, 2], [3]], (1, None)),
        ([["1", "2"], ["3", "x"]], (1, 1)),
        (pd.DataFrame({"a": [1, 2], "b": ["3", "y"]}), (1, 1)),
        (np.zeros(3), (None, None)),
        (iter([np.array([["1", "x"]])]), (None, 1)),  # the row of a block is not the row of the table
    ):
        with pytest.raises(DataError) as error:
            as_rows(bad)
        assert (error.value.row, error.value.column) == place
        sent = pickle.loads(pickle.dumps(error.value))
        assert (str(sent), sent.row, sent.column) == (str(error.value), *place)


def test_huge_values_and_allowed_gaps_pass():
    require_finite(Block(0, np.full((100, 3), 1e308), None))
    X = np.array([[1.0, np.nan]])
    require_finite(Block(0, X, None), allow_nan=True)
    with pytest.raises(DataError, match="infinity"):
        require_finite(Block(0, np.array([[np.nan, np.inf]]), None), allow_nan=True)


# -- row-wise work -------------------------------------------------------------------------------------------


def test_map_blocks_joins_in_order_and_in_the_precision_of_the_source(backend):
    X = np.arange(20_000.0).reshape(10_000, 2).astype(np.float32)
    for source in (
        as_rows(backend(X)),
        RowSource.from_blocks(lambda: iter([backend(X[:7]), backend(X[7:])])),
        RowSource.from_blocks([backend(X[:7]), backend(X[7:])], n_rows=10_000),
    ):
        out = source.map_blocks(lambda rows: rows[:, :1] * 2.0, 1)
        assert type(out) is type(backend(X))
        assert np.asarray(out).dtype == np.float32
        np.testing.assert_array_equal(np.asarray(out), 2 * X[:, :1])


def test_map_blocks_refuses_what_is_not_finite():
    X = np.ones((9000, 2))
    X[8500, 1] = np.nan
    with pytest.raises(DataError, match="NaN at row 8500, column 1"):
        as_rows(X).map_blocks(lambda rows: rows, 2)


def test_a_source_without_rows_is_reduced_and_still_not_fitted(rng):
    model, empty = lowland.PCA(2).fit(rng.standard_normal((9, 3))), lowland.RowSource.from_array(np.empty((0, 3)))
    assert model.transform(empty).shape == (0, 2)
    with pytest.raises(lowland.DataError, match=r"Found array with 0 sample\(s\)"):
        lowland.PCA(2).fit(empty)
