"""Limits of the parameters of steps: mappings of columns to types, and of transforms to columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...contract.parameters import Choice, ColumnList


@dataclass(frozen=True)
class ColumnTypes:
    """A type for some columns, by name.

    >>> rule = ColumnTypes(("number", "category"))
    >>> rule.accepts({"grade": "category"}), rule.accepts({"grade": "text"}), rule.parse("grade=category, x=number")
    (True, False, {'grade': 'category', 'x': 'number'})
    """

    names: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        """Tell whether the value maps column names to types."""
        return isinstance(value, dict) and all(isinstance(k, str) and v in self.names for k, v in value.items())

    def parse(self, text: str) -> dict[str, str]:
        """Read column=type with commas between them."""
        pairs = [item.strip().rpartition("=") for item in text.split(",")]
        found = {name.strip(): kind.strip() for name, _, kind in pairs}
        if not self.accepts(found) or not all(found):
            raise ValueError(text)
        return found

    def describe(self) -> str:
        """Say what it takes."""
        return f"a mapping of column names to types: {Choice(self.names).describe()}"


@dataclass(frozen=True)
class TransformTable:
    """Columns for each transform, by name or number; "all" stands for all columns of numbers.

    >>> rule = TransformTable(("log", "sqrt"))
    >>> rule.accepts({"log": ["crp"], "sqrt": "all"}), rule.accepts({"ln": ["crp"]}), rule.parse("log=crp,ferritin")
    (True, False, {'log': ['crp', 'ferritin']})
    """

    names: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        """Tell whether the value maps transforms to columns."""
        if not isinstance(value, dict) or not value:
            return False
        return all(name in self.names and (cols == "all" or ColumnList().accepts(cols)) for name, cols in value.items())

    def parse(self, text: str) -> dict[str, Any]:
        """Read one transform with its columns, such as log=crp,ferritin."""
        name, _, columns = text.partition("=")
        found = {name.strip(): "all" if columns.strip() == "all" else ColumnList().parse(columns)}
        if not self.accepts(found):
            raise ValueError(text)
        return found

    def describe(self) -> str:
        """Say what it takes."""
        return f"a mapping of transforms ({', '.join(self.names)}) to lists of columns, or to 'all'"
