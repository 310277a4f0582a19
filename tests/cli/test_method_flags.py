"""Parameters of a method as options of their own, and the other names of options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def table(tmp_path: Path) -> str:
    rng = np.random.default_rng(0)
    rows = "\n".join(",".join(f"{v:.6f}" for v in row) for row in rng.standard_normal((60, 4)))
    (tmp_path / "t.csv").write_text(f"a,b,c,d\n{rows}\n")
    return "t.csv"


@pytest.mark.parametrize(
    ("flags", "settings"),
    [
        (("--method", "lle", "--n-neighbors", "7"), {"n_neighbors": 7}),
        (("-m", "isomap", "--n_neighbors=9", "--disconnected", "separate"), {"n_neighbors": 9}),
        (("--method=diffusion_maps", "--alpha", "0.5", "--diagonal", "false"), {"alpha": 0.5, "diagonal": False}),
        (("--method", "metric_mds", "--metric", "cityblock"), {"metric": "cityblock"}),
        (("--method", "pca", "--scale"), {"scale": True}),
        (("--method", "ica", "--whiten=arbitrary-variance"), {"whiten": "arbitrary-variance"}),
        (("--method", "diffusion_maps", "--diagonal"), {"diagonal": True}),
        (("--n-components", "3"), {"n_components": 3}),
    ],
)
def test_parameters_are_options(run: Any, table: str, flags: tuple[str, ...], settings: dict[str, Any]) -> None:
    done = run("reduce", table, *flags, "-o", "y.csv", "--json").json
    assert {name: done["parameters"][name] for name in settings} == settings


def test_an_option_equals_its_setting(run: Any, table: str, tmp_path: Path) -> None:
    assert run("reduce", table, "--method", "lle", "--set", "n_neighbors=7", "--out", "a.csv").code == 0
    assert run("reduce", table, "--n-neighbors", "7", "--method", "lle", "--out", "b.csv").code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--perplexity", "5"), "pca has no --perplexity; methods that have it: tsne"),
        (("--method", "lle", "--n-neighbors"), "--n-neighbors needs a value: a whole number"),
        (("--method", "lle", "--n-neighbors", "0"), "LLE: --n-neighbors must be a whole number"),
        (("--method", "lle", "--n-neighbors", "5", "--set", "n_neighbors=6"), "--set n_neighbors is given twice"),
        (("--nonsense", "5"), "--nonsense"),
    ],
)
def test_wrong_options_are_named(run: Any, table: str, flags: tuple[str, ...], text: str) -> None:
    done = run("reduce", table, *flags, "--out", "y.csv")
    assert done.code == 2
    assert text in done.err


def test_old_names_still_work(run: Any, table: str) -> None:
    assert run("reduce", table, "--out", "y.csv").code == 0
    new = run("evaluate", table, "y.csv", "--quality-neighbors", "5", "--json").json
    assert run("evaluate", table, "y.csv", "--neighbors", "5", "--json").json["measures"] == new["measures"]


def test_a_misspelt_parameter_of_the_method_is_answered_with_its_name(run: Any, table: Path) -> None:
    done = run("reduce", table, "--method", "isomap", "--n-neighbours", "5")
    assert done.code == 2
    assert "unknown option --n-neighbours. Did you mean --n-neighbors?" in done.err
    assert "Did you mean --n-components?" in run("reduce", table, "--n-componets", "2").err
