"""The map of a candidate, as a comparison keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Array = Any


@dataclass(frozen=True)
class Map:
    """A map: the places of some rows, and their numbers in the table. Large maps are kept in part."""

    Y: Array
    rows: Array
