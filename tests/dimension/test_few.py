"""Few rows, and repeated ones: what they span is no bound, and one of each group is enough."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

from dimension_estimates import quiet
from lowland.core.errors import LowlandWarning
from lowland.core.measure import Measure
from lowland.dimension import estimate, repeats
from lowland.dimension.angles import Plateau
from lowland.dimension.estimating import _at_most
from lowland.dimension.notes import doubts
from lowland.dimension.points import Points


@pytest.mark.parametrize("copies", [2, 3])
def test_repeated_measurements_are_one_point_each(copies):
    rng = np.random.default_rng(3)
    once = rng.standard_normal((250, 3))
    X = np.vstack([once + 1e-6 * rng.standard_normal(once.shape) for _ in range(copies)])
    with pytest.warns(LowlandWarning, match=f"{250 * (copies - 1)} of {250 * copies} rows are ten times as near"):
        found = estimate(X)
    alone = estimate(X[:250])
    assert not found.plateau.rising
    assert found.consensus["nonlinear"] == pytest.approx(alone.consensus["nonlinear"], rel=1e-9)
    assert found.nonlinear["two_nn"] == pytest.approx(alone.nonlinear["two_nn"], rel=1e-9)
    assert "they curve" not in found.sentence
    assert found.n_rows == 250 * copies


def test_of_many_repeated_measurements_a_random_choice_is_looked_at(monkeypatch):
    """Each looked-at row is compared with all: so many at most that this takes no longer than the rest."""
    monkeypatch.setattr(repeats, "GROUPED", 300)
    asked = []
    nearest = Points.nearest
    monkeypatch.setattr(
        Points, "nearest", lambda *given: asked.append((len(given[1]), len(given[2]))) or nearest(*given)
    )
    rng = np.random.default_rng(3)
    once = rng.standard_normal((500, 3))
    X = np.vstack([once, once + 1e-6 * rng.standard_normal(once.shape)])
    found = quiet(X, anchors=100)
    assert max(few for few, among in asked if among == 1000) == 300
    (told,) = [text for text in found.warnings if "most of 1,000 rows" in text]
    kept = int(re.search(r"from 300 random rows \((\d+) groups\)", told)[1])
    chosen = np.sort(np.random.default_rng(0).choice(1000, 300, replace=False))
    assert kept == len(np.unique(chosen % 500)) < 300
    assert abs(found.consensus["nonlinear"] - 3) < 0.5
    assert found.nonlinear["two_nn"] == pytest.approx(3, abs=0.6)
    assert not any(value.exact for value in quiet(X, anchors=None).nonlinear.values())


def test_few_groups_of_repeated_measurements_prove_nothing():
    rng = np.random.default_rng(4)
    found = quiet(np.repeat(rng.standard_normal((6, 3)), 4, axis=0) + 1e-6 * rng.standard_normal((24, 3)))
    assert any("there are fewer than 10 groups" in text for text in found.warnings)
    assert "they curve, and" not in found.sentence


@pytest.mark.parametrize(("n", "d"), [(12, 100), (50, 200)])
def test_fewer_rows_than_columns_are_no_bound(n, d):
    """N rows span N − 1 dimensions, whatever they come from."""
    X = np.random.default_rng(0).standard_normal((n, d))
    found = quiet(X)
    value = found.consensus["nonlinear"]
    assert (value, value.high) == (n - 1, d)
    (told,) = found.warnings  # of scales, that so few points cannot tell apart, nothing is said
    assert told.startswith(f"{n} points are too few for {n - 1} dimensions")
    assert found.figure().axes[0].get_ylim()[1] < 3 * found.scales.value.max()  # though draws may tell no number
    assert found.sentence.startswith(f"The data have at least {n - 1} dimensions, the maximum for {n} points")
    D = np.linalg.norm(X[:, None] - X, axis=2)
    given = quiet(D, metric="precomputed")
    assert given.sentence == found.sentence
    assert n - 1 == given.consensus["nonlinear"] < given.consensus["nonlinear"].high


def test_the_sentence_says_what_the_consensus_says():
    """Where points are too few, too: whether the interval begins below what they span, at it, or at the bound."""
    X = np.random.default_rng(0).standard_normal((50, 200))
    twice = np.vstack([X[:30], X[:20]])  # 30 distinct points of rank 29, which is no subspace of theirs
    for rows, start in (
        (X[:30, :32], r"about 29 dimensions \((\S+) to (32)\), the maximum for 30 points"),
        (twice, r"at least (29) dimensions, the maximum for 30 points"),
        (X[:11, :10], r".*about 10 dimensions \((\S+) to (10); imprecise"),  # of ten columns there can be no more
    ):
        found = quiet(rows)
        value = found.consensus["nonlinear"]
        said = re.match(f"The data have {start}", found.sentence)
        assert said, found.sentence
        assert float(said[1]) == pytest.approx(value.low, rel=0.005)
        assert float(said[said.lastindex]) in (value.high, value)
        assert found.nonlinear["directions"] == value
    assert quiet(twice).consensus["nonlinear"].high == 200


def test_notes_write_dimensions_as_people_do():
    scales = SimpleNamespace(value=np.array([237.2, 236.0, 235.0]), radius=np.ones(3), distances=np.full(3, 123.4))
    level = Plateau(Measure(236.0), 0, 2, level=True, rising=False)
    told = " ".join(doubts(level, scales, 10**6))
    assert "neighbour distances give 123 dimensions, neighbour directions 236" in told
    assert "e+0" not in told


def test_a_subspace_is_a_bound_for_few_rows_too():
    rng = np.random.default_rng(1)
    found = quiet(rng.standard_normal((60, 4)) @ rng.standard_normal((4, 200)))
    assert found.consensus["nonlinear"].high <= 4
    assert found.consensus["nonlinear"].low < found.consensus["nonlinear"].high


def test_clipping_leaves_an_interval():
    assert _at_most(Measure(5.6, 5.3, 5.9), 5).low == pytest.approx(4.7)
    assert _at_most(Measure(5.1, 4.8, 5.4), 5).low == 4.8  # as it was
    assert _at_most(Measure(4.0, 3.5, 5.5), 5).high == 5
    one = _at_most(Measure(1.2, 1.1, 1.3), 1)
    assert one.low == one == one.high == 1  # there is no less, and no more
