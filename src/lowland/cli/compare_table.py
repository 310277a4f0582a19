"""The ranking of `lowland compare` on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from .wording import candidate_words

if TYPE_CHECKING:
    from ..comparison import Comparison, Recommendation


def ranking(found: Comparison, advice: Recommendation) -> Table:
    """Return the candidates, best first, then those that were started and did not finish."""
    from ..plots.panels import short_names
    from ..report.comparison import TIES, behind, score_words, shown

    several, figures_of = len(found.ranked()) > 1, shown(found)
    caption = f"{score_words(found)} {TIES}" if several else None
    grid = Table(box=None, pad_edge=False, caption=caption, caption_justify="left")
    headings = ["", "candidate", "score", *figures_of.values(), "seconds"]
    headings += ["behind the best", ""] if several else [""]
    for heading in headings:
        grid.add_column(heading, overflow="fold", justify="left" if heading in ("candidate", "") else "right")
    done = [row for row in found.table().iter_rows(named=True) if row["status"] == "done"]
    names = dict(zip((row["candidate"] for row in done), short_names([row["candidate"] for row in done]), strict=True))
    for row in found.table().iter_rows(named=True):
        if row["status"] == "done":
            figures = [f"{row[name]:.3f}" for name in ("score", *figures_of)]
            last = [behind(row) if row["rank"] > 1 else ""] if several else []
            marks = ["recommended"] if row["candidate"] == advice.key else []
            marks += ["tied"] if row["tied"] and row["rank"] > 1 else []
            grid.add_row(
                str(row["rank"]),
                candidate_words(names[row["candidate"]]),
                *figures,
                f"{row['seconds']:.2g}",
                *last,
                ", ".join(marks),
            )
        elif row["status"] != "skipped":
            blank = [""] * (len(headings) - 3)
            grid.add_row("", candidate_words(row["candidate"]), *blank, f"{row['status']}: {row['reason']}")
    return grid


def skipped(found: Comparison) -> list[Text]:
    """Return a line for each cause of skipped candidates, with the first one's figures."""
    from ..comparison.budget import Cause

    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for entry in found.record["candidates"]:
        if entry["status"] == "skipped":
            cause = entry.get("cause", Cause.OTHER)  # older records have none
            group = (cause, entry["reason"] if cause == Cause.OTHER else "")
            groups.setdefault(group, []).append((entry["key"], entry["reason"]))
    lines = (f"skipped: {', '.join(name for name, _ in group)}: {group[0][1]}" for group in groups.values())
    return [Text(candidate_words(line)) for line in lines]
