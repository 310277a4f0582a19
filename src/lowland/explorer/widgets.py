"""The interactive scatter in notebooks (anywidget)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..contract.axis_names import axis_labels
from ..core.errors import DataError, MissingExtraError
from .columns import values_of
from .fragment import HOW_TO_GET, script
from .payload import payload
from .scales import own_scales

Array = Any


def widget(
    frame: Any,
    x: Any = None,
    y: str | int | None = None,
    color: Any = None,
    text: str | Sequence[str] | None = None,
    image: str | None = None,
) -> Any:
    """Show columns of a table, or an array, as an interactive scatter in a notebook (needs ``lowland[widget]``).

    ``widget(model, X)`` shows the map of a fitted model or Pipeline, such as `lowland.recipe` makes; X are rows to
    place on it, by default the training rows. ``.selection()`` of the result returns the selected rows as a table of
    the kind that was given.

    Parameters
    ----------
    frame : a data frame (pandas, polars, Arrow), or an array of coordinates; or a fitted model or Pipeline.
    x, y : the columns of the coordinates, by name or number; the first two by default. Columns of very different ranges
        have scales of their own, and the names of the axes say so. Of a model, x are the rows.
    color : a column, or one value for each row.
    text : columns shown on hover; for frames the default is the colour and the columns that are not numbers.
    image : a column of paths of images, shown on hover.

    Examples
    --------
    >>> import lowland, pandas
    >>> frame = pandas.DataFrame({"x": [0.0, 1.0], "y": [2.0, 0.5], "name": ["a", "b"]})
    >>> plot = lowland.widget(frame, x="x", y="y", color="name")  # doctest: +SKIP
    >>> plot.selection()  # doctest: +SKIP
    """
    if hasattr(frame, "transform") and hasattr(frame, "fit"):
        if y is not None or image is not None:
            raise ValueError("widget(model, X) shows a map, which has no columns y and image; give color and text")
        return widget_of_model(frame, x, color, text)
    named = _columns_of(frame)
    if named is None:
        Y = np.asarray(frame)
        first, second = (0 if x is None else int(x)), (1 if y is None else int(y))
        others = [i for i in range(Y.shape[1]) if i not in (first, second)] if Y.ndim == 2 else []
        order = [first, second, *others] if Y.ndim == 2 and Y.shape[1] > 1 else [0]
        return _show(Y[:, order], [f"coordinate {i + 1}" for i in order], {}, color, None, frame)
    numeric = [name for name, values in named.items() if _is_numeric(values)]
    places = [_place(name, default, numeric, named) for name, default in ((x, 0), (y, 1))]
    Y = np.column_stack([np.array(named[name], dtype=np.float64) for name in places])
    if not np.isfinite(Y).all():
        raise DataError(f"the columns {places[0]!r} and {places[1]!r} have missing values; drop those rows first")
    Y, separate = own_scales(Y, places)
    axes = [f"{name} (own scale)" for name in places] if separate else places
    listed = [text] if isinstance(text, str) else list(text or [n for n in named if n not in numeric and n != image])
    for name in [*listed, *([image] if image else [])]:
        if name not in named:
            raise ValueError(f"{name!r} is not a column; the columns are {', '.join(named)}")
    shown = {name: named[name] for name in listed}
    if isinstance(color, str):
        if color not in named:
            raise ValueError(f"color must be a column or one value for each row; the columns are {', '.join(named)}")
        shown[color] = named[color]
    return _show(Y, axes, shown, color, None if image is None else _images(named[image]), frame)


def widget_of_model(model: Any, X: Any = None, color: Any = None, text: Any = None) -> Any:
    """Show the map of a fitted model or Pipeline; ``X`` are rows to place, and what ``.selection()`` returns."""
    method = model.steps[-1][1] if hasattr(model, "steps") else model
    if X is None and not hasattr(method, "embedding_"):
        name = type(method).__name__
        call = "model.widget(X)" if method is model else "widget(model, X)"
        raise ValueError(f"{name} stores no map of its training rows; give them: {call}")
    Y = np.asarray(method.embedding_ if X is None else model.transform(X))
    named = (None if X is None else _columns_of(X)) or {}
    listed = [text] if isinstance(text, str) else list(text or [])
    shown = {}
    for name in [*listed, *([color] if isinstance(color, str) else [])]:
        if name not in named:
            raise ValueError(f"{name!r} is not a column of X; the columns are {', '.join(named) or 'not named'}")
        shown[name] = named[name]
    return _show(Y, axis_labels(method), shown, color, None, Y if X is None else X)


def _show(Y: Array, axes: list[str], shown: dict[str, Any], color: Any, images: Any, frame: Any) -> Any:
    columns = dict(shown)
    chosen = color if isinstance(color, str) else None
    if color is not None and chosen is None:
        chosen = str(getattr(color, "name", None) or "color")
        columns[chosen] = values_of(color)
    data = payload(Y, columns, color=chosen, images=images, axes=axes)
    return _widget_class()(data=data, frame=frame)


@cache
def _widget_class() -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise MissingExtraError(
            'widgets need anywidget, which is not installed: pip install "lowland[widget]"'
        ) from error
    code = script("widget")
    if code is None:
        raise DataError(HOW_TO_GET)

    class ScatterWidget(anywidget.AnyWidget):  # type: ignore[misc]
        """An interactive scatter; `selection` returns the selected rows."""

        _esm = code
        data = traitlets.Unicode().tag(sync=True)
        selected = traitlets.List(traitlets.Int()).tag(sync=True)

        def __init__(self, data: str, frame: Any) -> None:
            super().__init__(data=data)
            self.frame = frame

        def selection(self) -> Any:
            """Return the selected rows of the frame or array that was given, in its order."""
            return rows_of(self.frame, list(self.selected))

    return ScatterWidget


def rows_of(frame: Any, rows: list[int]) -> Any:
    """Return rows of a table as a table of the same kind.

    >>> rows_of(np.eye(3), [2]).tolist(), rows_of([[1, 2], [3, 4]], [1])
    ([[0.0, 0.0, 1.0]], [[3, 4]])
    """
    if _columns_of(frame) is not None:
        import narwhals as nw

        return nw.from_native(frame, eager_only=True)[rows].to_native()
    return frame[rows] if hasattr(frame, "shape") else [frame[i] for i in rows]


def _columns_of(frame: Any) -> dict[str, list[Any]] | None:
    """Return the columns of a data frame by name; None if it is not one."""
    import narwhals as nw

    known = nw.from_native(frame, eager_only=True, pass_through=True)
    if not isinstance(known, nw.DataFrame):
        return None
    return {name: known[name].to_list() for name in known.columns}


def _is_numeric(values: list[Any]) -> bool:
    return all(type(value) in (int, float) for value in values if value is not None)


def _place(name: str | int | None, default: int, numeric: list[str], named: dict[str, list[Any]]) -> str:
    if name is None:
        if len(numeric) <= default:
            raise ValueError("x and y must be given: the table has fewer than two numeric columns")
        return numeric[default]
    found = list(named)[name] if isinstance(name, int) and -len(named) <= name < len(named) else name
    if found not in numeric:
        raise ValueError(f"x and y must be numeric columns ({', '.join(numeric) or 'there are none'}); got {name!r}")
    return str(found)


def _images(paths: list[Any]) -> list[str | None]:
    import polars as pl

    from ..data.thumbnails import thumbnails

    return list(thumbnails(pl.Series(paths), Path.cwd()).uris)
