"""Kernel principal component analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...contract.inputs import Compared
from ...contract.parameters import RANDOM_STATE, AnyOf, Choice, FunctionRule, Integer, LandmarkRule, Nothing, Real, Rule
from ...contract.reducer import Recorder, Reducer
from ...core import arrays
from ...core.cost import DataShape, Plan
from ...core.random import seed
from ...pairs.kernels import KERNELS
from ...rows.moments import ColumnMoments
from ...rows.object_rows import ObjectRows, gather, packed
from ...rows.row_source import RowSource
from ...rows.units import Units, scaled_back
from .feature_space import FeatureMap
from .kernel_cost import plan_kernel
from .kernel_fit import choose_landmarks, fit_kernel, learn_gamma
from .kernel_units import KERNEL_UNITS, scales
from .preimage import CENTERS, choose_preimage, fit_ridge, squared_errors, way_back

Array = Any


class KernelPCA(Reducer):
    """PCA in the feature space of a kernel, through inner products alone (Schölkopf, Smola, Müller 1998).

    K̃ = J K J = U Λ Uᵀ;   Y = U Λ^½;   a new row: y = Λ^(−½) Uᵀ(k_x − K1/N).

    Up to 10,000 objects this is exact. Above, or on request, φ(x) is projected on the span of a few landmarks
    (Nyström) and centred there over all rows; `fit_info_` gives the share of the kernel's trace that is missed.

    Parameters
    ----------
    n_components : int or None
        Number of coordinates; None for all: as many as the centred kernel (or its landmarks) has positive eigenvalues.
    kernel : str or callable
        "linear" xᵀy, "poly" (γxᵀy + c)^d, "rbf" exp(−γ‖x − y‖²), "laplacian" exp(−γ‖x − y‖₁), "sigmoid" tanh(γxᵀy + c),
        "cosine" xᵀy/(‖x‖‖y‖), "precomputed" (X is the matrix of kernel values, new rows hold theirs with the training
        objects), or a function of two objects (gives a number) or two blocks (gives a matrix); then objects may be
        anything. The function is called from several threads at once.
    gamma : float, "auto" or "median"
        γ above. "median": σ is the median distance m of the rows, γ = 1/(2m²) (Laplacian: 1/m). "auto": the same, but a
        local width for "rbf" if the map at that width would hide groups of rows (`lowland.methods.kernel.width`).
    degree, coef0 : int, float
        d of "poly"; c of "poly" and "sigmoid".
    landmarks : int, str or None
        None: exact. "auto": exact up to 10,000 rows, else 1000 landmarks (or 4 for each component, if that is more).
        Or a number; or "rpcholesky:500" (randomly pivoted Cholesky, the default strategy), "uniform:500", "kmeans:500".
    preimage : str or None
        How `inverse_transform` finds rows: "ridge" (regression), "fixed-point" (Gaussian kernel only), "auto" (the
        latter for "rbf", the former for other kernels of rows, none for other objects). None skips its training.
    random_state : int or None
        Seed of the solver, of landmarks, and of the rows drawn for the width; None is seed 0.

    Attributes
    ----------
    eigenvalues_, embedding_ : (k,) array, (N, k) array
        Λ of the centred kernel matrix K̃ (not divided by N); the training rows' Y (`eigenvectors_` U = YΛ^(−½)).
    spectrum_ : array
        All eigenvalues, negative ones too, where they were computed (exact, up to 1500 rows); else the leading ones.
    gamma_, kernel_ : float or None, dict
        The γ of the fit (None without one); the kernel's name ("function" for yours), degree, coef0, pre-image method.
    anchors_ : array
        What new rows are compared with: all training objects, or the landmarks; their numbers if "precomputed".
    dual_, mean_weights_, kernel_mean_ : arrays
        M, a and c of y = Mᵀ(k_x − c): directions Σ_j M_ji φ(z_j) and mean Σ_j a_j φ(z_j) over the anchors z_j, c = Ka.
    n_components_, n_samples_ : int (coordinates found, rows seen)

    Examples
    --------
    >>> import numpy as np, lowland
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X = np.concatenate([ring, 3 * ring])
    >>> Y = lowland.KernelPCA(n_components=3, gamma=1.0).fit_transform(X)
    >>> bool(max(Y[:40, 0].max(), Y[40:, 0].max()) > 0 > min(Y[:40, 0].min(), Y[40:, 0].min()))
    True
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": AnyOf((Nothing(), Integer(1))),
        "kernel": AnyOf((Choice((*KERNELS, "precomputed")), FunctionRule())),
        "gamma": AnyOf((Choice(("auto", "median")), Real(0))),
        "degree": Integer(1),
        "coef0": Real(),
        "landmarks": LandmarkRule(("rpcholesky", "uniform", "kmeans")),
        "preimage": AnyOf((Nothing(), Choice(("auto", "ridge", "fixed-point")))),
        "random_state": RANDOM_STATE,
    }
    _input: ClassVar[Compared] = Compared("kernel", "its kernel values with", sparse_square=False)
    _allow_sparse: ClassVar[bool] = True
    _reads_again: ClassVar[bool] = True
    _units: ClassVar[Units] = KERNEL_UNITS

    eigenvalues_: Array
    embedding_: Array
    gamma_: float | None
    anchors_: Array
    dual_: Array
    mean_weights_: Array
    kernel_mean_: Array
    kernel_: dict[str, Any]
    shift_: Array | None  # the mean of the training rows; None of objects that are not rows
    ridge_: dict[str, Any] | None  # the regression that leads back to rows
    spectrum_: Array
    n_samples_: int

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 1,
        landmarks: int | str | None = "auto",
        preimage: str | None = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks
        self.preimage = preimage
        self.random_state = random_state

    def _has_units(self) -> bool:
        return scales(self)

    def _plan(self, shape: DataShape) -> Plan:
        return plan_kernel(self, shape)

    def _plan_rows(self, rows: RowSource) -> Plan:
        return plan_kernel(self, rows.shape, vectors=not isinstance(rows, ObjectRows))

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        chosen, vectors = choose_landmarks(self, rows.shape), not (self._pairwise or isinstance(rows, ObjectRows))
        preimage = choose_preimage(self.preimage, self.kernel, vectors=vectors)
        options = {"degree": self.degree, "coef0": self.coef0, "preimage": preimage}
        self.kernel_ = {"name": self._input.name(self), **options}
        draws = [np.random.default_rng(int(key)) for key in seed(self.random_state).integers(2**62, size=4)]
        self.n_samples_ = rows.count()
        self.shift_ = arrays.to_numpy(ColumnMoments(rows.n_features).update(rows).close().mean) if vectors else None
        self.gamma_ = learn_gamma(self, rows, record, draws[0])
        fit = fit_kernel(self, rows, chosen, record, draws[1:3])
        fit.note(self.n_components, self.gamma_, record)
        found, subspace = fit.found, fit.found.expansion
        self.anchors_ = packed(fit.anchors) if rows.sparse else fit.anchors
        self.dual_, self.mean_weights_, self.kernel_mean_ = subspace.dual, subspace.weights, subspace.mean
        self.eigenvalues_, self.spectrum_, self.n_components_ = found.values, found.spectrum, len(found.values)
        self.embedding_, self.ridge_ = fit.embedding.astype(rows.dtype, order="C"), None
        if preimage is not None and self.shift_ is not None:
            with record.stage("pre-images"):
                centers = 0 if self.kernel == "linear" else CENTERS
                self.ridge_ = dict(vars(fit_ridge(rows, fit.embedding, self.shift_, centers, draws[3])))

    def _row_map(self) -> Callable[[Array], Array]:
        features = FeatureMap.of(self)
        return lambda block: arrays.like(features.coordinates(block), block)

    @property
    @scaled_back("eigenvectors")
    def eigenvectors_(self) -> Array:
        """(N, k) orthonormal eigenvectors U of the centred kernel (or of its approximation): Y = UΛ^½."""
        return self.embedding_ / np.sqrt(self.eigenvalues_).astype(self.embedding_.dtype)

    @scaled_back("inverse_transform")
    def inverse_transform(self, X: Any) -> Array:
        """Return pre-images: rows of which the given ones are (nearly) the reduced form, each found on its own."""
        source, back = self._reduced(X), way_back(self, FeatureMap.of(self))
        return source.map_blocks(lambda block: arrays.like(back(block), block), self.n_features_in_)

    @scaled_back("score")
    def score(self, X: Any, y: None = None) -> float:
        """Return minus the mean squared error of the rows' pre-images, for model selection: larger is better."""
        check_is_fitted(self)
        found = self._rows(X, reset=False).map_blocks(squared_errors(self), 1)
        return -float(arrays.to_numpy(found).mean(dtype=np.float64))

    @scaled_back("feature_space_error")
    def feature_space_error(self, X: Any) -> Array:
        """Return ‖φ(x) − Πφ(x)‖² of each row: what the components leave out. All of them leave out only rounding."""
        check_is_fitted(self)
        source, features = self._rows(X, reset=False), FeatureMap.of(self)
        return arrays.to_numpy(source.map_blocks(lambda B: arrays.like(features.missed(B)[:, None], B), 1))[:, 0]

    @scaled_back("distance_error")
    def distance_error(self, X: Any) -> float:
        """Return the mean of d_ij − d̂_ij over all pairs: distances in feature space less those of the reduced rows."""
        check_is_fitted(self)
        return FeatureMap.of(self).distance_error(gather(self._rows(X, reset=False), sparse=True))
