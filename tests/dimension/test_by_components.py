"""Stress and residual variance against the number of dimensions."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

import lowland
from lowland import quality
from lowland.dimension import residual_variance_by_dimension, stress_by_dimension


def test_stress_is_that_of_the_fitted_maps(rng):
    X = rng.normal(size=(50, 4))
    for method, cls in (("metric", lowland.MetricMDS), ("nonmetric", lowland.NonmetricMDS)):
        curve = stress_by_dimension(X, [3, 1, 1], method=method)
        assert curve.dimensions == (1, 3)
        np.testing.assert_allclose(curve.stress, [cls(k).fit(X).stress_ for k in (1, 3)])
    same = stress_by_dimension(cdist(X, X), [1, 3], metric="precomputed")
    np.testing.assert_allclose(same.stress, stress_by_dimension(X, [1, 3]).stress, rtol=1e-6)


def test_stress_vanishes_at_the_dimension_of_the_data(rng):
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 10))
    stress = stress_by_dimension(X, range(1, 5)).stress
    assert (np.diff(stress[:3]) < 0).all()
    assert stress[2] < 1e-3 < stress[1]
    more = stress_by_dimension(X[:, :2], [2, 5]).stress
    assert more[0] == more[1], "two columns have no further dimensions"


def test_residual_variance_is_that_of_the_methods():
    X, _ = lowland.data.swiss_roll(500, random_state=0)
    curve = residual_variance_by_dimension(X, range(1, 5), n_neighbors=8)
    model = lowland.Isomap(4, n_neighbors=8).fit(X)
    np.testing.assert_allclose(curve.isomap, model.residual_variance_, rtol=1e-8)
    Y = lowland.PCA(3).fit_transform(X)
    expected = [float(quality.residual_variance(X, Y[:, :d])) for d in (1, 2, 3)]
    np.testing.assert_allclose(curve.linear[:3], expected)
    assert np.isnan(curve.linear[3])
    assert curve.linear_name == "PCA"
    assert curve.isomap[1] < 0.05 < curve.linear[1]  # the roll is a sheet, and curved
    by_distance = residual_variance_by_dimension(cdist(X, X), [1, 2], n_neighbors=8, metric="precomputed")
    np.testing.assert_allclose(by_distance.isomap, curve.isomap[:2], rtol=1e-6)
    np.testing.assert_allclose(by_distance.linear, curve.linear[:2], rtol=1e-6)
    assert by_distance.linear_name == "classical MDS"


@pytest.mark.parametrize("metric", ["euclidean", "seuclidean", "precomputed"])
def test_samples_of_rows(rng, metric):
    X = rng.normal(size=(90, 3)) * [1.0, 5.0, 25.0]
    given = cdist(X, X) if metric == "precomputed" else X
    curve = stress_by_dimension(given, [2], metric=metric, rows=40)
    assert (curve.n_used, curve.n_rows) == (40, 90)
    again = stress_by_dimension(given, [2], metric=metric, rows=40)
    np.testing.assert_array_equal(curve.stress, again.stress)
    other = stress_by_dimension(given, [2], metric=metric, rows=40, random_state=1)
    assert other.stress[0] != curve.stress[0]


def test_tables_with_categories(rng):
    table = pd.DataFrame({"x": rng.normal(size=40), "k": ["a", "b"] * 20})
    assert stress_by_dimension(table, [1, 2]).stress[1] < 0.01


@pytest.mark.parametrize("dimensions", [[], [0], [1.5], [True]])
def test_dimensions_are_whole_numbers(rng, dimensions):
    with pytest.raises(ValueError, match="whole numbers of at least 1"):
        stress_by_dimension(rng.normal(size=(20, 3)), dimensions)


def test_the_method_is_one_of_two(rng):
    with pytest.raises(ValueError, match="'metric' or 'nonmetric'; it is 'sammon'"):
        stress_by_dimension(rng.normal(size=(20, 3)), method="sammon")
