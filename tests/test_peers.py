"""The tables of differences from other projects, and the verdict on a run of their tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from peers import table
from peers.table import Difference, Outcome, judge

TABLES = sorted((Path(__file__).parent / "peers").glob("differences*.toml"))
PASSED, FAILED, APART = Outcome("passed"), Outcome("failed", "AssertionError"), Outcome("apart")


@pytest.mark.parametrize("file", TABLES, ids=lambda file: file.stem)
def test_every_difference_has_a_reason_and_a_state(file: Path) -> None:
    entries = table.read(file)
    assert all(entry.reason.strip() and entry.cases and entry.state in table.STATES for entry in entries)
    cases = [case for entry in entries for case in entry.cases]
    assert len(cases) == len(set(cases))


def test_a_run_that_agrees_with_the_table_is_good() -> None:
    outcomes = {"t.py::a": PASSED, "t.py::b[1]": FAILED, "t.py::b[2]": FAILED, "t.py::c": APART}
    good, lines = judge(outcomes, [Difference("why", "kept", ("t.py::b[*]",))], 0.3, whole=True)
    assert good
    assert lines[-1] == "1 of the 3 cases that reach Lowland passed: 33.3%"


@pytest.mark.parametrize(
    ("outcomes", "cases", "least", "text"),
    [
        ({"t.py::a": PASSED, "t.py::b": FAILED}, (), 0.0, "Failed and not in the table (1):"),
        ({"t.py::a": PASSED}, ("t.py::b",), 0.0, "In the table, and no such case: take them out (1):"),
        ({"t.py::a": PASSED, "t.py::b": FAILED}, ("t.py::b",), 0.6, "That is below 60%."),
        ({"t.py::a": APART, "t.py::b": FAILED}, ("t.py::b",), 0.1, "That is below 10%."),
    ],
    ids=["new", "stale", "few", "apart"],
)
def test_a_run_that_does_not_agree_says_why(outcomes, cases, least, text) -> None:
    good, lines = judge(outcomes, [Difference("why", "open", cases)], least, whole=True)
    assert not good
    assert text in lines


def test_a_difference_that_is_gone_fails() -> None:
    good, lines = judge({"t.py::a": PASSED}, [Difference("why", "open", ("t.py::a",))], 0.0, whole=True)
    assert not good
    assert "In the table, and passed: take them out (1):" in lines


def test_a_part_of_the_cases_is_judged_by_what_changed() -> None:
    differences = [Difference("why", "open", ("t.py::b", "t.py::z"))]
    assert judge({"t.py::b": FAILED}, differences, 0.9, whole=False)[0]
    assert not judge({"t.py::a": FAILED}, differences, 0.0, whole=False)[0]
