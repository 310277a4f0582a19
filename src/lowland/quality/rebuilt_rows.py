"""Rows rebuilt from the first k components, for several k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.message import Message, Owner, Phrase, Setting
from .model_axes import dense

Array = Any


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """Rows rebuilt from the first k components.

    Attributes
    ----------
    counts : tuple of int
        The numbers k.
    rows : (len(counts), n, D) array
        The rebuilt rows.
    lost : (len(counts), n) array
        ‖x − x̂_k‖²/‖x − x̂_0‖²: the share of each row that is lost; x̂_0 is the mean (0 for TruncatedSVD).
    """

    counts: tuple[int, ...]
    rows: Array
    lost: Array


def partial_reconstruction(model: Any, X: Any, counts: Sequence[int]) -> Rebuilt:
    """Rebuild rows from the first k components; the coordinates of the others are set to zero, their mean.

    Parameters
    ----------
    model : Reducer or Pipeline
        A fitted linear method with `inverse_transform`.
    X : rows
        Rows of numbers, training or new.
    counts : sequence of int
        Numbers of components, from 0 to n_components.

    Examples
    --------
    >>> import lowland
    >>> X = [[0.0, 0.0], [3.0, 0.5], [6.0, 0.0], [3.0, 8.0]]
    >>> partial_reconstruction(lowland.PCA(2).fit(X), X, [0, 1, 2]).lost[:, 0].round(2).tolist()
    [1.0, 0.67, 0.0]
    """
    owner, last = "partial_reconstruction", model[-1] if hasattr(model, "steps") else model
    name = type(last).__name__
    if getattr(last, "components_", None) is None or not hasattr(model, "inverse_transform"):
        raise ValueError(
            f"{owner}: {name} has no components with an inverse; use PCA, TruncatedSVD, ICA or another linear method"
        )
    if getattr(last, "categorical_columns_", None):
        raise DataError(f"{owner}: {name} was fitted to categories, which cannot be subtracted")
    k = len(last.components_)
    check_counts(counts, k, owner)
    rows, Y = dense(X), dense(model.transform(X))
    rebuilt = np.stack([dense(model.inverse_transform(np.where(np.arange(k) < count, Y, 0.0))) for count in counts])
    origin = dense(model.inverse_transform(np.zeros((1, k))))
    whole = ((rows - origin) ** 2).sum(axis=1)
    errors = ((rows - rebuilt) ** 2).sum(axis=2)
    lost = np.divide(errors, whole, out=np.zeros_like(errors), where=whole > 0)
    return Rebuilt(tuple(int(count) for count in counts), rebuilt, lost)


def check_counts(counts: Sequence[int], k: int, owner: str, name: str = "counts") -> None:
    """Raise ValueError unless these are numbers of components of a model with k of them; ``name`` is their parameter.

    >>> check_counts([0, 2], 2, "rebuild")
    """
    if not len(counts):
        raise ValueError(Message(Owner(owner), name, f": the list is empty; give at least one number, from 0 to {k}"))
    for count in counts:
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 0 <= count <= k:
            raise ValueError(
                Message(
                    Owner(owner),
                    f"{name} go from 0 to the components of the model",
                    Phrase(f" (n_components = {k})", f", {k}"),
                    f"; got {count!r}. To use more, fit with a larger ",
                    Setting("n_components"),
                )
            )
