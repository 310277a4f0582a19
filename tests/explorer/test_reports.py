"""The pages of `reduce`, `transform`, `evaluate` and `compare` in a real browser: on screen, for axe, and in print."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from lowland import cli

AT_ONCE = runpy.run_path(str(Path(__file__).parents[1] / "comparison" / "conftest.py"))["AtOnce"]
AXE = Path(__file__).resolve().parents[2] / "src/lowland/explorer/web/node_modules/axe-core/axe.min.js"
KINDS = ("reduce", "transform", "evaluate", "compare")
MOST_PAGES = {"reduce": 10, "transform": 6, "evaluate": 6, "compare": 5}  # printed on A4
BOTTOM = 14 * 72 / 25.4  # points: the margin of a printed page
MARKS = """() => document.querySelectorAll('figure').forEach((figure, number) => {
  const text = figure.querySelector('svg title').textContent;
  if (!figure.getClientRects().length) return;
  figure.style.position = 'relative';
  ['top', 'bottom'].forEach((side) => {
    const mark = document.createElement('h6');
    mark.textContent = `figure ${number} ${side}`;
    mark.style.cssText = `position: absolute; ${side}: 0; margin: 0; font-size: 1px; line-height: 1`;
    figure.append(mark);
  });
})"""

pytestmark = pytest.mark.usefixtures("bundle")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The four reports of the wines, by command."""
    from sklearn.datasets import load_wine

    wine, folder = load_wine(), tmp_path_factory.mktemp("pages")
    frame = pl.DataFrame(wine.data, schema=[str(name) for name in wine.feature_names])
    frame = frame.with_columns(
        cultivar=pl.Series(wine.target_names[wine.target]), name=pl.Series([f"wine {i}" for i in range(len(frame))])
    )
    some = np.random.default_rng(0).permutation(len(frame))
    frame[some[:140]].write_csv(folder / "wine.csv")
    frame[some[140:]].write_csv(folder / "new.csv")
    shown = ("--id", "name", "--hover", "alcohol")
    colored = (*shown, "--color", "cultivar")
    several = "pca,isomap,classical_mds,lle"
    calls = {
        "reduce": ("reduce", "wine.csv", "--scale", *colored, "--out", "map.csv", "--model", "wine.lowland"),
        "transform": ("transform", "wine.lowland", "new.csv", *colored, "--flag", "--out", "placed.csv"),
        "evaluate": ("evaluate", "wine.csv", "map.csv", "--scale", "--id", "name", "--target", "cultivar"),
        "compare": ("compare", "wine.csv", "--scale", "--methods", several, *shown, "--target", "cultivar"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("lowland.comparison.running.Worker", AT_ONCE)
        for kind, words in calls.items():
            assert cli.main([*words, "--report", f"{kind}.html"]) == 0
    return {kind: (folder / f"{kind}.html").read_text(encoding="utf-8") for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_page_has_the_interactive_map_and_names_its_columns(open_page, pages, kind):
    opened = open_page(pages[kind])
    assert opened.errors == []
    assert len(opened.requests) == 1
    listed = "name, cultivar" if kind == "evaluate" else "name, alcohol, cultivar"
    text = f"Columns of the data in this page, for hover, colour and search: {listed}. It contains no other columns."
    assert text in opened.page.inner_text("main")
    assert opened.page.locator("#map .ll-legend button").count() == 3
    opened.page.fill("#map input[type=search]", "wine 17")
    opened.wait_for_status("they contain “wine 17”")
    if kind != "transform":  # few new rows have trust of their own
        opened.page.check("text=Colour by trust")
        assert "share of neighbours kept" in opened.page.inner_text("#map .ll-legend")
    opened.page.emulate_media(media="print")
    assert opened.page.is_visible("#map-static svg")
    assert not opened.page.is_visible("#map")


@pytest.mark.parametrize("kind", KINDS)
def test_page_is_accessible_in_light_and_dark(open_page, pages, kind):
    if not AXE.is_file():
        pytest.skip("PAGES ARE NOT CHECKED FOR ACCESSIBILITY: axe-core is not installed: run `make test-web`")
    opened = open_page(pages[kind], color_scheme="light", bypass_csp=True)
    opened.page.click("#map .ll-legend button >> nth=0")
    opened.page.click("#map summary")
    opened.page.add_script_tag(path=AXE)
    for scheme in ("light", "dark"):
        opened.page.emulate_media(color_scheme=scheme)
        found = opened.page.evaluate("axe.run({ resultTypes: ['violations'] })")
        serious = [v for v in found["violations"] if v["impact"] in ("serious", "critical")]
        assert [(scheme, v["id"], [n["html"][:200] for n in v["nodes"]]) for v in serious] == []


@pytest.mark.parametrize("kind", KINDS)
def test_page_fits_any_width(open_page, pages, kind):
    opened = open_page(pages[kind])
    for width in (400, 1280):
        opened.page.set_viewport_size({"width": width, "height": 900})
        opened.page.wait_for_timeout(200)
        wide = opened.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1]
        assert opened.box()["width"] > 0.6 * min(width, 900)


def printed(page):
    """Return the number of pages of a print, and the page and the height above its lower edge of each heading."""
    data = page.pdf(format="A4", prefer_css_page_size=True, outline=True, tagged=True)
    numbers = [int(n) for n in re.findall(rb"(\d+) 0 obj\s*<</Type /Page\b", data)]
    found = re.findall(rb"/Title \((.*?)\)\s*/Dest \[(\d+) 0 R /XYZ \S+ (\S+) ", data)
    return len(numbers), {title.decode("latin-1"): (numbers.index(int(n)), float(y)) for title, n, y in found}


@pytest.mark.parametrize("kind", KINDS)
def test_print_keeps_figures_and_headings_together(open_page, pages, kind):
    opened = open_page(pages[kind])
    opened.page.emulate_media(media="print")
    plain, _ = printed(opened.page)
    assert plain <= MOST_PAGES[kind]
    opened.page.evaluate(MARKS)
    count, places = printed(opened.page)
    assert count == plain
    figures = {title for title in places if title.startswith("figure ")}
    assert len(figures) >= 2 * (3 if kind == "compare" else 2)
    for title in (title for title in figures if title.endswith("top")):
        (page, top), (last, bottom) = places[title], places[title.replace("top", "bottom")]
        assert page == last, f"{title} is cut"
        assert top > bottom
    for title in set(places) - figures:
        assert places[title][1] > BOTTOM + 45, f"{title} stands alone at the end of page {places[title][0] + 1}"


def test_printed_maps_of_a_comparison_are_as_wide_as_the_page(open_page, pages):
    opened = open_page(pages["compare"])
    opened.page.emulate_media(media="print")
    opened.page.set_viewport_size({"width": 688, "height": 1000})  # 182 mm: A4 without its margins
    sizes = opened.page.evaluate(
        """() => [...document.querySelectorAll('.whole svg')].map((svg) => [
              svg.getBoundingClientRect().width,
              svg.getScreenCTM().a,
              Math.min(...[...svg.querySelectorAll('text')].map((text) => parseFloat(getComputedStyle(text).fontSize))),
            ])"""
    )
    assert len(sizes) == 2
    for width, scale, letters in sizes:
        assert width > 0.95 * 688
        assert letters * scale * 72 / 96 >= 6.95, "points on paper"
