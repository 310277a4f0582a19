"""The command line on squares of distances and kernel values: names, gaps, weights, what is said of the map."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.cli.options import MethodOptions
from lowland.contract import registry

Run = Callable[..., Any]
SQUARE = ("--set", "metric=precomputed")


@pytest.fixture
def distances(tmp_path: Path) -> np.ndarray:
    """Distances of 22 cities, as cities.csv, with one pair missing as gaps.csv, without names as plain.npy."""
    D, names, _ = lowland.data.cities()
    write(tmp_path / "cities.csv", names, D)
    G = D.copy()
    G[2, 5] = G[5, 2] = np.nan
    write(tmp_path / "gaps.csv", names, G)
    np.save(tmp_path / "plain.npy", D)
    return D


def write(path: Path, names: list[str], D: np.ndarray, columns: list[int] | None = None) -> None:
    order = range(len(names)) if columns is None else columns
    table = {"city": names} | {names[j]: [None if np.isnan(v) else v for v in D[:, j].tolist()] for j in order}
    pl.DataFrame(table).write_csv(path)


def said(done: Any) -> str:
    return " ".join(done.err.split())


# -- names --------------------------------------------------------------------------------------------------


def test_the_first_column_names_the_objects_if_it_says_what_the_header_says(run: Run, distances: np.ndarray) -> None:
    done = run("reduce", "cities.csv", "--method", "classical_mds", *SQUARE, "--out", "map.csv")
    assert "left out" not in done.err
    found = pl.read_csv("map.csv")
    assert found["city"].to_list() == lowland.data.cities()[1]
    want = lowland.ClassicalMDS(metric="precomputed").fit_transform(distances)
    np.testing.assert_allclose(found[:, 1:].to_numpy(), want, rtol=1e-12)


def test_a_first_column_that_says_something_else_is_left_out(run: Run, distances: np.ndarray) -> None:
    frame = pl.read_csv("cities.csv").with_columns(pl.col("city").str.to_uppercase())
    frame.write_csv("loud.csv")
    done = run("reduce", "loud.csv", "--method", "classical_mds", *SQUARE)
    assert "left out: city (text)" in done.err
    assert done.out.startswith("classicalmds0,classicalmds1\n")


def test_columns_in_another_order_are_put_in_that_of_the_rows(run: Run, distances: np.ndarray, tmp_path: Path) -> None:
    names = lowland.data.cities()[1]
    write(tmp_path / "mixed.csv", names, distances, np.random.default_rng(0).permutation(len(names)).tolist())
    done = run("reduce", "mixed.csv", "--method", "classical_mds", *SQUARE, "--out", "mixed-map.csv")
    assert "the columns were reordered to match the order of the rows in column city" in said(done)
    run("reduce", "cities.csv", "--method", "classical_mds", *SQUARE, "--out", "map.csv")
    assert Path("mixed-map.csv").read_bytes() == Path("map.csv").read_bytes()
    same = run("reduce", "cities.csv", "--method", "classical_mds", *SQUARE, "--out", "map.csv")
    assert "order of the rows" not in same.err


def test_a_counter_before_a_square_is_left_out(run: Run, distances: np.ndarray) -> None:
    pd = pytest.importorskip("pandas")
    pd.DataFrame(distances).to_csv("counted.csv")
    done = run("reduce", "counted.csv", "--method", "classical_mds", *SQUARE)
    assert "left out: column_1 (row numbers)" in done.err
    assert done.out.startswith("classicalmds0,classicalmds1\n")
    want = lowland.ClassicalMDS(metric="precomputed").fit_transform(distances)
    np.testing.assert_allclose(pl.read_csv(done.out.encode()).to_numpy(), want, rtol=1e-12)


def test_numbers_can_name_the_objects_too(run: Run, distances: np.ndarray, tmp_path: Path) -> None:
    names = [str(7 * i + 100) for i in range(len(distances))]
    write(tmp_path / "numbered.csv", names, distances)
    found = pl.read_csv(run("reduce", "numbered.csv", "--method", "classical_mds", *SQUARE).out.encode())
    assert found["city"].to_list() == [7 * i + 100 for i in range(len(distances))]


def test_errors_name_the_objects(run: Run, distances: np.ndarray, tmp_path: Path) -> None:
    bad = distances.copy()
    bad[3, 1] = bad[1, 3] = -1.0
    write(tmp_path / "bad.csv", lowland.data.cities()[1], bad)
    done = run("reduce", "bad.csv", "--method", "classical_mds", *SQUARE)
    assert done.code == 3
    assert "negative: -1 at row 1 (Athens), column 3 (Berlin)" in said(done)


def test_what_is_no_square_is_refused_before_any_work(run: Run, distances: np.ndarray) -> None:
    np.save("five.npy", distances[:5])
    for command in ("plan", "reduce"):
        done = run(command, "five.npy", "--method", "metric_mds", *SQUARE)
        assert done.code == 3
        assert "five.npy has 5 rows and 22 numeric columns" in done.err
    with pytest.raises(lowland.DataError, match="5 × 22"):
        lowland.plan(lowland.MetricMDS(metric="precomputed"), distances[:5])
    assert "it fits" in run("plan", "plain.npy", "--method", "metric_mds", *SQUARE).err


# -- gaps, weights, starts ----------------------------------------------------------------------------------


def test_info_knows_a_square_of_distances_and_its_proposal_runs(run: Run, distances: np.ndarray) -> None:
    known = "is a distance matrix of 22 objects, no missing values among 231 pairs."
    missing = "is a distance matrix of 22 objects, 1 of 231 pairs missing."
    for name, text, method in (
        ("plain.npy", known, "classical_mds"),
        ("cities.csv", known, "classical_mds"),
        ("gaps.csv", missing, "metric_mds"),
    ):
        done = run("info", name)
        assert f"{name} {text}" in said(done)
        command = next(line for line in done.err.splitlines() if line.startswith("next: "))[6:]
        assert f"--method {method}" in command
        assert run(*shlex.split(command)[1:]).code == 0, command


def test_missing_distances_are_left_out_on_request(run: Run, distances: np.ndarray) -> None:
    refused = run("reduce", "gaps.csv", "--method", "metric_mds", *SQUARE)
    assert refused.code == 3
    assert "row 2 (Barcelona), column 5 (Bucharest) is missing (NaN); --set weights=known leaves" in said(refused)
    words = ("--method", "metric_mds", *SQUARE, "--set", "weights=known", "--out", "map.csv", "--model", "map.lowland")
    assert run("reduce", "gaps.csv", *words).code == 0
    G = distances.copy()
    G[2, 5] = G[5, 2] = np.nan
    want = lowland.MetricMDS(metric="precomputed", weights=~np.isnan(G)).fit_transform(G)
    np.testing.assert_allclose(pl.read_csv("map.csv")[:, 1:].to_numpy(), want, rtol=1e-12)
    assert "weights=array 22 × 22 of bool" in " ".join(run("info", "map.lowland").out.split())
    alone = run("reduce", "gaps.csv", "--method", "metric_mds", "--set", "weights=known")
    assert alone.code == 2
    assert "requires --set metric=precomputed" in said(alone)


def test_weights_and_a_start_are_read_from_files(run: Run, distances: np.ndarray, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    W = rng.uniform(0.5, 2.0, size=distances.shape)
    W += W.T
    start = rng.normal(size=(len(W), 2)) * 500
    write(tmp_path / "w.csv", lowland.data.cities()[1], W)
    np.save("start.npy", start)
    words = ("--method", "metric_mds", *SQUARE, "--set", "weights=w.csv", "--set", "init=start.npy")
    done = run("reduce", "cities.csv", *words, "--out", "map.csv", "--json", "--report", "map.html")
    want = lowland.MetricMDS(metric="precomputed", weights=W, init=start).fit_transform(distances)
    np.testing.assert_allclose(pl.read_csv("map.csv")[:, 1:].to_numpy(), want, rtol=1e-12)
    assert done.json["parameters"]["init"] == "array 22 × 2 of float64"
    assert "array 22 × 22 of float64" in Path("map.html").read_text(encoding="utf-8")
    assert run("plan", "cities.csv", *words).code == 0


def test_a_start_of_tsne_is_read_from_a_file(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X, start = rng.normal(size=(40, 4)), rng.normal(size=(40, 2))
    np.save("rows.npy", X)
    np.save("start.npy", start)
    words = ("--method", "tsne", "--set", "init=start.npy", "--set", "max_iter=20", "--set", "perplexity=5")
    done = run("reduce", "rows.npy", *words, "--out", "map.npy", "--json")
    want = lowland.TSNE(init=start, max_iter=20, perplexity=5).fit_transform(X)
    np.testing.assert_array_equal(np.load("map.npy"), want)
    assert done.json["parameters"]["init"] == "array 40 × 2 of float64"


def test_files_of_parameters_are_inputs(run: Run, distances: np.ndarray) -> None:
    words = ("reduce", "plain.npy", "--method", "metric_mds", *SQUARE)
    assert run(*words, "--set", "weights=plain.npy", "--out", "plain.npy").code == 2
    np.save("w.npy", np.ones((3, 3)))
    assert "overwrite" in run(*words, "--set", "weights=w.npy", "--out", "w.npy").err
    absent = run(*words, "--set", "weights=absent.npy")
    assert absent.code == 3
    assert "absent.npy: no such file" in absent.err
    unknown = run(*words, "--set", "weights=heavy")
    assert unknown.code == 2
    assert "a file that contains a matrix" in said(unknown)


# -- what is said -------------------------------------------------------------------------------------------


def test_the_last_sentence_says_how_good_a_map_is(run: Run, distances: np.ndarray, table: Path) -> None:
    evidence = lowland.ClassicalMDS(metric="precomputed").fit(distances).fit_info_.evidence
    done = run("reduce", "cities.csv", "--method", "classical_mds", *SQUARE, "--out", "map.csv")
    assert f"to 2 dimensions, with a goodness of fit of {100 * evidence['goodness of fit']:.1f} %." in said(done)
    for method in ("metric_mds", "nonmetric_mds"):
        done = run("reduce", "cities.csv", "--method", method, *SQUARE, "--out", "map.csv", "--json").json
        stress = done["fit_info"]["evidence"]["stress-1"]
        assert done["summary"].endswith(f", with stress-1 {stress:.3g} (excellent by Kruskal's rule of thumb).")
    sammon = run("reduce", table, "--method", "metric_mds", "--set", "stress=sammon", "--out", "o.csv", "--json").json
    stress = sammon["fit_info"]["evidence"]["Sammon's stress"]
    assert f"with Sammon's stress {stress:.3g}." in sammon["summary"]
    kernel = run("reduce", table, "--method", "kernel_pca", "--out", "o.csv", "--json").json
    share = 100 * kernel["fit_info"]["evidence"]["share of variance"]
    assert f"which hold {share:.1f} % of the variance in the kernel's feature space." in kernel["summary"]


def test_a_report_of_distances_names_objects_and_says_how_well_it_fits(run: Run, distances: np.ndarray) -> None:
    run("reduce", "cities.csv", "--method", "classical_mds", *SQUARE, "--out", "map.csv", "--report", "map.html")
    page = Path("map.html").read_text(encoding="utf-8")
    for name in lowland.data.cities()[1]:
        assert f"<title>{name}</title>" in page
        assert page.count(f">{name}<") == 2, "once beside its point, once under the pointer"
    assert "How well the map fits" in page
    assert '<th scope="row">objects</th><td>22</td>' in page
    assert "columns reduced" not in page
    assert ">Classical MDS 1<" in page
    assert "Names of the axes in the output file: classicalmds0 and classicalmds1." in page


def test_transform_proposes_no_way_back_where_there_is_none(run: Run, table: Path) -> None:
    X = pl.read_csv(table).select("a", "b", "c").to_numpy()
    np.save("kernel.npy", X @ X.T)
    for words, back in ((("kernel.npy", "--set", "kernel=precomputed"), "info"), ((str(table),), "inverse")):
        run("reduce", *words, "--method", "kernel_pca", "--out", "k.csv", "--model", "k.lowland")
        done = run("transform", "k.lowland", words[0], "--out", "again.csv")
        assert f"next: lowland {back} k.lowland" in done.err


def test_methods_says_what_they_take_besides_rows(run: Run) -> None:
    lines = {line.split()[0]: line for line in run("methods").out.splitlines() if line[:1].strip()}
    for name, words in (("classical_mds", "objects, distances"), ("kernel_pca", "objects, kernel"), ("pca", "inverse")):
        assert f" {words}" in lines[name]
    one = run("methods", "metric_mds", "--json").json["methods"][0]["parameters"]
    allowed = {rule["name"]: rule["allowed"] for rule in one}
    assert "a file that contains a matrix" in allowed["init"]
    assert "known" in allowed["weights"]


def test_the_help_on_components_says_which_methods_take_more_than_a_number() -> None:
    more = {"a share": 0.95, "auto": "auto", "none": None}
    takes = {}
    for row in registry.METHODS:
        rule = row.load()._parameters.get("n_components")
        if rule is not None and (names := [name for name, value in more.items() if rule.accepts(value)]):
            takes[row.name] = names
    assert takes == {
        "pca": ["a share", "auto", "none"],
        "kernel_pca": ["none"],
        "ica": ["none"],
        "random_projection": ["auto"],
    }
    told = get_type_hints(MethodOptions, include_extras=True)["components"].__metadata__[0].help
    assert "pca also accepts a fraction of the variance (such as 0.95), auto, mle, or none (all dimensions)" in told
    assert "ica and kernel_pca accept none; random_projection accepts auto" in told


def test_components_of_a_method_that_has_none_are_refused(run: Run, table: Path) -> None:
    done = run("reduce", table, "--method", "som", "--components", 3, "--out", "map.csv")
    assert done.code == 2
    assert "SOM does not take --components" in said(done)


def test_a_misspelt_choice_is_met_with_the_near_one(run: Run, distances: np.ndarray) -> None:
    done = run("reduce", "plain.npy", "--method", "metric_mds", "--set", "metric=euclidian")
    assert done.code == 2
    assert said(done).endswith("got 'euclidian'; did you mean 'euclidean'?")


# -- models with functions ----------------------------------------------------------------------------------


def differing(a: str, b: str) -> float:
    return float(sum(x != y for x, y in zip(a, b, strict=True)))


def test_a_model_of_texts_says_that_it_holds_them_and_needs_python(run: Run, table: Path) -> None:
    words = ["abcd", "abce", "axyz", "qxyz", "qqqq"]
    lowland.save(lowland.ClassicalMDS(metric=differing).fit(words), "words.lowland")
    done = run("info", "words.lowland")
    assert "for objects compared by its metric. The file contains the 5 training objects." in said(done)
    assert "in Python: lowland.load('words.lowland', metric=…)" in said(done)
    assert "lowland transform" not in done.err
    assert run("info", "words.lowland", "--json").json["contents"]["objects"] == 5
    used = run("transform", "words.lowland", table)
    assert used.code == 3
    assert "the command line cannot use this model" in said(used)
    assert "lowland.load(path, metric=…)" in said(used)


def test_a_model_of_distances_says_what_new_rows_are(run: Run, distances: np.ndarray) -> None:
    run("reduce", "cities.csv", "--method", "classical_mds", *SQUARE, "--out", "map.csv", "--model", "map.lowland")
    assert "for rows of distances to the 22 training objects." in said(run("info", "map.lowland"))


# -- the process --------------------------------------------------------------------------------------------


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "lowland", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "lowland demo" in done.stdout
    absent = subprocess.run([sys.executable, "-m", "lowland", "info", "absent.csv"], capture_output=True, text=True)
    assert absent.returncode == 3


@pytest.mark.parametrize("words", [["reduce", "{table}"], ["info", "{table}"], ["info", "absent.csv"]])
def test_a_reader_of_both_streams_that_leaves_is_141(table: Path, words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "lowland", *(word.format(table=table) for word in words)]
    try:
        done = subprocess.run(command, stdout=writing, stderr=writing)
    finally:
        os.close(writing)
    assert done.returncode == 141
