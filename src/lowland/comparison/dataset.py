"""The data of a comparison: what kind they are, which rows are fitted and which held out, and their fingerprint."""

from __future__ import annotations

import errno
import hashlib
import os
import pickle
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..contract.fit_info import level_of_the_caller
from ..core.errors import CellError, DataError, DominantColumnWarning, WriteError
from ..core.message import SCALED_METRIC, Message, Owner, Phrase, Remedies, Setting
from ..pairs.distances import learn
from ..quality.anchors import labels
from ..quality.class_accuracy import Target
from ..quality.spaces import famd_axes

Array = Any

SAMPLE = 5000  # rows that are compared at most, unless told otherwise: most methods fit them in seconds
HELD_OUT = 0.2  # share of the rows that no candidate is fitted on
_HOLD_OUT_FROM = 50  # rows below which none are held out
FEW_HELD = 10  # held-out rows below which there are none: they would tell nothing
FOLDS = 10  # parts of the rows, left out in turn to see how uncertain each criterion is
_PAIRED = 1000  # fitted rows whose distances to each other are compared
_PAIRED_HELD = 500
_FEWEST_ROWS = 6  # fewer have no two folds, each with a neighbour left for every row
_MOST_CLASSES = 200
_ROWS_HASHED = 4096  # rows that are hashed at a time


@dataclass(frozen=True)
class Dataset:
    """What is compared: some rows, in the order of the table.

    ``numbers`` are their places in the table, ``held`` tells which of them are held out, ``fold`` which part a row
    belongs to, ``paired`` the rows whose distances are compared. Of rows with text, ``rows`` are their codes, and
    ``numeric`` the columns of numbers as they are, if there are some. ``deviations`` are those of the whole table's
    columns, where rows are compared by "seuclidean": parts of the rows would have others.
    """

    kind: str  # "rows", "sparse", "distances" or "categories"
    rows: Array
    n_rows: int
    n_columns: int
    metric: str
    numbers: Array
    held: Array
    fold: Array
    paired: Array
    target: Target | None = None
    numeric: Array | None = None
    deviations: Array | None = None

    @cached_property
    def space(self) -> tuple[Array, str]:
        """The rows that maps are measured against, and the metric between them."""
        rows = self.rows if sp.issparse(self.rows) else np.asarray(self.rows)
        return (rows, self.metric) if self.deviations is None else (rows / self.deviations, "euclidean")

    @property
    def n(self) -> int:
        """Number of compared rows."""
        return len(self.numbers)

    def seen_by(self, method: str) -> Array:
        """Return the rows as a method gets them: PCA of a table with text gets its columns of numbers."""
        if self.kind != "categories" or method != "pca":
            return self.rows
        if self.numeric is None:
            raise DataError(Message(Owner("compare"), "pca needs columns of numbers, and there are none"))
        return self.numeric

    def store(self, folder: Path) -> None:
        """Write all that a process needs to a folder of our own; dense rows are read back without a copy."""
        dense = not sp.issparse(self.rows)
        try:
            if dense:
                np.save(folder / "rows.npy", self.rows, allow_pickle=False)
            (folder / "dataset.pickle").write_bytes(pickle.dumps(replace(self, rows=None) if dense else self))
        except OSError as error:
            reason = error.strerror or os.strerror(errno.ENOSPC)  # NumPy only tells that it could not write all bytes
            raise WriteError(
                f"{folder.parent}: the rows for the processes of the comparison cannot be written there: {reason}; set "
                "the environment variable TMPDIR to a folder with more space"
            ) from error

    @classmethod
    def restore(cls, folder: Path) -> Dataset:
        """Read what `store` wrote."""
        found: Dataset = pickle.loads((folder / "dataset.pickle").read_bytes())
        if found.rows is not None:
            return found
        return replace(found, rows=np.load(folder / "rows.npy", mmap_mode="r", allow_pickle=False))


