"""Diffusion maps: the walk, its distances, density and time; known spectra; identities with Laplacian eigenmaps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh, subspace_angles
from scipy.sparse.linalg import eigsh
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

import lowland
from lowland.data import circle, s_curve, swiss_roll
from lowland.methods.manifold.diffusion_maps import DiffusionMaps
from lowland.methods.manifold.laplacian_eigenmaps import LaplacianEigenmaps
from sample_tables import connections


def walk(X, k, sigma, alpha):
    """P, its stationary distribution and q by brute force."""
    D = cdist(X, X)
    near = np.zeros(D.shape, bool)
    np.put_along_axis(near, np.argsort(D, axis=1, kind="stable")[:, 1 : k + 1], True, axis=1)
    W = np.where(near | near.T, np.exp(-(D**2) / (2 * sigma**2)), 0.0)
    np.fill_diagonal(W, 1.0)
    q = W.sum(axis=1)
    K = W / np.outer(q, q) ** alpha
    d = K.sum(axis=1)
    return K / d[:, None], d / d.sum(), q


@pytest.mark.parametrize("n", [250, 1700])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_coordinates_are_eigenvectors_of_the_walk(n, alpha):
    X, _ = s_curve(n, random_state=4)
    model = DiffusionMaps(3, n_neighbors=9, alpha=alpha, n_steps=2).fit(X)
    P, stationary, _ = walk(X, 9, model.bandwidth_, alpha)
    root = np.sqrt(stationary)
    S = P * root[:, None] / root
    values, U = eigsh(sp.csc_array((S + S.T) / 2), 4, sigma=1.001, v0=np.ones(n))
    values, psi = values[2::-1], (U / root[:, None])[:, 2::-1]
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-10)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(psi) * values**2, atol=1e-8)
    np.testing.assert_allclose(stationary @ model.embedding_, 0, atol=1e-10)


@pytest.mark.parametrize("n", [120, 1800])
def test_without_density_and_steps_it_is_laplacian_eigenmaps(n):
    X, _ = swiss_roll(n)
    a = DiffusionMaps(3, alpha=0, n_steps=0, diagonal=False).fit(X)
    b = LaplacianEigenmaps(3).fit(X)
    scale = (a.embedding_ * b.embedding_).sum(axis=0) / (b.embedding_**2).sum(axis=0)
    np.testing.assert_allclose(a.embedding_, b.embedding_ * scale, atol=1e-8)
    np.testing.assert_allclose(a.eigenvalues_, 1 - b.eigenvalues_, atol=1e-12)
    new = swiss_roll(30, random_state=3)[0]
    np.testing.assert_allclose(a.transform(new), b.transform(new) * scale, atol=1e-8)
    stepped = DiffusionMaps(3, alpha=0, n_steps=5, diagonal=False).fit(X).embedding_
    np.testing.assert_allclose(stepped, b.embedding_ * a.eigenvalues_**5, atol=1e-8)


@pytest.mark.filterwarnings("ignore:.*separates about:lowland.LowlandWarning")  # α = 1 links outliers to themselves
def test_all_coordinates_together_have_diffusion_distances(rng):
    """|y_i − y_j|² = Σ_z (Pᵗ_iz − Pᵗ_jz)²/π_z, with the one coordinate more that n points have."""
    X = rng.standard_normal((40, 2))
    model = DiffusionMaps(38, n_neighbors=6, n_steps=3).fit(X)
    P, stationary, _ = walk(X, 6, model.bandwidth_, 1.0)
    root = np.sqrt(stationary)
    S = P * root[:, None] / root
    values, U = np.linalg.eigh((S + S.T) / 2)
    Y = np.column_stack([model.embedding_, values[0] ** 3 * U[:, 0] / root])
    after = np.linalg.matrix_power(P, 3) / root
    np.testing.assert_allclose(cdist(Y, Y), cdist(after, after), atol=1e-9)


def test_alpha_takes_the_density_out(rng):
    """A circle sampled three times as densely on one side: α = 1 sees a circle, α = 0 the crowd."""
    u = np.sort(rng.uniform(0, 2 * np.pi, 2000))
    angle = u + 0.6 * np.sin(u)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    spread = {}
    for alpha in (0.0, 1.0):
        Y = DiffusionMaps(n_neighbors=150, alpha=alpha, n_steps=0, bandwidth=0.05).fit_transform(X)
        radius = np.hypot(*Y.T)
        spread[alpha] = radius.std() / radius.mean()
    assert spread[1.0] < 0.03
    assert spread[0.0] > 0.4


@pytest.mark.parametrize("n_steps", [0, 0.5, 1, 2.5, 10])
def test_time_only_scales_the_columns(n_steps):
    X, _ = s_curve(300)
    still, moved = DiffusionMaps(3, n_steps=0).fit(X), DiffusionMaps(3, n_steps=n_steps).fit(X)
    np.testing.assert_allclose(moved.embedding_, still.embedding_ * still.eigenvalues_**n_steps, atol=1e-12)
    new = s_curve(20, random_state=1)[0]
    np.testing.assert_allclose(moved.transform(new), still.transform(new) * still.eigenvalues_**n_steps, atol=1e-12)


def test_a_fraction_of_a_step_is_refused_where_an_eigenvalue_is_negative(rng):
    X = rng.standard_normal((12, 2))
    kind = {"n_components": 9, "n_neighbors": 6}
    assert DiffusionMaps(**kind, n_steps=2).fit(X).eigenvalues_.min() < 0
    with pytest.raises(lowland.DataError, match=r"n_steps=0\.5 is a fraction, and the eigenvalue -0\.\d+ is negative"):
        DiffusionMaps(**kind, n_steps=0.5).fit(X)


@pytest.mark.parametrize("parameters", [{"alpha": -0.1}, {"alpha": 1.5}, {"n_steps": -1}, {"n_steps": np.inf}])
def test_bad_parameters(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"{name} must be"):
        DiffusionMaps(**parameters).fit(np.eye(20))


def test_the_circle_is_found():
    X, angle = circle(80, n_features=3)
    Y = DiffusionMaps(n_neighbors=6).fit_transform(X)
    turned = np.unwrap(np.arctan2(Y[:, 1], Y[:, 0]))
    np.testing.assert_allclose(np.abs(turned - turned[0]), angle, atol=1e-8)


@pytest.mark.parametrize("make", [swiss_roll, s_curve])
def test_the_first_coordinate_goes_along_the_sheet(make):
    X, truth = make(5000)
    model = DiffusionMaps().fit(X)
    assert abs(spearmanr(model.embedding_[:, 0], truth[:, 0]).statistic) > 0.999
    assert model.fit_info_.residual < 1e-8


def test_new_rows_follow_the_formula():
    X, _ = s_curve(300)
    model = DiffusionMaps(3, n_neighbors=7, alpha=1.0, n_steps=2).fit(X)
    _, _, q = walk(X, 7, model.bandwidth_, 1.0)
    new = s_curve(20, random_state=9)[0]
    d, j = cKDTree(X).query(new, 7)
    p = np.exp(-(d**2) / (2 * model.bandwidth_**2)) / q[j]
    p /= p.sum(axis=1, keepdims=True)
    want = (p[:, :, None] * model.embedding_[j]).sum(axis=1) / model.eigenvalues_
    np.testing.assert_allclose(model.transform(new), want, atol=1e-12)
    np.testing.assert_allclose(np.vstack([model.transform(row[None]) for row in new]), want, atol=1e-12)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


@pytest.mark.filterwarnings("ignore:.*separates about:lowland.LowlandWarning")  # α = 1 links outliers to themselves
def test_pieces(rng):
    X = np.vstack([rng.standard_normal((100, 3)), rng.standard_normal((60, 3)) + 50])
    with pytest.raises(lowland.DisconnectedError, match="connected components is 2"):
        DiffusionMaps(disconnected="error").fit(X)
    with pytest.warns(lowland.DisconnectedWarning):
        model = DiffusionMaps(disconnected="separate").fit(X)
    alone = DiffusionMaps().fit(X[:100])
    shift = model.embedding_[0] - alone.embedding_[0]
    np.testing.assert_allclose(model.embedding_[:100] - shift, alone.embedding_, atol=1e-9)
    with pytest.warns(lowland.DisconnectedWarning, match="shortest missing edge"):
        bridged = DiffusionMaps().fit(X)
    assert np.isfinite(bridged.embedding_).all()
    side = np.sign(bridged.embedding_[:, 0])
    assert len(set(side[:100])) == len(set(side[100:])) == 1
    assert side[0] != side[-1]


# -- shapes whose Laplacian is known, as in the examples of pydiffmap ---------------------------------------


def dense(X, sigma, k):
    """The first k pairs of the walk between all points, α = 1, as eigenvalues of the generator and functions."""
    W = np.exp(-cdist(X, X, "sqeuclidean") / (2 * sigma**2))
    q = W.sum(axis=1)
    K = W / np.outer(q, q)
    root = np.sqrt(K.sum(axis=1))
    values, U = eigh(K / np.outer(root, root), subset_by_index=[len(X) - k - 1, len(X) - 2])
    return 2 * (1 - values[::-1]) / sigma**2, U[:, ::-1] / root[:, None]


def correlation(a, b):
    return abs(np.corrcoef(a, b)[0, 1])


@pytest.mark.parametrize("density", ["uniform", "rising"])
def test_a_strip_has_a_cosine_whatever_the_density(density, rng):
    """−Δ on [0, 2] × [0, 1] without flow across the edge: cos(πx/2) with π²/4, then cos(πx) and cos(πy) with π²."""
    u = rng.random(2000)
    X = np.column_stack([2 * u if density == "uniform" else u + u**2, rng.random(2000)])
    model = DiffusionMaps(3, n_neighbors=200, bandwidth=0.06).fit(X)
    values, functions = dense(X, 0.06, 3)
    np.testing.assert_allclose(model.generator_eigenvalues_, values, rtol=0.01)
    assert correlation(model.embedding_[:, 0], functions[:, 0]) > 1 - 1e-5
    assert correlation(model.embedding_[:, 0], np.cos(np.pi * X[:, 0] / 2)) > 0.999
    np.testing.assert_allclose(model.generator_eigenvalues_, [np.pi**2 / 4, np.pi**2, np.pi**2], rtol=0.2)


@pytest.mark.parametrize("density", ["uniform", "northern"])
def test_the_sphere_has_the_eigenvalues_of_its_harmonics(density, rng):
    """l(l + 1), 2l + 1 times each; the first three functions are the coordinates."""
    X = rng.standard_normal((2000, 3))
    X[:, 2] += 0.5 * (density == "northern")
    X /= np.linalg.norm(X, axis=1)[:, None]
    model = DiffusionMaps(8, n_neighbors=300, bandwidth=0.2).fit(X)
    values, functions = dense(X, 0.2, 8)
    np.testing.assert_allclose(model.generator_eigenvalues_, values, rtol=0.01)
    np.testing.assert_allclose(model.generator_eigenvalues_, [2] * 3 + [6] * 5, rtol=0.15)
    centred = model.embedding_[:, :3] - model.embedding_[:, :3].mean(axis=0)
    for target, most in ((functions[:, :3], 0.02), (X, 0.12)):
        assert np.sin(subspace_angles(centred, target - target.mean(axis=0))).max() < most


def test_the_flat_torus_has_four_equal_eigenvalues(rng):
    """Angles θ and φ: 1 for their cosines and sines, 2 for the products of these."""
    angles = rng.uniform(0, 2 * np.pi, (2000, 2))
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    model = DiffusionMaps(8, n_neighbors=200, bandwidth=0.25).fit(X)
    values, functions = dense(X, 0.25, 8)
    np.testing.assert_allclose(model.generator_eigenvalues_, values, rtol=0.01)
    np.testing.assert_allclose(model.generator_eigenvalues_, [1] * 4 + [2] * 4, rtol=0.12)
    centred = model.embedding_[:, :4] - model.embedding_[:, :4].mean(axis=0)
    for target, most in ((functions[:, :4], 0.02), (X, 0.12)):
        assert np.sin(subspace_angles(centred, target - target.mean(axis=0))).max() < most


def test_the_diagonal_brings_a_strip_of_uneven_density_nearer_to_the_walk_between_all_points(rng):
    X = np.column_stack([(u := rng.random(2000)) + u**2, rng.random(2000)])
    _, functions = dense(X, 0.05, 1)
    apart = [
        1
        - correlation(
            DiffusionMaps(1, n_neighbors=200, bandwidth=0.05, diagonal=d).fit(X).embedding_[:, 0], functions[:, 0]
        )
        for d in (True, False)
    ]
    assert 20 * apart[0] < apart[1]


def test_eigenvalues_of_the_generator_have_a_unit(rng):
    X = rng.standard_normal((100, 3))
    for rule, power in (("median", -2), ("adaptive", 0)):
        one, other = (DiffusionMaps(bandwidth=rule).fit(s * X).generator_eigenvalues_ for s in (1.0, 2.0**300))
        np.testing.assert_allclose(other, one * 2.0 ** (300 * power), rtol=1e-9)


# -- adaptive bandwidths ------------------------------------------------------------------------------------


@pytest.mark.parametrize("Model", [DiffusionMaps, LaplacianEigenmaps])
def test_adaptive_bandwidths_are_distances_to_middle_neighbours(Model, rng):
    X = rng.standard_normal((150, 2)) * np.exp(rng.standard_normal((150, 1)))
    model = Model(2, n_neighbors=9, bandwidth="adaptive").fit(X)
    D = cdist(X, X)
    width = np.sort(D, axis=1)[:, 5]
    near = np.zeros(D.shape, bool)
    np.put_along_axis(near, np.argsort(D, axis=1)[:, 1:10], True, axis=1)
    W = np.where(near | near.T, np.maximum(np.exp(-(D**2) / (2 * np.outer(width, width))), 1e-6), 0.0)
    q = np.ones(150)
    if Model is DiffusionMaps:
        np.fill_diagonal(W, 1.0)
        q = W.sum(axis=1)
    K = W / np.outer(q, q)
    values = eigh(K, np.diag(K.sum(axis=1)), eigvals_only=True)[-3:-1][::-1]
    found = model.eigenvalues_ if Model is DiffusionMaps else 1 - model.eigenvalues_
    np.testing.assert_allclose(found, values, atol=1e-10)
    assert model.bandwidth_ == pytest.approx(np.median(width))
    new = rng.standard_normal((20, 2))
    d, j = cKDTree(X).query(new, 9)
    p = np.maximum(np.exp(-(d**2) / (2 * d[:, 4:5] * width[j])), 1e-6) / q[j]
    p /= p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        model.transform(new), (p[:, :, None] * model.embedding_[j]).sum(axis=1) / found, atol=1e-9
    )


def test_adaptive_models_come_back_from_a_file(tmp_path, rng):
    X = rng.standard_normal((80, 3))
    model = DiffusionMaps(bandwidth="adaptive").fit(X)
    lowland.save(model, tmp_path / "m.lowland")
    back = lowland.load(tmp_path / "m.lowland")
    np.testing.assert_array_equal(back.transform(X + 0.1), model.transform(X + 0.1))
    np.testing.assert_array_equal(back.generator_eigenvalues_, model.generator_eigenvalues_)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
@pytest.mark.parametrize("name", ["digits", "connections"])
def test_large_tables(name):
    X = load_digits().data if name == "digits" else connections(20_000).astype(np.float64)
    model = DiffusionMaps().fit(X)
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_allclose(model.transform(X[:50]), model.embedding_[:50], atol=1e-9)
