"""Pages of reports: size and time until 100,000 points are drawn, beside plotly; a report of half a million rows.

    python -m benchmarks.report_page [drawn] [kdd99] [--folder FOLDER] [--rounds 3] [--scale 1]

``drawn``: 100,000 points in two dimensions with the same columns (a name, a group, two numbers) shown on hover: the
whole report, the interactive map alone in a page, and a scatter of plotly that works offline (``write_html`` with
``include_plotlyjs=True``; WebGL, one trace a group, as plotly.express draws so many points). Shown are the size of the
file, the seconds to write it, and the seconds from opening it in Chromium until the points are on the screen, the
median of the rounds. Chromium draws without a graphics card here, so compare times with each other only.

``kdd99``: `lowland reduce --report` of the training part of KDD Cup 1999 (494,021 rows, 38 columns, coloured by label)
in a fresh process: seconds and highest resident memory, without and with the report. FOLDER, or FOLDER/kdd99, has
kdd99.npz (X, features, n_train, label_code, label_names).

``--scale 0.01`` shrinks both to try the script; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from .harness import TABLES, environment

Array = Any

POINTS = 100_000
_FEW = 500  # points of the pages that come first
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
_WATCH = """
const watch = () => {
  const ready = document.querySelector('[data-lowland-state="ready"]');
  if (ready) requestAnimationFrame(() => { window.drawn = performance.now(); });
  else requestAnimationFrame(watch);
};
watch();
"""
_PLOTLY_DRAWN = "requestAnimationFrame(() => { window.drawn = performance.now(); })"


def table(n: int) -> tuple[Array, dict[str, list[Any]]]:
    """Return rows of ten columns in eight groups, and the columns that are shown on hover."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 8, n)
    X = 4 * rng.standard_normal((8, 10))[group] + rng.standard_normal((n, 10))
    shown = {
        "name": [f"row {i}" for i in range(n)],
        "group": [f"group {g}" for g in group],
        "first": X[:, 0].round(4).tolist(),
        "second": X[:, 1].round(4).tolist(),
    }
    return X, shown


def whole_report(model: Any, X: Array, shown: dict[str, list[Any]]) -> str:
    """Return the report of a fitted model."""
    from lowland.report import render_report

    numbers = {name: shown[name] for name in ("first", "second")}
    return render_report(
        model,
        model.transform(X),
        X=X,
        color=shown["group"],
        color_name="group",
        names=shown["name"],
        hover=numbers,
        title="Points",
        data_summary={"rows": len(X)},
    )


def map_alone(model: Any, X: Array, shown: dict[str, list[Any]]) -> str:
    """Return a page with the interactive map only."""
    from lowland.explorer import interactive
    from lowland.report import page

    return page.document("Points", [interactive(model.transform(X), shown, id="name", color="group")])


def of_plotly(model: Any, X: Array, shown: dict[str, list[Any]]) -> str:
    """Return plotly's page of the same points, columns and colours."""
    import plotly.graph_objects as go

    Y, groups = model.transform(X), np.array(shown["group"])
    figure = go.Figure()
    for name in sorted(set(shown["group"])):
        here = np.flatnonzero(groups == name)
        told = np.array([[shown[column][i] for column in ("name", "first", "second")] for i in here], dtype=object)
        label = "<b>%{customdata[0]}</b><br>first %{customdata[1]}<br>second %{customdata[2]}"
        figure.add_trace(
            go.Scattergl(x=Y[here, 0], y=Y[here, 1], mode="markers", name=name, customdata=told, hovertemplate=label)
        )
    figure.update_yaxes(scaleanchor="x")
    text: str = figure.to_html(include_plotlyjs=True, full_html=True, post_script=_PLOTLY_DRAWN)
    return text


PAGES = {"Lowland, report": whole_report, "Lowland, map alone": map_alone, "plotly": of_plotly}


