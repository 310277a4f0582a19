"""Each requirement of linear and graph methods, by its id, and the worked numbers of the source documents."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import lowland
from lowland import plots
from lowland.dimension import advice
from lowland.spectral import generalized_eigen
from sample_tables import REFERENCE

# Lindsay I. Smith, "A tutorial on Principal Components Analysis" (2002).
SMITH = np.array(
    [
        [2.5, 2.4],
        [0.5, 0.7],
        [2.2, 2.9],
        [1.9, 2.2],
        [3.1, 3.0],
        [2.3, 2.7],
        [2.0, 1.6],
        [1.0, 1.1],
        [1.5, 1.6],
        [1.1, 0.9],
    ]
)
THREE = np.array([[1.0, 0.0], [2.0, 0.1], [3.0, -0.1]])
# Ten documents × five terms: the first five are about one subject, the last five about another.
TERMS = np.array(
    [[24, 21, 9, 0, 0], [32, 10, 5, 0, 3], [12, 16, 5, 0, 0], [6, 7, 2, 0, 0], [43, 31, 20, 0, 3],
     [2, 0, 0, 18, 7], [0, 0, 1, 32, 12], [3, 0, 0, 22, 4], [1, 0, 0, 34, 27], [6, 0, 0, 17, 4]]
)  # fmt: skip


@pytest.fixture
def X(rng):
    return rng.standard_normal((200, 6)) @ rng.standard_normal((6, 6)) + rng.standard_normal(6)


def test_L1_eigenvectors_of_the_covariance(X):
    C = np.cov(X.T)
    pca = lowland.PCA(3, solver="covariance").fit(X)
    np.testing.assert_allclose(C @ pca.components_.T, pca.components_.T * pca.eigenvalues_, atol=1e-12)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(pca.transform(X), (X - X.mean(axis=0)) @ pca.components_.T, atol=1e-12)


def test_L1_smith_to_all_printed_digits():
    pca = lowland.PCA().fit(SMITH)
    C = pca.components_.T * pca.eigenvalues_ @ pca.components_
    assert [[f"{c:.9f}" for c in row] for row in C] == [
        ["0.616555556", "0.615444444"],
        ["0.615444444", "0.716555556"],
    ]
    assert f"{pca.eigenvalues_[0]:.8f}" == "1.28402771"
    assert f"{pca.eigenvalues_[1]:.10f}" == "0.0490833989"
    assert [f"{abs(v):.9f}" for v in pca.components_[0]] == ["0.677873399", "0.735178656"]
    first = np.abs(pca.transform(SMITH)[0])
    assert [f"{v:.9f}" for v in first] == ["0.827970186", "0.175115307"]


def test_L1_eigenvector_example():
    # [[2, 3], [2, 1]]·[3, 2] = 4·[3, 2], as C v = λ D v: D⁻¹C is that matrix
    values, vectors = generalized_eigen(np.array([[4.0, 6.0], [6.0, 3.0]]), np.diag([2.0, 3.0]), k=1, which="largest")
    assert values[0] == pytest.approx(4, rel=1e-14)
    assert vectors[0, 0] / vectors[1, 0] == pytest.approx(1.5, rel=1e-14)


@pytest.mark.filterwarnings("ignore::lowland.DominantColumnWarning")
def test_L1_three_points():
    pca = lowland.PCA().fit(THREE)
    C = np.array([[1.0, -0.05], [-0.05, 0.01]])
    middle, radius = 0.505, np.hypot(0.495, 0.05)
    np.testing.assert_allclose(pca.eigenvalues_, [middle + radius, middle - radius], rtol=1e-13)
    np.testing.assert_allclose(C @ pca.components_[0], pca.eigenvalues_[0] * pca.components_[0], atol=1e-15)


@pytest.mark.parametrize(("ddof", "divisor"), [(1, 199), (0, 200)])
def test_L2_all_normalisations(X, ddof, divisor):
    pca = lowland.PCA(ddof=ddof).fit(X)
    scatter = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
    np.testing.assert_allclose(pca.singular_values_**2, np.linalg.eigvalsh(scatter)[::-1], rtol=1e-12)
    np.testing.assert_allclose(pca.eigenvalues_ * divisor, pca.singular_values_**2, rtol=1e-14)


def test_L3_svd_gives_the_same(X):
    _, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    pca = lowland.PCA(solver="svd").fit(X)
    np.testing.assert_allclose(pca.eigenvalues_, s**2 / (len(X) - 1), rtol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(pca.components_ * Vt, axis=1)), 1, atol=1e-12)


def test_L4_tiny_singular_values_survive():
    # hilbert(9) of R's ?svd; its singular values there to 15 digits
    i = np.arange(1, 10)
    H = 1 / (i[:, None] + i[None, :] - 1.0)
    d = [1.72588266090185, 0.321633122299207, 0.0310389257812683, 0.0019789338602159, 8.75808505145894e-05,
         2.67301341060428e-06, 5.38561334873762e-08, 6.46090528603887e-10, 3.49968152073645e-12]  # fmt: skip
    svd = lowland.TruncatedSVD(9, solver="svd").fit(H)
    np.testing.assert_allclose(svd.singular_values_, d, rtol=0, atol=5e-15)  # half of the last printed digit
    assert abs(svd.singular_values_[-1] / d[-1] - 1) < 1e-3
    pca = lowland.PCA(center=False, solver="svd").fit(H)
    np.testing.assert_allclose(pca.singular_values_, svd.singular_values_, atol=1e-15)
    assert lowland.PCA(center=False).fit(H).n_components_ == 9  # auto does not lose them either


def test_L5_dual_route(rng):
    X = rng.standard_normal((30, 400)) * np.linspace(2, 0.5, 400)
    pca = lowland.PCA(5, solver="gram").fit(X)
    Xc = X - X.mean(axis=0)
    lam, alpha = np.linalg.eigh(Xc @ Xc.T)
    lam, alpha = lam[::-1][:5], alpha[:, ::-1][:, :5]
    x = rng.standard_normal(400)
    psi = alpha.T @ (Xc @ (x - X.mean(axis=0))) / np.sqrt(lam)  # eqs 14 and 15, centred
    np.testing.assert_allclose(np.abs(pca.transform(x[None])[0]), np.abs(psi), atol=1e-11)


def test_L6_multiplication_and_deflation(X):
    power = lowland.PCA(3, solver="power").fit(X)
    exact = lowland.PCA(3, solver="svd").fit(X)
    assert power.fit_info_.algorithm == "power"
    assert power.fit_info_.iterations > 3
    np.testing.assert_allclose(power.eigenvalues_, exact.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(power.components_, exact.components_, atol=1e-8)


def test_L7_whitening(X):
    Z = lowland.PCA(whiten=True).fit_transform(X)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(6), atol=1e-12)


def test_L8_correlation_and_uncentred(X):
    scaled = lowland.PCA(scale=True).fit(X * [1, 10, 100, 1, 1, 1])
    np.testing.assert_allclose(scaled.eigenvalues_, np.linalg.eigvalsh(np.corrcoef(X.T))[::-1], rtol=1e-12)
    raw = lowland.PCA(center=False, ddof=0).fit(X)
    np.testing.assert_allclose(raw.eigenvalues_, np.linalg.eigvalsh(X.T @ X / len(X))[::-1], rtol=1e-12)
    np.testing.assert_array_equal(raw.mean_, np.zeros(6))


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"whiten": True}, {"scale": True, "whiten": True}])
def test_L9_reconstruction_is_the_optimal_compressor(X, options):
    pca = lowland.PCA(2, **options).fit(X)
    A, a, B, b = pca.compressor()
    np.testing.assert_allclose(X @ A.T + a, pca.transform(X), atol=1e-12)
    np.testing.assert_allclose(pca.transform(X) @ B.T + b, pca.inverse_transform(pca.transform(X)), atol=1e-12)
    whole = lowland.PCA(**options).fit(X)
    np.testing.assert_allclose(whole.inverse_transform(whole.transform(X)), X, atol=1e-12)
    if not options:
        U = pca.components_.T
        np.testing.assert_allclose(b + (X - b) @ U @ U.T, pca.inverse_transform(pca.transform(X)), atol=1e-12)


def test_L10_projected_data_are_uncorrelated(X):
    pca = lowland.PCA().fit(X)
    np.testing.assert_allclose(np.cov(pca.transform(X).T), np.diag(pca.eigenvalues_), atol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_L11_variance_and_error_are_one_answer(X, k):
    pca = lowland.PCA(k).fit(X)
    residual = X - pca.inverse_transform(pca.transform(X))
    assert (residual**2).sum() / (len(X) - 1) == pytest.approx(pca.spectrum_[k:].sum(), rel=1e-10)


def test_L12_how_many_dimensions():
    # S4's four pictures: line, bent line, circle, random square
    for pair, count in [
        ((0.0938, 0.0007), 1),
        ((0.1260, 0.0054), 1),
        ((0.0884, 0.0725), 2),
        ((0.0881, 0.0769), 2),
    ]:
        found = advice(pair)
        assert found.counts[0.9] == count
        assert "linear structure only" in found.sentence
    circle, square = advice((0.0884, 0.0725)), advice((0.0881, 0.0769))
    assert circle.counts == square.counts  # what a spectrum cannot tell apart, and the text says so
    assert lowland.PCA(0.9).fit(load_iris().data).n_components_ == 1
    assert lowland.PCA(0.95).fit(load_iris().data).n_components_ == 2


@pytest.mark.filterwarnings("ignore::lowland.DominantColumnWarning")  # the planted rows make one
def test_L13_outliers_are_found_and_can_be_left_out(rng):
    """Rows far from the rest turn the first axis; they are named, and without them the axis is that of the rest."""
    X = rng.standard_normal((300, 4)) * [2.5, 1.0, 1.0, 1.0]
    planted = [17, 120, 250]
    X[planted] = 0.0
    X[planted, 1] = [60.0, 75.0, 90.0]
    found = lowland.quality.outliers(X)
    assert set(planted) <= set(found.rows)
    assert len(found.rows) <= 6, "hardly any others"

    def axis(rows):
        return lowland.PCA(1).fit(rows).components_[0]

    rest = np.delete(X, found.rows, axis=0)
    assert abs(axis(X)[1]) > 0.9, "the planted rows turn the axis of all rows"
    assert abs(axis(rest) @ axis(np.delete(X, planted, axis=0))) > 0.999


def test_L14_generalised_problem(rng):
    C, D = (lambda A, B: (A @ A.T, B @ B.T + np.eye(6)))(rng.standard_normal((6, 6)), rng.standard_normal((6, 6)))
    values, B = generalized_eigen(C, D, k=2)
    np.testing.assert_allclose(B.T @ D @ B, np.eye(2), atol=1e-12)
    assert np.trace(B.T @ C @ B) == pytest.approx(values.sum())
    root = np.linalg.inv(np.linalg.cholesky(D)).T
    for _ in range(200):  # no feasible B does better
        Q = root @ np.linalg.qr(rng.standard_normal((6, 2)))[0]
        assert np.trace(Q.T @ C @ Q) >= values.sum() - 1e-12


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_L15_two_concepts(form):
    model = lowland.TruncatedSVD(2).fit(form(TERMS))
    s = np.linalg.svd(TERMS, compute_uv=False)
    assert s[1] > 4 * s[2]  # two are strong, the third is not
    assert model.energy_ratio_.sum() == pytest.approx(0.9643, abs=5e-5)
    documents, terms = np.abs(model.U_), np.abs(model.components_)
    # Each document and each term belongs to one concept: its weight there is over twice that on the other.
    assert (documents[:5, 0] > 2 * documents[:5, 1]).all()
    assert (documents[5:, 1] > 2 * documents[5:, 0]).all()
    assert (terms[0, :3] > 2 * terms[1, :3]).all()
    assert (terms[1, 3:] > 2 * terms[0, 3:]).all()
    # Within a concept all have one sign: it is a common subject, not a contrast.
    assert (model.U_[:5, 0] > 0).all()
    assert (model.U_[5:, 1] > 0).all()
    assert (model.components_[0, :3] > 0).all()
    assert (model.components_[1, 3:] > 0).all()


def test_L16_probabilistic_pca(X):
    lam = np.linalg.eigvalsh(np.cov(X.T, ddof=0))[::-1]
    model = lowland.ProbabilisticPCA(2).fit(X)
    assert model.noise_variance_ == pytest.approx(lam[2:].mean(), rel=1e-12)
    C = model.weights_ @ model.weights_.T + model.noise_variance_ * np.eye(6)
    np.testing.assert_allclose(np.linalg.eigvalsh(C)[::-1][:2], lam[:2], rtol=1e-12)


def test_L17_independent_component_analysis(rng):
    """Mixed sources come back, up to order, sign and scale; PCA leaves them mixed."""
    t = np.linspace(0, 8, 3000)
    S = np.column_stack([np.sin(11 * t), np.sign(np.sin(7 * t)), rng.laplace(size=3000)])
    X = S @ np.array([[1.0, 1.0, 0.5], [0.5, 2.0, 1.0], [1.5, 1.0, 2.0]]).T

    def matched(Y):
        return np.abs(np.corrcoef(S.T, Y.T)[:3, 3:]).max(axis=1)

    assert (matched(lowland.ICA(3).fit_transform(X)) > 0.99).all()
    assert (matched(lowland.PCA(3).fit_transform(X)) < 0.99).any()


def test_L18_random_projections(rng):
    """Johnson and Lindenstrauss: with k from the bound, all squared distances are within ε, whatever the columns."""
    X, epsilon = rng.standard_normal((60, 20_000)) ** 3, 0.3
    model = lowland.RandomProjection("auto", eps=epsilon).fit(X)
    assert model.n_components_ < 20_000 / 10
    pairs = np.triu_indices(60, 1)
    before, after = (cdist(A, A, "sqeuclidean")[pairs] for A in (X, model.transform(X)))
    assert np.abs(after / before - 1).max() < epsilon


def test_L20_the_linear_component_can_be_removed(X):
    pca = lowland.PCA(2).fit(X)
    rest = pca.residual(X)
    np.testing.assert_allclose(rest + pca.inverse_transform(pca.transform(X)), X, atol=1e-12)
    np.testing.assert_allclose(rest @ pca.components_.T, 0, atol=1e-12)


def test_L19_locality_preserving_projections(rng):
    """XᵀLX a = λ XᵀDX a over the centred rows, with heat weights on the graph of either one's neighbours."""
    X = sheet(rng, 150) @ rng.standard_normal((3, 6)) + 0.1 * rng.standard_normal((150, 6))
    model = lowland.LPP(3, n_neighbors=8, bandwidth=2.0).fit(X)
    D, near = neighbours(X, 8)
    W = np.where(near | near.T, np.exp(-(D**2) / (2 * 2.0**2)), 0.0)
    d = W.sum(axis=1)
    Z = X - d @ X / d.sum()
    values, A = eigh(Z.T @ (np.diag(d) - W) @ Z, Z.T @ np.diag(d) @ Z)
    np.testing.assert_allclose(model.eigenvalues_, values[:3], rtol=1e-9)
    along = np.abs(np.sum(model.components_ * A[:, :3].T, axis=1))
    np.testing.assert_allclose(along, np.linalg.norm(model.components_, axis=1) * np.linalg.norm(A[:, :3], axis=0))
    np.testing.assert_allclose(model.transform(X), (X - model.mean_) @ model.components_.T, atol=1e-12)


