"""Small printed tables that come with Lowland."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ..table import Table
from .dataset import Dataset

FOLDER = Path(__file__).parent / "files"


def load(row: Dataset) -> Table:
    """Read a bundled table; the columns that are not reduced are kept aside."""
    frame = pl.read_csv(FOLDER / f"{row.name}.csv")
    return Table(frame.drop(row.aside), row.name, notes=row.notes, aside=frame.select(row.aside), roles=row.roles)
