"""Results that hold arrays can be compared and kept in lists, as any object: each is equal to itself alone."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland import dimension, quality
from lowland.spectral.variances import variances_of

X = np.random.default_rng(0).normal(size=(60, 4)) * [3, 2, 1, 1]
MODEL = lowland.PCA(n_components=2).fit(X)
Y = MODEL.transform(X)

RESULTS = {
    "outliers": lambda: quality.outliers(X),
    "novelty": lambda: quality.novelty(MODEL, X[:5], X),
    "report": lambda: quality.report(X, Y),
    "pointwise": lambda: quality.pointwise(X, Y),
    "shepard": lambda: quality.shepard(X, Y),
    "rnx_curve": lambda: quality.rnx_curve(X, Y),
    "stability": lambda: quality.stability(MODEL, X, n_refits=2),
    "estimate": lambda: dimension.estimate(X),
    "scales": lambda: dimension.estimate(X).scales,
    "variances": lambda: variances_of(X),
}


@pytest.mark.filterwarnings("ignore::lowland.core.errors.LowlandWarning")
@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_a_result_is_equal_to_itself_alone(make):
    found, again = make(), make()
    assert found == found
    assert found != again
    assert [again, found].index(found) == 1
    assert len({found, again}) == 2


def test_results_without_arrays_are_equal_by_value():
    assert quality.held_out(MODEL, X[:30]) == quality.held_out(MODEL, X[:30])
