"""Neighbourhood preserving embedding: the generalised problem, its identities, and that it is a linear map."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from scipy.spatial import cKDTree
from sklearn.datasets import load_digits

import lowland
from lowland.data import digits, flat_grid, s_curve
from lowland.graph.patches import RIDGE
from lowland.methods.linear.npe import NPE
from sample_tables import connections
from signs import same_up_to_sign


def reconstruction(X, k):
    """I − W by the textbook: (G + r tr(G) I) w = 1, scaled to sum 1 (Saul & Roweis 2003)."""
    M = np.eye(len(X))
    for i, row in enumerate(cKDTree(X).query(X, k + 1)[1]):
        Z = X[row[1:]] - X[i]
        G = Z @ Z.T
        w = np.linalg.solve(G + RIDGE * np.trace(G) * np.eye(k), np.ones(k))
        M[i, row[1:]] -= w / w.sum()
    return M


def test_the_map_solves_the_generalised_problem(rng):
    """XᵀMX a = λ XᵀX a, X centred (He, Cai, Yan, Zhang 2005)."""
    X = rng.standard_normal((150, 6)) * np.arange(1, 7) + 4
    model = NPE(3, n_neighbors=8).fit(X)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-12)
    Z = X - X.mean(axis=0)
    R = reconstruction(X, 8)
    values, A = scipy.linalg.eigh(Z.T @ R.T @ R @ Z, Z.T @ Z)
    np.testing.assert_allclose(model.eigenvalues_, values[:3], rtol=1e-8)
    same_up_to_sign(model.components_.T, A[:, :3] * np.sqrt(150), atol=1e-8)
    Y = model.transform(X)
    np.testing.assert_allclose(Y.T @ Y / 150, np.eye(3), atol=1e-10)
    assert model.fit_info_.residual < 1e-12


def test_in_enough_dimensions_it_is_lle(rng):
    """rank(X − mean) = N − 1: the smallest eigenvectors of M itself, the constant left out."""
    X = rng.standard_normal((50, 70))
    model = NPE(3, n_neighbors=6).fit(X)
    R = reconstruction(X, 6)
    values, V = np.linalg.eigh(R.T @ R)
    np.testing.assert_allclose(model.eigenvalues_, values[1:4], atol=1e-10)
    same_up_to_sign(model.transform(X), V[:, 1:4] * np.sqrt(50), atol=1e-8)


def test_turning_moving_and_scaling_change_nothing(rng):
    X, _ = s_curve(300)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    moved = 5 * X @ Q + [100.0, 2.0, -30.0]
    same_up_to_sign(NPE(2).fit_transform(X), NPE(2).fit_transform(moved), atol=1e-8)


def test_a_flat_sheet_is_found_under_noise():
    X, truth = flat_grid(20, 20, n_features=6, noise=0.05)
    Y = NPE(2).fit_transform(X)
    fitted = np.column_stack([np.ones(400), Y])
    residual = truth - fitted @ np.linalg.lstsq(fitted, truth, rcond=None)[0]
    assert np.sqrt((residual**2).mean()) < 0.055  # of which 0.05 is noise within the sheet


def test_sparse_rows_are_rows():
    X, _, _ = digits()
    S = sp.csr_array(X)
    np.testing.assert_allclose(NPE(3).fit(S).components_, NPE(3).fit(X).components_, atol=1e-8)


def test_rows_go_there_and_back(rng):
    X = rng.standard_normal((100, 5)) + 2
    model = NPE(5).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)
    assert not hasattr(model, "anchors_")


def test_threads_leave_no_trace(rng):
    X = rng.standard_normal((12_000, 40)) * np.linspace(3, 1, 40)
    results = []
    for threads in (1, 2):
        with lowland.config(threads=threads):
            results.append(NPE().fit(X).components_)
    np.testing.assert_array_equal(*results)


def test_pieces_rank_and_counts(rng):
    X = np.vstack([rng.standard_normal((60, 3)), rng.standard_normal((60, 3)) + 30])
    with pytest.raises(ValueError, match="disconnected must be 'bridge' or 'error'; got 'separate'"):
        NPE(disconnected="separate").fit(X)
    with pytest.warns(lowland.DisconnectedWarning, match="joined by the shortest missing edge"):
        assert np.isfinite(NPE().fit_transform(X)).all()
    with pytest.warns(lowland.RankWarning, match="rank 1"):
        NPE(3).fit(np.outer(rng.standard_normal(40), [1.0, -2.0, 1.5]) + 1)
    with pytest.raises(lowland.DataError, match="rank 0"):
        NPE(1).fit(np.full((20, 4), 3.7))
    with pytest.raises(lowland.DataError, match=r"n_components=8 is more than min\(rows, columns\) = 7"):
        NPE(8).fit(rng.standard_normal((50, 7)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::lowland.DisconnectedWarning")
@pytest.mark.parametrize("name", ["digits", "connections"])
def test_large_tables(name):
    X = load_digits().data if name == "digits" else connections(20_000).astype(np.float64)
    Y = NPE(5).fit_transform(X)
    assert np.isfinite(Y).all()
    assert (Y.std(axis=0) > 0).all()
