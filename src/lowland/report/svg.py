"""Matplotlib figures as inline SVG, for several figures on a page, in light and dark mode."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from ..plots.style import INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DROPPED = ("metadata", "style")  # a style element would apply to the whole page
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def inline_svg(
    figure: Figure, prefix: str, title: str, description: str, tips: Iterable[tuple[float, float, str]] | None = None
) -> str:
    """Return a figure as an ``<svg>`` element for HTML.

    Every id gets the prefix, so that ids on one page are unique; the ink colour becomes the text colour of the page;
    ``title`` and ``description`` are for screen readers. ``tips`` are positions on the figure's first axes, each with a
    tooltip. The same figure gives the same text.
    """
    root = ET.fromstring(_draw(figure))
    for parent in root.iter():
        for child in [child for child in parent if _local(child.tag) in _DROPPED]:
            parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_local(name): _rewrite(_local(name), value, prefix) for name, value in element.items()}
    view = root.get("viewBox", "")
    root.attrib = {
        "viewBox": view,
        "role": "img",
        "aria-labelledby": f"{prefix}-title {prefix}-desc",
    }
    for position, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(tag, {"id": f"{prefix}-{tag}"})
        element.text = text
        element.tail = "\n"
        root.insert(position, element)
    if tips is not None:
        root.append(_tooltips(figure, list(tips)))
    return ET.tostring(root, encoding="unicode", short_empty_elements=True)


def _tooltips(figure: Figure, tips: list[tuple[float, float, str]]) -> ET.Element:
    """Return invisible discs with tooltips at the positions."""
    scale = 72 / figure.dpi  # an SVG figure is measured in points, from the top
    height = 72 * figure.get_figheight()
    group = ET.Element("g", {"fill": "none", "pointer-events": "all"})
    for (x, y), (_, _, text) in zip(figure.axes[0].transData.transform([tip[:2] for tip in tips]), tips, strict=True):
        disc = ET.SubElement(group, "circle", {"cx": f"{x * scale:.2f}", "cy": f"{height - y * scale:.2f}", "r": "4"})
        ET.SubElement(disc, "title").text = text
    return group


def _draw(figure: Figure) -> str:
    import matplotlib as mpl

    buffer = io.StringIO()
    # A fixed salt gives the same ids each time; text is kept as text, so that it can be searched and copied.
    with mpl.rc_context({"svg.hashsalt": "lowland", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(buffer, format="svg", dpi=200, metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _local(name: str) -> str:
    """Remove the namespace, which inline SVG does not need."""
    return name.rpartition("}")[2]


def _rewrite(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return f"{prefix}-{value}"
    if name == "href" and value.startswith("#"):
        return f"#{prefix}-{value[1:]}"
    return _REFERENCE.sub(rf"url(#{prefix}-\1)", value).replace(INK, "currentColor")
