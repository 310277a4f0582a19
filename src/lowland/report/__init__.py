"""Reports: self-contained HTML files that need no network."""

from __future__ import annotations

from .html import render_report, write_page

__all__ = ["render_report", "write_page"]
