"""Recognise tables of edges: two columns of names, or of numbers that name nodes, and perhaps one of weights."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from .table import Table

_ENDS = {  # names of the two columns
    *(
        ("from", "to"),
        ("source", "target"),
        ("src", "dst"),
        ("src", "dest"),
        ("source", "destination"),
        ("head", "tail"),
    ),
    *(
        ("citing", "cited"),
        ("follower", "followee"),
        ("sender", "receiver"),
        ("parent", "child"),
        ("voter", "candidate"),
    ),
    *(("node", "node"), ("vertex", "vertex"), ("u", "v"), ("von", "nach"), ("quelle", "ziel")),
}
_SHARED = 0.2  # share of the names of one column that also occur in the other, without such column names
_MAX_LENGTH = 200  # characters of a name with spaces; addresses, which have none, may be longer


def is_edge_list(table: Table) -> bool:
    """Return whether a table is a list of edges.

    It has two columns of nodes and at most one further column, of numbers. The nodes are named from and to, source and
    target, or the like; otherwise they are texts, many of which are in both columns.

    >>> from lowland.data.table import Table
    >>> is_edge_list(Table(pl.DataFrame({"from": ["a", "b"], "to": ["b", "c"], "weight": [1, 2]}), "links.csv"))
    True
    >>> is_edge_list(Table(pl.DataFrame({"title": ["a", "b"], "town": ["x", "y"]}), "shops.csv"))
    False
    """
    if table.n_columns not in (2, 3) or table.faults or table.roles or table.aside.width:
        return False
    first, second, *rest = table.frame.get_columns()
    if rest and not (rest[0].dtype.is_numeric() and not rest[0].null_count()):
        return False
    if not all(_may_name(column) for column in (first, second)):
        return False
    called = tuple(
        re.sub(r"[\W\d_]+$|[_ ]?(id|name|node)$", "", name.strip().lower()) for name in (first.name, second.name)
    )
    if called in _ENDS:
        return True
    if first.dtype != pl.String or second.dtype != pl.String:
        return False
    names, others = set(first.unique().to_list()), set(second.unique().to_list())
    return len(names & others) >= _SHARED * min(len(names), len(others)) and len(names | others) > 2


def _may_name(column: pl.Series) -> bool:
    """Return whether the cells may name nodes: short texts, addresses, or whole numbers, none missing."""
    if column.null_count():
        return False
    if column.dtype == pl.String:
        long = column.filter(column.str.len_chars() > _MAX_LENGTH)
        return not long.str.contains(r"\s").any()
    return column.dtype.is_integer()
