"""Few points that stand for many: uniform, farthest, k-means and k-means++, and randomly pivoted Cholesky."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core import arrays, thread_pool
from ...core.errors import DataError
from ...core.message import Message, message
from ...core.settings import report_progress
from ...pairs.kernels import GivenKernel, Kernel
from ...pairs.pairwise import Array, Pairwise, against, cut, length, tiles
from ...rows.object_rows import on_host, take
from ...rows.row_source import RowSource
from ...spectral import dense
from ...spectral.rounding import rounding_floor

_CANDIDATES_EACH = 20  # rows looked at for each landmark that is chosen among them
FEW_LANDMARKS = 500  # of a graph, proposed where an exact fit does not fit in memory
_STRIP = 8192  # candidates that one task compares with the last landmark


@dataclass(frozen=True)
class Landmarks:
    """How many landmarks, and by which strategy."""

    strategy: str
    count: int


def memory_remedy(n: int, landmarks: Landmarks | None, count: int = 1000) -> str:
    """Return what needs less memory than a fit of n rows; landmarks only where they are fewer than the rows.

    >>> print(memory_remedy(5000, None)), print(memory_remedy(900, None))
    use landmarks=1000, or fewer rows
    use fewer rows
    (None, None)
    """
    if landmarks is not None:
        return "use fewer landmarks or rows"
    return message("use {landmarks}, or fewer rows", landmarks=count) if n > count else "use fewer rows"


def landmarks_of(spec: Any, n: int, *, exact_below: int, count: int, strategy: str) -> Landmarks | None:
    """Read the parameter ``landmarks``: None is exact; "auto" is exact up to a number of rows and landmarks above.

    A number asks for so many by the method's own strategy, "uniform:500" names another.

    >>> landmarks_of("auto", 5000, exact_below=10_000, count=1000, strategy="uniform") is None
    True
    >>> landmarks_of("kmeans:50", 5000, exact_below=10_000, count=1000, strategy="uniform")
    Landmarks(strategy='kmeans', count=50)
    """
    if spec is None or (spec == "auto" and n <= exact_below):
        return None
    if spec == "auto":
        return Landmarks(strategy, min(n, count))
    if isinstance(spec, str):
        strategy, _, number = spec.partition(":")
        return Landmarks(strategy, min(n, int(number or count)))
    return Landmarks(strategy, min(n, int(spec)))


@dataclass(frozen=True)
class LandmarkDefaults:
    """What ``landmarks="auto"`` means for a method: exact up to a number of rows, then so many by this strategy."""

    exact_below: int = 10_000
    count: int = 1000
    strategy: str = "uniform"

    def of(self, model: Any, n: int) -> Landmarks | None:
        """Return how many landmarks a fit of n rows takes and how they are chosen; None for an exact fit."""
        count = max(self.count, 4 * (model.n_components or 0))
        return landmarks_of(model.landmarks, n, exact_below=self.exact_below, count=count, strategy=self.strategy)


def candidates(n: int, count: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return the rows among which landmarks are sought: all, or 20 for each landmark drawn by the seed."""
    pool_size = max(20_000, _CANDIDATES_EACH * count)
    return np.arange(n) if n <= pool_size else np.sort(rng.choice(n, pool_size, replace=False))


