"""Options of `lowland evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .answer import UsageError
from .judged_map import XColumn, YColumn
from .options import OUT, QualityNeighbors
from .wording import SCALED

EmbeddingFile = Annotated[
    Path | None,
    Parameter(
        help="Table of coordinates, by `lowland reduce --out` or any other program. Without it, --x and --y name "
        "columns of DATA."
    ),
]
TrustFile = Annotated[
    Path | None,
    Parameter(
        name=OUT, help="Write the trust measures of each row here: .csv, .tsv (also .gz), .parquet, .npy or .npz."
    ),
]


@Parameter(name="*")
@dataclass(frozen=True)
class TrustOptions:
    """Options of the evaluation."""

    id: Annotated[
        str | None,
        Parameter(help="Column of row identifiers; rows are matched by it if both tables have it, otherwise by order."),
    ] = None
    target: Annotated[
        str | None,
        Parameter(
            name=("--target", "--groups"),
            help="Column of group labels: every measure is also reported for each group. Not used as data.",
        ),
    ] = None
    quality_neighbors: QualityNeighbors = None
    metric: Annotated[
        str, Parameter(help="Distance between rows of the data; precomputed: the data are a distance matrix.")
    ] = "euclidean"
    scale: Annotated[
        bool,
        Parameter(
            help="Divide each column by its standard deviation, as reduce --scale does (metric seuclidean).",
            negative=(),
            show_default=False,
        ),
    ] = False
    anchors: Annotated[
        str, Parameter(help="Number of rows to evaluate, all, or auto (all up to 10,000 rows, otherwise 5,000).")
    ] = "auto"
    seed: Annotated[int, Parameter(help="Random seed of the sampled rows and pairs.")] = 0
    x: XColumn = None
    y: YColumn = None


def anchors_of(text: str) -> int | str | None:
    """Return the number of anchors that an option names; None for all."""
    if text in ("auto", "all"):
        return None if text == "all" else "auto"
    if not text.isdecimal() or int(text) < 2:
        raise UsageError(f"--anchors {text}: must be a number of at least 2, all, or auto")
    return int(text)


def check(options: TrustOptions) -> None:
    """Raise `UsageError` for invalid values."""
    from ..pairs.distances import METRICS

    known = (*METRICS, "precomputed")
    if options.metric not in known:
        raise UsageError(f"--metric {options.metric}: must be one of {', '.join(known)}")
    if options.quality_neighbors is not None and options.quality_neighbors < 1:
        raise UsageError(f"--quality-neighbors {options.quality_neighbors}: must be at least 1")
    if options.seed < 0:
        raise UsageError(f"--seed {options.seed}: must be 0 or greater")


def scaled(options: TrustOptions) -> TrustOptions:
    """Return the options with --scale replaced by its metric."""
    if not options.scale:
        return options
    if options.metric != "euclidean":
        raise UsageError("--scale compares scaled rows by euclidean distances; remove --metric or --scale")
    return replace(options, metric=SCALED)


def is_coded(names: Sequence[str], options: TrustOptions) -> bool:
    """Return whether the map was made by FAMD, which also uses columns of text."""
    return options.metric == "euclidean" and is_famd(names)


def is_famd(names: Sequence[str]) -> bool:
    """Return whether the coordinates have the names that FAMD gives."""
    return names[0].rstrip("_0123456789") == "famd"


def changed(options: TrustOptions, *names: str) -> dict[str, Any]:
    """Return the options that are not the default; the metric of scaled columns as --scale."""
    usual, changed = TrustOptions(), dict[str, Any]()
    for name in names:
        value = getattr(options, name)
        if name == "metric" and value == SCALED:
            changed["scale"] = True
        elif value != getattr(usual, name):
            changed[name] = value
    return changed
