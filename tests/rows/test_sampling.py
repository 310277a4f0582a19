"""Samples of rows: uniform, and the same for any blocks."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import lowland
from lowland.rows.row_source import RowSource, as_rows
from lowland.rows.sampling import cut, draw, draw_pieces, keys_of, limit_of


@pytest.mark.parametrize("step", [1000, 777, 5000, 20_000])
def test_the_sample_does_not_depend_on_blocks(rng, step):
    X = rng.standard_normal((20_000, 3))
    want = draw(as_rows(X), 500, 3)
    got = draw(RowSource.from_blocks(lambda: (X[i : i + step] for i in range(0, len(X), step))), 500, 3)
    np.testing.assert_array_equal(got.numbers, want.numbers)
    np.testing.assert_array_equal(got.rows, X[want.numbers])
    assert got.n_rows == want.n_rows == len(X)


def test_frames_and_sparse_rows_give_the_same_numbers(rng):
    X = rng.standard_normal((3000, 4))
    want = draw(as_rows(X), 100, 1)
    frames = draw_pieces((pl.DataFrame(X[i : i + 700]) for i in range(0, 3000, 700)), 100, 1)
    np.testing.assert_array_equal(frames.rows.to_numpy(), want.rows)
    sparse = draw(as_rows(sp.csr_array(X)), 100, 1)
    np.testing.assert_array_equal(sparse.rows.toarray(), want.rows)


def test_a_larger_sample_contains_a_smaller_one_and_seeds_differ():
    X = np.arange(5000.0)[:, None]
    few, many, other = draw(as_rows(X), 50, 0), draw(as_rows(X), 200, 0), draw(as_rows(X), 50, 1)
    assert set(few.numbers) < set(many.numbers)
    assert set(few.numbers) != set(other.numbers)
    small, rest = many.split(50)
    np.testing.assert_array_equal(small, few.rows)
    assert len(rest) == 150


def test_every_row_is_as_likely_as_any_other():
    counts, pairs = np.zeros(200), 0
    for seed in range(3000):
        numbers = draw_pieces([np.empty((200, 1))], 20, seed).numbers
        counts[numbers] += 1
        pairs += 0 in numbers and 1 in numbers
    assert len(numbers) == 20
    expected, deviation = 300, np.sqrt(3000 * 0.1 * 0.9)
    assert np.abs(counts - expected).max() < 4.5 * deviation
    assert 0.85 * deviation < counts.std() < 1.15 * deviation
    assert abs(pairs - 3000 * 0.1 * 19 / 199) < 5 * np.sqrt(30)  # neighbouring rows are not drawn together


def test_keys_are_distinct_and_the_limit_is_that_of_the_sample():
    keys = keys_of(np.arange(100_000), 7)
    assert len(np.unique(keys)) == len(keys)
    assert (keys <= limit_of(100_000, 1234, 7)).sum() == 1234
    assert (keys <= limit_of(100, 1234, 7)).all()


def test_rows_outside_of_the_sample_are_checked():
    X = np.zeros((9000, 2))
    X[8123, 1] = np.nan
    with pytest.raises(lowland.DataError, match="row 8123, column 1"):
        draw(as_rows(X), 5)


def test_cut_keeps_rows_in_order(rng):
    X = rng.standard_normal((1000, 2))
    pieces = list(cut((X[i : i + 37] for i in range(0, 1000, 37)), 256))
    assert [len(piece) for piece in pieces] == [256, 256, 256, 232]
    np.testing.assert_array_equal(np.vstack(pieces), X)
