"""The table of differences, and the verdict on a run."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

STATES = ("open", "kept")


@dataclass(frozen=True)
class Outcome:
    """How a case ended: "passed", "failed" (skipped and xfailed too), or "apart" where Lowland was never called."""

    word: str
    message: str = ""


@dataclass(frozen=True)
class Difference:
    """Cases that are expected to fail, and why; ``*`` in a case stands for any text."""

    reason: str
    state: str  # "open": to be closed; "kept": Lowland differs on purpose
    cases: tuple[str, ...]

    def matches(self, ids: list[str]) -> dict[str, list[str]]:
        """Return the ids that each case of the entry stands for.

        >>> Difference("", "open", ("a[*]",)).matches(["a[1]", "a[2]", "ab[1]"])
        {'a[*]': ['a[1]', 'a[2]']}
        """
        patterns = {case: re.compile(".*".join(map(re.escape, case.split("*")))) for case in self.cases}
        return {case: [name for name in ids if pattern.fullmatch(name)] for case, pattern in patterns.items()}


def read(file: Path) -> list[Difference]:
    """Return the entries of the table."""
    entries = tomllib.loads(file.read_text(encoding="utf-8"))["difference"]
    return [Difference(entry["reason"], entry["state"], tuple(entry["cases"])) for entry in entries]


def case_id(nodeid: str) -> str:
    """Return the id of a case without the folders of its file.

    >>> case_id("manifold/tests/test_mds.py::test_smacof")
    'test_mds.py::test_smacof'
    """
    path, _, name = nodeid.partition("::")
    return f"{path.rsplit('/', 1)[-1]}::{name}"


def counts(outcomes: dict[str, Outcome]) -> list[str]:
    """Return the lines of a table: for each file the cases, and how they ended."""
    found: dict[str, Counter[str]] = {}
    for name, outcome in outcomes.items():
        for key in (name.partition("::")[0], "all"):
            found.setdefault(key, Counter())[outcome.word] += 1
    lines = [f"{'file':<28}{'cases':>7}{'passed':>8}{'failed':>8}{'apart':>7}"]
    for key in sorted(found, key=lambda key: (key == "all", key)):
        one = found[key]
        lines.append(f"{key:<28}{one.total():>7}{one['passed']:>8}{one['failed']:>8}{one['apart']:>7}")
    return lines


def judge(
    outcomes: dict[str, Outcome], differences: list[Difference], least: float, *, whole: bool
) -> tuple[bool, list[str]]:
    """Return whether a run agrees with the table, and what to print.

    At least the share ``least`` of the cases that reach Lowland must pass. ``whole``: no case was left out; of a part,
    only new failures, and differences that are gone, count.
    """
    matches = [match for entry in differences for match in entry.matches(list(outcomes)).items()]
    expected = {name for _, names in matches for name in names}
    new = sorted(name for name, outcome in outcomes.items() if outcome.word == "failed" and name not in expected)
    closed = sorted(name for name in expected if outcomes[name].word != "failed")
    stale = sorted(case for case, names in matches if not names) if whole else []
    lines = counts(outcomes)
    for title, entries in (
        ("Failed and not in the table", [f"{name}\n      {outcomes[name].message}" for name in new]),
        ("In the table, and passed: take them out", closed),
        ("In the table, and no such case: take them out", stale),
    ):
        if entries:
            lines += ["", f"{title} ({len(entries)}):", *(f"  {entry}" for entry in entries)]
    words = Counter(outcome.word for outcome in outcomes.values())
    reached = words["passed"] + words["failed"]
    share = words["passed"] / max(1, reached)
    lines += ["", f"{words['passed']} of the {reached} cases that reach Lowland passed: {share:.1%}"]
    short = whole and share < least
    if short:
        lines.append(f"That is below {least:.0%}.")
    return not (new or closed or stale or short), lines
