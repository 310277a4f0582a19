"""Reports: self-contained HTML files that need no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names

if TYPE_CHECKING:
    from .html import render_report, write_page

__all__ = ["render_report", "write_page"]

__getattr__, __dir__ = lazy_names(__name__, {".html": "render_report write_page"})
