"""The door: a `Reducer` around a transformer of another package, in the manner of scikit-learn.

What Lowland promises is kept where it can be, and told where it cannot: rows are checked before the class sees them,
the record holds what was measured, and where a row's place depends on the rows beside it, rows are placed one by one.
"""

from __future__ import annotations

import ast
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from . import arrays
from .errors import DataError, LowlandError, LowlandWarning, SolveError
from .planning import DataShape, Plan, dense_seconds
from .reducer import Recorder, Reducer
from .rows import RowSource, as_rows
from .settings import report_progress

Array = Any

_NAMES = ("n_components", "n_dims", "n_dimensions", "n_dim", "ndim")  # what others call the number of dimensions
_PROBES = 5  # training rows that are placed alone and together
_SAME = 1e-5  # of the map's size: what float32 inside a class may differ by
_UNKNOWN = 10**6  # rows of a stream that does not say how many it has
_made: dict[tuple[type, str, str | None], type[ForeignReducer]] = {}


@dataclass(frozen=True)
class Anything:
    """Whatever a class of another package takes; it checks its parameters itself."""

    owner: str

    def accepts(self, value: Any) -> bool:
        """Allow every value."""
        return True

    def parse(self, text: str) -> Any:
        """Read none, true, false, a number or a list of them; anything else is text.

        >>> [Anything("Toy").parse(text) for text in ("none", "true", "3", "1e-3", "(1, 2)", "cosine")]
        [None, True, 3, 0.001, (1, 2), 'cosine']
        """
        words = {"none": None, "true": True, "false": False}
        if text.lower() in words:
            return words[text.lower()]
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text

    def describe(self) -> str:
        """Say who knows."""
        return f"what {self.owner} takes (a number, true, false, none, a list or text)"


