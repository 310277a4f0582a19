"""KernelPCA: the requirements K1 to K11, identities, R's numbers, new rows of known shapes, hard and bad data."""

from __future__ import annotations

import csv
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowland
from lowland.methods.kernel.kernel_pca import KernelPCA
from lowland.rows.row_source import RowSource
from sample_tables import REFERENCE
from signs import same_up_to_sign


@pytest.fixture
def X(rng):
    return rng.standard_normal((120, 3)) @ rng.standard_normal((3, 5)) + 0.3 * rng.standard_normal((120, 5)) + 2.0


def gaussian(A, B, gamma):
    return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def by_hand(K, k):
    """Eigenpairs of JKJ, the slow and plain way."""
    n = len(K)
    J = np.eye(n) - 1 / n
    values, U = np.linalg.eigh(J @ K @ J)
    return values[::-1][:k], U[:, ::-1][:, :k]


def near_up_to_sign(A, B, tolerance):
    same_up_to_sign(A, B, rtol=0, atol=tolerance * np.abs(B).max())


def table(path):
    with open(path) as file:
        rows = list(csv.reader(file))[1:]
    return np.array([[float(cell) for cell in row[1:]] for row in rows])


# -- requirements --------------------------------------------------------------------------------------------------


def test_K1_centring_of_training_and_new_rows(X, rng):
    """K̃ = K − 1K − K1 + 1K1 and k̃_x = k_x − 1k_x − K1 + 1K1, written out."""
    new, gamma, k = rng.standard_normal((30, 5)) + 2.0, 0.1, 4
    K, kx = gaussian(X, X, gamma), gaussian(new, X, gamma)
    values, U = by_hand(K, k)
    n = len(X)
    one, one_new = np.full((n, n), 1 / n), np.full((len(new), n), 1 / n)
    centred = kx - one_new @ K - kx @ one + one_new @ K @ one
    model = KernelPCA(k, gamma=gamma).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-12)
    near_up_to_sign(model.transform(new), centred @ U / np.sqrt(values), 1e-12)
    near_up_to_sign(model.embedding_, U * np.sqrt(values), 1e-12)
    np.testing.assert_allclose(model.embedding_.mean(axis=0), 0.0, atol=1e-14)


def bigrams(a, b):
    """How many pairs of neighbouring letters two words share, with multiplicity."""
    pairs = lambda word: [word[i : i + 2] for i in range(len(word) - 1)]  # noqa: E731
    return float(sum(p == q for p in pairs(a) for q in pairs(b)))


WORDS = [
    "banana",
    "bandana",
    "cabana",
    "havana",
    "savanna",
    "mantra",
    "tantra",
    "mandarin",
    "marina",
    "martini",
    "catamaran",
]


@pytest.mark.parametrize("landmarks", [None, 10, "uniform:10"])
def test_K2_objects_known_by_their_kernel_alone(landmarks):
    """Words and a bigram kernel, against PCA of the explicit counts, on training and held-out words."""
    held_out = ["anaconda", "manta", "tarantula"]
    letters = sorted({w[i : i + 2] for w in WORDS + held_out for i in range(len(w) - 1)})

    def counts(words):
        return np.array(
            [[sum(w[i : i + 2] == p for i in range(len(w) - 1)) for p in letters] for w in words], dtype=float
        )

    model = KernelPCA(3, kernel=bigrams, landmarks=landmarks).fit(WORDS)
    pca = lowland.PCA(3).fit(counts(WORDS))
    if landmarks is None:
        near_up_to_sign(model.transform(held_out), pca.transform(counts(held_out)), 1e-10)
        near_up_to_sign(model.embedding_, pca.transform(counts(WORDS)), 1e-10)
    else:
        # PCA of the counts projected on the span of the landmarks' counts
        A = counts(model.anchors_)
        projected = lambda words: counts(words) @ np.linalg.pinv(A) @ A  # noqa: E731
        near = lowland.PCA(3).fit(projected(WORDS))
        near_up_to_sign(model.embedding_, near.transform(projected(WORDS)), 1e-10)
        near_up_to_sign(model.transform(held_out), near.transform(projected(held_out)), 1e-10)
        lost = counts(WORDS) - projected(WORDS)
        error = (lost**2).sum() / (counts(WORDS) ** 2).sum()
        assert 0 < error < 0.1
        assert model.fit_info_.approximation_error == pytest.approx(error, rel=1e-8)
        assert (model.eigenvalues_ <= pca.explained_variance_ * (len(WORDS) - 1) * (1 + 1e-12)).all()
        assert model.eigenvalues_ == pytest.approx(pca.explained_variance_ * (len(WORDS) - 1), abs=(lost**2).sum())
    assert model.transform(np.array(held_out, dtype=object)).shape == (3, 3)
    np.testing.assert_allclose(model.transform(WORDS), model.embedding_, atol=1e-12)
    assert (model.feature_space_error(held_out) > 0.1).all()  # three components do not hold new letters


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"])
@pytest.mark.filterwarnings("ignore:KernelPCA. the kernel is not positive")
def test_K3_every_way_to_name_a_kernel_gives_the_same(X, name):
    from sklearn.metrics.pairwise import pairwise_kernels

    gamma = {"poly": 0.1, "sigmoid": 0.01, "rbf": 0.1, "laplacian": 0.2}.get(name)
    options = {} if gamma is None else {"gamma": gamma}
    more = {"degree": 3, "coef0": 1} if name == "poly" else {"coef0": 1} if name == "sigmoid" else {}
    block = lambda A, B: pairwise_kernels(A, B, metric=name, **options, **more)  # noqa: E731
    single = lambda a, b: block(a[None], b[None])[0, 0]  # noqa: E731
    named = KernelPCA(3, kernel=name, **options).fit(X[:30])
    given = KernelPCA(3, kernel="precomputed").fit(block(X[:30], X[:30]))
    want = named.transform(X[30:60])
    for kernel in (block, single):
        model = KernelPCA(3, kernel=kernel).fit(X[:30])
        near_up_to_sign(model.transform(X[30:60]), want, 1e-10)
    near_up_to_sign(given.transform(block(X[30:60], X[:30])), want, 1e-10)
    assert named.gamma_ == gamma


