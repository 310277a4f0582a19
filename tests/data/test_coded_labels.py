"""Which columns look like coded labels, and which do not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_digits, load_wine

from lowland.data import ArrayTable, Table
from lowland.data.coded_labels import coded_labels


def found(frame: pl.DataFrame) -> dict[str, int]:
    return coded_labels(Table(frame, "t.csv"), frame.columns)


def measured(n: int = 90) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {f"m{j}": rng.normal(5, 2, n) for j in range(4)}


def test_labels_by_name_and_by_their_place() -> None:
    wine = load_wine()
    frame = pl.DataFrame({"cultivar": wine.target + 1, **dict(zip(wine.feature_names, wine.data.T, strict=True))})
    assert found(frame) == {"cultivar": 3}
    assert found(frame.rename({"cultivar": "x0"})) == {"x0": 3}  # a file without header
    assert found(frame.rename({"cultivar": "month"})) == {}
    assert coded_labels(Table(frame, "t.csv"), frame.columns[1:]) == {}  # it is not reduced
    assert found(pl.DataFrame({**measured(), "diagnosis": [0, 1] * 45})) == {"diagnosis": 2}
    whole = pl.DataFrame({**measured(), "class": [1.0, 2.0, 3.0] * 30})
    assert found(whole) == {"class": 3}


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(1).poisson(1.0, 90),  # counts fall off
        [0, 1] * 45,  # a yes or no may be measured
        [3, 4, 5] * 30,  # such as gears: codes begin with 0 or 1
        np.arange(90) % 40,
        np.random.default_rng(1).normal(0, 1, 90),
    ],
)
def test_other_columns_are_none(values: object) -> None:
    assert found(pl.DataFrame({**measured(), "last": values})) == {}
    assert found(pl.DataFrame({"first": values, **measured()})) == {}


def test_whole_numbers_among_whole_numbers_are_none() -> None:
    rng = np.random.default_rng(2)
    ratings = {f"q{j}": rng.integers(1, 6, 200) for j in range(8)}
    assert found(pl.DataFrame(ratings)) == {}
    digits = load_digits()
    pixels = pl.DataFrame(dict(zip(digits.feature_names, digits.data.T, strict=True)))
    assert found(pixels) == {}
    assert coded_labels(ArrayTable(digits.data, "digits.npy"), [f"x{j}" for j in range(64)]) == {}
