"""`lowland info`: describe a table or a model file."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table as Grid
from rich.text import Text

from ..core.command_line import command_line
from ..core.errors import DataError, ModelFileError
from ..data.formats import READABLE, foreign_table, format_of_bytes, listed
from .answer import Answer
from .next_commands import transform_command
from .options import Common
from .other_models import OTHER_MODELS
from .outputs import is_table
from .reading_options import ReadingOptions
from .stray_cells import as_proposed
from .wording import in_words

if TYPE_CHECKING:
    from ..data.inspection import Inspection
    from ..data.kinds import ColumnKind
    from ..data.table import Table

KEYS = {
    "file": "the file that was read",
    "kind": '"table", "sparse matrix" or "model"',
    "contents": "table: n_rows, n_columns, types (by column), kinds (by column: kind, reason, proposed, missing, stray "
    "cells), missing and infinite (counts by column), names of columns that are empty, constant, non_numeric, "
    "categories, identifiers, row_numbers or duplicate_columns, dominant and dominant_pair (columns with most of the "
    "variance), duplicate_rows (their number), faults (text in columns of numbers), missing_pairs (null unless it is a "
    "distance matrix), skewed (columns that logarithms make less skewed), transform (value of "
    "--transform that takes them, or null), further (commands for texts or images, by purpose); sparse matrix: "
    "n_rows, n_columns, stored, density, missing, infinite, empty_rows, "
    "empty_columns; model: class, method, parameters, functions, format_version, lowland_version, feature_names, "
    "n_features, fit_info, arrays, objects, bytes, output, new_rows (file and "
    "options of `transform`, or null), steps (of a Pipeline: name, class, method, parameters and "
    "fit_info of each)",
}

_COLUMNS_SHOWN, _STRAY_SHOWN = 40, 3  # rows of the table of columns, and cells that are not numbers in each
_OTHERS_SHOWN = 20  # columns after those that are not complete numbers
_PROBLEMS_SHOWN = 3  # columns of numbers with text
_COMPOSED = ("Pipeline", "ColumnTransformer")  # their models have lines of their own
_STDIN = "standard input"
_LISTED = 12  # names in one line of the table; --json has all of them


def info(
    file: Annotated[Path, Parameter(help="Table (file, folder, pattern, or - for standard input) or model file.")],
    /,
    *,
    reading: ReadingOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Describe a table or a model file.

    Table: what each column is, missing values, cells that keep a column from being numeric, constant, dominant and
    duplicate columns, duplicate rows, and a command that reduces the file as it is. Model: method, parameters, columns,
    steps before the method, diagnostics of the fit.

    Example: lowland info iris.csv
    """
    options = reading or ReadingOptions()
    if not file.is_file() or is_table(file) or foreign_table(file) is not None or options.format is not None:
        return _table(file, options)  # its errors explain which formats can be read
    try:
        return _model(file)
    except ModelFileError as error:
        if file.suffix.lower() == ".lowland":
            raise
        with file.open("rb") as opened:
            if format_of_bytes(opened.read(16)) is not None:
                return _table(file, options)
        names = listed(READABLE)
        raise DataError(
            f"{error}; if it is a table, its name must end in one of {names}, or add its format, such as --format csv"
        ) from error


def _table(file: Path, reading: ReadingOptions) -> Answer:
    from ..core.formatting import count
    from ..data.arraytable import SparseTable
    from ..data.inspection import inspect_matrix, inspect_table
    from ..recipes.proposal import NOTHING, command_for_matrix, further_commands, proposed_command

    data = reading.read(file)
    if isinstance(data, SparseTable):
        matrix = inspect_matrix(data.matrix, file.name)
        facts = {"file": file, "kind": "sparse matrix", "contents": matrix.to_dict()}
        rows = [
            (name.removeprefix("n_").replace("_", " "), _text(value))
            for name, value in matrix.to_dict().items()
            if name != "source"
        ]
        summary = (
            f"{file.name} is a sparse matrix of {count(matrix.n_rows, 'row')} and {count(matrix.n_columns, 'column')}; "
            f"{100 * matrix.density:.3g} % of its entries are stored."
        )
        return Answer(facts, summary, command_for_matrix(matrix, str(file)), shown=[_grid(rows)])
    found = inspect_table(data)
    kinds = data.kinds()
    told = {name: {**vars(kind), "stray": [vars(cell) for cell in kind.stray]} for name, kind in kinds.items()}
    as_read, how = as_proposed(file, data, reading)
    judged = found if as_read is data else inspect_table(as_read)
    following = proposed_command(as_read, judged, str(file), how.words())
    further = {} if following.startswith("lowland pagerank") else further_commands(data, str(file), reading.words())
    facts = {"file": file, "kind": "table", "contents": found.to_dict() | {"kinds": told, "further": further}}
    edges = following.startswith("lowland pagerank")
    rows = [*_rows(found), *([] if edges else _skewed(judged, following))]
    rows += _unread(data, following)
    if getattr(data, "image_shape", None) is None and not edges:  # brightness is no code, nor are weights
        rows += _options(as_read, judged, following)
    rows += [("note", in_words(text)) for text in data.notes]
    rows += list(further.items())
    summary = _sentence(file, found, following == NOTHING)
    if following == NOTHING and any(kind.kind == "text" for kind in kinds.values()):
        from ..data.table import TEXTS_TO_NUMBERS

        summary += f" {in_words(TEXTS_TO_NUMBERS)}."
    return Answer(facts, summary, following, shown=[_columns(kinds), Text(), _grid(rows)])


