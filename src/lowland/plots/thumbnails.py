"""A map of images: images are drawn where there is room, the others as points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .coloring import Groups, group_style, read_colors
from .legends import add_legend, key
from .style import axes_for, current

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

Array = Any


def thumbnails(
    embedding: ArrayLike,
    images: ArrayLike,
    *,
    ax: Axes | None = None,
    color: Any = None,
    color_name: str | None = None,
    size: float = 0.025,
) -> Axes:
    """Draw images at their positions on a map; those that would overlap an earlier image are points.

    Parameters
    ----------
    embedding : two coordinates for each image.
    images : grey values of shape (n, height, width); the largest is drawn in full colour, 0 not at all.
    ax : axes to draw on; None: a new figure.
    color : a group for each image; None: all in one colour.
    color_name : heading of the legend.
    size : height of an image, relative to the figure.

    Examples
    --------
    >>> ax = thumbnails([[0, 1], [1, 0]], np.ones((2, 8, 8)), color=["a", "b"])
    >>> len(ax.images)
    2
    """
    Y, pictures = np.asarray(embedding, dtype=np.float64)[:, :2], np.asarray(images, dtype=np.float64)
    if len(Y) != len(pictures) or pictures.ndim != 3:
        raise ValueError(f"got {len(Y)} coordinates for images of shape {pictures.shape}; give one image for each row")
    groups = read_colors(["" for _ in Y] if color is None else [str(value) for value in color], len(Y))
    assert isinstance(groups, Groups)
    axes = axes_for(ax, 8.0, 6.6)
    low, high = Y.min(axis=0), Y.max(axis=0)
    side = size * max(high - low)
    tone_of = [group_style(code, groups)[0] for code in range(len(groups.labels))]
    tones = np.array([_rgb(tone) for tone in tone_of])[groups.codes]
    drawn = _apart(Y, side)
    axes.scatter(Y[~drawn, 0], Y[~drawn, 1], c=tones[~drawn], s=5, alpha=0.35, linewidths=0, rasterized=True)
    strength = pictures / (pictures.max() or 1.0)
    for i in np.flatnonzero(drawn):
        tinted = np.dstack([*(np.full(strength[i].shape, tone) for tone in tones[i]), strength[i]])
        (x, y), half = Y[i], side / 2
        axes.imshow(tinted, extent=(x - half, x + half, y - half, y + half), interpolation="nearest", zorder=3)
    axes.set(xlim=(low[0] - side, high[0] + side), ylim=(low[1] - side, high[1] + side), xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="box")
    for spine in axes.spines.values():
        spine.set_visible(False)
    if color is not None:
        look = {"marker": "s", "markersize": 7 * current().marker ** 0.5}
        keys = [key(label, color=tone, **look) for label, tone in zip(groups.labels, tone_of, strict=True)]
        add_legend(axes, keys, color_name)
    return axes


def _apart(Y: Array, side: float) -> Array:
    """Return which images are drawn: in row order, each that overlaps no earlier one."""
    drawn = np.zeros(len(Y), dtype=bool)
    for i, place in enumerate(Y):
        drawn[i] = (np.abs(Y[:i][drawn[:i]] - place).max(axis=1, initial=0.0) >= side).all()
    return drawn


def _rgb(tone: str) -> tuple[float, ...]:
    return tuple(int(tone[i : i + 2], 16) / 255 for i in (1, 3, 5))
