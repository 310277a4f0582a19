"""`lowland pagerank` and `lowland hits`: rank the nodes of a graph by its links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.table import Table as Grid

from ..core.command_line import command_line, name_after
from .answer import Answer, UsageError, note
from .figure_options import FIGURE, LookOptions, MapFigureOptions
from .figures import draw_with, write_figure
from .name_lists import split_names
from .options import OUT, Common
from .outputs import check_outputs, only_numbers
from .progress import progress_bar
from .reading_options import ReadingOptions

if TYPE_CHECKING:
    from ..ranking.result import Ranking

_READING = ReadingOptions()
_MOST_DRAWN = 100

EdgeFile = Annotated[
    Path,
    Parameter(
        help="Edges, one a row: names of two nodes and perhaps a weight (.csv, .tsv, .txt, .parquet, …), numbers of "
        "nodes (.npy), or an adjacency matrix (.mtx, sparse .npz); - for standard input."
    ),
]
Top = Annotated[int, Parameter(name=("--top", "-k"), help="Number of nodes to list and to draw.")]
Out = Annotated[
    Path | None,
    Parameter(name=OUT, help="Write the scores of all nodes here: .csv, .tsv, .parquet, … (.npy and .npz: no names)."),
]
Figure = Annotated[
    Path | None,
    Parameter(group=FIGURE, help="Draw the highest scores to this file: .png, .svg or .pdf."),
]

_GRAPH_KEYS = {
    "edges": "the file that was read",
    "nodes": "number of nodes",
    "n_edges": "number of edges, repeated ones counted each time",
    "directed": "whether edges have a direction",
    "weighted": "whether edges have weights",
    "iterations": "number of steps (PageRank) or of products with the adjacency matrix (HITS)",
    "residual": "PageRank: 1-norm of the last change; HITS: residual of the singular vectors relative to the norm",
    "converged": "whether the residual is at most the tolerance",
    "out": "file with the scores of all nodes, or null",
    "figure": "figure file, or null",
}
PAGERANK_KEYS = {
    **_GRAPH_KEYS,
    "top": "the nodes with the highest scores: node, score",
    "damping": "probability to follow a link",
    "dangling": "number of nodes without links out",
}
HITS_KEYS = {
    **_GRAPH_KEYS,
    "authorities": "the best authorities: node, score",
    "hubs": "the best hubs: node, score",
    "normalize": "what the scores are divided by: max, sum or l2",
    "eigenvalue": "largest eigenvalue of the product of the adjacency matrix and its transpose",
    "gap": "relative distance of the leading singular value to the next",
    "tied": "multiplicity of the leading singular value; 1: the scores are unique",
}


@Parameter(name="*")
@dataclass(frozen=True)
class EdgeOptions:
    """Which columns hold the edges, and whether they have a direction."""

    source: Annotated[
        str | None, Parameter(help="Column of the nodes where links begin. Default: the first of two or three columns.")
    ] = None
    link_target: Annotated[
        str | None, Parameter(help="Column of the nodes where links end. Default: the second column.")
    ] = None
    weight: Annotated[
        str | None,
        Parameter(help="Column of weights, or none to ignore the third column. Default: the third column, if any."),
    ] = None
    undirected: Annotated[bool, Parameter(help="Edges are links in both directions.", show_default=False)] = False
    reading: ReadingOptions = _READING

    def arguments(self) -> dict[str, Any]:
        """Return the parameters of the library."""
        weight: str | bool | None = False if self.weight == "none" else self.weight
        return {
            "source": self.source,
            "target": self.link_target,
            "weight": weight,
            "directed": False if self.undirected else None,
        }

    def read(self, edges: Path) -> Any:
        """Read a file of edges."""
        from ..ranking.edge_tables import read_edges

        chosen = self.arguments()
        columns = {name: chosen[name] for name in ("source", "target", "weight")}
        return read_edges(edges, **columns, **self.reading.set_options())

    def words(self) -> dict[str, Any]:
        """Return the options for a command line on the same edges."""
        own = {"source": self.source, "link_target": self.link_target, "weight": self.weight}
        return {**own, "undirected": self.undirected, **self.reading.words()}


_EDGES = EdgeOptions()


def pagerank(
    edges: EdgeFile,
    /,
    *,
    columns: EdgeOptions | None = None,
    damping: Annotated[float, Parameter(help="Probability to follow a link, from 0 to 0.999.")] = 0.85,
    personalization: Annotated[
        tuple[str, ...],
        Parameter(
            help="Nodes at which the walk starts again, separated by commas, each perhaps with a weight: home,news=2. "
            "Default: all nodes alike.",
            show_default=False,
        ),
    ] = (),
    tol: Annotated[
        float, Parameter(help="Stop when a step changes the scores by at most this, summed over all nodes.")
    ] = 1e-10,
    max_iter: Annotated[int, Parameter(help="Maximum number of steps.")] = 1000,
    top: Top = 20,
    out: Out = None,
    figure: Figure = None,
    look: LookOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Rank the nodes of a graph by PageRank: a random walk along its links, with restarts.

    Repeated edges add their weights; a link of a node to itself counts; at a node without links out the walk starts
    again. The names of the nodes are kept.

    Example: lowland pagerank links.csv --top 10 --out scores.csv --figure scores.png
    """
    chosen = columns or _EDGES
    _check_parameters(damping=damping, tol=tol, max_iter=max_iter)

    def work(table: Any) -> Ranking:
        from ..ranking import pagerank as rank

        restart = _weights(personalization, table, chosen)
        return rank(table, damping, restart, tol=tol, max_iter=max_iter, **chosen.arguments())

    found, drawing = _ranked(edges, chosen, top, out, figure, look, work)
    facts = {
        **_facts(found, edges, out, drawing),
        "top": _pairs(found.top(top)),
        "damping": found.damping,
        "dangling": found.dangling,
    }
    following = command_line("hits", edges, **chosen.words())
    if out is None:
        walk = {"damping": None if damping == 0.85 else damping, "personalization": personalization}
        following = command_line("pagerank", edges, **chosen.words(), **walk, out=name_after(edges, "pagerank", ".csv"))
    return Answer(facts, found.sentence, following, shown=[_grid({"PageRank": found.top(top)})])


