"""Trust in models: the way back, rows that were not seen, refits."""

from __future__ import annotations

import json
import pickle

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import TSNE
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowland
from lowland import quality


@pytest.fixture
def rows(rng):
    return rng.normal(size=(260, 6)) * [4, 2.5, 1, 1, 1, 1] + 10


# -- the way back -----------------------------------------------------------------------------------------


def test_what_pca_loses_is_the_variance_it_does_not_hold(rows):
    model = lowland.PCA(n_components=2).fit(rows)
    lost = 1 - model.explained_variance_ratio_.sum()
    groups = np.arange(260) % 2
    found = quality.reconstruction_error(model, rows, groups=groups)
    assert found == pytest.approx(lost, rel=1e-12)
    rms = quality.reconstruction_error(model, rows, kind="rms")
    assert rms == pytest.approx(np.sqrt(((rows - model.inverse_transform(model.transform(rows))) ** 2).mean()))
    spread = ((rows - rows.mean(axis=0)) ** 2).sum(axis=1)
    parts = [spread[groups == g].sum() for g in (0, 1)]
    assert (found.groups[0] * parts[0] + found.groups[1] * parts[1]) / sum(parts) == pytest.approx(found)
    sparse = sp.csr_array(np.where(np.abs(rows) > 9, rows, 0.0))
    model = lowland.TruncatedSVD(n_components=3).fit(sparse)
    dense = quality.reconstruction_error(model, sparse.toarray())
    assert quality.reconstruction_error(model, sparse) == pytest.approx(dense, rel=1e-12)


def test_no_way_back_is_said():
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match=r"TSNE has no inverse transform"):
        quality.reconstruction_error(TSNE(), X)
    with pytest.raises(ValueError, match=r"kind must be 'share' or 'rms'"):
        quality.reconstruction_error(lowland.PCA(n_components=1).fit(X), X, kind="mse")
    model = lowland.PCA(n_components=1).fit(X)
    with pytest.raises(lowland.DataError, match=r"do not vary"):
        quality.reconstruction_error(model, np.ones((4, 3)))


def test_float32_rows_far_from_zero_have_their_share(rng):
    X = (rng.normal(size=(100_000, 3)) + 1e4).astype(np.float32)
    model = lowland.PCA(n_components=2).fit(X)
    found = quality.reconstruction_error(model, X)
    assert found == pytest.approx(1 - model.explained_variance_ratio_.sum(), rel=1e-3)
    assert quality.held_out(model, X[:300])["reconstruction_error"] == pytest.approx(float(found), rel=0.2)


def test_what_has_no_way_back_and_forth_is_named(rng):
    X = rng.normal(size=(40, 4))
    model = lowland.PCA(n_components=2).fit(X)
    with pytest.raises(lowland.DataError, match=r"reconstruction_error: X has 40 rows and Y has 50"):
        quality.reconstruction_error(model, X, Y=np.zeros((50, 2)))
    with pytest.raises(lowland.DataError, match=r"X has 1 columns, but PCA restores 4"):
        quality.reconstruction_error(model, X[:, :1], Y=np.zeros((40, 2)))
    gap = X.copy()
    gap[3, 1] = np.nan
    model = lowland.ProbabilisticPCA(n_components=2).fit(gap)
    for kind in ("share", "rms"):
        with pytest.raises(
            lowland.DataError, match=r"reconstruction_error, X contains NaN at row 3, column 1: fill it"
        ):
            quality.reconstruction_error(model, gap, kind=kind)
    with pytest.raises(lowland.DataError, match=r"held_out, X_new contains NaN at row 1, column 1: fill it"):
        quality.held_out(model, gap[2:20], X)
    constant = quality.reconstruction_error(lowland.PCA(n_components=2).fit(X), np.ones((4, 4)), kind="rms")
    assert constant > 0


def test_categories_have_no_differences(rng):
    frame = pl.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "kind": ["x", "y", "z"] * 20})
    model = lowland.FAMD(n_components=2).fit(frame)
    words = r"FAMD was fitted to categories, which cannot be subtracted.*use report"
    assert "reconstruction_error" not in quality.held_out(model, frame).measures
    with pytest.raises(lowland.DataError, match=rf"^reconstruction_error: {words}"):
        quality.reconstruction_error(model, frame)


# -- rows that were not seen ------------------------------------------------------------------------------


