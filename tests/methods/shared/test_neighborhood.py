"""The neighbourhood of training rows: distinct points, their graph, its components."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland.contract.fit_info import Recorder
from lowland.methods.shared.neighborhood import (
    components_of_points,
    count_neighbors,
    keep_points,
    learn_neighborhood,
    pieces_of,
)
from lowland.rows.row_source import as_rows


def learned(X, model=None):
    model, record = model or lowland.LLE(n_neighbors=3), Recorder("LLE")
    found = learn_neighborhood(model, as_rows(X), record, lambda n, record: count_neighbors(model, n, record))
    return found, record


def test_equal_rows_are_one_point(rng):
    X = rng.standard_normal((10, 2))
    found, record = learned(np.concatenate([X, X[:4]]))
    assert found.graph.n == 10
    assert record.evidence["distinct rows"] == 10
    np.testing.assert_array_equal(found.points[found.inverse], np.concatenate([X, X[:4]]))


def test_nothing_is_stored_before_it_is_kept(rng):
    model = lowland.LLE(n_neighbors=3)
    found, _ = learned(rng.standard_normal((10, 2)), model)
    assert not [name for name in vars(model) if name.endswith("_")]
    keep_points(model, found, found.n_neighbors, square=True)
    assert (model.metric_, model.neighbors_, model.square_) == ("euclidean", 3, None)


@pytest.mark.parametrize("square", [True, False])
def test_precomputed_distances_are_kept_if_new_rows_need_them(square, rng):
    X = rng.standard_normal((10, 2))
    D = np.linalg.norm(X[:, None] - X, axis=2)
    model = lowland.LLE(n_neighbors=3, metric="precomputed")
    keep_points(model, (hood := learned(D, model)[0]), hood.n_neighbors, square=square)
    np.testing.assert_array_equal(model.anchors_, np.arange(10))
    assert (model.square_ is not None) is square


@pytest.mark.parametrize("policy", ["bridge", "separate"])
def test_components_as_the_policy_says(policy, rng):
    X = np.concatenate([rng.standard_normal((8, 2)), 100 + rng.standard_normal((6, 2))])
    model = lowland.LLE(n_neighbors=3, disconnected=policy)
    found, record = learned(X, model)
    with pytest.warns(lowland.DisconnectedWarning, match="connected components is 2"):
        pieces, labels = pieces_of(model, found, record)
    np.testing.assert_array_equal(labels, [0] * 8 + [1] * 6)
    assert [piece.n for piece in pieces] == ([14] if policy == "bridge" else [8, 6])


def test_an_error_if_components_are_refused(rng):
    X = np.concatenate([rng.standard_normal((8, 2)), 100 + rng.standard_normal((6, 2))])
    model = lowland.LLE(n_neighbors=3, disconnected="error")
    found, record = learned(X, model)
    with pytest.raises(lowland.DisconnectedError, match="disconnected='bridge' or disconnected='separate'"):
        pieces_of(model, found, record)


def test_fewer_points_than_coordinates():
    record = Recorder("LLE")
    with pytest.warns(lowland.RankWarning, match="of 9 rows only 3 are distinct"):
        assert components_of_points(lowland.LLE(5), 9, 3, record) == 2
    assert components_of_points(lowland.LLE(2), 9, 3, record) == 2
