"""Options of figures, the same on every command that draws, and the axes that they choose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from .answer import UsageError
from .name_lists import split_names

FIGURE = Group("Figure", sort_key=5)
FORMATS = (".png", ".svg", ".pdf")
DPI = 150
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*[x×,]\s*(\d+(?:\.\d+)?)\s*")
_INCHES = (1.0, 60.0)  # smallest and largest side
_DPI = (20, 1200)
_AXES = 3  # most axes of a figure

STYLES = Literal["paper", "slide", "dark"]
FigureFile = Annotated[Path | None, Parameter(help="Draw a figure to this file: .png, .svg or .pdf.")]


@Parameter(name="*", group=FIGURE)
@dataclass(frozen=True)
class LookOptions:
    """Size, resolution and style of a figure."""

    size: Annotated[str | None, Parameter(help="Size of the figure in inches, as WIDTHxHEIGHT, such as 8x6.")] = None
    dpi: Annotated[int | None, Parameter(help=f"Resolution of a .png file, in dots per inch. Default: {DPI}.")] = None
    style: Annotated[
        STYLES | None,
        Parameter(help="Style of the figure: paper (default), slide (larger text and points) or dark."),
    ] = None

    @property
    def inches(self) -> tuple[float, float] | None:
        """Width and height; None for the size that the kind of figure has."""
        if self.size is None:
            return None
        match = _SIZE.fullmatch(self.size)
        sides = (0.0, 0.0) if match is None else (float(match[1]), float(match[2]))
        if not all(_INCHES[0] <= side <= _INCHES[1] for side in sides):
            raise UsageError(
                f"--size {self.size}: write it as WIDTHxHEIGHT in inches, each from {_INCHES[0]:g} to "
                f"{_INCHES[1]:g}, such as 8x6"
            )
        return sides

    def check(self) -> None:
        """Raise `UsageError` for invalid values."""
        _ = self.inches
        if self.dpi is not None and not _DPI[0] <= self.dpi <= _DPI[1]:
            raise UsageError(f"--dpi {self.dpi}: must be from {_DPI[0]} to {_DPI[1]}")

    def words(self) -> dict[str, Any]:
        """Return the options for a command line with the same look."""
        return {"size": self.size, "dpi": self.dpi, "style": self.style}


_LOOK = LookOptions()


@dataclass(frozen=True)
class AxisNaming:
    """How a method names the axes of its maps: pca0, pca1 … as columns, PCA 1, PCA 2 … in figures."""

    column: str
    title: str

    @classmethod
    def of(cls, method: str) -> AxisNaming:
        """Return how a method, such as "pca", names them."""
        from .model import find_method

        row = find_method(method)
        return cls(row.class_name.lower(), row.title)

    def number(self, part: str) -> int | None:
        """Return the number of an axis, counted from 1; None for other texts.

        >>> AxisNaming("pca", "PCA").number("pca2"), AxisNaming("pca", "PCA").number("PCA 3 (5.3 %)")
        (3, 3)
        """
        if part.isdecimal():
            return int(part) or None
        column = re.fullmatch(rf"{re.escape(self.column)}(0|[1-9][0-9]*)", part)
        shown = re.fullmatch(rf"{re.escape(self.title)} ([1-9][0-9]*)( \(.*\))?", part)
        return int(column[1]) + 1 if column else int(shown[1]) if shown else None

    @property
    def example(self) -> str:
        """Names of the first axes, as columns and as in figures."""
        return f"{self.column}0, {self.column}1, …, or {self.title} 1, {self.title} 2, …"


@Parameter(name="*", group=FIGURE)
@dataclass(frozen=True)
class MapFigureOptions:
    """A figure of a map: file, axes and look."""

    figure: FigureFile = None
    axes: Annotated[
        str | None,
        Parameter(
            help="Axes of the map to draw, by number, counted from 1, or by the names of their columns: 1,3 or "
            "pca0,pca2; three axes give a 3-D figure. Default: 1,2."
        ),
    ] = None
    look: LookOptions = _LOOK

    def check(self, components: str | None = None, naming: AxisNaming | None = None) -> None:
        """Raise `UsageError` for what cannot be drawn, before any work.

        ``components`` are those that will be kept, and ``naming`` is how their method names them, if this is known.
        """
        if self.figure is None:
            unused = [name for name, value in self.words().items() if value is not None]
            if unused:
                option = f"--{unused[0].replace('_', '-')}"
                raise UsageError(f"{option} applies to a figure: add --figure FILE, such as --figure map.png")
            return
        check_format("--figure", self.figure)
        self.look.check()
        numbers = axis_numbers_in(self.axes, naming)
        if components is not None and components.isdecimal() and numbers and max(numbers) > int(components):
            kept = int(components)
            listed = "" if naming is None else f" ({_listed([f'{naming.column}{i}' for i in range(kept)])})"
            raise _not_kept(self.axes or "", max(numbers), kept, listed)

    def words(self) -> dict[str, Any]:
        """Return the options for a command line with the same figure."""
        return {"figure": self.figure, "axes": self.axes, **self.look.words()}


@Parameter(name="*", group=FIGURE)
@dataclass(frozen=True)
class FigureOptions(MapFigureOptions):
    """The figure of a command: file, kind, axes and look."""

    figure_kind: Annotated[
        str | None,
        Parameter(help="Kind of figure, such as map, biplot or shepard; an unknown kind lists those of the method."),
    ] = None

    def check(self, components: str | None = None, naming: AxisNaming | None = None) -> None:
        """Raise `UsageError` for what cannot be drawn, before any work; see `MapFigureOptions`."""
        super().check(components, naming)
        if self.figure_kind is not None:
            from .figure_kinds import check_kind

            check_kind("--figure-kind", self.figure_kind)

    def words(self) -> dict[str, Any]:
        """Return the options for a command line with the same figure."""
        return {**super().words(), "figure_kind": self.figure_kind}


NO_FIGURE = FigureOptions()


def check_format(option: str, path: Path) -> None:
    """Raise `UsageError` if a file is not of a format of figures."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"{option} {path}: the name must end in one of {', '.join(FORMATS)}")


