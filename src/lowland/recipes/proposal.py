"""A command line that reduces a table, with an option for each thing that stands in the way."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from ..core.command_line import command_line, name_after, stem_of
from ..data.cells import is_above_limit, is_below_limit
from ..data.column_names import is_label
from ..data.edge_lists import is_edge_list
from ..data.table import name_list

if TYPE_CHECKING:
    from ..data.inspection import Inspection, MatrixInspection
    from ..data.kinds import ColumnKind
    from ..data.table import Table

_LISTED = 12  # names of skewed columns in a command
NOTHING = "lowland demo"  # where there is nothing to reduce
ALL_LOGARITHMS = "log1p=all"
_LEAST_ROWS = 3
_MOST_LEVELS = 1000  # different values of a category; the time of FAMD grows with their square
_LEAST_CHARACTERS = 20  # of a text on average; shorter ones are names
_TEXTS_READ = 2000  # texts whose terms are counted for a proposal
_CONCEPTS, _FEW_CONCEPTS = 100, 10  # components before a map; with fewer, the first two are the map
_MOST_WORDS = 5  # different words in columns of numbers that are proposed as marks of missing values


def proposed_command(table: Table, found: Inspection, path: str, reading: Mapping[str, Any] | None = None) -> str:
    """Return a command line that reduces a table as it is.

    The identifier becomes ``--id``, the likeliest label ``--color``; columns in different units are scaled, missing
    values filled by probabilistic PCA, categories reduced by FAMD, and cells such as ``<0.5`` or ``n.d.`` read
    accordingly.

    Parameters
    ----------
    table, found : the table and its inspection.
    path : the file's name for the command.
    reading : options that the table was read with.

    Examples
    --------
    >>> import polars as pl
    >>> from lowland.data import Table, inspect_table
    >>> values = {"id": [7, 3, 9, 4], "crp": [0.1, None, 22.0, 3.0], "age": [30, 61, 47, 52], "sex": list("fmmf")}
    >>> table = Table(pl.DataFrame(values), "lab.csv")
    >>> print(proposed_command(table, inspect_table(table), "lab.csv"))
    lowland reduce lab.csv --missing ppca --id id --color sex --out lab-map.csv --model lab.lowland --report lab.html
    """
    if found.missing_pairs is not None:
        return _for_distances(found, path, reading or {})
    if is_edge_list(table):
        return command_line("pagerank", path, **(reading or {}), out=f"{stem_of(path)}-pagerank.csv")
    kinds, names = table.kinds(), set(table.names)
    vector = next((name for name, kind in kinds.items() if kind.proposed == "vector"), None)
    if vector is not None:
        return _for_vectors(kinds, found, path, vector, reading or {})
    id = next(iter(found.identifiers), None) or next((n for n, kind in kinds.items() if kind.kind == "id"), None)
    if id is None and not (reading or {}).get("image"):
        id = table.roles.get("image")  # the files of a folder of images
    if text := _texts_to_reduce(table, kinds):
        return _for_texts(table, found, path, text, id, reading or {})
    color = next((name for name in found.categories if found.reducible != [name] and name != id), None)
    color = color or _label_beside(table, kinds)
    marks, mended = _marks(kinds)
    drop = [
        name
        for name, kind in kinds.items()
        if name in names
        and name not in (id, color)
        and (_unusable(name, kind, found, mended) or _many(table, kind, name))
    ]
    used = {name: kind for name, kind in kinds.items() if name in names.difference(drop, (id, color))}
    transform = _transform(found, mended, drop=[*drop, id, color])
    numbers = [name for name, kind in used.items() if kind.kind == "number" and name not in found.constant]
    categories = [name for name, kind in used.items() if kind.kind == "category"]
    if table.n_rows < _LEAST_ROWS or not (numbers or categories):
        return NOTHING
    gaps = [name for name in numbers if kinds[name].missing or name in mended]
    return command_line(
        "reduce",
        path,
        method="famd" if categories else None,
        components=None if len(numbers) + len(categories) > 1 else 1,
        scale=(_dominated(table, found, transform) or bool(mended)) and not categories and len(numbers) > 1,
        drop=name_list(drop) if drop else None,
        **{**(reading or {}), **marks},
        transform=transform,
        missing="ppca" if gaps else None,
        missing_category="level" if any(kinds[name].missing for name in categories) else None,
        id=id,
        color=color,
        **output_files(path),
    )


def further_commands(table: Table, path: str, reading: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return commands for what a table is good for beside a reduction, by their purpose.

    Texts can be searched, and images of one kind have eigenfaces. Options that these commands do not take are left to
    the files themselves: nothing is proposed if the table was read with one (``reading``).

    >>> import polars as pl
    >>> from lowland.data import Table
    >>> texts = [f"the flow of cold air over wing number {i} of this plane, and its drag" for i in range(20)]
    >>> table = Table(pl.DataFrame({"text": texts}), "docs.jsonl")
    >>> print(further_commands(table, "docs.jsonl")["search"])
    lowland text index docs.jsonl --text text --out docs-index.lowland
    """
    given = {name for name, value in (reading or {}).items() if value not in (None, False, (), "")}
    if given - {"text"}:
        return {}
    stem = stem_of(path)
    if getattr(table, "image_shape", None) is not None:
        out, model = f"{stem}-eigenfaces.png", f"{stem}-eigenfaces.lowland"
        return {"eigenfaces": command_line("image", "eigenfaces", path, out=out, model=model)}
    kinds = table.kinds()
    text = _texts_to_reduce(table, kinds)
    if text is None:
        return {}
    id = next((name for name, kind in kinds.items() if kind.kind == "id" and name != text), None)
    column = None if table.roles.get("text") == text and "text" not in given else text
    return {"search": command_line("text", "index", path, text=column, id=id, out=f"{stem}-index.lowland")}


