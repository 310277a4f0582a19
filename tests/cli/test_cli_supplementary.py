"""`lowland reduce --supplementary` and `--supplementary-rows`: what takes no part in the fit, on the map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from lowland import quality


@pytest.fixture
def wider(frame: pl.DataFrame, tmp_path: Path) -> Path:
    """The table with a column that rises along a − b, one of noise, and gaps in it."""
    noise = np.random.default_rng(3).standard_normal(30)
    made = frame.with_columns(rise=2 * pl.col("a") - pl.col("b"), noise=pl.Series(noise))
    made = made.with_columns(noise=pl.when(pl.col("name") == "row3").then(None).otherwise(pl.col("noise")))
    made.write_csv(tmp_path / "wider.csv")
    return tmp_path / "wider.csv"


SUPPLEMENTARY = ("--supplementary", "rise,noise,kind")


def test_columns_are_laid_on_the_axes_of_pca(run: Any, table: Path, wider: Path) -> None:
    words = ("reduce", wider, *SUPPLEMENTARY, "-o", "y.csv")
    done = run(*words, "--report", "y.html", "--json").json
    assert done["columns"] == ["a", "b", "c"]
    assert run("reduce", table, "-o", "plain.csv").code == 0
    assert pl.read_csv("y.csv").equals(pl.read_csv("plain.csv"))  # they took no part
    frame = pl.read_csv(wider)
    own = quality.supplementary(pl.read_csv("y.csv").to_numpy(), frame.select("rise", "noise", "kind"))
    for name, found in own.to_dict().items():
        told = done["supplementary"][name]
        assert told["kind"] == found["kind"]
        assert told["r2"] == pytest.approx(found["r2"])
        assert told["p"] == found["p"]
    assert done["supplementary"]["noise"]["n_rows"] == 29
    corr = np.corrcoef(frame["rise"], pl.read_csv("y.csv")["pca0"])[0, 1]
    assert done["supplementary"]["rise"]["correlations"][0] == pytest.approx(corr)
    assert set(done["supplementary"]["kind"]["centroids"]) == {"red", "green", "blue"}
    page = Path("y.html").read_text()
    assert "Supplementary columns" in page
    assert "correlations: pca0" in page
    assert "η²: pca0" in page
    assert ">kind red</text>" in page
    assert ">rise</text>" in page
    shown = run(*words)
    assert "correlation" in shown.out
    assert "η²" in shown.out
    assert f"{corr:+.2f}" in shown.out
    assert "--supplementary rise,noise,kind" in shown.err  # in the next command


def test_maps_without_axes_have_arrows(run: Any, wider: Path) -> None:
    words = ("reduce", wider, "-m", "isomap", *SUPPLEMENTARY, "-o", "y.csv", "--report", "y.html")
    shown = run(*words)
    assert shown.code == 0
    assert "direction" in shown.out
    assert "correlation" not in shown.out
    assert "η²" not in shown.out
    assert "direction: isomap0" in Path("y.html").read_text()
    direction = run(*words, "--json").json["supplementary"]["rise"]["direction"]
    assert np.hypot(*direction) == pytest.approx(1.0)


def test_without_a_file_the_table_goes_to_stderr(run: Any, wider: Path) -> None:
    done = run("reduce", wider, "--supplementary", "rise,noise")
    assert pl.read_csv(done.out.encode()).columns == ["pca0", "pca1"]
    assert "correlation" in done.err


def test_a_column_that_cannot_be_laid_on_a_map_is_told_before_the_fit(run: Any, wider: Path) -> None:
    frame = pl.read_csv(wider).with_columns(one=pl.lit(1.0), same=pl.lit("x"))
    frame.write_csv("odd.csv")
    for name, text in (("one", "is constant"), ("same", "has one level"), ("rse", "did you mean 'rise'")):
        done = run("reduce", "odd.csv", "--supplementary", name, "-o", "y.csv")
        assert done.code == 3
        assert text in " ".join(done.err.split())
        assert not Path("y.csv").exists()


@pytest.mark.parametrize("steps", [(), ("--scaler", "standard")])
@pytest.mark.parametrize("align", [False, True])
def test_rows_are_placed_and_appended(run: Any, frame: pl.DataFrame, steps: tuple[str, ...], align: bool) -> None:
    frame.head(22).write_csv("old.csv")
    frame.tail(8).select("c", "b", "a", "name").write_csv("more.csv")
    words = ["reduce", "old.csv", *steps, "--id", "name", "--color", "kind"]
    if align:
        assert run(*words, "-o", "earlier.csv").code == 0
        pl.read_csv("earlier.csv").select("name", pca0="pca1", pca1="pca0").write_csv("earlier.csv")
        words += ["--align-to", "earlier.csv"]
    assert run(*words, "-o", "plain.csv").code == 0
    words += ["--supplementary-rows", "more.csv", "-o", "y.csv", "--model", "m.lowland", "--report", "y.html"]
    done = run(*words, "--json")
    assert done.code == 0, done.err
    assert done.json["rows"] == 22
    assert done.json["supplementary_rows"] == {"file": "more.csv", "rows": 8}
    made = pl.read_csv("y.csv")
    assert made.columns == ["name", "kind", "pca0", "pca1", "supplementary"]
    assert made["supplementary"].to_list() == [0] * 22 + [1] * 8
    assert made["name"].to_list() == frame["name"].to_list()
    assert made["kind"].null_count() == 8
    assert made.head(22).drop("supplementary").equals(pl.read_csv("plain.csv"))
    assert run("transform", "m.lowland", "more.csv", "--id", "name", "-o", "placed.csv").code == 0
    placed = pl.read_csv("placed.csv").select("pca0", "pca1").to_numpy()
    np.testing.assert_allclose(made.tail(8).select("pca0", "pca1").to_numpy(), placed, atol=1e-12)
    assert "Hollow points: 8 supplementary rows, placed after the fit." in Path("y.html").read_text()


def test_rows_that_the_model_cannot_place_are_errors(run: Any, table: Path, frame: pl.DataFrame) -> None:
    frame.drop("b").write_csv("less.csv")
    done = run("reduce", table, "--supplementary-rows", "less.csv", "-o", "y.csv")
    assert done.code == 3
    assert "'b'" in done.err
    assert not Path("y.csv").exists()
    assert run("reduce", table, "--supplementary-rows", "none.csv", "-o", "y.csv").code == 3
    assert run("reduce", table, "--supplementary-rows", "less.csv", "-o", "less.csv").code == 2


def test_identifiers_of_another_type_become_text(run: Any, frame: pl.DataFrame) -> None:
    numbered = frame.drop("name").with_row_index("id")
    numbered.write_csv("old.csv")
    frame.head(3).rename({"name": "id"}).write_csv("more.csv")
    words = ("reduce", "old.csv", "--id", "id", "--supplementary-rows", "more.csv", "-o", "y.csv")
    assert run(*words).code == 0
    assert pl.read_csv("y.csv")["id"].to_list()[28:] == ["28", "29", "row0", "row1", "row2"]


def test_pieces_stay_beside_the_rows_of_the_fit(run: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((40, 3)), 500 + rng.standard_normal((40, 3))])
    pl.DataFrame(X, schema=["a", "b", "c"]).write_csv("two.csv")
    pl.DataFrame(X[:2] + 0.1, schema=["a", "b", "c"]).write_csv("more.csv")
    words = ("reduce", "two.csv", "-m", "isomap", "--set", "disconnected=separate", "--supplementary-rows", "more.csv")
    done = run(*words, "-o", "y.csv")
    assert done.code == 0, done.err
    made = pl.read_csv("y.csv")
    assert made.columns == ["isomap0", "isomap1", "piece", "supplementary"]
    assert made["piece"].null_count() == 2
