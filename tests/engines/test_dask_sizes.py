"""What travels on a cluster: no task and no result is as large as the table, and what is lazy stays so."""

from __future__ import annotations

import cloudpickle
import numpy as np
import pytest

import lowland

da = pytest.importorskip("dask.array")
plugin = pytest.importorskip("distributed.diagnostics.plugin")

FEW = 100_000  # bytes of a task or a result that holds no rows


def generated(shape, chunks, dtype=np.float64):
    """Return an array that is made chunk by chunk, on the workers."""

    def make(block_info=None):
        where = block_info[None]["array-location"]
        rng = np.random.default_rng([first for first, _ in where])
        size = tuple(last - first for first, last in where)
        return rng.standard_normal(size).astype(dtype) + np.arange(size[1], dtype=dtype)

    return da.map_blocks(make, chunks=da.core.normalize_chunks(chunks, shape, dtype=dtype), dtype=dtype)


class Sizes(plugin.SchedulerPlugin):
    """Notes the largest result of a task."""

    name = "sizes"

    def __init__(self, scheduler):
        self.scheduler, self.result = scheduler, 0

    def transition(self, key, start, finish, *args, **kwargs):
        if finish == "memory":
            self.result = max(self.result, self.scheduler.tasks[key].nbytes)


@pytest.fixture
def sizes(client, monkeypatch):
    """The largest result, and the largest task that the client has sent."""
    found, get = Sizes(client.cluster.scheduler), client.get
    found.task = 0

    def measured(tasks, *words, **options):
        graph = tasks if isinstance(tasks, dict) else tasks.__dask_graph__()
        found.task = max([found.task, *(len(cloudpickle.dumps(task)) for task in dict(graph).values())])
        return get(tasks, *words, **options)

    monkeypatch.setattr(client, "get", measured)
    client.cluster.scheduler.add_plugin(found)
    yield found
    client.cluster.scheduler.remove_plugin("sizes")


@pytest.mark.parametrize("unknown", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize("chunks", [(10_000, 12), (9_000, 5)], ids=["rows", "two-dimensional"])
def test_a_fit_moves_no_more_than_a_chunk_and_a_block(sizes, chunks, unknown):
    X = generated((150_000, 12), chunks)
    if unknown:
        X = X[da.ones(150_000, chunks=chunks[0]) > 0]
    model = lowland.PCA(3).fit(X)
    chunk, block = 8 * chunks[0] * chunks[1], 8 * 4_096 * 12
    assert FEW < sizes.result <= chunk + block + FEW < 8 * 150_000 * 12 / 9
    assert 0 < sizes.task < FEW
    np.testing.assert_array_equal(model.components_, lowland.PCA(3).fit(X.compute()).components_)


def test_wide_rows_move_no_more_than_a_chunk_and_a_block(sizes):
    """A block of 1,500 columns has 2,796 rows, which are more than those of a chunk."""
    X = generated((12_000, 1_500), (2_000, 400), np.float32)
    model = lowland.RandomProjection(4).fit(X)
    assert FEW < sizes.result <= 4 * (2_000 * 400 + 2_796 * 1_500) + FEW < 4 * 12_000 * 1_500 / 3
    assert sizes.task < FEW
    Y = model.transform(X)
    assert sizes.result <= 4 * (2_000 * 400 + 2_796 * 1_500) + FEW
    np.testing.assert_allclose(Y[:100].compute(), model.transform(X[:100].compute()), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("unknown", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize("chunks", [(10_000, 12), (9_000, 5)], ids=["rows", "two-dimensional"])
def test_transform_stays_lazy_and_small(sizes, monkeypatch, chunks, unknown):
    monkeypatch.setattr("lowland.engines.dask_table._BLOCK_ENTRIES", 1 << 12)  # fewer than those of a chunk
    X = generated((150_000, 12), chunks)
    model = lowland.PCA(3).fit(X[:20_000].compute())
    if unknown:
        X = X[da.ones(150_000, chunks=chunks[0]) > 0]
    sizes.result = sizes.task = 0
    Y = model.transform(X)
    back = model.inverse_transform(Y)
    assert isinstance(Y, da.Array)
    assert isinstance(back, da.Array)
    assert sizes.result == 0  # nothing is computed, not even the lengths of chunks
    squares = (Y**2).sum(axis=0).compute()
    rows = 12 * chunks[0] if unknown else chunks[0] * chunks[1]  # chunks of unknown length cannot be cut
    assert FEW < sizes.result <= 8 * rows + FEW
    assert 0 < sizes.task < FEW
    np.testing.assert_allclose(squares, (model.transform(X.compute()) ** 2).sum(axis=0), rtol=1e-9)
