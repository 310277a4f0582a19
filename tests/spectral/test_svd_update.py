"""Updates of a truncated decomposition against LAPACK on all rows."""

import numpy as np
import pytest

from lowland.spectral.svd_update import Decomposition


def grown(blocks, d, k):
    found = Decomposition.empty(d)
    for rows in blocks:
        found = found.with_rows(rows, k, np.float64)
    return found


@pytest.mark.parametrize("cuts", [(7,), (1, 2, 30), (20, 21)])
def test_exact_while_the_rank_fits(rng, cuts):
    X = rng.standard_normal((40, 4)) @ rng.standard_normal((4, 9)) + 3.0
    found = grown(np.split(X, cuts), 9, 5)
    np.testing.assert_allclose(found.s, np.linalg.svd(X)[1][: len(found.s)], rtol=1e-12)
    np.testing.assert_allclose((found.U * found.s) @ found.V.T, X, atol=1e-12)
    assert found.n == 40
    assert found.lost <= 1e-20 * found.energy
    np.testing.assert_allclose(found.energy, (X**2).sum(), rtol=1e-14)
    np.testing.assert_allclose(found.columns[0], X.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.columns[1], ((X - X.mean(axis=0)) ** 2).sum(axis=0), rtol=1e-12)


def test_what_is_cut_off_bounds_the_error(rng):
    X = rng.standard_normal((60, 12))
    found, exact = grown(np.split(X, (20, 40)), 12, 4), np.linalg.svd(X)[1][:4]
    assert (found.s <= exact + 1e-12).all()
    assert 0 <= (exact**2).sum() - (found.s**2).sum() <= found.lost