def test_new_rows_are_judged_among_all_rows(rows):
    model = lowland.PCA(n_components=2).fit(rows[:200])
    found = quality.held_out(model, rows[200:], rows[:200], n_neighbors=8)
    both = quality.trustworthiness(rows, model.transform(rows), 8, groups=["training"] * 200 + ["new"] * 60).groups
    assert found["trustworthiness"] == pytest.approx(both["new"], rel=1e-12)
    assert found.training["trustworthiness"] == pytest.approx(both["training"], rel=1e-12)
    assert found["trustworthiness"].low < found["trustworthiness"] < found["trustworthiness"].high
    assert found["reconstruction_error"] == pytest.approx(quality.reconstruction_error(model, rows[200:]), rel=1e-12)
    assert (found.n_new, found.n_training) == (60, 200)
    alone = quality.held_out(model, rows[200:], n_neighbors=8)
    assert alone["trustworthiness"] == pytest.approx(
        quality.trustworthiness(rows[200:], model.transform(rows[200:]), 8), rel=1e-12
    )
    assert alone.training == {}
    assert "among each other" in alone.sentence
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert pickle.loads(pickle.dumps(found)).to_dict() == plain
    assert "training rows" in str(found)
    with pytest.raises(KeyError, match="continuity"):
        found["stress"]


def test_rows_of_the_fit_are_not_called_new(rows):
    model = lowland.PCA(n_components=2).fit(rows)
    m = len(rows) // 2
    seen = quality.held_out(model, rows[:40], rows)
    assert seen.n_seen == 40
    assert seen.sentence.startswith("40 rows that all equal training rows")
    assert quality.held_out(model, sp.csr_array(rows[:40]), sp.csr_array(rows)).n_seen == 40
    some = quality.held_out(model, rows[m - 10 :], rows[:m])
    assert some.n_seen == 10 == some.to_dict()["n_seen"]
    assert f"{len(rows) - m + 10} rows, of which 10 equal a training row" in some.sentence
    zero = np.zeros((1, 6))
    assert quality.held_out(model, np.vstack([rows[m:], -zero]), np.vstack([rows[:m], zero])).n_seen == 1
    new = quality.held_out(model, rows[m:], rows[:m])
    assert new.n_seen == 0
    assert f"{len(rows) - m} new rows" in new.sentence


