"""Runs a case: every fit in a process of its own, contenders taking turns so that noise falls on all."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from .cases import Case

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT.parent / "shared" / "data"  # where --folder looks unless it is given
Figures = dict[str, Any]


def environment() -> dict[str, str]:
    """Return the environment in which a process finds Lowland and the benchmarks."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def call(*arguments: str) -> Figures:
    """Run the worker in a fresh process and return its answer."""
    command = [sys.executable, "-m", "benchmarks.worker", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"error": f"failed: the process ended with code {done.returncode}: {last}"}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def run_case(case: Case, folder: str, rounds: int, scale: float) -> dict[str, Figures]:
    """Make the data, then let the contenders take turns."""
    print(f"{case.name}: making the data and the reference", file=sys.stderr)
    if "error" in (answer := call(case.name, folder, str(scale))):
        raise RuntimeError(f"the data of {case.name} could not be made: {answer['error']}")
    answers: dict[str, list[Figures]] = {name: [] for name in case.peers}
    for turn in range(1, rounds + 1):
        for name, seen in answers.items():
            if seen and "error" in seen[-1]:  # one failure is enough; it is shown
                continue
            seen.append(call(case.name, folder, str(scale), name))
            note = seen[-1].get("error") or f"{seen[-1]['seconds']:.3f} s"
            print(f"{case.name}: round {turn}, {name}: {note}", file=sys.stderr)
    return {name: summary(seen) for name, seen in answers.items()}


def summary(answers: list[Figures]) -> Figures:
    """Fold the rounds of one contender: median time, worst memory and errors."""
    if "error" in answers[-1]:
        return answers[-1]
    seconds = [a["seconds"] for a in answers]
    worst = {key: max(a[key] for a in answers) for key in ("bytes", "value_error", "vector_error")}
    return {"median": statistics.median(seconds), "seconds": seconds} | worst


def verdict(case: Case, results: dict[str, Figures]) -> Figures:
    """Compare Lowland with the peers: ratios, and whether the target is met at equal or better accuracy."""
    ours = results["lowland"]
    times = {name: r["median"] for name, r in results.items() if name != "lowland" and "error" not in r}
    named = [name for name in case.against if name in times]
    if "error" in ours or not named:
        return {"met": None, "why": ours.get("error", f"no result of {', '.join(case.against)}")}
    rival, best = min(named, key=lambda name: times[name]), min(times, key=lambda name: times[name])
    allowed = max(results.get(case.bar, {}).get("value_error", 0.0), case.floor)
    ratio, accurate = times[rival] / ours["median"], ours["value_error"] <= allowed
    judged = {
        "met": ratio >= case.target and accurate,
        "ratio": ratio,
        "target": case.target,
        "against": rival,
    }
    best_ratio = times[best] / ours["median"]
    return judged | {"accurate": accurate, "allowed": allowed, "best": best, "best_ratio": best_ratio}
