"""`lowland text`: from documents to an index, searches, growth and concepts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import lowland
from lowland.text.documents import documents_of

from .conftest import Run
from .test_cli_texts import sentence


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    file = tmp_path / "docs.jsonl"
    rows = [{"name": f"n{i}", "text": sentence(i)} for i in range(60)]
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return file


@pytest.fixture
def index(run: Run, docs: Path, tmp_path: Path) -> Path:
    assert run("text", "index", docs, "--id", "name", "--out", "i.lowland").code == 0
    return tmp_path / "i.lowland"


def test_index_search_similar_concepts(run: Run, index: Path) -> None:
    found = run("text", "search", index, "buckling plate", "-k", 3, "--json").json
    assert found["command"] == "text search"
    assert [set(row) for row in found["results"]] == [{"index", "id", "score", "terms"}] * 3
    assert all(row["index"] % 3 == 1 for row in found["results"])
    assert "score" in run("text", "search", index, "buckling").out
    assert run("text", "similar", index, "n4", "--top", 2, "--json").json["results"][0]["id"].startswith("n")
    assert len(run("text", "concepts", index, "-k", 2, "--json").json["concepts"]) == 2


def test_every_next_command_runs(run: Run, docs: Path) -> None:
    command = run("text", "index", docs, "--out", "j.lowland", "--json").json["next"]
    for _ in range(4):
        done = run(*shlex.split(command)[1:], "--json")
        assert done.code == 0, command
        command = done.json["next"]


def test_every_next_command_of_hashed_terms_runs(run: Run, docs: Path) -> None:
    assert run("text", "index", docs, "--hashing", 64, "--id", "name", "--out", "h.lowland").code == 0
    command = run("text", "concepts", "h.lowland", "-k", 1, "--json").json["next"]
    assert command.startswith("lowland text similar h.lowland n")
    assert run(*shlex.split(command)[1:]).code == 0


def test_a_search_names_unknown_words_and_lists_what_has_something_in_common(run: Run, tmp_path: Path) -> None:
    texts = ["wing flutter", "wing tail", "wings", "heat nose", "heat shock", ""]
    Path("few.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts), encoding="utf-8")
    assert run("text", "index", "few.jsonl", "--min-df", 1, "--out", "few.lowland").code == 0
    done = run("text", "search", "few.lowland", "the wings of a heatt pump", "--json")
    assert "heatt is not a term of the index; similar terms: heat\n" in done.err
    assert "pump is not a term of the index\n" in done.err
    assert "the is" not in done.err
    done = run("text", "search", "few.lowland", "wing", "--json").json
    assert {row["index"] for row in done["results"]} == {0, 1}
    assert done["summary"].startswith("The 2 of 6 documents")
    assert done["summary"].endswith("'wing'; the others have nothing in common with it.")
    alone = run("text", "search", "few.lowland", "wings", "--json").json
    assert alone["results"] == []
    assert alone["summary"].startswith(
        "No document has anything in common with 'wings' on 2 concepts; rarer words need"
    )
    assert (
        "has a term of document 2; index the texts with more --components"
        in run("text", "similar", "few.lowland", 2).err
    )
    assert "document 5 has no terms" in run("text", "similar", "few.lowland", 5).err


def test_additions_replace_the_file_or_write_another(run: Run, index: Path, docs: Path, tmp_path: Path) -> None:
    before = index.read_bytes()
    done = run("text", "add", index, docs, "--id", "name", "--out", "more.lowland", "--json").json
    assert (done["documents"], done["added"]) == (120, 60)
    assert index.read_bytes() == before
    assert run("text", "add", index, docs, "--id", "name").code == 0
    assert index.read_bytes() == (tmp_path / "more.lowland").read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["search", "i.lowland", "xyzzy"], 3, "none of the words of 'xyzzy'"),
        (["search", "i.lowland", "heat", "-k", "0"], 2, "--top 0"),
        (["search", "i.lowland", " "], 3, "the query is empty"),
        (["search", "absent.lowland", "heat"], 3, "absent.lowland"),
        (["similar", "i.lowland", "n99"], 3, "no document named 'n99'"),
        (["similar", "i.lowland", "99"], 3, "not one of the 60 documents"),
        (["add", "i.lowland", "docs.jsonl"], 3, "names"),
        (["index", "docs.jsonl", "--out", "i.csv"], 2, "error: --out i.csv: this file extension"),
        (["index", "absent.jsonl", "--out", "k.lowland"], 3, "'absent.jsonl' is no file or folder\n"),
        (["index", "mixed", "--out", "k.lowland"], 3, "1 .txt file and 2 tables; for the texts alone"),
        (["index", "numbers.jsonl", "--out", "k.lowland"], 3, "name the field with --text"),
        (["index", "docs.jsonl", "--out", "k.lowland", "--components", "500"], 3, "at most"),
        (["index", "docs.jsonl", "--out", "k.lowland", "--ngrams", "0"], 2, "ngrams"),
        (
            ["index", "docs.jsonl", "--out", "k.lowland", "--text", "body"],
            3,
            "no field 'body'; it has 'name', 'text'; set --text",
        ),
        (["index", "docs.jsonl"], 2, "--out"),
        (["serch"], 2, "lowland text --help"),
    ],
)
def test_wrong_use_is_told(run: Run, index: Path, words: list[str], code: int, message: str) -> None:
    Path("mixed").mkdir()
    for name in ("a.txt", "b.csv", "c.csv"):
        Path("mixed", name).write_text("a,b\n1,2\n")
    Path("numbers.jsonl").write_text('{"n": 1}\n')
    done = run("text", *words)
    assert done.code == code, done.err
    assert message in done.err


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "there are no documents"),
        (["", " "], "the texts contain no terms"),
        (["the of and", "a the"], "--stop-words none"),
        (["one wing"], "none of the 1 term of 1 text occurs in at least 2 of them; set --min-df 1\n"),
    ],
)
def test_documents_that_cannot_be_indexed(run: Run, tmp_path: Path, texts: list[str], message: str) -> None:
    (tmp_path / "few.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts), encoding="utf-8")
    done = run("text", "index", "few.jsonl", "--out", "few.lowland")
    assert done.code == 3
    assert message in done.err
    assert not (tmp_path / "few.lowland").exists()


def test_one_document_and_names_twice(run: Run, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"id": "x", "text": "wing flutter"}\n', encoding="utf-8")
    done = run("text", "index", "one.jsonl", "--id", "id", "--min-df", "1", "--out", "one.lowland")
    assert "Indexed 1 document by 2 terms and 1 concept," in done.err
    assert "such as 'x'" in run("text", "add", "one.lowland", "one.jsonl", "--id", "id").err


def test_other_commands_name_those_of_texts(run: Run, index: Path, docs: Path) -> None:
    done = run("info", index)
    assert "is a fitted LatentSemanticIndex, for texts." in done.err
    assert "next: lowland text search " in done.err
    for words in (["transform", index, docs, "--out", "x.csv"], ["plot", index, "--out", "x.png"]):
        refused = run(*words)
        assert refused.code == 2
        assert "this is an index of texts: use `lowland text search MODEL QUERY`" in refused.err


def test_a_model_that_is_no_index(run: Run, docs: Path) -> None:
    assert (
        run(
            "reduce", docs, "--texts", "tfidf", "--method", "truncated_svd", "--out", "o.csv", "--model", "m.lowland"
        ).code
        == 0
    )
    done = run("text", "search", "m.lowland", "heat")
    assert done.code == 3
    assert "not an index of texts" in done.err


def test_help_of_the_group(run: Run) -> None:
    assert "concepts" in run("text").out
    assert run("_complete", "text", "s").out.split() == ["search", "similar"]
    assert "text" in run("_complete", "te").out.split()
    assert "--features" in run("_complete", "text", "index", "a", "--f").out.split()


def test_a_table_is_indexed_in_blocks(run: Run, docs: Path) -> None:
    rows = [json.loads(line) for line in docs.read_text(encoding="utf-8").splitlines()]
    Path("docs.csv").write_text("name,text\n" + "".join(f"{row['name']},{row['text']}\n" for row in rows))
    whole = run("text", "index", "docs.csv", "--id", "name", "--out", "a.lowland", "--json")
    assert "read in blocks" not in whole.err
    streamed = run("text", "index", "docs.csv", "--id", "name", "--out", "b.lowland", "--stream", "--json")
    assert streamed.code == 0, streamed.err
    assert "docs.csv: 60 documents read in blocks, twice, first to find the column with most text" in streamed.err
    assert {**streamed.json, "index": 0, "next": 0} == {**whole.json, "index": 0, "next": 0}
    with lowland.config(memory_limit="1 KB"):
        source = documents_of("docs.csv", "text")
    assert source.passes == 1
    Path("docs.json").write_text(json.dumps(rows))
    refused = run("text", "index", "docs.json", "--out", "d.lowland", "--stream")
    assert refused.code == 2
    assert "docs.json cannot be read in blocks; leave out --stream" in refused.err


@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "blocks"])
def test_names_that_look_like_numbers_are_kept(run: Run, stream: list[str]) -> None:
    names = ["007", "7", "0070", "1e3"]
    Path("t.csv").write_text("code,text\n" + "".join(f"{name},{sentence(i)}\n" for i, name in enumerate(names)))
    words = ["--id", "code", "--min-df", 1, "--out", "t.lowland", *stream]
    assert run("text", "index", "t.csv", *words).code == 0
    assert lowland.load("t.lowland").ids_ == names
    assert run("text", "similar", "t.lowland", "0070").code == 0
