"""What every registered method must keep: rows times a power of two give the same result, in the new units."""

from __future__ import annotations

import contextlib
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import lowland
from lowland.rows import units
from lowland.rows.row_source import RowSource

SCALES = {np.float64: (-1060, -1000, -500, 500, 1000), np.float32: (-140, -130, 100)}
told = pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")  # of few rows, and of numbers that pass the range


def table(dtype=np.float64):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 6)) + 0.3 * rng.standard_normal((50, 6)) + 2
    return X.astype(dtype)


def same(got, want, exponent):
    """Compare to the bit, after scaling."""
    np.testing.assert_array_equal(got, units.times(want, exponent))


@told
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_any_size_give_the_same(quick, method, dtype):
    base = table(dtype)
    for k in SCALES[dtype]:
        X = units.times(base, k)  # the smallest numbers of a type have few digits: these are what is compared
        plain, scaled = units.times(X, -k), units.times(units.times(base[::5] + dtype(0.1), k), -k)
        want, model = quick().fit(plain), quick().fit(X)
        power = round(k * units.power(model, "transform"))
        assert model.n_components_ == want.n_components_
        same(model.transform(X), want.transform(plain), power)
        same(model.transform(units.times(scaled, k)), want.transform(scaled), power)
        same(quick().fit_transform(X), quick().fit_transform(plain), power)
        if hasattr(model, "inverse_transform"):
            Y, plainly = model.transform(X), units.times(model.transform(X), -power)
            if method.family == "manifold" and not np.array_equal(plainly, want.transform(plain)):
                same(model.inverse_transform(Y), X, 0)  # a training point is known by the digits that it is shown with
            else:
                same(model.inverse_transform(Y), want.inverse_transform(plainly), k)


@told
@pytest.mark.parametrize("exponent", [90, -500, 1000])
def test_what_is_learned_is_told_in_the_units_of_the_rows(quick, method, exponent):
    """At 2^90 rows are not scaled: arithmetic alone says which power each attribute has."""
    X = table()
    want, model = quick().fit(X), quick().fit(units.times(X, exponent))
    assert hasattr(model, "exponent_") == (exponent != 90)
    for name in {*method.load()._state, *want.fit_info_.evidence} - {"log_likelihood_", "column_sums_", "pieces_"}:
        first, second = (getattr(m, name, m.fit_info_.evidence.get(name)) for m in (want, model))
        if isinstance(first, float | np.ndarray) and np.asarray(first).dtype.kind == "f" and "likelihood" not in name:
            same(second, np.asarray(first, dtype=np.float64), round(exponent * units.power(want, name)))


@told
def test_models_of_scaled_rows_are_kept(quick, tmp_path):
    X = units.times(table(), -1000)
    model = quick().fit(X)
    lowland.save(model, tmp_path / "model.lowland")
    for again in (lowland.load(tmp_path / "model.lowland"), pickle.loads(pickle.dumps(model))):
        assert again.exponent_ == model.exponent_
        same(again.transform(X[:9]), model.transform(X[:9]), 0)
    model.fit(table())  # and the next fit knows nothing of the unit
    assert not hasattr(model, "exponent_")


# -- other parameters and other kinds of input ------------------------------------------------------------------


