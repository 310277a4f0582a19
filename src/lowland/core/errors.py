"""Errors and warnings of our own, so that callers can catch what they can act on.

Every message says what happened, the likely cause and the next step.
"""

from __future__ import annotations


class LowlandError(Exception):
    """Base of every error that Lowland raises by itself."""


class DataError(LowlandError, ValueError):
    """The data cannot be used as given; the message names the row, the column or the file.

    ``row`` and ``column`` count from 0; they are None where the error has no single place.
    """

    def __init__(self, message: str, *, row: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.row, self.column = row, column


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
