"""`lowland dimension`: how many dimensions a table has, linear and true."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table as Grid

from .answer import Answer, UsageError
from .inputs import read_input
from .options import ColumnOptions, Common, DataFile, IdColumn, KeepOptions
from .outputs import check_place
from .wording import PRECOMPUTED, look, warn_of_square

if TYPE_CHECKING:
    from ..dimension import Estimate

KEYS = {
    "data": "the file that was read",
    "rows": "number of rows",
    "columns": "number of columns that were looked at; null for distances",
    "linear": "counts from the spectrum: name → value, low, high, exact; empty for distances",
    "nonlinear": "estimates from neighbours and pairs: name → value, low, high, exact",
    "consensus": "linear and nonlinear, each value, low, high, exact",
    "scales": "the dimension at each scale: neighbors, radius, value, inner, outer, distances, noisy",
    "plateau": "the range of scales that counts: first, last, level",
    "skipped": "rules that could not be used: name → reason",
    "figure": "the picture that was written, or null",
}

_DRAWN = (".png", ".svg", ".pdf")


def dimension(
    data: DataFile,
    /,
    *,
    columns: ColumnOptions | None = None,
    id: IdColumn = None,
    scale: Annotated[bool, Parameter(help="Give every column the same variance first.", show_default=False)] = False,
    metric: Annotated[
        str, Parameter(help="How rows are compared; precomputed: the table is a square of distances between objects.")
    ] = "euclidean",
    figure: Annotated[
        Path | None, Parameter(help="Draw the dimension against the scale here: .png, .svg or .pdf.")
    ] = None,
    seed: Annotated[int, Parameter(help="Which points are looked at where there are many.")] = 0,
    common: Common | None = None,
) -> Answer:
    """Say how many dimensions the data have: linear ones, that PCA needs, and the true ones of a curved shape.

    Counts from the spectrum stand beside estimates from neighbours at several scales, with intervals and a sentence.

    Example: lowland dimension roll.csv --scale
    """
    from ..dimension import estimate

    if figure is not None:
        if figure.suffix.lower() not in _DRAWN:
            raise UsageError(f"--figure {figure}: the name must end in one of {', '.join(_DRAWN)}")
        check_place("--figure", figure)
    square = metric == "precomputed"
    if square and scale:
        raise UsageError("--scale divides columns, and distances have none: leave one of --scale and --metric out")
    chosen = columns or ColumnOptions()
    given = read_input(data, chosen, KeepOptions(id=id), pairwise=square)
    if not square:
        warn_of_square(given)

    def work(rows: Any) -> Estimate:
        return estimate(rows, metric=metric, scale=scale, random_state=seed)

    found: Estimate = look(work, given, PRECOMPUTED | {"scale them (scale=True)": "add --scale"})
    if figure is not None:
        from ..data.atomic import atomic_file

        with atomic_file(figure) as file:
            found.figure().savefig(file, format=figure.suffix[1:].lower())
    plain = found.to_dict()
    facts = {
        "data": data,
        "rows": given.shape[0],
        "columns": None if square else given.shape[1],
        **{key: plain[key] for key in ("linear", "nonlinear", "consensus", "scales", "plateau", "skipped")},
        "figure": figure,
    }
    return Answer(facts, found.sentence, _next(data, chosen, found, scale, square), shown=[_grid(found)])


def _grid(found: Estimate) -> Grid:
    grid = Grid(box=None, pad_edge=False)
    for heading in ("", "rule", "dimensions", "95 % interval"):
        grid.add_column(heading, justify="right" if heading == "dimensions" else "left", no_wrap=True)
    from ..dimension.estimating import LABELS

    before = ""
    for kind, name, value in found.rows():
        between = "" if value.low == value == value.high else f"{value.low:.4g} to {value.high:.4g}"
        grid.add_row("" if kind == before else kind, LABELS.get((kind, name), name), f"{float(value):.4g}", between)
        before = kind
    return grid


def _next(data: Path, chosen: ColumnOptions, found: Estimate, scale: bool, square: bool) -> str:
    """Write the reduction that the answer calls for: linear where that will do, else on neighbours."""
    true = max(1, round(found.consensus["nonlinear"]))
    words = ["lowland", "reduce", str(data)]
    if square:
        words += ["--method", "isomap", "--components", str(true), "--set", "metric=precomputed"]
    elif round(found.consensus["linear"]) > true:
        words += ["--method", "isomap", "--components", str(true)]
    else:
        words += ["--method", "pca", "--components", str(max(1, round(found.consensus["linear"])))]
        words += ["--scale"] if scale else []
    for option, names in (("--columns", chosen.columns), ("--drop", chosen.drop)):
        for text in names:
            words += [option, text]
    return shlex.join([*words, "--out", "embedding.csv"])
