"""Weights of words in texts: counts of terms become features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

Array = Any

FEATURES = ("tfidf", "log-entropy", "histogram", "counts")


def global_weights(counts: Any, features: str) -> Array:
    """Return the weight of each term, learned from the counts (texts × terms) of the training texts.

    tf-idf: 1 + ln((1 + N)/(1 + n)) for a term in n of N texts, as scikit-learn has it. Log-entropy (Dumais 1991):
    1 + Σ p ln p / ln N with p the term's share in each text: 1 for a term of one text, 0 for one spread evenly.

    >>> counts = sp.csr_array([[2.0, 1.0], [0.0, 1.0]])
    >>> global_weights(counts, "log-entropy").round(3).tolist()
    [1.0, 0.0]
    """
    n, d = counts.shape
    if features == "tfidf":
        texts = np.bincount(counts.indices, minlength=d)
        return 1.0 + np.log((1.0 + n) / (1.0 + texts))
    if features == "log-entropy" and n > 1:
        totals = np.bincount(counts.indices, weights=counts.data, minlength=d)
        share = counts.data / totals[counts.indices]
        information = np.bincount(counts.indices, weights=share * np.log(share), minlength=d) / np.log(n)
        return np.maximum(1.0 + information, 0.0)  # rounding may leave −1e-16
    return np.ones(d)


def weighted(counts: Any, features: str, weights: Array, norm: str | None) -> Any:
    """Return the features of texts from the counts of their terms, each text by itself.

    A text of c occurrences of a term has (1 + ln c)·w ("tfidf"), ln(1 + c)·w ("log-entropy"), c/|x| with |x| all of
    its counted terms ("histogram") or c ("counts"). ``norm="l2"`` divides by the Euclidean length. A text without
    terms is a row of zeros.

    >>> counts = sp.csr_array([[3.0, 1.0]])
    >>> weighted(counts, "histogram", np.ones(2), None).toarray().tolist()
    [[0.75, 0.25]]
    """
    data = counts.data
    if features == "tfidf":
        data = (1.0 + np.log(data)) * weights[counts.indices]
    elif features == "log-entropy":
        data = np.log1p(data) * weights[counts.indices]
    sizes = None
    if norm == "l2":
        sizes = np.sqrt(_row_sums(data**2, counts.indptr))
    elif features == "histogram":
        sizes = _row_sums(data, counts.indptr)
    if sizes is not None:
        data = data / np.repeat(np.where(sizes > 0, sizes, 1.0), np.diff(counts.indptr))
    return sp.csr_array((data.astype(np.float64, copy=False), counts.indices, counts.indptr), shape=counts.shape)


def _row_sums(data: Array, starts: Array) -> Array:
    """Return the sum of each row; the same bits for a row whatever the other rows are."""
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.bincount(rows, weights=data, minlength=len(starts) - 1)
