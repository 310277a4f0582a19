"""What t-SNE and UMAP share: neighbours and starts of our own, few and equal rows, any objects, new rows one by one."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist, squareform

import lowland
from lowland.graph.graph import Graph
from lowland.graph.neighbors import neighbor_graph
from lowland.methods.embedding.neighbor_embedding import assembled, kept, tamed
from lowland.methods.embedding.starts import principal, spectral

quiet = pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")


def tsne(**parameters):
    return lowland.TSNE(**{"perplexity": 8.0, "max_iter": 90} | parameters)


def umap(**parameters):
    return lowland.UMAP(**{"n_neighbors": 8, "n_epochs": 60} | parameters)


@pytest.fixture(params=[tsne, umap], ids=["TSNE", "UMAP"])
def build(request):
    return request.param


@pytest.fixture(params=[lowland.TSNE, lowland.UMAP], ids=["TSNE", "UMAP"])
def Model(request):
    return request.param


def clusters(rng, n=40, width=9.0):
    """Three clusters of n rows in five columns, and which one a row is in."""
    at = width * np.eye(3, 5)
    return np.vstack([c + rng.standard_normal((n, 5)) for c in at]), np.repeat(np.arange(3), n)


def purity(Y, where, k=5):
    """The share of the k nearest on the map that are of the same cluster."""
    D = cdist(Y, Y)
    np.fill_diagonal(D, np.inf)
    return float((where[np.argsort(D, axis=1)[:, :k]] == where[:, None]).mean())


# -- the pieces -----------------------------------------------------------------------------------------------


def test_distances_of_any_size_are_tamed_by_powers_of_two():
    D = np.array([[1.0, 3.0], [2e-300, 6e-300], [1e200, 3e200], [1e-3, 4e5]])
    got = tamed(D)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got[[0, 3]], D[[0, 3]].astype(np.float32))
    np.testing.assert_allclose(got[:, 0] / got[:, 1], D[:, 0] / D[:, 1], rtol=1e-7)
    assert (got > 0).all()
    assert (got[1:3] < 4).all()


def test_weights_of_uneven_lists_stand_where_they_belong():
    graph = Graph(np.array([0, 2, 3, 5]), np.array([1, 2, 0, 1, 0], np.int32), np.array([1.0, 2.0, 1.0, 2.0, 3.0]))
    before = graph.indices.copy()
    W = assembled(graph, lambda d: 10 * d + d.shape[1], np.float64)
    np.testing.assert_array_equal(W.toarray(), [[0, 12, 22], [11, 0, 0], [32, 22, 0]])
    _ = W + W.T
    np.testing.assert_array_equal(graph.indices, before)


def test_neighbours_kept_are_counted(rng):
    X = rng.standard_normal((300, 2))
    graph = neighbor_graph(X, 12)
    assert kept(graph, X, rng) == (1.0, 10)
    share, k = kept(graph, rng.permutation(X), rng)
    assert k == 10
    assert share < 0.15


@pytest.mark.parametrize("k", [3, 5, 10, 15])
def test_ten_neighbours_are_asked_for_whatever_the_graph_has(k, rng):
    """Against all distances: 3 of the 10 nearest on the map would be many times easier to keep."""
    X = rng.standard_normal((150, 12))
    cases = {
        "rows": (lowland.UMAP(n_neighbors=k + 1, n_epochs=20), X, squareform(pdist(X))),
        "metric": (
            lowland.UMAP(n_neighbors=k + 1, n_epochs=20, metric="cityblock"),
            X,
            squareform(pdist(X, "cityblock")),
        ),
        "square": (lowland.UMAP(n_neighbors=k + 1, n_epochs=20, metric="precomputed"), squareform(pdist(X)), None),
        "t-SNE": (lowland.TSNE(perplexity=(k + 0.5) / 3, max_iter=20), X, squareform(pdist(X))),
    }
    for name, (model, given, D) in cases.items():
        Y = model.fit(given).embedding_
        assert model.neighbors_ == k, name
        near, on_map = (
            np.argsort(d + np.diag(np.full(150, np.inf)), axis=1)[:, :10]
            for d in (squareform(pdist(X)) if D is None else D, squareform(pdist(Y)))
        )
        share = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(near, on_map, strict=True)])
        assert model.fit_info_.evidence["neighbours kept"] == pytest.approx(share), name


def test_of_stored_distances_as_many_are_asked_for_as_there_are(rng):
    X = rng.standard_normal((80, 3))
    D = squareform(pdist(X))
    near = np.sort(D, axis=1)[:, [4]] >= D
    near |= near.T
    i, j = np.nonzero(near & ~np.eye(80, dtype=bool))
    model = lowland.UMAP(n_neighbors=15, n_epochs=50, metric="precomputed")
    evidence = model.fit(sp.csr_array((D[i, j], (i, j)), shape=D.shape)).fit_info_.evidence
    assert "neighbours kept" not in evidence
    lists, on_map = (
        np.argsort(d + np.diag(np.full(80, np.inf)), axis=1)[:, :4] for d in (D, squareform(pdist(model.embedding_)))
    )
    share = np.mean([len(np.intersect1d(a, b)) / 4 for a, b in zip(lists, on_map, strict=True)])
    assert evidence["neighbours kept of 4"] == pytest.approx(share)


def test_a_spectral_start_is_made_of_eigenvectors(rng):
    W = neighbor_graph(lowland.data.swiss_roll(1600)[0], 10).symmetric().csr(None)
    W.data[:] = 1.0
    d = W.sum(axis=1)
    S = W.toarray() / np.sqrt(np.outer(d, d))
    Y = spectral(W, 2, rng)
    np.testing.assert_allclose(Y.T @ Y, np.eye(2), atol=1e-8)
    values = np.linalg.eigvalsh(S)[-3:-1][::-1]
    np.testing.assert_allclose(np.diag(Y.T @ S @ Y), values, rtol=1e-4)
    assert np.abs(Y.T @ np.sqrt(d)).max() < 1e-8 * np.sqrt(d.sum())


@pytest.mark.parametrize("d", [1, 2, 3])
def test_pieces_of_a_graph_begin_apart(d, rng):
    sizes = [30, 20, 9, 3, 2]
    W = sp.csr_array(sp.block_diag([np.ones((n, n)) - np.eye(n) for n in sizes]))
    Y, where = spectral(W, d, rng), np.repeat(np.arange(5), sizes)
    middles = np.array([(Y[where == c].max(axis=0) + Y[where == c].min(axis=0)) / 2 for c in range(5)])
    radius = max(np.abs(Y[where == c] - middles[c]).max() for c in range(5))
    assert radius <= 0.45 + 1e-12
    assert pdist(middles, "chebyshev").min() > 0.5
    assert purity(Y, where, 1) == 1.0


def test_principal_components_of_dense_and_sparse_rows(rng):
    X = rng.standard_normal((80, 5)) * [3, 2, 1, 1, 1]
    want = lowland.PCA(2).fit_transform(X)
    np.testing.assert_allclose(principal(X, 2, rng), want, atol=1e-10)
    np.testing.assert_allclose(principal(sp.csr_array(X), 2, rng), want, atol=1e-10)
    flat = principal(X[:, :1], 2, rng)
    np.testing.assert_array_equal(flat[:, 1], 0.0)


# -- maps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("init", ["pca", "spectral", "random"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_clusters_stay_together(build, init, d, rng):
    X, where = clusters(rng)
    model = build(init=init, n_components=d).fit(X)
    assert model.fit_info_.evidence["start"] == init
    stuck = build is umap and d == 1  # on a line its points must jump over each other, and some do not get home
    assert purity(model.embedding_, where) > (0.8 if stuck else 0.97)


def test_starts_and_seeds_matter_and_repeat(build, rng):
    X, _ = clusters(rng)
    maps = [build(init=init).fit_transform(X) for init in ("pca", "spectral", "random")]
    maps.append(build(random_state=1).fit_transform(X))
    for i in range(4):
        for j in range(i):
            assert np.abs(maps[i] - maps[j]).max() > 1e-3
    np.testing.assert_array_equal(build(random_state=1).fit_transform(X), maps[3])
    np.testing.assert_array_equal(build(init="random", random_state=0).fit_transform(X), maps[2])


def test_rows_distances_and_functions_agree(build, rng):
    X, _ = clusters(rng)
    D = squareform(pdist(X))
    rows = build(init="spectral").fit(X)
    given = build(init="pca", metric="precomputed").fit(D)  # distances have no principal components
    assert given.fit_info_.evidence["start"] == "spectral"
    np.testing.assert_array_equal(given.embedding_, rows.embedding_)
    new = X[:7] + 0.2
    np.testing.assert_array_equal(given.transform(cdist(new, X)), rows.transform(new))
    np.testing.assert_array_equal(given.transform(D), given.embedding_)
    by_function = build(init="spectral", metric=lambda a, b: float(np.sqrt(((a - b) ** 2).sum())))
    np.testing.assert_array_equal(by_function.fit_transform(X), rows.embedding_)


def test_words(build):
    texts = [a * i + b * j for a, b in (("x", "y"), ("p", "q")) for i in range(1, 7) for j in range(1, 7)]

    def apart(a, b):
        letters = set(a) | set(b)
        return float(sum(abs(a.count(c) - b.count(c)) for c in letters))

    model = build(metric=apart).fit(texts)
    assert purity(model.embedding_, np.repeat([0, 1], 36)) > 0.9
    np.testing.assert_array_equal(model.transform(texts[:5]), model.embedding_[:5])
    assert np.isfinite(model.transform(["x" * 9 + "y" * 9])).all()


def test_stored_distances_with_uneven_lists(build, rng):
    X, where = clusters(rng)
    D = squareform(pdist(X))
    near = np.sort(D, axis=1)[:, [14]] > D
    near |= near.T
    near[:, 5] = near[5] = False
    near[5, 6] = near[6, 5] = True  # it knows one other
    i, j = np.nonzero(near & ~np.eye(len(X), dtype=bool))
    model = build(metric="precomputed").fit(sp.csr_array((D[i, j], (i, j)), shape=D.shape))
    assert purity(np.delete(model.embedding_, 5, axis=0), np.delete(where, 5)) > 0.97
    row = sp.csr_array(([0.5, 0.6], ([0, 0], [3, 90])), shape=(1, 120))
    alone = sp.csr_array(([0.5], ([0], [3])), shape=(1, 120))
    for one in (row, alone):
        assert np.isfinite(model.transform(one)).all()
    np.testing.assert_array_equal(model.transform(sp.vstack([row, alone]))[1:], model.transform(alone))


def test_a_graph_in_pieces_is_drawn_as_one(build, rng):
    X, where = clusters(rng, width=1e4)
    model = build().fit(X)
    assert purity(model.embedding_, where) == 1.0
    assert model.fit_info_.warnings == ()


def test_equal_rows_are_one_point(build, rng):
    X, _ = clusters(rng)
    again = np.r_[np.arange(120), rng.integers(120, size=60)]
    model = build().fit(X[again])
    assert model.fit_info_.evidence["distinct rows"] == 120
    np.testing.assert_array_equal(model.embedding_, build().fit_transform(X)[again])


def test_units_do_not_matter(build, rng):
    X, where = clusters(rng)
    for factor in (2.0**-400, 2.0**300):
        for init in ("spectral", "pca"):
            model = build(init=init).fit(X * factor)
            assert purity(model.embedding_, where) > 0.97
            np.testing.assert_array_equal(model.embedding_, build(init=init).fit_transform(X))  # a power of two
            assert np.isfinite(model.transform((X + 0.1) * factor)).all()


@quiet
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 11])
def test_few_rows(Model, n, rng):
    X = rng.standard_normal((n, 4))
    model = Model(n_components=min(2, n - 1)).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert len(np.unique(model.embedding_, axis=0)) == n
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    assert np.isfinite(model.transform(X + 0.1)).all()


@pytest.mark.parametrize("asked", [None, 50])
def test_too_few_rows_are_laid_out_by_classical_scaling_and_told(Model, asked, rng):
    name = "n_neighbors" if Model is lowland.UMAP else "perplexity"
    X = rng.standard_normal((3, 4))
    model = Model() if asked is None else Model(**{name: asked})
    with pytest.warns(lowland.LowlandWarning, match=r"3 distinct rows are too few .* needs 4 or more.*scaling") as told:
        model.fit(X)
    assert model.fit_info_.warnings == tuple(str(w.message) for w in told)
    assert len(told) == 1
    np.testing.assert_allclose(pdist(model.embedding_), pdist(X), rtol=1e-12)
    assert model.fit_info_.algorithm == lowland.plan(model, X).algorithm == "classical scaling"


@pytest.mark.parametrize(
    ("n", "given", "words"),
    [
        (200, {"n_neighbors": 201}, "n_neighbors=201 is more than the number of rows, 200"),
        (200, {"perplexity": 200.0}, "perplexity (200) must be less than n_samples (200)"),
        (200, {"perplexity": 0.5}, "perplexity=0.5 must be at least 1"),
        (200, {"min_dist": 2.0}, "min_dist=2.0 must be at most spread=1.0"),
        (3, {"n_components": 3}, "n_components=3 is more than the number of points less one = 2"),
    ],
)
def test_a_plan_refuses_what_the_fit_refuses(Model, n, given, words, rng):
    if not set(given) <= set(Model._parameters):
        pytest.skip("a parameter of the other")
    for refused in (Model(**given).fit, lambda X: lowland.plan(Model(**given), X)):
        with pytest.raises(ValueError, match=re.escape(words)):
            refused(rng.standard_normal((n, 3)))
    with pytest.raises(ValueError, match=re.escape(words)):
        lowland.plan(Model(**given), shape=(n, 3))


def test_a_plan_allows_what_the_fit_takes(Model):
    most = {"n_neighbors": 200} if Model is lowland.UMAP else {"perplexity": 198.9}
    assert lowland.plan(Model(**most), shape=(200, 3)).algorithm in ("fuzzy graph", "Barnes–Hut")


@quiet
def test_few_objects_in_pieces_are_refused_or_drawn(Model):
    pairs = sp.csr_array(sp.block_diag([[[0.0, 1.0], [1.0, 0.0]]] * 2))
    with pytest.raises(lowland.DataError, match=r"4 points .* do not connect them .* 2 at most"):
        Model(3, metric="precomputed").fit(pairs)
    assert np.isfinite(Model(2, metric="precomputed").fit(pairs).embedding_).all()


@quiet
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "precomputed"])
def test_few_rows_in_clusters_have_all_their_distances(metric, rng):
    X = np.vstack([rng.standard_normal((5, 9)), rng.standard_normal((4, 9)) + 50])
    given = squareform(pdist(X)) if metric == "precomputed" else X
    model = lowland.UMAP(8, n_neighbors=3, metric=metric).fit(given)
    assert model.fit_info_.algorithm == "classical scaling"
    want = pdist(X, "cityblock" if metric == "cityblock" else "euclidean")
    got = pdist(model.embedding_)
    if metric != "cityblock":  # which no map keeps exactly
        np.testing.assert_allclose(got, want, rtol=1e-8)
    assert purity(model.embedding_, np.repeat([0, 1], [5, 4]), 3) == 1.0


@pytest.mark.parametrize("n", [1400, 6000])
def test_the_start_is_in_the_plan(Model, n, rng):
    """Measured where eigenvectors are the largest part: of a square, and by a Krylov basis."""
    X = rng.standard_normal((n, 4))
    model = Model(init="spectral", **{"n_epochs": 2} if Model is lowland.UMAP else {"max_iter": 2, "perplexity": 5.0})
    model.fit(X[:200])  # what is loaded and compiled once is no part of a fit
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.8 < lowland.plan(model, X).bytes / peak < 1.6


def test_few_distinct_rows_are_told(Model, rng):
    X = np.repeat(rng.standard_normal((2, 4)), 9, axis=0)
    with pytest.warns(lowland.LowlandWarning) as caught:
        model = Model().fit(X)
    assert model.n_components_ == 1
    assert any(issubclass(w.category, lowland.RankWarning) for w in caught)


# -- new rows -------------------------------------------------------------------------------------------------


def test_new_rows_land_in_their_cluster_one_by_one(build, rng):
    X, where = clusters(rng)
    model = build().fit(X)
    new = X + 0.3 * rng.standard_normal(X.shape)
    Y = model.transform(new)
    D = cdist(Y, model.embedding_)
    assert (where[D.argmin(axis=1)] == where).mean() > 0.97
    for part in (slice(7, 8), slice(30, 90), slice(None, None, -1)):
        np.testing.assert_array_equal(model.transform(new[part]), Y[part])
    with lowland.config(threads=1):
        np.testing.assert_array_equal(model.transform(new), Y)


def test_rows_far_away_stay_on_the_map(build, rng):
    X, _ = clusters(rng)
    model = build().fit(X)
    Y = model.transform(np.vstack([X.mean(axis=0) + 1e6, X[:1] - 1e12]))
    low, high = model.embedding_.min(axis=0), model.embedding_.max(axis=0)
    assert (np.abs(Y - (low + high) / 2) < 2 * (high - low)).all()


CHILD = """
import json, sys, numpy as np, lowland
model = lowland.load(sys.argv[1])
print(json.dumps(model.transform(np.load(sys.argv[2])).tolist()))
"""


def test_a_model_loaded_in_another_process_places_rows_alike(build, rng, tmp_path):
    X, _ = clusters(rng)
    model = build().fit(X)
    new = np.vstack([X[:3], X[40:44] + 0.2])
    lowland.save(model, tmp_path / "model.lowland")
    np.save(tmp_path / "new.npy", new)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path / "model.lowland"), str(tmp_path / "new.npy")],
        capture_output=True,
        text=True,
        check=True,
    )
    np.testing.assert_array_equal(np.array(json.loads(done.stdout)), model.transform(new))


# -- manners --------------------------------------------------------------------------------------------------


def test_a_missing_library_is_named(Model, rng, monkeypatch):
    for name in ("openTSNE.tsne", "umap.umap_"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(lowland.MissingExtraError, match=r"pip install (openTSNE|umap-learn)$"):
        Model().fit(rng.standard_normal((30, 3)))


def test_steps_are_told_and_can_be_cancelled(build, rng):
    X, _ = clusters(rng)
    seen = []
    with lowland.config(progress=lambda stage, done, total: seen.append((stage, done, total))):
        want = build().fit_transform(X)
    stage = {tsne: "t-SNE", umap: "UMAP"}[build]
    steps = [(done, total) for name, done, total in seen if name == stage]
    assert len(steps) == steps[0][1] == {tsne: 90, umap: 60}[build]
    assert all(b[0] == a[0] + 1 for a, b in itertools.pairwise(steps))
    np.testing.assert_array_equal(build().fit_transform(X), want)  # whoever watches changes nothing
    model = build()
    with (
        lowland.config(progress=lambda name, done, total: name != stage or done < 20),
        pytest.raises(lowland.Cancelled, match=stage),
    ):
        model.fit(X)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_nothing_is_printed(build, rng, capfd):
    X, _ = clusters(rng)
    model = build().fit(X)
    model.transform(X[:2] + 0.1)
    assert capfd.readouterr() == ("", "")


# -- a start of the user's ------------------------------------------------------------------------------------


@pytest.mark.parametrize("Model", [lowland.TSNE, lowland.UMAP])
def test_a_start_may_be_an_array(Model, rng, tmp_path):
    X = rng.standard_normal((80, 5))
    short = {"perplexity": 10, "max_iter": 30} if Model is lowland.TSNE else {"n_epochs": 30}
    start = rng.standard_normal((80, 2))
    model = Model(init=start, **short).fit(X)
    assert model.fit_info_.evidence["start"] == "given"
    same = Model(init=start.tolist(), **short).fit(X)
    np.testing.assert_array_equal(same.embedding_, model.embedding_)
    other = Model(init=start[::-1].copy(), **short).fit(X)
    assert np.abs(other.embedding_ - model.embedding_).max() > 1e-3
    lowland.save(model, tmp_path / "m.lowland")
    again = lowland.load(tmp_path / "m.lowland")
    np.testing.assert_array_equal(again.init, start)
    np.testing.assert_array_equal(again.transform(X[:5] + 0.1), model.transform(X[:5] + 0.1))
    assert lowland.plan(Model(init=start, **short), X).bytes > 0


def test_tsne_begins_at_the_start_and_umap_keeps_its_shape(rng):
    X, start = rng.standard_normal((60, 5)), 100 * rng.standard_normal((60, 2))
    Y = lowland.TSNE(perplexity=10, max_iter=1, init=start).fit_transform(X)
    from_middle = start - start.mean(axis=0)
    signs = np.sign((Y * from_middle).sum(axis=0))
    assert np.abs(Y * signs - from_middle).max() < 10  # a step is 5 at most; another start is hundreds away
    Y = lowland.UMAP(n_epochs=1, init=start).fit_transform(X)
    for j in range(2):
        assert abs(np.corrcoef(Y[:, j], start[:, j])[0, 1]) > 0.99
    assert np.ptp(Y, axis=0).max() < 15


@pytest.mark.parametrize("Model", [lowland.TSNE, lowland.UMAP])
def test_of_equal_rows_the_first_start_counts(Model, rng):
    X, start = rng.standard_normal((50, 4)), rng.standard_normal((50, 2))
    short = {"perplexity": 5, "max_iter": 20} if Model is lowland.TSNE else {"n_epochs": 20}
    want = Model(init=start, **short).fit_transform(X)
    twice = np.vstack([X, X[:10]])
    got = Model(init=np.vstack([start, 9 * start[:10]]), **short).fit_transform(twice)
    np.testing.assert_array_equal(got[:50], want)
    np.testing.assert_array_equal(got[50:], want[:10])


@pytest.mark.parametrize("Model", [lowland.TSNE, lowland.UMAP])
@pytest.mark.parametrize(
    ("start", "words"),
    [
        (np.zeros((30, 3)), r"init must have one row for each of the 30 training rows and 2 columns; .* \(30, 3\)"),
        (np.zeros((29, 2)), r"its shape is \(29, 2\)"),
        (np.full((30, 2), np.nan), "not a finite number"),
        (np.full((30, 2), "a"), "not a finite number"),
        ("middle", "init must be .* or a dense matrix"),
        (np.zeros(30), "init must be .* or a dense matrix"),
    ],
    ids=["columns", "rows", "nan", "text", "name", "1-D"],
)
def test_bad_starts_are_refused(Model, start, words, rng):
    X = rng.standard_normal((30, 4))
    for refused in (Model(init=start).fit, lambda X: lowland.plan(Model(init=start), X)):
        with pytest.raises(ValueError, match=words):
            refused(X)


@pytest.mark.parametrize("Model", [lowland.TSNE, lowland.UMAP])
@pytest.mark.parametrize(
    ("D", "words"),
    [
        ([[0.0], [1.0]], "must be a square distance matrix; this one is 2 × 1"),
        ([[0.0, -1.0], [1.0, 0.0]], "a distance is negative: -1 .* positive or zero"),
        ([[0.0, 2.0], [1.0, 0.0]], "not symmetric"),
        ([[0.0, 1.0], [1.0, 0.0]], "n_components=2 is more than the number of points less one = 1"),
    ],
)
def test_bad_distances_are_named_before_the_number_of_components(Model, D, words):
    with pytest.raises(lowland.DataError, match=words):
        Model(metric="precomputed").fit(np.array(D))
