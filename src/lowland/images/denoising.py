"""Removal of noise from images by linear or kernel PCA, with the strength chosen by validation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.formatting import count
from ..core.message import Message, Owner, Setting
from ..core.show import show
from ..core.whole import is_whole
from .noise import Trial, noise_level, trial_of_clean, trial_of_noisy
from .stack import Images, read
from .strength import Strength, denoise_kernel, denoise_linear, kernel_errors, linear_errors

Array = Any

METHODS = ("pca", "kernel")
FOLDS = 5
MIN_IMAGES = 4
SEARCHED = 1500  # images at most that a search for the strength of a kernel learns from
_TRIED = 200  # images at most that it is tried on


@dataclass(frozen=True, eq=False)
class Denoised:
    """Images without noise, and how it was removed.

    Attributes
    ----------
    before : Images
        The images as they were read.
    pixels : array
        The images after, in the type they came in.
    method : str
        "pca" or "kernel".
    components : int
        Number of components that are kept.
    width, gamma : float or None
        Width of the Gaussian kernel: as a multiple of the median distance of two images, and as γ; None for PCA.
    noise : float
        Standard deviation of the noise in units of the pixels: given, or estimated.
    errors : dict
        Mean squared error on held-out images for each (components, width) that was tried; empty if both were given.
        Without clean images these are estimates, at noise of 1.25 times the variance.
    notes : tuple of str
        What was done, in words.
    """

    before: Images
    pixels: Array
    method: str
    components: int
    width: float | None
    gamma: float | None
    noise: float
    errors: dict[Strength, float]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        wide = "" if self.width is None else f", width {self.width:g} × median distance"
        return f"Denoised({len(self.before)} images, {self.method}, {self.components} components{wide})"

    @property
    def error(self) -> float | None:
        """The mean squared error on held-out images, estimated; None if components and width were given."""
        return self.errors.get((self.components, self.width))

    @property
    def images(self) -> Images:
        """The images after, with the names of those before."""
        from dataclasses import replace

        return replace(self.before, pixels=self.pixels)

    def plot(self, images: Any = None, **options: Any) -> Any:
        """Draw images before and after, and the difference; ``images`` are their numbers. Return matplotlib axes."""
        return show("denoised images", self, images, **options)


def denoise(
    images: Any,
    method: str = "pca",
    *,
    clean: Any = None,
    components: int | None = None,
    width: float | None = None,
    noise: float | None = None,
    image_shape: tuple[int, ...] | None = None,
    random_state: int | None = None,
) -> Denoised:
    """Remove noise from images of one kind (digits, faces, particles) by projection on their principal components.

    "pca" projects each image on the first principal components; "kernel" projects it on those of a Gaussian kernel and
    finds the image whose features are nearest (Mika et al. 1999). Components are learned from ``clean`` images, or from
    the noisy ones themselves: in five parts, each cleaned by what the others have taught. The noise should be
    independent in all pixels.

    Parameters
    ----------
    images : folder, array or Images
        Noisy images, as `lowland.images.read` takes them; at least 4 without ``clean``.
    method : str
        "pca" or "kernel".
    clean : folder, array or Images, optional
        Other images of the same kind and size without noise, at least 4.
    components : int, optional
        Number of components. Default: that with the smallest error on images that were held out.
    width : float, optional
        Width of the kernel, as a multiple of the median distance of two images. Default: chosen with the components.
    noise : float, optional
        Standard deviation of the noise, in units of the pixels. Default: estimated.
    image_shape : tuple, optional
        (height, width) of rows of pixels.
    random_state : int, optional
        Seed of the parts and of the noise of the trials; None is seed 0.

    Examples
    --------
    >>> import lowland
    >>> X, _, _ = lowland.data.digits()
    >>> rng = np.random.default_rng(0)
    >>> noisy = (X + 4 * rng.standard_normal(X.shape)).reshape(-1, 8, 8)
    >>> found = lowland.images.denoise(noisy)
    >>> before, after = (np.mean((a.reshape(len(X), -1) - X) ** 2) for a in (noisy, found.pixels))
    >>> bool(after < before / 2), round(found.noise)
    (True, 4)
    """
    _check(method, components, width, noise)
    given = read(images, image_shape=image_shape)
    Y = given.rows().astype(np.float64)
    C = None if clean is None else _clean_rows(clean, given, image_shape)
    if C is None and len(Y) < MIN_IMAGES:
        raise DataError(
            Message(
                f"denoise learns from other images, at least {MIN_IMAGES}; got {len(Y)}: give more, or images without "
                "noise as ",
                Setting("clean"),
            )
        )
    learned = Y if C is None else C
    most = min(len(learned) - -(-len(learned) // FOLDS), Y.shape[1] if method == "pca" else len(learned)) - 1
    if components is not None and components > max(most, 1):
        raise DataError(
            Message(Setting("components", components), f": {len(learned)} images teach at most {max(most, 1)}")
        )
    if not np.ptp(learned, axis=0).any():
        raise DataError(Message(Owner("denoise"), "the images do not differ, so there is nothing to learn from them"))
    rng = np.random.default_rng(0 if random_state is None else random_state)
    level = float(noise) if noise is not None else _noise(Y, C, given.shape, rng)
    notes = list(given.notes)
    notes.append(f"noise of standard deviation {level:.3g}" + (", estimated" if noise is None else ""))
    errors: dict[Strength, float] = {}
    if components is None or (width is None and method == "kernel"):
        errors, words = _tried(method, learned, C is not None, level, components, width, rng)
        notes.append(words)
        components, width = min(errors, key=lambda key: (errors[key], key[0]))
    assert components is not None
    after = _cleaned(method, Y, C, components, width, rng)
    gamma = None
    if method == "kernel":
        from .strength import kernel_gamma

        assert width is not None
        gamma = kernel_gamma(learned, width)
    return Denoised(given, _as_pixels(after, given), method, components, width, gamma, level, errors, tuple(notes))


def _noise(Y: Array, C: Array | None, shape: tuple[int, ...], rng: Any) -> float:
    return noise_level(Y, None if C is None else rng.permutation(C), shape)


def _tried(
    method: str, rows: Array, clean: bool, level: float, components: int | None, width: float | None, rng: Any
) -> tuple[dict[Strength, float], str]:
    """Return the errors on held-out images, and in words what was tried."""
    folds = list(_folds(len(rows), rng))
    if method == "kernel" and len(rows) > SEARCHED // 3:
        folds = folds[:1]  # a search fits tens of models
    total: dict[Strength, list[float]] = {}
    for inside, outside in folds:
        train, held = rows[inside], rows[outside]
        if method == "kernel":
            train, held = train[:SEARCHED], held[:_TRIED]
        trial: Trial = (trial_of_clean if clean else trial_of_noisy)(held, level, rng)
        if method == "pca":
            found = linear_errors(train, trial, None if components is None else [components])
        else:
            found = kernel_errors(train, trial, components, width)
        for key, error in found.items():
            total.setdefault(key, []).append(error)
    often = max(len(parts) for parts in total.values())  # places that all searches looked at
    errors = {key: float(np.mean(parts)) for key, parts in total.items() if len(parts) == often}
    inside, outside = folds[0]
    sizes = (
        (min(len(inside), SEARCHED), min(len(outside), _TRIED)) if method == "kernel" else (len(inside), len(outside))
    )
    times = f", {len(folds)} times" if len(folds) > 1 else ""
    return errors, f"strength chosen on {count(sizes[1], 'held-out image')}, learned from {sizes[0]} others{times}"


def _folds(n: int, rng: Any) -> Iterator[tuple[Array, Array]]:
    """Yield the numbers of images inside and outside of each of five parts' complements."""
    order = rng.permutation(n)
    for part in range(min(FOLDS, n)):
        outside = order[part :: min(FOLDS, n)]
        yield np.setdiff1d(order, outside, assume_unique=True), np.sort(outside)


