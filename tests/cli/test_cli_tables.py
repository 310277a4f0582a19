"""Tables as they come: what info proposes works, and new rows with their columns in any order follow in one command."""

from __future__ import annotations

import html
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_wine

from lowland.data import inspect_table, read
from lowland.data.table import Table

PBC = Path(__file__).parents[1] / "data" / "r" / "pbc.csv"


def proposed(run: Any, path: Path) -> tuple[list[str], Any]:
    """The command that info proposes, and its outcome."""
    words = shlex.split(run("info", path, "--json").json["next"])
    assert words[:2] == ["lowland", "reduce"]
    outcome = run(*words[1:])
    assert outcome.code == 0, outcome.err
    return words, outcome


def european(frame: pl.DataFrame, path: Path) -> None:
    """Write a table with semicolons, decimal commas, cp1252, comment lines, limits of detection and words for gaps."""

    def cell(name: str, value: Any) -> str:
        if value is None:
            return "n.d."
        if name == "bili" and value < 0.6:
            return "<0,6" if value < 0.5 else "<0.6"  # as different devices write it
        return str(value).replace(".", ",") if isinstance(value, float) else str(value)

    rows = [";".join(name.replace("copper", "Kupfer (µg)") for name in frame.columns)]
    rows += [";".join(map(cell, frame.columns, row)) for row in frame.iter_rows()]
    path.write_bytes("\r\n".join(["# Labor München", "# Einheiten: µmol/l", *rows, ""]).encode("cp1252"))


@pytest.mark.parametrize("write", [pl.DataFrame.write_csv, european], ids=["plain", "european"])
def test_the_laboratory_table_goes_from_info_to_new_patients(run, tmp_path, write):
    patients = pl.read_csv(PBC, null_values=["", "NA"], infer_schema_length=None)
    write(patients[20:], tmp_path / "lab.csv")
    write(patients[:20].select(sorted(patients.columns)), tmp_path / "new.csv")
    words, outcome = proposed(run, tmp_path / "lab.csv")
    assert {"--method", "famd", "--missing", "ppca", "--id", "--color", "outcome"} <= set(words)
    page = (tmp_path / "lab.html").read_text()
    assert "bili" in page
    assert "outcome" in page
    following = shlex.split(outcome.err.rpartition("next: ")[2])  # reads the new rows as the command did the old ones
    assert ("--na" in following) == ("--na" in words)
    assert ("--below-limit" in following) == ("--below-limit" in words)
    following[following.index("NEW.csv")] = str(tmp_path / "new.csv")
    assert run(*following[1:]).code == 0
    placed = pl.read_csv(tmp_path / "new-map.csv")
    assert placed["id"].to_list() == patients["id"][:20].to_list()
    assert set(placed["novel"].unique()) <= {0, 1}


def test_cells_of_new_rows_that_are_not_numbers_are_an_error_with_the_option(run, tmp_path):
    patients = pl.read_csv(PBC, null_values=["", "NA"], infer_schema_length=None)
    european(patients[20:], tmp_path / "lab.csv")
    european(patients[:20], tmp_path / "new.csv")
    proposed(run, tmp_path / "lab.csv")
    outcome = run("transform", "lab.lowland", "new.csv", "--out", "map.csv")
    assert outcome.code == 3
    assert "new.csv, line " in outcome.err
    assert "--na n.d." in outcome.err or "--below-limit" in outcome.err
    assert not (tmp_path / "map.csv").exists()


def test_columns_in_different_units_are_scaled(run, tmp_path):
    pl.from_pandas(load_wine(as_frame=True).frame).write_csv(tmp_path / "wine.csv")
    words, _ = proposed(run, tmp_path / "wine.csv")
    assert {"--scale", "--color", "target"} <= set(words)


