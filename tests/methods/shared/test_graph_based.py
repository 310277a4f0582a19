"""What every method on neighbour graphs keeps: bad input is named; graphs in pieces, equal rows, files, objects."""

from __future__ import annotations

import importlib.util
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer
from sklearn.pipeline import make_pipeline

import lowland
from lowland.contract.registry import METHODS
from lowland.core.cost import DataShape
from lowland.graph import neighbors
from lowland.graph.neighbors import neighbor_graph
from lowland.graph.points import PointMetric
from lowland.methods.linear import projections

CLASSES = [
    cls
    for cls in (row.load() for row in METHODS)
    if "disconnected" in cls._parameters  # t-SNE and UMAP draw pieces as they are
]
PROJECTIONS = (lowland.LPP, lowland.NPE)
FREE = [cls for cls in CLASSES if not issubclass(cls, PROJECTIONS)]  # maps that are no projection of the rows
LOCAL = {"LLE", "ModifiedLLE", "HessianLLE", "LTSA"}  # these need distances between the neighbours of a point, too
SIZES = (70, 60, 50, 40, 30)
POLICIES = ("bridge", "separate", "error")


def _each(classes):
    missing = importlib.util.find_spec("clarabel") is None
    skip = pytest.mark.skipif(missing, reason="the solver of MVU's program is not installed: this check did NOT run")
    return [pytest.param(c, marks=skip if c.__name__ == "MVU" else (), id=c.__name__) for c in classes]


@pytest.fixture(params=_each(CLASSES))
def Model(request):
    return request.param


@pytest.fixture(params=_each(FREE))
def Free(request):
    return request.param


def sheet(rng, n, height=3.0):
    """A bent sheet of n points."""
    angle = rng.uniform(0, 2.5, n)
    return np.column_stack([3 * np.cos(angle), 3 * np.sin(angle), rng.uniform(0, height, n)])


def islands(rng, count):
    """Bent sheets far from each other, in a random order, and which sheet a row is on (the largest is 0)."""
    at = np.arange(count)[:, None] * np.array([40.0, 0.0, 13.0])
    X = np.vstack([sheet(rng, n) + shift for n, shift in zip(SIZES[:count], at, strict=True)])
    order = rng.permutation(len(X))
    return X[order], np.repeat(np.arange(count), SIZES[:count])[order]


def stored(D, k):
    """The distances of a square within lists of k neighbours, and those among each list, as a sparse square."""
    lists = np.argsort(D, axis=1, kind="stable")[:, : k + 1]
    known = np.zeros(D.shape, dtype=bool)
    for row in lists:
        known[np.ix_(row, row)] = True
    np.fill_diagonal(known, False)
    i, j = np.nonzero(known)
    return sp.csr_array((D[i, j], (i, j)), shape=D.shape)


quiet = pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")  # of pieces: what they say is checked in one place


# -- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, -3, 2.5])
def test_numbers_of_neighbours_below_one(Model, k, rng):
    with pytest.raises(ValueError, match=r"n_neighbors must be .*1"):
        Model(n_neighbors=k).fit(sheet(rng, 30))


@pytest.mark.filterwarnings("ignore:HessianLLE.*not determined:lowland.NotConvergedWarning")  # all patches are one set
@pytest.mark.parametrize("k", [30, 35])
def test_more_neighbours_than_rows(Model, k, rng):
    X = sheet(rng, 30)
    with pytest.raises(lowland.DataError, match=f"n_neighbors={k} must be less than the number of rows, 30"):
        Model(n_neighbors=k).fit(X)
    assert np.isfinite(Model(n_neighbors=29).fit_transform(X)).all()


def test_repeated_rows_do_not_count_as_neighbours(Model, rng):
    X = np.repeat(sheet(rng, 12), 5, axis=0)
    with pytest.raises(lowland.DataError, match="n_neighbors=12 must be less than the number of distinct rows, 12"):
        Model(n_neighbors=12).fit(X)


