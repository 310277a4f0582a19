"""Seeds: the same call gives the same result."""

from __future__ import annotations

from typing import Any

import numpy as np


def seed(random_state: Any) -> np.random.Generator:
    """Return a random generator; None means seed 0."""
    if random_state is None:
        return np.random.default_rng(0)
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(int(random_state))
