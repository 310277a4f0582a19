"""Classical multidimensional scaling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...contract.parameters import AnyOf, Choice, Nothing, Rule
from ...contract.reducer import Recorder
from ...core import arrays
from ...core.cost import DataShape, Plan
from ...core.random import seed
from ...rows.row_source import RowSource
from ...rows.units import Power, Units
from ...spectral import rowspace
from ...spectral.rounding import rounding_floor
from ...spectral.solve import sign_of_columns
from ...spectral.solved import ComponentRule, Scaling
from ..shared.distance_based import DistanceReducer
from ..shared.extension import Triangulation, scale_anchors, to_principal_axes
from ..shared.linear_map import tell
from ..shared.map_warnings import note_disagreement, require_rank, warn_arbitrary_axes
from ..shared.pair_units import degree, double_degree
from .classical_cost import plan_classical

Array = Any


def _constant_degree(model: Any) -> Power:
    return degree(model) if model.additive_ == "cailliez" else double_degree(model)


class ClassicalMDS(DistanceReducer):
    """Points whose distances are those of the data: principal coordinates (Torgerson 1952; Gower 1966).

    B = −½ J Δ² J = V Λ Vᵀ;   Y = V Λ^½;   a new row with squared distances δ²:  y = ½ Λ^(−½) Vᵀ (mean Δ² − δ²).

    Euclidean distances of rows are never formed: there this is PCA. Large sets of other distances go through
    landmarks, whose coordinates place all rows by the last formula (de Silva & Tenenbaum 2004).

    Parameters
    ----------
    n_components : int (number of coordinates)
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is the matrix of distances, and new rows are distances to the
        training objects; or a function of two objects or two blocks, and then objects may be anything.
    landmarks : int, str or None
        None: exact. "auto": exact for Euclidean rows and for up to 10,000 others, else 1000 landmarks (or 4 for each
        component, if that is more). Or a number, or "uniform:500", "farthest:500", "kmeans++:500".
    additive : str or None
        How distances are made Euclidean: "cailliez" adds the least constant to all δ, "lingoes" to all δ².
    random_state : int or None (seed 0)

    Attributes
    ----------
    embedding_, eigenvalues_ : (N, k) array, (k,) array
        The training points, centred, along their principal axes; of B, largest first, estimates with landmarks.
    spectrum_ : array
        All eigenvalues where they are cheap (up to 1500 points, or landmarks), negative ones too; else those computed.
    metric_, additive_, additive_constant_ : str, str or None, float
        The metric of the fit ("function" for one of yours), its correction, and the constant that this added, or 0.
    n_components_, fit_info_ : int, FitInfo
        Number of coordinates, fewer if fewer eigenvalues are positive. The evidence has the two goodness-of-fit values
        of R's cmdscale, Σλ_k/Σ|λ| and Σλ_k/Σmax(λ, 0), and the share of negative eigenvalues, Σ|λ<0|/Σ|λ|; past 1500
        points the sums over all λ are estimated, with their error.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> float(np.ptp(lowland.ClassicalMDS(1, metric="precomputed").fit_transform(D)).round(1))
    5.0
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        **DistanceReducer._parameters,
        "additive": AnyOf((Nothing(), Choice(("cailliez", "lingoes")))),
    }
    _units: ClassVar[Units] = {
        **DistanceReducer._units,
        **dict.fromkeys(("eigenvalues_", "spectrum_", "smallest eigenvalue"), double_degree),
        **dict.fromkeys(("additive_constant_", "additive constant"), _constant_degree),
        "map_": lambda model: -degree(model) if len(model.anchors_) else 0,
        "origin_": lambda model: double_degree(model) if len(model.anchors_) else 1,
        "shift_": degree,
    }

    eigenvalues_: Array
    spectrum_: Array
    additive_: str | None
    additive_constant_: float
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
        """Whether this is PCA of the rows, which needs no distances and no landmarks."""
        return isinstance(self.metric, str) and self.metric == "euclidean" and self.landmarks in (None, "auto")

    def _plan(self, shape: DataShape) -> Plan:
        return plan_classical(self, shape, self.additive, linear=self._linear)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        self._check_dimensions(rows.shape)
        self.additive_ = None if self._linear else self.additive
        placement = self._fit_linear(rows, record) if self._linear else self._fit_distances(rows, record)
        signs = sign_of_columns(self.embedding_)
        self.origin_, self.n_components_ = placement.origin, self.embedding_.shape[1]
        self.embedding_, self.map_ = self.embedding_ * signs, placement.map * signs
        self.shift_ = placement.shift * signs

    def _fit_linear(self, rows: RowSource, record: Recorder) -> Triangulation:
        """Euclidean rows: B = (X − 1mᵀ)(X − 1mᵀ)ᵀ, so its eigenvectors are the scores of PCA."""
        name, k, n = type(self).__name__, self.n_components, rows.count()
        with record.stage("solve"):
            rng = seed(self.random_state)
            space = rowspace.decompose(rows, ComponentRule(count=k), Scaling(True, False, 0), rng=rng)
        tell(record, space, k, name)
        record.note(algorithm=f"PCA by {space.solved.route}")
        self.metric_, self.metric_state_, self.additive_constant_ = "euclidean", {}, 0.0
        self.anchors_ = np.empty((0, rows.n_features))  # none: that is how `_row_map` knows
        self.eigenvalues_, self.spectrum_ = space.values**2, space.solved.spectrum
        largest, total = float(self.spectrum_[0]), float(space.solved.total)
        floor = rounding_floor(max(n, rows.n_features), largest, largest, float(np.finfo(np.float64).eps))
        warn_arbitrary_axes(name, k, self.spectrum_, total, min(n - 1, rows.n_features), floor, record)
        fit = float(self.eigenvalues_.sum() / total)
        record.evidence.update({"goodness of fit": fit, "goodness of fit, positive part": fit, "negative share": 0.0})
        self.map_, self.origin_ = np.ascontiguousarray(space.directions), space.solved.mean
        with record.stage("embed"):
            self.embedding_ = arrays.to_numpy(rows.map_blocks(self._row_map(), len(space.values)))
        return Triangulation(self.map_, self.origin_, np.zeros(len(space.values)))

    def _fit_distances(self, rows: RowSource, record: Recorder) -> Triangulation:
        name, k, rng = type(self).__name__, self.n_components, seed(self.random_state)
        with record.stage("distances"):
            training = self._training(rows, rng)
            D = self._keep(training.items, training.numbers)
        with record.stage("solve"):
            found, placement = scale_anchors(D, k, self.additive, training.rule.eps, rng)
            record.note(algorithm="distances", solver=found.pairs.solver)
            record.note(iterations=found.pairs.products or None, residual=found.pairs.residual)
            record.tell_checked(found.pairs.checked)
            require_rank(name, k, found.rank, record, zero=not bool(found.B.mean_squares.any()))
            self.spectrum_, self.eigenvalues_ = found.spectrum, found.values
            self.additive_constant_ = placement.constant
            warn_arbitrary_axes(name, k, found.seen, found.B.trace(), len(D) - 1, found.floor, record)
            record.evidence.update(found.evidence(rng))
            if self.additive is not None:
                record.evidence["additive constant"] = self.additive_constant_
        if (landmarks := training.landmarks) is None:
            self.embedding_ = found.points.astype(rows.dtype)
            return placement
        del D, found  # the second set of landmarks takes as much memory again
        with record.stage("place"):
            blocks = rows.map_blocks(self._placing(placement.place), len(placement.shift), np.float64)
            Y, self.eigenvalues_, placement = to_principal_axes(arrays.to_numpy(blocks), placement)
            self.embedding_ = Y.astype(rows.dtype)

        def again(D: Array, _: Array) -> Callable[[Array], Array]:
            return scale_anchors(D, Y.shape[1], self.additive, training.rule.eps, rng)[1].place

        with record.stage("second landmarks"):
            error = self._disagreement(training, again, rng, scale=False)
        count = len(self.origin_) if training.numbers is None else len(training.numbers)
        record.note(algorithm=f"{count} landmarks ({landmarks.strategy})", approximate=True)
        note_disagreement(name, k, error, count, record)
        return placement

    def _row_map(self) -> Callable[[Array], Array]:
        if len(self.anchors_):
            constants = (self.shift_, self.additive_, self.additive_constant_)
            return self._placing(Triangulation(self.map_, self.origin_, *constants).place)
        offset = self.origin_ @ self.map_

        def project(block: Array) -> Array:
            if sp.issparse(block):
                return np.asarray(block @ self.map_) - offset
            return arrays.less(block, self.origin_) @ arrays.like(self.map_, block, np.float64)

        return project
