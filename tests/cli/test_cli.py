"""The command line, run in the process: exit codes, JSON, help, messages that name the place."""

from __future__ import annotations

import gzip
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse

import lowland
from lowland.cli.app import COMMANDS, Command
from lowland.cli.document import document
from lowland.cli.progress import progress_bar
from lowland.contract.method_table import METHODS, abilities_of

Run = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[2]


# -- exit codes ---------------------------------------------------------------------------------------------


def test_success_is_0_and_says_what_was_found_and_what_next(run: Run, table: Path) -> None:
    done = run("reduce", table, "--out", "flat.csv")
    assert done.code == 0
    assert done.out == ""
    assert "PCA reduced 30 rows from 3 columns to 2 dimensions" in done.err
    assert "next: lowland reduce" in done.err


def test_failure_is_1(run: Run, table: Path) -> None:
    with lowland.config(memory_limit="10kB"):
        done = run("reduce", table, "--method", "isomap")
    assert done.code == 1
    assert "Isomap" in done.err
    assert "limit" in done.err
    assert "Traceback" not in done.err


def test_a_file_beyond_the_memory_limit_is_3(run: Run, table: Path) -> None:
    with lowland.config(memory_limit=1):
        done, streamed, blocks = run("compare", table), run("reduce", table), run("dimension", table)
    assert done.code == 3
    assert "reading table.csv would take" in done.err
    assert blocks.code == 0, blocks.err
    assert "table.csv is read in blocks: reading table.csv would take" in blocks.err
    assert streamed.code == 2  # it could be read in blocks, if there were a file to write
    assert "table.csv is read in blocks: reading table.csv would take" in streamed.err
    assert "add --out FILE" in streamed.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reduce"], "DATA"),
        (["reduce", "table.csv", "--colour", "kind"], "--colour"),
        (["compare", "table.csv", "--color", "kind"], "Did you mean --target?"),
        (["reduce", "table.csv", "--labels", "kind"], "Did you mean --color?"),
        (["redcue", "table.csv"], "reduce"),
        (["reduce", "table.csv", "--method", "pac"], "did you mean pca"),
        (["reduce", "table.csv", "--components", "many"], "--components must be"),
        (["reduce", "table.csv", "--set", "solver"], "key=value"),
        (["reduce", "table.csv", "--set", "solver=fast"], "solver"),
        (["reduce", "table.csv", "--set", "speed=9"], "no parameter 'speed'"),
        (["reduce", "table.csv", "--set", "solver=svd", "--set", "solver=gram"], "twice"),
        (["reduce", "table.csv", "--components", "2", "--set", "n_components=1"], "--components"),
        (["reduce", "table.csv", "--columns", "a,,b"], "--columns"),
        (["reduce", "table.csv", "--json"], "--out"),
        (["reduce", "table.csv", "--out", "flat.ods"], ".parquet"),
        (["reduce", "table.csv", "--out", "nowhere/flat.csv"], "folder 'nowhere' does not exist"),
        (["reduce", "table.csv", "--out", "table.csv"], "overwrite"),
        (["reduce", "table.csv", "--model", "model.npy"], "model.lowland"),
        (["reduce", "table.csv", "--report", "report.pdf"], ".html"),
        (["reduce", "table.csv", "--id", "name", "--out", "flat.npy"], "name"),
        (["methods", "pac"], "did you mean pca"),
    ],
)
def test_usage_is_2_and_writes_nothing(run: Run, table: Path, words: list[str], said: str) -> None:
    before = sorted(os.listdir())
    done = run(*words)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("name", ["LOWLAND_MEMORY_LIMIT", "LOWLAND_THREADS"])
def test_settings_that_cannot_be_read_are_2_and_help_still_comes(
    run: Run, table: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "plenty")
    done = run("info", table)
    assert done.code == 2
    assert done.err.startswith(f"error: {name}")
    assert run("info", "--help").code == 0


