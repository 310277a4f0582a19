"""Errors and warnings of Lowland, by what a caller can do about them.

Every message gives what happened, the likely cause and the next step.
"""

from __future__ import annotations

from typing import Any

from .message import Advice, Message, Part, Phrase, Remedies, Setting

FILL = Remedies("fill it", "leave the row out")


def new_category(parameter: str = "missing_category") -> Remedies:
    """Return the remedies for a missing category of a new row; ``parameter`` makes it a level at the fit.

    >>> str(new_category())
    "fill it, treat it as an unknown level with unseen='ignore', or fit the model with missing_category='level'"
    """
    return Remedies(
        "fill it",
        Message("treat it as an unknown level with ", Setting("unseen", "ignore")),
        Message("fit the model with ", Phrase(f"{parameter}='level'", "--missing-category level")),
    )


class LowlandError(Exception):
    """Base class of Lowland's errors."""


class DataError(LowlandError, ValueError):
    """The data cannot be used as given; the message names the row, the column or the file.

    ``row`` and ``column`` count from 0; they are None if the error does not concern one cell.
    """

    def __init__(self, message: str, *, row: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.row, self.column = row, column


class CellError(DataError):
    """One cell cannot be used: it is missing, infinite, not a number, or a category absent from the training rows.

    ``what`` describes the content of the cell, ``advice`` the remedy; ``name`` is the column name, if any; ``where`` is
    the place of the row in a file, if it is known.

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
        where: str | None = None,
    ) -> None:
        place = f"row {row}, column {column}" + ("" if name is None else f" ({str(name)!r})")
        place += "" if where is None else f", in {where}"
        super().__init__(Message(f"{subject} contains {what} at {place}", Advice(": ", advice)), row=row, column=column)
        self.what, self.advice, self.name, self.subject, self.where = what, advice, name, subject, where

    def changed(self, **changes: Any) -> CellError:
        """Return a copy of the error with another row, subject or advice."""
        kept = ("what", "advice", "row", "column", "name", "subject", "where")
        own = {key: getattr(self, key) for key in kept} | changes
        return CellError(own.pop("what"), own.pop("advice"), **own)

    def __reduce__(self) -> tuple[Any, ...]:
        return _cell_error, (self.__dict__,)


def _cell_error(fields: dict[str, Any]) -> CellError:
    own = dict(fields)
    return CellError(own.pop("what"), own.pop("advice"), **own)


class NoRowsError(DataError):
    """A table has no rows."""


class ScaleError(DataError):
    """Squares of the values overflow or underflow: the values are too large or too small."""


class DisconnectedError(DataError, RuntimeError):
    """The neighbour graph has more than one connected component, and ``disconnected="error"`` or no link is known.

    A RuntimeError too, as in scikit-learn.
    """


class SolveError(LowlandError, ArithmeticError):
    """An eigenproblem was not solved to its tolerance; no result is returned."""


class MemoryLimitError(LowlandError, MemoryError):
    """The work would exceed the memory limit; raised before the allocation.

    ``reason`` says what would exceed it, without advice; default: the message.
    """

    def __init__(self, message: str, *, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = message if reason is None else reason

    def __reduce__(
        self,
    ) -> tuple[Any, ...]:  # distributed and dask restore others by __new__, which MemoryError refuses
        return _memory_error, (type(self), self.args, vars(self))


def _memory_error(kind: type[MemoryLimitError], args: tuple[Any, ...], fields: dict[str, Any]) -> MemoryLimitError:
    error = kind(*args)
    vars(error).update(fields)
    return error


class FileSizeError(DataError, MemoryLimitError):
    """A file unpacks to more than the memory limit, or a damaged one claims to; raised before the allocation."""

    def __init__(
        self, message: str, *, reason: str | None = None, row: int | None = None, column: int | None = None
    ) -> None:
        DataError.__init__(self, message, row=row, column=column)
        self.reason = message if reason is None else reason


class ModelFileError(LowlandError, ValueError):
    """A model file is truncated, altered, of another program or of a newer format."""


class WriteError(LowlandError, OSError):
    """A file cannot be written: full disk, missing folder, no permission. ``errno`` is the system's."""


class MissingExtraError(LowlandError, ImportError):
    """An optional package is needed; the message gives the install command."""


class ClusterError(LowlandError, RuntimeError):
    """A cluster cannot do the work: no worker, one without this version of Lowland, or a scheduler that is gone."""


class Cancelled(LowlandError):
    """The progress callback cancelled the work; nothing was written and the model is not fitted."""


class LowlandWarning(UserWarning):
    """Base class of Lowland's warnings."""


class DistanceMatrixWarning(LowlandWarning):
    """A distance matrix is used as a table of rows."""


class RankWarning(LowlandWarning):
    """The data have fewer dimensions than ``n_components``."""


class DominantColumnWarning(LowlandWarning):
    """One or two unscaled columns hold most of the variance, so the axes mostly repeat them."""


class UnitsWarning(LowlandWarning):
    """All new values of a column are far outside the training range, as if in another unit."""


class DegenerateWarning(LowlandWarning):
    """Different points coincide in the map, which preserves the order of the distances but little else."""


class DisconnectedWarning(LowlandWarning):
    """The neighbour graph has more than one connected component; the message says how they were handled."""


class IndefiniteWarning(LowlandWarning):
    """A kernel is not positive semidefinite: part of it has no Euclidean representation."""


class NotConvergedWarning(LowlandWarning):
    """An iteration stopped before reaching its tolerance; the residual is in ``fit_info_``."""


class TieWarning(LowlandWarning):
    """The leading eigenvalue is tied, so the ranking is not unique; the message says which one was returned."""
