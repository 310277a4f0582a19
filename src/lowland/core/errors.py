"""Errors and warnings of our own, so that callers can catch what they can act on.

Every message says what happened, the likely cause and the next step.
"""

from __future__ import annotations

from typing import Any

from .message import Advice, Message, Part

FILL = Advice("fill it", "leave the row out")


class LowlandError(Exception):
    """Base of every error that Lowland raises by itself."""


class DataError(LowlandError, ValueError):
    """The data cannot be used as given; the message names the row, the column or the file.

    ``row`` and ``column`` count from 0; they are None where the error has no single place.
    """

    def __init__(self, message: str, *, row: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.row, self.column = row, column


class CellError(DataError):
    """One cell cannot be used: it is missing, infinite, no number, or a level that the fit did not see.

    ``what`` is what the cell contains, ``advice`` what helps; ``name`` is the name of its column, if any.

    >>> print(CellError("NaN", FILL, row=2, column=0))
    Input X contains NaN at row 2, column 0: fill it or leave the row out
    """

    def __init__(
        self,
        what: str,
        advice: str | Part,
        *,
        row: int,
        column: int,
        name: object = None,
        subject: str = "Input X",
    ) -> None:
        place = f"row {row}, column {column}" + ("" if name is None else f" ({str(name)!r})")
        super().__init__(Message(f"{subject} contains {what} at {place}: ", advice), row=row, column=column)
        self.what, self.advice, self.name, self.subject = what, advice, name, subject

    def changed(self, **changes: Any) -> CellError:
        """Return the same error of another row or subject, or with other advice."""
        own = {key: getattr(self, key) for key in ("what", "advice", "row", "column", "name", "subject")} | changes
        return CellError(own.pop("what"), own.pop("advice"), **own)

    def __reduce__(self) -> tuple[Any, ...]:
        return _cell_error, (self.__dict__,)


def _cell_error(fields: dict[str, Any]) -> CellError:
    own = dict(fields)
    return CellError(own.pop("what"), own.pop("advice"), **own)


class ScaleError(DataError):
    """Squares of the values pass the range of floating point: they are too large, or too small, to be added up."""


class DisconnectedError(DataError):
    """The neighbour graph falls into pieces, and ``disconnected="error"`` was asked for."""


class SolveError(LowlandError, ArithmeticError):
    """An eigenproblem could not be solved to its tolerance; nothing is returned in place of the answer."""


class MemoryLimitError(LowlandError, MemoryError):
    """The work would pass the memory limit; raised before anything is allocated."""


class ModelFileError(LowlandError, ValueError):
    """A model file is truncated, altered, foreign or from a newer format."""


class WriteError(LowlandError, OSError):
    """A file cannot be written: the disk is full, its folder is missing or not ours. ``errno`` is the system's."""


class MissingExtraError(LowlandError, ImportError):
    """An optional package is needed; the message gives the install command."""


class Cancelled(LowlandError):
    """The progress callback asked to stop; nothing was written and the model stays unfitted."""


class LowlandWarning(UserWarning):
    """Base of every warning that Lowland gives by itself."""


class DistanceMatrixWarning(LowlandWarning):
    """A distance matrix is used as a table of rows."""


class RankWarning(LowlandWarning):
    """The data have fewer dimensions than were asked for."""


class DominantColumnWarning(LowlandWarning):
    """One unscaled column owns most of the variance, so the axes only repeat it."""


class DegenerateWarning(LowlandWarning):
    """The order of the distances was kept by letting different points fall together: the map says little."""


class DisconnectedWarning(LowlandWarning):
    """The neighbour graph falls into pieces; the message says what was done about it."""


class IndefiniteWarning(LowlandWarning):
    """A kernel is not positive semidefinite: part of it cannot be shown as distances."""


class NotConvergedWarning(LowlandWarning):
    """An iteration stopped before its tolerance; the achieved residual is in ``fit_info_``."""
