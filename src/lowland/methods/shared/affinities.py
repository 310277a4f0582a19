"""Maps of given affinities: a square of them, or a function that makes one; no distance is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...contract.fit_info import Recorder
from ...contract.inputs import Compared, require_count
from ...core import arrays
from ...core.arrays import to_numpy
from ...core.errors import DataError, DisconnectedError, DisconnectedWarning
from ...core.message import Message, Phrase, Setting, message
from ...core.random import seed
from ...graph.components import by_size
from ...graph.geometry import EdgeLengths
from ...graph.graph import Graph
from ...graph.laplacian import FLOOR
from ...graph.neighbor_rule import NEIGHBORS
from ...graph.points import Piece
from ...pairs.pairwise import check_symmetric
from ...rows.object_rows import gather, packed
from ...rows.row_source import RowSource
from .graph_based import Embedded, side_by_side
from .laplacian_map import nystrom_of
from .placing import points_of, training_points

Array = Any

_ROUNDING = 1e-10  # of the largest affinity: what two of one pair may differ by


@dataclass(frozen=True)
class AffinityInput(Compared):
    """Rows, objects or distances, compared by a metric; or affinities, or what a function makes affinities of."""

    def rule(self, model: Any) -> Any:  # noqa: D102
        return model.affinity if gives_affinities(model.affinity) else model.metric


AFFINITY_INPUT = AffinityInput("metric", "its distances or affinities to")


def gives_affinities(affinity: Any) -> bool:
    """Tell whether a value of the parameter gives the affinities themselves."""
    return callable(affinity) or affinity == "precomputed"


def fit_affinities(model: Any, rows: RowSource, record: Recorder) -> None:
    """Fit the map of given affinities: each connected component by the model's ``_of_weights``."""
    n, rng = rows.count(), seed(model.random_state)
    require_count(model, rows.shape, n - 1, "the number of points less one")
    if getattr(model, "landmarks", None) is not None:
        text = ": {landmarks} need distances, and affinities are given; use {affinity}"
        names = {"landmarks": ..., "affinity": "nearest_neighbors"}
        raise DataError(message(type(model).__name__ + text, **names))
    items = gather(rows, sparse=True)
    with record.stage("affinities"):
        W = _checked(type(model).__name__, model.affinity(items) if callable(model.affinity) else items, n)
        if not getattr(model, "diagonal", False):
            W = sp.csr_array(W - sp.diags_array(W.diagonal()))
        W.eliminate_zeros()
    model.metric_, model.metric_state_, model.square_, model.radius_ = model._input.name(model), {}, None, None
    model.anchors_ = packed(items) if callable(model.affinity) else np.arange(n)
    if hasattr(type(model), "affinity_matrix_") and not callable(model.affinity):
        model.given_affinities_ = items  # no copy, and not in model files
    model.neighbors_ = min(model.n_neighbors or NEIGHBORS, n - 1)
    model.n_components_ = model.n_components
    labels = by_size(sp.csgraph.connected_components(W, directed=False)[1]).astype(np.int32)
    W, pieces = _components(model, W, labels, record)
    if pieces[0].n == 1:
        raise DataError(f"{type(model).__name__}: no two objects have an affinity above 0; are these distances?")
    maps = [_mapped(model, W, piece, record, rng) for piece in pieces]
    model._tell(maps, record)
    model.pieces_ = side_by_side(pieces, maps, model.n_components_)
    model.embedding_ = points_of(model.pieces_, model.n_components_).astype(rows.dtype)
    model.component_labels_ = labels


def _mapped(model: Any, W: Any, piece: Piece, record: Recorder, rng: np.random.Generator) -> Embedded:
    if piece.n == 1:
        return Embedded(np.zeros((1, 1)), np.zeros(1), {"bandwidth": np.nan, "factor": np.ones(1)})
    part = W if piece.n == W.shape[0] else sp.csr_array(W[piece.numbers][:, piece.numbers])
    found: Embedded = model._of_weights(part, np.nan, min(model.n_components, piece.n - 1), record, rng)
    return found


