"""Outliers of a table that is read in blocks: the bits of the table in memory."""

import numpy as np
import pytest

import lowland
from lowland.quality import outliers


@pytest.mark.parametrize(("n", "anchors"), [(12_000, "auto"), (12_000, 300), (3000, 3000), (3000, None)])
@pytest.mark.parametrize("scale", [False, True])
def test_blocks_give_the_bits_of_the_table(tmp_path, n, anchors, scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 5))
    X[77] = 30.0
    np.save(tmp_path / "rows.npy", X)
    want = outliers(X, anchors=anchors, scale=scale)
    found = outliers(lowland.data.scan(tmp_path / "rows.npy"), anchors=anchors, scale=scale)
    assert found.rows[0] == 77
    for name in ("rows", "distance", "t2", "spe", "severity", "angles"):
        np.testing.assert_array_equal(getattr(found, name), getattr(want, name), err_msg=name)
    assert found.limits == want.limits
    assert found.sentence == want.sentence
    if anchors == n:  # as many anchors as rows: the exact distances
        np.testing.assert_array_equal(found.distance, outliers(X, anchors=None, scale=scale).distance)