# -- manifolds ---------------------------------------------------------------------------------------------------------


def sheet(rng, n):
    """A bent sheet of n points."""
    angle = rng.uniform(0, 3, n)
    return np.column_stack([2 * np.cos(angle), 2 * np.sin(angle), rng.uniform(0, 2, n)])


def neighbours(X, k):
    """All distances, and which are those from a row to its k nearest others."""
    D = cdist(X, X)
    lists = np.argsort(D, axis=1)[:, 1 : k + 1]
    near = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(near, lists, True, axis=1)
    return D, near


def test_M1_isomap_is_scaling_of_shortest_paths(rng):
    X = sheet(rng, 120)
    D, near = neighbours(X, 7)
    paths = dijkstra(sp.csr_array(np.where(near | near.T, D, 0.0)), directed=False)
    J = np.eye(120) - 1 / 120
    values, V = np.linalg.eigh(-0.5 * J @ paths**2 @ J)
    want = V[:, ::-1][:, :3] * np.sqrt(values[::-1][:3])
    model = lowland.Isomap(3, n_neighbors=7).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], rtol=1e-10)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(want), atol=1e-8)


def lle_weights(X, k, reg):
    """Saul & Roweis's algorithm, point by point: solve Cw = 1 for the Gram matrix of the neighbours, then scale."""
    W = np.zeros((len(X), len(X)))
    for i, row in enumerate(neighbours(X, k)[1]):
        Z = X[row] - X[i]
        C = Z @ Z.T
        w = np.linalg.solve(C + reg * np.trace(C) * np.eye(k), np.ones(k))
        W[i, row] = w / w.sum()
    return W


