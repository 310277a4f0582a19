"""Wrap a transformer of another package, with the interface of scikit-learn, as a `Reducer`.

What Lowland promises is kept where it can be, and told where it cannot: rows are checked before the class sees them,
the record holds what was measured, and where a row's place depends on the rows beside it, rows are placed one by one.
"""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..core import arrays
from ..core.cost import DataShape, Plan, dense_seconds
from ..core.errors import DataError, LowlandError, LowlandWarning, RankWarning, SolveError
from ..core.settings import report_progress
from ..rows.row_source import RowSource
from .reducer import Recorder, Reducer

Array = Any

_PROBES = 5  # rows that are placed alone and together
_SAME = 1e-5  # of the map's size: what float32 inside a class may differ by
_UNKNOWN = 10**6  # rows of a stream that does not say how many it has
_FOR_AUTHORS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)  # Python hides them, too


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


class PluginReducer(Reducer):
    """A transformer of another package; `plugin_class.wrap` makes a subclass for each.

    ``embedding_`` holds the reduced training rows, ``estimator_`` the fitted object of the other package.
    """

    _wrapped: ClassVar[type]
    _components: ClassVar[str | None]
    _defaults: ClassVar[Mapping[str, Any]]  # with which another process makes the class again

    embedding_: Array
    estimator_: Any
    row_by_row_: bool
    n_iter_: int

    def _build(self) -> Any:
        """Make the object of the other package; as everywhere in Lowland, no seed is seed 0."""
        values = self._values()
        if "random_state" in values:
            state = self.get_params(deep=False)["random_state"]  # itself: who draws from a generator moves it on
            drawn = int(state.integers(2**31 - 1)) if isinstance(state, np.random.Generator) else state
            values["random_state"] = 0 if drawn is None else drawn
        return self._wrapped(**values)

    def _values(self) -> dict[str, Any]:
        """Return the parameters by the names that the class has for them.

        They are copies: an estimator among the defaults would otherwise be one and the same in all models.
        """
        values = {name: clone(value, safe=False) for name, value in self.get_params(deep=False).items()}
        if self._components is not None:
            values[self._components] = values.pop("n_components")
        return values

    def _needs_length(self) -> bool:
        return True  # all rows are held

    def _plan(self, shape: DataShape) -> Plan:
        n, d, size = shape.n_rows or _UNKNOWN, shape.n_features, shape.dtype.itemsize
        k = getattr(self, "n_components", None)
        copies = 1 if shape.n_rows else 2  # of a stream that does not say its length the blocks, too
        parts = {
            "copy of the rows": copies * n * d * size,
            "embedding": 2 * n * size * (k if isinstance(k, int) else 2),
        }
        return Plan.of(
            type(self).__name__,
            self._algorithm(),
            shape,
            parts,
            seconds=dense_seconds(8.0 * n * d, shape.dtype),
            model_bytes=parts["embedding"] // 2,
            remedy="use fewer rows",
        )

    def _algorithm(self) -> str:
        name = f"{self._wrapped.__module__}.{self._wrapped.__qualname__}"
        return f"{name} (what it takes beside the rows, how long, and whether it is exact, is not known)"

    def __sklearn_is_fitted__(self) -> bool:  # a parameter may end in _ as what was learned does
        return hasattr(self, "embedding_")

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        record.note(algorithm=self._algorithm())
        with record.stage("read"):
            X = _gather(rows)
        chosen = np.unique(np.linspace(0, len(X) - 1, _PROBES).astype(int))
        known = X[chosen]  # a copy: the class may write on its rows
        report_progress("fit", 0, 1)  # inside, another package does not ask whether to stop
        with record.stage("fit"), _heard(record), _named(self):
            estimator = self._build()
            found = _fitted(estimator, X)
        report_progress("fit", 1, 1)
        record.evidence["exactness"] = "not known"
        embedding = _table(found, len(X), self).astype(rows.dtype)
        self.estimator_, self.n_components_, self.embedding_ = estimator, embedding.shape[1], embedding
        self.row_by_row_ = False
        asked = getattr(self, "n_components", None)
        if isinstance(asked, int | np.integer) and self.n_components_ < asked:
            record.warn(
                f"{type(self).__name__}: the result has {self.n_components_} of the {asked} requested components",
                RankWarning,
            )
        steps = _number(getattr(estimator, "n_iter_", None))
        if steps is not None:
            self.n_iter_ = estimator.n_iter_
            record.note(iterations=steps)
        if hasattr(estimator, "transform"):
            with record.stage("probe"):
                self._probe(known, chosen, record)
        else:
            record.evidence["new rows"] = "not placed: it has no transform"

    def _probe(self, known: Array, chosen: Array, record: Recorder) -> None:
        """Measure whether a row's place depends on the rows beside it, and how near training rows come to theirs.

        Some classes look training rows up, so the first is asked of rows between them.
        """
        between = known / 2 + np.roll(known, 1, axis=0) / 2
        size = float(np.abs(self.embedding_ - self.embedding_.mean(axis=0)).max()) or 1.0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the user asked for no such rows
                together = self._place(between)
                alone, again = (_one_by_one(self._place, between) for _ in range(2))
                self.row_by_row_ = bool(np.abs(alone - together).max() > _SAME * size)
                anew = self._placed(known)
        except Exception as error:  # whatever it is, the embedding stands; new rows are what may fail
            record.evidence["new rows"] = "its transform failed on few rows"
            record.warn(
                f"{type(self).__name__}: transform of {len(known)} rows failed ({error}); the embedding is there, but "
                "new rows may not be placed",
                LowlandWarning,
            )
            return
        if np.abs(alone - again).max() > _SAME * size:
            record.warn(
                f"{type(self).__name__}: transform gives a row another place each time it is called (up to "
                f"{np.abs(alone - again).max() / size:.2g} of the map's size)",
                LowlandWarning,
            )
        record.evidence["new rows"] = (
            "one by one: its transform depends on the batch" if self.row_by_row_ else "in blocks"
        )
        off = np.sqrt(np.mean((anew - self.embedding_[chosen]) ** 2)) / size
        record.evidence["training rows placed anew, off by"] = float(off)

    def _place(self, rows: Array) -> Array:
        """Return the places that the other package gives some rows."""
        with _named(self):
            return _table(self.estimator_.transform(rows.copy()), len(rows), self, self.n_components_)

    def _placed(self, rows: Array) -> Array:
        """Return the places of rows of NumPy, found one by one where they would depend on each other."""
        return _one_by_one(self._place, rows) if self.row_by_row_ else self._place(rows)

    def _row_map(self) -> Callable[[Array], Array]:
        if not hasattr(self.estimator_, "transform"):
            raise LowlandError(
                f"{type(self).__name__} ({self._wrapped.__module__}) has no transform and cannot place new rows: use "
                "fit_transform on all rows together, or a method that places new rows, as all of Lowland's own do "
                "(lowland.TSNE, UMAP, Isomap, …)"
            )
        lock = threading.Lock()  # blocks come from several threads, which another package need not be ready for

        def place(block: Array) -> Array:
            with lock:
                return arrays.like(self._placed(arrays.to_numpy(block)), block)

        return place

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self._wrapped, "__sklearn_tags__"):
            inner = self._wrapped(**self._values()).__sklearn_tags__()  # draws no seed
            tags.input_tags.positive_only = inner.input_tags.positive_only
            tags.non_deterministic = inner.non_deterministic
        return tags


