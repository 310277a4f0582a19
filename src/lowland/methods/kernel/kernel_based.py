"""What a method in a kernel's feature space does with new rows: coordinates, pre-images, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...contract.inputs import Compared
from ...contract.reducer import Reducer
from ...core import arrays, thread_pool
from ...core.errors import DataError
from ...pairs.distances import SquaredEuclidean
from ...pairs.kernels import Exponential, Kernel, check_function, kernel
from ...pairs.pairwise import tiles
from ...rows.object_rows import gather
from ...rows.units import Power, Units, scaled_back
from ..shared.pair_units import of_anchors
from .feature_space import Expansion, distance_error
from .preimage import FixedPoint, Ridge

Array = Any


_DEGREES = {"linear": 2, "precomputed": 1}  # powers of the rows' unit that kernel values have; others have none
_GAMMAS = {"rbf": -2, "laplacian": -1, "poly": -2, "sigmoid": -2}


def _degree(model: Any) -> Power:
    return _DEGREES.get(model.kernel_["name"], 0)


def _root(model: Any) -> Power:
    """Return the power of coordinates, whose squares are values of the kernel."""
    return _degree(model) / 2


class KernelReducer(Reducer):
    """A reducer whose directions are expanded over anchors: y = Mᵀ(k_x − c) (`lowland.methods.kernel.feature_space`).

    Subclasses have the parameters ``kernel``, ``degree``, ``coef0`` and ``preimage``, and learn what is listed here.
    ``kernel_`` tells the kernel's name ("function" for one of the user's), degree, coef0 and way back of the fit, so
    that `set_params` does not change a fitted model. ``shift_`` is the mean of the training rows, ``ridge_`` the state
    of the regression that leads back to rows (both None where objects are no rows).
    """

    _input: ClassVar[Compared] = Compared("kernel", lambda model: model.kernel_["name"], "its kernel values with")
    _units: ClassVar[Units] = {
        "eigenvalues_": _degree,
        "embedding_": _root,
        "gamma_": lambda model: _GAMMAS.get(model.kernel_["name"], 0),
        "anchors_": of_anchors,
        "dual_": lambda model: -_root(model),
        "kernel_mean_": _degree,
        "shift_": 1,
        "transform": _root,
        "inverse_transform": 1,
        "score": 2,
        "feature_space_error": _degree,
        "distance_error": _root,
    }

    n_components: int
    kernel: str | Callable[[Any, Any], Any]
    degree: int
    coef0: float
    preimage: str | None

    eigenvalues_: Array
    embedding_: Array
    gamma_: float | None
    anchors_: Array
    dual_: Array
    mean_weights_: Array
    kernel_mean_: Array
    kernel_: dict[str, Any]
    shift_: Array | None
    ridge_: dict[str, Any] | None

    def _has_units(self) -> bool:
        """Tell whether γ, where there is one, changes with the rows: a number does not, a rule does."""
        if not isinstance(self.kernel, str):
            return False
        gamma = getattr(self, "gamma", None)
        return self.kernel in ("linear", "cosine", "precomputed") or (self.kernel in _GAMMAS and isinstance(gamma, str))

    def _rule(self, objects: Array) -> Kernel:
        """Return the kernel of the fit as it compares rows, new or old, with the objects."""
        used = self.kernel_
        return kernel(
            self._input.fitted(self),
            objects,
            gamma=1.0 if self.gamma_ is None else self.gamma_,
            degree=used["degree"],
            coef0=used["coef0"],
            shift=0.0 if self.shift_ is None else self.shift_,
        )

    def _tried_rule(self, objects: Array) -> Kernel:
        """Return the kernel; one of the user's is tried on some of the objects."""
        rule = self._rule(objects)
        if callable(self.kernel):
            check_function(rule, objects, type(self).__name__)
        return rule

    def _preimage(self, vectors: bool) -> str | None:
        """Return the pre-image method in force; refuse one that cannot work."""
        gaussian = isinstance(self.kernel, str) and self.kernel == "rbf"
        if self.preimage == "fixed-point" and not gaussian:
            raise DataError(f"preimage='fixed-point' is for kernel='rbf', not {self.kernel!r}; use 'ridge' or None")
        if not vectors and self.preimage in ("ridge", "fixed-point"):
            raise DataError(
                "pre-images are rows of numbers, and these objects are known by their kernel alone; use preimage=None"
            )
        if self.preimage != "auto":
            return self.preimage
        return None if not vectors else "fixed-point" if gaussian else "ridge"

    # -- new rows -----------------------------------------------------------------------------------------

    @property
    @scaled_back("eigenvectors")
    def eigenvectors_(self) -> Array:
        """(N, k) orthonormal eigenvectors U of the centred kernel (or of its approximation): Y = UΛ^½."""
        return self.embedding_ / np.sqrt(self.eigenvalues_).astype(self.embedding_.dtype)

    def _expansion(self) -> Expansion:
        norm = float(self.mean_weights_ @ self.kernel_mean_)
        return Expansion(self.dual_, self.mean_weights_, self.kernel_mean_, norm)

    def _placed(self) -> Callable[[Array], Array]:
        """Return the function that maps a block to rows [y, k_xᵀa] on the host."""
        place = self._expansion().coordinates(self._rule(self.anchors_), self.anchors_)
        return lambda block: place(host(block))

    def _row_map(self) -> Callable[[Array], Array]:
        place = self._placed()
        return lambda block: arrays.like(place(block)[:, : self.n_components_], block)

    @scaled_back("inverse_transform")
    def inverse_transform(self, X: Any) -> Array:
        """Return pre-images: rows of which the given ones are (nearly) the reduced form, each found on its own."""
        source = self._reduced(X)
        back = self._way_back()
        return source.map_blocks(lambda block: arrays.like(back(_doubles(block)), block), self.n_features_in_)

    def _way_back(self) -> Callable[[Array], Array]:
        """Return the function from reduced rows to rows, in float64 on the host."""
        if self.ridge_ is None:
            raise DataError(
                "the model was fitted with preimage=None, so it knows no way back; fit it with preimage='auto'"
                if self.shift_ is not None
                else "objects that are known by their kernel alone have no pre-image; rows of numbers have"
            )
        ridge = Ridge.restore(self.ridge_)
        if self.kernel_["preimage"] == "ridge":
            return ridge
        rule = Exponential(SquaredEuclidean(self.shift_), float(self.gamma_ or 1.0))
        if self.fit_info_.approximate:
            Y = self._placed()(self.anchors_)[:, : self.n_components_]
        else:
            Y = self.dual_ * self.eigenvalues_
        return FixedPoint(rule, self.anchors_, self._expansion(), Y, ridge)

    # -- how good it is -----------------------------------------------------------------------------------

    @scaled_back("score")
    def score(self, X: Any, y: None = None) -> float:
        """Return minus the mean squared error of the rows' pre-images: larger is better, so a search can choose."""
        check_is_fitted(self)
        source = self._rows(X, reset=False)
        there, back = self._placed(), self._way_back()

        def errors(block: Array) -> Array:
            off = _doubles(block) - back(there(block)[:, : self.n_components_])
            return arrays.like((off * off).mean(axis=1, keepdims=True), block)

        return -float(arrays.to_numpy(source.map_blocks(errors, 1)).mean(dtype=np.float64))

    @scaled_back("feature_space_error")
    def feature_space_error(self, X: Any) -> Array:
        """Return ‖φ(x) − Πφ(x)‖² of each row: what the components leave out, in the kernel's own space.

        With all components it is zero, up to rounding, on the rows of an exact fit.
        """
        check_is_fitted(self)
        source = self._rows(X, reset=False)
        rule, place, norm = self._rule(self.anchors_), self._placed(), self._expansion().norm

        def lost(block: Array) -> Array:
            found = place(block)
            Y, s = found[:, :-1], found[:, -1]
            error = rule.diagonal(host(block)) - 2 * s + norm - (Y * Y).sum(axis=1)
            return arrays.like(error.clip(0)[:, None], block)

        return arrays.to_numpy(source.map_blocks(lost, 1))[:, 0]

    @scaled_back("distance_error")
    def distance_error(self, X: Any) -> float:
        """Return the mean of d_ij − d̂_ij over all pairs: distances in feature space less those of the reduced rows.

        Projection shortens distances, so the mean is not negative for a positive semidefinite kernel. All N(N − 1)/2
        pairs are compared, a tile at a time.
        """
        check_is_fitted(self)
        source = self._rows(X, reset=False)
        items, place, k = host(gather(source)), self._placed(), self.n_components_
        if len(items) < 2:
            raise DataError("a distance error needs at least two rows")
        Y = np.concatenate(list(thread_pool.run(lambda part: place(items[part])[:, :k], tiles(len(items)))))
        return distance_error(self._rule(self.anchors_), items, Y)


def host(block: Array) -> Array:
    """Return a block as a NumPy array, of objects too."""
    return block if isinstance(block, np.ndarray) else arrays.to_numpy(block)


def _doubles(block: Array) -> Array:
    return arrays.to_numpy(block).astype(np.float64)
