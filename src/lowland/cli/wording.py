"""Word the library's messages for the command line: options instead of parameters, and only advice it can offer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from ..core.message import KNOWN_PAIRS, Configuration, Estimator, Message, Owner, Part, Phrase, Setting

if TYPE_CHECKING:
    from ..contract.parameters import Rule

SCALED = "seuclidean"  # the metric of --scale
_SCALING = (f"metric={SCALED}", "scale=True")
_GIVEN = re.compile(r"\(([a-z_]+=[^(),=]+(?:, [a-z_]+=[^(),=]+)*)\)")
_RENAMED = {  # parameter → options, of which a command has one
    "n_neighbors": ("quality-neighbors", "neighbors"),
    "n_components": ("components",),
    "random_state": ("seed",),
    "groups": ("target",),
    "target": ("target", "link-target"),
}
_KINDS = {"number", "category", "date", "dmy", "mdy"}  # of --types
# Functions that commands call:
_FUNCTIONS = (
    "column_groups",
    "compare",
    "denoise",
    "dimension",
    "downstream",
    "estimate",
    "fit_sample",
    "hits",
    "novelty",
    "outliers",
    "pagerank",
    "recipe",
    "report",
    "search",
    "supplementary",
    "transform_file",
)
_MOST = {"min(n_samples, n_features)": "the number of rows or of columns, whichever is smaller"}
_OPTIONS: ContextVar[Callable[[], Iterable[str]]] = ContextVar("options", default=tuple)


@contextmanager
def command_options(options: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Set the options that messages may name, such as --neighbors; ``options`` is called when they are needed."""
    token = _OPTIONS.set(options)
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def candidate_words(text: str) -> str:
    """Return a text with the parameters of candidates, in brackets after their names, as options.

    >>> candidate_words("t-SNE (metric=seuclidean) is tied with isomap(scale=True, n_neighbors=5)")
    't-SNE (--scale) is tied with isomap(--scale --n-neighbors 5)'
    """
    return _GIVEN.sub(lambda found: f"({' '.join(map(_option_of, found[1].split(', ')))})", in_words(text))


def _option_of(given: str) -> str:
    """Return ``name=value`` as it is typed."""
    name, _, value = given.partition("=")
    if given in _SCALING:
        return "--scale"
    return f"--{name.replace('_', '-')}" + ("" if value == "True" else f" {value}")


def has_option(name: str) -> bool:
    """Return whether the running command has an option."""
    return name in frozenset(_OPTIONS.get()())


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
    if isinstance(part, Phrase):
        return part.words
    if isinstance(part, Setting | Configuration | Estimator):
        return _named(part)
    from ..contract.parameters import Allowed

    return typed_values(part.rule) if isinstance(part, Allowed) else None


def _named(part: Setting | Configuration | Estimator) -> str | None:
    """Return the option, the environment variable or the method of a part; None if this command has none."""
    options = frozenset(_OPTIONS.get()())
    if isinstance(part, Setting):
        return _option(part, options)
    if isinstance(part, Configuration) and options:
        return f"LOWLAND_{part.name.upper()}={part.value}"
    if isinstance(part, Estimator) and "--method" in options:
        from ..contract.method_table import METHODS

        return next((f"--method {row.name}" for row in METHODS if row.class_name == part.name), None)
    return None


def typed_values(rule: Rule) -> str:
    """Describe the values of a rule as they are typed: without quotes, functions and generator objects.

    >>> from ..contract.parameters import AnyOf, Choice, FunctionRule, Nothing, Seed
    >>> typed_values(AnyOf((Nothing(), Choice(("rbf", "linear")), FunctionRule(), Seed())))
    'none, or rbf or linear, or a whole number ≥ 0'
    """
    from ..contract import parameters as rules

    if isinstance(rule, rules.AnyOf):
        return ", or ".join(typed_values(part) for part in rule.rules if not isinstance(part, rules.FunctionRule))
    if isinstance(rule, rules.Integer) and rule.most in _MOST:
        return f"a whole number from {rule.low} to {_MOST[rule.most]}"
    if isinstance(rule, rules.Choice):
        return " or ".join(rule.names)
    if isinstance(rule, rules.Seed):
        return rules.Integer(0).describe()
    if isinstance(rule, rules.Nothing | rules.Off | rules.Boolean):
        return rule.describe().lower()
    if isinstance(rule, rules.ArrayRule):
        return "a file that contains a matrix"
    if isinstance(rule, rules.Integers | rules.ColumnList):
        return f"{rule.describe()}, separated by commas"
    if isinstance(rule, rules.LandmarkRule):
        named = ", ".join(f"{strategy}:500" for strategy in rule.strategies)
        return f"none (exact), auto, a whole number ≥ 2, or a strategy with a number: {named}"
    return rule.describe()


def _option(setting: Setting, options: frozenset[str]) -> str | None:
    """Return the option that sets a parameter, with its value; None if there is none."""
    if (setting.name, setting.value) == (
        "metric",
        SCALED,
    ) and "--scale" in options:  # for methods without a metric, too
        return "--scale"
    if (setting.name, setting.value) == ("missing", "level") and "--set" in options:  # of FAMD; --missing is of numbers
        return "--set missing=level"
    if setting.name == "types" and isinstance(setting.value, dict):
        return _types(setting.value) if "--types" in options else None
    own = setting.name.replace("_", "-")
    names = [f"--{name}" for name in (*_RENAMED.get(setting.name, ()), own)]
    name = next((name for name in names if name in options), None)
    value = "known" if setting.value == KNOWN_PAIRS else str(setting.value)
    if name is not None and setting.value is None:
        value = "none"
    if isinstance(setting.value, list):
        from ..data.table import name_list

        value = name_list(setting.value)
    if name is not None:
        return name if setting.value is ... or setting.value is True else f"{name} {shlex.quote(value)}"
    if "--set" in options:
        return f"--set {setting.name}" + ("" if setting.value is ... else f"={shlex.quote(value)}")
    return None


def _types(types: dict[str, str]) -> str | None:
    """Return --types for the types of columns; None for those of scans, which it does not take.

    >>> _types({"a": "number", "b c": "number"}), _types({"a": "text"})
    ("--types 'number=a,b c'", None)
    """
    from ..data.table import name_list

    kinds = dict.fromkeys(types.values())
    if not kinds.keys() <= _KINDS:
        return None
    columns = {kind: name_list([name for name, own in types.items() if own == kind]) for kind in kinds}
    return " ".join(f"--types {shlex.quote(f'{kind}={names}')}" for kind, names in columns.items())
