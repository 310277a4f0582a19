"""Trust point by point: definitions, known maps, ties, equal rows, samples, frames."""

from __future__ import annotations

import importlib
from dataclasses import FrozenInstanceError

import numpy as np
import polars
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import lowland
from lowland.quality.pointwise import pointwise, pointwise_from
from lowland.quality.ranks import rank_table
from lowland.quality.spaces import sides


def test_values_are_the_definitions(rng):
    X = rng.standard_normal((90, 5))
    Y = X[:, :2] + 0.2 * rng.standard_normal((90, 2))
    D, E = cdist(X, X), cdist(Y, Y)
    found = pointwise(X, Y, 6)
    ratios = []
    for i in range(90):
        near, near_map = (set(np.argsort(M[i])[1:7]) for M in (D, E))
        assert found.kept[i] == pytest.approx(len(near & near_map) / 6)
        data, map = (M[i, list(who)].mean() for M, who in ((D, near), (E, near_map)))
        assert found.false[i] == pytest.approx(1 - data / D[i, list(near_map)].mean(), abs=1e-12)
        assert found.missing[i] == pytest.approx(1 - map / E[i, list(near)].mean(), abs=1e-12)
        ratios.append(map / data)
    np.testing.assert_allclose(found.stretch, np.array(ratios) / np.median(ratios))
    assert len(found) == 90


def test_a_perfect_map_has_nothing_to_blame(rng):
    X = rng.standard_normal((80, 3))
    found = pointwise(X, 7 * X + 2)
    np.testing.assert_array_equal(found.kept, 1.0)
    np.testing.assert_array_equal(found.false, 0.0)
    np.testing.assert_array_equal(found.missing, 0.0)
    np.testing.assert_allclose(found.stretch, 1.0, rtol=1e-12)


def test_a_fold_makes_false_neighbours_and_a_cut_loses_true_ones():
    t = np.arange(40.0)
    rolled = np.column_stack([np.cos(t * 2 * np.pi / 40), np.sin(t * 2 * np.pi / 40)])
    folded = pointwise(rolled, rolled[:, :1] + 1e-3 * rolled[:, 1:], 4)  # upper and lower half fall together
    assert np.median(folded.false) > 0.7 > np.median(folded.missing) + 0.15
    cut = pointwise(rolled, t[:, None], 4)
    assert set(cut.worst(4).tolist()) == {0, 1, 38, 39}
    assert set(cut.worst(4, by="missing").tolist()) == {0, 1, 38, 39}
    assert cut.missing[0] > 0.7
    np.testing.assert_array_equal(cut.kept[2:38], 1.0)
    assert (cut.false[[0, 39]] < cut.missing[[0, 39]]).all()


def test_stretch_tells_where_a_map_is_drawn_apart(rng):
    x = np.sort(rng.random(300))
    bent = np.where(x < 0.75, x, 0.75 + 5 * (x - 0.75))
    found = pointwise(x[:, None], bent[:, None], 5)
    assert np.median(found.stretch[x < 0.7]) == pytest.approx(1.0, rel=1e-9)
    assert np.median(found.stretch[x > 0.8]) == pytest.approx(5.0, rel=1e-9)


def test_as_many_neighbours_are_false_as_are_missing(rng):
    X, Y = rng.standard_normal((100, 4)), rng.standard_normal((100, 2))
    found, back = pointwise(X, Y, 5), pointwise(Y, X, 5)
    np.testing.assert_allclose(found.kept, back.kept)
    np.testing.assert_allclose(found.false, back.missing)
    np.testing.assert_allclose(found.stretch * back.stretch, np.median(found.stretch * back.stretch), rtol=1e-9)


def test_equal_rows_and_points_in_one_place(rng):
    X = np.repeat(rng.standard_normal((20, 3)), 4, axis=0)  # the three nearest are at no distance
    together = pointwise(X, X[:, :2], 3)
    np.testing.assert_array_equal(together.kept, 1.0)
    np.testing.assert_array_equal(together.false, 0.0)
    assert np.isnan(together.stretch).all()  # 0/0: nothing to compare
    apart = pointwise(X, rng.standard_normal((80, 2)), 3)
    np.testing.assert_array_equal(apart.false[apart.kept < 1], 1.0)  # all else is infinitely farther
    assert np.isinf(apart.stretch).all()


def test_a_table_serves_its_anchors(rng):
    X, Y = rng.standard_normal((300, 4)), rng.standard_normal((300, 2))
    some = pointwise(X, Y, anchors=40)
    whole = pointwise_from(rank_table(sides(X, Y), 10, None))
    assert len(some) == 40
    np.testing.assert_array_equal(some.kept, whole.kept[some.point])
    np.testing.assert_array_equal(some.missing, whole.missing[some.point])
    assert set(some.worst(5)) <= set(some.point)


@pytest.mark.parametrize("tied", [False, True])
def test_lists_alone_give_the_same_for_all_points_of_a_large_set(tied, rng, monkeypatch):
    X, Y = rng.standard_normal((700, 4)), rng.standard_normal((700, 2))
    if tied:
        X, Y = np.round(X), np.round(2 * Y)
    want = pointwise(X, Y, 6)
    module = importlib.import_module("lowland.quality.pointwise")
    monkeypatch.setattr(module, "ALL", 100)
    monkeypatch.setattr(module, "rank_table", None)  # not called
    squared = cdist(X, X, "sqeuclidean")
    for data, metric in ((X, "euclidean"), (sp.csr_array(X), "euclidean"), (np.sqrt(squared), "precomputed")):
        got = pointwise(data, Y, 6, metric=metric)
        assert got.recall is None
        for name in ("point", "kept", "false", "missing", "stretch"):
            np.testing.assert_allclose(getattr(got, name), getattr(want, name), rtol=1e-12, atol=1e-12, err_msg=name)


def test_frame_and_worst(rng):
    X, Y = rng.standard_normal((50, 4)), rng.standard_normal((50, 2))
    found = pointwise(X, Y, 5)
    frame = found.to_frame()
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == ["point", "kept", "false", "missing", "stretch"]
    assert frame.shape == (50, 5)
    assert found.worst(3, by="false").tolist() == np.argsort(-found.false, kind="stable")[:3].tolist()
    assert (np.diff(found.kept[found.worst(50)]) >= 0).all()
    with pytest.raises(ValueError, match="'kept', 'false' or 'missing'"):
        found.worst(3, by="stretch")
    with pytest.raises(FrozenInstanceError):
        found.kept = found.false


def test_bad_input(rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(lowland.DataError, match="pointwise: X has 20 rows and Y has 19"):
        pointwise(X, X[:19])
    with pytest.raises(lowland.DataError, match="largest allowed is 18"):
        pointwise(X, X, 19)
