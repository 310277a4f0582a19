"""Five routes, one answer; no trace of threads or of the cut; progress and cancel on every long loop."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import lowland
from lowland import RowSource, config
from lowland.core.cost import DataShape
from lowland.core.errors import DataError
from lowland.rows.moments import moments
from lowland.rows.row_source import as_rows
from lowland.spectral import krylov, rowspace
from lowland.spectral.rowspace import ROUTES, decompose, route
from lowland.spectral.solved import ComponentRule, Scaling

F8 = np.dtype("f8")
K = 4


def data(rng, n, d, ratio=0.75):
    m = min(n, d)
    return rng.standard_normal((n, m)) * ratio ** np.arange(m) @ np.linalg.qr(rng.standard_normal((d, m)))[0].T + 2


def solve(rows, solver, wanted=None, scaling=None, **options):
    return decompose(
        rows,
        wanted or ComponentRule(count=K),
        scaling or Scaling(),
        solver=solver,
        rng=np.random.default_rng(0),
        **options,
    )


def prepared(X, scaling, w):
    w = np.ones(len(X)) if w is None else w
    m = np.average(X, axis=0, weights=w)
    Z = X - m if scaling.center else X
    if scaling.scale:
        Z = Z / np.sqrt((w[:, None] * (X - m) ** 2).sum(axis=0) / (w.sum() - scaling.ddof))
    return np.sqrt(w)[:, None] * Z


# -- the same answer -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scaling", [Scaling(), Scaling(center=False), Scaling(scale=True)], ids=["centred", "raw", "scaled"]
)
@pytest.mark.parametrize("shape", [(400, 220), (220, 400)], ids=["tall", "wide"])
@pytest.mark.parametrize("solver", ROUTES)
def test_routes_against_the_svd(solver, shape, scaling, rng):
    X, w = data(rng, *shape), rng.integers(0, 3, shape[0]).astype(float)
    for rows, weights in (
        (as_rows(X), None),
        (as_rows(X).weighted(w), w),
        (as_rows(sp.csr_array(X)).weighted(w), w),
    ):
        space = solve(rows, solver, scaling=scaling, want_left=True)
        Z = prepared(X, scaling, weights)
        _, s, Vt = np.linalg.svd(Z, full_matrices=False)
        np.testing.assert_allclose(space.values, s[:K], rtol=1e-9)
        np.testing.assert_allclose(abs(np.sum(space.directions * Vt[:K].T, axis=0)), 1, atol=1e-9)
        np.testing.assert_allclose(Z @ space.directions, space.left * space.values, atol=1e-8 * s[0])
        assert space.solved.total == pytest.approx((s**2).sum(), rel=1e-11)
        assert space.solved.residual < 1e-10
        assert not space.short


@pytest.mark.parametrize("shape", [(900, 400), (400, 900)], ids=["tall", "wide"])
def test_lanczos_converges_what_is_wanted(shape, rng):
    """Two values stand out of a bulk: they are as exact as by any route, and what is told beside them is exact, too."""
    X = rng.standard_normal(shape)
    for strength in (8.0, 5.0):
        X += strength * np.outer(rng.standard_normal(shape[0]), rng.standard_normal(shape[1]) / shape[1] ** 0.5)
    for make in (np.asarray, sp.csr_array):
        rows = as_rows(make(X))
        for scaling in (Scaling(), Scaling(center=False), Scaling(scale=True)):
            space = solve(rows, "lanczos", ComponentRule(count=2), scaling)
            _, s, Vt = np.linalg.svd(prepared(X, scaling, None), full_matrices=False)
            np.testing.assert_allclose(space.values, s[:2], rtol=1e-11)
            np.testing.assert_allclose(abs(np.sum(space.directions * Vt[:2].T, axis=0)), 1, atol=1e-11)
            told = space.solved.spectrum
            assert 2 <= len(told) <= 10
            np.testing.assert_allclose(np.sqrt(told), s[: len(told)], rtol=1e-10)
            assert space.solved.residual < 1e-11
            assert space.solved.total == pytest.approx((s**2).sum(), rel=1e-11)
            whole = solve(rows, "krylov", ComponentRule(count=2), scaling)  # ten values, eight of them in the bulk
            assert 2 * space.solved.products < whole.solved.products / 2


def test_lanczos_leaves_values_of_many_sizes_to_the_rows_themselves(rng):
    U, V = (np.linalg.qr(rng.standard_normal((n, 8)))[0] for n in (700, 300))
    X = (U * 10.0 ** -np.arange(8)) @ V.T
    exact = np.linalg.svd(X - X.mean(axis=0))[1]
    np.testing.assert_allclose(solve(as_rows(X), "lanczos", ComponentRule(count=8)).values, exact[:8], rtol=1e-6)


@pytest.mark.parametrize("solver", ["gram", "covariance", "lanczos"])
def test_a_rule_picks_from_the_leading_values(solver, rng):
    """With a count and a rule, the count is solved for and the rule keeps some of them."""
    shape = (60, 300) if solver == "gram" else (300, 60)
    X = sp.csr_array(data(rng, *shape, ratio=0.9))
    seen = []
    rule = ComponentRule(count=20, rule=lambda solved: seen.append(len(solved.spectrum)) or 7, leading=True)
    space = solve(as_rows(X), solver, rule, Scaling(False))
    exact = np.linalg.svd(X.toarray())[1]
    np.testing.assert_allclose(space.values, exact[:7], rtol=1e-9)
    assert space.directions.shape == (shape[1], 7)
    assert min(seen) >= 20


def test_lanczos_leaves_no_trace_of_threads(rng):
    X = sp.csr_array(rng.standard_normal((900, 400)))
    found = []
    for threads in (1, 2, 3):
        with config(threads=threads), threadpool_limits(threads, user_api="blas"):
            space = solve(as_rows(X), "lanczos", ComponentRule(count=2))
            found.append((space.directions.tobytes(), space.solved.spectrum.tobytes()))
    assert found[1:] == found[:1] * 2


def test_squares_tell_what_they_cannot_see(rng):
    """From sums alone the last value is doubtful; with the rows at hand it is made good."""
    X = rng.standard_normal((400, 6)) * [1, 1, 1, 1, 1, 1e-9]
    for rows, doubt in ((None, "svd"), (as_rows(X), "")):
        space = rowspace.from_accumulator(
            moments(as_rows(X)), ComponentRule(count=6), Scaling(), rng=np.random.default_rng(0), rows=rows
        )
        assert space.solved.doubt == doubt
        assert space.short == (rows is None)
    np.testing.assert_allclose(space.values, np.linalg.svd(X - X.mean(axis=0))[1], rtol=1e-6)
    sure = rowspace.from_accumulator(
        moments(as_rows(X)), ComponentRule(count=5), Scaling(), rng=np.random.default_rng(0)
    )
    assert (sure.solved.doubt, sure.short) == ("", False)


def test_values_that_are_tied_with_one_left_out(rng):
    Q = np.linalg.qr(rng.standard_normal((300, 6)) - 0.0)[0]
    Q = np.linalg.qr(Q - Q.mean(axis=0))[0]
    for solver in ("svd", "covariance", "krylov"):
        rows = as_rows(Q * [3.0, 2.0, 2.0, 2.0, 1.0, 0.5])
        tied = [rowspace.tied(solve(rows, solver, ComponentRule(count=k))) for k in range(1, 7)]
        assert tied == [None, [1, 2, 3], [1, 2, 3], None, None, None], solver
    near = as_rows(Q * [3.0, 2.0, 2.0 - 1e-12, 1.5, 1.0, 0.5])
    assert rowspace.tied(solve(near, "svd", ComponentRule(count=2))) is None


@pytest.mark.parametrize("solver", ROUTES)
def test_routes_on_every_library(solver, rng, backend):
    X = data(rng, 300, 220)
    space = solve(as_rows(backend(X)), solver)
    np.testing.assert_allclose(space.values, np.linalg.svd(X - X.mean(axis=0))[1][:K], rtol=1e-9)
    blocks = RowSource.from_blocks(lambda: iter([backend(X[:11]), backend(X[11:])]), n_rows=300)
    np.testing.assert_allclose(solve(blocks, solver).values, space.values, rtol=1e-12)


@pytest.mark.parametrize("solver", ROUTES)
def test_constant_sparse_columns_do_not_wake_up_when_scaled(solver, rng):
    X = data(rng, 300, 6)
    X[:, 2] = 0.1
    spaces = [
        solve(as_rows(make(X)), solver, ComponentRule(count=3), Scaling(scale=True))
        for make in (np.asarray, sp.csr_array)
    ]
    for space in spaces:
        np.testing.assert_array_equal(abs(space.directions[2]) < 1e-9, True)
    np.testing.assert_allclose(spaces[0].values, spaces[1].values, rtol=1e-9)


# -- no trace ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("solver", "shape"),
    [
        ("covariance", (9001, 30)),
        ("svd", (9001, 30)),
        ("krylov", (9001, 250)),
        ("gram", (230, 900)),
        ("power", (9001, 30)),
    ],
)
def test_threads_and_blocks_leave_no_trace(solver, shape, order, dtype, rng):
    X = np.asarray(data(rng, *shape), dtype=dtype, order=order)
    n = shape[0]
    found = []
    for threads, cuts in (
        (1, None),
        (2, None),
        (2, (1, 4, n // 2 + 3)),
        (3, range(7, n, 1999 if n > 999 else 13)),
    ):
        rows = X
        if cuts is not None:
            pieces = [X[a:b] for a, b in itertools.pairwise((0, *cuts, n))]
            rows = RowSource.from_blocks(lambda pieces=pieces: iter(pieces), n_rows=n if solver == "gram" else None)
        with config(threads=threads), threadpool_limits(threads, user_api="blas"):
            model = lowland.PCA(3, solver=solver).fit(rows)
            found.append((model.components_.tobytes(), model.spectrum_.tobytes(), model.transform(X).tobytes()))
    assert all(other == found[0] for other in found[1:])


def test_gram_of_a_stream_of_unknown_length(rng):
    X = data(rng, 100, 300)
    model = lowland.PCA(3, solver="gram").fit(RowSource.from_blocks(lambda: iter([X[:30], X[30:]])))
    np.testing.assert_array_equal(model.components_, lowland.PCA(3, solver="gram").fit(X).components_)


# -- the choice ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "wanted", "expected"),
    [
        (DataShape(1000, 10, F8), ComponentRule(count=2), "svd"),
        (DataShape(10**6, 100, F8), ComponentRule(count=2), "covariance"),
        (DataShape(100, 10**6, F8), ComponentRule(count=2), "gram"),
        (DataShape(10**5, 20_000, F8), ComponentRule(count=10), "krylov"),
        (DataShape(10**5, 20_000, F8), ComponentRule(count=10_000), "covariance"),
        (DataShape(10**5, 20_000, F8), ComponentRule(share=0.9), "covariance"),
        (DataShape(10**6, 900, F8, 0.01, True), ComponentRule(count=2), "covariance"),
        (DataShape(10**5, 10**6, F8, 1e-4, True), ComponentRule(count=50), "krylov"),
        (DataShape(None, 50, F8), ComponentRule(count=2), "covariance"),
        (DataShape(1000, 10, F8, reiterable=False), ComponentRule(count=2), "covariance"),
    ],
)
def test_the_route_by_shape(shape, wanted, expected):
    assert route(shape, wanted) == expected
    parts, seconds = rowspace.cost(expected, shape, wanted.count or 5)
    assert seconds > 0
    assert all(size > 0 for size in parts.values())


@pytest.mark.parametrize("name", ["krylov", "lanczos"])
def test_keeping_a_basis_orthogonal_is_in_the_plan(name):
    """Of an all but empty matrix the products cost nothing, and the basis what it costs for any matrix."""
    shape = DataShape(200_000, 11_000, F8, 1e-9, True)
    n, basis = 211_000 if name == "krylov" else 11_000, krylov.sizes(10, 11_000).basis
    flops = rowspace.cost(name, shape, 10)[1] * 2.5e10 * lowland.settings.threads()
    assert 2 * n * basis**2 < flops < 14 * n * basis**2


@pytest.mark.parametrize("solver", ["gram", "krylov", "power"])
def test_routes_that_read_twice_refuse_what_can_be_read_once(solver, rng):
    with pytest.raises(DataError, match=f"solver='{solver}' reads the rows several times"):
        solve(RowSource.from_blocks(iter([data(rng, 50, 5)])), solver)


# -- how many ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ROUTES)
def test_rank_below_what_was_asked(solver, rng):
    X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 220))
    space = solve(as_rows(X), solver, ComponentRule(count=8))
    assert (len(space.values), space.short, space.directions.shape) == (3, True, (220, 3))


@pytest.mark.parametrize("solver", ROUTES)
@pytest.mark.parametrize(
    "X",
    [np.ones((5, 3)), np.full((300, 220), 1e8 + 0.3), np.array([[1.0, 2.0]])],
    ids=["ones", "large", "one row"],
)
def test_rows_that_do_not_vary_are_refused(solver, X):
    with pytest.raises(DataError, match=r"do not vary \(rank 0\)"):
        solve(as_rows(X), solver, ComponentRule(count=1))


@pytest.mark.parametrize("solver", ["covariance", "gram", "svd", "krylov"])
def test_a_share_of_the_total(solver, rng):
    X = data(rng, 400, 220, ratio=0.95)
    s = np.linalg.svd(X - X.mean(axis=0))[1] ** 2
    expected = int(np.searchsorted(np.cumsum(s) / s.sum(), 0.9) + 1)
    assert len(solve(as_rows(X), solver, ComponentRule(share=0.9)).values) == expected


def test_small_singular_values_survive(rng):
    """Each route that may square is checked where squares alone would fail."""
    U, V = (np.linalg.qr(rng.standard_normal((n, 8)))[0] for n in (500, 30))
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    s = 10.0 ** -np.arange(8)
    for X in ((U * s) @ V.T, ((U * s) @ V.T).T - ((U * s) @ V.T).T.mean(axis=0)):
        exact = np.linalg.svd(X - X.mean(axis=0))[1][:8]
        for solver in ("auto", "svd", "covariance", "gram"):
            found = solve(as_rows(X), solver, ComponentRule(count=8)).values
            np.testing.assert_allclose(found, exact, rtol=1e-6, err_msg=solver)


# -- evidence, progress, cancel ------------------------------------------------------------------------------


def test_the_residual_of_a_fit_reacts(rng, monkeypatch):
    X = data(rng, 400, 300)
    assert lowland.PCA(3, solver="krylov").fit(X).fit_info_.residual < 1e-10
    real = krylov.golub_kahan

    def bad(*args, **options):
        f = real(*args, **options)
        return krylov.KrylovResult(
            f.left, f.values, f.right + 1e-4 * f.left[: f.right.shape[0]], f.products, True, f.norm
        )

    monkeypatch.setattr(krylov, "golub_kahan", bad)
    assert lowland.PCA(3, solver="krylov").fit(X).fit_info_.residual > 1e-6


def gaps(rng):
    X = data(rng, 9000, 5)
    X[::7, 2] = np.nan
    return X


STAGES = {
    "scatter": (lambda: lowland.PCA(2, solver="covariance"), lambda rng: data(rng, 20_000, 12)),
    "wide scatter": (lambda: lowland.PCA(2, solver="covariance"), lambda rng: data(rng, 60, 1100)),
    "QR": (lambda: lowland.PCA(2, solver="svd"), lambda rng: data(rng, 20_000, 12)),
    "Gram": (lambda: lowland.PCA(2, solver="gram"), lambda rng: data(rng, 80, 900)),
    "columns": (lambda: lowland.PCA(2, solver="krylov"), lambda rng: data(rng, 9000, 250)),
    "Krylov": (lambda: lowland.PCA(2, solver="krylov"), lambda rng: data(rng, 400, 250)),
    "power": (lambda: lowland.PCA(2, solver="power"), lambda rng: data(rng, 400, 30)),
    "second pass": (lambda: lowland.PCA(7, solver="covariance"), lambda rng: data(rng, 9000, 12, 0.02)),
    "parallel analysis": (lambda: lowland.PCA("auto"), lambda rng: data(rng, 300, 12)),
    "EM": (lambda: lowland.ProbabilisticPCA(2), gaps),
    "patterns": (lambda: lowland.ProbabilisticPCA(2), gaps),
}


@pytest.mark.parametrize("name", STAGES)
def test_every_long_loop_reports_and_obeys(name, rng):
    make, rows = STAGES[name]
    stage, X, seen = name.removeprefix("wide "), rows(rng), []
    with config(progress=lambda *what: seen.append(what)):
        make().fit(X)
    of_stage = [(done, total) for s, done, total in seen if s == stage]
    assert of_stage, f"no progress in {stage}: {sorted({s for s, _, _ in seen})}"
    assert all(total is None or done <= total for done, total in of_stage)
    assert [done for done, _ in of_stage] == sorted(done for done, _ in of_stage)

    model = make()
    learned = set(vars(model))
    with config(progress=lambda s, done, total: s != stage), pytest.raises(lowland.Cancelled, match=stage):
        model.fit(X)
    assert set(vars(model)) == learned, "a cancelled fit left something behind"
    assert not hasattr(model, "components_")
    model.fit(X)  # and the model can be used again


@pytest.mark.parametrize("call", ["transform", "inverse_transform"])
def test_transform_reports_and_obeys(call, rng):
    X = data(rng, 20_000, 3)
    model, seen = lowland.PCA().fit(X), []
    with config(progress=lambda *what: seen.append(what)):
        getattr(model, call)(X)
    assert seen == [("transform", i, 5) for i in (1, 2, 3, 4, 5)]
    with config(progress=lambda *what: False), pytest.raises(lowland.Cancelled):
        getattr(model, call)(X)
    model.transform(X[:2])  # still fitted


@pytest.mark.parametrize("n", [20, 20_000])
def test_a_cancelled_partial_fit_leaves_what_was_there(n, rng):
    X, model = data(rng, n, 3), lowland.PCA(1)
    with config(progress=lambda *what: False), pytest.raises(lowland.Cancelled):
        model.partial_fit(X)
    assert not hasattr(model, "components_")
    assert set(vars(model)) == set(vars(lowland.PCA(1)))
    model.partial_fit(X)
    before = model.components_.tobytes()
    with config(progress=lambda *what: False), pytest.raises(lowland.Cancelled):
        model.partial_fit(X + 5)
    assert model.components_.tobytes() == before
    assert model.n_samples_ == n
