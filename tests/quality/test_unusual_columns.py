"""The columns that make a new row novel: planted ones are found, in the columns of the table, before any step."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import lowland
from lowland.methods.steps.origins import origins
from lowland.quality import keep_row_tails, novelty
from sample_tables import plane


@pytest.fixture(scope="module", autouse=True)
def tails():
    """Fits keep the tails of their rows."""
    with keep_row_tails():
        yield


def patients(n: int = 300, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    health = rng.standard_normal(n)
    days = rng.integers(0, 365, n)
    return pl.DataFrame(
        {
            "age": 55 + 10 * health + 5 * rng.standard_normal(n),
            "crp": np.exp(health + 0.5 * rng.standard_normal(n)),
            "albumin": 40 - 3 * health + rng.standard_normal(n),
            "ward": rng.choice(["a", "b", "c"], n),
            "sex": rng.choice(["f", "m"], n),
            "admitted": [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(d)) for d in days],
        }
    )


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("column", range(8))
def test_a_value_off_the_plane_is_named_with_its_value(column: int, scale: bool) -> None:
    model = lowland.PCA(2, scale=scale).fit(plane(500))
    new = plane(20, seed=1)
    new[7, column] += 9.0
    found = novelty(model, new)
    assert found.novel[7]
    odd = found.unusual[7][0]
    assert (odd.column, odd.measure) == (f"x{column}", "spe")
    assert odd.value == new[7, column]
    assert odd.share > 0.5
    assert all(row == () for row, novel in zip(found.unusual, found.novel, strict=True) if not novel)


@pytest.mark.parametrize("options", [{}, {"categories": "famd"}])
def test_a_number_beyond_its_own_limit_is_listed_alone(options: dict) -> None:
    rng = np.random.default_rng(0)
    common = rng.standard_normal((300, 1))
    table = pl.DataFrame(common + 0.4 * rng.standard_normal((300, 4)), schema=["a", "b", "c", "d"])
    if options:
        table = table.with_columns(pl.Series("kind", rng.choice(["u", "v"], 300)))
    model = lowland.recipe(lowland.PCA(2, scale=not options), **options).fit(table)
    new = table.head(5).with_columns(
        pl.Series("a", [*table["a"][:2], 60.0, table["a"][3], 60.0]),
        pl.Series("c", [*table["c"][:4], -60.0]),
    )
    found = novelty(model, new)
    assert [odd.column for odd in found.unusual[2]] == ["a"], "b, c and d have residuals that a causes"
    assert {odd.column for odd in found.unusual[4]} == {"a", "c"}


def test_shares_are_of_the_measure_and_add_up_to_one_at_most() -> None:
    X = plane(500)
    model = lowland.PCA(2).fit(X)
    new = np.vstack([model.inverse_transform([[30.0, 10.0]]), X[1:2]])
    new[1, 3] += 9.0
    found = novelty(model, new)
    assert [row[0].measure for row in found.unusual] == ["t2", "spe"]
    z = new[1] - model.mean_
    e = z - model.components_.T @ (model.components_ @ z)
    assert found.unusual[1][0].share == pytest.approx(e[3] ** 2 / (e @ e))
    V, values = model.components_.T, model.explained_variance_
    parts = (new[0] - model.mean_) * (V @ ((new[0] - model.mean_) @ V / values))
    assert parts.sum() == pytest.approx(found.t2[0])
    best = np.argsort(-parts)[: len(found.unusual[0])]
    assert [odd.column for odd in found.unusual[0]] == [f"x{j}" for j in best]
    assert [odd.share for odd in found.unusual[0]] == pytest.approx(parts[best] / parts.sum())


@pytest.mark.parametrize("metric", ["euclidean", "seuclidean", "cityblock", "cosine"])
def test_distances_are_explained_by_the_nearest_training_row(metric: str) -> None:
    rng = np.random.default_rng(0)
    X = 10 + rng.standard_normal((300, 6))
    new = X[:3] + 0.01
    new[1, 4] += 60
    found = novelty(lowland.Isomap(2, n_neighbors=12, metric=metric).fit(X), new)
    assert found.novel.tolist() == [False, True, False]
    odd = found.unusual[1][0]
    assert (odd.column, odd.measure, odd.value) == ("x4", "distance", new[1, 4])


def test_training_rows_that_are_given_explain_distances_of_sparse_rows() -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 30), density=0.2, rng=rng, format="csr")
    new = X[:2].tolil()
    new[1, 11] = 40.0
    found = novelty(lowland.TruncatedSVD(3).fit(X), new.tocsr(), X_train=X)
    assert [odd.column for odd in found.unusual[1]] == ["x11"]
    assert found.unusual[1][0].value == 40.0


def test_metrics_that_are_no_sums_over_columns_have_no_unusual_columns() -> None:
    X = plane(200)
    found = novelty(lowland.Isomap(2, n_neighbors=12, metric="chebyshev").fit(X), X[:1] + 100)
    assert found.novel[0]
    assert found.unusual == ((),)
    assert found.table()["unusual"].to_list() == [None]


RECIPES = {
    "one-hot": {"categories": "one-hot", "scale": "standard"},
    "famd": {"categories": "famd"},
    "pre": {"categories": "one-hot", "scale": "standard", "pre": "pca:7"},
    "cyclic": {"categories": "one-hot", "scale": "standard", "dates": "cyclic"},
}


@pytest.mark.parametrize("options", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize("method", [lowland.Isomap(2, n_neighbors=12), lowland.PCA(2)], ids=["isomap", "pca"])
def test_recipes_name_the_columns_of_the_table(method: object, options: dict) -> None:
    table = patients()
    model = lowland.recipe(method, transform={"log": ["crp"]}, **options).fit(table)
    new = patients(5, seed=1)
    new[3, "age"] = 400.0
    found = novelty(model, new.select(reversed(new.columns)))
    assert found.novel.tolist() == [False, False, False, True, False]
    odd = found.unusual[3][0]
    assert (odd.column, odd.value) == ("age", 400.0)
    assert str(odd) == "age = 400"


@pytest.mark.parametrize("categories", ["one-hot", "famd"])
def test_a_rare_level_is_named_with_its_category(categories: str) -> None:
    table = patients(400).drop("admitted", "crp").with_columns(ward=pl.Series(["rare"] + ["a", "b", "b"] * 133))
    scale = "standard" if categories == "one-hot" else None
    model = lowland.recipe(lowland.PCA(2), categories=categories, scale=scale).fit(table)
    odd = novelty(model, table[:1]).unusual[0][0]
    assert (odd.column, odd.value) == ("ward", "rare")


def test_famd_names_categories_with_their_level() -> None:
    table = patients(400).drop("admitted", "crp").with_columns(ward=pl.Series(["rare"] + ["a", "b", "b"] * 133))
    found = novelty(lowland.FAMD(2).fit(table), table[:1])
    assert found.novel[0]
    assert (found.unusual[0][0].column, found.unusual[0][0].value) == ("ward", "rare")


def test_dates_are_named_as_dates() -> None:
    table = patients()
    model = lowland.recipe(lowland.PCA(2), categories="drop", scale="standard").fit(table)
    new = table[:1].with_columns(admitted=datetime.date(2060, 1, 1))
    odd = novelty(model, new).unusual[0][0]
    assert (odd.column, odd.value) == ("admitted", datetime.date(2060, 1, 1))
    assert str(odd) == "admitted = 2060-01-01"


def test_the_trace_ends_at_a_method_that_is_not_linear() -> None:
    table = patients().select("age", "crp", "albumin")
    model = lowland.recipe(lowland.PCA(1), pre=lowland.Isomap(2, n_neighbors=12), scale="standard").fit(table)
    found = origins([step for _, step in model.steps[:-1]], ["isomap0", "isomap1"])
    assert (found.names, found.from_table) == (["isomap0", "isomap1"], False)


def test_blocks_are_explained_as_a_whole_table_is() -> None:
    X, new = plane(300), plane(50, seed=1) * 4
    model = lowland.PCA(2).fit(X)
    whole = novelty(model, new)
    assert novelty(model, iter([new[:20], new[20:]])).unusual == whole.unusual
    assert whole.unusual_columns
    assert "Most frequent unusual columns: " in whole.sentence
    new[7, 1] = 512000.0
    found = novelty(model, new)
    assert f"Most extreme: row 7 ({', '.join(map(str, found.unusual[7]))}). Most frequent" in found.sentence


def test_a_median_that_is_rounding_is_zero():
    from lowland.quality.odd_columns import odd_columns

    some = np.random.default_rng(0).standard_normal((101, 1)) * 10
    some -= np.median(some)
    some += 7.1e-15
    ((odd,),) = odd_columns(np.array([[900.0]]), some, ["sum"])
    assert str(odd) == "sum = 900 (median 0)"
