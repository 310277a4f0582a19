"""What stands above the rows of a table: lines of a title, the header, and a row of units."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from .cells import MISSING, is_number, is_written_number

_MOST_TITLE_LINES = 20
_MOST_LISTED = 6  # units in a note
_WIDE = 0.8  # share of the lines that have the width of the table
_PREFIX = "(?:da|[munpfkMGTdchµμ])?"
_BASE = (
    "g|l|L|m|s|t|M|mol|Mol|eq|Eq|osm|Osm|U|IU|IE|E|kat|cal|Cal|J|W|V|A|Hz|Pa|bar|Bar|N|T|K|C|F|Ω|ohm|Ohm|B|lx|lm|S|Sv|Gy|Bq|eV|"
    "Wh|b|bp"
)
_WORDS = (
    "y|yr|yrs|year|years|a|mo|month|months|w|wk|week|weeks|d|day|days|h|hr|hrs|hour|hours|min|mins|minute|minutes|sec|"
    "secs|second|seconds|Jahr|Jahre|Monat|Monate|Woche|Wochen|Tag|Tage|Std|Stunde|Stunden|Minute|Minuten|Sekunde|"
    "Sekunden|an|ans|jours|heures|años|días|anni|giorni|in|inch|inches|ft|feet|yd|mi|mile|miles|mph|lb|lbs|oz|gal|ha|"
    "km2|m2|m3|cm2|cm3|mm2|mm3|kmh|mmHg|cmH2O|atm|psi|torr|Torr|ppm|ppb|ppt|pH|dB|rpm|bpm|deg|degC|degF|rad|°|°C|°F|"
    "score|points|Punkte|count|counts|cells|index|ratio|fraction|percent|percentage|Prozent|a\\.u\\.|AU|au|arb\\.|"
    "kg/m2|USD|EUR|GBP|CHF|€|\\$|£|¥|%|‰|vol%|log|log2|log10|fl|fL|pg|Mio|Tsd|k|x"
)
_ONE = rf"(?:{_PREFIX}(?:{_BASE})|{_WORDS}|(?:10|x10|×10|\*10)[\^*]*[0-9]+|[0-9]+)(?:[\^]?-?[0-9²³]|[²³])?"
_UNIT = re.compile(rf"{_ONE}(?:\s*[/·.*× ]\s*{_ONE})*")
_BRACKETS = re.compile(r"[\[({<](.*)[\])}>]")
_NO_UNIT = {
    *("", "-", "–", "—", "/", "1", "none", "text", "unit", "units", "einheit", "einheiten", "id", "string", "date"),
}


def is_unit(cell: str) -> bool:
    """Return whether a cell looks like a unit of measurement, with or without brackets.

    >>> [is_unit(cell) for cell in ("years", "mg/L", "[10^9/L]", "°C", "%", "n.d.", "ill", "P000", "3")]
    [True, True, True, True, True, False, False, False, False]
    """
    cell = cell.strip()
    inside = _BRACKETS.fullmatch(cell)
    word = inside[1].strip() if inside else cell
    return not is_number(word) and _UNIT.fullmatch(word) is not None


def units_in(first: Sequence[str], rows: Sequence[Sequence[str]], missing: Collection[str] = MISSING) -> bool:
    """Return whether the first record below the header holds units.

    It has no numbers; in nearly every column of numbers it has a word that occurs nowhere else in it, and these are
    units. In the other columns it is blank, unless all words are units.

    >>> rows = [["P1", "46", "1.1"], ["P2", "38", "0.8"], ["P3", "67", "1.9"]]
    >>> units_in(["", "years", "mg/L"], rows), units_in(["P0", "n.d.", "mg/L"], rows)
    (True, False)
    """
    cells = [cell.strip() for cell in first]
    if len(rows) < 2 or any(is_number(cell) or is_written_number(cell) for cell in cells if cell not in missing):
        return False
    columns = [[row[j].strip() for row in rows if j < len(row)] for j in range(len(cells))]
    known = [[cell for cell in column if cell not in missing] for column in columns]
    numeric = [j for j, column in enumerate(known) if column and 2 * sum(map(is_written_number, column)) > len(column)]
    named = (j for j in numeric if cells[j].lower() not in _NO_UNIT and cells[j] not in missing)
    words = {j: cells[j] for j in named if cells[j] not in columns[j]}
    if not words or 2 * len(words) < len(numeric) or any(cells[j] in known[j] for j in numeric):
        return False
    units = sum(map(is_unit, words.values()))
    others = {j: cell for j, cell in enumerate(cells) if j not in numeric and cell.lower() not in _NO_UNIT}
    if any(cell in columns[j] or cell in missing for j, cell in others.items()):
        return False
    return units == len(words) if others else 5 * units >= 4 * len(words)


def title_rows(records: Sequence[Sequence[str]]) -> int:
    """Return the number of records above the header: each has few cells; the header is a row of words of full width.

    >>> title_rows([["Lab export 2024", "", ""], ["", "", ""], ["id", "age", "crp"], ["1", "46", "1.1"]])
    2
    """
    filled = [sum(bool(cell.strip()) for cell in record) for record in records]
    width = _width(filled)
    if width < 2:
        return 0
    for place, record in enumerate(records[: _MOST_TITLE_LINES + 1]):
        cells = [cell.strip() for cell in record if cell.strip()]
        if filled[place] >= max(2, width - 1):
            below = [cell for row in records[place + 1 :] for cell in row]
            is_header = not any(map(is_number, cells)) and any(map(is_written_number, below))
            above = [row for row, n in zip(records[:place], filled[:place], strict=True) if n]
            few = all(len(row) < len(record) or 3 * sum(map(bool, row)) <= width for row in above)
            return place if is_header and few else 0
        if 2 * filled[place] > width:
            return 0
    return 0


def _width(filled: Sequence[int]) -> int:
    """Return the number of cells that most records have at least, or 0."""
    there = [n for n in filled if n]
    if len(there) < 2:
        return 0
    width = Counter(there).most_common(1)[0][0]
    return width if sum(n >= max(2, width // 2) for n in there) >= len(there) / 2 else 0


def unlike_names(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return names of columns, all different, and those that were numbered for this, each with its former name.

    >>> unlike_names(["a", "b", "a", "a_1", "a"])
    (['a', 'b', 'a_2', 'a_1', 'a_3'], {'a_2': 'a', 'a_3': 'a'})
    """
    taken, seen = set(names), set[str]()
    made: list[str] = []
    renamed: dict[str, str] = {}
    for name in names:
        new, number = name, 0
        while new in seen or (number and new in taken):
            number += 1
            new = f"{name}_{number}"
        if new != name:
            renamed[new] = name
        seen.add(new)
        made.append(new)
    return made, renamed


def renamed_note(renamed: dict[str, str]) -> str | None:
    """Return a note on columns with one name, or None."""
    if not renamed:
        return None
    told = [f"{new} (another {old})" for new, old in list(renamed.items())[:_MOST_LISTED]]
    more = f", … ({len(renamed)} in all)" if len(renamed) > _MOST_LISTED else ""
    return f"columns with the same name were renamed: {', '.join(told)}{more}"


def units_note(units: Sequence[str], where: str) -> str | None:
    """Return a note on a row of units that is left out, or None."""
    words = [word for word in (cell.strip() for cell in units) if word]
    if not words:
        return None
    more = ", …" if len(words) > _MOST_LISTED else ""
    return f"{where} holds units: {', '.join(words[:_MOST_LISTED])}{more}; left out"
