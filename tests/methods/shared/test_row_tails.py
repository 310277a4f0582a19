"""The summary of training rows that PCA, FAMD and ProbabilisticPCA keep."""

from __future__ import annotations

import contextvars
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import lowland
from lowland.methods.shared import row_tails
from lowland.quality import keep_row_tails


@pytest.fixture(scope="module", autouse=True)
def tails():
    """Fits keep the tails of their rows."""
    with keep_row_tails():
        yield


def test_quantiles_are_those_of_the_training_rows() -> None:
    X = np.random.default_rng(0).standard_normal((500, 6)) * [5, 4, 3, 2, 1, 1]
    model = lowland.PCA(2).fit(X)
    found = model.row_tails_
    Y = model.transform(X)
    t2 = np.sort((Y**2 / model.explained_variance_).sum(axis=1))[::-1]
    spe = np.sort(((X - model.inverse_transform(Y)) ** 2).sum(axis=1))[::-1]
    places = row_tails.ranks(500) - 1
    np.testing.assert_allclose(found["t2"], t2[places], rtol=1e-9)
    np.testing.assert_allclose(found["spe"] * model.total_variance_, spe[places], rtol=1e-9)
    assert found["rows"] == 500


def test_the_unit_of_the_rows_does_not_matter() -> None:
    X = np.random.default_rng(0).standard_normal((200, 5))
    plain, large = (lowland.PCA(2).fit(rows).row_tails_ for rows in (X, X * 2.0**400))
    for name in ("t2", "spe", "cells"):
        np.testing.assert_allclose(large[name], plain[name], rtol=1e-9)


def test_tails_extrapolate_known_distributions() -> None:
    rng = np.random.default_rng(0)
    for values, law in ((rng.exponential(size=(20_000, 20)), stats.expon), (rng.pareto(4, (20_000, 20)), None)):
        tails = row_tails.upper_tails(values)
        wanted = law.isf(1e-5) if law is not None else 1e-5 ** (-1 / 4) - 1
        assert np.median(row_tails.beyond(tails, 20_000, 1e-5)) == pytest.approx(wanted, rel=0.25)
    assert (row_tails.beyond(tails, 20_000, 1e-3) >= values.max(axis=0)).all()


def test_columns_of_few_values_have_no_tail() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(300), rng.integers(0, 2, 300), np.full(300, 7.0)])
    cells = lowland.PCA(1, scale=True).fit(X).row_tails_["cells"]
    assert np.isfinite(cells[0, 0]).tolist() == [True, False, False]


def test_rows_that_would_take_a_further_pass_are_not_summarised() -> None:
    X = np.random.default_rng(0).standard_normal((200, 4))
    for model in (
        lowland.PCA(2).fit(iter([X])),
        lowland.PCA(2).fit(X, sample_weight=np.ones(200)),
        lowland.PCA(2).partial_fit(X),
        lowland.PCA(2).fit(X[:10]),
        lowland.PCA(2, center=False).fit(X),
    ):
        assert not hasattr(model, "row_tails_")
    frame = pl.DataFrame({"a": X[:, 0], "k": np.where(X[:, 1] > 0, "x", "y")})
    assert lowland.FAMD(1).fit(frame).row_tails_["cells"].shape == (5, 2, 1)


def test_a_large_table_is_sampled_and_the_same_rows_are_drawn_again() -> None:
    X = np.random.default_rng(0).standard_normal((30_000, 3))
    first, again = (lowland.PCA(1).fit(X).row_tails_ for _ in range(2))
    assert first["rows"] == row_tails.MOST_ROWS
    np.testing.assert_array_equal(first["cells"], again["cells"])


def test_model_files_keep_the_summary_and_old_ones_lack_it(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((200, 4))
    model = lowland.PCA(2).fit(X)
    file = tmp_path / "m.lowland"
    lowland.save(model, file)
    np.testing.assert_array_equal(lowland.load(file).row_tails_["cells"], model.row_tails_["cells"])
    del model.row_tails_  # as fitted by an earlier version
    old = tmp_path / "old.lowland"
    lowland.save(model, old)
    found = lowland.quality.novelty(lowland.load(old), X[:5] + 100.0)
    assert set(found.limits) == {"t2", "spe"}
    assert found.novel.all()


def test_other_fits_keep_nothing(tmp_path) -> None:
    X = np.random.default_rng(0).standard_normal((200, 5))

    def fit() -> lowland.PCA:
        return lowland.PCA(2).fit(X)

    model = contextvars.Context().run(fit)  # outside of the block
    assert not hasattr(model, "row_tails_")
    found = lowland.quality.novelty(model, X)
    assert sorted(found.limits) == ["spe", "t2"]
