"""`lowland demo`: a whole run on bundled data, with no file and no network."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .answer import Answer, UsageError
from .compare import Budget, check_budget, perform
from .inputs import read_input
from .options import ColumnOptions, Common, KeepOptions, MethodOptions
from .reduce import KEYS as REDUCE_KEYS
from .reduce import Job
from .reduce import perform as reduce_with

KEYS = {**REDUCE_KEYS, "recommendation": "which method was taken, and why", "comparison": "page of the comparison"}

# One of each kind; with these the demonstration takes about half a minute.
_METHODS = ("pca", "isomap", "kernel_pca", "laplacian_eigenmaps", "tsne", "umap")
_COMPARING = 0.6  # share of the budget; the rest is for the fit of all rows, the pages and the start


def demo(
    *,
    folder: Annotated[Path, Parameter(help="Folder to write to; it is made if needed.")] = Path("lowland-demo"),
    budget: Budget = "40s",
    common: Common | None = None,
) -> Answer:
    """Compare methods on 1,797 handwritten digits of 64 pixels and reduce them to 2 dimensions with the best.

    Writes digits.csv, comparison.html, embedding.csv, digits.lowland and report.html. Needs no file and no network.

    Example: lowland demo --folder try-it
    """
    import polars as pl

    from ..comparison.budget import parse_seconds
    from ..data.samples import digits
    from ..data.writing import write_table

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise UsageError(f"--folder {folder} is a file; name a folder") from error
    except OSError as error:
        raise UsageError(f"--folder {folder} cannot be made: {error.strerror}") from error
    check_budget(budget)
    pixels, labels, names = digits()
    table = pl.DataFrame({"digit": labels, **{name: pixels[:, i] for i, name in enumerate(names)}})
    file, color = folder / "digits.csv", KeepOptions(color="digit")
    write_table(file, table)
    given = read_input(file, ColumnOptions(), color)
    seconds = f"{_COMPARING * parse_seconds(budget):.3g}s"
    found = perform(given, "digit", {"methods": _METHODS, "budget": seconds})
    advice = found.recommend()
    ran = ",".join(name for name in _METHODS if name in {entry["method"] for entry in found.ranked()})
    command = ["lowland", "compare", str(file), "--target", "digit", "--methods", ran, "--budget", seconds]
    found.to_html(folder / "comparison.html", title="Methods for 1,797 handwritten digits", command=shlex.join(command))
    chosen = tuple(f"{name}={value}" for name, value in advice.parameters.items() if name != "n_components")
    job = Job(
        file,
        MethodOptions(method=advice.method, components="2", set=chosen),
        ColumnOptions(),
        color,
        folder / "embedding.csv",
        folder / "digits.lowland",
        folder / "report.html",
    )
    answer = reduce_with(job)
    pages = f"{folder / 'comparison.html'} and {folder / 'report.html'}"
    summary = f"Take {advice.key}. {advice.reasons[0]} {answer.summary} Open {pages} in a browser."
    facts = {**answer.facts, "recommendation": advice.to_dict(), "comparison": folder / "comparison.html"}
    following = replace(job, method=MethodOptions(components="0.9"), report=folder / "more.html")
    return Answer(facts, summary, following.command(out=str(folder / "more.csv"), model=None))


__all__ = ["KEYS", "demo"]
