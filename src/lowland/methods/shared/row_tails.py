"""How far the training rows of a linear method lie from their mean and plane: a summary for limits on new rows.

T² = Σ y²/λ and SPE = ‖z − VVᵀz‖² of a sample of the training rows are kept as quantiles, on a logarithmic scale of
ranks. Of each column of numbers, the squared deviation from the mean and the squared residual are kept as generalized
Pareto distributions of their upper tails (Hosking and Wallis 1987). All are relative to the total variance, so they
have no unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...core import arrays
from ...rows.mixed_rows import Levels, MixedRows
from ...rows.object_rows import take
from ...rows.row_source import RowSource

Array = Any

LEAST_ROWS = 20  # with fewer, quantiles say little
MOST_ROWS = 10_000  # rows of the sample
_ENTRIES = 1 << 21  # numbers of the sample: 16 MB
_RANKS = 80  # quantiles kept
_TAIL = (0.1, 10, 500)  # rows of a tail: this share of the rows, at least, at most
_PRIOR_ROWS, _PRIOR_SHAPE = 20, 0.2  # a shape that a tail is drawn towards, and its weight in rows
_STEEPEST = 0.95  # largest shape: above 1, a tail has no mean
_LEAST_LEFT = 0.5  # smallest 1 − leverage relative to the mean one: a row alone in its direction says nothing
_LEAST_VARIANCE = 1e-6  # smallest variance of an axis relative to the largest, such as of columns that depend exactly
_FLAT_SHARE = 1e-9  # share of the variance up to which a residual is rounding
_DISTINCT = 10  # fewest different values of a column of numbers that has a tail


_keeping: ContextVar[bool] = ContextVar("keeping", default=False)


@contextmanager
def keep_row_tails() -> Iterator[None]:
    """Let fits of PCA, ProbabilisticPCA and FAMD in this block keep a summary of their training rows.

    `novelty` then judges new rows by limits that hold for rows of any distribution, and judges single cells. The
    summary is of at most 10,000 rows, and is saved with the model. It takes time, so that other fits leave it out;
    `lowland reduce --model` keeps it. Rows that are read in blocks, sparse or weighted are not summarised.

    Examples
    --------
    >>> import numpy as np
    >>> import lowland
    >>> X = np.random.default_rng(0).exponential(size=(4000, 4))
    >>> with lowland.quality.keep_row_tails():
    ...     model = lowland.PCA(2).fit(X[:2000])
    >>> plain = lowland.PCA(2).fit(X[:2000])
    >>> [int(lowland.quality.novelty(m, X[2000:], level=0.99).novel.sum()) for m in (plain, model)]  # 20 expected
    [103, 10]
    """
    before = _keeping.set(True)
    try:
        yield
    finally:
        _keeping.reset(before)


def summarize(model: Any, rows: RowSource) -> None:
    """Summarise the rows of a fit of orthonormal axes in ``row_tails_`` if that is wanted, see `keep_row_tails`.

    Rows that are read in blocks or weighted are not summarised: that would take a further pass.
    """
    if not _keeping.get() or not getattr(model, "center", True):
        return
    V, n = np.asarray(model.components_, dtype=np.float64).T, int(model.n_samples_)
    if n < max(LEAST_ROWS, V.shape[1] + 3):
        return
    Z = _standard_rows(model, rows)
    if Z is None:
        return
    factor = (n - getattr(model, "ddof", 0)) / (n - 1)
    values = np.asarray(model.eigenvalues_, dtype=np.float64) * factor
    total = float(model.total_variance_) * factor
    if total > 0 and values.min() > 0:
        model.row_tails_ = dict(summary(Z, V, values, total, n, number_columns(model)))


def _standard_rows(model: Any, rows: RowSource) -> Array | None:
    """Return some of the training rows, centred and scaled; None where they are not at hand."""
    layout, codes = getattr(model, "_layout", None), rows
    if isinstance(rows, MixedRows):  # categories as codes of the levels of the fit
        codes = rows.coded(Levels(tuple(model.categorical_columns_), tuple(model.categorical_levels_)))
    sample = sampled(rows, model.components_.shape[1], codes)
    if sample is None:
        return None
    if layout is not None:
        return np.asarray(layout.standard_map(model.mean_, model.scale_)(sample))
    Z = np.asarray(sample, dtype=np.float64) - model.mean_
    scale = getattr(model, "scale_", None)
    return Z if scale is None else Z / scale


def number_columns(model: Any) -> Array | None:
    """Return the places of numbers among the standardised columns of a method; None: all."""
    layout = getattr(model, "_layout", None)
    return None if layout is None else np.asarray(layout.first[layout.numeric])


def sampled(rows: RowSource, width: int, codes: RowSource) -> Array | None:
    """Return rows drawn at random (all of a small table) as numbers; None of rows that are not in memory.

    ``width`` is the number of columns that a row will have; ``codes`` are the rows as numbers.
    """
    if rows.weights is not None or rows.sparse or rows.elsewhere or rows.home is not None or rows.n_rows is None:
        return None
    array, n = rows.array, rows.n_rows
    if array is None and not (isinstance(rows, MixedRows) and rows.in_memory):
        return None
    most = min(n, MOST_ROWS, _ENTRIES // max(1, width))
    if most < min(n, LEAST_ROWS):
        return None
    numbers = np.arange(n) if most == n else np.sort(np.random.default_rng(0).choice(n, most, replace=False))
    found = take(codes, numbers) if array is None else arrays.to_numpy(array[numbers])
    found = found[np.isfinite(found).all(axis=1)]  # rows with missing values are not judged
    return found if len(found) >= LEAST_ROWS else None


def scores(Z: Array, V: Array, values: Array, total: float, at: Array | None) -> Array:
    """Return, for each row, the squares of the numbers and of their residuals, (rows, 2, columns).

    Where the axes hold all of the total variance, the residual of a column is that of its regression on all others.
    """
    Y = Z @ V
    if total - values.sum() > _FLAT_SHARE * total:
        rest = Z - Y @ V.T
    else:
        rest = (Y / np.maximum(values, _LEAST_VARIANCE * values.max())) @ V.T * values.mean()
    both = np.stack([Z, rest], axis=1)
    both = both if at is None else both[:, :, at]
    return both * both


def summary(Z: Array, V: Array, values: Array, total: float, n: int, at: Array | None) -> Mapping[str, Any]:
    """Return the summary of standardised rows Z about axes V with these variances, fitted to n rows."""
    Y = Z @ V
    spe = np.maximum((Z * Z).sum(axis=1) - (Y * Y).sum(axis=1), 0.0)
    t2 = (Y * Y / values).sum(axis=1)
    places = ranks(len(Z)) - 1
    # 1 − leverage: the axes follow their own rows
    left = np.maximum(1 - 1 / n - t2 / (n - 1), _LEAST_LEFT * (1 - (V.shape[1] + 1) / n))
    squares = scores(Z, V, values, total, at) / total
    squares[:, 1] /= (left**2)[:, None]
    squares = squares.reshape(len(Z), -1)
    cells = np.vstack([upper_tails(squares), squares.mean(axis=0)]).reshape(5, 2, -1)
    numbers = Z if at is None else Z[:, at]
    few = np.array([len(np.unique(column)) < _DISTINCT for column in numbers.T], dtype=bool)
    cells[0, :, few] = np.inf
    return {
        "rows": len(Z),
        "t2": np.sort(t2)[::-1][places],
        "spe": np.sort(spe)[::-1][places] / total,
        "cells": cells,
    }


def ranks(n: int) -> Array:
    """Return the ranks, from 1 for the largest, of the quantiles that are kept of n values.

    >>> ranks(100)[:5].tolist(), int(ranks(100)[-1])
    ([1, 2, 3, 4, 5], 100)
    """
    return np.unique(np.round(np.geomspace(1, n, _RANKS)).astype(np.intp))


def tail_rows(n: int) -> int:
    """Return how many of n values are the upper tail."""
    share, least, most = _TAIL
    return int(min(max(share * n, least), most, n - 1))


def upper_tails(values: Array) -> Array:
    """Return for each column of values, (n, C), the edge, slope and shape of its tail and the largest value, (4, C).

    A tail is a generalized Pareto distribution, fitted by probability-weighted moments; its shape is drawn towards
    0.2, as by twenty further rows, and not negative.

    >>> tails = upper_tails(np.random.default_rng(0).exponential(size=(20_000, 1)))
    >>> round(float(beyond(tails, 20_000, 1e-4)[0]), 1)  # 9.2 = −ln 0.0001
    9.4
    """
    n = len(values)
    m = tail_rows(n)
    return fitted_tails(np.sort(np.partition(values, n - m - 1, axis=0)[n - m - 1 :], axis=0))


def fitted_tails(top: Array) -> Array:
    """Return the tails of columns of ascending values, of which the first is the edge."""
    m = len(top) - 1
    edge, over = top[0], top[1:] - top[0]
    mean = over.mean(axis=0)
    above = 1 - (np.arange(1, m + 1) - 0.35) / m
    weighted = (above[:, None] * over).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shape = np.where(mean > 0, 2 - mean / (mean - 2 * weighted), 0.0)
    shape = np.clip((shape * m + _PRIOR_SHAPE * _PRIOR_ROWS) / (m + _PRIOR_ROWS), 0.0, _STEEPEST)
    return np.stack([edge, mean * (1 - shape), shape, top[-1]])


def tail_beyond(top: Array, n: int, share: float) -> Array:
    """Return the value that this share of new rows exceeds, for columns of the largest of n values, descending.

    It is not below the largest if that is expected to be beyond it less than once.
    """
    tails = fitted_tails(top[::-1])
    return beyond(tails, n, share) if n * share < 1 else _extrapolated(tails, n, share)


def beyond(tails: Array, n: int, share: float) -> Array:
    """Return for each tail of n values the value that this share of new ones exceeds; never below the largest."""
    return np.maximum(_extrapolated(tails, n, share), tails[3])


def _extrapolated(tails: Array, n: int, share: float) -> Array:
    """Return edge + slope ((m/(n share))^shape − 1)/shape for each tail."""
    edge, slope, shape = tails[:3]
    times = np.log(tail_rows(n) / (n * share))
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = np.where(shape > 1e-9, np.expm1(shape * times) / shape, times)
    return edge + slope * growth
