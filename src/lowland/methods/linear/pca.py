"""Principal component analysis."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np

from ...contract.parameters import RANDOM_STATE, AnyOf, Boolean, Choice, Integer, Nothing, Real, Rule
from ...contract.reducer import Recorder
from ...core.cost import DataShape, Plan
from ...core.random import seed
from ...rows.moments import Accumulator
from ...rows.row_source import RowSource
from ...rows.units import Units, distance_power, keep_library, scaled_back
from ...spectral.component_rules import RULES, check_rule, component_rule
from ...spectral.rowspace import ROUTES, RowSpace, decompose
from ...spectral.solved import ComponentRule, Scaling
from ..shared.linear_map import LINEAR_UNITS, Compressor, LinearReducer, check_count, linear_plan, tell, warn_dominant
from ..shared.row_tails import summarize
from . import accumulated, gaussian_model, row_quality

Array = Any

_VARIANCES = ("explained_variance_", "spectrum_", "total_variance_", "noise_variance_")


class PCA(LinearReducer):
    """Principal component analysis: the orthogonal directions of largest variance (Pearson 1901; Hotelling 1933).

    C = (X − 1mᵀ)ᵀ(X − 1mᵀ)/(N − ddof) = V Λ Vᵀ;   y = Vᵀ(x − m);   x̂ = m + V y.

    Parameters
    ----------
    n_components : int, float, "auto", "mle" or None
        A number; a share of the variance in (0, 1); "auto" for parallel analysis (at least 1); "mle" for Minka's rule
        (`lowland.dimension.minka`), which needs as many rows as columns; None for all (the rank).
    solver : str
        "auto" chooses by shape (`lowland.plan` says which); "covariance" eigenvectors of C; "gram" of the dual
        matrix; "svd" QR and singular values, exact for small ones; "krylov" block Krylov; "power" with deflation.
    center, scale, whiten : bool
        Subtract the mean (or use second moments about zero); divide each column by its standard deviation (correlation
        PCA); divide coordinates by √λ, so that they have unit variance.
    ddof, random_state : int; int, generator or None
        Variances are divided by N − ddof: 1 as in R's prcomp, 0 as in princomp. Seed of iterative solvers; None is 0.

    Attributes
    ----------
    components_, mean_, scale_ : array (k, D), array (D,), array (D,) or None
        The directions, as rows; what was subtracted; what was divided by, if ``scale``.
    explained_variance_, eigenvalues_, explained_variance_ratio_, singular_values_ : array (k,)
        λ, the variance along each direction; the same; λ over the total variance; σ of the centred rows.
    spectrum_, total_variance_, noise_variance_ : array, float, float
        All eigenvalues where they are cheap, else those computed; the exact sum of all; the mean of the min(N, D) − k
        discarded ones, σ² of `score` and `get_covariance` (0 once the rank is kept).
    n_components_, n_samples_, fit_info_ : int, int, FitInfo
        Directions kept; rows seen; what was run and how exact it is.

    Examples
    --------
    >>> import lowland
    >>> lowland.PCA(n_components=1, scale=True).fit_transform([[1.0, 0.0], [2.0, 1.5], [3.0, 1.0]]).shape
    (3, 1)
    """

    _streams: ClassVar[bool] = True
    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": AnyOf((Integer(1, most="min(n_samples, n_features)"), Nothing(), Real(0, 1), Choice(RULES))),
        "solver": Choice(("auto", *ROUTES)),
        **dict.fromkeys(("center", "scale", "whiten"), Boolean()),
        "ddof": Integer(0),
        "random_state": RANDOM_STATE,
    }
    _units: ClassVar[Units] = {
        **LINEAR_UNITS,
        "scale_": 1,
        **dict.fromkeys(("singular_values_", "loadings"), distance_power),
        **dict.fromkeys(_VARIANCES, lambda model: 2 * distance_power(model)),
        "transform": lambda model: 0 if model.whiten else distance_power(model),
    }

    components_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    singular_values_: Array
    mean_: Array
    scale_: Array | None
    spectrum_: Array
    total_variance_: float
    noise_variance_: float
    n_samples_: int
    row_tails_: dict[str, Any]
    accumulator_: Accumulator

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        solver: str = "auto",
        center: bool = True,
        scale: bool = False,
        whiten: bool = False,
        ddof: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.n_components, self.solver, self.ddof, self.random_state = n_components, solver, ddof, random_state
        self.center, self.scale, self.whiten = center, scale, whiten

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Learn the directions from the rows of X; a weight of 2 counts a row twice."""
        return keep_library(self._run_fit(X, sample_weight), X)

    def partial_fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Add rows, exactly: any batches in any order give the same model as one fit; after `fit`, starts again.

        Sums of squares lose singular values below about 1e-7 of the largest, with a warning; ``solver="svd"`` does not.
        """
        accumulated.add_rows(self, X, sample_weight)
        return self

    def __getattr__(self, name: str) -> Any:
        return accumulated.result(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return "components_" in vars(self) or "accumulator_" in vars(self)

    def _rule(self) -> ComponentRule:
        return component_rule(self.n_components, self.ddof, self.random_state)

    def _takes_means_off(self) -> bool:
        return self.center

    def _plan(self, shape: DataShape) -> Plan:
        check_rule(self.n_components, shape)
        return linear_plan(self, shape, self._rule().count, altered=self.scale or not self.center)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        with record.stage("solve"):
            scaling, rng = Scaling(self.center, self.scale, self.ddof), seed(self.random_state)
            space = decompose(rows, self._rule(), scaling, solver=self.solver, rng=rng)
        self._learn(space, record, rows.dtype)
        summarize(self, rows)

    def _learn(self, space: RowSpace, record: Recorder, dtype: Any) -> None:
        solved, count = space.solved, self._rule().count
        check_count("PCA", count, solved.n_rows, len(solved.mean))
        values, ratio, total, spectrum = space.variances(self.ddof)
        tell(record, space, count, "PCA")
        if self.center and not self.scale:
            warn_dominant(self, record, solved.variances)
        self.n_components_, self.n_samples_ = len(space.values), solved.n_rows
        self.components_, self.singular_values_ = np.array(space.directions.T, dtype=dtype, order="C"), space.values
        self.explained_variance_, self.explained_variance_ratio_ = values, ratio
        self.total_variance_, self.spectrum_ = total, spectrum
        left = min(solved.n_rows, len(solved.mean)) - len(values)
        self.noise_variance_ = space.discarded(solved.weight - self.ddof) / max(left, 1)
        self.mean_, self.scale_ = solved.mean if self.center else np.zeros_like(solved.mean), solved.scale
        record.evidence |= {"share of variance": float(ratio.sum()), "components": self.n_components_}
        if not solved.complete:
            record.evidence["spectrum"] = f"{len(solved.spectrum)} largest values and the total"

    eigenvalues_ = property(attrgetter("explained_variance_"), doc="The same as ``explained_variance_``.")

    @property
    @scaled_back("loadings", learned=True)
    def loadings_(self) -> Array:
        """(D, k) V √λ: with ``scale`` the correlations of columns and components."""
        return self.components_.T * np.sqrt(self.explained_variance_)

    def _compressor(self) -> Compressor:
        V = self.components_.astype(np.float64)
        root = np.sqrt(self.explained_variance_)[:, None] if self.whiten else 1.0
        scale = 1.0 if self.scale_ is None else self.scale_
        return Compressor.about(self.mean_, V / scale / root, (V * scale * root).T)

    def contributions(self, X: Any) -> Array:
        """Return each row's share of each component's variance, y²/((N − ddof) λ): 1 in sum over the training rows."""
        return row_quality.contributions(self, X)

    def cos2(self, X: Any) -> Array:
        """Return how well each component shows each row: y²/‖x − m‖², between 0 and 1; 0 for a row at the mean."""
        return row_quality.cos2(self, X)

    def get_covariance(self) -> Array:
        """Return the covariance (D, D) of probabilistic PCA, V (Λ − σ²I) Vᵀ + σ²I, in the units of the rows."""
        return gaussian_model.covariance(self)

    def get_precision(self) -> Array:
        """Return the inverse of `get_covariance`; an error where σ² is 0 and directions are left out."""
        return gaussian_model.precision(self)

    def score_samples(self, X: Any) -> Array:
        """Return the log-likelihood of each row: normal, with the mean and `get_covariance`, which is not formed."""
        return gaussian_model.score_samples(self, X)

    def score(self, X: Any, y: None = None) -> float:
        """Return the mean log-likelihood of the rows."""
        return gaussian_model.score(self, X)
