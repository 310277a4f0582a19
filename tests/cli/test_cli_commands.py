"""Each command of the command line: what it writes is what the library gives."""

from __future__ import annotations

import gzip
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import lowland
from lowland.contract import registry

Run = Callable[..., Any]


# -- reduce -------------------------------------------------------------------------------------------------


def test_coordinates_on_stdout_are_those_of_the_library(run: Run, frame: pl.DataFrame, table: Path) -> None:
    done = run("reduce", table)
    found = pl.read_csv(done.out.encode())
    expected = lowland.PCA(n_components=2).fit_transform(frame.select("a", "b", "c").to_numpy())
    assert found.columns == ["pca0", "pca1"]
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-12, atol=1e-12)
    assert "left out: name (text), kind (text)" in done.err


def test_columns_and_drop_choose(run: Run, frame: pl.DataFrame, table: Path) -> None:
    chosen = pl.read_csv(run("reduce", table, "--columns", "c,a").out.encode()).to_numpy()
    dropped = pl.read_csv(run("reduce", table, "--drop", "b").out.encode()).to_numpy()
    expected = lowland.PCA(n_components=2).fit_transform(frame.select("c", "a").to_numpy())
    np.testing.assert_allclose(chosen, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.abs(dropped), np.abs(expected), rtol=1e-12, atol=1e-12)


def test_a_column_name_with_a_comma_is_quoted(run: Run, frame: pl.DataFrame, tmp_path: Path) -> None:
    renamed = frame.rename({"a": "a,1"})
    renamed.write_csv(tmp_path / "comma.csv")
    done = run("reduce", "comma.csv", "--columns", '"a,1",b', "--json", "--out", "flat.csv")
    assert done.json["columns"] == ["a,1", "b"]


def test_scale_and_set_reach_the_method(run: Run, frame: pl.DataFrame, table: Path) -> None:
    words = ["--set", "solver=svd", "--set", "ddof=0", "--scale", "--json", "--out", "flat.csv"]
    found = run("reduce", table, *words).json
    assert found["parameters"]["solver"] == "svd"
    assert found["parameters"]["ddof"] == 0
    assert found["parameters"]["scale"] is True
    X = frame.select("a", "b", "c").to_numpy()
    expected = lowland.PCA(n_components=2, solver="svd", ddof=0, scale=True).fit_transform(X)
    np.testing.assert_allclose(pl.read_csv("flat.csv").to_numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("text", "kept"), [("1", 1), ("0.999", 3), ("none", 3), ("auto", None)])
def test_components_in_every_form(run: Run, table: Path, text: str, kept: int | None) -> None:
    found = run("reduce", table, "--components", text, "--json", "--out", "flat.csv").json
    expected = {"1": 1, "0.999": 0.999, "none": None, "auto": "auto"}[text]
    assert found["parameters"]["n_components"] == expected
    assert pl.read_csv("flat.csv").width == found["n_components"]
    assert found["n_components"] == kept or (kept is None and 1 <= found["n_components"] <= 3)


def test_id_and_color_are_kept_in_row_order_and_not_reduced(run: Run, frame: pl.DataFrame, table: Path) -> None:
    run("reduce", table, "--id", "name", "--color", "a", "--out", "flat.parquet")
    found = pl.read_parquet("flat.parquet")
    assert found.columns == ["name", "a", "pca0", "pca1"]
    assert found["name"].to_list() == frame["name"].to_list()
    assert found["a"].to_list() == pytest.approx(frame["a"].to_list())
    expected = lowland.PCA(n_components=2).fit_transform(frame.select("b", "c").to_numpy())
    np.testing.assert_allclose(found.select("pca0", "pca1").to_numpy(), expected, rtol=1e-12, atol=1e-12)


def test_keep_columns_appends_to_the_table(run: Run, frame: pl.DataFrame, table: Path) -> None:
    run("reduce", table, "--keep-columns", "--id", "name", "--out", "flat.tsv.gz")
    found = pl.read_csv(gzip.decompress(Path("flat.tsv.gz").read_bytes()), separator="\t")
    assert found.columns == ["name", "a", "b", "c", "kind", "pca0", "pca1"]
    assert found["kind"].to_list() == frame["kind"].to_list()


