"""ICA: known sources, identities, other programs, hard data."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland.methods.linear import ica_reliability, ica_rotation, ica_white_rows
from lowland.rows.row_source import RowSource

CONTRASTS = ("logcosh", "exp", "cube")


def amari(P):
    """How far P is from a scaled permutation: 0 for one, 1 at most (Amari, Cichocki, Yang 1996)."""
    P, k = np.abs(P), len(P)
    rows, columns = (P / P.max(axis=1, keepdims=True)).sum(), (P / P.max(axis=0)).sum()
    return float((rows + columns - 2 * k) / (2 * k * (k - 1)))


def signals(n, k, rng):
    """Six kinds of sources in turn (n × k): three random ones and three waves."""
    t = np.arange(n)

    def one(i):
        kinds = (
            lambda: rng.laplace(size=n),
            lambda: rng.uniform(-1, 1, n),
            lambda: np.sin(t * (0.01 + 0.0137 * i) + i),
            lambda: (t * (0.003 + 0.0011 * i)) % 1,
            lambda: np.where(np.sin(t * (0.02 + 0.0093 * i)) < 0, -1.0, 1.0),
            lambda: rng.exponential(size=n),
        )
        return kinds[i % 6]()

    return np.column_stack([one(i) for i in range(k)])


def match(found, truth):
    """The least |correlation| of the sources with their nearest true ones, each taken once."""
    k = found.shape[1]
    R = np.abs(np.corrcoef(found.T, truth.T)[:k, k:])
    assert sorted(R.argmax(axis=1)) == list(range(k))
    return R.max(axis=1).min()


@pytest.fixture
def mixture(rng):
    S, A = signals(5000, 6, rng), rng.standard_normal((6, 6))
    return S, A, S @ A.T + rng.uniform(-9, 9, 6)


@pytest.mark.parametrize("contrast", CONTRASTS)
@pytest.mark.parametrize(("n", "k"), [(3000, 2), (5000, 6), (10_000, 12), (20_000, 20)])
def test_known_sources_are_separated(n, k, contrast):
    for draw in range(3):
        rng = np.random.default_rng(draw)
        S, A = signals(n, k, rng), rng.standard_normal((k, k))
        model = lowland.ICA(contrast=contrast, random_state=draw).fit(S @ A.T)
        assert amari(model.unmixing_ @ A) < 0.05
        assert match(model.transform(S @ A.T), S) > 0.99


def test_more_sensors_than_sources(rng):
    S, A = signals(6000, 4, rng), rng.standard_normal((15, 4))
    X = S @ A.T + 1e-3 * rng.standard_normal((6000, 15))
    model = lowland.ICA(4).fit(X)
    assert model.components_.shape == (4, 15)
    assert match(model.transform(X), S) > 0.99
    assert model.fit_info_.evidence["share of variance"] > 0.999
    flat = lowland.PCA(4).fit(X)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(X)), flat.inverse_transform(flat.transform(X)), atol=1e-10
    )


def test_identities(mixture):
    _, _, X = mixture
    model = lowland.ICA().fit(X)
    Y = model.transform(X)
    Z = (X - model.mean_) @ model.whitening_.T
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(Z.T @ Z / len(X), np.eye(6), atol=1e-11)
    np.testing.assert_allclose(Y.T @ Y / len(X), np.eye(6), atol=1e-11)
    np.testing.assert_allclose(Y, (X - model.mean_) @ model.components_.T, atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(Y), X, atol=1e-11)
    np.testing.assert_allclose(model.components_ @ model.mixing_, np.eye(6), atol=1e-12)
    W = model.components_ @ np.linalg.inv(model.whitening_)
    np.testing.assert_allclose(W @ W.T, np.eye(6), atol=1e-12)


def test_the_mixing_is_the_pseudo_inverse(mixture):
    model = lowland.ICA(3).fit(mixture[2])
    np.testing.assert_allclose(model.mixing_, np.linalg.pinv(model.components_), atol=1e-11)


def test_variances_by_choice(mixture):
    _, _, X = mixture
    unit, own = lowland.ICA().fit(X), lowland.ICA(whiten="arbitrary-variance").fit(X)
    np.testing.assert_allclose(np.linalg.norm(own.mixing_, axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(own.inverse_transform(own.transform(X)), X, atol=1e-11)
    # uncorrelated sources share out the variance of the rows
    np.testing.assert_allclose(own.transform(X).var(axis=0).sum(), X.var(axis=0).sum(), rtol=1e-10)
    np.testing.assert_allclose(own.transform(X) / own.transform(X).std(axis=0), unit.transform(X), atol=1e-10)


def test_variances_of_fewer_components_are_those_of_pca(mixture):
    _, _, X = mixture
    own, pca = lowland.ICA(3, whiten="arbitrary-variance").fit(X), lowland.PCA(3).fit(X)
    np.testing.assert_allclose(own.transform(X).var(axis=0).sum(), pca.transform(X).var(axis=0).sum(), rtol=1e-10)
    assert own.transform(X).var(axis=0).sum() < 0.999 * X.var(axis=0).sum()


@pytest.mark.parametrize("whiten", ["unit-variance", "arbitrary-variance"])
@pytest.mark.parametrize("k", [None, 3])
def test_the_rotation_follows_the_whitening(mixture, whiten, k):
    model = lowland.ICA(k, whiten=whiten).fit(mixture[2])
    np.testing.assert_allclose(model.rotation_ @ model.whitening_, model.components_, atol=1e-12)
    G, length = model.rotation_ @ model.rotation_.T, np.linalg.norm(model.rotation_, axis=1)
    np.testing.assert_allclose(G, np.diag(length**2), atol=1e-11)
    if whiten == "unit-variance":
        np.testing.assert_allclose(length, 1, rtol=1e-12)


# -- rows that are white already ----------------------------------------------------------------------------


def test_white_rows_are_taken_as_they_are(mixture, tmp_path):
    from sklearn.decomposition import FastICA

    Z = lowland.PCA(whiten=True, ddof=0).fit_transform(mixture[2])
    model = lowland.ICA(whiten=False, tol=1e-9).fit(Z)
    theirs = FastICA(whiten=False, tol=1e-14, max_iter=1000, random_state=0).fit(Z)
    likeness = np.abs(model.components_ @ theirs.components_.T)
    np.testing.assert_allclose(likeness.max(axis=1), 1, atol=1e-7)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-12)
    np.testing.assert_array_equal(model.mixing_, model.components_.T)
    np.testing.assert_array_equal(model.rotation_, model.components_)
    np.testing.assert_allclose(model.transform(Z), Z @ model.components_.T, atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(model.transform(Z)), Z, atol=1e-12)
    assert model.whitening_ is None
    assert not model.mean_.any()
    assert model.fit_info_.evidence["departure from white"] < 1e-10
    whitened = lowland.ICA(tol=1e-9).fit(mixture[2])
    np.testing.assert_allclose(model.negentropy_, whitened.negentropy_, rtol=1e-6)
    lowland.save(model, tmp_path / "ica.lowland")
    again = lowland.load(tmp_path / "ica.lowland")
    assert again.whiten is False
    assert again.whitening_ is None
    np.testing.assert_array_equal(again.transform(Z), model.transform(Z))


def test_rows_that_are_not_white_are_told(mixture):
    with pytest.warns(lowland.LowlandWarning, match="the rows are not white") as caught:
        model = lowland.ICA(whiten=False, max_iter=1000).fit(mixture[2])
    assert "whiten='unit-variance'" in str(caught[0].message)
    np.testing.assert_allclose(model.inverse_transform(model.transform(mixture[2])), mixture[2], atol=1e-9)
    with pytest.raises(lowland.DataError, match="squares of the rows overflow"):
        lowland.ICA(whiten=False).fit(mixture[2] * 1e200)


def test_a_number_of_components_is_ignored_without_whitening(mixture):
    Z = lowland.PCA(whiten=True).fit_transform(mixture[2])  # divided by N − 1: white enough
    with pytest.warns(lowland.LowlandWarning, match=r"Ignoring n_components with whiten=False\."):
        model = lowland.ICA(2, whiten=False).fit(Z)
    assert model.n_components_ == 6
    assert lowland.plan(lowland.ICA(2, whiten=False), Z).parts["white rows"] == 8 * Z.size
    with pytest.raises(ValueError, match="whiten must be 'unit-variance' or 'arbitrary-variance', or False; got True"):
        lowland.ICA(whiten=True).fit(Z)
    assert lowland.ICA._parameters["whiten"].parse("false") is False


@pytest.mark.parametrize("form", ["float32", "blocks"])
def test_white_rows_of_any_form(mixture, form):
    Z = lowland.PCA(whiten=True, ddof=0).fit_transform(mixture[2])
    rows = lowland.RowSource.from_blocks(lambda: (Z[:700], Z[700:])) if form == "blocks" else Z.astype(np.float32)
    want, got = lowland.ICA(whiten=False, tol=1e-8).fit(Z), lowland.ICA(whiten=False, tol=1e-8).fit(rows)
    np.testing.assert_allclose(got.components_, want.components_, atol=1e-5 if form == "float32" else 1e-9)
    assert (
        got.components_.dtype
        == got.mixing_.dtype
        == got.rotation_.dtype
        == (np.float32 if form == "float32" else np.float64)
    )


def test_mixing_again_changes_nothing(mixture, rng):
    _, _, X = mixture
    M = rng.standard_normal((6, 6))
    one, two = (lowland.ICA(tol=1e-9).fit(rows) for rows in (X, X @ M.T - 3))
    Y, V = one.transform(X), two.transform(X @ M.T - 3)
    V *= np.sign((Y * V).sum(axis=0))
    np.testing.assert_allclose(V, Y, atol=1e-6)
    np.testing.assert_allclose(two.negentropy_, one.negentropy_, rtol=1e-6)


@pytest.mark.parametrize(("contrast", "fun"), [("logcosh", "logcosh"), ("exp", "exp"), ("cube", "cube")])
def test_agrees_with_scikit_learn(mixture, contrast, fun):
    from sklearn.decomposition import FastICA

    _, _, X = mixture
    ours = lowland.ICA(contrast=contrast, tol=1e-9).fit(X)
    theirs = FastICA(fun=fun, whiten="unit-variance", tol=1e-14, max_iter=1000, random_state=0).fit(X)
    Y, V = ours.transform(X), theirs.transform(X)
    R = Y.T @ V / len(X)
    order = np.abs(R).argmax(axis=1)
    np.testing.assert_allclose(V[:, order] * np.sign(R[np.arange(6), order]), Y, atol=2e-6)


def test_swapping_the_import_drops_nothing(mixture):
    from sklearn.decomposition import FastICA

    given = {"n_components": 4, "whiten": "unit-variance", "max_iter": 300, "tol": 1e-4, "w_init": np.eye(4)}
    theirs = FastICA(**given, random_state=3).fit(mixture[2])
    ours = lowland.ICA(**given, random_state=3).fit(mixture[2])
    for name in ("components_", "mixing_", "mean_", "whitening_"):
        assert getattr(ours, name).shape == getattr(theirs, name).shape
    assert 1 <= ours.n_iter_ <= 300


def test_order_and_signs(mixture):
    _, _, X = mixture
    for contrast in CONTRASTS:
        model = lowland.ICA(contrast=contrast).fit(X)
        Y = model.transform(X)
        G = {"logcosh": np.logaddexp(Y, -Y) - np.log(2), "exp": -np.exp(-(Y**2) / 2), "cube": Y**4 / 4}[contrast]
        far = (G.mean(axis=0) - ica_reliability.gaussian(contrast)[0]) ** 2
        np.testing.assert_allclose(model.negentropy_, far, rtol=1e-8)
        assert (np.diff(model.negentropy_) <= 0).all()
        top = np.abs(model.components_).argmax(axis=1)
        assert (model.components_[np.arange(6), top] > 0).all()


def test_every_start_finds_the_same_sources(mixture):
    S, _, X = mixture
    models = [lowland.ICA(random_state=i, tol=1e-8).fit(X) for i in range(4)]
    models.append(lowland.ICA(w_init=np.eye(6)[::-1].tolist(), tol=1e-8).fit(X))
    for model in models[1:]:
        np.testing.assert_allclose(model.components_, models[0].components_, atol=1e-5)
    again = lowland.ICA(random_state=0, tol=1e-8).fit(X)
    assert np.array_equal(again.components_, models[0].components_)
    assert not np.array_equal(models[1].components_, models[0].components_)
    assert match(models[0].transform(X), S) > 0.99


@pytest.mark.parametrize("start", [np.eye(3), np.full((6, 6), np.nan)])
def test_a_wrong_start_is_refused(mixture, start):
    with pytest.raises(lowland.DataError, match="w_init must be a finite 6 × 6 matrix"):
        lowland.ICA(w_init=start).fit(mixture[2])


@pytest.mark.parametrize(
    ("start", "rank"), [(np.zeros((6, 6)), 0), (np.ones((6, 6)), 1), (np.diag([1e9] * 5 + [0]), 5)]
)
def test_a_start_without_a_nearest_rotation_is_refused(mixture, start, rank):
    with pytest.raises(lowland.DataError, match=rf"w_init has rank {rank}, below its 6 rows.*linearly independent"):
        lowland.ICA(w_init=start).fit(mixture[2])


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_a_tolerance_below_rounding_is_told(contrast):
    X = np.random.default_rng(0).laplace(size=(2000, 5))
    with pytest.warns(lowland.NotConvergedWarning, match="tol=1e-17 is below rounding error; increase it") as told:
        model = lowland.ICA(contrast=contrast, tol=1e-17).fit(X)
    assert "max_iter" not in str(told[0].message)
    assert model.n_iter_ < 100  # of 500
    assert model.fit_info_.residual < 1e-14
    np.testing.assert_allclose(
        model.components_, lowland.ICA(contrast=contrast, tol=1e-9).fit(X).components_, atol=1e-8
    )


def test_too_few_steps_are_told(mixture):
    with pytest.warns(
        lowland.NotConvergedWarning, match=r"not converged after 1 iteration \(change .* rad, tol .*max_iter"
    ):
        model = lowland.ICA(max_iter=1).fit(mixture[2])
    assert model.fit_info_.residual > model.tol
    assert model.n_iter_ == model.fit_info_.iterations == 1
    good = lowland.ICA().fit(mixture[2])
    assert good.fit_info_.residual <= good.tol


def test_many_rows_start_on_some_of_them(monkeypatch):
    rng = np.random.default_rng(3)
    S, A = signals(90_000, 5, rng), rng.standard_normal((5, 5))
    X = S @ A.T
    warm = lowland.ICA(tol=1e-7).fit(X)
    monkeypatch.setattr(ica_rotation, "warm_rows", lambda k: 10**9)
    cold = lowland.ICA(tol=1e-7).fit(X)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.components_, cold.components_, atol=1e-5)


def test_more_than_one_gaussian_source_is_told(rng):
    S = rng.laplace(size=(20_000, 5))
    A = rng.standard_normal((5, 5))
    clear = lowland.ICA().fit(S @ A.T).fit_info_.evidence
    assert clear["sources like Gaussian noise"] == 0
    assert clear["expected share of another source"] < 0.03
    S[:, 2:] = rng.standard_normal((20_000, 3))
    model = lowland.ICA().fit(S @ A.T)
    assert model.fit_info_.evidence["sources like Gaussian noise"] == 3
    assert model.fit_info_.evidence["expected share of another source"] > 0.1
    gain = np.abs(model.components_[:2] @ A)  # the others are found nevertheless
    assert (gain[:, 2:] < 0.1).all()
    assert sorted(gain[:, :2].argmax(axis=1)) == [0, 1]


@pytest.mark.parametrize("contrast", CONTRASTS)
@pytest.mark.parametrize("noise", [0, 1, 3])
def test_few_rows_tell_laplace_sources_from_noise(contrast, noise):
    found = []
    for draw in range(10):
        rng = np.random.default_rng(draw)
        S = np.column_stack([rng.laplace(size=(1000, 4)), rng.standard_normal((1000, noise))])
        X = S @ rng.standard_normal((4 + noise, 4 + noise))
        found.append(lowland.ICA(contrast=contrast).fit(X).fit_info_.evidence["sources like Gaussian noise"])
    assert np.mean(np.array(found) == noise) >= 0.8, found


@pytest.mark.parametrize(("n", "k"), [(300, 2), (300, 12), (1000, 6), (1000, 25), (10_000, 4)])
def test_noise_is_told_though_a_search_went_through_it(n, k):
    """All sources of Gaussian rows are noise, in nearly every draw: the limits are those of such searches."""
    found = []
    for draw in range(20):
        X = np.random.default_rng([1, draw]).standard_normal((n, k))
        models = (lowland.ICA(contrast=contrast, tol=1e-3).fit(X) for contrast in CONTRASTS)
        found += [model.fit_info_.evidence["sources like Gaussian noise"] for model in models]
    assert np.mean(np.array(found) == k) >= 0.95, found


def test_dependent_columns_leave_fewer_sources(mixture):
    S, _, X = mixture
    wide = np.column_stack([X, X[:, 0] - X[:, 3], np.full(len(X), 7.3)])
    model = lowland.ICA().fit(wide)
    assert model.n_components_ == 6
    assert match(model.transform(wide), S) > 0.99
    np.testing.assert_allclose(model.inverse_transform(model.transform(wide)), wide, atol=1e-10)
    with pytest.warns(lowland.RankWarning, match="rank 6, so only 6 of the 8"):
        assert lowland.ICA(8).fit(wide).n_components_ == 6


@pytest.mark.parametrize("n", [2, 5])
def test_few_rows(n, rng):
    X = rng.standard_normal((n, 7))
    model = lowland.ICA().fit(X)
    assert model.n_components_ == n - 1
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)


def test_one_row_is_refused():
    with pytest.raises(lowland.DataError, match="1 sample"):
        lowland.ICA().fit(np.ones((1, 3)))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_units_and_origin_do_not_matter(mixture, scale):
    S, _, X = mixture
    units = scale * np.array([1.0, 1e3, 1e-3, 10.0, 1.0, 0.1])
    rows = X * units + 1e5 * units
    model = lowland.ICA().fit(rows)
    assert match(model.transform(rows), S) > 0.99
    plain = lowland.ICA().fit(X)
    np.testing.assert_allclose(model.negentropy_, plain.negentropy_, rtol=1e-3)


def test_single_precision(mixture):
    S, _, X = mixture
    model, exact = lowland.ICA(tol=1e-6).fit(X.astype(np.float32)), lowland.ICA(tol=1e-6).fit(X)
    assert model.components_.dtype == model.mixing_.dtype == np.float32
    np.testing.assert_allclose(model.components_, exact.components_, atol=1e-4)
    assert match(model.transform(X.astype(np.float32)), S) > 0.99


def test_outliers_lead_the_cube_astray_and_not_the_others():
    error = dict.fromkeys(CONTRASTS, 0.0)
    for draw in range(5):
        rng = np.random.default_rng(draw)
        S, A = rng.laplace(size=(5000, 4)), rng.standard_normal((4, 4))
        S[:10] += 20 * rng.standard_normal((10, 4))
        for contrast in CONTRASTS:
            error[contrast] += amari(lowland.ICA(contrast=contrast).fit(S @ A.T).components_ @ A) / 5
    assert error["logcosh"] < 0.05
    assert error["exp"] < 0.05
    assert error["cube"] > 0.1


@pytest.mark.parametrize(("known", "readings"), [(True, 2), (False, 3)])
def test_blocks_are_read_several_times(mixture, known, readings):
    _, _, X = mixture
    count = []

    def blocks():
        count.append(1)
        return X[:13], X[13:4000], X[4000:]

    source = RowSource.from_blocks(blocks, n_rows=len(X) if known else None)
    np.testing.assert_array_equal(lowland.ICA().fit(source).components_, lowland.ICA().fit(X).components_)
    assert len(count) == readings  # perhaps to count them, for the principal axes, to make them white
    with pytest.raises(lowland.DataError, match="ICA reads the rows several times"):
        lowland.ICA().fit(iter([X]))


def told_steps(X, **parameters):
    told = []
    with lowland.config(progress=lambda *now: told.append(now)):
        model = lowland.ICA(**parameters).fit(X)
    return model, [now[1:] for now in told if now[0] == "separation"], [now[0] for now in told]


def test_progress_never_runs_backwards():
    from sklearn.datasets import load_digits

    model, steps, _ = told_steps(load_digits().data, n_components=20, max_iter=300)
    done, total = zip(*steps, strict=True)
    assert set(total) == {300}
    assert done[0] == 1
    assert done[-1] == model.n_iter_ > ica_rotation._FIRST
    assert set(np.diff(done)) <= {0, 1}  # 0: further passes of one step


def test_the_start_on_some_rows_is_a_stage_of_its_own(rng):
    model, steps, stages = told_steps(rng.laplace(size=(90_000, 4)) @ rng.standard_normal((4, 4)))
    assert "start on some rows" in stages
    assert [now[0] for now in steps] == list(range(1, model.n_iter_ + 1))


def test_real_rows_converge():
    from sklearn.datasets import load_digits

    X = load_digits().data
    for contrast in CONTRASTS:
        model = lowland.ICA(20, contrast=contrast).fit(X)  # a warning would be an error here
        assert model.fit_info_.residual <= model.tol
        assert model.n_iter_ > ica_rotation._FIRST


@pytest.mark.parametrize("whiten", ["unit-variance", False])
def test_rows_beyond_memory_are_read_again_in_every_pass(whiten, rng, monkeypatch):
    X = rng.laplace(size=(90_000, 3))
    X = (X - X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T, ddof=0))).T
    passes = []

    def blocks():
        passes.append(1)
        return (X[start : start + 7001] for start in range(0, len(X), 7001))

    source = RowSource.from_blocks(blocks, n_rows=len(X))
    held = lowland.ICA(whiten=whiten).fit(X)
    monkeypatch.setattr(ica_white_rows, "_HELD_ENTRIES", 100_000)
    few = lowland.plan(lowland.ICA(whiten=whiten), source)
    read = lowland.ICA(whiten=whiten).fit(source)
    assert read.components_.tobytes() == held.components_.tobytes()
    assert len(passes) > read.n_iter_ > 1
    assert few.bytes < 8 * X.size < lowland.plan(lowland.ICA(whiten=whiten), X).bytes
