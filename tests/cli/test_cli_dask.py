"""`--engine dask`: workers read the table; files and models are those of this process, bit for bit."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.engines.dask_cluster import started

pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

ROWS = 12_000
# The stand-in for the process of candidates that the tests of comparisons have.
AT_ONCE = runpy.run_path(str(Path(__file__).parents[1] / "comparison" / "conftest.py"))["AtOnce"]


@pytest.fixture(scope="module")
def scheduler():
    """The address of two worker processes."""
    with started(2) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def table(tmp_path: Path) -> pl.DataFrame:
    X = np.random.default_rng(0).standard_normal((ROWS, 5)) * [5, 4, 3, 2, 1]
    frame = pl.DataFrame(np.round(X, 4), schema=list("abcde"), orient="row")
    frame = frame.with_columns(pl.Series("id", [f"r{i}" for i in range(ROWS)]))
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=3_000)
    frame.write_csv(tmp_path / "rows.csv")
    return frame


@pytest.mark.parametrize("data", ["rows.parquet", "rows.csv"])
def test_a_reduction_by_workers_has_the_same_bits(run, table, tmp_path, scheduler, data):
    words = ["reduce", data, "--id", "id", "--components", 2]
    here = run(*words, "--stream", "-o", "here.parquet", "--model", "here.lowland")
    there = run(*words, "--engine", "dask", "--scheduler", scheduler, "-o", "there.parquet", "--model", "there.lowland")
    assert (here.code, there.code) == (0, 0), there.err
    assert pl.read_parquet(tmp_path / "there.parquet").equals(pl.read_parquet(tmp_path / "here.parquet"))
    import lowland

    one, other = (lowland.load(tmp_path / f"{name}.lowland") for name in ("here", "there"))
    assert np.array_equal(one.components_, other.components_)
    for name, how in (("a", ["--stream"]), ("b", ["--engine", "dask", "--scheduler", scheduler])):
        done = run("transform", "here.lowland", data, *how, "--keep-columns", "-o", f"{name}.csv")
        assert done.code == 0, done.err
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_processes_of_this_machine_are_started_without_a_scheduler(run, table, tmp_path):
    done = run("reduce", "rows.parquet", "--engine", "dask", "--workers", 1, "-o", "map.npy", "--json")
    assert done.code == 0, done.err
    assert done.json["stream"]["exact"]
    assert np.load(tmp_path / "map.npy").shape == (ROWS, 2)


def test_a_method_that_needs_a_sample_is_placed_by_the_workers(run, table, tmp_path, scheduler):
    words = ["reduce", "rows.parquet", "--drop", "id", "-m", "isomap", "--sample", 300]
    for name, how in (("here", ["--stream"]), ("there", ["--engine", "dask", "--scheduler", scheduler])):
        done = run(*words, *how, "-o", f"{name}.npy")
        assert done.code == 0, done.err
    assert np.array_equal(np.load(tmp_path / "there.npy"), np.load(tmp_path / "here.npy"))


def test_steps_learn_on_the_workers(run, table, tmp_path, scheduler):
    steps = ["--missing", "median", "--categories", "one-hot", "--scaler", "robust", "--drop", "id"]
    for name, how in (("here", ["--stream"]), ("there", ["--engine", "dask", "--scheduler", scheduler])):
        done = run("reduce", "rows.csv", *steps, *how, "-o", f"{name}.npy", "--model", f"{name}.lowland")
        assert done.code == 0, done.err
    assert np.array_equal(np.load(tmp_path / "there.npy"), np.load(tmp_path / "here.npy"))
    here, there = (lowland.load(f"{name}.lowland") for name in ("here", "there"))
    np.testing.assert_array_equal(here.named_steps["scale"].center_, there.named_steps["scale"].center_)


@pytest.mark.parametrize("data", ["rows.parquet", "rows.csv"])
@pytest.mark.parametrize("how", [["--categories", "famd", "--missing", "mean"], ["-m", "famd"]], ids=["step", "method"])
def test_famd_by_workers_has_the_same_bits(run, table, tmp_path, scheduler, data, how):
    kind = pl.Series("kind", np.random.default_rng(1).choice(["u", "v", "w"], ROWS))
    mixed = table.with_columns(kind, (kind == "u").alias("yes"))
    mixed.write_parquet(tmp_path / "rows.parquet", row_group_size=3_000)
    mixed.write_csv(tmp_path / "rows.csv")
    for name, where in (("here", ["--stream"]), ("there", ["--engine", "dask", "--scheduler", scheduler])):
        done = run("reduce", data, *how, "--id", "id", *where, "-o", f"{name}-map.csv", "--model", f"{name}.lowland")
        assert done.code == 0, done.err
        done = run("transform", "here.lowland", data, "--id", "id", *where, "-o", f"{name}.csv")
        assert done.code == 0, done.err
    assert (tmp_path / "there-map.csv").read_bytes() == (tmp_path / "here-map.csv").read_bytes()
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
    one, other = (lowland.load(tmp_path / f"{name}.lowland") for name in ("here", "there"))
    one, other = (m[-1] if hasattr(m, "steps") else m for m in (one, other))
    np.testing.assert_array_equal(one.components_, other.components_)


def test_a_checkpoint_is_removed_after_the_last_row(run, table, tmp_path, scheduler):
    words = ["reduce", "rows.parquet", "--id", "id", "--engine", "dask", "--scheduler", scheduler]
    done = run(*words, "--checkpoint", "state", "-o", "map.csv")
    assert done.code == 0, done.err
    assert not (tmp_path / "state").exists()
    assert (tmp_path / "map.csv").exists()


def test_a_scheduler_that_cannot_be_reached_is_named(run, table, tmp_path):
    with dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}):
        done = run("reduce", "rows.csv", "--engine", "dask", "--scheduler", "tcp://127.0.0.1:1", "-o", "map.csv")
    assert done.code == 1
    assert "the Dask scheduler tcp://127.0.0.1:1 cannot be reached" in done.err
    assert not (tmp_path / "map.csv").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--scheduler", "tcp://127.0.0.1:1"], "--scheduler needs --engine dask"),
        (["--workers", 2], "--workers needs --engine dask"),
        (["--engine", "dask", "--workers", 0], "--workers 0: must be at least 1"),
        (["--engine", "dask", "--workers", 2, "--scheduler", "tcp://127.0.0.1:1"], "remove one"),
        (["--engine", "dask"], "add --out FILE"),
        (
            ["--engine", "dask", "--workers", 1, "-m", "isomap", "-o", "map.csv", "--checkpoint", "state"],
            "is fitted to",
        ),
    ],
)
def test_options_that_do_not_belong_together_are_usage_errors(run, table, words, told):
    done = run("reduce", "rows.csv", *words)
    assert done.code == 2
    assert told in done.err


def test_a_comparison_by_workers_repeats_that_of_this_machine(run, table, tmp_path, scheduler, monkeypatch):
    words = ["compare", "rows.csv", "--drop", "id"]
    with monkeypatch.context() as patch:
        patch.setattr("lowland.comparison.running.Worker", AT_ONCE)
        here = run(*words, "--methods", "pca,kernel_pca", "--sample", 200, "--record", "here.json", "--json")
    how = ["--engine", "dask", "--scheduler", scheduler]
    there = run(*words, "--again", "here.json", *how, "--record", "there.json", "--json")
    assert (here.code, there.code) == (0, 0), there.err
    assert there.json["recommendation"] == here.json["recommendation"]
    for one, other in zip(here.json["candidates"], there.json["candidates"], strict=True):
        assert {k: v for k, v in one.items() if k != "seconds"} == {k: v for k, v in other.items() if k != "seconds"}
    one, other = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("here", "there"))
    assert other["evidence"] == one["evidence"]
    assert other["settings"] == one["settings"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--workers", 2], "--workers needs --engine dask"),
        (["--engine", "dask", "--workers", 2, "--scheduler", "tcp://127.0.0.1:1"], "remove one"),
    ],
)
def test_options_of_workers_are_checked_before_a_comparison(run, table, words, told):
    done = run("compare", "rows.csv", *words)
    assert done.code == 2
    assert told in done.err


def test_a_command_without_workers_says_which_commands_have_them(run, table):
    done = run("dimension", "rows.csv", "--engine", "dask")
    assert done.code == 2
    assert "--engine is an option of reduce, transform and compare" in done.err


def test_a_file_that_workers_cannot_share_is_refused(run, table, tmp_path, scheduler):
    import gzip

    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress((tmp_path / "rows.csv").read_bytes()))
    done = run("reduce", "rows.csv.gz", "--engine", "dask", "--scheduler", scheduler, "-o", "map.csv")
    assert done.code == 3
    assert "unpack it first" in done.err
