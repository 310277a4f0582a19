"""Categories of columns: which there are, how levels are found and sorted, and what coded rows look like."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lowland
from lowland.contract.parameters import ColumnList
from lowland.core.errors import DataError
from lowland.rows import columns
from lowland.rows.columns import numbers_of as real
from lowland.rows.mixed_rows import Levels, MixedRows, mixed_blocks, mixed_rows
from lowland.rows.row_source import RowSource

NUMBERS = [1.5, 2.0, -1.0, 0.0, 4.0]
COLOURS = ["red", "blue", "red", "Zinc", "blue"]
TRUTHS = [True, False, True, True, False]
CODES = [[1.5, 2, 1], [2.0, 1, 0], [-1.0, 2, 1], [0.0, 0, 1], [4.0, 1, 0]]  # capitals sort before small letters


def rows_of(source):
    return np.vstack([block.rows for block in source.blocks()])


def coded(X, **options):
    source = mixed_rows(X, **options)
    assert isinstance(source, MixedRows)
    return rows_of(source.coded(source.learn().levels))


FORMS = {
    "pandas": lambda: pd.DataFrame({"x": NUMBERS, "colour": COLOURS, "ok": TRUTHS}),
    "pandas objects": lambda: pd.DataFrame({"x": NUMBERS, "colour": COLOURS, "ok": TRUTHS}).astype(object),
    "pandas categories": lambda: pd.DataFrame(
        {"x": NUMBERS, "colour": pd.Categorical(COLOURS, ["red", "unused", "blue", "Zinc"]), "ok": TRUTHS}
    ),
    "polars": lambda: pl.DataFrame({"x": NUMBERS, "colour": COLOURS, "ok": TRUTHS}),
    "polars categories": lambda: pl.DataFrame(
        {"x": NUMBERS, "colour": pl.Series(COLOURS, dtype=pl.Categorical), "ok": TRUTHS}
    ),
    "arrow": lambda: pa.table({"x": NUMBERS, "colour": COLOURS, "ok": TRUTHS}),
    "lists": lambda: [list(row) for row in zip(NUMBERS, COLOURS, TRUTHS, strict=True)],
    "tuples": lambda: list(zip(NUMBERS, COLOURS, TRUTHS, strict=True)),
    "objects": lambda: np.array(list(zip(NUMBERS, COLOURS, TRUTHS, strict=True)), dtype=object),
    "blocks": lambda: lambda: (FORMS["polars"]()[:2], FORMS["polars"]()[2:2], FORMS["polars"]()[2:]),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_has_the_same_codes(form):
    np.testing.assert_array_equal(coded(FORMS[form]()), CODES)
    found = mixed_rows(FORMS[form]()).learn()
    assert found.levels.values == (["Zinc", "blue", "red"], [False, True])
    assert [counts.tolist() for counts in found.counts] == [[1, 2, 2], [2, 3]]
    assert found.n_rows == 5
    assert found.mean[0] == pytest.approx(np.mean(NUMBERS), rel=1e-15)
    assert found.variance[0] == pytest.approx(np.var(NUMBERS), rel=1e-15)


@pytest.fixture
def long(rng):
    return pl.DataFrame({"x": rng.standard_normal(40_000), "k": rng.choice(list("qwertz"), 40_000)})


def test_the_order_of_rows_does_not_show_in_the_levels(rng, long):
    want, got = mixed_rows(long).learn(), mixed_rows(long[rng.permutation(40_000).tolist()]).learn()
    assert got.levels.values == want.levels.values == (list("eqrtwz"),)
    np.testing.assert_array_equal(got.counts[0], want.counts[0])


@pytest.mark.parametrize("cut", [700, 4000, 30_000])
def test_the_cut_into_blocks_leaves_the_same_bits(long, cut):
    want, got = mixed_rows(long).learn(), mixed_rows(lambda: long.iter_slices(cut)).learn()
    assert got.levels == want.levels
    assert (got.mean[0], got.variance[0]) == (want.mean[0], want.variance[0])
    source = mixed_rows(lambda: long.iter_slices(cut))
    np.testing.assert_array_equal(rows_of(source.coded(want.levels)), rows_of(mixed_rows(long).coded(want.levels)))


def test_a_table_of_numbers_is_left_to_the_reader_of_numbers():
    for X in (np.eye(3), np.eye(3).tolist(), pd.DataFrame(np.eye(3), columns=list("abc")), lambda: [np.eye(3)]):
        source = mixed_rows(X)
        assert not isinstance(source, MixedRows)
        np.testing.assert_array_equal(rows_of(source), np.eye(3))
    source = mixed_rows(np.array([[1, 2.5], [None, 3]], dtype=object))
    assert not isinstance(source, MixedRows)


def test_columns_of_numbers_can_be_categories():
    X = np.array([[0.5, 3.0], [1.5, 1.0], [2.5, 3.0]])
    frame = pd.DataFrame(X, columns=["x", "k"])
    blocks = RowSource.from_blocks(lambda: (X[:1], X[1:]))
    array = RowSource.from_array(X)
    for given, name in ((X, 1), (frame, "k"), (frame, 1), (frame, "1"), (X.tolist(), 1), (blocks, 1), (array, 1)):
        source = mixed_rows(given, [name])
        assert source.learn().levels == Levels((1,), ([1.0, 3.0],))
        np.testing.assert_array_equal(rows_of(source.coded(source.learn().levels)), [[0.5, 1], [1.5, 0], [2.5, 1]])
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(coded(torch.from_numpy(X), categorical=[1]), [[0.5, 1], [1.5, 0], [2.5, 1]])
    with pytest.raises(DataError, match="'kk', not a name or number of one of the 2 columns; did you mean 'k'"):
        mixed_rows(frame, ["kk"])
    with pytest.raises(DataError, match="categorical has 2, not a name"):
        mixed_rows(X, [2])


def test_levels_of_several_types_have_one_order():
    column = np.array([["b"], [2], [True], [None], ["a"], [1.5], [10]], dtype=object)
    source = mixed_rows(column, missing="level")
    found = source.learn()
    assert found.levels.values == ([True, 1.5, 2, 10, "a", "b", None],)
    np.testing.assert_array_equal(rows_of(source.coded(found.levels)).ravel(), [5, 2, 0, 6, 4, 1, 3])


@pytest.mark.parametrize(
    "gap",
    [
        pd.DataFrame({"x": [1.0, 2.0, 3.0], "k": ["a", None, "b"]}),
        pd.DataFrame({"x": [1.0, 2.0, 3.0], "k": pd.Series(["a", pd.NA, "b"], dtype=object)}),
        pd.DataFrame({"x": [1.0, 2.0, 3.0], "k": pd.Categorical(["a", None, "b"])}),
        pl.DataFrame({"x": [1.0, 2.0, 3.0], "k": ["a", None, "b"]}),
        [[1.0, "a"], [2.0, float("nan")], [3.0, "b"]],
    ],
    ids=["pandas", "NA", "category", "polars", "lists"],
)
def test_missing_categories_are_refused_with_their_place_or_are_a_level(gap):
    with pytest.raises(DataError, match="missing category at row 1, column 1") as caught:
        mixed_rows(gap).learn()
    assert (caught.value.row, caught.value.column) == (1, 1)
    found = mixed_rows(gap, missing="level").learn()
    assert found.levels.values == (["a", "b", None],)
    assert found.counts[0].tolist() == [1, 1, 1]


def test_a_number_that_is_missing_or_none_is_named(rng):
    frame = pl.DataFrame({"k": ["a", "b"] * 20_000, "x": rng.standard_normal(40_000)})
    frame[33_333, "x"] = None
    with pytest.raises(DataError, match=r"NaN at row 33333, column 1 \('x'\)"):
        mixed_rows(frame).learn()
    table = np.array([["a", 1.0]] * 30_000, dtype=object)
    table[:, 0] = ["a", "b"] * 15_000
    blocks = [table[:20_000], table[20_000:].copy()]
    blocks[1][5, 1] = "oops"
    with pytest.raises(DataError, match=r"'oops', which is not a number .* at row 20005, column 1: if .*categorical"):
        mixed_rows(lambda: blocks).learn()


def test_what_is_neither_number_nor_category():
    with pytest.raises(TypeError, match=r"row 1, column 0: .*argument must be a string or a number"):
        mixed_rows(np.array([["a"], [{"b": 1}]], dtype=object)).learn()
    with pytest.raises(DataError, match=r"column 0 \('day'\) contains dates or times"):
        mixed_rows(pl.DataFrame({"day": [datetime.date(2020, 1, 1)], "k": ["a"]}))
    with pytest.raises(DataError, match=r"column 1 \('l'\) contains List"):
        mixed_rows(pl.DataFrame({"k": ["a"], "l": [[1, 2]]}))
    with pytest.raises(DataError, match="0 sample"):
        mixed_rows(pl.DataFrame({"k": []}, schema={"k": pl.String}))


def test_unseen_levels():
    levels = Levels((1,), (["a", "b"],))
    source = mixed_rows(pl.DataFrame({"x": [1.0, 2.0], "k": ["b", "c"]}))
    with pytest.raises(
        DataError, match=r"the level 'c', which the training .* have 'a', 'b'.* at row 1, column 1 \('k'\)"
    ):
        rows_of(source.coded(levels))
    np.testing.assert_array_equal(rows_of(source.coded(levels, "ignore")), [[1.0, 1], [2.0, -1]])


def test_blocks_of_other_columns_are_refused():
    frame = pl.DataFrame({"x": [1.0], "k": ["a"]})
    with pytest.raises(DataError, match="block 1: column 0 is 'k'; in block 0 it was 'x'"):
        mixed_rows(lambda: [frame, frame[["k", "x"]]]).learn()
    with pytest.raises(DataError, match="block 2 has 1 columns; block 0 had 2"):
        mixed_rows(lambda: [frame, frame[:0], frame[["k"]]]).learn()
    with pytest.raises(DataError, match="reads the rows several times"):
        mixed_rows(iter([frame]))


def test_blocks_that_know_no_method_take_its_wishes_later():
    frame = pl.DataFrame({"x": [1, 2, 2], "k": ["a", "b", None]})
    source = mixed_blocks([frame])
    assert mixed_rows(source, ["x"], missing="level").learn().levels.values == ([1, 2], ["a", "b", None])
    assert mixed_blocks([frame[["x"]]]) is None
    with pytest.raises(DataError, match="'k' contains categories, and this method needs numbers"):
        lowland.PCA().fit(source)


def test_precision_is_that_of_the_numbers():
    for kind, want in ((np.float32, np.float32), (np.float64, np.float64), (np.int64, np.float64)):
        frame = pd.DataFrame({"x": np.arange(3, dtype=kind), "k": list("aba")})
        assert mixed_rows(frame).dtype == want
    assert mixed_rows(pd.DataFrame({"k": list("aba")})).dtype == np.float64


def test_blocks_with_and_without_names():
    """As for numbers: a block without names has those of the first."""
    frame, plain = pl.DataFrame({"x": [1.0], "k": ["a"]}), np.array([[3.0, "b"], [4.0, None]], dtype=object)
    for blocks in ([frame, plain[:1]], [plain[:1], frame]):
        found = mixed_rows(lambda blocks=blocks: blocks).learn()
        assert found.levels.values == (["a", "b"],)
        assert found.mean[0] == 2.0
    with pytest.raises(DataError, match=r"missing category at row 2, column 1 \('k'\)"):
        mixed_rows(lambda: [frame, plain]).learn()


def test_no_block_is_rounded_to_the_precision_of_the_first():
    single, double = (pd.DataFrame({"x": np.array([0.1, 0.3], dtype=kind), "k": list("ab")}) for kind in ("f4", "f8"))
    with pytest.raises(DataError, match="block 2 is float64; block 0 was float32: use the same dtype for all"):
        mixed_rows(lambda: [single, single[:0], double]).learn()
    found = mixed_rows(lambda: [double, single]).learn()
    assert found.mean[0] == pytest.approx((0.1 + 0.3 + float(np.float32(0.1)) + float(np.float32(0.3))) / 4, rel=1e-15)
    texts = single.assign(k=[1, 2])  # what is a category has no precision
    assert mixed_rows(lambda: [single, texts]).dtype == np.float32


def test_a_long_block_is_coded_by_pieces(long, monkeypatch):
    """Several threads code rows at once, so a block of any length must not be one piece of work."""
    sizes = []
    monkeypatch.setattr(columns, "numbers_of", lambda piece, j: sizes.append(piece.n_rows) or real(piece, j))
    source = mixed_rows(lambda: [long[:35_000], long[35_000:]])
    found = source.learn()
    assert sorted(sizes) == [2232, 5000, 16_384, 16_384]
    assert found.levels == mixed_rows(long).learn().levels
    gap = long.clone()
    gap[20_000, "k"] = None
    with pytest.raises(DataError, match="missing category at row 20000"):
        mixed_rows(lambda: [gap]).learn()


def test_which_of_equal_levels_is_shown_does_not_depend_on_the_rows():
    cells = [True, 1.0, 1, 0.0, -0.0, False, 2.0, True, "a"]
    want = [(float, 0.0), (int, 1), (float, 2.0), (str, "a")]
    for order in (cells, cells[::-1], cells[3:] + cells[:3]):
        column = np.array([[cell] for cell in order], dtype=object)
        for given in (column, lambda column=column: [column[:4], column[4:]]):
            (shown,) = mixed_rows(given).learn().levels.values
            assert [(type(level), level) for level in shown] == want
            assert not np.signbit(shown[0])
    found = mixed_rows(lambda: [np.array([[-0.0], [1.0]]), np.array([[0.0], [1.0]])], [0]).learn()
    assert [str(level) for level in found.levels.values[0]] == ["0.0", "1.0"]


def test_decimals_and_fractions_are_numbers():
    cells = [Decimal("1.5"), Fraction(1, 4), Decimal("NaN"), 3]
    source = mixed_rows(pd.DataFrame({"x": cells[:2], "k": ["a", "b"]}))
    assert source.categorical == (1,)
    np.testing.assert_array_equal(coded(pd.DataFrame({"x": cells[:2], "k": ["a", "b"]})), [[1.5, 0], [0.25, 1]])
    table = np.array([[cell, "a"] for cell in cells], dtype=object)
    assert mixed_rows(table, [0], missing="level").learn().levels.values[0] == [0.25, 1.5, 3, None]
    prices = pl.DataFrame({"x": [Decimal("2.5"), Decimal("0.5")], "k": ["a", "b"]})
    assert mixed_rows(prices, ["x"]).learn().levels.values[0] == [0.5, 2.5]


@pytest.mark.parametrize(
    "column",
    [
        pd.cut(pd.Series([1.0, 2.0, 3.0, 4.0]), 2),
        pd.Series([pd.Timestamp(2020, 1, 1)] * 4, dtype=object),
        pd.Series(pd.Categorical([pd.Timestamp(2020, 1, 1)] * 4)),
    ],
    ids=["intervals", "times", "categories of times"],
)
def test_values_that_can_be_texts_are_told_so(column):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "k": column})
    with pytest.raises(TypeError, match=r"row 0, column 1 \('k'\): .* is not a category.*astype\(str\)"):
        mixed_rows(frame).learn()
    frame["k"] = frame["k"].astype(str)
    assert len(mixed_rows(frame).learn().levels.values[0]) == column.nunique()


def test_what_is_made_of_tensors_goes_back_to_their_library(backend):
    X = backend(np.array([[0.5, 3.0], [1.5, 1.0], [2.5, 3.0]], dtype=np.float32))
    for given in (X, RowSource.from_array(X), RowSource.from_blocks(lambda: [X[:1], X[1:]])):
        source = mixed_rows(given, [1])
        rows = source.coded(source.learn().levels)
        assert isinstance(rows.array or next(rows.blocks()).rows, np.ndarray)  # sums are made in NumPy
        made = rows.map_blocks(lambda block: 2 * block, 2)
        assert type(made) is type(X)
        assert made.dtype == X.dtype
        assert made.tolist() == [[1.0, 2.0], [3.0, 0.0], [5.0, 2.0]]


def test_a_list_of_columns_as_a_parameter():
    rule = ColumnList()
    assert [rule.accepts(v) for v in (["a", 1], (), ("b",), "a", [1.5], [True], [-1])] == [True] * 3 + [False] * 4
    assert rule.parse('a, "b, c",3') == ["a", "b, c", "3"]
    for text in (" ", "a,,b"):
        with pytest.raises(ValueError, match=text):
            rule.parse(text)


@pytest.mark.parametrize(
    ("levels", "want"),
    [
        (["2024-01-31", "1999-12-01"], True),
        (["2024-01-31T10:30:05.25Z", "2024-01-31 10:30", "2024-01-31T10:30+01:00"], True),
        (["2024-01-31", None], True),
        (["2024-01-31", "unknown"], False),
        (["2024-01-31a"], False),
        (["20240131"], False),  # a number as well
        ([2024.0], False),
        ([None], False),
        ([], False),
    ],
)
def test_texts_that_look_like_dates(levels, want):
    assert columns.like_dates(levels) is want


def test_a_gap_among_the_numbers_of_a_mixed_table(rng):
    rows = [[1.5, "red"], [float("nan"), "blue"], [0.5, "red"]]
    with pytest.raises(
        lowland.DataError, match=r"contains NaN at row 1, column 0: fill it or leave the row out$"
    ) as told:
        mixed_rows(rows).learn()
    assert (told.value.row, told.value.column) == (1, 0)
    far = mixed_rows([[1.0, "red"]] * 40_000 + rows)
    with pytest.raises(lowland.DataError, match="at row 40001, column 0"):
        far.learn()
