"""The kinds of figures that can be drawn, in all and of one model or map."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .answer import UsageError

if TYPE_CHECKING:
    from ..contract.reducer import Reducer

MAP, DRAWER = "map", "scatter"  # a map is called map on the command line; its function is scatter
OF_MAPS = ("quality_map", "shepard", "rnx")  # kinds that compare any map with its data


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows behind a map that was not made by a model, and their metric."""

    rows: Any
    metric: Any = "euclidean"


def check_kind(option: str, kind: str) -> None:
    """Raise `UsageError` for a kind of figure that does not exist."""
    names = all_kinds()
    if kind not in (*names, DRAWER):
        near = difflib.get_close_matches(kind, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"{option} {kind}: no such kind of figure{hint} Kinds: {', '.join(names)}")


def all_kinds() -> list[str]:
    """Return the names of all kinds of figures."""
    from ..plots.kinds import KINDS

    return [MAP, *(name for name in KINDS if name != DRAWER)]


def possible_kinds(source: Reducer | Rows | None) -> list[str]:
    """Return the kinds that can be drawn of a model, or of a map with or without its rows."""
    from ..plots import plot_kinds

    if source is None:
        return [MAP]
    if isinstance(source, Rows):
        return [MAP, *OF_MAPS]
    return [MAP if name == DRAWER else name for name in plot_kinds(source)]


def colors_rows(kind: str) -> bool:
    """Return whether figures of a kind colour rows by a column; only these take the name of its values."""
    import inspect

    from .. import plots

    return "color_name" in inspect.signature(getattr(plots, DRAWER if kind == MAP else kind)).parameters


def needs_rows(source: Reducer | Rows | None, kind: str) -> bool:
    """Return whether a kind can be drawn of a model only with the rows behind its map."""
    from ..plots.kinds import needing_rows

    if source is None or isinstance(source, Rows):
        return kind != MAP
    return needing_rows(source)[DRAWER if kind == MAP else kind]
