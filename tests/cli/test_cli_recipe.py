"""Tables as they come: gaps, categories, units and dates through every command, and the whole chain in one model."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lowland

PATIENTS = Path(__file__).parents[1] / "data" / "r" / "pbc.csv"
STEPS = ("--missing", "ppca", "--categories", "famd", "--id", "id", "--color", "outcome")


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    (tmp_path / "lab.csv").write_bytes(PATIENTS.read_bytes())
    return tmp_path / "lab.csv"


def split(patients: Path, new: int = 20) -> tuple[Path, Path]:
    """The table without its last rows, and these with shuffled columns."""
    frame = pl.read_csv(patients, null_values="NA")
    old, late = patients.with_name("old.csv"), patients.with_name("late.csv")
    frame.head(-new).write_csv(old)
    frame.tail(new).select(sorted(frame.columns, key=lambda name: name[::-1])).write_csv(late)
    return old, late


def test_info_proposes_a_command_that_works(run: Any, patients: Path) -> None:
    told = run("info", patients, "--json").json
    assert told["contents"]["kinds"]["stage"]["proposed"] == "category"
    assert told["contents"]["kinds"]["sex"]["kind"] == "category"
    words = shlex.split(told["next"])
    assert words[:2] == ["lowland", "reduce"]
    assert {"--missing", "famd", "--id", "--color", "--model", "--report"} <= set(words)
    done = run(*words[1:])
    assert done.code == 0, done.err
    assert pl.read_csv("lab-map.csv").columns == ["id", "outcome", "famd0", "famd1"]
    assert "<svg" in Path("lab.html").read_text()


def test_new_patients_are_placed_by_a_new_process(run: Any, patients: Path) -> None:
    old, late = split(patients)
    assert run("reduce", old, *STEPS, "-o", "map.csv", "--model", "lab.lowland").code == 0
    words = ["transform", "lab.lowland", str(late), "--id", "id", "--flag", "-o", "late-map.csv"]
    subprocess.run([sys.executable, "-m", "lowland", *words], check=True, capture_output=True)
    placed = pl.read_csv("late-map.csv")
    assert placed.height == 20
    assert {"id", "pca0", "pca1", "novel"} <= set(placed.columns)
    model = lowland.load("lab.lowland")
    np.testing.assert_allclose(placed.select("pca0", "pca1").to_numpy(), model.transform(lowland.data.read(late).frame))


def test_flagged_rows_have_the_columns_that_make_them_unusual(run: Any, patients: Path) -> None:
    old, late = split(patients)
    assert run("reduce", old, *STEPS, "-o", "map.csv", "--model", "lab.lowland").code == 0
    frame = pl.read_csv(late)
    frame[3, "age"] = 400.0
    frame.write_csv("odd.csv")
    done = run("transform", "lab.lowland", "odd.csv", "--id", "id", "--flag", "-o", "odd-map.csv", "--json").json
    made = pl.read_csv("odd-map.csv")
    assert made.columns[-1] == "unusual"
    assert made["unusual"][3].startswith("age = 400")
    assert made.filter(pl.col("novel") == 0)["unusual"].null_count() == (made["novel"] == 0).sum()
    assert "age" in done["unusual_columns"]
    assert "age" in done["summary"]
    numbers = run("transform", "lab.lowland", "odd.csv", "--flag", "-o", "odd.npz", "--json").json
    assert "unusual" not in numbers["columns"]
    assert numbers["unusual_columns"] == done["unusual_columns"]
    plain = run("transform", "lab.lowland", "odd.csv", "-o", "odd.npz", "--json").json
    assert plain["unusual_columns"] is None


@pytest.mark.parametrize("method", ["pca", "isomap", "som", "tsne", "kernel_pca", "metric_mds", "famd"])
def test_every_kind_of_method_takes_the_steps(run: Any, patients: Path, method: str) -> None:
    words = ["--missing", "median", "--missing-category", "level", "--types", "category=stage", "--id", "id"]
    if method != "famd":
        words += ["--categories", "one-hot", "--scale"]
    done = run("reduce", patients, "-m", method, *words, "-o", "y.csv", "--model", "m.lowland")
    assert done.code == 0, done.err
    assert run("transform", "m.lowland", patients, "--id", "id", "-o", "z.csv").code == 0
    first, again = pl.read_csv("y.csv").drop("id").to_numpy(), pl.read_csv("z.csv").drop("id").to_numpy()
    assert first.shape == again.shape
    if method in ("pca", "famd", "kernel_pca"):
        np.testing.assert_allclose(again, first, atol=1e-8 * np.abs(first).max())


@pytest.mark.parametrize(
    "command",
    [
        ("dimension",),
        ("outliers", "--scale"),
        ("plan", "--method", "isomap"),
        ("compare", "--methods", "pca,isomap", "--budget", "1min", "--target", "outcome"),
    ],
)
def test_every_command_takes_the_steps(run: Any, patients: Path, command: tuple[str, ...]) -> None:
    name, *words = command
    steps = ["--missing", "mean", "--categories", "one-hot", "--drop", "id", "--transform", "log=bili,protime"]
    done = run(name, patients, *words, *steps, "--json")
    assert done.code == 0, done.err
    assert "--missing mean" in done.json["next"]
    assert "--transform log=bili,protime" in done.json["next"]


def test_compare_recommends_one_command_with_its_steps(run: Any, patients: Path) -> None:
    words = ["--methods", "isomap,kernel_pca", "--budget", "2min", "--missing", "ppca", "--categories", "famd"]
    told = run("compare", patients, *words, "--drop", "id", "--target", "outcome", "--json").json
    assert " && " not in told["next"]
    done = run(*shlex.split(told["next"])[1:])
    assert done.code == 0, done.err


def test_evaluate_judges_in_the_space_of_the_steps(run: Any, patients: Path) -> None:
    words = ["--missing", "median", "--scaler", "robust", "--drop", "id,sex,outcome"]
    assert run("reduce", patients, *words, "-o", "y.csv").code == 0
    told = run("evaluate", patients, "y.csv", *words, "--json").json
    assert told["space"] == "the columns of lab.csv after the steps columns, missing, scale"
    spaced = run("evaluate", patients, "y.csv", *words, "--pre", "pca:3", "--json").json["space"]
    assert spaced.startswith("the 3 dimensions of PCA fitted to lab.csv")


def test_rows_with_gaps_can_be_dropped(run: Any, patients: Path) -> None:
    words = ["--id", "id", "--drop", "sex,outcome", "--scale"]
    done = run("reduce", patients, *words, "--missing", "drop-rows", "-o", "y.csv")
    assert done.code == 0, done.err
    whole = pl.read_csv(patients, null_values="NA").drop_nulls()
    assert "dropped 142 of 418 rows" in done.err
    assert pl.read_csv("y.csv")["id"].to_list() == whole["id"].to_list()


def test_inverse_returns_the_columns_and_their_types(run: Any, patients: Path) -> None:
    words = ["--missing", "mean", "--categories", "one-hot", "--scale", "--id", "id", "--components", "18"]
    assert run("reduce", patients, *words, "-o", "y.csv", "--model", "m.lowland").code == 0
    done = run("inverse", "m.lowland", "y.csv", "-o", "back.csv")
    assert done.code == 0, done.err
    back, table = pl.read_csv("back.csv"), pl.read_csv(patients, null_values="NA")
    assert back["sex"].to_list() == table["sex"].to_list()
    np.testing.assert_allclose(back["bili"], table["bili"], rtol=1e-6)


def test_wrong_new_rows_are_named(run: Any, patients: Path) -> None:
    old, late = split(patients)
    assert run("reduce", old, *STEPS, "-o", "map.csv", "--model", "lab.lowland").code == 0
    frame = pl.read_csv(late)
    frame.with_columns(sex=pl.lit("x")).write_csv("level.csv")
    done = run("transform", "lab.lowland", "level.csv", "-o", "z.csv")
    assert done.code == 3
    assert "level.csv, line 2, column 'sex'" in done.err
    assert run("transform", "lab.lowland", "level.csv", "-o", "z.csv", "--unseen", "ignore").code == 0
    frame.drop("bili").write_csv("less.csv")
    done = run("transform", "lab.lowland", "less.csv", "-o", "z2.csv")
    assert done.code == 3
    assert "'bili'" in done.err
    assert not Path("z2.csv").exists()
    frame.with_columns(pl.col("albumin") * 1000).write_csv("units.csv")
    done = run("transform", "lab.lowland", "units.csv", "-o", "z.csv")
    assert done.code == 0
    assert "albumin" in done.err
    cells = ["<0.5", *(str(value) for value in frame["bili"][1:])]
    frame.with_columns(bili=pl.Series(cells)).write_csv("limit.csv")
    done = run("transform", "lab.lowland", "limit.csv", "-o", "z2.csv")
    assert done.code == 3
    assert "use --below-limit half or --below-limit missing" in done.err
    assert run("transform", "lab.lowland", "limit.csv", "--below-limit", "half", "-o", "z2.csv").code == 0
    frame.with_columns(age=pl.lit("old")).write_csv("type.csv")
    assert run("transform", "lab.lowland", "type.csv", "-o", "z.csv").code == 3


def test_dates_take_part_when_asked(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 12, 31), eager=True)
    frame = pl.DataFrame({"day": days, "a": rng.standard_normal(366), "b": rng.standard_normal(366)})
    frame.write_csv(tmp_path / "t.csv")
    done = run("reduce", "t.csv", "-o", "y.csv", "--json")
    assert done.json["left_out"] == {"day": "dates"}
    done = run("reduce", "t.csv", "--dates", "elapsed", "--scale", "-o", "y.csv", "--json").json
    assert done["columns"] == ["day_days", "a", "b"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--scale", "--scaler", "robust"), "--scale"),
        (("--transform", "log"), "--transform log: write it as"),
        (("--transform", "cube=age"), "cube"),
        (("--types", "category=nobody"), "nobody"),
        (("--columns", "age,sex", "--missing", "mean"), "--categories one-hot"),
        (("--set", "metric=precomputed", "-m", "isomap", "--missing", "mean"), "precomputed"),
        (("--pre", "pca"), "pca"),
        (("--missing", "guess"), "guess"),
    ],
)
def test_wrong_steps_are_named(run: Any, patients: Path, words: tuple[str, ...], text: str) -> None:
    done = run("reduce", patients, *words, "-o", "y.csv")
    assert done.code in (2, 3)
    assert text in done.err
    assert not Path("y.csv").exists()


def test_json_of_a_model_lists_its_steps(run: Any, patients: Path) -> None:
    assert run("reduce", patients, *STEPS, "-o", "map.csv", "--model", "lab.lowland").code == 0
    told = run("info", "lab.lowland", "--json").json
    assert "columns" in json.dumps(told["contents"])
    assert run("info", "lab.lowland").code == 0


COMMANDS_WITH_STEPS = {
    "reduce": ["-o", "y.csv"],
    "plan": [],
    "dimension": [],
    "outliers": [],
    "evaluate": ["flat.csv"],
    "compare": ["--methods", "pca,isomap", "--budget", "1min"],
}


@pytest.mark.parametrize("command", COMMANDS_WITH_STEPS)
def test_columns_are_scaled_once(run: Any, wine: Path, command: str) -> None:
    words = [command, wine, *COMMANDS_WITH_STEPS[command], "--drop", "id"]
    for scaler in ("standard", "robust"):
        done = run(*words, "--scale", "--scaler", scaler)
        assert done.code == 2
        assert "--scale and --scaler both scale the columns" in done.err
    done = run(*words, "--scale", "--categories", "famd")
    assert done.code == 0, done.err
    assert "--scale adds nothing" in done.err


@pytest.mark.parametrize("command", COMMANDS_WITH_STEPS)
def test_columns_are_scaled_before_the_axes_of_pre(run: Any, wine: Path, command: str) -> None:
    """The first axes keep their variance: scaling them, too, would make all directions equally long."""
    words = [command, wine, *COMMANDS_WITH_STEPS[command], "--pre", "pca:3", "--drop", "id,kind", "--json"]
    words += ["-o", "y.csv"] if command == "compare" else []
    scaled, again = run(*words, "--scale"), run(*words, "--scaler", "standard")
    assert scaled.code == 0, scaled.err
    assert "holds" not in scaled.err  # no advice to scale what is scaled
    assert " --scale " not in scaled.json["next"]
    assert "--scaler standard" in scaled.json["next"]
    dropped = ("seconds", "peak_bytes", "candidates", "memory_limit", "summary")
    told = [{k: v for k, v in done.json.items() if k not in (*dropped, "fit_info", "plan")} for done in (scaled, again)]
    assert told[0] == told[1]
    if command == "reduce":
        frame = pl.read_csv(wine).drop("id", "kind")
        X = frame.to_numpy()
        Z = lowland.PCA(3).fit_transform((X - X.mean(axis=0)) / X.std(axis=0))
        made = np.abs(pl.read_csv("y.csv").to_numpy())
        np.testing.assert_allclose(made, np.abs(Z[:, :2]), rtol=1e-8, atol=1e-8)


@pytest.fixture
def wine(run: Any, tmp_path: Path) -> Path:
    """Columns in different units, an identifier, a category, and a map."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((60, 5))
    frame = pl.DataFrame(X * [1, 10, 500, 0.1, 3], schema=list("abcde"))
    frame = frame.with_columns(id=pl.Series(range(1000, 1060)), kind=pl.Series(["red", "white", "white"] * 20))
    frame.write_csv(tmp_path / "wine.csv")
    assert run("reduce", "wine.csv", "--scale", "--drop", "id", "-o", "flat.csv").code == 0
    return Path("wine.csv")