def _unread(data: Table, following: str) -> list[tuple[str, str]]:
    """Return what the proposed command leaves out since it cannot be read without a choice."""
    from ..recipes.proposal import unread_columns

    names = unread_columns(data) if "--drop" in following else []
    if not names:
        return []
    return [
        ("left out below", f"{_names(names)}: cells that are not numbers (see the problems) must be read otherwise")
    ]


def _options(table: Table, found: Inspection, following: str) -> list[tuple[str, str]]:
    """Return the options that read columns of few different numbers as categories, and that use dates.

    Columns that the proposed command ``following`` keeps aside are no data.
    """
    from ..data.pixels import is_pixel
    from ..data.table import name_list

    aside = set(shlex.split(following))
    kinds = {name: kind for name, kind in table.kinds().items() if name in set(table.names)}
    codes = [] if _are_counts(kinds, found) else [n for n, kind in kinds.items() if kind.proposed == "category"]
    codes = [name for name in codes if name not in aside and not is_pixel(name)]
    famd = "" if "--method famd" in following else " --categories famd"
    dates = [name for name, kind in kinds.items() if kind.kind == "date"]
    gaps = " --missing-category level" if any(kinds[name].missing for name in codes) else ""
    rows = []
    if codes:
        chosen = shlex.quote(name_list(codes)) if len(codes) <= _LISTED else "COLUMNS"
        which = "" if len(codes) <= _LISTED else f"{_names(codes)}: "
        rows.append(("may be codes", f"{which}if they are, add --types category={chosen}{famd}{gaps}"))
    if dates:
        rows.append(("dates", f"{_names(dates)} (left out without --dates elapsed or --dates cyclic)"))
    if unclear := [name for name in dates if len(kinds[name].formats) > 1]:
        listed = name_list(unclear)
        day, month = (shlex.quote(f"{order}={listed}") for order in ("dmy", "mdy"))
        rows.append(("date order", f"add --types {day} if the day is first, --types {month} if the month is"))
    return rows


def _are_counts(kinds: dict[str, ColumnKind], found: Inspection) -> bool:
    """Return whether columns of few whole numbers are counts, since more have many: one kind of column in all."""
    few = sum(kind.proposed == "category" for kind in kinds.values())
    whole = sum(found.types[name] == "whole numbers" for name in kinds)
    return few > _LISTED and whole > 2 * few


def _columns(kinds: dict[str, ColumnKind]) -> Grid:
    """Return a table of what each column is: the first columns, and later ones that are not plain numbers."""
    grid = Grid(box=None, pad_edge=False)
    for heading in ("column", "kind", "missing", "why"):
        justify: Any = "right" if heading == "missing" else "left"
        grid.add_column(heading, justify=justify, overflow="fold", no_wrap=heading == "kind")
    names = list(kinds)
    others = [name for name in names[_COLUMNS_SHOWN:] if _not_plain(kinds[name])][:_OTHERS_SHOWN]
    for name, kind in ((name, kinds[name]) for name in (*names[:_COLUMNS_SHOWN], *others)):
        why = kind.reason
        for cell in kind.stray[:_STRAY_SHOWN]:
            where = "" if cell.line is None else f"line {cell.line}: "
            why += f"\n{where}{cell.cell!r}" + (f" ({cell.count} times)" if cell.count > 1 else "")
        grid.add_row(name, kind.kind, f"{kind.missing:,}" if kind.missing else "", why)
    more = Counter(kinds[name].kind for name in names[_COLUMNS_SHOWN:] if name not in others)
    for word, number in more.items():
        grid.add_row(f"… {number:,} more", word, "", "")
    return grid


