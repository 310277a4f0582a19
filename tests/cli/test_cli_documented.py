"""Every command and every option is on the page of the command line, with an explanation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lowland.cli import main
from lowland.cli.app import COMMANDS, app_of, parser

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def section(page: str, command: str) -> str:
    """The help of one command."""
    found = re.search(rf"^## lowland {command}\n+```text\n(.*?)^```", page, flags=re.S | re.M)
    return "" if found is None else found[1]


def undocumented(page: str) -> list[str]:
    """Commands and options that are not on the page, or have no explanation."""
    missing = []
    for command in COMMANDS:
        text = section(page, command)
        if not text:
            missing.append(command)
        for argument in app_of(command).assemble_argument_collection(default_parameter=parser().default_parameter):
            if argument.name == "*":  # several options in one dataclass, each of which follows
                continue
            if not argument.show or not (argument.parameter.help or "").strip():
                missing.append(f"{command} {argument.name}: no explanation")
            for name in argument.names:
                if name.startswith("-") and not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
                    missing.append(f"{command} {name}")
    return missing


def test_every_command_and_option_is_documented() -> None:
    assert undocumented(PAGE.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("command", "option"),
    [("reduce", "--align-to"), ("transform", "--flag"), ("compare", "--n-components"), ("info", "--skip-rows")],
)
def test_a_missing_option_is_noticed(command: str, option: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    text = section(page, command)
    lines = [line for line in text.splitlines(keepends=True) if option not in line]
    assert f"{command} {option}" in undocumented(page.replace(text, "".join(lines)))


def test_a_missing_command_is_noticed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "outliers" in undocumented(page.replace("## lowland outliers", "## outliers"))


def test_only_options_that_exist_are_proposed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reduce", "t.csv", "--empty-na"]) == 2
    assert "Did you mean" not in capsys.readouterr().err
    assert main(["reduce", "t.csv", "--supplementry", "a"]) == 2
    assert "Did you mean --supplementary?" in capsys.readouterr().err
