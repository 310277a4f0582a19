"""Reductions before a learner, by name, and the numbers of components that are tried."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..contract import registry
from ..core.message import Message, Owner, Phrase, Setting

Array = Any

SUPERVISED = ("lda", "pls", "columns")  # they see the target of the training rows
_GRID = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # components that are tried if none are given
_ENCODE = Phrase("encode it by a recipe, in steps", "choose another method")
_TITLES = {"lda": "LDA", "pls": "PLS", "columns": "best columns"}


@dataclass(frozen=True)
class Before:
    """A reduction before a learner: ``build(k)`` makes it unfitted; ``most`` is the largest k it has."""

    name: str
    title: str
    build: Callable[[int], Any]
    supervised: bool = False
    most: int | None = None

    def counts(self, counts: Sequence[int], most: int) -> list[int]:
        """Return the numbers of components to try; the largest is added where the method has few."""
        own = most if self.most is None else min(self.most, most)
        return sorted({k for k in counts if k <= own} | ({own} if self.most is not None else set()))


def reductions(methods: Any, *, classes: int | None, random_state: int) -> list[Before]:
    """Return the reductions of names, estimators, or a mapping from names to estimators; ``classes`` is their number.

    >>> [found.title for found in reductions(None, classes=3, random_state=0)]
    ['PCA', 'LDA', 'best columns', 'Random projection']
    """
    if methods is None:
        methods = ["pca", "lda" if classes is not None else "pls", "columns", "random_projection"]
    if isinstance(methods, str) or hasattr(methods, "fit"):
        methods = [methods]
    pairs: Iterable[tuple[str | None, Any]]
    pairs = methods.items() if isinstance(methods, Mapping) else ((None, method) for method in methods)
    found = [_reduction(name, method, classes, random_state) for name, method in pairs]
    if not found:
        raise ValueError(
            Message(
                Owner("downstream"),
                Setting("methods"),
                " must name one method or more, such as ",
                Phrase("methods=['pca', 'lda']", "pca,lda"),
            )
        )
    names = [before.name for before in found]
    if len(set(names)) < len(names):
        twice = f"the methods have the same name, {names}; "
        once = Phrase("give a dict of names and estimators", "name each method once")
        raise ValueError(Message(Owner("downstream"), twice, once))
    return found


def _reduction(name: str | None, method: Any, classes: int | None, random_state: int) -> Before:
    if not isinstance(method, str):
        return _of_estimator(name, method, random_state)
    key = method.strip().lower().replace("-", "_")
    if key in SUPERVISED:
        if key == "lda" and classes is None:
            classes_only = "the method 'lda' needs classes, and the target is numeric; use 'pls'"
            raise ValueError(Message(Owner("downstream"), classes_only))
        if key == "pls" and classes is not None:
            numeric_only = "the method 'pls' needs a numeric target, and the target is classes; use 'lda'"
            raise ValueError(Message(Owner("downstream"), numeric_only))
        most = None if key != "lda" or classes is None else classes - 1
        return Before(name or key, name or _TITLES[key], _builder(key, classes is not None), True, most)
    row = registry.method(method)
    if "categories" in row.needs:
        raise ValueError(Message(Owner("downstream"), f"{row.title} needs a table with text; ", _ENCODE))
    return _of_estimator(name or row.name, row.load()(), random_state, row.title if name is None else name)


def _of_estimator(name: str | None, estimator: Any, random_state: int, title: str | None = None) -> Before:
    from sklearn.base import clone

    own = type(estimator).__name__
    if not all(hasattr(estimator, what) for what in ("fit", "transform", "get_params")):
        lacks = f"{own} is not a transformer: it needs fit, transform and get_params"
        raise ValueError(Message(Owner("downstream"), lacks))
    if "n_components" not in estimator.get_params():
        raise ValueError(
            Message(
                Owner("downstream"),
                f"{own} has no ",
                Phrase(
                    "n_components; give it as steps, which run before all methods",
                    "number of components, and so cannot be compared",
                ),
            )
        )

    def build(k: int) -> Any:
        made = clone(estimator)
        seeds = {"random_state": random_state} if made.get_params().get("random_state", 0) is None else {}
        return made.set_params(n_components=k, **seeds)

    return Before(name or own, title or name or own, build)


def _builder(key: str, classes: bool) -> Callable[[int], Any]:
    if key == "lda":
        from .discriminant import DiscriminantAxes

        return DiscriminantAxes
    if key == "pls":
        from sklearn.cross_decomposition import PLSRegression

        return lambda k: PLSRegression(k, scale=False)
    return lambda k: _BestColumns(k, classes)


class _BestColumns:
    """The k columns with the largest F statistic; constant ones last."""

    def __init__(self, k: int, classes: bool) -> None:
        self.k, self.classes = k, classes

    def fit(self, X: Any, y: Any) -> _BestColumns:
        from sklearn.feature_selection import f_classif, f_regression

        with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of constant columns, which come last
            scores = (f_classif if self.classes else f_regression)(X, y)[0]
        self.places_ = np.sort(np.argsort(-np.nan_to_num(scores, nan=-1.0, posinf=np.inf), kind="stable")[: self.k])
        return self

    def transform(self, X: Any) -> Any:
        return X[:, self.places_]


def component_grid(given: Any, most: int, shares: Array | None) -> list[int]:
    """Return the numbers of components to try: those given, or a grid up to 64 with that of 90 % of the variance.

    >>> component_grid(None, 5, np.array([0.6, 0.2, 0.15, 0.05])), component_grid([2, 4], 9, None)
    ([1, 2, 3, 4, 5], [2, 4])
    """
    if given is not None:
        counts = [given] if isinstance(given, int | np.integer) else list(given)
        wrong = [k for k in counts if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= most]
        if wrong or not counts:
            what = f"got {wrong[0]!r}" if wrong else "it is empty"
            limits = f" must be whole numbers from 1 to {most}; {what}"
            raise ValueError(Message(Owner("downstream"), Setting("components"), limits))
        return sorted({int(k) for k in counts})
    tried = {k for k in _GRID if k <= most} | ({most} if most <= _GRID[-1] else set())
    if shares is not None and len(shares):
        tried.add(enough_components(shares))
    return sorted(k for k in tried if k <= most)


def enough_components(shares: Array, share: float = 0.9) -> int:
    """Return how many principal components hold a share of the variance.

    >>> enough_components(np.array([0.6, 0.2, 0.15, 0.05]))
    3
    """
    return int(np.searchsorted(np.cumsum(shares), share * (1 - 1e-9)) + 1)
