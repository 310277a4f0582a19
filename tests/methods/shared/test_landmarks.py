"""Landmarks: how many, which, and what randomly pivoted Cholesky promises."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland.methods.shared import landmarks
from lowland.methods.shared.landmarks import Landmarks, landmarks_of, whitener
from lowland.pairs.distances import metric
from lowland.pairs.kernels import GivenKernel, kernel
from lowland.rows.object_rows import ObjectRows
from lowland.rows.row_source import RowSource


def missed(K, chosen):
    """Relative trace error of the Nyström approximation from these columns."""
    C = K[:, chosen]
    return np.trace(K - C @ np.linalg.pinv(K[np.ix_(chosen, chosen)], hermitian=True) @ C.T) / np.trace(K)


@pytest.fixture
def clusters(rng):
    """Most points in one tight heap, few scattered: what uniform drawing does not see."""
    return np.concatenate([0.05 * rng.standard_normal((960, 3)), 3 * rng.standard_normal((40, 3))])


@pytest.mark.parametrize(
    ("spec", "n", "found"),
    [
        (None, 10**6, None),
        ("auto", 1000, None),
        ("auto", 1001, Landmarks("mine", 50)),
        (20, 100, Landmarks("mine", 20)),
        (200, 100, Landmarks("mine", 100)),
        ("uniform", 100, Landmarks("uniform", 50)),
        ("uniform:7", 100, Landmarks("uniform", 7)),
    ],
)
def test_what_the_parameter_means(spec, n, found):
    assert landmarks_of(spec, n, exact_below=1000, count=50, strategy="mine") == found


def test_rpcholesky_beats_uniform_where_density_varies(clusters):
    rule = kernel("rbf", clusters, gamma=1.0)
    K = rule(clusters, clusters)
    best = np.linalg.eigvalsh(K)[:-30].sum() / np.trace(K)  # no 30 columns can do better
    pivots, drawn = [], []
    for s in range(5):
        pivots.append(missed(K, landmarks.rpcholesky(rule, clusters, 30, np.random.default_rng(s))))
        drawn.append(missed(K, landmarks.uniform(1000, 30, np.random.default_rng(s))))
    assert min(pivots) >= best * (1 - 1e-9)
    assert np.mean(pivots) < 2 * best
    assert np.mean(pivots) < np.mean(drawn) / 2


def test_rpcholesky_draws_each_pivot_by_what_it_lacks():
    """The first pivot: chances are the diagonal. Blocks of proposals must not change that."""
    X = np.diag([1.0, 2.0, 3.0, 4.0])  # a linear kernel with diagonal 1, 4, 9, 16 and orthogonal objects
    rule = kernel("linear", X)
    rule.shift = 0.0
    first = [int(landmarks.rpcholesky(rule, X, 1, np.random.default_rng(s))[0]) for s in range(600)]
    np.testing.assert_allclose(np.bincount(first, minlength=4) / 600, np.array([1, 4, 9, 16]) / 30, atol=0.06)


def test_rpcholesky_stops_when_nothing_is_left(rng):
    X = rng.standard_normal((200, 3))
    chosen = landmarks.rpcholesky(kernel("linear", X), X, 50, rng)
    assert len(chosen) == 3
    repeated = np.repeat(rng.standard_normal((6, 3)), 20, axis=0)
    chosen = landmarks.rpcholesky(kernel("rbf", repeated), repeated, 50, rng)
    assert len(np.unique(repeated[chosen], axis=0)) == len(chosen) == 6
    with pytest.raises(lowland.DataError, match="rank 0"):
        landmarks.rpcholesky(kernel("linear", X), np.zeros((20, 3)), 5, rng)


def test_rpcholesky_of_a_given_square(clusters):
    rule = kernel("rbf", clusters, gamma=1.0)
    given = GivenKernel(rule(clusters, clusters))
    a = landmarks.rpcholesky(rule, clusters, 40, np.random.default_rng(0))
    b = landmarks.rpcholesky(given, np.arange(1000), 40, np.random.default_rng(0))
    assert len(np.intersect1d(a, b)) > 35  # rounding may turn a draw


def test_spread_strategies(clusters):
    rule = metric("euclidean", clusters)
    rng = np.random.default_rng(0)
    far = landmarks.farthest(rule, clusters, 20, rng)
    assert (far >= 960).sum() >= 19  # the heap is one point to it
    gaps = np.sort(rule(clusters[far], clusters[far]), axis=1)[:, 1]
    drawn = landmarks.uniform(1000, 20, rng)
    assert gaps.min() > 5 * np.sort(rule(clusters[drawn], clusters[drawn]), axis=1)[:, 1].min()
    assert (landmarks.kmeans_plus_plus(rule, clusters, 20, rng) >= 960).mean() > 0.5
    assert len(landmarks.farthest(rule, np.repeat(clusters[:4], 5, axis=0), 10, rng)) == 4


def test_candidates_are_all_or_a_sample():
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(landmarks.candidates(20_000, 100, rng), np.arange(20_000))
    some = landmarks.candidates(50_000, 100, rng)
    assert len(np.unique(some)) == 20_000
    assert len(landmarks.candidates(50_000, 2000, rng)) == 40_000


def test_kmeans_centres(clusters):
    centres = landmarks.kmeans(clusters, 12, np.random.default_rng(0))
    assert centres.shape == (12, 3)
    near = ((clusters[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
    for j in range(12):
        assert (near == j).any()
    assert len(landmarks.kmeans(np.repeat(clusters[:3], 9, axis=0), 8, np.random.default_rng(0))) == 3


def test_choose_reads_any_source(clusters):
    rule = kernel("rbf", clusters, gamma=1.0)
    blocks = RowSource.from_blocks(lambda: (clusters[:333], clusters[333:]))
    whole = RowSource.from_array(clusters)
    for strategy in ("rpcholesky", "uniform", "kmeans"):
        a, b = (landmarks.choose(rule, s, Landmarks(strategy, 15), np.random.default_rng(1)) for s in (blocks, whole))
        np.testing.assert_array_equal(a, b)
        assert len(a) == 15
    words = ObjectRows(["a", "ab", "abc", "b"])
    shared = kernel(lambda a, b: float(len(set(a) & set(b))), words.array)
    with pytest.raises(lowland.DataError, match="rows of numbers"):
        landmarks.choose(shared, words, Landmarks("kmeans", 2), np.random.default_rng(1))
    assert len(landmarks.choose(shared, words, Landmarks("rpcholesky", 2), np.random.default_rng(1))) == 2


def test_whitener(rng):
    A = rng.standard_normal((30, 8))
    found = whitener(A @ A.T)  # of rank 8
    assert found.W.shape == (30, 8)
    np.testing.assert_allclose(found.W.T @ A @ A.T @ found.W, np.eye(8), atol=1e-10)
    assert str(found.negative) == "0.0"
    indefinite = whitener(np.diag([3.0, -1.0]))
    assert (indefinite.least, indefinite.negative, indefinite.W.shape) == (-1.0, 0.25, (2, 1))
    with pytest.raises(lowland.DataError, match="rank 0"):
        whitener(np.diag([-3.0, -1.0]))