def test_M2_the_embedding_keeps_weights_that_sum_to_one(rng):
    X = sheet(rng, 150)
    W = lle_weights(X, 8, 1e-3)
    np.testing.assert_allclose(W.sum(axis=1), 1, atol=1e-12)
    M = (np.eye(150) - W).T @ (np.eye(150) - W)
    values, V = np.linalg.eigh(M)
    assert abs(values[0]) < 1e-12  # the constant function
    model = lowland.LLE(2, n_neighbors=8, reg=1e-3).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, values[1:3], rtol=1e-5)
    Y = model.embedding_
    np.testing.assert_allclose(np.abs(Y), np.abs(V[:, 1:3]) * np.sqrt(150), atol=1e-5)
    rest = ((Y - W @ Y) ** 2).sum()
    for _ in range(50):  # nothing else that is centred with unit covariance keeps the weights better
        other = rng.standard_normal((150, 2))
        other = np.linalg.qr(other - other.mean(axis=0))[0] * np.sqrt(150)
        assert ((other - W @ other) ** 2).sum() > rest
    with_noise = np.linalg.qr(Y + 0.01 * (other - other.mean(axis=0)))[0] * np.sqrt(150)
    assert ((with_noise - W @ with_noise) ** 2).sum() > rest


@pytest.mark.parametrize("reg", [1e-3, "auto"])
def test_M2_turning_scaling_and_moving_change_no_weights(rng, reg):
    """So the map is the same, and so is the place of a row that goes through the same motion."""
    X, new = sheet(rng, 150), sheet(rng, 20)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    still = lowland.LLE(2, n_neighbors=8, reg=reg).fit(X)
    for move in (lambda A: A @ Q, lambda A: 2.0**7 * A, lambda A: A + np.array([30.0, -20.0, 10.0])):
        moved = lowland.LLE(2, n_neighbors=8, reg=reg).fit(move(X))
        np.testing.assert_allclose(moved.eigenvalues_, still.eigenvalues_, rtol=1e-6)
        np.testing.assert_allclose(np.abs(moved.embedding_), np.abs(still.embedding_), atol=1e-5)
        np.testing.assert_allclose(np.abs(moved.transform(move(new))), np.abs(still.transform(new)), atol=1e-5)


