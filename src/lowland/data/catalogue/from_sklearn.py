"""Data sets that scikit-learn brings."""

from __future__ import annotations

import numpy as np
import polars as pl

from ..arraytable import ArrayTable
from ..samples import digits
from .dataset import Dataset


def flowers(row: Dataset) -> ArrayTable:
    """Load iris, with the names of the species."""
    from sklearn.datasets import load_iris

    bunch = load_iris()
    return _table(row, bunch.data, bunch.feature_names, bunch.target_names[bunch.target].tolist())


def wines(row: Dataset) -> ArrayTable:
    """Load the wines, with their cultivars 1 to 3."""
    from sklearn.datasets import load_wine

    bunch = load_wine()
    return _table(row, bunch.data, bunch.feature_names, (bunch.target + 1).tolist())


def handwritten(row: Dataset) -> ArrayTable:
    """Load the digits of 8 × 8 pixels."""
    X, labels, names = digits()
    return _table(row, X, names, labels.tolist())


def _table(row: Dataset, X: np.ndarray, names: list[str], target: list[int] | list[str]) -> ArrayTable:
    aside = pl.DataFrame({row.aside[0]: target})
    return ArrayTable(np.ascontiguousarray(X), row.name, names, aside=aside, notes=row.notes, roles=row.roles)