def models():
    """Models by name; a parameter that has a unit is given in that of the rows."""
    start = np.random.default_rng(2).standard_normal((50, 2))
    made = {
        "pca scale": lambda k: lowland.PCA(2, scale=True),
        "pca whiten": lambda k: lowland.PCA(2, whiten=True),
        "pca uncentred": lambda k: lowland.PCA(2, center=False),
        "pca ratio": lambda k: lowland.PCA(0.9),
        "ica arbitrary": lambda k: lowland.ICA(2, whiten="arbitrary-variance"),
        "ica cube": lambda k: lowland.ICA(2, contrast="cube"),
        "som scale": lambda k: lowland.SOM(grid=(5, 4), epochs=3, scale=True),
        "mds cailliez": lambda k: lowland.ClassicalMDS(2, metric="cityblock", additive="cailliez"),
        "mds lingoes": lambda k: lowland.ClassicalMDS(2, metric="cityblock", additive="lingoes"),
        "mds landmarks": lambda k: lowland.ClassicalMDS(2, landmarks=20),
        "sammon": lambda k: lowland.MetricMDS(2, stress="sammon"),
        "start": lambda k: lowland.MetricMDS(2, init=units.times(start, k)),
        "isomap landmarks": lambda k: lowland.Isomap(2, landmarks=20),
        "kernel landmarks": lambda k: lowland.KernelPCA(2, landmarks=20),
        "heat": lambda k: lowland.LaplacianEigenmaps(2, bandwidth=units.times(1.5, k)),
        "heat map": lambda k: lowland.LPP(2, bandwidth=units.times(1.5, k)),
        "hadamard": lambda k: lowland.RandomProjection(2, kind="hadamard"),
    }
    for solver in ("covariance", "gram", "krylov", "power"):
        made[f"pca {solver}"] = lambda k, name=solver: lowland.PCA(2, solver=name)
    for metric in ("sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "seuclidean", "mahalanobis"):
        made[f"mds {metric}"] = lambda k, m=metric: lowland.ClassicalMDS(2, metric=m)
        made[f"isomap {metric}"] = lambda k, m=metric: lowland.Isomap(2, metric=m)
        made[f"lle {metric}"] = lambda k, m=metric: lowland.LLE(2, metric=m)
    for kernel in ("linear", "laplacian", "cosine", "poly"):
        made[f"kernel {kernel}"] = lambda k, name=kernel: lowland.KernelPCA(2, kernel=name)
    return made


@told
@pytest.mark.parametrize("name", list(models()))
def test_parameters_that_mean_the_same_in_all_units(name):
    make, X, new = models()[name], table(), table()[:7] + 0.1
    want = make(0).fit(X)
    for k in (-1000, 600):
        model = make(k).fit(units.times(X, k))
        power = round(k * units.power(model, "transform"))
        same(model.transform(units.times(X, k)), want.transform(X), power)
        same(model.transform(units.times(new, k)), want.transform(new), power)


@told
@pytest.mark.parametrize(
    "Model",
    ["ClassicalMDS", "MetricMDS", "NonmetricMDS", "Isomap", "LLE", "LTSA", "LaplacianEigenmaps", "MVU", "KernelPCA"],
)
def test_values_of_pairs(Model):
    X, new, by_kernel = table(), table()[:7] + 0.1, Model == "KernelPCA"
    D, rows = (X @ X.T, new @ X.T) if by_kernel else (cdist(X, X), cdist(new, X))
    parameter = {"kernel" if by_kernel else "metric": "precomputed"}
    want = getattr(lowland, Model)(2, **parameter).fit(D)
    for k in (-1000, 600):
        model = getattr(lowland, Model)(2, **parameter).fit(units.times(D, k))
        same(model.transform(units.times(rows, k)), want.transform(rows), round(k * units.power(model, "transform")))


def torch_rows(X):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(np.ascontiguousarray(X))


FORMS = {
    "sparse": (sp.csr_array, ("PCA", "TruncatedSVD", "Isomap", "LPP", "RandomProjection")),
    "torch": (torch_rows, ("PCA", "Isomap", "KernelPCA", "ICA")),
    "blocks": (lambda X: RowSource.from_blocks(lambda: (X[:11], X[11:])), ("PCA", "ProbabilisticPCA", "Isomap")),
    "stream": (lambda X: iter((X[:11], X[11:])), ("PCA", "ProbabilisticPCA")),
    "float16": (lambda X: X.astype(np.float16), ("PCA",)),  # of which the smallest is 6e-8: nothing is to be done
}


@told
@pytest.mark.parametrize(("form", "Model"), [(form, name) for form, (_, names) in FORMS.items() for name in names])
def test_every_kind_of_input(form, Model):
    X, given = table(), FORMS[form][0]
    want = getattr(lowland, Model)(2).fit(given(X))
    for k in (-10,) if form == "float16" else (-1000, 600):
        scaled = units.times(X, k)
        model = getattr(lowland, Model)(2).fit(given(scaled))
        power = round(k * units.power(model, "transform"))
        if form == "float16":
            np.testing.assert_allclose(model.transform(scaled), units.times(want.transform(X), power), rtol=0.1)
            continue
        as_given = given if form == "sparse" else np.asarray
        same(model.transform(as_given(scaled)), want.transform(as_given(X)), power)


@told
@pytest.mark.parametrize("Model", ["PCA", "TruncatedSVD"])
def test_rows_added_later(Model):
    X = table()
    want = getattr(lowland, Model)(2).partial_fit(X[:30]).partial_fit(X[30:])
    for k in (-1000, 600):
        scaled = units.times(X, k)
        model = getattr(lowland, Model)(2).partial_fit(scaled[:30]).partial_fit(scaled[30:])
        same(model.singular_values_, want.singular_values_, k)
        same(model.transform(scaled), want.transform(X), k)


# -- what has no place in a float -------------------------------------------------------------------------------


def test_variances_that_are_no_numbers_are_told():
    X = table()
    want = lowland.PCA(2).fit(X)
    for k, shown in ((1000, np.inf), (-1000, 0.0)):
        with pytest.warns(
            lowland.LowlandWarning, match=r"PCA: explained_variance_, noise_variance_, spectrum_, total_"
        ):
            model = lowland.PCA(2).fit(units.times(X, k))
        assert (model.explained_variance_ == shown).all()
        same(model.singular_values_, want.singular_values_, k)
        same(model.mean_, want.mean_, k)
        same(model.explained_variance_ratio_, want.explained_variance_ratio_, 0)
        same(model.loadings_, want.loadings_, k)
        same(model.cos2(units.times(X, k)), want.cos2(X), 0)
        same(model.contributions(units.times(X, k)), want.contributions(X), 0)
        same(model.residual(units.times(X, k)), want.residual(X), k)
        A, a, B, b = model.compressor()
        np.testing.assert_allclose(units.times(units.times(X, k) @ A.T + a, -k), want.transform(X), atol=1e-12)
        near = want.inverse_transform(want.transform(X))
        np.testing.assert_allclose(units.times(model.transform(units.times(X, k)) @ B.T + b, -k), near, atol=1e-12)


@told
def test_densities_change_by_the_unit_of_each_value():
    X = table()
    gaps = X.copy()
    gaps[::7, 2] = np.nan
    for rows in (X, gaps):
        want, values = lowland.ProbabilisticPCA(2).fit(rows), (~np.isnan(rows)).sum(axis=1)
        for k in (-1000, 600):
            model = lowland.ProbabilisticPCA(2).fit(units.times(rows, k))
            got = model.score_samples(units.times(rows, k))
            np.testing.assert_allclose(got, want.score_samples(rows) - k * np.log(2) * values, rtol=1e-12)
            assert model.log_likelihood_ == pytest.approx(
                want.log_likelihood_ - k * np.log(2) * values.sum(), rel=1e-12
            )
            same(model.fill(units.times(rows, k)), want.fill(rows), k)
            same(model.sample(5), want.sample(5), k)


@told
def test_maps_of_prototypes_and_kernels_measure_in_the_units_of_the_rows():
    X = table()
    for k in (-1000, 600):
        rows = units.times(X, k)
        want, model = (lowland.SOM(grid=(5, 4), epochs=3).fit(given) for given in (X, rows))
        same(model.u_matrix(), want.u_matrix(), k)
        same(model.component_planes(), want.component_planes(), k)
        same(model.quantization_error(rows), want.quantization_error(X), k)
        same(model.hits(rows), want.hits(X), 0)
        want, model = (lowland.KernelPCA(2, kernel="linear").fit(given) for given in (X, rows))
        same(model.feature_space_error(rows), want.feature_space_error(X), 2 * k)
        same(model.eigenvectors_, want.eigenvectors_, 0)


# -- rows of very different size --------------------------------------------------------------------------------


@told
def test_a_few_rows_that_a_first_look_misses():
    X = np.random.default_rng(3).standard_normal((40_000, 4))
    X[11] *= 1e200
    model = lowland.PCA(2).fit(X)
    assert model.exponent_ > 400
    assert model.singular_values_[0] == pytest.approx(np.linalg.norm(X[11] / 1e200) * 1e200, rel=1e-4)
    same(lowland.PCA(2).fit(units.times(X, -300)).singular_values_, model.singular_values_, -300)


@told
def test_a_large_constant_column_changes_nothing(quick, method):
    """Where means are taken off, its spread is the size of a column."""
    if method.name in ("truncated_svd", "random_projection"):
        pytest.skip("it takes no means off")
    X = table()
    model = quick().fit(np.column_stack([X, np.full(len(X), 1e120)]))
    assert not hasattr(model, "exponent_")
    assert np.isfinite(model.transform(np.column_stack([X, np.full(len(X), 1e120)]))).all()


@told
def test_rows_of_all_sizes_leave_no_warning_of_numpy(quick):
    """A fit or a transform works, or says what is wrong: it never lets a RuntimeWarning through."""
    X, model = table(), quick().fit(table())
    for value in (1e160, 1e300, 1e-300):
        one, column, constant = X.copy(), X.copy(), X.copy()
        one[7, 3] = constant[:, 2] = value
        column[:, 2] *= value
        for rows in (one, column, constant):
            with contextlib.suppress(lowland.DataError):
                assert np.isfinite(quick().fit(rows).transform(rows)).all()
        with contextlib.suppress(lowland.DataError):
            model.transform(X[:5] * value)


@told
def test_rows_whose_squares_pass_each_other_are_refused_in_words():
    X = table()
    X[7, 3] = 1e180
    with pytest.raises(lowland.DataError, match=r"within \S+ of the largest distance .* leave out outliers"):
        lowland.LLE().fit(X)
