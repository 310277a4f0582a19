"""Dimension and outliers of the rows behind a map, for reports."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from ..core.errors import DataError, LowlandWarning
from ..core.formatting import count
from ..core.message import Message, message_of
from . import page
from .compared import Compared
from .svg import inline_svg

if TYPE_CHECKING:
    from ..dimension import Estimate
    from ..quality.novelty_result import Novelty
    from ..quality.outliers import Outliers

Result = TypeVar("Result")
_SHOWN = 10  # rows in a table of outliers


def estimate_dimension(behind: Compared) -> Estimate | str:
    """Estimate the number of dimensions of the rows; return the reason if this is not possible."""
    from ..dimension import estimate
    from ..dimension.levels import two_valued

    scaled = isinstance(behind.metric, str) and behind.metric == "seuclidean"  # the spectrum is to be scaled, too
    how = {"metric": "euclidean", "scale": True} if scaled else {"metric": behind.metric}
    found = _attempt(lambda: estimate(behind.rows, anchors=behind.anchors, **how), "Not estimated")
    return found if isinstance(found, str) else found.of_levels(two_valued(behind.named))  # rows may be axes of them


def find_outliers(behind: Compared, names: Sequence[str] | None) -> Outliers | str:
    """Find outliers among the rows; return the reason if this is not possible."""
    from ..quality.outliers import outliers

    neighbors = min(10, max(1, behind.n // 4))
    return _attempt(
        lambda: outliers(
            behind.given,
            neighbors,
            metric=behind.metric,
            scale=behind.scale,
            names=names,
            anchors=behind.anchors,
        ),
        "Not examined",
    )


def _attempt(work: Callable[[], Result], otherwise: str) -> Result | str:
    """Call a function of the library without its warnings, which the result contains or the fit has given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowlandWarning)
        try:
            return work()
        except DataError as error:
            return Message(f"{otherwise}: ", message_of(error))


def dimension_pieces(found: Estimate | str, behind: Compared, words: Callable[[str], str]) -> list[str]:
    """Return the parts of the section on the dimension of the data."""
    from ..dimension.result import HEADINGS

    if isinstance(found, str):
        return [page.paragraph(found)]
    rows = [(f"{kind}: {label}", *cells) for kind, label, *cells in _filled(found.cells())]
    pieces = [page.paragraph(found.sentence)]
    pieces += [page.paragraph(f"Note: {words(text).rstrip('.')}.") for text in found.warnings]
    if behind.are_many:
        pieces.append(page.paragraph(f"Estimated from a random sample of the {behind.n:,} rows."))
    caption = "The dimension seen in neighbourhoods of increasing size; the level part of the curve is the estimate."
    if found.spectrum is not None:
        caption = f"Left: {caption[0].lower()}{caption[1:]} Right: the eigenvalues, with the counts that rules give."
    svg = inline_svg(found.figure(), "dimension", "Dimension by scale", f"{found.sentence} {caption}")
    table = page.grid(HEADINGS[1:], rows, "Estimates of the dimension, and those in the consensus")
    return [*pieces, page.figure(svg, caption), page.details("All estimates", table)]


def _filled(cells: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the cells with the kind of each rule, which the table shows only once."""
    out, kind = [], ""
    for cell in cells:
        kind = cell[0] or kind
        out.append((kind, *cell[1:]))
    return out


def outliers_section(found: Outliers | str, behind: Compared, steps: str | None) -> str:
    """Return the section on outliers, with the columns that make each unusual."""
    from ..quality.outlier_result import ODD, odd_words
    from ..quality.outliers import WORDS

    title = "Outliers"
    if isinstance(found, str):
        return page.section(title, page.paragraph(found))
    pieces = [page.paragraph(found.sentence.partition(ODD)[0])]  # the table below gives the values of each row
    if len(found):
        rows = []
        for place, (i, reasons) in enumerate(list(zip(found.rows, found.reasons, strict=True))[:_SHOWN]):
            name = f"row {i}" if found.names is None else found.names[i]
            why = "; ".join(WORDS[reason] for reason in reasons)
            odd = "" if found.columns is None else f". Unusual values: {odd_words(found.columns[place])}"
            rows.append((name, f"{found.severity[i]:.3g} times the limit: {why}{odd}"))
        more = len(found) - len(rows)
        caption = f"The most extreme rows{f'; {more:,} more are not listed' if more else ''}"
        if steps is not None and found.columns is not None:
            caption += f". Values are those after these steps: {steps}"
        pieces.append(page.table(rows, caption))
    return page.section(title, *pieces)


def novelty_section(found: Novelty) -> str:
    """Return the section on new rows that are unlike the training rows, with their unusual columns."""
    import numpy as np

    numbers = np.flatnonzero(found.novel)
    pieces = [page.paragraph(found.sentence)]
    if len(numbers):
        pieces.append(page.paragraph("The places of such rows are unreliable: the model has seen none like them."))
        texts = found.unusual_texts()
        rows = [
            (f"row {i}" if found.names is None else found.names[i], texts[i] or "no single column stands out")
            for i in numbers[:_SHOWN]
        ]
        more = len(numbers) - len(rows)
        caption = "Columns that make rows unlike the training rows"
        caption += f"; {count(more, 'more row')} not listed" if more else ""
        pieces.append(page.table(rows, caption))
    for reason in dict.fromkeys(found.missing.values()):
        names = " and ".join(name for name, why in found.missing.items() if why == reason)
        pieces.append(page.paragraph(f"Not available: {names} ({reason}).", "small"))
    return page.section("Rows unlike the training rows", *pieces)
