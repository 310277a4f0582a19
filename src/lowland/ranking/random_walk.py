"""PageRank: the share of time that a random walk with restarts spends at each node."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..contract.parameters import Integer, Real, Rule, check
from ..core.errors import NotConvergedWarning
from ..core.formatting import count
from ..core.message import Message, Owner, Setting
from ..core.settings import report_progress
from .edges import edges_of
from .links import Links, everywhere, links_of
from .personalization import restart_shares
from .result import PageRank

Array = Any

RULES: dict[str, Rule] = {
    "damping": Real(0, 0.999, closed=True),
    "tol": Real(1e-15, 1, closed=True),
    "max_iter": Integer(1),
}


def pagerank(
    edges: Any,
    damping: float = 0.85,
    personalization: Mapping[Any, float] | Any = None,
    *,
    directed: bool | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | bool | None = None,
    n_nodes: int | None = None,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> PageRank:
    """Rank the nodes of a graph by a random walk with restarts (Brin & Page 1998).

    The walk follows a link of its node with probability d, each in proportion to its weight, and otherwise starts again
    at a node drawn from v; at a node without links out ("dangling") it always starts again. The score of a node is the
    share of time that the walk spends there: x = d (Pᵀ + v aᵀ) x + (1 − d) v, with a = 1 for dangling nodes, Σx = 1.

    Parameters
    ----------
    edges : array, sparse matrix, table, graph or path
        The links. An array of two columns (or three, with weights) holds the numbers of nodes, counted from 0, or their
        names. In a sparse matrix, entry (i, j) is the weight of the link from i to j. A table (pandas, polars, Arrow, a
        `lowland.data.Table`) or a file has names in its first two columns and weights in the third, or in the columns
        that ``source``, ``target`` and ``weight`` name. Graphs of networkx and igraph keep their names.
    damping : float
        d, from 0 to 0.999.
    personalization : mapping, array or None
        v: a weight for some nodes by name (the others get 0) or for all nodes in order; it is divided by its sum.
        Default: the same for all nodes.
    directed : bool or None
        False: every edge is a link in both directions. Default: as the graph says, else True.
    source, target, weight : str, optional
        Columns of a table; ``weight`` is also the name of an attribute of the edges of a graph (default: "weight", if
        there is one). ``weight=False`` ignores weights.
    n_nodes : int, optional
        Number of nodes of an array of numbers, if the last ones have no edges.
    tol : float
        The 1-norm of the last change of the scores, x → Gx, is at most this.
    max_iter : int
        Maximum number of steps; then a `NotConvergedWarning` reports the change.

    Returns
    -------
    `PageRank` with ``scores``, ``names``, ``top(k)``, ``to_dict()``, ``iterations``, ``residual``.

    Notes
    -----
    Weights of repeated edges are added; a link of a node to itself counts like any other. Weights must not be negative
    or missing. The error of the scores in the 1-norm is at most ``residual`` · d/(1 − d).

    Nodes without links out or in need no iteration (Ipsen & Selee, SIAM J. Matrix Anal. Appl. 29, 2008): the others are
    iterated, each solved for its own score, and scaled after each step so that the scores have the right sum.

    Examples
    --------
    >>> from lowland.ranking import pagerank
    >>> result = pagerank([("a", "b"), ("a", "c"), ("b", "c"), ("c", "a"), ("d", "c")])
    >>> [(name, round(score, 4)) for name, score in result.top(2)]
    [('c', 0.3941), ('a', 0.3725)]
    """
    check("pagerank", RULES, {"damping": damping, "tol": tol, "max_iter": max_iter})
    graph = edges_of("pagerank", edges, directed, source=source, target=target, weight=weight, n_nodes=n_nodes)
    v = restart_shares(personalization, graph)
    links = links_of(graph)
    scores, steps, residual = solve(links, v[links.order], float(damping), float(tol), int(max_iter))
    x = np.empty(graph.n)
    x[links.order] = scores
    if residual > tol:
        text = f"the last of {count(steps, 'step')} changed the scores by {residual:.2g} in all, more than "
        warnings.warn(
            Message(Owner("pagerank"), text, Setting("tol", tol), "; raise ", Setting("max_iter")),
            NotConvergedWarning,
            stacklevel=2,
        )
    return PageRank(
        scores=x,
        labels=graph.names,
        n_edges=graph.n_edges,
        directed=graph.directed,
        weighted=graph.weights is not None,
        iterations=steps,
        residual=residual,
        converged=residual <= tol,
        damping=float(damping),
        dangling=graph.n - links.n_linking,
        personalized=personalization is not None,
    )


def solve(links: Links, v: Array, damping: float, tol: float, max_iter: int) -> tuple[Array, int, float]:
    """Return the scores in the order of the links, the number of steps and the 1-norm of the last change."""
    from . import links_loops as loops

    core, linking, n = links.n_core, links.n_linking, links.n
    matrix = (links.indptr, links.indices, links.values)
    z = np.zeros(n)  # score/strength of nodes with links out
    z[:linking] = v[:linking] / links.strength[:linking]
    kept = _into_core(links)
    gain = links.strength[:core] - damping * kept[:core]
    mass = float(v[:core].sum() + damping * (z[core:linking] * kept[core:linking]).sum())  # what Σ gain·z must be
    cuts = links.cuts(core)
    sums, new = np.zeros((max(len(cuts) - 1, 1), 2)), np.empty(core)

    def part(k: int) -> None:
        rest = (v, damping, links.strength, links.loops, gain, new, sums[k])
        loops.step(*matrix, z, *rest, cuts[k], cuts[k + 1])

    z[:core] *= _correction(mass, float((z[:core] * gain).sum()))
    steps, change = 0, np.inf
    while (
        core and change > tol / 2 and steps < max_iter - 1
    ):  # one is left for the last; a residual r changes the scores by at most 2‖r‖₁
        everywhere(part, len(cuts) - 1)
        change = float(sums[:, 0].sum())
        np.multiply(new, _correction(mass, float(sums[:, 1].sum())), out=z[:core])
        steps += 1
        report_progress("PageRank", steps, None)
    return _last_step(links, z, v, damping, steps)


def _into_core(links: Links) -> Array:
    """Return the sum of the weights of the links from each node to nodes that are iterated."""
    from . import links_loops as loops

    end = links.indptr[links.n_core]
    if len(links.values):
        sums = np.zeros(links.n)
        loops.add_weights(links.indices[:end], links.values[:end], sums)
        return sums
    counts = np.zeros(links.n, dtype=np.int64)
    loops.count(links.indices[:end], counts)
    return counts.astype(np.float64)


def _correction(wanted: float, found: float) -> float:
    return wanted / found if found > 0 else 1.0


def _last_step(links: Links, z: Array, v: Array, damping: float, steps: int) -> tuple[Array, int, float]:
    """Do one step of the whole walk, which also gives the nodes without links out their scores."""
    from . import links_loops as loops

    cuts = links.cuts(links.n)
    y = np.empty(links.n)
    matrix = (links.indptr, links.indices, links.values)
    everywhere(lambda k: loops.spread(*matrix, z, v, damping, y, cuts[k], cuts[k + 1]), len(cuts) - 1)
    before = z * links.strength
    before[links.n_linking :] = y[links.n_linking :]
    difference = y - before
    difference -= difference.sum() * v  # walks that stop start again
    total = before.sum()
    scores = (before + difference) / total
    return scores / scores.sum(), steps + 1, float(np.abs(difference).sum() / total)