@pytest.mark.filterwarnings("ignore:HessianLLE.*not determined:lowland.NotConvergedWarning")  # all patches are one set
def test_the_default_is_lowered_for_a_few_rows_and_told(Model, rng):
    X = sheet(rng, 8)
    with pytest.warns(lowland.LowlandWarning, match=r"only 8 distinct rows.*n_neighbors=7"):
        model = Model().fit(X)
    assert model.neighbors_ == 7
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_that_are_all_equal(Model, dtype):
    with pytest.raises(lowland.DataError, match="all rows are equal"):
        Model().fit(np.full((40, 3), 2.5, dtype))
    with pytest.raises(lowland.DataError, match="all rows are equal"):
        Model().fit(sp.csr_array(np.full((40, 3), 2.5, dtype)))


def test_objects_at_distance_zero_are_all_equal(Free):
    with pytest.raises(lowland.DataError, match="all rows are equal"):
        Free(metric="precomputed").fit(np.zeros((12, 12)))
    i, j = np.nonzero(~np.eye(12, dtype=bool))
    with pytest.raises(lowland.DataError, match="all rows are equal"):
        Free(metric="precomputed").fit(sp.csr_array((np.zeros(len(i)), (i, j)), shape=(12, 12)))


def _square(rng):
    X = sheet(rng, 40)
    return cdist(X, X)


def _sparse(rng):
    return stored(_square(rng), 12)


@pytest.mark.parametrize("make", [_square, _sparse], ids=["dense", "sparse"])
def test_distances_that_are_none(Free, make, rng):
    given = make(rng)
    near = int(given[[3]].indices[0]) if sp.issparse(given) else 9  # one that is stored
    for value, message in ((-1.0, "negative"), (np.nan, "not a number|NaN|missing"), (np.inf, "not a number|infinit")):
        D = given.copy()
        D[3, near] = D[near, 3] = value
        with pytest.raises(lowland.DataError, match=message):
            Free(metric="precomputed").fit(D)
    D = given.copy()
    D[3, near] *= 1.5
    with pytest.raises(lowland.DataError, match="not symmetric"):
        Free(metric="precomputed").fit(D)


@pytest.mark.parametrize("name", ["Isomap", "LaplacianEigenmaps", "DiffusionMaps", "MVU", "TSNE", "UMAP"])
def test_a_graph_of_nearest_neighbours_is_that_of_its_rows(name, rng):
    """A graph as scikit-learn makes it: zeros on the diagonal, edges stored in one direction."""
    pytest.importorskip({"MVU": "clarabel", "TSNE": "openTSNE", "UMAP": "umap"}.get(name, "numpy"))
    X = sheet(rng, 120)
    options = {"perplexity": 3} if name == "TSNE" else {"n_neighbors": 10}
    options |= {"init": "spectral"} if name == "TSNE" else {}
    plain = getattr(lowland, name)(**options).fit(X[:100])
    graph = KNeighborsTransformer(n_neighbors=10, mode="distance")
    piped = make_pipeline(graph, getattr(lowland, name)(metric="precomputed", **options))
    Y = piped.fit_transform(X[:100])
    assert piped[-1].fit_info_.evidence["edges made symmetric"] > 0
    assert "edges made symmetric" not in plain.fit_info_.evidence
    if name != "UMAP":  # whose steps amplify the rounding of distances
        assert np.allclose(Y, plain.embedding_, atol=1e-6 * np.abs(Y).max())
    assert (piped.transform(X[:100]) == Y).all()
    if name == "MVU":
        with pytest.raises(lowland.DataError, match="needs the distances among neighbours"):
            piped.transform(X[100:])
        return
    new = piped.transform(X[100:])
    assert np.isfinite(new).all()
    if name in ("Isomap", "LaplacianEigenmaps", "DiffusionMaps"):
        assert np.allclose(new, plain.transform(X[100:]), atol=1e-6 * np.abs(Y).max())


def test_a_graph_of_nearest_neighbours_with_equal_rows(rng):
    X = sheet(rng, 100)
    X = np.vstack([X, X[:20]])
    D = neighbor_graph(X, 12).csr()
    model = lowland.Isomap(metric="precomputed", n_neighbors=8).fit(D)
    assert model.fit_info_.evidence["distinct rows"] == 100
    assert (model.embedding_[100:] == model.embedding_[:20]).all()


@pytest.mark.parametrize("name", sorted(LOCAL))
def test_methods_that_need_more_distances_say_so(name, rng):
    D = neighbor_graph(sheet(rng, 60), 10).csr()
    with pytest.raises(lowland.DataError, match=f"{name} needs the distances among neighbours"):
        getattr(lowland, name)(metric="precomputed").fit(D)


