"""The cost of classical scaling: of PCA for Euclidean rows, else of distances and one eigenproblem."""

from __future__ import annotations

import numpy as np

from ...core.cost import DataShape, Plan, dense_seconds, largest
from ...core.settings import threads
from ...pairs.sparse import tile_bytes
from ...rows.row_source import block_rows
from ...spectral import rowspace
from ...spectral.distance import cailliez_bytes
from ...spectral.route_costs import Reading
from ...spectral.solve_costs import square_solve_cost
from ...spectral.solved import ComponentRule
from ..shared.distance_based import DistanceReducer
from ..shared.landmarks import memory_remedy


def plan_classical(model: DistanceReducer, shape: DataShape, additive: str | None, *, linear: bool) -> Plan:
    """Return the plan of a fit; ``linear``: by PCA of the rows."""
    model._check_dimensions(shape)
    n, k = shape.n_rows or 1, model.n_components
    landmarks = None if linear else model._landmarks(n)
    if linear:
        route = rowspace.route(shape, ComponentRule(count=k))
        parts, seconds = rowspace.cost(route, shape, min(k, n, shape.n_features))
        if not shape.sparse:  # sparse rows are multiplied as they are
            parts = largest(parts, {"rows less their mean": Reading.of(shape).rows_in_float64()})
        model_bytes, algorithm = 8 * (k + 1) * shape.n_features, f"PCA by {route}"
    else:
        m = n if landmarks is None else landmarks.count
        parts, seconds = _distance_cost(model, shape, m, additive)
        parts |= {"rows in one array": shape.gathered} if shape.gathered else {}
        model_bytes = model._anchor_bytes(shape, m) + m * 8 * (k + 1)
        algorithm = "distances" if landmarks is None else f"{m} landmarks ({landmarks.strategy})"
    parts["embedding"] = 2 * n * k * shape.dtype.itemsize
    return Plan.of(
        "ClassicalMDS",
        algorithm,
        shape,
        parts,
        seconds=seconds + dense_seconds(2.0 * n * k * shape.n_features, shape.dtype),
        approximate=landmarks is not None,
        model_bytes=model_bytes + n * k * shape.dtype.itemsize,
        remedy=memory_remedy(n, landmarks),
    )


def _distance_cost(
    model: DistanceReducer, shape: DataShape, m: int, additive: str | None
) -> tuple[dict[str, int], float]:
    """Return the memory and the seconds of solving for m points and of placing all others."""
    n = shape.n_rows or 1
    given = model._pairwise and m == n
    copies = 1 if additive is None else 3  # as they are, squared, corrected
    if given and (additive is None or shape.dtype == np.float64):
        copies -= 1  # the data themselves
    parts = {"distances": 8 * m * m * copies, "rows": model._row_bytes(shape, m)}
    part, size, flops = square_solve_cost(m, model.n_components)
    step = largest(  # one after the other
        {"rows compared": 0 if model._pairwise else tile_bytes(shape, m)},
        {"additive constant": cailliez_bytes(m) if additive == "cailliez" else 0},
        {part: size},
    )
    parts |= step
    if m < n:
        # A block for each thread when the distances are gone, then one beside those of the second landmarks.
        block, count = 8 * 512 * m * 4, min(threads(), -(-n // block_rows(shape.n_features)))
        parts["blocks of distances"] = max(block, count * block - parts["distances"] - sum(step.values()))
        flops *= 2  # the second set of landmarks
    pairs = 0.0 if given else float(m) * (m / 2 + (n if m < n else 0))
    return parts, dense_seconds(flops, np.dtype(np.float64)) + model._compare_seconds(pairs, model._columns(shape))