def command_for_matrix(found: MatrixInspection, path: str) -> str:
    """Return a command line that reduces a sparse matrix without making it dense."""
    components = max(1, min(2, found.n_rows, found.n_columns))
    return command_line("reduce", path, method="truncated_svd", components=components, **output_files(path))


def _transform(found: Inspection, mended: set[str], drop: Sequence[str | None]) -> str | None:
    """Return the logarithms to take; of all columns only if all of them have been seen as numbers."""
    if found.transform is None or not mended:
        left = [name for name in found.skewed if name not in drop]
        listed = found.transform not in (None, ALL_LOGARITHMS)
        return (f"log1p={name_list(left)}" if left else None) if listed else found.transform
    return f"log1p={name_list(found.skewed)}" if len(found.skewed) <= _LISTED else None


def _dominated(table: Table, found: Inspection, transform: str | None) -> bool:
    """Return whether one or two of the reduced columns hold most of the variance, after the logarithms if any."""
    from ..core.dominance import dominant_columns

    if transform is None or not found.dominated:  # logarithms leave no more to dominate
        return found.dominated
    spread = [_spread(table.column(name), logarithm=found.tails.shortens(name)) for name in found.reducible]
    largest = max(spread, default=0.0)
    return largest > 0 and dominant_columns([(own / largest) ** 2 for own in spread]) is not None


def _spread(column: pl.Series, *, logarithm: bool) -> float:
    """Return the standard deviation of the known values, or of their logarithms, as log1p takes them."""
    values = column.cast(pl.Float64).fill_nan(None).drop_nulls()
    deviation = ((values + 1).log() if logarithm else values).std()
    return deviation if isinstance(deviation, float) else 0.0


def _label_beside(table: Table, kinds: Mapping[str, ColumnKind]) -> str | None:
    """Return the likeliest label among the columns kept aside, such as the folders of images."""
    named = [name for name in table.aside.columns if is_label(name) and kinds[name].kind in ("number", "category")]
    return next(
        (name for name in (*named, *table.aside.columns) if name in named or kinds[name].kind == "category"), None
    )


def _unusable(name: str, kind: ColumnKind, found: Inspection, mended: set[str]) -> bool:
    """Return whether a column must be dropped by name; text, dates and empty columns are left out without that."""
    if kind.kind == "id":
        return name not in found.non_numeric  # further identifiers of numbers would be reduced
    return (name in found.faults and name not in mended) or name in found.infinite


def _many(table: Table, kind: ColumnKind, name: str) -> bool:
    """Return whether a category has too many different values for FAMD."""
    return kind.kind == "category" and table.column(name).n_unique() > _MOST_LEVELS


def _marks(kinds: Mapping[str, ColumnKind]) -> tuple[dict[str, Any], set[str]]:
    """Return the options that read stray cells, and the columns that they make numbers.

    A word with digits is not proposed as a mark of missing values: it may be a value in a form that was not read, such
    as 1,200, or a mistake. None is proposed if some cell is ambiguous, or for too many words.
    """
    stray = {name: {cell.cell.strip() for cell in kind.stray} for name, kind in kinds.items() if kind.stray}
    if any(cell.ambiguous for kind in kinds.values() for cell in kind.stray):
        return {}, set()
    limits = {cell for cells in stray.values() for cell in cells if is_below_limit(cell) or is_above_limit(cell)}
    read = {name for name, cells in stray.items() if all(map(_is_word, cells - limits))}
    words = sorted({cell for name in read for cell in stray[name]} - limits)
    if len(words) > _MOST_WORDS:
        return {}, set()
    cells = {cell for name in read for cell in stray[name]}
    options = {
        "na": name_list(words) if words else None,
        "below_limit": "half" if any(map(is_below_limit, cells)) else None,
        "above_limit": "limit" if any(map(is_above_limit, cells)) else None,
    }
    return {name: value for name, value in options.items() if value is not None}, read