def test_K4_norm_condition(X):
    """aᵀK̃a = 1 for the expansion a of each direction, and D^(−1/2)Uᵀk̃_x is what transform does."""
    model = KernelPCA(5, gamma=0.2).fit(X)
    K = gaussian(X, X, 0.2)
    J = np.eye(len(X)) - 1 / len(X)
    np.testing.assert_allclose(model.dual_.T @ J @ K @ J @ model.dual_, np.eye(5), atol=1e-11)
    U = model.eigenvectors_
    np.testing.assert_allclose(U.T @ U, np.eye(5), atol=1e-12)
    np.testing.assert_allclose((J @ K @ J @ U) / np.sqrt(model.eigenvalues_), model.embedding_, atol=1e-11)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
@pytest.mark.filterwarnings("ignore:KernelPCA. the centred kernel has rank")
def test_K5_no_error_on_training_rows_with_all_components(X, kernel):
    model = KernelPCA(len(X) - 1, kernel=kernel).fit(X)
    bound = len(X) * np.finfo(float).eps * model.eigenvalues_[0]
    assert model.feature_space_error(X).max() <= bound
    assert model.n_components_ == (5 if kernel == "linear" else len(X) - 1)


def test_K5_error_is_the_distance_in_feature_space(X, rng):
    """For a linear kernel feature space is the space of the rows: the error is PCA's squared residual."""
    new = rng.standard_normal((20, 5))
    pca, model = lowland.PCA(2).fit(X), KernelPCA(2, kernel="linear").fit(X)
    np.testing.assert_allclose(model.feature_space_error(new), (pca.residual(new) ** 2).sum(axis=1), rtol=1e-10)
    few = KernelPCA(2, kernel="linear", landmarks=40).fit(X)  # 40 rows span all five columns
    np.testing.assert_allclose(few.feature_space_error(new), (pca.residual(new) ** 2).sum(axis=1), rtol=1e-8)


def test_K6_distance_error(X, rng):
    new = rng.standard_normal((600, 5)) + 2.0  # more than one tile
    model = KernelPCA(2, gamma=0.2).fit(X)
    K, Y = gaussian(new, new, 0.2), model.transform(new)
    d = np.sqrt(np.maximum(2 - 2 * K, 0))
    flat = np.sqrt(((Y[:, None] - Y[None]) ** 2).sum(axis=2))
    upper = np.triu_indices(len(new), 1)
    assert model.distance_error(new) == pytest.approx((d - flat)[upper].mean(), rel=1e-10)
    assert KernelPCA(119, gamma=0.2).fit(X).distance_error(X) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("noise", "width", "k"), [(0.25, 0.7, 128), (0.5, 1.4, 16)])
def test_K7_gaussian_kernel_denoises_better_than_linear_pca(noise, width, k):
    """As benchmarks/denoising.py does for larger digits: 1000 clean ones learned, 150 noisy ones cleaned."""
    digits = load_digits().data / 16
    rng = np.random.default_rng(0)
    order = rng.permutation(len(digits))
    train, clean = digits[order[:1000]], digits[order[1000:1150]]
    noisy = clean + noise * rng.standard_normal(clean.shape)
    pca = lowland.PCA().fit(train)
    scores = pca.transform(noisy)
    errors = [
        np.mean((pca.mean_ + scores[:, :m] @ pca.components_[:m] - clean) ** 2) for m in range(1, scores.shape[1] + 1)
    ]
    model = KernelPCA(k)
    model.set_params(gamma=model.fit(train).gamma_ / width**2).fit(train)
    kernel_error = np.mean((model.inverse_transform(model.transform(noisy)) - clean) ** 2)
    assert kernel_error < 0.9 * min(errors)


def test_K8_validation_chooses_kernel_and_width(rng):
    """A noisy closed curve that winds through four dimensions of ten: two coordinates, if the kernel is right."""
    t = rng.uniform(0, 2 * np.pi, 300)
    curve = np.column_stack([np.cos(t), np.sin(t), np.cos(2 * t), np.sin(2 * t)])
    X = curve @ np.linalg.qr(rng.standard_normal((10, 10)))[0][:4] + 0.1 * rng.standard_normal((300, 10))
    grid = {"kernel": ["linear", "rbf"], "gamma": [1e-3, 0.1, 1.0, 10.0, 100.0]}
    search = GridSearchCV(KernelPCA(2, preimage="ridge"), grid, cv=3).fit(X)
    assert search.best_params_ == {"kernel": "rbf", "gamma": 1.0}
    assert search.best_score_ > -0.015  # noise of variance 0.01, and a closed curve closes
    scores = {
        (p["kernel"], p["gamma"]): s
        for p, s in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    }
    assert scores["linear", 1.0] < 5 * search.best_score_


