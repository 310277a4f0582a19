"""What every registered method must keep: one loop over the registry, dtypes, input kinds and backends."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits

import lowland
from lowland.contract.registry import METHODS
from lowland.rows.row_source import RowSource

COMPARISONS = {
    "metric": ("euclidean", "cityblock", "cosine", "correlation"),
    "kernel": ("rbf", "laplacian", "cosine", "poly"),
}
N, D = 90, 7
QUICK = {  # iterations that would take the time of all other tests together: the contract holds for any number
    "autoencoder": {"hidden": (8,), "epochs": 4},
    "som": {"grid": (6, 5), "epochs": 5},
    "tsne": {"perplexity": 10.0, "max_iter": 60},
    "umap": {"n_epochs": 30},
}
RANKLESS = {
    "manifold": "functions on a graph have no rank: a line already has as many as it has points",
    "embedding": "a picture of neighbours has as many dimensions as it is given",
    "network": "a network fills as many dimensions as it is given",
    "random": "a random projection does not look at the rows",
}


@pytest.fixture
def X(rng):
    return rng.standard_normal((N, 3)) @ rng.standard_normal((3, D)) + 0.3 * rng.standard_normal((N, D)) + 2.0


def sized(method, n_components):
    """The parameter for so many components; a grid has as many as it has sides."""
    return {"n_components": n_components} if "n_components" in method.load()._parameters else {}


def build(method, **parameters):
    return method.load()(**(sized(method, 2) | QUICK.get(method.name, {}) | parameters))


def flat(method, n_components):
    """A model that sees flat structure only, so that the rank of the table is the rank it finds."""
    if method.family in RANKLESS:
        pytest.skip(RANKLESS[method.family])
    return method.load()(n_components, **({"kernel": "linear"} if method.family == "kernel" else {}))


def same_rows(got, want, dtype):
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    scale = np.abs(want).max()
    np.testing.assert_allclose(np.asarray(got, dtype=np.float64), want, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")  # some of its data are degenerate, and are told so
def test_scikit_learn_checks(method):
    results = check_estimator(method.load()(), on_fail=None, on_skip=None)
    assert len(results) > 40
    failed = [f"{r['check_name']}: {r['exception']}" for r in results if r["status"] == "failed"]
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_precision_in_is_precision_out(method, X, dtype):
    model = build(method).fit(X.astype(dtype))
    assert model.transform(X.astype(dtype)).dtype == dtype
    if "inverse" in method.abilities:
        assert model.inverse_transform(model.transform(X.astype(dtype))).dtype == dtype


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.bool_, np.float16])
def test_other_numbers_are_converted(method, X, dtype):
    data = (X.mean() < X).astype(dtype) if dtype == np.bool_ else np.round(10 * X).clip(-100, 100).astype(dtype)
    want = build(method).fit_transform(data.astype(np.float32 if dtype == np.float16 else np.float64))
    got = build(method).fit_transform(data)
    assert got.dtype == (np.float32 if dtype == np.float16 else np.float64)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "kind",
    [
        lambda X: X.tolist(),
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: pd.DataFrame(X, columns=list("abcdefg")),
        lambda X: pl.DataFrame(X, schema=list("abcdefg")),
        lambda X: pa.table({name: X[:, j] for j, name in enumerate("abcdefg")}),
        lambda X: RowSource.from_blocks(lambda: (X[:11], X[11:50], X[50:])),
    ],
    ids=["list", "fortran", "strided", "pandas", "polars", "arrow", "blocks"],
)
def test_every_kind_of_input_gives_the_same(method, X, kind):
    want = build(method).fit(X).transform(X)
    same_rows(build(method).fit(kind(X)).transform(kind(X)), want, X.dtype)


def test_sparse(method, X):
    S = sp.csr_array(np.where(X > 2, X, 0.0))
    if "sparse" not in method.abilities:
        with pytest.raises(lowland.DataError, match="does not take sparse"):
            build(method).fit(S)
        return
    want = build(method).fit_transform(S.toarray())
    for form in (S, sp.csc_matrix(S), sp.coo_array(S)):
        same_rows(build(method).fit_transform(form), want, X.dtype)


SPARSE_FORMS = (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.coo_matrix)


def with_zeros(rng, n, width, dtype):
    """Rows of which about half the entries are zero; every row has others.

    They spread by 1, 1/2 and 1/4 along three directions: where these are equal the eigenvalues of NPE lie so close that
    changes of X by one rounding turn its map by 3e-12, more than the tolerance.
    """
    X = (rng.standard_normal((n, 3)) * [1.0, 0.5, 0.25]) @ rng.standard_normal((3, width))
    X += 0.3 * rng.standard_normal((n, width)) + 2.0
    X[:, 0] += 4.0
    X = np.where(X > 2, X, 0.0)
    return np.round(100 * X).astype(dtype) if np.dtype(dtype).kind == "i" else X.astype(dtype)


@pytest.mark.filterwarnings("ignore:.*nearly in one place:lowland.LowlandWarning")  # zeros set a few rows apart
@pytest.mark.parametrize("width", [7, 600])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_rows_may_be_sparse_in_one_call_and_dense_in_another(method, dtype, width, rng, tmp_path):
    rows = with_zeros(rng, N + 12, width, dtype)
    X, new = rows[:N], rows[N:]
    dense = build(method).fit(X)
    if "sparse" not in method.abilities:
        with pytest.raises(lowland.DataError, match="does not take sparse"):
            dense.transform(sp.csr_array(new))
        return
    kind = np.float32 if dtype == np.float32 else np.float64
    want = dense.transform(new).astype(np.float64)
    sparse = build(method).fit(sp.csr_array(X))
    for model in (sparse, dense):
        for form in (np.asarray, np.asfortranarray, *SPARSE_FORMS):
            got = model.transform(form(new))
            assert got.dtype == kind
            same_rows(got, want, kind)
        same_rows(model.transform(sp.csr_array(X)), model.transform(X).astype(np.float64), kind)
        lowland.save(model, tmp_path / "model.lowland")
        stored = lowland.load(tmp_path / "model.lowland")
        for form in (np.asarray, sp.csr_array):
            np.testing.assert_array_equal(stored.transform(form(new)), model.transform(form(new)))
            same_rows(model.transform(form(new[:1])), want[:1], kind)
    if "inverse" in method.abilities:
        same_rows(sparse.inverse_transform(want), dense.inverse_transform(want).astype(np.float64), kind)


def test_batches_may_be_sparse_or_dense(method, rng):
    if "partial" not in method.abilities:
        pytest.skip("learns from one table")
    X = with_zeros(rng, N, D, np.float64)
    want = build(method).partial_fit(X[:50]).partial_fit(X[50:]).transform(X)
    for first, second in ((sp.csr_array, np.asarray), (np.asarray, sp.csr_array), (sp.csc_matrix, sp.coo_array)):
        model = build(method).partial_fit(first(X[:50])).partial_fit(second(X[50:]))
        same_rows(model.transform(X), want, X.dtype)
        same_rows(model.transform(sp.csr_array(X)), want, X.dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_backends_agree(method, X, backend, dtype):
    data = X.astype(dtype)
    want = build(method).fit(data).transform(data)
    given = backend(data)
    got = build(method).fit(given).transform(given)
    assert type(got) is type(given)
    same_rows(np.asarray(got), want.astype(np.float64), dtype)


def test_streams(method, X):
    blocks = (X[a : a + 13] for a in range(0, N, 13))
    if "stream" in method.abilities:
        same_rows(build(method).fit(blocks).transform(X), build(method).fit(X).transform(X), X.dtype)
    else:
        with pytest.raises(lowland.DataError, match="read"):
            build(method).fit(blocks)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_transform_is_row_wise(method, X, dtype):
    data = X.astype(dtype)
    model = build(method).fit(data)
    whole = model.transform(data)
    single = np.vstack([model.transform(data[i : i + 1]) for i in range(N)])
    same_rows(single, whole.astype(np.float64), dtype)
    same_rows(model.transform(data[::-1])[::-1], whole.astype(np.float64), dtype)


def test_missing_values(method, X):
    X = X.copy()
    X[4, 2] = np.nan
    if "missing" in method.abilities:
        assert np.isfinite(build(method).fit(X).transform(X)).all()
        return
    with pytest.raises(lowland.DataError, match=r"NaN at row 4, column 2"):
        build(method).fit(X)
    with pytest.raises(lowland.DataError, match=r"NaN at row 4, column 2"):
        build(method).fit(np.nan_to_num(X)).transform(X)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_named(method, X, value):
    X = X.copy()
    X[71, 5] = value
    with pytest.raises(lowland.DataError, match=r"infinity.*row 71, column 5"):
        build(method).fit(X)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.ones((4, 3)) * 1j, "Complex"),
        (np.ones((4, 3, 2)), "3-D"),
        (np.ones(4), "1-D"),
        (np.array([["1", "2"], ["3", "oops"]], dtype=object), r"'oops', which is not a number .* at row 1, column 1"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "2"]}), r"'x', which is not a number .* at row 0, column 1 \('b'\)"),
        (np.ones((0, 3)), "0 sample"),
        (np.ones((3, 0)), "0 feature"),
        ("table.csv", "read_table"),
    ],
    ids=["complex", "3-D", "1-D", "object", "text column", "no rows", "no columns", "file name"],
)
def test_bad_input_names_the_place(method, bad, message):
    if "categories" in method.needs and "not a number" in message:
        pytest.skip("texts are categories here")
    with pytest.raises(ValueError, match=message):
        build(method).fit(bad)


def test_dates_and_short_floats_are_refused(method):
    import torch

    with pytest.raises(lowland.DataError, match="dates or times"):
        build(method).fit(np.array([["2020-01-01", "2021-01-01"]] * 3, dtype="datetime64[D]"))
    with pytest.raises(lowland.DataError, match="convert the tensor to float32"):
        build(method).fit(torch.ones((4, 3), dtype=torch.bfloat16))


def test_wrong_width(method, X):
    model, words = build(method).fit(X), r"has 6 features, but \w+ is expecting 7 .*\nGive the 7 columns"
    with pytest.raises(lowland.DataError, match=words):
        model.transform(X[:, :6])
    if "partial" in method.abilities:
        with pytest.raises(lowland.DataError, match=words):
            build(method).partial_fit(X).partial_fit(X[:, :6])
    if "inverse" in method.abilities:
        with pytest.raises(lowland.DataError, match="must have 2 columns"):
            model.inverse_transform(X[:, :3])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("bacdefg", "same order as they were in fit."),
        ("abcdef", r"now missing:\n- g"),
        ("abcdefgz", r"unseen at fit time:\n- z"),
        ("abcdefz", r"unseen at fit time:\n- z\n.*now missing:\n- g"),
    ],
)
def test_wrong_names(method, X, columns, message):
    model = build(method).fit(pd.DataFrame(X, columns=list("abcdefg")))
    given = pd.DataFrame(np.ones((3, len(columns))), columns=list(columns))
    with pytest.raises(lowland.DataError, match=rf"{message}\nGive the columns of the fit .*: 'a', 'b'"):
        model.transform(given)


def test_more_components_than_there_are(method, X):
    if method.family in ("network", "random"):
        pytest.skip(RANKLESS[method.family])
    if method.family == "linear":
        with pytest.raises(ValueError, match=r"n_components=8 is more than min\(rows, columns\) = 7"):
            method.load()(n_components=8).fit(X)
    k = 5 if method.load()._parameters["n_components"].accepts(5) else 3  # more than 3 are none of t-SNE's
    counted = rf"= [{k - 2}{k - 1}] \(n_samples = {k - 1}, n_features = 7\)"
    with pytest.raises(ValueError, match=rf"n_components={k} is more than .* {counted}"):
        method.load()(n_components=k).fit(X[: k - 1])


def test_rank_below_the_components_is_a_warning(method, rng):
    X = np.outer(rng.standard_normal(40), [1.0, -2.0, 1.5, 0.5, 1.0]) + (0.0 if method.name == "truncated_svd" else 1.0)
    with pytest.warns(lowland.RankWarning, match="rank 1"):
        model = flat(method, 3).fit(X)
    assert model.n_components_ == 1
    assert model.transform(X).shape == (40, 1)
    assert any("rank 1" in text for text in model.fit_info_.warnings)


@pytest.mark.parametrize("use", ["fit", "fit_transform"])
def test_warnings_point_to_the_line_that_called(method, rng, use):
    X = np.outer(rng.standard_normal(40), [1.0, -2.0, 1.5])
    with pytest.warns(lowland.RankWarning) as caught:
        getattr(flat(method, 2), use)(X)
    assert [warning.filename for warning in caught] == [__file__]


def test_rank_zero_is_an_error(method):
    if method.name == "random_projection":
        pytest.skip("its map does not depend on the rows")
    value = 0.0 if method.name == "truncated_svd" else 3.7
    with pytest.raises(lowland.DataError, match="rank 0"):
        method.load()(**sized(method, 1)).fit(np.full((20, 4), value))


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")  # of 40 like columns, maps of two say little
def test_same_bits_on_any_number_of_threads(method, rng):
    known = method.load()._parameters
    graph, marked = "n_neighbors" in known or "perplexity" in known, "landmarks" in known
    X = rng.standard_normal((700 if graph or marked else 30_000, 40)) * np.linspace(3, 1, 40)
    for parameters in ({"landmarks": 150}, {"landmarks": None}) if marked else ({},):
        results = []
        for threads in (1, 2, 3):
            with lowland.config(threads=threads):
                results.append(build(method, **parameters).fit(X).transform(X))
        for threads in (1, 2):
            with threadpool_limits(threads, "blas"):
                results.append(build(method, **parameters).fit(X).transform(X))
        assert all(np.array_equal(results[0], other) for other in results[1:])


def test_parameters_only_store_and_are_checked(method, X):
    first = next(iter(method.load()._parameters))
    model = method.load()(**{first: "nonsense"})
    assert getattr(model, first) == "nonsense"
    with pytest.raises(ValueError, match=rf"{first} must be .*; got 'nonsense'"):
        model.fit(X)
    assert set(method.load()._parameters) == set(method.load()().get_params())


@pytest.mark.filterwarnings("ignore::lowland.NotConvergedWarning")  # of 60 rows HessianLLE knows one axis loosely
@pytest.mark.filterwarnings("ignore:.*nearly in one place:lowland.LowlandWarning")  # and LTSA sets a few of them apart
def test_clone_copy_pipeline_and_search(method, X):
    model = build(method).fit(X)
    assert clone(model).get_params() == model.get_params()
    np.testing.assert_array_equal(copy.deepcopy(model).transform(X), model.transform(X))
    chain = make_pipeline(StandardScaler(), build(method)).fit(X)
    assert chain.transform(X).shape == (N, 2)
    if not sized(method, 1):
        return
    grid = GridSearchCV(build(method), {"n_components": [1, 3]}, scoring=lambda m, X: m.n_components_, cv=3).fit(X)
    assert grid.best_params_ == {"n_components": 3}


def test_output_names(method, X):
    model = build(method).set_output(transform="pandas").fit(X)
    frame = model.transform(X)
    assert list(frame.columns) == list(model.get_feature_names_out())
    assert len(frame.columns) == 2


def test_fit_info_is_an_immutable_record(method, X):
    info = build(method).fit(X).fit_info_
    with pytest.raises(dataclasses.FrozenInstanceError):
        info.solver = "other"
    with pytest.raises(TypeError):
        info.seconds["solve"] = 0.0
    assert info.method == method.class_name
    if hasattr(method.load(), "eigenvalues_") or "singular_values_" in method.load()._state:
        assert info.residual < 1e-10  # the measured one of eigenpairs
    assert "algorithm" in str(info)
    assert lowland.FitInfo.from_dict(info.to_dict()) == info


def test_plan_agrees_with_the_fit(method, X):
    model = build(method)
    plan = lowland.plan(model, X)
    again = lowland.plan(model, shape=X.shape)
    assert (plan.bytes, plan.algorithm) == (again.bytes, again.algorithm)
    assert plan.seconds > 0
    assert plan.model_bytes > 0
    assert model.fit(X).fit_info_.approximate == plan.approximate


def test_memory_limit_refuses_before_work(method, X):
    model = build(method)
    with (
        lowland.config(memory_limit=1000),
        pytest.raises(lowland.MemoryLimitError, match=r"limit is 1 kB.*memory_limit="),
    ):
        model.fit(X)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_cancel_leaves_the_model_unfitted(method, rng):
    X = rng.standard_normal((40_000, 30))
    seen = []

    def stop(stage, done, total):
        seen.append(stage)
        return len(seen) < 2

    model = build(method)
    with lowland.config(progress=stop), pytest.raises(lowland.Cancelled):
        model.fit(X)
    assert seen
    assert not [name for name in vars(model) if name.endswith("_")]


def test_training_rows_return_their_embedding(method, X):
    model = build(method)
    np.testing.assert_allclose(model.fit_transform(X), model.transform(X), atol=1e-12)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        pytest.param(row, {parameter: name}, id=f"{row.name}-{name}")
        for row in METHODS
        for parameter, names in COMPARISONS.items()
        if parameter in row.load()._parameters
        for name in names
    ],
)
@pytest.mark.filterwarnings("ignore::lowland.NotConvergedWarning")  # MVU: no points have such distances exactly
@pytest.mark.filterwarnings("ignore:.*nearly in one place:lowland.LowlandWarning")  # angles of clouds far from zero
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_way_to_compare_rows_keeps_the_contract(method, options, X, dtype):
    X = X.astype(dtype)
    model = build(method, **options)
    Y = model.fit_transform(X)
    assert Y.dtype == dtype
    want = Y.astype(np.float64)
    same_rows(model.transform(X), want, dtype)
    same_rows(np.vstack([model.transform(X[i : i + 1]) for i in range(0, N, 9)]), want[::9], dtype)
    new = X[:30] + dtype(0.1)
    whole = model.transform(new).astype(np.float64)
    same_rows(np.vstack([model.transform(new[i : i + 1]) for i in range(0, 30, 3)]), whole[::3], dtype)
    for kind in (np.asfortranarray, lambda X: pd.DataFrame(X, columns=list("abcdefg"))):
        other = build(method, **options)
        same_rows(other.fit_transform(kind(X)), want, dtype)
        same_rows(other.transform(kind(new)), whole, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_model_does_not_change_with_the_callers_array(method, X, dtype):
    given, new = X.astype(dtype), X[::2].astype(dtype)
    model = build(method).fit(given)
    before = model.transform(new)
    given[:] = 0.0
    np.testing.assert_array_equal(model.transform(new), before)


def test_learned_arrays_lie_in_memory_as_a_model_file_gives_them_back(method, X):
    """Products of arrays in another order may differ in the last bit, on some machines."""

    def strided(name, value):
        if isinstance(value, dict):
            return [bad for key, inner in value.items() for bad in strided(f"{name}[{key!r}]", inner)]
        if isinstance(value, list):
            return [bad for i, inner in enumerate(value) for bad in strided(f"{name}[{i}]", inner)]
        return [name] if isinstance(value, np.ndarray) and not value.flags.c_contiguous else []

    model = build(method).fit(X)
    assert [bad for name in model._state if name in vars(model) for bad in strided(name, vars(model)[name])] == []


def test_inverse_is_a_projection(method, X):
    if method.family != "linear":
        pytest.skip("only a linear map and its inverse project")
    model = build(method).fit(X)
    once = model.inverse_transform(model.transform(X))
    if method.name != "probabilistic_pca":  # its mean shrinks towards the centre
        np.testing.assert_allclose(model.inverse_transform(model.transform(once)), once, atol=1e-10)


def test_the_registry_tells_the_truth(method):
    cls = method.load()
    assert getattr(lowland, method.class_name) is cls
    takes = {"metric": "rows, objects or distances", "kernel": "rows, objects or kernel"}
    if method.needs != "rows or categories":
        named = method.family != "linear"  # a linear map needs rows, however it finds their neighbours
        assert method.needs == next((takes[name] for name in takes if named and name in cls._parameters), "rows")


def without_rows(X):
    """Tables of the columns of X that have no rows."""
    names = list("abcdefg")
    yield X[:0]
    yield X[:0].astype(np.int64)
    yield np.asfortranarray(X[:0])
    yield pd.DataFrame(X[:0], columns=names)
    yield pd.DataFrame(columns=names)
    yield pl.DataFrame(X[:0], schema=names)
    yield pa.table({name: X[:0, j] for j, name in enumerate(names)})
    yield RowSource.from_array(X[:0])


@pytest.mark.filterwarnings("ignore:X .* have .*valid feature names:UserWarning")  # a table without names
def test_no_rows_give_no_rows(method, X):
    model = build(method).fit(pd.DataFrame(X, columns=list("abcdefg")))
    for table in without_rows(X):
        got = model.transform(table)
        assert got.shape == (0, model.n_components_)
        assert got.dtype == np.float64
    assert model.transform(X[:0].astype(np.float32)).dtype == np.float32
    if "sparse" in method.abilities:
        assert model.transform(sp.csr_array(X[:0])).shape == (0, model.n_components_)
    if "inverse" in method.abilities:
        for dtype in (np.float64, np.float32):
            back = model.inverse_transform(np.empty((0, model.n_components_), dtype=dtype))
            assert back.shape == (0, D)
            assert back.dtype == (np.float64 if method.family == "manifold" else dtype)  # means of training rows
    with pytest.raises(lowland.DataError, match="has 6 features, but"):
        model.transform(X[:0, :6])
    with pytest.raises(lowland.DataError, match=r"0 sample\(s\)"):
        build(method).fit(X[:0])


def test_no_rows_of_another_library_give_no_rows(method, X, backend):
    given = backend(X)
    got = build(method).fit(given).transform(given[:0])
    assert type(got) is type(given)
    assert tuple(got.shape) == (0, 2)


def test_no_rows_of_categories_distances_and_objects(rng):
    table = pd.DataFrame({"a": rng.standard_normal(30), "b": list("xyz") * 10, "c": rng.standard_normal(30)})
    famd = lowland.FAMD().fit(table)
    assert famd.transform(table[:0]).shape == (0, 2)
    assert famd.inverse_transform(np.empty((0, 2))).shape == (0, 3)
    distances = np.abs(np.subtract.outer(table["a"].to_numpy(), table["a"].to_numpy()))
    for model in (lowland.ClassicalMDS(1, metric="precomputed"), lowland.Isomap(1, metric="precomputed")):
        assert model.fit(distances).transform(distances[:0]).shape == (0, 1)
    words = lowland.KernelPCA(kernel=lambda a, b: float(len({*a} & {*b}))).fit(["abc", "abd", "bcd", "cde"])
    assert words.transform(np.array([], dtype=object)).shape == (0, 2)
    with pytest.raises(lowland.DataError, match=r"0 sample\(s\)"):  # a mean of no rows
        lowland.KernelPCA().fit(table[["a", "c"]]).score(table[["a", "c"]][:0])
