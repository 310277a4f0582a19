"""Coded rows written out, and their scatter made of counts."""

from __future__ import annotations

import numpy as np
import pytest

from lowland import coding
from lowland.coding import Layout
from lowland.rows import RowSource


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
    monkeypatch.setattr(coding, "MEETING_ROWS", 700)
    want = layout.moments(RowSource.from_array(rows), mean, scale).scatter
    for cut in (100, 999, 5000):
        blocks = RowSource.from_blocks(lambda cut=cut: (rows[a : a + cut] for a in range(0, 5000, cut)))
        np.testing.assert_array_equal(layout.moments(blocks, mean, scale).scatter, want)