def drawn(n: int, rounds: int) -> None:
    """Print sizes and times of the three pages."""
    from playwright.sync_api import sync_playwright

    import lowland

    X, shown = table(n)
    model = lowland.PCA(n_components=2).fit(X)
    few, told = table(_FEW)
    small = lowland.PCA(n_components=2).fit(few)
    print(f"{n:,} points in two dimensions\n{'page':<22}{'MB':>8}{'s to write':>12}{'s until drawn':>15}  rounds")
    chromium = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        files, wrote = {}, {}
        for number, (name, render) in enumerate(PAGES.items()):
            try:
                render(small, few, told)  # imports and compiled loops are warm for all
            except ImportError as error:
                print(f"{name:<22}missing: {error}")
                continue
            start = time.perf_counter()
            files[name] = Path(folder, f"{number}.html")
            files[name].write_text(render(model, X, shown), encoding="utf-8")
            wrote[name] = time.perf_counter() - start
        seconds: dict[str, list[float]] = {name: [] for name in files}
        for _ in range(rounds):  # they take turns, so that a busy minute falls on all of them
            for name, file in files.items():
                seconds[name].append(opened(browser, file))
        browser.close()
        for name, file in files.items():
            each = ", ".join(f"{value:.2f}" for value in seconds[name])
            size, middle = file.stat().st_size / 1e6, statistics.median(seconds[name])
            print(f"{name:<22}{size:>8.2f}{wrote[name]:>12.1f}{middle:>15.2f}  {each}")


def opened(browser: Any, file: Path) -> float:
    """Return the seconds from opening a page until its points are drawn."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000}, offline=True)
    page = context.new_page()
    page.add_init_script(_WATCH)
    page.goto(file.as_uri(), wait_until="commit")
    page.wait_for_function("() => window.drawn !== undefined", timeout=300_000)
    found: float = page.evaluate("window.drawn") / 1000
    context.close()
    return found


def kdd99(folder: Path, scale: float) -> None:
    """Print time and memory of `lowland reduce` of the training part, without and with the report."""
    import polars as pl

    places = (folder / "kdd99.npz", folder / "kdd99" / "kdd99.npz")
    file = next((path for path in places if path.is_file()), None)
    if file is None:
        raise SystemExit(f"{folder} has no kdd99.npz; name its folder with --folder")
    with np.load(file) as stored:
        n = max(1000, int(stored["n_train"] * scale))
        X = stored["X"][:n]
        frame = pl.DataFrame({str(name): X[:, j] for j, name in enumerate(stored["features"])})
        frame = frame.with_columns(label=pl.Series(stored["label_names"][stored["label_code"][:n]]))
    print(f"KDD Cup 1999, {n:,} rows, {X.shape[1]} columns")
    print(f"{'command':<34}{'seconds':>10}{'GB at most':>12}{'MB written':>12}")
    with tempfile.TemporaryDirectory() as place:
        frame.write_parquet(Path(place, "train.parquet"))
        command = ["reduce", "train.parquet", "--method", "pca", "--scale", "--color", "label", "--out", "map.parquet"]
        for title, more in (("reduce", ()), ("reduce --report", ("--report", "map.html"))):
            seconds, peak = measured([*command, *more], place)
            page = Path(place, "map.html")
            size = page.stat().st_size / 1e6 if more else Path(place, "map.parquet").stat().st_size / 1e6
            print(f"{title:<34}{seconds:>10.1f}{peak / 1e9:>12.2f}{size:>12.2f}")


def measured(words: list[str], place: str) -> tuple[float, int]:
    """Run a command of Lowland in a fresh process; return its seconds and highest resident bytes (Linux)."""
    start = time.perf_counter()
    code = f"import os; os.chdir({place!r}); from lowland.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", code, *words]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # it has ended
    if status != 0:
        raise SystemExit(f"lowland {' '.join(words)} ended with status {status}")
    return time.perf_counter() - start, used.ru_maxrss * 1024


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["drawn", "kdd99", []], help="default: both")
    parser.add_argument("--folder", type=Path, default=TABLES, help="where kdd99.npz lies")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    options = parser.parse_args()
    if "drawn" in options.parts or not options.parts:
        drawn(max(100, int(POINTS * options.scale)), options.rounds)
    if "kdd99" in options.parts or not options.parts:
        kdd99(options.folder, options.scale)


if __name__ == "__main__":
    main()