def uniform(n: int, count: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return rows drawn uniformly, in order."""
    return np.sort(rng.choice(n, count, replace=False))


def farthest(metric: Pairwise, items: Array, count: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return rows, each the farthest from those chosen before (max-min)."""
    return _spread(metric, items, count, rng, greedy=True)


def kmeans_plus_plus(metric: Pairwise, items: Array, count: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return rows drawn with probability proportional to the squared distance to those chosen before."""
    return _spread(metric, items, count, rng, greedy=False)


def _spread(
    metric: Pairwise, items: Array, count: int, rng: np.random.Generator, *, greedy: bool
) -> np.ndarray[Any, Any]:
    rows = candidates(length(items), count, rng)
    among = items[rows]
    compare = [against(metric, among[part]) for part in tiles(len(rows), _STRIP)]
    chosen = [int(rng.integers(len(rows)))]
    nearest = np.full(len(rows), np.inf)
    for done in range(1, count):
        new = _distances_to(among[chosen[-1] : chosen[-1] + 1], compare)
        nearest = np.minimum(nearest, new)
        if not nearest.max() > 0:
            break  # fewer distinct points than landmarks asked for
        chances = nearest**2
        chosen.append(int(np.argmax(nearest)) if greedy else int(rng.choice(len(rows), p=chances / chances.sum())))
        report_progress("landmarks", done, count)
    return np.sort(rows[np.array(chosen)])


def _distances_to(last: Array, compare: list[Callable[[Array], Array]]) -> Array:
    return np.concatenate(list(thread_pool.run(lambda measure: arrays.to_numpy(measure(last))[0], compare)))


@thread_pool.one_blas_thread()
def rpcholesky(kernel: Kernel, items: Array, count: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return pivots of a randomly pivoted Cholesky factor: each is drawn in proportion to its residual diagonal.

    Proposals come in blocks and are accepted one by one, so that the work is matrix products (Chen, Epperly, Tropp,
    Webber 2022; Epperly, Tropp, Webber 2024). Stops early when the kernel is exhausted.
    """
    rows = candidates(length(items), count, rng)
    items = items if len(rows) == length(items) else items[rows]
    among = kernel.prepare(items)
    n, size = length(among), max(16, count // 10)
    missing = arrays.to_numpy(kernel.diagonal(items)).astype(np.float64).clip(0)
    floor = 100 * np.finfo(float).eps * missing.max() if len(missing) else 0.0
    F = np.zeros((n, count))
    chosen: list[int] = []
    while len(chosen) < count and missing.max() > floor:
        proposed: Array = rng.choice(n, size, p=missing / missing.sum())
        H = arrays.to_numpy(kernel.between(cut(among, proposed), cut(among, proposed)))
        H = H - F[proposed, : len(chosen)] @ F[proposed, : len(chosen)].T
        accepted = _accept(H, rng, floor)[: count - len(chosen)]
        if not accepted:
            missing[proposed] = 0.0  # only rounding was left of them
            continue
        new = proposed[accepted]
        done = len(chosen)
        G = _columns(kernel, among, new) - thread_pool.matmul(F[:, :done], np.ascontiguousarray(F[new, :done].T))
        L = np.linalg.cholesky(H[np.ix_(accepted, accepted)])
        F[:, done : done + len(new)] = thread_pool.matmul(G, np.linalg.inv(L).T)
        chosen.extend(int(i) for i in new)
        missing = (missing - (F[:, done : done + len(new)] ** 2).sum(axis=1)).clip(0)
        missing[np.array(chosen)] = 0.0
        report_progress("landmarks", len(chosen), count)
    if not chosen:
        raise DataError(
            Message(
                "the kernel of every object with itself is zero (rank 0), so no landmarks can be chosen", kernel.doubt
            )
        )
    return np.sort(rows[np.array(chosen)])


def _accept(H: Array, rng: np.random.Generator, floor: float) -> list[int]:
    """Accept each proposal with the probability of its residual after those accepted before it, over its value."""
    S = H.copy()
    offered = np.diagonal(H).copy()
    accepted = []
    for i in range(len(S)):
        if S[i, i] <= floor or rng.random() * offered[i] >= S[i, i]:
            continue
        accepted.append(i)
        h = S[i:, i] / np.sqrt(S[i, i])
        S[i:, i:] -= np.outer(h, h)
    return accepted


def _columns(kernel: Kernel, among: Any, new: Array) -> Array:
    anchors = cut(among, new)
    strips = thread_pool.run(
        lambda part: arrays.to_numpy(kernel.between(cut(among, part), anchors)), tiles(length(among), 1024)
    )
    return np.concatenate(list(strips))


def kmeans(X: Array, count: int, rng: np.random.Generator) -> Array:
    """Return the centres of k-means on the candidate rows: points that need not be rows."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    among = arrays.to_numpy(X[candidates(len(X), count, rng)]).astype(np.float64)
    count = min(count, len(np.unique(among, axis=0)))
    with threadpool_limits(1):  # threads add up their shares of a centre in the order in which they finish
        found = KMeans(count, n_init=1, max_iter=30, random_state=int(rng.integers(2**31))).fit(among)
    return found.cluster_centers_


def choose(kernel: Kernel, rows: RowSource, wanted: Landmarks, rng: np.random.Generator) -> Array:
    """Return landmarks for a kernel: some of the objects, or centres of k-means; the rows may be any source."""
    n = rows.count()
    if wanted.strategy == "uniform":
        return on_host(take(rows, uniform(n, wanted.count, rng)))
    if rows.sparse and wanted.strategy == "kmeans":
        raise DataError(
            message(
                "the strategy 'kmeans' of {landmarks} takes means of rows, and those of sparse rows are dense; use "
                "'rpcholesky:500' or 'uniform:500'",
                landmarks=...,
            )
        )
    among = on_host(take(rows, candidates(n, wanted.count, rng)))
    if wanted.strategy == "rpcholesky":
        return among[rpcholesky(kernel, among, wanted.count, rng)]
    if among.dtype == object or isinstance(kernel, GivenKernel):
        raise DataError(
            message(
                "the strategy 'kmeans' of {landmarks} needs rows of numbers, to take means of them; use "
                "'rpcholesky:500' or 'uniform:500'",
                landmarks=...,
            )
        )
    return kmeans(among, wanted.count, rng)


class Whitener(NamedTuple):
    """f(x) = Wᵀk_x, whose products f(x)ᵀf(y) are the Nyström kernel; the least eigenvalue and Σ|λ<0|/Σ|λ|."""

    W: Array
    least: float
    negative: float


def whitener(K: Array, eps: float = float(np.finfo(np.float64).eps)) -> Whitener:
    """Return W = QΛ^(−1/2) of the landmarks' kernel K = QΛQᵀ, over the eigenvalues above rounding.

    ``eps`` is the precision of the entries; errors in them move an eigenvalue by eps·‖K‖ at most.

    >>> W = whitener(np.array([[4.0, 0.0], [0.0, 1.0]])).W
    >>> np.abs(W @ W.T).tolist()
    [[0.25, 0.0], [0.0, 1.0]]
    """
    values, Q = dense.eigh(K)
    # Ten times what the solve may err by: W divides by √λ, so a direction of rounding would be as long as the others.
    floor = rounding_floor(10 * len(values), float(np.abs(values).max()), float(np.linalg.norm(values)), eps)
    keep, below = values > floor, values < -floor
    if not keep.any():
        raise DataError("the kernel of the landmarks has no positive eigenvalue (rank 0)")
    negative = float(np.abs(values[below]).sum() / np.abs(values).sum())
    return Whitener(Q[:, keep] / np.sqrt(values[keep]), float(values[0]), negative)
