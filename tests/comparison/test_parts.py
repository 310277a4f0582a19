"""The parts of a comparison: budgets, candidates, what the data say by themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lowland
from lowland.comparison import budget, candidates
from lowland.comparison.candidates import Candidate
from lowland.comparison.crowding import crowded
from lowland.comparison.dataset import Dataset, folds_of, read
from lowland.comparison.structure import guessed
from lowland.contract import registry
from lowland.quality.class_accuracy import Target, by_class, confused, share_right

# -- time -------------------------------------------------------------------------------------------------


def test_budgets_are_read():
    assert [budget.parse_seconds(text) for text in ("90s", "5min", "1h", " 2.5 MIN ", "20", 7)] == [
        90, 300, 3600, 150, 20, 7]  # fmt: skip
    for wrong in ("", "5 days", "-3s", 0, True, math.inf, None):
        with pytest.raises(ValueError, match="as a budget"):
            budget.parse_seconds(wrong)


def test_shares_leave_time_for_the_others(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    clock = budget.Clock(80.0)
    assert clock.share(20) == 20.0, "at most a quarter while others wait"
    assert clock.share(4) == 32.0, "nearly twice an equal part"
    assert clock.share(2) == pytest.approx(160 / 3), "of two, the first leaves a third"
    assert clock.share(1) == 80.0, "the last may take all"
    now[0] += 200
    assert (clock.left, clock.share(3)) == (0.0, 0.0)
    assert budget.Clock(None).share(5) == math.inf


# -- candidates -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rows", "sparse", "distances", "categories"])
def test_every_method_is_tried_or_left_out_with_a_reason(kind):
    names, left = candidates.automatic(kind)
    assert {*names} | {*left} == {row.name for row in registry.methods()}
    assert not {*names} & {*left}
    assert all(left.values())
    first, *others = (registry.method(name).family for name in names)
    assert first in ("linear", "distance")
    curved = others[1] if kind == "categories" else others[0]  # after FAMD comes PCA of the numbers alone
    assert curved == "manifold", "cheap and different first"


def test_candidates_have_names_and_settings():
    made = Candidate("isomap", {"n_components": 2, "metric": "euclidean", "random_state": 0})
    assert made.key == "isomap"
    assert [c.key for c in candidates.searched(made, 1000, {})] == [
        "isomap(n_neighbors=5)", "isomap(n_neighbors=20)", "isomap(n_neighbors=40)"]  # fmt: skip
    assert [c.key for c in candidates.searched(made, 50, {})] == ["isomap(n_neighbors=5)"]
    kernel = Candidate("kernel_pca", {"n_components": 2})
    widths = [c.parameters["gamma"] for c in candidates.searched(kernel, 1000, {"gamma": 0.5})]
    assert widths == [0.125, 2.0]
    assert candidates.searched(Candidate("pca", {}), 1000, {}) == []
    assert candidates.searched(Candidate("isomap", {}, "given"), 1000, {}) == []


def test_models_pairs_and_names_are_taken():
    listed = ["pca", ("isomap", {"n_neighbors": np.int64(7)}), lowland.KernelPCA(gamma=0.5)]
    found = candidates.requested_candidates(listed, "rows", 3, "euclidean", 4)
    assert [c.key for c in found] == ["pca", "isomap(n_neighbors=7)", "kernel_pca(gamma=0.5)"]
    assert all(c.parameters["n_components"] == 3 for c in found)
    assert all(c.parameters["random_state"] == 4 for c in found)
    assert found[2].build().gamma == 0.5
    with pytest.raises(ValueError, match="Euclidean distances, not by cosine"):
        candidates.requested_candidates(["kernel_pca"], "rows", 2, "cosine", 0)
    assert candidates.requested_candidates(["pca"], "rows", 2, "cosine", 0)[0].key == "pca", "tried under any metric"
    assert candidates.requested_candidates(["pca"], "rows", 2, "seuclidean", 0)[0].key == "pca(scale=True)"
    assert candidates.requested_candidates(["pca"], "categories", 2, "euclidean", 0)[0].key == "pca(scale=True)"
    with pytest.raises(ValueError, match="n_components is the same for all candidates; pca has 3"):
        candidates.requested_candidates([lowland.PCA(n_components=3)], "rows", 2, "euclidean", 0)
    cosine = candidates.requested_candidates(["isomap", ("isomap", {"metric": "cosine"})], "rows", 2, "euclidean", 0)
    assert [c.key for c in cosine] == ["isomap", "isomap(metric=cosine)"]
    with pytest.raises(ValueError, match="2 dimensions"):
        candidates.requested_candidates(["som"], "rows", 3, "euclidean", 0)


# -- what the data say ------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [2, 10, 400])
def test_a_cloud_is_as_crowded_as_a_cloud(columns, rng):
    X = rng.standard_normal((300, columns)) * np.linspace(1, 3, columns)
    assert crowded(X, 10, 0).ratio > 0.95


def test_curves_sheets_and_clusters_crowd_their_points(rng):
    centres = 8 * rng.standard_normal((6, 10))
    shapes = {
        "roll": lowland.data.swiss_roll(600)[0],
        "circle": lowland.data.noisy_circle(400, n_features=5)[0],
        "clusters": centres[rng.integers(6, size=400)] + rng.standard_normal((400, 10)),
    }
    for name, X in shapes.items():
        assert crowded(X, 10, 0).ratio < 0.9, name
    turned = shapes["roll"] @ np.linalg.qr(rng.standard_normal((3, 3)))[0] * 7 + 100
    assert crowded(turned, 10, 0).ratio == pytest.approx(crowded(shapes["roll"], 10, 0).ratio, abs=0.02)
    assert crowded(np.ones((20, 3)), 5, 0)[:2] == (1.0, 0)


@pytest.mark.parametrize("far", [30.0, 1000.0])
def test_strays_do_not_make_a_cloud_crowded_but_a_cluster_does(far, rng):
    X = rng.standard_normal((300, 6))
    direction = np.array([1.0, 0, 0, 0, 0, 0])
    together, apart = X.copy(), X.copy()
    together[:3] += far * direction
    apart[:3] = far * np.eye(3, 6)
    for strays in (together, apart):
        found = crowded(strays, 10, 0)
        assert found.ratio > 0.95
        assert found.strays == 3
    assert crowded(X, 10, 0).strays == 0
    cluster = X.copy()
    cluster[:30] += far * direction
    assert crowded(cluster, 10, 0).ratio < 0.9


def test_guesses_are_those_of_the_nearest_others(rng):
    points, codes = rng.standard_normal((60, 2)), rng.integers(3, size=60)
    codes[:4] = -1
    guess = guessed(points, "euclidean", Target("t", codes, ("a", "b", "c")), 5)
    for i in range(60):
        if codes[i] < 0:
            assert guess[i] == -1
            continue
        others = [j for j in np.argsort(np.linalg.norm(points - points[i], axis=1)) if j != i and codes[j] >= 0][:5]
        votes = codes[others]
        most = max(np.bincount(votes))
        leaders = {code for code in range(3) if (votes == code).sum() == most}
        assert guess[i] in leaders
    assert confused(np.array([0, 1, 1]), Target("t", np.array([0, 0, 1]), ("a", "b"))) == {"a": "b"}
    assert share_right(guess, codes) == (guess == codes)[codes >= 0].mean()
    assert by_class(guess, Target("t", codes, ("a", "b", "c")))["b"] == (guess == 1)[codes == 1].mean()


def test_rows_are_drawn_once_and_for_all(rng, tmp_path):
    X, target = rng.standard_normal((200, 4)), rng.integers(2, size=200)
    given, told = read(X, target, "euclidean", 100, 0.2, 0)
    assert (given.n, given.held.sum(), given.n_rows) == (100, 20, 200)
    assert np.array_equal(given.rows, X[given.numbers])
    assert np.array_equal(given.target.codes, target[given.numbers])
    again, same = read(X, target, "euclidean", 100, 0.2, 0)
    assert told == same
    assert np.array_equal(again.fold, given.fold)
    other, _ = read(X, target, "euclidean", 100, 0.2, 1)
    assert not np.array_equal(other.numbers, given.numbers)
    given.store(tmp_path)
    back = Dataset.restore(tmp_path)
    assert np.array_equal(back.rows, given.rows)
    assert np.array_equal(back.held, given.held)
    assert back.target.names == ("0", "1")
    assert [folds_of(n) for n in (3, 4, 12, 5000)] == [2, 2, 6, 10]
    assert not read(X[:40], None, "euclidean", None, 0.2, 0)[0].held.any(), "of few rows none is held out"
    assert not read(X, None, "euclidean", None, 0.04, 0)[0].held.any(), "8 held-out rows would tell nothing"


def test_tables_with_text_are_sampled_before_they_are_coded(rng):
    import polars as pl

    frame = pl.DataFrame({"a": rng.standard_normal(200), "b": rng.choice(["x", "y", "z"], 200)})
    given, told = read(frame, None, "euclidean", 50, 0.2, 0)
    assert given.rows.shape == (50, 3)
    assert (given.n_rows, given.n_columns) == (200, 3)
    assert read(frame.with_columns(b=frame["b"].reverse()), None, "euclidean", 50, 0.2, 0)[1] != told
    cells = frame.to_numpy()
    assert read(cells, None, "euclidean", 50, 0.2, 0)[0].rows.shape == (50, 3)
