"""Limits of parameters, declared once as data: Python checks, command-line values and help texts come from here."""

from __future__ import annotations

import difflib
import math
import numbers
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..core.message import Message, Owner, Part, Setting


@dataclass(frozen=True)
class Allowed(Part):
    """The values that a rule allows; the command line describes them as they are typed.

    >>> str(Allowed(AnyOf((Nothing(), Choice(("auto",))))))
    "None, or 'auto'"
    """

    rule: Rule

    def __str__(self) -> str:
        return self.rule.describe()


class Rule(Protocol):
    """A set of allowed values that can check a value, read one from text and describe itself."""

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        ...

    def parse(self, text: str) -> Any:
        """Read a value from text; ValueError if the text is none of the allowed values."""
        ...

    def describe(self) -> str:
        """Say in words what is allowed."""
        ...


@dataclass(frozen=True)
class Choice:
    """One of a few names.

    >>> Choice(("dense", "krylov")).describe()
    "'dense' or 'krylov'"
    """

    names: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is one of the names."""
        return isinstance(value, str) and value in self.names

    def parse(self, text: str) -> str:
        """Read a name."""
        if text not in self.names:
            raise ValueError(text)
        return text

    def describe(self) -> str:
        """List the names."""
        return " or ".join(repr(n) for n in self.names)


@dataclass(frozen=True)
class Integer:
    """A whole number from ``low`` up, to ``high`` where there is an upper limit; ``most`` describes one that data set.

    >>> Integer(1).accepts(7), Integer(1, 3).accepts(7), Integer(1, 3).describe()
    (True, False, 'a whole number from 1 to 3')
    """

    low: int = 0
    high: int | None = None
    most: str = ""

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is such a number."""
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            return False
        return int(value) >= self.low and (self.high is None or int(value) <= self.high)

    def parse(self, text: str) -> int:
        """Read a whole number."""
        value = int(text)
        if not self.accepts(value):
            raise ValueError(text)
        return value

    def describe(self) -> str:
        """Say the limits."""
        if self.most:
            return f"between {self.low} and {self.most} (a whole number)"
        return f"a whole number ≥ {self.low}" if self.high is None else f"a whole number from {self.low} to {self.high}"


@dataclass(frozen=True)
class Integers:
    """A tuple or list of whole numbers from ``low`` up, of a given length if there is one.

    >>> Integers(2).accepts((20, 30)), Integers(2).accepts((20, 1)), Integers(2, length=2).parse("20x30")
    (True, False, (20, 30))
    """

    low: int = 0
    length: int | None = None

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is a sequence of such numbers."""
        if not isinstance(value, tuple | list) or self.length not in (None, len(value)):
            return False
        return all(Integer(self.low).accepts(item) for item in value)

    def parse(self, text: str) -> tuple[int, ...]:
        """Read numbers with commas or crosses between them, such as 20x30; an empty text is no number at all."""
        words = text.strip("()[] ").replace("x", ",").split(",")
        value = tuple(int(word) for word in words if word.strip())
        if not self.accepts(value):
            raise ValueError(text)
        return value

    def describe(self) -> str:
        """Say how many, and the lower limit."""
        count = "whole numbers" if self.length is None else f"{self.length} whole numbers"
        return f"a tuple of {count} ≥ {self.low}"


@dataclass(frozen=True)
class Real:
    """A finite number between two limits, both left out unless ``closed``. One that is infinite is no limit.

    With ``infinite`` infinity is a value, too.

    >>> Real(0, 1).accepts(0.0), Real(0, closed=True).accepts(0.0), Real(0, closed=True).describe()
    (False, True, 'a number in [0, inf)')
    """

    low: float = -math.inf
    high: float = math.inf
    closed: bool = False
    infinite: bool = False

    def accepts(self, value: Any) -> bool:
        """Tell whether the value lies between the limits."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
            return self.infinite and isinstance(value, numbers.Real) and float(value) == math.inf
        x = float(value)
        return self.low <= x <= self.high if self.closed else self.low < x < self.high

    def parse(self, text: str) -> float:
        """Read a number."""
        value = float(text)
        if not self.accepts(value):
            raise ValueError(text)
        return value

    def describe(self) -> str:
        """Say the limits."""
        first = "[" if self.closed and self.low > -math.inf else "("
        last = "]" if self.infinite or (self.closed and self.high < math.inf) else ")"
        return f"a number in {first}{self.low:g}, {self.high:g}{last}"


