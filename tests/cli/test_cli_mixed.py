"""Tables of numbers and texts on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.cli.inputs import read_input
from lowland.cli.options import KeepOptions, TableOptions


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "name": [f"row{i}" for i in range(40)],
            "age": rng.normal(40, 10, 40).round(1),
            "kind": rng.choice(["red", "green", "blue"], 40),
            "ok": rng.random(40) < 0.5,
            "day": pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 2, 9), eager=True),
        }
    )
    frame.write_csv(tmp_path / "mixed.csv")
    frame.write_parquet(tmp_path / "mixed.parquet")
    return tmp_path / "mixed.csv"


@pytest.fixture
def model(mixed: Path, tmp_path: Path) -> Path:
    frame = pl.read_csv(mixed)[["age", "kind", "ok"]]
    lowland.save(lowland.FAMD(2).fit(frame), tmp_path / "m.lowland")
    return tmp_path / "m.lowland"


def test_columns_of_text_are_rows_for_a_method_that_takes_categories(mixed, capsys):
    given = read_input(mixed.with_suffix(".parquet"), TableOptions(), KeepOptions(id="name"), categories=True)
    assert given.names == ["age", "kind", "ok"]
    assert given.left_out == {"day": "dates"}
    assert given.shape == (40, 3)
    assert lowland.FAMD().fit(given.rows).levels_ == {"kind": ["blue", "green", "red"], "ok": [False, True]}
    assert "left out: day (dates)" in capsys.readouterr().err


def test_the_others_get_numbers_only(mixed):
    given = read_input(mixed, TableOptions(), KeepOptions())
    assert given.names == ["age", "ok"]
    chosen = read_input(mixed, TableOptions(columns=("kind,age",)), KeepOptions(), categories=True)
    assert chosen.names == ["kind", "age"]
    with pytest.raises(lowland.DataError, match="column 'kind' contains text; add --categories"):
        read_input(mixed, TableOptions(columns=("kind,age",)), KeepOptions())


def test_an_array_file_has_no_categories(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(4))
    given = read_input(tmp_path / "x.npy", TableOptions(), KeepOptions(), categories=True)
    np.testing.assert_array_equal(given.rows.array, np.eye(4))


def test_a_saved_model_takes_new_rows_by_name(run, mixed, model):
    assert run("transform", model, mixed, "--id", "name", "--out", "flat.csv").code == 0
    flat = pl.read_csv("flat.csv")
    assert flat.columns == ["name", "famd0", "famd1"]
    want = lowland.load(model).transform(pl.read_csv(mixed)[["age", "kind", "ok"]])
    np.testing.assert_allclose(flat[["famd0", "famd1"]].to_numpy(), want, rtol=1e-12)


def test_an_unseen_level_is_named_by_its_line(run, mixed, model):
    lines = mixed.read_text(encoding="utf-8").splitlines()
    cells = lines[5].split(",")
    cells[2] = "purple"
    mixed.write_text("\n".join([*lines[:5], ",".join(cells), *lines[6:]]) + "\n", encoding="utf-8")
    done = run("transform", model, mixed, "--out", "flat.csv")
    assert done.code == 3
    assert (
        "mixed.csv, line 6, column 'kind': it contains the level 'purple', which the training rows do not have"
        in " ".join(done.err.split())
    )


def test_rows_without_names_go_by_position(run, tmp_path):
    rows = [[1.0, "a"], [2.0, "b"], [3.5, "a"], [0.5, "b"]]
    lowland.save(lowland.FAMD(1).fit(rows), tmp_path / "m.lowland")
    pl.DataFrame({"x0": [1.0, 3.5], "x1": ["a", "b"]}).write_csv(tmp_path / "new.csv")
    done = run("transform", "m.lowland", "new.csv", "--out", "flat.csv")
    assert done.code == 0, done.err
    want = lowland.load("m.lowland").transform([[1.0, "a"], [3.5, "b"]])
    np.testing.assert_allclose(pl.read_csv("flat.csv").to_numpy(), want, rtol=1e-12)


def test_reduce_and_back(run, mixed):
    words = ["--id", "name", "--drop", "day", "--components", 4, "--out", "flat.csv", "--model", "m.lowland"]
    assert run("reduce", mixed, "--method", "famd", *words, "--report", "r.html").code == 0
    frame = pl.read_csv(mixed)
    want = lowland.FAMD(4).fit_transform(frame[["age", "kind", "ok"]])
    np.testing.assert_allclose(pl.read_csv("flat.csv")[:, 1:].to_numpy(), want, rtol=1e-12, atol=1e-12)
    assert "kind=red" in Path("r.html").read_text(encoding="utf-8")
    assert run("inverse", "m.lowland", "flat.csv", "--id", "name", "--out", "back.csv").code == 0
    back = pl.read_csv("back.csv")
    assert back["kind"].to_list() == frame["kind"].to_list()
    assert back["ok"].to_list() == frame["ok"].to_list()
    np.testing.assert_allclose(back["age"].to_numpy(), frame["age"].to_numpy(), rtol=1e-12)
    assert run("plan", mixed, "--method", "famd").code == 0


def test_advice_on_gaps_is_written_as_options_and_fits_mixed_tables(run, tmp_path):
    frame = pl.DataFrame({"age": [1.0, 2.0, 4.0, 3.0], "kind": ["a", None, "b", "a"]})
    frame.write_csv(tmp_path / "gap.csv")
    done = run("reduce", "gap.csv", "--method", "famd", "--out", "o.csv")
    assert done.code == 3
    assert "gap.csv, line 3, column 'kind': missing category: fill it, " in done.err
    assert "a separate level with --set missing=level" in done.err
    assert run("reduce", "gap.csv", "--method", "famd", "--set", "missing=level", "--out", "o.csv").code == 0
    frame.with_columns(age=pl.Series([1.0, 2.0, None, 3.0]), kind=pl.Series(list("abab"))).write_csv("gap.csv")
    done = run("reduce", "gap.csv", "--method", "famd", "--out", "o.csv")
    assert done.code == 3
    assert "gap.csv, line 4, column 'age': missing value; fill such cells with --missing ppca" in done.err
    assert run("reduce", "gap.csv", "--method", "famd", "--missing", "mean", "--out", "o.csv").code == 0


@pytest.mark.parametrize("steps", [(), ("--missing-category", "mode")], ids=["bare", "steps"])
def test_famd_ignores_new_levels_as_asked(run, mixed, steps):
    shown = pl.read_csv(mixed)
    shown.with_columns(kind=pl.lit("black")).write_csv("new.csv")
    words = ("reduce", mixed, "--method", "famd", "--columns", "age,kind", *steps, "-o", "map.csv")
    assert run(*words, "--model", "a.lowland").code == 0
    refused = run("transform", "a.lowland", "new.csv", "-o", "x.csv")
    assert refused.code == 3
    assert "--unseen ignore" in refused.err
    assert run("transform", "a.lowland", "new.csv", "-o", "x.csv", "--unseen", "ignore").code == 0
    assert run(*words, "--unseen", "ignore", "--model", "b.lowland").code == 0
    assert run("transform", "b.lowland", "new.csv", "-o", "y.csv").code == 0
    assert Path("x.csv").read_text() == Path("y.csv").read_text()
    assert run("reduce", mixed, "--columns", "age,ok", "-o", "map.csv", "--model", "c.lowland").code == 0
    useless = run("transform", "c.lowland", "new.csv", "-o", "x.csv", "--unseen", "ignore")
    assert useless.code == 2
    assert "uses no categories" in useless.err


@pytest.mark.parametrize("words", [("--scale",), (), ("--method", "famd")], ids=["scaled", "plain", "famd"])
def test_a_model_without_steps_warns_of_another_unit(run, mixed, words):
    columns = "age,kind,ok" if "famd" in words else "age,ok"
    words = ("reduce", mixed, "--columns", columns, *words, "-o", "map.csv", "--model", "u.lowland")
    assert run(*words).code == 0
    for factor, told in ((1000, "times larger"), (0.001, "times smaller"), (2, None)):
        pl.read_csv(mixed).with_columns(pl.col("age") * factor).write_csv("new.csv")
        done = run("transform", "u.lowland", "new.csv", "-o", "x.csv")
        assert done.code == 0
        assert ("check the unit" in done.err) == (told is not None)
        assert told is None or ("'age': the new values are about" in done.err and told in done.err)


def _suggested(path: str) -> str:
    """Return the `compare` command of a page, and what follows it."""
    text = re.sub(r"<[^>]*>", "", Path(path).read_text())
    return re.findall(r"lowland compare .*", text)[0]


def test_reports_of_famd_with_steps_suggest_to_compare_with_columns_of_text(run, mixed):
    """Without --categories `compare` would leave out the columns of text that FAMD used."""
    words = ["--missing", "median", "--id", "name"]
    want = "--missing median --categories famd --id name"
    done = run("reduce", mixed, "--method", "famd", *words, "--out", "map.csv", "--report", "map.html")
    assert done.code == 0, done.err
    assert _suggested("map.html").startswith(f"lowland compare {mixed} {want}")
    done = run("evaluate", mixed, "map.csv", *words, "--report", "judged.html")
    assert done.code == 0, done.err
    assert _suggested("judged.html").startswith(f"lowland compare {mixed} {want}")


@pytest.mark.parametrize("words", [["--method", "famd"], ["--categories", "one-hot"], ["--categories", "famd"]])
def test_a_new_row_without_a_category_is_placed_by_an_option(run, mixed, tmp_path, words):
    assert run("reduce", mixed, *words, "--missing", "median", "--model", "m.lowland", "-o", "map.csv").code == 0
    frame = pl.read_csv(mixed)
    text = next(name for name in frame.columns if frame[name].dtype == pl.String and frame[name].n_unique() < 10)
    gap = frame.head(6).with_columns(pl.when(pl.int_range(pl.len()) == 2).then(None).otherwise(text).alias(text))
    gap.write_csv("gap.csv")
    done = run("transform", "m.lowland", "gap.csv", "--out", "new.csv")
    assert done.code == 3
    assert "missing category: fill it, treat it as an unknown level with --unseen ignore, or fit the model" in done.err
    assert "--missing-category level" in done.err
    done = run("transform", "m.lowland", "gap.csv", "--unseen", "ignore", "--out", "new.csv")
    assert done.code == 0, done.err
    assert pl.read_csv("new.csv").height == 6
    kept = run("reduce", mixed, *words, "--missing-category", "mode", "--model", "mode.lowland", "-o", "map.csv")
    assert kept.code == 0
    assert run("transform", "mode.lowland", "gap.csv", "--out", "new.csv").code == 0


@pytest.mark.parametrize(
    ("method", "steps"), [("famd", ()), ("famd", ("--missing", "median")), ("pca", ("--categories", "famd"))]
)
def test_report_evaluate_and_compare_measure_in_the_space_of_the_recipe(run, mixed, method, steps):
    words = ("--id", "name", *steps)
    if "--missing" in steps:
        frame = pl.read_csv(mixed).with_columns(
            pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("age").alias("age")
        )
        frame.write_csv(mixed)
    done = run("reduce", mixed, "--method", method, *words, "--out", "map.csv", "--report", "map.html")
    assert done.code == 0, done.err
    measures = run("evaluate", mixed, "map.csv", *words, "--json").json["measures"]
    whole = ("--held-out", "0", "--budget", "1min", "--quality-neighbors", "10", "--record", "record.json")
    assert run("compare", mixed, "--methods", f"{method},classical_mds", *words, *whole).code == 0
    candidates = json.loads(Path("record.json").read_text())["candidates"]
    local = next(row for row in candidates if row["method"] == method)["criteria"]["local"]["training"]
    trust, kept = (measures[name]["value"] for name in ("trustworthiness", "continuity"))
    assert local["trustworthiness"] == pytest.approx(trust, rel=1e-9)
    assert local["continuity"] == pytest.approx(kept, rel=1e-9)
    text = re.sub(r"<[^>]*>", "", Path("map.html").read_text())
    assert f"(trustworthiness {trust:.3f}, continuity {kept:.3f}" in text.replace("\n", " ")
