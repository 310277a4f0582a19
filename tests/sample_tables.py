"""Tables with the traits of real ones, generated, and the folder of reference results."""

from __future__ import annotations

from pathlib import Path

import numpy as np

REFERENCE = Path(__file__).resolve().parent / "data" / "r"


def connections(n, seed=0):
    """Network connections: mostly repeated rows, a constant column, counts, rates, and sizes up to 1e9."""
    rng = np.random.default_rng(seed)
    kinds = 200
    sizes = np.exp(rng.normal(4, 3, (kinds, 8)) * (rng.random((kinds, 8)) < 0.6))
    counts = rng.poisson(rng.gamma(0.5, 40, (kinds, 15)))
    rates = np.round(rng.beta(0.2, 0.2, (kinds, 14)), 2)
    profiles = np.column_stack([np.floor(sizes), counts, rates, np.zeros(kinds)]).astype(np.float32)
    X = profiles[np.minimum(rng.geometric(0.03, n) - 1, kinds - 1)]
    own = rng.random(n) < 0.4  # the others repeat a profile exactly
    X[own, :3] = np.floor(np.exp(rng.normal(5, [4, 3, 2], (own.sum(), 3)).clip(max=20.5)))
    X[own, 8:12] = rng.poisson(30, (own.sum(), 4))
    return X


def flights(n, seed=0):
    """Flights: times that depend on one another exactly, and gaps where a flight was cancelled or diverted."""
    rng = np.random.default_rng(seed)
    hour, minute = rng.integers(5, 24, n), rng.integers(0, 60, n)
    distance = np.round(rng.gamma(2.0, 500, n) + 80)
    late = rng.gamma(0.4, 40, n) - 8
    arrival = late + rng.normal(-5, 15, n)
    flown = distance / 8 + rng.normal(20, 10, n)
    columns = [hour, minute, 100 * hour + minute, 100 * hour + minute + late, late, arrival, flown, distance]
    columns += [rng.integers(1, 13, n), rng.integers(1, 29, n), rng.integers(1, 1500, n)]
    X = np.column_stack(columns).astype(np.float32)
    cancelled, diverted = rng.random(n) < 0.02, rng.random(n) < 0.01
    X[np.ix_(cancelled, [3, 4])] = np.nan
    X[np.ix_(cancelled | diverted, [5, 6])] = np.nan
    return X


def lit_bumps(n, seed=0):
    """Images of 24 × 24 pixels of a bump under a light, and their three parameters: position (2) and light (1)."""
    rng = np.random.default_rng(seed)
    params = rng.uniform(-1, 1, (n, 3))
    x, y = np.meshgrid(np.linspace(-1, 1, 24), np.linspace(-1, 1, 24))
    dx, dy = x - 0.35 * params[:, :1, None], y - 0.35 * params[:, 1:2, None]
    height = np.exp(-(dx**2 + dy**2) / 0.25)
    light = params[:, 2:, None]  # the angle that the light comes from
    return (height * (1 + 4 * (dx * np.sin(light) + dy * np.cos(light)))).reshape(n, -1), params


def plane(n: int, seed: int = 0) -> np.ndarray:
    """Rows near a plane in eight dimensions."""
    rng = np.random.default_rng(seed)
    A = np.random.default_rng(99).standard_normal((2, 8))
    return rng.standard_normal((n, 2)) @ A + 0.2 * rng.standard_normal((n, 8))
