"""Fits on a cluster that are interrupted and continue with the same bits; the sums are kept by the client."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lowland
from dask_tables import same_bits
from lowland.data import scan
from lowland.methods.steps import training_rows
from lowland.rows.shared_scan import SharedScan
from lowland.streaming.checkpoint import CheckpointError
from lowland.streaming.fitting import open_checkpoint, run_with

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

PART = 9_000  # parts that are no whole blocks


class Stopped(Exception):
    """Ends a fit in the middle."""


def shared(path, rows=PART):
    return SharedScan(scan(path), rows=rows)


def interrupted(model, rows, folder, calls):
    """Fit until progress was reported so often, with a checkpoint at every segment."""

    def stop(stage, done, total):
        nonlocal calls
        calls -= 1
        if calls < 0:
            raise Stopped

    kept = open_checkpoint(model, rows, folder, every=0)
    with lowland.config(progress=stop):
        run_with(model, rows, kept)
    return kept


def stored(folder, n, width, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((n, width)) * np.linspace(5, 0.1, width) + 3).astype(dtype)
    np.save(folder / "rows.npy", X)
    return X


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_every_segment_may_be_the_last_that_was_kept(client, tmp_path, calls):
    """Whatever the parts: the second run, on other workers, may read other ones."""
    X = stored(tmp_path, 3 * 65_536 + 5_000, 5)
    want = lowland.PCA(3).fit(X)
    with pytest.raises(Stopped):
        interrupted(lowland.PCA(3), shared(tmp_path / "rows.npy"), tmp_path / "state", calls)
    kept = interrupted(model := lowland.PCA(3), shared(tmp_path / "rows.npy", 20_000), tmp_path / "state", 10**9)
    assert kept.resumed_rows == calls * 65_536
    same_bits(model, want)


@pytest.mark.parametrize(
    "model",
    [lowland.PCA(3, solver="svd"), lowland.TruncatedSVD(3), lowland.ICA(3), lowland.FAMD(3)],
    ids=lambda value: type(value).__name__,
)
def test_methods_continue_with_the_same_bits(client, tmp_path, model):
    X = stored(tmp_path, 150_000, 5)
    twin = model.__class__(**model.get_params())
    want = model.__class__(**model.get_params()).fit(X)
    with pytest.raises(Stopped):
        interrupted(model, shared(tmp_path / "rows.npy"), tmp_path / "state", 2)
    kept = interrupted(twin, shared(tmp_path / "rows.npy"), tmp_path / "state", 10**9)
    assert kept.resumed_rows > 0
    same_bits(twin, want)


@pytest.mark.parametrize("calls", [33, 34, 46])
def test_rows_with_gaps_continue_with_the_same_bits(client, tmp_path, calls):
    X = stored(tmp_path, 100_000, 5)
    X[::7, 1] = np.nan
    X[60_000::11, 3] = np.nan
    np.save(tmp_path / "rows.npy", X)
    want = lowland.ProbabilisticPCA(2).fit(X)
    with pytest.raises(Stopped):
        interrupted(lowland.ProbabilisticPCA(2), shared(tmp_path / "rows.npy"), tmp_path / "state", calls)
    model = lowland.ProbabilisticPCA(2)
    kept = interrupted(model, shared(tmp_path / "rows.npy", 20_000), tmp_path / "state", 10**9)
    assert 0 < kept.resumed_rows < 100_000
    same_bits(model, want)


def test_wide_rows_continue_with_the_bits_of_the_same_fit_on_workers(client, tmp_path, monkeypatch):
    """Their segments are longer than those of this process, which therefore cannot continue the fit."""
    monkeypatch.setattr("lowland.rows.engine_rows.SEGMENT_BLOCKS", 1)
    monkeypatch.setattr("lowland.rows.engine_rows._WIDE_ROWS", 4)  # segments of two blocks
    stored(tmp_path, 12_000, 1100, np.float32)
    want = lowland.fit(lowland.PCA(3), shared(tmp_path / "rows.npy"))
    with pytest.raises(Stopped):
        interrupted(lowland.PCA(3), shared(tmp_path / "rows.npy"), tmp_path / "state", 1)
    with pytest.raises(CheckpointError, match="engine was 'dask' and is 'local'"):
        lowland.fit(lowland.PCA(3), scan(tmp_path / "rows.npy"), checkpoint=tmp_path / "state")
    kept = interrupted(model := lowland.PCA(3), shared(tmp_path / "rows.npy"), tmp_path / "state", 10**9)
    assert kept.resumed_rows == 2 * 3813
    same_bits(model, want)


@pytest.mark.filterwarnings("ignore::lowland.core.errors.LowlandWarning")
@pytest.mark.parametrize("calls", [0, 1, 5, 10, 12])
def test_recipes_continue_with_the_same_bits(client, tmp_path, monkeypatch, calls):
    """Interrupted in the passes of the steps and of the method; passes that were complete are not read again."""
    monkeypatch.setattr(training_rows, "_MAX_ROWS", 1000)
    rng = np.random.default_rng(5)
    n = 9000
    frame = pl.DataFrame({"a": rng.integers(0, 50, n) / 8, "b": rng.standard_normal(n), "c": rng.standard_cauchy(n)})
    frame = frame.with_columns(pl.Series("kind", rng.choice(["u", "v", "w"], n)))
    frame = frame.with_columns(pl.when(pl.int_range(n) % 7 == 0).then(None).otherwise(pl.col("b")).alias("b"))
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=1000)

    def recipe():
        how = {"missing": "median", "missing_category": "level", "categories": "one-hot", "scale": "robust"}
        return lowland.recipe(lowland.PCA(2), transform={"rank": ["a"]}, **how)

    want = recipe().fit(frame)
    with pytest.raises(Stopped):
        interrupted(recipe(), shared(tmp_path / "rows.parquet", 2_500), tmp_path / "state", calls)
    model = recipe()
    kept = interrupted(model, shared(tmp_path / "rows.parquet", 3_300), tmp_path / "state", 10**9)
    assert kept.resumed_rows > 0 or not calls
    np.testing.assert_array_equal(model.transform(frame), want.transform(frame))


def test_changes_are_refused(client, tmp_path):
    X = stored(tmp_path, 150_000, 5)
    with pytest.raises(Stopped):
        interrupted(lowland.PCA(3), shared(tmp_path / "rows.npy"), tmp_path / "state", 2)
    with pytest.raises(CheckpointError, match="another run: parameter n_components was 3 and is 2"):
        lowland.fit(lowland.PCA(2), scan(tmp_path / "rows.npy"), checkpoint=tmp_path / "state", engine="dask")
    X[140_000, 2] += 1
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(CheckpointError, match="content of the table was"):
        lowland.fit(lowland.PCA(3), scan(tmp_path / "rows.npy"), checkpoint=tmp_path / "state", engine="dask")


def test_a_complete_fit_removes_its_files(client, tmp_path):
    X = stored(tmp_path, 20_000, 4)
    rows = scan(tmp_path / "rows.npy")
    model = lowland.fit(lowland.PCA(2), rows, checkpoint=tmp_path / "state", engine="dask")
    same_bits(model, lowland.PCA(2).fit(X))
    assert os.listdir(tmp_path) == ["rows.npy"]


def test_collections_are_not_recognised(tmp_path):
    with pytest.raises(lowland.DataError, match=r"give a scan, .*, and engine='dask' for its workers, instead"):
        lowland.fit(lowland.PCA(2), da.ones((50, 5)), checkpoint=tmp_path / "state")
    with pytest.raises(lowland.DataError, match=r"engine='dask' reads files: give lowland\.data\.scan\(path\)"):
        lowland.fit(lowland.PCA(2), da.ones((50, 5)), engine="dask")
    stored(tmp_path, 50, 4)
    with pytest.raises(ValueError, match="engine must be one of dask; it is 'spark'"):
        lowland.fit(lowland.PCA(2), scan(tmp_path / "rows.npy"), engine="spark")
    assert not (tmp_path / "state").exists()


# Reduces a file on a worker of its own, and kills itself when so many checkpoints are written.
COMMAND = """
import os, signal, sys

