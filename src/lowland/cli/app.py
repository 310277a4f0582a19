"""The list of commands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

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
    image_compress,
    image_denoise,
    image_faces,
    info,
    methods,
    outliers,
    plan,
    plot,
    ranking,
    reduce,
    text,
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
    "image eigenfaces": image_faces.eigenfaces,
    "image recognize": image_faces.recognize,
    "image compress": image_compress.compress,
    "image denoise": image_denoise.denoise,
    "text index": text.index,
    "text search": text.search,
    "text similar": text.similar,
    "text add": text.add,
    "text concepts": text.concepts,
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
    "image eigenfaces": image_faces.KEYS,
    "image recognize": image_faces.RECOGNIZE_KEYS,
    "image compress": image_compress.KEYS,
    "image denoise": image_denoise.KEYS,
    "text index": text.INDEX_KEYS,
    "text search": text.SEARCH_KEYS,
    "text similar": text.SEARCH_KEYS,
    "text add": text.ADD_KEYS,
    "text concepts": text.CONCEPT_KEYS,
    "completion": completion.KEYS,
}

# First words of commands of two words, such as "text" of "text index", each with what these commands are for.
GROUPS: dict[str, str] = {
    "image": "Work on images: eigenfaces and recognition, compression, removal of noise.",
    "text": "Search texts by meaning: index them, search, add further ones, list concepts.",
}


def make_app(commands: Mapping[str, Callable[..., Answer]], groups: Mapping[str, str]) -> App:
    """Return the parser of the commands; a name of two words is a command of the group that its first word names.

    >>> parser = make_app({"text index": lambda: Answer({}, "", "")}, {"text": "Search texts."})
    >>> [name for name in parser["text"] if not name.startswith("-")]
    ['index']
    """
    made = App(
        name="lowland",
        help="Reduce tables to a few dimensions, compare methods, and measure how reliable the maps are.\n\n"
        "Start with `lowland demo`, or with `lowland info DATA` on a table of your own.",
        version=__version__,
        default_parameter=Parameter(negative=()),
        suppress_keyboard_interrupt=False,
    )
    inner: dict[str, App] = {}
    for place, (name, command) in enumerate(commands.items()):
        first, _, second = name.partition(" ")
        if not second:
            made.command(command, name=first, sort_key=place)
            continue
        if first not in inner:
            inner[first] = App(name=first, help=groups[first], sort_key=place, version_flags=())
            made.command(inner[first])
        inner[first].command(command, name=second, sort_key=place)
    return made


app = make_app(COMMANDS, GROUPS)


def command_of(words: Sequence[str], commands: Collection[str] = COMMANDS) -> str:
    """Return the name of the command that a command line calls, of one or two words, or "".

    >>> command_of(["reduce", "a.csv"]), command_of(["text", "index", "docs"], ["text index"]), command_of(["text"])
    ('reduce', 'text index', '')
    """
    return next((name for n in (2, 1) if (name := " ".join(words[:n])) in commands), "")


def app_of(name: str) -> App:
    """Return the parser of one command."""
    found = app
    for word in name.split():
        found = found[word]
    return found


def options_of(words: Sequence[str], aliases: bool = False) -> list[str]:
    """Return the names of the options of the command that is called, with ``aliases`` their other names, too."""
    name = command_of(words)
    if not name:
        return []
    arguments = app_of(name).assemble_argument_collection(default_parameter=app.default_parameter)
    names = [argument.names for argument in arguments]
    return [name for several in names for name in (several if aliases else several[:1])]
