"""Quality measures beside their peers: ``python -m benchmarks.trust [agree] [speed] [million] [coverage]``.

``agree``: values of scikit-learn, zadu and pyDRMetrics on digits beside ours. ``speed``: trustworthiness of 20,000
rows, each contender in a process of its own and three times in turns, after one look at fewer points that compiles what
is compiled; seconds, growth of memory, value. ``million``: a table of ranks, the curve and the whole report, without
and with 100 and 1,000 groups, of a million rows of 50 columns and a map of 2. ``coverage``: how often of 100 samples
the interval holds the exact value, for easy and heavy-tailed maps of 20,000 points. A peer that is not installed is
shown as missing. Figures go to ``benchmarks/results/trust_*.json``, with the verdict on what was asked of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from lowland.quality import anchors, rank_measures
from lowland.quality.pointwise import pointwise
from lowland.quality.rank_curves import coranking, rnx_curve
from lowland.quality.rank_measures import MEASURES, from_table, lcmc, trustworthiness
from lowland.quality.ranks import RankTable, rank_table
from lowland.quality.spaces import sides

from .harness import ROOT, Figures, environment
from .run import write
from .worker import resident

Array = Any
K = 10


def pair(n: int, d: int, kind: str = "curved") -> tuple[Array, Array]:
    """Return data and a map: a noisy curved sheet and its flat shape, whose neighbourhoods are partly kept."""
    rng = np.random.default_rng(0)
    T = rng.uniform(-1, 1, (n, 2))
    waves = np.sin(T @ rng.standard_normal((2, d)) * 2 + rng.uniform(0, 6, d))
    X = waves + 0.1 * rng.standard_normal((n, d))
    if kind == "few strays":  # nearly perfect but for one point in a hundred: heavy tails
        stray = rng.random(n) < 0.01
        X = np.column_stack([T, 0.001 * rng.standard_normal((n, d - 2))])
        T = np.where(stray[:, None], rng.uniform(-1, 1, (n, 2)), T)
    if kind == "chance":
        T = rng.standard_normal((n, 2))
    return X, T


# -- agreement --------------------------------------------------------------------------------------------


def agree() -> None:
    """Print the values of peers less ours."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA
    from sklearn.manifold import trustworthiness as peer

    X = load_digits().data[:600] + 1e-3 * np.random.default_rng(0).standard_normal((600, 64))  # without ties
    Y = PCA(2).fit_transform(X)
    print(f"{len(X)} digits and their first two components, k = {K}: peers less ours")
    print(f"  scikit-learn trustworthiness {peer(X, Y, n_neighbors=K) - trustworthiness(X, Y, K):.1e}")
    try:
        from zadu.measures import local_continuity_meta_criteria, trustworthiness_continuity
    except ImportError as error:
        print(f"  zadu: missing: {error}")
    else:
        found = trustworthiness_continuity.measure(X, Y, k=K)
        print(f"  zadu trustworthiness {found['trustworthiness'] - trustworthiness(X, Y, K):.1e}")
        print(f"  zadu continuity {found['continuity'] - rank_measures.continuity(X, Y, K):.1e}")
        print(f"  zadu lcmc {local_continuity_meta_criteria.measure(X, Y, k=K)['lcmc'] - lcmc(X, Y, K):.1e}")
    try:
        from pyDRMetrics.pyDRMetrics import DRMetrics
    except ImportError as error:
        print(f"  pyDRMetrics: missing: {error}")
    else:
        Q = np.asarray(DRMetrics(X, Y).Q)  # with rank 0, that of a point to itself
        print(f"  pyDRMetrics co-ranking matrix, largest difference {abs(Q[1:, 1:] - coranking(X, Y)).max():.1e}")


# -- speed ------------------------------------------------------------------------------------------------


def sklearn_trust(X: Array, Y: Array) -> float:
    """Return scikit-learn's value."""
    from sklearn.manifold import trustworthiness as peer

    return float(peer(X, Y, n_neighbors=K))