def test_M3_laplacian_eigenmaps(rng):
    X = sheet(rng, 150)
    D, near = neighbours(X, 8)
    W = np.where(near | near.T, np.exp(-(D**2) / (2 * 0.4**2)), 0.0)
    d = W.sum(axis=1)
    values, F = eigh(np.diag(d) - W, np.diag(d))
    model = lowland.LaplacianEigenmaps(3, n_neighbors=8, bandwidth=0.4).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, values[1:4], rtol=1e-9)
    Y = model.embedding_
    np.testing.assert_allclose(np.abs(Y), np.abs(F[:, 1:4]) * np.sqrt(d.sum()), atol=1e-7)
    np.testing.assert_allclose(d @ Y / d.sum(), 0, atol=1e-9)  # beside the constant function


def test_M4_hessian_eigenmaps_find_what_is_flat(rng):
    """A function without second derivatives on the sheet is affine in its flat coordinates, also around a hole."""
    flat = rng.uniform(-1, 1, (700, 2)) * [2.6, 1.0]
    flat = flat[(np.abs(flat) > [0.8, 0.35]).any(axis=1)]
    X = np.column_stack([np.cos(flat[:, 0]), np.sin(flat[:, 0]), flat[:, 1]])

    def bent(Y):
        A = np.column_stack([np.ones(len(Y)), Y])
        return np.linalg.norm(flat - A @ np.linalg.lstsq(A, flat)[0]) / np.linalg.norm(flat)

    assert bent(lowland.HessianLLE(2, n_neighbors=12).fit_transform(X)) < 0.01
    assert bent(lowland.Isomap(2, n_neighbors=12).fit_transform(X)) > 0.02
    assert bent(lowland.PCA(2).fit_transform(X)) > 0.2


