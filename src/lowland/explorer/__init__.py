"""The interactive scatter: zoom, hover, colours, lasso and search, in reports and notebooks.

The drawing is a TypeScript module (``explorer/web``), built into ``explorer/static`` when the package is built; an
installation without it shows static pictures. Python packs coordinates and columns into one JSON text. A page contains
the columns that it is given and no others, and every cell is shown as text, never as markup.
"""

from __future__ import annotations

from .fragment import interactive, script
from .payload import MAX_POINTS, payload
from .widgets import widget

__all__ = ["MAX_POINTS", "interactive", "payload", "script", "widget"]
