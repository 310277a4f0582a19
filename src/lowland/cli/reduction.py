"""A reduction, its report and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.command_line import stem_of
from .answer import note
from .comparing import compare_command
from .figure_options import NO_FIGURE, FigureOptions
from .figures import DrawnMap, draw
from .input import Input, columns_in_words, left_out_in_words, row_names
from .model import find_method
from .next_commands import SameRows, new_rows_of, transform_command
from .options import KeepOptions, MethodOptions, TableOptions
from .preparing import mixed_columns, steps_in_words
from .read_cells import cells_in_words
from .square_input import as_distances, without_columns
from .stream_options import NO_STREAM, StreamOptions
from .wording import in_words

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from ..contract.reducer import Reducer
    from ..methods.steps import AlignMap
    from ..quality.supplementary_columns import Supplementary
    from .supplementing import PlacedRows


@dataclass(frozen=True)
class Job:
    """The options of one reduction."""

    data: Path
    method: MethodOptions
    columns: TableOptions
    keep: KeepOptions
    out: Path | None = None
    model: Path | None = None
    report: Path | None = None
    align_to: Path | None = None
    supplementary_rows: Path | None = None
    figure: FigureOptions = NO_FIGURE
    stream: StreamOptions = NO_STREAM
    coded: Sequence[str] = ()  # columns that a note called coded labels, once the table is read

    @property
    def rows(self) -> SameRows:
        """The rows, for further commands on them."""
        return SameRows(self.data, self.columns, self.keep.id, self.keep.color, self.keep.hover, self.coded)

    def new_rows(self, *, flag: bool) -> dict[str, Any]:
        """Return how new rows of the same form are read, for the model file; ``flag``: mark rows that are unlike."""
        return new_rows_of(self.data, self.columns, self.keep, flag=flag)

    def command(self, command: str = "reduce", **files: str | None) -> str:
        """Return the command line of this reduction, or of its plan, with other output files if given."""
        more: dict[str, Any] = {name: files.get(name, getattr(self, name)) for name in ("out", "model", "report")}
        more |= {"supplementary": self.keep.supplementary, "keep_columns": self.keep.keep_columns}
        more |= {"align_to": self.align_to, "supplementary_rows": self.supplementary_rows}
        return self.rows.command(command, first=vars(self.method), **more, **self.figure.words(), **self.stream.words())

    @property
    def takes_distances(self) -> bool:
        """Whether the method takes a distance matrix."""
        return "distances" in find_method(self.method.method).needs

    def as_distances(self, missing: int, command: str = "reduce") -> str:
        """Return the command line that reads the table as a distance matrix with so many missing pairs."""
        if missing or not self.takes_distances:
            return as_distances(self.rows, missing)
        own = [item for item in self.method.set if item.partition("=")[0].strip() != "metric"]
        method = replace(self.method, set=(*own, "metric=precomputed"), scale=False)
        keep = replace(self.keep, supplementary=())
        return replace(self, method=method, columns=without_columns(self.rows).columns, keep=keep).command(command)

    def placing_command(self, *, flag: bool) -> str:
        """Return the command line that places new rows, given as a file or folder of the same form, on the map.

        ``flag``: whether the model can tell rows that are unlike the training rows.
        """
        assert self.model is not None
        return transform_command(self.model, self.new_rows(flag=flag))


@dataclass(frozen=True)
class Made:
    """What a reduction made: the fitted method, the map, and what was laid over or beside it."""

    fitted: Reducer
    embedding: Any
    given: Input
    after: AlignMap | None = None
    laid: Supplementary | None = None
    placed: PlacedRows | None = None
    sampled_from: int | None = None  # rows of the table, if these are a sample
    square: int | None = None  # missing pairs of the table, if it looks like a distance matrix

    @property
    def has_axes(self) -> bool:
        """Whether the axes have a meaning of their own: those of a method with variances, not rotated."""
        from ..contract.axis_names import shares_of

        return self.after is None and shares_of(self.fitted) is not None

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""
        return [str(name) for name in self.fitted.get_feature_names_out()]

    @property
    def can_judge(self) -> bool:
        """Whether the method can tell rows that are unlike the training rows."""
        from ..quality.novelty_detection import can_judge

        steps = self.given.steps
        return can_judge(self.fitted, [] if steps is None else [step for _, step in steps.steps])


def alignment_words(job: Job, after: AlignMap) -> str:
    """Return what the map was laid over, in words."""
    from ..core.formatting import count, format_share

    assert job.align_to is not None
    shared = count(after.n_shared_, "shared row")
    return f"The map is laid over {job.align_to.name} by {shared}, with an error of {format_share(after.error_)}."


def components(fitted: Reducer) -> Any:
    """Return the component of each row if several were embedded separately, else None."""
    labels = getattr(fitted, "component_labels_", None)
    if labels is None or getattr(fitted, "disconnected", "") != "separate" or not labels.any():
        return None
    return labels


def _coloring(job: Job, made: Made) -> tuple[Any, str | None]:
    """Return the column that colours the points, and its name: --color, or the connected components."""
    import polars as pl

    if job.keep.color is not None and made.given.table is not None:
        return made.given.table.column(job.keep.color), job.keep.color
    labels = components(made.fitted)
    return (None, None) if labels is None else (pl.Series([str(label) for label in labels]), "piece")


def reduction_figure(job: Job, made: Made, rows: Any) -> Figure:
    """Draw the figure: the map, or another kind."""
    from ..contract.axis_names import axis_labels
    from ..report.facts import has_meaningful_axes
    from ..report.supplementary import overlay

    color, color_name = _coloring(job, made)
    drawn = DrawnMap(
        made.embedding,
        made.names,
        axis_labels(made.fitted, shares=made.after is None),
        color,
        color_name,
        made.given.labels(),
        overlay(made.laid, None if made.placed is None else made.placed.embedding),
        meaningful=made.after is None and has_meaningful_axes(made.fitted),
    )
    return draw(drawn, job.figure, model=made.fitted, rows=rows)


def reduction_page(job: Job, made: Made, rows: Any) -> str:
    """Return the report of a reduction."""
    from ..core.formatting import count
    from ..report.html import render_report

    fitted, embedding, given = made.fitted, made.embedding, made.given
    color, color_name = _coloring(job, made)
    n = given.shape[0]
    rows_shown = f"{n:,}" if made.sampled_from is None else f"a sample of {n:,} of {made.sampled_from:,} rows"
    facts = {"file": job.data.name, "rows": rows_shown, "columns reduced": columns_in_words(given)}
    if given.pairwise:
        facts = {"file": job.data.name, "objects": f"{n:,}"}
    facts |= left_out_in_words(given)
    if job.keep.aside:
        facts["not used as data"] = ", ".join(job.keep.aside)
    steps = None if given.steps is None else steps_in_words(given.steps)
    return render_report(
        fitted,
        embedding,
        X=rows,
        color=color,
        color_name=color_name,
        names=given.labels(),
        names_title=given.id or "name",
        called=row_names(given),
        hover=_hover(job, given),
        images=_images(job, given),
        alignment=None if made.after is None else alignment_words(job, made.after),
        supplementary=made.laid,
        supplementary_rows=None if made.placed is None else made.placed.embedding,
        title=f"{job.data.name} in {count(embedding.shape[1], 'dimension')}",
        data_summary=facts,
        command=job.command(),
        steps=steps,
        done=cells_in_words(given, job.columns.reading),
        mixed=mixed_columns(given),
        warnings=given.warnings,
        next_steps=_next_steps(job, made),
        words=in_words,
    )


def _next_steps(job: Job, made: Made) -> dict[str, str]:
    """Return the commands that a report suggests: other methods, and new rows or outliers."""
    from ..comparison.dataset import can_be_target

    pairwise = made.given.pairwise
    color, _ = _coloring(job, made)
    rows = replace(job.rows, id=None) if pairwise else job.rows
    numbers = job.keep.color is not None and not can_be_target(color, made.given.shape[0])
    compare = compare_command(
        replace(rows, label=None) if numbers else rows,
        famd=job.method.method == "famd",
        drop=[str(job.keep.color)] if numbers else [],
        scale=bool(job.method.scale),
        metric="precomputed" if pairwise else None,
    )
    steps = {"Compare with other methods:": compare}
    if not find_method(job.method.method).kept:
        return steps
    if job.model is None:
        saved = job.command(model=f"{stem_of(job.data)}.lowland")
        return steps | {"Save the model, to place new rows on this map:": saved}
    return steps | {"Place new rows on this map:": job.placing_command(flag=made.can_judge)}


def _hover(job: Job, given: Input) -> pl.DataFrame | None:
    """Return the columns to show beside points: --hover, the text of each row, and the files of a folder of images."""
    if given.table is None:
        return None
    import polars as pl

    names = [name for role, name in given.table.roles.items() if role == "text" or job.data.is_dir()]
    return pl.DataFrame([given.table.column(name) for name in dict.fromkeys([*job.keep.shown, *names])])


def _images(job: Job, given: Input) -> list[str | None] | None:
    """Return small copies of the images of the rows; what is not shown is noted."""
    name = None if given.table is None else given.table.roles.get("image")
    if given.table is None or name is None:
        return None
    from ..data.thumbnails import thumbnails

    made = thumbnails(given.table.column(name), job.data if job.data.is_dir() else job.data.parent)
    if made.sentence:
        note(made.sentence)
    return made.uris
