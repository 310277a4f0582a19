"""An engine in one file: chunks in a list, whose work is done from the last to the first."""

from __future__ import annotations

import functools
import pickle

import cloudpickle
import numpy as np

from lowland.engines import Engine, Piece, Table


class Chunks(list):
    """A table: arrays of rows, one below the other."""


class BackwardEngine(Engine):
    """Does work on the last piece first, on copies of what is sent."""

    def __init__(self):
        self.done = []

    def _all(self, work, items):
        sent, found = cloudpickle.dumps(work), {}
        items = list(items)
        numbers = list(reversed(range(len(items))))
        for number in numbers:
            found[number] = cloudpickle.loads(sent)(pickle.loads(pickle.dumps(items[number])))
        self.done += numbers
        return (found[number] for number in range(len(items)))

    def fold(self, step, start, groups, *, large=False):
        yield from self._all(functools.partial(_folded, step, start), groups)


def _folded(step, start, group):
    return functools.reduce(step, group, start)


ENGINE = BackwardEngine()


class ListTable(Table):
    """The rows of `Chunks`."""

    def __init__(self, chunks):
        self.engine, self._rows = ENGINE, np.concatenate(chunks)
        self.n_rows, self.n_features = self._rows.shape
        self.dtype = self._rows.dtype

    def count(self):
        return self.n_rows

    def pieces(self, size, within, weights=None, beside=None):
        for start in range(0, self.n_rows, within):
            own = slice(start, start + within)
            yield Piece(start, self._rows[own], *(None if a is None else a[own] for a in (weights, beside)))

    def map_rows(self, work, width, dtype):
        return np.concatenate(list(self.engine.map(work, self.pieces(1_000, 16_000))))


def open_table(X, numbers):
    """Return the table of chunks."""
    return ListTable(X)
