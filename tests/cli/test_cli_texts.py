"""Texts on the command line: what `info` proposes, maps of texts, and new texts in a model."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import polars as pl
import pytest

from .conftest import Run

WORDS = [
    ["shock", "heat", "nose", "blunt", "hypersonic", "flow", "temperature"],
    ["panel", "buckling", "plate", "stress", "load", "shell", "cylinder"],
    ["wing", "lift", "flutter", "aspect", "ratio", "angle", "slender"],
]


def sentence(i: int) -> str:
    own = WORDS[i % 3]
    return f"the {own[i % 7]} and {own[(i * 3 + 1) % 7]} of a {own[(i * 5 + 2) % 7]} with {WORDS[(i + 1) % 3][i % 5]}"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    rows = [{"number": i + 1, "body": sentence(i), "subject": "abc"[i % 3]} for i in range(60)]
    file = tmp_path / "docs.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return file


def test_info_proposes_a_command_that_works_and_places_new_texts(run: Run, docs: Path, tmp_path: Path) -> None:
    proposed = run("info", docs, "--json").json["next"]
    assert "--text body --texts tfidf" in proposed
    assert "--color subject" in proposed
    assert run(*shlex.split(proposed)[1:]).code == 0
    new = tmp_path / "new.csv"
    pl.DataFrame({"body": ["heat of the shock", "nothing known", "buckling of a plate"], "id": [1, 2, 3]}).write_csv(
        new
    )
    done = run("transform", "docs.lowland", new, "--id", "id", "--out", "placed.csv")
    assert done.code == 0, done.err
    assert pl.read_csv(tmp_path / "placed.csv").height == 3
    assert "EncodeTexts" in run("info", "docs.lowland").out


def test_a_folder_and_a_few_texts(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for i in range(12):
        (folder / f"{i}.txt").write_text(sentence(i), encoding="utf-8")
    proposed = run("info", folder, "--json").json["next"]
    assert "--method truncated_svd" in proposed
    done = run(*shlex.split(proposed)[1:])
    assert done.code == 0, done.err
    assert pl.read_csv(tmp_path / "notes-map.csv").columns == ["file", "truncatedsvd0", "truncatedsvd1"]


@pytest.mark.parametrize("command", ["reduce", "compare", "dimension", "outliers", "plan"])
def test_every_command_with_steps_takes_texts(run: Run, docs: Path, command: str) -> None:
    more = {"reduce": ["--out", "o.csv"], "compare": ["--methods", "pca"]}.get(command, [])
    words = [command, docs, "--text", "body", "--texts", "log-entropy", "--pre", "truncated_svd:5", *more]
    done = run(*words)
    assert done.code == 0, done.err


def test_options_reach_the_step(run: Run, docs: Path, tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("heat\nwing\n", encoding="utf-8")
    options = ["--text", "body", "--texts", "counts", "--stop-words", "stop.txt", "--ngrams", 2, "--min-df", 3]
    done = run(
        "reduce", docs, *options, "--max-df", 0.9, "--out", "o.csv", "--model", "m.lowland", "--method", "truncated_svd"
    )
    assert done.code == 0, done.err
    step = run("info", "m.lowland", "--json").json["contents"]["steps"][0]["parameters"]
    assert (step["ngrams"], step["min_df"], step["max_df"]) == (2, 3, 0.9)
    assert step["stop_words"] == ["heat", "wing"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--ngrams", "2"], 2, "--ngrams needs --texts"),
        (["--texts", "tfidf", "--columns", "number"], 3, "'number': it contains numbers, not text"),
        (["--texts", "tfidf", "--text", "bodies"], 3, "did you mean 'body'"),
        (["--texts", "tfidf", "--scaler", "robust"], 2, "has no effect on texts"),
        (["--texts", "tfidf", "--dates", "elapsed"], 2, "--dates has no effect on texts"),
        (["--texts", "tfidf", "--stop-words", "klingon"], 2, "--stop-words klingon: write english, none"),
        (["--texts", "tfidf", "--text", "body", "--min-df", "61"], 3, "--min-df 1"),
        (["--text", "body", "--columns", "body"], 3, "contains text"),
    ],
)
def test_wrong_use_is_told(run: Run, docs: Path, options: list[str], code: int, message: str) -> None:
    done = run("reduce", docs, *options)
    assert done.code == code
    assert message in done.err


def test_texts_cannot_be_restored_and_no_command_proposes_it(run: Run, docs: Path) -> None:
    words = ["reduce", docs, "--text", "body", "--texts", "tfidf", "--method", "truncated_svd", "--id", "number"]
    made = run(*words, "--out", "map.csv", "--model", "m.lowland", "--report", "r.html")
    assert "next: lowland transform m.lowland NEW.jsonl --id number --flag --out new-map.csv" in made.err
    assert "restored.csv" not in run("transform", "m.lowland", docs, "--out", "new.csv").err
    refused = run("inverse", "m.lowland", "map.csv")
    assert refused.code == 2
    assert "its step texts (EncodeTexts) has no inverse transform" in refused.err


def test_new_texts_without_known_terms_are_told_and_flagged(run: Run, docs: Path) -> None:
    words = ["reduce", docs, "--text", "body", "--texts", "tfidf", "--pre", "truncated_svd:5", "--method", "isomap"]
    assert run(*words, "--out", "map.csv", "--model", "m.lowland").code == 0
    pl.DataFrame({"body": ["heat of the shock", "nothing known", "", sentence(4)]}).write_csv("new.csv")
    done = run("transform", "m.lowland", "new.csv", "--flag", "--out", "placed.csv")
    assert done.code == 0, done.err
    said = "2 texts of 4 have no terms that the training texts have (the first is the text of line 3)"
    assert said in " ".join(done.err.split())
    assert pl.read_csv("placed.csv")["novel"].to_list()[1:] == [1, 1, 0]
