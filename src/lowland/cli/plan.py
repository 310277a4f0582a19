"""`lowland plan`: estimate the cost of a reduction."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from .answer import Answer
from .inputs import read_input
from .model import build_model, fill_in, find_method, scaled_by_step
from .options import Common, DataFile, KeepOptions, MethodOptions, TableOptions
from .reduction import Job
from .running import run
from .scaling import method_scaled_once
from .square_input import warn_of_square
from .wording import in_words

if TYPE_CHECKING:
    from ..contract.reducer import Reducer
    from ..core.cost import Plan
    from .input import Input

KEYS = {
    "data": "the file that was read",
    "rows": "number of rows",
    "columns": "number of columns that would be reduced",
    "plan": "method, algorithm, bytes, model_bytes, seconds (rough), approximate, parts (bytes by name)",
    "further": "rough seconds of what may follow: report (of reduce --report), evaluate, compare (of its default "
    "candidates, at most its default budget)",
    "memory_limit": "memory limit in force, in bytes",
    "fits": "whether the plan stays within the limit",
}


def plan(
    data: DataFile,
    /,
    *,
    method: MethodOptions | None = None,
    columns: TableOptions | None = None,
    keep: KeepOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Estimate the cost of a reduction without running it: algorithm, memory, rough time, exact or approximate.

    The times of a report, of an evaluation and of a comparison are estimated as well. Starting Python,
    loading compiled code and reading the file are not counted.

    Example: lowland plan big.parquet --method pca --components 50
    """
    from ..contract.plan import plan as cost_of
    from ..core.formatting import format_bytes, format_seconds
    from ..core.settings import memory_limit

    options, chosen = method_scaled_once(method or MethodOptions(), columns or TableOptions())
    kept = keep or KeepOptions()
    model = build_model(options)
    categories = "categories" in find_method(options.method).needs
    scale = scaled_by_step(model, options)
    given = read_input(data, chosen, kept, method=model, scale=scale, pairwise=model._pairwise, categories=categories)
    fill_in(model, options, given)
    job = Job(data, options, chosen, kept, coded=given.coded)
    square = warn_of_square(given, by_map=not job.takes_distances)
    cost = run(lambda rows: cost_of(model, rows), given)
    limit = memory_limit()
    fits = cost.bytes <= limit
    further = _further(given)
    facts = {
        "data": data,
        "rows": given.shape[0],
        "columns": given.shape[1],
        "plan": cost.to_dict(),
        "further": further,
        "memory_limit": limit,
        "fits": fits,
    }
    cost = replace(cost, remedy=in_words(cost.remedy))
    verdict = "it fits" if fits else f"it does not fit: {cost.remedy}"
    price = f"{format_bytes(cost.bytes)} and {format_seconds(cost.seconds)}"
    summary = (
        f"{cost.method} by {cost.algorithm} would take {price}; the memory limit is {format_bytes(limit)}: {verdict}."
    )
    table = str(cost)
    width = table.splitlines()[0].index(cost.method)  # where the second column begins
    lines = [f"{name:<{width}}{format_seconds(seconds)} more" for name, seconds in further.items()]
    shown = [Text("\n".join([table, *lines]))]
    following = _next(job, model, cost, fits) if square is None else job.as_distances(square, "plan")
    return Answer(facts, summary, following, shown=shown)


def _further(given: Input) -> dict[str, float]:
    """Return rough times, in seconds, of a report, an evaluation and a comparison."""
    from ..comparison.budget import parse_seconds
    from ..comparison.costs import compare_seconds
    from ..comparison.running import BUDGET
    from ..quality.costs import picture_seconds, report_seconds
    from ..report.trust import PAIRS

    n, width = given.shape
    shown = report_seconds(n, width, pairs=PAIRS)
    compared = compare_seconds(n, width, pairwise=given.pairwise)
    return {
        "report": shown + picture_seconds(n),
        "evaluate": report_seconds(n, width),
        "compare": min(compared, parse_seconds(BUDGET)),
    }


def _next(job: Job, model: Reducer, cost: Plan, fits: bool) -> str:
    """Return the `reduce` command; if it does not fit, one with landmarks or a higher limit."""
    if fits:
        return job.command(out="embedding.csv")
    if "landmarks" in model._parameters and not any(item.startswith("landmarks") for item in job.method.set):
        fewer = replace(job.method, set=(*job.method.set, "landmarks=500"))
        return replace(job, method=fewer).command(command="plan")
    limit = f"LOWLAND_MEMORY_LIMIT={math.ceil(cost.bytes / 1e9)}GB"
    return f"{limit} {job.command(out='embedding.csv')}"
