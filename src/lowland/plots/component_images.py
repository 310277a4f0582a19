"""Components as images: eigenimages, and images rebuilt from the first components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..methods.steps.chain import split_at_method
from ..quality.model_axes import dense, is_model, model_axes
from ..quality.rebuilt_rows import partial_reconstruction
from .component_parts import diverging
from .style import axes_for, current, grid_of_axes, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = Any

IMAGES_MOST = 100  # more images would be too small to see


def eigenimages(
    model: Any, shape: tuple[int, ...], *, n: int = 16, mean: bool = True, columns: int | None = None
) -> list[Axes]:
    """Draw the mean and the components as a sheet of images; red is positive, blue negative, the middle zero.

    Each component has its own symmetric scale: only the pattern counts, and its sign is arbitrary.

    Parameters
    ----------
    model : fitted model with components over pixels (PCA, ICA, LPP, …), or an array of components, (k, pixels).
    shape : (height, width) of an image, or (height, width, 3) in colour; components are then drawn about mid-grey.
    n : components to draw, the first ones.
    mean : draw the mean image first, if the model has one.
    columns : images in a row; default: about as many as rows.

    Examples
    --------
    >>> import lowland
    >>> X, _, _ = lowland.data.digits()
    >>> sheet = eigenimages(lowland.PCA(5).fit(X), (8, 8), n=5)
    >>> [ax.get_title() for ax in sheet[:2]]
    ['mean', '1 (14.9 %)']
    """
    V, labels, middle = _components(model, mean)
    shape = _shape(shape, V.shape[1])
    height, width = shape[:2]
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= IMAGES_MOST:
        raise ValueError(f"n must be a whole number from 1 to {IMAGES_MOST}; got {n!r}")
    V = V[:n]
    count = len(V) + (middle is not None)
    across = columns or int(np.ceil(np.sqrt(1.4 * count)))
    side = 1.25 if count > 4 else 1.8
    title = 0.024 * current().font
    panels = grid_of_axes(-(-count // across), across, width=side, height=side * height / width + title)
    for panel in panels:
        panel.set_axis_off()
    used = panels[:count]
    if middle is not None:
        draw_image(used[0], middle.reshape(shape), "mean")
    for panel, v, label in zip(used[count - len(V) :], V, labels, strict=False):
        top = float(np.abs(v).max()) or 1.0
        draw_image(panel, v.reshape(shape), label, limits=(-top, top))
    return used


def reconstructions(
    model: Any,
    X: Any,
    shape: tuple[int, ...],
    *,
    k: Sequence[int] = (0, 10, 30, 50),
    rows: Sequence[int] | None = None,
) -> list[Axes]:
    """Draw rows as images, rebuilt from the first k components, beside the original, with what is lost.

    Under each image is the share of the row that is lost, ‖x − x̂_k‖²/‖x − x̂_0‖²; k = 0 is the mean.

    Parameters
    ----------
    model : fitted linear method with `inverse_transform`.
    X : rows of pixels.
    shape : (height, width) of an image, or (height, width, 3) in colour.
    k : numbers of components, from 0 to n_components.
    rows : numbers of the rows to draw, from 0; default: the first four.

    Examples
    --------
    >>> import lowland
    >>> X, _, _ = lowland.data.digits()
    >>> sheet = reconstructions(lowland.PCA(30).fit(X), X, (8, 8), k=(0, 30), rows=[3])
    >>> [ax.get_title() for ax in sheet], sheet[1].get_xlabel()
    (['mean', 'k = 30', 'original'], '3.8 % lost')
    """
    X = dense(X)
    shape = _shape(shape, X.shape[1] if X.ndim == 2 else 0)
    height, width = shape[:2]
    chosen = list(range(min(4, len(X)))) if rows is None else list(rows)
    if not chosen or not all(0 <= int(i) < len(X) for i in chosen):
        raise ValueError(f"rows are numbers from 0 to {len(X) - 1}; got {rows!r}")
    if (len(k) + 1) * len(chosen) > IMAGES_MOST:
        raise ValueError(f"{(len(k) + 1) * len(chosen)} images are too many for one figure; give fewer rows")
    found = partial_reconstruction(model, X[chosen], list(k))
    across = len(k) + 1
    text = 0.026 * current().font
    panels = grid_of_axes(len(chosen), across, width=1.5, height=1.3 * height / width + text)
    low, high = float(X[chosen].min()), float(X[chosen].max())
    for i in range(len(chosen)):
        for j in range(len(k)):
            title = _name_of(found.counts[j], model) if i == 0 else ""
            panel = draw_image(panels[i * across + j], found.rows[j, i].reshape(shape), title, (low, high), "gray")
            panel.set_xlabel(f"{_percent(found.lost[j, i])} lost", fontsize=current().font, color=current().ink)
        image = X[chosen[i]].reshape(shape)
        draw_image(panels[i * across + len(k)], image, "original" if i == 0 else "", (low, high), "gray")
    return panels


def draw_image(
    ax: Axes, image: Array, title: str = "", limits: tuple[float, float] | None = None, colors: str | None = None
) -> Axes:
    """Draw one image without ticks; grey ones with symmetric limits in diverging colours, others as they are."""
    low, high = limits or (float(image.min()), float(image.max()))
    signed = limits is not None and low == -high
    ax = axes_for(ax)
    if image.ndim == 3:
        image = np.clip((image - low) / ((high - low) or 1.0), 0, 1)
    ax.imshow(image, cmap=colors or (diverging() if signed else "gray"), vmin=low, vmax=high, interpolation="nearest")
    ax.set_axis_on()
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_title(literal(title), fontsize=current().font, color=current().ink, pad=3)
    return ax


def _percent(share: float) -> str:
    """Return a share as a percentage with two digits, such as 100 %, 24 %, 4.3 % and 0.02 %."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 9.95 else f"{value:.1f} %" if value >= 1 else f"{value:.2g} %"


def _name_of(count: int, model: Any) -> str:
    _, method, _ = split_at_method(model)
    return "mean" if count == 0 and getattr(method, "mean_", None) is not None else f"k = {count}"


def _components(model: Any, mean: bool) -> tuple[Array, list[str], Array | None]:
    """Return components as rows, their titles, and the mean or None."""
    if not is_model(model):
        V = dense(model)
        if V.ndim != 2 or 0 in V.shape:
            raise ValueError(f"eigenimages: give a fitted model or an array of components, (k, pixels); got {V.shape}")
        return V, [str(i + 1) for i in range(len(V))], None
    found = model_axes(model, None, "eigenimages", linear=True)
    _, method, _ = split_at_method(model)
    V = np.asarray(method.components_, dtype=np.float64)
    shares = found.shares
    labels = [str(i + 1) if shares is None else f"{i + 1} ({100 * shares[i]:.1f} %)" for i in range(len(V))]
    middle = getattr(method, "mean_", None) if mean else None
    return V, labels, None if middle is None else np.asarray(middle, dtype=np.float64)


def _shape(shape: tuple[int, ...], pixels: int) -> tuple[int, ...]:
    sides = tuple(int(side) for side in shape)
    if len(sides) not in (2, 3) or (len(sides) == 3 and sides[2] != 3) or int(np.prod(sides)) != pixels:
        raise ValueError(f"shape {tuple(shape)} does not fit rows of {pixels} pixels; give (height, width)")
    return sides
