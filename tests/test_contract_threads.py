"""What every registered method must keep: a fit gives the same bits in the main thread, another one and the pool."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland import config
from lowland.core import thread_pool
from own_thread import in_thread


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")  # few rows of noise: maps of them are told to say little
def test_same_bits_in_any_thread(quick, rng):
    X = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 60)) + 0.3 * rng.standard_normal((80, 60))

    def work(_=None):
        model = quick().fit(X)
        return model.transform(X), model.transform(X + 0.01)

    first = work()  # the main thread sets a limit on BLAS before any other does
    others = [in_thread(work), in_thread(work)]
    with config(threads=2):
        others += thread_pool.run(work, range(2))
    for other in others:
        for got, want in zip(other, first, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("n", "neighbors"), [(60, 5), (150, 6)], ids=["program", "steps"])
@pytest.mark.filterwarnings("ignore::lowland.NotConvergedWarning")  # so few neighbours cannot keep all distances
def test_unfolding_has_the_same_bits_in_any_thread(n, neighbors):
    X, _ = lowland.data.swiss_roll(n)

    def work():
        return lowland.MVU(n_neighbors=neighbors).fit(X).embedding_

    first = work()
    np.testing.assert_array_equal(in_thread(work), first)
