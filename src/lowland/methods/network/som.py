"""Self-organising map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ...contract.parameters import RANDOM_STATE, AnyOf, Boolean, Choice, Integer, Integers, Real, Rule
from ...contract.reducer import Recorder, Reducer
from ...core import arrays, settings
from ...core.cost import DataShape, Plan, dense_seconds
from ...core.errors import DataError
from ...core.message import message
from ...core.random import seed
from ...rows.block import Block
from ...rows.object_rows import dense_parts
from ...rows.row_source import RowSource, block_rows
from ...rows.units import Units, distance_power, scaled_back
from ...spectral import rowspace
from ...spectral.rowspace import RowSpace
from ...spectral.solved import ComponentRule, Scaling
from ..shared.linear_map import warn_dominant
from .prototypes import (
    PANEL,
    TOPOLOGIES,
    Codebook,
    Grid,
    Mesh,
    Shaking,
    between,
    largest_entries,
    train,
    two_nearest,
    width,
)

Array = Any

_FARTHEST = 1e140  # widths of the map; squares and their sums stay finite


class MapMeasures(NamedTuple):
    """How a map fits rows: mean distance to the nearest unit, share of torn rows, hits, and mean squared distance."""

    quantization: float
    topographic: float
    hits: Array
    squared: float


class SOM(Reducer):
    """Self-organising map: a grid of prototypes laid through the rows (Kohonen 1982; batch form 1993).

    c(x) = argmin_u ‖x − w_u‖;   w_u ← Σ_i h(u, c(x_i)) x_i / Σ_i h(u, c(x_i)),   h(u, v) = exp(−‖r_u − r_v‖²/2σ²),
    with σ shrinking from epoch to epoch, and rows weighted at random until the end. The grid begins on the plane of the
    first two principal components.

    Parameters
    ----------
    grid : tuple of two ints
        Units along the first and the second coordinate.
    topology : str
        "rectangular": squares; "hexagonal": every other line moved by half a step, six neighbours each.
    epochs : int
        Batch steps, each a pass over the rows.
    sigma_start, sigma_end : float
        Neighbourhood radius σ of the first and the last epoch, in grid steps; "auto" starts with a quarter of the
        longer side. A large end gives a smooth map, a small one units nearer to the rows (near 0: k-means).
    noise : float
        In epoch t of T rows are weighted by E^(noise·(1 − t/T)), E random and exponential: this finds better maps than
        equal weights, which 0 gives. In the last epoch all weights are 1. At most 50.
    scale : bool
        Divide each column by its standard deviation before distances are taken.
    random_state : int, generator or None
        Seed of the weights, and of the iterations that find the principal plane of very wide tables; None is seed 0.

    Attributes
    ----------
    codebook_ : array (units, D)
        The prototypes, in the units of the columns; unit (i, j) of a × b is row i·b + j.
    positions_ : array (units, 2)
        Where the units lie on the map.
    mean_, scale_ : array (D,)
        Of the training rows; ``scale_`` is None unless ``scale``.
    grid_, topology_ : tuple, str
        Of the fit.
    n_components_, n_samples_ : int
        Always 2; rows seen.
    fit_info_ : FitInfo
        Quantisation and topographic error, share of variance and empty units in ``evidence``.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X = np.random.default_rng(0).uniform(size=(500, 2))
    >>> som = lowland.SOM(grid=(8, 6)).fit(X)
    >>> som.transform(X).shape, som.u_matrix().shape, int(som.hits(X).sum())
    ((500, 2), (8, 6), 500)
    >>> bool(som.quantization_error(X) < 0.1)
    True
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "grid": Integers(1, length=2),
        "topology": Choice(TOPOLOGIES),
        "epochs": Integer(1),
        "sigma_start": AnyOf((Choice(("auto",)), Real(0))),
        "sigma_end": Real(0),
        "noise": Real(0, 50, closed=True),
        "scale": Boolean(),
        "random_state": RANDOM_STATE,
    }
    _units: ClassVar[Units] = {
        "codebook_": 1,
        "mean_": 1,
        "scale_": 1,
        "inverse_transform": 1,
        "component_planes": 1,
        "u_matrix": distance_power,
        "quantization_error": distance_power,
        "quantisation error": distance_power,
    }

    _allow_sparse: ClassVar[bool] = True
    _reads_again: ClassVar[bool] = True
    _overhead: ClassVar[tuple[float, float]] = (0.08, 0.0)

    codebook_: Array
    mean_: Array
    scale_: Array | None
    grid_: tuple[int, int]
    topology_: str
    n_samples_: int

    def __init__(
        self,
        grid: tuple[int, int] = (20, 20),
        *,
        topology: str = "rectangular",
        epochs: int = 50,
        sigma_start: float | str = "auto",
        sigma_end: float = 0.5,
        noise: float = 3.0,
        scale: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.grid = grid
        self.topology = topology
        self.epochs = epochs
        self.sigma_start = sigma_start
        self.sigma_end = sigma_end
        self.noise = noise
        self.scale = scale
        self.random_state = random_state

    # -- fit --------------------------------------------------------------------------------------------------

    def _radii(self) -> Array:
        """Return σ of each epoch: a geometric sequence."""
        end = float(self.sigma_end)
        start = max(end, max(self.grid) / 4) if self.sigma_start == "auto" else float(self.sigma_start)
        if start < end:
            text = "SOM: the neighbourhood shrinks, so {sigma_start} must not be below {sigma_end}"
            raise ValueError(message(text, sigma_start=start, sigma_end=end))
        return np.geomspace(start, end, self.epochs)

    def _initial_rule(self, shape: DataShape) -> ComponentRule:
        return ComponentRule(count=min(2, shape.n_features, shape.n_rows or 2))

    def _plan(self, shape: DataShape) -> Plan:
        self._radii()
        a, b = (int(side) for side in self.grid)
        units, d = a * b, shape.n_features
        n, threads = shape.n_rows or 10**6, settings.threads()
        name = rowspace.route(shape, self._initial_rule(shape))
        start, seconds = rowspace.cost(name, shape, min(2, d))
        block = min(n, block_rows(d))
        won, blocks = min(units, block), -(-n // block)
        busy = min(threads, blocks)
        moved = 2 if self.topology == "hexagonal" and b > 1 else 1  # kinds of lines
        table = 8 * units * (d + 1)
        passing = {
            "blocks of rows": busy * 16 * block * (d + 1),  # in float64, and once more for the products
            "products with units": busy * 16 * max(PANEL, 16 * units),
            "prototypes for products": 3 * table // 2,  # in float32 and float64, for all threads
            "sums of blocks": min(2 * threads, blocks) * won * d * 8,
        }
        smoothing = {
            "places of the grid": (3 * moved + 1) * table,
            "weights of neighbours": threads * max(PANEL, 16 * max(moved * a, b)) * 8,
        }
        held = {"codebook and sums": 3 * table}
        stages = (start, held | passing, held | smoothing)
        parts = max(stages, key=lambda parts: sum(parts.values()))  # one after the other
        filled = 25.0 * ((moved * a) ** 2 + b**2)  # copying a weight takes as long as that many operations
        spreading = filled + 2.0 * moved * units * (moved * a + b) * (d + 1)
        return Plan.of(
            "SOM",
            "batch",
            shape,
            parts,
            seconds=seconds
            + 3 * dense_seconds(2.0 * n * units * d * self.epochs, np.dtype(np.float32))  # of small blocks
            + 3 * dense_seconds(2.0 * n * units * d + spreading * self.epochs, np.dtype(np.float64)),
            model_bytes=8 * (units * d + 2 * d),
            remedy="take a smaller grid, or reduce the columns first",
        )

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        grid = Grid((int(self.grid[0]), int(self.grid[1])), self.topology)
        rng = seed(self.random_state)
        shaking = Shaking(float(self.noise), int(rng.integers(2**31)))
        with record.stage("principal plane"):
            space = rowspace.decompose(rows, self._initial_rule(rows.shape), Scaling(scale=self.scale), rng=rng)
        solved = space.solved
        self.mean_, self.scale_, self.n_samples_ = solved.mean, solved.scale, solved.n_rows
        self.n_components_, self.grid_, self.topology_ = 2, grid.shape, grid.topology
        if not self.scale:
            warn_dominant(self, record, solved.variances)
        unit = width(np.sqrt(solved.total / solved.n_rows))  # training in it has no numbers too large or too small
        with record.stage("training"):
            prepare = partial(self._prepare, unit=unit)
            W = train(rows, prepare, on_plane(grid, space) / unit, grid, self._radii(), shaking) * unit
        self.codebook_ = W * (1.0 if self.scale_ is None else self.scale_) + self.mean_
        with record.stage("errors"):
            found = self._measure(rows, unit)
        record.note(
            algorithm="batch", solver=f"best units by products, start by {solved.route}", iterations=self.epochs
        )
        record.evidence["quantisation error"] = found.quantization
        record.evidence["topographic error"] = found.topographic
        record.evidence["share of variance"] = 1 - found.squared * solved.n_rows / solved.total
        record.evidence["empty units"] = int((found.hits == 0).sum())

    def _prepare(self, block: Array, unit: float = 1.0) -> Array:
        """Return rows as the map sees them: dense, centred (products keep their digits), and scaled if asked for.

        They are in a unit, a power of two.
        """
        rows = block.toarray() if sp.issparse(block) else arrays.to_numpy(block)
        Z = np.subtract(rows, self.mean_, dtype=np.float64, order="C")
        with np.errstate(over="ignore"):  # what passes all numbers is refused, or brought near, where it matters
            if self.scale_ is not None:
                Z /= self.scale_
            if unit != 1.0:
                Z *= 1 / unit
        return Z

    # -- the map ----------------------------------------------------------------------------------------------

    @property
    def positions_(self) -> Array:
        """Where the units lie on the map, one a row."""
        return self._grid().positions()

    def _grid(self) -> Grid:
        check_is_fitted(self)
        return Grid(self.grid_, self.topology_)

    def _triangles(self) -> tuple[Array, Array]:
        """Return the prototypes as the map sees them, and the triangles between them."""
        grid, W = self._grid(), self._prepare(self.codebook_)
        return W, grid.triangles(W)

    def _row_map(self) -> Callable[[Array], Array]:
        W, triangles = self._triangles()
        mesh, places = Mesh(triangles, W), self.positions_

        def place(block: Array) -> Array:
            parts = [between(places, *mesh.nearest(self._prepare(rows))) for rows in dense_parts(block)]
            return arrays.like(parts[0] if len(parts) == 1 else np.concatenate(parts), block)

        return place

    @scaled_back("inverse_transform")
    def inverse_transform(self, X: Any) -> Array:
        """Map coordinates back to rows, between the prototypes around them; outside, from the nearest edge."""
        source = self._reduced(X)
        W, triangles = self._triangles()
        mesh = Mesh(triangles, self.positions_)
        scale = 1.0 if self.scale_ is None else self.scale_

        def rebuild(block: Array) -> Array:
            Y = np.array(arrays.to_numpy(block), dtype=np.float64, order="C")
            return arrays.like(between(W, *mesh.nearest(Y)) * scale + self.mean_, block)

        return source.map_blocks(rebuild, self.n_features_in_)

    @scaled_back("u_matrix")
    def u_matrix(self) -> Array:
        """Return the mean distance of each unit's prototype to those of its four or six neighbours, as a × b."""
        edges, W = self._grid().edges(), self._prepare(self.codebook_)
        unit = width(W)
        lengths = unit * np.sqrt((((W[edges[:, 0]] - W[edges[:, 1]]) / unit) ** 2).sum(axis=1))
        total = np.bincount(edges.ravel(), np.repeat(lengths, 2), minlength=len(W))
        count = np.bincount(edges.ravel(), minlength=len(W))
        return (total / np.maximum(count, 1)).reshape(self.grid_)

    @scaled_back("component_planes")
    def component_planes(self) -> Array:
        """Return the prototypes' values of each column over the map, as D × a × b."""
        check_is_fitted(self)
        return np.ascontiguousarray(self.codebook_.T).reshape(-1, *self.grid_)

    @scaled_back("hits")
    def hits(self, X: Any) -> Array:
        """Return how many rows each unit is the nearest of, as a × b."""
        return self._measure(self._measured_rows(X)).hits.reshape(self.grid_)

    @scaled_back("quantization_error")
    def quantization_error(self, X: Any) -> float:
        """Return the mean distance of rows to their nearest prototype (of scaled rows, where the fit scaled them)."""
        return self._measure(self._measured_rows(X)).quantization

    @scaled_back("topographic_error")
    def topographic_error(self, X: Any) -> float:
        """Return the share of rows whose two nearest units are no neighbours: 8 around a square, 6 around a hexagon."""
        return self._measure(self._measured_rows(X)).topographic

    def _measured_rows(self, X: Any) -> RowSource:
        check_is_fitted(self)
        return self._rows(X, reset=False)

    def _measure(self, rows: RowSource, unit: float | None = None) -> MapMeasures:
        """Compare rows with the map, in the order of the blocks."""
        W, grid = self._prepare(self.codebook_), self._grid()
        unit = width(W) if unit is None else unit
        W /= unit
        book = Codebook(W)

        def step(block: Block) -> tuple[int, float, float, int, Array]:
            rows.check(block)
            Z = self._prepare(block.rows, unit)
            _require_near(Z, block)
            units, squares = two_nearest(Z, book)
            near, torn = squares[:, 0], ~grid.adjacent(units[:, 0], units[:, 1])
            hits = np.bincount(units[:, 0], minlength=len(W))
            return len(near), float(np.sqrt(near).sum()), float(near.sum()), int(torn.sum()), hits

        n, length, square, torn, hits = 0, 0.0, 0.0, 0, np.zeros(len(W), dtype=np.int64)
        size = block_rows(rows.n_features)  # sparse rows are made dense: no more than a block of dense ones has
        for part in rows.map(step, size, stage="errors"):
            n, length, square, torn = n + part[0], length + part[1], square + part[2], torn + part[3]
            hits += part[4]
        return MapMeasures(unit * length / n, torn / n if len(W) > 1 else 0.0, hits, square / n * unit**2)


def _require_near(Z: Array, block: Block) -> None:
    """Refuse rows whose distance to the map cannot be squared."""
    (far,) = np.nonzero(largest_entries(Z) > _FARTHEST)
    if len(far):
        row = block.start + int(far[0])
        raise DataError(
            f"row {row} is more than {_FARTHEST:g} times as far from the map as the map is wide; give rows in the "
            "units of the training rows",
            row=row,
        )


def on_plane(grid: Grid, space: RowSpace) -> Array:
    """Lay the grid on the principal plane, its longer side along the first component, as wide as the rows are.

    Along each axis the units have the rows' variance. A second axis that the rows do not have stays at zero.
    """
    P = grid.positions()
    spread = P.std(axis=0)
    T = (P - P.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    axes = (space.values / np.sqrt(space.solved.n_rows))[:, None] * space.directions.T
    longer_first = (0, 1) if grid.shape[0] >= grid.shape[1] else (1, 0)
    return np.ascontiguousarray(T[:, longer_first[: len(axes)]] @ axes)
