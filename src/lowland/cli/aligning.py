"""`--align-to`: lay a new map over the coordinates of an earlier one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError
from .input import Input

if TYPE_CHECKING:
    from ..data.table import Table
    from ..methods.steps import AlignMap

_COORDINATE = re.compile(r"(.*?)(\d+)")


@dataclass(frozen=True)
class EarlierMap:
    """A table of coordinates to lay a new map over."""

    path: Path
    table: Table

    @classmethod
    def read(cls, path: Path, id: str | None) -> EarlierMap:
        """Read the table; the column ``id`` is kept as it is written."""
        from ..data.arraytable import SparseTable
        from .reading_options import ReadingOptions

        table = ReadingOptions().naming(id).read(path)
        if isinstance(table, SparseTable):
            raise DataError(f"--align-to {path}: it is a sparse matrix; give a table of coordinates")
        return cls(path, table)

    def aligned(self, embedding: Any, names: Sequence[str], given: Input) -> tuple[AlignMap, Any]:
        """Return the fitted alignment of a new map, and its aligned coordinates."""
        from ..methods.steps import AlignMap

        old, step = self.coordinates(names, given), AlignMap()
        try:
            return step, step.fit_transform(embedding, old)
        except DataError as error:
            raise DataError(f"--align-to {self.path}: {error}") from error

    def coordinates(self, names: Sequence[str], given: Input) -> Any:
        """Return the earlier coordinates of each row, NaN for rows that the earlier map does not have."""
        import numpy as np

        Y = self.table.select(columns=_coordinates(self.table, self.path, names, given.id)).X
        labels = given.labels()
        if given.id is not None and labels is not None and given.id in {*self.table.names, *self.table.aside.columns}:
            places = _places(self.table.column(given.id).to_list(), f"--align-to {self.path}", given.id)
            _places(labels, given.source, given.id)
            found = [places.get(label, -1) for label in labels]
            if max(found) < 0:
                raise DataError(f"--align-to {self.path}: no value of its column {given.id!r} is one of {given.source}")
            return np.where(np.array(found)[:, None] < 0, np.nan, Y[found])
        if len(Y) != given.shape[0]:
            remedy = f"it has no column {given.id!r}" if given.id else "add --id with a column that both files have"
            raise DataError(
                f"--align-to {self.path}: it has {len(Y)} rows and the new map {given.shape[0]}, so rows cannot be "
                f"matched by their order; {remedy}"
            )
        return Y


def _coordinates(table: Table, path: Path, names: Sequence[str], id: str | None) -> list[str]:
    """Return the columns of the earlier coordinates: of the same names, or numbered from 0, or all numbers."""
    if set(names) <= set(table.names):
        return list(names)
    from ..data.table import not_numeric

    numbers = [name for name in table.names if name != id and not_numeric(table.column(name).dtype) is None]
    numbered: dict[str, set[int]] = {}
    for name in numbers:
        if match := _COORDINATE.fullmatch(name):
            numbered.setdefault(match[1], set()).add(int(match[2]))
    series = [prefix for prefix, found in numbered.items() if found == set(range(len(names)))]
    if len(series) == 1:
        return [f"{series[0]}{number}" for number in range(len(names))]
    if len(numbers) == len(names):
        return numbers
    listed = ", ".join(numbers[:6]) + (", …" if len(numbers) > 6 else "") or "none"
    raise DataError(
        f"--align-to {path}: it must have {len(names)} coordinates, such as {', '.join(names[:6])}; its columns of "
        f"numbers are {listed}"
    )


def _places(values: Sequence[Any], source: str, id: str) -> dict[str, int]:
    """Return the row of each identifier, as text; a repeated one is an error."""
    places: dict[str, int] = {}
    for row, value in enumerate(values):
        if value is None:
            continue
        if str(value) in places:
            raise DataError(f"{source}: column {id!r} has {str(value)!r} twice, so rows cannot be matched by it")
        places[str(value)] = row
    return places
