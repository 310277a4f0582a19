"""The first look at a table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from lowland.data import ArrayTable, Inspection, Table, inspect_matrix, inspect_table, read_table
from lowland.data.squares import find_square


def look(**columns: object) -> Inspection:
    return inspect_table(Table(pl.DataFrame(columns), "t.csv"))


def test_everything_is_found_at_once() -> None:
    found = look(
        a=[1.0, 2.0, 2.0, None, float("nan"), 5.0],
        same=[1.0, 2.0, 2.0, None, None, 5.0],
        b=[1, 4, 4, 0, 2, 1],
        one=[7, 7, 7, 7, 7, 7],
        far=[1.0, 2.0, 2.0, 4.0, float("inf"), float("-inf")],
        kind=["x", "y", "y", "x", None, "x"],
        word=["u", "u", "u", "u", "u", "u"],
        void=[None] * 6,
    )
    assert (found.n_rows, found.n_columns) == (6, 8)
    assert found.types["a"] == "numbers"
    assert found.types["b"] == "whole numbers"
    assert found.missing == {"a": 2, "same": 2, "kind": 1, "void": 6}
    assert found.infinite == {"far": 2}
    assert found.constant == ["one", "word"]
    assert found.empty == ["void"]
    assert found.duplicate_columns == {"same": "a"}
    assert found.duplicate_rows == 1
    assert found.non_numeric == {"kind": "text", "word": "text"}
    assert found.categories == {"kind": 2}
    assert found.dominant is None
    json.dumps(found.to_dict())


def test_duplicate_rows_count_every_repetition() -> None:
    assert look(a=[1, 1, 1, 2, 2, 3], b=list("xxxyyz")).duplicate_rows == 3


def test_duplicate_columns_of_text_and_of_other_numeric_types() -> None:
    found = look(i=[1, 2, 3], f=[1.0, 2.0, 3.0], s=list("abc"), t=list("abc"), u=list("abd"), r=[3, 2, 1])
    assert found.duplicate_columns == {"f": "i", "t": "s"}


def test_the_share_of_a_dominant_column_is_its_share_of_variance() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [1, 2, 10, 3] + [0, 1e7, 0, 5]
    found = inspect_table(ArrayTable(X, "x.npy"))
    variance = X.var(axis=0)
    assert found.dominant is not None
    assert found.dominant[0] == "x2"
    assert found.dominant[1] == pytest.approx(variance[2] / variance.sum(), rel=1e-9)
    assert inspect_table(ArrayTable(rng.normal(size=(50, 3)), "x.npy")).dominant is None
    assert look(a=[0.0, 1.0, 0.0], b=[0.0, 0.0, 1.5]).dominant is None  # of two columns, one always has half


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_variances_beyond_the_range_of_floats_are_compared(size: float) -> None:
    found = look(a=[0.0, 6 * size, 0.0], b=[0.0, size, 0.0])
    assert found.dominant is not None
    assert found.dominant[0] == "a"
    assert found.dominant[1] == pytest.approx(36 / 37)


def test_a_first_column_that_counts_the_rows_is_noticed() -> None:
    assert look(row=[1, 2, 3], a=[4, 5, 9]).row_numbers == "row"
    assert look(row=[0, 1, 2], a=[4, 5, 9]).row_numbers == "row"
    assert look(row=[0, 2, 4], a=[4, 5, 9]).row_numbers is None
    assert look(a=[4, 5, 9], row=[0, 1, 2]).row_numbers is None


def test_text_among_numbers_is_reported_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,oops\n5,6\n")
    found = inspect_table(read_table(tmp_path / "t.csv"))
    assert "line 3, column 'b': 'oops'" in found.faults["b"]
    assert "b" not in found.non_numeric


def test_a_sparse_matrix_is_looked_over_without_making_it_dense() -> None:
    S = sparse.csr_array(np.array([[1.0, 0, 0], [0, 0, 0], [np.inf, np.nan, 0]]))
    found = inspect_matrix(S, "s.npz")
    assert found.to_dict() == {
        "source": "s.npz",
        "n_rows": 3,
        "n_columns": 3,
        "stored": 3,
        "density": pytest.approx(1 / 3),
        "missing": 1,
        "infinite": 1,
        "empty_rows": 1,
        "empty_columns": 1,
    }


def test_row_numbers_do_not_hide_duplicate_rows() -> None:
    assert look(row=[1, 2, 3, 4], a=[5, 5, 5, 6], b=[1, 1, 2, 3]).duplicate_rows == 1


@pytest.mark.parametrize(
    "columns", [{"a": [1.0], "b": [2.0]}, {"a": [3, 3, 3], "s": list("xyz")}, {"n": [0, 1, 2], "s": list("xyz")}]
)
def test_where_nothing_varies_nothing_is_reducible(columns: dict[str, list[object]]) -> None:
    found = look(**columns)
    assert found.reducible == []


def test_constant_columns_are_no_dimensions_but_their_gaps_count() -> None:
    found = look(a=[1.0, 5.0, 2.0], flat=[7.0, None, 7.0])
    assert found.reducible == ["a"]


def test_whole_numbers_of_an_array_stay_whole() -> None:
    found = inspect_table(ArrayTable(np.array([[0, 4], [1, 9], [2, 2]]), "x.npy"))
    assert found.types == {"x0": "whole numbers", "x1": "whole numbers"}
    assert found.row_numbers == "x0"


# -- squares of distances -----------------------------------------------------------------------------------


def square(n: int = 30, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))


@pytest.mark.parametrize("n", [3, 30, 700])  # 700: more than one tile
def test_a_square_of_distances_is_known_with_its_gaps(n: int) -> None:
    D = square(n)
    found = inspect_table(ArrayTable(D, "d.npy"))
    assert found.missing_pairs == 0
    D[0, 1] = D[1, 0] = D[n - 1, 0] = np.nan  # the last one is known one way only
    D[1, 1] = np.nan
    found = inspect_table(ArrayTable(D, "d.npy"))
    assert found.missing_pairs == 2


def spoilt(i: int, j: int, value: float) -> np.ndarray:
    D = square(600)
    D[i, j] = value
    return D


@pytest.mark.parametrize(
    "X",
    [
        square()[:, :-1],
        spoilt(550, 3, 9.0),
        spoilt(599, 599, 0.5),
        spoilt(2, 2, np.inf),
        -square(),
        np.zeros((9, 9)),
        np.full((9, 9), np.nan),
        np.triu(np.full((9, 9), np.nan)) + np.tril(square(9)),
        (square() < 0.8) * (1.0 - np.eye(30)),
        np.corrcoef(np.random.default_rng(0).normal(size=(9, 20))),
    ],
    ids=["wide", "asymmetric", "diagonal", "infinite", "negative", "zero", "empty", "half", "graph", "correlation"],
)
def test_other_tables_are_no_squares_of_distances(X: np.ndarray) -> None:
    assert inspect_table(ArrayTable(X, "x.npy")).missing_pairs is None


def test_a_square_is_found_beside_names_and_counters() -> None:
    D = square(4)
    columns = {name: D[:, j] for j, name in enumerate("abcd")}
    assert find_square(Table(pl.DataFrame({"who": list("abcd"), **columns}), "t")).id == "who"
    plain = find_square(Table(pl.DataFrame({"who": list("wxyz"), **columns}), "t"))
    assert (plain.id, plain.left_out) == (None, {"who": "text"})
    counted = find_square(Table(pl.DataFrame({"n": [1, 2, 3, 4], **columns}), "t"))
    assert (counted.columns, counted.left_out) == (list("abcd"), {"n": "row numbers"})
    mixed = find_square(Table(pl.DataFrame({"who": list("dbca"), **columns}), "t"))
    assert (mixed.columns, mixed.reordered) == (list("dbca"), True)
    assert find_square(Table(pl.DataFrame({"e": [5.0, 6.0, 7.0, 9.0], **columns}), "t")) is None
    assert find_square(Table(pl.DataFrame({"e": [5.0, 6.0, 7.0, 9.0], **columns}), "t"), drop=["e"]) is not None


# -- identifiers and labels ---------------------------------------------------------------------------------


def patients() -> dict[str, object]:
    rng = np.random.default_rng(0)
    return {
        "ward": ["n", "s"] * 15,
        "age": rng.normal(60, 9, 30),
        "patient_id": rng.permutation(np.arange(1000, 1300))[:30],
        "pulse": rng.normal(70, 8, 30),
        "diagnosis": [0, 1, 2] * 10,
        "pressure": rng.normal(120, 10, 30),
    }


def test_an_identifier_does_not_dominate() -> None:
    found = look(**patients())
    assert found.identifiers == ["patient_id"]
    assert found.dominant is None  # it will not be reduced, so its share of the variance is no matter


def test_a_column_called_a_label_comes_before_other_text() -> None:
    numbers = {"a": np.arange(8) * 1.5, "b": np.cos(np.arange(8))}
    assert list(look(town=list("aabbccdd"), **numbers, species=list("xyxyxyxy")).categories) == ["species", "town"]
    assert list(look(once=list("aaaaaaab"), **numbers, ward=list("xyxyxyxy")).categories) == ["ward", "once"]
    assert "ratings" not in look(ratings=[1, 2] * 4, **numbers).categories  # a measurement, for all that is known
    assert look(**{"class": [1, 2] * 4}, **numbers).categories == {"class": 2}


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"ID": [5, 3, 9, 7]}, ["ID"]),
        ({"PatientID": [5, 3, 9, 7]}, ["PatientID"]),
        ({"sample": ["u", "v", "w", "z"]}, ["sample"]),
        ({"sample": ["u", "v", "w", "w"]}, []),
        ({"income": [5, 3, 9, 7]}, []),
        ({"class_id": [1, 1, 2, 2]}, []),
        ({"review": ["word " * 20 + str(i) for i in range(4)]}, []),
        ({"row": [1, 2, 3, 4], "sample": ["u", "v", "w", "z"]}, ["row", "sample"]),
        ({"row": [1, 2, 3, 4], "subject_id": [9, 4, 2, 8]}, ["subject_id", "row"]),
    ],
)
def test_identifiers_are_told_from_measurements(columns: dict[str, list[object]], named: list[str]) -> None:
    found = look(**columns, a=[1.0, 5.0, 2.0, 4.0], b=[3.0, 1.0, 2.0, 2.5])
    assert found.identifiers == named


def test_two_columns_that_hold_most_of_the_variance_are_both_named() -> None:
    X = np.random.default_rng(0).normal(size=(200, 8)) * [6, 1, 1, 1, 5, 1, 1, 1]
    found = inspect_table(ArrayTable(X, "x.npy"))
    assert found.dominant is None
    assert found.dominant_pair is not None
    assert found.dominant_pair[:2] == ("x0", "x4")


def test_long_tails_of_positive_columns_are_found() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "dose": np.exp(2 * rng.normal(size=200)),
            "size": rng.normal(50, 5, 200),
            "shift": np.exp(2 * rng.normal(size=200)) - 5,
            "flag": (rng.random(200) < 0.02).astype(float),
        }
    )
    assert inspect_table(Table(frame, "t.csv")).skewed == ["dose"]


@pytest.mark.parametrize(
    "name", ["MRN", "mrn", "subject", "Patient", "sample", "Case", "record", "Probe", "Fall", "Fall-Nr", "pid"]
)
def test_names_of_what_a_row_stands_for_are_those_of_identifiers(name: str) -> None:
    rng = np.random.default_rng(0)
    for numbers in (rng.permutation(90_000)[:40], np.sort(rng.permutation(90_000)[:40])):
        table = Table(pl.DataFrame({name: numbers, "a": rng.normal(size=40)}), "t.csv")
        assert inspect_table(table).identifiers == [name]
        assert table.kinds()[name].kind == "id"


@pytest.mark.parametrize("name", ["time", "dose", "cases", "cost per case", "sample size", "age"])
def test_increasing_measurements_are_no_identifiers(name: str) -> None:
    rng = np.random.default_rng(0)
    table = Table(pl.DataFrame({name: np.cumsum(rng.integers(1, 9, 40)), "a": rng.normal(size=40)}), "t.csv")
    assert inspect_table(table).identifiers == []
    assert table.kinds()[name].kind == "number"
    for repeated in (rng.integers(0, 5, 40), rng.integers(0, 2, 40)):
        table = Table(pl.DataFrame({"case": repeated, "a": rng.normal(size=40)}), "t.csv")
        assert inspect_table(table).identifiers == []
