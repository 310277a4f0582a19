"""`reduce` and `transform` of tables that are read in blocks."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lowland

NAMES = list("abcdef")


@pytest.fixture
def big(tmp_path):
    """6,000 rows: two blocks."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((6000, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal((6000, 6))
    frame = pl.DataFrame(X, schema=NAMES).with_columns(
        pl.Series("id", [f"r{i}" for i in range(6000)]), pl.Series("kind", rng.choice(["u", "v"], 6000))
    )
    frame.write_parquet(tmp_path / "big.parquet")
    np.save(tmp_path / "big.npy", X)
    return frame


def test_an_exact_method_gives_the_bits_of_a_fit_in_memory(run, big):
    words = ("reduce", "big.parquet", "--id", "id", "--color", "kind")
    assert run(*words, "-o", "a.parquet", "--model", "a.lowland").code == 0
    got = run(*words, "-o", "b.parquet", "--model", "b.lowland", "--stream")
    assert got.code == 0, got.err
    assert "6,000 rows read in blocks, PCA fitted to all of them" in got.err
    want = pl.read_parquet("a.parquet")
    assert pl.read_parquet("b.parquet").equals(want)
    np.testing.assert_array_equal(lowland.load("a.lowland").components_, lowland.load("b.lowland").components_)


def test_other_methods_are_fitted_to_a_sample(run, big):
    got = run(
        "reduce", "big.parquet", "-m", "isomap", "--stream", "--sample", 500, "--id", "id", "-o", "m.csv", "--json"
    )
    assert got.code == 0, got.err
    assert "Isomap fitted to a sample of 500; placement error" in got.err
    told = got.json["stream"]
    assert told["sample"] == 500
    assert told["rows"] == 6000
    assert 0 < told["placement_error"] <= told["placement_error_90"] < 0.5
    assert not told["exact"]
    model = lowland.fit_sample(lowland.Isomap(n_components=2), big.select(NAMES), 500)
    table = pl.read_csv("m.csv")
    assert table.columns == ["id", "isomap0", "isomap1"]
    np.testing.assert_array_equal(table.drop("id").to_numpy(), model.transform(big.select(NAMES)))


def test_a_report_and_a_figure_are_of_a_sample(run, big):
    files = ("--report", "r.html", "--figure", "f.png", "--color", "kind", "-o", "m.npy")
    got = run("reduce", "big.parquet", "--stream", "--sample", 300, *files, "--drop", "kind", "--drop", "id")
    assert got.code != 0  # --color is written before the coordinates, and an array holds only numbers
    assert not os.path.exists("m.npy")
    got = run("reduce", "big.parquet", "--stream", "--sample", 300, *files[:-1], "m.csv")
    assert got.code == 0, got.err
    assert "--report and --figure show a sample of 300 of 6,000 rows" in got.err
    assert "300 of 6,000 rows" in Path("r.html").read_text(encoding="utf-8")
    assert os.path.getsize("f.png") > 1000


def test_steps_and_arrays(run, big):
    words = ("reduce", "big.parquet", "-m", "kernel_pca", "--id", "id", "-o", "m.parquet", "--model", "m.lowland")
    got = run(*words, "--stream", "--sample", 200, "--scaler", "robust", "--categories", "one-hot", "--drop", "id")
    assert got.code == 0, got.err
    again = run("transform", "m.lowland", "big.parquet", "--stream", "--id", "id", "-o", "again.parquet")
    assert again.code == 0, again.err
    assert pl.read_parquet("again.parquet").equals(pl.read_parquet("m.parquet"))
    whole = run("transform", "m.lowland", "big.parquet", "--id", "id", "-o", "whole.parquet")
    assert whole.code == 0, whole.err
    assert pl.read_parquet("again.parquet").equals(pl.read_parquet("whole.parquet"))
    assert run("reduce", "big.npy", "--stream", "-o", "n.npy").code == 0
    np.testing.assert_array_equal(np.load("n.npy"), lowland.PCA(2).fit_transform(np.load("big.npy")))


