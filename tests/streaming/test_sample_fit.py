"""`fit_sample`: fits on a sample, with the error of placing the other rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import lowland
from lowland.rows.row_source import RowSource, as_rows
from lowland.rows.sampling import draw


def blocks(X, step=333):
    return RowSource.from_blocks(lambda: (X[i : i + step] for i in range(0, len(X), step)))


@pytest.fixture
def X(rng):
    return rng.standard_normal((900, 3)) @ rng.standard_normal((3, 7)) + 0.3 * rng.standard_normal((900, 7)) + 2.0


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_every_method(quick, X):
    model = lowland.fit_sample(quick(), blocks(X), 160, random_state=3)
    info = model.fit_info_
    assert info.approximate
    assert 0 <= info.approximation_error < 1
    assert info.evidence["rows of the table"] == 900
    assert info.evidence["rows of the sample"] == 160
    assert info.evidence["test rows"] == 16
    assert info.approximation_error <= info.evidence["placement error, 90 %"]
    for rows in ("test", "sample"):
        assert 0 < info.evidence[f"neighbours kept of 15, {rows} rows"] <= 1
    assert "approximate" in str(info)
    # the model is that of the sample, for any blocks, and places all rows
    again = lowland.fit_sample(quick(), X, 160, random_state=3, test_rows=0)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.fit_info_.approximation_error is None
    sample, _ = draw(as_rows(X), 176, 3).split(160)
    np.testing.assert_array_equal(quick().fit(sample).transform(X), model.transform(X))


def test_a_small_table_is_an_ordinary_fit(quick, X):
    few = X[:120]
    want = quick().fit(few)
    for rows in (few, blocks(few, 50)):
        model = lowland.fit_sample(quick(), rows, 120)
        np.testing.assert_array_equal(model.transform(few), want.transform(few))
        assert model.fit_info_.approximate == want.fit_info_.approximate
        assert "rows of the sample" not in model.fit_info_.evidence


def test_blocks_that_can_be_read_once(X):
    model = lowland.fit_sample(lowland.Isomap(), iter([X[:500], X[500:]]), 200)
    want = lowland.fit_sample(lowland.Isomap(), X, 200)
    np.testing.assert_array_equal(model.embedding_, want.embedding_)
    small = lowland.fit_sample(lowland.Isomap(), iter([X[:50], X[50:150]]), 200)
    np.testing.assert_array_equal(small.embedding_, lowland.Isomap().fit(X[:150]).embedding_)


def test_precomputed_distances_are_refused(X):
    with pytest.raises(lowland.DataError, match=r"precomputed values for pairs.*metric"):
        lowland.fit_sample(lowland.Isomap(metric="precomputed"), np.ones((90, 90)), 20)
    with pytest.raises(lowland.DataError, match="precomputed values for pairs"):
        lowland.fit_sample(lowland.KernelPCA(kernel="precomputed"), np.ones((90, 90)), 20)


@pytest.mark.parametrize("value", [0, 1, 2.5, True, "20"])
def test_sizes_are_checked(X, value):
    with pytest.raises(ValueError, match="n_rows must be a whole number of at least 2"):
        lowland.fit_sample(lowland.PCA(), X, value)


def test_a_model_of_another_package_is_refused(X):
    from sklearn.decomposition import PCA

    with pytest.raises(TypeError, match="method of Lowland"):
        lowland.fit_sample(PCA(), X)


def test_the_error_is_that_of_a_curved_sheet_by_its_density():
    X, _ = lowland.data.swiss_roll(6000, random_state=0)
    errors = [lowland.fit_sample(lowland.Isomap(n_components=2), X, n).fit_info_ for n in (200, 2000)]
    coarse, fine = (info.approximation_error for info in errors)
    assert fine < 0.02 < coarse
    assert errors[1].evidence["neighbours kept of 15, test rows"] > 0.8


def test_placement_errors_are_measured_against_a_fit_with_the_rows(X):
    """PCA to its own dimension: the second fit differs by a rotation and the scale stays, so nothing is misplaced."""
    info = lowland.fit_sample(lowland.PCA(7), X, 300).fit_info_
    assert info.approximation_error < 1e-12
    assert info.evidence["neighbours kept of 15, test rows"] == 1.0


def test_wide_and_sparse_rows(rng):
    wide = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 5000))
    model = lowland.fit_sample(lowland.PCA(2), blocks(wide), 100)
    assert model.fit_info_.approximation_error < 0.2
    S = sp.random_array((600, 400), density=0.05, rng=rng, format="csr")
    model = lowland.fit_sample(lowland.TruncatedSVD(3), S, 200)
    assert model.fit_info_.evidence["rows of the table"] == 600
    assert model.transform(S).shape == (600, 3)


def test_names_of_columns_are_kept(X):
    names = list("abcdefg")
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = lowland.fit_sample(lowland.Isomap(), frame, 200)
        assert list(model.feature_names_in_) == names
        np.testing.assert_array_equal(model.transform(frame), lowland.fit_sample(lowland.Isomap(), X, 200).transform(X))


def test_objects_compared_by_a_function(rng):
    words = ["".join(rng.choice(list("abcd"), size=rng.integers(2, 6))) for _ in range(150)]

    def apart(a, b):
        return abs(len(a) - len(b)) + sum(x != y for x, y in zip(a, b, strict=False))

    model = lowland.fit_sample(lowland.ClassicalMDS(2, metric=apart), words, 60)
    assert model.fit_info_.approximate
    assert model.transform(words[:3]).shape == (3, 2)


def test_pipelines_and_categories(rng):
    n = 600
    frame = pl.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n) * 100, "c": rng.choice(list("xyz"), n)})
    pipeline = lowland.recipe(lowland.KernelPCA(n_components=2), categories="one-hot", scale="standard")
    made = lowland.fit_sample(pipeline, frame, 200)
    info = made.named_steps["method"].fit_info_
    assert made is pipeline
    assert info.approximate
    assert info.evidence["rows of the table"] == n
    assert 0 < info.evidence["neighbours kept of 15, test rows"] <= 1
    assert made.transform(frame).shape == (n, 2)
    mixed = lowland.fit_sample(lowland.FAMD(2), frame, 200)
    assert mixed.fit_info_.approximate
    assert list(mixed.levels_) == ["c"]


def test_rows_with_gaps_have_no_neighbours_to_compare(X):
    X[::7, 2] = np.nan
    model = lowland.fit_sample(lowland.ProbabilisticPCA(2), X, 300)
    assert model.fit_info_.approximation_error < 0.3
    assert not any("neighbours kept" in name for name in model.fit_info_.evidence)


def test_a_saved_model_keeps_the_record(X, tmp_path):
    model = lowland.fit_sample(lowland.Isomap(), X, 200)
    lowland.save(model, tmp_path / "m.lowland")
    assert lowland.load(tmp_path / "m.lowland").fit_info_.evidence == model.fit_info_.evidence
