"""`lowland compare`, and `lowland demo`, which compares."""

from __future__ import annotations

import json
import os
import runpy
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.cli.app import COMMANDS

# The stand-in for the process of candidates that the tests of comparisons have.
AT_ONCE = runpy.run_path(str(Path(__file__).parents[1] / "comparison" / "conftest.py"))["AtOnce"]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Candidates run in this process, but for the slow tests."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr("lowland.comparison.running.Worker", AT_ONCE)


@pytest.fixture
def blobs(tmp_path: Path) -> Path:
    """Three clusters with their names."""
    rng = np.random.default_rng(1)
    kinds = np.arange(90) % 3
    X = rng.standard_normal((90, 4)) + 9 * np.eye(3, 4)[kinds]
    frame = pl.DataFrame({**{f"c{j}": X[:, j] for j in range(4)}, "kind": np.array(["a", "b", "c"])[kinds]})
    frame.write_csv(tmp_path / "blobs.csv")
    return tmp_path / "blobs.csv"


def test_compare_ranks_writes_and_repeats(run: Any, blobs: Path) -> None:
    words = [
        "compare",
        blobs,
        "--methods",
        "pca,isomap",
        "--target",
        "kind",
        "--budget",
        "2min",
        "--quality-neighbors",
        "8",
    ]
    done = run(*words, "--out", "t.csv", "--report", "c.html", "--record", "r.json", "--json")
    assert done.code == 0, done.err
    found = done.json
    assert set(COMMANDS["compare"].json_keys()) < set(found)
    assert {row["status"] for row in found["candidates"]} == {"done"}
    assert found["recommendation"]["method"] in ("pca", "isomap")
    assert found["rows"] == {"all": 90, "compared": 90, "training": 72, "held-out": 18}
    table = pl.read_csv("t.csv")
    assert table["candidate"].to_list() == [row["candidate"] for row in found["candidates"]]
    page = Path("c.html").read_text(encoding="utf-8")
    assert "kind" in page
    assert "--budget 2min --quality-neighbors 8 --target kind --report c.html" in page, "the command that does it again"
    record = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert record["data"]["shape"] == [90, 4], "the target is not reduced"
    again = run("compare", blobs, "--target", "kind", "--again", "r.json", "--json").json
    for old, new in zip(found["candidates"], again["candidates"], strict=True):
        assert {k: v for k, v in old.items() if k != "seconds"} == {k: v for k, v in new.items() if k != "seconds"}
    following = run(*shlex.split(found["next"])[1:])
    assert following.code == 0, following.err
    assert Path("blobs-map.html").exists()


def test_page_names_rows_and_shows_columns_on_hover(run: Any, blobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowland.explorer.fragment._read", lambda name: "let script;")
    pl.read_csv(blobs).with_columns(key=pl.int_range(90).cast(pl.String) + "k").write_csv(blobs)
    words = ("compare", blobs, "--methods", "pca", "--target", "kind", "--id", "key", "--hover", "c1,c3")
    done = run(*words, "--report", "c.html", "--json")
    assert done.code == 0, done.err
    page = Path("c.html").read_text(encoding="utf-8")
    assert "Columns of the data in this page, for hover, colour and search: key, c1, c3, kind." in page
    assert '"17k"' in page
    assert "--id key --target kind --hover c1,c3 --report c.html" in page
    assert "--hover c1,c3" in done.json["next"]
    assert "--hover requires a report: add --report FILE" in run(*words).err
    missing = run("compare", blobs, "--hover", "c9", "--report", "d.html")
    assert "no column 'c9'" in missing.err


def test_compare_shows_a_table(run: Any, blobs: Path) -> None:
    done = run("compare", blobs, "--methods", "pca", "--drop", "c3")
    assert done.code == 0
    assert "neighbours" in done.out
    assert "pca" in done.out
    assert "behind" not in done.out, "there is no other"
    assert "Recommended: PCA." in done.err
    assert "left out: kind (text)" in done.err
    assert "--drop c3" in done.err.splitlines()[-1]


def test_distances_are_compared(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    np.save(tmp_path / "d.npy", np.linalg.norm(X[:, None] - X, axis=2))
    done = run("compare", "d.npy", "--methods", "classical_mds", "--metric", "precomputed", "--json")
    assert done.code == 0, done.err
    assert "metric=precomputed" in done.json["next"]
    assert run(*shlex.split(done.json["next"])[1:]).code == 0


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--methods", "pcq"], 2, "did you mean pca"),
        (["--budget", "soon"], 2, "--budget: cannot read 'soon'"),
        (["--prefer", "beauty"], 2, "--prefer beauty: must be one of"),
        (["--prefer", "target"], 2, "add --target COLUMN"),
        (["--components", "0"], 2, "--components 0: must be at least 1"),
        (["--components", "9"], 3, "more than the number of columns, 4"),
        (["--record", "r.txt"], 2, "must end in .json"),
        (["--record", "no/r.json"], 2, "cannot be written there"),
        (["--out", "t.npy"], 2, "contains text"),
        (["--report", "r.txt"], 2, "must end in .html"),
        (["--again", "none.json"], 3, "--again none.json: no such file"),
        (["--again", "none.json", "--methods", "pca", "--seed", "1"], 2, "remove --methods, --seed"),
        (["--sample", "many"], 2, "--sample many: must be a number of rows, or all"),
        (["--sample", "3"], 3, "sample must be"),
        (["--held-out", "0.9"], 3, "from 0 to 0.5"),
        (["--target", "kinds"], 3, "did you mean 'kind'"),
        (["--target", "c0"], 3, "bin it into classes first"),
    ],
)
def test_wrong_calls_are_told(run: Any, blobs: Path, words: list[str], code: int, told: str) -> None:
    first = [] if {"--methods", "--again"} & set(words) else ["--methods", "pca"]
    done = run("compare", blobs, *first, *words)
    assert done.code == code, done.err
    assert told in done.err


