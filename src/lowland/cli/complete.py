"""What a word of a command line may become, for completion in the shell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from ..contract import registry
from ..contract.parameters import Boolean, choices
from .app import COMMANDS, GROUPS, options_of
from .figure_options import STYLES
from .method_flags import method_of
from .options import METHOD


def candidates(words: Sequence[str]) -> list[str]:
    """Return what the last of the words may become; nothing where a file name is expected.

    >>> candidates(["red"]), candidates(["reduce", "a.csv", "--method", "hess"])
    (['reduce'], ['hessian_lle'])
    >>> candidates(["reduce", "a.csv", "-m", "lle", "--n-n"]), candidates(["plan", "--set", "solv"])
    (['--n-neighbors'], ['solver='])
    >>> candidates(["dataset", "swiss_r"]), candidates(["dataset", "cities", "--set", ""])
    (['swiss_roll'], ['part='])
    """
    *before, last = words or [""]
    if not before:
        return _starting(last, [name.partition(" ")[0] for name in COMMANDS])
    if len(before) == 1 and before[0] in GROUPS:
        return _starting(last, [name.partition(" ")[2] for name in COMMANDS if name.startswith(f"{before[0]} ")])
    options = options_of(before, aliases=True)
    names = [row.name for row in registry.methods()]
    if before[-1] in METHOD or before == ["methods"]:
        return _starting(last, names)
    if before[0] == "dataset":
        return _dataset(before, last, options)
    method = method_of(before)
    rules = registry.method(method).load()._parameters if "--set" in options and method in names else {}
    flags = {f"--{name.replace('_', '-')}": rule for name, rule in rules.items()}
    if before[-1] in ("--kind", "--figure-kind"):
        from .figure_kinds import all_kinds

        return _starting(last, all_kinds())
    if before[-1] == "--style":
        return _starting(last, get_args(STYLES))
    if before[-1] == "--set":
        name, equals, _ = last.partition("=")
        values = [f"{name}={value}" for value in choices(rules[name])] if equals and name in rules else []
        return _starting(last, values or [f"{name}=" for name in rules])
    if before[-1] in flags and before[-1] not in options and not isinstance(flags[before[-1]], Boolean):
        return _starting(last, choices(flags[before[-1]]))
    return _starting(last, [*(name for name in options if name.startswith("-")), *flags]) if last[:1] == "-" else []


def _dataset(before: Sequence[str], last: str, options: Sequence[str]) -> list[str]:
    """Complete `lowland dataset`: names, and the parameters of the named set."""
    from ..data.catalogue.rows import DATASETS

    if before == ["dataset"] and last[:1] != "-":
        return _starting(last, [row.name for row in DATASETS])
    if before[-1] == "--set":
        return _starting(last, [f"{key}=" for row in DATASETS if row.name in before for key in row.parameters])
    return _starting(last, [name for name in options if name.startswith("-")]) if last[:1] == "-" else []


def _starting(text: str, names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name.startswith(text) and not name.startswith(("--no-", "--empty-"))})