def test_a_table_larger_than_memory_is_read_in_blocks_by_itself(run, big):
    X = np.random.default_rng(0).standard_normal((150_000, 6))
    pl.DataFrame(X, schema=NAMES).write_parquet("huge.parquet")
    assert run("reduce", "huge.parquet", "-o", "want.npy", "--model", "m.lowland").code == 0
    with lowland.config(memory_limit="5MB"):
        got = run("reduce", "huge.parquet", "-o", "map.npy")
        moved = run("transform", "m.lowland", "huge.parquet", "-o", "again.npy")
    assert got.code == 0, got.err
    assert "huge.parquet is read in blocks: reading huge.parquet would take" in got.err
    assert "PCA fitted to all of them" in got.err
    np.testing.assert_array_equal(np.load("map.npy"), np.load("want.npy"))
    assert moved.code == 0, moved.err
    np.testing.assert_array_equal(np.load("again.npy"), np.load("want.npy"))


def test_a_fit_larger_than_memory_is_of_a_sample(run, big):
    words = ("reduce", "big.npy", "-m", "isomap", "--sample", "300", "--set", "landmarks=none")
    with lowland.config(memory_limit="30MB"):
        got = run(*words, "-o", "map.npy")
        refused = run(*words)
        few = run(*words[:3], "isomap", "--set", "landmarks=none", "-o", "few.npy")  # fewer rows than the sample
    assert got.code == 0, got.err
    assert "Isomap fitted to a sample of 300" in got.err
    for outcome in (refused, few):
        assert outcome.code == 1
        assert "the memory limit is 30 MB" in outcome.err


def test_rows_of_a_fit_larger_than_memory_are_counted_as_they_are_read(run, big):
    """The separator and the lines to skip reach the count of rows that chooses between sample and refusal."""
    text = big.select(NAMES).write_csv(separator=";")
    Path("big.csv").write_text('"a title; of one line\n' + text)  # an open quote: no table without --skip-rows
    words = ("reduce", "big.csv", "--sep", ";", "--skip-rows", "1", "-m", "isomap", "--set", "landmarks=none")
    with lowland.config(memory_limit="30MB"):
        got = run(*words, "--sample", "300", "-o", "map.npy")
    assert got.code == 0, got.err
    assert "Isomap fitted to a sample of 300" in got.err


def test_checkpoint(run, big):
    got = run("reduce", "big.npy", "--checkpoint", "state", "-o", "map.npy")
    assert got.code == 0, got.err
    np.testing.assert_array_equal(np.load("map.npy"), lowland.PCA(2).fit_transform(np.load("big.npy")))
    assert not os.path.exists("state")
    got = run("reduce", "big.npy", "-m", "isomap", "--checkpoint", "state", "-o", "map.npy")
    assert got.code == 2
    assert "--checkpoint is for methods that are fitted in passes" in got.err


def test_an_interrupted_reduce_continues_from_its_checkpoint(run, big, monkeypatch):
    """Interrupted in the fit, and in the file that is written after it."""
    from lowland.streaming import checkpoint, output

    np.save("long.npy", np.random.default_rng(0).standard_normal((300_000, 4)))
    words = ("reduce", "long.npy", "-m", "pca", "--stream", "-o")
    assert run(*words, "want.npy").code == 0
    monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)
    own, left = checkpoint.Checkpoint.keep, 2

    def keep(self, progress):
        nonlocal left
        own(self, progress)
        left -= 1
        if left == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.Checkpoint, "keep", keep)
    assert run(*words, "map.npy", "--checkpoint", "state").code != 0
    assert not os.path.exists("map.npy")
    assert os.listdir("state")
    with monkeypatch.context() as patch:
        patch.setattr(output, "of_method", lambda *_: _failing())
        got = run(*words, "map.npy", "--checkpoint", "state")
    assert got.code != 0
    assert "continued from state: 131,072 rows were not read again" in got.err
    got = run(*words, "map.npy", "--checkpoint", "state")
    assert got.code == 0, got.err
    assert "continued from state: " in got.err
    assert Path("map.npy").read_bytes() == Path("want.npy").read_bytes()
    assert not os.path.exists("state")


def _failing():
    raise OSError("no space left on device")
    yield


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "add --out FILE"),
        (("-o", "m.csv", "--align-to", "big.parquet"), "--align-to needs the table in memory"),
        (("-o", "m.csv", "--supplementary", "a"), "--supplementary needs the table in memory"),
        (("-o", "m.csv", "--supplementary-rows", "big.npy"), "--supplementary-rows needs the table in memory"),
        (("-o", "m.csv", "--missing", "drop-rows"), "use --missing median, mean or ppca"),
        (("-o", "m.csv", "--sample", "1"), "at least 2 rows"),
        (("-o", "m.csv", "-m", "isomap", "--set", "metric=precomputed"), "is needed as a whole"),
    ],
    ids=["stdout", "align", "supplementary", "rows", "drop-rows", "sample", "square"],
)
def test_what_needs_the_whole_table_is_refused(run, big, words, text):
    got = run("reduce", "big.parquet", "--stream", *words)
    assert got.code == 2
    assert text in got.err
    assert not os.path.exists("m.csv")


