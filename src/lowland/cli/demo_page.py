"""The page of `lowland demo`: the recommended map large, the others beside each other, and what each is good for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import __version__
from ..comparison import Comparison, Recommendation
from ..comparison.ranking import Judge
from ..comparison.recommendation import verdict
from ..contract import registry
from ..plots.comparison import small_map
from ..plots.thumbnails import thumbnails
from ..quality.verdicts import DISTANCES, NEIGHBOURS
from ..report import page
from ..report.svg import inline_svg

Array = Any

MEASURES = {
    "local": ("Neighbours", "are the nearest points in the map also near in the data, and the reverse? 0 is chance"),
    "geodesic": ("Geodesic distances", "rank correlation with shortest paths between neighbours"),
    "direct": ("Distances", "rank correlation with distances between the pixels"),
    "target": ("Digits recognised", "share of points whose digit the nearest points in the map predict"),
}


_RULE = (
    f"neighbours are good if trustworthiness and continuity are {NEIGHBOURS[0]} or more, fair from {NEIGHBOURS[1]}; "
    f"distances are good from a rank correlation of {DISTANCES[0]} on and fair from {DISTANCES[1]} on"
)


def figures(found: Comparison) -> dict[str, dict[str, float]]:
    """Return the measures of each map, best first: means over training and held-out rows, to two digits."""
    ranked = found.ranked()
    out = {}
    for entry in ranked:
        sides = {name: entry["criteria"][name] for name in MEASURES if name in entry["criteria"]}
        values = {
            name: [side[s]["value"] for s in ("training", "held-out") if s in side] for name, side in sides.items()
        }
        out[entry["method"]] = {name: round(sum(v) / len(v), 2) for name, v in values.items()}
        out[entry["method"]]["score"] = round(Judge(ranked).score(entry), 2)
    return out


def render(
    found: Comparison,
    advice: Recommendation,
    embedding: Array,
    images: Array,
    labels: Sequence[int],
    commands: Mapping[str, str],
) -> str:
    """Return the page, which is self-contained and does not depend on the time of the run."""
    best, measured = registry.method(advice.method).title, figures(found)
    title = f"{len(images):,} handwritten digits in two dimensions"
    lead = (
        f"Each digit is an image of {images.shape[1]} × {images.shape[2]} pixels: a row of {images[0].size} numbers. "
        f"The methods below placed the digits on a map without being told which digit is which. The map of "
        f"{best} is recommended."
    )
    pieces = [
        page.heading(title),
        page.paragraph(lead, "lead"),
        _large(found, best, embedding, images, labels),
        page.section("All maps, best first", page.paragraph(_procedure(found)), _cards(found, measured, advice.method)),
        page.section("What the figures mean", _legend(labels)),
        page.section("What this map does not show", *map(page.paragraph, _limits(advice))),
        page.section("Next", *(page.paragraph(text) + page.command(line) for text, line in commands.items())),
        page.footer(f"Made with Lowland {__version__}."),
    ]
    return page.document(title, pieces)


def _large(found: Comparison, best: str, embedding: Array, images: Array, labels: Sequence[int]) -> str:
    drawing = thumbnails(embedding, images, color=labels, color_name="digit")
    drawn = len(drawing.images)
    caption = (
        f"Map by {best}: {found.record['rows']['training']:,} digits were used for fitting, the other "
        f"{found.record['rows']['held-out']:,} were placed afterwards. {drawn} of them are drawn as images, where "
        "there is room; the others are points. Colours show the true digit, which the method did not know."
    )
    svg = inline_svg(drawing.figure, "best", f"Map of the digits by {best}", caption)
    return page.section(f"Recommended: {best}", page.figure(svg, caption))


def _procedure(found: Comparison) -> str:
    rows = found.record["rows"]
    return (
        f"Each method was fitted on {rows['training']:,} digits and placed {rows['held-out']:,} others, which it had "
        "not seen. The figures are means of both; 1 is perfect. Two scores are tied if they "
        "differ by less than 0.01 or not significantly."
    )


def _cards(found: Comparison, measured: Mapping[str, Mapping[str, float]], best: str) -> str:
    cards = []
    for entry in found.ranked():
        name, row = registry.method(entry["method"]).title, measured[entry["method"]]
        placed = found.maps[entry["key"]]
        drawing = small_map(placed.Y, found.colors(placed.rows))
        svg = inline_svg(drawing, f"map-{entry['method']}", f"Map by {name}", f"Map of the digits by {name}")
        values = [(MEASURES[m][0], row[m]) for m in MEASURES if m in row]
        said = "; ".join(f"{what}: {word}" for what, word in verdict(entry).words.items())
        heading = f"{name}{' (recommended)' if entry['method'] == best else ''}: score {row['score']:.2f}"
        cards.append(page.card(heading, page.figure(svg), page.bars(values, signed=False), page.paragraph(f"{said}.")))
    return page.cards(cards)


def _legend(labels: Sequence[int]) -> str:
    most = max(list(labels).count(label) for label in set(labels)) / len(labels)
    rows = [(name, f"{text}.") for name, text in MEASURES.values()]
    rows.append(("Guessing", f"always naming the most frequent digit is right for {100 * most:.0f} % of the points."))
    rows.append(("Score", "the mean of neighbours, geodesic distances and digits recognised."))
    rows.append(("Good, fair, poor", f"{_RULE}."))
    return page.table(rows, "Figures below the maps")


def _limits(advice: Recommendation) -> list[str]:
    return [f"{text[0].upper()}{text[1:]}" for text in advice.not_good_for]
