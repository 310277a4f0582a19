"""Plots and pages by name, for results of lower layers that have ``figure`` and ``to_html``.

Only this table names modules of higher layers, and they are imported on first use.
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
    "html of a figure": ("lowland.report.notebook", "html_of_figure"),
    "html of a model": ("lowland.report.notebook", "html_of_model"),
    "widget": ("lowland.explorer.widgets", "widget_of_model"),
}


def show(what: str, *args: Any, **options: Any) -> Any:
    """Call the plot or page that `DRAWERS` lists under this name."""
    module, name = DRAWERS[what]
    return getattr(importlib.import_module(module), name)(*args, **options)
