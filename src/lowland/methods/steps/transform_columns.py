"""Functions of columns: logarithms, roots, ranks and compositions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NoReturn

import numpy as np
import polars as pl

from ...contract.parameters import Rule
from ...core.errors import CellError, DataError
from ...core.formatting import count, first_names
from ...core.message import Remedies
from . import frames
from .folds import Check, DistinctCounts
from .rules import TransformTable
from .step import Step
from .training_rows import Passes, TrainingRows

Array = Any

COMPOSITIONS = ("clr", "hellinger")  # of the shares of several columns in a row
TRANSFORMS = ("log", "log1p", "sqrt", "rank", *COMPOSITIONS)
MAX_RANKED = 10_000  # distinct training values that are stored of a ranked column
_NAMED = 5  # most columns of a function that are all named in words

_SIMPLE: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "log": (np.log, np.exp),
    "log1p": (np.log1p, np.expm1),
    "sqrt": (np.sqrt, np.square),
}


class TransformColumns(Step):
    """Apply a function to some columns of numbers; other columns stay as they are.

    log x, log(1 + x) and √x by cell; rank: the share of training values below x, half of the equal ones counted,
    linear between training values and constant outside them; over a row of parts x_1 … x_p of a whole, clr:
    log x_j − mean log x (Aitchison 1986), and hellinger: √(x_j/Σx) (Legendre and Gallagher 2001). A value outside a
    function's domain, such as the logarithm of 0, is an error with its row and column. Missing cells stay missing; clr
    and hellinger refuse them.

    Parameters
    ----------
    transforms : dict
        Columns of each transform, by name or number, or "all" for all columns of numbers:
        ``{"log": ["crp", "ferritin"], "sqrt": ["cells"]}``.

    Attributes
    ----------
    columns_ : dict
        Names of the columns of each transform.
    values_, ranks_ : dict of arrays
        Distinct training values of each ranked column, at most 10,000, and the rank of each, between 0 and 1.

    Examples
    --------
    >>> import lowland
    >>> step = lowland.steps.TransformColumns({"rank": ["x0"], "sqrt": ["x1"]})
    >>> step.fit_transform([[5.0, 4.0], [1.0, 9.0], [90.0, 16.0]]).round(3).tolist()
    [[0.5, 2.0], [0.167, 3.0], [0.833, 4.0]]
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {"transforms": TransformTable(TRANSFORMS)}

    columns_: dict[str, list[str]]
    values_: dict[str, Array]
    ranks_: dict[str, Array]

    def __init__(self, transforms: dict[str, Any]) -> None:
        self.transforms = transforms

    def describe(self) -> str:
        """Return the functions with their columns; of many columns the first, or that they are all."""
        return ", ".join(f"{name} of {self._in_words(columns)}" for name, columns in self.columns_.items())

    def _in_words(self, columns: list[str]) -> str:
        if len(columns) == len(self.names_in_) > _NAMED:
            return f"all {count(len(columns), 'column')}"
        return first_names(columns, _NAMED)

    def _learn(self, rows: TrainingRows) -> Passes:
        self.columns_ = self._resolved()
        self.names_out_ = list(self.names_in_)
        self.values_, self.ranks_ = {}, {}
        ranked = self.columns_.get("rank", [])
        distinct = DistinctCounts(ranked)
        yield [distinct, Check(self._require_domains)]  # a value outside the domain is an error of the fit
        for name in ranked:
            self.values_[name], self.ranks_[name] = _ranks(*distinct.of(name))

    def _require_domains(self, frame: pl.DataFrame) -> None:
        for kind, names in self.columns_.items():
            _require_domain(kind, frames.numbers(frame, names), names, frame.columns)

    def _resolved(self) -> dict[str, list[str]]:
        owner, numeric = type(self).__name__, self._of_kind(frames.NUMBER)
        found: dict[str, list[str]] = {}
        numbers, taken = set(numeric), dict[str, str]()
        for kind, columns in self.transforms.items():
            all_of = columns == "all"
            found[kind] = numeric if all_of else frames.positions(self.names_in_, columns, owner, "transforms")
            for name in found[kind]:
                if name not in numbers:
                    raise DataError(f"{owner}: {kind} of column {name!r}, which holds no numbers")
                if taken.setdefault(name, kind) != kind:
                    raise DataError(f"{owner}: column {name!r} is in {taken[name]} and in {kind}; choose one of them")
            if kind in COMPOSITIONS and len(found[kind]) < 2:
                raise DataError(f"{owner}: {kind} needs at least two columns, the parts of a whole")
        return found

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        for kind, names in self.columns_.items():
            frame = frames.with_numbers(frame, names, self._map(kind, names, frame))
        return frame

    def _map(self, kind: str, names: list[str], frame: pl.DataFrame) -> Array:
        X = frames.numbers(frame, names)
        _require_domain(kind, X, names, frame.columns)
        if kind == "rank":
            columns = [np.interp(x, self.values_[n], self.ranks_[n]) for x, n in zip(X.T, names, strict=True)]
            return np.where(np.isnan(X), np.nan, np.column_stack(columns)) if columns else X
        if kind == "clr":
            logs = np.log(X)
            return logs - logs.mean(axis=1, keepdims=True)
        if kind == "hellinger":
            return np.sqrt(X / X.sum(axis=1, keepdims=True))
        return _SIMPLE[kind][0](X)

    def _restore(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Undo the functions; clr and hellinger give shares, which sum to 1 in a row."""
        for kind, names in self.columns_.items():
            Y = frames.numbers(frame, names)
            if kind == "rank":
                columns = [np.interp(y, self.ranks_[n], self.values_[n]) for y, n in zip(Y.T, names, strict=True)]
                X = np.where(np.isnan(Y), np.nan, np.column_stack(columns))
            elif kind == "clr":
                parts = np.exp(Y - Y.max(axis=1, keepdims=True))
                X = parts / parts.sum(axis=1, keepdims=True)
            else:
                X = np.square(Y) if kind == "hellinger" else _SIMPLE[kind][1](Y)
            frame = frames.with_numbers(frame, names, X)
        return frame


def _ranks(distinct: Array, counts: Array) -> tuple[Array, Array]:
    """Return distinct values, and the share of all values below each, half of the equal ones counted."""
    ranks = (np.cumsum(counts) - counts / 2) / counts.sum()
    if len(distinct) > MAX_RANKED:
        kept = np.unique(np.linspace(0, len(distinct) - 1, MAX_RANKED).round().astype(np.intp))
        distinct, ranks = distinct[kept], ranks[kept]
    return distinct, ranks


def _require_domain(kind: str, X: Array, names: list[str], columns: list[str]) -> None:
    """Raise for the first cell for which a function is not defined."""
    if kind == "rank":
        return
    if kind in COMPOSITIONS and np.isnan(X).any():
        _refuse(np.isnan(X), "a missing part", Remedies("fill it", "leave the row out"), names, columns)
    wrong = {"log": X <= 0, "clr": X <= 0, "log1p": X <= -1}.get(kind, X < 0)
    if wrong.any():
        i, c = np.argwhere(wrong)[0]
        zero = X[i, c] == 0
        other = {"log": "log1p" if X[:, c].min() > -1 else "rank", "clr": "hellinger"}.get(kind, "rank")
        if kind == "clr" and (X < 0).any():
            other = "rank"
        advice = Remedies("correct it", "leave the row out", f"use {other!r}" + (", which takes 0" if zero else ""))
        _refuse(wrong, f"{X[i, c]:.6g}, for which {kind} is not defined,", advice, names, columns)
    if kind == "hellinger" and (X.sum(axis=1) == 0).any():
        empty = np.zeros(X.shape, dtype=bool)
        empty[:, 0] = X.sum(axis=1) == 0
        _refuse(empty, "a row of zeros, which has no shares,", Remedies("leave the row out"), names, columns)


def _refuse(wrong: Array, what: str, advice: Remedies, names: list[str], columns: list[str]) -> NoReturn:
    i, c = (int(place) for place in np.argwhere(wrong)[0])
    raise CellError(what, advice, row=i, column=columns.index(names[c]), name=names[c])
