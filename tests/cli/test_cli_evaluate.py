"""`lowland evaluate`: which columns are coordinates, how rows are matched, what goes wrong."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import pdist, squareform

import lowland
from lowland import quality

Run = Callable[..., Any]


@pytest.fixture
def flat(run: Run, table: Path) -> Path:
    """A map with names, labels and coordinates."""
    assert run("reduce", table, "--id", "name", "--color", "kind", "--out", "map.csv").code == 0
    return Path("map.csv")


def test_the_numbers_are_those_of_the_library(run: Run, table: Path, flat: Path, frame: pl.DataFrame) -> None:
    done = run("evaluate", table, flat, "--target", "kind", "--quality-neighbors", 5, "--json")
    assert done.code == 0, done.err
    found = done.json
    X, Y = frame.select("a", "b", "c").to_numpy(), pl.read_csv(flat).select("pca0", "pca1").to_numpy()
    expected = quality.report(X, Y, 5, groups=frame["kind"], space="the columns of table.csv", random_state=0)
    for name, measure in expected.measures.items():
        assert found["measures"][name]["value"] == pytest.approx(float(measure), rel=1e-12), name
        assert set(found["measures"][name]["groups"]) == {"red", "green", "blue"}
    assert found["coordinates"] == ["pca0", "pca1"]
    assert found["columns"] == ["a", "b", "c"]
    assert found["matched"] == "order"
    assert found["space"] == "the columns of table.csv"
    assert found["summary"] == expected.sentence


def test_rows_are_matched_by_name(run: Run, table: Path, flat: Path) -> None:
    plain = run("evaluate", table, flat, "--json").json
    mixed = pl.read_csv(flat)[np.random.default_rng(0).permutation(30).tolist()]
    mixed.write_csv("mixed.csv")
    by_name = run("evaluate", table, "mixed.csv", "--id", "name", "--json").json
    assert by_name["measures"] == plain["measures"]
    assert by_name["matched"] == "name"
    assert by_name["worst"][0]["name"] == f"row{plain['worst'][0]['number']}"
    by_order = run("evaluate", table, "mixed.csv", "--json").json
    assert by_order["measures"]["trustworthiness"] != plain["measures"]["trustworthiness"]
    pl.concat([mixed, mixed[:1].with_columns(name=pl.lit("another"))]).write_csv("longer.csv")
    longer = run("evaluate", table, "longer.csv", "--id", "name", "--json")
    assert longer.json["measures"] == plain["measures"]
    assert "1 rows that are not in table.csv" in longer.err


def test_groups_may_stand_in_the_map(run: Run, table: Path, flat: Path, frame: pl.DataFrame) -> None:
    frame.drop("kind").write_csv("bare.csv")
    here = run("evaluate", table, flat, "--target", "kind", "--json").json
    pl.read_csv(flat).reverse().write_csv("turned.csv")
    there = run("evaluate", "bare.csv", "turned.csv", "--target", "kind", "--id", "name", "--json").json
    assert there["measures"] == here["measures"]


def test_the_trust_of_each_row_is_written(run: Run, table: Path, flat: Path, frame: pl.DataFrame) -> None:
    done = run("evaluate", table, flat, "--id", "name", "--target", "kind", "--out", "trust.csv")
    assert done.code == 0, done.err
    found = pl.read_csv("trust.csv")
    assert found.columns == ["name", "kind", "row", "kept", "false", "missing", "stretch"]
    assert found["name"].to_list() == frame["name"].to_list()
    X, Y = frame.select("a", "b", "c").to_numpy(), pl.read_csv(flat).select("pca0", "pca1").to_numpy()
    assert np.allclose(found["kept"], quality.pointwise(X, Y, 7).kept)  # a quarter of 30 rows
    assert "least trusted rows: row" in done.out
    assert "next: lowland compare" in done.err
    some = run("evaluate", table, flat, "--id", "name", "--anchors", 10, "--out", "some.csv")
    assert pl.read_csv("some.csv")["kept"].null_count() == 20
    assert "20 of 30 rows were not sampled and stay empty; use --anchors all" in some.err
    assert "least trusted of the 10 evaluated rows: row" in some.out


def test_the_trust_of_each_of_many_rows_is_written(run: Run, tmp_path: Path) -> None:
    """Beyond 10,000 rows the report looks at a sample, and the file still has all of them."""
    X = np.random.default_rng(0).normal(size=(10_010, 2))
    np.save(tmp_path / "X.npy", X)
    pl.DataFrame({"pca0": X[:, 0]}).write_csv("map.csv")
    done = run("evaluate", "X.npy", "map.csv", "--quality-neighbors", 3, "--out", "trust.parquet")
    assert done.code == 0, done.err
    found = pl.read_parquet("trust.parquet")
    assert found["kept"].null_count() == 0
    assert "not sampled" not in done.err
    assert "least trusted of the 5,000 evaluated rows: " in done.out
    expected = quality.pointwise(X, X[:, :1], 3)
    assert np.allclose(found["kept"], expected.kept)
    assert np.allclose(found["stretch"], expected.stretch)


def test_coordinates_are_not_mistaken_for_what_was_kept(run: Run, table: Path) -> None:
    assert run("reduce", table, "--method", "isomap", "--keep-columns", "--out", "all.csv").code == 0
    done = run("evaluate", table, "all.csv", "--json").json
    assert done["coordinates"] == ["isomap0", "isomap1"]
    pl.read_csv("all.csv").select(x="isomap0", y="isomap1").write_csv("other.csv")
    other = run("evaluate", table, "other.csv", "--json")
    assert other.json["coordinates"] == ["x", "y"]
    assert other.json["measures"] == done["measures"]
    assert "its numeric columns are used as the coordinates: x, y" in other.err


def test_another_space_is_named(run: Run, table: Path, flat: Path) -> None:
    plain, pre = (
        run("evaluate", table, flat, "--json").json,
        run("evaluate", table, flat, "--pre", "pca:2", "--json").json,
    )
    assert pre["space"] == "the 2 dimensions of PCA fitted to table.csv, not its columns"
    assert pre["measures"]["trustworthiness"]["value"] == pytest.approx(1)
    assert plain["measures"]["trustworthiness"]["value"] < 1
    assert "the 2 dimensions of PCA fitted to" in run("evaluate", table, flat, "--pre", "pca:2").out


def test_distances_are_read_as_such(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "D.npy", lowland.data.cities()[0])
    square = ("--method", "classical_mds", "--set", "metric=precomputed")
    assert run("reduce", "D.npy", *square, "--out", "map.csv").code == 0
    assert "use --metric precomputed" in run("evaluate", "D.npy", "map.csv", "--quality-neighbors", 4).err
    done = run("evaluate", "D.npy", "map.csv", "--quality-neighbors", 4, "--metric", "precomputed", "--json")
    assert "looks like" not in done.err
    assert done.json["measures"]["pearson"]["value"] > 0.99
    assert done.json["space"] == "the distances of D.npy"


def test_sparse_data(run: Run, tmp_path: Path) -> None:
    import scipy.sparse as sp

    X = sp.random_array((60, 20), density=0.3, rng=np.random.default_rng(0), format="csr")
    sp.save_npz(tmp_path / "X.npz", X)
    assert run("reduce", "X.npz", "--method", "truncated_svd", "--out", "map.csv").code == 0
    done = run("evaluate", "X.npz", "map.csv", "--json")
    assert done.code == 0, done.err
    Y = pl.read_csv("map.csv").to_numpy()
    assert done.json["measures"]["stress"]["value"] == pytest.approx(float(quality.kruskal_stress(X, Y)))


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--anchors", "some"), 2, "--anchors some: must be a number of at least 2, all, or auto"),
        (("--metric", "crow"), 2, "--metric crow: must be one of"),
        (("--quality-neighbors", "0"), 2, "--quality-neighbors 0: must be at least 1"),
        (("--seed", "-1"), 2, "--seed -1: must be 0 or greater"),
        (("--pre", "pca"), 2, "write it as method:components"),
        (("--pre", "pcaa:2"), 2, "pcaa"),
        (("--pre", "pca:2", "--metric", "precomputed"), 2, "a precomputed matrix has none"),
        (("--quality-neighbors", "29"), 3, "--quality-neighbors 29 is too large for 30 points"),
        (("--id", "nobody"), 3, "neither table.csv nor map.csv has a column 'nobody' for --id"),
        (("--target", "nobody"), 3, "neither table.csv nor map.csv has a column 'nobody' for --target"),
        (("--out", "table.csv"), 2, "would overwrite"),
    ],
)
def test_what_cannot_work_is_said(run: Run, table: Path, flat: Path, words: Any, code: int, text: str) -> None:
    done = run("evaluate", table, flat, *words)
    assert done.code == code, done.err
    assert text in done.err


def test_rows_that_do_not_match_are_said(run: Run, table: Path, flat: Path) -> None:
    found = pl.read_csv(flat)
    found[:-1].write_csv("short.csv")
    done = run("evaluate", table, "short.csv")
    assert done.code == 3
    assert "table.csv has 30 rows and short.csv has 29" in done.err
    done = run("evaluate", table, "short.csv", "--id", "name")
    assert done.code == 3
    assert "short.csv is missing 1 of the 30 rows of table.csv (by 'name'): row29" in done.err
    found.with_columns(name=pl.when(pl.col("name") == "row3").then(pl.lit("row2")).otherwise("name")).write_csv(
        "twice.csv"
    )
    done = run("evaluate", table, "twice.csv", "--id", "name")
    assert done.code == 3
    assert "twice.csv, line 5, column 'name': duplicate identifier row2 (also in twice.csv, line 4)" in done.err
    found.with_columns(name=pl.when(pl.col("name") == "row3").then(None).otherwise("name")).write_csv("none.csv")
    assert "the identifier is missing" in run("evaluate", table, "none.csv", "--id", "name").err


def test_coordinates_must_be_there_and_differ(run: Run, table: Path, flat: Path) -> None:
    found = pl.read_csv(flat)
    found.with_columns(pca1=pl.when(pl.col("name") == "row3").then(None).otherwise("pca1")).write_csv("gap.csv")
    done = run("evaluate", table, "gap.csv")
    assert done.code == 3
    assert "gap.csv, line 5, column 'pca1': the coordinate is missing or not finite" in done.err
    found.with_columns(pca0=pl.lit(1.0), pca1=pl.lit(2.0)).write_csv("dot.csv")
    done = run("evaluate", table, "dot.csv")
    assert done.code == 3
    assert "all points of Y are equal" in done.err


def test_a_scrambled_map_leads_to_the_column_that_names_the_rows(run: Run, table: Path, flat: Path) -> None:
    mixed = pl.read_csv(flat)[np.random.default_rng(1).permutation(30).tolist()]
    mixed.write_csv("mixed.csv")
    done = run("evaluate", table, "mixed.csv", "--target", "kind", "--quality-neighbors", 5, "--json").json
    assert done["summary"].startswith("No better than chance")
    assert done["summary"].endswith(
        "in the same order? Both tables have a column 'name': match the rows by it with --id name."
    )
    assert done["warnings"] == [
        "table.csv and mixed.csv both have a column 'name', in a different order, but rows are matched by order; to "
        "match them by this column, add --id name"
    ]
    words = f"lowland evaluate {table} mixed.csv --id name --target kind --quality-neighbors 5 --out trust.csv"
    assert done["next"] == words
    right = run(*shlex.split(words)[1:], "--json").json
    assert not right["warnings"]
    assert (
        right["measures"]
        == run("evaluate", table, flat, "--target", "kind", "--quality-neighbors", 5, "--json").json["measures"]
    )
    mixed.drop("name").write_csv("bare.csv")
    bare = run("evaluate", table, "bare.csv", "--json").json
    assert bare["summary"].endswith("If both tables have a column of row identifiers, match the rows by it with --id.")
    rng = np.random.default_rng(0)
    noise = pl.read_csv(flat).with_columns(pca0=pl.Series(rng.normal(size=30)), pca1=pl.Series(rng.normal(size=30)))
    noise.write_csv("noise.csv")
    for words in ((), ("--id", "name")):
        found = run("evaluate", table, "noise.csv", *words, "--json").json
        assert not found["warnings"]
        assert found["summary"].endswith("The rows agree in column 'name', so the map does not represent these data.")


def test_the_next_commands_keep_what_was_asked(run: Run, table: Path, flat: Path) -> None:
    asked = "--drop a --target kind --quality-neighbors 4 --pre pca:2 --seed 3 --anchors 20"
    done = run("evaluate", table, flat, *asked.split(), "--json").json
    again = shlex.split(done["next"])
    assert again[-2:] == ["--out", "trust.csv"]
    for option, value in zip(asked.split()[::2], asked.split()[1::2], strict=True):
        assert again[again.index(option) + 1] == value
    assert run(*again[1:], "--json").json["measures"] == done["measures"]
    last = run("evaluate", table, flat, "--id", "name", *asked.split(), "--out", "trust.csv", "--json").json["next"]
    assert (
        last == f"lowland compare {table} --drop a --pre pca:2 --id name --target kind --quality-neighbors 4 --seed 3"
    )
    assert (
        run("evaluate", table, flat, "--columns", "a,b", "--id", "name", "--out", "trust.csv", "--json").json["next"]
        == f"lowland compare {table} --columns a,b --id name"
    )
    square = squareform(pdist(pl.read_csv(table).select("a", "b", "c").to_numpy()))
    np.save("D.npy", square)
    words = ("--metric", "precomputed", "--out", "trust.csv", "--json")
    assert run("evaluate", "D.npy", flat, *words).json["next"] == "lowland compare D.npy --metric precomputed"


def test_rows_are_called_by_their_line_unless_they_have_names(run: Run, table: Path, flat: Path) -> None:
    found = run("evaluate", table, flat, "--json").json["worst"]
    assert [point["name"] for point in found] == [f"line {point['number'] + 2}" for point in found]
    assert f"least trusted rows: line {found[0]['number'] + 2}, " in run("evaluate", table, flat).out
    named = run("evaluate", table, flat, "--id", "name", "--json").json["worst"]
    assert [point["name"] for point in named] == [f"row{point['number']}" for point in found]


def test_a_square_is_warned_of_once_and_in_json_also_before_a_first_step(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "D.npy", lowland.data.cities()[0])
    square = ("--method", "classical_mds", "--set", "metric=precomputed")
    assert run("reduce", "D.npy", *square, "--out", "map.csv").code == 0
    for words in ((), ("--pre", "pca:2")):
        told = run("evaluate", "D.npy", "map.csv", "--quality-neighbors", 4, *words, "--json").json["warnings"]
        assert told == [
            "D.npy looks like a distance matrix but is used as a table of rows and columns; if it is one, "
            "use --metric precomputed"
        ]


def test_a_gap_in_the_data_has_a_place_and_a_remedy_that_there_is(run: Run, flat: Path, frame: pl.DataFrame) -> None:
    frame.with_columns(b=pl.when(pl.col("name") == "row3").then(None).otherwise("b")).write_csv("gap.csv")
    done = run("evaluate", "gap.csv", flat)
    assert done.code == 3
    assert (
        "gap.csv, line 5, column 'b': missing value; fill such cells with --missing ppca (or median, mean)\n"
        in done.err
    )


def test_a_column_of_another_unit_leads_to_a_look_in_like_units(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.normal(size=(60, 4)) * [1, 1, 1, 500], schema=["a", "b", "c", "proline"])
    data, flat = tmp_path / "wine.csv", tmp_path / "map.csv"
    frame.write_csv(data)
    assert run("reduce", data, "--scale", "--out", flat).code == 0
    raw = run("evaluate", data, flat, "--json")
    assert "'proline' holds" in raw.err
    assert "use --scale" in raw.err
    assert raw.json["next"] == f"lowland evaluate {data} {flat} --scale --out trust.csv"
    scaled = run("evaluate", data, flat, "--scale", "--json")
    assert scaled.json["measures"] == run("evaluate", data, flat, "--metric", "seuclidean", "--json").json["measures"]
    assert run("evaluate", data, flat, "--scale", "--metric", "cosine").code == 2
    assert "proline" not in scaled.err
    Z = frame.to_numpy() / frame.to_numpy().std(axis=0, ddof=1)
    expected = quality.trustworthiness(Z, pl.read_csv(flat).to_numpy())
    assert scaled.json["measures"]["trustworthiness"]["value"] == pytest.approx(expected, abs=1e-12)
    assert raw.json["measures"]["trustworthiness"]["value"] < expected


def test_a_poor_map_leads_to_other_methods(run: Run, tmp_path: Path) -> None:
    t = np.linspace(0, 2 * np.pi, 80, endpoint=False)
    data, flat = tmp_path / "ring.csv", tmp_path / "line.csv"
    pl.DataFrame({"x": np.cos(t), "y": np.sin(t)}).write_csv(data)
    pl.DataFrame({"pca0": np.cos(t)}).write_csv(flat)
    assert run("evaluate", data, flat, "--json").json["next"] == f"lowland compare {data} --components 1"


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("m.csv", b"pca0,pca1\n1,2\n3,<0.5\n4,5\n", "m.csv, line 3, column 'pca1': '<0.5' is not a number; "),
        ("m.csv", b"pca0,pca1\n1,2\noops,0\n4,5\n", "m.csv, line 3, column 'pca0': 'oops' is not a number; "),
        ("m.csv", b"u,v\n1,2\n3,n.d.\n4,5\n", "m.csv, line 3, column 'v': 'n.d.' is not a number; "),
        ("m.csv", b"u,v\na,b\nb,c\n", "m.csv: no numeric column is left to reduce; left out: u (text), v (text); "),
        ("m.csv", b"pca0,pca1\n1,2\n# note\n4,5\n", "m.csv, line 3: "),
        ("m.odd", b"pca0,pca1\n1,2\n", "m.odd: Lowland cannot read this kind of file"),
    ],
)
def test_errors_in_the_map_do_not_name_options_of_the_data(
    run: Run, table: Path, name: str, content: bytes, problem: str
) -> None:
    Path(name).write_bytes(content)
    done = run("evaluate", table, name)
    assert done.code == 3
    assert problem in done.err
    advice = f"; correct the file {name} (the options for reading and columns apply to {table.name} only), or name "
    assert advice + "the columns of the coordinates with --x and --y\n" in done.err
    assert not any(option in done.err for option in ("--na", "--below", "--drop", "--categ", "--comment", "--format"))


def test_another_column_of_a_faulty_map_is_named_by_x_and_y(run: Run, table: Path, flat: Path) -> None:
    there = pl.read_csv(flat).select(u="pca0", v="pca1").with_columns(w=pl.Series(["1.5"] * 29 + ["n.d."]))
    there.write_csv("m.csv")
    assert "correct the file m.csv" in run("evaluate", table, "m.csv").err
    assert run("evaluate", table, "m.csv", "--x", "u", "--y", "v").code == 0