@pytest.mark.parametrize("option", [("--flag",), ("--report", "r.html"), ("--figure", "f.png")], ids=["flag", "r", "f"])
def test_transform_refuses_what_needs_the_whole_table(run, big, option):
    assert run("reduce", "big.npy", "-o", "m.csv", "--model", "m.lowland").code == 0
    got = run("transform", "m.lowland", "big.npy", "--stream", "-o", "n.csv", *option)
    assert got.code == 2
    assert f"{option[0]} needs the table in memory" in got.err


def test_xlsx_is_refused_before_the_fit(run, big):
    got = run("reduce", "big.npy", "--stream", "-o", "m.xlsx")
    assert got.code == 3
    assert "written in pieces use .csv" in got.err


def test_outliers_of_blocks_are_those_of_the_table(run, big):
    big.with_columns(a=pl.when(pl.arange(6000) == 77).then(40.0).otherwise(pl.col("a"))).write_csv("odd.csv")
    words = ("outliers", "odd.csv", "--id", "id", "--json")
    whole = run(*words, "-o", "whole.csv")
    got = run(*words, "-o", "blocks.csv", "--stream")
    assert got.code == 0, got.err
    assert "6,000 rows are read in blocks" in got.err
    assert "random rows" not in got.err, "distances are exact"
    assert got.json["names"][0] == "r77"
    for key in ("rows", "names", "reasons", "columns", "severity", "limits", "turn", "angles", "share_without"):
        assert got.json[key] == whole.json[key], key
    assert pl.read_csv("blocks.csv").equals(pl.read_csv("whole.csv"))


def test_outliers_and_dimension_of_a_table_larger_than_memory(run, big):
    X = np.random.default_rng(0).standard_normal((150_000, 6))
    X[1234] = 20
    pl.DataFrame(X, schema=NAMES).write_parquet("huge.parquet")
    whole = run("outliers", "huge.parquet", "--json")
    with lowland.config(memory_limit="5MB"):
        got = run("outliers", "huge.parquet", "--json")
        refused = run("outliers", "huge.parquet", "--keep", "clean.csv")
    assert got.code == 0, got.err
    assert "huge.parquet is read in blocks: reading huge.parquet would take" in got.err
    assert "Distances are to the nearest of 5,000 random rows" in got.json["summary"]
    assert got.json["rows"] == whole.json["rows"]
    assert got.json["rows"][0] == 1234
    assert got.json["severity"] == whole.json["severity"]
    assert refused.code == 2
    assert "huge.parquet is read in blocks; --keep requires a table" in refused.err
    sampled = run("dimension", "huge.parquet", "--stream")
    assert sampled.code == 0, sampled.err
    assert "the dimension is measured on a sample of 20,000 of the 150,000 rows" in sampled.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--metric", "precomputed"), "a precomputed matrix is needed as a whole"),
        (("--missing", "mean"), "steps before the method need the table in memory"),
    ],
)
@pytest.mark.parametrize("command", ["outliers", "dimension"])
def test_measures_of_blocks_refuse_what_needs_the_table(run, big, command, words, text):
    got = run(command, "big.parquet", "--stream", *words)
    assert got.code == 2
    assert text in got.err


def test_steps_learn_from_all_rows_and_text_is_parsed_once(run, big, tmp_path):
    big.with_columns(pl.when(pl.int_range(6000) % 11 == 0).then(None).otherwise(pl.col("a")).alias("a")).write_csv(
        "big.csv"
    )
    steps = ("--id", "id", "--missing", "median", "--categories", "one-hot", "--scaler", "robust")
    assert run("reduce", "big.csv", *steps, "-o", "a.parquet", "--model", "a.lowland").code == 0
    got = run("reduce", "big.csv", *steps, "-o", "b.parquet", "--model", "b.lowland", "--stream", "--json")
    assert got.code == 0, got.err
    assert "PCA fitted to all of them; " in got.err
    assert "passes over the table, its text parsed once" in got.err
    assert got.json["stream"]["exact"]
    assert got.json["stream"]["passes"] > 4
    assert pl.read_parquet("b.parquet").equals(pl.read_parquet("a.parquet"))
    one, other = lowland.load("a.lowland"), lowland.load("b.lowland")
    np.testing.assert_array_equal(one.named_steps["scale"].scale_, other.named_steps["scale"].scale_)
    got = run("reduce", "big.csv", *steps, "-o", "c.parquet", "--stream", "--scratch", "none")
    assert got.code == 0, got.err
    assert "parsed once" not in got.err
    assert pl.read_parquet("c.parquet").equals(pl.read_parquet("a.parquet"))
    got = run("reduce", "big.csv", *steps, "-o", "d.parquet", "--stream", "--scratch", "nowhere")
    assert got.code == 1
    assert "the folder for temporary copies does not exist" in got.err
    assert not os.path.exists("d.parquet")


