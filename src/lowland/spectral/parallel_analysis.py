"""Parallel analysis: the number of components that exceed those of independent columns with the same variances."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.measure import Measure
from ..core.message import Message, Owner, Setting
from ..core.random import seed
from ..core.settings import report_progress
from ..pairs.pairwise import short
from . import dense
from .routes import degrees
from .solve import DENSE_LIMIT
from .solved import Solved
from .variances import Variances, leading, variances_of

Array = np.ndarray[Any, Any]


def null_spectrum(
    n_rows: int, variances: Array, rng: np.random.Generator, *, draws: int = 20, quantile: float = 0.95
) -> Array:
    """Return the upper quantile of each eigenvalue under independence.

    The scatter of n rows of independent normal columns is Wishart; Bartlett's triangular factor samples it without
    simulating rows. Each draw is scaled to exactly these variances, as a permutation of the columns would have, so that
    correlations are compared with correlations.
    """
    dof, d = n_rows - 1, len(variances)
    size = min(dof, d)
    if size > DENSE_LIMIT:
        raise DataError(
            Message(
                "parallel analysis (",
                Setting("n_components", "auto"),
                f" of PCA) compares whole spectra and is limited to {DENSE_LIMIT} dimensions (here {size}); use "
                "another rule, such as variance_share (for PCA, a number or a share)",
            )
        )
    lengths = np.sqrt(dof * variances)
    found = np.empty((draws, size))
    for i in range(draws):
        if dof >= d:
            M = np.tril(rng.standard_normal((d, d)), -1)
            M[np.arange(d), np.arange(d)] = np.sqrt(rng.chisquare(dof - np.arange(d)))
        else:
            M = rng.standard_normal((d, dof))
        M *= (lengths / np.linalg.norm(M, axis=1))[:, None]  # rows of M are the columns of the data
        found[i] = dense.eigvalsh_batch((M.T @ M)[None])[0, ::-1] / dof
        report_progress("parallel analysis", i + 1, draws)
    return np.asarray(np.quantile(found, quantile, axis=0))


def parallel_analysis(
    X: Any,
    n_rows: int | None = None,
    variances: Any = None,
    *,
    scale: bool = False,
    random_state: int | None = 0,
    draws: int = 20,
    quantile: float = 0.95,
) -> Measure:
    """Return the number of leading eigenvalues that exceed those of independent columns; at least 1.

    The count is conservative: a few strong factors on few columns raise the null spectrum and can hide weak ones.

    Parameters
    ----------
    X : array, sparse matrix, data frame, RowSource, or list of eigenvalues
        Rows; or the eigenvalues of a covariance, descending, with ``n_rows``.
    n_rows : int, optional
        Number of rows of the eigenvalues.
    variances : array-like, optional
        Variances of the columns of the eigenvalues, with the same sum; default: all equal, as for standardised columns.
    scale : bool
        Scale every column of rows to the same variance first.
    random_state : int
        Seed of the draws.
    draws : int
        Number of spectra of independent columns.
    quantile : float
        The quantile of the draws that a value must exceed.

    Examples
    --------
    >>> parallel_analysis([2.6, 0.2, 0.2], 500)
    1

    References
    ----------
    J. L. Horn, A rationale and test for the number of factors in factor analysis, Psychometrika 30 (1965).
    """
    found, columns = _read(X, n_rows, variances, scale=scale, draws=draws, quantile=quantile)
    count = above_null(found, columns, seed(random_state), draws=draws, quantile=quantile)
    return Measure(max(1, count), max(1, count.low), max(1, count.high))


def null_shares(
    X: Any,
    n_rows: int | None = None,
    variances: Any = None,
    *,
    scale: bool = False,
    random_state: int | None = 0,
    draws: int = 20,
    quantile: float = 0.95,
) -> Array:
    """Return the spectrum that `parallel_analysis` compares with, as shares of the total variance.

    The parameters are those of `parallel_analysis`; with the same ones, its count is the number of leading components
    whose share is above this line (at least 1).

    Examples
    --------
    >>> null_shares([2.6, 0.2, 0.2], 500).round(3).tolist()
    [0.367, 0.341, 0.322]
    """
    found, columns = _read(X, n_rows, variances, scale=scale, draws=draws, quantile=quantile)
    return _null(found, columns, seed(random_state), draws=draws, quantile=quantile) / found.total


def _read(
    X: Any, n_rows: int | None, variances: Any, *, scale: bool, draws: int, quantile: float
) -> tuple[Variances, Any]:
    """Return the checked spectrum and the variances of its columns."""
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
        raise ValueError(
            Message(
                Owner("parallel_analysis"), Setting("draws"), f" must be a whole number of at least 1; got {draws!r}"
            )
        )
    if not 0 < quantile < 1:
        raise ValueError(
            Message(Owner("parallel_analysis"), Setting("quantile"), f" must be between 0 and 1; got {quantile!r}")
        )
    if variances is None:
        found = variances_of(X, n_rows, scale=scale, owner="parallel_analysis", flat=True)
        columns = np.full(found.n_columns, found.total / found.n_columns) if found.columns is None else found.columns
    else:
        columns = _checked(variances)
        found = _spectrum_of(X, n_rows, columns)
    return found, columns


def parallel_count(solved: Solved, ddof: int, rng: np.random.Generator) -> int:
    """Return how many components of decomposed rows parallel analysis keeps."""
    variances = solved.variances if solved.scale is None else np.where(solved.variances > 0, 1.0, 0.0)
    spectrum, n = solved.spectrum / degrees(solved.weight, ddof), max(2, round(solved.weight))
    return int(parallel_analysis(spectrum, n, variances, random_state=int(rng.integers(2**31))))


def _checked(variances: Any) -> Any:
    """Return the variances of columns; raise if one is negative or not finite."""
    columns = np.asarray(variances, dtype=np.float64)
    if columns.ndim != 1 or not len(columns) or not (columns >= 0).all() or not np.isfinite(columns).all():
        raise DataError(
            Message(
                Owner("parallel_analysis"),
                Setting("variances"),
                f" must be finite, nonnegative, one per column; got {short(variances)}",
            )
        )
    return columns


def _spectrum_of(X: Any, n_rows: int | None, columns: Any) -> Variances:
    """Return a given spectrum; raise if the columns cannot have these variances.

    It may end at its rank, so there may be more columns than values; but both have the same sum. For rows that are not
    centred, that of the values is larger; with another divisor, it may be smaller by 1/N.
    """
    found = variances_of(X, n_rows, owner="parallel_analysis", flat=True)
    if found.columns is not None:
        raise ValueError(
            Message(Owner("parallel_analysis"), "variances can be given only with eigenvalues, not with rows")
        )
    rank, entries = len(found.values), len(columns)
    if rank > entries:
        raise ValueError(
            Message(Owner("parallel_analysis"), f"variances has {entries} entries, but {rank} eigenvalues are positive")
        )
    n = found.rows("parallel_analysis")
    if len(X) != entries and columns.sum() > (1.001 + 2 / n) * found.total:
        raise ValueError(
            Message(
                Owner("parallel_analysis"),
                f"the sum of {entries} variances is {columns.sum():.4g}, but the sum of {len(X)} "
                f"eigenvalues is {found.total:.4g}: they do not belong to the same columns",
            )
        )
    return replace(found, n_columns=entries, size=max(rank, min(n - 1, entries)))


def above_null(
    found: Variances, columns: Any, rng: np.random.Generator, *, draws: int = 20, quantile: float = 0.95
) -> Measure:
    """Return the number of leading values above those of independent columns; 0 if the columns look independent."""
    null = _null(found, columns, rng, draws=draws, quantile=quantile)
    m = min(len(found.values), len(null))
    return leading(found.values[:m], null[:m], found.spread())


def _null(found: Variances, columns: Any, rng: np.random.Generator, *, draws: int, quantile: float) -> Array:
    """Return the null spectrum in the units of the values."""
    unit = float(columns.max(initial=0.0)) or 1.0  # so that products of variances neither overflow nor underflow
    return unit * null_spectrum(found.rows("parallel_analysis"), columns / unit, rng, draws=draws, quantile=quantile)
