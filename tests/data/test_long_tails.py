"""Which columns have long tails, and which logarithms are proposed."""

from __future__ import annotations

import numpy as np
import polars as pl
from sklearn.datasets import load_digits

from lowland.data import ArrayTable, Table
from lowland.data.long_tails import LongTails, long_tails


def of(values: dict[str, np.ndarray]) -> LongTails:
    return long_tails(Table(pl.DataFrame(values), "t.csv"), list(values))


def test_a_rare_negative_value_rules_out_the_logarithm_of_all_columns() -> None:
    rng = np.random.default_rng(0)
    values = {f"g{j}": rng.lognormal(1, 1.5, 20_001) for j in range(3)}
    assert of(values).transform == "log1p=all"
    values["g2"][1] = -0.5  # a row that the steps through a long table pass over
    assert of(values) == LongTails(["g0", "g1"], "log1p=g0,g1")
    assert of({**values, "constant": np.full(20_001, -9.0)}).transform == "log1p=g0,g1"


def test_bounded_scores_and_pixels_have_none() -> None:
    digits = load_digits().data
    assert long_tails(ArrayTable(digits, "digits.npy"), [f"x{j}" for j in range(64)]).columns == []
    rng = np.random.default_rng(0)
    shares = {f"s{j}": np.append(rng.beta(0.2, 6, 400), 1.0) for j in range(3)}
    assert of(shares).columns == []


def test_arrays_and_columns_agree() -> None:
    X = np.random.default_rng(3).lognormal(0, 1.2, (300, 30))
    names = [f"x{j}" for j in range(30)]
    from_columns = of(dict(zip(names, X.T, strict=True)))
    assert long_tails(ArrayTable(X, "t.npy"), names) == from_columns
    assert len(from_columns.columns) > 12
