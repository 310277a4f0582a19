"""Maximum variance unfolding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...contract.fit_info import Recorder
from ...contract.parameters import AnyOf, Choice, Integer, Rule
from ...core import thread_pool
from ...core.cost import DataShape, check_allocation, dense_seconds, largest, sparse_seconds
from ...core.errors import DataError, NotConvergedWarning
from ...core.message import message
from ...graph.geodesics import geodesics
from ...graph.graph import Graph
from ...graph.patches import require_apart
from ...graph.points import Piece
from ...rows.units import Units
from ...spectral import dense
from ...spectral.factor_costs import factor_entries, solve_cost
from ...spectral.nullspace import smallest
from ...spectral.solve import fix_signs
from ..shared.graph_based import GRAPH_PARAMETERS, GRAPH_UNITS, Embedded, EmbeddingCost, GraphReducer
from ..shared.laplacian_map import EDGES_PER_NEIGHBOR
from ..shared.pair_units import degree, double_degree
from .mvu_descent import Rods, unfold
from .mvu_program import EDGE_LIMIT, PROGRAM_LIMIT, full_gram, gram_in_basis

Array = Any

_BASIS = 20  # functions, by itself; with two for each component, if that is more
_PROGRAM_EDGES = 50_000  # drawn for the semidefinite program, which has some hundred unknowns
_EDGE_SLACK = 0.2  # what edges may give in the program, relative to their squared lengths
_CONTRADICTION_SLACK = (
    0.01  # the same where distances contradict each other: near the least squares of what they are off by
)
_SPARE_DIMENSIONS = 3  # dimensions beyond those asked for, in which the points get out of each other's way
_DIMENSION_SHARE = 1e-3  # of the first eigenvalue: what counts as a further dimension
_START_SHARE = 1e-4  # of it: what a further dimension starts from
_STEPS, _AT = 600, 5000  # steps for so many points; they cost little for fewer, and 300 are left for 1e6
_STEP_SECONDS = 4e-4  # seconds of a step that no number of points changes
_STEPS_TAKEN = 0.4  # of the most steps: what ordinary fits of 600 to 5,000 points took
_TOLERANCE = 1e-3
_PROGRAM_GAP = 0.01  # gap of a semidefinite program that is good enough
_EXACT_UP_TO = 0.01  # error of lengths up to which the map counts as exact, beyond which a fit warns
_ALL_FUNCTIONS_UP_TO = (
    100_000  # points up to which all basis functions become dimensions, where fewer have no room for the lengths
)


class MVU(GraphReducer):
    """Points as far apart as they can be with all neighbours at their distances (Weinberger & Saul 2006).

    max tr K subject to K ⪰ 0, K1 = 0, K_ii + K_jj − 2K_ij = d_ij² for neighbours i, j;   K = VΛVᵀ,   Y = VΛ^½.

    First K = QYQᵀ, Q the smoothest functions on the graph, and Y by a small semidefinite program (Weinberger, Sha, Zhu,
    Saul 2006). From there all points are moved until the edges have their lengths. Distances that no points have are
    kept as well as can be, and a warning says how well. New rows are weighted means of their
    neighbours' places, with the weights that make up the row.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    n_neighbors : int or None
        Neighbours of each point, whose distances are kept. Two points are linked when either is among the other's.
    radius : float or None
        With ``n_neighbors=None``: all points within this distance are neighbours. New rows have at least the nearest.
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is a square matrix of distances; or a function of two objects.
    basis : int or "auto"
        Functions Q of the semidefinite program; "auto" takes 20, or twice the components if that is more.
    disconnected : str
        What to do when the graph is not connected: "bridge" adds the shortest links, "separate" embeds each piece
        and lays them side by side, "error" refuses.
    random_state : int or None
        Seed of the solver and of the edges drawn for the semidefinite program; None is seed 0.

    Attributes
    ----------
    embedding_ : (N, k) array
        The training points, centred, along their principal axes.
    eigenvalues_ : (k,) array
        Of K, largest first. Of the largest piece, where there are several.
    component_labels_ : (N,) array
        Which piece of the neighbour graph a row is in, 0 the largest.
    n_components_ : int
        Coordinates found.
    fit_info_ : FitInfo
        Steps, the variance reached, how well distances are kept, pieces.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> angle = np.linspace(0, 4, 30)
    >>> arc = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> Y = lowland.MVU(n_components=1, n_neighbors=2).fit_transform(arc)
    >>> bool(np.ptp(Y) > 0.98 * 4)  # it is pulled straight
    True
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        **GRAPH_PARAMETERS,
        "basis": AnyOf((Integer(1), Choice(("auto",)))),
    }
    _units: ClassVar[Units] = {
        **GRAPH_UNITS,
        "embedding_": degree,
        "eigenvalues_": double_degree,
        "transform": degree,
        "variance": double_degree,
    }

    basis: int | str

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = 10,
        radius: float | None = None,
        metric: str | Callable[[Any, Any], Any] = "euclidean",
        basis: int | str = "auto",
        disconnected: str = "bridge",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric
        self.basis = basis
        self.disconnected = disconnected
        self.random_state = random_state

    def _functions(self, n: int) -> int:
        """Return the number of basis functions for n points."""
        if isinstance(self.basis, str):
            return min(n - 1, max(_BASIS, 2 * self.n_components))
        if self.basis < self.n_components:
            text = "MVU: {basis} gives too few functions for {n_components}; use at least as many as components"
            raise DataError(message(text, basis=self.basis, n_components=self.n_components))
        return min(n - 1, self.basis)

    def _embed(self, piece: Piece, record: Recorder, rng: np.random.Generator) -> Embedded:
        require_apart(piece.graph)
        graph, order = _in_line(piece.graph.symmetric())
        rods = Rods(graph)
        few = self._few(rods.n, len(rods.indices) // 2)
        points, about, contradiction = self._by_program(graph, rods, record) if few else (None, {}, False)
        where = ""
        if points is None:
            points, about, contradiction = self._by_steps(graph, rods, record, rng)
            where = f" in {points.shape[1]} dimensions"
        values, V = dense.eigh(thread_pool.tmatmul(points, points))
        values, Y = values[::-1] * rods.scale, thread_pool.matmul(points, V[:, ::-1][:, : self.n_components_])
        error, on_map, median = rods.error(points), rods.error(np.ascontiguousarray(Y)), rods.median_error(points)
        self._tell_kept(record, values / rods.n, error, on_map, median)
        self._tell_loose(record, error, median, where, contradiction)
        about["approximation_error"] = error
        if error > _EXACT_UP_TO:  # else the graph may still be approximate
            about["approximate"] = True
        placed = np.empty_like(Y)
        placed[order] = Y * np.sqrt(rods.scale)
        return Embedded(fix_signs(placed), values[: self.n_components_].clip(0), about=about)

    def _few(self, n: int, edges: int) -> bool:
        """Tell whether the program is solved for all points as it stands."""
        return isinstance(self.basis, str) and n <= PROGRAM_LIMIT and edges <= EDGE_LIMIT

    def _by_program(self, graph: Graph, rods: Rods, record: Recorder) -> tuple[Array | None, dict[str, Any], bool]:
        """Return the unfolding of few points; None where rounding stops the solver far from it.

        Where no points have these distances, edges give a little, and as much more as they must; the third value tells.
        """
        with record.stage("semidefinite program"):
            edges = rods.edges()
            found = full_gram(rods.n, *edges)
            least = found.contradiction
            if least > 0:
                found = full_gram(rods.n, *edges, give=_CONTRADICTION_SLACK * rods.total / _straight(graph, rods))
        if found.gap > _PROGRAM_GAP:
            return None, {}, False
        values, V = dense.eigh(found.gram)
        points = np.ascontiguousarray((V * np.sqrt(values.clip(0)))[:, ::-1])
        if least > 0:
            record.evidence.setdefault("least error of squared distances", least)
        about = {"algorithm": "semidefinite program", "solver": "interior point", "iterations": found.iterations}
        return points, {**about, "residual": found.gap}, least > 0

    def _by_steps(
        self, graph: Graph, rods: Rods, record: Recorder, rng: np.random.Generator
    ) -> tuple[Array, dict[str, Any], bool]:
        """Return the unfolding that begins with a program for few functions and goes on with all points.

        The third value tells whether no points have these distances.
        """
        n, m = rods.n, self._functions(rods.n)
        with record.stage("basis"):
            small = smallest(rods.laplacian(), m, null=np.full((n, 1), n**-0.5), rng=rng)
            record.tell_checked(small.checked)
        with record.stage("semidefinite program"):
            start, r = _start(rods, small.vectors, _reach(graph) / rods.scale, self.n_components_, rng)
        with record.stage("unfolding"):
            found = unfold(rods, start[:, :r], steps=_steps(n), tolerance=_TOLERANCE)
            if found.stuck and found.error > _EXACT_UP_TO and r < m and n <= _ALL_FUNCTIONS_UP_TO:
                check_allocation(_step_bytes(n, m), f"unfolding in {m} dimensions", "take a smaller basis")
                wide = unfold(rods, start, steps=_steps(n), tolerance=_TOLERANCE)  # anew: stuck points stay bent
                found = replace(wide, steps=found.steps + wide.steps)
        about = {
            "algorithm": f"{m} Laplacian functions, then all points",
            "solver": f"clarabel, L-BFGS ({found.solver})",
            "iterations": found.steps,
            "residual": found.imbalance,
        }
        return found.points, about, found.stuck and found.imbalance > 1  # Σtd² < 0

    def _tell_kept(self, record: Recorder, variances: Array, error: float, on_map: float, median: float) -> None:
        """Write the objective and how distances are kept into the record: of the largest piece, which comes first."""
        total = float(variances.sum())
        told = {
            "variance": total,
            "share of variance": float(variances[: self.n_components_].sum() / total),
            "spectrum": [float(v / total) for v in variances],
            "error of neighbours' distances": error,
            "error of neighbours' distances on the map": on_map,
            "median relative error of a neighbour's distance": median,
        }
        for name, value in told.items():
            record.evidence.setdefault(name, value)

    def _tell_loose(self, record: Recorder, error: float, median: float, where: str, contradiction: bool) -> None:
        """Warn where distances are kept worse than to 1 %, and say what may be the reason."""
        remedy = "fewer neighbours, or more components or basis functions" if where else "fewer neighbours"
        if contradiction and error > _EXACT_UP_TO:
            rows = ", or their rows have more dimensions" if where else ""
            record.warn(
                f"MVU: distances of neighbours contradict each other{where}, so they are kept to {error:.1%} only: "
                f"their metric breaks the triangle inequality or is not Euclidean{rows}; take another "
                f"metric, or {remedy}",
                NotConvergedWarning,
            )
        elif error > _EXACT_UP_TO:
            record.warn(
                f"MVU: distances of neighbours are kept to {error:.1%} RMS only:{where} they may not fit together; "
                f"take {remedy}",
                NotConvergedWarning,
            )
        elif median > _EXACT_UP_TO:
            record.warn(
                f"MVU: long distances are kept ({error:.1%} RMS), short ones are not: half of all neighbours are off "
                f"by {median:.1%} or more of their distance. Distances span too many orders of magnitude; scale the "
                "columns, or take their logarithms",
                NotConvergedWarning,
            )

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> EmbeddingCost:
        edges, m = EDGES_PER_NEIGHBOR * n * k, self._functions(n)  # from both ends
        if self._few(n, int(edges) // 2):  # up to 50 steps by least squares with n²/2 rows, where points are rigid
            flops = 50 * (n * n * (edges / 2) ** 2 + 60.0 * n**3)
            matrices = int(8 * (3 * n * n * edges / 4 + edges**2 / 4 + 12 * n * n))
            seconds = 50 * _STEP_SECONDS + dense_seconds(flops, np.dtype(np.float64))
            return EmbeddingCost("semidefinite program", {"program": matrices}, seconds)
        r, fill = (
            m if n <= _ALL_FUNCTIONS_UP_TO else min(m, self.n_components + _SPARE_DIMENSIONS),
            factor_entries(n, edges / n + 1),
        )
        packed = m * (m + 1) // 2
        held = {"edges": int(80 * edges), "basis": 8 * n * m}
        parts = held | largest(  # one after the other
            solve_cost(n, edges / n + 1, m),
            {"semidefinite program": 8 * (8 * packed**2 + 3 * 4096 * packed)},
            {"factor": int(8 * fill), "steps": _step_bytes(n, min(r, self.n_components + _SPARE_DIMENSIONS))},
        )
        seconds = sparse_seconds(60.0 * fill + 8.0 * fill * m + _steps(n) * r * (4.0 * fill + 12.0 * edges))
        seconds = _STEPS_TAKEN * (seconds + _steps(n) * _STEP_SECONDS) + dense_seconds(
            40.0 * packed**3 + min(edges, _PROGRAM_EDGES) * packed**2, np.dtype(np.float64)
        )
        return EmbeddingCost(f"{m} Laplacian functions, then all points", parts, seconds)


def _in_line(graph: Graph) -> tuple[Graph, Array]:
    """Return the graph with neighbours near each other in memory (Cuthill & McKee 1969), and the order of points."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    order = reverse_cuthill_mckee(graph.csr(np.ones(len(graph.indices))), symmetric_mode=True)
    return graph.part(order), order


def _step_bytes(n: int, r: int) -> int:
    """Return what the steps hold of n points in r dimensions: points, and the changes of the last eight steps."""
    return 8 * n * (2 * 8 + 8) * r


def _steps(n: int) -> int:
    """Return the most steps taken for n points."""
    return int(_STEPS * (_AT / n) ** (0.35 if n < _AT else 0.13))


def _reach(graph: Graph) -> float:
    """Return an upper bound of Σ|y_i|²: the sum of squared paths from a point in the middle of a long path."""

    def paths(source: int) -> Array:
        return geodesics(graph, np.array([source]))[0]

    one = paths(int(np.argmax(paths(0))))
    other = paths(int(np.argmax(one)))
    return float((paths(int(np.argmin(np.maximum(one, other)))) ** 2).sum())


def _straight(graph: Graph, rods: Rods) -> float:
    """Return Σ|y_i|² = Σ_ij |y_i − y_j|²/2n of points whose paths are straight; an edge above its path counts whole."""
    squares = geodesics(graph, np.arange(rods.n)) ** 2 / rods.scale
    i, j, own = rods.edges()
    return float(squares.sum() / 2 + (own - squares[i, j]).clip(0).sum()) / rods.n


def _start(rods: Rods, Q: Array, reach: float, d: int, rng: np.random.Generator) -> tuple[Array, int]:
    """Return points made of the basis functions, and how many dimensions matter, with a few to spare."""
    sources, ends, squares = rods.edges()
    if len(ends) > _PROGRAM_EDGES:
        drawn = np.sort(rng.choice(len(ends), _PROGRAM_EDGES, replace=False))
        sources, ends, squares = sources[drawn], ends[drawn], squares[drawn]
    Y = gram_in_basis(Q, sources, ends, squares, reach, _EDGE_SLACK)
    values, V = dense.eigh(Y)
    values, V = values[::-1], V[:, ::-1]
    r = min(len(values), max(d + _SPARE_DIMENSIONS, int((values > _DIMENSION_SHARE * values[0]).sum())))
    kept = len(values) if rods.n <= _ALL_FUNCTIONS_UP_TO else r
    return thread_pool.matmul(Q, V[:, :kept] * np.sqrt(values[:kept].clip(_START_SHARE * values[0]))), r
