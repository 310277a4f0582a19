"""Reports: one HTML file that holds everything and needs no network."""

from __future__ import annotations

from .html import render_report, write_page

__all__ = ["render_report", "write_page"]
