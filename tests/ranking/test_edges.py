"""One graph from every form of edges gives the same ranking; edges that cannot be used are refused with their place."""

from __future__ import annotations

import types

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import lowland
from lowland.ranking import hits, pagerank

ROWS = [("b", "a", 2.0), ("a", "c", 1.0), ("c", "b", 0.5), ("a", "b", 3.0), ("d", "a", 1.0)]
NAMES = ["b", "a", "c", "d"]  # in the order of their first edge
NUMBERS = np.array([[NAMES.index(a), NAMES.index(b), w] for a, b, w in ROWS])
FRAME = pl.DataFrame(ROWS, schema=["from", "to", "times"], orient="row")


class Networkx:
    """What the room uses of networkx: `nodes`, `edges(data=True)`, `is_directed`."""

    adjacency = None

    def __init__(self, rows, nodes, directed=True, weight="weight"):
        self.nodes, self._rows, self._directed, self._weight = nodes, rows, directed, weight

    def edges(self, data):
        assert data
        return [(a, b, {} if w is None else {self._weight: w}) for a, b, w in self._rows]

    def is_directed(self):
        return self._directed


class Sequence:
    """A vertex or edge sequence of igraph."""

    def __init__(self, n, **columns):
        self._n, self._columns = n, columns

    def __len__(self):
        return self._n

    def attributes(self):
        return list(self._columns)

    def __getitem__(self, name):
        return self._columns[name]


def igraph(directed=True, **columns):
    pairs = [(NAMES.index(a), NAMES.index(b)) for a, b, _ in ROWS]
    return types.SimpleNamespace(
        vs=Sequence(4, name=NAMES),
        es=Sequence(5, **columns),
        get_edgelist=lambda: pairs,
        is_directed=lambda: directed,
    )


def forms(folder):
    FRAME.write_csv(folder / "links.csv")
    FRAME.write_parquet(folder / "links.parquet")
    weights = [w for _, _, w in ROWS]
    matrix = sp.coo_array((NUMBERS[:, 2], tuple(NUMBERS[:, :2].astype(int).T)), shape=(4, 4))
    sp.save_npz(folder / "links.npz", sp.csr_array(matrix))
    np.save(folder / "links.npy", NUMBERS)
    return {
        "list": ROWS,
        "objects": np.array(ROWS, dtype=object),
        "polars": FRAME,
        "pandas": FRAME.to_pandas(),
        "arrow": FRAME.to_arrow(),
        "table": lowland.data.read(folder / "links.csv"),
        "csv": folder / "links.csv",
        "parquet": str(folder / "links.parquet"),
        "networkx": Networkx(ROWS, NAMES),
        "igraph": igraph(weight=weights),
        "array": NUMBERS,
        "npy": folder / "links.npy",
        "coo": matrix,
        "csc": matrix.tocsc(),
        "npz": folder / "links.npz",
    }


def test_every_form_gives_the_same(tmp_path):
    want, other = pagerank(NUMBERS), hits(NUMBERS)
    for form, edges in forms(tmp_path).items():
        result = pagerank(edges)
        np.testing.assert_allclose(result.scores, want.scores, atol=1e-15, err_msg=form)
        np.testing.assert_allclose(hits(edges).hubs, other.hubs, atol=1e-14, err_msg=form)
        plain = form in ("array", "npy", "coo", "csc", "npz")
        assert result.names == (list(range(4)) if plain else NAMES), form
        assert (result.weighted, result.directed, result.n_edges) == (True, True, 5), form


def test_columns_by_name_and_weights_ignored():
    wide = FRAME.select("times", pl.lit("x").alias("note"), "to", "from")
    want = pagerank(FRAME)
    chosen = pagerank(wide, source="from", target="to", weight="times")
    assert chosen.to_dict() == pytest.approx(want.to_dict())
    ignored = [
        pagerank(FRAME, weight=False),
        pagerank(wide, source="from", target="to"),
        pagerank(Networkx(ROWS, NAMES), weight=False),
        pagerank(igraph(weight=[9.0] * 5), weight=False),
        pagerank(NUMBERS, weight=False),
        pagerank(Networkx([(a, b, None) for a, b, _ in ROWS], NAMES)),
    ]
    for result in ignored:
        np.testing.assert_allclose(result.scores, pagerank(NUMBERS[:, :2]).scores, atol=1e-15)
        assert not result.weighted
    assert pagerank(Networkx(ROWS, NAMES, weight="times"), weight="times").weighted