def test_a_target_needs_a_table(run: Any, tmp_path: Path) -> None:
    import scipy.sparse as sp

    sp.save_npz(tmp_path / "m.npz", sp.random(30, 5, density=0.5, format="csr", random_state=0))
    done = run("compare", "m.npz", "--target", "kind")
    assert done.code == 2


def test_the_table_tells_how_far_others_are_behind(run: Any, blobs: Path) -> None:
    done = run("compare", blobs, "--methods", "pca,isomap,kernel_pca", "--json")
    rows = done.json["candidates"]
    shown = run("compare", blobs, "--methods", "pca,isomap,kernel_pca").out.splitlines()
    for row in rows[1:]:
        (line,) = [line for line in shown if line.split()[:1] == [str(row["rank"])]]
        half = (row["behind_high"] - row["behind_low"]) / 2
        assert f"{row['behind']:.3f} ± {half:.3f}" in line
        assert ("tie" in line) == row["tied"] == (row["behind"] <= max(half, 0.01))
    (taken,) = [line for line in shown if "recommended" in line]
    assert taken.split()[1] == done.json["recommendation"]["key"]
    assert "Tied with the best: the 95 % interval of the difference contains 0" in " ".join(" ".join(shown).split())


def test_a_sample_ties_and_weak_points_are_told(run: Any, blobs: Path) -> None:
    done = run(
        "compare", blobs, "--methods", "pca,isomap", "--sample", "60", "--held-out", "0.25", "--report", "c.html"
    )
    assert done.code == 0, done.err
    assert "Compared on a random sample of 60 of 90 rows." in done.err
    advice = run("compare", blobs, "--methods", "pca,isomap", "--sample", "60", "--held-out", "0.25", "--json").json
    assert advice["rows"] == {"all": 90, "compared": 60, "training": 45, "held-out": 15}
    for text in advice["recommendation"]["not_good_for"]:
        assert f"Not suited for: {text}" in done.err
    assert ("Statistically tied with" in done.err) == bool(advice["recommendation"]["ties"])
    assert "--sample 60 --held-out 0.25 --report c.html" in Path("c.html").read_text(encoding="utf-8")


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """An arc, two columns of text, and one that names the rows."""
    rng = np.random.default_rng(0)
    t, kinds = np.sort(rng.random(90)) * 6, rng.integers(3, size=90)
    frame = {"a": np.cos(t), "b": np.sin(t), "kind": np.array(["x", "y", "z"])[kinds], "sort": kinds > 1}
    frame |= {"name": [f"row {i}" for i in range(90)]}
    pl.DataFrame(frame).with_columns(pl.col("sort").cast(pl.String)).write_csv(tmp_path / "mix.csv")
    return tmp_path / "mix.csv"


