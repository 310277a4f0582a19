"""The whole chain in real processes: the command that `info` proposes, then the one that it proposes for new rows."""

from __future__ import annotations

import datetime as dt
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from sklearn.datasets import load_wine

from lowland.cli import main
from patients import make_patients
from sample_tables import connections, flights, lit_bumps

N_NEW, ODD = 20, 3  # new rows, and the number of the one that is unlike all others
FLIGHT_COLUMNS = ["hour", "minute", "sched_dep_time", "dep_time", "dep_delay", "arr_delay", "air_time", "distance"]
SUBJECTS = [
    ["shock", "heat", "nose", "blunt", "hypersonic", "flow", "temperature"],
    ["panel", "buckling", "plate", "stress", "load", "shell", "cylinder"],
    ["wing", "lift", "flutter", "aspect", "ratio", "angle", "slender"],
]


def laboratory() -> pl.DataFrame:
    """Units, gaps, categories, codes, dates, and identifiers."""
    frame = make_patients(120)
    diagnosis = np.where(frame["crp"] > 2, "acute", np.where(frame["age"] > 50, "chronic", "none"))
    return frame.with_columns(pl.format("P{}", pl.col("id")).alias("id"), pl.Series("diagnosis", diagnosis))


def flown() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    n = 220
    frame = pl.DataFrame(flights(n)[:, :8], schema=FLIGHT_COLUMNS).fill_nan(None)
    days = [dt.date(2013, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 365, n)]
    origin, carrier = rng.choice(["EWR", "JFK", "LGA"], n), rng.choice(["AA", "B6", "DL", "UA"], n)
    return frame.with_columns(pl.Series("date", days), pl.Series("carrier", carrier), pl.Series("origin", origin))


def connected() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    n = 320
    frame = pl.DataFrame(connections(n).astype(np.float64), schema=[f"count_{j}" for j in range(38)])
    words = {"protocol_type": ["icmp", "tcp", "udp"], "flag": ["REJ", "S0", "SF"], "label": ["normal", "smurf"]}
    words["service"] = ["dns", "eco", "ftp", "http", "smtp"]
    return frame.with_columns(pl.Series(name, rng.choice(levels, n)) for name, levels in words.items())


def wine() -> pl.DataFrame:
    frame = pl.from_pandas(load_wine(as_frame=True).frame)
    return frame.sample(fraction=1.0, shuffle=True, seed=0)


