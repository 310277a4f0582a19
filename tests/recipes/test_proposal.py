"""The command that reduces a table as it is, with an option for each finding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from lowland.data import ArrayTable, Table, inspect_matrix, inspect_table, read
from lowland.recipes.proposal import NOTHING, command_for_matrix, further_commands, proposed_command


def proposed(table: Table, path: str = "t.csv") -> str:
    return proposed_command(table, inspect_table(table), path)


def of(**columns: object) -> str:
    return proposed(Table(pl.DataFrame(columns), "t.csv"))


def test_names_of_files_are_quoted() -> None:
    table = Table(pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0], "c": [2.0, 3.0, 1.5]}), "t.csv")
    files = "--out 'my table-map.csv' --model 'my table.lowland' --report 'my table.html'"
    assert proposed(table, "my table.csv") == f"lowland reduce 'my table.csv' {files}"


def test_each_finding_has_an_option() -> None:
    assert "--scale" in of(a=[1.0, 5.0, 2.0], b=[300.0, 100.0, 2.0])
    assert "--missing ppca" in of(a=[1.0, None, 2.0], b=[3.0, 1.0, 2.0])
    assert "--drop c " in of(a=[1.0, 5.0, 2.0], b=[3.0, 1.0, 2.0], c=[1.0, float("inf"), 0.0])
    assert """--drop '"b, c"' """ in of(**{"a": [1.0, 2.0, 3.0], "b, c": [3.0, float("inf"), 2.0]})
    assert "--components 1 --id row --color kind " in of(row=[1, 2, 3, 4], a=[4, 5, 9, 1], kind=list("xyxy"))
    assert "--color kind" in of(
        once=list("aaaaaaab"), a=np.arange(8) * 1.5, b=np.cos(np.arange(8)), kind=list("xyxyxyxy")
    )


@pytest.mark.parametrize(
    "columns", [{"a": [1.0], "b": [2.0]}, {"a": [3, 3, 3], "s": list("xyz")}], ids=["row", "equal"]
)
def test_nothing_is_proposed_where_nothing_varies(columns: dict[str, list[object]]) -> None:
    assert of(**columns) == NOTHING


def test_words_and_limits_among_decimal_commas_are_read(tmp_path: Path) -> None:
    """As devices and laboratories export them: cells that are not numbers do not hide the decimal mark."""
    rows = ["1,5;0,25;f", "n.d.;<0,1;m", "2,25;0,75;f", "-;0,5;m", "3;1,125;f"]
    (tmp_path / "lab.csv").write_text("crp;tsh;sex\n" + "\n".join(rows) + "\n")
    table = read(tmp_path / "lab.csv")
    assert table.notes == ("read as semicolon-separated, decimal comma",)
    assert "--na -,n.d. --below-limit half --missing ppca" in proposed(table)
    again = read(tmp_path / "lab.csv", na=["-", "n.d."], below_limit="half").frame
    assert again["crp"].to_list() == [1.5, None, 2.25, None, 3.0]
    assert again["tsh"].to_list() == [0.25, 0.05, 0.75, 0.5, 1.125]


def test_an_identifier_is_no_reason_to_scale() -> None:
    rng = np.random.default_rng(0)
    words = of(
        age=rng.normal(60, 9, 30),
        patient_id=rng.permutation(np.arange(1000, 1300))[:30],
        pulse=rng.normal(70, 8, 30),
        diagnosis=[0, 1, 2] * 10,
        pressure=rng.normal(120, 10, 30),
    )
    assert "--id patient_id --color diagnosis " in words
    assert "--scale" not in words


def test_further_identifiers_of_numbers_are_dropped() -> None:
    words = of(row=[1, 2, 3, 4], subject_id=[9, 4, 2, 8], a=[1.0, 5.0, 2.0, 4.0], b=[3.0, 1.0, 2.0, 2.5])
    assert "--drop row --id subject_id " in words


def test_two_dominant_columns_are_scaled() -> None:
    X = np.random.default_rng(0).normal(size=(200, 8)) * [6, 1, 1, 1, 5, 1, 1, 1]
    assert "--scale" in proposed(ArrayTable(X, "x.npy"), "x.npy")


def test_distances_and_sparse_matrices() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    assert "--method classical_mds --components 2 --set metric=precomputed " in proposed(
        ArrayTable(D, "d.npy"), "d.npy"
    )
    D[0, 1] = D[1, 0] = np.nan
    assert "--method metric_mds --components 2 --set metric=precomputed " in proposed(ArrayTable(D, "d.npy"), "d.npy")
    assert "--set weights=known" in proposed(ArrayTable(D, "d.npy"), "d.npy")
    words = command_for_matrix(inspect_matrix(sparse.eye_array(3, format="csr"), "s.npz"), "s.npz")
    assert words.startswith("lowland reduce s.npz --method truncated_svd --components 2 ")


def test_logarithms_of_all_columns_are_proposed_where_most_are_skewed() -> None:
    rng = np.random.default_rng(0)
    genes = np.exp(2 * rng.normal(size=(60, 8)))
    table = ArrayTable(genes, "genes.npy")
    assert "--transform log1p=all " in proposed(table)
    images = ArrayTable(genes, "images", image_shape=(2, 4))
    assert "--transform" not in proposed(images)
    frame = pl.DataFrame({"dose": genes[:, 0], **{f"x{j}": rng.normal(9, 1, 60) for j in range(4)}})
    few = Table(frame, "t.csv")
    assert inspect_table(few).transform == "log1p=dose"
    assert "--transform log1p=dose " in proposed(few)
    signed = Table(pl.DataFrame({"a": genes[:, 0], "b": genes[:, 1], "c": genes[:, 2] - 3}), "t.csv")
    assert inspect_table(signed).transform == "log1p=a,b"
    assert "--transform log1p=a,b " in proposed(signed)


def test_scaling_is_proposed_for_the_columns_after_the_logarithms() -> None:
    rng = np.random.default_rng(1)
    dose, others = np.exp(2 * rng.normal(size=200)), rng.normal(9, 1, (200, 4))
    values = {"dose": dose, **{f"x{j}": others[:, j] for j in range(4)}}
    assert inspect_table(Table(pl.DataFrame(values), "t.csv")).dominant is not None
    assert "--transform log1p=dose --out" in of(**values)  # nothing dominates any more
    assert "--scale --transform log1p=dose" in of(**values, income=rng.normal(50_000, 9_000, 200))


def test_edges_texts_and_images_have_commands_of_their_own() -> None:
    names = [f"page{i % 7}" for i in range(20)]
    others = [f"page{i % 5}" for i in range(20)]
    edges = Table(pl.DataFrame({"a": names, "b": others, "n": range(20)}), "links.csv")
    assert proposed(edges, "links.csv") == "lowland pagerank links.csv --out links-pagerank.csv"
    numbers = Table(pl.DataFrame({"from_id": range(20), "to_id": range(5, 25)}), "links.csv")
    assert proposed(numbers, "links.csv") == "lowland pagerank links.csv --out links-pagerank.csv"
    plain = Table(pl.DataFrame({"height": [1.5, 1.7, 1.6], "weight": [50.5, 70.0, 66.0]}), "people.csv")
    assert "lowland reduce" in proposed(plain)
    texts = Table(
        pl.DataFrame(
            {
                "no": [f"d{i}" for i in range(9)],
                "text": [f"wings and noses of planes in a slow and cold wind {i}" for i in range(9)],
            }
        ),
        "t.csv",
    )
    search = "lowland text index docs.csv --text text --id no --out docs-index.lowland"
    assert further_commands(texts, "docs.csv", {"sep": None, "header": False}) == {"search": search}
    assert further_commands(texts, "docs.csv", {"sep": ";"}) == {}  # which `text index` does not take
    images = ArrayTable(np.eye(4), "faces", image_shape=(2, 2))
    assert list(further_commands(images, "faces")) == ["eigenfaces"]
    assert further_commands(plain, "people.csv") == {}