def _not_plain(kind: ColumnKind) -> bool:
    """Return whether a column is not numbers without gaps."""
    return kind.kind != "number" or bool(kind.missing or kind.stray)


def _rows(found: Inspection) -> list[tuple[str, str]]:
    from ..core.formatting import count

    rows = [("rows", f"{found.n_rows:,}"), ("columns", f"{found.n_columns:,}")]
    if found.missing_pairs is not None:
        rows.append(("distance matrix", f"{found.n_rows:,} objects, {_pairs(found)}"))
        return [*rows, ("missing", _counts(found.missing))]
    rows.append(("infinite", _counts(found.infinite)))
    rows.append(("constant", _names(found.constant)))
    if found.dominated:
        columns, share = _dominating(found)
        rows.append(("dominant", f"{columns} ({share} of the variance)"))
    twins = [f"{name} = {first}" for name, first in found.duplicate_columns.items()]
    rows += [("duplicate columns", _names(twins)), ("duplicate rows", f"{found.duplicate_rows:,}")]
    if found.row_numbers is not None:
        rows.append(("row numbers", found.row_numbers))
    named = [name for name in found.identifiers if name != found.row_numbers]
    if named:
        rows.append(("identifiers", _names(named)))
    if found.categories:
        rows.append(("labels", _names([f"{name} ({n} values)" for name, n in found.categories.items()])))
    rows += [("problem", in_words(text)) for text in list(found.faults.values())[:_PROBLEMS_SHOWN]]
    more = len(found.faults) - _PROBLEMS_SHOWN
    return [*rows, ("", f"{count(more, 'more column')} with such cells")] if more > 0 else rows


def _sentence(file: Path, found: Inspection, nothing: bool) -> str:
    """List the problems for a reduction, or report that there are none."""
    from ..core.formatting import count

    name = _STDIN if str(file) == "-" else file.name
    if found.missing_pairs is not None:
        return f"{name} is a distance matrix of {found.n_rows:,} objects, {_pairs(found)}."
    problems = [
        (len(found.missing), "column", " with missing values"),
        (len(found.infinite), "column", " with infinite values"),
        (len(found.faults), "column", " with text among numbers"),
        (len(found.constant), "constant column", ""),
        (len(found.duplicate_columns), "duplicate column", ""),
        (found.duplicate_rows, "duplicate row", ""),
    ]
    said = [count(n, noun) + more for n, noun, more in problems if n]
    if found.dominated:
        columns, share = _dominating(found)
        said.append(f"{columns} {'holds' if found.dominant else 'hold'} {share} of the variance")
    numbers = [name for name in found.identifiers if name not in {found.row_numbers, *found.non_numeric}]
    if numbers:
        looks = "looks like a row identifier" if len(numbers) == 1 else "look like row identifiers"
        said.append(f"{_names(numbers)} {looks}")
    text = f"{name} has {count(found.n_rows, 'row')} and {count(found.n_columns, 'column')}"
    text += f": {', '.join(said)}" if said else ""
    if nothing:
        cause = f" First problem: {in_words(next(iter(found.faults.values())))}." if found.faults else ""
        needed = "three rows, and columns of numbers or categories that vary"
        return f"{text}; there is nothing to reduce: a reduction needs {needed}.{cause}"
    return f"{text}." if said else f"{text}; no problems found."


def _skewed(found: Inspection, following: str) -> list[tuple[str, str]]:
    if not found.skewed:
        return []
    text = f"{_names(found.skewed)}: a few large values may decide a map; logarithms (--transform log1p=…) shorten them"
    return [("skewed", text + (", see below" if "--transform" in shlex.split(following) else ""))]


def _dominating(found: Inspection) -> tuple[str, str]:
    """Return the columns with most of the variance, and their share, as text."""
    from ..core.formatting import format_share

    top: tuple[Any, ...] = found.dominant or found.dominant_pair or ("none", 0.0)
    return " and ".join(top[:-1]), format_share(top[-1])


