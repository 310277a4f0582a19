"""How far the places of rows with missing cells are uncertain, by the Gaussian model that fills the cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import DataError
from ..core.message import Message, Owner, message
from ..methods.linear.gaussian_em import mapped_spread
from ..methods.linear.probabilistic_pca import ProbabilisticPCA
from ..methods.steps import frames
from ..methods.steps.impute_missing import ImputeMissing

Array = Any

_ROUNDING = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-2}  # of differences that should be equal


class Gaps(NamedTuple):
    """Rows at the step that fills their gaps: the known numbers, their Gaussian model and the steps that follow.

    Numbers are ``scale`` times x plus a constant, x ~ N(0, W Wᵀ + σ²I). ``place`` maps changes of the numbers of a
    complete row, (m, D), to places on the map.
    """

    there: Array
    W: Array
    noise: float
    scale: Array
    place: Callable[[Array, int], Array]


def imputation_covariances(model: Any, X: Any) -> Array:
    """Return, for each row with missing numbers, the covariance of its place on the map; NaN for complete rows.

    It is the covariance of the place where the row would lie if its missing cells were known, given those that are
    observed: A Cov(x | observed cells) Aᵀ for a linear map A, by probabilistic PCA (Tipping & Bishop 1999).

    Parameters
    ----------
    model : a fitted recipe with ``missing="ppca"`` and a linear method, such as PCA; or a ProbabilisticPCA, also at
        the end of a recipe.
    X : rows, as the model takes them.

    Returns
    -------
    array (n, k, k)
        For the k coordinates of the map; ``lowland.plots.scatter(Y, uncertainty=...)`` draws it.

    Examples
    --------
    >>> import lowland
    >>> X = np.random.default_rng(0).normal(size=(60, 1)) + 0.1 * np.random.default_rng(1).normal(size=(60, 4))
    >>> X[0, 1:] = X[1, 3] = np.nan
    >>> model = lowland.recipe(lowland.PCA(2), missing="ppca").fit(X)
    >>> C = imputation_covariances(model, X)
    >>> C.shape, bool(np.trace(C[0]) > np.trace(C[1]) > 0), bool(np.isnan(C[2]).all())
    ((60, 2, 2), True, True)
    """
    gaps = _gaps(model, X)
    rows, columns = np.flatnonzero(~gaps.there.all(axis=1)), np.flatnonzero(~gaps.there.all(axis=0))
    A = _linear_map(gaps, columns, type(model).__name__)
    out = np.full((len(gaps.there), len(A), len(A)), np.nan)
    if len(rows):
        out[rows] = mapped_spread(gaps.there[rows], gaps.W, gaps.noise, A)
    return out


def _gaps(model: Any, X: Any) -> Gaps:
    """Return the gaps of the rows, where a step or the method fills them."""
    steps = [step for _, step in getattr(model, "steps", [("method", model)])]
    for i, step in enumerate(steps):
        if isinstance(step, ImputeMissing) and step.method == "ppca":
            return _of_step(step, _through(steps[:i], X), steps[i + 1 :])
        if isinstance(step, ProbabilisticPCA):
            return _of_method(step, _through(steps[:i], X), steps[i:])
    raise DataError(
        message(
            "imputation_covariances needs a model that fills missing cells by probabilistic PCA: a recipe with "
            "{missing}, or ProbabilisticPCA",
            missing="ppca",
        )
    )


def _through(steps: list[Any], rows: Any) -> Any:
    for step in steps:
        rows = step.transform(rows)
    return rows


def _of_step(step: ImputeMissing, rows: Any, rest: list[Any]) -> Gaps:
    frame, _ = step._rows(rows)
    names = step._of_kind(frames.NUMBER)
    model = step.model_
    W = np.zeros((len(names), 1)) if model is None else np.asarray(model.weights_, dtype=np.float64)
    noise = 1.0 if model is None else float(model.noise_variance_)
    complete = step._apply(frame)
    named = hasattr(step, "feature_names_in_")

    def place(changes: Array, row: int) -> Array:
        one = complete[[row] * len(changes)]
        numbers = frames.numbers(one, names) + changes
        moved = frames.with_numbers(one, names, numbers)
        return np.asarray(_through(rest, moved if named else moved.to_numpy()))

    return Gaps(~np.isnan(frames.numbers(frame, names)), W, noise, step.scale_, place)


def _of_method(model: ProbabilisticPCA, rows: Any, rest: list[Any]) -> Gaps:
    numbers = np.asarray(rows, dtype=np.float64)
    complete = np.asarray(model.fill(rows), dtype=np.float64)
    names = getattr(model, "feature_names_in_", None)

    def place(changes: Array, row: int) -> Array:
        moved: Any = complete[row] + changes
        if names is not None:
            import polars as pl

            moved = pl.DataFrame(moved, schema=[str(name) for name in names])
        return np.asarray(_through(rest, moved))

    W = np.asarray(model.weights_, dtype=np.float64)
    return Gaps(~np.isnan(numbers), W, float(model.noise_variance_), np.ones(len(W)), place)


def _linear_map(gaps: Gaps, columns: Array, owner: str) -> Array:
    """Return A (k, D) of the map from x to places, by differences; refuse maps that are not linear."""
    D = len(gaps.scale)
    steps = np.zeros((len(columns) + 2, D))
    steps[np.arange(len(columns)), columns] = gaps.scale[columns]
    steps[-2, columns] = gaps.scale[columns]  # all at once; the last stays
    found, elsewhere = (gaps.place(part, row) for part, row in ((steps, 0), (steps[-2:], len(gaps.there) - 1)))
    rise = (found[:-1] - found[-1]).astype(np.float64)
    size = float(np.abs(rise).max(initial=0.0))
    error = np.abs(rise[:-1].sum(axis=0) - rise[-1]) + np.abs(elsewhere[0] - elsewhere[1] - rise[-1])
    if float(error.max()) > _ROUNDING.get(found.dtype, 1e-6) * max(size, 1e-300) * max(1, len(columns)):
        raise DataError(
            Message(
                Owner("imputation_covariances"),
                f"places of this {owner} do not depend linearly on the filled cells; "
                "it needs a linear method, such as PCA, and no normalize",
            )
        )
    A = np.zeros((found.shape[1], D))
    A[:, columns] = rise[:-1].T
    return A