def test_text_is_compared_as_categories_and_the_next_command_codes_it_alike(run: Any, mixed: Path) -> None:
    words = ["--methods", "famd,kernel_pca", "--drop", "name"]
    done = run("compare", mixed, *words, "--prefer", "global", "--record", "r.json", "--json")
    assert done.code == 0, done.err
    record = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert record["data"]["kind"] == "categories"
    assert record["data"]["shape"] == [90, 4]
    again = run("compare", mixed, "--drop", "name", "--again", "r.json", "--json")
    assert again.code == 0, again.err
    assert [row["score"] for row in again.json["candidates"]] == [row["score"] for row in done.json["candidates"]]
    from lowland.cli import compare

    record["candidates"] = [entry for entry in record["candidates"] if entry["method"] == "kernel_pca"]
    found = lowland.Comparison(record, {})
    columns = compare.TableOptions(drop=("name",))
    given = compare._read(mixed, columns, compare.KeepOptions(), "euclidean", True)
    following = compare._next(compare.SameRows(mixed, columns), given, found.recommend())
    for command in following.split(" && "):
        assert run(*shlex.split(command)[1:]).code == 0
    table = pl.read_csv("mix-map.csv").to_numpy()
    expected = found.fit_best(given.rows).transform(given.rows)
    np.testing.assert_allclose(np.abs(table), np.abs(expected), atol=1e-6)


def test_auto_takes_text_that_repeats(mixed: Path, blobs: Path) -> None:
    from lowland.cli import compare

    given = compare._read(mixed, compare.TableOptions(), compare.KeepOptions(), "euclidean", True)
    assert given.names == ["a", "b", "kind", "sort"], "what names the rows is no category"
    asked = compare._read(mixed, compare.TableOptions(columns=("a,name",)), compare.KeepOptions(), "euclidean", True)
    assert asked.names == ["a", "name"], "but may be asked for"
    numbers = compare._read(blobs, compare.TableOptions(), compare.KeepOptions(color="kind"), "euclidean", True)
    assert numbers.rows.array.dtype == np.float64, "numbers alone are read as ever"
    assert numbers.names == ["c0", "c1", "c2", "c3"]