def read(
    X: Any, target: Any, metric: str, sample: int | None, held_out: float, random_state: int
) -> tuple[Dataset, dict[str, Any]]:
    """Return the data of a comparison and their fingerprint."""
    X, named = _apart(X, target)
    kind, whole = _kind(X, metric)
    n = int(whole.shape[0])
    if n < _FEWEST_ROWS:
        few = f"{n} {'row is' if n == 1 else 'rows are'} too few to compare methods; give at least {_FEWEST_ROWS}"
        raise DataError(Message(Owner("compare"), few))
    print_ = fingerprint(whole) | {"columns": None if kind == "distances" else column_names(X)}
    classes = None if named is None else _classes(*named, n)
    rng = np.random.default_rng(random_state)
    numbers = np.arange(n) if sample is None or n <= sample else np.sort(rng.choice(n, sample, replace=False))
    rows = whole
    if len(numbers) < n:
        rows = whole[np.ix_(numbers, numbers)] if kind == "distances" else whole[numbers]
        if classes is not None:
            classes = Target(classes.name, classes.codes[numbers], classes.names)
    _require_variety(kind, rows)
    held, fold, paired = _parts(len(numbers), 0.0 if kind == "distances" else held_out, rng)
    if classes is not None:
        _require_classes(classes, held)
    numeric = None
    if kind == "categories":
        rows, numeric = _coded(rows, np.flatnonzero(~held), numbers)
    width = rows.shape[1] if kind != "distances" else n
    deviations = None
    if metric == "seuclidean" and kind != "sparse":
        deviations = np.sqrt(learn(metric, whole if kind == "rows" else rows)["V"])
    made = Dataset(kind, rows, n, width, metric, numbers, held, fold, paired, classes, numeric, deviations)
    print_["dominant"] = _dominant(kind, metric, rows, print_["columns"])
    if classes is not None:
        print_["target"] = hashlib.sha256(classes.codes.tobytes() + "\0".join(classes.names).encode()).hexdigest()
    return made, print_


def _coded(rows: Any, fitted: Array, numbers: Array) -> tuple[Array, Array | None]:
    """Return rows with columns of text as numbers, and the columns of numbers; held-out rows are coded as new ones.

    An error names the place in the table, whose ``numbers`` the rows are.
    """
    places = numbers[fitted]
    try:
        coder = famd_axes(rows[fitted])
        places = numbers
        plain = numeric_columns(rows, coder.categorical_columns_)
        return np.ascontiguousarray(coder.transform(rows)), plain
    except DataError as error:
        if error.row is None:
            raise _whole_rows(error) from error
        if not isinstance(error, CellError):
            raise
        raise _whole_rows(error.changed(row=int(places[error.row]))) from error


def _dominant(kind: str, metric: str, rows: Array, names: Sequence[str] | None) -> str | None:
    """Warn where one column alone decides what is near, and return what `dominant_words` says of it."""
    from ..core.dominance import dominant_words

    if kind != "rows" or metric not in ("euclidean", "sqeuclidean"):
        return None
    found = dominant_words(np.var(rows, axis=0, dtype=np.float64), names)
    if found is None:
        return None
    text = Message(Owner("compare"), decides_alone(found))
    warnings.warn(text, DominantColumnWarning, stacklevel=level_of_the_caller())
    return found


def decides_alone(words: str) -> Message:
    """Return the warning about a column that outweighs the others in the compared distances."""
    from ..core.dominance import dominance

    return dominance(words, "so it mostly decides which rows are near", SCALED_METRIC)


