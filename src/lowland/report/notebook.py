"""Results as HTML for notebooks: their text and their picture."""

from __future__ import annotations

import hashlib
from html import escape
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .facts import axis_labels, sentence, spectrum_of
from .svg import inline_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..contract.reducer import Reducer

MAX_DRAWN = 20_000  # points of a model's map; of more, evenly spaced ones are drawn


def html_of_figure(figure: Figure | Axes, title: str, text: str) -> str:
    """Return a figure, or that of some axes, as inline SVG below a text.

    >>> from lowland.plots import scree
    >>> drawn = html_of_figure(scree([2.0, 1.0], 3.0, kept=1), "Variance", "a < b")
    >>> drawn.startswith("<pre>a &lt; b</pre>"), "<svg" in drawn
    (True, True)
    """
    # Ids are unique on a page unless the very same result is shown twice.
    prefix = f"lowland-{hashlib.sha256(f'{title}{text}'.encode()).hexdigest()[:12]}"
    svg = inline_svg(cast("Figure", figure.figure), prefix, title, text)
    return f'<pre>{escape(text)}</pre><div style="max-width:46rem;background:#fff;color:#1f2328">{svg}</div>'


def html_of_model(model: Reducer) -> str:
    """Return the map of a fitted model, or its spectrum if it stores no map; empty if it has neither."""
    from ..plots import scatter, scree

    Y = getattr(model, "embedding_", None)
    if Y is not None:
        Y = np.asarray(Y)
        step = -(-len(Y) // MAX_DRAWN)
        drawn: Any = scatter(Y[::step], labels=axis_labels(model))
        some = f" One row in {step} is drawn." if step > 1 else ""
        return html_of_figure(drawn, "Map of the training rows", sentence(model, len(Y)) + some)
    spectrum = spectrum_of(model)
    if spectrum is None:
        return ""
    drawn = scree(spectrum.values, spectrum.total, kept=model.n_components_)
    return html_of_figure(drawn, "Share of variance by component", "Share of the variance of each component.")
