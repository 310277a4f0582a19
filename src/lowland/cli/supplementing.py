"""`--supplementary` and `--supplementary-rows`: columns and rows that take no part in the fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError
from .input import Input
from .inputs import read_for
from .running import run
from .wording import in_words

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table as Grid

    from ..contract.reducer import Reducer
    from ..methods.steps import AlignMap
    from ..quality.supplementary_columns import CategoryOnMap, NumberOnMap, Supplementary
    from .reading_options import ReadingOptions

_LEVELS = 12  # most levels of a category that are listed
_AXES = 6  # most axes that are listed


def check_columns(given: Input, names: Sequence[str]) -> None:
    """Raise before the fit if a column cannot be laid on a map."""
    import numpy as np

    from ..quality import supplementary

    if names:
        _laid(lambda: supplementary(np.arange(given.shape[0])[:, None], _frame(given, names), permutations=0), given)


def columns_on_map(embedding: Any, given: Input, names: Sequence[str]) -> Supplementary | None:
    """Return how the columns lie on the map; None if there are none."""
    from ..quality import supplementary

    return _laid(lambda: supplementary(embedding, _frame(given, names)), given) if names else None


def _laid(work: Any, given: Input) -> Any:
    try:
        return work()
    except DataError as error:
        raise DataError(f"{given.source}: --supplementary: {in_words(error.args[0])}") from error


def _frame(given: Input, names: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    assert given.table is not None  # sparse matrices were refused
    return pl.DataFrame([given.table.column(name) for name in names])


@dataclass(frozen=True)
class PlacedRows:
    """Rows of another file, placed by a fitted model."""

    path: Path
    given: Input
    embedding: Any

    @classmethod
    def read(
        cls,
        path: Path,
        reading: ReadingOptions,
        fitted: Reducer,
        before: Input,
        after: AlignMap | None,
    ) -> PlacedRows:
        """Read the rows, repeat the steps of the fit, and place them."""
        aside = [] if before.id is None else [before.id]
        given = read_for(fitted, path, aside, reading=reading, steps=before.steps, id=before.id)
        embedding = run(fitted.transform, given)
        return cls(path, given, embedding if after is None else after.transform(embedding))

    def appended(self, frame: pl.DataFrame, coordinates: Sequence[str]) -> pl.DataFrame:
        """Append the rows to a table of coordinates, with a column that says which rows they are.

        Columns that were kept are copied where this file has them.
        """
        import polars as pl

        from ..data.writing import free_name

        table = self.given.table
        there = set() if table is None else {*table.names, *table.aside.columns}
        kept = [name for name in frame.columns if name in there and name not in coordinates]
        columns = [] if table is None else [table.column(name) for name in kept]
        columns += [pl.Series(name, self.embedding[:, j]) for j, name in enumerate(coordinates)]
        mark = free_name("supplementary", frame.columns)
        parts = [frame, pl.DataFrame(columns)]
        types = [part.schema for part in parts]
        unlike = [name for name in types[1] if (types[1][name] == pl.String) != (types[0][name] == pl.String)]
        parts = [part.with_columns(pl.col(unlike).cast(pl.String)) if unlike else part for part in parts]
        marked = [part.with_columns(pl.lit(number, pl.Int8).alias(mark)) for number, part in enumerate(parts)]
        return pl.concat(marked, how="diagonal_relaxed").select(*frame.columns, mark)


def shown_columns(found: Supplementary, axes: Sequence[str], *, with_axes: bool) -> Grid:
    """Return a table of supplementary columns: by axis, r² and p.

    By axis stand correlations of numbers and η² of categories, or, on maps whose axes have no meaning, the direction in
    which a number rises; below a category the mean point of each level.
    """
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False)
    grid.add_column("supplementary", overflow="fold")
    for heading in ("by axis", *axes[:_AXES], "r²", "p", "rows"):
        grid.add_column(heading, justify="left" if heading == "by axis" else "right")
    k = len(axes[:_AXES])
    for name, number in found.numbers.items():
        parts = number.correlations if with_axes else number.direction
        what = "correlation" if with_axes else "direction"
        grid.add_row(name, what, *(f"{part:+.2f}" for part in parts[:k]), *_fit(number))
    for name, category in found.categories.items():
        shares = [f"{part:.2f}" for part in category.eta2[:k]] if with_axes else [""] * k
        grid.add_row(name, "η²" if with_axes else "", *shares, *_fit(category))
        for level, place in list(category.centroids.items())[:_LEVELS]:
            told = (f"{part:.3g}" for part in place[:k])
            grid.add_row(f"  {level}", "mean", *told, "", "", f"{category.counts[level]:,}")
        if len(category.centroids) > _LEVELS:
            grid.add_row(f"  … {len(category.centroids) - _LEVELS} more levels", "", *("",) * (k + 3))
    return grid


def _fit(column: NumberOnMap | CategoryOnMap) -> tuple[str, str, str]:
    return f"{column.r2:.3f}", f"{column.p:.3g}", f"{column.n_rows:,}"