class ForeignReducer(Reducer):
    """A transformer of another package; `wrap` makes a subclass for each.

    ``embedding_`` holds the reduced training rows, ``estimator_`` the fitted object of the other package.
    """

    _wrapped: ClassVar[type]
    _components: ClassVar[str | None]
    _defaults: ClassVar[Mapping[str, Any]]

    embedding_: Array
    estimator_: Any
    row_by_row_: bool
    n_iter_: int

    def _build(self) -> Any:
        """Make the object of the other package; as everywhere in Lowland, no seed is seed 0."""
        values = self.get_params(deep=False)
        if self._components is not None:
            values[self._components] = values.pop("n_components")
        if "random_state" in values:
            state = values["random_state"]
            drawn = int(state.integers(2**31 - 1)) if isinstance(state, np.random.Generator) else state
            values["random_state"] = 0 if drawn is None else drawn
        return self._wrapped(**values)

    def _needs_length(self) -> bool:
        return True  # all rows are held

    def _plan(self, shape: DataShape) -> Plan:
        n, d, size = shape.n_rows or _UNKNOWN, shape.n_features, shape.dtype.itemsize
        k = getattr(self, "n_components", None)
        parts = {"copy of the rows": n * d * size, "embedding": 2 * n * size * (k if isinstance(k, int) else 2)}
        return Plan(
            method=type(self).__name__,
            algorithm=self._algorithm(),
            bytes=sum(parts.values()) + shape.copied,
            seconds=dense_seconds(8.0 * n * d, shape.dtype),
            model_bytes=parts["embedding"] // 2,
            parts=parts,
            remedy="use fewer rows",
        )

    def _algorithm(self) -> str:
        return f"{self._wrapped.__module__}.{self._wrapped.__qualname__} (what it takes beside the rows is not known)"

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        record.note(algorithm=self._algorithm())
        with record.stage("read"):
            X = _gather(rows)
        report_progress("fit", 0, 1)  # inside, another package does not ask whether to stop
        with record.stage("fit"), _named(self):
            estimator = self._build()
            found = _fitted(estimator, X.copy())
        report_progress("fit", 1, 1)
        self.embedding_ = _table(found, len(X), self).astype(rows.dtype)
        self.estimator_, self.n_components_ = estimator, self.embedding_.shape[1]
        self.row_by_row_ = False
        if hasattr(estimator, "n_iter_"):
            self.n_iter_ = estimator.n_iter_
            record.note(iterations=int(np.max(self.n_iter_)))
        if hasattr(estimator, "transform"):
            with record.stage("probe"):
                self._probe(X, record)
        else:
            record.evidence["new rows"] = "not placed: it has no transform"

    def _probe(self, X: Array, record: Recorder) -> None:
        """Measure whether a row's place depends on the rows beside it, and how near training rows come to theirs."""
        chosen = np.unique(np.linspace(0, len(X) - 1, _PROBES).astype(int))
        size = float(np.abs(self.embedding_ - self.embedding_.mean(axis=0)).max()) or 1.0
        try:
            together = self._place(X[chosen])
            alone, again = (np.vstack([self._place(X[i : i + 1]) for i in chosen]) for _ in range(2))
        except Exception as error:  # whatever it is, the embedding stands; new rows are what may fail
            record.evidence["new rows"] = "its transform failed on few rows"
            record.warn(
                f"{type(self).__name__}: transform of {len(chosen)} training rows failed with {type(error).__name__}: "
                f"{error}; the embedding is there, but new rows may not be placed",
                LowlandWarning,
            )
            return
        if np.abs(alone - again).max() > _SAME * size:
            record.warn(
                f"{type(self).__name__}: transform gives a row another place each time it is called (up to "
                f"{np.abs(alone - again).max() / size:.2g} of the map's size)",
                LowlandWarning,
            )
        self.row_by_row_ = bool(np.abs(alone - together).max() > _SAME * size)
        off = np.sqrt(np.mean((alone - self.embedding_[chosen]) ** 2)) / size
        record.evidence["new rows"] = (
            "one by one: its transform depends on the batch" if self.row_by_row_ else "in blocks"
        )
        record.evidence["training rows placed anew, off by"] = float(off)

    def _place(self, rows: Array) -> Array:
        """Return the places that the other package gives some rows."""
        with _named(self):
            return _table(self.estimator_.transform(rows.copy()), len(rows), self)

    def _row_map(self) -> Callable[[Array], Array]:
        if not hasattr(self.estimator_, "transform"):
            raise LowlandError(
                f"{type(self).__name__} ({self._wrapped.__module__}) has no transform and cannot place new rows: use "
                "fit_transform on all rows together, or a method that places new rows, as all of Lowland's own do "
                "(lowland.TSNE, UMAP, Isomap, …)"
            )
        lock = threading.Lock()  # blocks come from several threads, which another package need not be ready for

        def place(block: Array) -> Array:
            rows = arrays.to_numpy(block)
            with lock:
                if self.row_by_row_:
                    found = np.vstack([self._place(rows[i : i + 1]) for i in range(len(rows))])
                else:
                    found = self._place(rows)
            return arrays.like(found, block)

        return place

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self._wrapped, "__sklearn_tags__"):
            inner = self._build().__sklearn_tags__()
            tags.input_tags.positive_only = inner.input_tags.positive_only
            tags.non_deterministic = inner.non_deterministic
        return tags

    def __reduce__(self) -> tuple[Any, ...]:  # the class was made here and has no name that a module knows
        made = (self._wrapped, type(self).__name__, self._components, dict(self._defaults))
        return _empty, made, self.__getstate__()


class _WithInverse(ForeignReducer):
    """The same around a class that maps back."""

    def inverse_transform(self, X: Any) -> Array:
        """Map reduced rows back to the original columns, as the other package does."""
        check_is_fitted(self)
        source = as_rows(X, allow_sparse=False, owner=type(self).__name__)
        if source.n_features != self.n_components_:
            raise DataError(
                f"the reduced rows must have {self.n_components_} columns, one for each component; "
                f"these have {source.n_features}"
            )
        lock = threading.Lock()

        def rebuild(block: Array) -> Array:
            rows = arrays.to_numpy(block).copy()
            with lock, _named(self):
                return arrays.like(_table(self.estimator_.inverse_transform(rows), len(rows), self), block)

        return source.map_blocks(rebuild, self.n_features_in_)


def wrap(cls: type, title: str, components: str | None, defaults: Mapping[str, Any]) -> type[ForeignReducer]:
    """Make the `Reducer` class of a transformer class."""
    if not (hasattr(cls, "fit_transform") or (hasattr(cls, "fit") and hasattr(cls, "transform"))):
        raise TypeError(f"{cls.__name__} has neither fit_transform nor fit and transform: it does not reduce rows")
    taken = _arguments(cls)
    if components is None:
        components = next((name for name in _NAMES if name in taken), None)
    elif components not in taken:
        raise ValueError(f"{cls.__name__} has no parameter {components!r}; it has {', '.join(taken) or 'none'}")
    values = {
        name: _default(cls, name, defaults.get("n_components" if name == components else name, default), components)
        for name, default in taken.items()
    }
    names = {"n_components" if name == components else name: value for name, value in values.items()}
    if unknown := sorted(set(defaults) - set(names)):
        raise ValueError(f"{cls.__name__} has no parameter {unknown[0]!r}; it has {', '.join(names) or 'none'}")
    base = _WithInverse if hasattr(cls, "inverse_transform") else ForeignReducer
    made = type(
        title,
        (base,),
        {
            "__doc__": f"{first_line(cls)}\n\n{cls.__module__}.{cls.__qualname__} as a method of Lowland.",
            "__module__": cls.__module__,
            "__init__": _constructor(names),
            "_parameters": {name: Anything(cls.__name__) for name in names},
            "_wrapped": cls,
            "_components": components,
            "_defaults": dict(defaults),
        },
    )
    _made[cls, title, components] = made
    return made


