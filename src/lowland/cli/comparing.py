"""The `compare` command for the rows of a map, as `reduce` and `evaluate` suggest it, and names of rows in its page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.command_line import command_line
from .answer import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .input import Input
    from .options import KeepOptions, TableOptions


def compare_command(
    data: Path,
    columns: TableOptions,
    *,
    famd: bool,
    id: str | None = None,
    target: str | None = None,
    drop: Sequence[str] = (),
    scale: bool = False,
    **options: object,
) -> str:
    """Return the command that compares methods on the same rows.

    ``famd``: the map was made by FAMD. With steps before the method only --categories codes columns of text for the
    other methods, and scales the numbers.
    """
    words = {**columns.words(), "drop": [*columns.drop, *drop]}
    if famd and columns.recipe.needed and columns.recipe.categories is None and columns.recipe.texts is None:
        words["categories"] = "famd"
    scaled = scale and words["categories"] != "famd"
    return command_line("compare", data, **words, scale=scaled, id=id, target=target, **options)


def about_rows(given: Input, keep: KeepOptions, report: Path | None) -> dict[str, Any]:
    """Return what the report tells of each row: its name and the columns of --hover."""
    if keep.shown and report is None:
        raise UsageError("--hover requires a report: add --report FILE")
    named: dict[str, Any] = {"names": given.labels(), "names_title": given.id or "name"}
    if keep.shown and given.table is None:
        raise UsageError("--hover requires a table with column names")
    if given.table is not None:
        named["hover"] = {name: given.table.column(name) for name in keep.shown}
    return named
