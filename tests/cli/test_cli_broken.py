"""Broken files through the commands: a message and exit code 3, or whole output files; never a traceback.

The quick cases are a share of the full count, which `make test-slow` runs.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from PIL import Image

import lowland
from broken_files import CORPUS, any_bytes, any_text, damage, reading_options, whole_files
from lowland.cli import main
from modelfile_forging import put_together, take_apart

AMOUNTS = [pytest.param(1, id="quick"), pytest.param(14, id="full", marks=pytest.mark.slow)]
COMMANDS = st.sampled_from(["info", "reduce", "transform"])
HANG = 60  # seconds after which a command counts as hanging; each takes well under one
STEPS = ("--missing", "mean", "--categories", "one-hot", "--scale")


def fuzz(examples: int) -> Any:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


class HangError(BaseException):
    """A command took too long; the commands catch no BaseException."""


@contextlib.contextmanager
def ends() -> Iterator[None]:
    """Raise where the block takes too long."""

    def late(*_: Any) -> None:
        raise HangError(f"the command took more than {HANG} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(HANG)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


Outcome = tuple[int, str, str]


def in_process(words: list[str]) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), ends():
        code = main(words)
    return code, out.getvalue(), err.getvalue()


def in_new_process(words: list[str]) -> Outcome:
    done = subprocess.run(
        [sys.executable, "-m", "lowland", *words], capture_output=True, text=True, timeout=HANG, check=False
    )
    return done.returncode, done.stdout, done.stderr


class Trial:
    """A folder with a model, and one command at a time on a file in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0
        (folder / "whole.csv").write_bytes(whole_files()[".csv"])
        self.model = folder / "whole.lowland"
        words = ["reduce", str(folder / "whole.csv"), *STEPS, "-o", str(folder / "map.csv"), "--model", str(self.model)]
        assert in_process(words)[0] == 0

    def file(self, name: str, content: bytes) -> Path:
        folder = self.folder / "in"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / name).write_bytes(content)
        return folder / name

    def run(
        self,
        command: str,
        path: Path,
        *options: str,
        call: Callable[[list[str]], Outcome] = in_process,
        codes: tuple[int, ...] = (0, 3),
    ) -> int:
        """Run a command; it must answer with whole files, or with a message, a code and no files."""
        self.count += 1
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        files = {
            "info": {},
            "reduce": {"-o": out / "map.csv", "--model": out / "m.lowland", "--report": out / "r.html"},
            "transform": {"-o": out / "map.csv"},
        }[command]
        if "--report" in files and self.count % 5:
            del files["--report"]  # a page takes longest, and most errors come before it
        words = [command, *([str(self.model)] if command == "transform" else []), str(path), *options]
        words += [word for option, file in files.items() for word in (option, str(file))]
        code, stdout, stderr = call(words)
        text = f"{words}\n{stdout}\n{stderr}"
        assert code in codes, text
        assert "Traceback" not in stderr, text
        assert "error: unexpected" not in stderr, text
        assert stderr.strip(), text
        if code:
            assert "error: " in stderr, text
            assert "\n" not in stderr.partition("error: ")[2].strip(), text  # one line, not another library's essay
            assert not stdout, text
            assert os.listdir(out) == [], text
        else:
            assert sorted(os.listdir(out)) == sorted(file.name for file in files.values()), text
            if files:
                self.read_back(files)
        return code

    def read_back(self, files: dict[str, Path]) -> None:
        coordinates = lowland.data.read(files["-o"], header=True)
        assert coordinates.n_rows > 0
        if "--model" in files:
            lowland.load(files["--model"])
        if "--report" in files:
            assert files["--report"].read_text(encoding="utf-8").rstrip().endswith("</html>")


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return Trial(tmp_path_factory.mktemp("broken"))


@pytest.mark.parametrize("times", AMOUNTS)
def test_damaged_files_of_every_format(trial: Trial, times: int) -> None:
    whole = whole_files()

    @fuzz(60 * times)
    @given(data=st.data(), command=COMMANDS)
    def check(data: st.DataObject, command: str) -> None:
        ending = data.draw(st.sampled_from(sorted(whole)))
        trial.run(command, trial.file(f"t{ending}", data.draw(damage(whole[ending]))))

    check()


