"""Sizes, times, shares and counts as text."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BYTES |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_quantity(text: float | str, units: Mapping[str, float], ending: str = "") -> float:
    """Return a number, or a text of a number and a unit, in the unit of size 1; NaN where it cannot be read.

    >>> parse_quantity("1.5 h", {"": 1, "h": 3600})
    5400.0
    """
    given: Any = text
    if not isinstance(given, bool) and isinstance(given, numbers.Real):
        return float(given)
    pattern = rf"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([a-z]*?){ending}\s*"
    match = re.fullmatch(pattern, given.lower()) if isinstance(given, str) else None
    return math.nan if match is None else float(match[1]) * units.get(match[2], math.nan)


def parse_bytes(text: float | str) -> int:
    """Return the bytes of a size such as ``"8GB"``, ``"512 MiB"`` or a number.

    >>> parse_bytes("1.5 GiB")
    1610612736
    """
    value = parse_quantity(text, _BYTES, ending="b?")
    if not math.isfinite(value):
        raise ValueError(f"cannot read {text!r} as a size: write bytes or something like '8GB' or '512MiB'")
    if value < 1:
        raise ValueError(f"a memory limit must be positive; got {text!r}")
    return int(value)


def format_bytes(n: float) -> str:
    """Return a number of bytes as text.

    >>> format_bytes(1_230_000_000)
    '1.23 GB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if abs(n) < 999.5:  # 999.9 would round to 1e+03
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} TB" if abs(n) < 999.5 else f"{n:.0f} TB"


def format_seconds(seconds: float) -> str:
    """Return a rough time as text.

    >>> [format_seconds(s) for s in (2e-6, 0.25, 600, 7200, 1e6)]
    ['< 0.01 s', 'about 0.25 s', 'about 10 min', 'about 2 h', 'about 12 days']
    """
    if seconds < 0.01:
        return "< 0.01 s"
    units = (("s", 1), ("min", 60), ("h", 3600))
    unit, size = next(((u, s) for u, s in units if seconds < 99.5 * s), ("days", 86_400))
    n = seconds / size
    return f"about {n:.2g} {unit}" if n < 99.5 else f"about {n:,.0f} {unit}"


def format_share(share: float) -> str:
    """Return a share as a percentage; only 1 is rounded to 100 %.

    >>> format_share(0.6123), format_share(0.99999), format_share(1.0)
    ('61.2 %', 'more than 99.9 %', '100 %')
    """
    if share > 1 - 1e-9:
        return "100 %"
    return "more than 99.9 %" if share > 0.9995 else f"{100 * share:.1f} %"


def format_signed(value: float) -> str:
    """Return a correlation or coordinate with its sign and two decimals.

    >>> format_signed(0.5), format_signed(-0.125)
    ('+0.50', '−0.12')
    """
    return f"{value:+.2f}".replace("-", "−")


def count(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed.

    >>> count(1, "row"), count(1500, "row")
    ('1 row', '1,500 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def first_names(names: Sequence[str], most: int = 5) -> str:
    """Return names joined by "and"; of more than ``most`` the first three and how many more there are.

    >>> first_names(["a", "b"]), first_names([f"gene{i}" for i in range(6000)])
    ('a and b', 'gene0, gene1, gene2 and 5,997 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:3])} and {len(names) - 3:,} more"
    return " and ".join(names)


def first_line(error: BaseException) -> str:
    """Return the first line of another library's error; the others are advice to its own callers.

    >>> first_line(ValueError("row 3 is short\\n\\nHint: pass strict=False"))
    'row 3 is short'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".:;") if lines else type(error).__name__


def plain_values(value: Any, words: Callable[[str], str] = str) -> Any:
    """Convert a value to types of JSON; NaN and infinity become None, other objects text.

    ``words`` is applied to every text, such as the wording of messages for the command line.

    >>> from pathlib import Path
    >>> plain_values({"share": float("nan"), "file": Path("a.csv"), "counts": (1, 2)})
    {'share': None, 'file': 'a.csv', 'counts': [1, 2]}
    """
    if isinstance(value, str):
        return words(value)
    if isinstance(value, Mapping):
        return {str(key): plain_values(item, words) for key, item in value.items()}
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_values(item, words) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)
