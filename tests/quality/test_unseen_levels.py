"""Levels of a category that the training rows do not have, where a model ignores them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.quality import keep_row_tails, novelty


@pytest.fixture(scope="module", autouse=True)
def tails():
    """Fits keep the tails of their rows."""
    with keep_row_tails():
        yield


@pytest.mark.parametrize("model", ["famd", "encoded", "one-hot"])
def test_a_row_with_a_new_level_is_novel_by_that_cell(model: str) -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {"a": rng.standard_normal(200), "b": rng.standard_normal(200), "k": rng.choice(list("xyz"), 200)}
    )
    if model == "famd":
        fitted: object = lowland.FAMD(2, unseen="ignore").fit(table)
    else:
        categories = "famd" if model == "encoded" else "one-hot"
        fitted = lowland.recipe(lowland.PCA(2), categories=categories, unseen="ignore").fit(table)
    new = table[:4].with_columns(k=pl.Series(["x", "new", "y", "z"]))
    found = novelty(fitted, new)
    assert found.novel.tolist() == [False, True, False, False]
    assert str(found.unusual[1][0]) == "k = new"
