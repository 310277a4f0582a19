"""The similarity of documents: cosines of their coordinates, each weighted by the square root of its strength.

Searches are more accurate if weak concepts count less (J. Caron, Experiments with LSA scoring, in Computational
Information Retrieval, SIAM 2001). Of the weights Σ^p, p = ½ was chosen on seven collections: six are better than with
p = 0, two of them by more than three standard errors, and one is worse, by 1.6 (docs/text.md). The product of texts x
and y is then xᵀVΣVᵀy: between them stands the square root of the products XᵀX of terms, at the rank of the index.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def lengths(Z: Array, strengths: Array) -> Array:
    """Return |Σ^½ z| of rows z; infinity for rows of zeros, which then score 0.

    >>> lengths(np.array([[2.0, 3.0], [0.0, 0.0]]), np.array([4.0, 1.0])).tolist()
    [5.0, inf]
    """
    found = np.sqrt(np.einsum("ij,ij,j->i", Z, Z, strengths.astype(Z.dtype)))
    return np.where(found > 0, found, np.inf).astype(np.float32)


def queries(Z: Array, strengths: Array) -> Array:
    """Return Σz/|Σ^½ z| of rows z: its product with d over the length of d is the cosine of Σ^½ z and Σ^½ d.

    >>> s = np.array([4.0, 1.0])
    >>> q, d = queries(np.array([[1.0, 2.0]]), s)[0], np.array([[3.0, 2.0]])
    >>> (d @ q / lengths(d, s)).round(4).tolist(), round(16 / (8 * 40) ** 0.5, 4)
    ([0.8944], 0.8944)
    """
    return np.asarray(Z * strengths / lengths(Z, strengths)[:, None], dtype=np.float32)
