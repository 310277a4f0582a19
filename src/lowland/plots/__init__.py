"""Plots: functions from arrays to matplotlib axes, without global state.

Each function takes ``ax=``, matplotlib axes to draw on (default: those of a new figure), and returns the axes;
functions with several panels return a list of them. ``theme("slide")`` and ``theme("dark")`` change fonts and colours.

>>> from lowland import plots
>>> ax = plots.scatter([[0, 1], [1, 0]], color=["a", "b"])
>>> with plots.theme("slide"):
...     ax = plots.scatter([[0, 1], [1, 0]], color=["a", "b"])
"""

from __future__ import annotations

from .by_dimension import residual_variance, stress_by_dimension
from .component_arrows import biplot, correlation_circle
from .component_bars import contributions, cos2, loadings
from .component_images import eigenimages, reconstructions
from .correlation_map import column_groups, correlations
from .dimension import dimension
from .graph import neighbor_graph
from .grid import component_planes, hit_map, u_matrix
from .kinds import plot, plot_kinds
from .learning import downstream
from .lecture import axes_and_projections, power_iteration, variance_by_direction
from .overlay import Overlay
from .panels import compare_grid
from .quality import measures, rnx, shepard
from .quality_map import quality_map
from .ranking import ranking
from .relationship_square import relationship_square
from .scatter import scatter
from .spectrum import scree, spectrum
from .style import theme
from .thumbnails import thumbnails

__all__ = [
    "Overlay",
    "axes_and_projections",
    "biplot",
    "column_groups",
    "compare_grid",
    "component_planes",
    "contributions",
    "correlation_circle",
    "correlations",
    "cos2",
    "dimension",
    "downstream",
    "eigenimages",
    "hit_map",
    "loadings",
    "measures",
    "neighbor_graph",
    "plot",
    "plot_kinds",
    "power_iteration",
    "quality_map",
    "ranking",
    "reconstructions",
    "relationship_square",
    "residual_variance",
    "rnx",
    "scatter",
    "scree",
    "shepard",
    "spectrum",
    "stress_by_dimension",
    "theme",
    "thumbnails",
    "u_matrix",
    "variance_by_direction",
]