@pytest.mark.parametrize("strategy", ["rpcholesky", "uniform", "kmeans"])
def test_K9_a_dictionary_stands_for_many_points(rng, strategy):
    """The large-N path against the exact one: its error is what it says, its centring is exact."""
    X = rng.standard_normal((500, 4))
    exact = KernelPCA(3, gamma=0.1, preimage=None).fit(X)
    model = KernelPCA(3, gamma=0.1, preimage=None, landmarks=f"{strategy}:80").fit(X)
    assert model.fit_info_.approximate
    K = gaussian(X, X, 0.1)
    C = gaussian(X, model.anchors_, 0.1)
    nystrom = C @ np.linalg.pinv(gaussian(model.anchors_, model.anchors_, 0.1), rcond=1e-13, hermitian=True) @ C.T
    error = np.trace(K - nystrom) / np.trace(K)
    assert model.fit_info_.approximation_error == pytest.approx(error, rel=1e-4)
    assert error < 0.01
    values, U = by_hand(nystrom, 3)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    near_up_to_sign(model.embedding_, U * np.sqrt(values), 1e-6)
    assert (model.eigenvalues_ <= exact.eigenvalues_ * (1 + 1e-12)).all()  # a compression loses, never gains
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=2 * error)
    near_up_to_sign(model.embedding_, exact.embedding_, 0.02)
    np.testing.assert_allclose(model.embedding_.mean(axis=0), 0.0, atol=1e-12)


def test_K10_linear_kernel_is_pca(X, rng):
    new = rng.standard_normal((25, 5))
    pca = lowland.PCA(4).fit(X)
    for landmarks in (None, 50):
        model = KernelPCA(4, kernel="linear", landmarks=landmarks).fit(X)
        near_up_to_sign(model.transform(new), pca.transform(new), 1e-8)
        near_up_to_sign(model.embedding_, pca.transform(X), 1e-8)
        np.testing.assert_allclose(model.eigenvalues_, pca.explained_variance_ * (len(X) - 1), rtol=1e-8)
        Y = pca.transform(new)
        np.testing.assert_allclose(
            model.inverse_transform(model.transform(new)), pca.inverse_transform(Y), rtol=0, atol=1e-8
        )


def spheres(rng, n=400):
    """Two concentric spheres of radii 40 and 100 in 3-D, and which of them a point is on."""
    U = rng.standard_normal((n, 3))
    outer = np.arange(n) % 2
    return U / np.linalg.norm(U, axis=1)[:, None] * np.where(outer, 100.0, 40.0)[:, None], outer


def classifier(model):
    return make_pipeline(model, StandardScaler(), LogisticRegression())


def test_K11_two_spheres(rng):
    """A linear classifier on two components: Gaussian separates, PCA and the polynomial of degree 5 do not."""
    (X, y), (new, truth) = spheres(rng), spheres(rng)
    median = np.sqrt(1 / (2 * KernelPCA(gamma="median", preimage=None).fit(X).gamma_))
    widths = [1 / (2 * (share * median) ** 2) for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 2.0)]
    search = GridSearchCV(classifier(KernelPCA(2, preimage=None)), {"kernelpca__gamma": widths}, cv=3).fit(X, y)
    share = np.sqrt(1 / (2 * search.best_params_["kernelpca__gamma"])) / median
    assert 0.25 < share < 0.55
    assert search.score(new, truth) >= 0.99
    assert classifier(KernelPCA(2, preimage=None)).fit(X, y).score(new, truth) >= 0.99  # the default width
    assert classifier(KernelPCA(2, gamma="median", preimage=None)).fit(X, y).score(new, truth) < 0.8
    assert classifier(lowland.PCA(2)).fit(X, y).score(new, truth) <= 0.65
    # (γxᵀy + c)⁵ over all scales of γ and offsets c, each judged on the new points themselves: the best of 16
    polynomial = [
        classifier(KernelPCA(2, kernel="poly", degree=5, gamma=g / median**2, coef0=c, preimage=None))
        .fit(X, y)
        .score(new, truth)
        for g in (0.01, 0.1, 1.0, 10.0)
        for c in (0, 1, 10, 100)
    ]
    assert max(polynomial) < 0.8


# -- numbers of R ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), [("rbf_0.2_f2", {"gamma": 0.2}), ("linear", {"kernel": "linear"})])
def test_kernlab(name, options):
    """kernlab's `rotated` is √m times the coordinates, its `pcv` is U/√(λ/m)."""
    folder = REFERENCE
    with open(folder / "iris.csv") as file:
        X = np.array([[float(c) for c in row[1:5]] for row in list(csv.reader(file))[1:]])
    rotated, pcv = table(folder / f"kpca_iris_{name}_rotated.csv"), table(folder / f"kpca_iris_{name}_pcv.csv")
    m, k = rotated.shape
    model = KernelPCA(k, **options).fit(X)
    near_up_to_sign(model.embedding_ * np.sqrt(m), rotated, 1e-8)
    near_up_to_sign(model.eigenvectors_ / np.sqrt(model.eigenvalues_ / m), pcv, 1e-8)


