"""The data of an interactive scatter as JSON; the format is described in ``explorer/web/README.md``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plots.style import PALETTE
from .columns import packed, packed_column, values_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Array = Any

FORMAT = 1
MAX_POINTS = 100_000  # of more points, a random sample is drawn
MAX_AXES = 10
_MAX_COORDINATES = 400_000  # beyond the first two axes, further ones are kept as long as they are fewer than this
_SCALE_STOPS = 33


def payload(
    embedding: ArrayLike,
    columns: Any = None,
    *,
    id: str | None = None,
    color: str | None = None,
    trust: ArrayLike | None = None,
    trust_name: str = "share of neighbours kept",
    images: Sequence[str | None] | None = None,
    axes: Sequence[str] | None = None,
    rows: ArrayLike | None = None,
    total: int | None = None,
    max_points: int = MAX_POINTS,
    random_state: int = 0,
) -> str:
    """Return the data of a scatter as JSON that is safe inside of a ``<script>`` element.

    Parameters
    ----------
    embedding : coordinates, one row a point; at most ten are kept, fewer for many points.
    columns : a data frame, or a mapping from names to values: what is shown on hover and can colour the points.
    id : the column that identifies rows; None: row numbers, counted from 1.
    color : the column that colours the points at first.
    trust, trust_name : a reliability between 0 and 1 for each point (NaN: not measured), and its name.
    images : an image for each point as a data URI, or None.
    axes : names of the coordinates.
    rows, total : of points that are a random sample of the rows of a table, their numbers in it, counted from 0, and
        how many rows it has.
    max_points : of more points, a random sample is drawn.
    random_state : seed of the sample.

    Examples
    --------
    >>> text = payload([[0.0, 1.0], [2.0, 3.0]], {"group": ["a", "</script>"]}, color="group")
    >>> "</script>" in text, json.loads(text)["columns"][0]["labels"]
    (False, ['</script>', 'a'])
    """
    Y = np.asarray(embedding)
    if Y.ndim != 2 or Y.shape[1] == 0:
        raise ValueError(f"embedding must be a table with one row for each point; its shape is {Y.shape}")
    if not np.isfinite(Y).all():
        row = int(np.flatnonzero(~np.isfinite(Y).all(axis=1))[0])
        raise ValueError(f"embedding has a missing or infinite coordinate in row {row}; leave such rows out")
    listed = named_columns(columns, len(Y))
    names = list(listed)
    for role, name in (("id", id), ("color", color)):
        if name is not None and name not in listed:
            raise ValueError(
                f"{role} must be one of the columns ({', '.join(names) or 'there are none'}); got {name!r}"
            )
    for role, values in (("trust", trust), ("images", images), ("rows", rows)):
        if values is not None and len(np.asarray(values, dtype=object)) != len(Y):
            raise ValueError(f"{role} must have one value for each of the {len(Y)} points")
    drawn = sampled(len(Y), max_points, random_state)
    numbers = drawn if rows is None else _chosen(np.asarray(rows), drawn)
    measured = None if trust is None else _chosen(np.asarray(trust, dtype=np.float32), drawn)
    kept = _kept_axes(Y, axes, drawn)
    record = {
        "format": FORMAT,
        "total": len(Y) if total is None else total,
        "count": len(Y) if drawn is None else len(drawn),
        "rows": None if numbers is None else packed(numbers.astype(np.int32)),
        "axes": kept,
        "columns": [packed_column(name, _chosen(values, drawn)) for name, values in listed.items()],
        "id": None if id is None else names.index(id),
        "color": None if color is None else names.index(color),
        "trust": None if measured is None else {"name": trust_name, "values": packed(measured)},
        "images": None if images is None else _chosen(list(images), drawn),
        "palette": {"groups": list(PALETTE), "scale": _scale()},
    }
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # No character of the text can begin markup; halves of surrogate pairs cannot be written to a file.
    return text.replace("<", "\\u003c").encode("utf-8", "replace").decode("utf-8")


def named_columns(columns: Any, n: int) -> dict[str, list[Any]]:
    """Return columns of a data frame or a mapping as lists, by name; each must have n values.

    >>> named_columns({"a": np.arange(2)}, 2)
    {'a': [0, 1]}
    """
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        listed = {str(name): values_of(values) for name, values in columns.items()}
    else:
        names = getattr(columns, "column_names", None) or columns.columns  # Arrow, or pandas and polars
        listed = {str(name): values_of(columns[name]) for name in names}
    for name, values in listed.items():
        if len(values) != n:
            raise ValueError(f"column {name!r} has {len(values)} values for {n} points")
    return listed


def sampled(n: int, max_points: int, random_state: int) -> Array | None:
    """Return the sorted numbers of the rows that are drawn, or None for all.

    >>> sampled(5, 10, 0) is None, len(sampled(50, 10, 0))
    (True, 10)
    """
    if n <= max_points:
        return None
    return np.sort(np.random.default_rng(random_state).choice(n, max_points, replace=False))


def _chosen(values: Any, rows: Array | None) -> Any:
    if rows is None:
        return values
    return values[rows] if isinstance(values, np.ndarray) else [values[i] for i in rows]


def _kept_axes(Y: Array, names: Sequence[str] | None, rows: Array | None) -> list[dict[str, Any]]:
    n = len(Y) if rows is None else len(rows)
    kept = min(Y.shape[1], MAX_AXES, max(2, _MAX_COORDINATES // max(n, 1)))
    listed = list(names or [])[:kept]
    listed += [f"coordinate {i + 1}" for i in range(len(listed), kept)]
    Z = np.ascontiguousarray(_chosen(Y, rows)[:, :kept].T, dtype=np.float32)
    return [{"name": str(name), "values": packed(z)} for name, z in zip(listed, Z, strict=True)]


def _scale() -> list[str]:
    """Return colours along matplotlib's viridis."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(tone) for tone in colormaps["viridis"](np.linspace(0.0, 1.0, _SCALE_STOPS))]
