"""Fits of dask collections: the bits of one array, on any scheduler, with any chunks and any number of workers."""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np
import pytest

import lowland
from dask_tables import N, chunked, same_bits
from lowland.core.errors import Cancelled, CellError, DataError, MissingExtraError
from lowland.rows.row_source import RowSource, as_rows

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

EXACT = [
    lowland.PCA(4),
    lowland.PCA(4, solver="svd"),
    lowland.PCA(3, solver="krylov", scale=True),
    lowland.TruncatedSVD(3),
    lowland.ProbabilisticPCA(3),
    lowland.ICA(3),
    lowland.RandomProjection(4),
    lowland.SOM((5, 4), epochs=2),
    lowland.FAMD(3),
]
CHUNKS = [(9_999, 12), (N, 12), (4_096, 5)]


@pytest.mark.parametrize("model", EXACT, ids=lambda m: f"{type(m).__name__}-{getattr(m, 'solver', '')}")
def test_a_fit_on_two_processes_has_the_bits_of_an_array(client, table, model):
    X = table[:40_000]
    one = model.__class__(**model.get_params()).fit(X)
    other = model.__class__(**model.get_params()).fit(chunked(X))
    same_bits(one, other)
    Y = other.transform(chunked(X))
    assert isinstance(Y, da.Array)
    assert np.allclose(Y.compute(), one.transform(X), rtol=1e-12, atol=1e-12 * np.abs(one.transform(X)).max())


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_dasks_own_schedulers_and_chunks_of_any_shape_change_no_bit(table, chunks, scheduler):
    import dask

    with dask.config.set(scheduler=scheduler):
        same_bits(lowland.PCA(4).fit(table), lowland.PCA(4).fit(chunked(table, chunks)))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_number_of_workers_changes_no_bit(table, workers):
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        same_bits(lowland.PCA(4).fit(table), lowland.PCA(4).fit(chunked(table)))


def test_chunks_that_arrive_late_change_no_bit(client, table):
    def late(block, block_id=None):
        time.sleep(0.3 if block_id[0] in (0, 3) else 0.0)  # the first segment is the last to be done
        return block

    slow = da.from_array(table, chunks=(9_999, 12)).map_blocks(late, dtype=table.dtype)
    same_bits(lowland.PCA(4).fit(table), lowland.PCA(4).fit(slow))


def test_a_worker_that_is_killed_in_a_fit_changes_no_bit(client, table):
    def slowly(block):
        time.sleep(0.1)
        return block

    slow = da.from_array(table, chunks=(4_096, 12)).map_blocks(slowly, dtype=table.dtype)
    pids, killed = client.run(os.getpid), []

    def kill(stage, done, total):
        if not killed:
            killed.append(min(pids.values()))
            os.kill(killed[0], signal.SIGKILL)

    with lowland.config(progress=kill):
        model = lowland.ICA(3).fit(slow)  # two passes: the first result of the first pass ends a worker
    same_bits(lowland.ICA(3).fit(table), model)
    assert killed
    client.wait_for_workers(2, timeout=30)
    assert killed[0] not in client.run(os.getpid).values()


def test_chunks_of_unknown_length_are_counted_first(client, table):
    X = table[:20_000]
    unknown = chunked(X)[da.from_array(np.ones(len(X), dtype=bool), chunks=9_999)]
    assert np.isnan(unknown.shape[0])
    model = lowland.PCA(4).fit(unknown)
    same_bits(lowland.PCA(4).fit(X), model)
    assert np.isnan(unknown.shape[0])  # the caller's array is as it was
    assert np.allclose(model.transform(unknown).compute(), model.transform(X), rtol=1e-12)


def test_a_data_frame_keeps_its_names(client, table):
    import pandas as pd

    frame = pd.DataFrame(table[:20_000], columns=[f"c{j}" for j in range(12)])
    lazy = dd.from_pandas(frame, npartitions=5)
    model = lowland.PCA(4).fit(lazy)
    same_bits(lowland.PCA(4).fit(frame), model)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    Y = model.transform(lazy)
    assert isinstance(Y, da.Array)
    assert Y.shape[1] == 4
    assert np.allclose(Y.compute(), model.transform(frame), rtol=1e-12)
    with pytest.raises(DataError, match="columns of the fit"):
        model.transform(lazy[["c1", "c0", *frame.columns[2:]]])


def test_a_data_frame_with_text_is_refused():
    import pandas as pd

    lazy = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), npartitions=1)
    with pytest.raises(DataError, match=r"column 1 \('b'\)"):
        lowland.PCA(1).fit(lazy)


