"""Random projection: the bound holds, the kinds agree with their matrices, hard rows, streams."""

from __future__ import annotations

import pickle
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.exceptions import DataDimensionalityWarning
from sklearn.random_projection import johnson_lindenstrauss_min_dim

import lowland
from lowland.methods.random import hadamard, random_maps, row_sample
from lowland.methods.random.map_kinds import bound
from lowland.rows.row_source import RowSource, as_rows
from lowland.spectral import dense

KINDS = ("gaussian", "sparse", "hadamard")
D = 1500


def rows(name, rng):
    """Rows that are easy and hard for a projection."""
    n = 250
    if name == "spikes":  # one entry a row: independent sparse entries would not keep their lengths
        X = np.zeros((n, D))
        X[np.arange(n), rng.permutation(D)[:n]] = rng.exponential(size=n) + 0.1
        return X
    if name == "one column":  # all distances in a single column
        X = np.zeros((n, D))
        X[:, 17] = rng.standard_normal(n)
        return X
    if name == "heavy tails":
        return rng.standard_cauchy((n, D))
    if name == "waves":  # rows of the Hadamard matrix itself
        return scipy.linalg.hadamard(2048)[:n, :D].astype(float)
    return rng.standard_normal((n, D)) + 5.0


def squares(X):
    return pdist(X, "sqeuclidean")


# -- the bound ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eps", [0.05, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", [10, 1000, 10**6])
def test_the_bound_is_that_of_dasgupta_and_gupta(n, eps):
    assert bound(n, eps) - johnson_lindenstrauss_min_dim(n, eps=eps) == 1  # theirs is cut off, ours reaches it
    exact = 4 * np.log(n) / (eps**2 / 2 - eps**3 / 3)
    assert 0 <= bound(n, eps) - exact < 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["normal", "spikes", "one column", "heavy tails", "waves"])
def test_distances_at_the_bound(name, kind, rng):
    X = rows(name, rng)
    model = lowland.RandomProjection(kind=kind, eps=0.2, random_state=3).fit(X)
    assert model.n_components_ == bound(250, 0.2) < D
    true, kept = squares(X), squares(model.transform(X))
    error = np.abs(kept[true > 0] / true[true > 0] - 1)
    assert error.max() <= 0.2  # all pairs
    told = model.fit_info_.evidence
    assert told["pairs measured"] == 19_900
    assert told["pairs within eps"] == 1
    assert told["worst distortion"] <= error.max() + 1e-8  # of a sample of them
    assert told["mean distortion"] == pytest.approx(error.mean(), rel=0.2, abs=1e-8)
    assert model.fit_info_.approximation_error == told["worst distortion"]


@pytest.mark.parametrize(("d", "kind"), [(10**5, "hadamard"), (10**5, "sparse"), (10**6, "sparse")])
@pytest.mark.parametrize("entries", [1, 3])
def test_spikes_in_very_many_columns(d, kind, entries, rng):
    """Two columns whose entries stand at the same places would make two rows one."""
    n = 500
    X = sp.csr_array(
        (np.ones(n * entries), (np.repeat(np.arange(n), entries), rng.permutation(d)[: n * entries])), shape=(n, d)
    )
    model = lowland.RandomProjection(kind=kind, eps=0.5).fit(X)
    assert model.n_components_ == bound(n, 0.5) < np.sqrt(d)
    assert np.abs(squares(model.transform(X)) / (2 * entries) - 1).max() <= 0.5


@pytest.mark.parametrize("k", [30, 100])
def test_few_dimensions_keep_rows_apart(k, rng):
    X = sp.csr_array((np.ones(400), (np.arange(400), rng.permutation(10**5)[:400])), shape=(400, 10**5))
    Y = lowland.RandomProjection(k, kind="sparse").fit_transform(X)
    assert squares(Y).min() > 0