def test_objects_without_a_known_distance(Free, rng):
    D = _sparse(rng).tolil()
    D[7, :] = 0
    D[:, 7] = 0
    match = "row 7 has no stored distance to any other.*, or use disconnected='separate'"
    with pytest.raises(lowland.DataError, match=match) as caught:
        Free(metric="precomputed").fit(D.tocsr())
    assert caught.value.row == 7


@quiet
@pytest.mark.parametrize("affinity", ["nearest_neighbors", "rbf"])
def test_isolated_rows_of_a_stored_graph_are_components_of_their_own(Free, affinity, rng):
    if affinity == "rbf" and "affinity" not in Free._parameters:
        return
    options = {"affinity": affinity} if affinity == "rbf" else {}
    X = np.vstack([sheet(rng, 40), [[50.0, 0, 0], [90.0, 0, 0]]])
    D = RadiusNeighborsTransformer(radius=2.0, mode="distance").fit_transform(X)
    with pytest.raises(lowland.DisconnectedError, match="number of connected components is 3"):
        Free(metric="precomputed", disconnected="error", **options).fit(D)
    with pytest.raises(lowland.DataError, match="row 40 has no stored distance"):
        Free(metric="precomputed", **options).fit(D)
    if Free.__name__ in LOCAL:
        with pytest.raises(lowland.DataError, match="needs the distances among neighbours, too"):
            Free(metric="precomputed", disconnected="separate").fit(D)
        return
    with pytest.warns(lowland.DisconnectedWarning, match="number of connected components is 3"):
        model = Free(metric="precomputed", disconnected="separate", **options).fit(D)
    assert model.component_labels_.tolist() == [0] * 40 + [1, 2]
    assert np.isfinite(model.embedding_).all()
    alone = Free(metric="precomputed", **options).fit(D[:40, :40])
    shift = model.embedding_[0] - alone.embedding_[0]
    np.testing.assert_allclose(model.embedding_[:40] - shift, alone.embedding_, atol=1e-8)
    if Free.__name__ != "MVU":  # whose new rows need all distances
        new = sp.csr_array(([0.5, 1.0], ([0, 1], [41, 3])), shape=(2, 42))
        assert np.isfinite(model.transform(new)).all()
        np.testing.assert_allclose(model.transform(new)[0], model.embedding_[41])


def test_a_square_that_is_none(Free, rng):
    for X in (rng.random((20, 19)), sp.csr_array(rng.random((20, 19)))):
        with pytest.raises(lowland.DataError, match="square"):
            Free(metric="precomputed").fit(X)


# -- neighbours within a radius -----------------------------------------------------------------------------


def test_both_or_none_of_the_two_rules_are_refused(Model, rng):
    X = sheet(rng, 40)
    with pytest.raises(lowland.DataError, match=r"Both n_neighbors and radius are provided\. .*n_neighbors=None"):
        Model(n_neighbors=5, radius=1.0).fit(X)
    with pytest.raises(lowland.DataError, match="set n_neighbors or radius"):
        Model(n_neighbors=None).fit(X)
    for radius in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="radius must be"):
            Model(n_neighbors=None, radius=radius).fit(X)
    with pytest.raises(lowland.DataError, match="no two rows are within radius of each other"):
        Model(n_neighbors=None, radius=1e-4).fit(X)


@pytest.mark.filterwarnings("ignore:HessianLLE.*not determined:lowland.NotConvergedWarning")
def test_a_radius_that_reaches_all_is_as_many_neighbours_as_there_are(Model, rng):
    X = sheet(rng, 40)
    counted = Model(n_neighbors=39).fit(X)
    for radius in (100.0, np.inf):
        model = Model(n_neighbors=None, radius=radius).fit(X)
        np.testing.assert_allclose(model.transform(X), counted.transform(X), atol=1e-9)
        assert model.fit_info_.evidence["mean neighbours"] == 39


