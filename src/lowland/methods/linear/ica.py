"""Independent component analysis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypedDict

import numpy as np

from ...contract.parameters import RANDOM_STATE, AnyOf, ArrayRule, Choice, Integer, Nothing, Real, Rule
from ...contract.reducer import Recorder
from ...core import arrays
from ...core.cost import DataShape, Plan, check_allocation, dense_seconds, largest
from ...core.errors import DataError, NotConvergedWarning
from ...core.random import seed
from ...core.settings import threads
from ...rows.row_source import RowSource
from ...rows.units import Units
from ...spectral import dense, rowspace
from ...spectral.routes import rank_tolerance
from ...spectral.rowspace import RowSpace
from ...spectral.solve import sign_of_columns
from ...spectral.solved import ComponentRule, Scaling
from ..shared.linear_map import Compressor, LinearReducer, check_count
from . import ica_rotation
from .ica_rotation import CONTRASTS, Separation, expected_error, gaussian, like_noise, panel_rows, warm_rows

Array = Any

_PASSES = 40  # over the rows, in a usual fit
_LAST = 5  # over all rows, after a start on some of them


def _unit(model: Any) -> int:
    """Return the power of the rows' unit that sources have."""
    return 1 if model.whiten == "arbitrary-variance" else 0


class _Options(TypedDict):
    contrast: str
    tol: float
    max_iter: int


