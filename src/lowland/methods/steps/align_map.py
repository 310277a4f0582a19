"""A new map laid over an old one."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from ...core.errors import DataError
from ...spectral.procrustes import procrustes
from .step import Step
from .training_rows import FrameRows, Passes, TrainingRows

Array = Any


class AlignMap(Step):
    """Lay a map over an earlier map of the same rows: rotated, reflected and shifted, not scaled (Procrustes).

    It stands after the method of a Pipeline; ``fit`` takes the earlier coordinates as ``y``. New rows are moved in the
    same way. Distances in the map do not change.

    Attributes
    ----------
    rotation_, shift_ : arrays (k, k) and (k,)
        R and t of Y R + t.
    error_ : float
        √(Σ‖b − b̂‖² / Σ‖b − b̄‖²) over the shared rows: 0 for the same shape, about 1 for unrelated maps. It also counts
        a difference in size.
    n_shared_ : int
        Number of rows that both maps have.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> new = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> old = new @ [[0.0, 1.0], [-1.0, 0.0]] + 5
    >>> step = lowland.steps.AlignMap().fit(new, old)
    >>> bool(np.allclose(step.transform(new), old)), step.error_ < 1e-12
    (True, True)
    """

    in_passes: ClassVar[bool] = False
    rotation_: Array
    shift_: Array
    error_: float
    n_shared_: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the rotation of X to y; rows of y with missing coordinates are not shared and do not count."""
        self._fit_to(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Find the rotation of X to y and return X rotated."""
        rows = self._fit_to(X, y)
        return self._output(self._apply(rows.frame), X, rows.named)

    def _fit_to(self, X: Any, y: Any) -> FrameRows:
        if y is None:
            raise DataError("AlignMap requires y to be passed, but the target y is None: give the earlier coordinates")
        rows = self._fit(X)
        try:
            frame = rows.whole("AlignMap")
            self._align(frame, y)
        except BaseException:
            self._forget()
            raise
        return FrameRows(frame, rows.named)

    def _align(self, frame: pl.DataFrame, y: Any) -> None:
        new, old = _numbers(frame), np.asarray(y, dtype=np.float64)
        if old.shape != new.shape:
            raise DataError(
                f"AlignMap: the earlier map has shape {old.shape} and the new one {new.shape}; they need the same "
                "rows, with NaN where the earlier map has none, and as many dimensions"
            )
        shared = np.isfinite(old).all(axis=1) & np.isfinite(new).all(axis=1)
        n, k = int(shared.sum()), new.shape[1]
        if n <= k:
            raise DataError(f"AlignMap: the maps share {n} rows, and {k} dimensions need at least {k + 1}")
        found = procrustes(new[shared], old[shared], scale=False)
        self.rotation_, self.shift_, self.error_, self.n_shared_ = found.rotation, found.shift, found.error, n

    def _learn(self, rows: TrainingRows) -> Passes:
        yield from ()
        self.names_out_ = list(self.names_in_)

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        return self._mapped(frame, _numbers(frame) @ self.rotation_ + self.shift_)

    def _restore(self, frame: pl.DataFrame) -> pl.DataFrame:
        return self._mapped(frame, (_numbers(frame) - self.shift_) @ self.rotation_.T)

    def _mapped(self, frame: pl.DataFrame, Y: Array) -> pl.DataFrame:
        """Return coordinates under the names of the frame; float32 stays float32."""
        single = all(kind == pl.Float32 for kind in frame.dtypes)
        return pl.DataFrame(Y.astype(np.float32 if single else np.float64), schema=list(frame.columns))

    def rotation(self) -> Array | None:
        """Return the rotation back."""
        return self.rotation_.T

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the coordinates: those of the method, which a Pipeline gives."""
        names = super().get_feature_names_out(input_features)
        if input_features is None or hasattr(self, "feature_names_in_"):
            return names
        return np.asarray(input_features, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _numbers(frame: pl.DataFrame) -> Array:
    return frame.select(pl.all().cast(pl.Float64)).to_numpy()
