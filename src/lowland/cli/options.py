"""Options that several commands share, each declared once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .name_lists import split_names
from .reading_options import ReadingOptions
from .recipe_options import RecipeOptions

HIDDEN = "_complete"  # the command that completion scripts call
_READING, _STEPS = ReadingOptions(), RecipeOptions()

COMPONENTS, METHOD, OUT = ("--components", "--n-components"), ("--method", "-m"), ("--out", "-o")  # long name first

DataFile = Annotated[
    Path,
    Parameter(
        help="Table to read: text (.csv, .tsv, .txt, also .gz, .zst), .parquet, .arrow, .json, .xlsx, .npy, .npz, "
        ".mtx, a folder of images or texts, a pattern such as 'part-*.csv', or - for standard input."
    ),
]
ModelIn = Annotated[Path, Parameter(help="Model file written by `lowland reduce --model`.")]
OutFile = Annotated[
    Path | None,
    Parameter(
        name=OUT,
        help="Write the result here: .csv, .tsv (also .gz), .parquet, .arrow, .xlsx, .npy or .npz. "
        "Default: CSV on stdout.",
    ),
]
ReportOut = Annotated[Path | None, Parameter(help="Write an HTML report here (one self-contained file).")]
ColorColumn = Annotated[
    str | None,
    Parameter(
        help="Column of group labels: colours the points of reports and figures and is copied to the output, not used "
        "as data."
    ),
]
IdColumn = Annotated[
    str | None, Parameter(name="--id", help="Column of row identifiers: copied to the output, not used as data.")
]
RowNames = Annotated[str | None, Parameter(name="--id", help="Column of row identifiers; not used as data.")]
QualityNeighbors = Annotated[
    int | None,
    Parameter(
        name=("--quality-neighbors", "--neighbors"),
        help="Number of neighbours in the measures of quality. Default: 10, or fewer for small tables.",
    ),
]
HoverColumns = Annotated[
    tuple[str, ...],
    Parameter(
        help="Columns to copy to the output, separated by commas; a report shows them while the pointer is over a "
        "point. A column that is data remains data.",
        show_default=False,
    ),
]
KeepColumns = Annotated[
    bool,
    Parameter(help="Write all columns of the table, followed by the coordinates.", show_default=False),
]


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """Options of every command."""

    json: Annotated[bool, Parameter(help="Print one JSON object on stdout.", show_default=False)] = False
    debug: Annotated[bool, Parameter(help="Show the traceback of an error.", show_default=False)] = False


@Parameter(name="*")
@dataclass(frozen=True)
class MethodOptions:
    """The method and its parameters."""

    method: Annotated[str, Parameter(name=METHOD, help="Method to use; `lowland methods` lists them.")] = "pca"
    components: Annotated[
        str | None,
        Parameter(
            name=COMPONENTS,
            help="Number of dimensions to keep. pca also accepts a fraction of the variance (such as 0.95), auto, mle, "
            "or none (all dimensions); ica and kernel_pca accept none; random_projection accepts auto. "
            "Default: 2; for random_projection, auto.",
        ),
    ] = None
    scale: Annotated[
        bool,
        Parameter(
            help="Scale each column to unit variance first, as --scaler standard does.",
            show_default=False,
        ),
    ] = False
    set: Annotated[
        tuple[str, ...],
        Parameter(
            help="Set a parameter of the method, as key=value; may be repeated. The parameter's own name works as an "
            "option, too: --n-neighbors 20. `lowland methods NAME` lists the parameters. A matrix is read from a file: "
            "weights=w.npy, init=start.csv; weights=known ignores missing distances.",
            show_default=False,
        ),
    ] = ()


@Parameter(name="*")
@dataclass(frozen=True)
class TableOptions:
    """How a table becomes rows: reading, columns, and steps before the method."""

    columns: Annotated[
        tuple[str, ...],
        Parameter(
            help="Columns to use, separated by commas; put a name that contains a comma in double quotes. "
            "Default: all numeric columns; famd and compare also use columns of text.",
            show_default=False,
        ),
    ] = ()
    drop: Annotated[
        tuple[str, ...], Parameter(help="Columns to exclude, in the same format as --columns.", show_default=False)
    ] = ()
    reading: ReadingOptions = _READING
    recipe: RecipeOptions = _STEPS

    def words(self) -> dict[str, Any]:
        """Return the options for a command line on the same rows."""
        return {"columns": self.columns, "drop": self.drop, **self.reading.words(), **self.recipe.words()}


@Parameter(name="*")
@dataclass(frozen=True)
class KeepOptions:
    """Columns to copy to the output that are not used as data."""

    color: ColorColumn = None
    id: IdColumn = None
    hover: HoverColumns = ()
    supplementary: Annotated[
        tuple[str, ...],
        Parameter(
            help="Columns that take no part in the fit, separated by commas. The output shows how they relate to the "
            "map: correlations with the axes or an arrow for numbers, the mean position of each level for categories, "
            "with r² and p.",
            show_default=False,
        ),
    ] = ()
    keep_columns: KeepColumns = False

    @property
    def shown(self) -> list[str]:
        """Names of the columns to show beside points."""
        return split_names(self.hover, "--hover") or []

    @property
    def laid(self) -> list[str]:
        """Names of the supplementary columns."""
        return split_names(self.supplementary, "--supplementary") or []

    @property
    def aside(self) -> tuple[str, ...]:
        """Names of the columns that are not used as data."""
        return (*(name for name in (self.id, self.color) if name is not None), *self.laid)
