"""Draw the figure of a command and write it to a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.message import Message
from .answer import UsageError
from .figure_kinds import DRAWER, MAP, Rows, colors_rows, possible_kinds
from .figure_options import (
    DPI,
    AxisNaming,
    FigureOptions,
    LookOptions,
    MapFigureOptions,
    axis_numbers_in,
    chosen_axes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..contract.reducer import Reducer
    from ..plots.overlay import Overlay
    from ..quality.outliers import Outliers

KEPT = "share of neighbours kept"


@dataclass(frozen=True, eq=False)
class DrawnMap:
    """A map with what is drawn on it: names of the coordinates, labels of the axes, colours, row names.

    ``new`` are rows that are drawn over the map; ``meaningful`` says whether the values on the axes mean something.
    """

    embedding: Any
    names: Sequence[str]
    labels: Sequence[str]
    color: Any = None
    color_name: str | None = None
    row_names: Sequence[str] | None = None
    overlay: Overlay | None = None
    new: Any = None
    meaningful: bool = True

    def draw(self, axes: str | None) -> Any:
        """Draw the map; three axes give a 3-D figure."""
        from ..plots import scatter

        chosen = chosen_axes(axes, self.names, self.labels)
        return scatter(
            self.embedding,
            axes=chosen,
            color=self.color,
            color_name=self.color_name,
            labels=self.labels,
            names=self.row_names,
            overlay=self.overlay,
            new=self.new,
            meaningful_axes=self.meaningful,
        )


def draw(
    drawn: DrawnMap,
    options: MapFigureOptions,
    *,
    model: Reducer | None = None,
    rows: Any = None,
    behind: Rows | None = None,
) -> Figure:
    """Draw the figure that options ask for: a map, or another kind from the model or from the rows behind the map."""
    kind = options.figure_kind if isinstance(options, FigureOptions) else None
    return draw_kind(drawn, kind, options.axes, options.look, model=model, rows=rows, behind=behind)


def draw_kind(
    drawn: DrawnMap,
    kind: str | None,
    axes: str | None,
    look: LookOptions,
    *,
    model: Reducer | None = None,
    rows: Any = None,
    behind: Rows | None = None,
    option: str = "--figure-kind",
) -> Figure:
    """Draw one kind of figure; raise `UsageError` with the possible ones if it cannot be drawn."""

    source = behind if model is None else model
    if kind not in (None, MAP, DRAWER) and kind not in possible_kinds(source):
        of = "this map" if model is None else type(model).__name__
        raise UsageError(f"{option} {kind}: not possible for {of}; possible: {', '.join(possible_kinds(source))}")

    def work() -> Figure:
        if kind is None or kind in (MAP, DRAWER):
            made = drawn.draw(axes)
        elif model is not None:
            made = _of_model(drawn, kind, axes, model, rows, option)
        else:
            assert behind is not None  # otherwise only a map is possible
            made = _compared(drawn, kind, axes, behind)
        return (made[0] if isinstance(made, list) else made).figure  # type: ignore[no-any-return]

    return draw_with(work, look)


def _compared(drawn: DrawnMap, kind: str, axes: str | None, behind: Rows) -> Any:
    """Draw a figure that compares a map with the rows behind it."""
    from .. import plots
    from ..quality import pointwise

    if kind != "quality_map":
        Y = drawn.embedding
        if axes is not None:
            Y = Y[:, [axis - 1 for axis in chosen_axes(axes, drawn.names, drawn.labels)]]
        return getattr(plots, kind)(Y, behind.rows, metric=behind.metric)
    neighbors = max(1, min(10, len(drawn.embedding) // 4))
    points = pointwise(behind.rows, drawn.embedding, neighbors, metric=behind.metric)
    return replace(drawn, color=points.kept, color_name=KEPT).draw(axes)


def _of_model(drawn: DrawnMap, kind: str, axes: str | None, model: Reducer, rows: Any, option: str) -> Any:
    from .. import plots
    from ..plots.kinds import KindError
    from ..report.compared import named_rows

    known = inspect.signature(getattr(plots, kind)).parameters
    if axes is not None and "axes" not in known:
        raise UsageError(f"--axes {axes}: a figure of the kind {kind} has no choice of axes; remove it")
    wanted = {
        "axes": None if axes is None else chosen_axes(axes, drawn.names, drawn.labels),
        "color": drawn.color if colors_rows(kind) else None,
        "color_name": drawn.color_name,
    }
    options = {name: value for name, value in wanted.items() if value is not None and name in known}
    try:
        return plots.plot(model, named_rows(rows), kind, **options)
    except KindError as error:
        raise UsageError(Message(f"{option} {kind}: ", error.reason)) from error
    except ValueError as error:
        raise UsageError(Message(f"{option} {kind}: ", error.args[0] if error.args else "")) from error


def draw_with(work: Callable[[], Figure], look: LookOptions) -> Figure:
    """Call a function that draws a figure, in a style and size."""
    from ..plots.style import figure_size, theme

    with theme(look.style or "paper"), figure_size(look.inches):
        figure = work()
    if look.inches is not None:
        figure.set_size_inches(*look.inches)
    return figure


def background_naming(pairwise: bool) -> AxisNaming:
    """Return how the map behind flagged rows names its axes."""
    return AxisNaming.of("classical_mds" if pairwise else "pca")


def flagged_map(rows: Any, found: Outliers, options: MapFigureOptions, metric: str, scale: bool) -> Figure:
    """Draw a map of all rows, by PCA or by classical MDS of distances, with the flagged rows marked and named."""
    import warnings

    from ..contract.axis_names import axis_labels
    from ..core.errors import LowlandWarning
    from ..methods.distance.classical_mds import ClassicalMDS
    from ..methods.linear.pca import PCA

    pairwise = metric == "precomputed"
    kept = max(axis_numbers_in(options.axes, background_naming(pairwise)), default=2)
    most = len(found.severity) if pairwise else min(rows.shape.n_rows, rows.shape.n_features)
    count = max(1, min(max(kept, 2), most))
    method: Any = ClassicalMDS(count, metric="precomputed") if pairwise else PCA(count, scale=scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowlandWarning)  # about the map, which is only a background here
        Y = method.fit_transform(rows.array if pairwise else rows)
    flagged = found.mask
    names = [str(name) for name in method.get_feature_names_out()]
    called = [f"row {i}" for i in range(len(flagged))] if found.names is None else found.names
    marked = DrawnMap(
        Y,
        names,
        axis_labels(method),
        ["outliers (flagged)" if mark else "inliers" for mark in flagged],
        None,
        [name if mark else "" for name, mark in zip(called, flagged, strict=True)],
        meaningful=not pairwise,
    )
    return draw(marked, options)


def write_figure(options: MapFigureOptions, figure: Figure) -> None:
    """Write the figure of a command."""
    assert options.figure is not None
    save_figure(options.figure, figure, options.look)


def save_figure(path: Path, figure: Figure, look: LookOptions) -> None:
    """Write a figure; the same figure gives the same bytes, and a failure leaves no partial file."""
    import matplotlib as mpl

    from ..data.atomic import atomic_file

    form = path.suffix[1:].lower()
    times = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    if figure.patch.get_alpha() == 0.0:  # a transparent figure is for pages that have a background of their own
        figure.patch.set(facecolor="white", alpha=1.0)
    with atomic_file(path) as file, mpl.rc_context({"svg.hashsalt": "lowland"}):
        figure.savefig(file, format=form, dpi=look.dpi or DPI, metadata=times[form])
