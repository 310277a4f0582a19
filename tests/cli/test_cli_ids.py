"""`--id`: identifiers are kept as they are written, in memory and in blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lowland

CODES = ["001", "002", "010", "1", *(f"{i:03d}" for i in range(11, 37))]
DIGITS = [f"401234500000000{i:05d}" for i in range(30)]
PLAIN = [str(i) for i in range(500, 530)]


def write(name: str, ids: list[str], rows: list[int] | None = None) -> Path:
    X = np.random.default_rng(0).standard_normal((30, 3)) * [3, 2, 1]
    lines = [f"{ids[i]},{','.join(f'{x:.4f}' for x in X[i])}" for i in (range(30) if rows is None else rows)]
    Path(name).write_text("\n".join(["id,a,b,c", *lines]) + "\n")
    return Path(name)


def first_cells(name: str) -> list[str]:
    return [line.split(",")[0] for line in Path(name).read_text().splitlines()[1:]]


@pytest.mark.parametrize("ids", [CODES, DIGITS, PLAIN], ids=["zeros", "digits", "plain"])
def test_identifiers_are_kept_as_they_are_written(run: Any, ids: list[str]) -> None:
    table = write("t.csv", ids)
    words = ("reduce", table, "--id", "id")
    assert run(*words, "-o", "map.csv", "--model", "m.lowland").code == 0
    assert first_cells("map.csv") == ids
    assert run(*words, "-o", "blocks.csv", "--stream").code == 0
    assert Path("blocks.csv").read_text() == Path("map.csv").read_text()
    assert run("transform", "m.lowland", table, "--id", "id", "-o", "new.csv").code == 0
    assert first_cells("new.csv") == ids
    assert run("transform", "m.lowland", table, "--id", "id", "-o", "new-blocks.csv", "--stream").code == 0
    assert first_cells("new-blocks.csv") == ids
    assert run("inverse", "m.lowland", "map.csv", "--id", "id", "-o", "back.csv").code == 0
    assert first_cells("back.csv") == ids
    assert run(*words, "--supplementary-rows", table, "-o", "both.csv").code == 0
    assert first_cells("both.csv") == ids + ids
    assert run("outliers", table, "--id", "id", "--keep", "kept.csv").code == 0
    assert set(first_cells("kept.csv")) <= set(ids)
    for more in ((), ("--stream",)):
        assert run("evaluate", table, "map.csv", "--id", "id", "-o", "trust.csv", *more).code == 0
        assert {"id", *ids} <= set(Path("trust.csv").read_text().replace("\n", ",").split(","))


@pytest.mark.parametrize("ids", [CODES, DIGITS], ids=["zeros", "digits"])
def test_rows_are_matched_by_identifiers_as_they_are_written(run: Any, ids: list[str]) -> None:
    table, order = write("t.csv", ids), list(range(29, -1, -1))
    assert run("reduce", table, "--id", "id", "-o", "old.csv").code == 0
    again = write("again.csv", ids, order)
    done = run("reduce", again, "--id", "id", "--align-to", "old.csv", "-o", "new.csv", "--json")
    assert done.json["alignment"]["shared_rows"] == 30
    assert done.json["alignment"]["error"] < 1e-6
    assert first_cells("new.csv") == [ids[i] for i in order]
    found = run("evaluate", again, "old.csv", "--id", "id", "--json").json
    straight = run("evaluate", table, "old.csv", "--id", "id", "--json").json
    assert found["measures"]["trustworthiness"] == pytest.approx(straight["measures"]["trustworthiness"])


def test_an_identifier_that_is_also_reduced_stays_a_number(run: Any) -> None:
    write("t.csv", [f"0{i}.5" for i in range(10, 40)])
    assert run("reduce", "t.csv", "-o", "map.csv", "--model", "m.lowland").code == 0
    done = run("transform", "m.lowland", "t.csv", "--id", "id", "-o", "new.csv")
    assert done.code == 0, done.err


def test_info_calls_codes_identifiers(run: Any) -> None:
    write("t.csv", CODES)
    done = run("info", "t.csv", "--json").json
    assert done["contents"]["identifiers"] == ["id"]
    assert "--id id" in done["next"]
    write("many.csv", DIGITS)
    table = lowland.data.read("many.csv")
    assert table.kinds()["id"].kind == "id"
    assert "id" not in lowland.data.inspect_table(table).constant
    write("twice.csv", CODES[:15] * 2)
    assert lowland.data.read("twice.csv").kinds()["id"].kind == "number"


def test_a_text_column_is_copied_from_blocks_beside_dropped_columns(run: Any) -> None:
    write("t.csv", [f"r{i}" for i in range(30)])
    assert run("reduce", "t.csv", "--id", "id", "--drop", "c", "--stream", "-o", "map.csv").code == 0
    assert first_cells("map.csv")[:2] == ["r0", "r1"]


def test_names_that_a_table_lacks_are_an_error_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("t.csv", CODES)
    with pytest.raises(lowland.DataError, match="no column 'key'"):
        lowland.data.read("t.csv", names=["key"])
    with pytest.raises(lowland.DataError, match="no column 'key'"):
        lowland.data.scan("t.csv", names=["key"])
    frame = next(iter(lowland.data.scan("t.csv", names=["id"]).frames()))
    assert frame["id"].to_list() == CODES


@pytest.mark.parametrize("steps", [[], ["--missing", "mean"]], ids=["plain", "steps"])
def test_an_identifier_that_is_reduced_is_told(run: Any, steps: list[str]) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=30), "patient_id": rng.permutation(30) + 700, "b": rng.normal(size=30)})
    frame.write_csv("t.csv")
    said = "column 'patient_id' looks like an identifier and is reduced like the other columns"
    first = run("reduce", "t.csv", *steps, "--out", "m.csv")
    assert (first.code, said in first.err, "add --id patient_id" in first.err) == (0, True, True)
    for words in (["--id", "patient_id"], ["--drop", "patient_id"], ["--columns", "a,b"]):
        assert said not in run("reduce", "t.csv", *steps, *words, "--out", "m.csv").err


@pytest.mark.parametrize("more", [(), ("--stream",)], ids=["memory", "blocks"])
@pytest.mark.parametrize("data", ["t.csv", "plain.csv"], ids=["both have them", "only the map has them"])
def test_the_worst_rows_are_called_by_identifiers_of_either_table(run: Any, data: str, more: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.standard_normal((60, 4)), schema=list("abcd"), orient="row")
    frame.write_csv("plain.csv")
    frame.insert_column(0, pl.Series("id", [f"s{i:03d}" for i in range(60)])).write_csv("t.csv")
    assert run("reduce", "t.csv", "--id", "id", "-o", "map.csv").code == 0
    done = run("evaluate", data, "map.csv", "--id", "id", "-o", "trust.csv", "--json", *more)
    assert done.code == 0, done.err
    assert [row["name"] for row in done.json["worst"]] == [f"s{row['number']:03d}" for row in done.json["worst"]]
    if data == "t.csv" or not more:
        assert pl.read_csv("trust.csv")["id"][7] == "s007"
