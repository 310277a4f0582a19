"""Dates in columns of text."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

_ISO_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_ISO_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?$"
_CLOCK = r"(?:[T ]+([0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?))?$"
# Year first is year, month, day; points are European; with slashes and dashes some day past 12 decides the order.
_FORMS = (
    (r"^[0-9]{4}([/.-])[0-9]{1,2}[/.-][0-9]{1,2}", ("%Y{}%m{}%d",)),
    (r"^[0-9]{1,2}([.])[0-9]{1,2}[.][0-9]{4}", ("%d{}%m{}%Y",)),
    (r"^[0-9]{1,2}([/-])[0-9]{1,2}[/-][0-9]{4}", ("%d{}%m{}%Y", "%m{}%d{}%Y")),
    (r"^[0-9]{1,2}([ -])[A-Za-z]{3}[ -][0-9]{4}", ("%d{}%b{}%Y",)),
    (r"^[A-Za-z]{3,9} [0-9]{1,2}(,?) [0-9]{4}", ("%B %d{} %Y",)),
)

ORDERS = {"dmy": "%d/%m/%Y", "mdy": "%m/%d/%Y"}  # for cells that do not show which of the two comes first
_NUMBERS = r"^([0-9]{1,2})[/.-]([0-9]{1,2})[/.-]([0-9]{4})" + _CLOCK


class ParsedDates(NamedTuple):
    """A column of dates or times; ``formats`` are those that fit all cells, more than one if the order is ambiguous."""

    values: pl.Series
    formats: tuple[str, ...]


def iso_dates(cells: pl.Series) -> pl.Series | None:
    """Return trimmed text cells as dates or times if all are in ISO form, else None. Times with zones become UTC.

    >>> iso_dates(pl.Series(["2024-02-28", None])).dtype
    Date
    >>> iso_dates(pl.Series(["2024-02-28 12:30"])).to_list()
    [datetime.datetime(2024, 2, 28, 12, 30)]
    """
    if cells.null_count() == len(cells):
        return None
    if cells.str.contains(_ISO_DATE).all(ignore_nulls=True):
        return _complete(cells, cells.str.to_date("%Y-%m-%d", strict=False))
    if not cells.str.contains(_ISO_TIME).all(ignore_nulls=True):
        return None
    plain = cells.str.replace(" ", "T", literal=True)
    zoned = plain.str.contains(r"(Z|[+-][0-9]{2}:?[0-9]{2})$")
    if zoned.any() and not zoned.all(ignore_nulls=True):
        return None  # some times have a zone and others have none
    zone = "%#z" if zoned.any() else ""
    plain = plain.str.replace("Z$", "+00:00").str.replace(r"T([0-9]{2}:[0-9]{2})($|[+-])", "T${1}:00${2}")
    return _complete(cells, plain.str.to_datetime(f"%Y-%m-%dT%H:%M:%S%.f{zone}", time_unit="us", strict=False))


def parse_dates(cells: pl.Series) -> ParsedDates | None:
    """Return a column of text as dates if all cells are dates in one of the common forms, else None.

    Forms: ISO, year/month/day, day.month.year, day/month/year, month/day/year, day-Mon-year, Mon day year (a comma may
    stand before the year); a time may follow.
    If a day past 12 does not decide between day/month and month/day, ``formats`` has both and the first is used.

    >>> parse_dates(pl.Series(["31.12.2024", "1.2.2025"])).values.to_list()
    [datetime.date(2024, 12, 31), datetime.date(2025, 2, 1)]
    >>> parse_dates(pl.Series(["Jan 5, 2024", "Feb 17, 2024"])).values.to_list()
    [datetime.date(2024, 1, 5), datetime.date(2024, 2, 17)]
    >>> parse_dates(pl.Series(["12/31/2024", "1/2/2025"])).formats
    ('%m/%d/%Y',)
    >>> parse_dates(pl.Series(["1/2/2025"])).formats
    ('%d/%m/%Y', '%m/%d/%Y')
    """
    cells = cells.str.strip_chars()
    iso = iso_dates(cells)
    if iso is not None:
        return ParsedDates(iso, ("%Y-%m-%d",))
    first = next(iter(cells.drop_nulls().head(1)), "")
    for pattern, forms in _FORMS:
        mark = pl.Series([first]).str.extract(pattern + _CLOCK, 1)[0]
        if mark is None or not cells.str.contains(pattern + _CLOCK).all(ignore_nulls=True):
            continue
        fits = [(form.replace("{}", mark), _by(cells, form.replace("{}", mark))) for form in forms]
        good = [(form, values) for form, values in fits if values is not None]
        if good:
            return ParsedDates(good[0][1], tuple(form for form, _ in good))
    return None


def dates_in(cells: pl.Series, form: str) -> pl.Series | None:
    """Return a column of text as dates of one of the forms of `parse_dates`; None if some cell does not fit.

    >>> dates_in(pl.Series(["1/2/2025"]), "%m/%d/%Y").to_list()
    [datetime.date(2025, 1, 2)]
    """
    parsed = parse_dates(cells)
    if parsed is None or form not in parsed.formats:
        return None
    return parsed.values if form == parsed.formats[0] else _by(cells.str.strip_chars(), form)


def ordered_dates(cells: pl.Series, order: str) -> pl.Series:
    """Return texts such as 1/2/2024 as times, cell by cell, in the order "dmy" or "mdy"; others become missing.

    >>> ordered_dates(pl.Series(["1/2/2024", "2.1.2024 9:30", "31/1/2024"]), "mdy").to_list()
    [datetime.datetime(2024, 1, 2, 0, 0), datetime.datetime(2024, 2, 1, 9, 30), None]
    """
    numbers = cells.str.strip_chars().str.extract_groups(_NUMBERS).struct.unnest()
    numbers.columns = ["a", "b", "y", "c"]
    day, month = ("a", "b") if order == "dmy" else ("b", "a")
    clock = pl.col("c").fill_null("0:00")
    clock = pl.when(clock.str.count_matches(":") == 1).then(clock + ":00").otherwise(clock).str.zfill(8)
    text = pl.concat_str("y", pl.col(month).str.zfill(2), pl.col(day).str.zfill(2), separator="-") + " " + clock
    made = numbers.select(text.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False, time_unit="us")).to_series()
    return made.rename(cells.name)


def compact_dates(cells: pl.Series) -> pl.Series | None:
    """Return whole numbers or texts such as 20240105 as times, others as missing; None if no cell is one.

    >>> compact_dates(pl.Series([20240105, None])).to_list()
    [datetime.datetime(2024, 1, 5, 0, 0), None]
    """
    numbers = cells.cast(pl.Int64, strict=False) if cells.dtype.is_numeric() else None
    if numbers is not None and cells.dtype.is_float() and not (cells == numbers.cast(cells.dtype)).all():
        return None
    texts = cells.str.strip_chars() if numbers is None else numbers.cast(pl.String)
    eight = pl.select(pl.when(texts.str.contains("^[0-9]{8}$")).then(texts).otherwise(None)).to_series()
    made = eight.str.to_date("%Y%m%d", strict=False).cast(pl.Datetime("us")).rename(cells.name)
    return made if made.count() else None


def named_months(cells: pl.Series) -> pl.Series | None:
    """Return texts such as 5-Jan-2024 or Jan 5, 2024 as times if all are in one of these forms, else None.

    >>> named_months(pl.Series(["5-Jan-2024"])).to_list(), named_months(pl.Series(["5.1.2024"]))
    ([datetime.datetime(2024, 1, 5, 0, 0)], None)
    """
    dates = None if cells.null_count() == len(cells) else parse_dates(cells)
    if dates is None or not any(code in dates.formats[0] for code in ("%b", "%B")):
        return None
    return dates.values.cast(pl.Datetime("us"))


def is_ambiguous(cells: pl.Series) -> bool:
    """Return whether texts are dates of which none shows whether the day or the month comes first.

    >>> is_ambiguous(pl.Series(["1/2/2024", None])), is_ambiguous(pl.Series(["1/2/2024", "1/31/2024"]))
    (True, False)
    """
    dates = None if cells.null_count() == len(cells) else parse_dates(cells)
    return dates is not None and len(dates.formats) > 1


def _by(cells: pl.Series, form: str) -> pl.Series | None:
    """Return cells as dates of one form, or as times if some have a time of day; None if some cell does not fit."""
    days = cells.str.extract(r"^([A-Za-z]{3,9} [0-9]{1,2},? [0-9]{4}|[^T :]+(?: [A-Za-z]{3} [0-9]{4})?)", 1)
    dates = _complete(cells, days.str.to_date(form, strict=False))
    clock = cells.str.extract(r"([0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)$", 1)
    if dates is None or clock.null_count() == len(clock):
        return dates
    parts = clock.str.split(":").list
    hours, minutes, seconds = (parts.get(i, null_on_oob=True).cast(pl.Int64).fill_null(0) for i in range(3))
    since_midnight = (3600 * hours + 60 * minutes + seconds) * 1_000_000
    return dates.cast(pl.Datetime("us")) + since_midnight.cast(pl.Duration("us"))


def _complete(cells: pl.Series, values: pl.Series) -> pl.Series | None:
    """Return the values unless some cell became missing, such as February 30."""
    return values if values.null_count() == cells.null_count() else None
