"""The interactive scatter as a part of an HTML page."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from .payload import payload

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

HOW_TO_GET = (
    "The interactive map is not included: this copy of Lowland was built where npm packages could not be downloaded. "
    "Install Lowland again with network access, or run `make web` in a clone of it."
)
_PLAIN_ID = re.compile(r"[a-z][a-z0-9-]*")


def script(name: str = "page") -> str | None:
    """Return the script of the interactive map ("page": for HTML pages, "widget": for notebooks); None if not built.

    >>> script() is None or "regl" in script()
    True
    """
    return _read(f"{name}.js")


def interactive(
    embedding: ArrayLike,
    columns: Any = None,
    *,
    element_id: str = "map",
    static: str = "",
    keep_static: bool = False,
    **options: Any,
) -> str:
    """Return an interactive scatter as HTML: an element, its data and the script; nothing is loaded from elsewhere.

    The script carries a nonce made from the data, so that a page's Content-Security-Policy can allow this script and no
    other: ``script-src 'nonce-…'``.

    Parameters
    ----------
    embedding, columns, **options : as for `payload`.
    element_id : id of the element; unique on the page.
    static : HTML of a picture that is shown without scripts, without WebGL, and in print.
    keep_static : show that picture always.

    Examples
    --------
    >>> html = interactive([[0.0, 1.0], [2.0, 3.0]], {"name": ["a", "b"]}, id="name")
    >>> "data-lowland-scatter" in html or HOW_TO_GET[:20] in html
    True
    """
    if not _PLAIN_ID.fullmatch(element_id):
        raise ValueError(f"element_id must consist of lower-case letters, digits and hyphens; got {element_id!r}")
    code = script()
    if code is None:
        return f'{static}\n<p class="small">{escape(HOW_TO_GET)}</p>'
    data = payload(embedding, columns, **options)
    # Cells are part of what is hashed, so none of them can contain the nonce.
    nonce = hashlib.sha256(f"{element_id}{data}{static}".encode()).hexdigest()[:40]
    replaced = "" if keep_static else f' data-lowland-fallback="{element_id}-static"'
    return (
        f'<div id="{element_id}" data-lowland-scatter="{element_id}-data"{replaced} hidden></div>\n'
        f'<div id="{element_id}-static">\n{static}\n</div>\n'
        f'<script type="application/json" id="{element_id}-data">{data}</script>\n'
        f'<script nonce="{nonce}">{code}</script>'
    )


@cache
def _read(name: str) -> str | None:
    file = resources.files(__package__).joinpath("static", name)
    return file.read_text(encoding="utf-8") if file.is_file() else None