def test_M4_the_second_derivatives_are_all_there(rng):
    """Each quadratic beyond affine functions is seen whole, the mixed product too: a saddle is as curved as a bowl."""
    from lowland.graph.patches import hessians

    U = rng.standard_normal((15, 2))
    Z = U - U.mean(axis=0)
    H = hessians((Z @ Z.T)[None], 2)[0]
    affine = np.column_stack([np.ones(15), U])
    for f in (U[:, 0] ** 2, U[:, 1] ** 2, U[:, 0] * U[:, 1]):
        rest = f - affine @ np.linalg.lstsq(affine, f)[0]
        np.testing.assert_allclose(np.linalg.norm(H.T @ f), np.linalg.norm(rest), rtol=1e-10)
    np.testing.assert_allclose(H.T @ affine, 0, atol=1e-10)


def test_M5_maximum_variance_unfolding(rng):
    """Distances of neighbours are kept, and no other points that keep them have more variance: the rows have less."""
    angle = (np.arange(40) + rng.uniform(-0.3, 0.3, 40)) * 0.08
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    model = lowland.MVU(1, n_neighbors=3).fit(X)
    D, near = neighbours(X, 3)
    edges = near | near.T
    kept = cdist(model.embedding_, model.embedding_)[edges]
    assert np.sqrt(((kept - D[edges]) ** 2).sum() / (D[edges] ** 2).sum()) < 0.01
    paths = dijkstra(sp.csr_array(np.where(edges, D, 0.0)), directed=False)
    assert (
        model.embedding_.var() > 1.3 * X.var(axis=0).sum()
    )  # 3²/12 of a line against 1 − |mean|² of the arc, less 5 %
    assert np.ptp(model.embedding_) <= paths.max() * (1 + 1e-3)  # nothing is farther than the way along the edges
    assert np.ptp(model.embedding_) > 0.99 * paths.max()
    assert np.abs(np.diff(np.argsort(model.embedding_[:, 0]))).max() == 1


# -- R ---------------------------------------------------------------------------------------------------------------


def _table(path, columns):
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return np.array([[float(row[c]) for c in columns] for row in rows])


def test_M6_self_organising_maps(rng):
    """Units that are neighbours on the grid are neighbours in space, and every row is near its unit."""
    X = rng.uniform(0, 1, (2000, 2))
    model = lowland.SOM((8, 8), random_state=0).fit(X)
    W = model.codebook_.reshape(8, 8, 2)
    steps = np.concatenate([np.linalg.norm(np.diff(W, axis=a), axis=2).ravel() for a in (0, 1)])
    apart = cdist(model.codebook_, model.codebook_)
    assert steps.max() < 0.25 * apart.max(), "the net is not folded"
    nearest = cdist(X, model.codebook_).min(axis=1)
    assert nearest.mean() < 0.06, "a square of 64 cells has a mean distance of 0.048 to their centres"