def test_auto_leaves_text_with_gaps_out(run: Any, mixed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from lowland.cli import compare

    table = pl.read_csv(mixed)
    holes = pl.when(pl.int_range(pl.len()) == 7).then(None)
    table.with_columns(kind=holes.otherwise("kind")).write_csv("one.csv")
    given = compare._read(Path("one.csv"), compare.TableOptions(), compare.KeepOptions(), "euclidean", True)
    assert given.names == ["a", "b", "sort"]
    assert "left out: kind (text with missing values); fill in the values to include it" in capsys.readouterr().err
    done = run("compare", "one.csv", "--methods", "famd", "--json")
    assert done.code == 0, done.err
    assert "--drop kind" in done.json["next"]
    assert run(*shlex.split(done.json["next"])[1:]).code == 0
    assert "compared on whole rows" in run("compare", "one.csv", "--methods", "famd", "--columns", "a,kind").err


@pytest.mark.parametrize("settings", [{}, [], 5])
def test_a_record_with_holes_is_told(run: Any, blobs: Path, settings: Any) -> None:
    found = {"format": 1, "settings": settings, "data": {}, "candidates": []}
    Path("bad.json").write_text(json.dumps(found), encoding="utf-8")
    done = run("compare", blobs, "--again", "bad.json")
    assert done.code == 3
    assert "--again bad.json: not a record of a comparison" in done.err


def test_auto_asks_for_text(run: Any, mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lowland.cli import compare

    seen = []

    def stop(*words: Any) -> None:
        seen.append(words[-1])
        raise lowland.core.errors.DataError("enough")

    monkeypatch.setattr(compare, "_read", stop)
    for words in ([], ["--methods", "famd,pca"], ["--methods", "pca"]):
        assert run("compare", mixed, *words).code == 3
    assert seen == [True, True, False]


def test_a_table_that_does_not_vary_is_told(run: Any, tmp_path: Path) -> None:
    pl.DataFrame({"a": [1.0] * 30, "b": [2.0] * 30}).write_csv(tmp_path / "flat.csv")
    done = run("compare", "flat.csv")
    assert done.code == 3
    assert "the rows do not vary" in done.err
    assert "budget" not in done.err


def test_a_square_of_distances_is_told_once(run: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((40, 3))
    np.save(tmp_path / "d.npy", np.linalg.norm(X[:, None] - X, axis=2))
    done = run("compare", "d.npy", "--methods", "pca", "--json")
    (told,) = [text for text in done.json["warnings"] if "distance matrix" in text]
    assert told.endswith("use --metric precomputed")


def test_gaps_are_told_with_what_helps_here(run: Any, tmp_path: Path) -> None:
    pl.DataFrame({"a": [1.0, None, 3.0] * 10, "b": [2.0, 5.0, 1.0] * 10}).write_csv(tmp_path / "gaps.csv")
    done = run("compare", "gaps.csv")
    assert done.code == 3
    assert "line 3" in done.err
    assert "fill such cells with --missing ppca (or median, mean), or leave the rows out" in done.err
    assert "ProbabilisticPCA" not in done.err


def test_a_gap_of_a_mixed_table_is_named_by_its_line(run: Any, tmp_path: Path, rng: Any) -> None:
    """Rows are held out before text is coded; the line is that of the file all the same."""
    for line in range(390, 400):  # most of these rows are fitted, some held out
        frame = pl.DataFrame({"a": rng.standard_normal(600), "b": rng.standard_normal(600), "kind": list("xyz") * 200})
        gap = pl.int_range(600) == line - 2
        frame.with_columns(b=pl.when(gap).then(None).otherwise(pl.col("b"))).write_csv(tmp_path / "gap.csv")
        done = run("compare", "gap.csv", "--methods", "famd")
        assert done.code == 3
        assert f"gap.csv, line {line}, column 'b'" in done.err


FILES = ["demo.html", "digits.csv", "embedding.csv"]


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the demonstration short: 300 digits, two methods."""
    from lowland.cli import demo
    from lowland.data.catalogue import from_sklearn

    pixels, labels, names = from_sklearn.digits()
    monkeypatch.setattr(from_sklearn, "digits", lambda: (pixels[:300], labels[:300], names))
    monkeypatch.setattr(demo, "_METHODS", ("pca", "isomap"))


def test_demo_compares_and_shows_the_best(run: Any, small_demo: None) -> None:
    done = run("demo", "--folder", "try", "--json")
    assert done.code == 0, done.err
    assert sorted(os.listdir("try")) == FILES
    found = done.json
    assert set(found["methods"]) == {"pca", "isomap"}
    assert found["recommendation"]["method"] in found["methods"]
    assert pl.read_csv("try/embedding.csv").height == 300
    page = Path("try/demo.html").read_text(encoding="utf-8")
    best = lowland.registry.method(found["recommendation"]["method"]).title
    for text in (f"Recommended: {best}", "Geodesic distances", "Distances", "always naming the most"):
        assert text in page
    assert "data:image/png" in page, "the digits themselves"
    assert f"{found['methods']['pca']['local']:.2f}" in page
    assert "1 of 2: PCA" in done.err
    assert run("demo", "--budget", "40s").code == 2, "it has no limit of time"


def test_demo_writes_the_same_bytes_again(run: Any, small_demo: None) -> None:
    outputs = []
    for _ in range(2):
        done = run("demo", "--folder", "try", "--json")
        outputs.append((done.out, {name: Path("try", name).read_bytes() for name in FILES}))
    assert outputs[0] == outputs[1]


@pytest.mark.slow
def test_the_whole_demo(run: Any) -> None:
    done = run("demo", "--folder", "try", "--json")
    assert done.code == 0, done.err
    assert sorted(os.listdir("try")) == FILES
    assert pl.read_csv("try/embedding.csv").height == 1797
    methods = done.json["methods"]
    assert list(methods)[:2] == ["tsne", "umap"]
    assert done.json["recommendation"]["method"] == "tsne"
    assert methods["tsne"]["local"] > 0.95
    assert methods["tsne"]["target"] > 0.95


def test_the_space_after_steps_and_the_reason_without_famd_are_true(run: Any, mixed: Path) -> None:
    words = ["--categories", "famd", "--missing", "median", "--drop", "name", "--budget", "2s"]
    done = run("compare", mixed, *words, "--report", "c.html")
    assert done.code == 0, done.err
    assert "Measured against the columns after these steps: missing numbers filled by column medians" in done.err
    assert "the columns as given" not in done.err + Path("c.html").read_text(encoding="utf-8")
    assert "the steps before the method have coded the categories" in done.err + done.out


def test_the_next_command_scales_by_the_option_of_the_shell(run: Any, table: Path) -> None:
    done = run("compare", table, "--scale", "--methods", "pca", "--held-out", 0, "--json").json
    assert done["recommendation"]["parameters"]["scale"] is True
    assert "--method pca --components 2 --scale " in done["next"]
    assert "scale=" not in done["next"]
    assert run(*shlex.split(done["next"])[1:]).code == 0
