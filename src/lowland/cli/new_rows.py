"""The report and the figure of new rows that a saved model placed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.command_line import command_line
from .figures import DrawnMap, draw
from .input import columns_in_words, row_names
from .preparing import mixed_columns, steps_in_words
from .running import run
from .wording import in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..contract.reducer import Reducer
    from ..methods.steps import AlignMap
    from ..quality.novelty_result import Novelty
    from ..report.subject import Subject
    from .figure_options import FigureOptions
    from .input import Input
    from .options import KeepOptions


@dataclass(frozen=True, eq=False)
class NewRows:
    """New rows and their places on the map of a model."""

    model: Path
    fitted: Reducer
    after: AlignMap | None
    given: Input
    embedding: Any
    keep: KeepOptions
    novelty: Novelty | None

    @property
    def training(self) -> Any:
        """The map of the training rows; None if the model does not contain it."""
        known = getattr(self.fitted, "embedding_", None)
        return known if known is None or self.after is None else self.after.transform(known)

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""
        return [str(name) for name in self.fitted.get_feature_names_out()]

    @property
    def color(self) -> Any:
        """The column that colours the points, or None."""
        table, name = self.given.table, self.keep.color
        return None if name is None or table is None else table.column(name)

    def figure(self, options: FigureOptions, rows: Any) -> Figure:
        """Draw the new rows, coloured, or over the map of the training rows."""
        from ..contract.axis_names import axis_labels
        from ..report.facts import has_meaningful_axes

        labels = axis_labels(self.fitted, shares=self.after is None)
        has_axes = self.after is None and has_meaningful_axes(self.fitted)
        training = None if self.color is not None else self.training
        if training is None:
            drawn = DrawnMap(
                self.embedding,
                self.names,
                labels,
                self.color,
                self.keep.color,
                self.given.labels(),
                meaningful=has_axes,
            )
        else:
            drawn = DrawnMap(training, self.names, labels, new=self.embedding, meaningful=has_axes)
        return draw(drawn, options, model=self.fitted, rows=rows)

    def write_report(self, path: Path, data: Path, options: Mapping[str, Any], drawing: FigureOptions) -> None:
        """Write the report of the new rows; ``options`` and ``drawing`` are those of the command that placed them."""
        from ..report.html import render, write_page

        words = {**options, **drawing.words(), "report": path}
        following = {"Describe the model:": command_line("info", self.model)}
        if self.novelty is not None and not options["flag"]:
            title = "Mark rows that are unlike the training rows:"
            marking = {**options, "flag": True, "out": options["out"] or "new-map.csv"}
            following[title] = command_line("transform", self.model, data, **marking)
        command = command_line("transform", self.model, data, **words)
        subject = run(lambda rows: self._subject(data, command, following, rows), self.given)
        write_page(path, render(subject))

    def _subject(self, data: Path, command: str, following: Mapping[str, str], rows: Any) -> Subject:
        from ..report.building import of_new_rows

        n = self.given.shape[0]
        facts = {"file": data.name, "rows": f"{n:,}", "columns used": columns_in_words(self.given)}
        facts["model"] = self.model.name
        aligned = None
        if self.after is not None:
            aligned = "The coordinates are rotated and shifted as the map that the model was aligned to."
        table = self.given.table
        shown = None if table is None else {name: table.column(name).to_list() for name in self.keep.shown}
        return of_new_rows(
            self.fitted,
            self.embedding,
            X=rows,
            training=self.training,
            novelty=self.novelty,
            color=self.color,
            color_name=self.keep.color,
            names=self.given.labels(),
            names_title=self.given.id or "name",
            called=row_names(self.given),
            hover=shown,
            alignment=aligned,
            title=f"{data.name} on the map of {self.model.name}",
            data_summary=facts,
            command=command,
            mixed=mixed_columns(self.given),
            steps=None if self.given.steps is None else steps_in_words(self.given.steps),
            next_steps=following,
            words=in_words,
        )