# -- new rows -------------------------------------------------------------------------------------------------------


def harmonics(t):
    return np.column_stack([np.ones_like(t), *(f(j * t) for j in range(1, 9) for f in (np.cos, np.sin))])


def polynomials(P):
    from sklearn.preprocessing import PolynomialFeatures

    return PolynomialFeatures(5).fit_transform(P)


def circle(rng, n):
    t = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(t), np.sin(t)]), harmonics(t)


def ball(rng, n):
    P = rng.standard_normal((n, 3))
    P /= np.linalg.norm(P, axis=1)[:, None]
    return P, polynomials(P)


@pytest.mark.parametrize(
    ("shape", "k", "landmarks"), [(circle, 2, None), (ball, 3, None), (circle, 2, 30), (ball, 3, 100)]
)
def test_new_rows_lie_on_the_map_of_the_training_rows(rng, shape, k, landmarks):
    """The map of a known shape is smooth in its own coordinates. Held-out rows must lie on that smooth map within twice
    the training rows' own distance from it; copies of the nearest training row's coordinates do not.
    """
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    points, basis = shape(rng, 800)
    new, new_basis = shape(rng, 400)
    X, held_out = points @ turn[: points.shape[1]], new @ turn[: points.shape[1]]
    model = KernelPCA(k, landmarks=landmarks).fit(X)
    coefficients = np.linalg.lstsq(basis, model.embedding_, rcond=None)[0]
    own = np.sqrt(np.mean((model.embedding_ - basis @ coefficients) ** 2))
    found = np.sqrt(np.mean((model.transform(held_out) - new_basis @ coefficients) ** 2))
    nearest = ((held_out[:, None] - X[None]) ** 2).sum(axis=2).argmin(axis=1)
    copied = np.sqrt(np.mean((model.embedding_[nearest] - new_basis @ coefficients) ** 2))
    assert found <= 2 * own
    assert copied > 2 * own


@pytest.mark.parametrize("landmarks", [None, 40])
def test_training_rows_return_their_embedding(X, landmarks):
    model = KernelPCA(3, landmarks=landmarks)
    Y = model.fit_transform(X)
    np.testing.assert_allclose(model.transform(X), Y, atol=1e-12)
    assert Y is not model.embedding_


def test_a_model_does_not_change_with_the_callers_array(X):
    model = KernelPCA(2).fit(X)
    before = model.transform(X[:5].copy())
    new = X[:5].copy()
    X[:] = 0.0
    np.testing.assert_array_equal(model.transform(new), before)


@pytest.mark.parametrize("landmarks", [None, 40])
def test_parameters_set_after_a_fit_wait_for_the_next(X, landmarks):
    model = KernelPCA(2, kernel="poly", gamma=0.1, landmarks=landmarks).fit(X)
    Y, back = model.transform(X), model.inverse_transform(model.embedding_)
    for changed in (
        {"degree": 2},
        {"coef0": 5.0},
        {"kernel": "rbf"},
        {"preimage": "fixed-point"},
        {"kernel": "linear"},
    ):
        model.set_params(**changed)
        np.testing.assert_array_equal(model.transform(X), Y)
        np.testing.assert_array_equal(model.inverse_transform(model.embedding_), back)
    model = KernelPCA(2, kernel=bigrams).fit(WORDS).set_params(kernel="rbf")
    with pytest.raises(lowland.DataError, match="now 'rbf'; fit it again"):
        model.transform(np.ones((2, 1)))


@pytest.mark.parametrize("landmarks", [None, 50])
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_a_kernel_in_float32_is_judged_by_its_own_precision(X, landmarks, offset):
    X = X[:, :3]

    def single(A, B):
        return (A @ B.T + offset).astype(np.float32)

    for kernel in (single, lambda a, b: np.float32(a @ b + offset)):
        with pytest.warns(lowland.RankWarning, match="rank 3"):
            assert KernelPCA(10, kernel=kernel, landmarks=landmarks, preimage=None).fit(X).n_components_ == 3
    with pytest.raises(lowland.DataError, match="rank 0"):
        KernelPCA(2, kernel=lambda A, B: np.float32(1) + 0 * single(A, B), landmarks=landmarks, preimage=None).fit(X)


# -- hard data ------------------------------------------------------------------------------------------------------


def test_float32_with_a_large_mean(rng):
    Z = rng.standard_normal((200, 3)).astype(np.float32)
    far = (Z + np.float32(1e5)).astype(np.float32)
    near = far.astype(np.float64) - 1e5  # the same rows, exactly
    for kernel in ("rbf", "linear"):
        got = KernelPCA(2, kernel=kernel).fit(far)
        want = KernelPCA(2, kernel=kernel).fit(near)
        assert got.embedding_.dtype == np.float32
        np.testing.assert_allclose(got.eigenvalues_, want.eigenvalues_, rtol=1e-9)
        near_up_to_sign(got.transform(far).astype(float), want.transform(near), 1e-6)
        back = got.inverse_transform(got.transform(far))
        assert back.dtype == np.float32
        want_back = want.inverse_transform(want.transform(near)) + 1e5
        np.testing.assert_allclose(back, want_back, atol=0.02)  # float32 has steps of 0.008 there


