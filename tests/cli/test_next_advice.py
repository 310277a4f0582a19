"""Next commands follow the notes and warnings above them, and errors name the command that helps."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from .conftest import Run


@pytest.fixture
def coded(tmp_path: Path) -> Path:
    """Make a table with a coded label, in which one column holds most of the variance."""
    rng = np.random.default_rng(3)
    group = np.repeat([1, 2, 3], 30)
    columns = {name: rng.normal(group * (k + 1), 1) for k, name in enumerate("abcd")}
    pl.DataFrame({"group": group, **columns, "large": 900 * rng.normal(group, 1)}).write_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv"


def following(err: str) -> list[str]:
    found = re.search(r"next: (.*)", err)
    assert found is not None, err
    return shlex.split(found[1])


def after(words: list[str], option: str) -> str | None:
    return words[words.index(option) + 1] if option in words else None


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("reduce --out x.csv", "--color"),
        ("reduce --out x.csv --stream", "--color"),
        ("reduce --method isomap --out x.csv --report r.html", "--color"),
        ("reduce --out x.csv --report r.html --model m.lowland", "--color"),
        ("dimension", "--drop"),
        ("outliers", "--drop"),
        ("outliers --stream", "--drop"),
        ("downstream --target a --methods pca --components 1,2", "--drop"),
    ],
)
def test_next_commands_follow_advice_on_labels_and_units(run: Run, coded: Path, command: str, option: str) -> None:
    name, *words = command.split()
    done = run(name, coded, *words)
    assert done.code == 0, done.err
    assert f"add {option} group to leave it out" in done.err
    assert "use --scale" in done.err
    proposed = following(done.err)
    assert proposed[:3] == ["lowland", name, str(coded)]
    assert after(proposed, option) == "group"
    assert "--scale" in proposed
    again = run(*proposed[1:])
    assert again.code == 0, again.err
    assert "coded label" not in again.err
    assert "use --scale" not in again.err


def test_evaluate_proposes_the_label_and_keeps_the_one_that_was_given(run: Run, coded: Path) -> None:
    assert run("reduce", coded, "--color", "group", "--scale", "--out", "map.csv").code == 0
    proposed = following(run("evaluate", coded, "map.csv", "--scale").err)
    assert after(proposed, "--target") == "group"
    assert "--scale" in proposed
    table = pl.read_csv(coded).with_columns(kind=pl.Series(["x", "y"] * 45))
    table.write_csv("kinds.csv")
    done = run("evaluate", "kinds.csv", "map.csv", "--scale", "--target", "kind")
    assert "add --drop group to leave it out" in done.err
    assert (after(following(done.err), "--target"), after(following(done.err), "--drop")) == ("kind", "group")


def test_plan_and_correlations_propose_the_label(run: Run, coded: Path) -> None:
    for command in ("plan", "correlations"):
        assert after(following(run(command, coded).err), "--color") == "group"


def test_info_judges_columns_as_the_proposed_command_reads_them(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = ["no;hb;crp;alt;na;k;cl"]
    for i in range(200):
        hb = "-" if i % 20 == 7 else f"{rng.normal(14, 1):.1f}"
        crp = "<0.5" if i % 10 == 3 else f"{rng.lognormal(2, 1.5):.2f}"
        alt = "n.d." if i % 15 == 4 else f"{rng.lognormal(3, 1.5):.2f}"
        salts = ";".join(f"{value:.2f}" for value in rng.normal((139, 4.2, 102), (2, 0.4, 3)))
        rows.append(f"P{i:03d};{hb};{crp};{alt};{salts}")
    Path("lab.csv").write_text("\n".join(rows) + "\n")
    first = run("info", "lab.csv")
    proposed = following(first.err)
    assert after(proposed, "--transform") == "log1p=crp,alt"
    assert "crp, alt: a few large values" in first.out
    read = ("--na", "-,n.d.", "--below-limit", "half")
    assert following(run("info", "lab.csv", *read).err) == proposed
    partly = following(run("info", "lab.csv", "--na", "-").err)
    assert [partly[i + 1] for i, word in enumerate(partly) if word == "--na"] == ["-", "n.d."]
    done = run(*proposed[1:])
    assert done.code == 0, done.err


def test_the_first_cell_that_is_no_number_names_info(run: Run, tmp_path: Path) -> None:
    cells = "\n".join(f"{i * 1.7:.1f};{'-' if i == 4 else i * i};g{i % 2}" for i in range(20))
    Path("lab.csv").write_text("a;b;kind\n" + cells + "\n")
    for words in (("reduce",), ("dimension", "--missing", "mean"), ("downstream", "--target", "kind", "--scale")):
        err = run(words[0], "lab.csv", *words[1:], "--sep", ";").err
        assert "use --na -" in err
        assert "`lowland info lab.csv --sep ';'` proposes the options for all such cells" in err
    Path("odd.csv").write_text("a;b\n" + cells.replace("-", "1.2.3").replace(";g0", "").replace(";g1", "") + "\n")
    assert "lowland info" not in run("reduce", "odd.csv").err  # it proposes no option for this cell


def test_swapped_arguments_of_evaluate_are_an_error(run: Run, coded: Path) -> None:
    assert run("reduce", coded, "--scale", "--out", "map.csv").code == 0
    for more in ((), ("--stream",)):
        done = run("evaluate", "map.csv", coded, *more)
        assert done.code == 2
        assert f"give the data first, then the map: lowland evaluate {coded} map.csv" in done.err
        assert run("evaluate", "map.csv", coded, "--x", "a", "--y", "b", *more).code == 0
    assert run("reduce", coded, "--scale", "--components", 5, "--out", "five.csv").code == 0
    pl.read_csv("map.csv").rename({"pca0": "u", "pca1": "v"}).write_csv("named.csv")
    assert run("evaluate", "five.csv", "named.csv").code == 0  # coordinates as data, and a map of them


def test_plot_refuses_a_table_that_is_no_map(run: Run, coded: Path) -> None:
    done = run("plot", coded, "--out", "p.png")
    assert done.code == 2
    assert f"`lowland reduce {coded} --out t-map.csv`" in done.err
    assert not Path("p.png").exists()
    assert run("plot", coded, "--x", "a", "--y", "b", "--out", "p.png").code == 0
    pl.read_csv(coded).select(u="a", v="b").write_csv("named.csv")
    assert run("plot", "named.csv", "--out", "q.png").code == 0


@pytest.mark.parametrize("command", ["dimension", "outliers", "correlations"])
def test_commands_without_labels_name_drop(run: Run, coded: Path, command: str) -> None:
    for option in ("--color", "--target"):
        done = run(command, coded, option, "group")
        assert done.code == 2
        assert f"unknown option {option}; to leave the column of labels out of the data, use --drop COLUMN." in done.err
    assert "Did you mean --color?" in run("reduce", coded, "--target", "group").err


def test_identifiers_that_repeat_are_told(run: Run, coded: Path) -> None:
    done = run("reduce", coded, "--id", "group", "--scale", "--out", "x.csv")
    assert done.code == 0
    assert "'group' of --id does not identify the rows: 3 different values in 90 rows" in done.err
    assert "does not identify" not in run("reduce", coded, "--id", "a", "--scale", "--out", "x.csv").err


def test_evaluate_checks_the_identifier_before_the_cells(run: Run, coded: Path) -> None:
    assert run("reduce", coded, "--scale", "--out", "map.csv").code == 0
    table = pl.read_csv(coded).with_columns(pl.col("a").cast(str), Nummer=pl.int_range(pl.len()))
    table.with_columns(a=pl.when(pl.int_range(pl.len()) == 5).then(pl.lit("-")).otherwise("a")).write_csv("odd.csv")
    for option in ("--id", "--target"):
        done = run("evaluate", "odd.csv", "map.csv", option, "nummer")
        assert done.code == 3
        assert f"has a column 'nummer' for {option}; did you mean 'Nummer'?" in done.err
    assert "'-' is not a number" in run("evaluate", "odd.csv", "map.csv", "--id", "Nummer").err


def test_added_documents_are_proposed_by_name_and_unknown_words_are_told(run: Run, tmp_path: Path) -> None:
    words = ["wing flutter tail", "heat nose shock", "plate buckling load"]
    rows = [{"id": f"n{i}", "text": f"{words[i % 3]} {words[(i // 3) % 3]}"} for i in range(12)]
    Path("docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run("text", "index", "docs.jsonl", "--id", "id", "--out", "i.lowland").code == 0
    new = [{"id": "m1", "text": "wing flutter zzyzx qwrt"}, {"id": "m2", "text": ""}]
    Path("new.jsonl").write_text("\n".join(map(json.dumps, new)))
    done = run("text", "add", "i.lowland", "new.jsonl", "--id", "id", "--text", "text", "--out", "j.lowland")
    assert done.code == 0, done.err
    assert following(done.err) == ["lowland", "text", "similar", "j.lowland", "m1"]
    assert "50 % of their words are no terms of the index" in done.err
    assert "1 of 2 added documents has no terms of the index (the first: m2)" in done.err
    lost = run("text", "similar", "j.lowland", "99").err
    assert "document 99 is not one of the 14 documents: they have ids, such as 'n0' and 'm2'" in lost


def test_addresses_of_any_length_are_names_of_nodes(run: Run, tmp_path: Path) -> None:
    pages = [f"http://www.example.org/{'folder/' * (40 if i == 7 else 1)}{i}.html" for i in range(30)]
    links = pl.DataFrame({"page": pages, "next": [pages[(7 * i + 1) % 30] for i in range(30)]})
    links.write_csv("web.csv")
    assert following(run("info", "web.csv").err)[:2] == ["lowland", "pagerank"]
    spaced = links.with_columns(pl.all().str.replace_all("folder/", "some words "))  # texts, not names
    spaced.write_csv("texts.csv")
    assert following(run("info", "texts.csv").err)[:2] != ["lowland", "pagerank"]


def test_eigenfaces_propose_a_model_beside_that_of_info(run: Run, tmp_path: Path) -> None:
    from PIL import Image

    rng = np.random.default_rng(1)
    Path("faces").mkdir()
    for i in range(6):
        Image.fromarray(rng.integers(0, 255, (8, 8)).astype(np.uint8)).save(f"faces/{i}.png")
    assert after(following(run("info", "faces").err), "--model") == "faces.lowland"
    assert after(following(run("image", "eigenfaces", "faces").err), "--model") == "faces-eigenfaces.lowland"