def zadu_trust(X: Array, Y: Array) -> float:
    """Return zadu's value."""
    from zadu.measures import trustworthiness_continuity

    return float(trustworthiness_continuity.measure(X, Y, k=K)["trustworthiness"])


def all_of_report(X: Array, Y: Array) -> Any:
    """Return every measure."""
    from lowland.quality import report

    return report(X, Y)["trustworthiness"]


def grouped(count: int) -> Callable[[Array, Array], Any]:
    """Return a job: every measure, with so many groups whose sizes differ a hundredfold."""

    def job(X: Array, Y: Array) -> Any:
        from lowland.quality import report

        share = np.geomspace(100, 1, count)
        groups = np.random.default_rng(1).choice(count, size=len(X), p=share / share.sum())
        return report(X, Y, groups=groups)["trustworthiness"]

    return job


JOBS: dict[str, Callable[[Array, Array], Any]] = {
    "lowland, all points": lambda X, Y: trustworthiness(X, Y, K, anchors=None),
    "lowland, sampled": lambda X, Y: trustworthiness(X, Y, K),
    "scikit-learn": sklearn_trust,
    "zadu": zadu_trust,
    "table": lambda X, Y: from_table("trustworthiness", rank_table(sides(X, Y), K)),
    "curve": lambda X, Y: rnx_curve(X, Y).auc,
    "points": lambda X, Y: float(np.mean(pointwise(X, Y, K, anchors="auto").kept)),
    "report": all_of_report,
    "report, 100 groups": grouped(100),
    "report, 1,000 groups": grouped(1000),
}


def work(name: str, n: int, d: int) -> None:
    """Do one job and print its figures; runs in a process of its own."""
    X, Y = pair(n, d)
    job = JOBS[name]
    job(X[:3000], Y[:3000])
    Path("/proc/self/clear_refs").write_text("5")  # let VmHWM start anew from here
    before, start, cpu = resident("VmRSS"), time.perf_counter(), time.process_time()
    value = job(X, Y)
    told = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    print(json.dumps(told | {"bytes": resident("VmHWM") - before, "value": float(value), "text": repr(value)}))


def race(names: tuple[str, ...], n: int, d: int, rounds: int = 1) -> dict[str, Figures]:
    """Run jobs in processes of their own, in turns."""
    print(f"{n} × {d} and a map of 2 columns, k = {K}: seconds, seconds of processors, growth of memory, value")
    found: dict[str, list[Figures]] = {name: [] for name in names}
    for _ in range(rounds):
        for name, seen in found.items():
            if not (seen and "error" in seen[-1]):  # one failure is enough; it is shown
                seen.append(_raced(name, n, d))
    return {name: _folded(seen) for name, seen in found.items()}