def test_marks_in_numbers_keep_units_in_doubt_and_the_columns_are_scaled(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        f"{a:.3f},{b:.3f},{c}" for a, b, c in zip(*rng.normal(size=(2, 30)), [*range(9000, 9029), "n.d."], strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c", *rows]))
    told = run("info", "t.csv", "--json").json
    assert told["contents"]["dominant"] is None  # c has text and may vary most
    assert "--scale" in told["next"]


def test_a_column_named_label_is_the_label_even_with_many_values():
    label = [f"attack {i % 40}" for i in range(400)]
    frame = pl.DataFrame({"a": range(400), "protocol_type": ["tcp", "udp"] * 200, "label": label})
    assert next(iter(inspect_table(Table(frame, "t.csv")).categories)) == "label"


def test_categories_with_too_many_values_are_dropped(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = {"a": rng.normal(size=5000), "tail": [f"N{i % 2000}" for i in range(5000)], "kind": ["x", "y"] * 2500}
    pl.DataFrame(rows | {"b": rng.normal(size=5000), "side": list("lrlrr") * 1000}).write_csv(tmp_path / "t.csv")
    words = shlex.split(run("info", "t.csv", "--json").json["next"])
    assert words[words.index("--drop") + 1] == "tail"


def test_dates_are_said_to_be_left_out(run, tmp_path):
    (tmp_path / "t.csv").write_text("day,a,b\n2024-01-01,1,2\n2024-02-01,2,1\n2024-03-07,2,5\n")
    assert "day (left out without --dates elapsed or --dates cyclic)" in run("info", "t.csv").out


def test_texts_need_numbers_first(run, tmp_path):
    (tmp_path / "texts").mkdir()
    for i in range(5):
        (tmp_path / "texts" / f"{i}.txt").write_text(f"the boundary layer of wing number {i} " * 3)
    listed = pl.DataFrame(
        {"id": range(1, 6), "body": [f"the boundary layer of wing number {i} " * 3 for i in range(5)]}
    )
    listed.write_csv(tmp_path / "texts.csv")
    for path in ("texts", "texts.csv"):
        told, refused = run("info", path), run("reduce", path)
        assert told.code == 0
        assert refused.code == 3
        assert "--vector COLUMN" in refused.err
        for text in (told.err, refused.err):
            assert "--texts tfidf" in text


def test_folders_of_images_colour_the_map(run, tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    for i in range(12):
        folder = tmp_path / "faces" / f"person{i % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (8, 6), dtype=np.uint8)).save(folder / f"{i}.png")
    words, outcome = proposed(run, tmp_path / "faces")
    assert words[words.index("--color") + 1] == "folder"
    assert "faces.lowland NEW --id file --color folder --flag --out new-map.csv" in outcome.err


def test_codes_of_an_archive_become_the_categories_that_they_stand_for(tmp_path):
    X, codes = np.eye(4), np.array([1, 0, 1, 2], np.int8)
    np.savez(tmp_path / "t.npz", X=X, kind_code=codes, kind_names=np.array(["a", "b", "c"]))
    table = read(tmp_path / "t.npz")
    assert table.column("kind").to_list() == ["b", "a", "b", "c"]
    assert not table.notes
    np.savez(tmp_path / "t.npz", X=X, kind_code=codes, kind_names=np.array(["a", "b"]))  # 2 has no name
    table = read(tmp_path / "t.npz")
    assert table.column("kind_code").to_list() == [1, 0, 1, 2]
    assert "kind_names" in table.notes[0]


def test_inspecting_a_wide_table_does_not_list_its_columns_for_each_column(monkeypatch):
    reads = []
    schema = pl.DataFrame.schema.fget
    monkeypatch.setattr(pl.DataFrame, "schema", property(lambda frame: reads.append(1) or schema(frame)))
    table = Table(pl.DataFrame(np.eye(5, 200) + 1.0), "wide.csv")
    inspect_table(table)
    table.kinds()
    assert len(reads) < 20


def test_a_column_of_vectors_is_proposed_as_the_data(run, tmp_path):
    rng = np.random.default_rng(0)
    listed = {
        "file": [f"{i}.txt" for i in range(40)],
        "body": [f"the boundary layer of wing number {i} " * 3 for i in range(40)],
    }
    frame = pl.DataFrame(listed | {"topic": ["heat", "flow"] * 20, "year": rng.integers(1950, 1960, 40)})
    vectors = rng.standard_normal((40, 8)).astype(np.float32)
    for kind in (pl.Array(pl.Float32, 8), pl.List(pl.Float32)):
        frame.with_columns(v=pl.Series(vectors.tolist(), dtype=kind)).write_parquet(tmp_path / "docs.parquet")
        assert "vectors of 8 numbers" in run("info", "docs.parquet").out
        words, outcome = proposed(run, "docs.parquet")
        assert "docs.lowland NEW.parquet --vector v" in outcome.err
        assert [words[words.index(flag) + 1] for flag in ("--vector", "--text", "--id", "--color")] == [
            "v",
            "body",
            "file",
            "topic",
        ]
        assert pl.read_csv(tmp_path / "docs-map.csv").columns == ["file", "topic", "body", "pca0", "pca1"]
    uneven = [row[: 8 - i % 2] for i, row in enumerate(vectors.tolist())]
    frame.with_columns(v=pl.Series(uneven)).write_parquet(tmp_path / "docs.parquet")
    assert "--vector" not in run("info", "docs.parquet", "--json").json["next"]


def test_columns_at_the_end_of_a_wide_table_are_listed(run, tmp_path):
    wide = pl.DataFrame(np.random.default_rng(0).standard_normal((12, 60)), schema=[f"g{i}" for i in range(60)])
    gap = pl.when(pl.arange(0, 12) == 3).then(None).otherwise(pl.col("g55")).alias("g55")
    wide.with_columns(gap, subtype=pl.Series(["a", "b"] * 6)).write_csv(tmp_path / "wide.csv")
    out = run("info", tmp_path / "wide.csv").out
    lines = [line.split() for line in out.splitlines()]
    assert ["subtype", "category", "2", "different", "values"] in lines
    assert ["g55", "number", "1", "numbers"] in lines
    assert ["…", "19", "more", "number"] in lines
    assert "g54 " not in out


def test_numbers_in_an_unclear_form_are_never_proposed_as_missing(run, tmp_path):
    rows = "".join(f"{i % 5 + 1},{200 + 7 * i};{i * i % 11};{i % 7}\n" for i in range(12))
    (tmp_path / "t.csv").write_text("a;b;c\n" + rows)
    words = shlex.split(run("info", tmp_path / "t.csv", "--json").json["next"])
    assert "--na" not in words
    assert words[words.index("--drop") + 1] == "a"
    assert run(*words[1:]).code == 0


def test_all_columns_of_numbers_are_transformed(run, tmp_path):
    frame = pl.DataFrame({"a": [1.0, 4.0, 9.0, 25.0], "b": [4.0, 1.0, 16.0, 9.0], "c": list("xyxy")})
    frame.write_csv(tmp_path / "t.csv")
    assert run("reduce", tmp_path / "t.csv", "--transform", "sqrt=all", "-o", "all.csv").code == 0
    assert run("reduce", tmp_path / "t.csv", "--transform", "sqrt=a,b", "-o", "named.csv").code == 0
    assert (tmp_path / "all.csv").read_bytes() == (tmp_path / "named.csv").read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reduce"], "DATA is missing."),
        (["reduce", "t.csv", "--na"], "--na needs a value."),
        (["reduce", "t.csv", "u v.csv"], "unexpected argument: 'u v.csv'."),
    ],
)
def test_arguments_that_lack_or_are_too_many_are_told_in_plain_words(run, words, said):
    done = run(*words)
    assert done.code == 2
    assert said in done.err


def test_limits_with_the_mark_of_another_device_are_read_by_the_proposed_command(run, tmp_path):
    cells = ["2,5", "<0.5", "1,1", "<0,5", "2,2", "3,1"]
    text = "a;b;c\n" + "".join(f"{i},5;{cell};{i * i % 7}\n" for i, cell in enumerate(cells))
    (tmp_path / "mix.csv").write_text(text)
    words, _ = proposed(run, tmp_path / "mix.csv")
    assert "--below-limit" in words
    (tmp_path / "unclear.csv").write_text(text.replace("<0.5", "<1.200"))
    assert "--below-limit" not in run("info", "unclear.csv").err.rpartition("next: ")[2]
    done = run("reduce", "unclear.csv", "--below-limit", "half", "--out", "map.csv")
    assert done.code == 3
    assert (
        "'<1.200' is not a number; it may mean <1.200 or <1200, as the decimal mark of the table is a comma" in done.err
    )
    assert "--below-limit" not in done.err


@pytest.fixture
def laboratory(run, tmp_path):
    """A model of a laboratory table with marks for gaps and limits, and new rows of the same form."""
    patients = pl.read_csv(PBC, null_values=["", "NA"], infer_schema_length=None)
    european(patients[20:], tmp_path / "lab.csv")
    european(patients[:20], tmp_path / "new.csv")
    words, _ = proposed(run, tmp_path / "lab.csv")
    marks = [word for name in ("--na", "--below-limit") for word in words[words.index(name) :][:2]]
    return ["--id", "id", *marks]


def test_the_figure_that_plot_suggests_keeps_the_options_of_reading(run, laboratory, tmp_path):
    for words in (["--kind", "scree"], ["--kind", "map", "--color", "outcome"]):
        done = run("plot", "lab.lowland", "lab.csv", *laboratory, *words, "--out", "drawn.png", "--json")
        assert done.code == 0, done.err
        following = shlex.split(done.json["next"])
        assert {*laboratory} <= set(following)
        assert run(*following[1:]).code == 0
    refused = run(
        "plot", "lab.lowland", "lab.csv", *laboratory, "--kind", "scree", "--color", "outcome", "--out", "s.png"
    )
    assert (refused.code, "does not colour rows" in refused.err) == (2, True)
    table = run("plot", "lab-map.csv", "--color", "outcome", "--out", "m.png", "--json")
    assert shlex.split(table.json["next"])[:2] == ["lowland", "evaluate"]


def test_the_report_of_new_rows_proposes_to_flag_them_unless_done(run, laboratory, tmp_path):
    words = ["transform", "lab.lowland", "new.csv", *laboratory, "--report", "new.html", "--out", "z.csv"]
    assert run(*words).code == 0
    title = "Mark rows that are unlike the training rows:"
    page = html.unescape(re.sub("<[^>]+>", " ", (tmp_path / "new.html").read_text()))
    command = next(line for line in page.partition(title)[2].splitlines() if "lowland transform" in line)
    following = shlex.split(command[command.index("lowland transform") :])
    assert {*laboratory, "--flag"} <= set(following)
    assert run(*following[1 : following.index("z.csv") + 1]).code == 0
    assert run(*words, "--flag").code == 0
    assert title not in (tmp_path / "new.html").read_text()
