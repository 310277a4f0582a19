"""Filling of missing cells."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...contract.parameters import RANDOM_STATE, AnyOf, Choice, Integer, Rule
from ...core.errors import CellError, new_category
from ...core.formatting import count
from ...core.message import Message, Remedies, Setting
from ...core.random import seed
from ..linear.probabilistic_pca import ProbabilisticPCA
from . import frames
from .folds import Check, ColumnSums, FirstValues, LevelCounts, SampledNumbers
from .quantiles import quantiles, sample_rows
from .step import Step
from .training_rows import Passes, TrainingRows

Array = Any

HIDDEN_SHARE = 0.1  # of the observed cells, hidden in each round of cross-validation
ROUNDS = 3
MAX_COMPONENTS = 10  # most directions that are tried
MAX_CELLS = 200_000  # cells of the rows that choose the number of directions
MAX_FITTED_CELLS = 2_000_000  # cells of the rows that the Gaussian model is fitted to
MAX_EM_COLUMNS = 300  # beyond, EM's square of the columns takes too long, and closed forms of filled rows are iterated
_REFILLS = 50
WORSE = 2  # numbers of directions in a row without a lower error, after which no more are tried
_LEVEL = "missing"  # the level of missing categories


class ImputeMissing(Step):
    """Fill missing cells, each row by what the training rows taught.

    "mean" and "median" of the column; "ppca": the conditional mean given the observed cells of the row, in the
    Gaussian model of `ProbabilisticPCA`. For it, columns are divided by the standard deviation of their observed cells
    first, so that the result does not depend on units, and filled cells are returned in the original units. The number
    of directions is chosen by cross-validation: a tenth of the observed cells is hidden and predicted, three times,
    and the smallest number whose squared error is within a standard error of the least one is taken; 0, the mean, is a
    candidate.

    Parameters
    ----------
    method : str
        Missing numbers: "mean", "median", "ppca", or "keep", which leaves them to the method.
    categories : str
        Missing categories: "error" refuses them, with their place; "level" makes them a level of their own, called
        "missing"; "mode" takes the most frequent level.
    unseen : str
        Missing categories of new rows where ``categories="error"``: "error", or "ignore", which leaves them missing for
        `EncodeCategories` with ``unseen="ignore"``.
    n_components : "auto" or int
        Number of directions of "ppca"; "auto": by cross-validation.
    random_state : int, generator or None
        Seed of the hidden cells; None is seed 0.

    Attributes
    ----------
    fill_ : array
        Mean or median of each column of numbers ("ppca": the mean).
    scale_, model_ : array, ProbabilisticPCA or None
        Standard deviation of the observed cells; the model of the divided columns, None if it has no directions.
    n_components_, n_rows_, n_fitted_rows_ : int
        Number of directions of "ppca"; training rows, and those that its Gaussian model was fitted to: all of them, or
        a random sample where they have more than 2 million cells.
    errors_ : array
        Mean squared error of hidden cells in squared standard deviations, for 0, 1, 2, … directions ("auto").
    levels_ : dict
        Level of missing cells in each column of categories.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X = np.random.default_rng(0).standard_normal((100, 1)) @ [[1.0, 2.0, 300.0]]
    >>> hidden = X.copy()
    >>> hidden[7, 2] = np.nan
    >>> float(abs(lowland.steps.ImputeMissing("ppca").fit_transform(hidden)[7, 2] / X[7, 2] - 1).round(3))
    0.0
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "method": Choice(("keep", "mean", "median", "ppca")),
        "categories": Choice(("error", "level", "mode")),
        "unseen": Choice(("error", "ignore")),
        "n_components": AnyOf((Choice(("auto",)), Integer(0))),
        "random_state": RANDOM_STATE,
    }

    fill_: Array
    scale_: Array
    model_: ProbabilisticPCA | None
    n_components_: int
    n_rows_: int
    n_fitted_rows_: int
    errors_: Array
    levels_: dict[str, str]

    def __init__(
        self,
        method: str = "mean",
        *,
        categories: str = "error",
        unseen: str = "error",
        n_components: int | str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.method, self.categories, self.unseen = method, categories, unseen
        self.n_components, self.random_state = n_components, random_state

    def describe(self) -> str:
        """Return how missing numbers and categories are filled; empty without them."""
        numbers = {"mean": "column means", "median": "column medians", "ppca": "", "keep": ""}[self.method]
        if self.method == "ppca" and self.model_ is None:
            numbers = f"column means ({self._why_means()})"
        elif self.method == "ppca":
            numbers = f"probabilistic PCA of {count(self.n_components_, 'direction')}"
            if self.n_fitted_rows_ < self.n_rows_:
                numbers += f" (learned from {self.n_fitted_rows_:,} of {self.n_rows_:,} rows)"
        levels = {"level": "a level of their own", "mode": "the most frequent level", "error": ""}[self.categories]
        levels = levels if self.levels_ else ""
        said = {"missing numbers filled by ": numbers, "missing categories by ": levels}
        return ", ".join(f"{name}{how}" for name, how in said.items() if how)

    def _why_means(self) -> str:
        """Return why "ppca" fills the mean: a model without directions has no other value for a cell."""
        if self.n_components_:
            return "the columns do not vary"
        if self.n_components != "auto":
            return "probabilistic PCA without directions"
        if len(self.errors_) > 1:
            return "in cross-validation, probabilistic PCA of the other columns was not measurably better"
        return "too few columns or observed cells for probabilistic PCA"

    def _learn(self, rows: TrainingRows) -> Passes:
        self.names_out_ = list(self.names_in_)
        names, categories = self._of_kind(frames.NUMBER), self._of_kind(frames.CATEGORY)
        sums, levels = ColumnSums(names), LevelCounts(categories)
        counts = {"median": sample_rows(len(names)), "ppca": _rows_of(MAX_FITTED_CELLS, len(names))}
        sample = SampledNumbers(names, counts.get(self.method, 1), rows.known_rows, _key_seed(self.random_state))
        complete = [Check(self._filled_categories)] if categories and self.categories == "error" else []
        yield [sums, levels, sample, *complete]
        self.fill_ = sums.mean
        if self.method == "median":
            self.fill_ = quantiles(rows, sums, sample.rows, (0.5,))[0]
        if self.method == "ppca":
            self._learn_gaussian(rows, sums, sample)
        self.levels_ = {name: self._level(counts) for name, counts in levels.counts.items()}

    def _level(self, counts: dict[str, int]) -> str:
        """Return what stands for missing cells of a category: its most frequent level, or a new one."""
        if self.categories == "mode":
            return min(counts, key=lambda level: (-counts[level], level))
        return next(text for text in (_LEVEL, f"({_LEVEL})", f"(({_LEVEL}))") if text not in counts)

    def _learn_gaussian(self, rows: TrainingRows, sums: ColumnSums, sample: SampledNumbers) -> None:
        self.scale_ = sums.deviation
        self.scale_[~(self.scale_ > 0)] = 1.0
        few = (_with_values(rows, sums, sample) - self.fill_) / self.scale_
        self.n_rows_, self.n_fitted_rows_ = rows.n_rows, len(few)
        most = min(few.shape[1] - 1, rows.n_rows - 2)
        if self.n_components == "auto":
            fewer = sample.smallest(_rows_of(MAX_CELLS, few.shape[1]))
            Z = few if np.isnan(fewer).all(axis=0).any() else (fewer - self.fill_) / self.scale_
            errors = hidden_errors(Z, min(most, MAX_COMPONENTS), self.random_state)
            self.errors_ = errors.mean(axis=0) if len(errors) else np.empty(0)
            self.n_components_ = fewest(errors)
        else:
            self.n_components_ = max(0, min(int(self.n_components), most))
        self.model_ = _fitted(few, self.n_components_) if self.n_components_ else None

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        gaps = [name for name in self._of_kind(frames.NUMBER) if frame[name].null_count()]
        if gaps and self.method == "ppca" and self.model_ is not None:
            names = self._of_kind(frames.NUMBER)
            frame = frames.with_numbers(frame, names, self._filled(frames.numbers(frame, names)))
        elif gaps and self.method != "keep":
            fill = dict(zip(self._of_kind(frames.NUMBER), self.fill_, strict=True))
            schema = frame.schema
            kinds = {name: pl.Float32 if schema[name] == pl.Float32 else pl.Float64 for name in gaps}
            made = [pl.col(name).cast(kinds[name]).fill_null(float(fill[name])) for name in gaps]
            frame = frames.replaced(frame, frame.select(made).get_columns())
        return self._filled_categories(frame, new=True)

    def _filled(self, X: Array) -> Array:
        """Return rows with their gaps filled by the Gaussian model."""
        gaps, model = np.isnan(X), self.model_
        assert model is not None
        some = gaps.any(axis=1)
        out = X.copy()
        Z = model.fill((X[some] - self.fill_) / self.scale_)
        out[some] = np.where(gaps[some], Z * self.scale_ + self.fill_, X[some])
        return out

    def _filled_categories(self, frame: pl.DataFrame, *, new: bool = False) -> pl.DataFrame:
        for name in self._of_kind(frames.CATEGORY):
            column = frame[name]
            if not column.null_count():
                continue
            if self.categories == "error" and new and self.unseen == "ignore":
                continue
            if self.categories == "error":
                i, number = int(np.argmax(column.is_null().to_numpy())), frame.columns.index(name)
                level = Message("make missing values a level with ", Setting("missing_category", "level"))
                mode = Message("take the most frequent level with ", Setting("missing_category", "mode"))
                advice = new_category() if new else Remedies("fill it", level, mode)
                raise CellError("a missing category", advice, row=i, column=number, name=name)
            filled = column.cast(pl.String).fill_null(self.levels_[name])
            if column.dtype == pl.Boolean and self.categories == "mode":
                filled = filled == "true"
            frame = frame.with_columns(filled.rename(name))
        return frame

    def _restore(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows as they are, with the level of missing categories as missing; filled numbers stay."""
        if self.categories != "level":
            return frame
        texts = [name for name in self._of_kind(frames.CATEGORY) if frame.schema[name] == pl.String]
        return frame.with_columns(
            pl.when(pl.col(name) == self.levels_[name]).then(None).otherwise(pl.col(name)).alias(name) for name in texts
        )


def hidden_errors(Z: Array, most: int, random_state: Any = None) -> Array:
    """Return the squared errors of hidden cells, a row for each, in columns for 0, 1, … directions.

    At most ``most`` are tried, and no more after two numbers in a row without a lower error.
    """
    rng = seed(random_state)
    seen, parts = np.argwhere(~np.isnan(Z)), list[tuple[Array, Array, Array]]()
    for _ in range(ROUNDS):
        i, j = seen[rng.choice(len(seen), max(1, round(HIDDEN_SHARE * len(seen))), replace=False)].T
        part = Z.copy()
        part[i, j] = np.nan
        if not np.isnan(part).all(axis=0).any():  # a column with few values may have lost all of them
            parts.append((part, i, j))
    if not parts:
        return np.empty((0, 1))
    found = list[Array]()
    for k in range(most + 1):
        models = [_fitted(part, k, tol=1e-4) if k else None for part, _, _ in parts]
        guesses = [_guess(model, *part) for model, part in zip(models, parts, strict=True)]
        found.append(np.concatenate([(Z[i, j] - g) ** 2 for g, (_, i, j) in zip(guesses, parts, strict=True)]))
        if k >= int(np.argmin([errors.mean() for errors in found])) + WORSE:
            break
    return np.column_stack(found)


def _guess(model: ProbabilisticPCA | None, part: Array, i: Array, j: Array) -> Array:
    """Return the hidden cells as a model fills them; without a model, the means."""
    if model is None:
        return _means(part)[j]
    rows, place = np.unique(i, return_inverse=True)
    return np.asarray(model.fill(part[rows]))[place, j]


def fewest(errors: Array) -> int:
    """Return the smallest number of directions whose error is within a standard error of the least one.

    >>> fewest(np.array([[4.0, 1.0, 1.1], [5.0, 1.2, 1.0], [3.0, 1.0, 1.1]]))
    1
    """
    if len(errors) < 2:
        return 0
    best = int(errors.mean(axis=0).argmin())
    more = errors - errors[:, [best]]  # of the same cells, so that what all models miss cancels
    near = more.mean(axis=0) <= more.std(axis=0, ddof=1) / np.sqrt(len(errors))
    return int(near.argmax())


def _means(X: Array) -> Array:
    """Return the mean of the observed cells of each column."""
    seen = ~np.isnan(X)
    return np.where(seen, X, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)


def _rows_of(cells: int, width: int) -> int:
    """Return the number of rows that have so many cells, at least 50."""
    return max(50, cells // max(1, width))


def _key_seed(random_state: Any) -> int:
    """Return the seed by which rows are drawn."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**62))
    return 0 if random_state is None else int(random_state)


def _with_values(rows: TrainingRows, sums: ColumnSums, sample: SampledNumbers) -> Array:
    """Return the drawn rows; if a column with few values has none in them, with the first rows that have some."""
    X = sample.rows
    without = np.flatnonzero(np.isnan(X).all(axis=0) & (sums.count > 0))
    if not len(without):
        return X
    further = FirstValues([sums.names[j] for j in without], sums.names, _rows_of(0, 1))
    rows.run(further)
    return np.concatenate([X, further.rows])


def _fitted(Z: Array, k: int, tol: float = 1e-6) -> ProbabilisticPCA | None:
    """Return the Gaussian model of standardised columns, or None where they do not vary."""
    if not np.nanmax(np.abs(Z), initial=0.0) > 0:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cross-validation judges: rank, convergence and dominance need no warning
        if Z.shape[1] > MAX_EM_COLUMNS:
            return _refilled(Z, k, tol)
        return ProbabilisticPCA(k, tol=tol, max_iter=300).fit(Z)


def _refilled(Z: Array, k: int, tol: float) -> ProbabilisticPCA:
    """Return the model of the table filled by itself: fill, fit in closed form, and repeat.

    EM without the spread of the filled cells, which matters little beside many columns.
    """
    gaps = np.isnan(Z)
    filled = np.where(gaps, 0.0, Z)
    for _ in range(_REFILLS):
        model = ProbabilisticPCA(k).fit(filled)
        new = np.asarray(model.fill(Z))[gaps]
        moved = float(((new - filled[gaps]) ** 2).sum())
        filled[gaps] = new
        if moved <= max(tol, 1e-6) * float((new**2).sum()):
            break
    return model
