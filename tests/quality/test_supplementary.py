"""Supplementary columns on a map, beside R's vegan::envfit (2.6-4) on the axes of prcomp(iris, scale. = TRUE)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

import lowland
from lowland.quality import supplementary

SCORES = Path(__file__).parents[1] / "data" / "r" / "prcomp_iris_scaled_scores.csv"

# vegan::envfit(scores, iris, permutations = 0): direction and r² of each column
ARROWS = {
    "Sepal.Length": (0.809872696016724, -0.5866056735547339, 0.922598638090341),
    "Sepal.Width": (-0.280050665741865, -0.9599852210412086, 0.990919322141163),
    "Petal.Length": (0.999110899736275, -0.0421593409361613, 0.983729952812635),
    "Petal.Width": (0.993050631623079, -0.1176879052112100, 0.935280374955927),
}
CENTROIDS = {
    "setosa": (-2.217324915136810, -0.287962748989400),
    "versicolor": (0.494790440357863, 0.548333521629207),
    "virginica": (1.722534474778946, -0.260370772639807),
}


@pytest.fixture(scope="module")
def scores() -> np.ndarray:
    return np.loadtxt(SCORES, delimiter=",", skiprows=1, usecols=(1, 2), converters=lambda cell: float(cell.strip('"')))


@pytest.fixture(scope="module")
def iris() -> pl.DataFrame:
    """R's iris: the copy of scikit-learn differs from it in three cells."""
    table = lowland.data.read_table(Path(__file__).parents[1] / "data" / "r" / "iris.csv").frame
    kinds = load_iris().target_names[np.repeat(np.arange(3), 50)]
    return table.select(list(ARROWS)).with_columns(pl.Series("Species", kinds))


def test_numbers_as_envfit(scores: np.ndarray, iris: pl.DataFrame) -> None:
    found = supplementary(scores, iris, permutations=0).numbers
    for name, (x, y, r2) in ARROWS.items():
        np.testing.assert_allclose(found[name].direction, (x, y), rtol=1e-10)
        assert found[name].r2 == pytest.approx(r2, rel=1e-10)
        assert np.isnan(found[name].p)
        expected = [np.corrcoef(iris[name], scores[:, j])[0, 1] for j in (0, 1)]
        np.testing.assert_allclose(found[name].correlations, expected, atol=1e-13)


def test_categories_as_envfit(scores: np.ndarray, iris: pl.DataFrame) -> None:
    found = supplementary(scores, iris, permutations=0).categories["Species"]
    for level, point in CENTROIDS.items():
        np.testing.assert_allclose(found.centroids[level], point, rtol=1e-10)
    assert found.r2 == pytest.approx(0.751239547212252, rel=1e-10)
    np.testing.assert_allclose(found.eta2, (0.934616184564045, 0.165718240844205), rtol=1e-10)  # stats::aov
    assert dict(found.counts) == dict.fromkeys(CENTROIDS, 50)


def test_p_values_are_uniform_without_a_relation_and_small_with_one(scores: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    noise = {str(j): rng.standard_normal(150) for j in range(60)}
    p = [found.p for found in supplementary(scores, noise, permutations=199).columns.values()]
    assert 0.35 < np.mean(p) < 0.65
    assert min(p) >= 1 / 200
    related = supplementary(scores, {"z": scores[:, 1] + 0.1 * rng.standard_normal(150)}, permutations=199)
    assert related.columns["z"].p == 1 / 200
    labels = {"g": np.where(scores[:, 0] > 0, "a", "b"), "h": rng.choice(["a", "b"], 150)}
    groups = supplementary(scores, labels, permutations=199).columns
    assert groups["g"].p == 1 / 200
    assert groups["h"].p > 0.01


def test_a_column_has_its_figures_whatever_the_others(scores: np.ndarray, iris: pl.DataFrame) -> None:
    together, alone = supplementary(scores, iris), supplementary(scores, iris.select("Petal.Width"))
    assert together.columns["Petal.Width"] == alone.columns["Petal.Width"]
    assert set(together.to_dict()) == {*ARROWS, "Species"}


def test_rows_with_gaps_are_left_out(scores: np.ndarray) -> None:
    z = scores @ [3.0, 4.0] + 7.0
    z[::7] = np.nan
    found = supplementary(scores, {"z": z}, permutations=0).columns["z"]
    assert found.n_rows == 150 - 22
    np.testing.assert_allclose(found.direction, (0.6, 0.8), rtol=1e-12)
    assert found.r2 == pytest.approx(1.0, abs=1e-12)


def test_units_and_a_collinear_map_do_not_matter(scores: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    z = scores[:, 0] + rng.standard_normal(150)
    plain = supplementary(scores[:, :1], {"z": z}).columns["z"]
    double = supplementary(np.column_stack([scores[:, 0], 2 * scores[:, 0]]), {"z": 1e8 * z}).columns["z"]
    assert double.r2 == pytest.approx(plain.r2, rel=1e-9)
    assert double.p == plain.p


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"z": np.ones(150)}, "'z' is constant"),
        ({"z": ["a"] * 150}, "has one level, 'a'"),
        ({"z": [None] * 149 + [1.0]}, "has 1 values"),
        ({"z": np.ones(149)}, "149 rows, the map has 150"),
        ({"z": [[1, 2]] * 150}, "nested values"),
    ],
)
def test_what_cannot_be_laid_on_a_map_is_named(scores: np.ndarray, columns: dict, text: str) -> None:
    with pytest.raises(lowland.DataError, match=text):
        supplementary(scores, columns)
