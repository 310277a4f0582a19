"""`lowland dimension`: estimate the number of dimensions of a table, linear and intrinsic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table as Grid

from ..core.command_line import name_after
from .answer import Answer, UsageError, note
from .figure_options import FIGURE, LookOptions, MapFigureOptions
from .figures import draw_with, write_figure
from .inputs import needs_scale
from .next_commands import SameRows
from .options import Common, DataFile, KeepOptions, RowNames, TableOptions
from .outputs import check_outputs
from .running import run
from .scaling import scaled_once
from .scanned_input import read_or_scan
from .square_input import as_distances, warn_of_square
from .stream_options import Stream
from .wording import in_words

if TYPE_CHECKING:
    from ..dimension import Estimate

KEYS = {
    "data": "the file that was read",
    "rows": "number of rows",
    "columns": "number of columns used; null for a distance matrix",
    "linear": "counts from the eigenvalues: name → value, low, high, exact; empty for a distance matrix",
    "nonlinear": "estimates from nearest neighbours and pairs: name → value, low, high, exact",
    "consensus": "linear (median and range of its rules) and nonlinear, each with value, low, high, exact, interval "
    "(kind of interval), rules (those that take part: name → number), counting_all (rules that take part with all "
    "dimensions: name → reason)",
    "scales": "the dimension at each neighbourhood size: neighbors, radius, value, inner, outer, distances (or null), "
    "noisy",
    "plateau": "the range of neighbourhood sizes used for the estimate: first, last, level, rising",
    "closed": "true if the shape is closed, like a ring; a map then needs one more coordinate",
    "coordinates": "number of coordinates that a map needs",
    "skipped": "rules that could not be applied: name → reason",
    "figure": "the figure that was written, or null",
}


def dimension(
    data: DataFile,
    /,
    *,
    columns: TableOptions | None = None,
    id: RowNames = None,
    scale: Annotated[bool, Parameter(help="Scale each column to unit variance first.", show_default=False)] = False,
    metric: Annotated[
        str, Parameter(help="Distance between rows; precomputed: the table is a distance matrix.")
    ] = "euclidean",
    figure: Annotated[
        Path | None,
        Parameter(
            group=FIGURE, help="Plot the dimension against the neighbourhood size to this file: .png, .svg or .pdf."
        ),
    ] = None,
    look: LookOptions | None = None,
    seed: Annotated[int, Parameter(help="Random seed of the subsample of a large table.")] = 0,
    stream: Stream = False,
    common: Common | None = None,
) -> Answer:
    """Estimate the number of dimensions of the data: linear (needed by PCA) and intrinsic (of a curved shape).

    Prints counts from the eigenvalues and estimates from neighbourhoods of several sizes, with intervals and a
    summary.

    Example: lowland dimension roll.csv --scale
    """
    from ..dimension import estimate
    from ..pairs.distances import METRICS

    if metric not in (*METRICS, "precomputed"):
        raise UsageError(f"--metric {metric}: must be one of {', '.join((*METRICS, 'precomputed'))}")
    drawing = MapFigureOptions(figure, look=look or LookOptions())
    drawing.check()
    check_outputs(figure=figure, inputs=(data,))
    square = metric == "precomputed"
    if square and scale:
        raise UsageError("--scale applies to columns, and a distance matrix has none: remove --scale or --metric")
    scale, chosen = scaled_once(scale, columns or TableOptions())
    chosen.recipe.refuse_unseen()
    given = read_or_scan(data, chosen, KeepOptions(id=id), stream=stream, pairwise=square)
    missing_pairs = warn_of_square(given)

    def work(rows: Any) -> Estimate:
        return estimate(rows, metric=metric, scale=scale, random_state=seed)

    found: Estimate = run(work, given)
    for name, reason in found.skipped.items():
        note(f"without {name}: {in_words(reason)}")
    if given.scanned and found.of_sample:
        note(f"the dimension is {found.of_sample}")
    if figure is not None:
        write_figure(drawing, draw_with(found.figure, drawing.look))
    plain = found.to_dict()
    facts = {
        "data": data,
        "rows": given.shape[0],
        "columns": None if square else given.shape[1],
        **{
            key: plain[key]
            for key in ("linear", "nonlinear", "consensus", "scales", "plateau", "closed", "coordinates", "skipped")
        },
        "figure": figure,
    }
    rows = SameRows(data, chosen, id, coded=given.coded)
    if missing_pairs is not None:
        following = as_distances(rows, missing_pairs, "dimension", seed=seed or None)
    elif found.spectrum is not None and needs_scale(given, chosen, scale, metric, found.spectrum.columns):
        usual: dict[str, Any] = {"metric": metric if metric != "euclidean" else None, "seed": seed or None}
        following = rows.command("dimension", scale=True, **usual, stream=stream)
    else:
        first = {**_reduction(found, metric), "scale": scale}
        following = rows.command("reduce", first=first, stream=stream, out=name_after(data, "map", ".csv"))
    return Answer(facts, found.sentence, following, shown=[_grid(found)])


def _grid(found: Estimate) -> Grid:
    from ..dimension.result import HEADINGS

    grid = Grid(box=None, pad_edge=False)
    for heading in HEADINGS:
        grid.add_column(heading, justify="right" if heading == "dimensions" else "left", no_wrap=True)
    for cells in found.cells():
        grid.add_row(*cells)
    return grid


def _reduction(found: Estimate, metric: str) -> dict[str, Any]:
    """Return the options of `reduce` with the same metric: a linear method if sufficient, otherwise Isomap."""
    needed, flat = found.coordinates, found.consensus.get("linear")
    linear = {"euclidean": "pca", "sqeuclidean": "pca", "cosine": "classical_mds", "correlation": "classical_mds"}
    method = linear.get(metric) if flat is not None and round(flat) <= needed else None
    count = needed if method is None or flat is None else max(1, round(flat))
    plain = metric in ("euclidean", "sqeuclidean")
    return {"method": method or "isomap", "components": count, "set": None if plain else f"metric={metric}"}
