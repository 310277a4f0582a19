"""Figures of fitted models by name: what `.plot()`, the command line and reports call; `kind_table` lists them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..core.message import Message, Phrase
from .kind_table import KINDS, ROWS, TABLE, Kind, has_no_grid
from .subject import PlottedModel


def plot(model: Any, X: Any = None, kind: str | None = None, *, ax: Any = None, **options: Any) -> Any:
    """Draw a figure of a fitted model or Pipeline.

    Parameters
    ----------
    model : Reducer or Pipeline
        A fitted method of Lowland, or a Pipeline that contains one, such as `lowland.recipe` makes.
    X : array, optional
        Rows as the model takes them, usually the training rows. Figures of the data need them, and the map does if the
        model does not keep its coordinates.
    kind : str, optional
        The name of a function of `lowland.plots`; default: the U-matrix of a SOM, and the map of other models.
        `plot_kinds` lists those that can be drawn.
    ax : Axes, optional
        Axes to draw on (several for figures of several panels); default: those of a new figure.
    options :
        Further parameters of that function, such as ``color``.

    Returns
    -------
    Axes, or list of Axes
        As the function returns.

    Examples
    --------
    >>> import lowland
    >>> X, _ = lowland.data.swiss_roll(200, random_state=0)
    >>> plot(lowland.Isomap().fit(X), X, kind="shepard").get_ylabel()
    'distance in the map'
    """
    of = PlottedModel(model, X)
    if kind is None:
        kind = "scatter" if has_no_grid(of) is not None else "u_matrix"
    if kind not in KINDS:
        raise KindError(f"{kind!r} is not a kind of figure.", plot_kinds(model))
    row = KINDS[kind]
    reason = row.refuses(of)
    if reason is None and row.needs == ROWS and X is None:
        reason = Message("it is drawn from the training rows; ", _GIVE_ROWS)
    elif reason is not None and row.refuses(PlottedModel(model, _GIVEN)) is None:
        reason = Message(reason, "; ", _GIVE_ROWS)
    if reason is not None:
        text = Message(f"{kind!r} cannot be drawn from this {of.title}: ", reason, ".")
        raise KindError(text, plot_kinds(model))
    given, chosen = row.arguments(of)
    where = {} if ax is None else {"ax": ax}
    return _function(kind)(*given, **where, **{**chosen, **options})


_GIVE_ROWS = Phrase("give the rows as X", "give the table of the rows")
_GIVEN = object()  # stands for rows, where only their presence matters


class KindError(ValueError):
    """A kind of figure cannot be drawn from a model; ``kinds`` are those that can, by name, as `plot_kinds` has them.

    ``reason`` is the message without them.
    """

    def __init__(self, reason: str, kinds: dict[str, str]) -> None:
        listing = "\n".join(f"  {name}: {said}" for name, said in kinds.items())
        super().__init__(Message(reason, f" These can be drawn:\n{listing}"))
        self.reason, self.kinds = reason, kinds

    def __reduce__(self) -> tuple[Any, ...]:
        return KindError, (self.reason, self.kinds)


def plot_kinds(model: Any) -> dict[str, str]:
    """Return the figures that can be drawn from a fitted model, by name, with a line on what they show.

    Those that need the training rows say so. Of images, whose columns are named pixel_0_0, pixel_0_1, …, figures of
    single columns are left out, and of other named columns those that draw images; `plot` draws them all the same.

    Examples
    --------
    >>> import lowland
    >>> X, _ = lowland.data.swiss_roll(100, random_state=0)
    >>> kinds = plot_kinds(lowland.Isomap().fit(X))
    >>> kinds["scatter"], kinds["shepard"]
    ('the map, one point for each row', 'distances in the map against distances in the data (needs X)')
    """
    return {name: KINDS[name].summary + (" (needs X)" if needs else "") for name, needs in needing_rows(model).items()}


def needing_rows(model: Any) -> dict[str, bool]:
    """Return for each figure that can be drawn from a fitted model whether it needs the training rows.

    >>> import lowland
    >>> X, _ = lowland.data.swiss_roll(100, random_state=0)
    >>> kinds = needing_rows(lowland.Isomap().fit(X))
    >>> kinds["scatter"], kinds["shepard"]
    (False, True)
    """
    without, given = PlottedModel(model), PlottedModel(model, _GIVEN)
    return {
        name: row.needs == ROWS or row.refuses(without) is not None
        for name, row in KINDS.items()
        if row.refuses(given) is None and row.suits(given)
    }


def _function(name: str) -> Callable[..., Any]:
    """Return the function of this name."""
    found: Callable[..., Any] = getattr(importlib.import_module(KINDS[name].home), name)
    return found


__all__ = ["KINDS", "TABLE", "Kind", "plot", "plot_kinds"]
