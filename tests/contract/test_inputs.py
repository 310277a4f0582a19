"""Kinds of input: what may be given to a method, and what is said where it cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland.contract.inputs import METRIC_INPUT, Compared, Rows
from lowland.core.errors import DataError


def test_the_default_is_rows_of_numbers():
    model = lowland.PCA()
    assert type(model._input) is Rows
    assert not model._pairwise


@pytest.mark.parametrize(
    ("metric", "name", "pairwise"),
    [
        ("cityblock", "cityblock", False),
        ("precomputed", "precomputed", True),
        (lambda a, b: 0.0, "function", False),
    ],
    ids=["by name", "precomputed", "function"],
)
def test_a_metric_decides_what_may_be_given(metric, name, pairwise):
    model = lowland.ClassicalMDS(metric=metric)
    assert METRIC_INPUT.name(model) == name
    assert model._pairwise is pairwise


def test_a_fitted_model_keeps_its_metric(rng):
    X = rng.standard_normal((20, 3))
    model = lowland.Isomap(n_neighbors=5, metric="cityblock").fit(X)
    model.set_params(metric="euclidean")
    assert model._input.fitted(model) == "cityblock"


def test_a_function_that_is_gone_is_told(rng):
    X = rng.standard_normal((20, 3))
    model = lowland.ClassicalMDS(metric=lambda a, b: float(np.abs(a - b).sum())).fit(X)
    model.set_params(metric="euclidean")
    with pytest.raises(DataError, match=r"fitted with a function as metric, which is now 'euclidean'; fit it again"):
        model.transform(X)


@pytest.mark.parametrize(("count", "said"), [(6, r"square for 4 objects"), (5, r"would have N\(N − 1\)/2")])
def test_one_line_of_distances_is_refused_with_advice(count, said):
    with pytest.raises(DataError, match=said):
        lowland.ClassicalMDS(metric="precomputed").fit(np.ones(count))


def test_objects_need_a_function():
    with pytest.raises(DataError, match="give metric= a function of two texts"):
        lowland.ClassicalMDS().fit(["a", "bc", "def"])


def test_words_of_precomputed_rows_are_those_of_the_rule():
    kernel = lowland.KernelPCA(kernel="precomputed").fit(np.eye(6) + 1)
    with pytest.raises(DataError, match="its kernel values with the 6 training objects"):
        kernel.transform(np.ones((1, 5)))
    assert isinstance(kernel._input, Compared)