def test_single_precision_keeps_small_components(rng):
    """A float32 kernel matrix: components of 1e-5 of the largest are there, not cut off as rounding."""
    X = (rng.standard_normal((1800, 6)) * np.array([3, 1, 0.3, 0.1, 0.03, 0.01])).astype(np.float32)
    got = KernelPCA(6, kernel="linear", preimage=None).fit(X)
    Z = X.astype(np.float64)
    want = np.linalg.svd(Z - Z.mean(axis=0), compute_uv=False) ** 2
    assert got.n_components_ == 6
    np.testing.assert_allclose(got.eigenvalues_, want, rtol=2e-3)
    np.testing.assert_allclose(got.eigenvalues_[:4], want[:4], rtol=1e-5)


def test_duplicates(rng):
    X = np.repeat(rng.standard_normal((5, 3)), 8, axis=0)
    with pytest.warns(lowland.RankWarning, match="rank 4, so only 4 of the 10 requested"):
        model = KernelPCA(10).fit(X)
    assert model.n_components_ == 4
    assert model.transform(X).shape == (40, 4)
    with pytest.warns(lowland.RankWarning, match="rank 4"):
        few = KernelPCA(10, landmarks=20).fit(X)
    assert len(few.anchors_) == 5  # the kernel is exhausted there
    near_up_to_sign(few.embedding_, model.embedding_, 1e-10)


@pytest.mark.parametrize("options", [{}, {"gamma": 1.0}, {"kernel": "linear"}, {"kernel": "poly", "gamma": 1.0}])
@pytest.mark.parametrize("landmarks", [None, 10])
@pytest.mark.parametrize("value", [0.0, 3.7, -1e6])
def test_all_points_equal(options, landmarks, value):
    with pytest.raises(lowland.DataError, match="rank 0"):
        KernelPCA(1, landmarks=landmarks, **options).fit(np.full((20, 4), value))


@pytest.mark.parametrize("k", [120, 500])
def test_as_many_components_as_rows(X, k):
    with pytest.raises(
        lowland.DataError, match=rf"n_components={k} is more than n_samples − 1 = 119 \(n_samples = 120"
    ):
        KernelPCA(k).fit(X)
    with pytest.raises(lowland.DataError, match=rf"n_components={k} is more than the number of landmarks = 50"):
        KernelPCA(k, landmarks=50).fit(X)


def test_indefinite_kernels_are_reported_and_never_rooted(X):
    with pytest.warns(lowland.LowlandWarning, match="not positive semidefinite"):
        model = KernelPCA(40, kernel="sigmoid", gamma=0.5).fit(X)
    K = np.tanh(0.5 * X @ X.T + 1)
    J = np.eye(len(X)) - 1 / len(X)
    values = np.linalg.eigvalsh(J @ K @ J)
    evidence = model.fit_info_.evidence
    assert evidence["least eigenvalue"] == pytest.approx(values[0], rel=1e-10)
    assert evidence["negative eigenvalues"] == (values < -120 * np.finfo(float).eps * values[-1]).sum()
    assert evidence["negative share of the spectrum"] == pytest.approx(-values[values < 0].sum() / np.abs(values).sum())
    assert np.isfinite(model.embedding_).all()
    assert (model.eigenvalues_ > 0).all()


def test_indefinite_kernels_past_the_dense_limit(rng, monkeypatch):
    monkeypatch.setattr("lowland.methods.kernel.feature_space.DENSE_LIMIT", 100)
    X = rng.standard_normal((400, 3))
    K = np.tanh(X @ X.T)
    with pytest.warns(lowland.LowlandWarning, match="not positive semidefinite"):
        model = KernelPCA(2, kernel="precomputed").fit(K)
    J = np.eye(400) - 1 / 400
    values = np.linalg.eigvalsh(J @ K @ J)
    share = -values[values < 0].sum() / np.abs(values).sum()
    assert model.fit_info_.evidence["negative share of the spectrum"] == pytest.approx(share, abs=0.05)
    assert 1.01 * values[0] < model.fit_info_.evidence["least eigenvalue"] < 0.5 * values[0]
    assert "negative eigenvalues" not in model.fit_info_.evidence  # estimated, not counted


def test_indefinite_kernels_through_landmarks(rng):
    """rpcholesky picks what is positive: no eigenvalue of the landmarks is negative, and tr K̂ passes tr K."""
    X = rng.standard_normal((600, 3))
    with pytest.warns(lowland.LowlandWarning, match="not positive semidefinite.*too long by"):
        model = KernelPCA(2, kernel="sigmoid", gamma=0.5, landmarks=50, preimage=None).fit(X)
    C, A = np.tanh(0.5 * X @ model.anchors_.T + 1), np.tanh(0.5 * model.anchors_ @ model.anchors_.T + 1)
    own, seen = np.tanh(0.5 * (X * X).sum(axis=1) + 1), np.einsum("ij,ij->i", C, np.linalg.solve(A, C.T).T)
    evidence = model.fit_info_.evidence
    assert evidence["least eigenvalue of the landmarks"] > 0
    assert evidence["negative share of the spectrum of the landmarks"] == 0
    assert model.fit_info_.approximation_error == pytest.approx(np.abs(own - seen).sum() / own.sum(), rel=1e-9)
    passed = (seen - own).clip(0).sum() / own.sum()
    assert evidence["share by which landmarks pass k(x, x)"] == pytest.approx(passed, rel=1e-9)
    assert not any(name.startswith(("least eigenvalue", "missed")) and "landmarks" not in name for name in evidence)


