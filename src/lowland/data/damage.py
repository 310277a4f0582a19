"""The error for a file that another library cannot read."""

from __future__ import annotations

from ..core.errors import DataError
from ..core.formatting import first_line

_LONGEST = 200  # characters of the other library's words


def damaged(name: str, what: str, error: BaseException) -> DataError:
    """Return the error for a damaged file.

    >>> str(damaged("t.json", "a JSON file", ValueError("line 3 is short")))
    't.json is damaged or not a JSON file: line 3 is short; check its format, or copy the file again'
    """
    reason = first_line(error)[:_LONGEST]
    return DataError(f"{name} is damaged or not {what}: {reason}; check its format, or copy the file again")
