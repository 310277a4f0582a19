"""`lowland image denoise`: take the noise off images of one kind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ..core.command_line import command_line
from ..core.formatting import count
from .answer import Answer, UsageError, note
from .image_options import Folder, ImageOptions, SheetFile, check_sheet, chosen_images, write_sheet
from .options import COMPONENTS, METHOD, Common
from .outputs import check_outputs
from .progress import progress_bar

if TYPE_CHECKING:
    from ..images.denoising import Denoised

KEYS = {
    "images": "the folder or file that was read",
    "n_images": "number of images",
    "shape": "height, width and, in colour, 3",
    "method": "pca or kernel",
    "components": "number of components that are kept",
    "width": "width of the kernel as a multiple of the median distance of two images; null for pca",
    "noise": "standard deviation of the noise in units of the pixels",
    "error": "mean squared error on held-out images, estimated; null if components and width were given",
    "tried": "what was tried: components, width, error",
    "notes": "what was done, in words",
    "out": "sheet of pictures, or null",
    "save": "folder or file of the denoised images, or null",
}


def denoise(
    images: Folder,
    /,
    *,
    method: Annotated[
        Literal["pca", "kernel"],
        Parameter(name=METHOD, help="Linear PCA, or kernel PCA with pre-images (slower, often a smaller error)."),
    ] = "pca",
    clean: Annotated[
        Path | None,
        Parameter(help="Folder of other images of the same kind without noise, to learn from. Default: IMAGES itself."),
    ] = None,
    components: Annotated[
        int | None, Parameter(name=COMPONENTS, help="Number of components. Default: chosen on held-out images.")
    ] = None,
    width: Annotated[
        float | None,
        Parameter(help="Width of the kernel, as a multiple of the median distance of two images. Default: chosen."),
    ] = None,
    noise: Annotated[
        float | None,
        Parameter(help="Standard deviation of the noise, in units of the pixels (0 to 255). Default: estimated."),
    ] = None,
    seed: Annotated[int, Parameter(help="Random seed of the held-out parts and of the noise of the trials.")] = 0,
    out: SheetFile = None,
    show: Annotated[
        str | None, Parameter(help="Numbers of the images on the sheet, from 0, such as 0,5,9. Default: the first 5.")
    ] = None,
    save: Annotated[
        Path | None,
        Parameter(help="Write the denoised images to this new folder under their names, or as one array (.npy)."),
    ] = None,
    reading: ImageOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Remove noise from images of one kind, such as digits or faces, by what they have in common.

    Each image is projected on components that other images have taught. Their number, and the width of the kernel, are
    those with the smallest error on images that were held out. --out draws images before and after and the difference.

    Example: lowland image denoise scans/ --method kernel --out sheet.png --save cleaned/
    """
    from ..images.denoising import denoise as clean_images
    from ..images.stack import read

    check_sheet("--out", out)
    check_outputs({"figure": "--out"}, figure=out, inputs=(images,))
    _check_save(save)
    if seed < 0:
        raise UsageError(f"--seed {seed}: must be 0 or greater")
    if width is not None and method == "pca":
        raise UsageError(f"--width {width:g} is of the kernel: add --method kernel")
    options = reading or ImageOptions()
    given = options.read(images)
    chosen = chosen_images(show, len(given))
    size = (given.shape[1], given.shape[0])
    other = None if clean is None else read(clean, image_size=size, image_mode="grey" if given.grey else "colour")
    for text in () if other is None else other.notes:
        note(f"clean images: {text}")
    choice: dict[str, Any] = {"components": components, "width": width, "noise": noise, "random_state": seed}
    with progress_bar():
        found = clean_images(given, method, clean=other, **choice)
    for text in found.notes[len(given.notes) :]:
        note(text)
    if out is not None:
        write_sheet(out, found.plot(chosen))
    if save is not None:
        _save(found, save)
    facts = {
        "images": images,
        "n_images": len(given),
        "shape": given.shape,
        "method": method,
        "components": found.components,
        "width": found.width,
        "noise": found.noise,
        "error": found.error,
        "tried": [{"components": k, "width": w, "error": error} for (k, w), error in found.errors.items()],
        "notes": found.notes,
        "out": out,
        "save": save,
    }
    wide = "" if found.width is None else f" and a width of {found.width:g} median distances"
    name = "PCA" if method == "pca" else "Kernel PCA"
    summary = f"{name} with {count(found.components, 'component')}{wide} cleaned {count(len(given), 'image')}."
    words: dict[str, Any] = {"clean": clean, **options.words(), "out": "sheet.png" if out is None else "other.png"}
    words["method"] = method if out is None else "kernel" if method == "pca" else "pca"  # draw it, then compare
    return Answer(facts, summary, command_line("image", "denoise", images, **words))


def _check_save(save: Path | None) -> None:
    if save is None:
        return
    if save.suffix.lower() == ".npy":
        check_outputs({"out": "--save"}, out=save)
    elif save.exists() and (not save.is_dir() or any(save.iterdir())):
        raise UsageError(f"--save {save}: it exists and is not an empty folder; choose a new name")
    elif not save.absolute().parent.is_dir():
        raise UsageError(f"--save {save}: folder {str(save.parent)!r} does not exist; create it first")


def _save(found: Denoised, save: Path) -> None:
    """Write the images as files, or as one array; images of real numbers become 0 to 255."""
    import io

    import numpy as np

    from ..data.atomic import atomic_file

    if save.suffix.lower() == ".npy":
        packed = io.BytesIO()
        np.save(packed, found.pixels)
        with atomic_file(save) as file:
            file.write(packed.getvalue())
        return
    from ..data.imagefiles import write_image

    pixels = found.pixels
    if pixels.dtype not in (np.uint8, np.uint16):
        pixels = np.clip(np.rint(255.0 * pixels / found.before.peak), 0, 255).astype(np.uint8)
    os.makedirs(save, exist_ok=True)
    for name, image in zip(_file_names(found.before.names), pixels, strict=True):
        place = save / name
        os.makedirs(place.parent, exist_ok=True)
        write_image(place, image)


def _file_names(names: tuple[str, ...]) -> list[str]:
    """Return the names of PNG files, so that no noise of another format is added; equal stems keep their suffix."""
    stems = [str(Path(name).with_suffix("")) for name in names]
    return [f"{stem}.png" if stems.count(stem) == 1 else f"{name}.png" for stem, name in zip(stems, names, strict=True)]
