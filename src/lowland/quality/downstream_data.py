"""Rows with a target for `downstream`: the kind of target, folds, and the rows of each fold after its steps."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.errors import CellError, DataError
from ..core.formatting import count
from ..core.message import Message, Owner, Setting
from ..core.whole import is_whole
from .anchors import labels
from .class_accuracy import Target, largest_share, share_right

Array = Any

TASKS = ("auto", "classes", "regression")
MOST_WHOLE = 20  # different whole numbers up to which they are classes
_LEAST_ROWS = 10
_SPECTRUM = 1000  # columns (or rows) up to which all principal components are counted


@dataclass(frozen=True, eq=False)
class Supervised:
    """Rows with a target: ``target`` holds classes (None for regression), ``values`` what the learner gets.

    ``fold`` is the number of the fold in which a row is held out. ``left_out`` rows had no target.
    """

    rows: Any
    values: Array
    target: Target | None
    labels: tuple[Any, ...]
    fold: Array
    folds: int
    n_columns: int
    steps: Any = None
    left_out: int = 0
    sampled_from: int | None = None
    names: Sequence[str] | None = None
    mixed: int | None = None  # columns of the table, if steps turned them into axes, as FAMD does

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.fold)

    @property
    def n_classes(self) -> int | None:
        """Number of classes; None for a numeric target."""
        return None if self.target is None else len(self.target.names)

    @property
    def is_numeric(self) -> bool:
        """Whether the values of the target are numbers, of classes too."""
        return all(_is_number(value) for value in self.labels)

    @property
    def sparse(self) -> bool:
        """Whether the rows are sparse."""
        return bool(sp.issparse(self.rows))

    @property
    def baseline(self) -> float:
        """The accuracy of naming the largest class always; 0 for r²."""
        return 0.0 if self.target is None else largest_share(self.target.codes)

    def prepared(self, number: int) -> tuple[Array, Array]:
        """Return the training and the held-out rows of a fold, after steps fitted on the training rows."""
        parts = [_take(self.rows, np.flatnonzero(here)) for here in (self.fold != number, self.fold == number)]
        if self.steps is None:
            return parts[0], parts[1]
        from sklearn.base import clone

        made = clone(self.steps)
        return _numbers(made.fit_transform(parts[0])), _numbers(made.transform(parts[1]))

    def named(self, rows: Array) -> Any:
        """Return prepared rows with the names of their columns, if they are known, for the messages of a method."""
        from ..rows.row_source import RowSource

        if self.names is None or len(self.names) != rows.shape[1]:
            return rows
        return RowSource.from_array(rows, names=self.names)

    def training(self, number: int) -> tuple[Array, Array]:
        """Return the target of the training rows of a fold: as codes of classes or numbers, and as the learner gets."""
        train = self.fold != number
        codes = self.values[train] if self.target is None else self.target.codes[train]
        return codes, self.values[train]

    def codes_of(self, predicted: Array) -> Array:
        """Return predictions as codes of classes; numbers stay as they are."""
        if self.target is None:
            return predicted.astype(np.float64).reshape(-1)
        place = {label: code for code, label in enumerate(self.labels)}
        return np.array([place.get(label, len(place)) for label in predicted.tolist()])

    def score(self, guess: Array, here: Array) -> float:
        """Return the accuracy, or r², of predictions for some rows."""
        if self.target is not None:
            return float(share_right(guess, self.target.codes[here]))
        truth = self.values[here]
        return float(1 - ((truth - guess) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())

    def most_components(self) -> int:
        """Return the largest number of components that every fold has."""
        counts = np.bincount(self.fold, minlength=self.folds)
        return max(1, min(self.n_columns, self.n - int(counts.max()) - 1))

    def variance_shares(self) -> Array | None:
        """Return the shares of variance of all principal components in the first fold; None if there are too many."""
        from ..methods.linear.pca import PCA

        train = self.prepared(0)[0]
        if min(train.shape) > _SPECTRUM or not _varies(train):
            return None
        return np.asarray(PCA().fit(self.named(train)).explained_variance_ratio_)


def supervised(X: Any, y: Any, steps: Any, task: str, folds: int, sample: int | None, seed: int) -> Supervised:
    """Check and read rows and target, leave out rows without a target, and draw the folds."""
    if task not in TASKS:
        raise ValueError(_said(Setting("task"), f" must be one of {', '.join(TASKS)}; it is {task!r}"))
    if not is_whole(folds, 3):
        raise ValueError(_said(Setting("folds"), f" must be a whole number ≥ 3; it is {folds!r}"))
    if sample is not None and not is_whole(sample, _LEAST_ROWS):
        raise ValueError(
            _said(Setting("sample"), f" must be a whole number ≥ {_LEAST_ROWS}, or None; it is {sample!r}")
        )
    rows, name, listed, names = _apart(X, y, steps)
    n = rows.shape[0]
    if len(listed) != n:
        raise DataError(_said(f"{len(listed)} values of the target for {n} rows; give one for each row"))
    known = np.flatnonzero([not _missing(value) for value in listed])
    left_out, sampled_from = n - len(known), None
    if sample is not None and len(known) > sample:
        sampled_from = len(known)
        known = np.sort(np.random.default_rng(seed).choice(known, sample, replace=False))
    if len(known) < max(_LEAST_ROWS, folds):
        raise DataError(_said(f"{len(known)} rows have a target; at least {max(_LEAST_ROWS, folds)} are needed"))
    if len(known) < n:
        rows, listed = _take(rows, known), [listed[i] for i in known]
    target, given, values = _target(name, listed, task)
    fold = _folds(len(known), folds, seed, None if target is None else target.codes)
    if target is None:
        _check_variation(name, values, fold, folds)
    width, mixed = rows.shape[1], None
    if steps is not None:
        width, names, has_axes = _columns_after(steps, rows, known)
        mixed = rows.shape[1] if has_axes else None
    return Supervised(rows, values, target, given, fold, folds, width, steps, left_out, sampled_from, names, mixed)


def check_tolerance(tolerance: Any) -> None:
    """Raise ValueError unless the tolerance is a number from 0 to 1."""
    if not _is_number(tolerance) or not 0 <= float(tolerance) <= 1:
        raise ValueError(_said(Setting("tolerance"), f" must be a number from 0 to 1; it is {tolerance!r}"))


def _columns_after(steps: Any, rows: Any, places: Array) -> tuple[int, list[str] | None, bool]:
    """Return the number and the names of the columns that steps make, and whether these are axes of those before.

    A cell that is no number is named by its row in the given table: ``places`` are the rows that are left of it.
    """
    from sklearn.base import clone

    from ..graph.neighbors import objects

    made = clone(steps)
    try:
        width: int = objects(_numbers(made.fit_transform(rows)), "euclidean", "downstream").shape[1]
    except CellError as error:
        if error.row is None or error.column is None:
            raise
        name = error.name
        if name is None and hasattr(made, "get_feature_names_out"):
            name = made.get_feature_names_out()[error.column]
        raise error.changed(row=int(places[error.row]), name=name) from error
    try:
        names = list(map(str, made.get_feature_names_out()))
    except (AttributeError, ValueError):  # a step without names, or rows without them
        names = None
    parts = [step for _, step in getattr(made, "steps", [("", made)])]
    return width, names, any(hasattr(part, "rotation") and part.rotation() is not None for part in parts)


def _said(*parts: Any) -> Message:
    return Message(Owner("downstream"), *parts)


def _apart(X: Any, y: Any, steps: Any) -> tuple[Any, str, list[Any], Sequence[str] | None]:
    """Return the rows, the name and the values of the target, and the names of the columns.

    A column of X that is the target is taken out.
    """
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    frame = frame if isinstance(frame, nw.DataFrame) else None
    name = str(getattr(y, "name", None) or "target")
    if isinstance(y, str):
        if frame is None or y not in frame.columns:
            there = "the rows are no data frame" if frame is None else f"there are {', '.join(frame.columns[:10])}"
            raise DataError(_said(f"there is no column {y!r} to be the target: {there}"))
        name, listed, frame = y, frame.get_column(y).to_list(), frame.drop(y)
        X = nw.to_native(frame)
    else:
        listed = list(y.to_list() if hasattr(y, "to_list") else np.asarray(y).tolist() if hasattr(y, "shape") else y)
    if steps is not None:
        return (np.asarray(X) if frame is None else frame.to_polars()), name, listed, None
    from ..graph.neighbors import objects
    from ..rows.row_source import as_rows

    rows, names = objects(X, "euclidean", "downstream"), as_rows(X, owner="downstream").names
    return (sp.csr_array(rows) if sp.issparse(rows) else np.ascontiguousarray(rows)), name, listed, names


def _target(name: str, listed: list[Any], task: str) -> tuple[Target | None, tuple[Any, ...], Array]:
    """Return classes with their labels, or numbers."""
    others = [value for value in listed if not _is_number(value)]
    are_numbers = not others
    if task == "regression" and others:
        raise DataError(_said(f"the target {name!r} contains {others[0]!r}, and regression needs numbers"))
    whole = are_numbers and all(float(value).is_integer() for value in listed)
    few = not are_numbers or (whole and len(set(listed)) <= MOST_WHOLE)
    if task == "regression" or (task == "auto" and not few):
        values = np.array(listed, dtype=np.float64)
        if not np.isfinite(values).all() or np.ptp(values) == 0:
            raise DataError(_said(f"the target {name!r} is constant or infinite; it must vary"))
        return None, (), values
    given, codes = labels(listed, len(listed), "downstream", f"the target {name!r}")
    counts = np.bincount(codes)
    if len(given) < 2 or (counts >= 2).sum() < 2:
        different = count(len(given), "different value")
        problem = (
            f"the target {name!r} has {different} in {len(listed)} rows; two classes with two rows each are needed"
        )
        remedy = ("; for numbers use ", Setting("task", "regression")) if are_numbers and len(given) > 1 else ()
        raise DataError(_said(problem, *remedy))
    return Target(name, codes, tuple(map(str, given))), tuple(given), np.asarray(list(given))[codes]


def _folds(n: int, folds: int, seed: int, codes: Array | None) -> Array:
    """Deal the rows to folds at random; classes are spread evenly."""
    order = np.random.default_rng(seed).permutation(n)
    if codes is not None:
        order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(n, dtype=np.int64)
    fold[order] = np.arange(n) % folds
    return fold


def _check_variation(name: str, values: Array, fold: Array, folds: int) -> None:
    """Raise if a numeric target is constant in a fold: r² divides by its variance there."""
    for number in range(folds):
        here = values[fold == number]
        if np.ptp(here) == 0:
            raise DataError(
                _said(
                    f"the target {name!r} does not vary in a fold of {count(len(here), 'row')}, so it has no r²; use "
                    "fewer folds: ",
                    Setting("folds", max(3, min(folds - 1, len(values) // 4))),
                )
            )


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Real)


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or str(value) in ("NaT", "<NA>")


def _take(rows: Any, places: Array) -> Any:
    return rows[places.tolist()] if hasattr(rows, "get_columns") else rows[places]


def _numbers(made: Any) -> Array:
    """Return what steps made as an array of numbers, or a sparse matrix."""
    if sp.issparse(made):
        return sp.csr_array(made)
    plain = made.to_numpy() if hasattr(made, "to_numpy") else np.asarray(made)
    if plain.dtype.kind not in "fiub":
        raise DataError(_said("the steps leave columns that are not numbers; add a step that encodes them"))
    return np.ascontiguousarray(plain, dtype=np.float64)


def _varies(rows: Array) -> bool:
    if sp.issparse(rows):
        return bool((rows.max(axis=0) - rows.min(axis=0)).count_nonzero())
    return bool(np.ptp(rows, axis=0).any())
