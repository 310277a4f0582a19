"""Parts of an HTML page. This is the only module that escapes text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

# The page loads no external resources; styles, figures and scripts are part of it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_WORD = r"""(?:'[^']*'|"[^"]*"|[^\s'"])+"""
_UNBROKEN = re.compile(rf"-{_WORD}(?:[ ](?!-){_WORD})?|{_WORD}|['\"]")
_FIGURE = ("<figure", '<div id="map"')  # how a static figure and an interactive map begin
_TITLE = re.compile(r"<title[^>]*>([^<\"]*)</title>")
_OWN_SCRIPT = re.compile(r'<script nonce="([0-9a-f]{40})">')  # texts of users are escaped: they contain no <


def document(title: str, body: Iterable[str]) -> str:
    """Return a page with a body of HTML parts."""
    pieces = "\n".join(body)
    style = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    head = (
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(pieces)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>"
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n'
        f"<body>\n<main>\n{pieces}\n</main>\n</body>\n</html>\n"
    )


def _policy(pieces: str) -> str:
    """Return the Content-Security-Policy: no script but our own, by their nonces."""
    nonces = [f"'nonce-{nonce}'" for nonce in dict.fromkeys(_OWN_SCRIPT.findall(pieces))]
    return f"{_POLICY}; script-src {' '.join(nonces)}" if nonces else _POLICY


def heading(text: str) -> str:
    """Return the heading of the page."""
    return f"<h1>{escape(text)}</h1>"


def heading3(text: str) -> str:
    """Return a heading inside a section."""
    return f"<h3>{escape(text)}</h3>"


def footer(text: str) -> str:
    """Return the last line of the page."""
    return f"<footer>{escape(text)}</footer>"


def section(title: str, *pieces: str) -> str:
    """Return a part of the page with its heading, to which a table of contents can link."""
    name = anchor(title)
    head = f'<h2 id="{name}">{escape(title)}</h2>'
    return f'<section aria-labelledby="{name}">\n' + "\n".join(_blocks([head, *pieces])) + "\n</section>"


def _blocks(pieces: Iterable[str]) -> list[str]:
    """Return the pieces of a section, each figure in one block with the text right before it: a printed page keeps it.

    >>> _blocks(["<h2>a</h2>", "<p>b</p>", "<p>c</p>", "<figure></figure>", "<p>d</p>"])[-2:]
    ['<div class="block">\\n<p>c</p>\\n<figure></figure>\\n</div>', '<p>d</p>']
    """
    out: list[str] = []
    for piece in pieces:
        if piece.startswith(_FIGURE):
            before = [out.pop()] if out and out[-1].startswith("<p") else []
            before = [out.pop(), *before] if out and out[-1].startswith("<h") else before
            piece = "\n".join(['<div class="block">', *before, piece, "</div>"])
        out.append(piece)
    return out


def anchor(title: str) -> str:
    """Return the id of the section with a title.

    >>> anchor("How reliable the map is")
    'how-reliable-the-map-is'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def contents(sections: Iterable[str]) -> str:
    """Return a table of contents: links to the headings of the sections."""
    found = [re.search(r'<h2 id="([^"]*)">(.*?)</h2>', text) for text in sections]
    items = "\n".join(f'<li><a href="#{match[1]}">{match[2]}</a></li>' for match in found if match is not None)
    return f'<nav aria-label="Contents">\n<ol>\n{items}\n</ol>\n</nav>'


def summary(rows: Mapping[str, Iterable[str]]) -> str:
    """Return questions and answers; the answers are parts of a page."""
    items = "\n".join(f"<dt>{escape(name)}</dt>\n<dd>{''.join(parts)}</dd>" for name, parts in rows.items())
    return f'<dl class="summary">\n{items}\n</dl>'


def details(title: str, *pieces: str, printed: bool = True) -> str:
    """Return parts that are shown when one opens them; they are printed open, or (``printed=False``) not at all."""
    kind = "" if printed else ' class="screen"'
    return f"<details{kind}>\n<summary>{escape(title)}</summary>\n" + "\n".join(pieces) + "\n</details>"


def data_block(name: str, value: Mapping[str, Any]) -> str:
    """Return plain values as JSON inside the page, where no text can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    mark = f' class="{kind}"' if kind else ""
    return f"<p{mark}>{escape(text)}</p>"


