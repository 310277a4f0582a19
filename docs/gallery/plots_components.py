"""Draw every plot of components in three themes.

python docs/gallery/plots_components.py FOLDER [NAME ...]

Writes FOLDER/THEME/NAME.png for each plot below and each theme, or only for the given names.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.datasets import load_digits, load_iris, load_wine

import lowland
from lowland import plots
from lowland.plots.style import THEMES, theme

PLOTS: dict[str, Callable[[], Any]] = {}


def plot(function: Callable[[], Any]) -> Callable[[], Any]:
    """Enter a function under its name, without the underscore."""
    PLOTS[function.__name__[1:]] = function
    return function


@cache
def wine() -> tuple[Any, Any, Any]:
    """Return the table of wines, their cultivars, and a fitted PCA."""
    data = load_wine(as_frame=True)
    cultivar = [data.target_names[i] for i in data.target]
    return data.data, cultivar, lowland.PCA(scale=True).fit(data.data)


@cache
def digits() -> tuple[Any, Any]:
    """Return the rows of handwritten digits, and a fitted PCA."""
    X = load_digits().data
    return X, lowland.PCA(50).fit(X)


@cache
def cloud() -> Any:
    """Return points in the plane whose longest direction is near (1, 0.45)."""
    rng = np.random.default_rng(3)
    x = rng.normal(0, 2, 60)
    return np.column_stack([3 + x + rng.normal(0, 0.35, 60), 2 + 0.45 * x + rng.normal(0, 0.5, 60)])


def mixed() -> Any:
    """Return a table with numbers and categories."""
    rng = np.random.default_rng(0)
    kind = rng.choice(["city", "suburb", "country"], 150, p=[0.5, 0.3, 0.2])
    size = np.where(kind == "city", 60, np.where(kind == "suburb", 95, 130)) + rng.normal(0, 15, 150)
    heat = np.where(size + rng.normal(0, 25, 150) > 90, "gas", "district")
    return pl.DataFrame({"area": size, "rooms": size / 25 + rng.normal(0, 0.6, 150), "kind": kind, "heating": heat})


@plot
def _scree() -> Any:
    X, _, model = wine()
    return plots.scree(model, X, parallel=True, kept=3)


@plot
def _scree_partial() -> Any:
    X, _ = digits()
    return plots.scree(lowland.PCA(10, solver="krylov").fit(X))


@plot
def _spectrum_mds() -> Any:
    X = np.random.default_rng(0).normal(size=(40, 4))
    return plots.spectrum(lowland.ClassicalMDS(3, metric="cityblock").fit(X))


@plot
def _spectrum_laplacian() -> Any:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(center, 1.0, (80, 2)) for center in ((0, 0), (4, 0), (0, 4), (4, 4))])
    return plots.spectrum(lowland.LaplacianEigenmaps(12, n_neighbors=12).fit(X), kept=3)


@plot
def _biplot() -> Any:
    X, cultivar, model = wine()
    return plots.biplot(model, X, color=cultivar, color_name="cultivar")


@plot
def _biplot_supplementary() -> Any:
    X, cultivar, _ = wine()
    columns = X.drop(columns=["alcohol", "proline"])
    model = lowland.PCA(2, scale=True).fit(columns)
    further = {"alcohol": X["alcohol"].to_numpy(), "proline": X["proline"].to_numpy(), "cultivar": cultivar}
    return plots.biplot(model, columns, supplementary=further, n_arrows=6)


@plot
def _biplot_covariance() -> Any:
    iris = load_iris(as_frame=True)
    species = [iris.target_names[i] for i in iris.target]
    model = lowland.PCA(2).fit(iris.data)
    return plots.biplot(model, iris.data, scaling="covariance", color=species, color_name="species")


@plot
def _biplot_famd() -> Any:
    table = mixed()
    return plots.biplot(lowland.FAMD(2).fit(table), table, color=table["kind"], scaling="correlation")


@plot
def _biplot_recipe() -> Any:
    table = mixed()
    model = lowland.recipe(lowland.ICA(2, random_state=0), categories="one-hot", scale="standard").fit(table)
    return plots.biplot(model, table, color=table["kind"])


@plot
def _correlation_circle() -> Any:
    X, _, model = wine()
    return plots.correlation_circle(model, X)


@plot
def _correlation_circle_cos2() -> Any:
    X, _, _ = wine()
    columns = X.drop(columns=["alcohol"])
    model = lowland.PCA(3, scale=True).fit(columns)
    more = {"alcohol": X["alcohol"].to_numpy()}
    return plots.correlation_circle(model, columns, axes=(1, 3), color="cos2", supplementary=more)


@plot
def _relationship_square() -> Any:
    return plots.relationship_square(lowland.FAMD(2).fit(mixed()))


@plot
def _loadings() -> Any:
    return plots.loadings(wine()[2])


@plot
def _contributions() -> Any:
    return plots.contributions(wine()[2], axes=(1, 2))


@plot
def _contributions_rows() -> Any:
    X, _, model = wine()
    return plots.contributions(model, X, of="rows", axes=(1,), top=25)


@plot
def _cos2() -> Any:
    X, _, model = wine()
    return plots.cos2(model, X)


@plot
def _cos2_rows() -> Any:
    X, _, model = wine()
    return plots.cos2(model, X, of="rows", kind="map")


@plot
def _cos2_columns_map() -> Any:
    X, _, _ = wine()
    return plots.cos2(lowland.PCA(6, scale=True).fit(X), X, kind="map")


@plot
def _axes_and_projections() -> Any:
    return plots.axes_and_projections(cloud())


@plot
def _axes_and_projections_onto() -> Any:
    return plots.axes_and_projections(cloud(), onto=(1, -0.3))


@plot
def _variance_by_direction() -> Any:
    return plots.variance_by_direction(cloud(), candidates=[(1, 0.3), (1, 0.45)])


@plot
def _power_iteration() -> Any:
    return plots.power_iteration([[2.0, 0.8], [0.8, 1.0]], start=(-0.55, 1.0), steps=8)


@plot
def _power_iteration_wide() -> Any:
    return plots.power_iteration(load_iris().data, steps=6)


@plot
def _eigenimages() -> Any:
    return plots.eigenimages(digits()[1], (8, 8), n=16)


@plot
def _eigenimages_ica() -> Any:
    X, _ = digits()
    model = lowland.ICA(12, random_state=0).fit(X)
    return plots.eigenimages(model, (8, 8), n=12, mean=False)


@plot
def _reconstructions() -> Any:
    X, model = digits()
    return plots.reconstructions(model, X, (8, 8))


@plot
def _correlations() -> Any:
    return plots.correlations(wine()[0])


@plot
def _correlations_many() -> Any:
    X, _ = digits()
    return plots.correlations(X[:, X.std(axis=0) > 1.0])


def main(folder: str, *names: str) -> None:
    """Write the pictures."""
    for style in THEMES:
        Path(folder, style).mkdir(parents=True, exist_ok=True)
        for name in names or PLOTS:
            with theme(style):
                drawn = PLOTS[name]()
            figure = (drawn[0] if isinstance(drawn, list) else drawn).figure
            background = "white" if figure.patch.get_alpha() == 0 else figure.patch.get_facecolor()
            figure.savefig(Path(folder, style, f"{name}.png"), dpi=110, facecolor=background)
            print(Path(folder, style, f"{name}.png"))


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    warnings.simplefilter("error")
    main(*sys.argv[1:])
