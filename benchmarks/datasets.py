"""The data of the cases, made once a run and read by every contender.

None is isotropic noise: a fit that is fast on easy spectra only, or loses digits to the mean, shows here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

SEED = 20_240_601


class Recipe(NamedTuple):
    """How a table is made."""

    make: Callable[[int, int, str], Any]
    rows: int
    columns: int
    dtype: str

    def path(self, folder: Path) -> Path:
        """Return where the table lies; cases with the same recipe share it."""
        suffix = "npz" if self.make in (word_counts, flat_sparse, sparse_cells) else "npy"
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


def cell_states(rows: int) -> np.ndarray:
    """Return the places of cells on a sheet of 1.6 × 1, spread evenly."""
    return np.random.default_rng(SEED).uniform(0, [1.6, 1.0], (rows, 2))


def cells(rows: int, columns: int, dtype: str) -> np.ndarray:
    """Make cells × genes, few rows of very many columns: 1 entry in 10 is not zero, and has noise of 5 %.

    Each gene is expressed within 0.25 of a place on the sheet, most at its middle: h·(1 − r²/0.25²).
    """
    rng, states = np.random.default_rng(SEED + 1), cell_states(rows)
    places, heights = rng.uniform(0, [1.6, 1.0], (columns, 2)), rng.lognormal(0.0, 0.5, columns)
    X = np.empty((rows, columns), dtype)
    for start in range(0, rows, 100):
        squares = ((states[start : start + 100, None] - places) ** 2).sum(axis=2)
        X[start : start + 100] = heights * np.maximum(0.0, 1 - squares / 0.25**2)
        X[start : start + 100] *= 1 + 0.05 * rng.standard_normal(squares.shape)
    return X


def sparse_cells(rows: int, columns: int, dtype: str) -> Any:
    """Make the same table, of which only the entries that are not zero are stored."""
    return scipy.sparse.csr_matrix(cells(rows, columns, dtype))


def cityblock(rows: int, columns: int, dtype: str) -> np.ndarray:
    """Make the city-block distances of correlated rows, which no Euclidean space has."""
    from scipy.spatial.distance import pdist, squareform

    return squareform(pdist(correlated(rows, columns, dtype), "cityblock"))


def scaled(recipe: Recipe, k: int, scale: float) -> Recipe:
    """Scale the number of entries, a tall table by its rows only; no side gets shorter than 4 k."""
    if recipe.columns <= 100:
        return recipe._replace(rows=max(4 * k, int(recipe.rows * scale)))
    rows, columns = (max(4 * k, int(n * math.sqrt(scale))) for n in (recipe.rows, recipe.columns))
    return recipe._replace(rows=rows, columns=columns)


def prepare(recipe: Recipe, folder: Path) -> Any:
    """Make a table in ``folder``, or read the one that another case has made."""
    file = recipe.path(folder)
    if file.exists():
        return load(file)
    X = recipe.make(recipe.rows, recipe.columns, recipe.dtype)
    if scipy.sparse.issparse(X):
        scipy.sparse.save_npz(file, X, compressed=False)
    else:
        np.save(file, X)
    return X


def load(file: Path) -> Any:
    """Read a table wholly into memory."""
    return np.load(file) if file.suffix == ".npy" else scipy.sparse.load_npz(file)