def test_neighbours_within_a_radius_are_those_of_the_stored_graph(rng):
    """The same graph given as stored distances, all of them counted."""
    X = sheet(rng, 150)
    D = neighbor_graph(X, radius=0.9).csr()
    new = X[:30] + 0.05
    for Model in (lowland.Isomap, lowland.LaplacianEigenmaps, lowland.DiffusionMaps):
        model = Model(n_neighbors=None, radius=0.9).fit(X)
        stored_graph = Model(n_neighbors=149, metric="precomputed").fit(D)
        np.testing.assert_allclose(model.embedding_, stored_graph.embedding_, atol=1e-9)
        assert model.radius_ == model.fit_info_.evidence["radius"] == 0.9
        assert model.neighbors_ == round(D.nnz / 150)
        square = cdist(new, X)
        near = sp.csr_array(np.where(square <= 0.9, square, 0))
        np.testing.assert_allclose(model.transform(new), stored_graph.transform(near), atol=1e-9)
        given = Model(n_neighbors=None, radius=0.9, metric="precomputed").fit(cdist(X, X))
        np.testing.assert_allclose(given.transform(square), model.transform(new), atol=1e-9)
        far = X[:1] + 50  # has the nearest point alone
        assert np.isfinite(model.transform(far)).all()


@quiet  # eigenvalues that pass the largest number
def test_a_radius_follows_the_unit_of_the_rows(Model, rng):
    X = sheet(rng, 60)
    one, other = (Model(n_neighbors=None, radius=2.0 * s).fit(s * X) for s in (1.0, 2.0**600))
    for model, s in ((one, 1.0), (other, 2.0**600)):
        assert getattr(model, "radius_", 2.0 * s) == 2.0 * s
    Y, Z = one.transform(X), other.transform(X * 2.0**600)
    np.testing.assert_allclose(Z / np.abs(Z).max(), Y / np.abs(Y).max(), atol=1e-6)


@quiet
@pytest.mark.parametrize("policy", POLICIES)
def test_isolated_points_follow_the_policy(Model, policy, rng):
    if policy not in Model._parameters["disconnected"].names:
        pytest.skip("a projection has no separate pieces")
    X = np.vstack([sheet(rng, 60), [[30.0, 0.0, 0.0], [60.0, 0.0, 0.0]]])
    model = Model(n_neighbors=None, radius=2.5, disconnected=policy)
    if policy == "error":
        with pytest.raises(lowland.DisconnectedError, match=r"radius=2\.5 is not connected: .* is 3 \(60, 1 and 1"):
            model.fit(X)
    elif policy == "bridge" and Model.__name__ in LOCAL - {"LLE"}:
        with pytest.raises(lowland.DataError, match=r"2 of 62 points have fewer than \d neighbours within radius=2.5"):
            model.fit(X)
    else:
        Y = model.fit_transform(X)
        assert np.isfinite(Y).all()
        np.testing.assert_allclose(model.transform(X), Y, atol=1e-9)
        assert np.isfinite(model.transform(X + 0.01)).all()
        if policy == "separate":
            assert np.bincount(model.component_labels_).tolist() == [60, 1, 1]
        else:
            assert model.fit_info_.evidence["links added"] == 2


def test_a_plan_looks_how_many_rows_lie_within_the_radius(Model, rng):
    X = sheet(rng, 1000)
    true = len(neighbor_graph(X, radius=0.8).indices) / 1000
    found = lowland.plan(Model(n_neighbors=None, radius=0.8), X)
    counted = lowland.plan(Model(n_neighbors=round(true)), X)
    assert 0.7 < found.bytes / counted.bytes < 1.4
    assert lowland.plan(Model(n_neighbors=None, radius=0.8), shape=X.shape).bytes > 0


@quiet
def test_a_model_with_a_radius_comes_back_from_a_file(Free, rng, tmp_path):
    X = sheet(rng, 80)
    model = Free(n_neighbors=None, radius=2.0).fit(X[:70])
    lowland.save(model, tmp_path / "m.lowland")
    back = lowland.load(tmp_path / "m.lowland")
    assert back.radius_ == 2.0
    np.testing.assert_array_equal(back.transform(X[70:]), model.transform(X[70:]))


# -- graphs in pieces ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 5])
def test_pieces_are_refused_where_that_was_asked_for(Model, count, rng):
    X, _ = islands(rng, count)
    with pytest.raises(
        lowland.DisconnectedError,
        match=rf"the number of connected components is {count} \(70(,| and) 60",
    ) as caught:
        Model(disconnected="error").fit(X)
    assert isinstance(caught.value, lowland.DataError)
    one, _ = islands(rng, 1)
    assert np.isfinite(Model(disconnected="error").fit_transform(one)).all()