def new_affinities(model: Any) -> Callable[[Array], Array]:
    """Return what places rows by their affinities to the training objects: in the component with the largest sum."""
    rule, points = model._input.fitted(model), None if model._fitted_pairwise else training_points(model)
    name, n = type(model).__name__, sum(len(piece["numbers"]) for piece in model.pieces_)

    def work(block: Array) -> Array:
        A = block if points is None else _between(name, rule, block, points)
        A = A.toarray() if sp.issparse(A) else to_numpy(A)
        A = np.asarray(A, dtype=np.float64)
        if A.shape[1] != n or not (A >= 0).all() or np.isinf(A).any():
            raise DataError(
                f"{name}: rows must hold {n} affinities, numbers that are not negative, to the training objects"
            )
        sums = np.stack([A[:, piece["numbers"]].sum(axis=1) for piece in model.pieces_], axis=1)
        if (lost := np.flatnonzero(sums.max(axis=1) == 0)).size:
            raise DataError(f"{name}: row {lost[0]} of its block has no affinity to any training object")
        home, Y = sums.argmax(axis=1), np.empty((len(A), model.n_components_))
        for number in np.unique(home).tolist():
            piece, mine = model.pieces_[number], np.flatnonzero(home == number)
            own = np.ascontiguousarray(A[mine][:, piece["numbers"]])  # sums then have the same bits in any batch
            Y[mine] = nystrom_of(piece, own) + piece["offset"]
        return Y

    return lambda block: work(block) if sp.issparse(block) else arrays.like(work(block), block)


def _between(name: str, rule: Any, block: Array, points: Array) -> Array:
    try:
        return rule(block, points)
    except TypeError as error:
        raise DataError(
            f"{name}: new rows need the affinities of two sets of rows, and the function of affinity does not take two "
            f"({error}); give one like sklearn.metrics.pairwise.rbf_kernel(X, Y=None)"
        ) from None


def _checked(owner: str, given: Any, n: int) -> Any:
    """Return given affinities as a sparse matrix; raise if they are not symmetric numbers of at least 0."""
    if tuple(given.shape) != (n, n):
        raise DataError(f"{owner}: affinities must be a square of {n} × {n} numbers; these are {given.shape}")
    sparse = sp.issparse(given)
    values = given.data if sparse else to_numpy(given)
    if not (values >= 0).all() or np.isinf(values).any():
        raise DataError(f"{owner}: affinities are numbers of at least 0, and some are negative, infinite or missing")
    if not sparse:
        check_symmetric(np.asarray(values), owner, "affinities", "W")
    W = sp.csr_array(given if sparse else values, dtype=np.float64)
    back = sp.csr_array(W.T)
    if sparse and abs(W - back).max() > _ROUNDING * values.max(initial=0.0):
        mean = Phrase("use (W + W.T) / 2", "replace both by their mean")
        raise DataError(Message(f"{owner}: the affinities are not symmetric; if both measure the same, ", mean))
    return sp.csr_array((W + back) / 2)


def _components(model: Any, W: Any, labels: Array, record: Recorder) -> tuple[Any, list[Piece]]:
    """Return the affinities and the components as ``disconnected`` treats them."""
    sizes = np.bincount(labels)
    if len(sizes) == 1 or model.disconnected == "bridge":
        numbers = [np.arange(len(labels))]
    else:
        numbers = [np.flatnonzero(labels == c) for c in range(len(sizes))]
    if len(sizes) > 1:
        what = f"{type(model).__name__}: the affinities fall into {len(sizes)} pieces"
        if model.disconnected == "error":
            use = Message("; use ", Setting("disconnected", "bridge"), " or ", Setting("disconnected", "separate"))
            raise DisconnectedError(Message(what, use, " to embed them nevertheless"))
        record.evidence["pieces"] = len(sizes)
        told = "they are embedded one by one and laid side by side"
        if model.disconnected == "bridge":
            W = _linked(W, labels)
            told = f"the points of largest degree are linked, with {FLOOR:g} of the largest affinity"
        record.warn(f"{what}; {told}: distances between pieces mean nothing", DisconnectedWarning)
    return W, [piece_of(mine) for mine in numbers]


def _linked(W: Any, labels: Array) -> Any:
    """Return W with a link from the point of largest degree of each component to that of the largest component."""
    degrees = np.asarray(W.sum(axis=1)).ravel()
    first = np.lexsort((-degrees, labels))[np.concatenate([[0], np.cumsum(np.bincount(labels))[:-1]])]
    a, b = first[1:], np.full(len(first) - 1, first[0])
    weight = np.full(len(a), FLOOR * float(W.data.max(initial=1.0)))
    links = sp.coo_array((weight, (a, b)), shape=W.shape)
    return sp.csr_array(W + links + links.T)


def piece_of(numbers: Array) -> Piece:
    """Return a piece of which only the affinities are known."""
    nothing = Graph(np.zeros(len(numbers) + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))
    return Piece(nothing, EdgeLengths("affinities"), numbers)
