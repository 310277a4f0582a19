"""`Engine` and `Table`: what each place where work can run provides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..core.settings import report_progress

Array = Any
Result = TypeVar("Result")
State = TypeVar("State")


class Piece(NamedTuple):
    """Consecutive rows: the number of the first one, the rows, and their weights and rows of another array, if any.

    Outside the place of the work, ``rows`` is the engine's own name for them.
    """

    start: int
    rows: Any
    weights: Array | None = None
    beside: Array | None = None


class Engine(ABC):
    """Runs work on pieces of rows. An engine writes `fold`; `map` follows from it."""

    @abstractmethod
    def fold(
        self, step: Callable[[State, Any], State], start: State, groups: Iterable[Sequence[Any]], *, large: bool = False
    ) -> Generator[State, None, None]:
        """For each group, apply ``step`` to its pieces in order, from ``start``; yield the last states in order.

        ``step`` returns a new state and leaves the one it receives unchanged. ``large``: states are as large as the
        rows, so few of them may wait.
        """

    def map(
        self,
        work: Callable[[Any], Result],
        pieces: Iterable[Any],
        *,
        stage: str | None = None,
        total: int | None = None,
        large: bool = False,
    ) -> Generator[Result, None, None]:
        """Apply ``work`` to each piece and yield the results in the order of the pieces.

        With a ``stage``, progress is reported after each result, and may cancel.
        """
        alone: Callable[[Any, Any], Any] = PieceStep(work)
        with closing(self.fold(alone, None, ((piece,) for piece in pieces), large=large)) as results:
            for done, result in enumerate(results, start=1):
                if stage is not None:
                    report_progress(stage, done, total)
                yield result


class PieceStep:
    """Work on one piece, as a step of a fold."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._work = work

    def __call__(self, state: None, piece: Any) -> Any:
        """Return the result of the piece."""
        return self._work(piece)


class Watched:
    """What a table has of a source that may change."""

    def require_unchanged(self) -> None:
        """Raise if the source is not as it was when it was opened; called at the end of each pass."""
        return


class Table(Watched, ABC):
    """A table whose rows are held, or will be computed, by an engine."""

    engine: Engine
    n_rows: int | None  # None until it is counted
    n_features: int
    dtype: np.dtype[Any]
    names: Sequence[str] | None = None

    @abstractmethod
    def count(self) -> int:
        """Return the number of rows; if it is unknown, the engine counts them."""

    @abstractmethod
    def pieces(
        self, size: int, within: int, weights: Array | None = None, beside: Array | None = None
    ) -> Iterator[Piece]:
        """Yield pieces of whole blocks of ``size`` rows, with their parts of two arrays; the last block may be shorter.

        No piece crosses a multiple of ``within`` rows, which is a multiple of ``size``.
        """

    @abstractmethod
    def map_rows(self, work: Callable[[Piece], Array], width: int, dtype: Any) -> Array:
        """Apply row-wise work and return the results as one table of ``width`` columns, where the rows are."""


def _rows(piece: Piece) -> Any:
    return piece.rows


class FrameTable(Watched, ABC):
    """A table of columns of any type whose rows are held, or will be computed, by an engine."""

    engine: Engine
    empty: Any  # a data frame or array with the columns, without rows

    @property
    @abstractmethod
    def known_rows(self) -> int | None:
        """The number of rows, if it is known."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of rows; if it is unknown, the engine counts them."""

    @abstractmethod
    def frame_pieces(self, size: int) -> Iterator[Piece]:
        """Yield pieces of whole blocks of ``size`` rows, as data frames or arrays; the last may be shorter."""

    def parts(self) -> Iterator[Any]:
        """Yield the rows in this process, as data frames or arrays in row order; those without rows are left out."""
        return self._fetched(self.frame_pieces(1))

    def _fetched(self, pieces: Iterable[Piece]) -> Iterator[Any]:
        for rows in self.engine.map(_rows, pieces, large=True):
            if len(rows):
                yield rows

    @abstractmethod
    def changed(self, work: Callable[[Any], Array], width: int, dtype: Any, names: Sequence[str] | None) -> Table:
        """Return the table of the arrays that row-wise work makes of the rows, where they are."""


class CollectionTable(FrameTable):
    """The rows of a collection of an engine."""

    @abstractmethod
    def lazily(self, work: Callable[[Any], Any], like: Any) -> Any:
        """Return a collection of what row-wise work makes of the rows; ``like`` is its result for no rows."""


class ScanTable(Table, FrameTable):
    """The rows of a scanned file, whose parts of about ``part_rows`` rows are read where the work is done.

    Data frames have all columns of the file, arrays those of numbers.
    """

    part_rows: int
