"""`lowland evaluate` of tables that are read in blocks."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.quality import ranks
from lowland.rows import sampling

Run = Callable[..., Any]

N = 900
NEIGHBOURS = ("trustworthiness", "continuity", "neighborhood_overlap", "lcmc")


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Data and map with names and groups, as CSV and Parquet files; samples have 300 rows."""
    monkeypatch.setattr(sampling, "SCAN_ROWS", 300)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 4))
    names = [f"site{i}" for i in rng.permutation(N)]
    data = pl.DataFrame(X, schema=["a", "b", "c", "d"]).with_columns(
        site=pl.Series(names), kind=pl.Series(rng.choice(["red", "blue"], N))
    )
    places = X[:, :2] + 0.2 * rng.standard_normal((N, 2))
    map = pl.DataFrame({"site": names, "pca0": places[:, 0], "pca1": places[:, 1]})
    data.write_csv(tmp_path / "data.csv")
    map.write_csv(tmp_path / "map.csv")
    data.write_parquet(tmp_path / "data.parquet")
    map.write_parquet(tmp_path / "map.parquet")
    np.save(tmp_path / "data.npy", X)
    np.save(tmp_path / "map.npy", places)
    return data, map


@pytest.mark.parametrize("kinds", [("csv", "parquet"), ("parquet", "npy"), ("npy", "csv")], ids="-".join)
def test_neighbours_are_those_of_the_tables_in_memory(run: Run, both: Any, kinds: tuple[str, str]) -> None:
    files = (f"data.{kinds[0]}", f"map.{kinds[1]}")
    words = ("evaluate", *files, "--anchors", 200, "--json")
    plain, streamed = run(*words), run(*words, "--stream")
    assert streamed.code == 0, streamed.err
    found, want = streamed.json, plain.json
    assert set(found) == set(want)
    for name in NEIGHBOURS:
        assert found["measures"][name] == pytest.approx(want["measures"][name], rel=1e-12), name
    assert [point["number"] for point in found["worst"]] == [point["number"] for point in want["worst"]]
    assert found["worst"][0]["name"] == f"row {found['worst'][0]['number']}"
    for name in ("rows", "columns", "coordinates", "matched", "space", "n_neighbors", "metric"):
        assert found[name] == want[name], name
    assert found["sample_rows"] == 300
    assert want["sample_rows"] is None
    assert f"{files[0]}: 900 rows are read in blocks" in streamed.err
    assert "compare 200 anchors with all 900 rows; the other measures are of a sample of 300 rows" in streamed.err
    assert "sample" not in plain.err


def test_names_and_groups(run: Run, both: Any) -> None:
    data, _ = both
    words = ("evaluate", "data.csv", "map.parquet", "--id", "site", "--target", "kind", "--anchors", 200)
    want = run(*words, "--json").json
    done = run(*words, "--stream", "--out", "trust.csv", "--json")
    assert done.code == 0, done.err
    found = done.json
    for name in NEIGHBOURS:
        for kind, part in want["measures"][name]["groups"].items():
            assert found["measures"][name]["groups"][kind] == pytest.approx(part, rel=1e-12)
    assert found["purity"]["map"]["value"] == pytest.approx(want["purity"]["map"]["value"], rel=1e-12)
    assert found["matched"] == "site"
    assert found["columns"] == ["a", "b", "c", "d"]
    assert [point["name"] for point in found["worst"]] == [point["name"] for point in want["worst"]]
    written = pl.read_csv("trust.csv")
    assert written.columns == ["site", "kind", "row", "kept", "false", "missing", "stretch"]
    assert len(written) == 201  # each group has its share of the anchors, rounded up
    rows = written["row"].to_list()
    assert rows == sorted(rows)
    assert written["site"].to_list() == data["site"].gather(rows).to_list()
    assert written["kind"].to_list() == data["kind"].gather(rows).to_list()
    assert "trust.csv has the 201 evaluated rows of 900" in done.err
    shown = run(*words, "--stream")
    assert f"least trusted of the 201 evaluated rows: {found['worst'][0]['name']}" in shown.out
    following = shown.err.rpartition("next: ")[2]
    again = shlex.split(following)
    assert {"evaluate", "--stream", "--out"} <= set(again)
    assert run(*again[1:]).code == 0


def test_rows_are_matched_by_order_only(run: Run, both: Any) -> None:
    _, map = both
    map.reverse().write_parquet("turned.parquet")
    turned = run("evaluate", "data.csv", "turned.parquet", "--id", "site", "--stream")
    assert turned.code == 3
    assert "row 0 is site" in turned.err
    assert "sort both tables by 'site'" in turned.err
    alone = run("evaluate", "data.csv", "map.npy", "--id", "site", "--stream", "--json")
    assert alone.json["matched"] == "order"
    assert "only one of the tables has a column 'site'" in alone.err
    assert alone.json["worst"][0]["name"].startswith("site")
    lost = run("evaluate", "data.csv", "map.csv", "--id", "place", "--stream")
    assert "neither data.csv nor map.csv has a column 'place' for --id" in lost.err
    map[:-1].write_parquet("short.parquet")
    short = run("evaluate", "data.csv", "short.parquet", "--stream")
    assert "data.csv has 900 rows and short.parquet has 899" in short.err


