"""Draw two concentric spheres as PCA, a Gaussian kernel and a polynomial kernel of degree 5 see them.

python docs/gallery/spheres.py FOLDER

The kernels' parameters are chosen by cross-validation with a linear classifier on the two components; the titles say
what share of 1000 held-out points that classifier puts on the right sphere.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowland
from lowland.plots.style import PALETTE


def chain(model: lowland.Reducer) -> object:
    """Return the reduction with a linear classifier behind it."""
    return make_pipeline(model, StandardScaler(), LogisticRegression())


def main(folder: str) -> None:
    """Write the picture."""
    X, which = lowland.data.spheres(2000, noise=1.0)
    train, test = slice(0, 1000), slice(1000, None)
    median = np.median(np.linalg.norm(X[:300, None] - X[None, :300], axis=2))
    widths = [1 / (2 * (share * median) ** 2) for share in (0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.4)]
    kernels = {
        "PCA": (lowland.PCA(2), {}),
        "Gaussian kernel": (lowland.KernelPCA(2, preimage=None), {"kernelpca__gamma": widths}),
        "polynomial kernel, degree 5": (
            lowland.KernelPCA(2, kernel="poly", degree=5, preimage=None),
            {"kernelpca__gamma": widths, "kernelpca__coef0": [0.0, 0.1, 1.0, 10.0]},
        ),
    }
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    for axes, (name, (model, grid)) in zip(figure.subplots(1, 3), kernels.items(), strict=True):
        best = GridSearchCV(chain(model), grid, cv=4).fit(X[train], which[train]).best_estimator_
        Y = best[0].transform(X[test])
        axes.scatter(*Y.T, c=np.array(PALETTE)[which[test]], s=6)
        axes.set(title=f"{name}: {best.score(X[test], which[test]):.3f} right", xticks=[], yticks=[])
    Path(folder).mkdir(parents=True, exist_ok=True)
    figure.savefig(Path(folder, "spheres.png"), dpi=110)
    print(Path(folder, "spheres.png"))


if __name__ == "__main__":
    main(*sys.argv[1:])
