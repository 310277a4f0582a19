"""Files that the workers of a cluster read in parts: the bits of the same file read by this process."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import lowland
from dask_tables import same_bits
from lowland.core.errors import CellError, ClusterError, DataError
from lowland.data import scan
from lowland.rows.shared_scan import SharedScan

pytest.importorskip("distributed")

ROWS, PART = 20_000, 3_000  # parts that are no whole blocks


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    return np.round(rng.standard_normal((ROWS, 5)) * [5, 4, 3, 2, 1] + 20, 4)


@pytest.fixture(scope="module")
def frame(rows):
    names = [f"v{j}" for j in range(rows.shape[1])]
    labels = pl.Series("label", [f'row {i}, "{i % 7}"\nnext line' if i % 999 == 0 else f"r{i}" for i in range(ROWS)])
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(labels)


FILES = ["npy", "fortran.npy", "raw", "parquet", "arrow", "csv", "parts", "zarr"]


@pytest.fixture(scope="module")
def files(rows, frame, tmp_path_factory):
    """The same table in every format that workers can read in parts."""
    folder = tmp_path_factory.mktemp("files")
    np.save(folder / "rows.npy", rows)
    np.save(folder / "fortran.npy", np.asfortranarray(rows))
    rows.tofile(folder / "rows.raw")
    frame.write_parquet(folder / "rows.parquet", row_group_size=2_500)
    frame.write_ipc(folder / "rows.arrow", record_batch_size=2_500)
    frame.write_csv(folder / "rows.csv")
    for number, start in enumerate(range(0, ROWS, 7_000)):
        frame[start : start + 7_000].write_csv(folder / f"part-{number}.csv")
    opened = {
        "npy": lambda: scan(folder / "rows.npy"),
        "fortran.npy": lambda: scan(folder / "fortran.npy"),
        "raw": lambda: scan(folder / "rows.raw", format="raw", dtype="float64", n_columns=5),
        "parquet": lambda: scan(folder / "rows.parquet"),
        "arrow": lambda: scan(folder / "rows.arrow"),
        "csv": lambda: scan(folder / "rows.csv"),
        "parts": lambda: scan(folder / "part-*.csv"),
    }
    try:
        import zarr
    except ImportError:
        return opened
    array = zarr.create_array(str(folder / "rows.zarr"), shape=rows.shape, chunks=(1_700, 5), dtype="float64")
    array[:] = rows
    return {**opened, "zarr": lambda: scan(folder / "rows.zarr")}


@pytest.fixture(params=FILES)
def opened(request, files):
    if request.param not in files:
        pytest.skip("zarr is not installed")
    return files[request.param]


@pytest.fixture(autouse=True)
def _small_text_blocks(monkeypatch):
    monkeypatch.setattr("lowland.data.scans.text._BLOCK_BYTES", 1 << 16)


def test_spans_have_all_rows_of_a_scan_in_any_order(opened):
    table = opened()
    spans = table.spans(PART)
    assert len(spans) > 2
    assert [span.start for span in spans[1:]] == [span.stop for span in spans[:-1]]
    whole = np.concatenate(list(table.arrays()))
    for span in reversed(spans):
        assert np.array_equal(table.span_array(span), whole[span.start : span.stop])
    frames = pl.concat(list(table.frames()))
    assert pl.concat([table.span_frame(span) for span in spans]).equals(frames)


def test_a_fit_of_a_file_that_workers_read_has_the_same_bits(client, opened):
    one = lowland.PCA(3).fit(opened())
    other = lowland.PCA(3).fit(SharedScan(opened(), rows=PART))
    same_bits(one, other)
    assert list(getattr(one, "feature_names_in_", [])) == list(getattr(other, "feature_names_in_", []))


@pytest.mark.parametrize("keep", [(), ("label", "v1")])
@pytest.mark.parametrize("what", ["parquet", "csv", "parts"])
def test_coordinates_are_written_with_the_bits_of_this_process(client, files, tmp_path, what, keep):
    model = lowland.PCA(2).fit(files[what]())
    lowland.transform_file(model, files[what](), tmp_path / "here.parquet", keep=keep)
    source = SharedScan(files[what](), rows=PART)
    written = lowland.transform_file(model, source, tmp_path / "there.parquet", keep=keep)
    assert written.n_rows == ROWS
    assert pl.read_parquet(tmp_path / "there.parquet").equals(pl.read_parquet(tmp_path / "here.parquet"))


def test_a_pipeline_places_data_frames_on_the_workers(client, files, tmp_path):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), lowland.PCA(2)).fit(next(files["npy"]().frames()))
    for name, source in (
        ("here", files["npy"]()),
        ("there", SharedScan(files["npy"](), rows=PART)),
    ):
        lowland.transform_file(model, source, tmp_path / f"{name}.npy")
    assert np.array_equal(np.load(tmp_path / "there.npy"), np.load(tmp_path / "here.npy"))


def test_no_task_is_as_large_as_the_file(client, files):
    from lowland.engines import open_scan

    table = open_scan(files["npy"](), rows=4_096)
    assert table._array.numblocks[0] == 5
    assert max(table._array.chunks[0]) == 4_096
    from dask.sizeof import sizeof

    graph = dict(table._array.dask)
    assert max(len(str(task)) + sizeof(task) for task in graph.values()) < 20_000  # bytes, of 800,000


def test_a_cell_that_is_missing_is_named_by_file_and_line(client, frame, tmp_path):
    bad = frame.select(pl.all().exclude("label")).with_columns(
        pl.when(pl.int_range(ROWS) == 17_123).then(None).otherwise(pl.col("v2")).alias("v2")
    )
    bad.write_csv(tmp_path / "gap.csv")
    source = SharedScan(scan(tmp_path / "gap.csv"), rows=PART)
    with pytest.raises(CellError, match=r"NaN at row 17123, column 2 \('v2'\), in gap\.csv, line 17125"):
        lowland.PCA(2).fit(source)


def test_files_that_can_be_read_only_from_the_beginning_are_refused(frame, rows, tmp_path):
    import gzip

    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(frame.write_csv().encode()))
    with pytest.raises(DataError, match=r"rows\.csv\.gz is packed \(gzip\).*unpack it"):
        scan(tmp_path / "rows.csv.gz").spans(PART)
    (tmp_path / "rows.csv").write_text(frame.drop("label").write_csv(), encoding="utf-16")
    with pytest.raises(DataError, match=r"encoded as utf-16.*write it as UTF-8"):
        scan(tmp_path / "rows.csv").spans(PART)
    with pytest.raises(DataError, match=r"the blocks of .*write them to a file"):
        scan(lambda: iter([rows])).spans(PART)


def test_a_file_that_a_worker_does_not_see_is_named(client, rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    source = SharedScan(scan(tmp_path / "rows.npy"), rows=PART)
    source._table.scan.require_unchanged = lambda: None  # the client still sees it
    (tmp_path / "rows.npy").rename(tmp_path / "elsewhere.npy")
    with pytest.raises(ClusterError, match=r"finds no file .*rows\.npy: put it into a folder"):
        lowland.PCA(2).fit(source)


def test_a_file_that_changed_is_refused(client, rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    source = SharedScan(scan(tmp_path / "rows.npy"), rows=PART)
    np.save(tmp_path / "rows.npy", rows[:-1])
    with pytest.raises(DataError, match="changed since it was opened"):
        lowland.PCA(2).fit(source)
