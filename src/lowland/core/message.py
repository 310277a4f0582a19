"""Messages as data: text with parts that Python and the command line word differently.

`str` of a message is its Python wording. The command line words the parts itself: the parameter ``n_neighbors=20``
becomes an option, and advice that it cannot offer is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


class Part:
    """A part of a message with more than one wording; `str` is the Python wording."""


@dataclass(frozen=True)
class Code(Part):
    """A value written as a Python expression.

    >>> str(Setting("weights", Code("~np.isnan(D)")))
    'weights=~np.isnan(D)'
    """

    text: str

    def __repr__(self) -> str:
        return self.text


KNOWN_PAIRS = Code("~np.isnan(D)")  # weights of 0 for the pairs whose distance is missing


@dataclass(frozen=True)
class Setting(Part):
    """A parameter, alone or with a value.

    >>> str(Setting("n_neighbors", 20)), str(Setting("metric", "cosine")), str(Setting("level"))
    ('n_neighbors=20', "metric='cosine'", 'level')
    """

    name: str
    value: Any = ...

    def __str__(self) -> str:
        return self.name if self.value is ... else f"{self.name}={self.value!r}"


SCALE, SCALED_METRIC = Setting("scale", True), Setting("metric", "seuclidean")  # both weight all columns equally


@dataclass(frozen=True)
class Configuration(Part):
    """A setting of the process; on the command line it is an environment variable.

    >>> str(Configuration("memory_limit", "2GB"))
    "lowland.config(memory_limit='2GB')"
    """

    name: str
    value: Any

    def __str__(self) -> str:
        return f"lowland.config({self.name}={self.value!r})"


@dataclass(frozen=True)
class Estimator(Part):
    """The class of a method.

    >>> str(Estimator("ProbabilisticPCA"))
    'ProbabilisticPCA'
    """

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Owner(Part):
    """The method or function at the start of a message; the command line omits functions, which repeat the command.

    An argument may follow the name of a function.

    >>> str(Owner("LLE")), str(Owner("report, Y")), Owner("report, Y").function
    ('LLE: ', 'report, Y: ', 'report')
    """

    name: str

    @property
    def function(self) -> str:
        """The name without the argument."""
        return self.name.partition(", ")[0]

    def __str__(self) -> str:
        return f"{self.name}: "


@dataclass(frozen=True)
class Item(Part):
    """A row, column or object by its number, counted from 0; the command line may use its name.

    >>> str(Item("object", 3))
    'object 3'
    """

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


@dataclass(frozen=True)
class CountedItem(Item):
    """A row by its number, which says how it counts; the command line names its line or identifier.

    >>> str(CountedItem("text", 3))
    'text 3 (counted from 0)'
    """

    def __str__(self) -> str:
        return f"{self.kind} {self.number} (counted from 0)"


@dataclass(frozen=True)
class Phrase(Part):
    """A phrase that names Python code, and the same in words for the command line.

    >>> str(Phrase("use (D + D.T) / 2", "replace both by their mean"))
    'use (D + D.T) / 2'
    """

    python: str
    words: str

    def __str__(self) -> str:
        return self.python


DENSE = Phrase("a dense array, X.toarray(),", "a dense table")


@dataclass(frozen=True, init=False)
class Remedies(Part):
    """Alternative remedies. The command line leaves out those that it does not offer.

    >>> str(Remedies("fill it", "leave the row out"))
    'fill it or leave the row out'
    >>> str(Remedies("fill it", "leave the row out", Message("use ", Estimator("ProbabilisticPCA"))))
    'fill it, leave the row out, or use ProbabilisticPCA'
    >>> str(Remedies("replace it by 0 or 1", "leave the row out"))
    'replace it by 0 or 1, or leave the row out'
    """

    actions: tuple[str | Message, ...]
    before: str = ""

    def __init__(self, *actions: str | Message, before: str = "") -> None:
        object.__setattr__(self, "actions", actions)
        object.__setattr__(self, "before", before)

    def __str__(self) -> str:
        return self.before + _either([str(action) for action in self.actions])

    def worded(self, word: Callable[[Part], str | None]) -> str:
        """Return the actions as worded by ``word``, without those that have a part for which it returns None."""
        texts = [text for text in (_wording(action, word) for action in self.actions) if text is not None]
        return self.before + _either(texts) if texts else ""


@dataclass(frozen=True, init=False)
class Advice(Part):
    """The end of a message, which says what to do; `Message.problem` is the message without it.

    >>> text = Message("t.csv: the bytes are not UTF-8", Advice("; use another ", Setting("encoding")))
    >>> print(text)
    t.csv: the bytes are not UTF-8; use another encoding
    >>> print(text.problem)
    t.csv: the bytes are not UTF-8
    """

    parts: tuple[str | Part, ...]

    def __init__(self, *parts: str | Part) -> None:
        object.__setattr__(self, "parts", tuple(inner for part in parts for inner in parts_of(part)))

    def __str__(self) -> str:
        return "".join(str(part) for part in self.parts)


class Message(str):
    """A text made of strings and parts; nested messages are flattened.

    >>> text = Message("LLE: ", Setting("n_neighbors", 20), " must be less than 15")
    >>> print(text)
    LLE: n_neighbors=20 must be less than 15
    >>> text.worded(lambda part: "--set n_neighbors=20" if isinstance(part, Setting) else None)
    'LLE: --set n_neighbors=20 must be less than 15'
    """

    parts: tuple[str | Part, ...]

    def __new__(cls, *parts: str | Part) -> Message:
        """Join the parts in their Python wording."""
        flat = tuple(inner for part in parts for inner in parts_of(part))
        self = super().__new__(cls, "".join(str(part) for part in flat))
        self.parts = flat
        return self

    def worded(self, word: Callable[[Part], str | None]) -> str:
        """Return the text as worded by ``word``; a part for which it returns None keeps its Python wording."""
        return "".join(_shown(part, word) for part in self.parts)

    @property
    def problem(self) -> Message:
        """The message without its `Advice`."""
        return Message(*(part for part in self.parts if not isinstance(part, Advice)))

    def settings(self) -> Iterator[Setting]:
        """Iterate over the parameters that the message names, including those in its advice."""
        for part in self.parts:
            if isinstance(part, Setting):
                yield part
            elif isinstance(part, Advice):
                yield from Message(*part.parts).settings()
            elif isinstance(part, Remedies):
                for action in part.actions:
                    yield from settings_of(action)


def message(text: str, **parameters: Any) -> Message:
    """Return a message in which ``{name}`` is the parameter of that name with its value, or, for ``...``, its name.

    >>> text = message("TSNE: {perplexity} must be at most {most}; raise {max_iter}", perplexity=50, max_iter=...)
    >>> print(text)
    TSNE: perplexity=50 must be at most {most}; raise max_iter
    >>> [part.name for part in text.settings()]
    ['perplexity', 'max_iter']
    """
    pieces = re.split(rf"\{{({'|'.join(parameters)})\}}", text)  # text, name, text, name, …, text
    return Message(*(Setting(piece, parameters[piece]) if i % 2 else piece for i, piece in enumerate(pieces)))


def parts_of(text: str | Part) -> tuple[str | Part, ...]:
    """Return the parts of a message; a plain text is its own only part."""
    return text.parts if isinstance(text, Message) else (text,)


def message_of(error: BaseException) -> str:
    """Return the message of an error or a warning: a `Message` with its parts if it is one, otherwise the text.

    >>> message_of(ValueError(Message("raise ", Setting("sample")))).parts
    ('raise ', Setting(name='sample', value=Ellipsis))
    """
    text = error.args[0] if error.args else ""
    return text if isinstance(text, Message) else str(error)


def settings_of(text: str) -> Iterator[Setting]:
    """Iterate over the parameters that a message names; a plain text has none.

    >>> Setting("scale", True) in settings_of(Message("use ", Setting("scale", True)))
    True
    """
    return text.settings() if isinstance(text, Message) else iter(())


def _either(texts: list[str]) -> str:
    if len(texts) == 2 and re.search(r"\bor\b", texts[0]):  # a comma shows where the second alternative begins
        return ", or ".join(texts)
    if len(texts) < 3:
        return " or ".join(texts)
    return f"{', '.join(texts[:-1])}, or {texts[-1]}"


def _shown(part: str | Part, word: Callable[[Part], str | None]) -> str:
    if isinstance(part, Remedies):
        return part.worded(word)
    if isinstance(part, Advice):
        return "".join(_shown(inner, word) for inner in part.parts)
    text = word(part) if isinstance(part, Part) else None
    return str(part) if text is None else text


def _wording(action: str | Message, word: Callable[[Part], str | None]) -> str | None:
    """Return an action as worded by ``word``, or None if ``word`` returns None for one of its parts."""
    texts = [part if isinstance(part, str) else word(part) for part in parts_of(action)]
    return None if None in texts else "".join(text for text in texts if text is not None)
