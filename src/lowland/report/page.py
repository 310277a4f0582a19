"""Parts of an HTML page. Text from a user's file is escaped here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib import resources

# The page may load nothing at all; styles and pictures are inside it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def document(title: str, body: Iterable[str]) -> str:
    """Return a whole page around pieces that are already HTML."""
    style = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    head = (
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>"
    )
    pieces = "\n".join(body)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n'
        f"<body>\n<main>\n{pieces}\n</main>\n</body>\n</html>\n"
    )


def heading(text: str) -> str:
    """Return the heading of the page."""
    return f"<h1>{escape(text)}</h1>"


def footer(text: str) -> str:
    """Return the last line of the page."""
    return f"<footer>{escape(text)}</footer>"


def section(title: str, *pieces: str) -> str:
    """Return a part of the page with its heading."""
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(pieces) + "\n</section>"


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    mark = f' class="{kind}"' if kind else ""
    return f"<p{mark}>{escape(text)}</p>"


def table(rows: Iterable[tuple[str, str]], caption: str) -> str:
    """Return a table of names and values."""
    cells = "\n".join(f'<tr><th scope="row">{escape(n)}</th><td>{escape(v)}</td></tr>' for n, v in rows)
    return f"<table>\n<caption>{escape(caption)}</caption>\n<tbody>\n{cells}\n</tbody>\n</table>"


def figure(svg: str, caption: str = "") -> str:
    """Return a picture with the sentence below it; the SVG is ours and already safe."""
    below = f"<figcaption>{escape(caption)}</figcaption>\n" if caption else ""
    return f"<figure>\n{svg}\n{below}</figure>"


def cards(pieces: Iterable[str]) -> str:
    """Return cards beside each other, as many as there is room for."""
    return '<div class="cards">\n' + "\n".join(pieces) + "\n</div>"


def card(title: str, *pieces: str) -> str:
    """Return a part with a background of its own."""
    return f'<div class="card">\n<h3>{escape(title)}</h3>\n' + "\n".join(pieces) + "\n</div>"


def bars(rows: Iterable[tuple[str, float]], *, signed: bool = True) -> str:
    """Return a small list of names, values and bars as long as the values; unsigned ones have two digits."""
    items = "\n".join(_bar(name, value, signed) for name, value in rows)
    return f'<ol class="bars">\n{items}\n</ol>'


def command(text: str) -> str:
    """Return a command line to copy."""
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
