"""Great-circle distances of cities, from which a map can be reconstructed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_EARTH_KM = 6371.0  # mean radius

# Degrees north and east, to two decimals.
_CITIES = {
    "Amsterdam": (52.37, 4.90),
    "Athens": (37.98, 23.73),
    "Barcelona": (41.39, 2.17),
    "Berlin": (52.52, 13.41),
    "Brussels": (50.85, 4.35),
    "Bucharest": (44.43, 26.10),
    "Copenhagen": (55.68, 12.57),
    "Dublin": (53.35, -6.26),
    "Helsinki": (60.17, 24.94),
    "Istanbul": (41.01, 28.98),
    "Kyiv": (50.45, 30.52),
    "Lisbon": (38.72, -9.14),
    "London": (51.51, -0.13),
    "Madrid": (40.42, -3.70),
    "Oslo": (59.91, 10.75),
    "Paris": (48.86, 2.35),
    "Prague": (50.08, 14.44),
    "Reykjavik": (64.15, -21.94),
    "Rome": (41.90, 12.50),
    "Stockholm": (59.33, 18.07),
    "Vienna": (48.21, 16.37),
    "Warsaw": (52.23, 21.01),
}


def cities() -> tuple[NDArray[np.float64], list[str], NDArray[np.float64]]:
    """Return the great-circle distances of 22 European cities in km, their names, and their places (north, east).

    >>> D, names, places = cities()
    >>> D.shape, round(D[names.index("London"), names.index("Paris")])
    ((22, 22), 343)
    """
    places = np.array(list(_CITIES.values()))
    north, east = np.radians(places).T
    half = (
        np.sin((north[:, None] - north) / 2) ** 2
        + np.cos(north[:, None]) * np.cos(north) * np.sin((east[:, None] - east) / 2) ** 2
    )
    return 2 * _EARTH_KM * np.arcsin(np.sqrt(half)), list(_CITIES), places