def genes(n_genes: int) -> Callable[[], pl.DataFrame]:
    """Return samples of expression: factors of a few genes each, and levels of genes over four decades."""

    def make() -> pl.DataFrame:
        rng = np.random.default_rng(3)
        n = 60 + N_NEW
        factors = rng.standard_normal((n, 3)) @ rng.standard_normal((3, n_genes))
        levels = np.exp(0.5 * factors + 0.3 * rng.standard_normal((n, n_genes)) + rng.uniform(0, 8, n_genes))
        frame = pl.DataFrame(levels.round(3), schema=[f"ENSG{j:05d}" for j in range(n_genes)])
        tissue = pl.Series("tissue", ["liver", "lung"] * (n // 2))
        return frame.select(pl.format("S{}", pl.int_range(n)).alias("sample"), tissue, pl.all())

    return make


def abstracts() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    n = 100
    kinds = rng.integers(0, 3, n)
    texts = [f"the {' and '.join(rng.choice(SUBJECTS[kind], 8))} of a {SUBJECTS[kind][0]}" for kind in kinds]
    return pl.DataFrame({"number": range(1, n + 1), "abstract": texts, "author": ["N. N."] * n})


def cell(column: str, value: float) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return a function that makes one row odd."""
    values = pl.when(pl.int_range(pl.len()) == ODD).then(value).otherwise(column)
    return lambda frame: frame.with_columns(values.alias(column))


def of_another_tissue(frame: pl.DataFrame) -> pl.DataFrame:
    """Give one sample the levels of other genes."""
    numbers = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    turned = frame.select(pl.col(numbers)).select(numbers[::-1]).rename(dict(zip(numbers[::-1], numbers, strict=True)))
    keep = pl.int_range(pl.len()) != ODD
    return frame.with_columns(pl.when(keep).then(pl.col(name)).otherwise(turned[name]).alias(name) for name in numbers)


def of_unknown_words(frame: pl.DataFrame) -> pl.DataFrame:
    odd = pl.int_range(pl.len()) == ODD
    return frame.with_columns(abstract=pl.when(odd).then(pl.lit("rabbits eat carrots at night")).otherwise("abstract"))


@dataclass
class Case:
    """A table, what makes a row of it odd, the options that `info` must propose, and others that are added."""

    make: Callable[[], pl.DataFrame]
    odd: Callable[[pl.DataFrame], pl.DataFrame]
    proposed: str
    column: str | None = None  # that makes the row odd
    more: str = ""


FLIGHTS = "--method famd --missing ppca --color carrier"
GENES = "--transform log1p=all --id sample --color tissue"
CASES = {
    "laboratory": Case(laboratory, cell("age", 400), "--method famd --missing ppca --id id --color diagnosis", "age"),
    "flights": Case(flown, cell("distance", 60_000), FLIGHTS, "distance"),
    "connections": Case(
        connected, cell("count_9", 1e12), "--method famd --transform log1p=all --color label", "count_9"
    ),
    "wine": Case(wine, cell("ash", 30), "--scale --color target", "ash"),
    "genes": Case(genes(300), of_another_tissue, GENES),
    "texts": Case(abstracts, of_unknown_words, "--text abstract --texts tfidf --method tsne --id number"),
}
MORE_CASES = {
    "flights with dates": Case(flown, cell("distance", 60_000), FLIGHTS, "distance", "--dates cyclic"),
    "6000 genes": Case(genes(6000), of_another_tissue, GENES),
}
Run = Callable[[str], str]


def in_new_process(command: str) -> str:
    """Run a command line; return what it wrote to stderr."""
    words = shlex.split(command)
    assert words[0] == "lowland"
    call = [sys.executable, "-m", "lowland", *words[1:]]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture
def in_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def run(command: str) -> str:
        code, err = main(shlex.split(command)[1:]), capsys.readouterr().err
        assert code == 0, err
        return err

    return run


def chain(run: Run, old: str, new: str, expected: str, more: str = "") -> tuple[pl.DataFrame, str]:
    """Follow the proposals from a table to new rows, the last one in a new process.

    Returns the map of the table and the command for the new rows.
    """
    command = run(f"lowland info {old}").rpartition("next: ")[2].strip()
    words = shlex.split(command)
    assert set(shlex.split(expected)) <= set(words), command
    following = run(f"{command} {more}").rpartition("next: ")[2].strip()
    stem = old.partition(".")[0]
    page = Path(f"{stem}.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert page.rstrip().endswith("</html>")
    assert "--flag" in shlex.split(following)
    following = re.sub(r"\bNEW(\.csv)?(?= )", new, following)
    in_new_process(following)
    first, placed = pl.read_csv(f"{stem}-map.csv"), pl.read_csv("new-map.csv")
    for flag in {"--id", "--color"} & set(words):
        assert words[words.index(flag) + 1] in first.columns
    coordinates = first.columns[-2:]
    for table in (first, placed):
        assert table.select(pl.col(coordinates).is_finite().all()).row(0) == (True, True)
    assert placed.height == N_NEW
    novel = placed["novel"].to_list()
    assert novel[ODD] == 1
    assert sum(novel) <= 5  # most rows are like the others
    return first, following


def check(run: Run, case: Case) -> None:
    table = case.make()
    old, new = table[:-N_NEW], case.odd(table[-N_NEW:])
    old.write_csv("table.csv")
    new.write_csv("ordered.csv")
    shuffled = np.random.default_rng(5).permutation(new.columns).tolist()
    assert shuffled != new.columns
    new.select(shuffled).write_csv("late.csv")
    first, command = chain(run, "table.csv", "late.csv", case.proposed, case.more)
    assert first.height == old.height
    placed = pl.read_csv("new-map.csv")
    if case.column is not None:
        assert placed["unusual"][ODD].startswith(case.column)
    run(command.replace("late.csv", "ordered.csv"))
    assert pl.read_csv("new-map.csv").equals(placed, null_equal=True)  # the order of the columns does not matter


@pytest.mark.parametrize("name", CASES)
def test_a_table_goes_from_info_to_new_rows(name: str, in_this_process: Run) -> None:
    check(in_this_process, CASES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, *MORE_CASES])
def test_every_command_in_a_process_of_its_own(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(in_new_process, (CASES | MORE_CASES)[name])


def test_a_folder_of_images_goes_from_info_to_new_images(in_this_process: Run) -> None:
    X, _ = lit_bumps(70 + N_NEW)
    pixels = (255 * (X - X.min()) / np.ptp(X)).astype(np.uint8).reshape(-1, 24, 24)
    pixels[70 + ODD] = np.random.default_rng(0).integers(0, 256, (24, 24))  # noise
    names = [f"{'old' if i < 70 else 'late'}/person{i % 2 if i < 70 else 0}/{i:03d}.png" for i in range(len(pixels))]
    for name, image in zip(names, pixels, strict=True):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(name)
    first, _ = chain(in_this_process, "old", "late", "--id file --color folder")
    assert first["folder"].value_counts().sort("folder")["count"].to_list() == [35, 35]
    placed = pl.read_csv("new-map.csv")
    assert placed["file"].to_list() == [name.removeprefix("late/") for name in names[70:]]
