"""Completion in the shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lowland.cli.complete import candidates
from lowland.contract import registry


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["comp"], ["compare", "completion"]),
        (["reduce", "a.csv", "--method", "diff"], ["diffusion_maps"]),
        (["methods", "iso"], ["isomap"]),
        (["reduce", "a.csv", "-m", "lle", "--disconnected", ""], ["bridge", "error", "separate"]),
        (["reduce", "a.csv", "-m", "lle", "--set", "disconnected=s"], ["disconnected=separate"]),
        (["reduce", "a.csv", "-m", "no_method", "--n-n"], []),
        (["reduce", ""], []),
        (["transform", "--key"], []),
        (["evaluate", "a.csv", "b.csv", "--targ"], ["--target"]),
    ],
)
def test_candidates(words: list[str], found: list[str]) -> None:
    assert candidates(words) == found


def test_every_parameter_of_every_method_completes() -> None:
    for row in registry.methods():
        flags = candidates(["reduce", "a.csv", "--method", row.name, "--"])
        assert {f"--{name.replace('_', '-')}" for name in row.load()._parameters} <= set(flags)


def test_the_hidden_command_prints_lines(run: Any) -> None:
    assert run("_complete", "eva").out == "evaluate\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(run: Any, shell: str) -> None:
    done = run("completion", shell)
    assert done.code == 0
    assert "lowland _complete" in done.out


def test_bash_completes_a_method(run: Any, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    (tmp_path / "lowland").write_text(f'#!/bin/sh\nexec {sys.executable} -m lowland "$@"\n')
    (tmp_path / "lowland").chmod(0o755)
    (tmp_path / "script").write_text(run("completion", "bash").out)
    words = 'COMP_WORDS=(lowland reduce a.csv --method hess); COMP_CWORD=4; _lowland; echo "${COMPREPLY[@]}"'
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [bash, "-c", f". ./script; {words}"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "hessian_lle\n"