def test_M7_autoencoders(rng):
    """A curve of one dimension goes through one number: far less is lost than by the best linear compressor."""
    pytest.importorskip("torch", reason="the extra [torch] is not installed: the autoencoder was NOT checked")
    t = rng.uniform(-2, 2, 600)
    X = np.column_stack([t, t**2, np.sin(2 * t)])

    def lost(model):
        return float(((X - model.inverse_transform(model.transform(X))) ** 2).sum() / ((X - X.mean(0)) ** 2).sum())

    assert lost(lowland.Autoencoder(1, random_state=0).fit(X)) < 0.2 * lost(lowland.PCA(1).fit(X))


def test_U3_hubs_authorities_and_random_walk_with_restart(rng):
    """A graph given by names: PageRank is the walk's share of time, HITS the leading singular vectors."""
    from lowland.ranking import hits, pagerank

    A = (rng.random((30, 30)) < 0.12).astype(float)
    A[:3] = 0  # without links out: the walk starts again
    edges = [(f"page {i}", f"page {j}") for i, j in np.argwhere(A)]
    result, both = pagerank(edges, damping=0.85), hits(edges, normalize="l2")
    number = [int(str(name).split()[1]) for name in result.names]
    M = A[np.ix_(number, number)]
    n, out = len(M), M.sum(axis=1, keepdims=True)
    walk = 0.85 * np.where(out > 0, M / np.maximum(out, 1), 1 / n) + 0.15 / n
    np.testing.assert_allclose(result.scores @ walk, result.scores, atol=1e-10)
    assert result.scores.sum() == pytest.approx(1)
    U, s, Vt = np.linalg.svd(M)
    np.testing.assert_allclose(both.hubs, np.abs(U[:, 0]), atol=1e-9)
    np.testing.assert_allclose(both.authorities, np.abs(Vt[0]), atol=1e-9)
    assert both.eigenvalue == pytest.approx(s[0] ** 2)


@pytest.mark.parametrize(
    ("name", "table", "scale", "ddof"),
    [
        ("prcomp_USArrests_scaled", "USArrests", True, 1),
        ("prcomp_USArrests_unscaled", "USArrests", False, 1),
        ("prcomp_iris_scaled", "iris", True, 1),
        ("prcomp_iris_unscaled", "iris", False, 1),
        ("princomp_iris", "iris", False, 0),
    ],
)
@pytest.mark.parametrize("solver", ["auto", "covariance", "gram", "svd", "krylov"])
@pytest.mark.filterwarnings("ignore::lowland.DominantColumnWarning")
def test_R_prcomp(name, table, scale, ddof, solver):
    folder = REFERENCE
    want = json.loads((folder / "results.json").read_text())[name]
    rotation = np.array((want.get("rotation") or want["loadings"])["values"])
    X = _table(folder / f"{table}.csv", (want.get("rotation") or want["loadings"])["rownames"])
    pca = lowland.PCA(scale=scale, ddof=ddof, solver=solver).fit(X)
    np.testing.assert_allclose(np.sqrt(pca.eigenvalues_), want["sdev"], rtol=1e-8)
    signs = np.sign(np.sum(rotation * pca.components_.T, axis=0))
    np.testing.assert_allclose(pca.components_.T * signs, rotation, atol=1e-8)
    with open(folder / want["scores_file"]) as file:
        names = [c for c in next(csv.reader(file)) if c not in ("row", "")]
    scores = _table(folder / want["scores_file"], names)
    np.testing.assert_allclose(pca.transform(X) * signs, scores, atol=1e-8 * np.abs(scores).max())


def test_U6_a_learner_loses_nothing_on_few_components():
    X, y = load_iris(return_X_y=True)
    found = lowland.quality.downstream(X, y, methods=["pca"])
    k = found.smallest["pca"]
    assert k is not None
    assert k <= 2
    assert found.everything.score > 0.9
    assert found.of("pca")[k - 1].score > 0.9


def test_U7_columns_that_move_together(rng):
    """A table of 65 people × 53 values, as S1 has; S1 prints only part of its own, so this one is made."""
    F = rng.standard_normal((65, 4))
    X = 2 * np.repeat(F, 10, axis=1) + rng.standard_normal((65, 40))
    X = np.column_stack([X, rng.standard_normal((65, 13))])
    found = lowland.quality.column_groups(X)
    groups = [sorted(int(name[1:]) for name in group.columns) for group in found.groups]
    assert sorted(groups)[:4] == [list(range(10 * i, 10 * i + 10)) for i in range(4)]


def test_U9_pca_can_destroy_classes_and_it_is_told(rng):
    kind = np.repeat([0, 1], 100)
    X = np.column_stack([rng.normal(0, 5, (200, 3)), rng.normal(0, 0.1, 200) + kind])
    found = lowland.quality.downstream(X, kind, "linear", folds=5)
    assert found.destroyed is not None
    assert found.destroyed.discarded > 0.9
    assert "PCA destroys the classes" in found.sentence


