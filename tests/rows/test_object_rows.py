"""Objects that are no rows of numbers: which inputs are taken for them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.rows.object_rows import are_objects, gather, take
from lowland.rows.row_source import as_rows

WORDS = ["abc", "abd", "xyz", "xyy", "qqq"]


def differing(a: str, b: str) -> float:
    return float(sum(x != y for x, y in zip(a, b, strict=True)))


def same(a: str, b: str) -> float:
    return 3.0 - differing(a, b)


def series(kind: str) -> object:
    if kind == "polars":
        return pl.Series("word", WORDS)
    pd = pytest.importorskip("pandas")
    return pd.Series(WORDS, index=[5, 4, 3, 2, 1], name="word", dtype="string" if kind == "pandas strings" else object)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pandas strings"])
def test_a_series_of_texts_is_as_good_as_a_list(kind: str) -> None:
    given = series(kind)
    for model in (lowland.ClassicalMDS(metric=differing), lowland.KernelPCA(kernel=same)):
        want = model.fit_transform(WORDS)
        np.testing.assert_array_equal(model.fit_transform(given), want)
        np.testing.assert_array_equal(model.transform(given), model.transform(WORDS))


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_frame_of_one_column_of_texts_is_told_to_give_the_column(library: str) -> None:
    frame = pytest.importorskip(library).DataFrame({"word": WORDS})
    with pytest.raises(
        lowland.DataError, match=r"its only column 'word' contains text: pass the column itself, X\['word'\]"
    ):
        lowland.ClassicalMDS(metric=differing).fit(frame)


def test_frames_and_arrays_of_numbers_are_rows() -> None:
    X = np.arange(6.0).reshape(3, 2)
    assert not are_objects(pl.DataFrame(X))
    assert not are_objects(pl.DataFrame(X[:, :1]))
    assert not are_objects(X)
    assert are_objects(pl.Series([1, 2, 3]))  # as a list of them is
    assert are_objects([1, 2, 3])


def test_blocks_become_one_array_without_a_second_copy() -> None:
    X = np.random.default_rng(0).standard_normal((40_000, 100))
    source = lowland.RowSource.from_blocks(lambda: (X[a : a + 3000] for a in range(0, 40_000, 3000)), n_rows=40_000)
    tracemalloc.start()
    try:
        rows = gather(source)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(rows, X)
    assert peak < 1.5 * X.nbytes  # the array and a few blocks; all blocks and their array would be twice as much
    some = np.array([0, 3, 2999, 3000, 39_999])
    np.testing.assert_array_equal(take(source, some), X[some])
    np.testing.assert_array_equal(take(as_rows(X), some), X[some])
