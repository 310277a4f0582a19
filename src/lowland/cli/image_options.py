"""What the commands on images share: options of reading, sheets, and files of images."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from .answer import UsageError, note
from .figure_options import LookOptions, check_format
from .figures import save_figure
from .options import OUT

if TYPE_CHECKING:
    from ..images.stack import Images

READING = Group("Reading the images", sort_key=10)
Folder = Annotated[
    Path,
    Parameter(
        name="IMAGES",
        help="Folder of images (also in subfolders), a pattern such as 'faces/*.png', or an array (.npy, .npz).",
    ),
]
SheetFile = Annotated[Path | None, Parameter(name=OUT, help="Write a sheet of pictures here: .png, .svg or .pdf.")]


@Parameter(name="*", group=READING)
@dataclass(frozen=True)
class ImageOptions:
    """How images are read; None: detected."""

    image_size: Annotated[
        str | None,
        Parameter(help="Resize all images to WIDTHxHEIGHT, such as 64x64. Default: the most frequent size."),
    ] = None
    image_mode: Annotated[
        Literal["grey", "colour"] | None, Parameter(help="Read images in grey or in colour. Default: grey if all are.")
    ] = None
    image_shape: Annotated[
        str | None,
        Parameter(help="HEIGHTxWIDTH of an image, or HEIGHTxWIDTHx3, for an array whose rows are pixels."),
    ] = None

    def read(self, source: Path) -> Images:
        """Read images, and print what was done to them."""
        from ..images.stack import read

        found = read(source, **self.set_options())
        for text in found.notes:
            note(text)
        return found

    def set_options(self) -> dict[str, Any]:
        """Return the options that are set, as `lowland.images.read` takes them."""
        sides = {"image_size": _sides("--image-size", self.image_size, (2,))}
        sides["image_shape"] = _sides("--image-shape", self.image_shape, (2, 3))
        return {**sides, "image_mode": self.image_mode}

    def words(self) -> dict[str, Any]:
        """Return the options for a command line that reads the same."""
        return {"image_size": self.image_size, "image_mode": self.image_mode, "image_shape": self.image_shape}


def _sides(option: str, text: str | None, lengths: tuple[int, ...]) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) not in lengths or not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise UsageError(f"{option} {text}: write it as whole numbers with x between them, such as 64x64")
    return tuple(int(part) for part in parts)


def check_sheet(option: str, path: Path | None) -> None:
    """Raise `UsageError` if a sheet cannot be written in the format of its name."""
    if path is not None:
        check_format(option, path)


def write_sheet(path: Path, axes: Any) -> None:
    """Write the figure of axes."""
    save_figure(path, (axes[0] if isinstance(axes, list) else axes).figure, LookOptions())


def chosen_images(text: str | None, n: int, option: str = "--show") -> list[int] | None:
    """Return the numbers of images to draw; None if the command chooses them."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) < n for part in parts):
        raise UsageError(f"{option} {text}: give numbers of images from 0 to {n - 1}, separated by commas")
    return [int(part) for part in parts]
