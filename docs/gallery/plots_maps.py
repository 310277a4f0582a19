"""Draw every picture of maps: groups, regions, names, crowded maps, new rows, missing cells, quality, images, themes.

python docs/gallery/plots_maps.py FOLDER
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_wine

import lowland
from lowland import plots
from lowland.plots.style import THEMES


def wine() -> tuple[np.ndarray, list[str], np.ndarray, list[str], Any]:
    """Return a table of wines, their kinds, the map by PCA, the names of its axes, and the model."""
    table = load_wine()
    model = lowland.PCA(n_components=3, scale=True).fit(table.data)
    titles = [f"PCA {i + 1} ({100 * share:.1f} %)" for i, share in enumerate(model.explained_variance_ratio_)]
    return table.data, [f"cultivar {k + 1}" for k in table.target], model.transform(table.data), titles, model


def regions(what: str) -> Any:
    """Draw groups with regions and centres."""
    _, kinds, Y, titles, _ = wine()
    return plots.scatter(Y, color=kinds, color_name="wine", labels=titles, ellipses=what, centers=True)


def space() -> Any:
    """Draw three axes."""
    _, kinds, Y, titles, _ = wine()
    return plots.scatter(Y, axes=(1, 2, 3), color=kinds, color_name="wine", labels=titles, centers=True)


def strip() -> Any:
    """Draw one axis."""
    _, kinds, Y, titles, _ = wine()
    return plots.scatter(Y, axes=(2,), color=kinds, color_name="wine", labels=titles, new=Y[:10])


def cities() -> Any:
    """Draw a map of names, without numbers on its axes."""
    D, names, _ = lowland.data.cities()
    Z = lowland.ClassicalMDS(metric="precomputed").fit(D).embedding_
    return plots.scatter(Z, names=names, meaningful_axes=False, labels=["MDS 1", "MDS 2"])


def supplementary() -> Any:
    """Draw arrows and centres of columns that took no part in the fit, and new rows."""
    X, kinds, _, _, _ = wine()
    order = np.random.default_rng(0).permutation(len(X))
    X, kinds = X[order], [kinds[i] for i in order]
    model = lowland.PCA(n_components=2, scale=True).fit(X[:140, :10])
    Y = model.transform(X[:, :10])
    columns = {"hue": X[:140, 10], "proline": X[:140, 12], "dilution": X[:140, 11], "kind": kinds[:140]}
    found = lowland.quality.supplementary(Y[:140], columns)
    arrows = {name: tuple(one.r2**0.5 * np.array(one.direction)) for name, one in found.numbers.items()}
    over = plots.Overlay(arrows, dict(found.categories["kind"].centroids))
    return plots.scatter(Y[:140], color=kinds[:140], new=Y[140:], overlay=over)


def missing() -> Any:
    """Draw the uncertainty of rows with missing cells."""
    X, kinds, _, _, _ = wine()
    rng = np.random.default_rng(0)
    holes = X.copy()
    some = rng.choice(len(X), 25, replace=False)
    for i in some:
        holes[i, rng.choice(13, rng.integers(2, 9), replace=False)] = np.nan
    model = lowland.recipe(lowland.PCA(2), missing="ppca", scale="standard").fit(holes)
    spread = lowland.quality.imputation_covariances(model, holes)
    return plots.scatter(model.transform(holes), color=kinds, color_name="wine", uncertainty=spread, level=0.8)


def crowd() -> tuple[np.ndarray, np.ndarray]:
    """Return many points in three groups."""
    rng = np.random.default_rng(0)
    shapes = ((150_000, 1.0, (0, 0)), (60_000, 0.5, (3, 1)), (40_000, 0.7, (1, -3)))
    parts = [rng.normal(size=(n, 2)) * size + middle for n, size, middle in shapes]
    return np.vstack(parts), np.repeat(["large", "small", "other"], [len(part) for part in parts])


def crowded(color: str | None, kind: Any = "auto", step: int = 1) -> Any:
    """Draw a crowded map."""
    Y, kinds = crowd()
    shade = {None: None, "groups": kinds, "numbers": np.hypot(*Y.T)}[color]
    shown = None if shade is None else shade[::step]
    return plots.scatter(
        Y[::step], color=shown, color_name={"numbers": "distance from the middle"}.get(color), kind=kind
    )


def many_groups() -> Any:
    """Draw more than twenty groups."""
    rng = np.random.default_rng(0)
    places = rng.normal(size=(30, 2)) * 6
    groups = rng.choice(30, 3000, p=np.arange(1, 31) / 465)
    Y = places[groups] + rng.normal(size=(3000, 2))
    return plots.scatter(Y, color=[f"type {g:02d}" for g in groups], color_name="type", meaningful_axes=False)


def quality(by: str) -> Any:
    """Draw the reliability of a map of digits."""
    X, _, _ = lowland.data.digits()
    Y = lowland.PCA(n_components=2).fit_transform(X)
    return plots.quality_map(Y, X, by=by)


def images() -> Any:
    """Draw a map of images."""
    X, labels, _ = lowland.data.digits()
    Y = lowland.PCA(n_components=2).fit_transform(X)
    return plots.thumbnails(Y, X.reshape(-1, 8, 8), color=labels, color_name="digit")


def themed(name: str) -> Any:
    """Draw one map in a theme."""
    with plots.theme(name):
        return regions("spread")


def small() -> Any:
    """Draw a map in a small part of a figure."""
    _, kinds, Y, titles, _ = wine()
    panels = Figure(figsize=(9, 3), layout="constrained").subplots(1, 3)
    for ax, pair in zip(panels, ((1, 2), (1, 3), (2, 3)), strict=True):
        plots.scatter(Y, ax=ax, axes=pair, labels=titles, color=kinds)
    return panels[0]


PICTURES: dict[str, Callable[[], Any]] = {
    "spread": lambda: regions("spread"),
    "mean": lambda: regions("mean"),
    "hull": lambda: regions("hull"),
    "space": space,
    "strip": strip,
    "names": cities,
    "supplementary": supplementary,
    "missing": missing,
    "hexagons": lambda: crowded(None),
    "hexagons-groups": lambda: crowded("groups"),
    "hexagons-numbers": lambda: crowded("numbers"),
    "density": lambda: crowded(None, "density", 50),
    "density-groups": lambda: crowded("groups", "density", 50),
    "many-groups": many_groups,
    "quality-kept": lambda: quality("kept"),
    "quality-stretch": lambda: quality("stretch"),
    "images": images,
    "panels": small,
} | {f"theme-{name}": lambda name=name: themed(name) for name in THEMES}


def main(folder: str, *chosen: str) -> None:
    """Write all pictures, or the chosen ones."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in chosen or PICTURES:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a picture that warns is not finished
            figure = PICTURES[name]().figure
        file = Path(folder, f"plots-map-{name}.png")
        figure.savefig(file, dpi=100, facecolor=None if figure.patch.get_alpha() else "white")
        print(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
