"""Dimensions and outliers of tables that are read in blocks."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland.data import scan
from lowland.rows import sampling


@pytest.fixture
def rolled(tmp_path, monkeypatch):
    """A swiss roll of 3,000 rows in a file, of which samples have 800."""
    monkeypatch.setattr(sampling.sample_of_scan, "__defaults__", (800, 0))
    X, _ = lowland.data.swiss_roll(3000, random_state=0)
    np.save(tmp_path / "roll.npy", X)
    return X, scan(tmp_path / "roll.npy")


def test_the_dimension_of_a_scan_is_that_of_a_sample(rolled, rng, tmp_path):
    np.save(tmp_path / "flat.npy", rng.uniform(size=(3000, 2)) @ np.linalg.qr(rng.standard_normal((4, 4)))[0][:2])
    found = lowland.dimension.estimate(scan(tmp_path / "flat.npy"))
    assert found.warnings[-1] == found.of_sample == "measured on a sample of 800 of the 3,000 rows"
    assert round(float(found.consensus["nonlinear"])) == 2


def test_outliers_of_a_scan_are_those_of_the_rows(rolled):
    X, table = rolled
    np.testing.assert_array_equal(lowland.quality.outliers(table).rows, lowland.quality.outliers(X).rows)
