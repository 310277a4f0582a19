"""Options for tables that are read in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from .engine_options import LOCAL, EngineOptions

STREAMING = Group("Tables larger than memory", sort_key=11)

Stream = Annotated[
    bool,
    Parameter(
        help="Read the table in blocks instead of whole. Default: only if it does not fit in memory.",
        show_default=False,
        group=STREAMING,
    ),
]
Placement = Annotated[
    Literal["auto", "transform", "interpolate"],
    Parameter(
        help="How rows outside of the sample are placed: transform, or interpolate (the weighted mean of the places of "
        "the nearest rows of the sample; quick, its error is measured). auto: interpolate for tsne and umap of more "
        "than 200,000 rows.",
        group=STREAMING,
    ),
]


@Parameter(name="*", group=STREAMING)
@dataclass(frozen=True)
class StreamOptions:
    """How a table larger than memory is reduced."""

    stream: Stream = False
    sample: Annotated[
        int,
        Parameter(
            help="Rows of the sample that a method is fitted on if it cannot be fitted in passes over the table."
        ),
    ] = 20_000
    placement: Placement = "auto"
    checkpoint: Annotated[
        Path | None,
        Parameter(
            help="Folder that keeps the state of the fit while the table is read. The same command continues from it "
            "after an interruption, with the same result. For methods that are fitted in passes, here or by workers "
            "(--engine dask)."
        ),
    ] = None
    scratch: Annotated[
        str,
        Parameter(
            help="Folder for a temporary binary copy of a text table, which is read in place of the text after the "
            "first pass; none: parse the text in each pass. Default: the folder of the system, if it has room."
        ),
    ] = "auto"

    engine: Annotated[EngineOptions, Parameter(parse=False)] = LOCAL

    def words(self) -> dict[str, Any]:
        """Return the options that are not the default, for a command line."""
        usual, where = StreamOptions(), vars(self.engine)
        own = {name: value for name, value in vars(self).items() if name != "engine" and value != getattr(usual, name)}
        return own | {name: value for name, value in where.items() if value != getattr(LOCAL, name)}

    @property
    def streams(self) -> bool:
        """Whether the table is to be read in blocks even if it fits in memory."""
        return self.stream or self.checkpoint is not None or self.engine.uses_cluster


NO_STREAM = StreamOptions()
