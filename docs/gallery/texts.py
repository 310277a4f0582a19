"""Draw the picture of docs/text.md: titles and terms of Deerwester's example on the first two concepts.

python docs/gallery/texts.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from lowland.plots.style import PALETTE, theme
from lowland.text import LatentSemanticIndex

TITLES = {  # as index terms
    "c1": "human interface computer",
    "c2": "survey user computer system response time",
    "c3": "eps user interface system",
    "c4": "system human system eps",
    "c5": "user response time",
    "m1": "trees",
    "m2": "graph trees",
    "m3": "graph minors trees",
    "m4": "graph minors survey",
}


def main(folder: str) -> None:
    """Write the picture."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    index = LatentSemanticIndex(2, features="counts", stop_words=None).fit(list(TITLES.values()))
    query = index.transform(["human computer interaction"])[0]
    signs = np.sign(index.components_[:, index.terms.index("graph")])
    documents = index.project() * signs
    terms = index.components_.T * index.singular_values_ * signs
    with theme("paper"):
        figure = Figure(figsize=(7.5, 5), layout="constrained")
        axes = figure.subplots()
        for colour, kind in ((PALETTE[0], "c"), (PALETTE[1], "m")):
            chosen = [i for i, name in enumerate(TITLES) if name.startswith(kind)]
            what = "titles on people and computers" if kind == "c" else "titles on graphs"
            axes.scatter(*documents[chosen].T, color=colour, s=45, label=what, zorder=3)
        axes.scatter(*terms.T, color="0.35", marker="^", s=20, label="terms", zorder=2)
        axes.annotate("", query * signs, (0, 0), arrowprops={"arrowstyle": "->", "color": PALETTE[3], "lw": 1.5})
        axes.text(0.0, -0.4, "query: human\ncomputer interaction", fontsize=9)
        for name, place in zip(TITLES, documents, strict=True):
            aside = (-22, -3) if name.startswith("m") else (6, 4)
            axes.annotate(name, place, aside, textcoords="offset points", fontsize=9, weight="bold")
        for name, place in _apart(index.terms, terms):
            right, up = (documents - place).T
            covers = bool(((right > 0.02) & (right < 0.3) & (np.abs(up) < 0.05)).any())  # a title
            aside = (6, -13 if covers else -5)
            axes.annotate(name, place, aside, textcoords="offset points", fontsize=8, color="0.25")
        axes.set_xlim(-0.25, 2.45)
        axes.set(xlabel="concept 1", ylabel="concept 2")
        axes.axhline(0, color="0.85", linewidth=0.8, zorder=0)
        axes.axvline(0, color="0.85", linewidth=0.8, zorder=0)
        axes.legend(frameon=False, loc="upper right")
        figure.savefig(Path(folder, "text_plane.png"), dpi=90, facecolor="white", metadata={"Software": None})


def _apart(names: list[str], places: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Return the names with their places; terms at one place share a label."""
    found: dict[tuple[float, ...], list[str]] = {}
    for name, place in zip(names, places, strict=True):
        found.setdefault(tuple(place.round(3).tolist()), []).append(name)
    return [(", ".join(words), np.array(place)) for place, words in found.items()]


if __name__ == "__main__":
    main(sys.argv[1])