@pytest.mark.parametrize("name", [row.name for row in registry.METHODS])
def test_every_method_runs_and_its_model_comes_back(run: Run, table: Path, name: str) -> None:
    assert run("reduce", table, "--method", name, "--out", "flat.csv", "--model", "m.lowland").code == 0
    assert run("transform", "m.lowland", table, "--out", "again.csv").code == 0
    first, again = pl.read_csv("flat.csv"), pl.read_csv("again.csv")
    np.testing.assert_allclose(first.to_numpy(), again.to_numpy(), rtol=1e-12, atol=1e-12)


WITH_OWN_PICTURES = ("pca", "classical_mds", "isomap", "lle", "famd", "som", "umap")  # one of each kind of report


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(row.name, marks=() if row.name in WITH_OWN_PICTURES else pytest.mark.slow)
        for row in registry.METHODS
    ],
)
def test_every_method_has_a_report(run: Run, table: Path, name: str) -> None:
    assert run("reduce", table, "--method", name, "--out", "flat.csv", "--report", "r.html").code == 0
    assert Path("r.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_sparse_matrix_is_reduced_without_names(run: Run, tmp_path: Path) -> None:
    X = sp.random_array((40, 12), density=0.3, rng=np.random.default_rng(0), format="csr")
    sp.save_npz(tmp_path / "counts.npz", X)
    assert run("reduce", "counts.npz", "--method", "truncated_svd", "--out", "flat.csv").code == 0
    expected = lowland.TruncatedSVD(n_components=2).fit_transform(X)
    np.testing.assert_allclose(pl.read_csv("flat.csv").to_numpy(), expected, rtol=1e-12, atol=1e-12)
    done = run("reduce", "counts.npz", "--color", "a")
    assert done.code == 2
    assert "sparse" in done.err
    assert run("info", "counts.npz", "--json").json["kind"] == "sparse matrix"


def test_library_warnings_are_plain_lines_and_in_json(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    big = pl.DataFrame({"big": 1e4 * rng.normal(size=40), "u": rng.normal(size=40), "v": rng.normal(size=40)})
    big.write_csv(tmp_path / "big.csv")
    done = run("reduce", "big.csv", "--json", "--out", "flat.csv")
    lines = [line for line in done.err.splitlines() if line.startswith("warning: ")]
    assert len(lines) == 1
    assert "big" in lines[0]
    assert "Warning:" not in done.err
    assert len(done.json["warnings"]) == 1


# -- transform and inverse ----------------------------------------------------------------------------------


def test_transform_repeats_reduce(run: Run, table: Path, model: Path) -> None:
    assert run("transform", model, table, "--out", "again.csv").code == 0
    first, again = pl.read_csv("whole.csv"), pl.read_csv("again.csv")
    assert again.columns == first.columns
    np.testing.assert_allclose(again.to_numpy(), first.to_numpy(), rtol=1e-12, atol=1e-12)


def test_transform_finds_columns_by_name(run: Run, frame: pl.DataFrame, model: Path, tmp_path: Path) -> None:
    frame.select("c", "kind", "b", pl.lit(9.0).alias("extra"), "a").write_csv(tmp_path / "shuffled.csv")
    done = run("transform", model, "shuffled.csv", "--id", "kind")
    assert done.code == 0
    found = pl.read_csv(done.out.encode())
    assert found["kind"].to_list() == frame["kind"].to_list()
    np.testing.assert_allclose(
        found.drop("kind").to_numpy(), pl.read_csv("whole.csv").to_numpy(), rtol=1e-12, atol=1e-12
    )


def test_transform_names_missing_columns_and_near_ones(
    run: Run, frame: pl.DataFrame, model: Path, tmp_path: Path
) -> None:
    frame.rename({"b": "bb"}).drop("c").write_csv(tmp_path / "other.csv")
    done = run("transform", model, "other.csv")
    assert done.code == 3
    assert (
        "other.csv is missing 2 of the 3 columns that the model requires: 'b' (similar: bb), 'c'; rename or add"
        in done.err
    )


def test_transform_takes_an_array_by_position_and_refuses_a_wrong_width(
    run: Run, frame: pl.DataFrame, model: Path, tmp_path: Path
) -> None:
    X = frame.select("a", "b", "c").to_numpy()
    np.save(tmp_path / "new.npy", np.ascontiguousarray(X))
    np.save(tmp_path / "narrow.npy", np.ascontiguousarray(X[:, :2]))
    assert run("transform", model, "new.npy", "--out", "again.npy").code == 0
    np.testing.assert_allclose(np.load("again.npy"), pl.read_csv("whole.csv").to_numpy(), rtol=1e-12, atol=1e-12)
    done = run("transform", model, "narrow.npy")
    assert done.code == 3
    assert "narrow.npy has 2 numeric columns; the model was fitted on 3" in done.err


def test_a_model_of_an_array_reads_named_columns_by_position(run: Run, frame: pl.DataFrame, tmp_path: Path) -> None:
    X = frame.select("a", "b", "c").to_numpy()
    np.save(tmp_path / "data.npy", np.ascontiguousarray(X))
    assert run("reduce", "data.npy", "--out", "flat.npy", "--model", "m.lowland").code == 0
    frame.write_csv(tmp_path / "named.csv")
    assert run("transform", "m.lowland", "named.csv", "--keep-columns", "--out", "again.csv").code == 0
    found = pl.read_csv("again.csv").select("pca0", "pca1").to_numpy()
    np.testing.assert_allclose(found, np.load("flat.npy"), rtol=1e-12, atol=1e-12)


def test_inverse_with_all_components_restores_the_table(run: Run, frame: pl.DataFrame, model: Path) -> None:
    assert run("inverse", model, "whole.csv", "--out", "restored.csv").code == 0
    found = pl.read_csv("restored.csv")
    assert found.columns == ["a", "b", "c"]
    np.testing.assert_allclose(found.to_numpy(), frame.select("a", "b", "c").to_numpy(), atol=1e-12)


def test_inverse_warns_of_rows_far_outside_the_training_rows(run: Run, tmp_path: Path) -> None:
    X = np.exp(np.random.default_rng(0).normal(size=(100, 3)))
    pl.DataFrame(X, schema=["a", "b", "c"]).write_csv(tmp_path / "sizes.csv")
    words = ("--transform", "log1p=all", "--out", "flat.csv", "--model", "m.lowland")
    assert run("reduce", "sizes.csv", *words).code == 0
    assert run("inverse", "m.lowland", "flat.csv", "--out", "b.csv", "--json").json["warnings"] == []
    flat = pl.read_csv("flat.csv").with_columns(
        pl.when(pl.int_range(100) == 2).then(80.0).otherwise(pl.col("pca0")).alias("pca0")
    )
    flat.write_csv("far.csv")
    (told,) = run("inverse", "m.lowland", "far.csv", "--out", "b.csv", "--json").json["warnings"]
    assert told.startswith("1 row is far outside the training rows (line 4): its values are extrapolated")
    assert told.endswith("undone logarithms make them exponentially large or small")


def test_inverse_finds_the_coordinates_among_other_columns(
    run: Run, frame: pl.DataFrame, table: Path, model: Path
) -> None:
    run("transform", model, table, "--keep-columns", "--out", "wide.csv")
    done = run("inverse", model, "wide.csv", "--id", "name")
    found = pl.read_csv(done.out.encode())
    assert found.columns == ["name", "a", "b", "c"]
    np.testing.assert_allclose(found.drop("name").to_numpy(), frame.select("a", "b", "c").to_numpy(), atol=1e-12)


def test_inverse_refuses_a_wrong_number_of_coordinates(run: Run, model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "two.npy", np.zeros((4, 2)))
    done = run("inverse", model, "two.npy")
    assert done.code == 3
    assert "two.npy has 2 numeric columns; the model expects 3: pca0, pca1, pca2" in done.err


def test_inverse_says_when_it_takes_other_columns_for_coordinates(run: Run, table: Path, model: Path) -> None:
    done = run("inverse", model, table, "--json", "--out", "restored.csv")
    assert done.code == 0
    assert "table.csv has no columns named pca0, pca1, pca2" in done.json["warnings"][0]
    assert run("inverse", model, "whole.csv", "--json", "--out", "again.csv").json["warnings"] == []


@pytest.mark.parametrize("command", ["transform", "inverse"])
def test_model_and_table_in_each_others_place(run: Run, table: Path, model: Path, command: str) -> None:
    swapped = run(command, table, model)
    assert swapped.code == 2
    assert "table.csv is a table, but the first argument must be a model file: give MODEL, then " in swapped.err
    twice = run(command, model, model)
    assert twice.code == 2
    assert "whole.lowland is a model file, but the second argument must be a table" in twice.err


# -- plan, info, methods, demo ------------------------------------------------------------------------------


def test_plan_says_cost_and_whether_it_fits(run: Run, table: Path, tmp_path: Path) -> None:
    done = run("plan", table, "--columns", "a,b")
    assert done.code == 0
    assert "algorithm" in done.out
    assert "it fits" in done.err
    assert f"next: lowland reduce {table} --method pca --columns a,b --out embedding.csv" in done.err
    np.save(tmp_path / "mapped.npy", np.ones((50, 400)))  # reading it takes no memory
    with lowland.config(memory_limit=500):
        found = run("plan", "mapped.npy", "--json").json
    assert found["memory_limit"] == 500
    assert found["fits"] is False
    assert found["plan"]["bytes"] > 500
    further = run("plan", table, "--json").json["further"]
    assert set(further) == {"report", "evaluate", "compare"}
    assert 0 < further["evaluate"] <= further["report"]
    assert further["compare"] <= 300, "its budget"
    assert "report" in run("plan", table).out


def test_info_of_a_table_names_what_stands_in_the_way(run: Run, tmp_path: Path) -> None:
    rows = ["a,big,twin,flat,kind"]
    rows += [f"{'' if i == 4 else i * i % 7},{1000 * i % 777},{1000 * i % 777},1,{'xy'[i % 2]}" for i in range(12)]
    (tmp_path / "odd.csv").write_text("\n".join(rows) + "\n")
    done = run("info", "odd.csv")
    assert ["a", "number", "1"] in [line.split()[:3] for line in done.out.splitlines()]
    assert "twin = big" in done.out
    assert "1 column with missing values, 1 constant column, 1 duplicate column" in done.err
    assert "next: lowland reduce odd.csv --missing ppca --color kind" in done.err


def test_names_are_shown_as_they_are(run: Run, tmp_path: Path) -> None:
    (tmp_path / "[red]odd.csv").write_text("[bold]x,:smile:,$y$\n1,2,3\n2,1,5\n4,4,1\n")
    done = run("info", "[red]odd.csv")
    assert [line.split()[0] for line in done.out.splitlines()[1:4]] == ["[bold]x", ":smile:", "$y$"]
    assert "[red]odd.csv has 3 rows" in done.err
    assert run("reduce", "[red]odd.csv", "--drop", "[bold]z").err.startswith(
        "error: [red]odd.csv has no column '[bold]z'"
    )


def test_info_of_a_model_says_what_is_in_it(run: Run, model: Path) -> None:
    done = run("info", model)
    assert "PCA (pca)" in done.out
    assert "a, b, c" in done.out
    held = run("info", model, "--json").json["contents"]
    assert held["feature_names"] == ["a", "b", "c"]
    assert held["arrays"]["components_"]["shape"] == [3, 3]


def test_methods_lists_the_registry_and_the_parameters_of_one(run: Run) -> None:
    listed = run("methods")
    for row in registry.METHODS:
        assert row.name in listed.out
    one = run("methods", "pca", "--json").json["methods"][0]
    assert {rule["name"] for rule in one["parameters"]} == set(lowland.PCA._parameters)


def test_demo_refuses_a_file(run: Run, table: Path) -> None:
    done = run("demo", "--folder", table)
    assert done.code == 2
    assert "is a file; name a folder" in done.err


def test_row_numbers_among_the_reduced_columns_are_reported(run: Run, frame: pl.DataFrame, tmp_path: Path) -> None:
    frame.with_row_index("n, all").write_csv(tmp_path / "counted.csv")
    done = run("reduce", "counted.csv", "--scale", "--json", "--out", "flat.csv")
    (text,) = done.json["warnings"]
    assert "'n, all' contains row numbers" in text
    assert run("reduce", "counted.csv", "--json", "--out", "flat.csv", *shlex.split(text)[-2:]).json["warnings"] == []
    for words in (["--id", "n, all"], ["--columns", '"n, all",a,b', "--scale"]):
        assert run("reduce", "counted.csv", "--json", "--out", "flat.csv", *words).json["warnings"] == []


def test_whole_numbers_of_an_array_name_the_rows_as_they_are(run: Run, tmp_path: Path) -> None:
    X = np.random.default_rng(0).integers(0, 99, size=(9, 4))
    X[:, 0] = np.arange(2001, 2010)
    np.save(tmp_path / "x.npy", X)
    assert pl.read_csv(run("reduce", "x.npy", "--id", "x0").out.encode())["x0"].to_list() == X[:, 0].tolist()
    assert run("reduce", "x.npy", "--id", "x0").out.splitlines()[1].startswith("2001,")


def test_info_says_when_there_is_nothing_to_reduce(run: Run, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    (tmp_path / "words.csv").write_text("a,b\nx,y\nz,w\n")
    for name, said in (("one.csv", "one.csv has 1 row and 2 columns"), ("words.csv", "words.csv has 2 rows")):
        done = run("info", name)
        assert said in done.err
        assert "nothing to reduce" in done.err
        assert "next: lowland demo" in done.err


def test_info_of_decimal_commas_proposes_to_reduce_them_all(run: Run, tmp_path: Path) -> None:
    rows = "".join(f"s{i};{i % 5},{i};{i * i % 7},5\n" for i in range(9))
    (tmp_path / "t.csv").write_text("sample;length;width\n" + rows)
    done = run("info", "t.csv")
    assert "read as semicolon-separated, decimal comma" in " ".join(done.out.split())
    assert "--drop" not in done.err
    assert "reduce t.csv --id sample" in done.err
    assert "semicolon-separated, decimal comma" in " ".join(run("reduce", "t.csv", "--out", "o.csv").err.split())
    (tmp_path / "q.csv").write_text('a,b\n"1,5","2,5"\n"3,5","4,5"\n')
    assert "use decimal points" in " ".join(run("info", "q.csv").err.split())


def test_info_of_a_foreign_file_lists_the_endings_of_tables(run: Run, tmp_path: Path) -> None:
    (tmp_path / "table.ods").write_bytes(b"PK\x03\x04")
    done = run("info", "table.ods")
    assert done.code == 3
    assert "Lowland cannot read OpenDocument spreadsheet files, only .csv" in done.err
    assert "save the sheet as .xlsx or CSV" in done.err
    (tmp_path / "table.what").write_bytes(b"1 2 3\n" * 9)
    assert "if it is a table, its name must end in one of .csv" in run("info", "table.what").err


@pytest.mark.parametrize("command", [("info",), ("reduce",), ("outliers",), ("dimension",)])
@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "t.feather", "t.jsonl.gz"])
def test_tables_of_other_formats_are_read(
    run: Run, frame: pl.DataFrame, tmp_path: Path, command: tuple[str], name: str
) -> None:
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(frame.write_ndjson().encode()))
    else:
        getattr(frame, {"json": "write_json", "feather": "write_ipc"}.get(name[2:], "write_ndjson"))(tmp_path / name)
    assert run(*command, name).code == 0