def test_missing_extra_is_4(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(self: object, X: object) -> None:
        raise lowland.MissingExtraError("this needs torch: pip install 'lowland[torch]'")

    monkeypatch.setattr(lowland.PCA, "fit_transform", absent)
    done = run("reduce", table)
    assert done.code == 4
    assert "pip install" in done.err


def test_interrupt_is_130_and_leaves_no_half_file(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pl.DataFrame, "write_csv", stop)
    done = run("reduce", table, "--out", "flat.csv")
    assert done.code == 130
    assert "interrupted" in done.err
    assert os.listdir() == ["table.csv"]


def test_unexpected_error_is_1_and_debug_shows_where(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, X: object) -> None:
        raise ZeroDivisionError("a slip")

    monkeypatch.setattr(lowland.PCA, "fit_transform", broken)
    plain = run("reduce", table)
    assert plain.code == 1
    assert "unexpected ZeroDivisionError: a slip" in plain.err
    assert "Traceback" not in plain.err
    assert "Traceback" in run("reduce", table, "--debug").err
    monkeypatch.setenv("LOWLAND_DEBUG", "1")
    assert "Traceback" in run("reduce", table).err


# -- bad data: 3, and the message names the place -----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n3,\n5,6\n", ["bad.csv, line 3, column 'b': missing value; fill such cells with --missing ppca"]),
        ("a,b\n1,2\n3,4\ninf,6\n", ["bad.csv, line 4, column 'a'", "infinity"]),
        ("a,b\n1,2\n3,4\n5,-inf\n", ["bad.csv, line 4, column 'b'", "infinity"]),
        ("a,b\n1,2\n3,4\n5,abc\n", ["bad.csv, line 4, column 'b'", "'abc'", "--drop b"]),
        ("a,b\n1,2\n3,4,5\n6,7\n", ["bad.csv", "line 3"]),
        ("", ["bad.csv", "empty"]),
        ("a,b\n", ["bad.csv", "no rows"]),
        ("a,b\nx,y\nz,w\n", ["bad.csv", "no numeric column", "a (text)"]),
        ("a\n1\n2\n4\n", ["bad.csv", "--components 2"]),
    ],
    ids=["nan", "inf", "-inf", "text", "ragged", "empty", "header only", "no numbers", "components"],
)
def test_bad_csv_is_3(run: Run, tmp_path: Path, text: str, said: list[str]) -> None:
    (tmp_path / "bad.csv").write_text(text)
    done = run("reduce", "bad.csv", "--out", "flat.csv")
    assert done.code == 3
    for part in said:
        assert part in done.err
    assert "Traceback" not in done.err
    assert os.listdir() == ["bad.csv"]


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.ones((3, 2), dtype=complex), "complex"),
        (np.array([[1, "a"], [2, "b"]], dtype=object), "object"),
        (np.ones((2, 3, 4)), "(2, 3, 4)"),
        (np.array([[1.0, 2.0], [np.nan, 1.0], [0.0, 4.0]]), "row 1, column 'x0'"),
    ],
    ids=["complex", "object", "3-D", "nan"],
)
def test_bad_array_is_3(run: Run, tmp_path: Path, array: np.ndarray, said: str) -> None:
    np.save(tmp_path / "bad.npy", array, allow_pickle=array.dtype == object)
    done = run("reduce", "bad.npy")
    assert done.code == 3
    assert "bad.npy" in done.err
    assert said in done.err


def test_missing_and_unreadable_files_are_3(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.docx").write_text("x")
    (tmp_path / "bad.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n")[:-6])
    (tmp_path / "bad.lowland").write_text("not a model")
    for words in (
        ["info", "absent.csv"],
        ["reduce", "notes.docx"],
        ["info", "bad.csv.gz"],
        ["info", "bad.lowland"],
    ):
        done = run(*words)
        assert done.code == 3, words
        assert words[1] in done.err


def test_a_bad_entry_of_a_sparse_matrix_is_placed(run: Run, tmp_path: Path) -> None:
    S = scipy.sparse.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, np.nan, 3.0], [4.0, 1.0, 0.0]]))
    scipy.sparse.save_npz(tmp_path / "s.npz", S)
    done = run("reduce", "s.npz", "--method", "truncated_svd")
    assert done.code == 3
    assert done.err.startswith("error: s.npz, row 1, column 'x1': missing value: ")


def test_wrong_column_name_lists_the_near_ones(run: Run, table: Path) -> None:
    for option in ("--columns", "--drop", "--color", "--id"):
        done = run("reduce", table, option, "kinds")
        assert done.code == 3
        assert "no column 'kinds'; did you mean 'kind'" in done.err


def test_too_many_components_is_3(run: Run, table: Path) -> None:
    done = run("reduce", table, "--components", 4)
    assert done.code == 3
    assert "table.csv" in done.err
    assert "4" in done.err
    assert "3" in done.err


# -- JSON, help and documentation ---------------------------------------------------------------------------


