"""`lowland image eigenfaces` and `lowland image recognize`: learn faces, and name those of new images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.table import Table as Grid

from ..core.command_line import command_line, stem_of
from .answer import Answer, UsageError, note
from .image_options import Folder, ImageOptions, SheetFile, check_sheet, chosen_images, write_sheet
from .options import COMPONENTS, Common, OutFile
from .outputs import check_outputs
from .progress import progress_bar

KEYS = {
    "images": "the folder or file that was read",
    "n_images": "number of images",
    "shape": "height, width and, in colour, 3",
    "people": "names of the people: the subfolders; null if there are none",
    "components": "number of eigenfaces",
    "variance": "share of the variance that they hold",
    "threshold": "largest distance to the plane of a face, or null",
    "rebuilt": "root mean square error by number of eigenfaces, in contrasts of the images",
    "normalize": "how each image is standardised: contrast, brightness or none",
    "out": "sheet of eigenfaces, or null",
    "faces": "sheet of rebuilt faces, or null",
    "model": "model file, or null",
}
RECOGNIZE_KEYS = {
    "model": "the model file",
    "images": "the folder or file that was read",
    "n_images": "number of images",
    "names": "files of the images, or their numbers",
    "labels": "label of the nearest training image of each; null if the model has no labels",
    "nearest": "nearest training image of each",
    "distances": "distance to it among the eigenfaces",
    "residuals": "distance to the plane of the eigenfaces, in contrasts of the image",
    "faces": "whether each image is taken for a face",
    "threshold": "largest residual of a face, or null",
    "right": "share of images in subfolders that have the label of their folder; null without such subfolders",
    "out": "file with the table, or null",
}


def eigenfaces(
    images: Folder,
    /,
    *,
    components: Annotated[
        int | None, Parameter(name=COMPONENTS, help="Number of eigenfaces. Default: 50, or half of the images.")
    ] = None,
    normalize: Annotated[
        Literal["contrast", "brightness", "none"],
        Parameter(
            help="How each image is standardised: its brightness is subtracted and the result divided by its contrast; "
            "only the brightness is subtracted; or nothing is changed."
        ),
    ] = "contrast",
    level: Annotated[
        float, Parameter(help="Share of faces of other people that should be taken for faces, between 0 and 1.")
    ] = 0.95,
    out: SheetFile = None,
    faces: Annotated[
        Path | None,
        Parameter(help="Write a sheet of faces rebuilt from 0, 10, 30, 40 and 50 eigenfaces here: .png, .svg or .pdf."),
    ] = None,
    show: Annotated[
        str | None,
        Parameter(help="Numbers of the images on that sheet, from 0, such as 0,5,9. Default: 4, of different people."),
    ] = None,
    model: Annotated[
        Path | None, Parameter(help="Save the model here, for `lowland image recognize`: faces.lowland.")
    ] = None,
    reading: ImageOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Learn the eigenfaces of a folder of faces, draw them, and save them for recognition.

    Subfolders are the names of people. The eyes must lie at the same place in all images: faces are not searched for.
    Brightness and contrast of each image are removed first. Images of other things will do, if all show the same kind.

    Example: lowland image eigenfaces people/ --out eigenfaces.png --model faces.lowland
    """
    from ..images.eigenfaces import Eigenfaces

    check_sheet("--out", out)
    check_sheet("--faces", faces)
    check_outputs({"figure": "--out"}, figure=out, model=model, inputs=(images,))
    check_outputs({"figure": "--faces"}, figure=faces, inputs=(images, *([] if out is None else [out])))
    if not 0 < level < 1:
        raise UsageError(f"--level {level}: must be between 0 and 1")
    if components is not None and components < 1:
        raise UsageError(f"--components {components}: must be 1 or greater")
    given = (reading or ImageOptions()).read(images)
    chosen = chosen_images(show, len(given))
    how = None if normalize == "none" else normalize
    with progress_bar():
        fitted = Eigenfaces(components, normalize=how, level=level).fit(given)
    if out is not None:
        write_sheet(out, fitted.plot())
    if faces is not None:
        write_sheet(faces, fitted.plot(given, kind="rebuilt", images=chosen))
    if model is not None:
        from ..modelfile import save

        save(fitted, model)
    counts, errors = fitted.error_curve(given, fitted.counts)
    people = None if fitted.classes_ is None else [str(name) for name in fitted.classes_]
    facts: dict[str, Any] = {
        "images": images,
        "n_images": len(given),
        "shape": given.shape,
        "people": people,
        "components": fitted.pca_.n_components_,
        "variance": float(fitted.pca_.explained_variance_ratio_.sum()),
        "threshold": fitted.threshold_,
        "rebuilt": {str(k): float(error) for k, error in zip(counts, errors, strict=True)},
        "normalize": normalize,
        "out": out,
        "faces": faces,
        "model": model,
    }
    if model is not None:
        following = command_line("image", "recognize", model, "NEW")
    else:
        following = _same(
            images, components, normalize, level, out, reading, model=f"{stem_of(images)}-eigenfaces.lowland"
        )
    return Answer(facts, _summary(facts), following, shown=[_curve(facts)])


