"""Components as images: eigenimages, and images rebuilt from the first components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.message import Message, Owner, Phrase
from ..data.pixels import pixel_shape
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
    model: Any,
    shape: tuple[int, ...] | None = None,
    *,
    n: int = 16,
    mean: bool = True,
    columns: int | None = None,
    ax: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw the mean and the components as a sheet of images; red is positive, blue negative, the middle zero.

    Each component has its own symmetric scale: only the pattern counts, and its sign is arbitrary. Components of images
    with colours are drawn in these colours, about a grey that is zero.

    Parameters
    ----------
    model : fitted model with components over pixels (PCA, ICA, LPP, …), or an array of components, (k, pixels).
    shape : height and width of an image, and 3 if its pixels have colours; default: by the names of the columns, where
        these are pixel_0_0, pixel_0_1, …, as of images that Lowland reads.
    n : components to draw, the first ones.
    mean : draw the mean image first, if the model has one.
    columns : images in a row; default: about as many as rows.
    ax : axes to draw on, one for each image; default: those of a new figure.

    Examples
    --------
    >>> import lowland
    >>> X, _, _ = lowland.data.digits()
    >>> sheet = eigenimages(lowland.PCA(5).fit(X), (8, 8), n=5)
    >>> [ax.get_title() for ax in sheet[:2]]
    ['mean', '1 (14.9 %)']
    """
    V, labels, middle = _components(model, mean)
    size = _shape(shape, model, V.shape[1])
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= IMAGES_MOST:
        raise ValueError(f"n must be a whole number from 1 to {IMAGES_MOST}; got {n!r}")
    V = V[:n]
    count = len(V) + (middle is not None)
    across = columns or int(np.ceil(np.sqrt(1.4 * count)))
    side = 1.25 if count > 4 else 1.8
    title = 0.024 * current().font
    used = _sheet(ax, count, across, side, side * size[0] / size[1] + title)
    if middle is not None:
        draw_image(used[0], middle.reshape(size), "mean")
    for panel, v, label in zip(used[count - len(V) :], V, labels, strict=False):
        top = float(np.abs(v).max()) or 1.0
        draw_image(panel, v.reshape(size), label, limits=(-top, top))
    return used


def _sheet(ax: Any, count: int, across: int, width: float, height: float) -> list[Axes]:
    """Return axes for so many images: the given ones, or those of a new figure, of which the others show nothing."""
    if ax is not None:
        given = [ax] if hasattr(ax, "imshow") else list(np.ravel(ax))
        if len(given) != count:
            raise ValueError(f"got {len(given)} axes for {count} images; give one for each")
        return given
    panels = grid_of_axes(-(-count // across), across, width=width, height=height)
    for panel in panels:
        panel.set_axis_off()
    return panels[:count]


def reconstructions(
    model: Any,
    X: Any,
    shape: tuple[int, ...] | None = None,
    *,
    k: Sequence[int] = (0, 10, 30, 50),
    rows: Sequence[int] | None = None,
    ax: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw rows as images, rebuilt from the first k components, beside the original, with what is lost.

    Under each image is the share of the row that is lost, ‖x − x̂_k‖²/‖x − x̂_0‖²; k = 0 is the mean.

    Parameters
    ----------
    model : fitted linear method with `inverse_transform`.
    X : rows of pixels.
    shape : height and width of an image, as in `eigenimages`.
    k : numbers of components, from 0 to n_components.
    rows : numbers of the rows to draw, from 0; default: the first four.
    ax : axes to draw on, one for each image, row by row; default: those of a new figure.

    Examples
    --------
    >>> import lowland
    >>> X, _, _ = lowland.data.digits()
    >>> sheet = reconstructions(lowland.PCA(30).fit(X), X, (8, 8), k=(0, 30), rows=[3])
    >>> [ax.get_title() for ax in sheet], sheet[1].get_xlabel()
    (['mean', 'k = 30', 'original'], '3.8 % lost')
    """
    given, X = X, dense(X)
    size = _shape(shape, model, X.shape[1] if X.ndim == 2 else 0)
    chosen = list(range(min(4, len(X)))) if rows is None else list(rows)
    if not chosen or not all(0 <= int(i) < len(X) for i in chosen):
        raise ValueError(f"rows are numbers from 0 to {len(X) - 1}; got {rows!r}")
    if (len(k) + 1) * len(chosen) > IMAGES_MOST:
        raise ValueError(f"{(len(k) + 1) * len(chosen)} images are too many for one figure; give fewer rows")
    some = given.iloc[chosen] if hasattr(given, "iloc") else given[chosen] if hasattr(given, "columns") else X[chosen]
    found = partial_reconstruction(model, some, list(k))  # a frame keeps the names that the model was fitted with
    across = len(k) + 1
    text = 0.026 * current().font
    panels = _sheet(ax, len(chosen) * across, across, 1.5, 1.3 * size[0] / size[1] + text)
    low, high = float(X[chosen].min()), float(X[chosen].max())
    for i in range(len(chosen)):
        for j in range(len(k)):
            title = _name_of(found.counts[j], model) if i == 0 else ""
            panel = draw_image(panels[i * across + j], found.rows[j, i].reshape(size), title, (low, high), "gray")
            panel.set_xlabel(f"{_percent(found.lost[j, i])} lost", fontsize=current().font, color=current().ink)
        image = X[chosen[i]].reshape(size)
        draw_image(panels[i * across + len(k)], image, "original" if i == 0 else "", (low, high), "gray")
    return panels


def draw_image(
    ax: Axes, image: Array, title: str = "", limits: tuple[float, float] | None = None, colors: str | None = None
) -> Axes:
    """Draw one image without ticks; with symmetric limits in diverging colours, else in grey."""
    low, high = limits or (float(image.min()), float(image.max()))
    signed = limits is not None and low == -high
    ax = axes_for(ax)
    if image.ndim == 3:  # red, green and blue: matplotlib takes them from 0 to 1
        image = np.clip((image - low) / ((high - low) or 1.0), 0.0, 1.0)
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
            raise ValueError(
                Message(
                    Owner("eigenimages"), f"give a fitted model or an array of components, (k, pixels); got {V.shape}"
                )
            )
        return V, [str(i + 1) for i in range(len(V))], None
    found = model_axes(model, None, "eigenimages", linear=True)
    _, method, _ = split_at_method(model)
    V = np.asarray(method.components_, dtype=np.float64)
    shares = found.shares
    labels = [str(i + 1) if shares is None else f"{i + 1} ({100 * shares[i]:.1f} %)" for i in range(len(V))]
    middle = getattr(method, "mean_", None) if mean else None
    return V, labels, None if middle is None else np.asarray(middle, dtype=np.float64)


def _shape(shape: tuple[int, ...] | None, model: Any, pixels: int) -> tuple[int, ...]:
    """Return the shape of images, checked; without one, that which the names of the columns tell."""
    if shape is None:
        found = pixel_shape(model_axes(model, None, "eigenimages").names) if is_model(model) else None
        if found is None:
            raise ValueError(
                Message(
                    "the columns are not named as pixels (pixel_0_0, pixel_0_1, …); ",
                    Phrase("give shape=(height, width)", "only tables of images have such names"),
                )
            )
        return found
    sizes = tuple(int(part) for part in shape)
    if len(sizes) not in (2, 3) or sizes[2:] not in ((), (3,)) or int(np.prod(sizes)) != pixels:
        raise ValueError(f"shape {sizes} does not fit rows of {pixels} pixels; give (height, width)")
    return sizes
