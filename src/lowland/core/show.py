"""Plots, pages and notebook views by name, for objects of lower layers that draw themselves.

Only this table names modules of higher layers, and they are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

DRAWERS = {
    "model": ("lowland.plots.kinds", "plot"),
    "model kinds": ("lowland.plots.kinds", "plot_kinds"),
    "shepard": ("lowland.plots.quality", "shepard"),
    "rnx": ("lowland.plots.quality", "rnx"),
    "outliers": ("lowland.plots.row_measures", "severities"),
    "pointwise": ("lowland.plots.row_measures", "reliability"),
    "measures": ("lowland.plots.quality", "measures"),
    "dimension": ("lowland.plots.dimension", "dimension"),
    "comparison": ("lowland.plots.comparison", "comparison"),
    "downstream": ("lowland.plots.learning", "downstream"),
    "column groups": ("lowland.plots.correlation_map", "column_groups"),
    "ranking": ("lowland.plots.ranking", "ranking"),
    "eigenfaces": ("lowland.plots.image_sheets", "eigenfaces"),
    "compressed image": ("lowland.plots.image_sheets", "compressed"),
    "denoised images": ("lowland.plots.image_sheets", "denoised"),
    "comparison page": ("lowland.report.comparison", "write"),
    "model html": ("lowland.report.notebook", "model_html"),
    "shepard html": ("lowland.report.notebook", "shepard_html"),
    "rnx html": ("lowland.report.notebook", "rnx_html"),
    "report html": ("lowland.report.notebook", "report_html"),
    "outliers html": ("lowland.report.notebook", "outliers_html"),
    "pointwise html": ("lowland.report.notebook", "pointwise_html"),
    "dimension html": ("lowland.report.notebook", "dimension_html"),
    "comparison html": ("lowland.report.notebook", "comparison_html"),
    "ranking html": ("lowland.report.notebook", "ranking_html"),
    "widget": ("lowland.explorer.widgets", "widget_of_model"),
}


def show(what: str, *args: Any, **options: Any) -> Any:
    """Call the plot, page or view that `DRAWERS` lists under this name."""
    module, name = DRAWERS[what]
    return getattr(importlib.import_module(module), name)(*args, **options)