def test_a_reduction_can_be_planned_and_compared_by_the_same_words(run: Any, wine: Path) -> None:
    kept = ["--id", "id"]
    planned = run("plan", wine, "--scale", *kept, "--color", "kind", "--json").json
    assert planned["columns"] == 5
    assert "--id id" in planned["next"]
    assert run(*shlex.split(planned["next"])[1:]).code == 0
    told = run("compare", wine, "--methods", "pca,isomap", "--scale", "--target", "kind", *kept, "--json").json
    words = shlex.split(told["next"])
    assert words[words.index("--id") + 1] == "id"
    assert words[words.index("--model") + 1] == "wine.lowland"
    done = run(*words[1:])
    assert done.code == 0, done.err
    assert run("transform", "wine.lowland", wine, *kept, "-o", "again.csv").code == 0
    first, again = pl.read_csv("wine-map.csv").drop("kind"), pl.read_csv("again.csv")
    assert again.columns == first.columns
    np.testing.assert_allclose(again.to_numpy(), first.to_numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("command", ["reduce", "outliers", "dimension", "compare"])
def test_axes_of_famd_are_not_advised_to_be_scaled(run: Any, tmp_path: Path, command: str) -> None:
    rng = np.random.default_rng(0)
    health = rng.standard_normal(60)
    columns = {name: 10**j * (health + 0.05 * rng.standard_normal(60)) for j, name in enumerate("abcd")}
    pl.DataFrame({**columns, "ill": np.where(health > 0, "yes", "no")}).write_csv(tmp_path / "t.csv")
    words = {"reduce": ("-o", "map.csv", "--report", "r.html"), "compare": ("--methods", "pca,classical_mds")}
    done = run(command, tmp_path / "t.csv", "--categories", "famd", *words.get(command, ()))
    assert done.code == 0, done.err
    assert "famd0" not in done.err
    assert "--scale" not in done.err + done.out


def test_limits_of_detection_in_parquet_do_not_become_categories(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = [f"{value:.3f}" for value in rng.random(30)]
    table = pl.DataFrame({"crp": [*values[:5], *["<0.5"] * 4, *values[9:]], "b": rng.random(30), "s": ["f", "m"] * 15})
    table.write_parquet(tmp_path / "t.parquet")
    words = ("reduce", "t.parquet", "--columns", "crp,b,s", "--categories", "famd", "-o", "map.csv")
    done = run(*words)
    assert (done.code, Path("map.csv").exists()) == (3, False)
    assert "'<0.5' among numbers: if it is a value below the limit of detection, read the table with" in done.err
    assert "--below-limit half or --below-limit missing" in done.err
    assert "if the column is a category, say so with --types category=crp" in done.err
    assert run(*words, "--below-limit", "half").code == 0
    assert run(*words, "--types", "category=crp").code == 0


def test_dates_without_a_day_above_12_take_their_order_from_an_option(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    days = [f"{1 + i % 12:02d}/{1 + 5 * i % 12:02d}/2024" for i in range(24)]
    pl.DataFrame({"a": rng.random(24), "b": rng.random(24), "d": days}).write_csv(tmp_path / "t.csv")
    words = ("reduce", "t.csv", "--scale", "-o", "map.csv", "--model", "m.lowland")
    ways = "--types dmy=d or --types mdy=d"
    for more in ((), ("--categories", "one-hot")):
        done = run(*words, "--dates", "elapsed", *more)
        assert f"left out: d (dates, day or month first: add {ways})" in done.err
    done = run(*words, "--dates", "elapsed", "--columns", "a,d")
    assert (done.code, f"t.csv, column 'd': dates, day or month first: add {ways}" in done.err) == (3, True)
    done = run(*words, "--dates", "elapsed", "--types", "date=d")
    assert done.code == 3
    advice = "use --types dmy=d if the day is first or use --types mdy=d if the month is first"
    assert f"line 2, column 'd': it contains '01/01/2024', which is not a date: {advice}" in done.err
    done = run(*words, "--types", "mdy=d")
    assert (done.code, "column 'd' is to be a date: add --dates elapsed or --dates cyclic" in done.err) == (2, True)
    told = run("info", "t.csv").out
    assert "add --types dmy=d if the day is first, --types mdy=d if the month is" in told
    assert run(*words, "--dates", "elapsed", "--types", "mdy=d").code == 0
    # The model repeats the order on new rows, also on those that could be read both ways.
    (tmp_path / "new.csv").write_text("d,b,a\n02/01/2024,0.5,0.5\n")
    (tmp_path / "iso.csv").write_text("d,b,a\n2024-02-01,0.5,0.5\n")
    assert run("transform", "m.lowland", "new.csv").out == run("transform", "m.lowland", "iso.csv").out
    assert run("transform", "m.lowland", "new.csv").code == 0


def test_missing_columns_of_new_rows_are_listed_with_a_remedy_that_works(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame(rng.random((30, 4)), schema=["age", "crp", "albumin", "ferritin"])
    table.write_csv(tmp_path / "t.csv")
    table.select(pl.col("age").alias("Age"), "ferritin", pl.col("albumin").alias("note")).write_csv(
        tmp_path / "new.csv"
    )
    for more, empty in (((), False), (("--missing", "mean"), True)):
        assert run("reduce", "t.csv", "--scale", *more, "-o", "map.csv", "--model", "m.lowland").code == 0
        done = run("transform", "m.lowland", "new.csv")
        assert done.code == 3
        lost = "'age' (similar: Age), 'crp', 'albumin'; rename or add columns in new.csv."
        assert f"new.csv is missing 3 of the 4 columns that the model requires: {lost}" in done.err
        assert "The model requires age, crp, albumin, ferritin. new.csv has Age, ferritin, note." in done.err
        assert ("The model fills missing values, so a column may also be empty." in done.err) == empty
    (tmp_path / "empty.csv").write_text("age,crp,albumin,ferritin\n0.5,,0.1,0.2\n0.1,,0.4,0.3\n")
    assert run("transform", "m.lowland", "empty.csv").code == 0


def test_a_missing_category_is_not_said_to_be_filled(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame(rng.random((30, 2)), schema=["age", "crp"]).with_columns(sex=pl.Series(["f", "m"] * 15))
    table.write_csv(tmp_path / "t.csv")
    table.drop("sex").write_csv(tmp_path / "new.csv")
    words = ("--categories", "famd", "--missing", "mean", "-o", "map.csv", "--model", "m.lowland")
    assert run("reduce", "t.csv", *words).code == 0
    assert "may also be empty" not in run("transform", "m.lowland", "new.csv").err
    assert run("reduce", "t.csv", *words, "--missing-category", "mode").code == 0
    assert "may also be empty" in run("transform", "m.lowland", "new.csv").err
    table.with_columns(sex=pl.lit(None)).write_csv(tmp_path / "empty.csv")
    assert run("transform", "m.lowland", "empty.csv").code == 0


def test_flag_marks_rows_off_the_axes_of_pre(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 10)) * 3 + 0.05 * rng.standard_normal((300, 10))
    V = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]
    new = X[:3].copy()
    new[1] += 100 * V[5]
    names = [f"c{j}" for j in range(10)]
    pl.DataFrame(X, schema=names).write_csv("train.csv")
    pl.DataFrame(new, schema=names).write_csv("new.csv")
    for method in ("isomap", "pca"):
        done = run("reduce", "train.csv", "-m", method, "--pre", "pca:2", "-o", "m.csv", "--model", "m.lowland")
        assert done.code == 0, done.err
        done = run("transform", "m.lowland", "new.csv", "--flag", "-o", "f.csv", "--report", "r.html", "--json")
        assert done.code == 0, done.err
        assert "valid feature names" not in done.err
        assert pl.read_csv("f.csv")["novel"].to_list() == [0, 1, 0]
        assert done.json["novel"] == 1


def test_unseen_is_refused_without_new_rows(run: Any, tmp_path: Path) -> None:
    pl.DataFrame({"a": range(20), "b": [i * i % 7 for i in range(20)], "c": list("xy" * 10)}).write_csv("t.csv")
    commands = (["dimension"], ["outliers"], ["correlations"], ["compare"], ["evaluate", "t.csv"], ["plot"])
    for command, *more in commands:
        out = ["-o", "p.png"] if command == "plot" else []
        done = run(command, "t.csv", *more, "--categories", "one-hot", "--unseen", "ignore", *out)
        assert done.code == 2, command
        assert "--unseen ignore is for new rows, and this command has none" in done.err
