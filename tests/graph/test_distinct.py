"""Equal rows: found on hard inputs, in work that is linear in the number of entries for tables of every shape."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from counting import lines_run
from lowland.graph import distinct as module
from lowland.graph.distinct import distinct

WIDTHS = [1, 31, 32, 33, 255, 257, 2500]


def check(X, rows=None):
    """Hold the result against a dictionary of the rows; ``rows`` are what X stands for."""
    rows = np.asarray(X if rows is None else rows)
    seen: dict[tuple, int] = {}
    kinds = [seen.setdefault(tuple(row), len(seen)) for row in rows.tolist()]  # 0.0 == -0.0, with one hash
    first = [kinds.index(kind) for kind in range(len(seen))]
    same = distinct(X)
    assert same.inverse.tolist() == kinds
    assert same.first.tolist() == first
    assert same.first.dtype == same.inverse.dtype == np.int64
    return same


def kinds_of(rng, n, width, dtype=float):
    """Rows of a few kinds, all of them often; half of the entries are zero."""
    kinds = rng.standard_normal((5, width)) * (rng.random((5, width)) < 0.5)
    return kinds[rng.integers(0, 5, n)].astype(dtype)


def unordered(X, rng):
    """Return X as CSR whose entries stand in no order, some in two parts, with stored zeros of both signs."""
    i, j = np.nonzero(X)
    extra = rng.integers(0, X.shape[0], 40), rng.integers(0, X.shape[1], 40)
    i, j = np.concatenate([i, i[:30], extra[0]]), np.concatenate([j, j[:30], extra[1]])
    data = X[i, j].copy()
    data[np.count_nonzero(X) :] = 0.0
    data[:30] /= 2
    data[np.count_nonzero(X) : np.count_nonzero(X) + 30] = data[:30]
    data[-20:] *= -1.0
    order = rng.permutation(len(i))
    order = order[np.argsort(i[order], kind="stable")]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=X.shape[0]))])
    return sp.csr_array((data[order], j[order], indptr), shape=X.shape)


# -- results ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.longdouble, np.int64, np.uint8, np.bool_])
def test_rows_of_few_kinds(width, dtype, rng):
    X = kinds_of(rng, 60, width, dtype)
    check(X)
    check(np.asfortranarray(X))
    check(np.repeat(X, 2, axis=1)[::-1, ::2])


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_that_all_differ_or_all_agree(width, rng):
    X = rng.standard_normal((40, width))
    assert len(check(X).first) == 40
    assert len(check(np.repeat(X[:1], 40, axis=0)).first) == 1
    assert len(check(X[:1]).first) == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("column", [0, 31, 32, 300, 2499])
def test_rows_that_differ_by_one_rounding_in_one_column(column, dtype, rng):
    X = np.repeat(rng.standard_normal((1, 2500)), 6, axis=0).astype(dtype)
    X[3, column] = np.nextafter(X[3, column], dtype(np.inf))
    assert check(X).inverse.tolist() == [0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_sign_of_zero_does_not_count(dtype, rng):
    X = kinds_of(rng, 50, 700, dtype)
    want = distinct(X)
    X[X == 0] *= rng.choice([-1, 1], (X == 0).sum()).astype(dtype)
    assert np.signbit(X[X == 0]).any()
    assert check(X).inverse.tolist() == want.inverse.tolist()


def test_entries_in_other_columns_make_other_rows():
    X = np.zeros((3, 400))
    X[0, 350], X[1, 351], X[2, [350, 351]] = 1.0, 1.0, 0.5
    assert len(check(X).first) == 3
    assert len(distinct(sp.csr_array(X)).first) == 3


def test_whole_numbers_beyond_float64_are_compared_exactly():
    X = np.array([[2**53, 1], [2**53 + 1, 1], [2**53, 1]])
    assert check(X).inverse.tolist() == [0, 1, 0]
    assert distinct((X + 2**62).astype(np.uint64) * 3).inverse.tolist() == [0, 1, 0]
    assert distinct(sp.csr_array(X)).inverse.tolist() == [0, 1, 0]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_sparse_rows_are_the_dense_rows(width, dtype, rng):
    X = kinds_of(rng, 60, width, dtype)
    X[7] = 0  # a row without entries
    for form in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_matrix, sp.lil_array):
        check(form(X), X)


def test_sparse_rows_with_stored_zeros_parts_and_any_order(rng):
    X = kinds_of(rng, 60, 80)
    S = unordered(X, rng)
    assert not S.has_canonical_format
    before = S.copy()
    np.testing.assert_array_equal(S.toarray(), X)
    check(S, X)
    for part in ("data", "indices", "indptr"):  # the rows of the caller stay as they are
        np.testing.assert_array_equal(getattr(S, part), getattr(before, part))
    S.sum_duplicates()
    assert (S.data == 0).any()
    check(S, X)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_that_share_a_hash_are_still_told_apart(form, rng, monkeypatch):
    X = rng.integers(0, 3, (120, 3)).astype(float)
    monkeypatch.setattr(module, "_mixed", lambda bits, columns: np.zeros_like(bits))
    check(form(X), X)


# -- work ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape", [(200_000, 3), (2000, 300), (12, 50_000), (2, 300_000)], ids=["tall", "square", "wide", "two_rows"]
)
@pytest.mark.parametrize("differ", ["nowhere", "everywhere", "at_the_end"])
@pytest.mark.parametrize("form", [np.float64, np.float32, sp.csr_array])
def test_python_runs_for_chunks_of_entries_and_not_for_columns(shape, differ, form):
    n = shape[0]
    X = np.ones(shape)
    if differ == "everywhere":
        X *= np.arange(n)[:, None]
    elif differ == "at_the_end":
        X[:, -1] = np.arange(n)
    X = form(X)
    assert lines_run(lambda: distinct(X), module) < 1000 + 60 * np.prod(shape) / module._ENTRIES_AT_ONCE
    if differ == "at_the_end":
        assert len(distinct(X).first) == n


@pytest.mark.parametrize("shape", [(5000, 3), (300, 300), (12, 20_000)], ids=["tall", "square", "wide"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_entry_is_hashed_twice(shape, dtype, rng, monkeypatch):
    hashed = []
    plain = module._bits
    monkeypatch.setattr(module, "_bits", lambda values: hashed.append(values.size) or plain(values))
    n, d = shape
    distinct(np.ones(shape, dtype))
    assert sum(hashed) == n * d
    hashed.clear()
    distinct(rng.standard_normal(shape).astype(dtype))
    assert sum(hashed) == n * min(d, module._FIRST_COLUMNS)  # no two rows agree so far
    hashed.clear()
    X = rng.standard_normal(shape).astype(dtype)
    X[n // 2] = X[n // 3]
    assert len(distinct(X).first) == n - 1
    assert sum(hashed) == n * min(d, module._FIRST_COLUMNS) + 2 * max(0, d - module._FIRST_COLUMNS)
    hashed.clear()
    S = sp.csr_array(X)
    distinct(S)
    assert sum(hashed) == S.nnz


@pytest.mark.parametrize("shape", [(40_000, 50), (40, 50_000)], ids=["tall", "wide"])
def test_no_copy_of_the_table_is_made(shape):
    X = np.ones(shape)
    tracemalloc.start()
    try:
        distinct(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes / 4
