"""Mean, scatter and R factor: exact, mergeable, and without a trace of how the rows were cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from lowland import RowSource, config
from lowland.core.arrays import to_numpy
from lowland.core.errors import Cancelled, DataError, MemoryLimitError
from lowland.rows import moments
from lowland.rows.accumulator import SEGMENT_BLOCKS
from lowland.rows.gram_sums import Scratch, subtract, symmetric_sum
from lowland.rows.moments import ColumnMoments, Moments, RFactor, column_moments, r_factor
from lowland.rows.moments import triangle as _triangle
from lowland.rows.row_source import as_rows, block_rows

KINDS = (Moments, RFactor, ColumnMoments)


def reference(X, w=None):
    """Mean and scatter, centred in extended precision."""
    X = np.asarray(X).astype(np.longdouble)
    w = np.ones(len(X)) if w is None else np.asarray(w, float)
    mean = (w[:, None] * X).sum(axis=0) / w.sum()
    Z = np.asarray(X - mean, float)
    return np.asarray(mean, float), (w[:, None] * Z).T @ Z


def scatter_of(seen):
    """The scatter (its diagonal for column moments) that an accumulator stands for."""
    done = seen.finished()
    if isinstance(done, Moments):
        return to_numpy(done.scatter)
    return to_numpy(done.squares) if isinstance(done, ColumnMoments) else to_numpy(done.R.mT @ done.R)


def bits(seen):
    done = seen.finished()
    name = {Moments: "scatter", RFactor: "R", ColumnMoments: "squares"}[type(seen)]
    return done.n_rows, done.weight, to_numpy(done.mean).tobytes(), to_numpy(getattr(done, name)).tobytes()


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture
def X(rng):
    return rng.standard_normal((9000, 5)) @ rng.standard_normal((5, 5)) + [1, -20, 300, 0, 5]


# -- segments ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tall():
    return np.random.default_rng(5).standard_normal((150_001, 3)) + np.array([0, 1e6, -3])


def test_segments_summed_elsewhere_give_the_same_bits(tall, kind):
    step = SEGMENT_BLOCKS * block_rows(3)
    total = kind(3)
    for start in range(0, len(tall), step):
        total.add_segment(kind(3).update(as_rows(tall[start : start + step])).close())
    assert step < len(tall) / 2
    assert bits(total) == bits(kind(3).update(as_rows(tall)))


@pytest.mark.parametrize("batch", [999, 40_000, 65_536, 70_000])
def test_batches_across_segments_leave_no_trace(tall, kind, batch):
    seen = kind(3)
    for start in range(0, len(tall), batch):
        seen.update(as_rows(tall[start : start + batch]))
        if start == 2 * batch:
            assert seen.finished().n_rows == min(start + batch, len(tall))  # a look in between changes nothing
    assert bits(seen) == bits(kind(3).update(as_rows(tall)))


def test_an_open_segment_survives_its_state(tall, kind):
    if kind is ColumnMoments:
        pytest.skip("is never stored")
    first = kind(3, precise=True) if kind is Moments else kind(3)
    first.update(as_rows(tall[:100_001]))
    again = kind.from_state(first.to_state()[1]).update(as_rows(tall[100_001:]))
    assert bits(again) == bits(first.update(as_rows(tall[100_001:])))


def test_a_failed_batch_leaves_the_open_segment_as_it_was(tall, kind):
    seen, bad = kind(3).update(as_rows(tall[:30_000])), tall[30_000:90_000].copy()
    before = bits(seen)
    bad[50_000, 1] = np.nan
    with pytest.raises(DataError, match="row 50000"):
        seen.update(as_rows(bad))
    assert bits(seen) == before
    assert bits(seen.update(as_rows(tall[30_000:]))) == bits(kind(3).update(as_rows(tall)))


# -- right ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, 6, 300, 9000])
def test_moments_against_the_definition(n, X, kind, backend):
    done = kind(5).update(as_rows(backend(X[:n]))).finished()
    mean, S = reference(X[:n])
    assert (done.n_rows, done.weight) == (n, n)
    np.testing.assert_allclose(to_numpy(done.mean), mean, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(scatter_of(done), np.diag(S) if kind is ColumnMoments else S, rtol=1e-11, atol=1e-12 * n)


def test_sparse_rows_give_the_moments_of_dense_ones(rng, kind):
    D = rng.standard_normal((9000, 7)) * (rng.random((9000, 7)) < 0.2)
    found, expected = kind(7).update(as_rows(sp.csr_array(D))), kind(7).update(as_rows(D))
    np.testing.assert_allclose(found.finished().mean, expected.finished().mean, atol=1e-15)
    np.testing.assert_allclose(scatter_of(found), scatter_of(expected), atol=1e-10)


def test_entries_stored_twice_count_as_their_sum(kind):
    twice = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert scatter_of(kind(2).update(as_rows(twice))) == pytest.approx(
        scatter_of(kind(2).update(as_rows(np.array([[3.0, 0.0], [0.0, 4.0]]))))
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_weights_are_repeated_rows(X, kind, rng, sparse):
    w = rng.integers(0, 4, len(X))
    rows = sp.csr_array(X) if sparse else X
    found = kind(5).update(as_rows(rows).weighted(w)).finished()
    expected = kind(5).update(as_rows(np.repeat(X, w, axis=0))).finished()
    assert (found.n_rows, found.weight) == (np.count_nonzero(w), w.sum())
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-13)
    np.testing.assert_allclose(scatter_of(found), scatter_of(expected), rtol=1e-9)


def test_blocks_of_weight_zero_are_as_if_absent(X, kind):
    w = np.zeros(len(X))
    w[-30:] = 0.5
    found = kind(5).update(as_rows(X).weighted(w)).finished()
    mean, S = reference(X[-30:], np.full(30, 0.5))
    np.testing.assert_allclose(found.mean, mean, rtol=1e-13)
    np.testing.assert_allclose(scatter_of(found), np.diag(S) if kind is ColumnMoments else S, rtol=1e-10)


# -- large means ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "mean"), [(np.float32, 1e5), (np.float64, 1e8)])
@pytest.mark.parametrize("width", [4, 1030])
def test_a_large_mean_costs_no_digits(dtype, mean, width, rng, kind, backend):
    data = (rng.standard_normal((9000 if width == 4 else 300, width)) + mean).astype(dtype)
    centre, S = reference(data)
    found = kind(width).update(as_rows(backend(data))).finished()
    assert abs(to_numpy(found.mean) - centre).max() <= 4e-15 * mean + (1e-7 if dtype == np.float32 else 0)
    expected = np.diag(S) if kind is ColumnMoments else S
    rtol = 1e-12 if dtype == np.float64 else 30 * min(data.shape) * np.finfo(np.float32).eps
    assert abs(scatter_of(found) - expected).max() <= rtol * len(data)


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.3, -7e-9, 3e100])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_constant_columns_have_exactly_no_scatter(value, make, rng, kind):
    data = rng.standard_normal((20_000, 3))
    data[:, 1] = value
    S = scatter_of(kind(3).update(as_rows(make(data))))
    exact = S[1] if kind is ColumnMoments else S[1, :]
    np.testing.assert_array_equal(exact, 0.0)


# -- wide rows: tiles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 700, 1027, 4200])
def test_wide_scatters(n, rng, backend):
    D = 1027  # 4084 rows a block: n = 1027 makes a block as high as wide, n = 4200 two blocks
    data = rng.standard_normal((n, D)) + 5
    found = moments.moments(as_rows(backend(data)))
    Z = data - data.mean(axis=0)
    S = to_numpy(found.scatter)
    np.testing.assert_allclose(S, Z.T @ Z, atol=1e-9)
    np.testing.assert_array_equal(S, S.T)


def test_wide_scatters_streamed_weighted_merged_and_stored(rng):
    D, n = 1027, 1027
    data, w = rng.standard_normal((n, D)), rng.integers(0, 3, n)
    expected = Moments(D).update(as_rows(data))
    streamed = Moments(D)
    for a, b in itertools.pairwise((0, 1, 500, 1000, n)):
        streamed.update(as_rows(data[a:b]))
        streamed.finished()  # looking does not disturb
    assert bits(streamed) == bits(expected)
    restored = Moments.from_state(streamed.to_state()[1])
    assert bits(restored) == bits(expected)
    halves = Moments(D).update(as_rows(data[:300])).merge(Moments(D).update(as_rows(data[300:])))
    np.testing.assert_allclose(halves.finished().scatter, expected.finished().scatter, atol=1e-10)
    weighted = Moments(D).update(as_rows(data).weighted(w)).finished().scatter
    np.testing.assert_allclose(weighted, reference(data, w)[1], atol=1e-10)
    sparse = Moments(D).update(as_rows(sp.csr_array(data))).finished().scatter
    np.testing.assert_allclose(sparse, expected.finished().scatter, atol=1e-10)


# -- no trace of the cut -------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_calls_blocks_and_threads_leave_no_trace(X, kind, order, dtype):
    data = np.asarray(X, dtype=dtype, order=order)
    with config(threads=1):
        expected = bits(kind(5).update(as_rows(data)))
    for threads, cuts in ((2, ()), (2, (1, 2, 3, 8191, 8192)), (3, (8500,)), (1, tuple(range(7, 9000, 997)))):
        pieces = [data[a:b] for a, b in itertools.pairwise((0, *cuts, len(data)))]
        with config(threads=threads):
            streamed = kind(5).update(RowSource.from_blocks(iter(pieces)))
            batches = kind(5)
            for piece in pieces:
                batches.update(as_rows(piece))
        assert bits(streamed) == expected
        assert bits(batches) == expected


def test_batches_may_be_overwritten_by_the_caller(X, kind):
    batch, seen = np.empty((100, 5)), kind(5)
    for start in range(0, 1000, 100):
        batch[:] = X[start : start + 100]
        seen.update(as_rows(batch))
    batch[:] = np.nan
    assert bits(seen) == bits(kind(5).update(as_rows(X[:1000])))


def test_dense_and_sparse_batches_may_follow_each_other(X, kind):
    for order in ((np.asarray, sp.csr_array), (sp.csr_array, np.asarray)):
        seen = kind(5)
        for i, make in enumerate(order):
            seen.update(as_rows(make(X[10 * i : 10 * i + 10])))
        np.testing.assert_allclose(scatter_of(seen), scatter_of(kind(5).update(as_rows(X[:20]))), rtol=1e-10)


def test_looking_does_not_end_the_sum(X, kind):
    seen = kind(5).update(as_rows(X[:100]))
    first = bits(seen)
    seen.update(as_rows(X[100:]))
    assert bits(seen) == bits(kind(5).update(as_rows(X))) != first


def test_merge_in_any_order(X, kind):
    cuts = (0, 1, 4, 3000, 9000)
    mean, S = reference(X)
    for order in itertools.permutations(range(4)):
        total = kind(5)
        for i in order:
            total.merge(kind(5).update(as_rows(X[cuts[i] : cuts[i + 1]])))
        done = total.finished()
        assert done.n_rows == len(X)
        np.testing.assert_allclose(done.mean, mean, rtol=1e-13)
        np.testing.assert_allclose(scatter_of(total), np.diag(S) if kind is ColumnMoments else S, rtol=1e-11)


def test_merge_leaves_the_other_as_it_was_and_takes_an_empty_one(X, kind):
    other = kind(5).update(as_rows(X[:50]))
    before = bits(other)
    total = kind(5).update(as_rows(X[50:60])).merge(other)
    total.update(as_rows(X[60:9000]))
    assert bits(other) == before
    counted = total.finished().n_rows
    assert total.merge(kind(5)).finished().n_rows == counted == 9000
    with pytest.raises(DataError, match="cannot merge 4 columns into 5"):
        total.merge(kind(4))


@pytest.mark.parametrize("kind", [Moments, RFactor])
def test_state_goes_on_where_it_stopped(X, kind):
    w = np.linspace(0.5, 2, 100)
    make = (lambda: kind(5, precise=True)) if kind is Moments else (lambda: kind(5))
    seen = make().update(as_rows(X[:8250])).update(as_rows(X[8250:8350]).weighted(w))
    name, state = seen.to_state()
    assert name == kind.__name__
    again = kind.from_state(state)
    assert bits(again) == bits(seen)
    assert bits(again.update(as_rows(X[8350:]))) == bits(seen.update(as_rows(X[8350:])))


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_gap_is_refused_at_once_and_named_by_the_row_of_this_batch(X, kind, make):
    seen = kind(5).update(as_rows(make(X[:10])))
    before = bits(seen)
    for n, bad in ((20, 3), (9000, 4), (9000, 8999)):
        batch = X[:n].copy()
        batch[bad, 2] = np.nan
        with pytest.raises(DataError, match=f"NaN at row {bad}, column 2"):
            seen.update(as_rows(make(batch)))
        assert bits(seen) == before  # all of a batch or nothing of it


@pytest.mark.parametrize("n", [9000, 20])
def test_a_cancelled_update_leaves_what_was_there(X, kind, n):
    seen = kind(5).update(as_rows(X))
    before = bits(seen)
    with config(progress=lambda *what: False), pytest.raises(Cancelled):
        seen.update(as_rows(X[:n]))
    assert bits(seen) == before


def test_wide_updates_are_all_or_nothing_too(rng):
    data = rng.standard_normal((4200, 1027))
    seen = Moments(1027).update(as_rows(data[:4100]))
    before = bits(seen)
    with config(progress=lambda *what: False), pytest.raises(Cancelled):
        seen.update(as_rows(data))
    assert bits(seen) == before


def test_overflow_is_refused_and_named():
    data = np.full((4, 2), 3e38, dtype=np.float32)
    data[::2] *= -1
    with pytest.raises(DataError, match="overflow float32"):
        moments.moments(as_rows(data))


def test_nothing_seen_is_an_error():
    for kind in (Moments, RFactor):
        with pytest.raises(DataError, match="no rows"):
            kind(3).finished()


def test_a_scatter_beyond_the_limit_is_refused(rng):
    with config(memory_limit="10kB"), pytest.raises(MemoryLimitError, match="40 × 40 scatter matrix"):
        moments.moments(as_rows(rng.standard_normal((50, 40))))


# -- progress ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("work", "stage"), [(moments.moments, "scatter"), (r_factor, "QR"), (column_moments, "columns")]
)
@pytest.mark.parametrize("n", [3, 4096, 20_000])
def test_progress_reaches_its_end(work, stage, n, rng):
    seen = []
    with config(progress=lambda *what: seen.append(what)):
        work(as_rows(rng.standard_normal((n, 2))))
    total = -(-n // block_rows(2))
    assert seen == [(stage, i, total) for i in range(1, total + 1)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_shift_costs_no_digits(dtype, rng, backend):
    rows = (rng.standard_normal((50, 3)) + 1e5).astype(np.float32)
    shift = rows.astype(np.float64).mean(axis=0)
    for mean in (shift, shift.astype(np.float32)):
        found = to_numpy(subtract(backend(rows), mean, Scratch(), dtype))
        assert found.dtype == dtype
        exact = rows.astype(np.float64) - mean
        assert abs(found - exact).max() <= 4 * np.finfo(dtype).eps


@pytest.mark.parametrize("n", [6, 1030])
def test_symmetric_sum(n, rng):
    pieces, seen = [rng.standard_normal((m, n)) for m in (3, 40, 7)], []
    with config(progress=lambda *what: seen.append(what)):
        found = symmetric_sum(pieces, lambda piece, scratch: piece, n, stage="sum", total=3)
    np.testing.assert_allclose(found, sum(Z.T @ Z for Z in pieces), atol=1e-11)
    assert [done for _, done, _ in seen] == [1, 2, 3]


def test_a_stored_sparse_column_with_a_large_mean_costs_no_digits(rng):
    X = np.where(rng.random((3000, 5)) < 0.1, rng.standard_normal((3000, 5)), 0.0)
    X[:, 1] = 1e7 + rng.standard_normal(3000)
    X[:, 3] = 12.5
    wide = X.astype(np.longdouble)
    centred = (wide - wide.mean(axis=0)).astype(np.float64)
    got = moments.moments(as_rows(sp.csr_array(X)))
    np.testing.assert_allclose(got.scatter, centred.T @ centred, atol=1e-12 * len(X))
    np.testing.assert_allclose(column_moments(as_rows(sp.csr_array(X))).squares, (centred**2).sum(axis=0), rtol=1e-12)
    assert got.scatter[3, 3] == 0


def test_few_wide_rows_are_factored_once_and_not_with_each_block(rng, monkeypatch):
    d = 1 << 13
    X = rng.standard_normal((2 * block_rows(d) + 100, d))
    made = []
    monkeypatch.setattr(moments, "triangle", lambda Z: made.append(Z.shape) or _triangle(Z))
    seen = RFactor(d).update(as_rows(X))
    done = seen.finished()
    assert made == [(block_rows(d), d)] * 2 + [(100, d)]  # the blocks, and never all rows together
    assert done.R.shape == (len(X) + 2, d)  # and two rows that join the means of the blocks
    mean = X.mean(axis=0)
    probe = rng.standard_normal((d, 3))
    np.testing.assert_allclose(
        np.linalg.norm(done.R @ probe, axis=0), np.linalg.norm((X - mean) @ probe, axis=0), rtol=1e-11
    )
    stored = RFactor.from_state(seen.to_state()[1]).finished()
    np.testing.assert_array_equal(stored.R, done.R)


def test_rows_that_wait_are_factored_when_they_outnumber_the_columns(rng):
    X = rng.standard_normal((3 * block_rows(2000), 2000))
    R = r_factor(as_rows(X)).R
    assert R.shape == (2000, 2000)
    Z = X - X.mean(axis=0)
    np.testing.assert_allclose(R.T @ R, Z.T @ Z, atol=1e-10 * len(X))


def test_a_thread_uses_its_buffer_again_for_rows_of_the_same_precision():
    scratch = Scratch()
    held = scratch.take(100, 1 << 14, np.float64)
    assert held.shape == (100, 1 << 14)
    held[:] = 1.0
    again = scratch.take(50, 1 << 14, np.float64)
    assert np.shares_memory(held, again)
    assert not np.shares_memory(held, scratch.take(50, 1 << 14, np.float32))
