"""Categories as numbers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...contract.parameters import Choice, Rule
from ...core.errors import CellError, RankWarning, new_category
from ...core.message import Message, Remedies, Setting
from ..linear.famd import FAMD
from ..linear.famd_coding import Layout
from . import frames
from .folds import Check, LevelCounts
from .step import Step
from .training_rows import Passes, TrainingRows

Array = Any


class EncodeCategories(Step):
    """Turn columns of categories into numbers.

    "one-hot": a column of 0 and 1 for each level. "famd": all axes of `FAMD`, of numbers and categories together, so
    that Euclidean distances of the result are FAMD's: numbers are standardised, and a level counts by 1/share.

    Parameters
    ----------
    method : str
        "one-hot" or "famd".
    unseen : str
        A level that the training rows do not have, or a missing one of a new row: "error" refuses it, with its place;
        "ignore": 0 in all columns of the category ("one-hot"), or its mean ("famd").

    Attributes
    ----------
    levels_ : dict
        Levels of each column of categories, sorted.
    encoder_ : FAMD or None
        The fitted FAMD ("famd").
    names_out_ : list of str
        Names of the resulting columns, such as "sex=f", or "famd0", "famd1", ….

    Examples
    --------
    >>> import polars as pl, lowland
    >>> table = pl.DataFrame({"age": [31, 54, 40], "sex": ["f", "m", "f"]})
    >>> step = lowland.steps.EncodeCategories().fit(table)
    >>> step.transform(table).rows()
    [(31, 1.0, 0.0), (54, 0.0, 1.0), (40, 1.0, 0.0)]
    >>> step.inverse_transform([[31, 0.9, 0.2]]).rows()
    [(31.0, 'f')]
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "method": Choice(("one-hot", "famd")),
        "unseen": Choice(("error", "ignore")),
    }

    levels_: dict[str, list[str]]
    encoder_: FAMD | None

    def __init__(self, method: str = "one-hot", *, unseen: str = "error") -> None:
        self.method, self.unseen = method, unseen

    def describe(self) -> str:
        """Return how categories become numbers; empty without categories."""
        how = "by all axes of FAMD" if self.method == "famd" else "one-hot"
        return f"categories {how}" if self.levels_ else ""

    def _learn(self, rows: TrainingRows) -> Passes:
        self.levels_, self.encoder_ = {}, None
        categories = self._of_kind(frames.CATEGORY)
        if categories:
            levels = LevelCounts(categories)
            yield [Check(self._require_all_complete), levels]
            self.levels_ = {name: sorted(counts) for name, counts in levels.counts.items()}
        if self.method == "famd":
            self.encoder_ = all_axes(rows.changed(self._texts).table())
            self.names_out_ = [f"famd{i}" for i in range(self.encoder_.n_components_)]
            return
        self.names_out_ = self._layout.names(self.names_in_, list(self.levels_.values()))

    @property
    def _layout(self) -> Layout:
        places = [self.names_in_.index(name) for name in self.levels_]
        return Layout.of(len(self.names_in_), places, [len(levels) for levels in self.levels_.values()])

    def origin(self) -> list[int]:
        """Return the number of the column that each level or number belongs to."""
        return [int(number) for number in self._layout.origin]

    def rotation(self) -> Array | None:
        """Return the axes of FAMD over its coded columns, or None."""
        return None if self.encoder_ is None else np.asarray(self.encoder_.components_, dtype=np.float64)

    def coded(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the numbers and levels that the axes of FAMD are sums of: centred, and weighted as FAMD does."""
        assert self.encoder_ is not None
        names = [str(name) for name in self.encoder_.coded_names_]
        return pl.DataFrame(np.asarray(self.encoder_.coded(self._texts(frame))), schema=names)

    def _texts(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(pl.col(name).cast(pl.String) for name in self.levels_)

    def _require_all_complete(self, frame: pl.DataFrame) -> None:
        for name in self._of_kind(frames.CATEGORY):
            self._require_complete(frame, name)

    def _require_complete(self, frame: pl.DataFrame, name: str, *, new: bool = False) -> None:
        missing = frame[name].is_null().to_numpy()
        if missing.any():
            level = Message("make missing values a level with ", Setting("missing_category", "level"))
            i, j = int(np.argmax(missing)), frame.columns.index(name)
            advice = new_category() if new else Remedies("fill it", "leave the row out", level)
            raise CellError("a missing category", advice, row=i, column=j, name=name)

    def _require_known(self, frame: pl.DataFrame, name: str) -> None:
        known = self.levels_[name]
        new = ~frame[name].cast(pl.String).is_in(known).to_numpy()
        if new.any():
            i = int(np.argmax(new))
            listed = ", ".join(map(repr, known[:6])) + (f", … ({len(known)} in all)" if len(known) > 6 else "")
            ignore = Message("ignore the column for such rows with ", Setting("unseen", "ignore"))
            what = f"the level {str(frame[name][i])!r}, which the training rows do not have (they have {listed}),"
            j = frame.columns.index(name)
            raise CellError(what, Remedies("correct it", ignore), row=i, column=j, name=name)

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        for name in self.levels_ if self.unseen == "error" else ():
            self._require_complete(frame, name, new=True)
            self._require_known(frame, name)
        if self.encoder_ is not None:
            if frame.height == 0:
                return pl.DataFrame(schema=dict.fromkeys(self.names_out_, pl.Float64))
            Y = np.asarray(self.encoder_.transform(self._texts(frame)))
            return pl.DataFrame(Y, schema=self.names_out_)
        out = list[pl.Series]()
        for name in self.names_in_:
            if name not in self.levels_:
                out.append(frame[name])
                continue
            texts = frame[name].cast(pl.String)
            out += [texts.eq_missing(level).cast(pl.Float64) for level in self.levels_[name]]
        return pl.DataFrame([column.rename(name) for column, name in zip(out, self.names_out_, strict=True)])

    def _restore(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return numbers as they are and, for each category, the level of the largest value."""
        if self.encoder_ is not None:
            cells = np.asarray(self.encoder_.inverse_transform(frame.to_numpy()), dtype=object)
            kinds = [pl.String if name in self.levels_ else pl.Float64 for name in self.names_in_]
            pairs = zip(self.names_in_, cells.T, kinds, strict=True)
            return pl.DataFrame([pl.Series(name, column.tolist(), dtype=kind) for name, column, kind in pairs])
        out, start = list[pl.Series](), 0
        for name in self.names_in_:
            if name not in self.levels_:
                out.append(frame.to_series(start).rename(name))
                start += 1
                continue
            levels = self.levels_[name]
            values = frame[:, start : start + len(levels)].to_numpy()
            best = values.argmax(axis=1) if len(values) else []
            known = (values != 0).any(axis=1)
            texts = [levels[code] if there else None for code, there in zip(best, known, strict=True)]
            out.append(pl.Series(name, texts, dtype=pl.String))
            start += len(levels)
        return pl.DataFrame(out)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.method != "famd"
        return tags


def all_axes(X: Any) -> FAMD:
    """Return a fitted FAMD with all axes: its distances weight numeric and categorical columns equally.

    A level that the training rows do not have takes the mean of its column.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ties and rank do not matter: all axes are used
        first = FAMD(n_components=1).fit(X)
    width = len(first.coded_names_) - len(first.categorical_columns_)  # K levels have K − 1 degrees of freedom
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        warnings.filterwarnings("ignore", message=".*have one eigenvalue")
        return FAMD(n_components=min(width, first.n_samples_), unseen="ignore").fit(X)
