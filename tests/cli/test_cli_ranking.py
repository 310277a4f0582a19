"""`lowland pagerank` and `lowland hits`."""

from __future__ import annotations

import json

import polars as pl
import pytest

from lowland.cli.main import main
from lowland.ranking import hits, pagerank

LINKS = "from,to,times\nhome,news,3\nhome,shop,1\nnews,home,2\nshop,home,1\nblog,news,1\nnews,shop,1\nshop,terms,1\n"


@pytest.fixture
def links(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "links.csv").write_text(LINKS)
    return tmp_path / "links.csv"


def test_pagerank_lists_and_writes(links, capsys):
    assert main(["pagerank", "links.csv", "-k", "2", "--out", "s.csv", "--figure", "s.png", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    want = pagerank(links)
    assert [row["node"] for row in said["top"]] == [name for name, _ in want.top(2)]
    assert said["converged"]
    assert said["dangling"] == 1
    frame = pl.read_csv("s.csv")
    assert frame["node"].to_list() == want.names
    assert frame["score"].to_list() == pytest.approx(want.scores.tolist())
    assert (links.parent / "s.png").read_bytes().startswith(b"\x89PNG")


def test_hits_lists_hubs_and_authorities(links, capsys):
    assert main(["hits", "links.csv", "--normalize", "sum", "--out", "h.npy"]) == 0
    out = capsys.readouterr()
    assert out.out.splitlines()[0].split() == ["rank", "authority", "score", "hub", "score"]
    assert hits(links).top(1)[0][0] in out.err


def test_columns_weights_directions_and_restarts(links, capsys):
    pl.read_csv(links).select("times", "to", "from", pl.lit(1).alias("x")).write_csv("wide.csv")
    columns = ["--source", "from", "--link-target", "to"]
    walk = ["--personalization", "blog=2,news", "--damping", "0.5", "--undirected", "--json"]
    assert main(["pagerank", "wide.csv", *columns, "--weight", "times", *walk]) == 0
    said = json.loads(capsys.readouterr().out)
    want = pagerank(links, 0.5, {"blog": 2.0, "news": 1.0}, directed=False)
    assert [row["score"] for row in said["top"]] == pytest.approx([score for _, score in want.top()])
    assert not said["directed"]
    assert main(["pagerank", "links.csv", "--weight", "none", "--json"]) == 0
    assert not json.loads(capsys.readouterr().out)["weighted"]


def test_names_that_look_like_numbers_are_kept(links, capsys):
    links.write_text("from,to\n007,7\n7,0070\n0070,007\n0070,7\n")
    walk = ["--personalization", "0070=1", "--out", "s.csv", "--figure", "s.png", "--json"]
    assert main(["pagerank", "links.csv", *walk]) == 0
    top = json.loads(capsys.readouterr().out)["top"]
    assert {row["node"] for row in top} == {"007", "7", "0070"}
    assert (links.parent / "s.csv").read_text().splitlines()[1].startswith("007,")


def test_numbered_nodes_restart_by_number(links, capsys):
    links.write_text("1 2\n2 3\n3 1\n7 1\n")
    assert main(["pagerank", "links.csv", "--sep", "space", "--personalization", "7", "--json"]) == 0
    top = json.loads(capsys.readouterr().out)["top"]
    assert {row["node"] for row in top} == {1, 2, 3, 7}
    assert next(row["score"] for row in top if row["node"] == 7) == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--damping", "1"], 2, "--damping must be a number"),
        (["--top", "0"], 2, "--top 0: must be at least 1"),
        (["--top", "500", "--figure", "a.png"], 2, "from 1 to 100"),
        (["--figure", "a.gif"], 2, "--figure a.gif"),
        (["--out", "links.csv"], 2, "would overwrite"),
        (["--source", "times"], 3, "--link-target"),
        (["--source", "form"], 3, "did you mean 'from'"),
        (["--source", "form", "--link-target", "to"], 3, "did you mean 'from'"),
        (["--personalization", "hone"], 3, "similar: home"),
        (["--personalization", "home=-1"], 3, "the weight -1"),
        (["--weight", "to"], 3, "weights must be numbers"),
    ],
)
def test_what_cannot_be(links, capsys, words, code, said):
    assert main(["pagerank", "links.csv", *words]) == code
    assert said in capsys.readouterr().err


def test_messages_name_options(links, capsys):
    links.write_text("a,b\nb,c\n")
    assert main(["hits", "links.csv"]) == 0
    assert "--no-header" in capsys.readouterr().err
    links.write_text("from,to\na,b\nc,d\n")
    assert main(["hits", "links.csv"]) == 0
    assert "warning: the leading eigenvalue is tied (2 times)" in capsys.readouterr().err
