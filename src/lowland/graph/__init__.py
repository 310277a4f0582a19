"""Neighbour graphs: searches, components, shortest paths, Laplacians and local patches."""

from .graph import Graph
from .neighbors import neighbor_graph

__all__ = ["Graph", "neighbor_graph"]
