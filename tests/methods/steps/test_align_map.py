"""A new map laid over an old one: rigid, in a Pipeline, in a model file."""

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import pdist
from sklearn.datasets import load_wine
from sklearn.pipeline import Pipeline

import lowland
from lowland import DataError, quality, steps


@pytest.fixture(scope="module")
def wine():
    return pl.DataFrame(load_wine().data, schema=[str(name) for name in load_wine().feature_names])


def test_a_pipeline_aligns_new_rows_saves_and_comes_back(wine, tmp_path):
    old = lowland.PCA(2, scale=True).fit_transform(wine[:100]) @ [[0.0, -1.0], [1.0, 0.0]] + 4
    model = Pipeline([("scale", steps.ScaleColumns()), ("method", lowland.PCA(2)), ("align", steps.AlignMap())]).fit(
        wine, np.vstack([old, np.full((78, 2), np.nan)])
    )
    own = model[:-1].transform(wine)
    Y = model.transform(wine)
    assert model[-1].n_shared_ == 100
    assert 0.01 < model[-1].error_ < 0.6
    np.testing.assert_allclose(pdist(Y), pdist(own))
    assert ((Y[:100] - old) ** 2).sum() < ((own[:100] - old) ** 2).sum()
    assert list(model.get_feature_names_out()) == ["pca0", "pca1"]
    np.testing.assert_allclose(model.transform(wine[3:4])[0], Y[3])
    back = model.inverse_transform(Y)
    np.testing.assert_allclose(back.to_numpy(), model[:-1].inverse_transform(own).to_numpy())
    lowland.save(model, tmp_path / "m.lowland")
    again = lowland.load(tmp_path / "m.lowland")
    assert np.array_equal(again.transform(wine), Y)
    assert again[-1].error_ == model[-1].error_
    new = wine[:3].with_columns(ash=pl.lit(50.0))
    found, plain = quality.novelty(again, new), quality.novelty(again[:-1], new)
    assert found.novel.all()
    assert found.unusual == plain.unusual
    assert found.unusual[0][0].column == "ash"


def test_float32_and_frames_stay_what_they_are():
    Y = np.random.default_rng(0).standard_normal((20, 3))
    step = steps.AlignMap().fit(Y, Y[:, [1, 2, 0]])
    assert step.transform(Y.astype(np.float32)).dtype == np.float32
    frame = pl.DataFrame(Y, schema=["a", "b", "c"])
    named = steps.AlignMap().fit(frame, Y[:, [1, 2, 0]])
    assert named.transform(frame.select("c", "a", "b")).columns == ["a", "b", "c"]
    np.testing.assert_allclose(named.transform(frame).to_numpy(), Y[:, [1, 2, 0]])
    assert list(named.get_feature_names_out()) == ["a", "b", "c"]


def test_what_it_cannot_do_is_told():
    Y = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(DataError, match="earlier coordinates"):
        steps.AlignMap().fit(Y)
    with pytest.raises(DataError, match=r"shape \(20, 3\)"):
        steps.AlignMap().fit(Y, np.ones((20, 3)))
    few = np.full((20, 2), np.nan)
    few[:2] = Y[:2]
    step = steps.AlignMap()
    with pytest.raises(DataError, match="share 2 rows, and 2 dimensions need at least 3"):
        step.fit(Y, few)
    assert not hasattr(step, "names_out_")