@pytest.mark.filterwarnings("ignore:.*(points apart|not determined|neighbours' distances):lowland.LowlandWarning")
@pytest.mark.parametrize("count", [2, 5])
def test_pieces_are_bridged(Model, count, rng):
    X, where = islands(rng, count)
    said = "the shortest missing edge" if count == 2 else "the 4 shortest missing edges"
    with pytest.warns(lowland.DisconnectedWarning, match=rf"connected components is {count} .*{said}"):
        model = Model(disconnected="bridge").fit(X)
    assert model.fit_info_.evidence["pieces"] == count
    assert model.fit_info_.evidence["links added"] == count - 1
    Y = model.transform(X)
    assert np.isfinite(Y).all()
    if isinstance(model, PROJECTIONS):
        return
    np.testing.assert_array_equal(model.component_labels_, where)
    np.testing.assert_allclose(Y, model.embedding_, atol=1e-9 * np.ptp(model.embedding_))


@pytest.mark.parametrize("count", [2, 5])
def test_separate_pieces_lie_side_by_side(Free, count, rng):
    X, where = islands(rng, count)
    with pytest.warns(lowland.DisconnectedWarning, match=rf"connected components is {count} .*side by side"):
        model = Free(disconnected="separate").fit(X)
    assert "links added" not in model.fit_info_.evidence
    np.testing.assert_array_equal(model.component_labels_, where)
    Y = model.embedding_
    assert np.isfinite(Y).all()
    ends = np.array([[Y[where == c, 0].min(), Y[where == c, 0].max()] for c in range(count)])
    width = np.diff(ends, axis=1).mean()
    np.testing.assert_allclose(ends[1:, 0] - ends[:-1, 1], 0.1 * width, rtol=1e-9)
    assert (np.diff(ends, axis=1) > 0.3 * width).all()  # none has collapsed
    alone = Free().fit_transform(X[where == 1])
    shift = Y[where == 1].mean(axis=0) - alone.mean(axis=0)
    np.testing.assert_allclose(Y[where == 1], alone + shift, atol=1e-6 * np.ptp(alone))


def test_a_projection_has_no_separate_pieces(Model, rng):
    if issubclass(Model, PROJECTIONS):
        with pytest.raises(ValueError, match=r"disconnected must be .*bridge.*error"):
            Model(disconnected="separate").fit(sheet(rng, 30))
    else:
        assert Model(disconnected="separate").fit(sheet(rng, 40)).component_labels_.tolist() == [0] * 40


@quiet
@pytest.mark.parametrize("count", [2, 5])
def test_new_rows_join_the_piece_they_are_nearest_to(Free, count, rng):
    X, where = islands(rng, count)
    model = Free(disconnected="separate").fit(X)
    Y = model.embedding_
    np.testing.assert_allclose(model.transform(X), Y, atol=1e-9 * np.ptp(Y))
    new, home = X[:60] + 0.02 * rng.standard_normal((60, 3)), where[:60]
    placed = model.transform(new)
    away = np.linalg.norm(placed - Y[:60], axis=1)
    for c in range(count):
        spread = np.ptp(Y[where == c], axis=0).max()
        assert away[home == c].max() < 0.5 * spread
        assert np.median(away[home == c]) < 0.05 * spread
    np.testing.assert_allclose(model.transform(new[17:18])[0], placed[17], rtol=1e-12, atol=1e-12 * np.ptp(Y))


@quiet
def test_a_row_apart_from_all_others(Model, rng):
    """One outlier is a piece only where it reaches nobody: k neighbours link it, so the graph stays whole."""
    X = np.vstack([sheet(rng, 60), [[200.0, 0.0, 0.0]]])
    model = Model(disconnected="error").fit(X)
    assert np.isfinite(model.transform(X)).all()


@quiet
def test_a_pair_of_objects_is_a_piece(Free, rng):
    """Stored distances may leave two objects alone: their piece is that distance, and no link to them is known."""
    pair = sp.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))
    D = sp.csr_array(sp.block_diag([_sparse(rng), pair]))
    with pytest.raises(lowland.DataError, match="no distance is known from the component of row 40"):
        Free(metric="precomputed", disconnected="bridge").fit(D)
    if Free.__name__ in LOCAL:
        with pytest.raises(lowland.DataError, match="needs the distances among neighbours, too"):
            Free(metric="precomputed", disconnected="separate").fit(D)
        return
    model = Free(metric="precomputed", disconnected="separate").fit(D)
    Y = model.embedding_
    assert np.isfinite(Y).all()
    assert model.component_labels_.tolist() == [0] * 40 + [1] * 2
    assert np.linalg.norm(Y[41] - Y[40]) == pytest.approx(2.0)  # as given, or two points of variance 1


