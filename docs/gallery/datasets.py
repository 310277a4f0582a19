"""Draw the point sets of docs/datasets.md, coloured by their labels or true coordinates.

python docs/gallery/datasets.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from lowland.data import load_dataset
from lowland.plots.style import theme

FLAT = ("line", "bent_line", "circle", "square", "cloud", "hidden_classes")
SOLID = ("spheres", "swiss_roll", "swiss_hole", "s_curve", "fishbowl", "punctured_sphere")


def main(folder: str) -> None:
    """Write the picture."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    with theme("paper"):
        figure = Figure(figsize=(11, 4.2))
        for place, name in enumerate(FLAT + SOLID, start=1):
            table = load_dataset(name)
            colours = 0 * table.X[:, 0] if table.y is None else np.unique(table.y, return_inverse=True)[1]
            axes = figure.add_subplot(2, 6, place, projection="3d" if name in SOLID else None)
            axes.scatter(*table.X.T, c=colours, cmap="viridis", s=4)
            axes.set_title(name, fontsize=10)
            axes.set_aspect("equal", "datalim" if name in FLAT else "box")
            axes.set(xticks=[], yticks=[], **({"zticks": []} if name in SOLID else {}))
        figure.subplots_adjust(left=0.01, right=0.99, bottom=0.02, top=0.93, wspace=0.08, hspace=0.15)
        figure.savefig(Path(folder, "datasets.png"), dpi=90, facecolor="white", metadata={"Software": None})


if __name__ == "__main__":
    main(sys.argv[1])
