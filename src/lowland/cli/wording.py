"""Word the library's messages for the command line: options instead of parameters, and only advice it can offer."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..core.message import KNOWN_PAIRS, Configuration, Estimator, Message, Owner, Part, Setting

SCALED = "seuclidean"  # the metric of --scale
_RENAMED = {"n_neighbors": "neighbors", "n_components": "components", "random_state": "seed"}
_FUNCTIONS = ("compare", "dimension", "estimate", "novelty", "outliers", "report")  # called by commands
_OPTIONS: ContextVar[Callable[[], Iterable[str]]] = ContextVar("options", default=tuple)


@contextmanager
def command_options(options: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Set the options that messages may name, such as --neighbors; ``options`` is called when they are needed."""
    token = _OPTIONS.set(options)
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def in_words(text: str) -> str:
    """Return a message of the library worded for the running command; other texts are returned unchanged.

    >>> with command_options(lambda: ["--neighbors", "--metric", "--scale"]):
    ...     in_words(Message(Owner("outliers"), Setting("n_neighbors", 20), " must be less than 15"))
    ...     in_words(Message("use ", Setting("metric", "seuclidean")))
    '--neighbors 20 must be less than 15'
    'use --scale'
    >>> with command_options(lambda: ["--method", "--set"]):
    ...     in_words(Message("use ", Setting("landmarks", 500), " or ", Estimator("LandmarkMDS")))
    'use --set landmarks=500 or LandmarkMDS'
    """
    return text.worded(_word) if isinstance(text, Message) else text


def _word(part: Part) -> str | None:
    """Return the text of a part; None if this command has no option for it."""
    if isinstance(part, Owner):
        return "" if part.function in _FUNCTIONS else None
    options = frozenset(_OPTIONS.get()())
    if isinstance(part, Setting):
        return _option(part, options)
    if isinstance(part, Configuration) and options:
        return f"LOWLAND_{part.name.upper()}={part.value}"
    if isinstance(part, Estimator) and "--method" in options:
        from ..contract.method_table import METHODS

        return next((f"--method {row.name}" for row in METHODS if row.class_name == part.name), None)
    return None


def _option(setting: Setting, options: frozenset[str]) -> str | None:
    """Return the option that sets a parameter, with its value; None if there is none."""
    if (setting.name, setting.value) == ("metric", SCALED) and {"--metric", "--scale"} <= options:
        return "--scale"
    name = f"--{_RENAMED.get(setting.name, setting.name).replace('_', '-')}"
    value = "known" if setting.value == KNOWN_PAIRS else str(setting.value)
    if name in options:
        return name if setting.value in (..., True) else f"{name} {shlex.quote(value)}"
    if "--set" in options:
        return f"--set {setting.name}" + ("" if setting.value is ... else f"={shlex.quote(value)}")
    return None