@pytest.mark.parametrize("landmarks", [None, 40, "uniform:40"])
def test_distances_are_not_a_kernel(X, landmarks):
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    with pytest.raises(lowland.DataError, match=r"rank 0.*distances.*use ClassicalMDS\(metric='precomputed'\)"):
        KernelPCA(kernel="precomputed", landmarks=landmarks).fit(D)


def test_distances_that_are_partly_a_kernel_warn(rng):
    D = np.triu(rng.uniform(1, 2, (60, 60)), 1)
    with pytest.warns(lowland.IndefiniteWarning, match="Are these distances"):
        KernelPCA(kernel="precomputed").fit(D + D.T)


def test_rows_are_not_taken_for_distances(rng):
    X = 0.3 * rng.standard_normal((40, 3)) + 1.5
    with pytest.warns(lowland.IndefiniteWarning, match="not positive semidefinite") as seen:
        model = KernelPCA(kernel="sigmoid", gamma=0.5).fit(X)
    assert model.fit_info_.evidence["negative share of the spectrum"] > 0.5  # as of distances, but rows are rows
    assert "distances?" not in str(seen[0].message)


def test_a_function_of_distances_is_not_a_kernel(X):
    with pytest.raises(lowland.DataError, match=r"rank 0.*Does the function measure distances\? .*metric=function"):
        KernelPCA(kernel=lambda a, b: float(np.linalg.norm(a - b))).fit(X[:30])


@pytest.mark.parametrize("landmarks", [None, 40])
def test_semidefinite_kernels_that_nothing_is_known_of_do_not_warn(X, landmarks):
    model = KernelPCA(2, kernel=lambda A, B: gaussian(np.atleast_2d(A), np.atleast_2d(B), 0.2), landmarks=landmarks)
    assert not model.fit(X).fit_info_.warnings


def test_semidefinite_precomputed_kernels_do_not_warn(X):
    model = KernelPCA(3, kernel="precomputed").fit(gaussian(X, X, 0.2))
    assert model.fit_info_.evidence["negative eigenvalues"] == 0
    assert not model.fit_info_.warnings


@pytest.mark.parametrize("landmarks", [None, "uniform:100", 100])
def test_rounding_to_single_precision_is_not_taken_for_indefinite(X, landmarks):
    K = gaussian(X, X, 0.002)  # smooth: its least eigenvalues are below the rounding of float32
    want = KernelPCA(3, kernel="precomputed").fit(K)
    got = KernelPCA(3, kernel="precomputed", landmarks=landmarks).fit(K.astype(np.float32))
    assert not got.fit_info_.warnings
    near_up_to_sign(got.embedding_.astype(float), want.embedding_, 1e-5 if landmarks is None else 1e-3)


# -- bad input ------------------------------------------------------------------------------------------------------


def test_bad_precomputed_kernels(X):
    K = gaussian(X, X, 0.2)
    with pytest.raises(lowland.DataError, match="square kernel matrix; this one is 120 × 100"):
        KernelPCA(kernel="precomputed").fit(K[:, :100])
    for landmarks in (None, 30):
        crooked = K.copy()
        crooked[3, 90] += 0.5
        with pytest.raises(lowland.DataError, match=r"not symmetric.*row 3, column 90.*\(K \+ K\.T\) / 2"):
            KernelPCA(kernel="precomputed", landmarks=landmarks).fit(crooked)
        crooked[3, 90] = np.nan
        with pytest.raises(lowland.DataError, match=r"row 3, column 90 is missing \(NaN\); fill it in, or leave"):
            KernelPCA(kernel="precomputed", landmarks=landmarks).fit(crooked)
    model = KernelPCA(kernel="precomputed").fit(K)
    with pytest.raises(lowland.DataError, match=r"119 features(.|\n)*its kernel values with the 120 training objects"):
        model.transform(K[:, :119])
    crooked = K.copy()
    crooked[3, 90] = np.nan
    with pytest.raises(lowland.DataError, match="kernel value with training object 90 is missing"):
        model.transform(crooked)
    upper = np.triu(K)
    with pytest.raises(lowland.DataError, match=r"one half is all zero, so use K \+ K.T - np.diag\(np.diag\(K\)\)"):
        KernelPCA(kernel="precomputed").fit(upper)
    np.testing.assert_array_equal(upper + upper.T - np.diag(np.diag(upper)), np.maximum(upper, upper.T))
    with pytest.raises(lowland.DataError, match="do not contain k"):
        model.feature_space_error(K)


