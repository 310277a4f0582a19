"""Methods of other packages: registered by hand, or named by an entry point in the group ``lowland.methods``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .method_table import METHODS, Method, find, key_of

if TYPE_CHECKING:
    from .reducer import Reducer

_ENTRY_POINT_GROUP = "lowland.methods"
_NEEDS = ("rows", "rows or categories", "rows, objects or distances", "rows, objects or kernel")
broken: dict[str, str] = {}  # entry points that could not be used, and why
_plugins: dict[str, PluginMethod] = {}
_read = False  # whether the entry points have been


@dataclass(frozen=True)
class PluginMethod(Method):
    """The row of a method that another package brought."""

    cls: Any = None
    origin: str = ""  # the entry point that named it; none where a program registered it by hand

    def load(self) -> type[Reducer]:
        """Return the class."""
        return self.cls  # type: ignore[no-any-return]


def known() -> tuple[Method, ...]:
    """Return the built-in methods and the registered plugins, without reading entry points."""
    return (*METHODS, *_plugins.values())


def register(
    name: str,
    cls: type,
    *,
    summary: str = "",
    family: str = "other",
    components: str | None = "auto",
    defaults: Mapping[str, Any] | None = None,
) -> type[Reducer]:
    """Make a transformer of another package a method of Lowland, and return its class.

    It is then found by its name in `registry.method`, `lowland methods` and `lowland reduce --method`. The command line
    is a process of its own: it knows what packages declare in the entry point group ``lowland.methods``.

    Parameters
    ----------
    name : str
        What it is called, such as "pacmap": a letter, then letters, digits and underscores. A name that is taken is
        refused; only an entry point gives its name up.
    cls : class
        A subclass of `lowland.Reducer`, which is used as it is; or any class in the manner of scikit-learn: parameters
        in its constructor, and ``fit_transform``, or ``fit`` with ``transform``. Of such a class a `Reducer` is made.
    summary : str
        One sentence for lists; default: the first line of the class's docstring.
    family : str
        Which methods it is listed with.
    components : str or None
        The parameter that holds the number of dimensions, where it is not called ``n_components`` (or ``n_dims``,
        ``n_dimensions``, ``n_dim``, ``ndim``). In Lowland it is always ``n_components``. None: there is none, which
        otherwise is a warning.
    defaults : dict
        Values for the constructor's parameters in the place of its own defaults.

    Examples
    --------
    >>> import lowland, numpy as np
    >>> from sklearn.decomposition import FactorAnalysis
    >>> Factors = lowland.register("factor_analysis", FactorAnalysis, family="linear")
    >>> Factors(2).fit_transform(np.random.default_rng(0).standard_normal((50, 4))).shape
    (50, 2)
    >>> lowland.registry.unregister("factor_analysis")
    """
    made = _admit(name, cls, "", summary, family, components, dict(defaults or {})).load()
    if components is not None and made is not cls and "n_components" not in made._parameters:
        from ..core.errors import LowlandWarning
        from .plugin_class import no_components

        text = f"{name}: {no_components(cls)}, and components=None says that there is none"
        warnings.warn(text, LowlandWarning, stacklevel=2)
    return made


def unregister(name: str) -> None:
    """Forget a method that `register` or an entry point brought; the built-in ones stay.

    >>> import lowland
    >>> from sklearn.decomposition import NMF
    >>> _ = lowland.register("nmf", NMF)
    >>> unregister("nmf")
    >>> lowland.registry.method("nmf")
    Traceback (most recent call last):
    ...
    ValueError: no method is called 'nmf'; `lowland methods` lists all of them.
    """
    if _plugins.pop(key_of(name), None) is None:
        raise ValueError(f"{name!r} was not registered; it cannot be taken back")


def read_entry_points() -> None:
    """Register what installed packages declare, once. What fails is left out, and told when all others are in."""
    global _read
    if _read:
        return
    from importlib.metadata import entry_points

    from ..core.errors import LowlandWarning

    _read, texts = True, []  # at once: a package that lists the methods while it is imported finds no second reading
    try:
        for point in sorted(entry_points(group=_ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value)):
            here = _plugins.get(key_of(point.name))
            if here is not None and here.origin in ("", point.value):
                continue  # what this program registered by hand goes before; one package may be found twice
            try:
                _admit(point.name, point.load(), point.value)
            except (Exception, SystemExit) as error:  # whatever another package raises must not take others along
                text = f"{point.name!r} of another package ({point.value}) cannot be used: {type(error).__name__}"
                texts.append(f"the method {text}: {error}")
                broken[key_of(point.name)] = texts[-1]
    except BaseException:  # the user stopped it
        _read = False
        raise
    for text in texts:
        warnings.warn(text, LowlandWarning, stacklevel=3)


def _admit(
    name: str,
    cls: type,
    origin: str,
    summary: str = "",
    family: str = "other",
    components: str | None = "auto",
    defaults: Mapping[str, Any] | None = None,
) -> PluginMethod:
    """Take a class in under a name that is free, or that an entry point has and gives up to what comes by hand."""
    from .plugin_class import first_line, wrap
    from .reducer import Reducer

    key = key_of(name)
    if not (key.isidentifier() and key[0].isalpha()):
        raise ValueError(f"a method's name begins with a letter and has letters, digits and underscores; got {name!r}")
    others = [row for row in known() if row.name != key or origin or not getattr(row, "origin", "")]
    taken = find(key, others)
    if taken is not None:
        raise ValueError(f"{name!r} is taken: it is {taken.class_name} ({taken.module}); choose another name")
    if not isinstance(cls, type):
        raise TypeError(f"register takes a class, such as pacmap.PaCMAP; got {cls!r}")
    same = find(cls.__name__.lower(), others)
    ready: Any = cls
    if not issubclass(cls, Reducer):
        ready = wrap(cls, cls.__name__ if same is None else _title(key, others), components, defaults or {})
    elif components not in (None, "auto") or defaults:
        raise ValueError(
            f"{cls.__name__} is a Reducer and is used as it is: components and defaults are for other classes"
        )
    elif same is not None:
        raise ValueError(
            f"a method of the class name {cls.__name__} is there already ({same.module}); rename the class"
        )
    _plugins[key] = PluginMethod(
        key,
        ready.__name__,
        family,
        summary or f"{first_line(cls)} (from {cls.__module__.partition('.')[0]})",
        needs=_needs(ready),
        kept=set(ready._state) > {"n_components_"},
        module=cls.__module__,
        cls=ready,
        origin=origin,
    )
    return _plugins[key]


def _title(key: str, others: Iterable[Method]) -> str:
    """Make a class name of a method's name, for scikit-learn's PCA beside ours; with underscores it is free."""
    words = [word.capitalize() for word in key.split("_")]
    return next(title for title in ("".join(words), "_".join(words)) if find(title.lower(), others) is None)


def _needs(cls: type[Reducer]) -> str:
    """Tell what `fit` takes: what the class or a base says in ``_needs``, or the row of a built-in base."""
    ours = {(row.module, row.class_name): row.needs for row in METHODS}
    for base in cls.__mro__:
        found = vars(base).get("_needs") or ours.get((base.__module__, base.__name__))
        if found is None:
            continue
        if found not in _NEEDS:
            raise ValueError(f"{cls.__name__}: _needs must be {' or '.join(map(repr, _NEEDS))}; got {found!r}")
        return str(found)
    return "rows"