def test_rows_of_one_entry_pass_eps_as_rarely_as_under_normal_numbers():
    """The chance that their images share too many places, by Chernoff's bound, with the entries that are taken."""
    for n in (100, 10**4, 10**6):
        for eps in (0.05, 0.1, 0.3, 0.6, 0.9):
            k = bound(n, eps)
            c = random_maps.entries(10**9, k, eps)
            t = np.linspace(0, 20, 20_001)
            log_chance = (c * np.log1p(c / k * (np.cosh(t) - 1)) - t * eps * c).min()
            assert log_chance <= -k * (eps**2 / 4 - eps**3 / 6)  # what Dasgupta and Gupta prove for a Gaussian map


def test_the_record_is_what_the_map_does_when_all_rows_are_in_the_sample(rng):
    X = rng.standard_normal((120, 60))
    model = lowland.RandomProjection(7, eps=0.3).fit(X)
    error = np.abs(squares(model.transform(X)) / squares(X) - 1)
    told = model.fit_info_.evidence
    assert told["pairs measured"] == 120 * 119 // 2
    assert told["pairs within eps"] == pytest.approx(np.mean(error <= 0.3), abs=1e-12)
    assert 0.2 < told["pairs within eps"] < 0.9  # 7 dimensions keep little, and the record says so
    assert told["worst distortion"] == pytest.approx(error.max())


@pytest.mark.parametrize("kind", KINDS)
def test_squared_lengths_are_kept_on_average(kind, rng):
    x = np.vstack([np.zeros(50), rng.standard_normal(50)])
    ratios = [
        squares(lowland.RandomProjection(10, kind=kind, random_state=i).fit_transform(x))[0] / squares(x)[0]
        for i in range(300)
    ]
    assert np.mean(ratios) == pytest.approx(1, abs=0.08)  # 3 standard errors of √(2/10)/√300


@pytest.mark.parametrize("eps", [1e-8, 1e-100, 1e-160, 1e-170, 5e-324])
def test_a_tiny_eps_keeps_all_columns(eps, rng):
    X = rng.standard_normal((50, 7))
    with pytest.warns(lowland.RankWarning, match="more than 10¹⁵ dimensions are needed, and there are 7 columns"):
        assert lowland.RandomProjection(eps=eps).fit(X).kind_ == "identity"
    assert bound(50, eps) == (sys.maxsize if eps < 1e-8 else np.ceil(4 * np.log(50) / (0.5 - eps / 3) / eps / eps))


# -- the number of dimensions -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_auto_keeps_all_columns_where_the_bound_passes_them(kind, rng):
    X = rng.standard_normal((100, 20))
    with pytest.warns(lowland.RankWarning, match=r"3948 dimensions are needed, and there are 20 columns"):
        model = lowland.RandomProjection(kind=kind).fit(X)
    assert (model.kind_, model.n_components_) == ("identity", 20)
    np.testing.assert_array_equal(model.transform(X), X)
    np.testing.assert_allclose(model.inverse_transform(X), X, atol=1e-12)
    assert model.fit_info_.evidence["worst distortion"] == 0
    assert not model.fit_info_.approximate


@pytest.mark.parametrize("kind", KINDS)
def test_more_dimensions_than_columns_are_a_warning(kind, rng):
    X = rng.standard_normal((50, 7))
    for caught in (DataDimensionalityWarning, lowland.RankWarning):
        with pytest.warns(caught, match=r"n_components=8 is more than the number of columns \(7\)"):
            model = lowland.RandomProjection(8, kind=kind).fit(X)
    assert model.transform(X).shape == (50, 8)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-9)
    assert lowland.plan(lowland.RandomProjection(8, kind=kind), shape=(50, 7)).algorithm == kind
    assert lowland.RandomProjection(7).fit_transform(rng.standard_normal((5, 7))).shape == (5, 7)  # fewer rows are fine


def test_a_hadamard_matrix_has_no_more_rows_than_columns(rng):
    text = "n_components=9 is more than the Hadamard transform of 7 columns has; ask for 8 at most"
    with pytest.raises(lowland.DataError, match=text):
        lowland.RandomProjection(9, kind="hadamard").fit(rng.standard_normal((50, 7)))
    with pytest.raises(lowland.DataError, match=text):
        lowland.plan(lowland.RandomProjection(9, kind="hadamard"), shape=(50, 7))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 3])
