"""Dates as numbers: time since the first training date, or positions in the year, the week and the day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from sklearn.utils.metaestimators import available_if

from ...contract.parameters import Choice, Rule
from . import frames
from .folds import Fold
from .step import Step
from .training_rows import Passes, TrainingRows

_DAY = 86_400_000_000  # microseconds
PERIODS = {"year": 365.2425 * _DAY, "week": 7.0 * _DAY, "day": float(_DAY)}
_MONDAY = 4 * _DAY  # 1970-01-05; weeks are counted from it


class EncodeDates(Step):
    """Turn dates and times into numbers; other columns stay as they are.

    "elapsed": days since the first training date. "cyclic": sin 2πt/T and cos 2πt/T, where t is the position in a
    period T: the year, the week and the day, each if the training dates differ in it and span at least half of it.
    Times with a time zone are elapsed in UTC and cyclic in local time. A missing date gives missing numbers.

    Parameters
    ----------
    method : str
        "elapsed" or "cyclic".

    Attributes
    ----------
    first_ : list of int
        The first training date of each column of dates, in microseconds since 1970 ("elapsed").
    dtypes_ : list of str
        Types of these columns, "date" or "time".
    parts_ : list of list of str
        Periods of each ("cyclic").
    names_out_ : list of str
        Names of the resulting columns, such as "admitted_days" or "admitted_year_sin".

    Examples
    --------
    >>> import polars as pl, lowland
    >>> from datetime import date
    >>> table = pl.DataFrame({"seen": [date(2024, 3, 1), date(2024, 1, 31)]})
    >>> lowland.steps.EncodeDates().fit_transform(table).to_dict(as_series=False)
    {'seen_days': [30.0, 0.0]}
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {"method": Choice(("elapsed", "cyclic"))}

    first_: list[int]
    dtypes_: list[str]
    parts_: list[list[str]]

    def __init__(self, method: str = "elapsed") -> None:
        self.method = method

    def describe(self) -> str:
        """Return how dates become numbers; empty without dates."""
        how = "days since the first" if self.method == "elapsed" else "sine and cosine of year, week and day"
        return f"dates as {how}" if self._of_kind(frames.DATE) else ""

    def _learn(self, rows: TrainingRows) -> Passes:
        dates = self._of_kind(frames.DATE)
        ranges, types = DateRanges(dates), rows.types()
        if dates:
            yield [ranges]
        self.dtypes_ = ["date" if types[name] == pl.Date else "time" for name in dates]
        self.first_ = [ranges.of(name)[0] for name in dates]
        self.parts_ = [_parts(*ranges.of(name)[1:]) if self.method == "cyclic" else [] for name in dates]
        self.names_out_ = _free([made for name in self.names_in_ for made in self._made(name, dates)])

    @property
    def keeps_rows(self) -> bool:
        """Whether the result is the columns that were learned from: if there are no dates."""
        return not self._of_kind(frames.DATE)

    def origin(self) -> list[int]:
        """Return the number of the column that each resulting column belongs to."""
        dates = self._of_kind(frames.DATE)
        return [number for number, name in enumerate(self.names_in_) for _ in self._made(name, dates)]

    def _made(self, name: str, dates: list[str]) -> list[str]:
        """Return the names that a column becomes."""
        if name not in dates:
            return [name]
        if self.method == "elapsed":
            return [f"{name}_days"]
        return [f"{name}_{part}_{wave}" for part in self.parts_[dates.index(name)] for wave in ("sin", "cos")]

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        out, dates = list[pl.Series](), self._of_kind(frames.DATE)
        if not dates:
            return frame
        for name in self.names_in_:
            if name not in dates:
                out.append(frame[name])
                continue
            number = dates.index(name)
            if self.method == "elapsed":
                elapsed = (_microseconds(frame[name]) - self.first_[number]).cast(pl.Float64)
                out.append(frames.quotient(elapsed, _DAY))
            else:
                out += [wave for part in self.parts_[number] for wave in _waves(frame[name], part)]
        return pl.DataFrame([c.rename(name) for c, name in zip(out, self.names_out_, strict=True)])

    @available_if(  # type: ignore[untyped-decorator]
        lambda self: self.method == "elapsed" or getattr(self, "parts_", None) == []
    )
    def inverse_transform(self, X: Any) -> Any:
        """Return elapsed days as dates, to the nearest day or microsecond."""
        return super().inverse_transform(X)

    def _restore(self, frame: pl.DataFrame) -> pl.DataFrame:
        out, dates = list[pl.Series](), self._of_kind(frames.DATE)
        for name, made in zip(self.names_in_, self.names_out_, strict=True):
            column = frame[made].rename(name)
            if name in dates:
                number = dates.index(name)
                unit = _DAY if self.dtypes_[number] == "date" else 1
                steps = (column.cast(pl.Float64) * (_DAY / unit)).round().cast(pl.Int64)
                column = (steps * unit + self.first_[number]).cast(pl.Datetime("us"))
                column = column.cast(pl.Date) if unit == _DAY else column
            out.append(column)
        return pl.DataFrame(out)


