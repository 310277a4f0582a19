"""Command line: ``python -m benchmarks.run CASE [--rounds 5] [--scale 1.0] [--list]``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from importlib import metadata

from .cases import Case
from .harness import ROOT, Figures, run_case, verdict
from .manifold_cases import EVERY

HEAD = ("contender", "median s", "min–max s", "memory MB", "value error", "vector error", "time / lowland")
ROW = "  {:<20}{:>10}{:>16}{:>11}{:>13}{:>14}{:>16}"
PACKAGES = ("numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "gensim", "numba")


def table(case: Case, scale: float, results: dict[str, Figures], judged: Figures) -> str:
    """Lay out one case as text."""
    small = "" if scale == 1 else f" (at scale {scale:g}, where timings mean nothing)"
    lines = [f"\n{case.name}: {case.job}{small}", ROW.format(*HEAD)]
    ours = results["lowland"].get("median")
    for name, r in results.items():
        if "error" in r:
            lines.append(f"  {name:<20}{r['error']}")
            continue
        spread = f"{min(r['seconds']):.3f}–{max(r['seconds']):.3f}"
        errors = f"{r['value_error']:.1e}", f"{r['vector_error']:.1e}"
        ratio = f"{r['median'] / ours:.2f}" if ours else "–"
        lines.append(ROW.format(name, f"{r['median']:.3f}", spread, f"{r['bytes'] / 1e6:.0f}", *errors, ratio))
    if judged["met"] is None:
        return "\n".join([*lines, f"  no verdict: {judged['why']}"])
    word, exact = "met" if judged["met"] else "NOT met", "" if judged["accurate"] else "NOT "
    lines.append(f"  {judged['ratio']:.2f} × {judged['against']}, target {judged['target']:g} ×: {word}")
    lines.append(f"  {exact}accurate: a value error up to {judged['allowed']:.1e} is allowed")
    return "\n".join([*lines, f"  ratio vs best peer ({judged['best']}): {judged['best_ratio']:.2f}"])


def write(case: Case, scale: float, content: Figures) -> str:
    """Write the figures and what they were taken on as JSON, whole or not at all; return the file's name."""
    installed = {d.name.lower(): d.version for d in metadata.distributions()}
    versions = {name: installed.get(name, "not installed") for name in PACKAGES}
    content |= {"python": platform.python_version(), "cores": os.cpu_count(), "packages": versions}
    target = ROOT / "benchmarks" / "results" / (case.name + ("" if scale == 1 else f"@{scale:g}") + ".json")
    target.parent.mkdir(exist_ok=True)
    part = target.with_suffix(".part")
    part.write_text(json.dumps({"case": case.name, "scale": scale} | content, indent=1))
    os.replace(part, target)
    return str(target.relative_to(ROOT))


def main() -> None:
    """Run the cases, print their tables and write their figures."""
    parser = argparse.ArgumentParser(prog="benchmarks.run", description="Compare Lowland with its peers.")
    groups = {"all", *(case.name for case in EVERY), *(case.name.split("_")[0] for case in EVERY)}
    parser.add_argument("case", nargs="?", choices=sorted(groups), help="a case, a group or all")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender, ≥ 3; the median counts")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the data, to try the harness")
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    given = parser.parse_args()
    if given.rounds < 3 or not 0 < given.scale <= 1:
        parser.error("--rounds must be at least 3 and --scale in (0, 1]")
    if given.list or given.case is None:
        print("\n".join(f"{case.name:<23}{case.job:<34}{', '.join(case.peers)}" for case in EVERY))
        return
    with tempfile.TemporaryDirectory(prefix="lowland-bench-") as folder:
        for case in EVERY:
            if given.case in ("all", case.name, case.name.split("_")[0]):
                results = run_case(case, folder, given.rounds, given.scale)
                judged = verdict(case, results)
                print(table(case, given.scale, results, judged))
                print(
                    f"  figures: {write(case, given.scale, {'results': results, 'verdict': judged})}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
