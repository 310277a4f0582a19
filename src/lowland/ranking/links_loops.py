"""Compiled loops over the links of a graph; each call runs on one thread."""

from __future__ import annotations

from typing import Any

import numba as nb

from ..core.jit import LOOP


def _fixed(kind: Any) -> Any:
    return nb.types.Array(kind, 1, "C", readonly=True)


NODES, STARTS, REALS = _fixed(nb.int32), _fixed(nb.int64), _fixed(nb.float64)
NODES_OUT, PLACES_OUT, REALS_OUT = nb.int32[::1], nb.int64[::1], nb.float64[::1]
SPAN = (nb.int64, nb.int64)


@nb.njit([nb.void(NODES, PLACES_OUT)], **LOOP)
def count(nodes, counts):  # type: ignore[no-untyped-def]
    """Count how often each node occurs."""
    for e in range(len(nodes)):
        counts[nodes[e]] += 1


@nb.njit([nb.void(NODES, REALS, REALS_OUT)], **LOOP)
def add_weights(nodes, weights, sums):  # type: ignore[no-untyped-def]
    """Sum the weights at each node, in the order of the edges."""
    for e in range(len(nodes)):
        sums[nodes[e]] += weights[e]


@nb.njit([nb.void(NODES, NODES, nb.int64, PLACES_OUT, *SPAN)], **LOOP)
def count_buckets(target, new, shift, counts, start, stop):  # type: ignore[no-untyped-def]
    """Count the edges whose target, in its new number, lies in each bucket of 2**shift nodes."""
    for e in range(start, stop):
        counts[new[target[e]] >> shift] += 1


@nb.njit([nb.void(NODES, NODES, NODES, nb.int64, PLACES_OUT, NODES_OUT, NODES_OUT, PLACES_OUT, *SPAN)], **LOOP)
def scatter(source, target, new, shift, places, sources, rows, edges, start, stop):  # type: ignore[no-untyped-def]
    """Move edges to the buckets of their targets; ``edges`` records where each came from, unless it is empty."""
    keep = len(edges) > 0
    for e in range(start, stop):
        row = new[target[e]]
        place = places[row >> shift]
        places[row >> shift] = place + 1
        sources[place], rows[place] = new[source[e]], row
        if keep:
            edges[place] = e


@nb.njit([nb.void(NODES, NODES, STARTS, REALS, STARTS, *SPAN, NODES_OUT, REALS_OUT)], **LOOP)
def place(sources, rows, edges, weights, indptr, first, last, indices, values):  # type: ignore[no-untyped-def]
    """Sort the edges of one bucket, rows ``first`` to ``last``, by target, with their weights if there are any."""
    heads = indptr[first:last].copy()
    weighted = len(values) > 0
    for e in range(indptr[first], indptr[last]):
        row = rows[e] - first
        at = heads[row]
        heads[row] = at + 1
        indices[at] = sources[e]
        if weighted:
            values[at] = weights[edges[e]]


@nb.njit([nb.float64(STARTS, NODES, REALS, REALS, nb.int64)], inline="always", **LOOP)
def _row(indptr, indices, values, z, i):  # type: ignore[no-untyped-def]
    total = 0.0
    if len(values) > 0:
        for p in range(indptr[i], indptr[i + 1]):
            total += values[p] * z[indices[p]]
    else:
        for p in range(indptr[i], indptr[i + 1]):
            total += z[indices[p]]
    return total


@nb.njit([nb.void(STARTS, NODES, REALS, REALS, REALS, nb.float64, REALS_OUT, *SPAN)], **LOOP)
def spread(indptr, indices, values, z, restart, damping, out, start, stop):  # type: ignore[no-untyped-def]
    """Write v + d Σ w z for some rows."""
    for i in range(start, stop):
        out[i] = restart[i] + damping * _row(indptr, indices, values, z, i)


@nb.njit([nb.void(STARTS, NODES, *[REALS] * 3, nb.float64, *[REALS] * 3, REALS_OUT, REALS_OUT, *SPAN)], **LOOP)
def step(indptr, indices, values, z, restart, damping, strength, loops, gain, out, sums, start, stop):  # type: ignore[no-untyped-def]
    """Solve each of some rows for its own score, with the scores of the others as they are.

    ``sums`` receives the sum of the residuals of these rows, and of the new scores times ``gain``.
    """
    change = mass = 0.0
    for i in range(start, stop):
        total = _row(indptr, indices, values, z, i) - loops[i] * z[i]
        divisor = strength[i] - damping * loops[i]
        new = (restart[i] + damping * total) / divisor
        change += abs(new - z[i]) * divisor
        mass += new * gain[i]
        out[i] = new
    sums[0], sums[1] = change, mass
