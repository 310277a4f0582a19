"""Reading of embeddings: rows of coordinates, names of axes, and which of them are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.message import Message, Setting

Array = Any


def read_coordinates(embedding: Any, labels: Sequence[str] | None = None) -> tuple[Array, list[str] | None]:
    """Return coordinates as an array, and the names of its axes: the labels, or the columns of a data frame."""
    Y = np.asarray(embedding, dtype=np.float64)
    if Y.ndim != 2 or Y.shape[0] == 0 or Y.shape[1] == 0:
        raise ValueError(f"expected a non-empty 2-D array of coordinates; got shape {Y.shape}")
    if not np.isfinite(Y).all():
        row = int(np.flatnonzero(~np.isfinite(Y).all(axis=1))[0])
        raise ValueError(f"embedding: row {row} has a coordinate that is not finite; leave such rows out")
    if labels is None and hasattr(embedding, "columns"):
        labels = [str(name) for name in embedding.columns]
    return Y, None if labels is None else [str(label) for label in labels]


def axis_numbers(axes: Sequence[int | str], n: int, names: Sequence[str] | None = None) -> list[int]:
    """Return the positions of axes that are counted from 1 or given by name; "PCA 1" also names "PCA 1 (61.2 %)".

    >>> axis_numbers((2, "size (10 %)"), 3, ["colour", "weight", "size (10 %)"])
    [1, 2]
    """
    if n == 1 and tuple(axes) == (1, 2):
        return [0]  # the default, of an embedding that is a strip
    if isinstance(axes, str) or not 1 <= len(axes) <= 3:
        allowed = f" must be one, two or three numbers or names, such as (1, 2); got {axes!r}"
        raise ValueError(Message(Setting("axes"), allowed))
    found = [_axis_number(axis, n, names or []) for axis in axes]
    if len(set(found)) < len(found):
        raise ValueError(Message(Setting("axes"), f" must differ; got {tuple(axes)!r}"))
    return found


def _axis_number(axis: int | str, n: int, names: Sequence[str]) -> int:
    if isinstance(axis, str) and not axis.isdecimal():
        if axis in names:
            return list(names).index(axis)
        short = [name.partition(" (")[0] for name in names]
        if axis in short:
            return short.index(axis)
        known = ", ".join(map(repr, short)) if short else f"the numbers 1 to {n}; they have no names"
        unknown = f": {axis!r} is not an axis of this embedding; its axes are {known}"
        raise ValueError(Message(Setting("axes"), unknown))
    number = int(axis)
    if not 1 <= number <= n:
        have = "1 coordinate" if n == 1 else f"{n} coordinates"
        raise ValueError(
            Message(
                Setting("axes"),
                f": there is no axis {number}: the embedding has {have}, counted from 1; fit with ",
                Setting("n_components", max(number, 2)),
                " or more",
            )
        )
    return number - 1


def shown_labels(labels: Sequence[str] | None, n: int, chosen: Sequence[int]) -> list[str] | None:
    """Return the names of the axes that are drawn; labels are of all coordinates, or of those drawn only."""
    if labels is None:
        return None
    if len(labels) >= n:
        return [labels[i] for i in chosen]
    if len(labels) == len(chosen):
        return list(labels)
    raise ValueError(f"got {len(labels)} labels for {n} coordinates; give one for each, or for the {len(chosen)} drawn")


def on_axes(rows: Any, n: int, chosen: Sequence[int], what: str) -> Array:
    """Return the drawn coordinates of further rows, which have all coordinates, or only those drawn."""
    R = np.asarray(rows, dtype=np.float64)
    if R.ndim != 2 or R.shape[1] not in (n, len(chosen)):
        raise ValueError(f"{what} must have {n} coordinates for each row, as the embedding; got shape {R.shape}")
    return R[:, list(chosen)] if R.shape[1] == n else R


def read_covariances(given: Any, shape: tuple[int, ...], chosen: Sequence[int]) -> Array:
    """Return the covariance (n, 2, 2) of each row on the drawn axes."""
    C = np.asarray(given, dtype=np.float64)
    n, k = shape
    if C.shape == (n, k, k):
        return C[:, chosen][:, :, chosen]
    if C.shape == (n, 2, 2):
        return C
    raise ValueError(f"uncertainty must have shape ({n}, 2, 2) or ({n}, {k}, {k}); got {C.shape}")


def places(Y: Array) -> tuple[Array, Array]:
    """Return the positions of the points; a single coordinate gets heights that separate its points."""
    return Y[:, 0], (_spread(len(Y)) if Y.shape[1] == 1 else Y[:, 1])


def _spread(n: int) -> Array:
    """Return heights that separate the points of a strip; they depend only on n."""
    return (np.arange(n) * 0.6180339887498949) % 1.0


def check_order(embedding: Any, X: Any, owner: str, metric: Any = "euclidean") -> None:
    """Refuse a map with more columns than its data: the two were given in the wrong order.

    >>> check_order(np.zeros((9, 3)), np.zeros((9, 2)), "shepard")
    Traceback (most recent call last):
    ValueError: shepard: the map has 3 columns, but the data only 2; give the map first, shepard(Y, X)
    """
    shapes: list[Any] = [getattr(part, "shape", None) for part in (embedding, X)]
    if not all(isinstance(shape, tuple) and len(shape) == 2 for shape in shapes):
        return  # other kinds of data are checked where they are read
    (n, own), (rows, columns) = shapes
    square = isinstance(metric, str) and metric == "precomputed"
    if n == rows and own > columns and (not square or own == n):
        raise ValueError(
            f"{owner}: the map has {own:,} columns, but the data only {columns:,}; give the map first, {owner}(Y, X)"
        )
