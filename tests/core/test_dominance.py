"""The rule by which one column or two hold most of the variance."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import lowland
from lowland import quality
from lowland.core.dominance import dominant_columns, dominant_words, range_words


def shares(top: list[float], n: int) -> list[float]:
    """Variances of n columns: the leading ones, and the rest in equal parts."""
    left = (1 - sum(top)) / (n - len(top))
    return [*top, *[left] * (n - len(top))]


@pytest.mark.parametrize(
    ("top", "n", "columns"),
    [
        ([0.63], 13, (0,)),  # a flight number among times and distances
        ([0.55], 13, (0,)),
        ([0.45], 13, None),  # the others outweigh it
        ([0.60], 3, None),
        ([0.70], 4, None),
        ([0.76], 3, (0,)),
        ([0.90], 2, None),
        ([0.96], 2, (0,)),
        ([0.37, 0.30], 13, (0, 1)),
        ([0.45, 0.22], 20, (0, 1)),
        ([0.48, 0.06], 20, None),  # the second is like the others
        ([0.40, 0.35], 4, None),
        ([0.30, 0.15], 30, None),
    ],
)
def test_the_limit_depends_on_the_number_of_columns(top: list[float], n: int, columns: tuple[int, ...] | None) -> None:
    found = dominant_columns(shares(top, n))
    assert (None if found is None else found[0]) == columns
    if found is not None:
        assert found[1] == pytest.approx(sum(top[: len(found[0])]))


def test_constant_columns_do_not_lower_the_limit() -> None:
    assert dominant_columns([0.6, 0.2, 0.2]) is None
    assert dominant_columns([0.6, 0.2, 0.2, *[0.0] * 10]) is None


def test_data_in_one_unit_are_left_in_peace() -> None:
    for X in (
        load_iris().data,
        lowland.data.digits()[0],
        lowland.data.swiss_roll(500)[0],
        lowland.data.s_curve(500)[0],
    ):
        assert dominant_columns(np.var(X, axis=0)) is None
    wine = load_wine()
    assert dominant_words(np.var(wine.data, axis=0), wine.feature_names) is not None


def test_two_columns_are_named_together_with_the_remedy() -> None:
    X = np.random.default_rng(0).normal(size=(300, 12)) * [6.0, 5.0, *[1.0] * 10]
    with pytest.warns(lowland.DominantColumnWarning, match=r"the pair of columns 0 and 1 holds 8\d.* use scale=True"):
        lowland.PCA(n_components=2).fit(X)
    lowland.PCA(n_components=2, scale=True).fit(X)  # warnings are errors: the remedy silences it
    with pytest.warns(lowland.DominantColumnWarning, match="the pair of columns 0 and 1 holds"):
        quality.outliers(X)


def test_one_column_of_many_is_named_below_three_quarters() -> None:
    X = np.random.default_rng(0).normal(size=(300, 13)) * [4.5, *[1.0] * 12]
    with pytest.warns(lowland.DominantColumnWarning, match=r"column 0 holds 6\d"):
        lowland.PCA(n_components=2).fit(X)


def test_a_column_decides_neighbours_by_its_range():
    assert range_words([3.0, 0.01, 2.0], None) is None
    assert range_words([3.0, 0.01, 0.02], None) == "the range of column 0 is 150 times that of any other column"
    assert range_words([3.0, 0.0, 0.0], None) is None  # constant columns would not count in another unit either


def test_axes_of_famd_have_no_units() -> None:
    axes = [f"famd{i}" for i in range(3)]
    assert dominant_words([100.0, 2.0, 1.0], axes) is None
    assert range_words([500.0, 2.0, 1.0], axes) is None
    assert dominant_words([100.0, 2.0, 1.0], [*axes[:2], "income"]) is not None
