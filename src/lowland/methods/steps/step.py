"""What every preprocessing step keeps: `Step`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ...contract import parameters
from ...contract.fit_info import level_of_the_caller
from ...core.errors import DataError
from . import frames
from .folds import Fold
from .opening_rows import in_blocks
from .training_rows import FrameRows, Passes, TrainingRows

Array = Any
OUTPUTS = ("default", "pandas", "polars")


class Step(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]
    """Base of the preprocessing steps: tables in, tables out, columns matched by name.

    A subclass declares ``_parameters`` and its learned attributes as annotations, as a `Reducer` does, and writes
    ``_learn`` (from training rows: it yields the folds of each pass and sets ``names_out_``), ``_apply`` (frame to
    frame, row by row) and, where one exists, ``_restore``, the inverse of ``_apply``. A table that is read in blocks
    comes out as one.
    """

    in_passes: ClassVar[bool] = True  # whether it learns in passes, from tables that are never whole in memory
    _parameters: ClassVar[Mapping[str, parameters.Rule]] = {}
    _state: ClassVar[tuple[str, ...]] = ()

    n_features_in_: int
    names_in_: list[str]  # of the columns used, in the order of the training rows
    kinds_in_: list[str]
    names_out_: list[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        learned = [n for base in reversed(cls.__mro__) for n in vars(base).get("__annotations__", {}) if n[-1] == "_"]
        cls._state = tuple(dict.fromkeys(name for name in learned if name != "n_features_in_"))

    # -- what a subclass writes ---------------------------------------------------------------------------

    def _learn(self, rows: TrainingRows) -> Passes:
        """Learn from the columns of the training rows; yield the folds of each pass, and use them after it was made."""
        raise NotImplementedError

    @property
    def keeps_rows(self) -> bool:
        """Whether the result is the columns that were learned from, unchanged, which is known before a pass."""
        return False

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Transform rows; each row must not depend on the others."""
        raise NotImplementedError

    def _restore(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Undo ``_apply``."""
        raise NotImplementedError

    def origin(self) -> list[int] | None:
        """Return the number, in ``names_in_``, of the column that each resulting column belongs to.

        None: the resulting columns are no parts of columns of numbers or categories, so a trace ends here.
        """
        places = {name: number for number, name in enumerate(self.names_in_)}
        return [places[name] for name in self.names_out_]

    def describe(self) -> str:
        """Return what the fitted step does, in a few words, for reports; empty if there is nothing to say."""
        return ""

    def rotation(self) -> Array | None:
        """Return orthonormal rows that take the result back to what `origin` counts; None if it is that already."""
        return None

    def _choose(self, rows: TrainingRows) -> list[str]:
        """Return the columns to learn from."""
        return rows.names

    def _frame(self, X: Any) -> tuple[pl.DataFrame, bool]:
        """Return the input as a frame, and whether its columns have names."""
        return frames.to_frame(X, type(self).__name__)

    def _converted(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return columns in the types that the user declared, before their kinds are read."""
        return frame

    def _look_at(self, frame: pl.DataFrame) -> None:
        """Warn of new rows that look wrong."""

    # -- what it gets -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from training rows; ``y`` is there for pipelines and not used."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn from training rows and return them transformed."""
        rows = self._fit(X)
        if isinstance(rows, FrameRows):
            return self._output(self._apply(rows.frame), X, rows.named)
        return self._applied(X, new=False)

    def transform(self, X: Any) -> Any:
        """Transform rows, new or old, one by one; nothing is learned from them."""
        check_is_fitted(self)
        if in_blocks(X) is not None:
            return self._applied(X, new=True)
        frame, named = self._rows(X)
        self._look_at(frame)
        return self._output(self._apply(frame), X, named)

    def _applied(self, X: Any, *, new: bool) -> Any:
        """Return a table that is read in blocks with this step applied when it is read."""
        rows = in_blocks(X)
        assert rows is not None
        made = rows.changed(StepChange(self, rows.named, new))
        return made.lazily() if new else made.table()

    def inverse_transform(self, X: Any) -> Any:
        """Return rows in the columns of the training rows: a polars frame, or an array where there were no names."""
        check_is_fitted(self)
        frame, named = frames.to_frame(X, type(self).__name__)
        if named:
            frame = frames.matched(frame, self.names_out_, type(self).__name__)
        elif frame.width != len(self.names_out_):
            raise DataError(
                f"{type(self).__name__}: inverse_transform needs {len(self.names_out_)} columns; these rows have "
                f"{frame.width}"
            )
        back = self._restore(frame.rename(dict(zip(frame.columns, self.names_out_, strict=True))))
        return back if hasattr(self, "feature_names_in_") else _as_array(back)

    def _fit(self, X: Any) -> TrainingRows:
        """Learn from a table; return its columns that were learned from."""
        blocks = in_blocks(X)
        learning = self.begin(FrameRows(*self._frame(X)) if blocks is None else blocks)
        learning.finish()
        return learning.rows

    def begin(self, rows: TrainingRows) -> Learning:
        """Begin to learn from training rows: choose columns and find their kinds, up to the first pass."""
        parameters.check(type(self).__name__, self._parameters, self.get_params(deep=False))
        self._forget()
        if rows.known_rows == 0 or not rows.names:
            what = "sample(s)" if rows.names else "feature(s)"
            raise DataError(
                f"Found array with 0 {what} (shape={(rows.n_rows, len(rows.names))}) while a minimum of 1 is required "
                f"by {type(self).__name__}."
            )
        with self._forgetting():
            self.names_in_ = self._choose(rows)
            chosen = rows.selected(self.names_in_).changed(self._converted)
            self.kinds_in_ = chosen.kinds()
            if empty := self._of_kind(frames.EMPTY):
                raise DataError(
                    f"{type(self).__name__}: column {empty[0]!r} has no values, so nothing can be learned from it; "
                    "leave it out",
                    column=rows.names.index(empty[0]),
                )
            self.n_features_in_ = len(rows.names)
            if rows.named:
                self.feature_names_in_ = np.array(rows.names, dtype=object)
            chosen = chosen.typed(self.kinds_in_)
            passes = self._learn(chosen)
            same = self.names_in_ == list(rows.names) and type(self)._converted is Step._converted
            return Learning(self, chosen, same, next(passes, []), passes)

    @contextmanager
    def _forgetting(self) -> Iterator[None]:
        """Forget what was learned if that fails in the block."""
        try:
            yield
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("__")]:
            delattr(self, name)

    def _rows(self, X: Any) -> tuple[pl.DataFrame, bool]:
        """Return new rows as the columns that were learned from, checked."""
        frame, named = self._frame(X)
        return self._matched(frame, named), named

    def _matched(self, frame: pl.DataFrame, named: bool) -> pl.DataFrame:
        """Return the columns of a frame that were learned from, in their order, converted and checked."""
        owner = type(self).__name__
        trained = getattr(self, "feature_names_in_", None)
        if named and trained is not None:
            frame = frames.matched(frame, self.names_in_, owner)
        else:
            if frame.width != self.n_features_in_:
                raise DataError(
                    f"X has {frame.width} features, but {owner} is expecting {self.n_features_in_} features as input"
                )
            if trained is not None or named:
                there, not_there = ("X has", "without") if named else ("X does not have valid", "with")
                warnings.warn(
                    f"{there} feature names, but {owner} was fitted {not_there} feature names; columns are taken in "
                    "their order",
                    UserWarning,
                    stacklevel=level_of_the_caller(),
                )
            names = list(trained) if trained is not None else [f"x{j}" for j in range(frame.width)]
            frame = frame.rename(dict(zip(frame.columns, names, strict=True))).select(self.names_in_)
        frame = self._converted(frame)
        typed = []
        for number, (column, kind) in enumerate(zip(frame.iter_columns(), self.kinds_in_, strict=True)):
            frames.require_kind(column, number, kind, owner)
            typed.append(frames.with_type(column, kind))
        return pl.DataFrame(typed)

    def _output(self, frame: pl.DataFrame, X: Any, named: bool) -> Any:
        """Return the result as `set_output` says: by default a polars frame for a table, an array for an array."""
        wish = _get_output_config("transform", self)["dense"]
        if wish == "pandas":
            made = frame.to_pandas()
            return made.set_index(X.index) if hasattr(X, "index") and hasattr(X, "iloc") else made
        return frame if named or wish == "polars" else _as_array(frame)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the type of result: "default", "pandas" or "polars"; None changes nothing."""
        if transform is None:
            return self
        if transform not in OUTPUTS:
            raise ValueError(f"set_output: transform must be one of {', '.join(map(repr, OUTPUTS))}; got {transform!r}")
        self._sklearn_output_config = {**getattr(self, "_sklearn_output_config", {}), "transform": transform}
        return self

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Array:
        """Return the names of the resulting columns."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array(self.names_out_, dtype=object)

    def _of_kind(self, *kinds: str) -> list[str]:
        return [name for name, kind in zip(self.names_in_, self.kinds_in_, strict=True) if kind in kinds]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass
class Learning:
    """A step that has begun to learn from ``rows``: the folds of its next pass, and the passes after it.

    Steps that keep their rows can learn in the first pass of the step after them, if that learns from the ``same_rows``
    as it was given: all columns, as they are.
    """

    step: Step
    rows: TrainingRows
    same_rows: bool
    folds: list[Fold]
    passes: Passes

    def finish(self, *before: Learning) -> None:
        """Make the passes; the first one also for steps before, which keep their rows and need no further one."""
        with ExitStack() as stack:
            for one in (*before, self):
                stack.enter_context(one.step._forgetting())
            folds = [fold for one in (*before, self) for fold in one.folds]
            if folds:
                self.rows.run(*folds)
            for one in (*before, self):
                for further in one.passes:
                    one.rows.run(*further)

    def forget(self) -> None:
        """Forget what the step has learned: the fit has failed."""
        self.step._forget()


class StepChange:
    """A fitted step as a change of rows that are read in blocks."""

    def __init__(self, step: Step, named: bool, new: bool) -> None:
        self._step, self._named, self._new = step, named, new

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return some rows with the step applied."""
        frame = self._step._matched(frame, self._named)
        if self._new:
            self._step._look_at(frame)
        made = self._step._apply(frame)
        if self._named or not all(kind.is_numeric() for kind in made.dtypes):
            return made
        return made.rename({name: f"x{j}" for j, name in enumerate(made.columns)})


def _as_array(frame: pl.DataFrame) -> Any:
    """Return a frame of numbers as an array; others stay frames, for an array has one type."""
    if all(kind.is_numeric() for kind in frame.dtypes):
        return np.ascontiguousarray(frame.to_numpy())
    return frame