# -- model files --------------------------------------------------------------------------------------------


def _reloaded(model, folder):
    lowland.save(model, folder / "model.lowland")
    return lowland.load(folder / "model.lowland")


def _same(model, again, *blocks):
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    for block in blocks:
        np.testing.assert_array_equal(again.transform(block), model.transform(block))
    if not isinstance(model, PROJECTIONS):
        np.testing.assert_array_equal(again.embedding_, model.embedding_)
        np.testing.assert_array_equal(again.component_labels_, model.component_labels_)


@quiet
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_saved_models_place_rows_as_before(Model, policy, form, rng, tmp_path):
    if policy == "separate" and issubclass(Model, PROJECTIONS):
        pytest.skip("a projection has no separate pieces")
    X = islands(rng, 1 if policy == "error" else 3)[0]
    X[rng.random(X.shape) < 0.1] = 0.0
    new = X[:20] + 0.03
    model = Model(disconnected=policy).fit(form(X))
    again = _reloaded(model, tmp_path)
    _same(model, again, form(X), form(new))
    if hasattr(model, "inverse_transform"):
        Y = model.transform(form(new))
        np.testing.assert_array_equal(again.inverse_transform(Y), model.inverse_transform(Y))


@quiet
@pytest.mark.parametrize("policy", POLICIES)
def test_saved_models_of_distances(Free, policy, rng, tmp_path):
    X = islands(rng, 1 if policy == "error" else 3)[0]
    new = X[:20] + 0.03
    model = Free(metric="precomputed", disconnected=policy).fit(cdist(X, X))
    np.testing.assert_allclose(model.transform(cdist(X, X)), model.embedding_, atol=1e-9 * np.ptp(model.embedding_))
    again = _reloaded(model, tmp_path)
    _same(model, again, cdist(X, X), cdist(new, X))
    with pytest.raises(lowland.DataError, match="no rows to return to"):
        again.inverse_transform(model.embedding_)


@quiet
@pytest.mark.parametrize("Edged", _each([c for c in FREE if c.__name__ not in LOCAL]))
def test_saved_models_of_stored_distances(Edged, rng, tmp_path):
    X, where = islands(rng, 2)
    D = stored(cdist(X, X), 14)
    model = Edged(metric="precomputed", disconnected="separate").fit(D)
    np.testing.assert_array_equal(model.component_labels_, where)
    rows = Edged(disconnected="separate").fit(X)  # 10 neighbours are within the 14 that are known
    np.testing.assert_allclose(model.embedding_, rows.embedding_, atol=1e-6 * np.ptp(rows.embedding_))
    again = _reloaded(model, tmp_path)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    np.testing.assert_array_equal(again.component_labels_, where)


# -- objects ------------------------------------------------------------------------------------------------