def test_bad_functions(X):
    with pytest.raises(lowland.DataError, match=r"the kernel must return a number for two objects; it returned"):
        KernelPCA(kernel=lambda a, b: np.ones(4)).fit(X)
    with pytest.raises(lowland.DataError, match=r"the kernel returned shape \(\d+, 3\) for blocks.*; it must be"):
        KernelPCA(kernel=lambda A, B: np.ones((len(A), len(B)))[:, :3]).fit(X)
    for landmarks in (None, 3):
        with pytest.raises(lowland.DataError, match="the kernel function is not symmetric"):
            KernelPCA(1, kernel=lambda a, b: float(len(set(a) - set(b)) + 1), landmarks=landmarks).fit(WORDS)
    with pytest.raises(lowland.DataError, match="the kernel returned nan for the objects"):
        KernelPCA(kernel=lambda a, b: float("nan") if a == "x" else 1.0).fit(["a", "b", "x", "c"])


def test_landmarks_that_cannot_be(X):
    with pytest.raises(lowland.DataError, match="needs rows of numbers"):
        KernelPCA(kernel="precomputed", landmarks="kmeans:20").fit(gaussian(X, X, 0.2))
    with pytest.raises(lowland.DataError, match="needs rows of numbers"):
        KernelPCA(kernel=bigrams, landmarks="kmeans:5").fit(WORDS)
    with pytest.raises(ValueError, match="landmarks must be"):
        KernelPCA(landmarks="farthest:20").fit(X)


def test_blocks_that_can_be_read_once(X):
    with pytest.raises(lowland.DataError, match="read only once"):
        KernelPCA().fit(iter([X[:60], X[60:]]))


# -- pre-images -----------------------------------------------------------------------------------------------------


def test_gamma_given_or_defaulted_gives_the_same_inverse(X):
    for landmarks in (None, 40):
        default = KernelPCA(3, landmarks=landmarks).fit(X)
        given = KernelPCA(3, gamma=default.gamma_, landmarks=landmarks).fit(X)
        Y = default.transform(X)
        np.testing.assert_array_equal(given.transform(X), Y)
        np.testing.assert_array_equal(given.inverse_transform(Y), default.inverse_transform(Y))


def test_no_preimage(X):
    model = KernelPCA(2, preimage=None).fit(X)
    assert model.ridge_ is None
    assert "pre-images" not in model.fit_info_.seconds
    with pytest.raises(lowland.DataError, match=r"preimage=None.*preimage='auto'"):
        model.inverse_transform(model.embedding_)
    with pytest.raises(lowland.DataError, match="preimage='auto'"):
        model.score(X)


def test_objects_have_no_preimage(X):
    model = KernelPCA(2, kernel=bigrams).fit(WORDS)
    with pytest.raises(lowland.DataError, match="have no pre-image"):
        model.inverse_transform(model.embedding_)
    with pytest.raises(lowland.DataError, match="use preimage=None"):
        KernelPCA(2, kernel=bigrams, preimage="ridge").fit(WORDS)
    with pytest.raises(lowland.DataError, match="preimage='fixed-point' needs kernel='rbf'"):
        KernelPCA(2, kernel="poly", preimage="fixed-point").fit(X)


def test_inverse_is_row_wise_and_checks_its_columns(X):
    for options in ({}, {"preimage": "ridge"}, {"landmarks": 40}):
        model = KernelPCA(3, **options).fit(X)
        whole = model.inverse_transform(model.embedding_)
        single = np.vstack([model.inverse_transform(model.embedding_[i : i + 1]) for i in range(30)])
        np.testing.assert_allclose(single, whole[:30], rtol=1e-9, atol=1e-9)
    with pytest.raises(lowland.DataError, match="must have 3 columns"):
        model.inverse_transform(X)


def test_score_is_minus_the_mean_squared_error(X, rng):
    new = rng.standard_normal((40, 5)) + 2.0
    model = KernelPCA(3).fit(X)
    error = np.mean((model.inverse_transform(model.transform(new)) - new) ** 2)
    assert model.score(new) == pytest.approx(-error, rel=1e-9)


# -- plan, memory, sources ------------------------------------------------------------------------------------------


def test_the_plan_says_which_way():
    small, large = (lowland.plan(KernelPCA(), shape=(n, 50)) for n in (10_000, 10_001))
    assert (small.algorithm, small.approximate) == ("all pairs", False)
    assert (large.algorithm, large.approximate) == ("1000 landmarks (rpcholesky)", True)
    drawn = lowland.plan(KernelPCA(landmarks="uniform:3000"), shape=(100_000, 50))
    assert drawn.bytes < lowland.plan(KernelPCA(landmarks=3000), shape=(100_000, 50)).bytes  # nothing to choose among
    assert "4000 landmarks" in lowland.plan(KernelPCA(1000), shape=(50_000, 50)).algorithm
    assert lowland.plan(KernelPCA(), shape=(1_000_000, 50)).bytes < 2e9
    exact = lowland.plan(KernelPCA(landmarks=None), shape=(33_000, 20), dtype=np.float32)
    assert 4.3e9 < exact.bytes < 4.8e9
    with lowland.config(memory_limit="1GB"), pytest.raises(lowland.MemoryLimitError, match="use landmarks=1000"):
        exact.require()