@pytest.mark.parametrize("command", [("info",), ("reduce",)])
def test_tables_that_cannot_be_read_are_called_what_they_are(
    run: Run, frame: pl.DataFrame, tmp_path: Path, command: tuple[str]
) -> None:
    frame.write_avro(tmp_path / "t.avro")
    done = run(*command, "t.avro")
    assert done.code == 3
    assert "t.avro: Lowland cannot read Avro" in done.err
    program = shlex.split(done.err.partition("convert it: ")[2])[2]  # the proposed command does it
    exec(program, {})
    assert run("info", "t.csv").code == 0


def test_columns_that_came_with_an_array_colour_and_name_the_rows(run: Run, tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((30, 4))
    np.savez(tmp_path / "t.npz", X=X, y=np.arange(30) % 3, ids=np.array([f"r{i}" for i in range(30)]))
    done = run("reduce", "t.npz", "--id", "ids", "--color", "y", "--out", "o.csv")
    assert done.code == 0
    made = pl.read_csv(tmp_path / "o.csv")
    assert made.columns == ["ids", "y", "pca0", "pca1"]
    assert made["y"].to_list() == [i % 3 for i in range(30)]


def test_a_share_just_below_the_whole_is_not_100_percent(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("pay,age\n" + "".join(f"{i * i % 7}0000,{i % 3}\n" for i in range(9)))
    done = run("info", "t.csv")
    assert "pay (more than 99.9 % of the variance)" in done.out
    assert "pay holds more than 99.9 % of the variance" in done.err


def test_info_says_that_a_model_holds_training_rows(run: Run, table: Path, model: Path) -> None:
    assert run("reduce", table, "--method", "kernel_pca", "--out", "k.csv", "--model", "k.lowland").code == 0
    told = " ".join(run("info", "k.lowland").err.split())
    assert "The file contains the 30 training rows." in told
    assert "training row" not in run("info", model).err


def test_a_table_of_distances_becomes_a_map(run: Run, tmp_path: Path) -> None:
    D, names, _ = lowland.data.cities()
    columns = {"city": names} | {name: D[:, i] for i, name in enumerate(names)}
    pl.DataFrame(columns).write_csv(tmp_path / "distances.csv")
    words = ("--method", "classical_mds", "--set", "metric=precomputed", "--id", "city")
    done = run("reduce", "distances.csv", *words, "--out", "map.csv", "--model", "map.lowland")
    assert "reduced 22 objects, given by a matrix of pairwise values, to 2 dimensions" in " ".join(done.err.split())
    found = pl.read_csv(tmp_path / "map.csv")
    assert found["city"].to_list() == names
    want = lowland.ClassicalMDS(metric="precomputed").fit_transform(D)
    np.testing.assert_allclose(found[:, 1:].to_numpy(), want, rtol=1e-12)
    again = run("transform", "map.lowland", "distances.csv", "--out", "again.csv")
    assert "lowland info map.lowland" in again.err, "there is no inverse to propose"
    np.testing.assert_allclose(pl.read_csv(tmp_path / "again.csv").to_numpy(), want, atol=1e-8)
    assert run("inverse", "map.lowland", "again.csv", "--out", "back.csv").code == 2


def test_info_names_identifiers_labels_and_two_dominant_columns(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 7)) * [30, 25, 1, 1, 1, 1, 1]
    frame = pl.DataFrame(X, schema=["pay", "rent", *"cdefg"])
    frame = frame.with_columns(
        pl.Series("town", ["x", "y", "z"] * 20),
        patient_id=pl.Series(rng.permutation(60) * 7),
        group=pl.Series([1, 2] * 30),
    )
    frame.write_csv(tmp_path / "t.csv")
    done = run("info", "t.csv")
    said = " ".join(done.err.split())
    assert "pay and rent hold 99" in said
    assert "patient_id looks like a row identifier" in said
    assert "group (2 values), town (3 values)" in done.out
    assert "--method famd --id patient_id --color group " in said


@pytest.mark.parametrize(
    "words",
    [
        ("reduce", "t.csv", "--method", "isomap", "--set", "metric=seuclidean", "--out", "o.csv"),
        ("dimension", "t.csv", "--metric", "seuclidean"),
        ("outliers", "t.csv", "--metric", "seuclidean"),
    ],
)
def test_a_constant_column_changes_no_scaled_distance(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(flag=pl.lit(1.0)).write_csv(tmp_path / "t.csv")
    done = run(*words)
    assert done.code == 0, done.err
    plain = run(*words, "--drop", "flag")
    assert plain.out == done.out
