"""Commands that answers propose work as printed, and repeat how the rows were read."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from lowland import modelfile


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a table that can only be read with options: its cells are separated by |, and - is a missing value."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = ["no|class|a|b|c"]
    for i in range(60):
        a, b, c = rng.normal(3 * (i % 3), 1, 3)
        rows.append(f"{i * 7 + 3:03d}|{1 + i % 3}|{a:.3f}|{b:.3f}|{'-' if i == 5 else f'{c:.3f}'}".replace(".", ","))
    Path("lab.txt").write_text("\n".join(rows) + "\n")
    return Path("lab.txt")


READING = ("--sep", "pipe", "--decimal", ",", "--na", "-")


def test_each_next_command_works_and_repeats_the_reading_options(run: Any, lab: Path) -> None:
    command = ["info", str(lab), *READING]
    done = []
    for _ in range(4):
        answer = run(*command)
        assert answer.code == 0, (command, answer.err)
        following = re.search(r"next: (.*)", answer.err)
        assert following is not None
        assert "--sep pipe --decimal , --na -" in following[1], following[1]
        command = shlex.split(following[1])[1:]
        done.append(command[0])
        if command[0] == "transform":
            break
    assert done == ["reduce", "transform"]
    assert command == shlex.split(
        "transform lab.lowland NEW.txt --sep pipe --decimal , --na - --id no --color class --flag --out new-map.csv"
    )
    assert run("info", "lab.lowland").err.splitlines()[-1] == f"next: lowland {shlex.join(command)}"
    Path("NEW.txt").write_bytes(lab.read_bytes())
    assert run(*command).code == 0
    new, old = pl.read_csv("new-map.csv"), pl.read_csv("lab-map.csv")
    assert new.select(old.columns).equals(old)


def test_model_files_without_such_rows_propose_a_plain_command(run: Any, tmp_path: Path) -> None:
    import lowland

    model = lowland.PCA(2).fit(np.random.default_rng(0).normal(size=(20, 4)))
    lowland.save(model, tmp_path / "m.lowland")
    assert modelfile.describe(tmp_path / "m.lowland")["new_rows"] is None
    assert "m.lowland NEW.csv --out new-map.csv" in run("info", tmp_path / "m.lowland").err
    with pytest.raises(lowland.ModelFileError, match="new_rows are not a file and options"):
        lowland.save(model, tmp_path / "m.lowland", new_rows={"file": "NEW.csv", "options": {"a b": {}}})
    lowland.save(model, tmp_path / "n.lowland", new_rows={"file": "NEW.csv", "options": {"na": ["-"]}})
    assert np.array_equal(lowland.load(tmp_path / "n.lowland").components_, model.components_)


@pytest.mark.parametrize("command", ["reduce", "dimension", "outliers", "correlations", "compare", "plan"])
def test_every_command_notes_a_coded_label(run: Any, lab: Path, command: str) -> None:
    more = ("--budget", "5s", "--methods", "pca") if command == "compare" else ()
    table = pl.read_csv(lab, separator="|").select("class", pl.col("a", "b").str.replace(",", ".").cast(float))
    table.write_csv("lab.csv")
    err = run(command, "lab.csv", *more).err
    assert err.count("column 'class' (3 different values) looks like a coded label") == 1
    option = {"reduce": "--color", "plan": "--color", "compare": "--target"}.get(command, "--drop")
    assert f"add {option} class to leave it out" in err
    if command != "plan":
        assert "coded label" not in run(command, "lab.csv", option, "class", *more).err
        assert "coded label" not in run(command, "lab.csv", "--columns", "class,a,b", *more).err


def test_keys_of_folders_are_left_out_and_colour(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for month in (1, 2):
        Path(f"parts/month={month}").mkdir(parents=True)
        frame = pl.DataFrame({"a": rng.normal(size=30), "b": rng.normal(size=30), "c": rng.normal(size=30)})
        frame.write_parquet(f"parts/month={month}/part.parquet")
    told = run("info", "parts", "--json").json
    assert "month" not in told["contents"]["types"]
    for out, more in (("whole.csv", ()), ("blocks.csv", ("--stream",))):
        answer = run("reduce", "parts", "--color", "month", "--out", out, "--json", *more)
        assert answer.code == 0, answer.err
        assert answer.json["columns"] == ["a", "b", "c"]
        assert "month: keys of the folders, which are not reduced" in answer.err
        assert ("--stream" in answer.json["next"]) == bool(more)
    assert Path("whole.csv").read_text() == Path("blocks.csv").read_text()
    assert pl.read_csv("whole.csv")["month"].to_list() == [1] * 30 + [2] * 30
    assert run("reduce", "parts", "--columns", "month,a,b", "--scale", "--json", "--out", "k.csv").json["columns"] == [
        "month",
        "a",
        "b",
    ]


def test_compare_speaks_of_options(run: Any, lab: Path) -> None:
    words = ("compare", lab, *READING, "--id", "no", "--missing", "mean", "--target", "class", "--scale")
    done = run(*words, "--methods", "pca,isomap", "--budget", "20s", "--report", "c.html", "--record", "r.json")
    assert done.code == 0, done.err
    assert "seuclidean" not in done.err.rpartition("next:")[0]
    assert "seuclidean" not in done.out
    page = Path("c.html").read_text(encoding="utf-8")
    shown = re.sub(r"<script.*?</script>|<details.*?</details>", "", page, flags=re.DOTALL)
    assert "lowland.compare(" not in shown
    assert "--again r.json" in re.sub(r"<[^>]+>", "", shown)
    assert json.loads(Path("r.json").read_text())["settings"]["metric"] == "seuclidean"
