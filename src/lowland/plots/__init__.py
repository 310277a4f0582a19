"""Plots: functions from arrays to matplotlib axes, without global state.

Each function takes ``ax=``, matplotlib axes to draw on (default: those of a new figure), and returns the axes;
functions with several panels return a list of them. ``theme("slide")`` and ``theme("dark")`` change fonts and colours.

>>> from lowland import plots
>>> ax = plots.scatter([[0, 1], [1, 0]], color=["a", "b"])
>>> with plots.theme("slide"):
...     ax = plots.scatter([[0, 1], [1, 0]], color=["a", "b"])
"""

from __future__ import annotations

from .overlay import Overlay
from .quality_map import quality_map
from .scatter import scatter
from .spectrum import scree
from .style import theme
from .thumbnails import thumbnails

__all__ = ["Overlay", "quality_map", "scatter", "scree", "theme", "thumbnails"]