def test_U4_an_image_compressed_by_k_components(rng):
    from sklearn.datasets import load_sample_images

    image = load_sample_images().images[1][::4, ::4].mean(axis=2)
    sizes, errors = [], []
    for k in (0, 5, 20, 60):
        if k == 0:
            errors.append(float(np.sqrt(np.mean(image**2))) / 255)
            continue
        found = lowland.images.compress(image, k, bits=16)
        s = np.linalg.svd(image, compute_uv=False)
        assert found.error * found.peak == pytest.approx(np.sqrt((s[k:] ** 2).sum() / image.size), rel=1e-3)
        sizes.append(found.n_bytes)
        errors.append(found.error)
    assert sizes == sorted(sizes)
    assert errors == sorted(errors, reverse=True)


def test_U4_eigenfaces_are_images_of_centred_and_scaled_faces():
    X, _, _ = lowland.data.digits()
    faces = X[:300].reshape(-1, 8, 8)
    model = lowland.images.Eigenfaces(50).fit(faces)
    Z = (X[:300] - X[:300].mean(axis=1, keepdims=True)) / X[:300].std(axis=1, keepdims=True)
    np.testing.assert_allclose(model.mean_face_, Z.mean(axis=0).reshape(8, 8), atol=1e-12)
    C = np.cov(Z.T)
    first = model.eigenfaces_[0].ravel()
    np.testing.assert_allclose(C @ first, model.pca_.explained_variance_[0] * first, atol=1e-9)
    rebuilt = model.rebuild(faces, [0, 10, 30, 40, 50])
    errors = ((rebuilt - faces) ** 2).mean(axis=(1, 2, 3))
    assert (np.diff(errors) < 0).all()
    assert errors[-1] < 0.03 * errors[0]


def test_U5_denoising_linear_and_kernel(rng):
    X, _, _ = lowland.data.digits()
    clean, test = X[:600].reshape(-1, 8, 8), X[600:750].reshape(-1, 8, 8)
    noisy = test + 4 * rng.standard_normal(test.shape)
    before, linear, kernel = (
        float(np.mean((images - test) ** 2))
        for images in (
            noisy,
            lowland.images.denoise(noisy, "pca", clean=clean).pixels,
            lowland.images.denoise(noisy, "kernel", clean=clean, width=1.4).pixels,
        )
    )
    assert kernel < linear < before / 2


def test_U2_documents_are_indexed_folded_in_and_found_by_meaning():
    texts = ["wing flutter", "flutter of a tail wing", "heat of a nose", "nose heat and shock", "tail of a wing"]
    index = lowland.text.LatentSemanticIndex(2).fit(texts)
    assert {i for i, _ in index.search("tail", k=3)} == {0, 1, 4}  # the first is found without the word
    index.add(["tail and wing of a wing"])
    assert len(index) == 6
    assert index.similar(5, k=1).indices[0] in (0, 1, 4)


@pytest.mark.parametrize("features", ["histogram", "counts"])
def test_U8_two_concepts_appear_in_the_table_of_words(features):
    """S1's 10 documents × 5 terms; S3's histogram divides each by its length (eq. 1)."""
    terms = ["database", "sql", "index", "regression", "likelihood"]
    texts = [" ".join(word for word, n in zip(terms, row, strict=True) for _ in range(n)) for row in TERMS]
    index = lowland.text.LatentSemanticIndex(2, features=features).fit(texts)
    X = index.encoder_.encode(texts).toarray()[:, [index.terms.index(term) for term in terms]]
    expected = TERMS / TERMS.sum(axis=1, keepdims=True) if features == "histogram" else TERMS
    np.testing.assert_allclose(X, expected, rtol=1e-15)
    # eqs 12-15: the coordinates from the Gram matrix alone
    lam, alpha = np.linalg.eigh(X @ X.T)
    psi = X @ X.T @ alpha[:, ::-1][:, :2] / np.sqrt(lam[::-1][:2])
    np.testing.assert_allclose(np.abs(index.documents_), np.abs(psi), atol=1e-5 * np.abs(psi).max())
    assert set(index.search("sql", k=5).indices.tolist()) == {0, 1, 2, 3, 4}
    assert set(index.search("likelihood", k=5).indices.tolist()) == {5, 6, 7, 8, 9}


def ellipse(n=60):
    """Points along (1, 0.45) with a little spread."""
    rng = np.random.default_rng(3)
    along, across = rng.standard_normal(n), 0.15 * rng.standard_normal(n)
    return np.column_stack([along - 0.45 * across, 0.45 * along + across])


def test_T2_axes_with_projection_sticks():
    X = ellipse()
    sticks = plots.axes_and_projections(X).collections[0].get_segments()
    error = sum(float(((a - b) ** 2).sum()) for a, b in sticks)
    np.testing.assert_allclose(error, (lowland.PCA(1).fit(X).residual(X) ** 2).sum(), rtol=1e-10)


