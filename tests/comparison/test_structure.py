"""What the data say by themselves: the same in every form, and neither skew nor rounding nor repeated rows mislead."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import lowland
from lowland.comparison.crowding import crowded, one_hump
from lowland.comparison.dataset import Target, read
from lowland.comparison.structure import Evidence, guessed, look


def seen(X, metric: str = "euclidean") -> Evidence:
    return look(read(X, None, metric, None, 0.2, 0)[0], 10, 0)[0]


def distances(X: np.ndarray) -> np.ndarray:
    return np.linalg.norm(X[:, None] - X, axis=2)


def test_rows_sparse_rows_and_distances_of_the_same_points_get_the_same_answers(roll, rng):
    cloud = rng.standard_normal((300, 6))
    for X, structured, judged in ((roll[::2], True, "geodesic"), (cloud[:200], False, "direct")):
        forms = [seen(X), seen(sp.csr_array(X)), seen(distances(X), "precomputed")]
        for found in forms:
            assert (found.structured, found.distances, found.pieces) == (structured, judged, 1)
            assert found.crowding == pytest.approx(forms[0].crowding, abs=0.03)


def test_distances_are_measured_along_the_data_from_rows_and_from_distances_alike(roll):
    X = roll[::4]
    forms = ((X, "euclidean"), (distances(X), "precomputed"))
    a, b = (look(read(form, None, metric, None, 0.0, 0)[0], 10, 0)[1] for form, metric in forms)
    np.testing.assert_allclose(a.geodesic["training"], b.geodesic["training"], rtol=1e-9)


def test_many_columns_are_seen_by_their_distances(roll, rng):
    wide = roll[::2] @ np.linalg.qr(rng.standard_normal((700, 3)))[0].T
    found = seen(wide)
    assert found.crowding == pytest.approx(seen(roll[::2]).crowding, abs=0.03)
    assert found.column_crowding is None
    assert found.distances == "geodesic"


@pytest.mark.filterwarnings("ignore::lowland.DominantColumnWarning")  # of mixed lognormals one may be such
@pytest.mark.parametrize("sort", ["exponential", "lognormal", "mixed lognormal", "many zeros"])
def test_skew_is_no_structure(sort, rng):
    X = {
        "exponential": lambda: rng.exponential(size=(400, 10)),
        "lognormal": lambda: rng.lognormal(size=(400, 10)),
        "mixed lognormal": lambda: np.exp(rng.standard_normal((400, 6)) @ rng.standard_normal((6, 6)) / 2),
        "many zeros": lambda: rng.exponential(size=(400, 10)) * (rng.random((400, 10)) < 0.3),
    }[sort]()
    found = seen(X)
    assert found.crowding < 0.9, "beside a Gaussian cloud they are crowded"
    assert found.column_crowding > 0.93
    assert found.structured is False
    assert found.distances == "direct"
    assert found.strays == 0, "a tail is no stray"


@pytest.mark.parametrize("sort", ["rounded, 2 columns", "rounded, 4 columns", "coins", "counts"])
def test_rounding_is_no_structure(sort, rng):
    X = {
        "rounded, 2 columns": lambda: rng.standard_normal((800, 2)).round(),
        "rounded, 4 columns": lambda: rng.standard_normal((800, 4)).round(),
        "coins": lambda: rng.integers(2, size=(800, 10)).astype(float),
        "counts": lambda: rng.poisson(1, size=(800, 8)).astype(float),
    }[sort]()
    found = seen(X)
    assert found.structured is False
    assert found.crowding > 0.9


def test_repeated_rows_change_nothing(roll):
    X = roll[:300]
    for times in (1, 4):
        given, _ = read(np.repeat(X, times, axis=0), None, "euclidean", None, 0.0, 0)
        evidence, truth = look(given, 10, 0)
        assert (evidence.structured, evidence.distances, evidence.pieces) == (True, "geodesic", 1)
        assert evidence.crowding == pytest.approx(seen(X).crowding)
    rows = np.flatnonzero(given.paired) // 4
    equal = rows[:, None] == rows
    assert (truth.geodesic["training"][equal] == 0).all()
    assert (truth.geodesic["training"][~equal] > 0).all()


def test_equal_points_behind_rounded_distances_count_once(roll):
    """By ‖x‖² + ‖y‖² − 2 x·y equal points are some 1e-7 apart, and each other's only neighbours."""
    from sklearn.metrics import pairwise_distances

    square = pairwise_distances(np.repeat(roll[:300], 4, axis=0) + 5)
    apart = square[np.arange(0, 1200, 4), np.arange(1, 1200, 4)]
    assert 0 < apart.max() < 1e-5, "the rounding is there"
    found, plain = seen(square, "precomputed"), seen(roll[:300])
    assert (found.structured, found.distances, found.pieces) == (True, "geodesic", 1)
    assert found.crowding == pytest.approx(plain.crowding, abs=0.03)


