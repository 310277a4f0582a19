"""Sheets of images: eigenfaces, rebuilt faces, and images before and after compression or the removal of noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import DataError
from ..core.message import Message, Setting
from .component_images import IMAGES_MOST, draw_image, eigenimages, reconstructions
from .style import axes_for, current, grid_of_axes, literal, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..images.compression import Compressed
    from ..images.denoising import Denoised
    from ..images.eigenfaces import Eigenfaces

Array = Any

KINDS = ("eigenfaces", "rebuilt", "errors")
DIFFERENCES = 99.5  # per cent of the differences that stay inside the colours


def eigenfaces(model: Eigenfaces, X: Any = None, kind: str = "eigenfaces", **options: Any) -> Any:
    """Draw the sheets of `Eigenfaces.plot`."""
    if kind not in KINDS:
        raise ValueError(Message(Setting("kind"), f" must be one of {', '.join(map(repr, KINDS))}; got {kind!r}"))
    if kind != "eigenfaces" and X is None:
        raise ValueError(f"kind {kind!r} draws images: give them as X")
    if kind == "errors":
        return _errors(model, X, **options)
    if model.image_shape_ is None:
        raise DataError(
            Message(
                f"the rows have {model.n_features_in_} pixels, which is not a square: fit with ",
                Setting("image_shape"),
            )
        )
    if kind == "eigenfaces":
        return eigenimages(model.pca_, model.image_shape_, **options)
    return _rebuilt(model, X, **options)


def _rebuilt(
    model: Eigenfaces, X: Any, components: Sequence[int] | None = None, images: Sequence[int] | None = None
) -> list[Axes]:
    standard, rows = model._standard(X)
    chosen = _of_different_people(X, len(rows)) if images is None else images
    counts = model.counts if components is None else list(components)
    assert model.image_shape_ is not None
    return reconstructions(model.pca_, standard.rows, model.image_shape_, k=counts, rows=list(chosen))


def _of_different_people(X: Any, n: int) -> list[int]:
    """Return the first image of each of the first four folders of images; without folders the first four images."""
    folders = getattr(X, "folders", None)
    firsts = list({name: i for i, name in reversed(list(enumerate(folders)))}.values()) if folders else []
    chosen = sorted(firsts)[:4]
    return sorted([*chosen, *(i for i in range(n) if i not in chosen)][:4])


def _errors(model: Eigenfaces, X: Any, ax: Axes | None = None) -> Axes:
    counts, errors = model.error_curve(X)
    look, ax = current(), axes_for(ax, 6.0, 3.8)
    ax.plot(counts, errors, color=look.accent, linewidth=look.line)
    ax.set(xlabel="eigenfaces", ylabel="root mean square error (contrasts)", ylim=(0, None), xlim=(0, None))
    ax.set_title(f"Error of {len(model._standard(X)[1])} rebuilt images")
    return ax


def compressed(found: Compressed) -> list[Axes]:
    """Draw an image before and after compression, and the difference."""
    kind = "whole image" if found.patch == 0 else f"patches of {found.patch} × {found.patch}"
    many = f"{found.components} component" + "s" * (found.components != 1)
    return sheet(
        [[found.original, found.image]],
        ("before", f"after: {many}, {kind}"),
        peak=found.peak,
        captions=[[f"{found.original_bytes:,} bytes", f"{found.n_bytes:,} bytes, error {100 * found.error:.2g} %"]],
        side=3.6,
    )


def denoised(found: Denoised, images: Sequence[int] | None = None) -> list[Axes]:
    """Draw images before and after the removal of noise, and the differences; ``images`` are their numbers."""
    n = len(found.before)
    chosen = list(range(min(5, n))) if images is None else [int(i) for i in images]
    if not chosen or not all(0 <= i < n for i in chosen):
        raise ValueError(f"images are numbers from 0 to {n - 1}; got {images!r}")
    wide = "" if found.width is None else f", width {found.width:g}"
    after = "after: PCA" if found.method == "pca" else "after: kernel PCA"
    pairs = [[found.before.pixels[i], found.pixels[i]] for i in chosen]
    names = [[shorten(found.before.names[i], 28), ""] for i in chosen]
    names[0][1] = f"{found.components} components{wide}"
    whole = found.pixels.dtype.kind in "iu"
    low, high = (0.0, found.before.peak) if whole else (found.pixels[chosen].min(), found.pixels[chosen].max())
    return sheet(pairs, ("before", after), low=float(low), peak=float(high), captions=names, side=1.9)


def sheet(
    pairs: Sequence[Sequence[Array]],
    titles: Sequence[str],
    *,
    peak: float,
    low: float = 0.0,
    captions: Sequence[Sequence[str]] | None = None,
    side: float = 1.7,
) -> list[Axes]:
    """Draw rows of images before and after with their difference: red is brighter after, blue darker.

    ``pairs`` are the images (before, after), ``titles`` stand above the columns, ``captions`` below the
    images; ``low`` is drawn black, ``peak`` white.
    """
    if 3 * len(pairs) > IMAGES_MOST:
        raise ValueError(f"{len(pairs)} images are too many for one sheet; give at most {IMAGES_MOST // 3}")
    height, width = np.shape(pairs[0][0])[:2]
    look = current()
    text = 0.026 * look.font * ((1 if captions else 0) + 1 / len(pairs))  # captions, and titles above the first row
    panels = grid_of_axes(len(pairs), 3, width=side, height=side * height / width + text)
    off = [np.asarray(after, dtype=np.float64) - before for before, after in pairs]
    off = [one if one.ndim == 2 else one.mean(axis=2) for one in off]
    most = float(np.percentile(np.abs(np.stack(off)), DIFFERENCES))
    top = most or 1.0
    for i, (before, after) in enumerate(pairs):
        for j, image in enumerate((before, after)):
            shown = np.asarray(image, dtype=np.float64)
            axes = draw_image(panels[3 * i + j], shown, titles[j] if i == 0 else "", (low, peak), "gray")
            if captions:
                axes.set_xlabel(literal(captions[i][j]), fontsize=look.font, color=look.ink)
        last = draw_image(panels[3 * i + 2], off[i], "difference" if i == 0 else "", (-top, top))
        if captions and i == 0:
            scale = f"darkest colour: {100 * top / (peak - low):.2g} % of white" if most else "none"
            last.set_xlabel(scale, fontsize=look.font, color=look.ink)
    return panels
