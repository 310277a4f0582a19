"""What becomes of a map when its rows are drawn again."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.errors import DataError, LowlandWarning
from ..core.measure import Measure
from ..core.settings import report_progress
from ..spectral.procrustes import procrustes
from .anchors import check_seed
from .intervals import ratio
from .models import as_array, cut_chain, need_transform, takes_pairs
from .reconstruction import plain_rows

Array = Any


@dataclass(frozen=True, eq=False)
class Stability:
    """How much a map changes when its rows are drawn again.

    Attributes
    ----------
    error : Measure
        Mean over refits of what Procrustes' best rotation, scale and shift leave of the difference, as a share of the
        map's size: 0 the same map, 1 nothing in common.
    errors : array
        The same for each refit.
    spread : array
        For each point, the root mean square of its displacement, in units of the map's radius.
    space : str
        What was refitted.
    share : float
        Rows that were drawn for each refit, as a share of all.
    warnings : tuple of str
        What the refits warned of, each text once; the fit to all rows warns as usual.
    """

    error: Measure
    errors: Array = field(repr=False)
    spread: Array = field(repr=False)
    space: str
    share: float
    warnings: tuple[str, ...] = ()

    def least_stable(self, count: int = 10) -> Array:
        """Return the numbers of the points that move most, the worst first."""
        return np.argsort(-self.spread, kind="stable")[:count]

    @property
    def sentence(self) -> str:
        """Whether the map would look the same with other rows of the same kind."""
        word = "hardly changes" if self.error < 0.1 else "changes somewhat" if self.error < 0.3 else "is not stable"
        return f"Fitted again to rows drawn anew, the map {word}: {self.error} of its size, {len(self.errors)} refits."

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
    """Fit copies of a model to rows drawn with replacement, place all rows, and compare the maps.

    Maps have no direction and no unit, so each is laid on the map of all rows first (Procrustes).

    Parameters
    ----------
    model : Reducer, scikit-learn transformer or Pipeline
        Its parameters count; whether it is fitted does not matter, and it is not changed.
    X : array, sparse matrix or data frame
        The rows; a square of distances or kernel values for models that take one.
    n_refits : int
        How often.
    share : float
        Rows that are drawn for a refit, as a share of all, in (0, 1].
    within : {"input", "last step"}
        Of a Pipeline: refit all steps, or the last one only, to what the others, fitted once, make of the rows.
    random_state : int, optional
        Seed of the draws; None is 0.

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
        raise ValueError(f"stability: n_refits must be a whole number of at least 2; it is {n_refits!r}")
    if not 0 < share <= 1:
        raise ValueError(f"stability: share is that of the rows, in (0, 1]; it is {share!r}")
    seed = check_seed(random_state, "stability")
    fitted = clone(model).fit(X)
    head, last, space = cut_chain(fitted, within, "stability")
    rows = X if head is None else head.transform(X)
    Y = as_array(last.transform(rows))
    n, rng = len(Y), np.random.default_rng(seed)
    radius = float(np.sqrt(((Y - Y.mean(axis=0)) ** 2).sum() / n))
    if not radius > 0:
        raise DataError("stability: the map of all rows is a single point, so nothing can move; look at the model")
    square = takes_pairs(last)
    errors, moved = np.empty(n_refits), np.zeros(n)
    said: dict[str, None] = {}
    for b in range(n_refits):
        drawn = np.sort(rng.integers(n, size=max(2, round(share * n))))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LowlandWarning)
            again = as_array(clone(last).fit(_taken(rows, drawn, square)).transform(_seen(rows, drawn, square)))
        said |= dict.fromkeys(str(warning.message) for warning in caught)
        if again.shape != Y.shape:
            raise DataError(
                f"stability: a refit gave {again.shape[1]} dimensions and the map of all rows has {Y.shape[1]}; set "
                "n_components to a number"
            )
        laid = procrustes(again, Y)
        errors[b] = laid.error
        moved += ((laid(again) - Y) ** 2).sum(axis=1)
        report_progress("refits", b + 1, n_refits)
    error = ratio(errors, np.ones(n_refits), (0.0, 1.0), exact=False)
    return Stability(error, errors, np.sqrt(moved / n_refits) / radius, space, float(share), tuple(said))


def _taken(X: Any, drawn: Array, square: bool) -> Any:
    """Return some rows; of a square also their columns."""
    from sklearn.utils import _safe_indexing

    return plain_rows(X)[np.ix_(drawn, drawn)] if square else _safe_indexing(X, drawn)


def _seen(X: Any, drawn: Array, square: bool) -> Any:
    """Return all rows, as a model of some of them sees them."""
    return plain_rows(X)[:, drawn] if square else X
