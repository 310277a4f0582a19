"""The list of commands. Each is imported when it is called, so that the help and the others start quickly."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from cyclopts import App, Parameter

from .. import __version__
from .answer import Answer


@dataclass(frozen=True)
class Command:
    """Where the function of a command is, and what the command does: the first line of the function's docstring.

    >>> COMMANDS["inverse"].load().__name__, sorted(COMMANDS["completion"].json_keys())
    ('inverse', ['script', 'shell'])
    """

    place: str
    summary: str
    keys: str = "KEYS"  # the table of its keys of --json, in the same module

    def load(self) -> Callable[..., Answer]:
        """Import and return the function."""
        return self._get(self.place.partition(":")[2])  # type: ignore[no-any-return]

    def json_keys(self) -> Mapping[str, str]:
        """Return what the keys of --json mean."""
        return self._get(self.keys)  # type: ignore[no-any-return]

    def _get(self, name: str) -> Any:
        return getattr(importlib.import_module(self.place.partition(":")[0]), name)


COMMANDS: dict[str, Command] = {
    "demo": Command(
        "lowland.cli.demo:demo",
        "Map 1,797 handwritten digits of 64 pixels with six methods, and recommend one of the maps.",
    ),
    "dataset": Command("lowland.cli.dataset:dataset", "Write a data set by its name, or list the data sets."),
    "info": Command("lowland.cli.info:info", "Describe a table or a model file."),
    "dimension": Command(
        "lowland.cli.dimension:dimension",
        "Estimate the number of dimensions of the data: linear (needed by PCA) and intrinsic (of a curved shape).",
    ),
    "outliers": Command(
        "lowland.cli.outliers:outliers",
        "Find outliers, explain why each is flagged, and measure their effect on the principal axes.",
    ),
    "correlations": Command(
        "lowland.cli.correlations:correlations",
        "Show which columns move together, which are near-duplicates, and how each is correlated with each axis.",
    ),
    "methods": Command("lowland.cli.methods:methods", "List the methods, or the parameters of one."),
    "plan": Command(
        "lowland.cli.plan:plan",
        "Estimate the cost of a reduction without running it: algorithm, memory, rough time, exact or approximate.",
    ),
    "compare": Command(
        "lowland.cli.compare:compare",
        "Fit several methods to a table, measure their maps in the same way, and recommend one.",
    ),
    "downstream": Command(
        "lowland.cli.downstream:downstream",
        "Measure what reducing a table before a learner costs in accuracy and saves in time and memory.",
    ),
    "reduce": Command("lowland.cli.reduce:reduce", "Reduce a table to a few dimensions."),
    "transform": Command(
        "lowland.cli.apply:transform",
        "Reduce new rows with a saved model, which also repeats its preprocessing steps on them.",
    ),
    "inverse": Command("lowland.cli.apply:inverse", "Map coordinates back to the original columns.", "INVERSE_KEYS"),
    "evaluate": Command(
        "lowland.cli.evaluate:evaluate",
        "Measure how reliable a map of a table is: neighbours, distances, and the least reliable rows and groups.",
    ),
    "plot": Command("lowland.cli.plot:plot", "Draw a figure of a saved model, or of a table of coordinates."),
    "pagerank": Command(
        "lowland.cli.ranking:pagerank",
        "Rank the nodes of a graph by PageRank: a random walk along its links, with restarts.",
        "PAGERANK_KEYS",
    ),
    "hits": Command(
        "lowland.cli.ranking:hits", "Rank the nodes of a graph as hubs and authorities (HITS).", "HITS_KEYS"
    ),
    "image eigenfaces": Command(
        "lowland.cli.image_faces:eigenfaces",
        "Learn the eigenfaces of a folder of faces, draw them, and save them for recognition.",
    ),
    "image recognize": Command(
        "lowland.cli.image_faces:recognize",
        "Name the person on each new image, by the nearest training image, and tell whether it is a face at all.",
        "RECOGNIZE_KEYS",
    ),
    "image compress": Command(
        "lowland.cli.image_compress:compress", "Compress an image to a few components and measure size and error."
    ),
    "image denoise": Command(
        "lowland.cli.image_denoise:denoise",
        "Remove noise from images of one kind, such as digits or faces, by what they have in common.",
    ),
    "text index": Command(
        "lowland.cli.text:index",
        "Index texts, so that they can be searched by meaning (latent semantic indexing).",
        "INDEX_KEYS",
    ),
    "text search": Command(
        "lowland.cli.text:search",
        "List the documents that are closest in meaning to a query, with the terms that contribute most.",
        "SEARCH_KEYS",
    ),
    "text similar": Command(
        "lowland.cli.text:similar",
        "List the documents that are closest in meaning to a document of the index.",
        "SEARCH_KEYS",
    ),
    "text add": Command(
        "lowland.cli.text:add", "Add documents to an index without indexing the others again.", "ADD_KEYS"
    ),
    "text concepts": Command(
        "lowland.cli.text:concepts",
        "List the concepts of an index: the terms and documents with the largest weights of each.",
        "CONCEPT_KEYS",
    ),
    "completion": Command(
        "lowland.cli.completion:completion",
        "Print a script that completes commands, options, methods and their parameters in the shell.",
    ),
}

# First words of commands of two words, such as "text" of "text index", each with what these commands are for.
GROUPS: dict[str, str] = {
    "image": "Work on images: eigenfaces and recognition, compression, removal of noise.",
    "text": "Search texts by meaning: index them, search, add further ones, list concepts.",
}


def make_app(commands: Mapping[str, Command], groups: Mapping[str, str], called: str = "") -> App:
    """Return a parser in which all commands are listed, but only the one that is called is imported at once.

    A name of two words is a command of the group that its first word names.

    >>> parser = make_app({"text index": COMMANDS["text index"]}, {"text": "Search texts."})
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
        if second and first not in inner:
            inner[first] = App(name=first, help=groups[first], sort_key=place, version_flags=())
            made.command(inner[first])
        parent, last = (inner[first], second) if second else (made, first)
        if name == called:
            parent.command(command.load(), name=last, sort_key=place)
        else:  # the help of a command that is not imported would be its summary alone
            parent.command(command.place, name=last, sort_key=place, help=command.summary)
    return made


@cache
def parser(called: str = "") -> App:
    """Return the parser of command lines that call the command of this name."""
    return make_app(COMMANDS, GROUPS, called)


def command_of(words: Sequence[str], commands: Collection[str] = COMMANDS) -> str:
    """Return the name of the command that a command line calls, of one or two words, or "".

    >>> command_of(["reduce", "a.csv"]), command_of(["text", "index", "docs"], ["text index"]), command_of(["text"])
    ('reduce', 'text index', '')
    """
    return next((name for n in (2, 1) if (name := " ".join(words[:n])) in commands), "")


def app_of(name: str) -> App:
    """Return the parser of one command."""
    found = parser(name)
    for word in name.split():
        found = found[word]
    return found


def options_of(words: Sequence[str], aliases: bool = False) -> list[str]:
    """Return the names of the options of the command that is called, with ``aliases`` their other names, too."""
    name = command_of(words)
    if not name:
        return []
    arguments = app_of(name).assemble_argument_collection(default_parameter=parser(name).default_parameter)
    names = [argument.names for argument in arguments]
    return [name for several in names for name in (several if aliases else several[:1])]
