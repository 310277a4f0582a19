"""The `compare` command for the rows of a map, as `reduce` and `evaluate` suggest it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..core.command_line import command_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .options import TableOptions


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
