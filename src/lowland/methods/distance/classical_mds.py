"""Classical multidimensional scaling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ...contract.inputs import require_length
from ...contract.parameters import AnyOf, Choice, Nothing, Rule
from ...contract.reducer import Recorder
from ...core import arrays
from ...core.cost import DataShape, Plan, check_allocation, dense_seconds, largest
from ...core.random import seed
from ...core.settings import threads
from ...rows.row_source import RowSource, block_rows
from ...rows.units import Units
from ...spectral import rowspace
from ...spectral.distance import Scaled, cailliez, cailliez_bytes, lingoes, scale
from ...spectral.rounding import rounding_floor
from ...spectral.route_costs import Reading
from ...spectral.solve import sign_of_columns
from ...spectral.solve_costs import square_solve_cost
from ...spectral.solved import ComponentRule, Scaling
from ..shared.distance_based import DistanceReducer
from ..shared.extension import Triangulation, squared, to_principal_axes
from ..shared.linear_map import tell
from ..shared.map_warnings import note_disagreement, require_rank, warn_arbitrary_axes
from ..shared.pair_units import degree, double_degree

Array = Any

_EPS = float(np.finfo(np.float64).eps)


class ClassicalMDS(DistanceReducer):
    """Points whose distances are as given: principal coordinates (Torgerson 1952; Gower 1966).

    B = −½ J Δ² J = V Λ Vᵀ;   Y = V Λ^½;   a new row with squared distances δ²:  y = ½ Λ^(−½) Vᵀ (mean Δ² − δ²).

    Euclidean distances of rows are never formed: there this is PCA. Large sets of other distances go through
    landmarks, whose coordinates place all rows by the last formula (de Silva & Tenenbaum 2004).

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is the square of distances, and new rows are distances to the
        training objects; or a function of two objects or two blocks, and then objects may be anything.
    landmarks : int, str or None
        None: exact. "auto": exact for Euclidean rows and for up to 10,000 others, else 1000 landmarks (or 4 for each
        component, if that is more). Or a number, or "uniform:500", "farthest:500", "kmeans++:500".
    additive : str or None
        What makes distances Euclidean that are not: "cailliez" adds the least constant to all δ, "lingoes" to all δ².
    random_state : int or None
        Seed of the solver and of the landmarks; None is seed 0.

    Attributes
    ----------
    embedding_ : (N, k) array
        The training points, centred, along their principal axes.
    eigenvalues_ : (k,) array
        Of B, largest first; estimates where landmarks are used.
    spectrum_ : array
        All eigenvalues where they are cheap (up to 1500 points, or landmarks), negative ones too; else those computed.
    additive_, additive_constant_ : str or None, float
        The correction of the fit and the constant that it added, 0 without one.
    metric_ : str
        The metric of the fit; "function" for one of yours.
    n_components_ : int
        Coordinates found: fewer than asked for where fewer eigenvalues are positive.
    fit_info_ : FitInfo
        Its evidence has the two goodness-of-fit values of R's cmdscale, Σλ_k/Σ|λ| and Σλ_k/Σmax(λ, 0), and the share of
        negative eigenvalues, Σ|λ<0|/Σ|λ|. Past 1500 points the sums over all λ are estimated, with their error.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> Y = lowland.ClassicalMDS(metric="precomputed").fit_transform(D)
    >>> float(np.hypot(*(Y[1] - Y[2])).round(6))
    5.0
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        **DistanceReducer._parameters,
        "additive": AnyOf((Nothing(), Choice(("cailliez", "lingoes")))),
    }

    eigenvalues_: Array
    spectrum_: Array
    additive_: str | None
    additive_constant_: float
    _units: ClassVar[Units] = {
        **DistanceReducer._units,
        "eigenvalues_": double_degree,
        "spectrum_": double_degree,
        "additive_constant_": lambda model: degree(model) if model.additive_ == "cailliez" else double_degree(model),
        "map_": lambda model: -degree(model) if len(model.anchors_) else 0,
        "origin_": lambda model: double_degree(model) if len(model.anchors_) else 1,
        "shift_": degree,
        "smallest eigenvalue": double_degree,
        "additive constant": lambda model: degree(model) if model.additive_ == "cailliez" else double_degree(model),
    }

    map_: Array
    origin_: Array
    shift_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: str | Callable[[Any, Any], Any] = "euclidean",
        landmarks: int | str | None = "auto",
        additive: str | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.landmarks = landmarks
        self.additive = additive
        self.random_state = random_state

    @property
    def _linear(self) -> bool:
        """Tell whether this is PCA of the rows: no distance is needed then, and no landmark."""
        return isinstance(self.metric, str) and self.metric == "euclidean" and self.landmarks in (None, "auto")

    def _plan(self, shape: DataShape) -> Plan:
        self._check_dimensions(shape)
        n, k = shape.n_rows or 1, self.n_components
        wanted = None if self._linear else self._landmarks(n)
        if self._linear:
            route = rowspace.route(shape, ComponentRule(count=k))
            parts, seconds = rowspace.cost(route, shape, min(k, n, shape.n_features))
            parts = largest(parts, {"rows less their mean": Reading.of(shape).rows_in_float64()})
            model, algorithm = 8 * (k + 1) * shape.n_features, f"PCA by {route}"
        else:
            m = n if wanted is None else wanted.count
            parts, seconds = self._distance_cost(shape, m)
            parts |= {"rows in one array": shape.gathered} if shape.gathered else {}
            anchor = 8 if self._pairwise else shape.n_features * shape.dtype.itemsize
            model = m * (8 * (k + 1) + anchor)
            algorithm = "distances" if wanted is None else f"{m} landmarks ({wanted.strategy})"
        parts["embedding"] = 2 * n * k * shape.dtype.itemsize
        return Plan(
            method="ClassicalMDS",
            algorithm=algorithm,
            bytes=sum(parts.values()) + shape.copied,
            seconds=seconds + dense_seconds(2.0 * n * k * shape.n_features, shape.dtype),
            approximate=wanted is not None,
            model_bytes=model + n * k * shape.dtype.itemsize,
            parts=parts,
            remedy="use landmarks=1000, or fewer rows",
        )

    def _distance_cost(self, shape: DataShape, m: int) -> tuple[dict[str, int], float]:
        """Return the memory and the seconds of solving for m points and of placing all others."""
        n = shape.n_rows or 1
        given = self._pairwise and m == n
        copies = 1 if self.additive is None else 3  # as they are, squared, corrected
        if given and (self.additive is None or shape.dtype == np.float64):
            copies -= 1  # the data themselves
        parts = {"distances": 8 * m * m * copies, "rows": self._row_bytes(shape, m)}
        part, size, flops = square_solve_cost(m, self.n_components)
        if self.additive == "cailliez" and cailliez_bytes(m) > size:  # one after the other: the larger counts
            part, size = "additive constant", cailliez_bytes(m)
        parts[part] = size
        if m < n:
            # A block for each thread when the distances are gone, then one beside those of the second landmarks.
            block, count = 8 * 512 * m * 4, min(threads(), -(-n // block_rows(shape.n_features)))
            parts["blocks of distances"] = max(block, count * block - parts["distances"] - size)
            flops *= 2  # the second set of landmarks
        pairs = 0.0 if given else float(m) * (m / 2 + (n if m < n else 0))
        columns = 1 if self._pairwise else shape.n_features
        return parts, dense_seconds(flops, np.dtype(np.float64)) + self._compare_seconds(pairs, columns)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        self._check_dimensions(rows.shape)
        self.additive_ = None if self._linear else self.additive
        if self._linear:
            self._fit_linear(rows, record)
        else:
            self._fit_distances(rows, record)
        signs = sign_of_columns(self.embedding_)
        self.embedding_, self.map_, self.shift_ = self.embedding_ * signs, self.map_ * signs, self.shift_ * signs
        self.n_components_ = self.embedding_.shape[1]

    def _fit_linear(self, rows: RowSource, record: Recorder) -> None:
        """Euclidean rows: B = (X − 1mᵀ)(X − 1mᵀ)ᵀ, so its eigenvectors are the scores of PCA."""
        with record.stage("solve"):
            space = rowspace.decompose(
                rows, ComponentRule(count=self.n_components), Scaling(True, False, 0), rng=seed(self.random_state)
            )
        tell(record, space, self.n_components, "ClassicalMDS")
        record.note(algorithm=f"PCA by {space.solved.route}")
        self.metric_, self.metric_state_, self.additive_constant_ = "euclidean", {}, 0.0
        self.anchors_ = np.empty((0, rows.n_features))  # none: that is how `_row_map` knows
        self.eigenvalues_, self.spectrum_ = space.values**2, space.solved.spectrum
        n = require_length(self, rows)
        count = min(n - 1, rows.n_features)
        floor = rounding_floor(max(n, rows.n_features), float(self.spectrum_[0]), float(self.spectrum_[0]), _EPS)
        name, total = type(self).__name__, float(space.solved.total)
        warn_arbitrary_axes(name, self.n_components, self.spectrum_, total, count, floor, record)
        self.map_, self.origin_ = np.ascontiguousarray(space.directions), space.solved.mean
        self.shift_ = np.zeros(len(space.values))
        fit = float(self.eigenvalues_.sum() / space.solved.total)
        record.evidence.update({"goodness of fit": fit, "goodness of fit, positive part": fit, "negative share": 0.0})
        with record.stage("embed"):
            self.embedding_ = arrays.to_numpy(rows.map_blocks(self._row_map(), len(space.values)))

    def _fit_distances(self, rows: RowSource, record: Recorder) -> None:
        name, rng = type(self).__name__, seed(self.random_state)
        with record.stage("distances"):
            training = self._training(rows, rng)
            rule, landmarks = training.rule, training.landmarks
            D = self._keep(training.items, training.numbers)
        with record.stage("solve"):
            found, placement = _solve(D, self.n_components, self.additive, rule.eps, rng)
            record.note(algorithm="distances", solver=found.pairs.solver)
            record.note(iterations=found.pairs.products or None, residual=found.pairs.residual)
            record.tell_checked(found.pairs.checked)
            require_rank(name, self.n_components, found.rank, record, zero=not bool(found.B.mean_squares.any()))
            self.spectrum_, self.eigenvalues_ = found.spectrum, found.values
            self.additive_constant_ = placement.constant
            warn_arbitrary_axes(name, self.n_components, found.seen, found.B.trace(), len(D) - 1, found.floor, record)
            record.evidence.update(found.evidence(rng))
            if self.additive is not None:
                record.evidence["additive constant"] = self.additive_constant_
        if landmarks is None:
            self.embedding_ = found.points.astype(rows.dtype)
        else:
            count = len(self.anchors_)
            del D, found  # the second set of landmarks takes as much again
            placement = self._place_all(rows, placement, record)

            def again(D: Array, _: Array) -> Callable[[Array], Array]:
                return _solve(D, self.embedding_.shape[1], self.additive, rule.eps, rng)[1].place

            with record.stage("second landmarks"):
                error = self._disagreement(training, landmarks, again, rng, scale=False)
            record.note(algorithm=f"{count} landmarks ({landmarks.strategy})", approximate=True)
            note_disagreement(name, self.n_components, error, count, record)
        self.map_, self.origin_, self.shift_ = placement.map, placement.origin, placement.shift

    def _place_all(self, rows: RowSource, placement: Triangulation, record: Recorder) -> Triangulation:
        """Place every row and turn the map to the principal axes of all of them."""
        with record.stage("place"):
            found = rows.map_blocks(self._placing(placement.place), len(placement.shift), np.float64)
            Y = arrays.to_numpy(found)
            Y, self.eigenvalues_, placement = to_principal_axes(Y, placement)
            self.embedding_ = Y.astype(rows.dtype)
        return placement

    def _row_map(self) -> Callable[[Array], Array]:
        if len(self.anchors_):
            constants = (self.shift_, self.additive_, self.additive_constant_)
            return self._placing(Triangulation(self.map_, self.origin_, *constants).place)

        def project(block: Array) -> Array:
            return arrays.less(block, self.origin_) @ arrays.like(self.map_, block, np.float64)

        return project


def _solve(
    D: Array, k: int, additive: str | None, eps: float, rng: np.random.Generator
) -> tuple[Scaled, Triangulation]:
    """Scale the anchors by their distances, made Euclidean first where asked; return also what places others.

    ``eps`` is the precision of the metric.
    """
    constant, eps = 0.0, max(eps, float(np.finfo(arrays.dtype_of(D)).eps))
    if additive is not None:
        constant = cailliez(D, eps) if additive == "cailliez" else lingoes(D, rng)
        check_allocation(8 * len(D) ** 2, "corrected distances", "use landmarks=1000")
        D = np.sqrt(squared(arrays.to_numpy(D), additive, constant))
    found = scale(D, k, eps, rng)
    return found, Triangulation.of(found, additive, constant)
