"""Fits that are interrupted and continue with the same bits."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.data import scan
from lowland.data.scans.changed import ChangedScan
from lowland.methods.steps import training_rows
from lowland.streaming.checkpoint import Checkpoint, CheckpointError

# Fits with a checkpoint at every segment. Kills itself before the n-th block, write of a file or renaming.
SCRIPT = """
import os, signal, sys
import numpy as np
import lowland
from lowland.data import atomic, scan
from lowland.streaming.fitting import open_checkpoint, run_with

file, folder, out, name, moment, what = sys.argv[1:]
left = int(moment)

def count(kind):
    global left
    if what in (kind, "any"):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

for call in ("replace", "fsync"):
    def wrapped(*args, _own=getattr(os, call), **kwargs):
        count("write")
        return _own(*args, **kwargs)
    setattr(os, call, wrapped)

model = getattr(lowland, name)(n_components=3)
table = scan(file)
kept = open_checkpoint(model, table, folder, every=0)
with lowland.config(progress=lambda *_: count("block")):
    run_with(model, table, kept)
print(kept.resumed_rows)
np.savez(out, components=model.components_, mean=getattr(model, "mean_", 0), Y=model.transform(table))
"""


def started(*words):
    environment = dict(os.environ, PYTHONPATH=str(Path(lowland.__file__).parents[1]))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, *map(str, words)], env=environment, text=True, **pipes)


def table(folder, n, width, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((n, width)) * np.linspace(5, 0.1, width) + 3).astype(dtype)
    np.save(folder / "rows.npy", X)
    return X


def same_bits(path, model, X):
    with np.load(path) as found:
        np.testing.assert_array_equal(found["components"], model.components_)
        np.testing.assert_array_equal(found["Y"], model.transform(X))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("moments", [pytest.param(4, id="quick"), pytest.param(20, id="full", marks=pytest.mark.slow)])
def test_killed_at_random_moments(tmp_path, moments):
    X = table(tmp_path, 600_000, 6)  # 147 blocks: 9 segments and a part of one
    want, chance, resumed = lowland.PCA(3).fit(X), random.Random(0), []
    for moment in range(moments):
        state, out = tmp_path / f"state{moment}", tmp_path / "out.npz"
        for what, most in (("any", 170), ("any", 100), ("write", 6)):  # killed three times, then left alone
            process = started(tmp_path / "rows.npy", state, out, "PCA", chance.randrange(most), what)
            process.communicate(timeout=120)
            assert process.returncode in (0, -signal.SIGKILL)
            assert all(name.endswith((".checkpoint", ".part")) for name in os.listdir(state))
        process = started(tmp_path / "rows.npy", state, out, "PCA", 10**9, "any")
        printed, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        resumed.append(int(printed))
        same_bits(out, want, X)
    assert max(resumed) > 65_536  # some runs did not begin anew


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_killed_from_outside(tmp_path):
    X = table(tmp_path, 600_000, 6)
    want, out, state = lowland.PCA(3).fit(X), tmp_path / "out.npz", tmp_path / "state"
    for pause in (0.9, 1.3):
        process = started(tmp_path / "rows.npy", state, out, "PCA", 10**9, "any")
        time.sleep(pause)
        process.kill()
        process.communicate(timeout=120)
    process = started(tmp_path / "rows.npy", state, out, "PCA", 10**9, "any")
    assert process.wait(timeout=120) == 0
    process.communicate()
    same_bits(out, want, X)


class Stopped(Exception):
    """Ends a fit in the middle."""


def interrupted(model, rows, folder, blocks):
    """Fit until so many blocks are done, with a checkpoint at every segment."""
    from lowland.streaming.fitting import open_checkpoint, run_with

    def stop(stage, done, total):
        nonlocal blocks
        blocks -= 1
        if blocks < 0:
            raise Stopped

    kept = open_checkpoint(model, rows, folder, every=0)
    with lowland.config(progress=stop):
        run_with(model, rows, kept)
    return kept


@pytest.mark.parametrize(
    ("name", "shape", "dtype"),
    [
        ("PCA", (150_000, 5), np.float64),
        ("PCA", (150_000, 5), np.float32),
        ("PCA", (7000, 1100), np.float64),  # wide: one fold without segments
        ("TruncatedSVD", (150_000, 5), np.float64),
        ("ICA", (80_000, 4), np.float64),
    ],
)
def test_methods_continue_with_the_same_bits(tmp_path, name, shape, dtype):
    X = table(tmp_path, *shape, dtype)
    cls, k = getattr(lowland, name), 3
    want = cls(n_components=k).fit(X)
    rows = scan(tmp_path / "rows.npy")
    blocks = {1100: 1}.get(shape[1], 18)
    with pytest.raises(Stopped):
        interrupted(cls(n_components=k), rows, tmp_path / "state", blocks)
    kept = interrupted(model := cls(n_components=k), rows, tmp_path / "state", 10**9)
    assert kept.resumed_rows > 0
    np.testing.assert_array_equal(model.transform(X), want.transform(X))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("blocks", [3, 57, 70, 73])
def test_probabilistic_pca_continues_with_the_same_bits(tmp_path, gaps, blocks):
    """Complete rows are added up; rows with gaps are grouped by pattern. The first passes only look for gaps."""
    X = table(tmp_path, 150_000, 5)
    if gaps:
        X[::7, 1] = np.nan
        X[60_000::11, 3] = np.nan
        np.save(tmp_path / "rows.npy", X)
    want = lowland.ProbabilisticPCA(2).fit(X)
    rows = scan(tmp_path / "rows.npy")
    with pytest.raises(Stopped):
        interrupted(lowland.ProbabilisticPCA(2), rows, tmp_path / "state", blocks)
    kept = interrupted(model := lowland.ProbabilisticPCA(2), rows, tmp_path / "state", 10**9)
    assert kept.resumed_rows > 0 or blocks == 3
    assert model.log_likelihood_ == want.log_likelihood_
    assert model.n_iter_ == want.n_iter_
    for name in ("components_", "mean_", "explained_variance_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(want, name))


def recipe():
    """A model whose steps make passes of all kinds: sums, samples, levels, intervals, ranges of dates, ranks."""
    how = {"missing": "median", "missing_category": "level", "categories": "one-hot", "scale": "robust"}
    return lowland.recipe(lowland.PCA(2), transform={"rank": ["a"]}, pre="pca:3", **how)


@pytest.fixture
def mixed(tmp_path):
    rng = np.random.default_rng(5)
    n = 9000
    days = np.datetime64("2020-01-01") + rng.integers(0, 900, n).astype("timedelta64[D]")
    frame = pl.DataFrame({"a": rng.integers(0, 50, n) / 8, "b": rng.standard_normal(n), "c": rng.standard_cauchy(n)})
    frame = frame.with_columns(pl.Series("day", days), pl.Series("kind", rng.choice(["u", "v", "w"], n)))
    frame = frame.with_columns(pl.when(pl.int_range(n) % 7 == 0).then(None).otherwise(pl.col("b")).alias("b"))
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=1000)
    return frame


@pytest.mark.filterwarnings("ignore::lowland.core.errors.LowlandWarning")
@pytest.mark.parametrize("blocks", [0, 3, 12, 20, 31, 40, 48, 55])
def test_recipes_continue_with_the_same_bits(tmp_path, monkeypatch, mixed, blocks):
    """Interrupted in the passes of the steps and of the methods; passes that were complete are not read again."""
    monkeypatch.setattr(training_rows, "_MAX_ROWS", 1000)
    want = recipe().fit(mixed)
    rows = scan(tmp_path / "rows.parquet")
    with pytest.raises(Stopped):
        interrupted(recipe(), rows, tmp_path / "state", blocks)
    again = scan(tmp_path / "rows.parquet")
    kept = interrupted(model := recipe(), again, tmp_path / "state", 10**9)
    assert kept.resumed_rows > 0 or blocks < 3
    np.testing.assert_array_equal(model.transform(mixed), want.transform(mixed))
    for name in ("transform", "missing", "scale"):
        one, other = model.named_steps[name], want.named_steps[name]
        for key in ("fill_", "center_", "scale_"):
            np.testing.assert_array_equal(getattr(one, key, 0), getattr(other, key, 0))


@pytest.mark.parametrize("blocks", [16, 17, 143, 144, 145, 146])
def test_every_place_near_the_end(tmp_path, blocks):
    """Blocks are read ahead, so that the last rows, fewer than a block, are held while earlier ones are added up."""
    X = table(tmp_path, 600_000, 5)
    rows = scan(tmp_path / "rows.npy")
    with pytest.raises(Stopped):
        interrupted(lowland.PCA(2), rows, tmp_path / "state", blocks)
    interrupted(model := lowland.PCA(2), rows, tmp_path / "state", 10**9)
    np.testing.assert_array_equal(model.components_, lowland.PCA(2).fit(X).components_)


def test_a_complete_fit_removes_its_files(tmp_path):
    X = table(tmp_path, 5000, 4)
    model = lowland.fit(lowland.PCA(2), scan(tmp_path / "rows.npy"), checkpoint=tmp_path / "state")
    np.testing.assert_array_equal(model.components_, lowland.PCA(2).fit(X).components_)
    assert os.listdir(tmp_path) == ["rows.npy"]


def test_changes_are_refused(tmp_path):
    table(tmp_path, 150_000, 5)
    rows = scan(tmp_path / "rows.npy")
    with pytest.raises(Stopped):
        interrupted(lowland.PCA(3), rows, tmp_path / "state", 18)
    for model in (lowland.PCA(2), lowland.PCA(3, scale=True)):
        with pytest.raises(CheckpointError, match=r"another run: parameter (n_components|scale) was"):
            lowland.fit(model, rows, checkpoint=tmp_path / "state")
    with pytest.raises(CheckpointError, match="model was 'PCA' and is 'TruncatedSVD'"):
        lowland.fit(lowland.TruncatedSVD(3), rows, checkpoint=tmp_path / "state")
    X = np.load(tmp_path / "rows.npy")
    X[140_000, 2] += 1
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(CheckpointError, match="content of the table was"):
        lowland.fit(lowland.PCA(3), scan(tmp_path / "rows.npy"), checkpoint=tmp_path / "state")


def test_a_damaged_file_leaves_the_older_one(tmp_path):
    X = table(tmp_path, 300_000, 5)
    rows = scan(tmp_path / "rows.npy")
    with pytest.raises(Stopped):
        interrupted(lowland.PCA(3), rows, tmp_path / "state", 60)  # three segments
    files = sorted((tmp_path / "state").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    assert len(files) == 2
    newest = files[-1]
    newest.write_bytes(newest.read_bytes()[:-9])
    (tmp_path / "state" / ".checkpoint-0123456789abcdef.part").write_bytes(b"half")
    (tmp_path / "state" / ".0123456789abcdef.part").write_bytes(b"of another file")
    kept = interrupted(model := lowland.PCA(3), rows, tmp_path / "state", 10**9)
    assert kept.resumed_rows == 2 * 65_536
    np.testing.assert_array_equal(model.components_, lowland.PCA(3).fit(X).components_)
    assert [file.name for file in (tmp_path / "state").glob(".*.part")] == [".0123456789abcdef.part"]
    kept.release()
    for file in (tmp_path / "state").iterdir():
        file.write_bytes(b"none")
    with pytest.raises(CheckpointError, match="damaged; remove the folder"):
        Checkpoint(tmp_path / "state", {})


@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
def test_a_second_fit_in_the_folder_of_a_running_one_is_refused(tmp_path):
    X = table(tmp_path, 600_000, 6)
    out, state = tmp_path / "out.npz", tmp_path / "state"
    started_fit = started(tmp_path / "rows.npy", state, out, "PCA", 10**9, "any")
    while not list(state.glob("*.checkpoint")):
        assert started_fit.poll() is None
        time.sleep(0.01)
    os.kill(started_fit.pid, signal.SIGSTOP)
    (state / ".checkpoint-0123456789abcdef.part").write_bytes(b"of the running fit")
    before = sorted(os.listdir(state))
    with pytest.raises(CheckpointError, match="another fit uses this folder"):
        lowland.fit(lowland.PCA(3), scan(tmp_path / "rows.npy"), checkpoint=state)
    assert sorted(os.listdir(state)) == before
    os.kill(started_fit.pid, signal.SIGCONT)
    _, errors = started_fit.communicate(timeout=120)
    assert started_fit.returncode == 0, errors
    same_bits(out, lowland.PCA(3).fit(X), X)
    model = lowland.fit(lowland.PCA(3), scan(tmp_path / "rows.npy"), checkpoint=state)  # it has ended
    np.testing.assert_array_equal(model.components_, lowland.PCA(3).fit(X).components_)


def test_blocks_of_a_function_are_refused(tmp_path, rng):
    """The same first block does not show that later ones are the same."""
    A = rng.standard_normal((50_000, 5))

    def blocks():
        for start in range(0, len(A), 10_000):
            yield A[start : start + 10_000]

    rows = scan(blocks, n_rows=len(A))
    for model in (lowland.PCA(2), lowland.recipe(lowland.PCA(2), missing="mean")):
        with pytest.raises(lowland.DataError, match=r"cannot recognise the blocks of blocks: .*write them to a file"):
            lowland.fit(model, rows, checkpoint=tmp_path / "state")
    assert not os.path.exists(tmp_path / "state")
    changed = ChangedScan(rows, lambda frame: frame)
    assert changed.unrecognised() == rows.unrecognised()
    np.save(tmp_path / "rows.npy", A)
    assert scan([tmp_path / "rows.npy", tmp_path / "rows.npy"]).unrecognised() is None


def test_what_cannot_be_kept_is_refused(tmp_path, rng):
    X = rng.standard_normal((50, 3))
    with pytest.raises(lowland.DataError, match="give a scan"):
        lowland.fit(lowland.PCA(2), X, checkpoint=tmp_path / "state")
    table(tmp_path, 50, 3)
    with pytest.raises(lowland.DataError, match="Isomap learns in another way"):
        lowland.fit(lowland.recipe(lowland.Isomap()), scan(tmp_path / "rows.npy"), checkpoint=tmp_path / "state")
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be used for checkpoints"):
        lowland.fit(lowland.PCA(2), scan(tmp_path / "rows.npy"), checkpoint=tmp_path / "file")
    assert lowland.fit(lowland.PCA(2), X).n_components_ == 2