def test_undirected_graphs_link_both_ways():
    both = np.concatenate([NUMBERS, NUMBERS[:, [1, 0, 2]]])
    want = pagerank(both)
    graphs = (Networkx(ROWS, NAMES, directed=False), igraph(directed=False, weight=[w for *_, w in ROWS]))
    for result in (pagerank(NUMBERS, directed=False), *map(pagerank, graphs)):
        np.testing.assert_allclose(result.scores, want.scores, atol=1e-14)
        assert (result.directed, result.n_edges) == (False, 5)
    assert pagerank(graphs[0], directed=True).directed
    loop = [(0, 0), (0, 1)]  # a link to itself stays one link
    np.testing.assert_allclose(
        pagerank(loop, directed=False).scores, pagerank([(0, 0), (0, 1), (1, 0)]).scores, atol=1e-14
    )


def test_repeated_edges_add_their_weights():
    twice = pagerank([(0, 1), (0, 1), (0, 2), (1, 0), (2, 0)])
    np.testing.assert_allclose(
        twice.scores, pagerank([(0, 1, 2.0), (0, 2, 1.0), (1, 0, 1.0), (2, 0, 1.0)]).scores, atol=1e-12
    )


@pytest.mark.parametrize(
    ("ends", "names"),
    [
        (["01", "1", "001"], ["01", "1", "001"]),
        (["1e5", "100000"], ["1e5", "100000"]),
        (["1234567890" * 2 + "1", "1234567890" * 2 + "2"], ["1234567890" * 2 + "1", "1234567890" * 2 + "2"]),
        (["18446744073709551615", "18446744073709551614"], ["18446744073709551615", "18446744073709551614"]),
        (["2.0", "2.50", "2.5"], ["2.0", "2.50", "2.5"]),
        (["31.12.2024", "1.1.2025"], ["31.12.2024", "1.1.2025"]),
        (["1,000", "1000"], ["1,000", "1000"]),
        (["true", "TRUE"], ["true", "TRUE"]),
        (["b", "a "], ["b", "a"]),
        (["7", "-7", "0"], [7, -7, 0]),
        (["7.0", "8.0"], [7, 8]),
    ],
)
def test_names_in_a_file_are_as_written(tmp_path, ends, names):
    file = tmp_path / "edges.csv"
    pairs = list(zip(ends, [*ends[1:], ends[0]], strict=True))
    file.write_text("from;to\n" + "".join(f"{a};{b}\n" for a, b in pairs))
    assert pagerank(file).names == names
    columns = [f"{a};x;{b}" for a, b in pairs]
    file.write_text("from;kind;to\n" + "\n".join(columns) + "\n")
    assert pagerank(file, source="from", target="to").names == names


def test_an_end_with_whole_numbers_written_as_decimals_is_the_same_node(tmp_path):
    file = tmp_path / "edges.csv"
    file.write_text("from,to\n1,2.0\n2,3.0\n3,1.0\n")
    assert pagerank(file).names == [1, 2, 3]


def test_weights_before_the_nodes_are_numbers(tmp_path):
    file = tmp_path / "edges.csv"
    file.write_text("weight;from;to\n1,5;01;1\n0,5;1;02\n")
    result = pagerank(file, weight="weight")
    assert (result.names, result.weighted) == (["01", "1", "02"], True)
    file.write_text("weight;from;to\nmuch;01;1\n0,5;1;02\n1;1;02\n")
    with pytest.raises(lowland.DataError, match="'much' is not a number"):
        pagerank(file, weight="weight")


def test_names_of_two_types_are_one_kind_of_name():
    frame = pl.DataFrame({"a": [1, 2], "b": ["2", "x"]})
    assert pagerank(frame).names == ["1", "2", "x"]
    whole = pl.DataFrame({"a": [1.0, 2.0], "b": ["2", "x"]})
    assert pagerank(whole).names == ["1", "2", "x"]
    assert pagerank(pl.DataFrame({"a": [10**12, 7], "b": [7, 10**12]})).names == [10**12, 7]


def test_results_are_immutable_and_list_the_best():
    result = pagerank(ROWS)
    with pytest.raises(ValueError, match="read-only"):
        result.scores[0] = 1
    with pytest.raises(AttributeError):
        result.damping = 0.5
    assert [name for name, _ in result.top(9)] == sorted(NAMES, key=lambda name: -result.to_dict()[name])
    assert result.to_frame().columns == ["node", "score"]
    assert "Highest score: " in str(result)
    both = hits(ROWS)
    assert both.to_frame().columns == ["node", "hub", "authority"]
    assert both.top(1, by="hubs") == [("a", 1.0)]
    assert set(both.to_dict()) == {"hubs", "authorities"}
    for wrong in (0, 1.5, True):
        with pytest.raises(ValueError, match="k must be"):
            result.top(wrong)
    with pytest.raises(ValueError, match="by must be"):
        both.top(3, by="scores")