def test_the_map_of_rows_that_do_not_differ_is_that_of_any_rows(kind, n, rng):
    X, rows = np.full((n, 30), 2.5), rng.standard_normal((n, 30))
    model, other = (lowland.RandomProjection(4, kind=kind).fit(table) for table in (X, rows))
    np.testing.assert_array_equal(model.compressor().A, other.compressor().A)
    np.testing.assert_allclose(model.transform(X), X @ model.compressor().A.T, atol=1e-12)
    told = model.fit_info_.evidence
    assert told["pairs measured"] == 0
    assert told["distortion"] == f"not measured: {'there is only 1 row' if n == 1 else 'all rows are equal'}"
    assert model.fit_info_.approximation_error is None


def test_auto_needs_two_rows():
    with pytest.raises(lowland.DataError, match="only 1 sample, and so no distance to keep"):
        lowland.RandomProjection().fit([[0.0, 1.0, 2.0]])


# -- the maps -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 4, 32, 512, 2048])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_fast_transform_is_the_hadamard_matrix(n, dtype, rng):
    from lowland.methods.random.hadamard_loops import SIDE, walsh_hadamard

    A = rng.standard_normal((n, SIDE)).astype(dtype)
    found = A.copy()
    walsh_hadamard(found.reshape(-1), SIDE)
    np.testing.assert_allclose(found, scipy.linalg.hadamard(n) @ A, atol=10 * n * np.finfo(dtype).eps)


@pytest.mark.parametrize("d", [1, 5, 64, 100])
@pytest.mark.parametrize("m", [1, 7, 8, 9, 30])
def test_the_sampled_transform_is_its_matrix(d, m, rng):
    k = min(d, 13)
    signs, places = hadamard.draw(d, k, rng)
    H = scipy.linalg.hadamard(hadamard.padded(d))
    A = hadamard.matrix(signs, places)
    np.testing.assert_allclose(A, H[places][:, :d] * signs / np.sqrt(k), atol=1e-15)
    X = rng.standard_normal((m, d))
    np.testing.assert_allclose(hadamard.project(X, signs, places), X @ A.T, atol=1e-12)
    np.testing.assert_allclose(hadamard.project(sp.csr_array(X), signs, places), X @ A.T, atol=1e-12)
    assert len(set(places.tolist())) == k


@pytest.mark.parametrize("kind", KINDS)
def test_transform_is_the_matrix_of_the_compressor(kind, rng):
    X = rng.standard_normal((300, 90)) + 2
    model = lowland.RandomProjection(20, kind=kind).fit(X)
    A, a, B, b = model.compressor()
    np.testing.assert_allclose(model.transform(X), X @ A.T + a, atol=1e-11)
    np.testing.assert_allclose(model.transform(sp.csr_array(X)), X @ A.T, atol=1e-11)
    np.testing.assert_allclose(model.inverse_transform(X[:, :20]), X[:, :20] @ B.T + b, atol=1e-11)


@pytest.mark.parametrize(
    ("k", "d", "eps", "c"),
    [(20, 1000, 0.1, 8), (400, 1000, 0.1, 13), (400, 1000, 0.5, 29), (3, 10, 0.1, 3), (10, 10, 0.1, 8)],
)
def test_every_column_of_the_sparse_map_has_length_one_and_few_entries(k, d, eps, c, rng):
    model = lowland.RandomProjection(k, kind="sparse", eps=eps).fit(rng.standard_normal((5, d)))
    A = model.compressor().A
    np.testing.assert_allclose((A**2).sum(axis=0), 1, rtol=1e-12)
    assert ((A != 0).sum(axis=0) == c).all()
    assert 0.4 < np.mean(A[A != 0] > 0) < 0.6 or d == 10


