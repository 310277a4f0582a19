"""Draw self-organising maps of handwritten digits, with squares and with hexagons.

python docs/gallery/maps.py FOLDER

maps.png: the U-matrix with the most frequent digit of each unit, the hits, and one pixel over the map.
map-planes.png: eight pixels of the middle lines over the hexagonal map. map-prototypes.png: what the units look like.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from sklearn.datasets import load_digits

import lowland
from lowland.methods.network.prototypes import TOPOLOGIES
from lowland.plots.grid import component_planes, draw_units
from lowland.plots.style import INK, PALETTE

GRID = (20, 14)
MIDDLE = 8 * 4 + 4  # a pixel near the middle: empty in a zero


def frequent(som: lowland.SOM, X: np.ndarray, digit: np.ndarray) -> list[tuple[float, float, int]]:
    """Return place and most frequent digit of each unit that is the nearest of any row."""
    Y, places = som.transform(X), som.positions_
    nearest = ((Y[:, None, :] - places) ** 2).sum(axis=2).argmin(axis=1)
    return [(*places[unit], int(np.bincount(digit[nearest == unit]).argmax())) for unit in np.unique(nearest).tolist()]


def overview(soms: dict[str, lowland.SOM], X: np.ndarray, digit: np.ndarray) -> Figure:
    """Draw one line of maps for each topology."""
    figure = Figure(figsize=(15, 7.4), layout="constrained")
    look = {"ha": "center", "va": "center", "fontsize": 10, "weight": "bold"}
    halo = [withStroke(linewidth=2, foreground="white")]
    for line, (topology, som) in zip(figure.subplots(2, 3), soms.items(), strict=True):
        told = som.fit_info_.evidence
        draw_units(line[0], som.u_matrix(), topology, colors="Greys")
        for x, y, name in frequent(som, X, digit):
            line[0].text(x, y, str(name), color=PALETTE[name], path_effects=halo, **look)
        line[0].set_title(
            f"{topology}: quantisation error {told['quantisation error']:.2f}, "
            f"topographic error {told['topographic error']:.3f}",
            color=INK,
            fontsize=10,
        )
        for axes, values, name in (
            (line[1], som.hits(X), "rows of each unit"),
            (line[2], som.component_planes()[MIDDLE], "ink in the middle"),
        ):
            bar = figure.colorbar(draw_units(axes, values, topology), ax=axes, pad=0.01, aspect=30, shrink=0.8)
            bar.outline.set_visible(False)
            axes.set_title(name, color=INK, fontsize=10)
    return figure


def prototypes(som: lowland.SOM) -> Figure:
    """Draw each prototype of a rectangular map as the digit that it is."""
    a, b = som.grid_
    apart = np.pad(som.codebook_.reshape(a, b, 8, 8)[:, ::-1], ((0, 0), (0, 0), (1, 1), (1, 1)))
    picture = apart.transpose(1, 2, 0, 3).reshape(10 * b, 10 * a)
    figure = Figure(figsize=(a / 2, b / 2), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(picture, cmap="Greys")
    axes.set_axis_off()
    return figure


def main(folder: str) -> None:
    """Write the pictures."""
    X, digit = load_digits(return_X_y=True)
    soms = {topology: lowland.SOM(GRID, topology=topology).fit(X) for topology in TOPOLOGIES}
    pixels = [8 * line + column for line in (3, 4) for column in (2, 3, 4, 5)]
    planes = soms["hexagonal"].component_planes()[pixels]
    names = [f"line {pixel // 8}, column {pixel % 8}" for pixel in pixels]
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, figure in {
        "maps": overview(soms, X, digit),
        "map-planes": component_planes(planes, topology="hexagonal", names=names)[0].figure,
        "map-prototypes": prototypes(soms["rectangular"]),
    }.items():
        figure.savefig(Path(folder, f"{name}.png"), dpi=100)
        print(Path(folder, f"{name}.png"))


if __name__ == "__main__":
    main(*sys.argv[1:])
