"""Supplementary variables: how columns that took no part in a fit lie on its map."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..core.errors import DataError
from ..core.message import Message, Owner, Setting
from ..core.random import seed
from ..data.table import not_numeric

Array = Any

_LEAST_ROWS = 3
_PERMUTATIONS = 999


@dataclass(frozen=True)
class NumberOnMap:
    """A column of numbers on a map.

    ``correlations`` are those with each axis. ``direction`` is the unit vector along which the column rises fastest,
    from its regression on all axes, ``r2`` the share of its variance that the regression explains, and ``p`` the share
    of permutations of the column whose r² is at least as large.
    """

    correlations: tuple[float, ...]
    direction: tuple[float, ...]
    r2: float
    p: float
    n_rows: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"kind": "number", **vars(self)}


@dataclass(frozen=True)
class CategoryOnMap:
    """A column of categories on a map.

    ``centroids`` is the mean point of each level. ``eta2`` is the correlation ratio η² with each axis, the share of the
    axis' variance between levels; ``r2`` is the same for all axes together, and ``p`` as in `NumberOnMap`.
    """

    centroids: Mapping[Hashable, tuple[float, ...]]
    counts: Mapping[Hashable, int]
    eta2: tuple[float, ...]
    r2: float
    p: float
    n_rows: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = {**vars(self), "centroids": dict(self.centroids), "counts": dict(self.counts)}
        return {"kind": "category", **plain}


@dataclass(frozen=True)
class Supplementary:
    """Columns laid on a map by `supplementary`, each as a `NumberOnMap` or `CategoryOnMap`."""

    columns: Mapping[str, NumberOnMap | CategoryOnMap]
    permutations: int

    @property
    def numbers(self) -> dict[str, NumberOnMap]:
        """The columns of numbers."""
        return {name: found for name, found in self.columns.items() if isinstance(found, NumberOnMap)}

    @property
    def categories(self) -> dict[str, CategoryOnMap]:
        """The columns of categories."""
        return {name: found for name, found in self.columns.items() if isinstance(found, CategoryOnMap)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {name: found.to_dict() for name, found in self.columns.items()}


def supplementary(
    Y: Any, columns: Any, *, permutations: int = _PERMUTATIONS, random_state: int | None = None
) -> Supplementary:
    """Lay columns that took no part in a fit on its map.

    A column z of numbers is regressed on the coordinates: z ≈ a + Yb; its arrow is b/‖b‖, and r² says how well it fits.
    A column of categories is laid on the map by the mean point of each level; its r² is the share of the points'
    variance between levels. This is `envfit` of R's vegan (Oksanen et al.), and on the axes of PCA the supplementary
    variables of Lebart, Morineau & Piron (1995): correlations with the axes and correlation ratios η².

    Parameters
    ----------
    Y : array of shape (n, k)
        The map.
    columns : data frame, or mapping from names to sequences
        A value for each row of Y. Numbers are numbers; text, categories and booleans are categories. Rows in which a
        column is missing are left out for that column.
    permutations : int
        Random permutations for the p-value (m + 1)/(permutations + 1), m being those that fit as well; 0: p is NaN.
    random_state : int or None
        Seed of the permutations; None is seed 0.

    Examples
    --------
    >>> import lowland
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine()
    >>> Y = lowland.PCA(n_components=2, scale=True).fit_transform(wine.data[:, 1:])
    >>> found = supplementary(Y, {"alcohol": wine.data[:, 0], "cultivar": wine.target.astype(str)})
    >>> round(found.columns["alcohol"].r2, 2), round(found.columns["cultivar"].r2, 2)
    (0.39, 0.72)
    """
    Y = np.asarray(Y, dtype=np.float64)
    if Y.ndim != 2 or not np.isfinite(Y).all():
        raise _refusal(f"the map must be an array of finite coordinates, n x k; got shape {Y.shape}")
    if permutations < 0:
        raise _refusal(Message(Setting("permutations"), f" must be 0 or more; got {permutations}"))
    frame = columns if isinstance(columns, pl.DataFrame) else pl.DataFrame(columns)
    if frame.height != len(Y):
        raise _refusal(f"the columns have {frame.height} rows, the map has {len(Y)}")
    laid = {}
    for column in frame.get_columns():
        rng = seed(random_state)  # the same permutations for each column, whatever others there are
        laid[column.name] = _column(Y, column, permutations, rng)
    return Supplementary(laid, permutations)


def _refusal(what: str) -> DataError:
    return DataError(Message(Owner("supplementary"), what))


def _column(Y: Array, column: pl.Series, permutations: int, rng: np.random.Generator) -> NumberOnMap | CategoryOnMap:
    kind, name = not_numeric(column.dtype), column.name
    number = kind is None and column.dtype != pl.Boolean
    if kind not in (None, "text"):
        raise _refusal(f"column {name!r} contains {kind}; give numbers or categories")
    known = column.is_not_null().to_numpy()
    if number:
        values = column.cast(pl.Float64).to_numpy()
        known = known & np.isfinite(np.where(known, values, np.nan))
    points = Y[known]
    if len(points) < _LEAST_ROWS or np.ptp(points, axis=0).max() == 0:
        raise _refusal(f"column {name!r} has {len(points)} values at distinct points; it needs 3")
    if number:
        return _number(name, points, values[known], permutations, rng)
    return _category(name, points, column.filter(pl.Series(known)), permutations, rng)


def _number(name: str, Y: Array, z: Array, permutations: int, rng: np.random.Generator) -> NumberOnMap:
    centred, z = Y - Y.mean(axis=0), z - z.mean()
    total = float(z @ z)
    if total <= len(z) * (np.finfo(float).eps * np.abs(z).max(initial=0.0)) ** 2 or np.ptp(z) == 0:
        raise _refusal(f"column {name!r} is constant, so it has no direction on the map")
    basis, R = np.linalg.qr(centred)
    keep = np.abs(np.diag(R)) > np.abs(np.diag(R)).max() * len(Y) * np.finfo(float).eps
    slope = np.linalg.lstsq(centred, z, rcond=None)[0]
    r2 = float(((basis[:, keep].T @ z) ** 2).sum() / total)
    sizes = np.linalg.norm(centred, axis=0)
    correlations = (centred.T @ z) / np.where(sizes > 0, sizes, np.inf) / np.sqrt(total)
    drawn = [float(((basis[:, keep].T @ rng.permutation(z)) ** 2).sum() / total) for _ in range(permutations)]
    length = np.linalg.norm(slope)
    arrow = slope / length if length > 0 else slope
    return NumberOnMap(_floats(correlations), _floats(arrow), r2, _p_value(r2, drawn), len(z))


def _category(name: str, Y: Array, labels: pl.Series, permutations: int, rng: np.random.Generator) -> CategoryOnMap:
    levels = labels.unique(maintain_order=True).sort().to_list()
    if len(levels) < 2:
        raise _refusal(f"column {name!r} has one level, {levels[0]!r}; it needs two or more")
    order = {level: number for number, level in enumerate(levels)}
    codes = np.array([order[label] for label in labels.to_list()])
    counts = np.bincount(codes)
    centred = Y - Y.mean(axis=0)
    totals = (centred**2).sum(axis=0)

    def between(codes: Array) -> Array:
        """Return the sum of squares between levels, by axis."""
        sums = np.stack([np.bincount(codes, weights=axis, minlength=len(levels)) for axis in centred.T], axis=1)
        return (sums**2 / counts[:, None]).sum(axis=0)

    explained = between(codes)
    r2 = float(explained.sum() / totals.sum())
    drawn = [float(between(rng.permutation(codes)).sum() / totals.sum()) for _ in range(permutations)]
    centroids = {level: _floats(Y[codes == number].mean(axis=0)) for level, number in order.items()}
    eta2 = explained / np.where(totals > 0, totals, np.inf)
    sizes = {level: int(counts[number]) for level, number in order.items()}
    return CategoryOnMap(centroids, sizes, _floats(eta2), r2, _p_value(r2, drawn), len(codes))


def _p_value(r2: float, drawn: list[float]) -> float:
    """Return the share of permutations, the data among them, that fit at least as well, up to rounding."""
    if not drawn:
        return float("nan")
    return (1 + sum(value >= r2 * (1 - 1e-12) for value in drawn)) / (1 + len(drawn))


def _floats(values: Array) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
