"""Random projection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import DataDimensionalityWarning

from ...contract.parameters import RANDOM_STATE, AnyOf, Choice, Integer, Real, Rule
from ...contract.reducer import Recorder
from ...core import arrays
from ...core.cost import DataShape, Plan, dense_seconds
from ...core.errors import DataError, RankWarning
from ...core.message import message
from ...core.random import seed
from ...core.settings import threads
from ...rows.row_source import RowSource, block_rows
from ...rows.units import Units, fit_view
from ..shared.linear_map import LINEAR_UNITS, Compressor, LinearReducer
from . import map_kinds
from .map_kinds import RandomMap, bound
from .row_sample import SAMPLE, read

Array = Any

_TYPICAL_ROWS = 10**6  # assumed for the plan of a stream of unknown length


class DimensionalityWarning(RankWarning, DataDimensionalityWarning):  # type: ignore[misc]
    """A map has more dimensions than the rows have columns, so it reduces nothing."""


class RandomProjection(LinearReducer):
    """A random linear map to few dimensions keeps all distances nearly (Johnson, Lindenstrauss 1984).

    y = A x with random A;   (1 − ε)‖u − v‖² ≤ ‖Au − Av‖² ≤ (1 + ε)‖u − v‖² for all pairs of N rows, with a chance of at
    least 1/N by the proof and far better in practice, if k ≥ 4 ln N / (ε²/2 − ε³/3) (Dasgupta, Gupta 2003).

    The proof is for Gaussian maps; the other kinds have bounds with other constants and measured distortions as small.
    The map does not depend on the rows. A fit reads them once, to check them and to measure distortion on a sample.

    Parameters
    ----------
    n_components : int or "auto"
        Number of dimensions. "auto" is the bound above; if that is not below the number of columns, all are kept.
    kind : {"gaussian", "sparse", "hadamard"}
        Independent normal numbers; a matrix with a few signs in each column, max(⌈k/√D⌉, ⌈εk/7⌉, 8) of them (Li,
        Hastie, Church 2006; Kane, Nelson 2014); or a subsampled randomised Hadamard transform, which needs D log D
        additions for a row.
    eps : float in (0, 1)
        ε, the tolerated relative error of squared distances: it sets "auto", what `fit_info_` counts, and how dense a
        sparse map is.
    random_state : int, generator or None (seed 0)

    Attributes
    ----------
    kind_, mean_ : str, array (D,)
        The kind in use, "identity" where all columns were kept; mean of the training rows, for `inverse_transform`.
    components_, inverse_components_ : array (k, D), array (D, k)
        A, a `scipy.sparse` array if ``kind`` is "sparse", and A⁺; in the precision of the training rows. Both are made
        when they are read: A takes memory for "sparse" and "hadamard", A⁺ a singular value decomposition for all.
    n_components_, n_samples_, fit_info_ : int, int, FitInfo
        Dimensions; rows seen; share of sampled pairs within ε, mean and worst relative error of squared distances.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X = np.random.default_rng(0).standard_normal((100, 3000))
    >>> model = lowland.RandomProjection(eps=0.3).fit(X)
    >>> model.n_components_, model.fit_info_.evidence["pairs within eps"]
    (512, 1.0)
    """

    _streams: ClassVar[bool] = True
    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": AnyOf((Choice(("auto",)), Integer(1))),
        "kind": Choice(("gaussian", "sparse", "hadamard")),
        "eps": Real(0, 1),
        "random_state": RANDOM_STATE,
    }
    _units: ClassVar[Units] = {**LINEAR_UNITS, "transform": 1}

    kind_: str
    matrix_: Array  # gaussian: D × k
    positions_: Array  # sparse: where each column's entries stand (D × c); hadamard: which entries are kept (k)
    signs_: Array  # of those entries (D × c); of the columns (D)
    mean_: Array
    dtype_: str  # of the training rows
    n_samples_: int

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        kind: str = "gaussian",
        eps: float = 0.1,
        random_state: int | None = None,
    ) -> None:
        self.n_components, self.kind, self.eps, self.random_state = n_components, kind, eps, random_state

    def _size(self, n: int, d: int) -> tuple[int, str]:
        """Return the number of dimensions and the kind of map for N rows of D columns."""
        if self.n_components == "auto":
            k = bound(n, self.eps)
            return (k, self.kind) if k < d else (d, "identity")
        k = int(self.n_components)
        map_kinds.check(self.kind, d, k)
        return k, self.kind

    def _plan(self, shape: DataShape) -> Plan:
        n, d = shape.n_rows or _TYPICAL_ROWS, shape.n_features
        k, kind = self._size(n, d)
        size, sample, density = shape.dtype.itemsize, min(n, SAMPLE), max(shape.density, 1e-3 * shape.sparse)
        model, drawn = map_kinds.cost(kind, d, k, self.eps, size)
        entry = 32 if shape.sparse else 2 * size + 8  # as read, divided by the largest, and in float64 for distances
        parts = {
            "projection": model,
            "random numbers": 8 * drawn,
            "sample of rows": 8 * sample * (3 * k + 3 * sample) + entry * int(sample * d * density),
            "blocks": threads() * min(n, block_rows(d)) * d // 8 + 8 * d * (2 + 2 * threads()),
        }
        flops = dense_seconds(4.0 * shape.entries + 2.0 * SAMPLE * d * k, shape.dtype)
        return Plan.of(
            "RandomProjection",
            kind,
            shape,
            {name: size for name, size in parts.items() if size},
            seconds=flops + 5e-9 * shape.entries + 1e-8 * model / size,  # the second term: checking the entries
            approximate=kind != "identity",
            model_bytes=model + 8 * d,
            remedy=message("ask for fewer components, or use {kind}, whose map is small", kind="hadamard"),
        )

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        rng, d = seed(self.random_state), rows.n_features
        with record.stage("read"):
            seen = read(rows, rng)
        n, self.mean_, self.n_samples_, self.dtype_ = seen.count, seen.mean, seen.count, str(rows.dtype)
        if n == 1 and self.n_components == "auto":
            text = "RandomProjection: there is only 1 sample, and so no distance to keep; give more rows, or set "
            raise DataError(message(text + "{n_components}", n_components=...))
        self.n_components_, self.kind_ = self._size(n, d)
        if self.n_components_ > d:
            text = f"RandomProjection: {{n_components}} is more than the number of columns ({d}), so the map does not "
            text += f"reduce the rows; ask for fewer than {d}"
            record.warn(message(text, n_components=self.n_components_), DimensionalityWarning)
        if self.kind_ == "identity":
            needed = k if (k := bound(n, self.eps)) < 10**15 else "more than 10¹⁵"
            text = f"RandomProjection: to keep distances of {n} rows within {{eps}}, {needed} dimensions are needed, "
            text += f"and there are {d} columns: all were kept; use a larger value, or set {{n_components}}"
            record.warn(message(text, eps=self.eps, n_components=...), RankWarning)
        with record.stage("draw"):
            drawn = RandomMap.draw(self.kind_, d, self.n_components_, self.eps, rows.dtype, rng)
            self.__dict__.update({f"{name}_": value for name, value in drawn.state().items()})
        record.note(algorithm=self.kind_, approximate=self.kind_ != "identity")
        with record.stage("measure"):
            record.evidence |= seen.evidence(drawn.apply, self.eps)
        if self.kind_ != "identity":
            record.note(approximation_error=record.evidence.get("worst distortion"))

    def _map(self) -> RandomMap:
        state = {name: vars(self).get(f"{name}_") for name in ("matrix", "positions", "signs")}
        return RandomMap(self.kind_, self.n_features_in_, self.n_components_, **state)

    def _row_map(self) -> Callable[[Array], Array]:
        return self._map().apply

    def __getattr__(self, name: str) -> Any:  # not properties: who lists all of them would compute these
        if name not in ("components_", "inverse_components_") or "kind_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        model, A, dtype = fit_view(self), self._map(), vars(self).get("dtype_", "float64")
        if name == "components_":
            return A.matrix_of(dtype)
        return (A.dense() if self.kind_ == "identity" else model._way_back()[0]).astype(dtype, copy=False)

    def _takes_means_off(self) -> bool:
        return False

    def _way_back(self) -> tuple[Array, Array]:
        """Return B = A⁺ and b = m − A⁺A m; both are kept, since the decomposition costs more than a fit."""
        if not hasattr(self, "_back_"):
            self._back_ = self._map().way_back(self.mean_)
        return self._back_

    def __getstate__(self) -> dict[str, Any]:  # without B, which is large and follows from A
        return {name: value for name, value in super().__getstate__().items() if name != "_back_"}

    def _compressor(self) -> Compressor:
        A = self._map().dense()
        B, b = (A, np.zeros(len(A))) if self.kind_ == "identity" else self._way_back()
        return Compressor(A, np.zeros(len(A)), B, b)

    def _inverse_map(self) -> Callable[[Array], Array]:
        if self.kind_ == "identity":
            return lambda block: block
        B, b = self._way_back()
        return lambda block: arrays.cast(block, np.float64) @ arrays.like(B.T, block) + arrays.like(b, block)
