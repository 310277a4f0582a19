"""Kernel principal component analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ...contract.inputs import require_count, require_length
from ...contract.parameters import RANDOM_STATE, AnyOf, Choice, FunctionRule, Integer, LandmarkRule, Nothing, Real, Rule
from ...contract.reducer import Recorder
from ...core import arrays, thread_pool
from ...core.cost import DataShape, Plan, dense_seconds
from ...core.errors import IndefiniteWarning, NotConvergedWarning, RankWarning
from ...core.random import seed
from ...pairs.kernels import FILL, KERNELS, MEDIAN_ROWS, SCALED, GivenKernel, Kernel, median_gamma, median_rows
from ...pairs.pairwise import check_symmetric, refuse_missing, square
from ...rows.moments import ColumnMoments
from ...rows.object_rows import ObjectRows, gather, take
from ...rows.row_source import Block, RowSource, as_rows
from ...rows.units import Units
from ...spectral.solve import DENSE_LIMIT, sign_of_columns
from ..shared import landmarks
from ..shared.pair_units import CALL_SECONDS
from .feature_space import Components, Negative, cost_of_landmarks, cost_of_pairs, from_landmarks, from_pairs, row_bytes
from .kernel_based import KernelReducer, host
from .preimage import CENTERS, fit_ridge, ridge_bytes
from .width import gaussian_width

Array = Any

_LANDMARKS = landmarks.LandmarkDefaults(strategy="rpcholesky")


class KernelPCA(KernelReducer):
    """PCA in the feature space of a kernel, through inner products alone (Schölkopf, Smola, Müller 1998).

    K̃ = J K J = U Λ Uᵀ;   Y = U Λ^½;   a new row: y = Λ^(−½) Uᵀ(k_x − K1/N).

    Up to 10,000 objects this is exact. Above, or when asked to, φ(x) is projected on the span of a few landmarks
    (Nyström) and centred there over all rows; `fit_info_` tells the share of the kernel's trace that is missed.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    kernel : str or callable
        "linear" xᵀy, "poly" (γxᵀy + c)^d, "rbf" exp(−γ‖x − y‖²), "laplacian" exp(−γ‖x − y‖₁), "sigmoid" tanh(γxᵀy + c),
        "cosine" xᵀy/(‖x‖‖y‖), "precomputed" (X is the square of kernel values, new rows hold theirs with the training
        objects), or a function of two objects (gives a number) or two blocks (gives a matrix); then objects may be
        anything. The function is called from several threads at once.
    gamma : float, "auto" or "median"
        γ above. "median" takes σ = the median distance m of the rows, γ = 1/(2m²) (Laplacian: 1/m). "auto" does too,
        unless the kernel is "rbf" and the map at that width hides groups of rows: then σ is 1.5 times the (geometric)
        mean distance to the k-th nearest neighbour, k = one for each 40 rows, and at most m.
    degree : int
        d of "poly".
    coef0 : float
        c of "poly" and "sigmoid".
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
    eigenvalues_ : (k,) array
        Λ, of the centred kernel matrix K̃ (not divided by N).
    embedding_ : (N, k) array
        The training rows' coordinates; `eigenvectors_` U = YΛ^(−½).
    spectrum_ : array
        All eigenvalues where they were computed (exact, up to 1500 rows), negative ones too; else the leading ones.
    gamma_ : float or None
        The γ that was used; None for kernels without one.
    kernel_ : dict
        The kernel's name ("function" for one of yours), degree, coef0 and way back that were used.
    anchors_ : array
        What new rows are compared with: all training objects, or the landmarks; their numbers if "precomputed".
    dual_, mean_weights_, kernel_mean_ : arrays
        M, a and c of y = Mᵀ(k_x − c): directions Σ_j M_ji φ(z_j) and mean Σ_j a_j φ(z_j) over the anchors z_j, c = Ka.
    n_components_, n_samples_ : int
        Coordinates found, rows seen.

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
        "n_components": Integer(1),
        "kernel": AnyOf((Choice((*KERNELS, "precomputed")), FunctionRule())),
        "gamma": AnyOf((Choice(("auto", "median")), Real(0))),
        "degree": Integer(1),
        "coef0": Real(),
        "landmarks": LandmarkRule(("rpcholesky", "uniform", "kmeans")),
        "preimage": AnyOf((Nothing(), Choice(("auto", "ridge", "fixed-point")))),
        "random_state": RANDOM_STATE,
    }
    _units: ClassVar[Units] = {
        **KernelReducer._units,
        **dict.fromkeys(
            ("spectrum_", "least eigenvalue", "least eigenvalue of the landmarks"), KernelReducer._units["eigenvalues_"]
        ),
        "gamma": KernelReducer._units["gamma_"],
    }

    spectrum_: Array
    n_samples_: int

    def __init__(
        self,
        n_components: int = 2,
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

    # -- cost ---------------------------------------------------------------------------------------------

    def _plan(self, shape: DataShape) -> Plan:
        return self._plan_for(shape, vectors=not self._pairwise)

    def _plan_rows(self, rows: RowSource) -> Plan:
        return self._plan_for(rows.shape, vectors=self._has_vectors(rows))

    def _has_vectors(self, rows: RowSource) -> bool:
        """Tell whether the objects are rows of numbers, which alone have pre-images."""
        return not self._pairwise and not isinstance(rows, ObjectRows)

    def _plan_for(self, shape: DataShape, *, vectors: bool) -> Plan:
        self._check_dimensions(shape)
        n, d, k = require_length(self, shape), shape.n_features, self.n_components
        chosen, size = _LANDMARKS.of(self, n), shape.dtype.itemsize
        if chosen is None:
            parts, flops = cost_of_pairs(shape, k, given=self._pairwise)
            stages = [parts]
        else:
            choose, solve, flops = cost_of_landmarks(shape, chosen.count)
            stages = [solve] if chosen.strategy == "uniform" else [choose, solve]
        back = self._preimage(vectors) is not None
        centers = min(CENTERS, n // 2) if back and self.kernel != "linear" else 0
        width = k + centers
        if self.kernel in SCALED and isinstance(self.gamma, str):
            stages.append({"rows for the median": min(n, MEDIAN_ROWS) * d * row_bytes(shape)})
        if back:
            kept = {"landmarks' rows": (n if chosen is None else chosen.count) * d * size}
            stages.append({**kept, "pre-images": ridge_bytes(shape, width)})
            flops += 2.0 * n * width * (width + d)
        peak = max(stages, key=lambda parts: sum(parts.values()))  # one stage after the other: the largest counts
        parts = {**peak, "embedding": n * k * (8 + size)}
        if shape.gathered and (chosen is None or self._pairwise):
            parts["rows in one array"] = shape.gathered
        count = n if chosen is None else chosen.count
        return Plan(
            method="KernelPCA",
            algorithm="all pairs" if chosen is None else f"{count} landmarks ({chosen.strategy})",
            bytes=sum(parts.values()) + shape.copied,
            seconds=dense_seconds(flops, np.dtype(np.float64)) + self._call_seconds(n, chosen),
            approximate=chosen is not None,
            model_bytes=count * (8 * (k + 2) + (8 if self._pairwise else d * size))
            + n * k * size
            + 8 * width * (k + d),
            parts=parts,
            remedy="use landmarks=1000, or fewer of them" if chosen is None else "use fewer landmarks",
        )

    def _check_dimensions(self, shape: DataShape) -> None:
        """Refuse more components than there can be."""
        n = require_length(self, shape)
        chosen = _LANDMARKS.of(self, n)
        if chosen is not None and chosen.count < n:
            require_count(self, shape, chosen.count, "the number of landmarks")
        else:
            require_count(self, shape, n - 1, "n_samples − 1")

    def _call_seconds(self, n: int, chosen: landmarks.Landmarks | None) -> float:
        """Return the time of a user's function, as one of two objects in Python: threads do not shorten it."""
        if not callable(self.kernel):
            return 0.0
        if chosen is None:
            return n * n / 2 * CALL_SECONDS
        tried = 0 if chosen.strategy == "uniform" else len(landmarks.candidates(n, chosen.count, seed(0)))
        return chosen.count * (tried + 2 * n) * CALL_SECONDS

    # -- fit ----------------------------------------------------------------------------------------------

    @thread_pool.one_blas_thread()
    def _fit(self, rows: RowSource, record: Recorder) -> None:
        self._check_dimensions(rows.shape)
        n = require_length(self, rows.shape)
        chosen, vectors = _LANDMARKS.of(self, n), self._has_vectors(rows)
        way_back = self._preimage(vectors)
        self.kernel_ = {
            "name": self._input.name(self),
            "degree": self.degree,
            "coef0": self.coef0,
            "preimage": way_back,
        }
        draws = [np.random.default_rng(int(key)) for key in seed(self.random_state).integers(2**62, size=4)]
        self.n_samples_ = n
        self.shift_ = arrays.to_numpy(ColumnMoments(rows.n_features).update(rows).close().mean) if vectors else None
        self.gamma_ = self._gamma(rows, draws[0], record)
        if chosen is None:
            Y = self._fit_pairs(rows, record, draws[1])
        else:
            Y = self._fit_landmarks(rows, chosen, record, draws[1], draws[2])
        self.n_components_ = len(self.eigenvalues_)
        self.embedding_ = Y.astype(rows.dtype, order="C")
        self.ridge_ = None
        if way_back is not None and self.shift_ is not None:
            with record.stage("pre-images"):
                centers = 0 if self.kernel == "linear" else CENTERS
                self.ridge_ = fit_ridge(rows, Y, self.shift_, centers, draws[3]).state()

    def _gamma(self, rows: RowSource, rng: np.random.Generator, record: Recorder) -> float | None:
        """Return γ as given or from distances of the rows; None for a kernel that has none."""
        if self.kernel not in SCALED:
            return None
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        n = require_length(self, rows.shape)
        sample = gather(rows) if n <= MEDIAN_ROWS else take(rows, median_rows(n, rng))  # all of few rows, and no copy
        if self.gamma == "median" or self.kernel != "rbf":
            return median_gamma(self.kernel, sample, n)
        width = gaussian_width(sample, self.n_components, rng, n)
        if width.hidden_groups:
            record.evidence["groups hidden at the median width"] = width.hidden_groups
        return width.gamma

    def _fit_pairs(self, rows: RowSource, record: Recorder, rng: np.random.Generator) -> Array:
        """Solve for the whole kernel matrix; return the training rows' coordinates."""
        n = require_length(self, rows.shape)
        with record.stage("kernel"):
            items = host(gather(rows))
            dtype = np.dtype(np.float64) if n <= DENSE_LIMIT else rows.dtype  # small ones lose nothing
            if self._pairwise:
                _check_square(items)
                rule: Kernel = GivenKernel(items)
                K, self.anchors_ = items.astype(dtype, copy=False), np.arange(n)
            else:
                rule = self._tried_rule(items)
                K, self.anchors_ = square(rule, items, dtype=dtype, stage="kernel"), items.copy()
        with record.stage("solve"):
            found = from_pairs(K, self.n_components, psd=rule.psd, rng=rng, eps=rule.eps, doubt=rule.doubt)
        self._learn(found, record, "all pairs", rule.doubt)
        return self.dual_ * self.eigenvalues_

    def _fit_landmarks(
        self,
        rows: RowSource,
        chosen: landmarks.Landmarks,
        record: Recorder,
        solver_rng: np.random.Generator,
        rng: np.random.Generator,
    ) -> Array:
        """Solve through landmarks; return the training rows' coordinates."""
        with record.stage("landmarks"):
            if self._pairwise:
                K = host(gather(rows))
                _check_square(K)
                rows = as_rows(np.arange(len(K))[:, None])
                rule: Kernel = GivenKernel(K)
            else:
                few = host(take(rows, np.unique(np.linspace(0, self.n_samples_ - 1, 16).astype(int))))
                rule = self._tried_rule(few)
            self.anchors_ = landmarks.choose(rule, rows, chosen, rng)
            if self._pairwise:
                self.anchors_ = rule.prepare(self.anchors_)
        with record.stage("features"):
            found = from_landmarks(rule, rows, self.anchors_, self.n_components, solver_rng)
        self._learn(found, record, f"{len(self.anchors_)} landmarks ({chosen.strategy})", rule.doubt)
        with record.stage("embedding"):
            place, k = found.expansion.coordinates(rule, self.anchors_), len(self.eigenvalues_)
            Y = np.empty((self.n_samples_, k))

            def fill(block: Block) -> None:
                Y[block.start : block.start + len(block.rows)] = place(host(block.rows))[:, :k]

            for _ in thread_pool.run(fill, rows.blocks(), stage="embedding", total=rows.block_count()):
                pass
            signs = sign_of_columns(Y)  # by all rows, as in an exact fit
            self.dual_ = self.dual_ * signs
        return Y * signs

    def _learn(self, found: Components, record: Recorder, algorithm: str, doubt: str) -> None:
        """Keep the subspace and tell how it was found."""
        expansion, pairs, r = found.expansion, found.pairs, len(found.values)
        self.dual_, self.mean_weights_ = np.ascontiguousarray(expansion.dual), expansion.weights
        self.kernel_mean_, self.eigenvalues_, self.spectrum_ = expansion.mean, found.values, found.spectrum
        record.note(
            algorithm=algorithm,
            solver=pairs.solver,
            iterations=pairs.products or None,
            residual=pairs.residual,
            approximate=found.error is not None,
            approximation_error=found.error,
        )
        record.tell_checked(pairs.checked)
        if self.gamma_ is not None:
            record.evidence["gamma"] = self.gamma_
        record.evidence["share of variance"] = float(found.values.sum() / found.total)
        if found.centered_error is not None:
            record.evidence["missed of the centred trace, at most"] = found.centered_error
        if r < self.n_components:
            record.warn(
                f"KernelPCA: the centred kernel has rank {r}, below the {self.n_components} components asked for; "
                f"n_components_ is {r}",
                RankWarning,
            )
        if not pairs.converged:
            record.warn(
                f"KernelPCA: the iteration stopped before its tolerance (residual {pairs.residual:.2g}); "
                "ask for more components than you need, or take landmarks",
                NotConvergedWarning,
            )
        if found.negative is not None:
            self._tell_negative(found.negative, doubt, record)

    def _tell_negative(self, negative: Negative, doubt: str, record: Recorder) -> None:
        of = "" if negative.excess is None else " of the landmarks"  # these were chosen for what is positive in them
        record.evidence[f"least eigenvalue{of}"] = negative.least
        record.evidence[f"negative share of the spectrum{of}"] = negative.share
        if negative.count is not None:
            record.evidence["negative eigenvalues"] = negative.count
        if negative.excess is not None:
            record.evidence["share by which landmarks pass k(x, x)"] = negative.excess
        if not negative.found:
            return
        seen = f"the least eigenvalue{of} is {negative.least:.3g}, all negative ones are {negative.share:.2g} of Σ|λ|"
        if negative.excess is not None:
            seen += f", and rows seen through the landmarks are too long by {negative.excess:.2g} of the trace"
        record.warn(
            f"KernelPCA: the kernel is not positive semidefinite: {seen}; only the positive part is used, so distances "
            "in the embedding are not those of the kernel" + (doubt if negative.share > 0.5 else ""),
            IndefiniteWarning,
        )


def _check_square(K: Array) -> None:
    """Refuse what is no square of kernel values: not square, with gaps, not symmetric."""

    def check(block: Array, _rows: slice, _columns: slice) -> None:
        if np.isnan(block.sum()):  # or entries of both signs that overflow
            refuse_missing(K, "KernelPCA", "kernel value", "K", FILL)

    check_symmetric(K, "KernelPCA", "kernel values", "K", check=check)
