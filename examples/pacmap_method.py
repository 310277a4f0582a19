"""PaCMAP as a method of Lowland, beside PCA: ``python examples/pacmap_method.py``.

PaCMAP (Wang, Huang, Rudin, Shaposhnik 2021) is another package: ``pip install pacmap``. One line makes it a method.
Printed is how many of the ten nearest neighbours of a digit show the same digit, in the plane of each method, and what
the record of the fit says.
"""

from __future__ import annotations

import numpy as np
import pacmap

import lowland
from lowland.graph import neighbor_graph

# save_tree keeps the search tree, without which PaCMAP could not place new rows
lowland.register("pacmap", pacmap.PaCMAP, family="embedding", defaults={"save_tree": True})


def agreement(Y: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of the ten nearest neighbours that have a point's own label."""
    graph = neighbor_graph(Y, n_neighbors=10)
    return float(np.mean(labels[graph.indices].reshape(len(Y), 10) == labels[:, None]))


def main() -> None:
    """Fit both methods by their names and compare."""
    X, labels, _ = lowland.data.digits()
    train, new = slice(0, 1500), slice(1500, None)
    for name in ("pca", "pacmap"):
        row = lowland.registry.method(name)
        model = row.load()(n_components=2)
        Y = model.fit_transform(X[train])
        print(f"{row.name}: {row.summary}")
        print(f"  neighbours of the same digit  {agreement(Y, labels[train]):.3f}")
        print(f"  the same, new rows            {agreement(model.transform(X[new]), labels[new]):.3f}")
        for what in ("new rows", "training rows placed anew, off by"):
            if what in model.fit_info_.evidence:
                print(f"  {what}: {model.fit_info_.evidence[what]}")


if __name__ == "__main__":
    main()
