"""The default width of the Gaussian kernel: local where the median hides groups, else the median."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowland
from lowland import KernelPCA
from lowland.methods.kernel.width import MIN_ROWS, gaussian_width
from lowland.pairs.kernels import median_gamma

HIDDEN = "groups hidden at the median width"


def width(X, k=2, **options):
    """Return the default width over that of the median."""
    median = KernelPCA(k, gamma="median", preimage=None, **options).fit(X).gamma_
    return float(np.sqrt(median / KernelPCA(k, preimage=None, **options).fit(X).gamma_))


def accuracy(model, train, test):
    pipe = make_pipeline(model, StandardScaler(), LogisticRegression())
    return pipe.fit(*train).score(*test)


@pytest.mark.parametrize(("radii", "noise"), [((40.0, 100.0), 0.0), ((40.0, 160.0), 0.0), ((40.0, 100.0), 5.0)])
@pytest.mark.parametrize("n", [400, 1500])
def test_spheres_come_apart(n, radii, noise):
    train = lowland.data.spheres(n, radii, noise=noise, random_state=1)
    test = lowland.data.spheres(400, radii, noise=noise, random_state=2)
    assert accuracy(KernelPCA(2, gamma="median", preimage=None), train, test) < 0.7
    assert accuracy(lowland.PCA(2), train, test) < 0.7
    model = KernelPCA(2, preimage=None)
    assert accuracy(model, train, test) >= 0.97
    assert model.fit(train[0]).fit_info_.evidence[HIDDEN] == 2
    assert HIDDEN not in KernelPCA(2, gamma="median", preimage=None).fit(train[0]).fit_info_.evidence


def many_spheres(counts, d, seed, radii=(40.0, 100.0)):
    """Return rows on spheres in d dimensions, so many on each, and their labels."""
    Z = np.random.default_rng(seed).standard_normal((sum(counts), d))
    labels = np.repeat(range(len(counts)), counts)
    return Z / np.linalg.norm(Z, axis=1)[:, None] * np.asarray(radii)[labels, None], labels


@pytest.mark.parametrize(
    ("counts", "d"),
    [
        pytest.param((200, 200), 5, id="5 dimensions"),
        pytest.param((200, 200), 10, id="10 dimensions"),
        pytest.param((100, 400), 3, id="unequal"),
        pytest.param((200, 800), 3, id="unequal, sampled"),
        pytest.param((100, 400), 10, id="unequal, 10 dimensions"),
    ],
)
def test_spheres_of_many_dimensions_and_unequal_sizes_come_apart(counts, d):
    """Rows of the sparse sphere have neighbours on the other one, so no eigenvalue is small."""
    train, test = (many_spheres(counts, d, seed) for seed in (1, 2))
    balanced = [np.flatnonzero(test[1] == label)[: min(counts)] for label in (0, 1)]
    test = tuple(part[np.concatenate(balanced)] for part in test)
    assert accuracy(KernelPCA(2, gamma="median", preimage=None), train, test) < 0.75
    model = KernelPCA(2, preimage=None)
    assert accuracy(model, train, test) >= 0.97
    assert model.fit(train[0]).fit_info_.evidence[HIDDEN] == 2


def test_three_spheres_are_three_groups():
    X, _ = lowland.data.spheres(600, (20.0, 80.0, 320.0), random_state=0)
    assert gaussian_width(X, 2, np.random.default_rng(0)).hidden_groups == 3


def test_components_that_show_the_groups_keep_the_median():
    """The fourth component at the median width is the radius, so that five of them hide nothing."""
    X, _ = lowland.data.spheres(400, random_state=0)
    assert width(X, 2) < 0.5
    assert width(X, 5) == 1


@pytest.mark.parametrize("n", [60, 400])
@pytest.mark.parametrize("d", [1, 2, 5, 30])
def test_connected_data_keep_the_median(rng, n, d):
    normal = rng.standard_normal((n, d))
    for X in (
        normal,
        normal * 0.5 ** np.arange(d),
        rng.uniform(size=(n, d)),
        normal / np.sqrt(rng.chisquare(3, (n, 1)) / 3),
        np.exp(normal),
        rng.exponential(size=(n, d)),
        rng.standard_t(2, (n, d)),
    ):
        assert gaussian_width(X, 2, rng) == (median_gamma("rbf", X), 0)


def test_groups_that_the_median_shows_keep_it(rng):
    X = np.concatenate([rng.standard_normal((100, 5)), rng.standard_normal((100, 5)) + 10])
    assert width(X) == 1


@pytest.mark.parametrize("count", [1, 2, 8])
def test_outliers_are_no_group(rng, count):
    X = np.concatenate([rng.standard_normal((300, 2)), 100 + rng.standard_normal((count, 2))])
    assert width(X) == 1


def test_outlier_whose_kernel_values_vanish(rng):
    X = np.concatenate([lowland.data.spheres(300, random_state=0)[0], [[1e6, 0.0, 0.0]]])
    assert width(X) < 0.6


def test_units_rotation_order_and_duplicates_do_not_matter(rng):
    X, _ = lowland.data.spheres(300, random_state=3)
    own = width(X)
    assert own < 0.5
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    for same in (1e-3 * X, X @ turn + 7, X[rng.permutation(300)]):
        assert width(same) == pytest.approx(own, rel=1e-9)
    one, two = (gaussian_width(rows, 2, rng) for rows in (X, np.concatenate([X, X[:150]])))
    assert two.gamma == pytest.approx(one.gamma, rel=1e-12)
    assert two.hidden_groups == one.hidden_groups == 2


def test_few_rows_keep_the_median():
    X, _ = lowland.data.spheres(MIN_ROWS - 1, (1.0, 1000.0), random_state=0)
    for n in (2, 3, 5, MIN_ROWS - 1):
        assert width(X[:n], 1) == 1


def test_the_seed_decides_which_rows_are_compared():
    X, _ = lowland.data.spheres(3000, random_state=0)
    first, again, other = (
        KernelPCA(2, landmarks=50, preimage=None, random_state=seed).fit(X).gamma_ for seed in (0, 0, 1)
    )
    assert first == again != other
    assert other == pytest.approx(first, rel=0.2)


@pytest.mark.parametrize("kernel", ["laplacian", "poly", "sigmoid"])
def test_other_kernels_keep_the_median(kernel):
    X, _ = lowland.data.spheres(100, (0.4, 1.0), random_state=0)
    with pytest.warns() if kernel == "sigmoid" else np.errstate():
        assert width(X, kernel=kernel) == 1


def test_the_record_says_when_the_map_equals_that_of_pca():
    X = lowland.data.spheres(300, random_state=0)[0]
    wide, narrow = (KernelPCA(2, gamma=gamma, preimage=None).fit(X) for gamma in (1e-9, "auto"))
    assert wide.fit_info_.evidence["similarity to PCA"] > 1 - 1e-6
    assert narrow.fit_info_.evidence["similarity to PCA"] < 0.5
    Q, P = (np.linalg.qr(Y - Y.mean(axis=0))[0] for Y in (wide.embedding_, lowland.PCA(2).fit_transform(X)))
    assert ((Q.T @ P) ** 2).sum() / 2 > 1 - 1e-6  # and it does


def test_other_kernels_are_not_compared_with_pca():
    X = lowland.data.spheres(60, random_state=0)[0]
    for kernel in ("poly", "laplacian", "linear"):
        assert "similarity to PCA" not in KernelPCA(2, kernel=kernel, preimage=None).fit(X).fit_info_.evidence
