"""Distance matrices that commands read as rows: the warning, and the next command, which reads distances."""

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
MDS = (
    "lowland reduce roads.csv --method classical_mds --components 2 --set metric=precomputed --out roads-map.csv "
    "--model roads.lowland --report roads.html"
)
LOOKS = "roads.csv looks like a distance matrix but is used as a table of rows and columns; if it is one, "
BY_MAP = "reduce it with `lowland reduce --method classical_mds --set metric=precomputed`"


@pytest.fixture
def roads(tmp_path: Path) -> np.ndarray:
    """Distances of 22 cities as roads.csv, their map as map.csv."""
    D, names, _ = lowland.data.cities()
    pl.DataFrame({"city": names} | {name: D[:, j] for j, name in enumerate(names)}).write_csv(tmp_path / "roads.csv")
    Y = lowland.ClassicalMDS(2, metric="precomputed").fit_transform(D)
    pl.DataFrame({"city": names, "mds0": Y[:, 0], "mds1": Y[:, 1]}).write_csv(tmp_path / "map.csv")
    return np.asarray(D)


CASES = [
    ("outliers roads.csv", "outliers roads.csv --metric precomputed"),
    ("outliers roads.csv --scale --neighbors 5", "outliers roads.csv --neighbors 5 --metric precomputed"),
    ("outliers roads.csv --id city --metric cityblock", "outliers roads.csv --id city --metric precomputed"),
    ("dimension roads.csv --pre pca:5 --seed 3", "dimension roads.csv --seed 3 --metric precomputed"),
    (
        "compare roads.csv --methods pca,isomap --scale --held-out 0",
        "compare roads.csv --methods isomap --metric precomputed --held-out 0.0",
    ),
    (
        "evaluate roads.csv map.csv --scale --quality-neighbors 4",
        "evaluate roads.csv map.csv --quality-neighbors 4 --metric precomputed",
    ),
    (
        "plot map.csv roads.csv --kind shepard --out s.png",
        "plot map.csv roads.csv --kind shepard --out s.png --metric precomputed",
    ),
    (
        "reduce roads.csv --method isomap --set metric=cityblock --set n_neighbors=6 --scale --out flat.csv",
        "reduce roads.csv --method isomap --set n_neighbors=6 --set metric=precomputed --out flat.csv",
    ),
    (
        "plan roads.csv --method isomap --components 3",
        "plan roads.csv --method isomap --components 3 --set metric=precomputed",
    ),
]


@pytest.mark.parametrize(("command", "following"), CASES)
def test_the_next_command_reads_distances_and_works(run: Run, roads: np.ndarray, command: str, following: str) -> None:
    done = run(*shlex.split(command), "--json")
    assert done.code == 0, done.err
    metric = "--set metric=precomputed" if command.startswith(("reduce", "plan")) else "--metric precomputed"
    assert f"{LOOKS}use {metric}" in done.json["warnings"]
    assert done.json["next"] == f"lowland {following}"
    again = run(*shlex.split(following), "--json")
    assert again.code == 0, again.err
    assert not any("looks like a distance matrix" in text for text in again.json["warnings"])


@pytest.mark.parametrize("command", ["correlations", "reduce", "reduce --method lpp --out flat.csv", "plan"])
def test_what_takes_no_distances_leads_to_the_map_of_info(run: Run, roads: np.ndarray, command: str) -> None:
    name, *options = shlex.split(command)
    done = run(name, "roads.csv", *options, *(() if options or name != "reduce" else ("--out", "flat.csv")), "--json")
    assert done.code == 0, done.err
    assert f"{LOOKS}{BY_MAP}" in done.json["warnings"]
    assert done.json["next"] == run("info", "roads.csv", "--json").json["next"] == MDS


def test_a_matrix_with_missing_pairs_has_a_map_only(run: Run, roads: np.ndarray) -> None:
    roads[2, 5] = roads[5, 2] = np.nan
    np.save("gaps.npy", roads)
    done = run("outliers", "gaps.npy", "--missing", "median", "--json")
    assert done.code == 0, done.err
    assert done.json["next"] == run("info", "gaps.npy", "--json").json["next"]
    assert any("--method metric_mds --set metric=precomputed --set weights=known`" in w for w in done.json["warnings"])
    assert run(*shlex.split(done.json["next"])[1:]).code == 0


def test_what_is_measured_against_the_columns_is_said(run: Run, roads: np.ndarray) -> None:
    said = "This compares the map with the columns of roads.csv, not with the distances in it."
    assert said in run("evaluate", "roads.csv", "map.csv", "--json").json["summary"]
    assert said not in run("evaluate", "roads.csv", "map.csv", "--metric", "precomputed", "--json").json["summary"]


def test_a_model_of_distances_says_how_new_objects_can_be_judged(run: Run, roads: np.ndarray) -> None:
    words = ("reduce", "roads.csv", "--set", "metric=precomputed", "--out", "flat.csv")
    assert run(*words, "--method", "classical_mds", "--model", "mds.lowland").code == 0
    done = run("transform", "mds.lowland", "roads.csv", "--flag", "--out", "new.csv")
    assert done.code == 3
    assert (
        "roads.csv: new objects given by distances cannot be judged with this model: ClassicalMDS stores no distances "
        "between its training objects; to judge new objects, run `lowland outliers --metric precomputed` on the "
        "distances between all objects (old and new) or fit a method that stores them, such as LLE, or leave --flag out"
    ) in done.err
    assert run(*words, "--method", "lle", "--model", "lle.lowland").code == 0
    assert run("transform", "lle.lowland", "roads.csv", "--flag", "--out", "new.csv").code == 0, "as the message says"
