"""Eigenfaces: principal components of images, with recognition by the nearest neighbour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..contract import parameters
from ..contract.parameters import RANDOM_STATE, AnyOf, Boolean, Choice, Integer, Integers, Nothing, Real
from ..core.errors import DataError
from ..core.message import Message, Setting, message
from ..core.show import show
from ..core.whole import is_whole
from ..graph.neighbors import searcher
from ..methods.linear.pca import PCA
from ..quality.rebuilt_rows import check_counts, partial_reconstruction
from .contrast import BRIGHTNESS, CONTRAST, Standard, is_flat, standardized
from .face_threshold import held_out_residuals, residuals, threshold
from .recognition import Recognition
from .stack import Images, read

Array = Any

COMPONENTS = 50  # by default, if there are more images
COUNTS = (0, 10, 30, 40, 50)  # components of faces that are rebuilt


class Eigenfaces(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    ClassifierMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Faces as sums of a mean face and a few eigenfaces (Sirovich & Kirby 1987; Turk & Pentland 1991).

    z = (x − brightness)/contrast of each image;   z ≈ m + V y,  y = Vᵀ(z − m)   (PCA of the z).

    A new face gets the label of the training face with the nearest y. By default that is the cosine distance of
    whitened coordinates, the best of many for faces (Perlibakas 2004; docs/images.md compares four of them). An image
    is taken for a face if its distance to the plane m + V y is not larger than that of faces that were held out. Any
    images of one size will do where the same thing lies at the same place; faces are not searched for, turned or cut
    out.

    Parameters
    ----------
    n_components : int, float or None
        Number of eigenfaces, or a share of the variance in (0, 1). None: 50, or half of the number of images if that is
        less: whitened coordinates along the last components are noise.
    normalize : str or None
        "contrast" subtracts the mean of its pixels from each image and divides by their standard deviation;
        "brightness" only subtracts; None takes the pixels as they are.
    whiten : bool
        Divide each coordinate by its standard deviation over the training faces: all eigenfaces count alike.
    metric : str
        "euclidean" or "cosine" distance of coordinates.
    level : float
        Share of new faces of other people that `is_face` should accept, in (0, 1). A smaller one rejects more of what
        is no face.
    image_shape : tuple or None
        (height, width) or (height, width, 3) for rows of pixels; None: as the images have it, or a square.
    random_state : int or None
        Seed of the folds in which faces are held out; None is seed 0.

    Attributes
    ----------
    pca_ : PCA
        The fitted components: ``explained_variance_ratio_``, ``fit_info_`` and the rest.
    image_shape_ : tuple or None
        Shape of an image; None for rows of pixels that are not a square.
    classes_, codes_ : array or None
        The labels, and the number of the label of each training image; None without labels.
    coordinates_ : array (n, k)
        y of the training images, which new ones are compared with.
    image_names_ : list of str
        Files of the training images, or their numbers.
    held_out_residuals_, threshold_ : array or None, float or None
        Distances to the plane of images that were held out; the largest distance of a face (None of under 3 images).
    n_features_in_ : int
        Number of pixels, counted with colours.

    Examples
    --------
    >>> import lowland
    >>> X, y, _ = lowland.data.digits()
    >>> images = X.reshape(-1, 8, 8)
    >>> model = lowland.images.Eigenfaces(20).fit(images[:1000], y[:1000])
    >>> bool(model.score(images[1000:], y[1000:]) > 0.9)
    True
    >>> model.mean_face_.shape, model.eigenfaces_.shape
    ((8, 8), (20, 8, 8))
    """

    _parameters: ClassVar[Mapping[str, parameters.Rule]] = {
        "n_components": AnyOf((Nothing(), Integer(1), Real(0, 1))),
        "normalize": AnyOf((Choice((CONTRAST, BRIGHTNESS)), Nothing())),
        "whiten": Boolean(),
        "metric": Choice(("euclidean", "cosine")),
        "level": Real(0, 1),
        "image_shape": AnyOf((Nothing(), Integers())),
        "random_state": RANDOM_STATE,
    }
    _state: ClassVar[tuple[str, ...]] = (
        *("pca_", "image_shape_", "classes_", "codes_", "coordinates_", "image_names_"),
        *("held_out_residuals_", "threshold_"),
    )

    pca_: PCA
    image_shape_: tuple[int, ...] | None
    classes_: Array | None
    codes_: Array | None
    coordinates_: Array
    image_names_: list[str]
    held_out_residuals_: Array | None
    threshold_: float | None
    n_features_in_: int

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        normalize: str | None = CONTRAST,
        whiten: bool = True,
        metric: str = "cosine",
        level: float = 0.95,
        image_shape: tuple[int, ...] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_components, self.normalize, self.whiten, self.metric = n_components, normalize, whiten, metric
        self.level, self.image_shape, self.random_state = level, image_shape, random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the eigenfaces of images; ``y`` are names of people, by default the folders of a folder of images."""
        parameters.check(type(self).__name__, self._parameters, self.get_params(deep=False))
        rows, given = self._images(X, reset=True)
        if y is None and given is not None and given.folders is not None:
            y = list(given.folders)
        if len(rows) < 2:
            raise DataError(
                "Eigenfaces needs at least 2 images; got n_samples = 1: there is nothing that differs between images"
            )
        self._check_components(*rows.shape)
        classes, codes = (None, None) if y is None else _labels(y, len(rows))
        z = standardized(rows, self.normalize).rows
        if not np.ptp(z, axis=0).any():
            raise DataError(
                f"Eigenfaces: all {len(rows)} images are the same, brightness and contrast aside "
                f"(n_features = {rows.shape[1]}); there is nothing to learn"
            )
        half = max(1, min(len(z) // 2, z.shape[1] - (self.normalize is not None)))  # their sums are zero
        k = min(COMPONENTS, half) if self.n_components is None else self.n_components
        pca = PCA(k, whiten=self.whiten, random_state=0).fit(z)
        held = held_out_residuals(z, codes, pca.n_components_, 0 if self.random_state is None else self.random_state)
        self.pca_, self.classes_, self.codes_ = pca, classes, codes
        self.coordinates_ = pca.transform(z)
        self.image_names_ = [str(i) for i in range(len(z))] if given is None else list(given.names)
        self.held_out_residuals_ = held
        self.threshold_ = None if held is None else threshold(held, self.level)
        return self

    def _check_components(self, images: int, pixels: int) -> None:
        """Raise DataError if there are more eigenfaces than images or pixels."""
        if is_whole(self.n_components, 1 + (most := min(images, pixels))):
            size = f"({images} images of {pixels} pixels); ask for {most} at most"
            text = f"Eigenfaces: {{n_components}} is more than min(images, pixels) = {most} {size}"
            raise DataError(message(text, n_components=self.n_components))

    def transform(self, X: Any) -> Array:
        """Return the coordinates of images among the eigenfaces, (n, k)."""
        return self.pca_.transform(self._standard(X)[0].rows)

    def inverse_transform(self, X: Any) -> Array:
        """Return rows of pixels for coordinates, without the brightness and contrast, which coordinates do not hold."""
        check_is_fitted(self)
        return self.pca_.inverse_transform(X)

    def predict(self, X: Any) -> Array:
        """Return the label of the training image that is nearest among the eigenfaces, for each image."""
        check_is_fitted(self)
        if self.classes_ is None:
            raise DataError("Eigenfaces was fitted without labels: fit(images, names) to recognise people")
        return self._label(self._nearest(self.transform(X))[0])

    def is_face(self, X: Any) -> Array:
        """Return whether each image lies as near to the plane of the eigenfaces as faces that were held out."""
        check_is_fitted(self)
        if self.threshold_ is None:
            raise DataError("Eigenfaces: a threshold needs at least 3 different images to learn from")
        return self.distance_to_plane(X) <= self.threshold_

    def distance_to_plane(self, X: Any) -> Array:
        """Return the root mean square over pixels of z − m − V y; infinite for an image of one value."""
        standard, rows = self._standard(X)
        return np.where(is_flat(rows), np.inf, residuals(self.pca_, standard.rows))

    def recognize(self, X: Any) -> Recognition:
        """Return who is on each image, which training image is nearest, and whether it is a face."""
        check_is_fitted(self)
        rows, given = self._images(X, reset=False)
        z = standardized(rows, self.normalize).rows
        nearest, distances = self._nearest(self.pca_.transform(z))
        off = np.where(is_flat(rows), np.inf, residuals(self.pca_, z))
        faces = np.ones(len(off), dtype=bool) if self.threshold_ is None else off <= self.threshold_
        return Recognition(
            names=tuple(str(i) for i in range(len(rows))) if given is None else given.names,
            labels=None if self.classes_ is None else self._label(nearest),
            nearest=tuple(self.image_names_[i] for i in nearest),
            distances=distances,
            residuals=off,
            faces=faces,
            threshold=self.threshold_,
        )

    def rebuild(self, X: Any, components: Sequence[int] | None = None) -> Array:
        """Return images rebuilt from the first k eigenfaces, for several k: (len(components), n, height, width).

        ``components`` are by default 0, 10, 30, 40, 50, as far as the model has them; 0 is the mean face. Each image
        has its own brightness and contrast again.
        """
        standard, rows = self._standard(X)
        counts = self.counts if components is None else self._counted(components)
        found = partial_reconstruction(self.pca_, standard.rows, counts).rows
        return standard.back(found).reshape(len(counts), len(rows), *(self.image_shape_ or rows.shape[1:]))

    def error_curve(self, X: Any, components: Sequence[int] | None = None) -> tuple[list[int], Array]:
        """Return numbers of eigenfaces and the root mean square error of the images rebuilt from them.

        The error is in units of each image's contrast: 1 is an image of one grey value.
        """
        standard, _ = self._standard(X)
        counts = list(range(self.pca_.n_components_ + 1)) if components is None else self._counted(components)
        y = self.pca_.transform(standard.rows)
        errors = []
        for k in counts:
            back = self.pca_.inverse_transform(np.where(np.arange(y.shape[1]) < k, y, 0))
            errors.append(np.sqrt(float(np.mean((standard.rows - back) ** 2, dtype=np.float64))))
        return counts, np.array(errors)

    def plot(self, X: Any = None, kind: str = "eigenfaces", **options: Any) -> Any:
        """Draw a sheet and return its matplotlib axes.

        ``kind`` is "eigenfaces" (the mean and the first ones), "rebuilt" (images of X from 0, 10, 30, 40 and 50
        eigenfaces) or "errors" (the error curve of X). ``options``: ``n`` eigenfaces; ``components`` and ``images``
        (numbers of them) of rebuilt ones.
        """
        check_is_fitted(self)
        return show("eigenfaces", self, X, kind, **options)

    @property
    def counts(self) -> list[int]:
        """The numbers 0, 10, 30, 40, 50 of eigenfaces as far as there are so many, and all of them."""
        k = self.pca_.n_components_
        return [count for count in COUNTS if count < k] + [k]

    @property
    def mean_face_(self) -> Array:
        """The mean of the normalised images, in their shape."""
        return self._shaped(np.asarray(self.pca_.mean_)[None])[0]

    @property
    def eigenfaces_(self) -> Array:
        """The components as images, (k, height, width)."""
        return self._shaped(np.asarray(self.pca_.components_))

    @property
    def _n_features_out(self) -> int:
        return int(self.pca_.n_components_)

    def _counted(self, components: Sequence[int]) -> list[int]:
        counts = list(components)
        check_counts(counts, self.pca_.n_components_, "Eigenfaces", "components")
        return counts

    def _shaped(self, rows: Array) -> Array:
        check_is_fitted(self)
        return rows if self.image_shape_ is None else rows.reshape(len(rows), *self.image_shape_)

    def _label(self, nearest: Array) -> Array:
        assert self.classes_ is not None
        assert self.codes_ is not None
        return self.classes_[self.codes_[nearest]]

    def _nearest(self, y: Array) -> tuple[Array, Array]:
        """Return the number of the nearest training image, the first of several, and its distance."""
        if self.metric == "euclidean":
            indices, distances = searcher("euclidean", self.coordinates_).query(y, 1)
            return indices[:, 0], distances[:, 0]
        indices, chords = searcher("euclidean", _unit(self.coordinates_)).query(_unit(y), 1)
        return indices[:, 0], np.where(y.any(axis=1), chords[:, 0] ** 2 / 2, 1.0)  # |a − b|² = 2 − 2 cos

    def _standard(self, X: Any) -> tuple[Standard, Array]:
        check_is_fitted(self)
        rows, _ = self._images(X, reset=False)
        return standardized(rows, self.normalize), rows

    def _images(self, X: Any, *, reset: bool) -> tuple[Array, Images | None]:
        """Return images as rows, and as `Images` where they did not come as a table of pixels."""
        if _is_table(X):
            rows = validate_data(self, X, reset=reset, dtype=(np.float64, np.float32), ensure_min_samples=1)
            if reset:
                self.image_shape_ = _row_shape(self.image_shape, rows.shape[1])
            return rows, None
        size: Any = None
        mode: str | None = None
        if not reset and self.image_shape_ is not None:
            size, mode = self.image_shape_[1::-1], "grey" if len(self.image_shape_) == 2 else "colour"
        given = read(X, image_shape=self.image_shape, image_size=size, image_mode=mode)
        rows = given.rows()
        if reset:
            self.image_shape_, self.n_features_in_ = given.shape, rows.shape[1]
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        elif rows.shape[1] != self.n_features_in_:
            raise DataError(
                f"the images have {rows.shape[1]} pixels, and Eigenfaces was fitted to {self.n_features_in_}"
            )
        return rows, given

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.classifier_tags.poor_score = (
            True  # on tables: the mean of each row is subtracted, and its spread divided out
        )
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _is_table(X: Any) -> bool:
    """Return whether X holds rows of pixels, and not images, files, or a folder of them."""
    if isinstance(X, str | Images) or hasattr(X, "__fspath__") or hasattr(X, "image_shape"):
        return False
    if isinstance(X, list | tuple) and X:
        first = X[0]
        return not (isinstance(first, str) or hasattr(first, "__fspath__") or np.ndim(first) > 1)
    return getattr(X, "ndim", 2) < 3


def _unit(y: Array) -> Array:
    """Return rows of length 1; a row of zeros, which has no direction, stays."""
    length = np.sqrt((y * y).sum(axis=1, keepdims=True))
    return y / np.where(length > 0, length, 1.0)


def _row_shape(shape: tuple[int, ...] | None, pixels: int) -> tuple[int, ...] | None:
    if shape is None:
        side = round(pixels**0.5)
        return (side, side) if side * side == pixels else None
    if int(np.prod(shape)) != pixels:
        raise DataError(Message(Setting("image_shape", tuple(shape)), f" does not fit rows of {pixels} pixels"))
    return tuple(int(side) for side in shape)


def _labels(y: Any, n: int) -> tuple[Array, Array]:
    """Return the labels and the number of each image's; raise if there is not one label for each image."""
    y = column_or_1d(y, warn=True)
    if len(y) != n:
        raise DataError(f"inconsistent numbers of samples: there are {n} images and {len(y)} labels")
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes
