"""`lowland dimension`: the library's answer as a table, as JSON and as a picture."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from lowland.cli.app import COMMANDS
from lowland.dimension import estimate

Run = Callable[..., Any]


@pytest.fixture
def ring(tmp_path: Path) -> np.ndarray[Any, Any]:
    """A circle in a plane of three columns, beside a column of text."""
    t = np.random.default_rng(0).uniform(0, 2 * np.pi, 300)
    X = np.column_stack([np.cos(t), np.sin(t), 0.5 * np.sin(t)])
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "name": ["x"] * 300}).write_csv(tmp_path / "ring.csv")
    return X


def test_the_table_is_the_librarys(run: Run, ring: np.ndarray[Any, Any]) -> None:
    found = run("dimension", "ring.csv", "--json").json
    assert set(found) == {"command", *COMMANDS["dimension"].json_keys(), "warnings", "summary", "next"}
    expected = estimate(ring).to_dict()
    for key in ("linear", "nonlinear", "consensus", "scales", "plateau"):
        assert found[key] == expected[key]
    assert (found["rows"], found["columns"]) == (300, 3)
    assert "but 2 linear dimensions" in found["summary"]


def test_people_get_a_table_and_a_sentence(run: Run, ring: np.ndarray[Any, Any]) -> None:
    done = run("dimension", "ring.csv")
    assert done.code == 0
    assert "two_nn" in done.out
    assert "consensus" in done.out
    assert "The data have about 1 dimension" in done.err
    assert "left out: name (text)" in done.err


def test_the_range_of_the_rules_is_called_that(run: Run, tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((60, 4)) * [3, 2, 1, 1]
    np.save(tmp_path / "wide.npy", X)
    line = next(line for line in run("dimension", "wide.npy").out.splitlines() if "consensus (median)" in line)
    assert line.endswith("(range of rules)")


def test_the_screen_shows_what_each_rule_contributes(run: Run, tmp_path: Path) -> None:
    """The same numbers as in JSON, and their median."""
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).standard_normal((20, 60)))
    found = run("dimension", "noise.npy", "--json").json["consensus"]["linear"]
    done = run("dimension", "noise.npy")
    for name, number in found["rules"].items():
        line = next(line for line in done.out.splitlines() if name in line)
        reason = found["counting_all"].get(name)
        assert line.endswith(f" {number:g}" if reason is None else f" {number:g} (all: {reason})")
    assert found["value"] == sorted(found["rules"].values())[3] <= 19
    (line,) = [line for line in done.out.splitlines() if "consensus (median)" in line]
    assert line.split()[2] == f"{found['value']:g}"


def test_rules_that_cannot_be_applied_are_named(run: Run, tmp_path: Path) -> None:
    pl.DataFrame(np.random.default_rng(0).integers(0, 3, (500, 6))).write_csv(tmp_path / "grid.csv")
    done = run("dimension", "grid.csv")
    assert "without two_nn: " in done.err
    assert "two_nn" not in done.out


def test_the_next_command_runs(run: Run, ring: np.ndarray[Any, Any]) -> None:
    command = run("dimension", "ring.csv", "--columns", "a,b", "--json").json["next"]
    assert "--method pca --components 2" in command  # the sentence says that a ring takes 2 coordinates
    assert "--columns a,b" in command
    assert run(*shlex.split(command)[1:]).code == 0


def test_the_next_command_has_what_was_asked_for(run: Run, ring: np.ndarray[Any, Any], tmp_path: Path) -> None:
    """The name of the rows, so that it is not reduced; the metric, as the method has it."""
    X = np.column_stack([np.arange(300), ring])
    pl.DataFrame(X, schema=["nr", "a", "b", "c"]).with_columns(pl.col("nr").cast(int)).write_csv(tmp_path / "named.csv")
    asked = ("dimension", "named.csv", "--id", "nr", "--json")
    for options, words in (
        ((), "--method pca --components 2 --id nr"),
        (("--scale",), "--method pca --components 2 --scale --id nr"),
        (("--metric", "cityblock"), "--method isomap --components 2 --set metric=cityblock --id nr"),
        (("--metric", "cityblock", "--scale"), "--components 2 --set metric=cityblock --scale --id nr"),
        (("--metric", "cosine"), "--method classical_mds --components 2 --set metric=cosine --id nr"),
        (("--drop", "b,c"), "--method pca --components 1 --drop b,c --id nr"),
    ):
        command = run(*asked, *options).json["next"]
        assert words in command
        assert run(*shlex.split(command)[1:]).code == 0
        assert pl.read_csv("named-map.csv").columns[0] == "nr"


@pytest.mark.parametrize(
    ("shape", "said", "words"),
    [
        (
            "ring",
            "the shape is curved and closed, like a ring, so a map needs 2 coordinates, as many as PCA uses",
            "--method pca --components 2",
        ),
        ("ring in 10 columns", "so a map needs 2 coordinates, as many as PCA uses", "--method pca --components 2"),
        (
            "winding ring",
            "and a nonlinear method can show it in 2 coordinates, fewer than PCA",
            "--method isomap --components 2",
        ),
        ("arc", "a nonlinear method can show them in fewer dimensions than PCA.", "--method isomap --components 1"),
        (
            "sphere",
            "curved and closed, like a sphere, so a map needs 3 coordinates",
            "--method pca --components 3",
        ),
    ],
)
def test_the_proposed_number_is_the_one_in_the_sentence(
    run: Run, tmp_path: Path, shape: str, said: str, words: str
) -> None:
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 2 * np.pi, 500)
    plane = np.column_stack([np.cos(t), np.sin(t)])
    ball = rng.standard_normal((800, 3))
    X = {
        "ring": plane,
        "ring in 10 columns": plane @ np.linalg.qr(rng.standard_normal((10, 2)))[0].T
        + 0.01 * rng.normal(size=(500, 10)),
        "winding ring": np.column_stack([plane, *(0.5 * f(m * t) for m in (2, 3) for f in (np.cos, np.sin))]),
        "arc": np.column_stack([np.cos(t / 2), np.sin(t / 2)]),
        "sphere": ball / np.linalg.norm(ball, axis=1)[:, None],
    }[shape]
    np.save(tmp_path / "x.npy", X)
    found = run("dimension", "x.npy", "--json").json
    assert said in found["summary"]
    assert words in found["next"]
    assert f"--components {found['coordinates']}" in found["next"]
    assert found["closed"] == (shape != "arc")


def test_a_linear_method_of_angles_is_not_called_pca(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "cone.npy", np.random.default_rng(0).normal([10, 0], 1, (60, 2)))
    found = run("dimension", "cone.npy", "--metric", "cosine", "--json").json
    assert "--method classical_mds --components 1 --set metric=cosine" in found["next"]
    assert found["summary"].endswith("a linear method of unit rows is sufficient.")


def test_a_metric_that_is_none_is_a_usage_error(run: Run, ring: np.ndarray[Any, Any]) -> None:
    refused = run("dimension", "ring.csv", "--metric", "odd")
    assert refused.code == 2
    assert "--metric odd: must be one of euclidean, sqeuclidean" in refused.err


def test_columns_scale_and_seed_reach_the_library(run: Run, ring: np.ndarray[Any, Any]) -> None:
    found = run("dimension", "ring.csv", "--drop", "b", "--scale", "--seed", 3, "--json").json
    expected = estimate(ring[:, [0, 2]], scale=True, random_state=3).to_dict()
    assert found["consensus"] == expected["consensus"]


def test_distances_have_no_linear_part(run: Run, ring: np.ndarray[Any, Any], tmp_path: Path) -> None:
    D = np.sqrt(((ring[:, None] - ring[None]) ** 2).sum(axis=2))
    np.save(tmp_path / "D.npy", D)
    found = run("dimension", "D.npy", "--metric", "precomputed", "--json").json
    assert found["linear"] == {}
    assert found["columns"] is None
    assert found["consensus"]["nonlinear"]["value"] == pytest.approx(1, abs=0.1)
    assert run("dimension", "D.npy", "--metric", "precomputed", "--scale").code == 2


def test_a_picture_is_written_or_refused(run: Run, ring: np.ndarray[Any, Any]) -> None:
    assert run("dimension", "ring.csv", "--figure", "ring.png").code == 0
    assert Path("ring.png").read_bytes().startswith(b"\x89PNG")
    refused = run("dimension", "ring.csv", "--figure", "ring.txt")
    assert refused.code == 2
    assert ".png, .svg, .pdf" in refused.err
    assert run("dimension", "ring.csv", "--figure", "absent/ring.png").code == 2


def test_bad_cells_are_named_by_their_place(run: Run, tmp_path: Path) -> None:
    pl.DataFrame({"a": [1.0, None, 3.0] * 10, "b": list(range(30))}).write_csv(tmp_path / "gap.csv")
    done = run("dimension", "gap.csv")
    assert done.code == 3
    assert "gap.csv, line 3, column 'a'" in done.err
