"""Stability of a map when the model is refitted to bootstrap samples."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.errors import DataError, LowlandWarning
from ..core.measure import Measure
from ..core.message import Message, Owner, Setting, message_of
from ..core.settings import report_progress
from ..spectral.procrustes import procrustes
from .anchors import check_seed
from .intervals import ratio
from .models import as_array, cut_chain, need_transform, takes_pairs
from .reconstruction import plain_rows

Array = Any


@dataclass(frozen=True, eq=False)
class Stability:
    """Differences between maps fitted to bootstrap samples; see `stability`.

    Attributes
    ----------
    error : Measure
        Mean over refits of the difference that remains after a Procrustes fit (rotation, scale and shift), relative to
        the size of the map: 0 the same map, 1 nothing in common.
    errors : array
        The same for each refit.
    spread : array
        For each point, the root mean square of its displacement, relative to the radius of the map.
    space : str
        The space in which the refits were made.
    share : float
        Number of rows drawn for each refit, relative to all.
    warnings : tuple of str
        Warnings of the refits, each text once; the fit to all rows warns as usual.
    """

    error: Measure
    errors: Array = field(repr=False)
    spread: Array = field(repr=False)
    space: str
    share: float
    warnings: tuple[str, ...] = ()

    def least_stable(self, count: int = 10) -> Array:
        """Return the numbers of the points with the largest displacement, the largest first."""
        return np.argsort(-self.spread, kind="stable")[:count]

    @property
    def sentence(self) -> str:
        """A summary."""
        word = "hardly changes" if self.error < 0.1 else "changes somewhat" if self.error < 0.3 else "is not stable"
        return f"Refitted to bootstrap samples, the map {word}: {self.error} of its size, {len(self.errors)} refits."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "error": self.error.to_dict(),
            "errors": [float(x) for x in self.errors],
            "least_stable": [int(i) for i in self.least_stable()],
            "space": self.space,
            "share": self.share,
            "warnings": list(self.warnings),
            "sentence": self.sentence,
        }


def stability(
    model: Any,
    X: Any,
    *,
    n_refits: int = 10,
    share: float = 1.0,
    within: str = "input",
    random_state: int | None = None,
) -> Stability:
    """Refit a model to bootstrap samples of the rows, transform all rows, and compare the maps.

    The orientation and the scale of a map are arbitrary, so each is aligned with the map of all rows (Procrustes).

    Parameters
    ----------
    model : Reducer, scikit-learn transformer or Pipeline
        Only its parameters are used; it may be fitted or not, and is not changed.
    X : array, sparse matrix or data frame
        The rows; a distance or kernel matrix for models that take one.
    n_refits : int
        Number of refits.
    share : float
        Number of rows drawn for a refit, relative to all, in (0, 1].
    within : {"input", "last step"}
        For a Pipeline: refit all steps, or only the last one.
    random_state : int, optional
        Random seed; None is 0.

    References
    ----------
    Efron, B. (1979). Bootstrap methods: another look at the jackknife. Ann. Statist. 7, 1–26.

    Examples
    --------
    >>> import lowland
    >>> X = np.random.default_rng(0).normal(size=(300, 5)) * [5.0, 3.0, 1.0, 1.0, 1.0]
    >>> stability(lowland.PCA(n_components=2), X).error < 0.2
    True
    """
    from sklearn.base import clone

    need_transform(model, "stability")
    if isinstance(n_refits, bool) or not isinstance(n_refits, int | np.integer) or n_refits < 2:
        allowed = f" must be a whole number of at least 2; it is {n_refits!r}"
        raise ValueError(Message(Owner("stability"), Setting("n_refits"), allowed))
    if not 0 < share <= 1:
        raise ValueError(Message(Owner("stability"), Setting("share"), f" must be a number in (0, 1]; it is {share!r}"))
    seed = check_seed(random_state, "stability")
    fitted = clone(model).fit(X)
    head, last, space = cut_chain(fitted, within, "stability")
    rows = X if head is None else head.transform(X)
    Y = as_array(last.transform(rows))
    n, rng = len(Y), np.random.default_rng(seed)
    radius = float(np.sqrt(((Y - Y.mean(axis=0)) ** 2).sum() / n))
    if not radius > 0:
        raise DataError(
            Message(
                Owner("stability"),
                "the map of all rows is a single point, so displacements are not defined; check the model",
            )
        )
    square = takes_pairs(last)
    errors, moved = np.empty(n_refits), np.zeros(n)
    said: dict[str, None] = {}
    for b in range(n_refits):
        drawn = np.sort(rng.integers(n, size=max(2, round(share * n))))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LowlandWarning)
            again = as_array(clone(last).fit(_taken(rows, drawn, square)).transform(_seen(rows, drawn, square)))
        said |= dict.fromkeys(message_of(one.message) for one in caught if isinstance(one.message, Warning))
        if again.shape != Y.shape:
            raise DataError(
                Message(
                    Owner("stability"),
                    f"a refit has {again.shape[1]} dimensions, but the map of all rows has {Y.shape[1]}; set ",
                    Setting("n_components"),
                    " to a number",
                )
            )
        laid = procrustes(again, Y)
        errors[b] = laid.error
        moved += ((laid(again) - Y) ** 2).sum(axis=1)
        report_progress("refits", b + 1, n_refits)
    error = ratio(errors, np.ones(n_refits), (0.0, 1.0), exact=False)
    return Stability(error, errors, np.sqrt(moved / n_refits) / radius, space, float(share), tuple(said))


def _taken(X: Any, drawn: Array, square: bool) -> Any:
    """Return some rows; for a square matrix also only their columns."""
    from sklearn.utils import _safe_indexing

    return plain_rows(X)[np.ix_(drawn, drawn)] if square else _safe_indexing(X, drawn)


def _seen(X: Any, drawn: Array, square: bool) -> Any:
    """Return all rows as input of a model fitted to some of them."""
    return plain_rows(X)[:, drawn] if square else X