@pytest.mark.parametrize("form", ["rows", "sparse", "distances"])
def test_a_cloud_is_for_principal_components_and_a_roll_is_not_in_every_form(form, roll, rng, at_once):
    make = {"rows": np.asarray, "sparse": sp.csr_array, "distances": distances}[form]
    metric = "precomputed" if form == "distances" else "euclidean"
    straight = "classical_mds" if form == "distances" else "pca"
    for X, chosen in ((rng.standard_normal((150, 6)), straight), (roll[::2], "isomap")):
        methods = [straight, "isomap"] if form == "sparse" else [straight, "metric_mds", "isomap"]
        found = lowland.compare(make(X), methods, budget=None, metric=metric)
        assert found.recommend().method == chosen


@pytest.mark.parametrize("direction", ["a column", "all columns"])
def test_a_cluster_apart_is_structure_though_one_column_tells_it(direction, rng):
    X = rng.standard_normal((300, 6))
    X[:30] += 10 * (np.eye(6)[0] if direction == "a column" else np.ones(6))
    found = crowded(X, 10, 0)
    assert found.apart
    assert found.structured


def test_too_few_different_rows_say_nothing(rng):
    found = seen(rng.integers(2, size=(100, 3)).astype(float))  # 8 kinds of rows
    assert (found.crowding, found.structured, found.distances) == (None, None, "direct")


def test_one_hump_keeps_what_has_one_and_fills_the_gap_between_two(rng):
    skewed = np.sort(rng.lognormal(size=500))
    assert np.abs(one_hump(skewed) - skewed).mean() < 0.05 * skewed.std()
    two = np.sort(np.concatenate([rng.standard_normal(250), 20 + rng.standard_normal(250)]))
    found = one_hump(two)
    assert np.diff(two).max() > 10
    assert np.diff(found).max() < 1
    assert (np.diff(found) >= 0).all()
    assert (found[0], found[-1]) == pytest.approx((two[0], two[-1]))


def test_of_classes_with_equally_many_votes_the_nearest_wins():
    """Votes a b b c c a: two for each, and the nearest is a."""
    points = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    codes = np.array([2, 0, 1, 1, 2, 2, 0])
    guess = guessed(points, "euclidean", Target("t", codes, ("a", "b", "c")), 6)
    assert guess[0] == 0
    swapped = np.array([2, 2, 1, 1, 0, 0, 2])  # c b b a a c
    assert guessed(points, "euclidean", Target("t", swapped, ("a", "b", "c")), 6)[0] == 2


def test_a_skewed_cloud_is_for_pca(rng, at_once):
    found = lowland.compare(rng.exponential(size=(300, 8)), ["pca", "metric_mds"], budget=None)
    assert found.recommend().method == "pca"


def test_a_column_of_another_unit_is_told(at_once):
    import polars as pl

    X = np.random.default_rng(0).normal(size=(80, 3)) * [1, 1, 900]
    frame = pl.DataFrame(X, schema=["a", "b", "proline"])
    with pytest.warns(lowland.DominantColumnWarning, match="compare: column 'proline' holds"):
        found = lowland.compare(frame, ["pca", "isomap"], budget=None)
    assert any("'proline' holds" in reason for reason in found.recommend().reasons)
    again = lowland.compare(X / X.std(axis=0), ["pca"], budget=None)
    assert again.record["data"]["dominant"] is None
