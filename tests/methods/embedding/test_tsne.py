"""t-SNE: the probabilities of openTSNE and of their definition, its divergence, its quality, its refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness

import lowland
from lowland.contract.parameters import parse
from lowland.graph.neighbors import neighbor_graph
from lowland.methods.embedding.tsne import divergence, probabilities


def test_probabilities_are_those_of_the_library(rng):
    from openTSNE.affinity import PerplexityBasedNN

    X = rng.standard_normal((400, 8))
    P = probabilities(neighbor_graph(X, 30), 10.0)
    want = PerplexityBasedNN(X, perplexity=10, method="exact").P
    assert abs(P - want).max() < 1e-6 * want.max()
    assert P.sum() == pytest.approx(1.0)
    assert abs(P - P.T).max() == 0.0


def test_probabilities_have_the_perplexity_asked_for(rng):
    """Against a search for σ by the definition, over all pairs."""
    X = rng.standard_normal((60, 4))
    P = probabilities(neighbor_graph(X, 59), 12.0).toarray() * 60
    D = np.sum((X[:, None] - X) ** 2, axis=2)
    found = np.zeros((60, 60))
    for i in range(60):
        low, high = 1e-6, 1e6
        for _ in range(200):
            beta = np.sqrt(low * high)
            p = np.exp(-beta * (D[i] - np.delete(D[i], i).min()).clip(0))
            p[i] = 0
            p /= p.sum()
            entropy = -np.sum(p[p > 0] * np.log2(p[p > 0]))
            low, high = (beta, high) if 2**entropy > 12 else (low, beta)
        found[i] = p
    np.testing.assert_allclose(P, (found + found.T) / 2, atol=1e-6)


def test_the_divergence_is_that_of_the_map(rng):
    X = rng.standard_normal((70, 4))
    model = lowland.TSNE(perplexity=15.0, max_iter=300).fit(X)
    P = probabilities(neighbor_graph(X, 45), 15.0).toarray()
    Q = 1 / (1 + np.sum((model.embedding_[:, None] - model.embedding_) ** 2, axis=2))
    np.fill_diagonal(Q, 0)
    Q /= Q.sum()
    known = P > 0
    want = np.sum(P[known] * np.log(P[known] / Q[known]))
    assert model.fit_info_.evidence["KL divergence"] == pytest.approx(want, rel=1e-10)
    shorter = lowland.TSNE(perplexity=15.0, max_iter=60).fit(X)
    assert shorter.fit_info_.evidence["KL divergence"] > want


def test_the_divergence_does_not_depend_on_how_pairs_are_cut(rng, monkeypatch):
    from lowland.methods.embedding import tsne

    X = rng.standard_normal((300, 5))
    P, Y = probabilities(neighbor_graph(X, 30), 10.0), rng.standard_normal((300, 2))
    want = divergence(P, Y)
    monkeypatch.setattr(tsne, "_PAIRS_PER_THREAD", 7 * 300)
    assert divergence(P, Y) == pytest.approx(want, rel=1e-13)
    assert divergence(P, 3 * Y) != pytest.approx(want, rel=1e-2)


def test_digits_are_drawn_as_well_as_by_the_library():
    import openTSNE

    X = load_digits().data[:500]
    ours = [lowland.TSNE(random_state=s, init="random").fit(X).embedding_ for s in range(2)]
    theirs = [openTSNE.TSNE(random_state=s, initialization="random", neighbors="exact").fit(X) for s in range(2)]
    got, want = ([trustworthiness(X, np.asarray(Y), n_neighbors=10) for Y in maps] for maps in (ours, theirs))
    assert min(got) > 0.98
    assert abs(np.mean(got) - np.mean(want)) < 0.003


@pytest.mark.parametrize("d", [1, 2])
def test_many_points_are_interpolated(d, rng, monkeypatch):
    from lowland.methods.embedding import tsne

    X = np.vstack([rng.standard_normal((150, 4)), rng.standard_normal((150, 4)) + 9])
    tree = lowland.TSNE(d, max_iter=250).fit(X)
    monkeypatch.setattr(tsne, "_GRID_ROWS", 200)
    grid = lowland.TSNE(d, max_iter=250).fit(X)
    assert (tree.fit_info_.algorithm, grid.fit_info_.algorithm) == ("Barnes–Hut", "interpolation")
    assert lowland.plan(lowland.TSNE(d), X).algorithm == "interpolation"
    P = probabilities(neighbor_graph(X, 90), 30.0)
    told, exact = grid.fit_info_.evidence["KL divergence"], divergence(P, grid.embedding_)
    assert told == pytest.approx(exact, rel=0.02)  # the grid's own sum of q was off by 1 % at most in six maps
    assert tree.fit_info_.evidence["KL divergence"] == pytest.approx(divergence(P, tree.embedding_), rel=1e-10)
    assert exact == pytest.approx(divergence(P, tree.embedding_), rel=0.1)  # two descents end in two maps
    assert lowland.TSNE(3, max_iter=20).fit(X).fit_info_.algorithm == "Barnes–Hut"


def test_threads_change_no_bit(rng, monkeypatch):
    from lowland.methods.embedding import tsne

    monkeypatch.setattr(tsne, "_SHARED", 100)
    X = rng.standard_normal((600, 6))
    models = []
    for rows, threads in ((10_000, 1), (10_000, 2), (10_000, 5), (100, 1), (100, 3)):
        monkeypatch.setattr(tsne, "_GRID_ROWS", rows)
        with lowland.config(threads=threads):
            models.append(lowland.TSNE(perplexity=10.0, max_iter=60).fit(X))
    for i, j in ((0, 1), (0, 2), (3, 4)):
        np.testing.assert_array_equal(models[i].embedding_, models[j].embedding_)
        assert models[i].fit_info_.evidence["KL divergence"] == models[j].fit_info_.evidence["KL divergence"]


@pytest.mark.parametrize(
    "other",
    [
        {"perplexity": 20.0},
        {"max_iter": 91},
        {"early_exaggeration": 4.0},
        {"exaggeration": 2.0},
        {"learning_rate": 5.0},
    ],
    ids=lambda o: next(iter(o)),
)
def test_every_parameter_does_something(other, rng):
    X = rng.standard_normal((80, 4))
    plain = {"perplexity": 10.0, "max_iter": 90}
    Y = lowland.TSNE(**plain).fit_transform(X)
    assert np.abs(lowland.TSNE(**plain | other).fit_transform(X) - Y).max() > 1e-3


def test_exaggeration_draws_clusters_together(rng):
    X = np.vstack([rng.standard_normal((60, 4)) + 6 * c for c in range(3)])

    def spread(Y):
        return np.mean([Y[i : i + 60].std(axis=0).mean() for i in (0, 60, 120)])

    loose, tight = (lowland.TSNE(perplexity=10.0, exaggeration=e, max_iter=500).fit_transform(X) for e in (1.0, 4.0))
    assert spread(tight) < 0.6 * spread(loose)


def test_perplexities_that_are_too_high(rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(lowland.DataError, match=r"perplexity \(20\) must be less than n_samples \(20\); 6\.67 or less"):
        lowland.TSNE(perplexity=20).fit(X)
    with pytest.raises(lowland.DataError, match=r"less than n_samples \(20\): distinct rows"):
        lowland.TSNE(perplexity=20.0).fit(np.vstack([X, X]))
    assert lowland.TSNE(perplexity=18.0, max_iter=5).fit(X).neighbors_ == 19


@pytest.mark.parametrize("exponent", [-650, 670])
def test_a_start_of_extreme_size_is_scaled_by_a_power_of_two(exponent, rng):
    X = rng.standard_normal((60, 3))
    M = X[:, :2] / np.abs(X[:, :2]).max() * 0.75  # its largest number is in [½, 1)
    found, want = (lowland.TSNE(2, init=init, perplexity=8, max_iter=100).fit(X) for init in (M * 2.0**exponent, M))
    np.testing.assert_array_equal(found.embedding_, want.embedding_)


def test_all_others_count_the_same_at_the_largest_perplexity(rng):
    X = rng.standard_normal((20, 3))
    graph = neighbor_graph(X, 19)
    even = (np.ones((20, 20)) - np.eye(20)) / 380
    np.testing.assert_allclose(probabilities(graph, 19.0).toarray(), even)
    np.testing.assert_allclose(probabilities(graph, 18.999).toarray(), even, rtol=0.2)  # their limit
    assert np.isfinite(lowland.TSNE(perplexity=19.5).fit_transform(X)).all()


@pytest.mark.parametrize("n", [20, 31, 32, 40, 90])
def test_the_default_perplexity_is_at_most_a_third_of_the_others(n, rng):
    with pytest.warns(lowland.LowlandWarning, match=rf"{n} distinct rows are too few .*lowered to {(n - 1) / 3:.3g}"):
        model = lowland.TSNE(max_iter=5).fit(rng.standard_normal((n, 3)))
    assert model.perplexity_ == pytest.approx((n - 1) / 3)
    assert model.neighbors_ == n - 1


def test_enough_rows_for_the_default_perplexity(rng):
    model = lowland.TSNE(max_iter=5).fit(rng.standard_normal((91, 3)))  # warnings are errors here
    assert (model.perplexity_, model.neighbors_) == (30.0, 90)


def test_limits(rng):
    X = rng.standard_normal((50, 6))
    with pytest.raises(ValueError, match="TSNE: n_components must be a whole number from 1 to 3; got 4"):
        lowland.TSNE(4).fit(X)
    with pytest.raises(ValueError, match="from 1 to 3; got '4'"):
        parse("TSNE", lowland.TSNE._parameters, "n_components", "4")
    with pytest.raises(lowland.DataError, match=r"perplexity=0\.5 must be at least 1"):
        lowland.TSNE(perplexity=0.5).fit(X)


def test_sparse_rows_give_the_map_of_dense_ones(rng):
    X = rng.standard_normal((150, 30)) * (rng.random((150, 30)) < 0.2)
    want = lowland.TSNE(perplexity=10.0, max_iter=300).fit_transform(X)
    np.testing.assert_array_equal(lowland.TSNE(perplexity=10.0, max_iter=300).fit_transform(sp.csr_array(X)), want)
