"""`lowland demo`: a complete run on bundled data, without files and network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..core.command_line import command_line
from .answer import Answer, UsageError, note
from .options import Common

KEYS = {
    "data": "the table of digits that was written",
    "recommendation": "the recommended candidate: key, method, parameters, prefer (criterion), verdict, space (what "
    "the map is compared with), reasons, ties, not_good_for",
    "methods": "what was measured of each method's map, best first: local (neighbours), geodesic (geodesic "
    "distances), direct (distances), target (digits recognised), score",
    "out": "file with the coordinates of the recommended map",
    "report": "the page",
}

# One method of each kind, with fixed settings and no time limit, so that every run makes the same maps.
_METHODS = ("pca", "isomap", "kernel_pca", "laplacian_eigenmaps", "tsne", "umap")


def demo(
    *,
    folder: Annotated[Path, Parameter(help="Folder to write to; it is created if needed.")] = Path("lowland-demo"),
    common: Common | None = None,
) -> Answer:
    """Map 1,797 handwritten digits of 64 pixels with six methods, and recommend one of the maps.

    Writes digits.csv, embedding.csv (the recommended map) and demo.html. Needs no file and no network; the same run
    writes the same files.

    Example: lowland demo --folder try-it
    """
    from ..comparison import compare
    from ..contract.registry import method
    from ..data.catalogue.loading import load_dataset
    from ..data.writing import embedding_frame, write_table
    from ..report.html import write_page
    from .demo_page import figures, render

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise UsageError(f"--folder {folder} is a file; name a folder") from error
    except OSError as error:
        raise UsageError(f"--folder {folder} cannot be created: {error.strerror}") from error
    digits = load_dataset("digits")
    pixels, labels = digits.X, digits.aside["digit"].to_numpy()
    file, out, report = folder / "digits.csv", folder / "embedding.csv", folder / "demo.html"
    write_table(file, digits.to_polars())
    with _method_notes():
        found = compare(pixels, _METHODS, budget=None, target=labels, sample=None)
    advice = found.recommend()
    best = method(advice.method).title
    place = found.maps[advice.key].Y
    axes = [f"{method(advice.method).class_name.lower()}{i}" for i in range(place.shape[1])]
    write_table(out, embedding_frame(place, axes, None, digits.aside))
    made = {"out": "map.csv", "report": "map.html", "model": "map.lowland"}
    again = command_line("reduce", file, method=advice.method, color="digit", **made)
    commands = {
        "Map all digits, with a report and a model for new digits:": again,
        "Describe a table of your own:": "lowland info TABLE.csv",
        "Compare methods on it:": "lowland compare TABLE.csv",
    }
    text = render(found, advice, place, pixels.reshape(-1, 8, 8), labels.tolist(), commands)
    write_page(report, text)
    measured = figures(found)
    lines = ", ".join(f"{method(name).title} {row['score']:.2f}" for name, row in measured.items())
    facts = {"data": file, "recommendation": advice.to_dict(), "methods": measured, "out": out, "report": report}
    summary = f"Recommended: {best} (scores: {lines}; 1 is perfect). Open {report} in a browser."
    return Answer(facts, summary, next(iter(commands.values())))


@contextmanager
def _method_notes() -> Iterator[None]:
    """Print the name of each method on stderr when it starts."""
    from ..contract.registry import method
    from ..core.settings import config

    seen: list[str] = []

    def progress(stage: str, done: int, total: int | None) -> None:
        key, _, step = stage.partition(": ")
        if step.startswith("compiling") and not seen:
            seen.append("compiling")
            note("compiling (the first run only)")
        if step and key in _METHODS and key not in seen:
            seen.append(key)
            number = sum(name in _METHODS for name in seen)
            note(f"{number} of {len(_METHODS)}: {method(key).title}")

    with config(progress=progress):
        yield


__all__ = ["KEYS", "demo"]