def _is_word(cell: str) -> bool:
    """Return whether a cell may be a mark of missing values."""
    return not any(sign.isdigit() or sign in '\n"' for sign in cell)


def reading_marks(table: Table) -> dict[str, Any]:
    r"""Return the options that read the stray cells of columns of numbers, as a proposed command has them.

    >>> import io
    >>> from lowland.data import read
    >>> table = read(io.BytesIO(b"a,b\n1,<0.5\n2,n.d.\n3,7\n4,8\n5,9\n6,1\n7,2\n8,3\n9,4\n"), format="csv")
    >>> reading_marks(table)
    {'na': 'n.d.', 'below_limit': 'half'}
    """
    return _marks(table.kinds())[0]


def unread_columns(table: Table) -> list[str]:
    """Return the columns of numbers that a proposed command leaves out, since some cells are none."""
    kinds = table.kinds()
    _, read = _marks(kinds)
    return [name for name, kind in kinds.items() if kind.stray and name not in read]


def _texts_to_reduce(table: Table, kinds: Mapping[str, ColumnKind]) -> str | None:
    """Return the column with most text if a table has texts and no numbers to reduce, else None."""
    if any(kind.kind == "number" and not kind.proposed and name in table.names for name, kind in kinds.items()):
        return None
    role = table.roles.get("text")
    texts = [role] if role else [name for name, kind in kinds.items() if kind.kind == "text"]
    lengths = {name: int(table.column(name).cast(pl.String).str.len_chars().sum()) for name in texts}
    longest = max(lengths, key=lambda name: lengths[name], default=None)
    if longest is None or lengths[longest] < _LEAST_CHARACTERS * table.n_rows:
        return None
    return longest


def _for_texts(
    table: Table, found: Inspection, path: str, text: str, id: str | None, reading: Mapping[str, Any]
) -> str:
    """Return a command line that maps texts by their words: t-SNE of the leading concepts, or two of them if few."""
    from ..core.errors import LowlandError
    from ..methods.steps import EncodeTexts

    try:  # the terms of some texts are among those of all
        with warnings.catch_warnings(action="ignore"):
            step = EncodeTexts(columns=[text]).fit(table.with_aside().select(text).head(_TEXTS_READ))
        terms = len(step.names_out_)
    except LowlandError:
        terms = 0
    if table.n_rows < _LEAST_ROWS or terms < 2:
        return NOTHING
    color = next((name for name in found.categories if name not in (id, text)), None)
    concepts = min(_CONCEPTS, terms // 2, table.n_rows // 4)
    few = concepts < _FEW_CONCEPTS
    return command_line(
        "reduce",
        path,
        **{**reading, "text": reading.get("text") if table.roles.get("text") == text else text},
        texts="tfidf",
        pre=None if few else f"truncated_svd:{concepts}",
        method="truncated_svd" if few else "tsne",
        id=None if id == text else id,
        color=color,
        **output_files(path),
    )


def _for_vectors(
    kinds: Mapping[str, ColumnKind], found: Inspection, path: str, vector: str, reading: Mapping[str, Any]
) -> str:
    """Return a command line that reduces a column of vectors; the other columns name, describe and colour the rows."""
    named = [*found.identifiers, *(name for name, kind in kinds.items() if kind.kind == "id")]
    words = {**reading, "vector": vector}
    words["text"] = words.get("text") or next((name for name, kind in kinds.items() if kind.kind == "text"), None)
    color = next((name for name in found.categories if name not in named), None)
    return command_line("reduce", path, **words, id=next(iter(named), None), color=color, **output_files(path))


def _for_distances(found: Inspection, path: str, reading: Mapping[str, Any]) -> str:
    """Return a command line that maps a distance matrix."""
    return command_line("reduce", path, **distance_options(found.missing_pairs), **reading, **output_files(path))


def distance_options(missing_pairs: int | None) -> dict[str, Any]:
    """Return the options of `lowland reduce` for a distance matrix with this number of missing pairs.

    >>> distance_options(0)
    {'method': 'classical_mds', 'components': 2, 'set': ['metric=precomputed']}
    """
    method, settings = "classical_mds", ["metric=precomputed"]
    if missing_pairs:
        method, settings = "metric_mds", [*settings, "weights=known"]
    return {"method": method, "components": 2, "set": settings}


def output_files(path: str) -> dict[str, str]:
    """Return output file names derived from the table's."""
    stem = stem_of(path)
    return {"out": name_after(path, "map", ".csv"), "model": f"{stem}.lowland", "report": f"{stem}.html"}
