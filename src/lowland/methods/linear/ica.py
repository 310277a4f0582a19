"""Independent component analysis."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from ...contract.parameters import RANDOM_STATE, AnyOf, ArrayRule, Choice, Integer, Nothing, Off, Real, Rule
from ...contract.reducer import Recorder
from ...core.cost import DataShape, Plan
from ...core.random import seed
from ...rows.row_source import RowSource
from ...rows.units import Units
from ...spectral.solve import sign_of_columns
from ..shared.linear_map import LINEAR_UNITS, Compressor, LinearReducer
from . import ica_reliability, ica_rotation, ica_whitening
from .ica_rotation import CONTRASTS, Separation
from .ica_whitening import Whitening

Array = Any


def _unit(model: Any) -> int:
    """Return the power of the rows' unit that sources have."""
    return 0 if model.whiten == "unit-variance" else 1


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
    whiten : str or False
        "unit-variance": sources have variance 1. "arbitrary-variance": the columns of ``mixing_`` have length 1, and
        the variance of a source is what it contributes to the principal components that are kept. False: the rows are
        white already and taken as they are, z = x and K = I; ``n_components`` is ignored with a warning.
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
    mean_, whitening_, rotation_ : array (D,), array (k, D) or None, array (k, k)
        m, in float64; K; W, so that ``components_`` is ``rotation_ @ whitening_``. Its rows are orthogonal, of length 1
        unless the variance is arbitrary. Without whitening m is 0, and there is no K.
    negentropy_ : array (k,)
        (E[G(s)] − E[G(ν)])² with a Gaussian ν and s of variance 1: how far from Gaussian each source is.
    n_iter_, n_components_, n_samples_, fit_info_ : int, int, int, FitInfo
        Steps on all rows; sources; rows seen; what was run: ``residual`` is the angle of the next step, ``evidence``
        says how much of another source each is expected to hold, and how many look like noise.

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

    _reads_again: ClassVar[bool] = True
    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": AnyOf((Nothing(), Integer(1))),
        "contrast": Choice(CONTRASTS),
        "whiten": AnyOf((Choice(("unit-variance", "arbitrary-variance")), Off())),
        "max_iter": Integer(1),
        "tol": Real(0),
        "w_init": AnyOf((Nothing(), ArrayRule())),
        "random_state": RANDOM_STATE,
    }
    _units: ClassVar[Units] = {
        **LINEAR_UNITS,
        "components_": lambda model: _unit(model) - 1,
        "mixing_": lambda model: 1 - _unit(model),
        "whitening_": -1,
        "rotation_": lambda model: int(model.whiten == "arbitrary-variance"),
        "transform": _unit,
    }

    components_: Array
    mixing_: Array
    mean_: Array
    whitening_: Array | None
    rotation_: Array
    negentropy_: Array
    n_iter_: int
    n_samples_: int

    def __init__(
        self,
        n_components: int | None = None,
        *,
        contrast: str = "logcosh",
        whiten: str | bool = "unit-variance",
        max_iter: int = 500,
        tol: float = 1e-4,
        w_init: Any = None,
        random_state: int | None = None,
    ) -> None:
        self.n_components, self.contrast, self.whiten = n_components, contrast, whiten
        self.max_iter, self.tol, self.w_init, self.random_state = max_iter, tol, w_init, random_state

    def _plan(self, shape: DataShape) -> Plan:
        return ica_whitening.plan(self, shape)

    def _has_units(self) -> bool:
        return bool(self.whiten)  # G is for variance 1: rows in another unit are no longer white

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        rng = seed(self.random_state)
        if self.whiten:
            white = ica_whitening.by_principal_axes(rows, self.n_components, rng, record)
        else:
            white = ica_whitening.as_they_are(rows, self.n_components, record)
        with record.stage("separation"):
            options: dict[str, Any] = {"contrast": self.contrast, "tol": self.tol, "max_iter": self.max_iter}
            W = ica_rotation.first_rotation(self.w_init, white.rows.k, rng)
            found = ica_rotation.separate(white.rows, ica_rotation.start(white.rows, W, rng, **options), **options)
        ica_reliability.judge(found, white.rows.n, self.contrast, self.tol, record)
        self._learn(found, white, rows.dtype)

    def _learn(self, found: Separation, white: Whitening, dtype: Any) -> None:
        """Order, scale and sign the sources."""
        negentropy = (found.seen.value - ica_reliability.gaussian(self.contrast)[0]) ** 2
        order = np.argsort(-negentropy, kind="stable")
        W = found.W[order]
        unmixing, mixing = white.unmixing(W)
        if self.whiten == "arbitrary-variance":
            length = np.linalg.norm(mixing, axis=0)
            unmixing, mixing, W = unmixing * length[:, None], mixing / length, W * length[:, None]
        signs = sign_of_columns(unmixing.T)
        self.components_ = (unmixing * signs[:, None]).astype(dtype)
        self.mixing_, self.rotation_ = (mixing * signs).astype(dtype), (W * signs[:, None]).astype(dtype)
        self.whitening_ = None if white.K is None else np.ascontiguousarray(white.K).astype(dtype)
        self.mean_, self.negentropy_ = white.mean, negentropy[order]
        self.n_iter_, self.n_components_, self.n_samples_ = found.iterations, len(W), white.rows.n

    unmixing_ = property(attrgetter("components_"), doc="The same as ``components_``.")

    def _compressor(self) -> Compressor:
        return Compressor.about(self.mean_, self.components_.astype(np.float64), self.mixing_.astype(np.float64))
