"""Draw every figure of distances, graphs, grids, quality and comparison, in the three themes.

python docs/gallery/plots_distances.py FOLDER

The data: a swiss roll for distances and graphs, the wine samples for the self-organising map, the digits for the
grid of maps.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_wine

import lowland
from lowland import quality
from lowland.plots.by_dimension import residual_variance, stress_by_dimension
from lowland.plots.dimension import dimension
from lowland.plots.graph import neighbor_graph
from lowland.plots.grid import component_planes, hit_map, u_matrix
from lowland.plots.panels import compare_grid
from lowland.plots.quality import measures, rnx, shepard
from lowland.plots.style import THEMES, theme


def figures() -> dict[str, Callable[[], Any]]:
    """Return what draws each picture; models are fitted once."""
    X, sheet = lowland.data.swiss_roll(1000, random_state=0)
    P, isomap = lowland.PCA(2).fit_transform(X), lowland.Isomap(n_neighbors=8).fit(X)
    Y, arc = isomap.embedding_, sheet[:, 0]
    ends = int(arc.argmin()), int(arc.argmax())
    wine = load_wine(as_frame=True)
    som = lowland.SOM((12, 9), topology="hexagonal", scale=True).fit(wine.data)
    D, digit = load_digits(return_X_y=True)
    methods = (lowland.PCA(2), lowland.Isomap(), lowland.LaplacianEigenmaps(), lowland.UMAP(random_state=0))
    maps = {type(model).__name__: model.fit_transform(D) for model in methods}
    names = [str(name).replace("_", " ") for name in wine.feature_names]
    return {
        "shepard": lambda: shepard(P, X),
        "stress-by-dimension": lambda: stress_by_dimension(X),
        "residual-variance": lambda: residual_variance(X, n_neighbors=8),
        "rnx": lambda: rnx({"PCA": P, "Isomap": Y}, X),
        "measures": lambda: measures(quality.report(X, P)),
        "neighbor-graph-roll": lambda: neighbor_graph(X, n_neighbors=8, path=ends, color=arc, color_name="arc length"),
        "neighbor-graph-map": lambda: neighbor_graph(Y, X, n_neighbors=8, path=ends),
        "neighbor-graph-pca": lambda: neighbor_graph(P, X, n_neighbors=8, color=arc, color_name="arc length"),
        "u-matrix": lambda: u_matrix(som, wine.data),
        "hit-map": lambda: hit_map(som, wine.data),
        "component-planes": lambda: component_planes(som, names=names),
        "compare-grid": lambda: compare_grid(maps, D, color=digit, color_name="digit"),
        "compare-grid-scale": lambda: compare_grid({"PCA": P, "Isomap": Y}, X, color=arc, color_name="arc length"),
        "dimension": lambda: dimension(X),
        "isomap-plot": lambda: isomap.plot(color=arc, color_name="arc length"),
    }


def main(folder: str, *themes: str) -> None:
    """Write the pictures."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    drawers = figures()
    for look in themes or THEMES:
        for name, draw in drawers.items():
            with theme(look):
                drawn = draw()
            axes = drawn[0] if isinstance(drawn, list) else drawn
            path = Path(folder, f"distances-{name}{'' if look == 'paper' else f'-{look}'}.png")
            if axes.figure.get_facecolor()[3] == 0:
                axes.figure.patch.set(facecolor="white", alpha=1.0)
            axes.figure.savefig(path, dpi=100)
            print(path)


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "n_jobs value 1 overridden", UserWarning)
    main(*sys.argv[1:])
