"""`lowland demo`: a whole run on bundled data, with no file and no network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .answer import Answer, UsageError
from .options import ColumnOptions, Common, KeepOptions, MethodOptions
from .reduce import KEYS, Job, perform


def demo(
    *,
    folder: Annotated[Path, Parameter(help="Folder to write to; it is made if needed.")] = Path("lowland-demo"),
    common: Common | None = None,
) -> Answer:
    """Reduce 1,797 handwritten digits of 64 pixels to 2 dimensions.

    Writes digits.csv, embedding.csv, digits.lowland and report.html. Needs no file and no network.

    Example: lowland demo --folder try-it
    """
    import polars as pl

    from ..data.samples import digits
    from ..data.writing import write_table

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise UsageError(f"--folder {folder} is a file; name a folder") from error
    except OSError as error:
        raise UsageError(f"--folder {folder} cannot be made: {error.strerror}") from error
    pixels, labels, names = digits()
    table = pl.DataFrame({"digit": labels, **{name: pixels[:, i] for i, name in enumerate(names)}})
    write_table(folder / "digits.csv", table)
    job = Job(
        folder / "digits.csv",
        MethodOptions(components="2"),
        ColumnOptions(),
        KeepOptions(color="digit"),
        folder / "embedding.csv",
        folder / "digits.lowland",
        folder / "report.html",
    )
    answer = perform(job)
    summary = f"{answer.summary} Open {folder / 'report.html'} in a browser."
    following = replace(job, method=MethodOptions(components="0.9"), report=folder / "more.html")
    return Answer(answer.facts, summary, following.command(out=str(folder / "more.csv"), model=None))


__all__ = ["KEYS", "demo"]
