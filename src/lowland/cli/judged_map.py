"""A map that is evaluated: where its coordinates are, its report and its figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..core.errors import DataError, FileSizeError
from ..core.message import Message, message_of
from .answer import UsageError
from .figure_kinds import Rows
from .figures import KEPT, DrawnMap, draw
from .input import columns_in_words, left_out_in_words, row_names
from .running import run
from .wording import SCALED, in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..data.table import Table
    from ..quality.pointwise import Pointwise
    from ..quality.report import Report
    from ..report.compared import Compared
    from ..report.subject import Subject
    from .figure_options import FigureOptions
    from .input import Input
    from .reading_options import ReadingOptions

XColumn = Annotated[str | None, Parameter(help="Column of the horizontal coordinates of a map made elsewhere.")]
YColumn = Annotated[str | None, Parameter(help="Column of the vertical coordinates of a map made elsewhere.")]


@contextmanager
def reading_map(map: Path | None, data: Path) -> Iterator[None]:
    """Word the errors of a file of coordinates: it is read without options, which are those of the data."""
    try:
        yield
    except FileSizeError:  # the file is read in blocks then
        raise
    except DataError as error:
        text = message_of(error)
        if map is None or not isinstance(text, Message) or text.problem == text:  # no advice, of which to offer other
            raise
        raise DataError(
            Message(
                text.problem,
                f"; correct the file {map.name} (the options for reading and columns apply to {data.name} only), or "
                "name the columns of the coordinates with --x and --y",
            )
        ) from error


def map_of(
    data: Path,
    embedding: Path | None,
    x: str | None,
    y: str | None,
    reading: ReadingOptions,
    id: str | None = None,
    unnamed: Callable[[Table], None] | None = None,
) -> tuple[Table, list[str]]:
    """Return the table of a map and the names of its coordinates, which may be columns of the data.

    ``id``: the column of identifiers, which are kept as they are written; ``unnamed`` is called with a table whose
    coordinates are neither named by a method nor by ``x`` and ``y``, and may raise.
    """
    from ..data.arraytable import SparseTable
    from .matching import read_map

    if (x is None) != (y is None):
        raise UsageError("--x and --y name the two coordinates of a map: give both")
    if embedding is None and x is None:
        raise UsageError("give the table of coordinates after DATA, or name its columns in DATA with --x and --y")
    if embedding is not None and x is None:
        return read_map(embedding, id, unnamed)
    from .reading_options import ReadingOptions as Detected

    table = (reading if embedding is None else Detected()).naming(id).read(embedding or data)
    if isinstance(table, SparseTable):
        raise DataError(f"{table.source} is a sparse matrix without column names: give a table with --x and --y")
    names = [str(x), str(y)]
    for name in names:
        table.column(name)  # an unknown name is an error that lists similar ones
    return table, names


@dataclass(frozen=True, eq=False)
class JudgedMap:
    """A map, the rows behind it, and its measures; ``coded``: the rows are compared as FAMD codes them."""

    given: Input
    embedding: Any
    names: Sequence[str]
    found: Report
    points: Pointwise
    target: str | None
    groups: Any
    metric: str
    coded: bool = False

    @property
    def _kept(self) -> Any:
        """The share of neighbours kept of each row; NaN for rows that were not evaluated."""
        import numpy as np

        kept = np.full(len(self.embedding), np.nan)
        kept[self.points.point] = self.points.kept
        return kept

    def figure(self, options: FigureOptions, rows: Any) -> Figure:
        """Draw the map, coloured by the share of neighbours kept, or another kind."""
        drawn = DrawnMap(
            self.embedding, self.names, self.names, self._kept, KEPT, self.given.labels(), meaningful=False
        )
        if options.figure_kind in (None, "quality_map"):
            return draw(drawn, replace(options, figure_kind=None))
        colored = replace(drawn, color=self.groups, color_name=self.target)
        behind = self._compared(rows)
        return draw(colored, options, behind=Rows(behind.rows, behind.metric))

    def _compared(self, rows: Any) -> Compared:
        from ..report.compared import Compared

        if self.coded:
            from ..quality.spaces import famd_axes

            return Compared(famd_axes(rows).transform(rows), self.metric, self.found.space, rows)
        return Compared(rows, self.metric, self.found.space, rows, scale=self.metric == SCALED)

    def write_report(self, path: Path, files: Sequence[Path], command: str, compare: str) -> None:
        """Write the report of the map."""
        from ..report.html import render, write_page

        subject: Subject = run(lambda rows: self._subject(rows, files, command, compare), self.given)
        write_page(path, run(lambda rows: render(subject), self.given))

    def _subject(self, rows: Any, files: Sequence[Path], command: str, compare: str) -> Subject:
        from ..report.building import of_any_map
        from .preparing import steps_in_words

        given = self.given
        n = given.shape[0]
        facts = {"file": files[0].name, "rows": f"{n:,}", "columns compared": columns_in_words(given)}
        if given.pairwise:
            facts = {"file": files[0].name, "objects": f"{n:,}"}
        facts |= left_out_in_words(given)
        facts["map"] = f"{', '.join(self.names)} of {files[-1].name}"
        return of_any_map(
            self._compared(rows),
            self.embedding,
            list(self.names),
            self.found,
            title=f"Map of {files[0].name}",
            color=self.groups,
            color_name=self.target,
            names=given.labels(),
            names_title=given.id or "name",
            called=row_names(given),
            data_summary=facts,
            command=command,
            steps=None if given.steps is None else steps_in_words(given.steps),
            next_steps={"Compare with other methods:": compare},
            words=in_words,
        )
