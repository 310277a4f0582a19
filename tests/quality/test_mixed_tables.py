"""Tables with categories: quality, novelty and outliers in the metric of FAMD, and recipes in their own space."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.spatial.distance import pdist, squareform

import lowland
from lowland import quality
from lowland.quality import keep_row_tails


@pytest.fixture(scope="module", autouse=True)
def tails():
    """Fits keep the tails of their rows."""
    with keep_row_tails():
        yield


def mixed(seed, n):
    rng = np.random.default_rng(seed)
    health = rng.standard_normal(n)
    return pl.DataFrame(
        {
            "a": health + rng.standard_normal(n),
            "b": 200 * health + 100 * rng.standard_normal(n),
            "c": rng.standard_normal(n),
            "d": -health + 0.5 * rng.standard_normal(n),
            "sex": np.where(health + rng.standard_normal(n) > 0, "f", "m"),
            "kind": rng.choice(list("wxyz"), n, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


def by_hand(frame):
    """Return FAMD's coding of a table: standardised numbers, and indicators less their share over its root."""
    numbers = frame.select("a", "b", "c", "d").to_numpy()
    Z = [(numbers - numbers.mean(axis=0)) / numbers.std(axis=0)]
    for name in ("sex", "kind"):
        one = frame[name].to_dummies().to_numpy().astype(float)
        Z.append((one - one.mean(axis=0)) / np.sqrt(one.mean(axis=0)))
    return np.hstack(Z)


@pytest.fixture(scope="module")
def frame():
    return mixed(0, 300)


@pytest.fixture(scope="module")
def famd(frame):
    return lowland.FAMD(2).fit(frame)


def test_coded_rows_are_famds(frame, famd):
    Z = famd.coded(frame)
    hand = by_hand(frame)
    np.testing.assert_allclose(Z @ Z.T, hand @ hand.T, atol=1e-9)
    assert Z.shape == (300, len(famd.coded_names_))
    np.testing.assert_allclose(Z @ famd.components_.T, famd.transform(frame), atol=1e-10)


@pytest.mark.parametrize("convert", [pl.DataFrame.clone, pl.DataFrame.to_pandas], ids=["polars", "pandas"])
def test_report_is_that_of_famds_distances(frame, famd, convert):
    Y = famd.transform(frame)
    found = quality.report(convert(frame), Y)
    assert found.metric == "famd"
    square = squareform(pdist(by_hand(frame)))
    theirs = quality.report(square, Y, metric="precomputed")
    for name in ("trustworthiness", "continuity", "spearman", "pearson", "stress"):
        np.testing.assert_allclose(found[name], theirs[name], rtol=1e-6, err_msg=name)
    np.testing.assert_allclose(quality.trustworthiness(convert(frame), Y), found["trustworthiness"], rtol=1e-9)
    np.testing.assert_allclose(quality.distance_correlation(convert(frame), Y), found["pearson"], rtol=1e-6)


def test_metric_famd_scales_numbers(frame):
    numbers = frame.select("a", "b", "c")
    Y = lowland.PCA(2, scale=True).fit_transform(numbers)
    scaled = (numbers.to_numpy() - numbers.to_numpy().mean(axis=0)) / numbers.to_numpy().std(axis=0)
    found, theirs = quality.report(numbers, Y, metric="famd"), quality.report(scaled, Y)
    np.testing.assert_allclose(found["trustworthiness"], theirs["trustworthiness"], rtol=1e-9)


def odd_rows(frame):
    return frame[:40].with_columns(pl.col("a") * 8, pl.col("b") * -6)


@pytest.mark.parametrize("kind", ["famd", "recipe pca", "recipe isomap", "recipe one-hot"])
def test_novelty(frame, famd, kind):
    if kind == "famd":
        model = famd
    else:
        method = lowland.Isomap(2, n_neighbors=10) if "isomap" in kind else lowland.PCA(2)
        options = {"categories": "one-hot", "scale": "standard"} if "one-hot" in kind else {"categories": "famd"}
        model = lowland.recipe(method, **options).fit(frame)
    new = mixed(1, 2000)
    found = quality.novelty(model, new, frame)
    assert found.novel.mean() <= 0.005
    assert quality.novelty(model, odd_rows(new), frame).novel.mean() > 0.5
    assert set(found.limits) >= {"distance"}
    if "isomap" not in kind:
        assert set(found.limits) == {"t2", "spe", "distance", "cell"}
    for i in (0, 7):
        one = quality.novelty(model, new[i : i + 1], frame)
        np.testing.assert_allclose(one.distance[0], found.distance[i], rtol=1e-9)
    named = new[:30].to_pandas().set_index(pd.Index([f"p{i}" for i in range(30)]))
    assert quality.novelty(model, named, frame).names[3] == "p3"


def test_novelty_distances_are_famds(frame, famd):
    found = quality.novelty(famd, frame, frame, n_neighbors=1)
    D = squareform(pdist(by_hand(frame)))
    np.fill_diagonal(D, np.inf)
    assert (found.distance <= D.min(axis=1) + 1e-9).all()
    np.testing.assert_allclose(found.t2, ((famd.transform(frame) ** 2) / famd.eigenvalues_).sum(axis=1) * 299 / 300)


def test_novelty_needs_a_method_at_the_end(frame):
    head = lowland.recipe(categories="famd").fit(frame)
    with pytest.raises(lowland.DataError, match="last step of the Pipeline is EncodeCategories"):
        quality.novelty(head, frame)


def test_outliers_of_a_mixed_table(frame):
    strange = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 17).then(-20.0).otherwise("a").alias("a"),
        pl.when(pl.int_range(pl.len()) == 33).then(pl.lit("rare")).otherwise("kind").alias("kind"),
    )
    found = quality.outliers(strange)
    assert set(found.rows) == {17, 33}
    columns = dict(zip(found.rows.tolist(), found.columns, strict=True))
    assert columns[17][0].column == "a"
    assert columns[17][0].value == pytest.approx(-20)
    assert columns[33][0].column == "kind=rare"
    other = strange.with_columns(pl.col("b") * 1000)  # the unit does not matter
    assert set(quality.outliers(other).rows) == {17, 33}
    space = lowland.recipe(categories="famd").fit_transform(strange)
    assert set(quality.outliers(space).rows) == {17, 33}
    named = quality.outliers(strange.to_pandas().set_index(pd.Index([f"p{i}" for i in range(300)])))
    assert named.names[17] == "p17"


def test_held_out_rows_of_a_recipe_and_of_famd(frame, famd):
    new = mixed(2, 80)
    model = lowland.recipe(lowland.PCA(2), categories="famd").fit(frame)
    found = quality.held_out(model, new, frame)
    assert found.space == "the rows after columns → dates → categories"
    space = model[:-1]
    direct = quality.held_out(model[-1], space.transform(new), space.transform(frame))
    assert {**found.measures} == {**direct.measures}
    own = quality.held_out(famd, new, frame)
    np.testing.assert_allclose(own["trustworthiness"], found["trustworthiness"], atol=1e-6)
    assert "reconstruction_error" not in own.measures
    pre = lowland.recipe(lowland.PCA(2), categories="one-hot", scale="standard", pre="pca:5").fit(frame)
    assert quality.held_out(pre, new, frame).space == "the rows after columns → dates → categories → scale"
