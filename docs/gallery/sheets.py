"""Draw three surfaces as the methods on neighbour graphs see them: a swiss roll, one with a hole, a fishbowl.

python docs/gallery/sheets.py FOLDER

The colour is the arc length of the roll, or the height in the bowl. The titles give the largest |rank correlation| of a
coordinate with it; in the bowl that of the distance from the centre of the map.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import spearmanr

import lowland

METHODS = (
    lowland.Isomap(),
    lowland.LLE(n_neighbors=12),
    lowland.ModifiedLLE(n_neighbors=12),
    lowland.HessianLLE(n_neighbors=12),
    lowland.LTSA(n_neighbors=12),
    lowland.LaplacianEigenmaps(),
    lowland.DiffusionMaps(),
    lowland.MVU(),
)


def main(folder: str) -> None:
    """Write the picture."""
    surfaces = {
        "swiss roll": lowland.data.swiss_roll(2000),
        "with a hole": lowland.data.swiss_hole(2000),
        "fishbowl": lowland.data.fishbowl(2000),
    }
    figure = Figure(figsize=(2.1 * len(METHODS), 6.6), layout="constrained")
    table = figure.subplots(len(surfaces), len(METHODS))
    for row, (name, (X, truth)) in zip(table, surfaces.items(), strict=True):
        color = X[:, 2] if name == "fishbowl" else truth[:, 0]
        for axes, model in zip(row, METHODS, strict=True):
            Y = model.fit_transform(X)
            seen = [np.linalg.norm(Y - Y.mean(axis=0), axis=1)] if name == "fishbowl" else Y.T
            order = max(abs(spearmanr(column, color).statistic) for column in seen)
            axes.scatter(*Y.T, c=color, s=2, cmap="viridis", linewidths=0)
            axes.set(title=f"{type(model).__name__}\n{order:.3f}", xticks=[], yticks=[])
            axes.title.set_fontsize(8)
        row[0].set_ylabel(name)
    Path(folder).mkdir(parents=True, exist_ok=True)
    figure.savefig(Path(folder, "sheets.png"), dpi=110)
    print(Path(folder, "sheets.png"))


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    warnings.simplefilter("error")
    # Some points of the fishbowl are weakly connected, as its panels show.
    warnings.filterwarnings("ignore", r"(LaplacianEigenmaps|DiffusionMaps): coordinate \d mainly separates")
    main(*sys.argv[1:])
