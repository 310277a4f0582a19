"""Results of rankings: scores with the names of the nodes, and how they were computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.formatting import count
from ..core.message import Message, Setting
from ..core.show import show
from ..core.whole import is_whole

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Array = Any

TOP = 20  # nodes that are listed and drawn if no number is given
_TIED = 1e-9  # scores that differ by less, relative to the largest, are listed in the order of the nodes
_PRINTED = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranking:
    """What the results have in common; use `PageRank` or `Hits`."""

    labels: Sequence[Any] | None
    n_edges: int
    directed: bool
    weighted: bool
    iterations: int
    residual: float
    converged: bool

    def __post_init__(self) -> None:
        for values in self.columns().values():
            values.flags.writeable = False

    def columns(self) -> Mapping[str, Array]:
        """Return the scores by the names that tables and pictures use."""
        raise NotImplementedError

    @property
    def sentence(self) -> str:
        """A summary."""
        raise NotImplementedError

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(next(iter(self.columns().values())))

    @cached_property
    def names(self) -> list[Any]:
        """The names of the nodes, in the order of the scores; their numbers if they have no names."""
        return list(range(self.n_nodes)) if self.labels is None else list(self.labels)

    def to_frame(self) -> pl.DataFrame:
        """Return a data frame with the name and the scores of each node, in the order of the nodes."""
        import polars as pl

        names = pl.Series("node", self.names, strict=False)
        return pl.DataFrame([names, *(pl.Series(name, values) for name, values in self.columns().items())])

    def figure(self, top: int = TOP) -> Figure:
        """Draw the nodes with the highest scores, and the distribution of all scores."""
        figure: Figure = show("ranking", self, top=top)[0].figure
        return figure

    def plot(self, top: int = TOP, *, ax: Any = None) -> list[Any]:
        """Draw the nodes with the highest scores; return the matplotlib axes (see `lowland.plots.ranking`)."""
        axes: list[Any] = show("ranking", self, top=top, ax=ax)
        return axes

    def _repr_html_(self) -> str:
        text: str = show("ranking html", self)
        return text

    def _best(self, values: Array, k: int) -> list[tuple[Any, float]]:
        if not is_whole(k, 1):
            raise ValueError(f"k must be a whole number ≥ 1; got {k!r}")
        return [(self.name_of(i), float(values[i])) for i in best(values, int(k))]

    def name_of(self, i: int) -> Any:
        """Return the name of one node."""
        return int(i) if self.labels is None else self.labels[i]

    def _graph_words(self) -> str:
        kind = ("directed" if self.directed else "undirected") + (", weighted" if self.weighted else "")
        return f"{count(self.n_nodes, 'node')}, {count(self.n_edges, 'edge')} ({kind})"

    def _listed(self, tops: Mapping[str, list[tuple[Any, float]]]) -> str:
        lines = []
        for title, rows in tops.items():
            lines += [title, *(f"{place:4d}  {value:.6g}  {name}" for place, (name, value) in enumerate(rows, 1))]
        return "\n".join(lines)


def best(values: Array, k: int) -> Array:
    """Return the places of the k largest values; those that differ by rounding keep their order.

    >>> best(np.array([0.1, 0.3, 0.3 + 1e-16, 0.2]), 3).tolist()
    [1, 2, 3]
    """
    k = min(k, len(values))
    unit = _TIED * float(values.max(initial=0.0)) or 1.0
    least = np.partition(values, len(values) - k)[len(values) - k]
    places = np.flatnonzero(values >= least - unit)
    return places[np.lexsort((places, -np.round(values[places] / unit)))][:k]


@dataclass(frozen=True, eq=False, kw_only=True)
class PageRank(Ranking):
    """PageRank of the nodes of a graph; see `pagerank`.

    Attributes
    ----------
    scores : array (n,)
        The score of each node; they sum to 1. Read-only.
    names : list
        The names of the nodes in the same order; their numbers if they have no names.
    damping : float
        The probability to follow a link.
    dangling : int
        Number of nodes without links out.
    personalized : bool
        Whether the walk starts again at chosen nodes.
    iterations, residual, converged : int, float, bool
        Number of steps, 1-norm of the change by the last one, and whether it is at most ``tol``.
    n_nodes, n_edges, directed, weighted : int, int, bool, bool
        What the graph is.
    """

    scores: Array
    damping: float
    dangling: int
    personalized: bool

    def columns(self) -> Mapping[str, Array]:
        """Return the scores by name."""
        return {"score": self.scores}

    def top(self, k: int = TOP) -> list[tuple[Any, float]]:
        """Return the k nodes with the highest scores: pairs of name and score, the highest first."""
        return self._best(self.scores, k)

    def to_dict(self) -> dict[Any, float]:
        """Return the score of each node by its name, as networkx does."""
        return dict(zip(self.names, self.scores.tolist(), strict=True))

    @property
    def sentence(self) -> str:
        """A summary."""
        name, score = self.top(1)[0]
        state = "Converged" if self.converged else "Not converged"
        return (
            f"PageRank of {self._graph_words()}, {count(self.dangling, 'node')} without links out. Highest score: "
            f"{name} ({score:.4g}). {state} after {count(self.iterations, 'step')}: last change {self.residual:.2g}."
        )

    def __str__(self) -> str:
        return f"{self.sentence}\n{self._listed({'PageRank': self.top(_PRINTED)})}"

    __repr__ = __str__


@dataclass(frozen=True, eq=False, kw_only=True)
class Hits(Ranking):
    """Hubs and authorities of a graph; see `hits`.

    Attributes
    ----------
    hubs, authorities : array (n,)
        The scores of each node as a hub and as an authority. Read-only.
    names : list
        The names of the nodes in the same order; their numbers if they have no names.
    normalize : str
        "max": the largest score is 1; "sum": they sum to 1; "l2": their squares do.
    eigenvalue : float
        The largest eigenvalue of AᵀA (and AAᵀ), with the given weights.
    gap : float
        Relative distance from the leading singular value of A to the next one that is not tied with it.
    tied : int
        How many singular values are equal to the leading one, itself included; 1: the scores are unique.
    iterations, residual, converged : int, float, bool
        Number of products with A, residual of the singular vectors relative to ‖A‖, and whether it met the tolerance.
    n_nodes, n_edges, directed, weighted : int, int, bool, bool
        What the graph is.
    """

    hubs: Array
    authorities: Array
    normalize: str
    eigenvalue: float
    gap: float
    tied: int

    def columns(self) -> Mapping[str, Array]:
        """Return the scores by name."""
        return {"hub": self.hubs, "authority": self.authorities}

    def top(self, k: int = TOP, by: str = "authorities") -> list[tuple[Any, float]]:
        """Return the k best authorities, or ``by="hubs"``: pairs of name and score, the highest first."""
        if by not in ("hubs", "authorities"):
            raise ValueError(Message(Setting("by"), f" must be 'hubs' or 'authorities'; got {by!r}"))
        return self._best(self.hubs if by == "hubs" else self.authorities, k)

    def to_dict(self) -> dict[str, dict[Any, float]]:
        """Return the scores by name: ``{"hubs": {name: score}, "authorities": {name: score}}``."""
        return {
            name: dict(zip(self.names, getattr(self, name).tolist(), strict=True)) for name in ("hubs", "authorities")
        }

    @property
    def sentence(self) -> str:
        """A summary."""
        hub, authority = self.top(1, "hubs")[0][0], self.top(1)[0][0]
        tie = f" The leading eigenvalue is tied {self.tied} times, so the scores are not unique." * (self.tied > 1)
        return f"HITS of {self._graph_words()}. Best authority: {authority}; best hub: {hub}.{tie}"

    def __str__(self) -> str:
        tops = {"authorities": self.top(_PRINTED), "hubs": self.top(_PRINTED, "hubs")}
        return f"{self.sentence}\n{self._listed(tops)}"

    __repr__ = __str__
