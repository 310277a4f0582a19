"""What a finished comparison gives: the best model, and which rows its figures are of."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.core.errors import DataError


def test_the_target_is_no_column_of_the_best_model(rng, at_once):
    X, kinds = rng.standard_normal((60, 4)), np.arange(60) % 2
    X[kinds == 1] += 8
    frame = pl.DataFrame(X, schema=list("abcd")).with_columns(kind=pl.Series(kinds))
    found = lowland.compare(frame, ["pca"], budget=None, target="kind")
    assert found.fit_best(frame).feature_names_in_.tolist() == list("abcd")
    assert found.fit_best(frame.drop("kind")).n_features_in_ == 4
    with pytest.raises(DataError, match="X has 3 columns; 4 were compared"):
        found.fit_best(frame.select("a", "b", "c"))
    with pytest.raises(DataError, match="X has 6 columns"):
        found.fit_best(frame.with_columns(more=1.0))
    with pytest.raises(DataError, match="column 3 of X is 'e', and 'd' was compared"):
        found.fit_best(frame.rename({"d": "e"}))
    with pytest.raises(DataError, match="column 0 of X is 'b', and 'a' was compared"):
        found.fit_best(frame.select("b", "a", "c", "d"))
    assert found.fit_best(frame.drop("kind").to_numpy()).n_features_in_ == 4, "without names there are none to compare"
    other = lowland.compare(frame, ["pca"], budget=None, target=pl.Series("kind", kinds[::-1]))
    assert other.fit_best(frame).n_features_in_ == 5, "that column was compared, too"


def test_a_sample_is_told_wherever_figures_are(rng, at_once):
    found = lowland.compare(rng.standard_normal((300, 4)), ["pca"], budget=None, sample=100)
    assert str(found).splitlines()[0] == "compared on 100 of 300 rows"
    assert "compared on 100 of 300 rows" in repr(found)
    assert "Compared on a random sample of 100 of 300 rows." in str(found.recommend())