def _pairs(found: Inspection) -> str:
    """Report how many pairs of a distance matrix are missing."""
    whole = found.n_rows * (found.n_rows - 1) // 2
    if not found.missing_pairs:
        return f"no missing values among {whole:,} pairs"
    return f"{found.missing_pairs:,} of {whole:,} pairs missing"


def _model(file: Path) -> Answer:
    from ..contract.reducer import FitInfo
    from ..core.formatting import format_bytes
    from ..modelfile import describe

    held = describe(file)
    names, fit = held["feature_names"], held["fit_info"]
    rows = [
        ("method", f"{held['class']} ({held['method']})" if held["method"] else held["class"]),
        ("input", _takes(held) + (f": {_names(names)}" if names else "")),
        *((f"step {step['name']}", _step(step)) for step in held["steps"]),
        *([] if held["steps"] else [("parameters", _settings(held["parameters"]))]),
        *((f"fit: {name}", text) for name, text in (FitInfo.from_dict(fit).rows()[1:] if fit else ())),
        *((f"array {name}", _array(array)) for name, array in held["arrays"].items() if not held["steps"]),
        ("format", f"{held['format_version']}, written by Lowland {held['lowland_version']}"),
        ("size", format_bytes(held["bytes"])),
    ]
    facts = {"file": file, "kind": "model", "contents": held}
    what = f"a fitted {held['class']}"
    if held["steps"]:
        *before, last = held["steps"]
        what = f"a fitted {last['class']}" + (
            f" after the steps {', '.join(s['name'] for s in before)}" if before else ""
        )
    summary = f"{file.name} is {what}, for {_takes(held)}.{_training_data(held)}"
    following = transform_command(file, held["new_rows"])
    if (other := OTHER_MODELS.get(held["class"])) is not None:
        following = command_line(other.command, file, other.argument)
    if held["functions"]:
        function = held["functions"][0]
        summary += (
            f" Its {function} is a Python function, which a model file cannot store, so the command line cannot use "
            f"this model; in Python: lowland.load({str(file)!r}, {function}=…)."
        )
        following = command_line("methods", *([held["method"]] if held["method"] else []))
    return Answer(facts, summary, following, shown=[_grid(rows)])


def _takes(held: dict[str, Any]) -> str:
    """Describe the input of the model: rows of numbers, pairwise values, or objects."""
    from ..core.formatting import count

    if held["class"] in OTHER_MODELS:
        return OTHER_MODELS[held["class"]].takes
    if held["objects"]:
        return f"objects compared by its {held['functions'][0] if held['functions'] else 'function'}"
    if held["n_features"] is None:
        return "rows of a table"
    for name, what in (("metric", "distances to"), ("kernel", "kernel values with")):
        if held["parameters"].get(name) == "precomputed":
            return f"rows of {what} the {count(held['n_features'], 'training object')}"
    return f"rows of {count(held['n_features'], 'column')}"


def _training_data(held: dict[str, Any]) -> str:
    """Report whether a file contains training data, which matters before sharing it."""
    from ..core.formatting import count

    if held["objects"]:
        return f" The file contains the {count(held['objects'], 'training object')}."
    arrays = {name.rpartition("anchors_")[1] + name.rpartition("anchors_")[2]: a for name, a in held["arrays"].items()}
    rows = arrays.get("anchors_", {"shape": [0]})["shape"]
    if "anchors_.indptr" in arrays:  # sparse ones
        rows = [arrays["anchors_.indptr"]["shape"][0] - 1, held["n_features"]]
    if len(rows) == 2 and rows[0]:
        return f" The file contains the {count(rows[0], 'training row')}."
    return ""


def _step(step: dict[str, Any]) -> str:
    """Return the class of a step and the parameters that are set."""
    given = {name: value for name, value in step["parameters"].items() if value is not None}
    return f"{step['class']}({_settings(given)})" if step["class"] not in _COMPOSED else step["class"]


def _settings(given: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in given.items())


def _array(array: dict[str, Any]) -> str:
    return f"{array['dtype']} {' × '.join(map(str, array['shape']))}"


def _grid(rows: list[tuple[str, str]]) -> Grid:
    grid = Grid(box=None, show_header=False, pad_edge=False)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in rows:
        grid.add_row(name, text)
    return grid


def _names(names: list[str]) -> str:
    if not names:
        return "none"
    more = f", … ({len(names):,} in all)" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _counts(counts: dict[str, int]) -> str:
    return _names([f"{name} ({n:,})" for name, n in counts.items()])


def _text(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
