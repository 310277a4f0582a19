"""The plan: what it says, that it costs nothing, and that a fit beyond the limit is refused beforehand."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import lowland
from lowland import MemoryLimitError, Plan, RowSource, config, plan
from lowland.core.cost import DataShape, check_allocation, dense_seconds, sparse_seconds

GB = 10**9
GATHERING = {  # methods that compare rows with rows: those that come in blocks are put into one array first
    *("metric_mds", "nonmetric_mds", "kernel_pca", "lpp", "npe", "isomap", "lle", "modified_lle", "hessian_lle"),
    *("ltsa", "laplacian_eigenmaps", "diffusion_maps", "mvu", "tsne", "umap"),
}


@pytest.fixture
def small():
    return Plan(
        "PCA",
        "covariance",
        3 * GB,
        12.345,
        model_bytes=1000,
        parts={"blocks": GB, "scatter matrix": 2 * GB},
        remedy="do less",
    )


@pytest.mark.parametrize("name", ["classical_mds", "metric_mds", "kernel_pca"])
def test_blocks_that_do_not_say_their_length_are_counted(rng, name):
    model, X = lowland.registry.method(name).load()(), rng.standard_normal((3000, 5))
    counted = plan(model, RowSource.from_blocks(lambda: (X[:1000], X[1000:])))
    gathered = X.nbytes if name != "classical_mds" else 0  # Euclidean scaling reads blocks, the others want one array
    assert (counted.bytes, counted.algorithm) == (plan(model, X).bytes + gathered, plan(model, X).algorithm)
    with pytest.raises(lowland.DataError, match=r"read only once.*plan for shape=\(rows, columns\)"):
        plan(model, RowSource.from_blocks(iter([X])))


# -- the record ----------------------------------------------------------------------------------------------


def test_a_plan_is_a_record(small):
    with pytest.raises(dataclasses.FrozenInstanceError):
        small.bytes = 0
    with pytest.raises(TypeError):
        small.parts["blocks"] = 0
    assert small.to_dict() == {
        "method": "PCA",
        "algorithm": "covariance",
        "bytes": 3 * GB,
        "model_bytes": 1000,
        "seconds": 12.345,
        "approximate": False,
        "parts": {"blocks": GB, "scatter matrix": 2 * GB},
    }


def test_a_plan_prints_as_a_table(small):
    with config(memory_limit=4 * GB):
        lines = str(small).splitlines()
    assert lines == [
        "method            PCA",
        "algorithm         covariance",
        "memory            3 GB",
        "  blocks          1 GB",
        "  scatter matrix  2 GB",
        "model             1 kB",
        "time              about 12 s",
        "approximate       no",
    ]


def test_a_plan_prints_times_as_people_read_them(small):
    assert "time              < 0.01 s" in str(dataclasses.replace(small, seconds=5.4e-7)).splitlines()


def test_a_plan_can_be_copied_and_sent(small):
    assert copy.deepcopy(small) == pickle.loads(pickle.dumps(small)) == small


def test_a_plan_within_the_limit_passes(small):
    small.require(3 * GB)
    with config(memory_limit="3GB"):
        small.require()


def test_a_plan_beyond_the_limit_names_figure_part_limit_and_remedy(small):
    with pytest.raises(MemoryLimitError) as error, config(memory_limit=3 * GB - 1):
        small.require()
    assert str(error.value) == (
        "PCA by covariance would take 3 GB (largest part: scatter matrix, 2 GB); the memory limit is 3 GB. "
        "To continue: do less, or raise the limit with lowland.config(memory_limit='3GB')."
    )
    assert isinstance(error.value, MemoryError)
    with pytest.raises(MemoryLimitError, match=r"would take 5 B; the memory limit is 4 B"):
        Plan("M", "a", 5, 0.0).require(4)


def test_single_allocations_are_checked_too():
    with config(memory_limit="1MB"):
        check_allocation(10**6, "the matrix", "do less")
        with pytest.raises(
            MemoryLimitError,
            match=r"the matrix would take 1\.5 MB; the memory limit is 1 MB.*do less",
        ):
            check_allocation(1_500_000, "the matrix", "do less")


def test_seconds_count_precision_and_threads():
    with config(threads=1):
        one = dense_seconds(1e12, np.dtype("f8"))
        assert one / dense_seconds(1e12, np.dtype("f4")) == pytest.approx(2)
        assert sparse_seconds(1e12) > one
    with config(threads=4):
        assert one / dense_seconds(1e12, np.dtype("f8")) == pytest.approx(4)


# -- plan(model, …) ------------------------------------------------------------------------------------------


def test_the_same_plan_from_data_and_from_their_shape(method, made):
    model = made(2)
    X = np.zeros((2000, 30), dtype=np.float32)
    assert plan(model, X) == plan(model, shape=(2000, 30), dtype="float32")
    gathered = X.nbytes if method.name in GATHERING else 0
    assert plan(model, RowSource.from_blocks(lambda: iter([X]), n_rows=2000)).bytes == plan(model, X).bytes + gathered
    assert not vars(model).keys() & {"components_", "n_features_in_"}


@pytest.mark.parametrize("name", ["PCA", "TruncatedSVD"])
def test_the_same_plan_from_sparse_data_and_from_their_density(name, rng):
    model = getattr(lowland, name)(2)
    X = sp.random_array((3000, 2000), density=0.01, rng=rng, format="csr")
    assert plan(model, X) == plan(model, shape=(3000, 2000), density=X.nnz / 6e6)
    assert plan(model, X).algorithm == "krylov"


def test_plans_grow_with_the_work(method, made):
    def cost(n, d, **kind):
        return plan(made(3), shape=(n, d), **kind)

    base = cost(10_000, 2000)
    assert cost(10_000, 4000).bytes > base.bytes
    assert cost(100_000, 2000).seconds > base.seconds
    single = cost(10_000, 2000, dtype="float32")
    assert single.bytes < base.bytes or single.seconds < base.seconds  # memory may be for sums in float64
    assert base.model_bytes > 0
    assert base.approximate == (
        method.name in ("metric_mds", "nonmetric_mds", "random_projection", "tsne")
    )  # exact up to 5000 rows and fewer; t-SNE's forces never are


def test_a_plan_for_any_size_takes_no_time_and_no_memory(method, made):
    big = plan(made(2), shape=(10**9, 10**6))
    assert big.bytes > GB
    with pytest.raises(MemoryLimitError):
        big.require(GB)


def test_copies_of_the_input_are_planned():
    frame, array = pd.DataFrame(np.zeros((1000, 30))), np.zeros((1000, 30))
    model = lowland.PCA(2)
    for copied in (frame, array.astype(object), array.tolist()):
        assert plan(model, copied).bytes - plan(model, array).bytes == array.nbytes
    rows = sp.random_array((1000, 30), density=0.2, format="csr")
    grown = plan(model, rows.tocsc()).bytes - plan(model, rows).bytes
    assert grown == rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes


def test_power_on_the_rows_plans_no_scatter():
    wide = plan(lowland.PCA(2, solver="power"), shape=(1000, 100_000))
    assert "scatter matrix" not in wide.parts
    assert wide.bytes < GB
    assert set(plan(lowland.PCA(60, solver="power"), shape=(1000, 10**6), density=1e-3).parts) == {
        "transposed copy",
        "vectors",
    }  # of few components the sums of a million columns take more, and they come before
    assert "scatter matrix" in plan(lowland.PCA(2, solver="power"), shape=(100_000, 1000)).parts


def test_half_precision_is_planned_as_it_is_read():
    model, X = lowland.PCA(2), np.zeros((3000, 500), dtype=np.float16)
    assert plan(model, X) == plan(model, shape=X.shape, dtype="float16")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "either the data or shape"),
        ({"X": np.eye(2), "shape": (2, 2)}, "either the data or shape"),
        ({"shape": (0, 3)}, r"both at least 1; got \(0, 3\)"),
        ({"shape": (3, -1)}, "both at least 1"),
        ({"shape": (3,)}, r"shape must be \(rows, columns\)"),
        ({"shape": (3, 4, 5)}, r"shape must be \(rows, columns\)"),
        ({"shape": (3, 3), "density": 0.0}, r"in \(0, 1\]; got 0\.0"),
        ({"shape": (3, 3), "density": 1.5}, r"in \(0, 1\]; got 1\.5"),
        ({"X": np.eye(2), "density": 0.5}, "dtype and density belong to shape"),
        ({"X": np.eye(2), "dtype": "float32"}, "dtype and density belong to shape"),
    ],
)
def test_what_cannot_be_planned(arguments, text):
    with pytest.raises(ValueError, match=text):
        plan(lowland.PCA(), **arguments)


def test_entries_of_a_shape():
    assert DataShape(100, 20, np.dtype("f8"), 0.1, True).entries == 200
    assert DataShape(None, 20, np.dtype("f8")).entries == 0


# -- the limit stands before the work ------------------------------------------------------------------------


class Untouchable(np.ndarray):
    """An array that fails the test when its rows are read."""

    def __getitem__(self, key):
        pytest.fail("rows were read although the plan passes the limit")


def test_a_fit_beyond_the_limit_is_refused_before_it_reads_a_row(method, made):
    X = np.zeros((500, 60)).view(Untouchable)
    model = made(2)
    with (
        config(memory_limit=plan(model, shape=X.shape).bytes - 1),
        pytest.raises(MemoryLimitError, match=method.class_name),
    ):
        model.fit(X)
    assert not hasattr(model, "components_")


def test_the_limit_reacts_to_the_plan_alone(rng, monkeypatch):
    """Where a plan is too small by mistake, a second lock stands before each large piece."""
    model, X = lowland.PCA(2, solver="covariance"), rng.standard_normal((100, 50))
    monkeypatch.setattr(lowland.PCA, "_plan", lambda self, shape: Plan("PCA", "covariance", 1, 0.0))
    with (
        config(memory_limit=8 * 50 * 50 - 1),
        pytest.raises(MemoryLimitError, match="50 × 50 scatter matrix"),
    ):
        model.fit(X)
    with config(memory_limit=8 * 50 * 50):
        model.fit(X)


def test_the_limit_never_changes_a_result(rng):
    X = rng.standard_normal((3000, 200))
    free = lowland.PCA(2).fit(X)
    with config(memory_limit=plan(lowland.PCA(2), X).bytes):
        tight = lowland.PCA(2).fit(X)
    assert tight.components_.tobytes() == free.components_.tobytes()


def test_partial_fit_knows_the_limit(rng):
    with (
        config(memory_limit="100kB"),
        pytest.raises(MemoryLimitError, match="exact partial_fit on 200 columns"),
    ):
        lowland.PCA(2).partial_fit(rng.standard_normal((3, 200)))


def test_a_plan_that_passes_the_limit_says_so_when_printed(small):
    with lowland.config(memory_limit=small.bytes):
        assert "does not fit" not in str(small)
    with lowland.config(memory_limit=small.bytes - 1):
        last = str(small).splitlines()[-1]
    assert last.startswith("does not fit")
    assert last.endswith(f": {small.remedy}")


def test_a_plan_refuses_parameters_that_a_fit_refuses():
    with pytest.raises(ValueError, match="TSNE: n_components must be a whole number from 1 to 3; got 4"):
        lowland.plan(lowland.TSNE(4), shape=(200, 5))
    for name in ("Isomap", "LLE", "NPE", "MVU"):
        with pytest.raises(
            lowland.DataError, match=f"{name}: n_neighbors=200 must be less than the number of rows, 200"
        ):
            lowland.plan(getattr(lowland, name)(n_neighbors=200), shape=(200, 5))


WIDE = {"pca": 10, "truncated_svd": 10, "classical_mds": 2, "famd": 2, "ica": 5}


@pytest.mark.parametrize("name", list(WIDE))
def test_plans_of_wide_rows_count_a_bounded_block_for_each_thread(name):
    def taken(threads):
        with config(threads=threads):
            return plan(lowland.registry.method(name).load()(WIDE[name]), shape=(600, 60_000)).bytes

    block = 8 << 22  # bytes of 2²² entries
    assert taken(1) < 4 * block
    assert block / 2 < taken(2) - taken(1) < 2 * block
    assert 4 * block < taken(8) - taken(1) < 14 * block


def test_a_second_decomposition_that_does_not_fit_is_refused(rng):
    """That the last value is too small for squares shows in the data, after the plan was made."""
    X = rng.standard_normal((3000, 600)) * np.r_[np.ones(599), 1e-12]
    with config(memory_limit=None):
        scatter, factor = (plan(lowland.PCA(600, solver=s), X).bytes for s in ("covariance", "svd"))
        assert lowland.PCA(600).fit(X).fit_info_.algorithm == "svd"
    assert lowland.plan(lowland.PCA(600), X).algorithm == "covariance"
    assert scatter < 0.9 * factor
    with (
        config(memory_limit=(scatter + factor) // 2),
        pytest.raises(MemoryLimitError, match="singular values much smaller"),
    ):
        lowland.PCA(600).fit(X)


# -- what follows a fit -----------------------------------------------------------------------------------


def test_reports_and_comparisons_cost_more_of_larger_tables():
    from lowland.comparison.costs import compare_seconds
    from lowland.quality.costs import picture_seconds, report_seconds

    shapes = [(150, 4), (1000, 20), (10_000, 20), (10_000, 200), (1_000_000, 200)]
    for cost in (report_seconds, compare_seconds):
        values = [cost(*shape) for shape in shapes]
        assert values == sorted(values)
        assert values[0] > 0
    assert compare_seconds(500, 500, pairwise=True) > 0
    assert picture_seconds(1_000_000) > picture_seconds(10)
    with lowland.config(threads=1):
        alone = report_seconds(10_000, 50)
    with lowland.config(threads=4):
        assert report_seconds(10_000, 50) < alone


@pytest.mark.parametrize("model", ["pca", lowland.PCA])
def test_a_plan_needs_an_estimator(model):
    with pytest.raises(TypeError, match=r"must be a Lowland estimator such as lowland\.PCA\(2\); got "):
        lowland.plan(model, np.eye(3))


def test_one_row_is_named():
    with pytest.raises(lowland.DataError, match="the table has only 1 row"):
        lowland.PCA(2).fit(np.ones((1, 3)))
