"""HITS: hubs link to good authorities, and good hubs link to authorities."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..contract.parameters import Choice, Rule, check
from ..core.errors import DataError, NotConvergedWarning, TieWarning
from ..core.message import Message, Owner
from .edges import Edges, edges_of
from .hits_parts import leading_vectors
from .result import Hits

Array = Any

RULES: dict[str, Rule] = {"normalize": Choice(("max", "sum", "l2"))}


def hits(
    edges: Any,
    normalize: str = "max",
    *,
    directed: bool | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | bool | None = None,
    n_nodes: int | None = None,
) -> Hits:
    """Rank the nodes of a graph as hubs and as authorities (Kleinberg, J. ACM 46, 1999).

    A good hub links to good authorities, a good authority is linked from good hubs: h ∝ A a, a ∝ Aᵀ h. These are the
    leading left and right singular vectors of the adjacency matrix A; a is the leading eigenvector of AᵀA.

    Parameters
    ----------
    edges : array, sparse matrix, table, graph or path
        The links, as for `pagerank`.
    normalize : "max", "sum" or "l2"
        The largest score is 1 (igraph), they sum to 1 (networkx), or their squares do.
    directed, source, target, weight, n_nodes
        As for `pagerank`.

    Returns
    -------
    `Hits` with ``hubs``, ``authorities``, ``names``, ``top(k, by=…)``, ``to_dict()``, ``residual``, ``tied``.

    Notes
    -----
    If the leading singular value is tied, as in a graph of equal components, the scores are not unique: a `TieWarning`
    says so, and the scores are those to which Kleinberg's iteration converges from equal scores, the projection of
    (1, …, 1) on the space of the tied vectors. Weights of repeated edges are added.

    Examples
    --------
    >>> from lowland.ranking import hits
    >>> result = hits([("a", "x"), ("a", "y"), ("b", "x"), ("c", "z")])
    >>> result.top(2)[0], result.top(1, by="hubs")
    (('x', 1.0), [('a', 1.0)])
    >>> round(result.eigenvalue, 4)
    2.618
    """
    check("hits", RULES, {"normalize": normalize})
    graph = edges_of("hits", edges, directed, source=source, target=target, weight=weight, n_nodes=n_nodes)
    A = _adjacency(graph)
    if A.nnz == 0:
        raise DataError(Message(Owner("hits"), "the graph has no links, so there are no hubs and authorities"))
    lead = leading_vectors(A)
    if lead.tied > 1:
        text = f"the leading eigenvalue is tied ({lead.tied} times), so the scores are not unique: returned are those "
        text += "to which the iteration converges from equal scores; rank the connected components one by one"
        warnings.warn(Message(Owner("hits"), text), TieWarning, stacklevel=2)
    if not lead.converged:
        text = f"the iteration stopped before its tolerance (residual {lead.residual:.2g})"
        warnings.warn(Message(Owner("hits"), text), NotConvergedWarning, stacklevel=2)
    return Hits(
        labels=graph.names,
        n_edges=graph.n_edges,
        directed=graph.directed,
        weighted=graph.weights is not None,
        iterations=lead.products,
        residual=lead.residual,
        converged=lead.converged,
        hubs=_normalized(lead.hubs, normalize),
        authorities=_normalized(lead.authorities, normalize),
        normalize=normalize,
        eigenvalue=math.ldexp(lead.value**2, 2 * graph.exponent),
        gap=lead.gap,
        tied=lead.tied,
    )


def _adjacency(graph: Edges) -> Any:
    """Return the adjacency matrix; weights of repeated edges are added, links of weight 0 left out."""
    import scipy.sparse as sp

    weights = np.ones(len(graph.source)) if graph.weights is None else graph.weights
    A = sp.csr_array((weights, (graph.source, graph.target)), shape=(graph.n, graph.n))
    A.sum_duplicates()
    A.eliminate_zeros()
    return A


def _normalized(scores: Array, how: str) -> Array:
    size = scores.max() if how == "max" else scores.sum() if how == "sum" else np.linalg.norm(scores)
    return scores / size