def _parts(n: int, held_out: float, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Draw the held-out rows, the folds that both kinds of rows share, and the rows whose distances are compared."""
    order = rng.permutation(n)
    count = int(held_out * n) if n >= _HOLD_OUT_FROM else 0
    count = count if count >= FEW_HELD else 0
    held = np.zeros(n, dtype=bool)
    held[order[:count]] = True
    fold, paired = np.empty(n, dtype=np.int64), np.zeros(n, dtype=bool)
    for group, most in ((order[:count], _PAIRED_HELD), (order[count:], _PAIRED)):
        fold[group] = np.arange(len(group)) % folds_of(n - count)
        paired[group[:most]] = True
    return held, fold, paired


def folds_of(n: int) -> int:
    """Return into how many parts so many rows are cut: ten, or of few rows such as have 2 rows at least."""
    return max(2, min(FOLDS, n // 2))


def _apart(X: Any, target: Any) -> tuple[Any, tuple[str, Any] | None]:
    """Take the target out of the table where it is named, and return its name and values."""
    if target is None:
        return X, None
    if not isinstance(target, str):
        return X, (str(getattr(target, "name", None) or "target"), target)
    import narwhals as nw

    frame = data_frame(X)
    if frame is None:
        raise DataError(
            Message(
                Owner("compare"),
                Setting("target", target),
                " names a column, and the rows are no data frame; give its values",
            )
        )
    if target not in frame.columns:
        raise DataError(
            Message(
                Owner("compare"),
                f"there is no column {target!r} to be the target; there are {', '.join(frame.columns[:10])}",
            )
        )
    return nw.to_native(frame.drop(target)), (target, frame.get_column(target).to_list())


def data_frame(X: Any) -> Any:
    """Return a data frame of any package as one of narwhals; None where X is something else."""
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a data frame or a source of rows; None where they have none."""
    from ..rows.row_source import RowSource

    frame = data_frame(X)
    names = X.names if isinstance(X, RowSource) else None if frame is None else frame.columns
    return None if names is None else [str(name) for name in names]


def _kind(X: Any, metric: str) -> tuple[str, Array]:
    """Tell what kind the data are, and return them as one matrix of numbers, checked."""
    from ..data.squares import warn_of_square
    from ..graph.neighbors import objects
    from ..rows.mixed_rows import MixedRows, mixed_rows

    if metric == "precomputed":
        if sp.issparse(X):
            raise DataError(
                Message(
                    Owner("compare"),
                    "a distance matrix must be dense here, because every pair is compared; give ",
                    Phrase("X.toarray()", "them in full"),
                )
            )
        square = objects(X, metric, "compare")
        return "distances", np.ascontiguousarray(square)
    if not sp.issparse(X) and isinstance(mixed_rows(X, owner="compare"), MixedRows):
        return "categories", _table(X)
    try:
        rows = objects(X, metric, "compare")
    except DataError as error:
        raise _whole_rows(error) from error
    if sp.issparse(rows):
        kept = sp.csr_array(rows)
        kept.sort_indices()
        return "sparse", kept
    warn_of_square(rows, Message(Owner("compare"), "X"), stacklevel=6)
    return "rows", np.ascontiguousarray(rows)


def _whole_rows(error: DataError) -> DataError:
    """Say what helps against a gap here: a method that takes gaps cannot be compared with the others on them."""
    if not isinstance(error, CellError) or error.what not in ("NaN", "a missing category"):
        return error
    return error.changed(advice=Remedies("fill it", "leave the row out, since methods are compared on whole rows"))


def _require_variety(kind: str, rows: Any) -> None:
    """Refuse rows that are all the same: every map of them is one point."""
    if kind == "distances":
        same = not np.any(rows)
    elif sp.issparse(rows):
        same = not (rows.max(axis=0) - rows.min(axis=0)).count_nonzero()
    elif hasattr(rows, "n_unique"):
        same = rows.n_unique() == 1
    else:
        same = bool((rows == rows[:1]).all())
    if same:
        what = "all distances are 0" if kind == "distances" else f"all {rows.shape[0]:,} rows are the same"
        raise DataError(
            Message(
                Owner("compare"),
                f"the rows do not vary ({what}), so there is nothing to show; look at the columns that were read",
            )
        )


def _table(X: Any) -> Any:
    """Return columns of text and numbers as a polars data frame, or an array of objects; rows can be taken of both."""
    frame = data_frame(X)
    return np.asarray(X, dtype=object) if frame is None else frame.to_polars()


def numeric_columns(rows: Any, categorical: Sequence[int]) -> Array | None:
    """Return the columns of a table that are no categories, as numbers; None where there are none."""
    kept = [i for i in range(rows.shape[1]) if i not in set(categorical)]
    if not kept:
        return None
    table = rows[:, kept] if isinstance(rows, np.ndarray) else rows[:, kept].to_numpy()
    return np.ascontiguousarray(table.astype(np.float64))


def can_be_target(values: Any, n: int) -> bool:
    """Return whether a column of n values contains class labels that `compare` accepts.

    >>> can_be_target(["a", "b"] * 4, 8), can_be_target([0.5 * i for i in range(8)], 8)
    (True, False)
    """
    try:
        _classes("", values, n)
    except DataError:
        return False
    return True


def _classes(name: str, values: Any, n: int) -> Target:
    """Read a target: few different values, text or whole numbers; missing ones are left out."""
    listed = _listed(values)
    if isinstance(listed, list) and any(isinstance(v, float) and v % 1 > 0 for v in listed):
        raise DataError(
            Message(
                Owner("compare"),
                f"the target {name!r} is continuous, but compare needs class labels; bin it into classes first",
            )
        )
    names, codes = labels(values, n, "compare", f"the target {name!r}")
    known = int((codes >= 0).sum())
    if not 2 <= len(names) <= min(_MOST_CLASSES, known // 2):
        raise DataError(
            Message(
                Owner("compare"),
                f"the target {name!r} has {len(names)} different values in {known} rows; a target needs 2 to "
                f"{_MOST_CLASSES} classes with 2 or more rows each on average; choose another column",
            )
        )
    return Target(name, codes, tuple(map(str, names)))


def _listed(values: Any) -> Any:
    """Return a column as a list of its values; a list stays as it is, for NumPy would make one sort of mixed ones."""
    if isinstance(values, list | tuple):
        return list(values)
    return values.to_list() if hasattr(values, "to_list") else np.asarray(values).tolist()


def _require_classes(target: Target, held: Array) -> None:
    """Refuse a target of which too little is left among the compared rows that are fitted."""
    known = target.codes[~held & (target.codes >= 0)]
    classes = len(np.unique(known))
    if classes < 2 or len(known) < 2 * classes:
        raise DataError(
            Message(
                Owner("compare"),
                f"the {np.count_nonzero(~held):,} rows that are fitted hold {len(known)} values of the target "
                f"{target.name!r}, of {classes} classes; 2 classes of 2 rows and more on average are needed: raise ",
                Setting("sample"),
                " to compare more rows, or give more of them a class",
            )
        )


def fingerprint(whole: Any) -> dict[str, Any]:
    """Return the shape, the dtype and a hash of a matrix: the same numbers give the same print."""
    digest = hashlib.sha256()
    if np.dtype(getattr(whole, "dtype", object)).kind == "O":  # a data frame or objects: columns of text are there
        for column in whole.iter_columns() if hasattr(whole, "iter_columns") else whole.T:
            digest.update(f"{getattr(column, 'name', '')!r} {column.dtype}".encode())
            for start in range(0, len(column), _ROWS_HASHED):
                digest.update(_bytes(column[start : start + _ROWS_HASHED]))
        return {"shape": list(whole.shape), "dtype": "mixed", "sha256": digest.hexdigest()}
    if sp.issparse(whole):
        parts = [whole.indptr.astype(np.int64), whole.indices.astype(np.int64), whole.data]
    else:
        parts = [whole]
    for part in parts:
        for start in range(0, len(part), _ROWS_HASHED):
            digest.update(np.ascontiguousarray(part[start : start + _ROWS_HASHED]).tobytes())
    return {"shape": list(whole.shape), "dtype": str(whole.dtype), "sha256": digest.hexdigest()}


def _bytes(values: Any) -> bytes:
    """Return some values of a column as bytes: numbers without gaps as they are, others as they print."""
    if hasattr(values, "null_count") and values.dtype.is_numeric() and not values.null_count():
        plain = values.to_numpy()
        if plain.dtype.kind in "iuf":
            return bytes(plain.tobytes())
    return repr(_listed(values)).encode()