def axis_numbers_in(text: str | None, naming: AxisNaming | None) -> list[int]:
    """Return the numbers of the axes in a text, before their map is known; names that cannot exist are refused.

    Without ``naming`` only numbers are returned.
    """
    parts = [] if text is None else _parts(text)
    if naming is None:
        return [int(part) for part in parts if part.isdecimal()]
    numbers = [(part, naming.number(part)) for part in parts]
    for part, number in numbers:
        if number is None:
            raise _unknown(part, str(text), naming.example)
    return [number for _, number in numbers if number is not None]


def chosen_axes(text: str | None, names: Sequence[str], labels: Sequence[str] = ()) -> tuple[int, ...]:
    """Return the axes to draw, counted from 1; ``names`` are those of the coordinates, ``labels`` those in figures.

    >>> chosen_axes("2,3", ["pca0", "pca1", "pca2"]), chosen_axes("pca0", ["pca0", "pca1"]), chosen_axes(None, ["x"])
    ((2, 3), (1,), (1,))
    >>> chosen_axes("PCA 2,PCA 1", ["pca0", "pca1"], ["PCA 1 (61.2 %)", "PCA 2 (9.5 %)"])
    (2, 1)
    """
    if text is None:
        return tuple(range(1, min(2, len(names)) + 1))
    numbers = tuple(_number(part, text, names, labels) for part in _parts(text))
    if len(set(numbers)) < len(numbers):
        raise UsageError(f"--axes {text}: the same axis is named twice")
    return numbers


def _parts(text: str) -> list[str]:
    parts = split_names([text], "--axes") or []
    if len(parts) > _AXES:
        raise UsageError(f"--axes {text}: a figure shows at most {_AXES} axes")
    return parts


def _number(part: str, text: str, names: Sequence[str], labels: Sequence[str]) -> int:
    for called in (names, labels, [label.partition(" (")[0] for label in labels]):
        if part in called:
            return list(called).index(part) + 1
    listed = _listed(names)
    if not part.isdecimal() or int(part) == 0:
        raise _unknown(part, text, listed)
    if int(part) > len(names):
        raise _not_kept(text, int(part), len(names), f" ({listed})")
    return int(part)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:6])}{' …' if len(names) > 6 else ''}"


def _unknown(part: str, text: str, listed: str) -> UsageError:
    return UsageError(f"--axes {text}: there is no axis {part!r}; axes are counted from 1, or named: {listed}")


def _not_kept(text: str, number: int, kept: int, listed: str) -> UsageError:
    only = "only 1 was" if kept == 1 else f"only {kept} were"
    return UsageError(f"--axes {text}: axis {number} was not kept, {only}{listed}; fit with --components {number}")
