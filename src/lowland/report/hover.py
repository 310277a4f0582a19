"""What the report's map shows when one points at a point: a name, columns, an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .svg import Tip

_LONGEST = 300  # characters of a value


@dataclass(frozen=True)
class Hover:
    """A name, values of columns and an image for each point; each may be missing."""

    n: int
    names: Sequence[str] | None
    columns: Mapping[str, Sequence[Any]]
    images: Sequence[str | None] | None
    title: str = "name"  # of the column that the names are from

    @classmethod
    def of(
        cls,
        n: int,
        names: Sequence[str] | None,
        columns: Any,
        images: Sequence[str | None] | None,
        title: str = "name",
    ) -> Hover:
        """Return it for n points; columns may be a data frame or a mapping."""
        if columns is None:
            listed: dict[str, Sequence[Any]] = {}
        elif hasattr(columns, "to_dict"):
            listed = {str(name): columns[name].to_list() for name in columns.columns}
        else:
            listed = {str(name): list(values) for name, values in columns.items()}
        for name, values in [*listed.items(), ("images", images)]:
            if values is not None and len(values) != n:
                raise ValueError(f"hover: {name} has {len(values)} values for {n} points")
        return cls(n, names, listed, images, title)

    def of_rows(self, rows: Sequence[int]) -> Hover:
        """Return it for some of the points, by their numbers."""

        def chosen(values: Sequence[Any]) -> list[Any]:
            return [values[int(row)] for row in rows]

        names, images = (None if values is None else chosen(values) for values in (self.names, self.images))
        columns = {name: chosen(values) for name, values in self.columns.items()}
        return Hover(len(rows), names, columns, images, self.title)

    @property
    def contents(self) -> str:
        """What is shown, in words: "its name, age and image"; empty if there is nothing."""
        parts = [*(["its name"] if self.names is not None else []), *self.columns]
        parts += ["its image"] if self.images is not None and any(self.images) else []
        return " and ".join([*([", ".join(parts[:-1])] if len(parts) > 1 else []), *parts[-1:]])

    def tips(self, x: Any, y: Any) -> list[Tip]:
        """Return a tip for each point."""
        images = self.images or [None] * self.n
        return [Tip(*place, self._text(i), images[i]) for i, place in enumerate(zip(x, y, strict=True))]

    def _text(self, i: int) -> str:
        lines = [] if self.names is None else [str(self.names[i])]
        lines += [f"{name}: {_short(values[i])}" for name, values in self.columns.items()]
        return "\n".join(lines)


def _short(value: Any) -> str:
    if value is None:
        return "missing"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
