"""The one way up: results load what draws them by name.

Results of lower floors have ``figure`` and ``to_html``; the pictures and pages stand on the top floor. Only this table
names them, and nothing is imported before it is drawn.
"""

from __future__ import annotations

import importlib
from typing import Any

DRAWERS = {
    "shepard diagram": ("lowland.plots.quality", "shepard_diagram"),
    "rnx curve": ("lowland.plots.quality", "rnx_plot"),
    "dimension": ("lowland.plots.dimension", "dimension"),
    "comparison": ("lowland.plots.comparison", "comparison"),
    "comparison page": ("lowland.report.comparison", "write"),
}


def show(what: str, *args: Any, **options: Any) -> Any:
    """Draw or write something by the name in `DRAWERS`."""
    module, name = DRAWERS[what]
    return getattr(importlib.import_module(module), name)(*args, **options)
