"""The report of a comparison: recommendation, maps, scores, and candidates that did not run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..comparison.ranking import SAME, WORDS
from ..comparison.recommendation import criterion_names
from ..core.errors import LowlandError
from ..core.formatting import count, plain_values
from ..quality.verdicts import DIRECT, GEODESIC
from . import page
from .answers import versions
from .hover import Hover
from .html import write_page
from .meaning import meaning
from .numbers import ID
from .recommended import recommended_map
from .svg import inline_svg

if TYPE_CHECKING:
    from ..comparison.result import Comparison


def write(
    found: Comparison,
    path: str | os.PathLike[str],
    title: str,
    command: str | None,
    following: str | None = None,
    *,
    names: Sequence[Any] | None = None,
    names_title: str = "name",
    hover: Any = None,
    repeat: str | None = None,
    words: Callable[[str], str] = str,
) -> None:
    """Write the page to a file; names and columns to show have one value for each row of the table."""
    tips = Hover.of(found.record["rows"]["all"], names, hover, None, names_title)
    write_page(path, render(found, title, command, following, tips, repeat=repeat, words=words))


def render(
    found: Comparison,
    title: str,
    command: str | None,
    following: str | None = None,
    tips: Hover | None = None,
    *,
    repeat: str | None = None,
    words: Callable[[str], str] = str,
) -> str:
    """Return the page, which is self-contained.

    ``following`` is the command to run next, ``repeat`` one that repeats the comparison by its record; ``tips`` tell of
    rows, and ``words`` words messages for the reader.
    """
    lead, why = _advice(found, following, words)
    sections = [why, recommended_map(found, tips) if found.maps else "", _data(found)]
    sections += [_maps(found), _figures(found, words)] if found.maps else []
    sections = [piece for piece in (*sections, _left(found, words), _again(found, command, repeat)) if piece]
    numbers = {"lowland": __version__, "title": title, "command": command, "record": found.record}
    return page.document(
        title,
        [
            page.heading(title),
            *lead,
            page.contents(sections),
            *sections,
            page.footer(f"Made with Lowland {__version__}."),
            page.data_block(ID, plain_values(numbers)),
        ],
    )


def _advice(found: Comparison, following: str | None, words: Callable[[str], str]) -> tuple[list[str], str]:
    """Return the first lines of the page, and the section on the recommended method."""
    try:
        advice = found.recommend()
    except LowlandError as error:
        return [page.paragraph(f"Warning: {error}", "warning")], ""
    title = words(advice.title)
    rows = [("measured against", advice.space)]
    if advice.ties:
        rows.append(("statistically tied with", ", ".join(map(words, advice.ties))))
    rows += [("not suited for", words(text)) for text in advice.not_good_for]
    why = page.section(
        "Why this method",
        page.bullets([words(text) for text in advice.reasons]),
        page.table(rows, title),
        page.paragraph(f"How to read its map: {meaning(advice.method, title)}"),
    )
    call = [page.paragraph("Map all rows with this method, in Python:"), page.command(f"{advice.call}.fit(X)")]
    if following is not None:
        call = [page.paragraph("Map all rows with this method:"), page.command(following)]
    answers = page.summary({"Can I trust it?": [page.paragraph(advice.verdict)], "What next?": call})
    return [page.paragraph(f"Recommended: {title}.", "lead"), answers], why


def _maps(found: Comparison) -> str:
    rows = found.record["rows"]
    shown = len(next(iter(found.maps.values())).rows)
    caption = f"Maps of {shown:,} rows, best score first."
    maps = inline_svg(found.figure(part="maps"), "maps", "Maps of the candidates", caption)
    words = criterion_names(found.record)
    listed = [words[name] for name in found.criteria]
    below = f"Criteria of these maps, with 95 % intervals: {', '.join(listed)}. 1 is perfect."
    criteria = inline_svg(found.figure(part="criteria"), "criteria", "Criteria of the candidates", below)
    said = (
        f"Each candidate was fitted on {rows['training']:,} rows"
        + (f" and placed {rows['held-out']:,} held-out rows" if rows["held-out"] else "")
        + (f", a random sample of {rows['all']:,}." if rows["compared"] < rows["all"] else ".")
    )
    figures = [page.figure(svg, text, "whole") for svg, text in ((maps, caption), (criteria, below))]
    return page.section("The maps", page.paragraph(said), *figures)


def _figures(found: Comparison, words: Callable[[str], str]) -> str:
    from ..plots.panels import short_names

    done = list(found.table().filter(status="done").iter_rows(named=True))
    names, columns = short_names([row["candidate"] for row in done]), shown(found)
    lines = []
    for name, row in zip(names, done, strict=True):
        later = row["rank"] > 1
        cells = [
            f"{row['score']:.3f}",
            *("" if row[column] is None else f"{row[column]:.3f}" for column in columns),
            f"{row['seconds']:.2g}",
        ]
        tie = ", tied" if row["tied"] else ""
        lines.append([f"{row['rank']}. {words(name)}", *cells, f"{behind(row)}{tie}" if later else ""])
    said = f"{score_words(found)} {TIES}"
    if names != [row["candidate"] for row in done]:
        said += " All candidates compare the columns divided by their standard deviations."
    head = ["candidate", "score", *columns.values(), "seconds", "behind the best"]
    return page.section("All candidates", page.paragraph(said), page.grid(head, lines, "Best first; 1 is perfect"))


TIES = (
    f"Tied with the best: the 95 % interval of the difference contains 0, or the difference is below {SAME}. "
    "Differences are paired (the same rows), so each has an interval of its own width."
)


def shown(found: Comparison) -> dict[str, str]:
    """Return the columns of the table to show, and their headings."""
    table, out = found.table(), dict[str, str]()
    for name in found.criteria:
        if name == "global":
            out["direct"] = DIRECT
            out |= {"geodesic": GEODESIC} if table["geodesic"].is_not_null().any() else {}
        else:
            out[name] = WORDS[name]
    return out


def score_words(found: Comparison) -> str:
    """Return the definition of the score."""
    words = criterion_names(found.record)
    names = [words[name] for name in found.criteria]
    return f"Score: mean of {', '.join(names[:-1])} and {names[-1]}." if len(names) > 1 else f"Score: {names[0]}."


def behind(row: Mapping[str, Any]) -> str:
    """Return how far a candidate of the table is behind the best, with the half width of its interval."""
    return f"{row['behind']:.3f} ± {(row['behind_high'] - row['behind_low']) / 2:.3f}"


def _left(found: Comparison, words: Callable[[str], str]) -> str:
    lines = [
        (words(row["candidate"]), f"{row['status']}: {words(row['reason'])}")
        for row in found.table().iter_rows(named=True)
        if row["status"] != "done"
    ]
    return page.section("Not run", page.table(lines, "Candidates without a map")) if lines else ""


def _data(found: Comparison) -> str:
    record, evidence = found.record, found.record["evidence"]
    rows = [
        ("rows", f"{record['rows']['all']:,}" + (f" ({kind})" if (kind := record["data"]["kind"]) != "rows" else "")),
        ("compared", f"{record['rows']['compared']:,}, {record['rows']['held-out']:,} of them held out"),
        ("seconds", f"{record['seconds']:.0f} (budget: {record['settings']['budget'] or 'no limit'})"),
        ("seed", str(record["settings"]["random_state"])),
        ("fingerprint", record["data"]["sha256"][:16]),
    ]
    if evidence is None:
        rows.append(("structure not examined", record["without_evidence"]))
    else:
        rows.append(("distances judged", "geodesic" if evidence["distances"] == "geodesic" else "direct"))
        if evidence["crowding"] is not None:
            rows.append(("distance to neighbours, relative to Gaussian data", f"{evidence['crowding']:.3f}"))
        if evidence.get("column_crowding") is not None:
            rows.append(("relative to data with these column distributions", f"{evidence['column_crowding']:.3f}"))
        if evidence["pieces"] is not None:
            rows.append(("neighbour graph", count(evidence["pieces"], "connected component")))
        if evidence["strays"]:
            rows.append(("rows far from all others", f"{evidence['strays']:,}, left out of these two"))
        for name in ("linear", "nonlinear") if evidence["dimensions"] else ():
            value = evidence["dimensions"][name]
            rows.append((f"dimension, {name}", "unknown" if value is None else f"{value:.3g}"))
    return page.section("What was compared", page.table(rows, "Data and settings"))


def _again(found: Comparison, command: str | None, repeat: str | None) -> str:
    """Return the section on reproducing the comparison; it includes the record."""
    target = "" if found.record["settings"]["target"] is None else "target=…, "
    call = repeat or f'lowland.compare(X, {target}record=json.load(open("record.json")))'
    return page.section(
        "Reproduce this comparison",
        *([page.command(command)] if command else []),
        page.paragraph(
            "The record at the end of the page (on screen; it is not printed) contains all settings. To repeat the "
            "comparison, save it as record.json and run:"
        ),
        page.command(call),
        versions(),
        page.details("Record", page.code(json.dumps(found.record)), printed=False),
    )
