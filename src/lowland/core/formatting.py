"""Sizes, times, shares and counts as text."""

from __future__ import annotations

import math
import numbers
import re
from typing import Any

_UNITS = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}


def parse_bytes(text: float | str) -> int:
    """Return the bytes of a size such as ``"8GB"``, ``"512 MiB"`` or a number.

    >>> parse_bytes("1.5 GiB")
    1610612736
    """
    given: Any = text
    value = math.nan
    if not isinstance(given, bool) and isinstance(given, numbers.Real):
        value = float(given)
    elif isinstance(text, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][0-9]+)?)\s*([KMGT]?I?)B?\s*", text, flags=re.IGNORECASE)
        if match is not None and match[2].upper() != "I":
            value = float(match[1]) * _UNITS[match[2].upper()]
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


def count(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed.

    >>> count(1, "row"), count(1500, "row")
    ('1 row', '1,500 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
