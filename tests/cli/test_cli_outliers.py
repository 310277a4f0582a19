"""`lowland outliers`, and `lowland transform --flag`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lowland

Run = Callable[..., Any]


@pytest.fixture
def far(tmp_path: Path) -> Path:
    """A table near a line, with names and one row far off."""
    rng = np.random.default_rng(0)
    t = rng.standard_normal(80)
    X = np.column_stack([t, 0.5 * t]) + 0.1 * rng.standard_normal((80, 2))
    X[4] = 0.0, 20.0
    names = [f"site{i}" for i in range(80)]
    pl.DataFrame({"site": names, "a": X[:, 0], "b": X[:, 1]}).write_csv(tmp_path / "far.csv")
    return tmp_path / "far.csv"


def test_rows_that_stand_out_are_named_with_the_reason(run: Run, far: Path) -> None:
    done = run("outliers", far, "--id", "site")
    assert done.code == 0
    assert "site4" in done.out
    assert "far from its nearest neighbours" in done.out
    assert "1 of 80 rows is flagged: site4" in done.err
    assert "turns by" in done.err
    assert "next: lowland outliers" in done.err
    assert "--keep far-clean.csv" in done.err
    assert "line 6" in run("outliers", far, "--drop", "site").out  # without names, by its place in the file


def test_keep_writes_the_table_without_them(run: Run, far: Path) -> None:
    done = run("outliers", far, "--keep", "clean.csv", "--out", "measures.csv")
    assert done.code == 0
    clean = pl.read_csv("clean.csv")
    assert clean.columns == ["site", "a", "b"]
    assert clean["site"].to_list() == [f"site{i}" for i in range(80) if i != 4]
    assert "Wrote the other 79 rows to clean.csv; 1 row removed" in done.err
    assert "next: lowland reduce clean.csv" in done.err
    measures = pl.read_csv("measures.csv")
    assert measures.columns == ["row", "name", "flagged", "reason", "severity", "distance", "t2", "spe"]
    assert measures.filter(pl.col("flagged"))["row"].to_list() == [4]
    assert run("outliers", far, "--out", "measures.npz").code == 0
    assert np.load("measures.npz")["X"].shape == (80, 6)


def test_the_json_object_holds_the_findings(run: Run, far: Path) -> None:
    found = run("outliers", far, "--scale", "--components", 1, "--neighbors", 5, "--json").json
    assert found["rows"] == [4]
    assert found["names"] == ["line 6"]
    assert set(found["limits"]) == {"distance", "t2", "spe"}
    assert found["n_components"] == 1
    assert found["keep"] is None


def test_a_square_of_distances_and_a_clean_table(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "D.npy", lowland.data.cities()[0])
    done = run("outliers", "D.npy", "--metric", "precomputed", "--neighbors", 3)
    assert done.code == 0
    assert "None of 22 rows is flagged" in done.err
    assert "metric=precomputed" in done.err
    assert "--keep requires a table" in run("outliers", "D.npy", "--metric", "precomputed", "--keep", "clean.csv").err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--level", 2), 2, "level must be a number"),
        (("--neighbors", 0), 2, "--neighbors must be"),
        (("--neighbors", 80), 3, "--neighbors 80"),
        (("--components", "some"), 2, "--components must be"),
        (("--components", 3), 3, "--components 3"),
        (("--metric", "odd"), 2, "--metric odd"),
        (("--keep", "clean.html"), 2, "--keep clean.html"),
        (("--keep", "far.csv"), 2, "would overwrite"),
        (("--out", "same.csv", "--keep", "same.csv"), 2, "would overwrite"),
        (("--keep", "clean.npy"), 2, "can store only numbers"),
    ],
)
def test_wrong_options_and_data_are_told(run: Run, far: Path, words: tuple, code: int, message: str) -> None:
    done = run("outliers", far, *words)
    assert done.code == code
    assert message in done.err


def test_transform_flags_rows_that_the_model_has_not_seen_the_like_of(run: Run, far: Path) -> None:
    table = pl.read_csv(far)
    table.filter(pl.col("site") != "site4").write_csv("old.csv")
    assert run("reduce", "old.csv", "--components", 1, "--out", "flat.csv", "--model", "m.lowland").code == 0
    done = run("transform", "m.lowland", far, "--flag", "--id", "site", "--out", "new.csv")
    assert done.code == 0
    made = pl.read_csv("new.csv")
    assert made.columns == ["site", "pca0", "t2", "spe", "cell", "novel", "unusual"]
    assert made.filter(pl.col("novel") == 1)["site"].to_list() == ["site4"]
    assert "1 of 80 rows is unlike the training rows" in done.err
    assert (
        "rows are judged by t2, spe and cell; distance is not available: PCA stores no training rows; to measure the "
        "distance to them, fit a method that stores them, such as Isomap"
    ) in done.err
    plain = run("transform", "m.lowland", far, "--id", "site", "--out", "plain.csv")
    assert pl.read_csv("plain.csv").equals(made.select("site", "pca0"))
    assert "outside" not in plain.err
    found = run("transform", "m.lowland", far, "--flag", "--out", "new.csv", "--json").json
    assert found["novel"] == 1
    assert found["columns"] == ["pca0", "t2", "spe", "cell", "novel", "unusual"]
    assert set(found["limits"]) == {"t2", "spe", "cell"}
    assert run("transform", "m.lowland", far, "--out", "new.csv", "--json").json["novel"] is None


def test_transform_flags_by_the_training_rows_where_the_model_holds_them(run: Run, far: Path) -> None:
    table = pl.read_csv(far)
    table.filter(pl.col("site") != "site4").write_csv("old.csv")
    made = run("reduce", "old.csv", "--method", "isomap", "--out", "flat.csv", "--model", "m.lowland")
    assert made.code == 0
    assert run("transform", "m.lowland", far, "--flag", "--keep-columns", "--out", "new.parquet").code == 0
    found = pl.read_parquet("new.parquet")
    assert found.columns == ["site", "a", "b", "isomap0", "isomap1", "distance", "novel", "unusual"]
    assert found.filter(pl.col("novel") == 1)["site"].to_list() == ["site4"]


def test_a_model_that_knows_neither_is_told(run: Run, far: Path) -> None:
    words = ("reduce", far, "--method", "random_projection", "--components", 1, "--out", "flat.csv")
    assert run(*words, "--model", "m.lowland").code == 0
    done = run("transform", "m.lowland", far, "--flag", "--out", "new.csv")
    assert done.code == 3
    assert "no principal axes with variances" in done.err


def test_the_next_commands_lead_to_a_reduction_of_the_same_columns(run: Run, far: Path) -> None:
    done = run("outliers", far, "--columns", "a,b", "--id", "site", "--scale", "--neighbors", 5, "--json").json
    assert done["next"] == f"lowland outliers {far} --columns a,b --id site --scale --neighbors 5 --keep far-clean.csv"
    again = run(*shlex.split(done["next"])[1:], "--json").json
    assert again["next"] == "lowland reduce far-clean.csv --columns a,b --id site --scale --out far-clean-map.csv"
    assert run(*shlex.split(again["next"])[1:]).code == 0
    assert pl.read_csv("far-clean-map.csv").height == 80 - len(done["rows"])


def test_advice_is_in_the_words_of_the_command_line(run: Run, far: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "D.npy", lowland.data.cities()[0])
    square = "D.npy looks like a distance matrix but is used as a table of rows and columns; if it is one, use --metric"
    assert run("outliers", "D.npy", "--neighbors", 3, "--json").json["warnings"] == [f"{square} precomputed"]
    table = pl.read_csv(far)
    table.with_columns(a=pl.col("a") * 1e4).write_csv("units.csv")
    answer = run("outliers", "units.csv", "--json").json
    (told,) = answer["warnings"]
    assert told.endswith(
        "if the columns have different units, use --scale, which divides each by its standard deviation"
    )
    assert answer["next"] == "lowland outliers units.csv --scale"
    table.with_columns(a=pl.when(pl.col("site") == "site7").then(None).otherwise("a")).write_csv("gap.csv")
    done = run("outliers", "gap.csv")
    assert done.code == 3
    assert "gap.csv, line 9, column 'a': missing value; fill such cells with --missing ppca" in done.err


def test_flagged_rows_are_called_by_their_line_and_what_is_missing_has_a_way_out(run: Run, far: Path) -> None:
    table = pl.read_csv(far)
    table.filter(pl.col("site") != "site4").write_csv("old.csv")
    assert run("reduce", "old.csv", "--components", 1, "--out", "flat.csv", "--model", "m.lowland").code == 0
    done = run("transform", "m.lowland", far, "--flag", "--out", "new.csv")
    assert "1 of 80 rows is unlike the training rows: line 6." in done.err
    assert (
        "PCA stores no training rows; to measure the distance to them, fit a method that stores them, such as Isomap"
        in done.err
    )
    assert "novelty" not in done.err
    named = run("transform", "m.lowland", far, "--flag", "--id", "site", "--out", "new.csv", "--json").json
    assert named["summary"].endswith("unlike the training rows: site4. Unusual in it: b = 20.")
    assert "novelty" not in named["missing"]["distance"]


def test_columns_are_told_as_the_file_has_them(run: Run, far: Path) -> None:
    table = pl.read_csv(far).with_columns(novel=pl.lit("x"))
    table.write_csv("named.csv")
    words = ("reduce", far, "--components", 1, "--out", "flat.csv", "--model", "m.lowland")
    assert run(*words).code == 0
    done = run("transform", "m.lowland", "named.csv", "--flag", "--keep-columns", "--out", "new.csv", "--json").json
    assert done["columns"] == ["pca0", "t2", "spe", "cell", "novel_1", "unusual"]
    assert pl.read_csv("new.csv").columns == ["site", "a", "b", "novel", *done["columns"]]
    again = run("transform", "m.lowland", "new.csv", "--keep-columns", "--out", "twice.csv", "--json").json
    assert again["columns"] == ["pca0_1"]


def test_a_gap_leaves_its_row_unjudged(run: Run, far: Path) -> None:
    table = pl.read_csv(far)
    table.filter(pl.col("site") != "site4").write_csv("old.csv")
    words = ("reduce", "old.csv", "--method", "probabilistic_pca", "--components", 1, "--out", "flat.csv")
    assert run(*words, "--model", "m.lowland").code == 0
    table.with_columns(a=pl.when(pl.col("site") == "site7").then(None).otherwise("a")).write_csv("gap.csv")
    done = run("transform", "m.lowland", "gap.csv", "--flag", "--out", "new.csv", "--json")
    assert done.code == 0
    assert (done.json["novel"], done.json["unjudged"]) == (1, 1)
    assert "The other row has missing values and cannot be judged" in done.json["summary"]
    made = pl.read_csv("new.csv")
    assert made.row(7)[1:] == (None, None, None, None, None)
    assert made["novel"].to_list()[4] == 1
    assert [made[name].null_count() for name in made.columns] == [0, 1, 1, 1, 1, 79]


def test_a_seed_changes_what_is_drawn(run: Run, far: Path) -> None:
    def limit(*words: Any) -> float:
        return float(run("outliers", far, *words, "--json").json["limits"]["distance"])

    assert limit() == limit("--seed", 0) != limit("--seed", 5)
    told = run("outliers", far, "--seed", 5, "--json").json["next"]
    assert "--seed 5 --keep" in told
    assert run("outliers", far, "--seed", -1).code == 2


def test_many_flagged_rows_are_not_proposed_to_be_left_out(run: Run) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    X[:40] += 20.0
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}).write_csv("groups.csv")
    done = run("outliers", "groups.csv", "--json").json
    assert len(done["rows"]) >= 40
    assert done["next"] == "lowland reduce groups.csv --out groups-map.csv"


def test_the_screen_names_the_columns_and_copies_are_not_proposed_to_be_left_out(run: Run, far: Path) -> None:
    done = run("outliers", far, "--id", "site")
    assert "unusual values" in done.out
    assert "b = 20 (median" in done.out
    assert "Unusual values of site4: b = 20 (median" in " ".join(done.err.split())
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((2000, 4))) ** 3
    X[:1200] = 5.0, 0.0, 1.0, 0.0
    X[:1200, :2] += rng.integers(0, 2, (1200, 2))
    pl.DataFrame(X, schema=list("abcd")).write_csv("copies.csv")
    told = run("outliers", "copies.csv", "--scale", "--json").json
    assert told["ranking"] is not None
    assert len(told["rows"]) <= 20
    assert len(told["columns"]) == len(told["rows"])
    assert "lowland reduce" in told["next"]


def test_models_that_cannot_flag_rows_still_place_and_report_them(run: Run, far: Path) -> None:
    words = [
        "--method",
        "kernel_pca",
        "--id",
        "site",
        "--out",
        "flat.csv",
        "--model",
        "k.lowland",
        "--report",
        "k.html",
    ]
    proposed = run("reduce", far, *words).err.rpartition("next: ")[2].split()
    assert "--flag" not in proposed
    assert run("transform", "k.lowland", far, "--id", "site", "--out", "new.csv", "--report", "new.html").code == 0
    assert "--flag" not in Path("new.html").read_text(encoding="utf-8")
    refused = run("transform", "k.lowland", far, "--flag", "--out", "new.csv")
    assert refused.code == 3
    assert "such as Isomap, or leave --flag out" in refused.err
    assert "X_train" not in refused.err


def test_of_several_flagged_rows_the_most_extreme_is_named_and_the_column_that_lists_them(run: Run, far: Path) -> None:
    table = pl.read_csv(far)
    table.filter(pl.col("site") != "site4").write_csv("old.csv")
    assert run("reduce", "old.csv", "--components", 1, "--out", "flat.csv", "--model", "m.lowland").code == 0
    tenth = pl.when(pl.int_range(pl.len()) == 9)
    table.with_columns(b=tenth.then(pl.lit(512000.0)).otherwise("b")).write_csv("new.csv")
    done = run("transform", "m.lowland", "new.csv", "--flag", "--out", "placed.csv")
    assert done.code == 0, done.err
    assert "Most extreme: line 11 (b = 512000" in done.err
    assert "The column `unusual` of the output lists them for each row." in done.err
    assert "b = 512000" in pl.read_csv("placed.csv")["unusual"][9]


@pytest.mark.parametrize(
    "words", [("--categories", "famd"), ("--categories", "one-hot", "--scaler", "standard", "--pre", "pca:2")]
)
def test_unusual_values_after_mixing_steps_are_those_of_the_table(run: Any, words: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    age = rng.normal(50, 9, 200)
    age[7] = 400
    frame = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(200)],
            "age": age,
            "height": rng.normal(170, 9, 200),
            "sex": ["fm"[i % 2] for i in range(200)],
            "ward": ["abc"[i % 3] for i in range(200)],
        }
    )
    frame.write_csv("mixed.csv")
    done = run("outliers", "mixed.csv", "--id", "id", *words, "--json")
    assert done.code == 0, done.err
    assert done.json["columns"][0][0]["column"] == "age"
    assert done.json["columns"][0][0]["value"] == 400
    assert "Unusual values of p7: age = 400" in done.json["summary"]