def edits(a, b):
    """Edit distance of two words (Levenshtein)."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return float(row[-1])


def words(rng):
    """Two families of words, of which each member differs in a few letters; some words are repeated."""
    found = []
    for stem in ("aaaabbbbaaaa", "xyzzyxyzzyxy"):
        for _ in range(25):
            letters = list(stem)
            for place in rng.choice(12, 3, replace=False):
                letters[place] = "abxyz"[rng.integers(5)]
            found.append("".join(letters))
    return [*found, *found[:8]]


@quiet
def test_words_by_their_edits(Free, rng, tmp_path):
    given = np.array(words(rng), dtype=object)
    lowland.functions.register("test edits of words", edits)
    model = Free(metric=edits, n_neighbors=12).fit(given)
    Y = model.embedding_
    assert np.isfinite(Y).all()
    np.testing.assert_array_equal(Y[50:], Y[:8])  # a repeated word is one point
    np.testing.assert_allclose(model.transform(given), Y, atol=1e-9 * np.ptp(Y))
    D = np.array([[edits(a, b) for b in given] for a in given])
    peer = Free(metric="precomputed", n_neighbors=12).fit(D)
    np.testing.assert_allclose(peer.embedding_, Y, atol=1e-6 * np.ptp(Y))
    new = np.array(["aaaabbbbaaay", "xyzzyxyzzyxx"], dtype=object)
    again = _reloaded(model, tmp_path)
    np.testing.assert_array_equal(again.transform(new), model.transform(new))


# -- equal rows, precision ------------------------------------------------------------------------------------


def test_equal_rows_change_nothing_and_get_equal_coordinates(Model, rng):
    """74 of 100 rows repeat an earlier one, in any order: the map is that of the distinct rows."""
    distinct = sheet(rng, 78)
    repeated = np.r_[np.arange(78), rng.integers(78, size=222)]
    repeated = np.r_[repeated[:78], rng.permutation(repeated[78:])]
    want = Model().fit(distinct)
    got = Model().fit(distinct[repeated])
    assert got.fit_info_.evidence["distinct rows"] == 78
    np.testing.assert_array_equal(got.transform(distinct), want.transform(distinct))
    if not isinstance(got, PROJECTIONS):
        np.testing.assert_array_equal(got.embedding_, want.embedding_[repeated])


@quiet
def test_equal_objects_of_distances(Free, rng):
    distinct = sheet(rng, 60)
    X = distinct[np.r_[np.arange(60), rng.integers(60, size=40)]]
    D = cdist(X, X)
    Y = Free(metric="precomputed").fit_transform(D)
    for i, j in np.argwhere(np.triu(D == 0, 1)):
        np.testing.assert_array_equal(Y[i], Y[j])
    np.testing.assert_allclose(Y[:60], Free(metric="precomputed").fit_transform(D[:60, :60]), atol=1e-9 * np.ptp(Y))


def test_single_precision_is_the_same_map_rounded(Model, rng):
    X = sheet(rng, 120).astype(np.float32)
    single, double = Model().fit(X), Model().fit(X.astype(np.float64))
    want = double.transform(X.astype(np.float64))
    got = single.transform(X)
    assert got.dtype == np.float32
    scale = np.abs(want).max()
    np.testing.assert_allclose(got, want, atol=1e-5 * scale)
    new = X[:30] + np.float32(0.02)
    np.testing.assert_allclose(single.transform(new), double.transform(new.astype(np.float64)), atol=1e-4 * scale)


def test_no_order_of_the_rows_matters(Model, rng):
    X = sheet(rng, 60)
    order = rng.permutation(60)
    want, got = Model().fit(X), Model().fit(X[order])
    A, B = want.transform(X), got.transform(X)
    signs = np.sign((A * B).sum(axis=0))
    np.testing.assert_allclose(B * signs, A, atol=1e-5 * np.abs(A).max())


# -- metrics, units, records --------------------------------------------------------------------------------


@quiet
@pytest.mark.parametrize("name", ["seuclidean", "mahalanobis"])
def test_a_metric_learns_from_all_rows_once(Model, name, rng, monkeypatch):
    X = np.repeat(sheet(rng, 40), rng.integers(1, 9, 40), axis=0)
    seen, geometry = [], PointMetric.geometry
    monkeypatch.setattr(PointMetric, "geometry", lambda self, points: seen.append(self.state) or geometry(self, points))
    Model(metric=name).fit(X)
    want = {"V": X.var(axis=0, ddof=1)} if name == "seuclidean" else {"VI": np.linalg.inv(np.cov(X.T))}
    for key, value in want.items():
        np.testing.assert_allclose(seen[0][key], value, rtol=1e-9)


@quiet
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_of_one_direction_are_one_point_by_their_angle(Free, form, rng):
    base = np.abs(sheet(rng, 40)) + 0.1
    X = np.repeat(base, 6, axis=0) * rng.uniform(0.1, 10, (240, 1))
    model = Free(metric="cosine").fit(form(X))
    assert model.fit_info_.evidence["distinct rows"] == 40
    np.testing.assert_array_equal(model.embedding_[::6], model.embedding_[5::6])


def test_a_map_over_an_approximate_graph_says_so(Model, rng, monkeypatch):
    monkeypatch.setattr(neighbors, "APPROXIMATE", 1e5)
    X = np.c_[sheet(rng, 400), np.zeros((400, 13))] + 0.01 * rng.standard_normal((400, 16))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lowland.LowlandWarning)
        info = Model().fit(X).fit_info_
    assert info.evidence["neighbour search"] == "nearest neighbour descent"
    assert info.approximate
    if Model.__name__ != "MVU":  # which has an error of its own to tell
        assert info.approximation_error == 1 - info.evidence["neighbour recall"]
    assert Model()._plan(DataShape(400, 16, np.dtype(float))).approximate


@quiet
def test_small_pieces_have_the_units_of_the_others(rng):
    """Where coordinates of pieces have variance 1 whatever the data's units, those of small ones have, too."""

    class Unit(lowland.LLE):
        _keeps_lengths = False

    X = np.vstack([1e4 * sheet(rng, 60), [[1e7, 0, 0], [1e7 + 3e4, 0, 0], [1e7, 4e4, 0]]])
    D = cdist(X, X)
    for model in (Unit, lowland.Isomap):
        Y = model(n_neighbors=2, disconnected="separate", metric="precomputed").fit(D).embedding_[60:]
        shape = cdist(Y, Y) / cdist(Y, Y).max()
        np.testing.assert_allclose(shape, D[60:, 60:] / 5e4, atol=1e-9)
        if model is Unit:
            assert Y[:, 0].std() == pytest.approx(1.0)
        else:
            np.testing.assert_allclose(cdist(Y, Y), D[60:, 60:], rtol=1e-9)


