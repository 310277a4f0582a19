"""Warn of new rows in another unit for models without steps, which store no range of the columns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.errors import UnitsWarning

if TYPE_CHECKING:
    from ..contract.reducer import Reducer

_RATIO = 300.0  # as in the steps of a recipe
_FAR = 10.0  # standard deviations from the mean
_MOST = 0.5  # share of the values that must be far away
_SAMPLE = 10_000  # rows that are looked at first
_LEAST_ROWS = 3  # near zero, before their unit is doubted


def warn_of_units(model: Reducer, names: Sequence[str], columns: Any) -> None:
    """Warn of columns whose values are mostly far larger or smaller than the model's mean and standard deviation.

    Parameters
    ----------
    model : a fitted method; nothing is checked if it stores no mean and no deviation of each column.
    names, columns : names and values of the columns of the new rows, in the order of the model.
    """
    mean, deviation = getattr(model, "mean_", None), _deviations(model)
    places = _places(model, len(columns))
    if mean is None or deviation is None or max(places.values(), default=0) >= min(len(mean), len(deviation)):
        return
    for number, place in places.items():
        column, center, spread = columns[number], abs(float(mean[place])), float(deviation[place])
        few = column[:: max(1, len(column) // _SAMPLE)]
        text = _doubt(few, center, spread) and _doubt(column, center, spread)
        if text is not None:
            warnings.warn(f"column {names[number]!r}: {text}: check the unit", UnitsWarning, stacklevel=2)


def _doubt(column: Any, center: float, spread: float) -> str | None:
    """Return how the values of a column differ from the training rows if most are far larger or smaller, else None."""
    import numpy as np

    sizes = np.abs(np.asarray(column, dtype=np.float64))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if not len(sizes) or not spread > 0:
        return None
    middle, usual = float(np.median(sizes)), max(center, spread)
    larger = middle >= _RATIO * usual and np.mean(sizes > center + _FAR * spread) > _MOST
    smaller = len(sizes) >= _LEAST_ROWS and center > spread and np.mean(sizes <= center / _RATIO) > _MOST
    if not (larger or smaller):
        return None
    factor = float(f"{middle / usual if larger else usual / middle:.2g}")
    return (
        f"the new values are about {factor:,.0f} times {'larger' if larger else 'smaller'} than in the training rows "
        f"(median {middle:.4g} v. {'mean' if center >= spread else 'standard deviation'} {usual:.4g})"
    )


def _places(model: Reducer, n_columns: int) -> dict[int, int]:
    """Return where the model stores each column of numbers: categories take a place for each level."""
    coded = dict(
        zip(getattr(model, "categorical_columns_", None) or (), getattr(model, "categorical_levels_", ()), strict=True)
    )
    places: dict[int, int] = {}
    place = 0
    for number in range(n_columns):
        if number in coded:
            place += len(coded[number])
        else:
            places[number] = place
            place += 1
    return places


def _deviations(model: Reducer) -> Any:
    """Return the standard deviation of each column as the model knows it, or None."""
    import numpy as np

    scale = getattr(model, "scale_", None)
    if scale is not None:
        return np.asarray(scale)
    parts: list[Any] = [
        getattr(model, name, None) for name in ("components_", "explained_variance_", "noise_variance_")
    ]
    if any(part is None for part in parts):
        return None
    axes, variances, noise = parts
    return np.sqrt(np.asarray(variances) @ np.square(axes) + noise)
