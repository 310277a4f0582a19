"""Points and their neighbourhood: equal objects, distances of zero, columns that dominate, components."""

import numpy as np
import pytest
import scipy.sparse as sp

from lowland.core.errors import DataError
from lowland.graph.points import PointMetric, PointSet, take


def square(X):
    return np.abs(X[:, None, :] - X[None, :, :]).sum(axis=2)


@pytest.mark.parametrize("kind", ["rows", "sparse", "square"])
def test_equal_objects_are_one_point(rng, kind):
    X = rng.integers(0, 3, (30, 2)).astype(float)
    inverse = np.unique(X, axis=0, return_inverse=True)[1]
    items = {"rows": X, "sparse": sp.csr_array(X), "square": square(X)}[kind]
    points = PointSet.of(items, "precomputed" if kind == "square" else "euclidean", "LLE")
    assert len(points.first) == len(np.unique(X, axis=0))
    for i in range(30):  # the same partition of the rows, whatever the numbers
        np.testing.assert_array_equal(points.inverse == points.inverse[i], inverse == inverse[i])
        np.testing.assert_array_equal(X[points.first[points.inverse[i]]], X[i])


def test_objects_at_distance_zero_are_merged(rng):
    """A metric may not tell objects apart that differ: cosine distances of multiples are zero."""
    X = rng.standard_normal((20, 3))
    X[10:] = 2 * X[:10]
    hood = PointSet.of(X, "cosine", "LLE").neighbors(lambda n: 4)
    assert hood.graph.n == 10
    np.testing.assert_array_equal(hood.inverse[:10], hood.inverse[10:])
    assert hood.evidence()["distinct rows"] == 10


def test_stored_distances_of_zero_are_merged():
    D = sp.lil_array((5, 5))
    for i, j, d in ((0, 1, 0.0), (1, 2, 2.0), (2, 3, 1.0), (3, 4, 3.0)):
        D[i, j] = D[j, i] = d if d else 1e-300
    D = sp.csr_array(D)
    D.data[D.data == 1e-300] = 0.0  # stored zeros are distances
    hood = PointSet.of(D, "precomputed", "Isomap").neighbors(lambda n: 2)
    assert hood.inverse.tolist() == [0, 0, 1, 2, 3]
    assert hood.first.tolist() == [0, 2, 3, 4]


def test_all_rows_equal_are_refused():
    with pytest.raises(DataError, match=r"LLE: all rows are equal \(rank 0\)"):
        PointSet.of(np.ones((4, 2)), "euclidean", "LLE").neighbors(lambda n: 2)


def test_columns_have_ranges_where_units_matter(rng):
    X = rng.uniform(size=(40, 3)) * [1.0, 300.0, 1.0]
    np.testing.assert_array_equal(PointSet.of(X, "euclidean", "LLE").ranges(), np.ptp(X, axis=0))
    assert PointSet.of(X, "cosine", "LLE").ranges() is None  # a metric without a unit
    assert PointSet.of(sp.csr_array(X), "euclidean", "LLE").ranges() is None


def test_components_are_bridged_or_split(rng):
    X = np.vstack([rng.uniform(size=(12, 2)), rng.uniform(size=(8, 2)) + 50.0])
    hood = PointSet.of(X, "euclidean", "LLE").neighbors(lambda n: 3)
    labels = np.r_[np.zeros(12, dtype=int), np.ones(8, dtype=int)]
    piece, links = hood.bridged(labels)
    assert (piece.n, links) == (20, 1)
    parts = hood.split(labels)
    assert [part.n for part in parts] == [12, 8]
    assert sorted(np.concatenate([part.numbers for part in parts]).tolist()) == list(range(20))
    offsets = X[13:16] - X[12]
    np.testing.assert_allclose(  # the geometry of a part is that of its own points
        parts[1].geometry.around(np.zeros(1, dtype=int), np.arange(1, 4)[None, :])[0], offsets @ offsets.T, atol=1e-9
    )


def test_take_of_a_square_takes_rows_and_columns(rng):
    D = square(rng.standard_normal((6, 2)))
    np.testing.assert_array_equal(take(D, np.array([4, 1]), True), D[[4, 1]][:, [4, 1]])
    assert take(None, np.array([1]), True) is None
    assert PointMetric("LLE", "precomputed", {}).precomputed
