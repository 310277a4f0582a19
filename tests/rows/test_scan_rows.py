"""`ScanRows`: methods on files give the same bits as on arrays, in flat memory, and reading ahead leaves no threads."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import lowland
from lowland.core.errors import CellError, DataError
from lowland.core.read_ahead import ahead
from lowland.rows.object_rows import gather, take
from lowland.rows.row_source import as_rows
from lowland.rows.scan_rows import ScanRows
from scan_files import ALL, SCANS

METHODS = {
    "pca": lowland.PCA(3),
    "truncated_svd": lowland.TruncatedSVD(3),
    "random_projection": lowland.RandomProjection(3, random_state=0),
    "ica": lowland.ICA(3, random_state=0),
    "som": lowland.SOM(grid=(4, 3), epochs=2, random_state=0),
}


def table(rng, n, width, dtype=np.float64):
    scales = np.linspace(1.0, 3.0, width)
    return (rng.laplace(size=(n, width)) * scales + 0.5).astype(dtype)


def same(found, expected):
    """Compare every learned array of two models bit for bit."""
    learned = [name for name, value in vars(expected).items() if isinstance(value, np.ndarray)]
    assert learned
    for name in learned:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("form", ALL)
def test_a_scan_gives_the_bits_of_the_array(form, name, rng, tmp_path):
    X = table(rng, 9001, 6)  # three blocks, the last one short
    scan = ALL[form](tmp_path, X)
    expected, found = clone(METHODS[name]).fit(X), clone(METHODS[name]).fit(scan)
    same(found, expected)
    np.testing.assert_array_equal(found.transform(scan), expected.transform(X))


@pytest.mark.parametrize("form", ["npy", "fortran npy", "raw", "parquet", "feather"])
@pytest.mark.parametrize("name", ["pca", "truncated_svd", "random_projection"])
def test_wide_tables_give_the_bits_of_the_array(form, name, rng, tmp_path):
    X = table(rng, 60, 60_000 if "npy" in form or form == "raw" else 6_000, np.float32)
    scan = SCANS[form](tmp_path, X)
    expected, found = clone(METHODS[name]).fit(X), clone(METHODS[name]).fit(scan)
    assert scan.dtype == np.float32
    same(found, expected)
    np.testing.assert_array_equal(found.transform(scan), expected.transform(X))


@pytest.mark.parametrize("form", ALL)
@pytest.mark.parametrize("size", [1, 7, 500, 4096, 100_000])
def test_blocks_have_the_asked_length(form, size, rng, tmp_path):
    X = table(rng, 1203, 3)
    source = as_rows(ALL[form](tmp_path, X))
    assert isinstance(source, ScanRows)
    blocks = list(source.blocks(size, first=5))
    assert [len(b.rows) for b in blocks[:-1]] == [5, *[size] * (len(blocks) - 2)]
    assert [b.start for b in blocks] == [0, *range(5, 1203, size)]
    np.testing.assert_array_equal(np.concatenate([b.rows for b in blocks]), X)
    assert all(b.rows.flags.c_contiguous for b in blocks)


def test_a_pass_resumes_at_a_block(rng, tmp_path):
    X = table(rng, 1000, 3)
    source = as_rows(SCANS["parquet"](tmp_path, X))
    whole, rest = list(source.blocks(64)), list(source.blocks_from(640, 64))
    assert [b.start for b in rest] == [b.start for b in whole[10:]]
    for a, b in zip(whole[10:], rest, strict=True):
        np.testing.assert_array_equal(a.rows, b.rows)


def test_blocks_can_be_kept(rng, tmp_path):
    X = table(rng, 5000, 4)
    for form in ALL:
        kept = list(ALL[form](tmp_path, X).arrays(rows=100))
        np.testing.assert_array_equal(np.concatenate(kept), X)


def test_methods_that_need_all_rows_take_a_scan(rng, tmp_path):
    X = table(rng, 300, 4)
    scan = SCANS["parquet"](tmp_path, X)
    np.testing.assert_array_equal(gather(as_rows(scan)), X)
    np.testing.assert_array_equal(take(as_rows(scan), np.array([3, 77, 299])), X[[3, 77, 299]])
    model = lowland.ClassicalMDS(2)
    np.testing.assert_array_equal(clone(model).fit(scan).embedding_, clone(model).fit(X).embedding_)


def test_weights_belong_to_rows_of_a_scan(rng, tmp_path):
    X = table(rng, 5000, 4)
    w = rng.integers(0, 3, 5000)
    expected = lowland.PCA(2).fit(X, sample_weight=w)
    same(lowland.PCA(2).fit(SCANS["npy"](tmp_path, X), sample_weight=w), expected)


@pytest.mark.parametrize("exponent", [-40, 40])
def test_very_small_and_large_rows_are_scaled_as_in_memory(exponent, rng, tmp_path):
    X = table(rng, 5000, 4) * 2.0 ** (5 * exponent)
    same(lowland.PCA(2).fit(SCANS["npy"](tmp_path, X)), lowland.PCA(2).fit(X))


def test_names_of_columns_reach_the_model(rng, tmp_path):
    model = lowland.PCA(2).fit(SCANS["parquet"](tmp_path, table(rng, 50, 3)))
    assert model.feature_names_in_.tolist() == ["c0", "c1", "c2"]
    with pytest.raises(DataError, match="feature names"):
        model.transform(pl.DataFrame({"c0": [1.0], "c2": [1.0], "c1": [1.0]}))


@pytest.mark.parametrize("name", ["pca", "truncated_svd", "ica"])
def test_a_missing_cell_is_named_with_its_file(name, rng, tmp_path):
    X = table(rng, 5000, 3)
    X[4321, 1] = np.nan
    with pytest.raises(CellError, match=r"row 4321, column 1, in rows\.npy, row 4321: fill it") as caught:
        clone(METHODS[name]).fit(SCANS["npy"](tmp_path, X))
    assert (caught.value.row, caught.value.column) == (4321, 1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_categories_of_a_scan(rng, tmp_path):
    frame = pl.DataFrame({"a": rng.standard_normal(9000), "b": rng.standard_normal(9000)}).with_columns(
        pl.Series("kind", rng.choice(["x", "y", "z"], 9000))
    )
    frame.write_parquet(tmp_path / "mixed.parquet", row_group_size=1000)
    scan = lowland.data.scan(tmp_path / "mixed.parquet")
    expected, found = lowland.FAMD(2).fit(frame), lowland.FAMD(2).fit(scan)
    np.testing.assert_array_equal(found.transform(scan), expected.transform(frame))


def test_rows_of_a_scan_are_pickled_without_data(rng, tmp_path):
    X = table(rng, 5000, 3)
    source = as_rows(SCANS["npy"](tmp_path, X))
    text = pickle.dumps(source)
    assert len(text) < 2000
    np.testing.assert_array_equal(gather(pickle.loads(text)), X)


# -- reading ahead ---------------------------------------------------------------------------------------------------


def readers():
    """Return the threads that read; a traceback that is still referenced holds the pass that it interrupted."""
    gc.collect()
    return [t for t in threading.enumerate() if t.name.startswith("lowland-read")]


def test_reading_ahead_is_bounded():
    made = []

    def items():
        for i in range(100):
            made.append(i)
            yield i

    found = ahead(items, 2)
    assert next(found) == 0
    assert len(readers()) == 1
    found.close()
    assert len(made) <= 4
    assert readers() == []


def test_errors_come_in_their_place():
    def items():
        yield 1
        yield 2
        raise DataError("broken")

    found = ahead(items, 2)
    assert [next(found), next(found)] == [1, 2]
    with pytest.raises(DataError, match="broken"):
        next(found)
    assert readers() == []


def test_a_stopped_pass_leaves_no_thread_and_closes_the_source():
    closed = threading.Event()

    def items():
        try:
            while True:
                yield 0
        finally:
            closed.set()

    for _ in ahead(items, 2):
        break
    assert closed.is_set()
    assert readers() == []


def test_a_failed_fit_leaves_no_thread(rng, tmp_path):
    X = table(rng, 50_000, 3)
    X[10, 1] = np.nan
    with pytest.raises(CellError):
        lowland.PCA(2).fit(SCANS["npy"](tmp_path, X))
    assert readers() == []


def test_reading_overlaps_work():
    """Item 1 is begun while item 0 is worked on: the work waits for it."""
    begun = threading.Event()

    def items():
        yield 0
        begun.set()
        yield 1

    for item in ahead(items, 2):
        if item == 0:
            assert begun.wait(10)


# -- memory ----------------------------------------------------------------------------------------------------------

MEASURE = """
import resource, sys
import numpy as np, polars, pyarrow.parquet, lowland
from lowland.data import scan
with lowland.config(threads=2):
    lowland.PCA(2).fit(np.random.default_rng(0).standard_normal((500, 5)))
    table = scan(sys.argv[1], **eval(sys.argv[2]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lowland.PCA(2).fit(table)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def growth(path, **options):
    """Return by how many megabytes the peak memory of a process grows while PCA reads a file."""
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), repr(options)], capture_output=True, text=True, check=True
    )
    return int(run.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in kilobytes on Linux only")
@pytest.mark.parametrize(("n", "width", "fortran"), [(500_000, 100, False), (500_000, 100, True), (600, 60_000, False)])
def test_memory_stays_flat(n, width, fortran, tmp_path):
    """A file of 400 MB takes less than 100 MB, a wide one of 288 MB less than 200 MB."""
    path, rng = tmp_path / "rows.npy", np.random.default_rng(0)
    array = np.lib.format.open_memmap(path, "w+", np.float64, (n, width), fortran_order=fortran)
    step = max(1, 2_000_000 // width)
    for i in range(0, n, step):
        array[i : i + step] = rng.random((min(step, n - i), width))
    del array
    assert growth(path) < (100 if width < 1000 else 200)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in kilobytes on Linux only")
def test_memory_stays_flat_for_text(tmp_path):
    """A text of 250 MB (80 MB of numbers) takes less than 100 MB."""
    rows = pl.DataFrame(np.random.default_rng(0).random((5000, 20))).write_csv(include_header=False)
    with (tmp_path / "rows.csv").open("w") as file:
        for _ in range(130):
            file.write(rows)
    assert (tmp_path / "rows.csv").stat().st_size > 240_000_000
    assert growth(tmp_path / "rows.csv", header=False) < 100


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in kilobytes on Linux only")
def test_memory_stays_flat_for_one_large_row_group(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, rng = tmp_path / "rows.parquet", np.random.default_rng(0)
    columns = {f"c{j}": rng.random(1_000_000) for j in range(40)}  # 320 MB
    pq.write_table(pa.table(columns), path, row_group_size=1_000_000, use_dictionary=False, compression="none")
    del columns
    assert growth(path) < 150
