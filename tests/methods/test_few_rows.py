"""Graph methods on 2 to 12 rows: each map is the method's own, or it is refused, or a warning says what is missing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import lowland

EIGENMAPS = (lowland.Isomap, lowland.LLE, lowland.LaplacianEigenmaps, lowland.DiffusionMaps, lowland.MVU)
PATCHES = {  # with so many neighbours at least
    lowland.LTSA: lambda k: k + 1,
    lowland.ModifiedLLE: lambda k: k + 1,
    lowland.HessianLLE: lambda k: 1 + k + k * (k + 1) // 2,
}
PROJECTIONS = (lowland.LPP, lowland.NPE)
NEIGHBORS = 10  # by default

quiet = pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")  # few rows: loose, degenerate, and told so


def rows(n):
    return np.random.default_rng(n).standard_normal((n, 14))


def fitted(Model, k, X):
    """The model, and the texts of its warnings of rank."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = Model(k).fit(X)
    return model, [str(w.message) for w in caught if issubclass(w.category, lowland.RankWarning)]


@quiet
@pytest.mark.parametrize("n", range(2, 13))
@pytest.mark.parametrize("Model", [*EIGENMAPS, *PATCHES], ids=lambda m: m.__name__)
def test_every_number_of_components(Model, n):
    X = rows(n)
    for k in range(1, n + 1):
        least = PATCHES[Model](k) if Model in PATCHES else 1
        if k == n:
            with pytest.raises(lowland.DataError, match=f"n_components={k} is more than .*; ask for|one row alone"):
                Model(k).fit(X)
        elif least > min(NEIGHBORS, n - 1):
            with pytest.raises(lowland.DataError, match=f"too few for n_components={k}: at least {least} are needed"):
                Model(k).fit(X)
        else:
            model, told = fitted(Model, k, X)
            assert model.fit_info_.algorithm == lowland.plan(Model(k), X).algorithm
            assert model.embedding_.shape == (n, model.n_components_)
            assert np.isfinite(model.embedding_).all()
            assert len(told) == (model.n_components_ < k)
            np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-12)


@quiet
@pytest.mark.parametrize("n", [3, 4, 7, 11])
@pytest.mark.parametrize("Model", EIGENMAPS, ids=lambda m: m.__name__)
def test_all_coordinates_begin_with_the_first(Model, n):
    """The map of N − 1 coordinates is the one of fewer, with more columns."""
    X = rows(n)
    whole, first = Model(n - 1).fit(X), Model(1).fit(X)
    np.testing.assert_allclose(whole.eigenvalues_[:1], first.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(np.abs(whole.embedding_[:, :1]), np.abs(first.embedding_), atol=1e-6)


@quiet
def test_diffusion_distances_of_all_coordinates_are_exact():
    """|Y_i − Y_j|² is Σ_k (p_ik − p_jk)²/π_k of the random walk P only if no coordinate is missing."""
    X = rows(8)
    model = lowland.DiffusionMaps(7, alpha=0.0).fit(X)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    W = np.exp(-(D**2) / (2 * model.bandwidth_**2))
    degrees = W.sum(axis=1)
    P, share = W / degrees[:, None], degrees / degrees.sum()
    want = [((P[i] - P[j]) ** 2 / share).sum() for i in range(8) for j in range(i + 1, 8)]
    np.testing.assert_allclose(pdist(model.embedding_) ** 2, want, rtol=1e-8)


def test_isomap_says_where_path_lengths_have_fewer_coordinates():
    model, told = fitted(lowland.Isomap, 11, rows(12))
    assert model.n_components_ == model.embedding_.shape[1] == len(model.eigenvalues_) == 9
    assert told == [
        "Isomap: the path lengths (their positive eigenvalues) have rank 9, below the 11 components asked for; "
        "n_components_ is 9"
    ]


@quiet
@pytest.mark.parametrize("Model", EIGENMAPS, ids=lambda m: m.__name__)
def test_equal_rows_leave_fewer_coordinates(Model):
    X = np.repeat(rows(4), 3, axis=0)
    model, told = fitted(Model, 6, X)
    assert model.n_components_ == 3
    assert len(told) == 1
    assert "of 12 rows only 4 are distinct" in told[0]
    assert model.fit_info_.algorithm == lowland.plan(Model(3), rows(4)).algorithm


@quiet
@pytest.mark.parametrize("n", range(2, 13))
@pytest.mark.parametrize("Model", PROJECTIONS, ids=lambda m: m.__name__)
def test_projections_of_few_rows(Model, n):
    X = rows(n)
    for k in range(1, n + 1):
        model, told = fitted(Model, k, X)
        assert model.n_components_ == min(k, n - 1)
        assert len(told) == (k == n)
    with pytest.raises(lowland.DataError, match=f"n_components={n + 1} is more than"):
        Model(n + 1).fit(X)


def test_small_pieces_say_how_they_are_laid_out():
    X = np.concatenate([rows(12), rows(3) + 100])
    with pytest.warns(lowland.DisconnectedWarning, match="1 of them have at most 3 points: classical scaling lays"):
        lowland.LLE(n_neighbors=2, disconnected="separate").fit(X)
