"""Matplotlib figures as inline SVG, for several figures on a page, in light and dark mode."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

from ..plots.style import INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

_LARGEST = 1.9  # pixels for a point: letters of small figures are not larger than those of the page
_SMALLEST = 1.1  # pixels for a point: on narrow screens a figure is scrolled rather than made smaller
_IMAGE = 80  # points: side of the images that are shown on hover

_DROPPED = ("metadata", "style")  # a style element would apply to the whole page
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


class Tip(NamedTuple):
    """What is shown when one points at a place: a text, and an image as a data URI."""

    x: float
    y: float
    text: str
    image: str | None = None


def inline_svg(
    drawing: Figure | SubFigure, prefix: str, title: str, description: str, tips: Iterable[Tip] | None = None
) -> str:
    """Return a figure as an ``<svg>`` element for HTML.

    Every id gets the prefix, so that ids on one page are unique; the ink colour becomes the text colour of the page,
    and white outlines of letters its background; ``title`` and ``description`` are for screen readers. ``tips`` are
    positions on the figure's first axes, each with a text and, if there is one, an image to show on hover. The same
    figure gives the same text.
    """
    figure: Any = drawing.figure  # the whole figure
    root = ET.fromstring(_draw(figure))
    for parent in root.iter():
        for child in [child for child in parent if _local(child.tag) in _DROPPED]:
            parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_local(name): _rewrite(_local(name), value, prefix) for name, value in element.items()}
    view, width = root.get("viewBox", ""), 72 * figure.get_figwidth()
    root.attrib = {
        "viewBox": view,
        "role": "img",
        "aria-labelledby": f"{prefix}-title {prefix}-desc",
        "style": f"max-width:{_LARGEST * width:.0f}px;--least:{_SMALLEST * width:.0f}px",
        "class": "tall" if figure.get_figheight() > 1.1 * figure.get_figwidth() else "flat",
    }
    for position, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(tag, {"id": f"{prefix}-{tag}"})
        element.text = text
        element.tail = "\n"
        root.insert(position, element)
    if tips is not None:
        root.append(_tooltips(figure, list(tips)))
    return ET.tostring(root, encoding="unicode", short_empty_elements=True)


def _tooltips(figure: Figure, tips: list[Tip]) -> ET.Element:
    """Return invisible discs with tooltips at the positions, and images that the page's style shows on hover."""
    scale = 72 / figure.dpi  # an SVG figure is measured in points, from the top
    height = 72 * figure.get_figheight()
    group = ET.Element("g", {"fill": "none", "pointer-events": "all"})
    for (left, below), tip in zip(figure.axes[0].transData.transform([tip[:2] for tip in tips]), tips, strict=True):
        x, y = left * scale, height - below * scale
        place = group if tip.image is None else ET.SubElement(group, "g", {"class": "tip"})
        disc = ET.SubElement(place, "circle", {"cx": f"{x:.2f}", "cy": f"{y:.2f}", "r": "4"})
        ET.SubElement(disc, "title").text = tip.text
        if tip.image is not None:
            ET.SubElement(place, "image", _beside(x, y, 72 * figure.get_figwidth()) | {"href": tip.image})
    return group


def _beside(x: float, y: float, width: float) -> dict[str, str]:
    """Return the place of an image beside a point, inside the figure."""
    left = x + 8 if x + 8 + _IMAGE < width else x - 8 - _IMAGE
    return {"x": f"{left:.2f}", "y": f"{max(0.0, y - _IMAGE):.2f}", "width": str(_IMAGE), "height": str(_IMAGE)}


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
    own = _REFERENCE.sub(rf"url(#{prefix}-\1)", value).replace(INK, "currentColor")
    return own.replace("stroke: #ffffff", "stroke: var(--back, #ffffff)")  # the outline of labels over points
