"""HessianLLE against scikit-learn; what all four methods share is in test_patch_alignment.py."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lle_reference import span_angle, theirs
from lowland.graph.geometry import Coordinates
from lowland.graph.patches import Patches, hessians, with_center
from lowland.methods.manifold.hessian_lle import HessianLLE
from lowland.methods.shared.placing import NewRows


def cloud(rng):
    return rng.standard_normal((300, 6)) * [3.0, 2.0, 1.5, 0.3, 0.3, 0.3]


def matrix_of_the_paper(X, lists, d):
    """Donoho & Grimes's algorithm, point by point: Gram–Schmidt on [1, U, products of U's columns]."""
    M = np.zeros((len(X), len(X)))
    for row in lists:
        U = np.linalg.svd(X[row] - X[row].mean(axis=0), full_matrices=False)[0][:, :d]
        products = [U[:, a] * U[:, b] for a in range(d) for b in range(a, d)]
        H = np.linalg.qr(np.column_stack([np.ones(len(row)), U, *products]))[0][:, d + 1 :]
        M[np.ix_(row, row)] += H @ H.T
    return M


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_matrix_is_that_of_the_paper(d, rng):
    X = cloud(rng)
    patches = Patches.of_graph(NewRows(HessianLLE(n_neighbors=14).fit(X)).metric.search(X).graph(14))
    F = patches.over(Coordinates(X), lambda G: hessians(with_center(G), d), d * (d + 1) // 2)
    want = matrix_of_the_paper(X, patches.members.reshape(300, 15), d)
    np.testing.assert_allclose(patches.matrix(F).toarray(), want, atol=1e-8)


@pytest.mark.parametrize("d", [2, 3])
def test_the_map_is_the_small_end(d, rng):
    X = cloud(rng)
    model = HessianLLE(d, n_neighbors=14).fit(X)
    lists = Patches.of_graph(NewRows(model).metric.search(X).graph(14)).members.reshape(300, 15)
    values, V = np.linalg.eigh(matrix_of_the_paper(X, lists, d))
    np.testing.assert_allclose(model.eigenvalues_, values[1 : d + 1], rtol=1e-6)
    assert span_angle(model.embedding_, V[:, 1 : d + 1]) < 1e-6


def test_scikit_learn_calls_tangent_alignment_hessian():
    """Its QR is the full one, and all columns but the affine ones are taken: I − TTᵀ, as in LTSA."""
    X, _ = lowland.data.s_curve(400)
    assert span_angle(theirs("hessian", X), theirs("ltsa", X)) < 1e-6
    assert span_angle(theirs("hessian", X), HessianLLE(n_neighbors=12).fit_transform(X)) > 1e-3
