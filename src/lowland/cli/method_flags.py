"""Options with the names of a method's parameters: ``--n-neighbors 20`` for ``--set n_neighbors=20``.

They are not declared to the parser, because their names would need all methods, which take a second to import.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ..contract import registry
from ..contract.parameters import Boolean, Rule
from .answer import UsageError
from .model import find_method
from .options import METHOD, MethodOptions

_OPTION = re.compile(r"--|-[A-Za-z]")  # a negative number is a value


def as_settings(words: Sequence[str], options: Collection[str]) -> list[str]:
    """Return a command line in which the parameters of the method are given by ``--set``.

    ``options`` are those of the command; only its unknown options are looked up among the parameters of the method.

    >>> as_settings(["reduce", "a.csv", "--method", "lle", "--n-neighbors", "20"], ["--method", "--set", "--out"])
    ['reduce', 'a.csv', '--method', 'lle', '--set', 'n_neighbors=20']
    """
    rest = list(words)
    done: list[str] = []
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*done, word, *rest]
        flag, equals, text = word.partition("=")
        if not flag.startswith("--") or flag in options or flag in ("--help", "--version"):
            done.append(word)
            continue
        rule = _rule(flag, method_of(words))
        if rule is None:
            done.append(word)  # the parser reports it
            continue
        if not equals:
            alone = not rest or _OPTION.match(rest[0]) is not None
            if alone and not isinstance(rule, Boolean):
                raise UsageError(f"{flag} needs a value: {rule.describe()}")
            text = "true" if alone else rest.pop(0)
        done += ["--set", f"{flag[2:].replace('-', '_')}={text}"]
    return done


def method_of(words: Sequence[str]) -> str:
    """Return the method that a command line names, or the default."""
    for k, word in enumerate(words):
        flag, equals, text = word.partition("=")
        if flag in METHOD:
            return text if equals else "".join(words[k + 1 : k + 2])
    return MethodOptions.method


def flags_of_method(words: Sequence[str]) -> list[str]:
    """Return the parameters of the method that a command line names, as options.

    >>> "--n-neighbors" in flags_of_method(["reduce", "a.csv", "--method", "lle"])
    True
    """
    return [f"--{name.replace('_', '-')}" for name in find_method(method_of(words)).load()._parameters]


def _rule(flag: str, method: str) -> Rule | None:
    """Return the rule of a parameter; None if no method has one of this name."""
    name, chosen = flag[2:].replace("-", "_"), find_method(method)
    rule = chosen.load()._parameters.get(name)
    if rule is None:
        others = [row.name for row in registry.methods() if name in row.load()._parameters]
        if others:
            raise UsageError(
                f"{chosen.name} has no {flag}; methods that have it: {', '.join(others)}. "
                f"`lowland methods {chosen.name}` lists its parameters"
            )
    return rule
