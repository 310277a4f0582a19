"""Shepard diagram: distances in the map against distances in the data, with a monotone regression."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.measure import Measure
from ..core.show import show
from .pair_measures import correlation_of
from .pair_values import MONOTONE, SPEARMAN, monotone_fit, stress_of_fit
from .pairs import PairTable, defined
from .spaces import Metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = Any

SHOWN = 10_000  # most pairs in the figure


@dataclass(frozen=True, eq=False)
class Shepard:
    """Distances of pairs, their monotone regression, and its stress.

    ``data_distances`` and ``map_distances`` are those of up to 10,000 pairs. The regression passes through the points
    (``fit_x``, ``fit_y``) and is fitted to all pairs used; ``stress`` is its Kruskal stress.
    """

    data_distances: Array = field(repr=False)
    map_distances: Array = field(repr=False)
    fit_x: Array = field(repr=False)
    fit_y: Array = field(repr=False)
    stress: Measure
    pearson: Measure
    spearman: Measure

    def figure(self) -> Figure:
        """Draw the diagram."""
        figure: Figure = show("shepard diagram", self)
        return figure

    def _repr_html_(self) -> str:
        return str(show("html of a figure", self.figure(), "Shepard diagram", repr(self)))


def shepard(
    X: Any,
    Y: Any,
    *,
    metric: Metric = "euclidean",
    pairs: int | str | None = "auto",
    random_state: int | None = None,
) -> Shepard:
    """Compare the distances of pairs in the map with those in the data.

    If a map preserves distances, the points lie on a straight line through 0; if it preserves their order, on an
    increasing curve. The scatter around the curve is the error.

    Parameters
    ----------
    X, Y, metric, random_state
        As in `kruskal_stress`.
    pairs : "auto", int or None
        Number of pairs to sample, None for all; "auto": all up to 5,000 points, then 1,000,000.

    References
    ----------
    Shepard, R. N. (1962). The analysis of proximities: multidimensional scaling with an unknown distance function.
    Psychometrika 27, 125–140.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> found = shepard(X, X[:, :2])
    >>> found.stress.exact, 0 < found.stress < 0.3, len(found.data_distances)
    (True, True, 1225)
    """
    return shepard_of(PairTable.of(X, Y, metric, pairs, random_state, None, "shepard"))


def shepard_of(table: PairTable) -> Shepard:
    """Return the diagram of a table of pairs."""
    pearson = correlation_of(table)
    pairs = next(table.ordered())
    delta, d = pairs.joined()
    spearman = defined(pairs.measured(SPEARMAN, SPEARMAN.value(delta, d)), table)
    order, fitted = monotone_fit(delta, d)
    stress = defined(pairs.measured(MONOTONE, stress_of_fit(d, order, fitted)), table)
    ends = np.flatnonzero(np.diff(fitted) != 0)
    knots = np.unique(np.concatenate([[0], ends, ends + 1, [len(fitted) - 1]]))
    few = np.arange(len(delta))
    if len(few) > SHOWN:
        few = np.random.default_rng(0).choice(len(delta), SHOWN, replace=False)
    return Shepard(delta[few], d[few], delta[order][knots], fitted[knots], stress, pearson, spearman)
