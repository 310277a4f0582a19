"""Coded rows written out, and their scatter made of counts."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import lowland
from lowland.methods.linear import famd_coding
from lowland.methods.linear.famd_coding import Layout
from lowland.rows.row_source import RowSource


def test_the_layout_of_coded_rows():
    layout = Layout.of(4, (0, 2), (2, 3))
    assert layout.width == 7
    assert layout.origin.tolist() == [0, 0, 1, 2, 2, 2, 3]
    assert layout.span(2) == slice(3, 6)
    rows = np.array([[1.0, 5.0, 0.0, 7.0], [0.0, 3.0, 2.0, 9.0]])
    mean, scale = np.arange(7.0), np.arange(1.0, 8.0)
    want = [[0, 1 / 2, 3 / 3, 1 / 4, 0, 0, 1 / 7], [1, 0, 1 / 3, 0, 0, 1 / 6, 3 / 7]]
    np.testing.assert_allclose(layout.dense(rows, mean, scale), want, rtol=1e-15)
    matrix = layout.sparse(RowSource.from_array(rows), mean, scale)
    assert matrix.nnz == 8
    np.testing.assert_allclose(matrix.toarray(), want, rtol=1e-15)


@pytest.fixture
def table(rng):
    """Two numbers and three categories of 3, 1 and 5 levels; the mean and the scale of their coded columns."""
    n = 5000
    rows = np.column_stack(
        [
            rng.integers(0, 3, n),
            1e6 + rng.standard_normal(n),
            np.zeros(n),
            rng.integers(0, 5, n),
            rng.standard_normal(n),
        ]
    )
    rows[:, 4] += rows[:, 0]
    layout = Layout.of(5, (0, 2, 3), (3, 1, 5))
    mean, scale = np.empty(layout.width), np.empty(layout.width)
    for j in range(5):
        at = layout.span(j)
        if j in layout.categorical:
            mean[at] = np.bincount(rows[:, j].astype(int)) / n
            scale[at] = np.sqrt(mean[at])
        else:
            mean[at], scale[at] = rows[:, j].mean(), rows[:, j].std()
    return rows, layout, mean, scale


def test_counts_make_the_scatter_of_the_coded_rows(table):
    rows, layout, mean, scale = table
    Z = layout.dense(rows, mean, scale)
    found = layout.moments(RowSource.from_array(rows), mean, scale)
    np.testing.assert_allclose(found.mean, Z.mean(axis=0), atol=1e-9)
    centred = Z - found.mean
    np.testing.assert_allclose(found.scatter, centred.T @ centred, atol=1e-8)
    np.testing.assert_array_equal(found.scatter, found.scatter.T)
    assert (found.n_rows, found.weight) == (5000, 5000.0)


def test_counts_do_not_depend_on_the_blocks(table, monkeypatch):
    rows, layout, mean, scale = table
    monkeypatch.setattr(famd_coding, "MEETING_ROWS", 700)
    want = layout.moments(RowSource.from_array(rows), mean, scale).scatter
    for cut in (100, 999, 5000):
        blocks = RowSource.from_blocks(lambda cut=cut: (rows[a : a + cut] for a in range(0, 5000, cut)))
        np.testing.assert_array_equal(layout.moments(blocks, mean, scale).scatter, want)


@pytest.fixture
def many(rng):
    """Two categories of so many levels that most pairs of them never meet, and a number."""
    n, sizes = 2500, (1200, 1500)
    rows = np.column_stack([*(np.append(np.arange(K), rng.integers(0, K, n - K)) for K in sizes), rng.random(n)])
    layout = Layout.of(3, (0, 1), sizes)
    mean = np.concatenate([*(np.bincount(rows[:, j].astype(int)) / n for j in range(2)), [rows[:, 2].mean()]])
    scale = np.append(np.sqrt(mean[:-1]), rows[:, 2].std())
    return rows, layout, mean, scale


def test_levels_that_seldom_meet(many):
    rows, layout, mean, scale = many
    Z = layout.dense(rows, mean, scale)
    centred = Z - Z.mean(axis=0)
    found = layout.moments(RowSource.from_array(rows), mean, scale)
    np.testing.assert_allclose(found.scatter, centred.T @ centred, atol=1e-8)
    np.testing.assert_array_equal(found.scatter, found.scatter.T)


@pytest.mark.parametrize("threads", [1, 2])
def test_counting_holds_one_matrix(many, threads):
    rows, layout, mean, scale = many
    with lowland.config(threads=threads):
        tracemalloc.start()
        layout.moments(RowSource.from_array(rows), mean, scale)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert 1.0 <= peak / (8 * layout.width**2) < 1.25


def test_names_of_coded_columns_are_distinct():
    layout = Layout.of(4, (1, 2), (5, 2))
    levels = [[1, "1", "missing", "x=y", None], ["y", "1"]]
    assert layout.names(["a", "k", "k=x", "k=1"], levels) == [
        "a",
        "k=1",
        "k='1'",
        "k='missing'",
        "k='x=y'",
        "k=missing",
        "k=x='y'",
        "k=x=1",
        "k=1′",
    ]
