"""Reports: self-contained HTML files that need no network.

**One page for every origin.** A `Subject` is what a page is about: a map, the rows behind it, and the method if it is
known. `building` makes one from a fitted model, from new rows on its map, or from coordinates made elsewhere, and
`html` renders all of them alike; each section is a module. `comparison` is the page of several maps.

**A page measures with the functions of the commands.** `trust` and `structure` call `quality` and `dimension`, so a
number on a page is the one that `lowland evaluate` prints. A section that cannot be made says why; the others stay.

**Safe and on its own.** `page` is the only module that escapes text. Styles, figures (inline SVG, in light and dark
mode) and scripts are part of the file, and its content security policy forbids loading others. `numbers` puts all
numbers into the page as JSON for programs. `notebook` has short views for notebooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names

if TYPE_CHECKING:
    from .html import render_report, write_page

__all__ = ["render_report", "write_page"]

__getattr__, __dir__ = lazy_names(__name__, {".html": "render_report write_page"})