def first_line(cls: type) -> str:
    """Return the first line of a class's docstring as a sentence."""
    lines = (inspect.getdoc(cls) or "").strip().splitlines()
    return f"{lines[0].strip().rstrip('.')}." if lines and "__doc__" in vars(cls) else f"{cls.__name__}."


def _arguments(cls: type) -> dict[str, Any]:
    """Return the constructor's parameters and their defaults, `inspect.Parameter.empty` where there is none."""
    try:
        found = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        raise TypeError(
            f"the parameters of {cls.__name__} cannot be read: put a class with a signature around it"
        ) from None
    loose = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    if any(p.kind is inspect.Parameter.POSITIONAL_ONLY for p in found):
        raise TypeError(f"{cls.__name__} has parameters without names: put a class with named ones around it")
    return {p.name: p.default for p in found if p.kind not in loose}


def _default(cls: type, name: str, value: Any, components: str | None) -> Any:
    """Return the default of a parameter; a method can be made without saying anything."""
    if value is inspect.Parameter.empty:
        known = "n_components" if name == components else name
        raise ValueError(f"{cls.__name__} needs a value for {name}: give one in defaults={{{known!r}: …}}")
    return value


def _constructor(values: Mapping[str, Any]) -> Callable[..., None]:
    """Return an `__init__` that only stores; the number of dimensions may come without its name."""
    order = sorted(values, key=lambda name: name != "n_components")
    kinds = {"n_components": inspect.Parameter.POSITIONAL_OR_KEYWORD}
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    rest = [
        inspect.Parameter(name, kinds.get(name, inspect.Parameter.KEYWORD_ONLY), default=values[name]) for name in order
    ]
    signature = inspect.Signature([own, *rest])

    def __init__(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        owner = given.pop("self")
        for name, value in given.items():
            setattr(owner, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def _empty(cls: type, title: str, components: str | None, defaults: Mapping[str, Any]) -> ForeignReducer:
    """Make an object without its contents, for copies and other processes."""
    made = _made.get((cls, title, components)) or wrap(cls, title, components, defaults)
    return made.__new__(made)


def _gather(rows: RowSource) -> Array:
    """Return all rows as one array of our own, each block checked."""
    total, parts, done = rows.block_count(), list[Array](), 0
    whole = None if rows.n_rows is None else np.empty((rows.n_rows, rows.n_features), dtype=rows.dtype)
    for number, block in enumerate(rows.blocks(), start=1):
        rows.check(block)
        values = arrays.to_numpy(block.rows)
        if whole is None:
            parts.append(values)
        else:
            whole[done : done + len(values)] = values
        done += len(values)
        report_progress("read", number, total)
    return np.vstack(parts) if whole is None else whole


def _fitted(estimator: Any, X: Array) -> Any:
    if hasattr(estimator, "fit_transform"):
        return estimator.fit_transform(X)
    return estimator.fit(X).transform(X)


def _table(found: Any, n: int, owner: ForeignReducer) -> Array:
    """Check that another package gave n rows of numbers."""
    Y = found.toarray() if sp.issparse(found) else np.asarray(arrays.to_numpy(found))
    name = type(owner).__name__
    if Y.ndim != 2 or len(Y) != n or Y.dtype.kind not in "fiub":
        raise SolveError(
            f"{name} gave {Y.dtype} of shape {Y.shape} for {n} rows; one row of numbers for each is needed"
        )
    bad = np.flatnonzero(~np.isfinite(Y).all(axis=1))
    if len(bad):
        raise SolveError(f"{name} gave no finite place for {len(bad)} of {n} rows (the first is row {bad[0]})")
    return Y


@contextmanager
def _named(owner: ForeignReducer) -> Iterator[None]:
    """Put the method's name before what another package says about the data or its parameters."""
    try:
        yield
    except LowlandError:
        raise
    except ValueError as error:
        raise DataError(f"{type(owner).__name__}: {error}") from error
