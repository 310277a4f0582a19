"""Draw maps from nothing but distances: great circles, and if given, tables of roads or flights.

python docs/gallery/city_maps.py FOLDER [TABLE.csv ...]

A table has the names of the cities in its first column and as its other headings. Maps are turned so that north is up,
by the places of the cities that are known here.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import lowland
from lowland.plots import scatter
from lowland.spectral.procrustes import procrustes

_, _NAMES, _PLACES = lowland.data.cities()
KNOWN = dict(zip(_NAMES, _PLACES, strict=True)) | {
    "Calais": (50.95, 1.86),
    "Cherbourg": (49.64, -1.62),
    "Geneva": (46.20, 6.14),
    "Hamburg": (53.55, 9.99),
    "Lyons": (45.76, 4.84),
    "Marseilles": (43.30, 5.37),
    "Milan": (45.46, 9.19),
    "Munich": (48.14, 11.58),
    "Atlanta": (33.75, -84.39),
    "Chicago": (41.88, -87.63),
    "Denver": (39.74, -104.99),
    "Houston": (29.76, -95.37),
    "Miami": (25.76, -80.19),
    "Seattle": (47.61, -122.33),
}


def flat(places: np.ndarray) -> np.ndarray:
    """Return places on a flat map: east and north, a degree east being shorter by the cosine of the latitude."""
    return np.column_stack([places[:, 1] * np.cos(np.radians(places[:, 0].mean())), places[:, 0]])


def north_up(Y: np.ndarray, names: list[str]) -> np.ndarray:
    """Turn and mirror a map, without stretching it, so that the known cities lie as they do on the globe."""
    known = [i for i, name in enumerate(names) if name in KNOWN]
    truth = flat(np.array([KNOWN[names[i]] for i in known]))
    size = np.linalg.norm(Y[known] - Y[known].mean(axis=0)) / np.linalg.norm(truth - truth.mean(axis=0))
    turned = procrustes(Y[known], truth * size, scale=False)(Y)
    return turned - turned.mean(axis=0)


def draw(D: np.ndarray, names: list[str], unit: str, file: Path) -> None:
    """Write one map."""
    model = lowland.ClassicalMDS(metric="precomputed").fit(D)
    Y = north_up(model.embedding_, names)
    axes = scatter(Y, labels=[f"west – east ({unit})", f"south – north ({unit})"], names=names)
    fit = model.fit_info_.evidence["goodness of fit"]
    axes.set_title(f"{len(names)} cities from their distances, goodness of fit {fit:.3f}", fontsize=10)
    axes.figure.savefig(file, dpi=110)
    print(file)


def main(folder: str, *tables: str) -> None:
    """Write all maps."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    D, names, _ = lowland.data.cities()
    draw(D, names, "km", Path(folder, "great_circles.png"))
    for table in tables:
        frame = lowland.data.read_table(table).frame
        names = [str(name) for name in frame[:, 0]]
        draw(frame[:, 1:].to_numpy().astype(float), names, "as given", Path(folder, f"{Path(table).stem}.png"))


if __name__ == "__main__":
    main(*sys.argv[1:])