def _cleaned(method: str, Y: Array, C: Array | None, components: int, width: float | None, rng: Any) -> Array:
    def clean_by(train: Array, rows: Array) -> Array:
        if method == "pca":
            return denoise_linear(train, rows, components)
        return denoise_kernel(train, rows, components, width)

    if C is not None:
        return clean_by(C, Y)
    out = np.empty_like(Y)
    for inside, outside in _folds(len(Y), rng):
        out[outside] = clean_by(Y[inside], Y[outside])
    return out


def _as_pixels(rows: Array, given: Images) -> Array:
    """Return rows in the shape and type of the images; whole numbers are rounded and clipped to their range."""
    kind, pixels = given.pixels.dtype, rows.reshape(given.pixels.shape)
    if kind.kind == "f":
        return pixels.astype(kind)
    return np.clip(np.rint(pixels), 0, given.peak).astype(kind)


def _clean_rows(clean: Any, given: Images, shape: tuple[int, ...] | None) -> Array:
    mode = "grey" if given.grey else "colour"
    found = read(clean, image_shape=shape or (given.shape if np.ndim(clean) == 2 else None), image_mode=mode)
    if found.shape != given.shape:
        sizes = [f"{own.shape[1]} × {own.shape[0]}" for own in (found, given)]
        raise DataError(
            f"the clean images have {sizes[0]} pixels and the noisy ones {sizes[1]}; give clean images of the size of "
            "the noisy ones"
        )
    if len(found) < MIN_IMAGES:
        raise DataError(f"there are {len(found)} clean images; at least {MIN_IMAGES} are needed to learn from")
    return found.rows().astype(np.float64)


def _check(method: str, components: Any, width: Any, noise: Any) -> None:
    if method not in METHODS:
        raise DataError(Message(Setting("method", method), ": it must be 'pca' or 'kernel'"))
    if components is not None and not is_whole(components, 1):
        raise DataError(Message(Setting("components", components), ": it must be a whole number from 1 up"))
    if width is not None and method == "pca":
        raise DataError(Message(Setting("width", width), " is of the kernel: use ", Setting("method", "kernel")))
    if width is not None and not 0 < width < np.inf:
        raise DataError(Message(Setting("width", width), ": it must be positive"))
    if noise is not None and not 0 <= noise < np.inf:
        raise DataError(Message(Setting("noise", noise), ": it must be 0 or greater"))
