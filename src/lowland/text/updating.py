"""Further documents in an index: the updated decomposition, and how far the index has drifted from its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import thread_pool
from ..spectral import dense
from ..spectral.svd_update import Decomposition

Array = Any

_DENSE_ENTRIES = 1 << 24  # an update works on dense rows: 128 MB of them at a time


@dataclass(frozen=True)
class Grown:
    """The decomposition after an update, as an index keeps it."""

    values: Array
    components: Array
    documents: Array
    energy: float
    lost: float


def grown(index: Any, X: Any) -> Grown:
    """Return the decomposition of an index with further rows, some of them at a time."""
    s = index.singular_values_
    U = index.documents_.astype(np.float64) / s
    held = Decomposition(
        U,
        s,
        index.components_.T.astype(np.float64),
        len(U),
        index.energy_,
        index.lost_energy_,
        np.zeros((2, X.shape[1])),
    )
    step = max(len(s), _DENSE_ENTRIES // X.shape[1])
    with thread_pool.one_blas_thread():
        for start in range(0, X.shape[0], step):
            held = held.with_rows(X[start : start + step].toarray(), len(s), np.float32)
    return Grown(
        held.s,
        np.ascontiguousarray(held.V.T, dtype=np.float32),
        (held.U * held.s).astype(np.float32),
        held.energy,
        held.lost,
    )


def drift_of(components: Array, X: Any, unknown: float) -> float:
    """Return how far an index is from a refit: the share of what a refit would hold that it misses, 0 to 1.

    One step of subspace iteration, V₁ = orth(XᵀXV), turns the concepts towards those of all documents X; what they then
    hold more, 1 − ‖XV‖²/‖XV₁‖², is 0 after a fit. ``unknown``: the share of the words of all documents that would
    become terms; a refit would hold them, too.
    """
    V = np.ascontiguousarray(components.T, dtype=np.float64)
    Y = X @ V
    V1, _ = dense.orthonormal(X.T @ Y)
    before, after = float((Y**2).sum()), float(((X @ V1) ** 2).sum())
    return float(np.clip(1.0 - before / after * (1.0 - unknown), 0.0, 1.0)) if after > 0 else 1.0


def unknown_term_share(index: Any, texts: Sequence[str]) -> float | None:
    """Return the share of the words of texts, stop words apart, that are no terms of an index.

    None for hashed columns, whose words have no names, and for texts without words.
    """
    if index.hashing:
        return None
    counted = _word_counts(index, texts)
    if counted is None:
        return None
    names, counts = counted
    totals = np.asarray(counts.sum(axis=0)).ravel()
    known = np.isin(names, index.encoder_.names_out_)
    return float(totals[~known].sum() / totals.sum())


def _word_counts(index: Any, texts: Sequence[str]) -> tuple[Array, Any] | None:
    """Return the words of texts that are no stop words, and how often each text has them; None without any."""
    vectorizer = index.encoder_._new_vectorizer(None)
    try:
        counts = vectorizer.fit_transform(texts).tocsc()
    except ValueError:  # no words at all
        return None
    return vectorizer.get_feature_names_out(), counts


def known_share(index: Any, texts: Sequence[str]) -> float:
    """Return the share of the words of texts that are terms of an index.

    Unknown words count if they occur in as many of the texts as a term must; the others would not become terms.
    """
    if index.hashing:
        return 1.0  # words have no names
    encoder = index.encoder_
    counted_words = _word_counts(index, texts)
    if counted_words is None:
        return 1.0
    names, counts = counted_words
    least = encoder.min_df if isinstance(encoder.min_df, int) else encoder.min_df * len(texts)
    known = np.isin(names, encoder.names_out_)
    totals, frequent = np.asarray(counts.sum(axis=0)).ravel(), np.diff(counts.indptr) >= least
    counted = float(totals[known | frequent].sum())
    return float(totals[known].sum()) / counted if counted else 1.0
