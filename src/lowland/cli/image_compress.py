"""`lowland image compress`: an image as a few components, with its size and error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table as Grid

from ..core.command_line import command_line
from ..core.formatting import count
from ..data.formats import IMAGES
from .answer import Answer, UsageError, note
from .image_options import SheetFile, check_sheet, write_sheet
from .name_lists import split_counts
from .options import COMPONENTS, Common
from .outputs import check_outputs, check_place

if TYPE_CHECKING:
    from ..images.compression import Compressed

KEYS = {
    "image": "the file that was read",
    "shape": "height, width and, in colour, 3",
    "method": "svd (whole image) or patches",
    "patch": "side of a patch in pixels; 0 for the whole image",
    "bits": "bits of each number that is kept",
    "original_bytes": "size of the plain pixels",
    "results": "for each number of components: components, bytes, ratio, error (root mean square, share of white), "
    "psnr (decibels; null if there is no error)",
    "out": "sheet of pictures, or null",
    "save": "file of the rebuilt image, or null",
}


def compress(
    image: Annotated[Path, Parameter(name="IMAGE", help="Image file: .png, .jpg, .tif, …")],
    /,
    *,
    components: Annotated[
        str,
        Parameter(
            name=COMPONENTS,
            help="Number of components; several, such as 5,20,80, are compared, and the last one is drawn and saved.",
        ),
    ],
    patch: Annotated[
        int | None,
        Parameter(help="Cut the image into squares of this many pixels a side, such as 8. Default: the whole image."),
    ] = None,
    bits: Annotated[int, Parameter(help="Bits of each number that is kept: 8 or 16.")] = 8,
    out: SheetFile = None,
    save: Annotated[Path | None, Parameter(help="Write the rebuilt image here: .png, .tif, …")] = None,
    common: Common | None = None,
) -> Answer:
    """Compress an image to a few components and measure size and error.

    The whole image by its largest singular values, for each colour; or, with --patch, squares of the image by their
    principal components. The size counts all bytes that are needed to rebuild the image. --out draws the image before
    and after and the difference.

    Example: lowland image compress photo.jpg --components 4,12,32 --patch 8 --out sheet.png
    """
    from ..images.compression import compress as pack
    from ..images.compression import one_image

    counts = split_counts(components, "--components")
    check_sheet("--out", out)
    check_outputs({"figure": "--out"}, figure=out, inputs=(image,))
    if save is not None:
        if save.suffix.lower() not in IMAGES:
            raise UsageError(f"--save {save}: the name must end in one of {', '.join(IMAGES)}")
        check_place("--save", save)
        check_outputs({"figure": "--save"}, figure=save, inputs=(image, *([] if out is None else [out])))
    given = one_image(image)
    for text in given.notes:
        note(text)
    found = [pack(given, k, patch=patch, bits=bits) for k in counts]
    last = found[-1]
    if out is not None:
        write_sheet(out, last.plot())
    if save is not None:
        from ..data.imagefiles import write_image

        write_image(save, last.image)
    results = [
        {"components": one.components, "bytes": one.n_bytes, "ratio": one.ratio, "error": one.error, "psnr": one.psnr}
        for one in found
    ]
    facts = {
        "image": image,
        "shape": last.original.shape,
        "method": last.method,
        "patch": last.patch,
        "bits": bits,
        "original_bytes": last.original_bytes,
        "results": results,
        "out": out,
        "save": save,
    }
    taken = f"{count(last.components, 'component')} {'takes' if last.components == 1 else 'take'}"
    summary = (
        f"{taken} {last.n_bytes:,} bytes, {last.original_bytes:,} before; the error is {100 * last.error:.2g} % of "
        "white."
    )
    following = command_line("image", "compress", image, **_other(last, components, out))
    return Answer(facts, summary, following, shown=[_table(results)])


def _other(found: Compressed, components: str, out: Path | None) -> dict[str, Any]:
    """Return the options of another compression of the image: patches, a sheet, or twice as many components."""
    shape, k = found.original.shape, found.components
    side, channels = max(shape[:2]), 1 if len(shape) == 2 else shape[2]
    patch = found.patch or min(8, side)
    drawn = out is not None and (found.patch or side < 2)
    most = patch * patch * channels if side > 1 else 1
    again = components if k <= most else str(most)
    return {
        "components": min(2 * k, most) if drawn else again,
        "patch": patch if side > 1 else None,
        "out": out if drawn else "sheet.png",
    }


def _table(results: list[dict[str, float]]) -> Grid:
    grid = Grid(box=None, pad_edge=False)
    for name in ("components", "bytes", "ratio", "error (% of white)", "PSNR (dB)"):
        grid.add_column(name, justify="right")
    for row in results:
        error = f"{100 * row['error']:.2f}"
        grid.add_row(f"{row['components']:,}", f"{row['bytes']:,}", f"{row['ratio']:.1f}", error, f"{row['psnr']:.1f}")
    return grid