def _same(
    images: Path, components: int | None, normalize: str, level: float, out: Path | None, reading: Any, **more: Any
) -> str:
    """Return the command with its options that are not the default, and more."""
    words = {
        "components": components,
        "normalize": None if normalize == "contrast" else normalize,
        "level": None if level == 0.95 else level,
        "out": out,
        **({} if reading is None else reading.words()),
        **more,
    }
    return command_line("image", "eigenfaces", images, **words)


def _summary(facts: dict[str, Any]) -> str:
    from ..core.formatting import count, format_share

    people = "" if facts["people"] is None else f" of {count(len(facts['people']), 'folder')}"
    many = "1 eigenface holds" if facts["components"] == 1 else f"{facts['components']} eigenfaces hold"
    return (
        f"{many} {format_share(facts['variance'])} of the variance of {count(facts['n_images'], 'image')}{people}, "
        "after subtracting the brightness of each and dividing by its contrast."
        if facts["normalize"] == "contrast"
        else f"{many} {format_share(facts['variance'])} of the variance of {count(facts['n_images'], 'image')}{people}."
    )


def _curve(facts: dict[str, Any]) -> Grid:
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("eigenfaces", justify="right")
    grid.add_column("error (contrasts)", justify="right")
    for k, error in facts["rebuilt"].items():
        grid.add_row(k, f"{error:.3f}")
    return grid


def recognize(
    model: Annotated[Path, Parameter(help="Model file written by `lowland image eigenfaces --model`.")],
    images: Folder,
    /,
    *,
    out: OutFile = None,
    common: Common | None = None,
) -> Answer:
    """Name the person on each new image, by the nearest training image, and tell whether it is a face at all.

    New images are brought to the size of the training images. If they lie in subfolders with names of people whom the
    model knows, the share of right answers is given.

    Example: lowland image recognize faces.lowland new/ --out names.csv
    """
    from ..core.formatting import count
    from ..images.eigenfaces import Eigenfaces
    from ..images.stack import read
    from ..modelfile import load

    if images.suffix.lower() == ".lowland":
        raise UsageError(f"{images} is a model file, but the second argument must be images: give MODEL, then IMAGES")
    check_outputs(out=out, inputs=(model, images))
    fitted = load(model)
    if not isinstance(fitted, Eigenfaces):
        raise UsageError(
            f"{model} contains {type(fitted).__name__}; `lowland image eigenfaces --model` writes a model of faces"
        )
    shape = fitted.image_shape_
    size: dict[str, Any] = (
        {} if shape is None else {"image_size": shape[1::-1], "image_mode": "grey" if len(shape) == 2 else "colour"}
    )
    given = read(images, image_shape=shape, **size)
    for text in given.notes:
        note(text)
    with progress_bar():
        found = fitted.recognize(given)
    table, right = found.table(), _right(fitted, given.folders, found.labels)
    facts = {
        "model": model,
        "images": images,
        "n_images": len(found),
        "names": found.names,
        "labels": found.labels,
        "nearest": found.nearest,
        "distances": found.distances,
        "residuals": found.residuals,
        "faces": found.faces,
        "threshold": found.threshold,
        "right": right,
        "out": out,
    }
    summary = f"{count(int(found.faces.sum()), 'image')} of {len(found):,} taken for faces."
    if right is not None:
        summary += f" {100 * right:.1f} % of those in known folders have the label of their folder."
    if out is not None:
        from ..data.writing import write_table

        write_table(out, table)
    following = command_line("image", "recognize", model, images, out="names.csv")
    return Answer(
        facts, summary, command_line("info", model) if out else following, rows=table if out is None else None
    )


def _right(fitted: Any, folders: Any, labels: Any) -> float | None:
    """Return the share of images in folders of known people that have their name."""
    if folders is None or labels is None:
        return None
    known = {str(name) for name in fitted.classes_}
    pairs = [(str(a), b) for a, b in zip(labels, folders, strict=True) if b in known]
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else None