def _microseconds(column: pl.Series, *, local: bool = False) -> pl.Series:
    """Return dates as microseconds since 1970, in UTC or in local time."""
    zone = getattr(column.dtype, "time_zone", None)
    if zone is not None:
        column = column if local else column.dt.convert_time_zone("UTC")
        column = column.dt.replace_time_zone(None)
    return column.cast(pl.Datetime("us")).cast(pl.Int64)


class DateRanges(Fold):
    """The first of the dates of columns (in UTC), and the first and last local time and local time of day.

    >>> from datetime import datetime
    >>> ranges = DateRanges(["a"])
    >>> ranges.add(ranges.part(0, pl.DataFrame({"a": [datetime(1970, 1, 2, 0, 0, 1), None]})))
    >>> ranges.of("a")
    [86401000000, 86401000000, 86401000000, 1000000, 1000000]
    """

    _sums = ("_found",)

    def __init__(self, names: Sequence[str]) -> None:
        self._found: dict[str, list[int] | None] = dict.fromkeys(names)

    def part(self, start: int, frame: pl.DataFrame) -> dict[str, list[int]]:
        """Return the ranges of a block."""
        found = {}
        for name in self._found:
            local = _microseconds(frame[name], local=True).drop_nulls().to_numpy()
            if len(local):
                first, clock = _microseconds(frame[name]).drop_nulls().to_numpy().min(), local % _DAY
                found[name] = [int(n) for n in (first, local.min(), local.max(), clock.min(), clock.max())]
        return found

    def add(self, part: dict[str, list[int]]) -> None:
        """Widen the ranges by the next block."""
        for name, new in part.items():
            own = self._found[name] or new
            self._found[name] = [choose(a, b) for choose, a, b in zip((min, min, max, min, max), own, new, strict=True)]

    def of(self, name: str) -> list[int]:
        """Return the first date, the first and last local time, and the first and last time of day, in microseconds."""
        found = self._found[name]
        assert found is not None
        return found


def _parts(first: int, last: int, first_clock: int, last_clock: int) -> list[str]:
    """Return the periods in which dates differ and of which they span at least a half."""
    found = [part for part, T in PERIODS.items() if part != "day" and last - first >= T / 2]
    if last_clock > first_clock:
        found.append("day")
    return found or ["year"]  # a short span still has a position in the year


def _waves(column: pl.Series, part: str) -> tuple[pl.Series, pl.Series]:
    """Return sin and cos of the position in a period; a year has its own length."""
    if part == "year":
        local = column.dt.replace_time_zone(None) if getattr(column.dtype, "time_zone", None) else column
        times = local.cast(pl.Datetime("us"))
        start = times.dt.truncate("1y")
        length = (start.dt.offset_by("1y") - start).cast(pl.Int64).cast(pl.Float64)
        share = (times - start).cast(pl.Int64).cast(pl.Float64) / length
    else:
        T = int(PERIODS[part])
        share = frames.quotient(((_microseconds(column, local=True) - _MONDAY) % T).cast(pl.Float64), T)
    angle = share * (2 * np.pi)
    return angle.sin(), angle.cos()


def _free(names: list[str]) -> list[str]:
    """Return names that are all different.

    >>> _free(["a_days", "b", "a_days"])
    ['a_days', 'b', 'a_days′']
    """
    found = dict[str, None]()
    for name in names:
        while name in found:
            name += "′"
        found[name] = None
    return list(found)