@pytest.mark.parametrize("times", AMOUNTS)
def test_any_bytes_under_any_name(trial: Trial, times: int) -> None:
    @fuzz(30 * times)
    @given(file=any_bytes, command=COMMANDS)
    def check(file: tuple[str, bytes], command: str) -> None:
        ending, content = file
        trial.run(command, trial.file(f"t{ending}", content))

    check()


@pytest.mark.parametrize("times", AMOUNTS)
def test_any_text_with_any_options(trial: Trial, times: int) -> None:
    @fuzz(45 * times)
    @given(file=any_text(), options=reading_options, command=COMMANDS, steps=st.booleans())
    def check(file: tuple[str, bytes], options: dict[str, Any], command: str, steps: bool) -> None:
        ending, content = file
        words = [] if not steps or command != "reduce" else list(STEPS)
        for name, value in options.items():
            flag = f"--{name.replace('_', '-')}"
            if name == "header":
                words.append(flag if value else "--no-header")
            elif name != "na" or value:
                words.append(f"{flag}={','.join(value) if name == 'na' else value}")
        trial.run(command, trial.file(f"t{ending}", content), *words)

    check()


@pytest.mark.parametrize("times", AMOUNTS)
def test_damaged_models(trial: Trial, times: int) -> None:
    """Damage is found by the checksum, also where the checksum was made to fit by the one who did it."""
    whole = trial.model.read_bytes()
    header, _, body = take_apart(whole)
    record = header["__metadata__"]["lowland"].encode()
    table = trial.folder / "whole.csv"

    @fuzz(12 * times)
    @given(data=st.data(), command=st.sampled_from(["info", "transform"]), sealed=st.booleans())
    def check(data: st.DataObject, command: str, sealed: bool) -> None:
        if sealed:
            text = data.draw(damage(record)).decode("utf-8", errors="replace")
            content = put_together({**header, "__metadata__": {"lowland": text, "sha256": "0" * 64}}, body)
        else:
            content = data.draw(damage(whole))
        path = trial.file("m.lowland", content)
        if command == "info":
            trial.run("info", path)
            return
        kept, trial.model = trial.model, path
        try:
            trial.run("transform", table)
        finally:
            trial.model = kept

    check()


@pytest.mark.parametrize("times", AMOUNTS)
def test_damaged_images(trial: Trial, times: int) -> None:
    @fuzz(8 * times)
    @given(data=st.data(), command=COMMANDS, kind=st.sampled_from(["png", "gif", "bmp", "jpeg", "tiff"]))
    def check(data: st.DataObject, command: str, kind: str) -> None:
        memory = io.BytesIO()
        Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(memory, kind)
        path = trial.file(f"a.{kind}", data.draw(damage(memory.getvalue())))
        (path.parent / f"b.{kind}").write_bytes(memory.getvalue())
        Image.fromarray(np.full((8, 8, 3), 7, np.uint8)).save(path.parent / f"c.{kind}", kind)
        trial.run(command, path.parent)

    check()


@pytest.mark.parametrize("number", range(len(CORPUS)))
def test_a_corpus_of_broken_files(trial: Trial, number: int) -> None:
    name, content = CORPUS[number]
    for command in ("info", "reduce", "transform"):
        path = trial.file(name, content)
        codes = (0, 3) if not name.endswith(".lowland") or command == "info" else (2, 3)
        trial.run(command, path, codes=codes)


@pytest.mark.parametrize("times", AMOUNTS)
def test_broken_files_in_real_processes(trial: Trial, times: int) -> None:
    whole = whole_files()

    @fuzz(3 * times)
    @given(data=st.data(), command=COMMANDS)
    def check(data: st.DataObject, command: str) -> None:
        ending = data.draw(st.sampled_from(sorted(whole)))
        trial.run(command, trial.file(f"t{ending}", data.draw(damage(whole[ending]))), call=in_new_process)

    check()


def test_an_earlier_output_survives_a_failure(trial: Trial) -> None:
    path = trial.file("t.csv", b"a,b\n1,2\n3,x\n4,5\n")
    made = [trial.folder / name for name in ("earlier.csv", "earlier.lowland", "earlier.html")]
    for file in made:
        file.write_text("earlier")
    options = [word for flag, file in zip(("-o", "--model", "--report"), made, strict=True) for word in (flag, file)]
    code, _, stderr = in_process([str(word) for word in ("reduce", path, *options)])
    assert code == 3, stderr
    assert [file.read_text() for file in made] == ["earlier"] * 3
