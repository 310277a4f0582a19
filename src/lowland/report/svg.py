"""Matplotlib figures as SVG that can stand inside a page, several of them, in light and dark."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from ..plots.style import INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DROPPED = ("metadata", "style")  # a style inside one picture would reach the whole page
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def inline_svg(
    figure: Figure, prefix: str, title: str, description: str, tips: Iterable[tuple[float, float, str]] | None = None
) -> str:
    """Return a figure as an ``<svg>`` element for HTML.

    Every id gets the prefix, so that pictures on one page do not take each other's parts; ink takes the
    page's text colour; ``title`` and ``description`` are what a screen reader says. ``tips`` are places on the
    figure's first axes, each with a text that the pointer shows there. The same figure gives the same text.
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
        root.append(_pointed(figure, list(tips)))
    return ET.tostring(root, encoding="unicode", short_empty_elements=True)


def _pointed(figure: Figure, tips: list[tuple[float, float, str]]) -> ET.Element:
    """Return invisible discs over the places, which show their texts under the pointer."""
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
    # A fixed salt gives the same ids each time; text stays text, so that it can be read, found and copied.
    with mpl.rc_context({"svg.hashsalt": "lowland", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(buffer, format="svg", dpi=200, metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _local(name: str) -> str:
    """Drop the namespace: inside HTML it is known."""
    return name.rpartition("}")[2]


def _rewrite(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return f"{prefix}-{value}"
    if name == "href" and value.startswith("#"):
        return f"#{prefix}-{value[1:]}"
    return _REFERENCE.sub(rf"url(#{prefix}-\1)", value).replace(INK, "currentColor")
