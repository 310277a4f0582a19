"""Self-organising maps: the batch step, the mesh between units, the two errors, hard data."""

import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import lowland
from lowland.methods.network.prototypes import Codebook, Grid, Mesh, between, two_nearest, winners
from lowland.rows.row_source import RowSource

TOPOLOGIES = ("rectangular", "hexagonal")


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    return np.ascontiguousarray(load_digits().data)


def lloyd(X, W, steps):
    """k-means by hand; a centre without rows stays."""
    for _ in range(steps):
        won = ((X[:, None, :] - W) ** 2).sum(axis=2).argmin(axis=1)
        W = np.array([X[won == k].mean(axis=0) if (won == k).any() else W[k] for k in range(len(W))])
    return W


# -- the grid ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("shape", [(5, 4), (4, 5), (1, 6), (6, 1), (2, 2), (1, 1)])
def test_edges_are_all_pairs_at_distance_one(shape, topology):
    grid = Grid(shape, topology)
    P = grid.positions()
    apart = np.linalg.norm(P[:, None] - P, axis=2)
    want = {(u, v) for u, v in np.argwhere(np.isclose(apart, 1)).tolist() if u < v}
    found = [tuple(sorted(pair)) for pair in grid.edges().tolist()]
    assert len(found) == len(set(found))
    assert set(found) == want
    u, v = np.indices(apart.shape)
    reach = 1.01 if topology == "hexagonal" else 1.42
    np.testing.assert_array_equal(grid.adjacent(u, v), (apart > 0) & (apart < reach))


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("sigma", [0.4, 3.0])
def test_smoothing_is_the_product_with_all_weights(topology, sigma, rng):
    grid = Grid((5, 4), topology)
    P, values = grid.positions(), rng.standard_normal((20, 3))
    H = np.exp(-((P[:, None] - P) ** 2).sum(axis=2) / (2 * sigma**2))
    np.testing.assert_allclose(grid.smooth(values, sigma), H @ values, atol=1e-13)


@pytest.mark.parametrize("sigma", [0.3, 40.0, 900.0])
@pytest.mark.parametrize(
    ("shape", "topology"), [((4000, 1), "hexagonal"), ((1, 4000), "hexagonal"), ((1300, 3), "rectangular")]
)
def test_long_grids_are_smoothed_by_strips(shape, topology, sigma, rng):
    grid = Grid(shape, topology)
    values = rng.standard_normal((grid.units, 2))
    tracemalloc.start()
    got = grid.smooth(values, sigma)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6  # the square of 4000 weights takes 128 MB
    P, some = grid.positions(), rng.integers(0, grid.units, 50)
    H = np.exp(-((P[some, None] - P) ** 2).sum(axis=2) / (2 * sigma**2))
    np.testing.assert_allclose(got[some], H @ values, atol=1e-10)


def test_a_plan_knows_the_smoothing_of_long_grids(rng):
    X = rng.standard_normal((60, 4))
    model = lowland.SOM((3000, 1), topology="hexagonal", epochs=2)
    lowland.SOM((5, 1), epochs=2).fit(X)  # imports and compiled loops are not the fit's
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < lowland.plan(model, X).bytes
    long, square = (lowland.plan(lowland.SOM(grid), X).seconds for grid in ((10_000, 1), (100, 100)))
    assert long > 10 * square


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_triangles_cover_the_grid_once(topology, rng):
    grid = Grid((5, 4), topology)
    T = grid.triangles(rng.standard_normal((20, 3)))
    a, b, c = (grid.positions()[T[:, i]] for i in range(3))
    areas = 0.5 * np.abs(np.linalg.det(np.stack([b - a, c - a], axis=1)))
    np.testing.assert_allclose(areas, 0.5 * (0.75**0.5 if topology == "hexagonal" else 1.0))
    assert len({tuple(sorted(t)) for t in T.tolist()}) == 2 * 4 * 3


def test_squares_are_cut_along_the_shorter_diagonal():
    W = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [3.0, 3.0]])  # units (0, 0), (0, 1), (1, 0), (1, 1)
    assert {frozenset(t) for t in Grid((2, 2)).triangles(W).tolist()} == {frozenset({0, 1, 2}), frozenset({1, 2, 3})}


