"""Rows with gaps, those that miss the same columns taken together: what EM keeps of a table, and what that takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import arrays, settings
from ...core.cost import check_allocation, dense_seconds
from ...core.errors import DataError
from ...rows.block import Block, block_rows, require_finite
from ...rows.journal import Progress
from ...rows.row_source import RowSource
from ...spectral.rounding import varies

Array = np.ndarray[Any, Any]

_BATCH_ENTRIES = 1 << 18  # numbers in a batch of groups: its few temporaries stay in the processor's cache
_OBJECT_BYTES = 700  # what Python takes for a group beside its numbers
_TYPICAL_STEPS = 50  # of EM, for the rough seconds of a plan


@dataclass(slots=True)
class Group:
    """Rows with one pattern of gaps: observed columns, count, mean, and a factor F with FᵀF = scatter."""

    observed: Array
    n: float
    mean: Array
    factor: Array


BlockGroups = tuple[int, Array, list[tuple[bytes, Group]]]  # rows, values of each column, groups by pattern


class Patterns:
    """Rows grouped by which columns they miss; large groups keep only a square factor of their scatter."""

    def __init__(self, n_features: int, names: Sequence[Any] | None = None) -> None:
        self.n_features, self.names = n_features, names
        self.groups: dict[bytes, Group] = {}
        self.seen = np.zeros(n_features, dtype=np.int64)
        self.n_rows = self.bytes = 0

    @property
    def missing(self) -> int:
        """Number of values that are not there."""
        return self.n_rows * self.n_features - int(self.seen.sum())

    def collect(self, rows: RowSource) -> None:
        """Sum the rows into groups; refuse infinities and columns with nothing observed.

        If the source has a journal that knows the groups of its first rows, the pass continues after them.
        """
        journal, known = rows.journal, None
        if journal is not None:
            known = journal.begin(f"patterns of {self.n_features} columns")
        if known is not None:
            self._restore(known.state)
        for n, seen, groups in self._unread(rows, known):
            for key, group in groups:
                self._add(key, group)
            self.n_rows += n
            self.seen += seen
            check_allocation(self.bytes, f"EM on {len(self.groups)} patterns of missing values", REMEDY)
            if journal is not None and journal.due():
                journal.keep(Progress(self.n_rows, self._state()))
        if journal is not None and (known is None or not known.ended):
            journal.keep(Progress(self.n_rows, self._state(), ended=True))
        empty = np.flatnonzero(self.seen == 0)
        if len(empty):
            first = int(empty[0])
            name = first if self.names is None else repr(str(self.names[first]))
            raise DataError(f"column {name} has no observed value at all: leave it out")

    def _unread(self, rows: RowSource, known: Progress | None) -> Iterator[BlockGroups]:
        """Yield the groups of each block that is not yet in the sums."""
        if known is None or not known.ended:
            yield from rows.map(_groups_of, stage="groups", start=0 if known is None else known.rows)

    def _state(self) -> dict[str, Any]:
        """Return the sums as plain values; a pattern is named by its columns, which are 0 or 1."""
        groups = [
            [[int(there) for there in np.frombuffer(key, dtype=bool)], g.n, g.mean, g.factor]
            for key, g in self.groups.items()
        ]
        return {"groups": groups, "seen": self.seen.copy(), "n_rows": self.n_rows, "bytes": self.bytes}

    def _restore(self, state: dict[str, Any]) -> None:
        for there, n, mean, factor in state["groups"]:
            pattern = np.array(there, dtype=bool)
            self.groups[pattern.tobytes()] = Group(np.flatnonzero(pattern), float(n), mean, factor)
        self.seen, self.n_rows, self.bytes = state["seen"], int(state["n_rows"]), int(state["bytes"])

    def _add(self, key: bytes, group: Group) -> None:
        held, observed, n, mean = self.groups.get(key), group.observed, group.n, group.mean
        if held is None:
            self.groups[key] = group
            self.bytes += int(_kept_bytes(len(observed), len(group.factor), self.n_features))
            return
        total, delta = held.n + n, mean - held.mean
        link = np.sqrt(held.n * n / total) * delta
        before = len(held.factor)
        held.factor = _square(np.vstack([held.factor, group.factor, link[None, :]]))
        held.mean, held.n = held.mean + delta * (n / total), total
        self.bytes += 8 * (len(held.factor) - before) * (len(observed) + self.n_features)

    def column_moments(self) -> tuple[Array, Array]:
        """Return mean and variance of what is observed in each column; refuse rows that do not vary."""
        n, total, squares = (np.zeros(self.n_features) for _ in range(3))
        for g in self.groups.values():
            n[g.observed] += g.n
            total[g.observed] += g.n * g.mean
        mean = total / n
        for g in self.groups.values():
            squares[g.observed] += (g.factor**2).sum(axis=0) + g.n * (g.mean - mean[g.observed]) ** 2
        variances = squares / n
        if not varies(variances, mean).any():
            raise DataError(
                "the observed values do not vary in any column (rank 0); a reduction needs at least two distinct rows"
            )
        return mean, variances

    def start(self) -> tuple[Array, Array]:
        """Return a first mean and covariance, exact where no value is missing."""
        mean, variances = self.column_moments()
        full = self.groups.get(np.ones(self.n_features, dtype=bool).tobytes())
        if full is not None and (not self.missing or full.n > 2 * self.n_features):
            return mean, full.factor.T @ full.factor / full.n
        return mean, np.diag(variances)


def _groups_of(block: Block) -> BlockGroups:
    """Return the rows of a block, how many values each column has, and the group of each pattern."""
    require_finite(block, allow_nan=True)
    X = arrays.to_numpy(block.rows)
    there, found = ~np.isnan(X), list[tuple[bytes, Group]]()
    for part, observed in by_pattern(there):
        Z = X[np.ix_(part, observed)].astype(np.float64)
        mean = Z.mean(axis=0)
        factor = _square(Z - mean) if len(Z) > 1 else np.empty((0, Z.shape[1]))
        found.append((there[part[0]].tobytes(), Group(observed, float(len(Z)), mean, factor)))
    return len(X), there.sum(axis=0), found


def by_pattern(there: Array) -> list[tuple[Array, Array]]:
    """Return (row numbers in order, observed columns) for each pattern of values that are there."""
    packed = np.packbits(there, axis=1)
    order = np.lexsort(packed.T)  # stable, so rows of one pattern stay in order
    changes = np.flatnonzero((packed[order][1:] != packed[order][:-1]).any(axis=1)) + 1
    return [(part, np.flatnonzero(there[part[0]])) for part in np.split(order, changes)]


def _square(Z: Array) -> Array:
    """Return at most as many rows as columns with the same scatter."""
    if Z.shape[1] == 0:
        return Z[:0]
    return Z if Z.shape[0] <= Z.shape[1] else np.asarray(np.linalg.qr(Z, mode="r"))


@dataclass(frozen=True)
class Batch:
    """Groups with equally many factor rows, side by side, zero where nothing is observed.

    there (B, D), n (B,), mean (B, D), factors (B, r, D).
    """

    there: Array
    n: Array
    mean: Array
    factors: Array


def batches(groups: Iterable[Group], d: int) -> list[Batch]:
    """Stack groups, so that a step of EM is a few large products whatever the number of patterns."""
    by_size: dict[int, list[Group]] = {}
    for g in groups:
        by_size.setdefault(len(g.factor), []).append(g)
    found = []
    for r, alike in sorted(by_size.items()):
        size = int(_batch_size(r, d))
        found += [_stack(alike[first : first + size], r, d) for first in range(0, len(alike), size)]
    return found


def _batch_size(r: Any, d: int) -> Any:
    return np.maximum(1, _BATCH_ENTRIES // (d * (r + 1)))


def _stack(groups: list[Group], r: int, d: int) -> Batch:
    B = len(groups)
    batch = Batch(np.zeros((B, d)), np.array([g.n for g in groups]), np.zeros((B, d)), np.zeros((B, r, d)))
    for i, g in enumerate(groups):
        batch.there[i, g.observed] = 1.0
        batch.mean[i, g.observed] = g.mean
        batch.factors[i][:, g.observed] = g.factor
    return batch


# -- cost --------------------------------------------------------------------------------------------------------

REMEDY = "leave out the columns with most gaps, fill the small gaps first, or reduce fewer rows"


@dataclass(frozen=True)
class Survey:
    """The patterns of gaps in a table: rows that have each, and columns that each observes."""

    n: Array
    observed: Array


def survey(rows: RowSource) -> Survey | None:
    """Count the patterns of gaps in one pass, or return None where nothing is missing.

    A row is remembered by the sum of random 64-bit numbers that stand for its gaps: eight bytes, and two
    patterns with one sum are as good as impossible.
    """
    d, whole = rows.n_features, 0
    marks = np.random.default_rng(0).integers(1, 2**64, d, dtype=np.uint64)
    sums, observed = [np.empty(0, dtype=np.uint64)], [np.empty(0, dtype=np.int32)]

    def work(block: Block) -> tuple[int, Array, Array]:
        gaps = np.isnan(arrays.to_numpy(block.rows))
        gaps = gaps[gaps.any(axis=1)]
        return block.rows.shape[0] - len(gaps), gaps @ marks, (d - gaps.sum(axis=1)).astype(np.int32)

    for without, marked, there in rows.map(work, stage="patterns"):
        whole += without
        sums.append(marked)
        observed.append(there)
    _, first, n = np.unique(np.concatenate(sums), return_index=True, return_counts=True)
    if not len(n):
        return None
    widths = np.concatenate(observed)[first].astype(np.int64)
    return Survey(np.append(n, whole), np.append(widths, d)) if whole else Survey(n, widths)


def _kept_bytes(observed: Any, r: Any, d: int) -> Any:
    """Return what a group with ``r`` factor rows takes, alone and in its batch."""
    return 8 * (2 + r) * (observed + d) + d + _OBJECT_BYTES


def cost(found: Survey, d: int, k: int) -> tuple[dict[str, int], float]:
    """Return the largest pieces of memory that EM takes on these patterns, and its rough seconds."""
    r = np.where(found.n > 1, np.minimum(found.n, found.observed), 0)
    size = np.minimum(_batch_size(r, d), len(r))
    step = 8 * d * int((size * (8 * (r + 1) + 4 * k)).max())  # the temporaries of one batch
    threads = settings.threads()
    parts = {
        "rows kept by pattern": int(_kept_bytes(found.observed, r, d).sum()),
        "steps of EM": threads * step + 8 * d * d * (threads + 4),
        "blocks of rows": 24 * d * int(min(found.n.sum(), block_rows(d))),
    }
    flops = _TYPICAL_STEPS * float((2.0 * d * d * (r + 1 + k) + 30.0 * d * k * k).sum())
    return parts, dense_seconds(flops, np.dtype(np.float64))
