"""Library messages rewritten for the command line: options for parameters, lines of the file for rows."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from ..core.errors import DataError, LowlandWarning
from .inputs import Input
from .model import run

PRECOMPUTED = {"metric='precomputed'": "--metric precomputed"}
SCALE = {"use scale=True": "add --scale"}
NO_SCALE = {"use scale=True": "divide each by its standard deviation first"}
SCALED = "seuclidean"  # the metric that --scale stands for
UNITS = {"use metric='seuclidean'": "add --scale"}
NO_ROWS = {"give them as novelty(…, X_train=…)": "neighbour-based methods such as isomap do"}
NAMES = {
    "n_neighbors=": "--neighbors ",
    "n_neighbors": "--neighbors",
    "n_components=": "--components ",
    "n_components": "--components",
    "level must": "--level must",
    "remove scale=True": "remove --scale",
}
DATA = {"distances in X": "distances in the data", "reduce X": "reduce the data"}
_EVERYWHERE = {
    "fill it, leave the row out, or use ProbabilisticPCA, which takes missing values": "fill it or leave the row out",
}

_FUNCTION = re.compile(r"^(compare|dimension|outliers|report): ")
_PYTHON = re.compile(r"^\w+, X (?=looks like|contains)")


def look(work: Callable[[Any], Any], given: Input, words: Mapping[str, str]) -> Any:
    """Call the library as `run` does, with its warnings and errors rewritten for this command."""

    def told(rows: Any) -> Any:
        try:
            return work(rows)
        except DataError as error:
            raise DataError(in_words(str(error), words, "it"), row=error.row, column=error.column) from error

    with _warnings(words, given.source):
        return run(told, given)


def in_words(text: str, words: Mapping[str, str], subject: str) -> str:
    """Replace Python parameters by options, and X by the name of the file.

    >>> in_words("outliers, X looks like a distance matrix; add metric='precomputed'", PRECOMPUTED, "D.npy")
    'D.npy looks like a distance matrix; add --metric precomputed'
    """
    for python, option in (_EVERYWHERE | dict(words)).items():
        text = text.replace(python, option)
    return _PYTHON.sub(f"{subject} ", _FUNCTION.sub("", text))


def warn_of_square(given: Input) -> None:
    """Warn if a table is a distance matrix and is about to be used as rows."""
    if given.pairwise or given.table is None:
        return
    from ..data.squares import missing_pairs, square_words

    if missing_pairs(given.table) is not None:
        warnings.warn(square_words(given.source, "add --metric precomputed"), LowlandWarning, stacklevel=2)


def dominated(given: Input) -> bool:
    """Tell whether one column or two hold most of the variance, by the warnings' rule: the next step should scale."""
    import numpy as np

    from ..core.dominance import dominant_columns

    table = getattr(given.rows, "array", None)
    if given.pairwise or not isinstance(table, np.ndarray) or table.dtype.kind not in "fiub":
        return False
    return dominant_columns(np.var(table, axis=0, dtype=np.float64)) is not None


def row_names(given: Input) -> list[str]:
    """Return what each row is called: its identifier, or its place in the file, as errors about data have it."""
    labels = given.labels()
    if labels is not None:
        return labels
    first = None if given.table is None else given.table.first_line
    word, start = ("row", 0) if first is None else ("line", first)
    return [f"{word} {start + i}" for i in range(given.shape[0])]


@contextmanager
def _warnings(words: Mapping[str, str], source: str) -> Iterator[None]:
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def told(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, LowlandWarning):
                message = category(in_words(str(message), words, source))
            usual(message, category, filename, lineno, file, line)

        warnings.showwarning = told
        yield
