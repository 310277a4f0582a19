"""Factors of large sparse positive definite matrices: their size, then A⁻¹B for blocks of columns.

`Cholesky` is our own: its size is known before it is computed, it is half as large as an LU and uses all threads.
`SuperLU` is SciPy's: it is faster for small matrices than compiling `Cholesky`; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import thread_pool
from ..core.cost import check_allocation
from ..core.errors import SolveError
from ..core.settings import report_progress
from .ordering import analysed, pattern

Array = np.ndarray[Any, Any]

REMEDY = "reduce fewer rows or use fewer neighbours"
_TASKS = 64  # a subtree is one task if its arithmetic is at most 1/64 of the total
_WIDE = 512  # columns from which a front is factored on several threads
_STEP = 256  # rows of a product computed by one task


def not_definite(detail: str) -> SolveError:
    """Return the error for a matrix without a Cholesky factor."""
    return SolveError(
        f"the matrix is not positive definite ({detail}): it is not symmetric positive semidefinite, or its entries "
        "span too many orders of magnitude; look for extreme or nearly equal rows in the data"
    )


class Structure:
    """The symbolic factor: supernodes, their rows, the tasks, and the memory of the factor."""

    def __init__(self, A: Any) -> None:
        from . import cholesky_loops as kernels

        self.ordering = analysed(A)
        perm, parent, counts = self.ordering.perm, self.ordering.parent, self.ordering.counts
        n = len(perm)
        self.inverse = np.empty(n, dtype=np.int64)
        self.inverse[perm] = np.arange(n)
        first, height = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
        count = kernels.supernodes(parent, counts, first, height)
        self.first = first[: count + 1].copy()
        columns = np.diff(self.first)
        below = height[:count] - columns
        owner = np.repeat(np.arange(count), columns)
        last = parent[self.first[1:] - 1]
        self.above = np.where(last < 0, -1, owner[last])
        self.begin = np.concatenate(([0], np.cumsum(below)))
        self.rows = np.empty(self.begin[-1], dtype=np.int32)
        kernels.structure(*pattern(A), perm, self.inverse, self.first, self.above, self.begin, self.rows)
        sizes = columns * (columns + below)
        self.where = np.concatenate(([0], np.cumsum(sizes)))
        self.fill = int(self.where[-1])
        self._cut(columns * (columns + below).astype(np.float64) ** 2)
        waiting = sum(int(below[stop - 1]) ** 2 for _, stop in self.tasks)
        largest = max((kernels.room(self.first, self.begin, self.above, *task) for task in self.tasks), default=0)
        largest = max(largest, int(below[self.top].max(initial=0)) ** 2)
        self.bytes = 8 * (self.fill + waiting + 2 * largest) + 4 * len(self.rows) + 48 * n

    def _cut(self, work: Array) -> None:
        """Split the tree into small subtrees and the levels above them, children before parents."""
        count = len(work)
        total, size = work.copy(), np.ones(count, dtype=np.int64)
        for s in range(count):
            if self.above[s] >= 0:
                total[self.above[s]] += total[s]
                size[self.above[s]] += size[s]
        large = total > work.sum() / _TASKS
        root = ~large & ((self.above < 0) | large[self.above])
        self.tasks = [(int(s + 1 - size[s]), int(s + 1)) for s in np.flatnonzero(root)]
        self.top = [int(s) for s in np.flatnonzero(large)]
        self.children: dict[int, list[int]] = {s: [] for s in self.top}
        depth: dict[int, int] = {}
        for s in np.flatnonzero(root | large).tolist():
            if large[s]:
                depth[s] = 1 + max((depth.get(c, -1) for c in self.children[s]), default=-1)
            if self.above[s] >= 0:
                self.children[int(self.above[s])].append(s)
        self.levels = [[s for s in self.top if depth[s] == d] for d in range(1 + max(depth.values(), default=-1))]

    def rows_of(self, s: int) -> Array:
        """Return the rows below a supernode."""
        return self.rows[self.begin[s] : self.begin[s + 1]]

    def blocks(self, L: Array, s: int) -> tuple[Array, Array]:
        """Return the square and the panel of a supernode, as views."""
        n, start = int(self.first[s + 1] - self.first[s]), int(self.where[s])
        return L[start : start + n * n].reshape(n, n), L[start + n * n : int(self.where[s + 1])].reshape(n, -1)


class Cholesky:
    """A = LLᵀ by the multifrontal method (Duff & Reid 1983) over a fill-reducing order.

    ``predicted`` is the exact number of entries of L from the elimination tree; ``fill`` the number stored, including
    zeros of square blocks. Subtrees do not depend on the number of threads, so results do not either.
    """

    name = "cholesky"

    def __init__(self, A: Any, *, remedy: str = REMEDY) -> None:
        A = A.tocsr()
        if (least := A.diagonal().min()) <= 0:
            raise not_definite(f"a diagonal entry is {least:.3g}")
        self.structure = Structure(A)
        self.predicted, self.fill = self.structure.ordering.fill, self.structure.fill
        check_allocation(self.structure.bytes, f"the factor of a sparse matrix of {A.shape[0]:,} rows", remedy)
        self._factor(A)

    def _factor(self, A: Any) -> None:
        from . import cholesky_loops as kernels

        tree = self.structure
        self.L = np.empty(tree.fill)
        matrix = (*pattern(A), np.ascontiguousarray(A.data, dtype=np.float64), tree.ordering.perm, tree.inverse)
        shape = (tree.first, tree.begin, tree.rows, tree.above, tree.where)
        left: dict[int, Array] = {}

        def subtree(task: tuple[int, int]) -> tuple[int, Array]:
            return kernels.factor_subtree(*matrix, *shape, self.L, *task)  # type: ignore[no-any-return]

        for task, (bad, update) in zip(tree.tasks, thread_pool.run(subtree, tree.tasks), strict=True):
            if bad >= 0:
                raise not_definite(f"pivot {bad} of {A.shape[0]}")
            left[task[1] - 1] = update
        for done, level in enumerate(tree.levels):
            report_progress("factorisation", done, len(tree.levels))
            children = [[(c, left.pop(c)) for c in tree.children[s]] for s in level]
            jobs = list(zip(level, children, strict=True))
            front = self._front(matrix)
            updates = map(front, jobs) if len(jobs) == 1 else thread_pool.run(front, jobs)
            for s, update in zip(level, updates, strict=True):
                left[s] = update

    def _front(self, matrix: tuple[Array, ...]) -> Callable[[tuple[int, list[tuple[int, Array]]]], Array]:
        """Return the work of one supernode at the top: assemble, eliminate, return the update for the parent."""
        from . import cholesky_loops as kernels

        tree = self.structure

        def front(job: tuple[int, list[tuple[int, Array]]]) -> Array:
            s, children = job
            T, R = tree.blocks(self.L, s)
            T[:], R[:] = 0.0, 0.0
            U = np.zeros((R.shape[1], R.shape[1]))
            place = np.empty(len(tree.inverse), dtype=np.int32)
            kernels.load(*matrix, tree.first[s], tree.first[s + 1], tree.rows_of(s), place, T, R)
            while children:
                child, update = children.pop()
                kernels.extend_add(update, tree.rows_of(child), place, T, R, U)
            bad = _eliminate(T, R)
            if bad >= 0:
                raise not_definite(f"pivot {tree.first[s] + bad} of {len(tree.inverse)}")
            _take_away(R, U)
            return U

        return front

    def solve(self, B: Array) -> Array:
        """Return A⁻¹ B."""
        from . import cholesky_loops as kernels

        tree = self.structure
        shape = (tree.first, tree.begin, tree.rows, tree.where, self.L)
        X = np.ascontiguousarray(np.asarray(B, dtype=np.float64)[tree.ordering.perm])

        def up(task: tuple[int, int]) -> Array:
            above = tree.rows_of(task[1] - 1)
            place = np.empty(len(X), dtype=np.int32)
            place[above] = np.arange(len(above), dtype=np.int32)
            beyond = np.zeros((len(above), X.shape[1]))
            kernels.forward(*shape, X, *task, tree.first[task[1]], beyond, place)
            return beyond

        for task, beyond in zip(tree.tasks, thread_pool.run(up, tree.tasks), strict=True):
            X[tree.rows_of(task[1] - 1)] += beyond
        nothing, nowhere = np.empty((0, X.shape[1])), np.empty(0, dtype=np.int32)
        for s in tree.top:
            kernels.forward(*shape, X, s, s + 1, len(X), nothing, nowhere)
        for s in tree.top[::-1]:
            kernels.backward(*shape, X, s, s + 1)
        for _ in thread_pool.run(lambda task: kernels.backward(*shape, X, *task), tree.tasks):
            pass
        out = np.empty_like(X)
        out[tree.ordering.perm] = X
        return out


def _eliminate(T: Array, R: Array) -> int:
    """Eliminate the columns of a front in place; a wide one by panels, with products on the pool.

    Returns −1, or the column whose pivot is not positive.
    """
    from . import cholesky_loops as kernels

    n = T.shape[0]
    if n < _WIDE:
        return int(kernels.eliminate(T, R))
    for start in range(0, n, _STEP):
        stop = min(start + _STEP, n)
        D, P = T[start:stop, start:stop].copy(), np.hstack([T[start:stop, stop:], R[start:stop]])
        bad = kernels.eliminate(D, P)
        if bad >= 0:
            return int(start + bad)
        T[start:stop, start:stop], T[start:stop, stop:], R[start:stop] = D, P[:, : n - stop], P[:, n - stop :]
        left = P[:, : n - stop]
        _take_away(left, T[stop:, stop:])
        _by_panels(left, P[:, n - stop :], R[stop:], upper=False)
    return -1


def _take_away(R: Array, U: Array) -> None:
    """Subtract RᵀR from the upper triangle of U."""
    _by_panels(R, R, U, upper=True)


def _by_panels(A: Array, B: Array, out: Array, *, upper: bool) -> None:
    """Subtract AᵀB from ``out``, or from its upper triangle, by fixed panels of rows on the pool."""

    def panel(i: int) -> None:
        first = i if upper else 0
        out[i : i + _STEP, first:] -= A[:, i : i + _STEP].T @ B[:, first:]

    for _ in thread_pool.run(panel, range(0, A.shape[1], _STEP)):
        pass


class SuperLU:
    """SciPy's LU in symmetric mode, ordered by minimum degree; ``fill`` counts both factors."""

    name = "superlu"
    predicted = None

    def __init__(self, A: Any) -> None:
        from scipy.sparse.linalg import splu

        try:
            self._lu = splu(
                A.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
        except RuntimeError as error:
            raise not_definite(str(error)) from None
        least = self._lu.U.diagonal().min()  # an indefinite matrix has an LU, too, with negative pivots
        if least <= 0 or (self._lu.perm_r != self._lu.perm_c).any():
            raise not_definite(f"a pivot is {least:.3g}")
        self.fill = int(self._lu.nnz)

    def solve(self, B: Array) -> Array:
        """Return A⁻¹ B."""
        return np.asarray(self._lu.solve(np.ascontiguousarray(B)))