def test_the_plan_refuses_what_the_fit_refuses(X):
    for model, message in (
        (KernelPCA(120), "n_components=120 is more than n_samples − 1 = 119"),
        (KernelPCA(60, landmarks=50), "n_components=60 is more than the number of landmarks = 50"),
        (KernelPCA(kernel="poly", preimage="fixed-point"), "preimage='fixed-point' needs kernel='rbf'"),
    ):
        for call in (model.fit, lambda X, model=model: lowland.plan(model, X)):
            with pytest.raises(lowland.DataError, match=message):
                call(X)
    with pytest.raises(lowland.DataError, match="use preimage=None"):
        lowland.plan(KernelPCA(2, kernel=bigrams, preimage="ridge"), WORDS)


def test_the_plan_of_objects_has_no_preimages():
    words = [word + str(number) for word in WORDS for number in range(40)]
    found, without = (lowland.plan(KernelPCA(2, kernel=bigrams, preimage=way), words) for way in ("auto", None))
    assert found == without
    n = len(words)
    assert lowland.plan(KernelPCA(2, kernel=bigrams), shape=(n, 1)).model_bytes > found.model_bytes  # rows have them


def test_the_plan_counts_the_calls_of_a_function():
    named, function = (lowland.plan(KernelPCA(kernel=kernel), shape=(5000, 1)) for kernel in ("linear", bigrams))
    assert 10 < function.seconds - named.seconds < 15  # 12.5 million pairs at a microsecond
    named, function = (lowland.plan(KernelPCA(kernel=kernel), shape=(10**6, 1)) for kernel in ("linear", bigrams))
    assert 1900 < function.seconds - named.seconds < 2100  # 1000 landmarks, compared twice


def test_blocks_give_what_one_array_gives(X):
    source = RowSource.from_blocks(lambda: (X[:11], X[11:50], X[50:]))
    for landmarks in (None, 40):
        want = KernelPCA(2, landmarks=landmarks).fit(X)
        got = KernelPCA(2, landmarks=landmarks).fit(source)
        np.testing.assert_array_equal(got.transform(X), want.transform(X))


def test_same_bits_on_any_number_of_threads(rng):
    X = rng.standard_normal((11_000, 6))
    results = []
    for threads in (1, 2):
        with lowland.config(threads=threads):
            model = KernelPCA(3, landmarks=120).fit(X)
            results.append((model.transform(X), model.inverse_transform(model.embedding_[:50])))
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second)


def test_torch_in_torch_out(X):
    torch = pytest.importorskip("torch")
    for landmarks in (None, 40):
        want = KernelPCA(2, landmarks=landmarks).fit(X)
        got = KernelPCA(2, landmarks=landmarks).fit(torch.from_numpy(X))
        Y = got.transform(torch.from_numpy(X))
        assert isinstance(Y, torch.Tensor)
        np.testing.assert_allclose(Y.numpy(), want.transform(X), atol=1e-12)
        assert isinstance(got.inverse_transform(Y), torch.Tensor)
        assert got.score(torch.from_numpy(X)) == pytest.approx(want.score(X), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_33_000_points_all_pairs(dtype):
    """N² passes 2³⁰ entries: a linear kernel, whose spectrum PCA gives."""
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((33_000, 6)) * np.array([5, 3, 2, 1, 0.5, 0.3])).astype(dtype)
    planned = lowland.plan(KernelPCA(4, kernel="linear", landmarks=None, preimage=None), X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelPCA(4, kernel="linear", landmarks=None, preimage=None).fit(X)
    pca = lowland.PCA(4).fit(X.astype(np.float64))
    tolerance = 1e-9 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(model.eigenvalues_, pca.explained_variance_ * 32_999, rtol=tolerance)
    near_up_to_sign(model.embedding_.astype(float), pca.transform(X.astype(np.float64)), tolerance)
    assert model.fit_info_.residual < 1e-10
    assert 0.5 * model.fit_info_.peak_bytes < planned.bytes < 1.5 * model.fit_info_.peak_bytes


@pytest.mark.parametrize("landmarks", [None, 30])
def test_all_components(landmarks, rng):
    X = rng.standard_normal((80, 5))
    model = KernelPCA(None, kernel="linear", landmarks=landmarks).fit(X)
    assert model.n_components_ == 5
    assert not model.fit_info_.warnings
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)
    wide = KernelPCA(None, gamma=1.0, landmarks=landmarks).fit(X)
    assert wide.n_components_ == (79 if landmarks is None else 30)
    few = KernelPCA(3, gamma=1.0, landmarks=landmarks).fit(X)
    np.testing.assert_allclose(wide.eigenvalues_[:3], few.eigenvalues_, rtol=1e-10)
    all_pairs = lowland.plan(KernelPCA(None, landmarks=landmarks), X)
    assert all_pairs.bytes > lowland.plan(KernelPCA(3, landmarks=landmarks), X).bytes
    assert KernelPCA(None).fit(X[:2]).n_components_ == 1


def test_without_a_way_back_the_inverse_is_not_fitted(rng):
    model = KernelPCA(preimage=None).fit(rng.standard_normal((20, 3)))
    with pytest.raises(NotFittedError, match="no way back to rows") as caught:
        model.inverse_transform(model.embedding_)
    assert isinstance(caught.value, lowland.DataError)
