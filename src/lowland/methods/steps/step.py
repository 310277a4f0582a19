"""What every preprocessing step keeps: `Step`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
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

Array = Any
OUTPUTS = ("default", "pandas", "polars")


class Step(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]
    """Base of the preprocessing steps: tables in, tables out, columns matched by name.

    A subclass declares ``_parameters`` and its learned attributes as annotations, as a `Reducer` does, and writes
    ``_learn`` (from a frame; it sets ``names_out_``), ``_apply`` (frame to frame, row by row) and, where one exists,
    ``_restore``, the inverse of ``_apply``.
    """

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

    def _learn(self, frame: pl.DataFrame) -> None:
        """Learn from the columns of the training rows."""
        raise NotImplementedError

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

    def _choose(self, frame: pl.DataFrame) -> list[str]:
        """Return the columns to learn from."""
        return list(frame.columns)

    def _frame(self, X: Any) -> tuple[pl.DataFrame, bool]:
        """Return the input as a frame, and whether its columns have names."""
        return frames.to_frame(X, type(self).__name__)

    def _converted(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return columns in the types that the user declared, before their kinds are read."""
        return frame

    # -- what it gets -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from training rows; ``y`` is there for pipelines and not used."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn from training rows and return them transformed."""
        frame, named = self._fit(X)
        return self._output(self._apply(frame), X, named)

    def transform(self, X: Any) -> Any:
        """Transform rows, new or old, one by one; nothing is learned from them."""
        check_is_fitted(self)
        frame, named = self._rows(X)
        return self._output(self._apply(frame), X, named)

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

    def _fit(self, X: Any) -> tuple[pl.DataFrame, bool]:
        parameters.check(type(self).__name__, self._parameters, self.get_params(deep=False))
        self._forget()
        frame, named = self._frame(X)
        if frame.height == 0 or frame.width == 0:
            what = "sample(s)" if frame.width else "feature(s)"
            raise DataError(
                f"Found array with 0 {what} (shape={frame.shape}) while a minimum of 1 is required by "
                f"{type(self).__name__}."
            )
        try:
            self.names_in_ = self._choose(frame)
            chosen = self._converted(frame.select(self.names_in_))
            self.kinds_in_ = [frames.kind_of(column) for column in chosen.iter_columns()]
            if empty := self._of_kind(frames.EMPTY):
                raise DataError(
                    f"{type(self).__name__}: column {empty[0]!r} has no values, so nothing can be learned from it; "
                    "leave it out",
                    column=frame.columns.index(empty[0]),
                )
            self._learn(chosen)
        except BaseException:
            self._forget()
            raise
        self.n_features_in_ = frame.width
        if named:
            self.feature_names_in_ = np.array(frame.columns, dtype=object)
        return chosen, named

    def _forget(self) -> None:
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("__")]:
            delattr(self, name)

    def _rows(self, X: Any) -> tuple[pl.DataFrame, bool]:
        """Return new rows as the columns that were learned from, checked."""
        owner = type(self).__name__
        frame, named = self._frame(X)
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
        return pl.DataFrame(typed), named

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


def _as_array(frame: pl.DataFrame) -> Any:
    """Return a frame of numbers as an array; others stay frames, for an array has one type."""
    if all(kind.is_numeric() for kind in frame.dtypes):
        return np.ascontiguousarray(frame.to_numpy())
    return frame
