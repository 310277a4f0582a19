"""A third engine is one file: methods run on it unchanged, and the order in which it works changes no bit."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
import third_engine
from dask_tables import same_bits
from lowland import engines
from lowland.engines.local import LOCAL

EXACT = [lowland.PCA(4), lowland.PCA(3, solver="krylov"), lowland.RandomProjection(4), lowland.SOM((5, 4), epochs=2)]


@pytest.fixture(autouse=True)
def _third(monkeypatch):
    monkeypatch.setitem(engines.ENGINES, "third_engine", "third_engine")


@pytest.mark.parametrize("model", EXACT, ids=lambda m: f"{type(m).__name__}-{getattr(m, 'solver', '')}")
def test_methods_run_on_it_with_the_bits_of_an_array(table, model):
    chunks = third_engine.Chunks(np.array_split(table, 7))
    one, other = (model.__class__(**model.get_params()) for _ in range(2))
    one.fit(table)
    third_engine.ENGINE.done.clear()
    other.fit(chunks)
    same_bits(one, other)
    assert third_engine.ENGINE.done != sorted(third_engine.ENGINE.done)
    assert np.allclose(other.transform(chunks), one.transform(table), rtol=1e-12)


def test_the_local_engine_keeps_the_same_contract():
    assert list(LOCAL.map(lambda i: i * i, range(5))) == [0, 1, 4, 9, 16]
    assert list(LOCAL.fold(lambda a, b: a + b, 10, [[1, 2], [], [3]])) == [13, 10, 13]
