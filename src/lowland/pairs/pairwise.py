"""`Pairwise`, the base of metrics and kernels: functions of two objects, evaluated between blocks.

A rule prepares a block once (centred rows, norms) and compares two prepared blocks. `square` compares a set with
itself, `against` new rows with a fixed set. Results are float64, and a row's values do not depend on the rows
beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core import arrays, thread_pool
from ..core.cost import check_allocation
from ..core.errors import DataError
from ..core.message import Item, Message, Owner, Phrase

Array = Any
Prepared = Any

TILE = 512  # 2 MB of float64 per tile: elementwise operations stay in the cache


class Pairwise:
    """A symmetric function of two objects. Subclasses implement `between`, and `prepare` if that saves work.

    ``eps`` is the precision of the values, which may be less than that of their type.
    """

    eps: float = float(np.finfo(np.float64).eps)

    def prepare(self, block: Array) -> Prepared:
        """Return a block of objects prepared for `between`; see `length` and `cut`."""
        return block

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return the n × m values of two prepared blocks."""
        raise NotImplementedError

    def __call__(self, A: Array, B: Array) -> Array:
        """Return the n × m values of two blocks."""
        return self.between(self.prepare(A), self.prepare(B))


class Precomputed(Pairwise):
    """Rows that contain the values, one for each training object; a prepared anchor is its number."""

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return the columns of A that belong to the objects numbered B."""
        return arrays.cast(A[:, B], np.float64)


class Function(Pairwise):
    """A user's function of two blocks (returns a matrix) or two objects (returns a number); a trial call decides."""

    def __init__(self, function: Callable[[Any, Any], Any], what: str, sample: Array) -> None:
        self.function, self.what = function, what
        self.of_blocks = self._works_on_blocks(sample)

    def _works_on_blocks(self, sample: Array) -> bool:
        """Call the function with two blocks of copies of an object: a function of blocks returns a matrix of that size.

        Neither size is the width of a row: for such blocks aᵀb, a function of two objects, would return a matrix.
        """
        first = sample[:1]
        width = len(first[0]) if hasattr(first[0], "__len__") else 0
        n, m = [size for size in (2, 3, 4) if size != width][:2]
        try:
            answer = np.asarray(self.function(_repeat(first, n), _repeat(first, m)))
            one = np.asarray(self.function(_repeat(first, 1), _repeat(first, 1)))
        except Exception:  # a function of two objects may raise anything for two blocks
            return self._works_on_objects(first[0])
        if answer.shape == (n, m) and one.shape == (1, 1) and answer.dtype.kind in "fiub":
            self.eps = _precision(answer.dtype)
            return True
        return self._works_on_objects(
            first[0], f" (and for {n} and {m} objects an array of shape {answer.shape}, not one value per pair)"
        )

    def _works_on_objects(self, thing: Any, tried: str = "") -> bool:
        answer = np.asarray(self.function(thing, thing))
        if answer.shape == () and answer.dtype.kind in "fiub":
            self.eps = _precision(answer.dtype)
            return False
        raise DataError(f"the {self.what} must return a number for two objects; it returned {_describe(answer)}{tried}")

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return the values; raise if one is not finite."""
        if self.of_blocks:
            out = np.asarray(self.function(A, B), dtype=np.float64)
            if out.shape != (len(A), len(B)):
                raise DataError(
                    f"the {self.what} returned shape {out.shape} for blocks of {len(A)} and {len(B)} objects; "
                    f"it must be {(len(A), len(B))}"
                )
        else:
            out = np.empty((len(A), len(B)))
            for i, a in enumerate(A):
                out[i] = [self.function(a, b) for b in B]
        if not np.isfinite(out).all():
            i, j = np.argwhere(~np.isfinite(out))[0]
            raise DataError(f"the {self.what} returned {out[i, j]} for the objects {short(A[i])} and {short(B[j])}")
        return out


def _precision(dtype: np.dtype[Any]) -> float:
    """Return the eps of the dtype that a function returned."""
    return max(Pairwise.eps, float(np.finfo(dtype).eps)) if dtype.kind == "f" else Pairwise.eps


def _repeat(first: Array, times: int) -> Array:
    return first * times if isinstance(first, list) else np.concatenate([arrays.to_numpy(first)] * times)


def _describe(answer: np.ndarray[Any, Any]) -> str:
    return f"an array of shape {answer.shape}" if answer.shape else short(answer.item())


def short(thing: Any) -> str:
    """Return a short text that identifies an object.

    >>> short("kitten")
    "'kitten'"
    """
    text = repr(thing)
    return text if len(text) <= 60 else f"{text[:57]}..."


def cut(prepared: Prepared, part: slice) -> Prepared:
    """Return some of the rows of a prepared block: an array, or a tuple of arrays of one length.

    An array that occurs twice in the tuple is cut once: of sparse rows a part is a copy.
    """
    if not isinstance(prepared, tuple):
        return prepared[part]
    different = {id(piece): piece for piece in prepared}
    parts = {key: piece[part] for key, piece in different.items()}
    return tuple(parts[id(piece)] for piece in prepared)


def length(prepared: Prepared) -> int:
    """Return the number of rows of a block of objects, prepared or not, dense or sparse."""
    first = prepared[0] if isinstance(prepared, tuple) else prepared
    return int(first.shape[0]) if hasattr(first, "shape") else len(first)


def tiles(n: int, size: int = TILE) -> list[slice]:
    """Return n rows as consecutive slices.

    >>> tiles(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def half(n: int) -> list[tuple[slice, slice]]:
    """Return the rows and columns of the tiles on and above the diagonal of an n × n matrix."""
    parts = tiles(n)
    return [(a, b) for i, a in enumerate(parts) for b in parts[i:]]


def square(rule: Pairwise, items: Array, *, dtype: Any = np.float64, stage: str = "pairs") -> Array:
    """Return the N × N values of a set with itself: exactly symmetric, only one half is computed."""
    prepared = rule.prepare(items)
    n = length(prepared)
    check_allocation(n * n * np.dtype(dtype).itemsize, f"a {n} × {n} matrix", "use landmarks")
    pairs = half(n)
    reference = prepared[0] if isinstance(prepared, tuple) else prepared
    out = np.empty((n, n), dtype=dtype) if not arrays.is_foreign(reference) else _empty_like(reference, n, dtype)

    def tile(pair: tuple[slice, slice]) -> None:
        a, b = pair
        rows = cut(prepared, a)
        block = rule.between(rows, rows if a is b else cut(prepared, b))
        if a is b:
            block = (block + arrays.t(block)) / 2  # products are symmetric only up to rounding
        out[a, b] = block
        out[b, a] = arrays.t(block)

    for _ in thread_pool.run(tile, pairs, stage=stage, total=len(pairs)):
        pass
    return out


def _empty_like(reference: Array, n: int, dtype: Any) -> Array:
    return arrays.like(np.empty((n, n), dtype=dtype), reference)


def against(rule: Pairwise, anchors: Array, then: Callable[[Array], Array] | None = None) -> Callable[[Array], Array]:
    """Return a function that compares a block of rows with fixed anchors, which are prepared once.

    ``then`` is applied to the values of a few rows at a time, so that the matrix of a block is never stored.
    """
    prepared = rule.prepare(anchors)

    def compare(block: Array) -> Array:
        new = rule.prepare(block)
        values = (rule.between(cut(new, part), prepared) for part in tiles(length(new)))
        parts = list(values if then is None else map(then, values))
        return parts[0] if len(parts) == 1 else arrays.namespace(*parts).concat(parts, axis=0)

    return compare


class _TileCheck(NamedTuple):
    """The largest absolute value and the largest asymmetry of a tile, and its place."""

    largest: float
    asymmetry: float
    place: tuple[int, int]


def check_symmetric(
    M: Array,
    owner: str,
    what: str,
    letter: str,
    *,
    known: Array | None = None,
    check: Callable[[Array, slice, slice], None] | None = None,
) -> float:
    """Raise if a matrix is not square or not symmetric; return a bound on the rounding of its values.

    Each tile is compared with its transpose, so that the matrix is not copied. ``known`` marks the pairs to check;
    ``check`` is called for each tile and may raise.
    """
    n, m = M.shape
    if n != m:
        kind = {"distances": "distance ", "kernel values": "kernel "}.get(what, "")
        raise DataError(
            Message(Owner(owner), f"precomputed {what} must be a square {kind}matrix; this one is {n} × {m}")
        )

    def look(pair: tuple[slice, slice]) -> _TileCheck:
        a, b = pair
        there, back = arrays.to_numpy(M[a, b]), arrays.to_numpy(M[b, a])
        if check is not None:
            check(there, a, b)
            check(back, b, a)
        off = there - back.T
        np.abs(off, out=off)
        if known is not None:
            counts = known[a, b] != 0
            there, off = np.where(counts, there, 0.0), np.where(counts, off, 0.0)
        i, j = np.unravel_index(int(off.argmax()), off.shape)
        return _TileCheck(
            max(float(there.max()), -float(there.min())), float(off[i, j]), (a.start + int(i), b.start + int(j))
        )

    pairs = half(n)
    checks = list(thread_pool.run(look, pairs, stage=f"check {what}", total=len(pairs)))
    slack = max(s.largest for s in checks) * (1e-5 if arrays.dtype_of(M) == np.float32 else 1e-10)
    worst = max(checks, key=lambda s: s.asymmetry)
    if worst.asymmetry > slack:
        i, j = worst.place
        mean = Phrase(f"use ({letter} + {letter}.T) / 2", "replace both by their mean")
        remedy = Message("if both measure the same, ", mean)
        if one_half(M, lambda values: values == 0):
            twice = "" if not np.asarray(_diagonal(M)).any() else f" - np.diag(np.diag({letter}))"
            fill = Phrase(f"use {letter} + {letter}.T{twice}", "fill it with the values of the other half")
            remedy = Message("one half is all zero, so ", fill)
        place = Item("row", i), ", ", Item("column", j)
        first, back = (f"{float(value):g}" for value in (M[i, j], M[j, i]))
        problem = f"the {what} are not symmetric: {first} at ", *place, f", and {back} in the transpose; ", remedy
        raise DataError(Message(Owner(owner), *problem))
    return slack


def one_half(M: Array, test: Callable[[Array], Array]) -> bool:
    """Return whether all entries on one side of the diagonal pass the test, but not all on the other."""
    below = all(test(arrays.to_numpy(M[i, :i])).all() for i in range(1, len(M)))
    above = all(test(arrays.to_numpy(M[i, i + 1 :])).all() for i in range(len(M) - 1))
    return below != above


def refuse_missing(M: Array, owner: str, what: str, letter: str, remedy: str | Message) -> None:
    """Raise if some precomputed values are NaN; ``remedy`` applies unless exactly one half is missing."""
    for part in tiles(len(M), 256):
        found = np.argwhere(np.isnan(arrays.to_numpy(M[part])))
        if not len(found):
            continue
        if one_half(M, np.isnan):
            fill = Phrase(f"use np.fmax({letter}, {letter}.T)", "fill it with the values of the other half")
            remedy = Message("one half is all NaN, so ", fill)
        i, j = part.start + int(found[0][0]), int(found[0][1])
        place = Item("row", i), ", ", Item("column", j)
        raise DataError(Message(Owner(owner), f"the {what} at ", *place, " is missing (NaN); ", remedy))


def _diagonal(M: Array) -> Array:
    return arrays.to_numpy(arrays.namespace(M).linalg.diagonal(M))