@quiet
@pytest.mark.parametrize("Edged", [lowland.LaplacianEigenmaps, lowland.DiffusionMaps])
def test_equal_objects_that_know_no_others(Edged, rng):
    """Two objects at distance zero and no other known distance: one point, a piece of its own, with its own number."""
    near = _sparse(rng).tocoo()  # 40 objects, of which 3 and 4 become equal
    i, j = np.r_[near.row, 3, 4, 40, 41], np.r_[near.col, 4, 3, 41, 40]
    keep = ~((near.row == 3) & (near.col == 4) | (near.row == 4) & (near.col == 3))
    d = np.r_[near.data, np.zeros(4)]
    keep = np.r_[keep, np.ones(4, bool)]
    D = sp.csr_array((d[keep], (i[keep], j[keep])), shape=(42, 42))
    model = Edged(metric="precomputed", disconnected="separate").fit(D)
    assert model.component_labels_.tolist() == [0] * 40 + [1] * 2
    np.testing.assert_array_equal(model.embedding_[40], model.embedding_[41])
    with pytest.raises(lowland.DataError, match="no distance is known from the component of row 40 to any") as caught:
        Edged(metric="precomputed").fit(D)
    assert caught.value.row == 40


def test_a_table_is_put_in_one_piece_once(rng, monkeypatch):
    X = np.asfortranarray(rng.standard_normal((600, 5)))
    copied, plain = [], np.ascontiguousarray

    def counted(a, *args, **kwargs):
        copied.append(a is X)
        return plain(a, *args, **kwargs)

    W = neighbor_graph(X, 4).csr()
    edges = projections.EdgeWeights(W, np.ones(600), squared=False)
    monkeypatch.setattr(projections, "block_rows", lambda columns: 50)
    monkeypatch.setattr(np, "ascontiguousarray", counted)
    C, B = projections.forms(X, edges, X.mean(axis=0), np.eye(5))
    assert sum(copied) == 1
    Z = X - X.mean(axis=0)
    np.testing.assert_allclose(B, Z.T @ Z, atol=1e-9)
    L = np.diag(np.asarray(W.sum(axis=1)).ravel()) - W.toarray()
    C0 = Z.T @ L @ X
    np.testing.assert_allclose(C, (C0 + C0.T) / 2, atol=1e-9)


def test_a_column_that_decides_alone_is_told():
    X = lowland.data.swiss_roll(300)[0] * [1e5, 1.0, 1.0]
    with pytest.warns(lowland.DominantColumnWarning, match=r"range of column 0 is .* times .*metric='seuclidean'"):
        lowland.Isomap().fit(X)
    lowland.Isomap(metric="seuclidean").fit(X)  # has no units, and so no warning


def test_missing_distances_are_told_what_takes_them():
    D = np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0)))
    D[2, 5] = D[5, 2] = np.nan
    with pytest.raises(lowland.DataError, match=r"row 2, column 5 is missing .*MetricMDS.*weights=~np.isnan"):
        lowland.Isomap(metric="precomputed").fit(D)
