"""LTSA against scikit-learn; what all four methods share is in test_patch_alignment.py."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lle_reference import span_angle, theirs
from lowland.graph.geometry import Coordinates
from lowland.graph.patches import Patches, tangent_frames, with_center
from lowland.methods.manifold.ltsa import LTSA
from lowland.methods.shared.placing import NewRows


def dense_map(X, patches, d):
    F = patches.over(Coordinates(X), lambda G: tangent_frames(with_center(G), d), d + 1)
    return np.linalg.eigh(patches.matrix(F, complement=True).toarray())[1][:, 1 : d + 1]


@pytest.mark.parametrize(("shape", "d"), [("swiss_roll", 2), ("s_curve", 2), ("swiss_roll", 1)])
def test_patches_without_their_centre_give_the_map_of_scikit_learn(shape, d):
    X, _ = getattr(lowland.data, shape)(400)
    lists = NewRows(LTSA(d, n_neighbors=12).fit(X)).metric.search(X).graph(12).indices
    patches = Patches(np.arange(401) * 12, lists)
    assert span_angle(dense_map(X, patches, d), theirs("ltsa", X, n_components=d)) < 1e-6


@pytest.mark.parametrize("d", [1, 2])
def test_the_map_is_that_of_patches_with_their_centre(d):
    X, _ = lowland.data.swiss_roll(400)
    model = LTSA(d, n_neighbors=12).fit(X)
    patches = Patches.of_graph(NewRows(model).metric.search(X).graph(12))
    assert span_angle(dense_map(X, patches, d), model.embedding_) < 1e-6