@dataclass(frozen=True)
class Boolean:
    """Yes or no.

    >>> Boolean().accepts(1), Boolean().parse("yes")
    (False, True)
    """

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is a boolean (NumPy's too)."""
        return isinstance(value, bool) or type(value).__name__ == "bool"

    def parse(self, text: str) -> bool:
        """Read true/false, yes/no, on/off, 1/0."""
        known = {
            "true": True,
            "yes": True,
            "on": True,
            "1": True,
            "false": False,
            "no": False,
            "off": False,
            "0": False,
        }
        try:
            return known[text.lower()]
        except KeyError:
            raise ValueError(text) from None

    def describe(self) -> str:
        """Name both."""
        return "true or false"


@dataclass(frozen=True)
class Off:
    """False: an option that is turned off, beside rules for its other values.

    >>> Off().accepts(False), Off().accepts(True), Off().parse("no")
    (True, False, False)
    """

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is False (NumPy's too)."""
        return Boolean().accepts(value) and not value

    def parse(self, text: str) -> bool:
        """Read false, no, off, 0."""
        if Boolean().parse(text):
            raise ValueError(text)
        return False

    def describe(self) -> str:
        """Say False."""
        return "False"


@dataclass(frozen=True)
class Nothing:
    """None.

    >>> Nothing().accepts(None), Nothing().accepts(0)
    (True, False)
    """

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is None."""
        return value is None

    def parse(self, text: str) -> None:
        """Read the word none."""
        if text.lower() != "none":
            raise ValueError(text)

    def describe(self) -> str:
        """Say None."""
        return "None"


@dataclass(frozen=True)
class Seed:
    """What seeds a random generator: a whole number, or NumPy's generator objects.

    >>> Seed().accepts(7), Seed().accepts(-1), Seed().parse("7")
    (True, False, 7)
    """

    def accepts(self, value: Any) -> bool:
        """Tell whether the value can seed; generators of other libraries cannot."""
        known = sys.modules.get("numpy.random")  # who has a generator of NumPy has loaded it
        return Integer(0).accepts(value) or (
            known is not None and isinstance(value, known.Generator | known.RandomState)
        )

    def parse(self, text: str) -> int:
        """Read a whole number."""
        return Integer(0).parse(text)

    def describe(self) -> str:
        """Say what can seed."""
        return "a whole number ≥ 0 (or a Generator or RandomState of numpy.random)"


@dataclass(frozen=True)
class AnyOf:
    """A value that one of several rules allows.

    >>> count = AnyOf((Nothing(), Integer(1)))
    >>> count.parse("none"), count.parse("3"), count.describe()
    (None, 3, 'None, or a whole number ≥ 1')
    """

    rules: tuple[Rule, ...]

    def accepts(self, value: Any) -> bool:
        """Tell whether some rule allows the value."""
        return any(rule.accepts(value) for rule in self.rules)

    def parse(self, text: str) -> Any:
        """Read by the first rule that can."""
        for rule in self.rules:
            try:
                return rule.parse(text)
            except ValueError:
                continue
        raise ValueError(text)

    def describe(self) -> str:
        """Join the descriptions."""
        return ", or ".join(rule.describe() for rule in self.rules)


@dataclass(frozen=True)
class FunctionRule:
    """A function of the user's, such as a kernel or a metric.

    >>> FunctionRule().accepts(max), FunctionRule().accepts("max")
    (True, False)
    """

    def accepts(self, value: Any) -> bool:
        """Tell whether the value can be called."""
        return callable(value)

    def parse(self, text: str) -> Any:
        """Refuse: text names no function."""
        raise ValueError(text)

    def describe(self) -> str:
        """Say what it takes."""
        return "a function of two objects or two blocks"


@dataclass(frozen=True)
class ArrayRule:
    """An array of numbers, such as a start or weights, checked against the data when the fit begins.

    >>> ArrayRule().accepts([[0.0, 1.0], [2.0, 3.0]]), ArrayRule().accepts([0.0, 1.0])
    (True, False)
    """

    def accepts(self, value: Any) -> bool:
        """Tell whether the value looks like a matrix that is not sparse."""
        if isinstance(value, list):
            return bool(value) and all(isinstance(row, list | tuple) and len(row) == len(value[0]) for row in value)
        return len(getattr(value, "shape", ())) == 2 and not hasattr(value, "toarray")

    def parse(self, text: str) -> Any:
        """Refuse: text holds no matrix. It may name a file that does, which is for the command line to read."""
        raise ValueError(text)

    def describe(self) -> str:
        """Say what it takes."""
        return "a dense matrix"


@dataclass(frozen=True)
class LandmarkRule:
    """How many landmarks: None (exact), "auto", a number, or a strategy and a number such as "uniform:500".

    >>> rule = LandmarkRule(("uniform",))
    >>> rule.parse("500"), rule.parse("uniform:500"), rule.accepts("far:500")
    (500, 'uniform:500', False)
    """

    strategies: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        """Tell whether the value asks for landmarks in one of these ways."""
        if not isinstance(value, str):
            return value is None or Integer(2).accepts(value)
        name, colon, number = value.partition(":")
        counted = not colon or (number.isdecimal() and int(number) >= 2)
        return value == "auto" or (name in self.strategies and counted)

    def parse(self, text: str) -> int | str | None:
        """Read any of the forms."""
        value = None if text.lower() == "none" else int(text) if text.isdecimal() else text
        if not self.accepts(value):
            raise ValueError(text)
        return value

    def describe(self) -> str:
        """List the forms."""
        named = ", ".join(f"'{name}:500'" for name in self.strategies)
        return f"None (exact), 'auto', a whole number ≥ 2, or a strategy with a number: {named}"


RANDOM_STATE: Rule = AnyOf((Nothing(), Seed()))


def check(owner: str, rules: Mapping[str, Rule], values: Mapping[str, Any]) -> None:
    """Raise ValueError for the first value that its rule does not allow."""
    for name, rule in rules.items():
        if not rule.accepts(values[name]):
            raise ValueError(_refusal(owner, name, rule, values[name]))


def parse(owner: str, rules: Mapping[str, Rule], name: str, text: str) -> Any:
    """Read the value of one parameter from text, as given to ``--set name=text``."""
    if name not in rules:
        raise ValueError(f"{owner} has no parameter {name!r}; it has {', '.join(sorted(rules))}")
    try:
        return rules[name].parse(text)
    except ValueError:
        raise ValueError(_refusal(owner, name, rules[name], text)) from None


def takes_array(rule: Rule | None) -> bool:
    """Tell whether a rule allows matrices, perhaps among other values."""
    return ArrayRule() in (rule, *getattr(rule, "rules", ()))


def told(value: Any) -> Any:
    """Return a parameter's value as it is shown to people: of a matrix its shape and type.

    >>> import numpy as np
    >>> told("euclidean"), told(np.zeros((3, 2)))
    ('euclidean', 'array 3 × 2 of float64')
    """
    if len(getattr(value, "shape", ())) == 0:
        return value
    return f"array {' × '.join(map(str, value.shape))} of {value.dtype}"


def _refusal(owner: str, name: str, rule: Rule, value: Any) -> str:
    """Say what is allowed, and which name was probably meant; a name that others use gets ours and no list."""
    for part in (rule, *getattr(rule, "rules", ())):
        ours = part.elsewhere(value) if isinstance(value, str) and hasattr(part, "elsewhere") else None
        if ours is not None:
            ours = replace(ours, name=name) if isinstance(ours, Setting) else ours
            return Message(Owner(owner), Setting(name, value), " is not known by that name; use ", ours)
    near = difflib.get_close_matches(str(value).lower(), choices(rule), n=1) if isinstance(value, str) else []
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return Message(Owner(owner), Setting(name), " must be ", Allowed(rule), f"; got {value!r}{hint}")


def choices(rule: Rule) -> list[str]:
    """Return the names that a rule allows."""
    if isinstance(rule, Choice):
        return list(rule.names)
    return [name for part in getattr(rule, "rules", ()) for name in choices(part)]


@dataclass(frozen=True)
class ColumnList:
    """Columns by name or number.

    >>> ColumnList().accepts(["year", 3]), ColumnList().parse('year, "town, old"')
    (True, ['year', 'town, old'])
    """

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is a list of names or numbers."""
        return isinstance(value, list | tuple) and all(isinstance(v, str) or Integer(0).accepts(v) for v in value)

    def parse(self, text: str) -> list[str]:
        """Read names with commas between them; one with a comma stands in quotes."""
        import csv

        names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
        if not names or not all(names):
            raise ValueError(text)
        return names

    def describe(self) -> str:
        """Say what it takes."""
        return "a list of column names or numbers"