def test_json_has_the_documented_keys(run: Run, table: Path, model: Path) -> None:
    lines = {
        "dataset": ["dataset"],
        "info": ["info", table],
        "methods": ["methods"],
        "plan": ["plan", table],
        "dimension": ["dimension", table],
        "compare": ["compare", table, "--methods", "pca"],
        "evaluate": ["evaluate", table, "whole.csv"],
        "outliers": ["outliers", table],
        "reduce": ["reduce", table, "--out", "o.csv"],
        "transform": ["transform", model, table, "--out", "t.csv"],
        "inverse": ["inverse", model, "whole.csv", "--out", "i.csv"],
        "plot": ["plot", model, table, "--out", "p.png"],
        "correlations": ["correlations", table],
        "downstream": ["downstream", table, "--target", "kind"],
        "pagerank": ["pagerank", "edges.csv", "--out", "ranks.csv"],
        "hits": ["hits", "edges.csv", "--out", "hubs.csv"],
        "text index": ["text", "index", "notes.csv", "--out", "i.lowland"],
        "text search": ["text", "search", "i.lowland", "heat"],
        "text similar": ["text", "similar", "i.lowland", "0"],
        "text add": ["text", "add", "i.lowland", "notes.csv", "--out", "i2.lowland"],
        "text concepts": ["text", "concepts", "i.lowland"],
        "completion": ["completion", "bash"],
    }
    (table.parent / "edges.csv").write_text("from,to\na,b\nb,c\nc,a\na,c\n", encoding="utf-8")
    (table.parent / "notes.csv").write_text("note\nheat of a nose\nheat and wing\nwing and nose\n", encoding="utf-8")
    # the demo takes its time: test_cli_compare.py runs it once; test_cli_images.py runs the commands on images
    assert {*lines, "demo"} == {name for name in COMMANDS if not name.startswith("image ")}
    for name, words in lines.items():
        found = run(*words, "--json").json
        assert set(found) == {"command", *COMMANDS[name].json_keys(), "warnings", "summary", "next"}, name
        assert found["command"] == name
        assert found["next"].startswith("lowland ")


def test_json_of_a_failure_has_error_and_exit_code(run: Run) -> None:
    assert run("info", "absent.csv", "--json").json["exit_code"] == 3
    assert run("reduce", "--json").json["exit_code"] == 2


def test_every_next_command_of_a_chain_runs(run: Run, table: Path) -> None:
    command = run("info", table, "--json").json["next"]
    for _ in range(3):
        words = shlex.split(command)[1:]
        if "NEW.csv" in words:
            break
        done = run(*words)
        assert done.code == 0, command
        command = next(line for line in done.err.splitlines() if line.startswith("next: "))[6:]
    assert "transform" in command


def test_documentation_is_up_to_date() -> None:
    page = ROOT / "docs" / "cli.md"
    assert page.read_text(encoding="utf-8") == document(), "run: python -m lowland.cli.document docs/cli.md"


def test_help_and_version_exit_0(run: Run) -> None:
    for name in COMMANDS:
        done = run(*name.split(), "--help")
        assert done.code == 0
        assert "Example: lowland" in done.out
    assert run("--version").out.strip() == lowland.__version__


def _process(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    code = "import sys; from lowland.cli import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, **options)


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from lowland.cli import main; main(['--help']); "
        "heavy = {'numpy', 'sklearn', 'polars', 'matplotlib', 'scipy'} & set(sys.modules); "
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_the_list_of_methods_imports_none() -> None:
    code = (
        "import sys; from lowland.cli import main; main(['methods', '--json']); "
        "print('sklearn' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "False"
    assert {row["name"]: row["abilities"] for row in json.loads(done.stdout)["methods"]} == {
        row.name: sorted(abilities_of(row.load())) for row in METHODS
    }


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_summaries_are_the_first_lines_of_the_docstrings(command: Command) -> None:
    assert (command.load().__doc__ or "").splitlines()[0] == command.summary


def test_as_a_process_data_and_messages_are_apart(table: Path) -> None:
    done = _process("reduce", str(table), "--id", "name")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "name,pca0,pca1"
    assert len(done.stdout.splitlines()) == 31
    assert "to 2 dimensions" in done.stderr
    assert _process("reduce", "absent.csv").returncode == 3


def test_a_reader_that_leaves_is_141_without_noise(table: Path) -> None:
    code = "import sys; from lowland.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", code, "reduce", str(table), "--columns", "a,b"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141


def test_progress_shows_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    for terminal in (True, False):
        buffer = io.StringIO()
        console = Console(file=buffer, force_terminal=terminal, width=80)
        monkeypatch.setattr("lowland.cli.progress.stderr", lambda console=console: console)
        with progress_bar():
            lowland.settings.report_progress("rotating axes", 1, 2)
        assert ("rotating axes" in buffer.getvalue()) == terminal
        assert lowland.settings.current()["progress"] is None
