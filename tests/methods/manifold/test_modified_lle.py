"""Modified LLE against scikit-learn; what all four methods share is in test_patch_alignment.py."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lle_reference import span_angle, theirs
from lowland.methods.manifold.lle import LLE
from lowland.methods.manifold.modified_lle import ModifiedLLE


@pytest.mark.parametrize(("shape", "d"), [("swiss_roll", 2), ("s_curve", 2), ("swiss_roll", 1), ("s_curve", 3)])
def test_the_same_map_as_scikit_learn(shape, d):
    X, _ = getattr(lowland.data, shape)(400)
    want = theirs("modified", X, n_components=d)
    assert span_angle(ModifiedLLE(d, n_neighbors=12).fit_transform(X), want) < 1e-6


def test_it_finds_the_height_that_one_weight_vector_misses():
    X, truth = lowland.data.swiss_roll(1500)

    def left(Y):
        A = np.column_stack([np.ones(len(Y)), Y])
        return np.linalg.norm(truth[:, 1] - A @ np.linalg.lstsq(A, truth[:, 1])[0]) / truth[:, 1].std() / 1500**0.5

    assert left(ModifiedLLE().fit_transform(X)) < 0.05
    assert left(LLE().fit_transform(X)) > 0.2
