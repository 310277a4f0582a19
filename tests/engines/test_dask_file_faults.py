"""Files that change, end or break while workers read them, full disks: errors that say so, and nothing half written."""

from __future__ import annotations

import os
import signal

import numpy as np
import polars as pl
import pytest

import lowland
from dask_tables import same_bits
from lowland.core.errors import CellError, DataError, WriteError
from lowland.data import scan
from lowland.rows.shared_scan import SharedScan

pytest.importorskip("distributed")

ROWS, PART = 140_000, 9_000


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    return pl.DataFrame(np.round(rng.standard_normal((ROWS, 4)) * [4, 3, 2, 1] + 20, 3), schema=list("abcd"))


@pytest.fixture(autouse=True)
def _small_text_blocks(monkeypatch):
    monkeypatch.setattr("lowland.data.scans.text._BLOCK_BYTES", 1 << 18)


def stored(frame, path):
    if path.suffix == ".npy":
        np.save(path, frame.to_numpy())
    elif path.suffix == ".parquet":
        frame.write_parquet(path, row_group_size=10_000)
    else:
        frame.write_csv(path)
    return path


def shared(path):
    return SharedScan(scan(path), rows=PART)


@pytest.mark.parametrize("form", ["npy", "parquet", "csv"])
@pytest.mark.parametrize("what", ["truncated", "changed", "removed"])
def test_a_file_that_changes_while_workers_read_it(client, frame, tmp_path, form, what):
    path = stored(frame, tmp_path / f"rows.{form}")
    model, placing, left = lowland.PCA(2), lowland.PCA(2).fit(frame[:1000]), [2]
    if form == "npy":
        placing = lowland.PCA(2).fit(frame[:1000].to_numpy())

    def happens(stage, done, total):
        left[0] -= 1
        if left[0] == 1:
            if what == "truncated":
                os.truncate(path, path.stat().st_size // 3)
            elif what == "changed":
                os.utime(path, (0, 0))
            else:
                path.unlink()

    told = f"it {'was removed' if what == 'removed' else 'changed'} (since|while)"
    with lowland.config(progress=happens), pytest.raises(DataError, match=told):
        model.fit(shared(path))
    assert not hasattr(model, "components_")
    assert left[0] < 2
    stored(frame, path)
    left[0] = 2
    with lowland.config(progress=happens), pytest.raises(DataError, match=told):
        lowland.transform_file(placing, shared(path), tmp_path / "map.csv")
    assert left[0] < 2
    assert [name for name in os.listdir(tmp_path) if name != path.name] == []


@pytest.mark.parametrize("form", ["npy", "parquet", "csv"])
def test_a_cell_is_named_in_a_fit_and_in_a_transform(client, frame, tmp_path, form):
    model = lowland.PCA(2).fit(frame.to_numpy() if form == "npy" else frame)
    hole = pl.when(pl.int_range(ROWS) == 123_456).then(float("nan") if form == "npy" else None).otherwise(pl.col("c"))
    path = stored(frame.with_columns(hole.alias("c")), tmp_path / f"rows.{form}")
    name = "" if form == "npy" else r" \('c'\)"
    where = "line 123458" if form == "csv" else "row 123456"
    told = rf"NaN at row 123456, column 2{name}, in rows\.{form}, {where}"
    with pytest.raises(CellError, match=told):
        lowland.PCA(2).fit(shared(path))
    with pytest.raises(CellError, match=told):
        lowland.transform_file(model, shared(path), tmp_path / "map.csv")
    assert os.listdir(tmp_path) == [path.name]


def test_a_full_disk_leaves_nothing(client, frame, tmp_path, small_disk):
    path = stored(frame, tmp_path / "rows.parquet")
    model = lowland.PCA(2).fit(frame)
    with pytest.raises(WriteError, match=r"map\.csv: cannot be written: .*No space left"):
        lowland.transform_file(model, scan(path), small_disk / "map.csv", engine="dask")
    assert os.listdir(small_disk) == []


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_a_full_disk_of_checkpoints_ends_the_fit_which_continues_when_there_is_room(
    client, frame, tmp_path, small_disk, engine
):
    rows, model = scan(stored(frame, tmp_path / "rows.npy")), lowland.PCA(2)
    state = small_disk / "state"

    def fill(stage, done, total):
        if list(state.glob("*.checkpoint")) and not (small_disk / "filler").exists():
            with pytest.raises(OSError, match="No space"):
                (small_disk / "filler").write_bytes(bytes(1 << 20))

    with lowland.config(progress=fill), pytest.raises(WriteError, match="No space"):
        lowland.fit(model, rows, checkpoint=state, every=0, engine=engine)
    assert not hasattr(model, "components_")
    assert os.listdir(state) == ["generation-0.checkpoint"]
    (small_disk / "filler").unlink()
    read = []
    with lowland.config(progress=lambda *words: read.append(words)):
        lowland.fit(model, rows, checkpoint=state, every=0, engine=engine)
    assert len(read) < (ROWS // 4_096 if engine == "local" else 3)
    same_bits(model, lowland.PCA(2).fit(frame.to_numpy()))


def test_a_worker_that_is_killed_while_it_reads_changes_no_bit(client, frame, tmp_path):
    path = stored(frame.with_columns(pl.Series("kind", ["u", "v"] * (ROWS // 2))), tmp_path / "rows.parquet")

    def model():
        return lowland.recipe(lowland.PCA(2), missing="median", categories="famd")

    want, pids, killed = lowland.fit(model(), scan(path)), client.run(os.getpid), []

    def kill(stage, done, total):
        if not killed:
            killed.append(min(pids.values()))
            os.kill(killed[0], signal.SIGKILL)

    with lowland.config(progress=kill):
        got = lowland.fit(model(), shared(path))
    same_bits(got[-1], want[-1])
    client.wait_for_workers(2, timeout=60)
    assert killed[0] not in client.run(os.getpid).values()