class WithInverse(PluginReducer):
    """The same around a class that maps back."""

    def inverse_transform(self, X: Any) -> Array:
        """Map reduced rows back to the original columns, as the other package does."""
        source = self._reduced(X)
        lock = threading.Lock()

        def rebuild(block: Array) -> Array:
            rows = arrays.to_numpy(block).copy()
            with lock, _named(self):
                found = _table(self.estimator_.inverse_transform(rows), len(rows), self, self.n_features_in_)
            return arrays.like(found, block)

        return source.map_blocks(rebuild, self.n_features_in_)


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
    estimator.fit(X)  # what it returns is its own affair
    return estimator.transform(X)


def _one_by_one(place: Callable[[Array], Array], rows: Array) -> Array:
    return np.vstack([place(rows[i : i + 1]) for i in range(len(rows))])


def _number(steps: Any) -> int | None:
    """Return the largest of the numbers of steps that a class tells, or None where it tells none."""
    told = np.asarray(steps)
    return int(told.max()) if told.dtype.kind in "iuf" and told.size and np.isfinite(told).all() else None


def _table(found: Any, n: int, owner: PluginReducer, width: int | None = None) -> Array:
    """Check that another package gave n rows of numbers, of the width that is known from before."""
    Y = found.toarray() if sp.issparse(found) else np.asarray(arrays.to_numpy(found))
    name = type(owner).__name__
    if Y.ndim != 2 or len(Y) != n or Y.dtype.kind not in "fiub":
        raise SolveError(
            f"{name} gave {Y.dtype} of shape {Y.shape} for {n} rows; one row of numbers for each is needed"
        )
    if width is not None and Y.shape[1] != width:
        raise SolveError(f"{name} gave {Y.shape[1]} columns for {n} rows; {width} are needed, as in the fit")
    bad = np.flatnonzero(~np.isfinite(Y).all(axis=1))
    if len(bad):
        raise SolveError(f"{name} gave no finite place for {len(bad)} of {n} rows (the first is row {bad[0]})")
    return Y


@contextmanager
def _heard(record: Recorder) -> Iterator[None]:
    """Pass on what another package warns of: each text once, with the method's name, and in the record."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
    texts = [" ".join(str(w.message).split()) for w in heard if not issubclass(w.category, _FOR_AUTHORS)]
    for text in dict.fromkeys(texts):
        record.warn(f"{record.method}: {text}", LowlandWarning)


@contextmanager
def _named(owner: PluginReducer) -> Iterator[None]:
    """Put the method's name before what another package says about the data or its parameters."""
    try:
        yield
    except (LowlandError, MemoryError, Warning):
        raise
    except ValueError as error:
        raise DataError(f"{type(owner).__name__}: {error}") from error
    except Exception as error:
        raise SolveError(f"{type(owner).__name__}: {type(error).__name__}: {error}") from error
