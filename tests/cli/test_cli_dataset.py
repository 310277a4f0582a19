"""`lowland dataset`: the list, files that other commands read, parameters, and wrong calls."""

from __future__ import annotations

import io
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.cli.dataset import KEYS
from lowland.data import list_datasets, load_dataset
from lowland.data.catalogue import loading

QUICK = ("smith", "terms", "cities", "iris", "circle", "spheres", "swiss_roll", "hidden_classes")


def test_without_a_name_all_are_listed(run: Any) -> None:
    done = run("dataset")
    assert done.code == 0
    for row in list_datasets():
        assert f"\n{row.name} " in f"\n{done.out}"
        assert row.kind in done.out
    assert "downloaded once" in done.err
    listed = json.loads(run("dataset", "--json").out)["datasets"]
    assert [row["name"] for row in listed] == [row.name for row in list_datasets()]
    assert listed[0]["shows"] == list_datasets()[0].shows
    assert listed[-1]["files"][0]["checksum"].startswith("md5:")


@pytest.mark.parametrize("name", QUICK)
def test_a_set_is_written_and_the_next_command_runs(name: str, run: Any) -> None:
    done = run("dataset", name, "--out", f"{name}.csv", "--json")
    assert done.code == 0
    told = json.loads(done.out)
    table = load_dataset(name)
    assert set(told) == {"command", *KEYS, "warnings", "summary", "next"}
    assert [row["name"] for row in told["datasets"]] == [name]
    assert told["rows"] == table.n_rows
    assert told["columns"] == table.names
    frame = pl.read_csv(f"{name}.csv")
    assert frame.columns == [*table.aside.columns, *table.names]
    words = shlex.split(told["next"])
    assert words[:3] == ["lowland", "reduce", f"{name}.csv"]
    assert run(*words[1:], "--model", "m.lowland").code == 0
    model = lowland.load("m.lowland")
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    assert last.n_features_in_ == table.n_columns  # labels and true coordinates are not reduced


def test_standard_output_is_the_table(run: Any) -> None:
    done = run("dataset", "smith")
    assert pl.read_csv(io.StringIO(done.out)).to_numpy().tolist() == load_dataset("smith").X.tolist()
    assert "L. I. Smith" in done.err


def test_parameters_are_told_and_kept_in_the_next_command(run: Any) -> None:
    done = run("dataset", "swiss_roll", "--set", "n=5", "--set", "noise=0.1")
    assert "Parameters: n=5, noise=0.1, random_state=0." in done.err
    assert "next: lowland dataset swiss_roll --set n=5 --set noise=0.1 --out swiss_roll.csv" in done.err


def test_parameters_are_typed(run: Any) -> None:
    assert (
        run(
            "dataset", "spheres", "--set", "n=30", "--set", "radii=1,2,3", "--set", "random-state=4", "-o", "s.npz"
        ).code
        == 0
    )
    table = lowland.data.read("s.npz")
    np.testing.assert_array_equal(table.X, load_dataset("spheres", n=30, radii=(1, 2, 3), random_state=4).X)
    assert run("dataset", "circle", "--set", "eigenvalues=none", "-o", "c.csv").code == 0
    assert run("dataset", "cities", "--set", "part=places", "-o", "p.csv").code == 0
    assert pl.read_csv("p.csv").columns == ["city", "north", "east"]


def test_images_go_to_a_folder(run: Any) -> None:
    done = run("dataset", "digits", "--out", "digits")
    assert done.code == 0
    assert len(list(Path("digits").rglob("*.png"))) == 1797
    assert "lowland reduce digits --method umap" in done.err


def test_what_a_format_cannot_store_is_told(run: Any) -> None:
    done = run("dataset", "iris", "--out", "iris.npy")
    assert done.code == 0
    assert "left out: species" in done.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["swisroll"], 2, "did you mean 'swiss_roll'"),
        (["smith", "--set", "n=5"], 2, "smith has no such parameter; it has no parameters"),
        (["swiss_roll", "--set", "nose=5"], 2, "Did you mean noise?"),
        (["swiss_roll", "--set", "n"], 2, "write it as key=value"),
        (["swiss_roll", "--set", "n=5", "--set", "n=6"], 2, "--set n is given twice"),
        (["swiss_roll", "--set", "n=0"], 3, "n must be a whole number of at least 1"),
        (["swiss_roll", "--set", "noise=loud"], 3, "cannot be generated with noise='loud'"),
        (["cities", "--set", "part=roads"], 3, "--set part=roads must be distances or places"),
        (["smith", "--out", "a.docx"], 2, "--out a.docx"),
        (["smith", "--out", "folder"], 2, "only images and texts are written to a folder"),
        (["smith", "--out", "no/a.csv"], 2, "does not exist"),
        (["smith", "--json"], 2, "add --out FILE"),
        (["--out", "a.csv"], 2, "name a data set"),
        (["smith", "--n-neighbors", "5"], 2, "unknown option --n-neighbors"),
    ],
    ids=[str(i) for i in range(14)],
)
def test_wrong_calls(words: list[str], code: int, message: str, run: Any) -> None:
    done = run("dataset", *words)
    assert done.code == code
    assert message in done.err
    assert list(Path().iterdir()) == []


def test_without_a_network_the_command_says_where_to_put_the_file(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def offline(*_: object, **__: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.setattr("urllib.request.urlopen", offline)
    monkeypatch.setenv("LOWLAND_DATA", str(tmp_path / "data"))
    done = run("dataset", "letter", "--out", "letter.csv")
    assert done.code == 3
    for word in (str(tmp_path / "data" / "letter-recognition.data"), "2b89f3602cf768d3", "archive.ics.uci.edu"):
        assert word in done.err
    assert not Path("letter.csv").exists()


def test_a_download_that_is_there_is_used(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import hashlib
    from dataclasses import replace

    content = b"T,2,8,3,5,1,8,13,0,6,6,10,8,0,8,0,8\n" * 3
    row = loading.find_dataset("letter")
    file = replace(row.files[0], checksum=f"sha256:{hashlib.sha256(content).hexdigest()}")
    monkeypatch.setattr(loading, "DATASETS", (replace(row, files=(file,)),))
    monkeypatch.setenv("LOWLAND_DATA", str(tmp_path))
    (tmp_path / file.name).write_bytes(content)
    done = run("dataset", "letter", "--out", "letter.csv")
    assert done.code == 0
    assert "lowland reduce letter.csv --color letter" in done.err
    assert pl.read_csv("letter.csv")["letter"].to_list() == ["T"] * 3
