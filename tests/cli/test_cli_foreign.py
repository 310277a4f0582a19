"""The command line with methods of other packages, known by their entry points."""

from __future__ import annotations

import importlib.metadata
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.decomposition import PCA

import lowland
from lowland.contract import plugins, registry

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two packages with a method each, of which one cannot be imported."""
    found = [
        importlib.metadata.EntryPoint(name, value, "lowland.methods")
        for name, value in (("their_pca", "sklearn.decomposition:PCA"), ("gone", "no_such_package:Thing"))
    ]
    theirs, ours = importlib.metadata.entry_points, {"group": "lowland.methods"}  # other packages ask for their own
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **which: found if which == ours else theirs(**which))
    for name, value in (("_plugins", {}), ("broken", {}), ("_read", False)):
        monkeypatch.setattr(plugins, name, value)


def test_methods_lists_them_and_names_the_broken_one(run: Run) -> None:
    done = run("methods")
    assert done.code == 0
    assert "their_pca" in done.out
    assert "warning: the method 'gone' of another package (no_such_package:Thing) cannot be used" in done.err
    assert f"There are {len(registry.METHODS) + 1} methods." in done.err
    told = run("methods", "--json").json["methods"][-1]
    assert (told["name"], told["class"], told["family"]) == ("their_pca", "TheirPca", "other")


def test_the_parameters_of_one(run: Run) -> None:
    done = run("methods", "their_pca", "--json").json["methods"][0]
    told = {rule["name"]: rule for rule in done["parameters"]}
    assert told["whiten"]["default"] is False
    assert told["svd_solver"]["allowed"].startswith("what PCA takes")


def test_reduce_with_a_report(run: Run, frame: pl.DataFrame, table: Path) -> None:
    words = ["--method", "their_pca", "--set", "whiten=true", "--color", "kind", "--report", "r.html"]
    done = run("reduce", table, *words, "--out", "flat.csv", "--json")
    assert done.code == 0
    assert done.json["parameters"]["whiten"] is True
    expected = PCA(2, whiten=True).fit_transform(frame.select("a", "b", "c").to_numpy())
    found = pl.read_csv("flat.csv").select("theirpca0", "theirpca1").to_numpy()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert "TheirPca" in Path("r.html").read_text(encoding="utf-8")
    assert run("plan", table, "--method", "their_pca").code == 0


def test_wrong_values_are_the_classes_own_words(run: Run, table: Path) -> None:
    done = run("reduce", table, "--method", "their_pca", "--set", "svd_solver=magic")
    assert done.code == 3
    assert "TheirPca: The 'svd_solver' parameter of PCA must be" in done.err
    done = run("reduce", table, "--method", "their_pca", "--set", "magic=1")
    assert done.code == 2
    assert "TheirPca has no parameter 'magic'" in done.err


def test_the_broken_one_and_model_files_are_refused(run: Run, table: Path) -> None:
    done = run("reduce", table, "--method", "gone")
    assert done.code == 2
    assert "cannot be used: ModuleNotFoundError: No module named 'no_such_package'" in done.err
    done = run("reduce", table, "--method", "their_pca", "--out", "flat.csv", "--model", "m.lowland")
    assert done.code == 2
    assert "--model m.lowland: their_pca is a plugin" in done.err
    assert "pickle or joblib" in done.err
    assert not Path("m.lowland").exists()
    assert not Path("flat.csv").exists()  # refused before the work


def test_the_next_step_is_one_that_works(run: Run, table: Path) -> None:
    words = ["reduce", table, "--method", "their_pca"]
    assert run(*words, "--out", "flat.csv", "--json").json["next"].endswith("--out flat.csv --report table.html")
    done = run(*words, "--report", "r.html")
    assert done.err.splitlines()[-1].endswith("--out embedding.csv --report r.html")
    done = run(*words, "--out", "flat.csv", "--report", "r.html", "--json")
    assert done.json["next"] == f"lowland evaluate {table} flat.csv"
    assert run(*shlex.split(done.json["next"])[1:]).code == 0


def test_a_method_registered_in_a_script_is_known_to_its_own_command_line(run: Run, table: Path) -> None:
    class Half(lowland.PCA):
        """Ours."""

    lowland.register("half", Half)
    assert run("reduce", table, "--method", "half", "--out", "flat.csv", "--model", "m.lowland").code == 0
    assert run("transform", "m.lowland", table, "--out", "again.csv").code == 0
    assert pl.read_csv("flat.csv").columns == ["half0", "half1"]


def test_a_guest_made_of_a_method_for_categories_gets_them(run: Run, table: Path) -> None:
    class Mixture(lowland.FAMD):
        """Ours."""

    lowland.register("mixture", Mixture)
    columns = {}
    for name in ("famd", "mixture"):
        done = run("reduce", table, "--method", name, "--out", f"{name}.csv", "--json")
        assert done.code == 0
        columns[name] = pl.read_csv(f"{name}.csv").to_numpy()
    np.testing.assert_array_equal(columns["mixture"], columns["famd"])
