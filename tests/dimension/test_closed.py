"""Rings and spheres are closed; curves with ends, trees and surfaces with an edge are not."""

from __future__ import annotations

import numpy as np
import pytest

from lowland import data
from lowland.dimension.closed import is_closed
from lowland.dimension.points import points_of


def curve(kind: str, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t = rng.random(n)
    around = 2 * np.pi * t
    return {
        "ring": lambda: np.column_stack([np.cos(around), np.sin(around)]),
        "noisy ring": lambda: np.column_stack([np.cos(around), np.sin(around)]) + 0.05 * rng.standard_normal((n, 2)),
        "winding ring": lambda: np.column_stack([f(m * around) / m for m in (1, 2) for f in (np.cos, np.sin)]),
        "arc": lambda: np.column_stack([np.cos(5 * t), np.sin(5 * t)]),
        "line": lambda: np.column_stack([t, t]) + 0.005 * rng.standard_normal((n, 2)),
        "helix": lambda: np.column_stack([np.cos(20 * t), np.sin(20 * t), 4 * t]),
        "fork": lambda: np.column_stack([t, np.where(rng.random(n) < 0.5, 1, -1) * np.maximum(t - 0.5, 0)]),
    }[kind]()


@pytest.mark.parametrize("n", [300, 3000])
@pytest.mark.parametrize(
    ("kind", "closed"),
    [
        ("ring", True),
        ("noisy ring", True),
        ("winding ring", True),
        ("arc", False),
        ("line", False),
        ("helix", False),
        ("fork", False),
    ],
)
def test_closed_curves_are_told_from_open_ones(kind: str, closed: bool, n: int) -> None:
    found = [is_closed(points_of(curve(kind, n, seed)), 1, np.random.default_rng(0)) for seed in range(5)]
    assert found == [closed] * 5


def test_surfaces_with_an_edge_are_open() -> None:
    rng = np.random.default_rng(0)
    ball = rng.standard_normal((1500, 3))
    assert is_closed(points_of(ball / np.linalg.norm(ball, axis=1)[:, None]), 2, rng)
    for X in (data.swiss_roll(1500)[0], data.s_curve(1500)[0], data.punctured_sphere(1500)[0], rng.random((1500, 2))):
        assert not is_closed(points_of(X), 2, rng)


def test_few_points_and_many_dimensions_say_nothing() -> None:
    rng = np.random.default_rng(0)
    assert not is_closed(points_of(curve("ring", 60, 0)), 1, rng)
    assert not is_closed(points_of(rng.standard_normal((300, 6))), 6, rng)