def test_coordinates_in_the_data_and_of_other_programs(run: Run, both: Any) -> None:
    data, map = both
    data.with_columns(map["pca0", "pca1"]).rename({"pca0": "x", "pca1": "y"}).write_csv("one.csv")
    want = run("evaluate", "data.csv", "map.csv", "--stream", "--json", "--anchors", 100).json
    inside = run("evaluate", "one.csv", "--x", "x", "--y", "y", "--stream", "--json", "--anchors", 100)
    assert inside.json["measures"] == want["measures"]
    assert inside.json["columns"] == ["a", "b", "c", "d"]
    map.rename({"pca0": "x", "pca1": "y"}).write_excel("map.xlsx")  # of a format that is read whole
    words = ("--id", "site", "--stream", "--json", "--anchors", 100)
    other = run("evaluate", "data.csv", "map.xlsx", *words)
    assert other.json["matched"] == "site"
    for name, measure in want["measures"].items():
        assert other.json["measures"][name] == pytest.approx(measure, rel=1e-12)
    assert "its numeric columns are used as the coordinates: x, y" in other.err
    assert run("evaluate", "data.csv", "--stream").code == 2
    assert "give both" in run("evaluate", "data.csv", "--x", "a", "--stream").err


def test_groups_of_the_map_and_a_map_of_famd(run: Run, both: Any) -> None:
    data, map = both
    map.with_columns(data["kind"]).write_csv("kinds.csv")
    want = run("evaluate", "data.csv", "map.csv", "--target", "kind", "--stream", "--json", "--anchors", 100).json
    data.drop("kind").write_csv("bare.csv")
    found = run("evaluate", "bare.csv", "kinds.csv", "--target", "kind", "--stream", "--json", "--anchors", 100)
    assert found.json["measures"] == want["measures"]
    map.rename({"pca0": "famd0", "pca1": "famd1"}).drop("site").write_csv("famd.csv")
    data.drop("site").write_csv("mixed.csv")
    words = ("evaluate", "mixed.csv", "famd.csv", "--json", "--anchors", 100)
    plain, streamed = run(*words).json, run(*words, "--stream").json
    assert streamed["space"] == plain["space"] == "the columns of mixed.csv as FAMD codes them"
    for name in NEIGHBOURS:
        assert streamed["measures"][name] == pytest.approx(plain["measures"][name], rel=1e-12)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--report", "page.html"), "--report shows all rows and needs the tables in memory"),
        (("--figure", "map.png"), "--figure shows all rows and needs the tables in memory"),
        (("--metric", "precomputed"), "a precomputed matrix is needed as a whole"),
        (("--missing", "mean"), "steps before the method need the table in memory"),
        (("--pre", "pca:2"), "steps before the method need the table in memory"),
    ],
)
def test_what_needs_the_tables_in_memory_is_refused(run: Run, both: Any, words: tuple[str, ...], text: str) -> None:
    done = run("evaluate", "data.csv", "map.csv", "--stream", *words)
    assert done.code == 2
    assert text in done.err
    assert not Path("page.html").exists()


def test_missing_cells_are_named_by_their_file(run: Run, both: Any) -> None:
    data, map = both
    worse = map.with_columns(pca1=pl.when(pl.int_range(N) == 500).then(None).otherwise(pl.col("pca1")))
    worse.write_csv("worse.csv")
    done = run("evaluate", "data.csv", "worse.csv", "--stream")
    assert done.code == 3
    assert "worse.csv, line 502, column 'pca1': missing value" in done.err
    data.with_columns(b=pl.when(pl.int_range(N) == 3).then(None).otherwise(pl.col("b"))).write_parquet("gaps.parquet")
    gaps = run("evaluate", "gaps.parquet", "map.csv", "--stream")
    assert "gaps.parquet, row 3, column 'b': missing value" in gaps.err


def test_scaled_columns_and_a_metric_of_the_sample(run: Run, both: Any) -> None:
    words = ("evaluate", "data.parquet", "map.csv", "--json", "--anchors", 100)
    for option in (("--scale",), ("--metric", "cityblock")):
        plain, streamed = run(*words, *option).json, run(*words, *option, "--stream").json
        assert streamed["metric"] == plain["metric"]
        for name in NEIGHBOURS:
            assert streamed["measures"][name] == pytest.approx(plain["measures"][name], rel=1e-9)
    whole = run(*words, "--metric", "mahalanobis", "--stream")
    assert whole.json["rows"] == 300
    assert "neighbours are the nearest rows of the sample" in whole.err
    assert "anchors with all" not in whole.err


@pytest.mark.parametrize("large", ["data", "map"])
def test_a_table_that_does_not_fit_in_memory_is_read_in_blocks(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: str
) -> None:
    monkeypatch.setattr(sampling, "SCAN_ROWS", 300)
    monkeypatch.setattr(ranks, "_RANKS_AT_ONCE", 1 << 12)  # sorting takes little memory
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150_000, 2))
    np.save(tmp_path / "few.npy", X.astype(np.float32))
    more = pl.DataFrame(np.column_stack([X, rng.standard_normal((150_000, 6))]), schema=[f"x{i}" for i in range(8)])
    more.write_parquet("more.parquet")
    files = ("more.parquet", "few.npy") if large == "data" else ("few.npy", "more.parquet")
    with lowland.config(memory_limit="9MB"):
        done = run("evaluate", *files, "--anchors", 50, "--json")
        refused = run("evaluate", *files, "--anchors", 50, "--figure", "map.png")
    assert done.code == 0, done.err
    assert "read in blocks: reading more.parquet would take" in done.err
    assert done.json["rows"] == 150_000
    assert done.json["sample_rows"] == 300
    assert "compare 50 anchors with all 150,000 rows" in done.err
    assert refused.code == 2
    assert "--figure shows all rows" in refused.err