def _raced(name: str, n: int, d: int) -> Figures:
    words = ["--worker", name, "--rows", str(n), "--columns", str(d)]
    command = [sys.executable, "-m", "benchmarks.trust", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        f = {"error": f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"}
        print(f"  {name:<22}{f['error']}", flush=True)
        return f
    f = json.loads(done.stdout.strip().splitlines()[-1])
    print(f"  {name:<22}{f['seconds']:>8.2f}{f['cpu']:>8.2f}{f['bytes'] / 1e9:>8.2f} GB  {f['text']}", flush=True)
    return f


def _folded(seen: list[Figures]) -> Figures:
    """Fold the rounds of one contender: median time, most memory."""
    if "error" in seen[-1]:
        return seen[-1]
    seconds = [f["seconds"] for f in seen]
    most = {"bytes": max(f["bytes"] for f in seen), "cpu": statistics.median(f["cpu"] for f in seen)}
    return {"median": statistics.median(seconds), "seconds": seconds, "value": seen[-1]["value"]} | most


def speed(n: int, d: int) -> None:
    """Trustworthiness: ten times as fast as scikit-learn, within 1 GB, and the same number."""
    names = ("lowland, all points", "lowland, sampled", "scikit-learn", "zadu")
    found = race(names, n, d, rounds=3)
    ours, peer = found["lowland, all points"], found["scikit-learn"]
    judged: Figures = {"met": None, "why": peer.get("error") or ours.get("error")}
    if judged["why"] is None:
        ratio, off = peer["median"] / ours["median"], abs(peer["value"] - ours["value"])
        judged = {"met": ratio >= 10 and ours["bytes"] < 1e9 and off < 1e-12}
        judged |= {"ratio": ratio, "target": 10.0, "against": "scikit-learn", "difference": off}
    _keep("trust_speed", {"rows": n, "columns": d, "results": found, "verdict": judged})


def million(n: int, d: int) -> None:
    """Every measure: within five minutes and 8 GB, with groups, too."""
    found = race(("table", "curve", "points", "report", "report, 100 groups", "report, 1,000 groups"), n, d)
    failed = [f["error"] for f in found.values() if "error" in f]
    judged: Figures = (
        {"met": None, "why": failed[0]}
        if failed
        else {
            "met": all(f["median"] < 300 and f["bytes"] < 8e9 for f in found.values()),
            "seconds": max(f["median"] for f in found.values()),
            "bytes": max(f["bytes"] for f in found.values()),
        }
    )
    _keep("trust_million", {"rows": n, "columns": d, "results": found, "verdict": judged})


def _keep(name: str, content: Figures) -> None:
    file = write(SimpleNamespace(name=name), 1.0, content)  # type: ignore[arg-type]
    print(f"  {content['verdict']}\n  figures: {file}", flush=True)


# -- coverage ---------------------------------------------------------------------------------------------


def sampled(table: RankTable, count: int, seed: int) -> RankTable:
    """Return the table that a sample of anchors would have given."""
    chosen = anchors.choose(table.n, count, seed)
    names = ("false_ranks", "missing_ranks", "shared")
    return replace(table, anchors=chosen, **{name: getattr(table, name)[chosen.numbers] for name in names})


def coverage(n: int = 20_000, d: int = 50, repeats: int = 100) -> None:
    """Count how often intervals hold the exact value."""
    results: dict[str, Figures] = {}
    for kind in ("curved", "few strays", "chance"):
        X, Y = pair(n, d, kind)
        table = rank_table(sides(X, Y), K, None)
        for count in (200, 1000, anchors.SAMPLED):
            for name in MEASURES:
                exact = float(from_table(name, table))
                found = [from_table(name, sampled(table, count, seed)) for seed in range(repeats)]
                held = sum(m.low <= exact <= m.high for m in found)
                width = float(np.mean([m.high - m.low for m in found]))
                results[f"{kind}, {count} anchors, {name}"] = {"exact": exact, "held": held, "width": width}
                print(
                    f"  {kind:<12}{count:>6} anchors  {name:<22}{exact:8.4f} held {held}/{repeats}, width {width:.5f}",
                    flush=True,
                )
    least = min(f["held"] for f in results.values())
    judged = {"met": least >= 0.9 * repeats, "held": least, "target": 0.9 * repeats, "repeats": repeats}
    _keep("trust_coverage", {"rows": n, "columns": d, "results": results, "verdict": judged})


def main() -> None:
    """Run the parts that are named, or all."""
    parser = argparse.ArgumentParser(prog="benchmarks.trust", description=__doc__)
    parser.add_argument("parts", nargs="*", help="agree, speed, million, coverage")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--columns", type=int, default=50)
    given = parser.parse_args()
    if wrong := set(given.parts) - {"agree", "speed", "million", "coverage"}:
        parser.error(f"there is no part {', '.join(sorted(wrong))}")
    if given.worker:
        work(given.worker, given.rows, given.columns)
        return
    parts = given.parts or ["agree", "speed", "million", "coverage"]
    if "agree" in parts:
        agree()
    if "speed" in parts:
        speed(given.rows or 20_000, given.columns)
    if "million" in parts:
        million(given.rows or 1_000_000, given.columns)
    if "coverage" in parts:
        coverage(given.rows or 20_000, given.columns)


if __name__ == "__main__":
    main()
