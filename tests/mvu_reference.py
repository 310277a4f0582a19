"""The program of maximum variance unfolding by a general solver, to check ours against."""

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from lowland.graph.neighbors import neighbor_graph
from lowland.methods.manifold.mvu_program import _packed, _products, _solve, _unpacked


def edges_of(X, k):
    """Return both ends of each edge of the graph of k neighbours, and its squared length, each edge once."""
    graph = neighbor_graph(X, k).symmetric()
    sources = np.repeat(np.arange(graph.n), graph.degrees)
    once = sources < graph.indices
    return sources[once], graph.indices[once], graph.distances[once] ** 2


def exact_gram(n, i, j, squares):
    """Return the K of largest trace by Clarabel, for up to about 80 points.

    It is given the dual, which has an interior where the primal has none; K is the multiplier of its constraint.
    """
    Q = scipy.linalg.helmert(n).T
    scale = float(np.mean(squares))
    A = _products(Q[i] - Q[j])
    nothing = sp.csc_array((len(i), len(i)))
    solution = _solve(nothing, np.asarray(squares) / scale, -A.T, -_packed(np.eye(n - 1)), n - 1)
    K = Q @ _unpacked(np.array(solution.z), n - 1) @ Q.T
    return (K + K.T) * (scale / 2)