@pytest.mark.filterwarnings("ignore::lowland.DominantColumnWarning")
def test_rows_of_another_kind_are_placed_worse(rng):
    """The new rows vary where the training rows do not."""
    X = rng.normal(size=(300, 8)) * [4, 4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    strange = rng.normal(size=(60, 8)) * [0.1, 0.1, 4, 4, 4, 4, 4, 4]
    model = lowland.PCA(n_components=2).fit(X)
    same = quality.held_out(model, rng.normal(size=(60, 8)) * [4, 4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], X)
    other = quality.held_out(model, strange, X)
    assert "placed as well as" in same.sentence
    assert "placed worse than" in other.sentence
    assert other["reconstruction_error"] > 0.9 > 0.1 > same["reconstruction_error"]


def test_a_chain_can_be_judged_from_two_places(rng):
    X = rng.normal(size=(240, 10)) * [100, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    chain = make_pipeline(StandardScaler(), lowland.PCA(n_components=9), lowland.PCA(n_components=2)).fit(X[:200])
    whole = quality.held_out(chain, X[200:], X[:200])
    last = quality.held_out(chain, X[200:], X[:200], within="last step")
    assert whole.space == "the rows as given, before standardscaler → pca-1"
    assert last.space == "the rows after standardscaler → pca-1"
    Z = chain[:-1].transform(X)
    direct = quality.held_out(chain[-1], Z[200:], Z[:200])
    assert {**last.measures} == {**direct.measures}
    assert whole["trustworthiness"] < last["trustworthiness"]  # the first column decides who is near, before scaling
    with pytest.raises(ValueError, match=r"requires a Pipeline of several steps; the model is a PCA"):
        quality.held_out(chain[-1], Z, within="last step")
    with pytest.raises(ValueError, match=r"within must be 'input' or 'last step'"):
        quality.held_out(chain, X, within="middle")


def test_held_out_refuses_what_it_cannot_judge(rows):
    with pytest.raises(ValueError, match=r"TSNE has no transform"):
        quality.held_out(TSNE(), rows)
    D = squareform(pdist(rows))
    model = lowland.ClassicalMDS(metric="precomputed").fit(D)
    with pytest.raises(lowland.DataError, match=r"rows of distances"):
        quality.held_out(model, D)
    model = lowland.PCA(n_components=2).fit(rows)
    with pytest.raises(lowland.DataError):
        quality.held_out(model, rows[:50], rows[:, :5])


# -- refits -----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::lowland.DominantColumnWarning")
def test_a_map_of_well_separated_axes_is_stable_and_one_of_noise_is_not(rng):
    firm = rng.normal(size=(400, 6)) * [5, 3, 0.2, 0.2, 0.2, 0.2]
    loose = rng.normal(size=(400, 6))
    model = lowland.PCA(n_components=2)
    a, b = quality.stability(model, firm), quality.stability(model, loose)
    assert a.error < 0.1
    assert "hardly changes" in a.sentence
    assert b.error > 0.3
    assert "is not stable" in b.sentence
    assert a.error.low < a.error < a.error.high
    assert not a.error.exact
    assert len(a.errors) == 10
    assert len(a.spread) == 400
    assert not hasattr(model, "components_")
    # the same displacements, summed by refits or by points
    assert np.sqrt((a.spread**2).mean()) == pytest.approx(np.sqrt((a.errors**2).mean()), rel=1e-9)
    assert json.loads(json.dumps(a.to_dict()))["errors"] == pytest.approx(list(a.errors))


def test_the_point_that_moves_is_found(rng):
    X = rng.normal(size=(200, 3)) * [3, 2, 0.1]
    X[17] = [4.0, 60.0, 30.0]  # a far row turns the axes, where it is drawn
    found = quality.stability(lowland.PCA(n_components=2), X, n_refits=8)
    assert found.least_stable(1)[0] == 17


def test_refits_warn_in_the_result_and_not_ten_times_over(rng):
    X = rng.normal(size=(200, 3)) * [9, 2, 1]
    with pytest.warns(lowland.DominantColumnWarning) as told:
        found = quality.stability(lowland.PCA(n_components=2), X, n_refits=4)
    assert len(told) == 1
    assert 1 <= len(found.warnings) <= 4  # texts that differ
    assert all("holds" in text for text in found.warnings)


def test_refits_are_seeded_and_take_a_share(rows):
    model = lowland.PCA(n_components=2)
    one, two = (quality.stability(model, rows, n_refits=3, random_state=5) for _ in range(2))
    assert np.array_equal(one.errors, two.errors)
    assert not np.array_equal(one.errors, quality.stability(model, rows, n_refits=3, random_state=6).errors)
    small = quality.stability(model, rows, n_refits=6, share=0.2)
    assert small.error > quality.stability(model, rows, n_refits=6).error
    assert small.share == 0.2


def test_squares_of_distances_and_chains_are_refitted(rows):
    D = squareform(pdist(rows))
    square = quality.stability(lowland.ClassicalMDS(n_components=2, metric="precomputed"), D, n_refits=3)
    direct = quality.stability(lowland.ClassicalMDS(n_components=2), rows, n_refits=3)
    assert square.errors == pytest.approx(direct.errors, rel=1e-6)
    chain = make_pipeline(StandardScaler(), lowland.PCA(n_components=2))
    last = quality.stability(chain, rows, n_refits=3, within="last step")
    alone = quality.stability(lowland.PCA(n_components=2), StandardScaler().fit_transform(rows), n_refits=3)
    assert np.array_equal(last.errors, alone.errors)
    assert last.space == "the rows after standardscaler"
    whole = quality.stability(chain, rows, n_refits=3)
    assert not np.array_equal(last.errors, whole.errors)


def test_a_refit_that_cannot_be_compared_is_refused(rows):
    with pytest.raises(ValueError, match=r"n_refits must be a whole number of at least 2"):
        quality.stability(lowland.PCA(n_components=2), rows, n_refits=1)
    with pytest.raises(ValueError, match=r"share must be a number in \(0, 1\]"):
        quality.stability(lowland.PCA(n_components=2), rows, share=2)
    with pytest.raises(ValueError, match=r"TSNE has no transform"):
        quality.stability(TSNE(), rows)
    with pytest.raises(ValueError, match=r"stability: random_state must be a whole number of at least 0, or None"):
        quality.stability(lowland.PCA(n_components=2), rows, random_state=1.5)
    X = np.random.default_rng(3).normal(size=(40, 30))
    with pytest.raises(lowland.DataError, match=r"set n_components to a number"):
        quality.stability(lowland.PCA(n_components=0.9), X)
