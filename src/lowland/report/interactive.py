"""The interactive map of a report, with the static picture behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..explorer import MAX_POINTS, interactive, script
from . import page

if TYPE_CHECKING:
    from .hover import Hover

Array = Any


def is_available() -> bool:
    """Return whether this installation contains the script of the interactive map."""
    return script() is not None


def map_with_fallback(
    static: str,
    Y: Array,
    labels: Sequence[str],
    *,
    color: Any = None,
    color_name: str | None = None,
    hover: Hover,
    trust: Array | None = None,
    keep_static: bool = False,
    rows: Array | None = None,
    total: int | None = None,
) -> str:
    """Return the interactive map and a sentence that names the columns in the page; or the static picture.

    Parameters
    ----------
    static : HTML of the static picture: shown without scripts or WebGL, and in print.
    Y, labels : coordinates and the names of the axes.
    color, color_name : the column that colours the points.
    hover : names, columns and images of the points.
    trust : reliability of each point, NaN where it was not measured; None: not measured.
    keep_static : show the static picture as well; it has more in it than the points.
    rows, total : as for `lowland.explorer.payload`.
    """
    columns: dict[str, Any] = {}
    identity, further = None, dict(hover.columns)
    if hover.names is not None:
        if list(map(str, further.get(hover.title, ()))) == list(map(str, hover.names)):
            del further[hover.title]  # the same column
        identity = _free(hover.title, [*further, color_name])
        columns[identity] = list(hover.names)
    columns |= further
    chosen = None
    if color is not None:
        chosen = color_name or "colour"
        columns[chosen] = color
    html = interactive(
        Y,
        columns,
        id=identity,
        color=chosen,
        trust=trust,
        images=hover.images,
        axes=labels,
        static=static,
        keep_static=keep_static,
        rows=rows,
        total=total,
    )
    if not is_available():
        return html
    return html + "\n" + page.paragraph(embedded(columns, len(Y), images=hover.images is not None), "small")


def embedded(columns: Sequence[str] | dict[str, Any], n: int, *, images: bool) -> str:
    """Return which columns of the data the page contains.

    >>> embedded(["name", "age"], 10, images=False)
    'Columns of the data in this page, for hover, colour and search: name, age. It contains no other columns.'
    """
    listed = [*dict.fromkeys(name.strip() for name in columns), *(["small copies of the images"] if images else [])]
    if not listed:
        text = "This page contains the coordinates of the map and no column of the data."
    else:
        text = f"Columns of the data in this page, for hover, colour and search: {', '.join(listed)}."
        text += " It contains no other columns."
    if n > MAX_POINTS:
        text += f" The interactive map shows a random sample of {MAX_POINTS:,} of {n:,} points."
    return text


def _free(name: str, taken: Sequence[str | None]) -> str:
    while name in taken:
        name += " "
    return name
