"""Which columns move together, which can be dropped, and their correlations with axes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import lowland
from lowland import quality
from lowland.quality import column_grouping, column_groups
from lowland.quality.column_grouping import chance_correlation


@pytest.fixture
def lab(rng):
    """Two factors with four columns each, one of opposite sign, a near-duplicate, and two unrelated columns."""
    F = rng.standard_normal((80, 2))
    columns = {f"a{i}": F[:, 0] * (-1 if i == 3 else 1) + 0.5 * rng.standard_normal(80) for i in range(4)}
    columns |= {f"b{i}": 100 * F[:, 1] + 50 * rng.standard_normal(80) for i in range(4)}
    columns["copy"] = -3 * columns["a0"] + 0.01 * rng.standard_normal(80)
    columns |= {"u": rng.standard_normal(80), "v": rng.standard_normal(80)}
    return pl.DataFrame(columns)


def test_groups_and_near_duplicates_are_found(lab):
    found = column_groups(lab)
    assert [set(group.columns) for group in found.groups] == [
        {"a0", "a1", "a2", "a3", "copy"},
        {"b0", "b1", "b2", "b3"},
    ]
    signs = dict(zip(found.groups[0].columns, np.sign(found.groups[0].weights), strict=True))
    assert signs["a3"] == signs["copy"] == -signs["a0"]
    assert found.group_of("u") is None
    (pair,) = found.duplicates
    assert (pair.column, pair.kept) == ("copy", "a0")
    assert pair.correlation == pytest.approx(np.corrcoef(lab["copy"], lab["a0"])[0, 1])
    assert found.keep == tuple(name for name in lab.columns if name != "copy")
    assert found.lost == pytest.approx((1 - pair.correlation**2) / 11)
    R = np.corrcoef(lab.to_numpy().T)
    assert found.components_lost == pytest.approx(np.linalg.eigvalsh(R)[0] / 11)  # ten of eleven components
    assert found.components_lost <= found.lost
    assert "move together in 2 groups" in found.sentence


def test_correlations_with_axes_are_those_of_column_correlations(lab):
    found = column_groups(lab, n_components=3)
    model = lowland.PCA(3, scale=True).fit(lab)
    np.testing.assert_allclose(np.abs(found.axes), np.abs(quality.column_correlations(model, lab).values), atol=1e-10)
    Y = model.transform(lab)[:, :2]
    laid = column_groups(lab, axes=Y, axis_names=["x", "y"])
    np.testing.assert_allclose(laid.axes, quality.column_correlations(Y, lab).values, atol=1e-12)
    group = laid.groups[0]
    own = lowland.PCA(1, scale=True).fit_transform(lab.select(group.columns))[:, 0]
    r = [np.corrcoef(own, axis)[0, 1] for axis in Y.T]
    assert abs(group.correlation) == pytest.approx(max(np.abs(r)))
    assert group.axis == "xy"[int(np.argmax(np.abs(r)))]


def test_the_order_keeps_groups_together(lab):
    found = column_groups(lab)
    numbers = [found.group_of(name) for name in found.matrix.names]
    for number in range(2):
        places = [i for i, own in enumerate(numbers) if own == number]
        assert places == list(range(places[0], places[0] + len(places)))
    same = quality.ordered_correlations(lab, order="absolute")
    np.testing.assert_allclose(found.matrix.values, same.values, atol=1e-12)
    assert len(found.plot().patches) == 2


def test_wide_tables_make_no_square(lab, monkeypatch, rng):
    wide = np.column_stack([lab.to_numpy(), rng.standard_normal((80, 100))])
    whole = column_groups(wide, duplicate=0.9)
    sizes = []
    product = column_grouping.matmul
    monkeypatch.setattr(column_grouping, "matmul", lambda A, B: sizes.append((len(A), B.shape[1])) or product(A, B))
    for name, value in (("MOST_SQUARE", 50), ("SHOWN", 12), ("_BLOCK", 7)):
        monkeypatch.setattr(column_grouping, name, value)
    found = column_groups(wide, duplicate=0.9)
    assert max(min(size) for size in sizes) <= 12
    assert found.duplicates == whole.duplicates
    assert not found.by_tree
    assert len(found.matrix.names) == 12
    assert found.drawn_words == "12 of 111 columns: those most correlated with each axis"
    best = np.abs(found.axes).argmax(axis=1)
    for group in found.groups:
        places = [found.names.index(name) for name in group.columns]
        assert len({best[j] for j in places}) == 1
        assert (np.abs(found.axes[places]).max(axis=1) >= 0.5).all()


def test_constant_columns_are_named_and_missing_values_refused(lab):
    found = column_groups(lab.with_columns(pl.lit(3.0).alias("c")))
    assert found.constant == ("c",)
    assert "constant: c" in found.sentence
    gap = lab.with_columns(pl.when(pl.int_range(80) == 7).then(None).otherwise(pl.col("b1")).alias("b1"))
    with pytest.raises(lowland.DataError, match="column 'b1' has missing or infinite values") as error:
        column_groups(gap)
    assert error.value.row == 7
    for bad, text in ((lab[:2], "three or more rows"), (lab[:, :1], "two or more columns")):
        with pytest.raises(lowland.DataError, match=text):
            column_groups(bad)
    words = lab.with_columns(pl.lit("u").alias("word"))
    for call in (column_groups, lowland.quality.ordered_correlations):
        with pytest.raises(lowland.DataError, match=r"contains 'u', which is not a number.*\('word'\)"):
            call(words)
    wrong = {"threshold": 0, "duplicate": 1.5, "n_components": 99, "names": ["a"]}
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=name):
            column_groups(lab, **{name: value})


def test_chance_is_told_where_there_are_few_rows(rng):
    found = column_groups(rng.standard_normal((8, 40)))
    assert found.chance > 0.8
    assert "groups may be accidental" in found.sentence
    n, d, r = 30, 20, []
    for _ in range(200):
        R = np.abs(np.corrcoef(rng.standard_normal((d, n))))
        r.append(np.max(R[np.triu_indices(d, 1)]))
    assert np.mean(np.array(r) > chance_correlation(n, d)) < 0.1


def test_tables_of_columns(lab):
    found = column_groups(lab, n_components=2)
    frame = found.to_frame()
    assert frame.columns == ["column", "group", "keep", "duplicate_of", "PCA 1", "PCA 2"]
    assert frame.filter(~pl.col("keep"))["column"].to_list() == ["copy"]
    plain = found.to_dict()
    assert plain["keep"] == list(found.keep)
    assert len(plain["axes"]["PCA 2"]) == 11


def test_of_many_columns_the_sentence_says_what_was_looked_for():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 8)), 300, axis=1) + 0.1 * rng.normal(size=(60, 2400))  # eight blocks
    found = lowland.quality.column_groups(X, axes=rng.normal(size=(60, 2)) ** 3, threshold=0.9, duplicate=None)
    assert found.sentence.startswith(
        "None of the 2,400 columns has |r| ≥ 0.9 with an axis; columns may still move together, but so many columns "
        "are not compared with each other."
    )
    found = lowland.quality.column_groups(X, duplicate=None)
    assert "columns have |r| ≥ 0.5 with an axis; they are in" in found.sentence