def test_T2_variance_along_candidate_directions():
    X = ellipse()
    axes = plots.variance_by_direction(X, candidates=[(1, 0.3), (1, 0.45)])
    names = [line.get_label() for line in axes.lines]
    shares = [np.var(X @ v / np.linalg.norm(v), ddof=1) for v in np.array([[1, 0.3], [1, 0.45]])]
    assert shares[0] < shares[1] <= lowland.PCA(1).fit(X).eigenvalues_[0]
    assert sum("0.3" in name for name in names) == sum("0.45" in name for name in names) == 1


def test_T2_eigenfaces_and_faces_rebuilt_from_more_and_more_components():
    X, _, _ = lowland.data.digits()
    model = lowland.PCA(50).fit(X)
    assert len([panel for panel in plots.eigenimages(model, (8, 8), n=6) if panel.images]) == 7  # and the mean
    panels = plots.reconstructions(model, X, (8, 8), k=(0, 30, 40, 50), rows=[0])
    errors = [((panel.images[0].get_array().ravel() - X[0]) ** 2).sum() for panel in panels if panel.images]
    assert len(errors) == 5
    assert (np.diff(errors) < 0).all()
    assert errors[-1] == 0  # the image itself


def test_T2_denoised_digits(rng):
    X, _, _ = lowland.data.digits()
    clean, test = X[:300].reshape(-1, 8, 8), X[300:304].reshape(-1, 8, 8)
    found = lowland.images.denoise(test + 4 * rng.standard_normal(test.shape), "pca", clean=clean)
    panels = found.plot()
    assert sum(len(panel.images) for panel in panels) >= 2 * len(test)  # noisy and denoised


def test_T2_concentric_spheres_under_three_kernels():
    X, sphere = lowland.data.spheres(200, random_state=0)
    maps = {
        kernel: lowland.KernelPCA(2, kernel=kernel, **options).fit_transform(X)
        for kernel, options in (("linear", {}), ("rbf", {}), ("poly", {"degree": 5}))
    }
    panels = plots.compare_grid(maps, color=sphere)
    assert [panel.get_title() for panel in panels[:3]] == ["linear", "rbf", "poly"]


def test_T2_path_and_straight_line_on_a_roll():
    X, _ = lowland.data.swiss_roll(300, random_state=0)
    axes = plots.neighbor_graph(X, n_neighbors=8, path=(0, 1))
    path, line = (text.get_text() for text in axes.get_legend().get_texts())
    assert float(path.split(": ")[1].split()[0]) > float(line.split(": ")[1])


def test_T2_scatter_in_three_dimensions():
    X, _ = lowland.data.swiss_roll(100, random_state=0)
    assert plots.scatter(X, axes=(1, 2, 3)).name == "3d"


def test_T4_polar_coordinates_straighten_a_ring_and_a_kernel_does_so_implicitly(rng):
    angle, radius = rng.uniform(-np.pi, np.pi, 400), 1 + 0.05 * rng.standard_normal(400)
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])

    def polar(X):
        return np.column_stack([np.hypot(*X.T), np.arctan2(X[:, 1], X[:, 0])])

    plain = lowland.PCA(2).fit(ring)
    with pytest.warns(lowland.LowlandWarning, match=r"column 1 holds 99\.9 % of the variance"):  # the angle
        straight = make_pipeline(FunctionTransformer(polar), lowland.PCA(2)).fit(ring)
    assert plain.explained_variance_ratio_[0] < 0.6
    assert straight[-1].explained_variance_ratio_[0] > 0.99
    disc = np.vstack([ring, 0.05 * rng.standard_normal((400, 2))])  # a kernel tells the ring from its centre
    Y = lowland.KernelPCA(1, kernel="rbf", gamma=1.0).fit_transform(disc)[:, 0]
    assert min(Y[:400].max() - Y[400:].min(), Y[400:].max() - Y[:400].min()) < 0


def test_T7_histograms_as_features_and_an_exact_factorisation():
    """Documents of any length are compared by shares of words; X = UΣVᵀ with as many components as the rank."""
    terms = ["database", "sql", "index", "regression", "likelihood"]
    texts = [" ".join(word for word, n in zip(terms, row, strict=True) for _ in range(n)) for row in TERMS]
    encoder = lowland.steps.EncodeTexts(features="histogram").fit(texts)
    X = encoder.transform(texts).toarray()
    np.testing.assert_allclose(X.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(encoder.transform([3 * f"{text} " for text in texts]).toarray(), X, rtol=1e-14)
    svd = lowland.TruncatedSVD(5).fit(X)
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(svd.singular_values_, s, rtol=1e-12)
    np.testing.assert_allclose(svd.transform(X) @ svd.components_, X, atol=1e-14)
    np.testing.assert_allclose(np.abs(svd.components_), np.abs(Vt), atol=1e-12)  # unique up to signs: no ties here
    np.testing.assert_allclose(np.abs(svd.transform(X)), np.abs(U * s), atol=1e-12)
