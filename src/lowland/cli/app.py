"""The list of commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cyclopts import App, Parameter

from .. import __version__
from . import (
    apply,
    compare,
    completion,
    correlations,
    dataset,
    demo,
    dimension,
    downstream,
    evaluate,
    info,
    methods,
    outliers,
    plan,
    plot,
    ranking,
    reduce,
)
from .answer import Answer

COMMANDS: dict[str, Callable[..., Answer]] = {
    "demo": demo.demo,
    "dataset": dataset.dataset,
    "info": info.info,
    "dimension": dimension.dimension,
    "outliers": outliers.outliers,
    "correlations": correlations.correlations,
    "methods": methods.methods,
    "plan": plan.plan,
    "compare": compare.compare,
    "downstream": downstream.downstream,
    "reduce": reduce.reduce,
    "transform": apply.transform,
    "inverse": apply.inverse,
    "evaluate": evaluate.evaluate,
    "plot": plot.plot,
    "pagerank": ranking.pagerank,
    "hits": ranking.hits,
    "completion": completion.completion,
}

JSON_KEYS = {
    "demo": demo.KEYS,
    "dataset": dataset.KEYS,
    "info": info.KEYS,
    "dimension": dimension.KEYS,
    "outliers": outliers.KEYS,
    "correlations": correlations.KEYS,
    "methods": methods.KEYS,
    "plan": plan.KEYS,
    "compare": compare.KEYS,
    "downstream": downstream.KEYS,
    "reduce": reduce.KEYS,
    "transform": apply.KEYS,
    "inverse": apply.INVERSE_KEYS,
    "evaluate": evaluate.KEYS,
    "plot": plot.KEYS,
    "pagerank": ranking.PAGERANK_KEYS,
    "hits": ranking.HITS_KEYS,
    "completion": completion.KEYS,
}

app = App(
    name="lowland",
    help="Reduce tables to a few dimensions, compare methods, and measure how reliable the maps are.\n\n"
    "Start with `lowland demo`, or with `lowland info DATA` on a table of your own.",
    version=__version__,
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,
)
for _place, (_name, _command) in enumerate(COMMANDS.items()):
    app.command(_command, name=_name, sort_key=_place)


def options_of(words: Sequence[str], aliases: bool = False) -> list[str]:
    """Return the names of the options of the command that is called, with ``aliases`` their other names, too."""
    if not words or words[0] not in COMMANDS:
        return []
    arguments = app[words[0]].assemble_argument_collection(default_parameter=app.default_parameter)
    names = [argument.names for argument in arguments]
    return [name for several in names for name in (several if aliases else several[:1])]
