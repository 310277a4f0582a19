"""The room behind ICA: contrasts, one pass over white rows, FastICA and Picard-O."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import lowland
from lowland.methods.linear import ica_rotation
from lowland.methods.linear.ica_reliability import expected_error, gaussian, like_noise, search_limit
from lowland.methods.linear.ica_rotation import CONTRASTS, fastica, picard, polar, separate
from lowland.methods.linear.ica_white_rows import White

FUNCTIONS = {
    "logcosh": (lambda y: np.logaddexp(y, -y) - np.log(2), np.tanh, lambda y: 1 - np.tanh(y) ** 2),
    "exp": (
        lambda y: -np.exp(-(y**2) / 2),
        lambda y: y * np.exp(-(y**2) / 2),
        lambda y: (1 - y**2) * np.exp(-(y**2) / 2),
    ),
    "cube": (lambda y: y**4 / 4, lambda y: y**3, lambda y: 3 * y**2),
}


def white(S):
    """White rows of some signals (k × n), in blocks of uneven length."""
    S = S - S.mean(axis=1, keepdims=True)
    values, V = np.linalg.eigh(S @ S.T / S.shape[1])
    Z = (V / np.sqrt(values)).T @ S
    return White([np.ascontiguousarray(Z[:, a : a + 700]) for a in range(0, Z.shape[1], 700)])


def signals(rng, k, n):
    half = k // 2
    return np.vstack([rng.laplace(size=(half, n)), rng.uniform(-1, 1, (k - half, n))])


def rotation(rng, k):
    return polar(rng.standard_normal((k, k)))


def skew(rng, k):
    E = rng.standard_normal((k, k))
    return E - E.T


def matched(W, V):
    """The largest error of W against V, whatever the order and signs of rows."""
    P = np.abs(W @ V.T)
    assert sorted(P.argmax(axis=1)) == list(range(len(P)))
    return np.sqrt(max(0.0, 2 - 2 * P.max(axis=1).min()))


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_one_pass_sums_what_the_formulas_say(rng, contrast):
    Y = 3 * rng.standard_normal((4, 1900))
    Y[0, :6] = [0.0, -0.0, 1e-9, -1e-9, 30.0, -40.0]
    rows, W = White([np.ascontiguousarray(Y[:, :1000]), np.ascontiguousarray(Y[:, 1000:])]), rotation(rng, 4)
    seen, y = rows.look(W, contrast), W @ Y
    G, g, slope = (f(y) for f in FUNCTIONS[contrast])
    np.testing.assert_allclose(seen.C, g @ y.T / 1900, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(seen.slope, slope.mean(axis=1), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(seen.value, G.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(seen.power, (g**2).mean(axis=1), rtol=1e-12)


def test_values_of_a_gaussian():
    assert gaussian("cube") == pytest.approx((0.75, np.sqrt(1.5)), rel=1e-12)
    first, second = -1 / np.sqrt(2), 1 / np.sqrt(3)  # E[−exp(−ν²/2)], E[exp(−ν²)]
    left = second - first**2 - 0.25**2  # less the part that ν² explains
    assert gaussian("exp") == pytest.approx((first, np.sqrt(left)), rel=1e-12)
    assert gaussian("logcosh")[0] == pytest.approx(0.3745672075, abs=1e-10)  # as in Hyvärinen's programs


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_the_mean_over_standardised_values_varies_as_told(rng, contrast):
    Y = rng.standard_normal((2000, 400))
    Y = (Y - Y.mean(axis=1, keepdims=True)) / Y.std(axis=1, keepdims=True)
    means = FUNCTIONS[contrast][0](Y).mean(axis=1)
    assert means.std() * np.sqrt(400) == pytest.approx(gaussian(contrast)[1], rel=0.08)


def test_noise_is_the_largest_group_within_its_limit():
    mean, deviation = gaussian("logcosh")

    def count(*far):
        return like_noise(mean + np.array(far) * deviation / np.sqrt(10_000), 10_000, "logcosh")

    one, two, three = search_limit(np.array([1, 2, 3]), 10_000, "logcosh")
    assert 3 == one < two < three
    assert count(one - 0.01) == 1
    assert count(-one - 0.01) == 0
    assert count(one + 0.01, -(two - 0.01)) == 2  # two of them may lie further out
    assert count(0.1, two + 0.01) == 1
    assert count(three + 0.01, three + 0.01, three + 0.01) == 0
    assert count(20.0, -three + 0.01, 0.0, three - 0.01) == 3


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_the_gradient_is_that_of_the_goal(rng, contrast):
    rows, W, E = white(signals(rng, 5, 2000)), rotation(rng, 5), skew(rng, 5)
    seen = rows.look(W, contrast)
    goal = ica_rotation._Goal(ica_rotation._sides(seen), seen)
    step = 1e-5
    there, back = (goal.sides @ rows.look(polar(np.eye(5) + t * E) @ W, contrast).value for t in (step, -step))
    assert (there - back) / (2 * step) == pytest.approx(float((goal.gradient * E).sum()), rel=1e-6)


def test_both_steps_are_one_to_first_order():
    u = (np.arange(200) + 0.5) / 200  # every value of one source with every value of the other: exactly independent
    values = np.array([-np.sign(u - 0.5) * np.log(1 - 2 * np.abs(u - 0.5)), u - 0.5])
    values /= values.std(axis=1, keepdims=True)
    rows = White([np.array([np.repeat(values[0], 200), np.tile(values[1], 200)])])
    gaps = []
    for size in (0.1, 0.01):
        seen = rows.look(polar(np.eye(2) + size * np.array([[0.0, 1.0], [-1.0, 0.0]])), "logcosh")
        turn = ica_rotation.fixed_point(seen)[1] - np.eye(2)
        goal = ica_rotation._Goal(ica_rotation._sides(seen), seen)
        gaps.append(np.abs(turn - ica_rotation._direction(goal, deque()))[0, 1] / size)
        assert turn[0, 1] == pytest.approx(-size, rel=0.05)  # and both go back to the sources
    assert gaps[0] < 0.02
    assert gaps[1] < gaps[0] / 20


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_two_ways_and_their_union_have_one_optimum(rng, contrast):
    rows, W = white(signals(rng, 6, 4000)), rotation(rng, 6)
    found = [way(rows, W, contrast=contrast, tol=1e-9, max_iter=200) for way in (fastica, picard, separate)]
    for one in found:
        assert one.converged
        assert one.turn <= 1e-9
        np.testing.assert_allclose(one.W @ one.W.T, np.eye(6), atol=1e-13)
        assert matched(one.W, found[0].W) < 1e-7


def test_picard_converges_where_fastica_goes_in_circles(rng):
    rows, W = white(rng.standard_normal((7, 90))), rotation(rng, 7)
    assert not fastica(rows, W, contrast="logcosh", tol=1e-4, max_iter=400).converged
    for way in (picard, separate):
        found = way(rows, W, contrast="logcosh", tol=1e-8, max_iter=400)
        assert found.converged
        assert found.iterations < 150


@pytest.mark.parametrize("way", [fastica, picard, separate])
def test_a_search_ends_where_rounding_holds_it(rng, way):
    rows, W = white(signals(rng, 5, 2000)), rotation(rng, 5)
    found = way(rows, W, contrast="logcosh", tol=1e-300, max_iter=500)
    assert (found.converged, found.resting) == (False, True)
    assert found.iterations < 60
    assert found.turn < 1e-13
    assert not way(rows, W, contrast="logcosh", tol=1e-9, max_iter=500).resting


def test_every_pass_over_the_rows_can_be_cancelled(rng, monkeypatch):
    rows, W = white(signals(rng, 4, 1000)), rotation(rng, 4)
    looks, told = [], []
    look = White.look
    monkeypatch.setattr(White, "look", lambda self, *given: looks.append(1) or look(self, *given))
    monkeypatch.setattr(
        ica_rotation, "_direction", lambda goal, memory: -1000 * goal.gradient / goal.scale
    )  # far too far
    with lowland.config(progress=lambda *now: told.append(now)):
        picard(rows, W, contrast="logcosh", tol=1e-6, max_iter=3)
    assert len(looks) > 10  # steps were halved
    assert len(told) == len(looks) - 1  # all but the first look at the start


def test_few_steps_tell_how_far_they_got(rng):
    rows, W = white(signals(rng, 8, 3000)), rotation(rng, 8)
    found = separate(rows, W, contrast="logcosh", tol=1e-9, max_iter=2)
    assert (found.iterations, found.converged) == (2, False)
    assert found.turn > 1e-3
    for limit in (ica_rotation._FIRST - 1, ica_rotation._FIRST, ica_rotation._FIRST + 1):
        assert separate(rows, W, contrast="logcosh", tol=1e-300, max_iter=limit).iterations <= limit


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_the_expected_error_is_the_true_one(contrast):
    rng = np.random.default_rng(5)
    n, rounds, squares, told = 1000, 200, np.zeros((2, 2)), np.zeros((2, 2))
    for _ in range(rounds):
        S = np.vstack([rng.laplace(size=n) / np.sqrt(2), rng.uniform(-1, 1, n) * np.sqrt(3)])
        centred = S - S.mean(axis=1, keepdims=True)
        values, V = np.linalg.eigh(centred @ centred.T / n)
        K = (V / np.sqrt(values)).T
        found = separate(White([K @ centred]), np.eye(2), contrast=contrast, tol=1e-7, max_iter=100)
        gain, error = found.W @ K, expected_error(found.seen, n)
        order = np.abs(gain).argmax(axis=0)  # the row that found each source
        squares += gain[order] ** 2
        told += error[np.ix_(order, order)] ** 2
    for i, j in ((0, 1), (1, 0)):
        assert np.sqrt(told[i, j] / squares[i, j]) == pytest.approx(1, abs=0.15)


def test_gaussian_sources_have_no_known_place(rng):
    S = np.vstack([rng.standard_normal((2, 20_000)), rng.laplace(size=(2, 20_000))])
    found = separate(white(S), rotation(rng, 4), contrast="logcosh", tol=1e-6, max_iter=400)
    error = expected_error(found.seen, 20_000)
    noise = np.argsort(np.abs(found.seen.value - gaussian("logcosh")[0]))[:2]
    assert error[noise[0], noise[1]] > 0.1
    np.fill_diagonal(error, 0)
    error[np.ix_(noise, noise)] = 0
    assert error.max() < 0.05


def test_a_start_on_some_rows_is_near_the_goal(rng, monkeypatch):
    rows, W = white(signals(rng, 5, 9000)), rotation(rng, 5)
    options = {"contrast": "logcosh", "tol": 1e-6, "max_iter": 100}
    goal = separate(rows, W, **options)
    assert ica_rotation.start(rows, W, np.random.default_rng(0), **options) is W  # few rows: nothing to gain
    monkeypatch.setattr(ica_rotation, "warm_rows", lambda k: 2000)
    near = ica_rotation.start(rows, W, np.random.default_rng(0), **options)
    assert matched(near, goal.W) < 0.1
    warm = separate(rows, near, **options)
    assert warm.iterations < goal.iterations
    assert matched(warm.W, goal.W) < 1e-5


def test_some_rows_are_rows(rng):
    rows = white(signals(rng, 3, 5000))
    some = rows.some(1999, np.random.default_rng(3))
    assert some.n == 1999
    assert [block.shape[1] for block in some.blocks] == [700, 700, 599]
    all_rows = {tuple(column) for block in rows.blocks for column in block.T}
    chosen = {tuple(column) for block in some.blocks for column in block.T}
    assert len(chosen) == 1999
    assert chosen < all_rows


def test_same_bits_on_any_number_of_threads(rng):
    rows, W = white(signals(rng, 6, 20_000)), rotation(rng, 6)
    found = []
    for threads in (1, 2, 3):
        with lowland.config(threads=threads):
            found.append(separate(rows, W, contrast="logcosh", tol=1e-6, max_iter=50).W)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