def hits(
    edges: EdgeFile,
    /,
    *,
    columns: EdgeOptions | None = None,
    normalize: Annotated[
        Literal["max", "sum", "l2"],
        Parameter(help="max: the largest score is 1; sum: they sum to 1; l2: their squares sum to 1."),
    ] = "max",
    top: Top = 20,
    out: Out = None,
    figure: Figure = None,
    look: LookOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Rank the nodes of a graph as hubs and authorities (HITS).

    Good hubs link to good authorities, and good authorities are linked from good hubs: the leading singular vectors of
    the adjacency matrix. Repeated edges add their weights. The names of the nodes are kept.

    Example: lowland hits links.csv --top 10 --out scores.csv --figure scores.png
    """
    chosen = columns or _EDGES

    def work(table: Any) -> Ranking:
        from ..ranking import hits as rank

        return rank(table, normalize, **chosen.arguments())

    found, drawing = _ranked(edges, chosen, top, out, figure, look, work)
    authorities, hubs = found.top(top), found.top(top, "hubs")
    facts = {
        **_facts(found, edges, out, drawing),
        "authorities": _pairs(authorities),
        "hubs": _pairs(hubs),
        **{name: getattr(found, name) for name in ("normalize", "eigenvalue", "gap", "tied")},
    }
    following = command_line("pagerank", edges, **chosen.words())
    if out is None:
        following = command_line("hits", edges, **chosen.words(), out=name_after(edges, "hits", ".csv"))
    return Answer(facts, found.sentence, following, shown=[_grid({"authority": authorities, "hub": hubs})])


def _check_parameters(**values: Any) -> None:
    """Raise `UsageError` for parameters that are invalid for any graph, before any work."""
    from ..contract.parameters import check
    from ..ranking.random_walk import RULES

    try:
        check("pagerank", RULES, values)
    except ValueError as error:
        raise UsageError(error.args[0]) from error


def _ranked(
    edges: Path,
    chosen: EdgeOptions,
    top: int,
    out: Path | None,
    figure: Path | None,
    look: LookOptions | None,
    work: Callable[[Any], Ranking],
) -> tuple[Any, MapFigureOptions]:
    """Read the edges, rank the nodes, and write the scores and the figure."""
    drawing = MapFigureOptions(figure, look=look or LookOptions())
    drawing.check()
    check_outputs(out=out, figure=figure, inputs=(edges,))
    if top < 1 or (figure is not None and top > _MOST_DRAWN):
        limit = f"from 1 to {_MOST_DRAWN} with --figure" if top > 0 else "at least 1"
        raise UsageError(f"--top {top}: must be {limit}")
    table = chosen.read(edges)
    for text in table.notes:
        note(text)
    with progress_bar():
        found = work(table)
    if out is not None:
        from ..data.writing import write_table

        frame = found.to_frame()
        write_table(out, frame.drop("node") if only_numbers(out) else frame)
    if figure is not None:
        write_figure(drawing, draw_with(lambda: found.figure(top), drawing.look))
    return found, drawing


def _weights(words: tuple[str, ...], table: Any, chosen: EdgeOptions) -> dict[Any, float] | None:
    """Read nodes with weights; names of nodes that are numbers become numbers."""
    names = split_names(words, "--personalization")
    if names is None:
        return None
    whole = _numbered(table, chosen)
    weights: dict[Any, float] = {}
    for word in names:
        name, equals, number = word.rpartition("=")
        try:
            value = float(number) if equals else 1.0
        except ValueError:
            name, value, equals = word, 1.0, ""
        key = name if equals else word
        weights[int(key) if whole and key.lstrip("-").isdecimal() else key] = value
    return weights


def _numbered(table: Any, chosen: EdgeOptions) -> bool:
    """Return whether nodes are numbers."""
    from ..data.arraytable import ArrayTable, SparseTable

    if isinstance(table, ArrayTable | SparseTable):
        return True
    ends = (chosen.source or table.names[0], chosen.link_target or table.names[min(1, len(table.names) - 1)])
    return all(table.column(name).dtype.is_integer() for name in ends)


def _facts(found: Ranking, edges: Path, out: Path | None, drawing: MapFigureOptions) -> dict[str, Any]:
    return {
        "edges": edges,
        "nodes": found.n_nodes,
        **{name: getattr(found, name) for name in ("n_edges", "directed", "weighted")},
        **{name: getattr(found, name) for name in ("iterations", "residual", "converged")},
        "out": out,
        "figure": drawing.figure,
    }


def _pairs(rows: list[tuple[Any, float]]) -> list[dict[str, Any]]:
    return [{"node": name, "score": score} for name, score in rows]


def _grid(tops: dict[str, list[tuple[Any, float]]]) -> Grid:
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("rank", justify="right")
    for title in tops:
        grid.add_column("node" if len(tops) == 1 else title, overflow="fold")
        grid.add_column(title if len(tops) == 1 else "score", justify="right", no_wrap=True)
    for place, rows in enumerate(zip(*tops.values(), strict=True), start=1):
        grid.add_row(str(place), *(cell for name, score in rows for cell in (str(name), f"{score:.4g}")))
    return grid
