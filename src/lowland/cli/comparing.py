"""The `compare` command for the rows of a map, as `reduce` and `evaluate` suggest it, and names of rows in its page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .answer import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .input import Input
    from .next_commands import SameRows
    from .options import KeepOptions


def compare_command(
    rows: SameRows,
    *,
    famd: bool,
    drop: Sequence[str] = (),
    scale: bool = False,
    **options: Any,
) -> str:
    """Return the command that compares methods on the same rows.

    ``famd``: the map was made by FAMD. With steps before the method only --categories codes columns of text for the
    other methods, and scales the numbers.
    """
    recipe = rows.columns.recipe
    categories = recipe.categories
    if famd and recipe.needed and categories is None and recipe.texts is None:
        categories = "famd"
    scaled = scale and categories != "famd"
    return rows.command("compare", drop=drop, categories=categories, scale=scaled, **options)


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
