"""Columns and rows on axes: identities, R's prcomp, and one definition for every method."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn import decomposition
from sklearn.datasets import load_iris, load_wine

import lowland
from lowland import quality
from lowland.core.errors import DataError, DominantColumnWarning

REFERENCE = Path(__file__).resolve().parent.parent / "data" / "r"


@pytest.fixture(scope="module")
def wine():
    X = load_wine().data
    return 3 + X / X.std(axis=0) * np.linspace(1, 2, 13)  # no column owns the variance


@pytest.fixture
def table(rng):
    kind = rng.choice(["a", "b", "c"], 80)
    size = rng.normal(0, 1, 80) + 2.0 * (kind == "a")
    return pl.DataFrame({"size": size, "weight": size + rng.normal(0, 0.7, 80), "kind": kind})


def corrcoef(Z, Y):
    return np.corrcoef(np.hstack([Z, Y]), rowvar=False)[: Z.shape[1], Z.shape[1] :]


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("whiten", [False, True])
def test_correlations_are_those_of_columns_and_coordinates(wine, scale, whiten):
    model = lowland.PCA(4, scale=scale, whiten=whiten).fit(wine)
    found = quality.column_correlations(model, wine)
    np.testing.assert_allclose(found.values, corrcoef(wine, model.transform(wine)), rtol=0, atol=1e-10)
    np.testing.assert_allclose(quality.column_cos2(model, wine).values, found.values**2, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [lowland.ICA(3, random_state=0), lowland.LPP(3), lowland.NPE(3), lowland.KernelPCA(3), lowland.ProbabilisticPCA(3)],
    ids=lambda model: type(model).__name__,
)
def test_correlations_exist_for_every_method(wine, model):
    rows = (wine - wine.mean(axis=0)) / wine.std(axis=0)
    model.fit(rows)
    found = quality.column_correlations(model, rows)
    np.testing.assert_allclose(found.values, corrcoef(rows, model.transform(rows)), rtol=0, atol=1e-10)
    again = quality.column_correlations(model.transform(rows), rows)
    np.testing.assert_allclose(again.values, found.values, atol=1e-12)


@pytest.mark.parametrize("scale", [False, True])
def test_loadings_contributions_and_cos2_of_pca_keep_their_identities(wine, scale):
    model = lowland.PCA(scale=scale).fit(wine)
    L = quality.column_loadings(model).values
    np.testing.assert_allclose(L, model.loadings_, atol=1e-12)
    np.testing.assert_allclose((L**2).sum(axis=0), model.explained_variance_)
    shares = quality.column_contributions(model)
    np.testing.assert_allclose(shares.values, 100 * model.components_.T**2, atol=1e-10)
    np.testing.assert_allclose(shares.values.sum(axis=0), 100)
    np.testing.assert_allclose(quality.column_cos2(model, wine).values.sum(axis=1), 1)
    np.testing.assert_allclose(quality.row_cos2(model, wine).values.sum(axis=1), 1)
    np.testing.assert_allclose(quality.row_cos2(model, wine).values, model.cos2(wine), atol=1e-12)
    rows = quality.row_contributions(model, wine)
    np.testing.assert_allclose(rows.values, 100 * model.contributions(wine), atol=1e-10)
    np.testing.assert_allclose(rows.values.sum(axis=0), 100)


def test_several_axes_are_weighted_by_their_variances(wine):
    model = lowland.PCA(4, scale=True).fit(wine)
    table, λ = quality.column_contributions(model), model.explained_variance_
    both = table.combined((1, 3))
    np.testing.assert_allclose(both, (table.values[:, 0] * λ[0] + table.values[:, 2] * λ[2]) / (λ[0] + λ[2]))
    assert both.sum() == pytest.approx(100)
    cos2 = quality.column_cos2(model, wine)
    np.testing.assert_allclose(cos2.combined((1, 2)), cos2.values[:, :2].sum(axis=1))
    frame = cos2.to_frame()
    assert frame.columns == ["name", "PCA 1", "PCA 2", "PCA 3", "PCA 4"]
    np.testing.assert_array_equal(np.asarray(cos2), cos2.values)


@pytest.mark.parametrize(("name", "scale"), [("scaled", True), ("unscaled", False)])
def test_numbers_agree_with_prcomp(name, scale):
    want = json.loads((REFERENCE / "results.json").read_text())[f"prcomp_USArrests_{name}"]
    V, sdev = np.array(want["rotation"]["values"]), np.array(want["sdev"])
    frame = pl.read_csv(REFERENCE / "USArrests.csv").select(pl.exclude("row"))
    frame = frame.select(
        pl.all().str.strip_chars().cast(pl.Float64) if frame.dtypes[0] == pl.String else pl.all().cast(pl.Float64)
    )
    X = frame.to_numpy()
    model = lowland.PCA(scale=scale)
    model = model.fit(frame) if scale else silently(model, frame)
    contributions, loadings = quality.column_contributions(model), quality.column_loadings(model)
    assert contributions.names == tuple(want["rotation"]["rownames"])
    np.testing.assert_allclose(contributions.values, 100 * V**2, atol=1e-8)
    np.testing.assert_allclose(np.abs(loadings.values), np.abs(V * sdev), atol=1e-8 * sdev[0])
    sd = np.ones(4) if scale else X.std(axis=0, ddof=1)
    found = quality.column_correlations(model, frame).values
    np.testing.assert_allclose(np.abs(found), np.abs(V * sdev / sd[:, None]), atol=1e-8)


def silently(model, X):
    with pytest.warns(DominantColumnWarning):  # 97 % of the variance is in Assault
        return model.fit(X)


def test_truncated_svd_is_measured_from_zero():
    X = np.abs(np.random.default_rng(0).normal(2, 1, (40, 5)))
    model = lowland.TruncatedSVD(5).fit(X)
    np.testing.assert_allclose(quality.column_cos2(model, X).values.sum(axis=1), 1)
    np.testing.assert_allclose(quality.row_cos2(model, X).values.sum(axis=1), 1)
    np.testing.assert_allclose(quality.column_contributions(model).values, 100 * model.components_.T**2)
    L = quality.column_loadings(model).values
    np.testing.assert_allclose(L @ L.T, X.T @ X / len(X), atol=1e-10)
    plain = decomposition.TruncatedSVD(4, algorithm="arpack", random_state=0).fit(X)  # has no number of rows
    np.testing.assert_allclose(quality.row_cos2(plain, X).values, quality.row_cos2(model, X).values[:, :4], atol=1e-8)


def test_famd_has_columns_and_levels(table):
    model = lowland.FAMD(4).fit(table)
    assert model.n_components_ == 4  # 2 numbers and 3 levels less one: all axes
    columns = quality.column_contributions(model)
    assert columns.names == ("size", "weight", "kind")
    np.testing.assert_allclose(columns.values, 100 * model.contributions(), atol=1e-10)
    related = quality.column_relationships(model)
    np.testing.assert_allclose(related.values, model.column_coordinates(), atol=1e-12)
    numbers = lowland.PCA(2, scale=True).fit(table.select("size", "weight"))
    np.testing.assert_allclose(
        quality.column_relationships(numbers, table.select("size", "weight")).values.sum(axis=1), 1
    )
    levels = quality.column_contributions(model, levels=True)
    assert levels.names == tuple(model.coded_names_)
    np.testing.assert_allclose(levels.values.sum(axis=0), 100)
    r2 = quality.column_cos2(model, table)
    np.testing.assert_allclose(r2.values[:2], model.column_coordinates()[:2], atol=1e-10)
    np.testing.assert_allclose(r2.values.sum(axis=1), 1)
    np.testing.assert_allclose(quality.row_cos2(model, table).values.sum(axis=1), 1)
    # as in multiple correspondence analysis: the squared coordinate of a level over its squared distance (1 − p)/p
    centres, p = model.category_coordinates()["kind"] / np.sqrt(model.eigenvalues_), model.mean_[2:]
    np.testing.assert_allclose(r2.values[2:], centres**2 * (p / (1 - p))[:, None], atol=1e-10)


@pytest.mark.parametrize("method", [lowland.ICA(3, random_state=0), lowland.LPP(3), lowland.NPE(3)])
def test_methods_without_orthonormal_components_use_the_rows(wine, method):
    rows = (wine - wine.mean(axis=0)) / wine.std(axis=0)
    model = method.fit(rows)
    Y = model.transform(rows)
    want = np.cov(np.hstack([rows, Y / Y.std(axis=0, ddof=1)]), rowvar=False)[:13, 13:]
    np.testing.assert_allclose(quality.column_loadings(model, rows).values, want, atol=1e-10)
    shares = quality.column_contributions(model, rows)
    np.testing.assert_allclose(shares.values, 100 * want**2 / (want**2).sum(axis=0))
    with pytest.raises(DataError, match="needs the rows, X"):
        quality.column_contributions(model)
    with pytest.raises(ValueError, match="no orthonormal components"):
        quality.row_cos2(model, rows)
    assert quality.row_contributions(model, rows).values.sum(axis=0) == pytest.approx([100, 100, 100])


def test_a_recipe_has_the_columns_after_its_preprocessing(table):
    model = lowland.recipe(lowland.PCA(4), categories="one-hot", scale="standard").fit(table)
    Z, Y = model[:-1].transform(table).to_numpy(), model.transform(table)
    found = quality.column_correlations(model, table)
    assert found.names == tuple(model[:-1].get_feature_names_out())
    np.testing.assert_allclose(found.values, corrcoef(Z, Y), atol=1e-10)
    np.testing.assert_allclose(quality.row_cos2(model, table).values.sum(axis=1), 1)


def test_a_method_before_the_method_counts_as_loss(wine):
    model = lowland.recipe(lowland.PCA(2), scale="standard", pre="pca:3").fit(wine)
    direct = lowland.recipe(lowland.PCA(2), scale="standard").fit(wine)
    for function in (quality.row_cos2, quality.column_correlations, quality.column_contributions):
        np.testing.assert_allclose(
            np.abs(function(model, wine).values), np.abs(function(direct, wine).values), atol=1e-9
        )
    assert quality.column_correlations(model, wine).names[0] == "x0"


def test_missing_values_are_filled_by_the_model(wine):
    X = (wine - wine.mean(axis=0)) / wine.std(axis=0)
    X[3, 1] = np.nan
    model = lowland.ProbabilisticPCA(2).fit(X)
    found = quality.column_correlations(model, X)
    np.testing.assert_allclose(found.values, corrcoef(model.fill(X), model.transform(X)), atol=1e-10)


def test_other_libraries_and_extreme_units(wine):
    plain = decomposition.PCA(3).fit(wine)
    ours = lowland.PCA(3).fit(wine)
    for function in (quality.column_correlations, quality.column_contributions, quality.row_cos2):
        np.testing.assert_allclose(
            np.abs(function(plain, wine).values), np.abs(function(ours, wine).values), atol=1e-10
        )
    large = quality.column_correlations(ours.transform(wine) * 1e200, wine * 1e200)
    np.testing.assert_allclose(large.values, quality.column_correlations(ours, wine).values, atol=1e-10)


def test_constant_columns_have_no_correlation(wine):
    X = np.column_stack([wine[:, :3], np.full(len(wine), 0.1)])
    assert quality.column_correlations(lowland.PCA(2).fit(X), X).values[3].tolist() == [0, 0]


def test_bad_input_names_the_place_and_the_remedy(wine):
    model = lowland.PCA(2, scale=True).fit(wine)
    with pytest.raises(ValueError, match=r"axis 3 was not kept \(n_components = 2\); fit with n_components=3"):
        quality.column_contributions(model).combined((1, 3))
    for axes, text in (((0,), "counted from 1; got 0"), ((1, 1), "different"), ((), "one or more"), ((1.5,), "whole")):
        with pytest.raises(ValueError, match=text):
            quality.column_contributions(model).combined(axes)
    with pytest.raises(ValueError, match="KernelPCA has no components over columns"):
        quality.column_contributions(lowland.KernelPCA(2).fit(wine), wine)
    with pytest.raises(ValueError, match="levels=True is for FAMD"):
        quality.column_contributions(model, levels=True)
    with pytest.raises(DataError, match="100 rows, X has shape"):
        quality.column_correlations(np.ones((100, 2)), wine)
    with pytest.raises(ValueError, match="2 names for 178 rows"):
        quality.row_cos2(model, wine, names=["a", "b"])
    with pytest.raises(DataError, match="needs the rows, X"):
        quality.column_correlations(model, None)
    D = np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0)))
    with pytest.raises(DataError, match="pairwise values, which have no columns"):
        quality.column_correlations(lowland.ClassicalMDS(1, metric="precomputed").fit(D), D)


def test_variance_along_a_direction_has_its_maximum_at_the_first_axis(rng):
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    model = lowland.PCA().fit(X)
    np.testing.assert_allclose(quality.variance_along(X, model.components_ * 7), model.explained_variance_)
    assert quality.variance_along(X, rng.normal(size=(200, 3))).max() <= model.explained_variance_[0]
    for directions, text in (([0, 0, 0], "direction is zero"), ([1, 0], "3 columns, directions 2")):
        with pytest.raises(ValueError, match=text):
            quality.variance_along(X, directions)
    with pytest.raises(DataError, match="two or more rows"):
        quality.variance_along(X[:1], [1, 0, 0])


@pytest.mark.parametrize("model", [lowland.PCA(), lowland.PCA(whiten=True), lowland.TruncatedSVD(4), lowland.ICA(4)])
def test_rows_are_rebuilt_from_the_first_components(model):
    X = load_iris().data
    model.fit(X)
    found = quality.partial_reconstruction(model, X, (0, 2, 4))
    centre = np.zeros(4) if isinstance(model, lowland.TruncatedSVD) else X.mean(axis=0)
    np.testing.assert_allclose(found.rows[0], np.broadcast_to(centre, X.shape), atol=1e-10)
    np.testing.assert_allclose(found.rows[2], X, atol=1e-8)
    np.testing.assert_allclose(found.lost[0], 1)
    if not isinstance(model, lowland.ICA):
        V = model.components_[:2]
        np.testing.assert_allclose(found.rows[1], (X - centre) @ V.T @ V + centre, atol=1e-8)
        np.testing.assert_allclose(found.lost[1] + quality.row_cos2(model, X).combined((1, 2)), 1, atol=1e-8)


def test_rebuilding_refuses_more_components_than_there_are(table):
    X = load_iris().data
    with pytest.raises(ValueError, match=r"n_components = 2\); got 3. To use more, fit with a larger n_components"):
        quality.partial_reconstruction(lowland.PCA(2).fit(X), X, (0, 3))
    with pytest.raises(ValueError, match="KernelPCA has no components with an inverse"):
        quality.partial_reconstruction(lowland.KernelPCA(2).fit(X), X, (0,))
    with pytest.raises(DataError, match="categories, which cannot be subtracted"):
        quality.partial_reconstruction(lowland.FAMD(2).fit(table), table, (0,))


@pytest.mark.parametrize("order", ["tree", "axis", "table"])
def test_correlations_are_ordered(order, rng):
    a, b = rng.normal(size=(2, 100))
    X = np.column_stack([a, b, a + 0.1 * rng.normal(size=100), b + 0.1 * rng.normal(size=100)])
    found = quality.ordered_correlations(X, order=order, names="abcd")
    np.testing.assert_allclose(found.values, np.corrcoef(X[:, found.order], rowvar=False), atol=1e-12)
    assert found.names == tuple("abcd"[j] for j in found.order)
    assert (found.order == (0, 1, 2, 3)) == (order == "table")
    if order == "tree":
        assert {frozenset(found.order[:2]), frozenset(found.order[2:])} == {frozenset({0, 2}), frozenset({1, 3})}
    if order == "axis":
        weights = lowland.PCA(1, scale=True).fit(X).components_[0][list(found.order)]
        assert (np.diff(weights) <= 0).all()


def test_correlations_of_bad_tables_are_refused():
    X = np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 1.0], [4.0, 2.0, np.nan]])
    with pytest.raises(DataError, match="column 'x2' has missing"):
        quality.ordered_correlations(X)
    with pytest.raises(DataError, match="column 'x1' is constant"):
        quality.ordered_correlations(X[:, :2])
    with pytest.raises(ValueError, match="order must be one of 'tree', 'absolute', 'axis', 'table'; got 'size'"):
        quality.ordered_correlations(X[:, :1], order="size")
    with pytest.raises(DataError, match="two or more rows and columns"):
        quality.ordered_correlations(X[:, :1])
    with pytest.raises(ValueError, match="1 names for 3 columns"):
        quality.ordered_correlations(X, names=["a"])
