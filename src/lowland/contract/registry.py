"""The methods by name: the built-in table and what other packages bring.

The command line, the model file, the contract tests and comparisons read it. Entry points of other packages (group
``lowland.methods``) are read when all methods are listed, or for an unknown name.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable
from typing import Any

from . import plugins
from .method_table import METHODS, Method, find, key_of
from .plugins import PluginMethod, register, unregister

__all__ = ["METHODS", "Method", "PluginMethod", "by_class", "method", "methods", "register", "unregister"]


def methods() -> tuple[Method, ...]:
    """Return all methods: the built-in ones, then those of other packages. The first call reads their entry points.

    >>> methods()[0].name
    'pca'
    """
    plugins.read_entry_points()
    return plugins.known()


def method(name: str) -> Method:
    """Find a method by its name or class name; ValueError that lists the near ones.

    >>> method("PCA").name
    'pca'
    """
    key = key_of(name)
    row = find(key, plugins.known()) or find(key, methods())
    if row is not None:
        return row
    if key in plugins.broken:
        raise ValueError(plugins.broken[key])
    near = difflib.get_close_matches(key, [row.name for row in methods()], n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "`lowland methods` lists all of them."
    raise ValueError(f"no method is called {name!r}; {hint}")


def by_class(class_name: str) -> Method | None:
    """Find a method that a model file can hold by the exact name of its class, or None.

    >>> by_class("PCA").name, by_class("pca")
    ('pca', None)
    """

    def first(rows: Iterable[Method]) -> Method | None:
        return next((row for row in rows if row.class_name == class_name and row.kept), None)

    return first(plugins.known()) or first(methods())


def __getattr__(name: str) -> Any:
    if name == "Guest":
        text = "registry.Guest is now registry.PluginMethod; the old name will be removed in Lowland 0.2"
        warnings.warn(text, FutureWarning, stacklevel=2)
        return PluginMethod
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
