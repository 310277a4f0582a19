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


@dataclass(frozen=True)
class StopWords:
    """Words that are not counted: a language or a list.

    >>> rule = StopWords()
    >>> rule.accepts("english"), rule.accepts(["the", "of"]), rule.accepts("german"), rule.parse("the, of")
    (True, True, False, ['the', 'of'])
    """

    def accepts(self, value: Any) -> bool:
        """Tell whether the value names a list of scikit-learn's, or is one."""
        if isinstance(value, str):
            return value == "english"
        return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)

    def parse(self, text: str) -> Any:
        """Read a language, or words with commas between them."""
        return text if text == "english" else [word.strip() for word in text.split(",")]

    def describe(self) -> str:
        """Say what it takes."""
        return "'english' or a list of words"
