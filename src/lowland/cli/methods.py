"""`lowland methods`: list the methods of the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from ..contract import registry
from .answer import Answer
from .model import find_method
from .options import Common
from .wording import typed_values

if TYPE_CHECKING:
    from ..contract.parameters import Rule

KEYS = {
    "methods": "a list of name, class, family, needs, abilities, summary; with NAME also parameters "
    "(name, default, allowed)",
}

_KINDS = ("objects", "distances", "kernel", "categories")  # what `Method.needs` names besides rows


def methods(
    name: Annotated[str | None, Parameter(help="Show the parameters of this method.")] = None,
    /,
    *,
    common: Common | None = None,
) -> Answer:
    """List the methods, or the parameters of one.

    Example: lowland methods pca
    """
    if name is not None:
        return _one(find_method(name))
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "class", "family", "abilities", "what it does"):
        table.add_column(heading, overflow="fold", no_wrap=heading in ("name", "class"))
    rows = registry.methods()
    for row in rows:
        table.add_row(row.name, row.class_name, row.family, ", ".join(_abilities(row)), row.summary)
    facts = {"methods": [_describe(row) for row in rows]}
    return Answer(facts, f"There are {len(rows)} methods.", "lowland methods pca", shown=[table])


def _one(row: registry.Method) -> Answer:
    rules = _parameters(row)
    table = Table(box=None, pad_edge=False)
    for heading in ("parameter", "default", "allowed"):
        table.add_column(heading, overflow="fold")
    for rule in rules:
        table.add_row(rule["name"], str(rule["default"]), rule["allowed"])
    facts = {"methods": [{**_describe(row), "parameters": rules}]}
    summary = f"{row.class_name} has {len(rules)} parameters; set one with --set name=value. {row.summary}"
    return Answer(facts, summary, f"lowland reduce DATA.csv --method {row.name} --out embedding.csv", shown=[table])


def _abilities(row: registry.Method) -> list[str]:
    """List what a method can do, and what it takes besides rows of numbers."""
    takes = [kind for kind in _KINDS if kind in row.needs]
    return [*takes, *sorted(row.abilities)]


def _describe(row: registry.Method) -> dict[str, Any]:
    return {
        "name": row.name,
        "class": row.class_name,
        "family": row.family,
        "needs": row.needs,
        "abilities": sorted(row.abilities),
        "summary": row.summary,
    }


def _parameters(row: registry.Method) -> list[dict[str, Any]]:
    cls = row.load()
    defaults = cls().get_params(deep=False)
    rules = cls._parameters.items()
    return [{"name": name, "default": defaults[name], "allowed": _allowed(name, rule)} for name, rule in rules]


def _allowed(name: str, rule: Rule) -> str:
    """Describe the values that --set accepts for a parameter; `weights=known` exists on the command line only."""
    from ..contract.parameters import takes_array

    word = ", or known (the pairs whose distance is not missing)"
    return typed_values(rule) + (word if name == "weights" and takes_array(rule) else "")