@pytest.mark.parametrize("m", [1, 8, 9, 64, 65, 73, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_scattered_rows_are_their_matrix_and_know_nothing_of_each_other(m, dtype, rng):
    places, signs = random_maps.scattered(77, 20, 6, rng)
    X = (rng.standard_normal((m, 77)) * (rng.random((m, 77)) < 0.5)).astype(dtype)
    Y = random_maps.scatter(X, places, signs, 20)
    np.testing.assert_allclose(
        Y, X @ random_maps.sparse_matrix(places, signs, 20, dtype).T, atol=100 * np.finfo(dtype).eps
    )
    for one in (0, m // 2, m - 1):
        np.testing.assert_array_equal(random_maps.scatter(X[one : one + 1], places, signs, 20)[0], Y[one])
    for kind in (np.int32, np.int64):
        table = sp.csr_array(X)
        table.indices, table.indptr = table.indices.astype(kind), table.indptr.astype(kind)
        np.testing.assert_array_equal(random_maps.scatter(table, places, signs, 20), Y)


def test_the_same_map_on_any_number_of_threads():
    found = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            found.append(random_maps.scattered(300_000, 50, 9, np.random.default_rng(2)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_matrix_is_made_for_the_sparse_map(rng):
    X = rng.standard_normal((4, 100_000))
    model = lowland.RandomProjection(300, kind="sparse", eps=0.5).fit(X)
    assert model.positions_.nbytes == 4 * 22 * 100_000
    model.transform(X)
    tracemalloc.start()
    model.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < model.positions_.nbytes / 4


def test_gaussian_entries_have_variance_one_over_k(rng):
    A = lowland.RandomProjection(500, random_state=1).fit(rng.standard_normal((3, 4000))).compressor().A * np.sqrt(500)
    assert abs(A.mean()) < 4 / np.sqrt(A.size)
    assert abs(A.var() - 1) < 4 * np.sqrt(2 / A.size)
    assert abs((A**4).mean() - 3) < 4 * np.sqrt(96 / A.size)


# -- the way back -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_inverse_is_the_nearest_row_to_the_mean_that_maps_to_the_point(kind, rng):
    X = rng.standard_normal((200, 64)) * 0.1 + rng.standard_normal(64) * 50
    model = lowland.RandomProjection(16, kind=kind).fit(X)
    Y = model.transform(X)
    back = model.inverse_transform(Y)
    np.testing.assert_allclose(model.transform(back), Y, atol=1e-9)  # it maps to the point
    A = model.compressor().A
    offsets = back - X.mean(axis=0)
    np.testing.assert_allclose(offsets, offsets @ np.linalg.pinv(A) @ A, atol=1e-9)  # and has no part that A kills
    assert np.linalg.norm(back - X) < np.linalg.norm(X - X.mean(axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_the_matrices_of_both_ways(kind, dtype, rng):
    X = rng.standard_normal((40, 64)).astype(dtype)
    model = lowland.RandomProjection(16, kind=kind).fit(X)
    A, back = model.components_, model.inverse_components_
    assert sp.issparse(A) == (kind == "sparse")
    assert A.dtype == back.dtype == dtype
    assert (A.shape, back.shape) == ((16, 64), (64, 16))
    eps = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(X @ A.T, model.transform(X), atol=eps)
    np.testing.assert_allclose(back, np.linalg.pinv(A.toarray() if kind == "sparse" else A), atol=eps)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.inverse_components_, back)
    assert again.components_.dtype == dtype


def test_the_matrices_are_made_when_they_are_read(rng, tmp_path, monkeypatch):
    model = lowland.RandomProjection(3, kind="hadamard")
    with pytest.raises(AttributeError, match="no attribute 'components_'"):
        model.components_  # noqa: B018
    model.fit(rng.standard_normal((20, 9)).astype(np.float32))
    monkeypatch.setattr(dense, "svd", None)
    assert not {"components_", "inverse_components_"} & {*dir(model)}  # a notebook shows what dir lists
    lowland.save(model, tmp_path / "map.lowland")
    assert lowland.load(tmp_path / "map.lowland").components_.dtype == np.float32
    with lowland.config(memory_limit="1MB"), pytest.raises(lowland.MemoryLimitError):
        lowland.RandomProjection(900, kind="hadamard").fit(np.eye(2, 1000)).components_  # noqa: B018


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_the_matrices_of_rows_of_any_size(rng):
    X = rng.standard_normal((20, 9))
    small, plain = lowland.RandomProjection(3).fit(X * 2.0**-700), lowland.RandomProjection(3).fit(X)
    np.testing.assert_array_equal(small.components_, plain.components_)
    np.testing.assert_array_equal(small.inverse_components_, plain.inverse_components_)
    np.testing.assert_array_equal(
        small.inverse_transform(small.transform(X * 2.0**-700)) * 2.0**700, plain.inverse_transform(plain.transform(X))
    )


def test_as_many_dimensions_as_columns_can_be_undone(rng):
    X = rng.standard_normal((100, 32))
    for kind in ("gaussian", "hadamard"):
        model = lowland.RandomProjection(32, kind=kind).fit(X)
        np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_way_back_is_found_once(kind, rng, monkeypatch):
    X = rng.standard_normal((40, 12))
    model = lowland.RandomProjection(5, kind=kind).fit(X)
    size, calls, svd = len(pickle.dumps(model)), [], dense.svd
    monkeypatch.setattr(dense, "svd", lambda A: calls.append(A.shape) or svd(A))
    first = model.inverse_transform(model.transform(X))
    np.testing.assert_array_equal(model.inverse_transform(model.transform(X)), first)
    assert calls == [(5, 12)]
    assert len(pickle.dumps(model)) == size  # a copy finds its own
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).inverse_transform(model.transform(X)), first)
    other = model.fit(X + 3).inverse_transform(model.transform(X + 3))  # and so does another fit
    np.testing.assert_allclose(other, first + 3, atol=1e-10)


def test_columns_kept_as_they_are_need_no_matrix(monkeypatch):
    X = np.random.default_rng(0).standard_normal((20, 3000)).astype(np.float32)
    monkeypatch.setattr(dense, "svd", None)
    with pytest.warns(lowland.RankWarning):
        model = lowland.RandomProjection(eps=0.05).fit(X)
    with lowland.config(memory_limit="50MB"):  # 3000 × 3000 would take 72 MB
        back = model.inverse_transform(model.transform(X))
        assert model.residual(X).max() == 0
    np.testing.assert_array_equal(back, X)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(model.transform(sp.csr_array(X)), X)


# -- rows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_read_once_gives_the_same_bits(kind, rng):
    X = rng.standard_normal((9000, 40))
    whole = lowland.RandomProjection(8, kind=kind, random_state=5).fit(X)
    once = lowland.RandomProjection(8, kind=kind, random_state=5).fit(X[a : a + 777] for a in range(0, 9000, 777))
    np.testing.assert_array_equal(once.transform(X), whole.transform(X))
    assert dict(once.fit_info_.evidence) == dict(whole.fit_info_.evidence)
    assert once.n_samples_ == 9000
    np.testing.assert_allclose(once.mean_, X.mean(axis=0), atol=1e-13)


def test_auto_of_a_stream_that_does_not_say_its_length(rng):
    X = rng.standard_normal((500, 400)).astype(np.float32)
    model = lowland.RandomProjection(eps=0.9).fit(iter([X[:200], X[200:]]))
    assert model.n_components_ == bound(500, 0.9) < 400


def test_the_sample_is_drawn_evenly():
    """Rows 0 … 9999 in one column: the mean number of a sampled row, over seeds, is the middle."""
    X = np.arange(10_000.0)[:, None]
    samples = [row_sample.read(as_rows(X), np.random.default_rng(i)).sample.ravel() for i in range(40)]
    assert all(len(set(s.tolist())) == 200 for s in samples)
    means = np.concatenate(samples)
    assert abs(means.mean() - 4999.5) < 4 * (10_000 / np.sqrt(12)) / np.sqrt(len(means))
    assert abs(np.mean(means < 2000) - 0.2) < 4 * np.sqrt(0.16 / len(means))


def test_the_map_does_not_depend_on_precision_and_depends_on_the_seed(rng):
    X = rng.standard_normal((60, 50))
    for kind in KINDS:
        wide = lowland.RandomProjection(9, kind=kind, random_state=2).fit(X)
        narrow = lowland.RandomProjection(9, kind=kind, random_state=2).fit(X.astype(np.float32))
        np.testing.assert_allclose(narrow.compressor().A, wide.compressor().A, atol=1e-7)
        other = lowland.RandomProjection(9, kind=kind, random_state=3).fit(X)
        assert np.abs(other.compressor().A - wide.compressor().A).max() > 0.1


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
@pytest.mark.parametrize("kind", KINDS)
def test_huge_and_tiny_rows_are_measured_alike(kind, scale, rng):
    X = rng.standard_normal((80, 40))
    want = lowland.RandomProjection(10, kind=kind).fit(X).fit_info_.evidence
    got = lowland.RandomProjection(10, kind=kind).fit(X * scale).fit_info_.evidence
    assert got["worst distortion"] == pytest.approx(want["worst distortion"], rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_near_the_largest_number_stay_numbers(kind, form, rng):
    X = np.full((20, 2000), 1e37, dtype=np.float32) * rng.uniform(0.5, 1, (20, 2000)).astype(np.float32)
    model = lowland.RandomProjection(50, kind=kind).fit(form(X))
    Y, want = model.transform(form(X)), model.transform(form(X.astype(np.float64)))
    assert Y.dtype == np.float32
    np.testing.assert_allclose(Y, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_mean_of_rows_near_the_largest_number(form):
    X = np.full((9000, 3), 1.2e308) * [1, -1, 0.5]
    X[:4096] *= [-1, -1, 1]  # the first block is on the other side
    model = lowland.RandomProjection(2).fit(form(X))
    share = 1 - 2 * 4096 / 9000
    np.testing.assert_allclose(model.mean_, [1.2e308 * share, -1.2e308 * share, 6e307], rtol=1e-12)
    assert np.isfinite(model.compressor().b).all()


def test_sparse_rows_near_each_other_are_measured_by_their_differences(rng):
    X = sp.random_array((50, 400), density=0.1, rng=rng, format="csr")
    near = sp.csr_array(X + 1e-7 * sp.random_array((50, 400), density=0.1, rng=rng))
    both = sp.vstack([X, near], format="csr")
    wide = lowland.RandomProjection(100).fit(both.toarray()).fit_info_.evidence
    told = lowland.RandomProjection(100).fit(both).fit_info_.evidence
    assert told["worst distortion"] == pytest.approx(wide["worst distortion"], rel=1e-6)
    assert told["pairs measured"] == 100 * 99 // 2


def test_rows_that_differ_are_noticed_wherever_they_are(rng):
    one = rng.standard_normal((1, 6))
    for X in (np.repeat(one, 5000, axis=0), sp.csr_array(np.repeat(one, 50, axis=0)), np.zeros((4, 6))):
        assert "distortion" in lowland.RandomProjection(2).fit(X).fit_info_.evidence
    last = np.repeat(one, 9000, axis=0)
    last[-1] += 1
    model = lowland.RandomProjection(2).fit(last)
    assert model.n_samples_ == 9000
    assert "distortion" not in model.fit_info_.evidence


def test_sparse_rows_stay_sparse():
    X = sp.random_array((300, 200_000), density=2e-4, rng=np.random.default_rng(0), format="csr")
    lowland.RandomProjection(2, kind="sparse").fit_transform(X[:50])  # imports
    tracemalloc.start()
    Y = lowland.RandomProjection(30, kind="sparse").fit_transform(X)
    lowland.RandomProjection(30).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120e6  # the rows written out would take 480 MB, the dense map alone takes 48
    assert Y.shape == (300, 30)
    assert np.isfinite(Y).all()


def test_a_block_source_of_any_kind_of_number_can_be_planned():
    source = RowSource.from_blocks(iter([np.ones((3, 5000))]))
    plan = lowland.plan(lowland.RandomProjection(eps=0.5), source)
    assert plan.algorithm == "gaussian"
    assert plan.approximate
    assert plan.parts["projection"] == 8 * 5000 * bound(10**6, 0.5)
