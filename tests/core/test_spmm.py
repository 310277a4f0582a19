"""Products of sparse matrices with a dense result: the bits of SciPy's, by whichever way they are computed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lowland.core import spmm, spmm_loops


@pytest.mark.parametrize(("frequent", "own"), [(0.75, True), (0.004, False)])
def test_few_frequent_columns_make_the_loop_worthwhile(frequent, own, rng, monkeypatch):
    """The number of multiplications depends on how the entries are spread over columns, not only on their number."""
    n, d = 600, 4000
    counts = np.where(np.arange(d) < 30, frequent, 0.004)
    X = sp.csr_array((rng.random((n, d)) < counts) * rng.standard_normal((n, d)))
    called = []
    loop = spmm_loops.add_products
    monkeypatch.setattr(spmm_loops, "add_products", lambda *parts: called.append(1) or loop(*parts))
    found = spmm.outer(X, X.T.tocsr())
    np.testing.assert_array_equal(found, (X @ X.T).toarray())
    assert bool(called) == own


def test_no_entries():
    np.testing.assert_array_equal(spmm.outer(sp.csr_array((3, 4)), sp.csr_array((4, 2))), np.zeros((3, 2)))