def test_transform_is_lazy_and_keeps_the_chunks(table):
    model = lowland.PCA(4).fit(table.astype(np.float32))

    def broken(block):
        raise RuntimeError("was computed")

    rows = chunked(table.astype(np.float32)).map_blocks(broken, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    Y = model.transform(rows)
    assert (Y.shape, Y.dtype, Y.chunks[0]) == ((N, 4), np.float32, rows.chunks[0])
    assert model.inverse_transform(Y).shape == (N, 12)
    with pytest.raises(RuntimeError, match="was computed"):
        Y.compute()


def test_fit_transform_is_lazy(table):
    X = table[:10_000]
    Y = lowland.PCA(4).fit_transform(chunked(X, (3_000, 12)))
    assert isinstance(Y, da.Array)
    assert np.allclose(Y.compute(), lowland.PCA(4).fit_transform(X), rtol=1e-12)


def test_a_later_fit_does_not_change_a_lazy_result(table):
    X = table[:10_000]
    model = lowland.PCA(4).fit(X)
    Y, expected = model.transform(chunked(X, (3_000, 12))), model.transform(X)
    model.fit(X[:100])
    assert np.allclose(Y.compute(), expected, rtol=1e-12)


def test_batches_of_dask_arrays_add_up_to_the_bits_of_arrays(client, table):
    one, other = lowland.PCA(4), lowland.PCA(4)
    for a, b in ((0, 30_000), (30_000, 31_000), (31_000, N)):
        one.partial_fit(table[a:b])
        other.partial_fit(chunked(table[a:b], (7_000, 12)))
    assert one.components_.shape == other.components_.shape  # solved when it is read
    same_bits(one, other)


def test_weights_go_with_their_rows(client, table):
    w = np.random.default_rng(1).uniform(size=N)
    same_bits(lowland.PCA(4).fit(table, sample_weight=w), lowland.PCA(4).fit(chunked(table), sample_weight=w))


def test_wide_rows_agree_to_rounding():
    X = np.random.default_rng(2).standard_normal((40_000, 1100)).astype(np.float32)
    one = lowland.PCA(2).fit(X)
    other = lowland.PCA(2).fit(da.from_array(X, chunks=(5_000, 400)))
    assert np.allclose(other.explained_variance_, one.explained_variance_, rtol=1e-12)
    assert np.allclose(other.spectrum_, one.spectrum_, rtol=1e-12, atol=0)


@pytest.mark.parametrize("factor", [2.0**-400, 2.0**400], ids=["tiny", "huge"])
def test_rows_of_any_size_are_scaled_on_the_workers(client, table, factor):
    X = table[:10_000] * factor
    model = lowland.PCA(4).fit(chunked(X, (3_000, 12)))
    same_bits(lowland.PCA(4).fit(X), model)
    assert np.allclose(model.transform(chunked(X, (3_000, 12))).compute(), model.transform(X), rtol=1e-12, atol=0)


def test_gaps_are_filled_by_em_as_in_an_array(client, table):
    X = table[:9_000].copy()
    X[np.random.default_rng(3).uniform(size=X.shape) < 0.01] = np.nan
    same_bits(lowland.ProbabilisticPCA(3).fit(X), lowland.ProbabilisticPCA(3).fit(chunked(X, (2_500, 12))))


def test_a_cell_that_is_not_a_number_is_named(client, table):
    X = table.copy()
    X[67_890, 5] = np.nan
    model = lowland.PCA(4)
    with pytest.raises(CellError, match="row 67890, column 5") as error:
        model.fit(chunked(X))
    assert (error.value.row, error.value.column) == (67_890, 5)
    assert not hasattr(model, "components_")
    with pytest.raises(CellError, match="row 67890"):
        lowland.PCA(4).fit(table).transform(chunked(X)).compute()


def test_a_cancelled_fit_leaves_no_task(client, table):
    model = lowland.PCA(4)
    with lowland.config(progress=lambda *_: False), pytest.raises(Cancelled):
        model.fit(chunked(table))
    assert not hasattr(model, "components_")
    deadline = time.monotonic() + 10
    while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 0


@pytest.mark.parametrize("chunks", [(9_999, 12), (N, 12), (70, 12), (1_000, 5)], ids=str)
def test_no_piece_is_larger_than_a_chunk_and_a_block(table, chunks):
    rows = as_rows(da.from_array(table, chunks=chunks))
    pieces = list(rows._pieces(4_096))
    edges = [piece.start for piece in pieces] + [N]
    lengths = np.diff(edges)
    assert lengths.sum() == N
    assert all(start % 4_096 == 0 for start in edges[:-1])
    assert set(range(0, N, 65_536)) <= set(edges)  # no piece crosses a segment
    assert lengths.max() * 12 < chunks[0] * chunks[1] + 4_096 * 12
    assert len(pieces) <= N / 4_096 + 1


def test_a_source_is_sent_without_its_rows(table):
    import pickle

    source = as_rows(chunked(table))
    sent = pickle.dumps(source)
    assert len(sent) < 5_000
    left = pickle.loads(sent)
    assert (left.n_features, left.n_rows) == (12, N)


def test_blocks_of_any_size_come_to_the_caller(client, table):
    source = as_rows(chunked(table[:20_000]))
    assert isinstance(source, RowSource)
    blocks = list(source.blocks(3_000, 1_234))
    assert [b.start for b in blocks[:3]] == [0, 1_234, 4_234]
    assert np.array_equal(np.concatenate([b.rows for b in blocks]), table[:20_000])


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (lambda: da.ones(10), "2-D table"),
        (lambda: da.ones((10, 2), dtype=complex), "real numbers"),
        (lambda: da.ones((10, 2)).to_delayed()[0, 0], "not a table"),
    ],
    ids=["line", "complex", "delayed"],
)
def test_other_collections_are_refused(X, words):
    with pytest.raises(DataError, match=words):
        lowland.PCA(1).fit(X())


def test_the_extra_is_named_where_a_part_of_dask_is_missing(monkeypatch):
    X = da.ones((10, 2))
    for name in ("dask_table", "dask_engine"):
        monkeypatch.delitem(sys.modules, f"lowland.engines.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "dask.highlevelgraph", None)
    with pytest.raises(MissingExtraError, match=r"lowland\[dask\]"):
        lowland.PCA(1).fit(X)