class ICA(LinearReducer):
    """Independent component analysis: the sources of a mixture (Comon 1994; Hyvärinen 1999).

    x = m + A s with independent s;   z = K(x − m) white;   s = W z, where the orthogonal W takes each E[G(sᵢ)] as far
    from its value for a Gaussian as can be;   components_ = WK, mixing_ = A = K⁺Wᵀ.

    Parameters
    ----------
    n_components : int or None
        Sources; the rows are reduced to as many principal components first. None for all (the rank).
    contrast : str
        G: "logcosh", good for most sources; "exp", −exp(−s²/2), for very heavy tails; "cube", s⁴/4, the kurtosis, for
        sources with light tails, and easily led astray by outliers.
    whiten : str
        "unit-variance": sources have variance 1. "arbitrary-variance": the columns of ``mixing_`` have length 1, and
        the variance of a source is what it contributes to the principal components that are kept.
    max_iter : int
        Steps at most.
    tol : float
        The fit ends when the next step would turn no source by more than this angle, in radians.
    w_init : array (k, k) or None
        Where to start W; None draws it.
    random_state : int, generator or None
        Draws the start, and the rows for the first steps where there are many; None is seed 0.

    Attributes
    ----------
    components_, unmixing_ : array (k, D)
        WK: what a centred row is multiplied by. Sources are in the order of ``negentropy_``, largest first; the entry
        of largest magnitude in each row is positive.
    mixing_ : array (D, k)
        A: each column is what one source adds to a row. The pseudo-inverse of ``components_``.
    mean_ : array (D,)
        What is subtracted from rows, in float64.
    whitening_ : array (k, D)
        K: makes rows white.
    negentropy_ : array (k,)
        (E[G(s)] − E[G(ν)])² with a Gaussian ν and s of variance 1: how far from Gaussian each source is.
    n_iter_, n_components_, n_samples_ : int
        Steps on all rows; sources; rows seen.
    fit_info_ : FitInfo
        What was run; ``residual`` is the angle that the next step would turn; ``evidence`` tells how much of one source
        is expected in another and how many sources look like noise: two Gaussian ones cannot be told apart.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> t = np.linspace(0, 8, 2000)
    >>> S = np.column_stack([np.sign(np.sin(9 * t)), np.sin(5 * t)])
    >>> ica = lowland.ICA().fit(S @ [[1.0, 0.5], [0.4, 1.0]])
    >>> found = ica.transform(S @ [[1.0, 0.5], [0.4, 1.0]])
    >>> np.abs(np.corrcoef(found.T, S.T)[:2, 2:]).round(2).tolist()
    [[1.0, 0.01], [0.01, 1.0]]
    """

    _allow_sparse: ClassVar[bool] = False
    _reads_again: ClassVar[bool] = True
    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": AnyOf((Nothing(), Integer(1))),
        "contrast": Choice(CONTRASTS),
        "whiten": Choice(("unit-variance", "arbitrary-variance")),
        "max_iter": Integer(1),
        "tol": Real(0),
        "w_init": AnyOf((Nothing(), ArrayRule())),
        "random_state": RANDOM_STATE,
    }

    _units: ClassVar[Units] = {
        "components_": lambda model: _unit(model) - 1,
        "mixing_": lambda model: 1 - _unit(model),
        "mean_": 1,
        "whitening_": -1,
        "transform": lambda model: _unit(model),
        "inverse_transform": 1,
        "residual": 1,
    }

    components_: Array
    mixing_: Array
    mean_: Array
    whitening_: Array
    negentropy_: Array
    n_iter_: int
    n_samples_: int

    def __init__(
        self,
        n_components: int | None = None,
        *,
        contrast: str = "logcosh",
        whiten: str = "unit-variance",
        max_iter: int = 500,
        tol: float = 1e-4,
        w_init: Any = None,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.contrast = contrast
        self.whiten = whiten
        self.max_iter = max_iter
        self.tol = tol
        self.w_init = w_init
        self.random_state = random_state

    def _needs_length(self) -> bool:
        return True

    def _plan(self, shape: DataShape) -> Plan:
        n, d, count = shape.n_rows or 1, shape.n_features, self.n_components
        check_count("ICA", count, shape.n_rows, d)
        k = min(n, d, count or d)
        route = rowspace.route(shape, ComponentRule(count=count))
        axes, seconds = rowspace.cost(route, shape, k)
        warm, block = warm_rows(k), min(n, panel_rows(k, d))
        at_once = min(threads(), -(-n // block))
        white = {
            "white rows": 8 * n * k,
            "whitening": 8 * at_once * block * (k + d) + 3 * 8 * k * d,
        }
        separating = {
            "white rows": 8 * n * k,
            "rows of the start": 2 * 8 * warm * k if n >= 4 * warm else 0,
            "estimates": 8 * at_once * block * 2 * k + 8 * k * k * (2 * threads() + 30) + 5 * 8 * k * d,
        }
        parts = largest(axes, white, separating)
        passes = _LAST + _PASSES * warm / n if n >= 4 * warm else _PASSES
        flops = passes * n * (4.0 * k * k + 120.0 * k)
        return Plan(
            method="ICA",
            algorithm="FastICA, Picard-O",
            bytes=sum(parts.values()) + shape.copied,
            seconds=seconds + dense_seconds(flops + 2.0 * n * d * k, np.dtype(np.float64)),
            model_bytes=3 * k * d * shape.dtype.itemsize + 8 * d + 8 * k,
            parts=parts,
            remedy="ask for fewer components, or fit fewer rows",
        )

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        rng = seed(self.random_state)
        check_count("ICA", self.n_components, rows.count(), rows.n_features)
        with record.stage("principal axes"):
            wanted = ComponentRule(count=self.n_components)
            space = rowspace.decompose(rows, wanted, Scaling(True, False, 0), rng=rng)
        self._tell(space, record)
        root = np.sqrt(space.solved.n_rows)
        K, K_inverse = (space.directions / space.values * root).T, space.directions * space.values / root
        with record.stage("whitening"):
            check_allocation(8 * rows.count() * len(K), "the white rows", "ask for fewer components, or fit fewer rows")
            white = ica_rotation.whitened(rows, space.solved.mean, K)
        with record.stage("separation"):
            options = _Options(contrast=self.contrast, tol=self.tol, max_iter=self.max_iter)
            W = ica_rotation.start(white, self._first(len(K), rng), rng, **options)
            found = ica_rotation.separate(white, W, **options)
        self._judge(found, white.n, record)
        self._learn(found, K, K_inverse, space, rows.dtype)

    def _tell(self, space: RowSpace, record: Recorder) -> None:
        """Write down how the rows were whitened, and warn where that fell short."""
        solved, k = space.solved, len(space.values)
        record.note(algorithm="FastICA, Picard-O", solver=f"white by {solved.route}")
        record.evidence["share of variance"] = min(1.0, float((space.values**2).sum() / solved.total))
        if space.short:
            record.warn_short(k, self.n_components)
        if not solved.converged:
            record.warn(
                f"ICA: the principal axes are right to {solved.residual:.2g} only; ask for more components",
                NotConvergedWarning,
            )

    def _first(self, k: int, rng: np.random.Generator) -> Array:
        """Return the orthogonal matrix that the first step turns."""
        if self.w_init is None:
            return ica_rotation.polar(rng.standard_normal((k, k)))
        W = np.asarray(arrays.to_numpy(self.w_init), dtype=np.float64)
        if W.shape != (k, k) or not np.isfinite(W).all():
            raise DataError(
                f"ICA: w_init must be a finite {k} × {k} matrix, one row for each source; its shape is {W.shape}"
            )
        s = dense.svd(W)[1]
        rank = int((s > rank_tolerance(k, k, np.float64) * s[0]).sum())
        if rank < k:
            raise DataError(
                f"ICA: w_init has rank {rank}, below its {k} rows, so no one orthogonal matrix is nearest to it; give "
                "rows that are linearly independent"
            )
        return ica_rotation.polar(W)

    def _judge(self, found: Separation, n: int, record: Recorder) -> None:
        """Write down how far the sources can be trusted."""
        record.note(iterations=found.iterations, residual=found.turn)
        record.evidence["expected share of another source"] = float(expected_error(found.seen, n).max())
        record.evidence["sources like Gaussian noise"] = like_noise(found.seen.value, n, self.contrast)
        if not found.converged:
            remedy = (
                "Further steps gain nothing: that is rounding, and tol is below it. Raise tol"
                if found.resting
                else "Raise max_iter, or ask for fewer components: sources that are nearly Gaussian hardly hold their "
                "place"
            )
            record.warn(
                f"ICA: after {found.iterations} steps the next would still turn a source by {found.turn:.2g} rad "
                f"(tol={self.tol:g}). {remedy}",
                NotConvergedWarning,
            )

    def _learn(self, found: Separation, K: Array, K_inverse: Array, space: RowSpace, dtype: Any) -> None:
        """Order, scale and sign the sources."""
        negentropy = (found.seen.value - gaussian(self.contrast)[0]) ** 2
        order = np.argsort(-negentropy, kind="stable")
        W = found.W[order]
        unmixing, mixing = W @ K, K_inverse @ W.T
        if self.whiten == "arbitrary-variance":
            length = np.linalg.norm(mixing, axis=0)
            unmixing, mixing = unmixing * length[:, None], mixing / length
        signs = sign_of_columns(unmixing.T)
        self.components_ = (unmixing * signs[:, None]).astype(dtype)
        self.mixing_ = (mixing * signs).astype(dtype)
        self.whitening_ = np.ascontiguousarray(K).astype(dtype)
        self.mean_, self.negentropy_ = space.solved.mean, negentropy[order]
        self.n_iter_, self.n_components_, self.n_samples_ = found.iterations, len(K), space.solved.n_rows

    @property
    def unmixing_(self) -> Array:
        """The same as ``components_``."""
        return self.components_

    def _offset(self) -> Array:
        return self.mean_

    def _compressor(self) -> Compressor:
        A = self.components_.astype(np.float64)
        return Compressor(A, -A @ self.mean_, self.mixing_.astype(np.float64), self.mean_)