def steps(texts: Iterable[str]) -> str:
    """Return texts as a numbered list."""
    return "<ol>\n" + "\n".join(f"<li>{escape(text)}</li>" for text in texts) + "\n</ol>"


def table(rows: Iterable[tuple[str, str]], caption: str, kind: str = "") -> str:
    """Return a table of names and values; the names of kind "wide" have most of the room, "half" almost half."""
    cells = "\n".join(f'<tr><th scope="row">{escape(n)}</th><td>{escape(v)}</td></tr>' for n, v in rows)
    mark = f' class="{kind}"' if kind else ""
    return f"<table{mark}>\n<caption>{escape(caption)}</caption>\n<tbody>\n{cells}\n</tbody>\n</table>"


def bullets(texts: Iterable[str]) -> str:
    """Return texts as a list."""
    return "<ul>\n" + "\n".join(f"<li>{escape(text)}</li>" for text in texts) + "\n</ul>"


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """Return a table with a heading for each column, which is scrolled where it is wider than the page."""
    top = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    body = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(text)}</td>" for text in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption, quote=True)}">\n'
        f'<table class="grid">\n<caption>{escape(caption)}</caption>\n'
        f"<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def figure(svg: str, caption: str = "", kind: str = "") -> str:
    """Return a figure with a caption; one of kind "whole" is as wide as a printed page.

    The SVG is generated by us and needs no escaping.
    """
    below = f"<figcaption>{escape(caption)}</figcaption>\n" if caption else ""
    titled = _TITLE.search(svg)  # its text is escaped already
    name = f"Figure: {titled[1]}" if titled else "Figure"
    mark = f' class="{kind}"' if kind else ""
    inside = f'<div class="scroll" role="group" tabindex="0" aria-label="{name}">\n{svg}\n</div>'
    return f"<figure{mark}>\n{inside}\n{below}</figure>"


def cards(pieces: Iterable[str]) -> str:
    """Return cards in a row that wraps."""
    return '<div class="cards">\n' + "\n".join(pieces) + "\n</div>"


def card(title: str, *pieces: str) -> str:
    """Return a card with a heading."""
    return f'<div class="card">\n<h3>{escape(title)}</h3>\n' + "\n".join(pieces) + "\n</div>"


def bars(rows: Iterable[tuple[str, float]], *, signed: bool = True) -> str:
    """Return a list of names, values and bars; unsigned values have two digits."""
    items = "\n".join(_bar(name, value, signed) for name, value in rows)
    return f'<ol class="bars">\n{items}\n</ol>'


def command(text: str) -> str:
    """Return a command line to copy; lines do not break inside an option, nor between it and its value."""
    return f"<pre><code>{_UNBROKEN.sub(_unbroken, text)}</code></pre>"


def _unbroken(match: re.Match[str]) -> str:
    """Return an option with its value, or a word in which a browser would break the line, as one piece."""
    piece = escape(match[0])
    return f'<span class="piece">{piece}</span>' if match[0].startswith("-") or set("-/") & set(match[0]) else piece


def code(text: str) -> str:
    """Return a text to copy, such as JSON, in lines that break anywhere."""
    return f"<pre><code>{escape(text)}</code></pre>"


def _bar(name: str, value: float, signed: bool) -> str:
    width, side = min(100.0, 100 * abs(value)), "minus" if value < 0 else "plus"
    text = _signed(value) if signed else f"{value:.2f}".replace("-", "−")
    return (
        f'<li><span class="name">{escape(name)}</span><span class="value">{text}</span>'
        f'<span class="bar {side}" style="width:{width:.1f}%"></span></li>'
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
