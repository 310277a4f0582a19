"""The data of the cases and their reference answers, made once a run and read by every contender.

None is isotropic noise: a fit that is fast on easy spectra only, or loses digits to the mean, shows here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.linalg import svds

SEED = 20_240_601


class Recipe(NamedTuple):
    """How a table is made."""

    make: Callable[[int, int, str], Any]
    rows: int
    columns: int
    dtype: str

    def path(self, folder: Path) -> Path:
        """Return where the table lies; cases with the same recipe share it."""
        suffix = "npy" if self.make is correlated else "npz"
        return folder / f"{self.make.__name__}-{self.rows}x{self.columns}-{self.dtype}.{suffix}"


def correlated(rows: int, columns: int, dtype: str) -> np.ndarray:
    """Make factors with a slow power-law spectrum, mixed so that columns correlate, on top of large means.

    X = Z diag(j^-0.7) G + µ with Gaussian Z and G: neighbouring variances lie close together, and the means
    (up to 10) are larger than the spread of a column (about 1.7), as in raw measurements.
    """
    rng = np.random.default_rng(SEED)
    rank = min(rows, columns)
    mixing = (rng.standard_normal((rank, columns)) * (np.arange(1, rank + 1) ** -0.7)[:, None]).astype(dtype)
    mean = rng.uniform(-10, 10, columns).astype(dtype)
    X = np.empty((rows, columns), dtype)
    for start in range(0, rows, 50_000):
        block = X[start : start + 50_000]
        block[:] = rng.standard_normal((len(block), rank), dtype=dtype) @ mixing + mean
    return X


def word_counts(rows: int, columns: int, dtype: str) -> Any:
    """Make documents × terms like text, 1 entry in 500: Zipf popularity, 50 topics, weights log(1 + count).

    Half of a document's words come from a vocabulary that all share, half from its topic, which is the same
    Zipf law on other terms. A few strong directions, then a long tail.
    """
    rng = np.random.default_rng(SEED)
    wanted = rows * columns // 500
    popularity = np.cumsum(1 / (np.arange(columns) + 2.7))
    topic, shift = rng.integers(50, size=rows), rng.integers(columns, size=50)
    draws = np.zeros(0, np.int64)
    while np.unique(draws).size < wanted:
        document = rng.integers(rows, size=wanted)
        term = np.searchsorted(popularity, rng.random(wanted) * popularity[-1])
        special = rng.random(wanted) < 0.5
        term[special] += shift[topic[document[special]]]
        draws = np.concatenate([draws, document * columns + term % columns])
    cells, counts = np.unique(draws, return_counts=True)
    keep = np.sort(rng.choice(cells.size, wanted, replace=False))
    where = np.divmod(cells[keep], columns)
    return scipy.sparse.csr_matrix((np.log1p(counts[keep]), where), shape=(rows, columns), dtype=dtype)


def flat_sparse(rows: int, columns: int, dtype: str) -> Any:
    """Make uniform random entries, 1 in 500: past the first, singular values hardly fall."""
    X = scipy.sparse.random(rows, columns, density=1 / 500, dtype=dtype, rng=np.random.default_rng(SEED))
    return scipy.sparse.csr_matrix(X)


def scaled(recipe: Recipe, k: int, scale: float) -> Recipe:
    """Scale the number of entries, a tall table by its rows only; no side gets shorter than 4 k."""
    if recipe.columns <= 100:
        return recipe._replace(rows=max(4 * k, int(recipe.rows * scale)))
    rows, columns = (max(4 * k, int(n * math.sqrt(scale))) for n in (recipe.rows, recipe.columns))
    return recipe._replace(rows=rows, columns=columns)


def prepare(recipe: Recipe, k: int, folder: Path) -> None:
    """Make a table and its reference answer in ``folder``."""
    file = recipe.path(folder)
    X = recipe.make(recipe.rows, recipe.columns, recipe.dtype)
    if scipy.sparse.issparse(X):
        scipy.sparse.save_npz(file, X, compressed=False)
        start = np.random.default_rng(SEED + 1).standard_normal(min(X.shape))
        _, values, vectors = svds(X, k=k, tol=0, v0=start)  # ARPACK, to full precision
        values, vectors = values[::-1], vectors[::-1]
    else:
        np.save(file, X)
        values, vectors = principal(X, k)
    np.savez(file.with_suffix(".reference.npz"), values=values, vectors=vectors)


def load(file: Path) -> Any:
    """Read a table wholly into memory."""
    return np.load(file) if file.suffix == ".npy" else scipy.sparse.load_npz(file)


def principal(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return variances and axes by LAPACK on the float64 covariance, or the Gram matrix if it is smaller."""
    rows, columns = X.shape
    mean = X.mean(axis=0, dtype=np.float64)
    if rows < columns:
        centred = X.astype(np.float64) - mean
        values, U = scipy.linalg.eigh(centred @ centred.T, subset_by_index=(rows - k, rows - 1))
        return values[::-1] / (rows - 1), np.linalg.qr(centred.T @ U[:, ::-1])[0].T
    C = np.zeros((columns, columns))
    for start in range(0, rows, 50_000):
        block = X[start : start + 50_000].astype(np.float64) - mean
        C += block.T @ block
    values, V = scipy.linalg.eigh(C / (rows - 1), subset_by_index=(columns - k, columns - 1))
    return values[::-1], V[:, ::-1].T