# -- training ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_without_a_neighbourhood_it_is_k_means(topology, dtype, rng):
    X = (rng.standard_normal((600, 4)) * [3, 2, 1, 1] + 5).astype(dtype)
    narrow = {"grid": (4, 3), "topology": topology, "sigma_start": 1e-3, "sigma_end": 1e-3, "noise": 0}
    models = [lowland.SOM(epochs=epochs, **narrow).fit(X) for epochs in (1, 4)]
    tolerance = 1e-12 if dtype == np.float64 else 1e-6
    want = lloyd(X.astype(np.float64), models[0].codebook_, 3)
    np.testing.assert_allclose(models[1].codebook_, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("apart", [0.0, 1e3, 1e5, 1e9])
def test_the_nearest_unit_is_found_in_tight_groups_far_apart(apart, rng):
    """Where all units of a group lie within the rounding of float32, or float64, products."""
    Z, W = rng.standard_normal((900, 6)), rng.standard_normal((50, 6))
    for table in (Z, W):
        table[: len(table) // 2] += apart
    W[30] = W[40]  # of equal units the first wins
    Z, W = Z / max(apart, 1), W / max(apart, 1)
    squares = ((Z[:, None, :] - W) ** 2).sum(axis=2)
    want = squares.argmin(axis=1)
    two = np.partition(squares, 1, axis=1)
    clear = (two[:, 1] > two[:, 0] * (1 + 1e-12)) | (want == 30)
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(winners(Z, Codebook(W))[clear], want[clear])
    assert 30 in want


def test_float32_rows_in_tight_groups_train_as_well_as_float64(rng):
    X = np.concatenate([0.1 * rng.standard_normal((300, 3)), 0.1 * rng.standard_normal((300, 3)) + [1000, 0, 0]])
    X = X.astype(np.float32)
    with pytest.warns(lowland.DominantColumnWarning):
        single, double = (lowland.SOM((6, 5)).fit(X.astype(kind)).fit_info_.evidence for kind in (np.float32, float))
    assert single["quantisation error"] == pytest.approx(double["quantisation error"], rel=1e-6)
    assert single["topographic error"] == pytest.approx(double["topographic error"], abs=0.005)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_one_step_is_the_weighted_mean(topology, rng):
    X = rng.standard_normal((300, 3)) * [3.0, 2.0, 1.0]
    parameters = {"grid": (5, 3), "topology": topology, "sigma_start": 0.8, "sigma_end": 0.8, "noise": 0.0}
    before = lowland.SOM(epochs=1, **parameters).fit(X).codebook_
    after = lowland.SOM(epochs=2, **parameters).fit(X)
    P = after.positions_
    won = ((X[:, None, :] - before) ** 2).sum(axis=2).argmin(axis=1)
    H = np.exp(-((P[:, None] - P[won]) ** 2).sum(axis=2) / (2 * 0.8**2))
    np.testing.assert_allclose(after.codebook_, (H @ X) / H.sum(axis=1, keepdims=True), atol=1e-12)


def test_the_first_step_begins_on_the_principal_plane(rng):
    X = rng.standard_normal((400, 5)) * [1.0, 4.0, 1.0, 2.5, 1.0]
    for grid in ((9, 4), (4, 9)):
        model = lowland.SOM(grid).fit(X)
        W = model.codebook_.reshape(*grid, 5)
        along, across = (0, 1) if grid[0] > grid[1] else (1, 0)
        slopes = [np.abs(np.diff(W, axis=axis).mean(axis=(0, 1))).argmax() for axis in (along, across)]
        assert slopes == [1, 3]  # the longer side follows the column of most variance


def test_a_line_of_units_orders_a_curve(rng):
    t = np.sort(rng.uniform(0, 1, 2000))
    X = np.column_stack([np.cos(4 * t), np.sin(4 * t), 0.4 * t]) + 0.01 * rng.standard_normal((2000, 3))
    model = lowland.SOM((30, 1), epochs=40).fit(X)
    Y = model.transform(X)
    assert np.all(Y[:, 1] == 0)
    order = np.argsort(np.argsort(Y[:, 0]))
    assert abs(np.corrcoef(order, np.arange(2000))[0, 1]) > 0.999
    assert model.fit_info_.evidence["topographic error"] == 0.0


def test_a_wide_end_is_smooth_and_a_narrow_one_is_near(digits):
    errors = [lowland.SOM((12, 12), epochs=15, sigma_end=end).fit(digits).fit_info_.evidence for end in (1.5, 0.7, 0.3)]
    nearness = [e["quantisation error"] for e in errors]
    torn = [e["topographic error"] for e in errors]
    assert nearness == sorted(nearness, reverse=True)
    assert torn == sorted(torn)


def test_more_epochs_and_a_wider_start_change_the_map(digits):
    base = lowland.SOM((8, 8), epochs=5).fit(digits)
    for other in (
        {"epochs": 6},
        {"sigma_start": 4.0},
        {"sigma_end": 0.6},
        {"noise": 0.0},
        {"random_state": 1},
        {"scale": True},
    ):
        model = lowland.SOM(**({"grid": (8, 8), "epochs": 5} | other)).fit(digits)
        assert not np.allclose(model.codebook_, base.codebook_, rtol=1e-3)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_errors_are_not_above_minisoms_in_as_many_epochs(topology, digits):
    import minisom

    X, epochs = digits[:600], 20
    peer = minisom.MiniSom(10, 10, X.shape[1], topology=topology, random_seed=0)
    peer.train(X, epochs * len(X))
    model = lowland.SOM((10, 10), topology=topology, epochs=epochs, sigma_end=0.3).fit(X)
    assert model.quantization_error(X) <= peer.quantization_error(X)
    assert model.topographic_error(X) <= peer.topographic_error(X)
    peer._weights = model.codebook_.reshape(10, 10, -1)  # the two errors mean the same there and here
    assert model.quantization_error(X) == pytest.approx(peer.quantization_error(X), rel=1e-12)
    if topology == "rectangular":  # of hexagons it moves the other lines
        assert model.topographic_error(X) == pytest.approx(peer.topographic_error(X), abs=1e-12)


# -- the mesh ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_there_and_back_on_a_map_without_folds(topology, rng):
    X = rng.uniform(size=(3000, 2)) * [3.0, 2.0]
    model = lowland.SOM((9, 6), topology=topology).fit(X)
    Y = model.transform(X)
    Z = model.inverse_transform(Y)  # points of the mesh
    np.testing.assert_allclose(model.transform(Z), Y, atol=1e-9)
    inside = np.abs(X - X.mean(axis=0)).max(axis=1) < 0.7
    np.testing.assert_allclose(Z[inside], X[inside], atol=1e-9)  # a plane's mesh holds every point within it


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_there_and_back_on_a_stretched_map(topology, rng):
    """Cells ten times as long as wide: the nearest point is often not around the two nearest units."""
    X = rng.uniform(size=(3000, 2)) * [10.0, 1.0]
    with pytest.warns(lowland.DominantColumnWarning):
        model = lowland.SOM((20, 20), topology=topology, sigma_end=1.3, noise=0).fit(X)
    P, T = model.positions_, Grid((20, 20), topology).triangles(model.codebook_)
    turns = [
        np.linalg.det(np.stack([Q[T[:, 1]] - Q[T[:, 0]], Q[T[:, 2]] - Q[T[:, 0]]], axis=1))
        for Q in (P, model.codebook_)
    ]
    assert np.ptp(np.sign(turns[0] * turns[1])) == 0  # no folds
    Y = np.einsum("nc,ncd->nd", rng.dirichlet(np.ones(3), 4000), P[T[rng.integers(0, len(T), 4000)]])
    np.testing.assert_allclose(model.transform(model.inverse_transform(Y)), Y, atol=1e-8)


@pytest.mark.parametrize("columns", [2, 3, 20])
def test_no_triangle_has_a_nearer_point(columns, rng):
    """Also on a crumpled map, where far units are neighbours."""
    W, Z = rng.standard_normal((30, columns)), 2 * rng.standard_normal((300, columns))
    T = Grid((6, 5)).triangles(W)
    own = np.array([[0, 1, 2]])
    each = [np.linalg.norm(Z - between(W[t], *Mesh(own, W[t]).nearest(Z)), axis=1) for t in T]
    found = np.linalg.norm(Z - between(W, *Mesh(T, W).nearest(Z)), axis=1)
    np.testing.assert_allclose(found, np.min(each, axis=0), atol=1e-9)


def test_units_are_their_own_places(digits):
    for topology in TOPOLOGIES:
        model = lowland.SOM((7, 5), topology=topology).fit(digits)
        np.testing.assert_allclose(model.transform(model.codebook_), model.positions_, atol=1e-7)
        np.testing.assert_allclose(model.inverse_transform(model.positions_), model.codebook_, atol=1e-10)


def test_the_mesh_is_nearer_to_rows_than_units_are(digits):
    model = lowland.SOM((8, 8), epochs=10).fit(digits)
    rebuilt = np.linalg.norm(digits - model.inverse_transform(model.transform(digits)), axis=1)
    _, squares = two_nearest(digits, Codebook(model.codebook_))
    assert (rebuilt <= np.sqrt(squares[:, 0]) + 1e-9).all()
    assert rebuilt.mean() < 0.99 * model.quantization_error(digits)


def test_the_nearest_point_of_a_triangle(rng):
    W = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    mesh = Mesh(np.array([[0, 1, 2]]), W)
    Z = rng.uniform(-1, 2, (200, 3))
    found = between(W, *mesh.nearest(Z))
    s, t = np.meshgrid(*[np.linspace(0, 1, 201)] * 2)
    fine = np.column_stack([s.ravel(), t.ravel(), 0 * s.ravel()])[(s + t).ravel() <= 1]
    best = np.sqrt(((Z[:, None] - fine) ** 2).sum(axis=2).min(axis=1))
    ours = np.linalg.norm(Z - found, axis=1)
    assert (ours <= best + 1e-12).all()  # no point of a fine lattice is nearer
    assert (ours >= best - 0.01).all()
    assert (found[:, :2].min(axis=1) >= -1e-12).all()
    assert (found[:, :2].sum(axis=1) <= 1 + 1e-12).all()


def test_coordinates_are_continuous_across_the_borders_of_units(rng):
    X = rng.uniform(size=(2000, 2)) * [2.0, 1.0]
    model = lowland.SOM((8, 4)).fit(X)
    path = np.column_stack([np.linspace(0.2, 1.8, 4001), np.full(4001, 0.47)])
    Y = model.transform(path)
    assert np.abs(np.diff(Y, axis=0)).max() < 0.02  # no jump: 7 steps of the grid in 4000
    assert np.ptp(Y[:, 0]) > 4


def test_coordinates_outside_are_those_of_the_nearest_edge(rng):
    model = lowland.SOM((6, 5)).fit(rng.standard_normal((400, 3)))
    got = model.inverse_transform(np.array([[-3.0, 2.0], [9.0, 9.0]]))
    np.testing.assert_allclose(got, model.codebook_[[2, 29]], atol=1e-12)


@pytest.mark.parametrize("scale", [False, True])
def test_rows_and_places_beyond_all_bounds(scale, rng):
    X = rng.standard_normal((400, 3)) * [3e-9, 2e-9, 1e-9]
    model = lowland.SOM((6, 5), scale=scale).fit(X)
    ways = rng.standard_normal((50, 3))
    want = model.transform(1e-3 * ways)  # so far that only the way counts
    for far in (1e50, 1e160, 1e290):
        np.testing.assert_allclose(model.transform(far * ways), want, atol=1e-4)
    assert np.isfinite(model.transform(np.full((1, 3), 1.7e308))).all()  # scaled, these pass all numbers
    corner = [[1e160, 1e160], [1.7e308, -1.7e308]]
    np.testing.assert_allclose(model.inverse_transform(np.array(corner)), model.codebook_[[29, 25]], atol=1e-20)
    for name in ("hits", "quantization_error", "topographic_error"):
        with pytest.raises(lowland.DataError, match=r"row 2 is more than 1e\+140 times as far.*units of the") as caught:
            getattr(model, name)(np.vstack([X[:2], np.full((1, 3), 1e160)]))
        assert caught.value.row == 2


# -- what the map tells --------------------------------------------------------------------------------------


def test_errors_hits_and_planes_by_hand(digits):
    model = lowland.SOM((9, 7), topology="hexagonal", epochs=8).fit(digits)
    squares = ((digits[:, None, :] - model.codebook_) ** 2).sum(axis=2)
    order = np.argsort(squares, axis=1)
    P = model.positions_
    torn = np.linalg.norm(P[order[:, 0]] - P[order[:, 1]], axis=1) > 1.01
    told = model.fit_info_.evidence
    assert model.quantization_error(digits) == pytest.approx(np.sqrt(squares.min(axis=1)).mean())
    assert told["quantisation error"] == model.quantization_error(digits)
    assert model.topographic_error(digits) == told["topographic error"] == pytest.approx(torn.mean())
    hits = np.bincount(order[:, 0], minlength=63).reshape(9, 7)
    np.testing.assert_array_equal(model.hits(digits), hits)
    assert told["empty units"] == (hits == 0).sum()
    total = ((digits - digits.mean(axis=0)) ** 2).sum()
    assert told["share of variance"] == pytest.approx(1 - squares.min(axis=1).sum() / total)
    planes = model.component_planes()
    assert planes.shape == (64, 9, 7)
    np.testing.assert_array_equal(planes[20, 3, 5], model.codebook_[3 * 7 + 5, 20])


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_u_matrix_is_the_mean_distance_to_neighbours(topology, rng):
    model = lowland.SOM((4, 5), topology=topology, epochs=5).fit(rng.standard_normal((200, 3)))
    P, W = model.positions_, model.codebook_
    near = np.isclose(np.linalg.norm(P[:, None] - P, axis=2), 1)
    lengths = np.linalg.norm(W[:, None] - W, axis=2)
    np.testing.assert_allclose(model.u_matrix().ravel(), (lengths * near).sum(axis=1) / near.sum(axis=1))


def test_a_ridge_lies_between_two_groups(rng):
    X = np.concatenate([rng.standard_normal((300, 4)), rng.standard_normal((300, 4)) + 12])
    ridge = lowland.SOM((15, 5)).fit(X).u_matrix().mean(axis=1)
    assert 4 <= ridge.argmax() <= 10
    assert ridge.max() > 3 * np.median(ridge)


def test_scaling_is_that_of_the_columns(rng):
    X = rng.standard_normal((300, 4))
    units = np.array([1.0, 1000.0, 0.01, 5.0])
    scaled = lowland.SOM((6, 5), scale=True).fit(X * units + 7)
    Z = (X * units - (X * units).mean(axis=0)) / (X * units).std(axis=0, ddof=1)
    plain = lowland.SOM((6, 5)).fit(Z)
    np.testing.assert_allclose(scaled.transform(X * units + 7), plain.transform(Z), atol=1e-7)
    assert scaled.quantization_error(X * units + 7) == pytest.approx(plain.quantization_error(Z))
    assert scaled.hits(X * units + 7).tolist() == plain.hits(Z).tolist()
    with pytest.warns(lowland.DominantColumnWarning, match="column 1 holds"):
        lowland.SOM((6, 5)).fit(X * units)


# -- hard and bad data ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("grid", [(1, 1), (1, 7), (7, 1), (2, 9), (30, 30)])
def test_every_grid(grid, topology, rng):
    X = rng.standard_normal((25, 3))
    model = lowland.SOM(grid, topology=topology).fit(X)
    Y = model.transform(X)
    P = model.positions_
    np.testing.assert_allclose(Y, Y.clip(P.min(axis=0), P.max(axis=0)), atol=1e-12)
    assert np.isfinite(model.codebook_).all()
    assert model.hits(X).shape == model.u_matrix().shape == grid
    assert np.isfinite(model.inverse_transform(Y)).all()
    if grid == (1, 1):
        np.testing.assert_allclose(model.codebook_[0], X.mean(axis=0))
        assert model.topographic_error(X) == 0.0
    elif grid == (30, 30):  # each row gets a unit of its own, and the others stand between those
        assert model.fit_info_.evidence["empty units"] == 875
        assert model.quantization_error(X) < 1e-12
    else:
        assert model.quantization_error(X) < 0.75 * lowland.SOM((1, 1)).fit(X).quantization_error(X)


def test_duplicates_and_one_column(rng):
    X = np.repeat(rng.integers(0, 3, (20, 2)).astype(float), 10, axis=0)
    model = lowland.SOM((6, 6)).fit(X)
    Y = model.transform(X)
    np.testing.assert_array_equal(Y[::10].repeat(10, axis=0), Y)
    assert model.hits(X).sum() == 200
    line = np.sort(rng.uniform(size=200))[:, None]
    one = lowland.SOM((10, 1)).fit(line)
    assert (np.diff(one.transform(line)[:, 0]) >= -1e-12).all()
    flat = lowland.SOM((6, 5)).fit(np.hstack([line, 2 * line]))  # rank 1 on a grid with two sides
    assert np.isfinite(flat.transform(np.hstack([line, 2 * line]))).all()


def test_rows_far_from_zero(rng):
    X = rng.standard_normal((400, 3)) * [3, 2, 1]
    near, far = lowland.SOM((6, 5)).fit(X), lowland.SOM((6, 5)).fit(X + 1e7)
    np.testing.assert_allclose(far.transform(X + 1e7), near.transform(X), atol=1e-5)
    single = (X + 1000).astype(np.float32)
    got = lowland.SOM((6, 5)).fit(single).transform(single)
    want = lowland.SOM((6, 5)).fit(single.astype(np.float64)).transform(single.astype(np.float64))
    np.testing.assert_allclose(got, want, atol=2e-3)


@pytest.mark.parametrize(("power", "dtype"), [(100, np.float32), (-100, np.float32), (498, float), (-498, float)])
def test_any_units(power, dtype, rng):
    """Rows times a power of two have the same map, though their squares pass all numbers (2**100 is 1e30)."""
    X = (rng.standard_normal((300, 3)) * [3, 2, 1]).astype(dtype)
    large = np.ldexp(X, power)
    plain, model = lowland.SOM((6, 5)).fit(X), lowland.SOM((6, 5)).fit(large)
    near = {"rtol": 1e-9 if dtype is float else 1e-4, "atol": 1e-9 if dtype is float else 1e-4}
    back = lambda values: np.ldexp(np.asarray(values, dtype=float), -power)  # noqa: E731
    np.testing.assert_allclose(back(model.codebook_), plain.codebook_, **near)
    np.testing.assert_allclose(model.transform(large), plain.transform(X), **near)
    np.testing.assert_allclose(
        back(model.inverse_transform(plain.transform(X))), plain.inverse_transform(plain.transform(X)), **near
    )
    np.testing.assert_allclose(back(model.u_matrix()), plain.u_matrix(), **near)
    np.testing.assert_allclose(back(model.quantization_error(large)), plain.quantization_error(X), **near)
    np.testing.assert_array_equal(model.hits(large), plain.hits(X))
    told, want = model.fit_info_.evidence, plain.fit_info_.evidence
    assert told["share of variance"] == pytest.approx(want["share of variance"], rel=1e-6)
    assert told["empty units"] == want["empty units"] < 5


def test_any_radius(rng):
    X = rng.standard_normal((60, 3)) * [3, 2, 1]
    narrow = lowland.SOM((4, 3), sigma_start=1e-310, sigma_end=1e-310, noise=0, epochs=3).fit(X)
    nearly = lowland.SOM((4, 3), sigma_start=1e-3, sigma_end=1e-3, noise=0, epochs=3).fit(X)
    np.testing.assert_array_equal(narrow.codebook_, nearly.codebook_)  # both are k-means
    wide = lowland.SOM((4, 3), sigma_start=1e308, sigma_end=1e308, noise=0, epochs=1).fit(X)
    np.testing.assert_allclose(wide.codebook_, np.tile(X.mean(axis=0), (12, 1)), atol=1e-12)


def test_much_noise_still_gives_a_map(rng):
    X = rng.standard_normal((300, 3)) * [3, 2, 1]
    assert lowland.SOM((10, 10), noise=50).fit(X).fit_info_.evidence["share of variance"] > 0.9
    with pytest.raises(ValueError, match=r"noise must be a number in \[0, 50\]; got 10000"):
        lowland.SOM((10, 10), noise=1e4).fit(X)


def test_a_grid_past_all_memory_is_refused(rng):
    with pytest.raises(lowland.MemoryLimitError, match="take a smaller grid"):
        lowland.SOM((2**32, 2**32)).fit(rng.standard_normal((50, 3)))


def test_unfitted_maps_say_so(rng):
    X = rng.standard_normal((50, 3))
    for name in ("transform", "hits", "quantization_error", "topographic_error"):
        with pytest.raises(NotFittedError):
            getattr(lowland.SOM(), name)(X)
    with pytest.raises(NotFittedError):
        lowland.SOM().inverse_transform(X[:, :2])
    for name in ("u_matrix", "component_planes", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(lowland.SOM(), name)()
    with pytest.raises(NotFittedError):
        _ = lowland.SOM().positions_


def test_bad_parameters_and_data(rng):
    X = rng.standard_normal((50, 3))
    with pytest.raises(lowland.DataError, match=r"rank 0"):
        lowland.SOM((3, 3)).fit(np.ones((9, 2)))
    with pytest.raises(lowland.DataError, match="1 sample"):
        lowland.SOM((3, 3)).fit(X[:1])
    with pytest.raises(ValueError, match=r"sigma_start=0.3 must not be below sigma_end=0.5"):
        lowland.SOM((3, 3), sigma_start=0.3).fit(X)
    with pytest.raises(ValueError, match="sigma_end must be"):
        lowland.SOM((3, 3), sigma_end=0.0).fit(X)
    with pytest.raises(ValueError, match="grid must be a tuple of 2 whole numbers"):
        lowland.SOM((3, 3, 3)).fit(X)
    with pytest.raises(
        lowland.DataError, match="SOM reads the rows several times, and these blocks can be read only once"
    ):
        lowland.SOM((3, 3)).fit(iter([X]))
    model = lowland.SOM((3, 3)).fit(X)
    for name in ("hits", "quantization_error", "topographic_error"):
        with pytest.raises(lowland.DataError, match="expecting 3"):
            getattr(model, name)(X[:, :2])
    with pytest.raises(lowland.DataError, match="must have 2 columns, one for each component; these have 3"):
        model.inverse_transform(X)


def test_the_fitted_map_keeps_its_own_grid(rng):
    X = rng.standard_normal((60, 3))
    model = lowland.SOM((4, 3), epochs=5).fit(X)
    before = model.transform(X)
    model.set_params(grid=(9, 9), topology="hexagonal", scale=True)
    np.testing.assert_array_equal(model.transform(X), before)
    assert model.u_matrix().shape == (4, 3)


# -- reproducibility -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_and_threads_leave_no_trace(dtype, rng):
    X = rng.standard_normal((9000, 12)).astype(dtype)
    want = lowland.SOM((7, 6), epochs=4).fit(X)
    cuts = lambda: (X[a : a + 1111] for a in range(0, 9000, 1111))  # noqa: E731
    for threads in (1, 3):
        with lowland.config(threads=threads):
            got = lowland.SOM((7, 6), epochs=4).fit(RowSource.from_blocks(cuts))
            np.testing.assert_array_equal(got.codebook_, want.codebook_)
            np.testing.assert_array_equal(got.transform(X), want.transform(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_has_the_same_bits_in_any_batch(dtype, digits):
    X = digits.astype(dtype)  # whole numbers: ties are common
    model = lowland.SOM((10, 10), epochs=5).fit(X)
    whole = model.transform(X)
    for i in range(0, len(X), 40):
        np.testing.assert_array_equal(model.transform(X[i : i + 1])[0], whole[i])


def test_progress_counts_all_epochs(rng):
    seen = []
    with lowland.config(progress=lambda stage, done, total: seen.append((stage, done, total))):
        lowland.SOM((4, 4), epochs=3).fit(rng.standard_normal((9000, 3)))
    assert [entry for entry in seen if entry[0] == "training"] == [("training", k, 9) for k in range(1, 10)]
