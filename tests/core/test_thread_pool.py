"""The thread pool: order, limits on BLAS, errors, nesting, and products by panels."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from lowland import config
from lowland.core import thread_pool
from lowland.core.errors import Cancelled
from own_thread import in_thread


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    with config(threads=request.param):
        yield request.param


def blas_threads():
    """The threads of each BLAS that is loaded."""
    return {lib["filepath"]: lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_results_come_in_order(threads):
    def slow_first(i):
        time.sleep(0.02 if i == 0 else 0)
        return i

    assert list(thread_pool.run(slow_first, range(20))) == list(range(20))


def test_no_items_no_results(threads):
    assert list(thread_pool.run(lambda i: i, [])) == []


def test_only_a_few_items_are_taken_ahead(threads):
    taken = []

    def items():
        for i in range(100):
            taken.append(i)
            yield i

    results = thread_pool.run(lambda i: i, items())
    for _ in range(3):
        next(results)
    assert len(taken) <= 3 + 2 * threads
    results.close()
    assert len(taken) <= 3 + 2 * threads


def test_an_error_in_the_work_reaches_the_caller(threads):
    def work(i):
        if i == 7:
            raise ValueError(f"item {i}")
        return i

    with pytest.raises(ValueError, match="item 7"):
        list(thread_pool.run(work, range(50)))
    assert list(thread_pool.run(lambda i: i, range(3))) == [0, 1, 2]  # the pool lives on


def test_an_error_in_the_items_reaches_the_caller(threads):
    def items():
        yield 1
        raise OSError("the file ended")

    with pytest.raises(OSError, match="the file ended"):
        list(thread_pool.run(lambda i: i, items()))


def test_progress_is_told_after_each_result_and_may_cancel(threads):
    seen = []
    with config(progress=lambda *what: seen.append(what)):
        list(thread_pool.run(lambda i: i, range(3), stage="work", total=3))
    assert seen == [("work", 1, 3), ("work", 2, 3), ("work", 3, 3)]
    done = []
    with config(progress=lambda stage, n, total: n < 2), pytest.raises(Cancelled, match="after 2 of 30"):
        list(thread_pool.run(done.append, range(30), stage="work", total=30))
    assert len(done) <= 2 + 2 * threads
    time.sleep(0.01)
    assert len(done) <= 2 + 2 * threads  # nothing goes on behind the caller's back


def test_work_inside_work_does_not_wait_for_itself(threads):
    def outer(i):
        return sum(thread_pool.run(lambda j: i * j, range(10)))

    assert list(thread_pool.run(outer, range(12))) == [45 * i for i in range(12)]


def test_blas_has_one_thread_inside_and_its_own_number_after(threads):
    before = blas_threads()
    inside = list(thread_pool.run(lambda i: blas_threads(), range(4)))
    assert all(set(found.values()) == {1} for found in inside)
    assert blas_threads() == before


def test_a_blas_that_is_loaded_later_is_limited_too():
    code = (
        "from lowland.core import thread_pool as pool; list(pool.run(lambda i: i, range(2)))\n"
        "import scipy.linalg; from threadpoolctl import threadpool_info\n"
        "with pool.one_blas_thread():\n"
        "    print([x['num_threads'] for x in threadpool_info() if x['user_api'] == 'blas'])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert set(json.loads(found.stdout)) == {1}


def test_blas_limits_of_two_callers_may_end_in_any_order():
    before = blas_threads()
    first, second = thread_pool.one_blas_thread(), thread_pool.one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads().values()) == {1}  # the second caller still needs it
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_blas_is_limited_in_every_thread():
    def inside():
        with thread_pool.one_blas_thread():
            return set(blas_threads().values())

    before = blas_threads()
    assert inside() == {1}  # from here on threadpoolctl would let the main thread alone set a limit
    assert in_thread(inside) == {1}
    assert in_thread(lambda: inside() | in_thread(inside)) == {1}
    assert blas_threads() == before


def test_the_blas_limit_may_end_in_another_thread_than_it_began():
    before, limit = blas_threads(), thread_pool.one_blas_thread()
    limit.__enter__()
    in_thread(lambda: limit.__exit__(None, None, None))
    assert blas_threads() == before
    with threadpool_limits(1, user_api="blas"):  # and others are free to set theirs
        assert set(blas_threads().values()) == {1}
    assert blas_threads() == before


def test_another_caller_may_change_the_number_of_threads_meanwhile():
    with config(threads=2):
        results = thread_pool.run(lambda i: i, range(30))
        assert next(results) == 0
    with config(threads=3):
        assert list(thread_pool.run(lambda i: i, range(5))) == list(range(5))
    assert list(results) == list(range(1, 30))


def test_many_callers_at_once():
    out = {}

    def caller(c):
        out[c] = list(thread_pool.run(lambda i: c * i, range(40)))

    with config(threads=2):
        callers = [threading.Thread(target=caller, args=(c,)) for c in range(6)]
        for t in callers:
            t.start()
        for t in callers:
            t.join(timeout=30)
    assert out == {c: [c * i for i in range(40)] for c in range(6)}


def _in_child(queue):
    queue.put(list(thread_pool.run(lambda i: i, range(5))))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
def test_a_forked_process_gets_a_pool_of_its_own():
    with config(threads=2):
        list(thread_pool.run(lambda i: i, range(5)))  # the parent's threads exist, and the child will not have them
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        with warnings.catch_warnings(), thread_pool._lock:  # another thread of the parent may be inside just then
            warnings.simplefilter("ignore", DeprecationWarning)
            child = context.Process(target=_in_child, args=(queue,))
            child.start()
        try:
            assert queue.get(timeout=20) == list(range(5))
        finally:
            child.kill()
            child.join()


# -- products ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5, 3, 2), (9000, 130, 9), (70, 9000, 8), (20011, 64, 5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_by_panels(shape, dtype, rng, threads):
    n, d, k = shape
    A = rng.standard_normal((n, d)).astype(dtype)
    B, C = rng.standard_normal((d, k)), rng.standard_normal((n, k))
    with config(threads=1):
        expected = thread_pool.matmul(A, B), thread_pool.tmatmul(A, C)
    found = thread_pool.matmul(A, B), thread_pool.tmatmul(A, C)
    for got, same, exact in zip(found, expected, (A.astype(float) @ B, A.T.astype(float) @ C), strict=True):
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got, same)  # threads leave no trace
        np.testing.assert_allclose(got, exact, rtol=1e-10, atol=1e-9)


def test_products_do_not_depend_on_the_threads_of_blas(rng):
    A, B = rng.standard_normal((20_011, 300)), rng.standard_normal((20_011, 40))
    found = []
    for blas in (1, 2):
        with threadpool_limits(blas, user_api="blas"), config(threads=2):
            found.append(thread_pool.tmatmul(A, B).tobytes())
    assert found[0] == found[1]


def test_products_of_views_and_of_torch(rng, backend):
    A, B = rng.standard_normal((2000, 300)), rng.standard_normal((2000, 10))
    found = thread_pool.tmatmul(backend(A)[:, ::2], backend(B))
    np.testing.assert_allclose(np.asarray(found), A[:, ::2].T @ B, atol=1e-10)
    found = thread_pool.matmul(backend(A).T, backend(B))
    np.testing.assert_allclose(np.asarray(found), A.T @ B, atol=1e-10)