def keep(self, progress):
    global left
    own(self, progress)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":  # not in the workers
    from lowland.cli.main import main
    from lowland.streaming import checkpoint

    left, own = int(sys.argv[1]), checkpoint.Checkpoint.keep
    checkpoint.Checkpoint.keep = keep
    checkpoint.Checkpoint.due = lambda self: True
    sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_command_that_is_killed_continues_with_the_same_bits(tmp_path):
    stored(tmp_path, 150_000, 5)
    (tmp_path / "command.py").write_text(COMMAND)
    words = ["reduce", "rows.npy", "--engine", "dask", "--workers", "1", "--checkpoint", "state", "-o", "map.npy"]
    environment = dict(os.environ, PYTHONPATH=str(Path(lowland.__file__).parents[1]), OMP_NUM_THREADS="1")

    def started(moment):
        command = [sys.executable, "command.py", str(moment), *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
        return subprocess.Popen(command, cwd=tmp_path, env=environment, text=True, **pipes)

    process = started(2)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "map.npy").exists()
    deadline = time.monotonic() + 30
    while alive(process.pid):
        assert time.monotonic() < deadline, "the workers end without the command"
        time.sleep(0.1)
    process = started(0)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "continued from state: 131,072 rows were not read again" in errors
    rows = scan(tmp_path / "rows.npy")
    lowland.transform_file(lowland.fit(lowland.PCA(2), rows), rows, tmp_path / "want.npy")
    assert (tmp_path / "map.npy").read_bytes() == (tmp_path / "want.npy").read_bytes()
    assert not (tmp_path / "state").exists()


def alive(group):
    """Return whether a process of a group is running."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