def test_a_checkpoint_keeps_the_passes_of_steps(run, big):
    steps = ("--id", "id", "--categories", "one-hot", "--scaler", "robust", "-o", "a.parquet")
    got = run("reduce", "big.parquet", *steps, "--checkpoint", "state")
    assert got.code == 0, got.err
    assert not os.path.exists("state")
    got = run("reduce", "big.parquet", "-m", "isomap", *steps, "--checkpoint", "state")
    assert got.code == 2
    assert "Isomap is fitted to a sample: remove it" in got.err


@pytest.fixture
def late(tmp_path, monkeypatch):
    """A column of whole numbers with a fraction far behind the beginning, which settles its type."""
    from lowland.data.scans import text

    monkeypatch.setattr(text, "_BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr(text, "_LOOK_BYTES", 1 << 14)
    rows = [f"{i % 97},{i * 7 % 13},{i % 3}" for i in range(60_000)]
    rows[59_990] = "1.5,3,A1"
    (tmp_path / "late.csv").write_text("x,y,code\n" + "\n".join(rows) + "\n")


@pytest.mark.parametrize("steps", [(), ("--scale",), ("--missing", "median")], ids=["plain", "scale", "median"])
def test_later_fractions_are_read_with_and_without_a_copy(run, late, steps):
    words = ("reduce", "late.csv", "-m", "pca", "--columns", "x,y", *steps, "-o")
    assert run(*words, "want.csv").code == 0
    for out, more in (("a.csv", ("--stream",)), ("b.csv", ("--stream", "--scratch", "none"))):
        got = run(*words, out, *more)
        assert got.code == 0, got.err
        assert Path(out).read_bytes() == Path("want.csv").read_bytes()
    with lowland.config(memory_limit="750kB"):
        got = run(*words, "c.csv")
    assert got.code == 0, got.err
    assert "late.csv is read in blocks" in got.err
    assert Path("c.csv").read_bytes() == Path("want.csv").read_bytes()


def test_the_option_that_an_error_names_helps(run, late):
    """Columns that are copied have one type; the option in the error is one that is accepted and has an effect."""
    import re
    import shlex

    Path("two.csv").write_text("\n".join(line.rpartition(",")[0] for line in Path("late.csv").read_text().splitlines()))
    words = ("reduce", "two.csv", "-m", "pca", "--keep-columns", "--stream", "-o", "a.csv")
    got = run(*words)
    assert got.code == 3
    found = re.search(r"column 'x' has a fraction in row 59990, .* read it with (--types \S+)", got.err)
    assert found, got.err
    got = run(*words, *shlex.split(found[1]))
    assert got.code == 0, got.err
    assert pl.read_csv("a.csv")["x"][59_990] == 1.5


def test_types_of_columns_reach_the_table_that_is_read_in_blocks(run, late):
    words = ("reduce", "late.csv", "--categories", "one-hot", "--types", "category=code", "-o")
    assert run(*words, "want.parquet").code == 0
    got = run(*words, "got.parquet", "--stream")
    assert got.code == 0, got.err
    assert pl.read_parquet("got.parquet").equals(pl.read_parquet("want.parquet"))
    Path("empty.csv").write_text("x,y\n" + "1,\n" * 9000 + "2,2.5\n3,1\n")
    got = run("dimension", "empty.csv", "--stream")
    assert got.code == 3
    assert "read it with --types number=y" in got.err
    got = run("reduce", "empty.csv", "--stream", "--missing", "mean", "-o", "a.csv", "--types", "number=y")
    assert got.code == 0, got.err
    got = run("dimension", "empty.csv", "--stream", "--types", "category=y")
    assert got.code == 2
    assert "steps before the method need the table in memory" in got.err