def test_ties_are_listed_in_the_order_of_the_nodes():
    star = pagerank([(i, 0) for i in range(1, 200)])
    assert [name for name, _ in star.top(4)] == [0, 1, 2, 3]


def test_pictures():
    result, both = pagerank(ROWS), hits(ROWS)
    first, second = result.plot(2)
    assert [text.get_text() for text in first.get_yticklabels()] == [name for name, _ in result.top(2)]
    assert second.get_xscale() == "log"
    assert [axes.get_title(loc="left") for axes in both.plot()] == ["authorities", "hubs"]
    assert result.plot(ax=first) == [first]
    assert "<svg" in result._repr_html_()
    assert "<svg" in both._repr_html_()
    with pytest.raises(ValueError, match="top must be from 1 to 100"):
        result.plot(0)


@pytest.mark.parametrize(
    ("edges", "problem"),
    [
        ([], "no nodes"),
        (np.zeros((3, 4)), r"2 columns, or 3 with weights; got shape \(3, 4\)$"),
        (np.zeros((5, 5)), "for an adjacency matrix pass scipy.sparse.csr_array"),
        ([(0, 1), (2,)], "all of one length"),
        ([("a", "b"), ("c",)], "all of one length"),
        ([(0, -1)], "row 0 of the edges has a negative node number"),
        ([(0, 1), (2, 0.5)], "0.5 at row 1, column 1"),
        ([(0, 1), (2, float("nan"))], "nan at row 1, column 1"),
        ([(0, 3_000_000)], "as if they were identifiers"),
        ([(0, 2**40)], "too large"),
        ([(0, 1, 1.0), (1, 2, float("nan"))], "weight of edge 1 is missing"),
        ([(0, 1, 1.0), (1, 2, -2.0)], "weight of edge 1 is -2"),
        ([(0, 1, float("inf"))], "weight of edge 0 is inf"),
        ([("a", "b"), ("a", None)], "row 1 of the edges has no name"),
        ([("a", "b", "heavy")], "weights, and some are not numbers"),
        (sp.csr_array((2, 3)), "must be square"),
        (sp.csr_array([[0, -1.0], [1, 0]]), "weight of edge 0 is -1"),
        (pl.DataFrame({"a": ["x", None], "b": ["y", "z"]}), "row 1, column 'a' is missing"),
        (pl.DataFrame({"a": ["x"], "b": ["y"], "c": [None]}), "choose them with source and target"),
        (pl.DataFrame({"a": ["x"], "b": ["y"], "c": [-1.0]}), "row 0, column 'c': the weight is -1"),
        (pl.DataFrame({"a": ["x"]}), "has one column .* sep=' '"),
        (Networkx([("a", "b", "x")], ["a", "b"]), "is not a number"),
        ("no-such-file.csv", "no such file"),
    ],
)
@pytest.mark.parametrize("rank", [pagerank, hits])
def test_edges_that_cannot_be_used(rank, edges, problem):
    with pytest.raises(lowland.DataError, match=problem):
        rank(edges)


def test_options_that_do_not_fit_the_edges():
    for edges, options, problem in (
        (NUMBERS, {"source": "a"}, "source='a' is only for a table"),
        (FRAME, {"n_nodes": 9}, "only for an array of node numbers"),
        (NUMBERS, {"n_nodes": 3}, "need at least 4 nodes"),
        (FRAME, {"source": "form", "target": "to"}, "did you mean 'from'"),
        (Networkx(ROWS, NAMES), {"weight": "cost"}, "no edge of the graph has this attribute"),
        (igraph(), {"weight": "cost"}, "no edge of the graph has this attribute"),
    ):
        with pytest.raises(lowland.DataError, match=problem):
            pagerank(edges, **options)


def test_a_first_line_that_is_an_edge_is_told(tmp_path):
    (tmp_path / "links.csv").write_text("a,b\nb,c\nc,a\n")
    with pytest.warns(lowland.LowlandWarning, match="read the file with header=False"):
        assert pagerank(tmp_path / "links.csv").n_edges == 2
    assert pagerank(lowland.data.read(tmp_path / "links.csv", header=False)).n_edges == 3


def test_no_module_hides_a_function():
    """Modules that the room loads become its attributes: none may have the name of a function."""
    import importlib
    import pkgutil

    import lowland.ranking as room

    modules = [found.name for found in pkgutil.iter_modules(room.__path__)]
    assert not {*modules} & {*room.__all__}
    for name in modules:
        importlib.import_module(f"lowland.ranking.{name}")
    assert callable(room.pagerank)
    assert callable(room.hits)
