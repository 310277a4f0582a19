"""The interactive map in a real browser: no errors, no requests; colours, hover, search, lasso and axes work."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import lowland
from lowland.explorer import interactive, payload, script
from lowland.report import page as html
from lowland.report import render_report
from opened_page import eventually

MARKUP = "<img src=x onerror=\"document.title='broken'\"></script><script>document.title='broken'</script>"

pytestmark = pytest.mark.usefixtures("bundle")


def clusters(n=90):
    """Three groups: left, right, and above in the third coordinate only."""
    rng = np.random.default_rng(0)
    middle = np.array([[-4.0, -3.0, 0.0], [4.0, 3.0, 0.0], [0.0, 0.0, 9.0]])
    return middle[np.arange(n) % 3] + 0.3 * rng.standard_normal((n, 3)), [f"g{i % 3}" for i in range(n)]


def document(*pieces):
    return html.document("A test", [html.heading("A test"), *pieces])


@pytest.fixture
def opened(open_page):
    Y, groups = clusters()
    columns = {"id": [f"row-{i:02d}" for i in range(90)], "group": groups, "size": np.linspace(0, 1, 90)}
    trust = np.linspace(0, 1, 90)
    axes = ["PCA 1", "PCA 2", "PCA 3"]
    part = interactive(Y, columns, id="id", color="group", trust=trust, axes=axes, static="<p>static picture</p>")
    return open_page(document(part))


def test_page_is_quiet_and_hides_the_static_picture(opened):
    assert opened.errors == []
    assert [url for url in opened.requests if not url.startswith("file:")] == []
    assert len(opened.requests) == 1
    assert not opened.page.is_visible("text=static picture")
    eventually(opened.page, lambda: len(opened.colors()) == 3)  # three groups in three colours


def test_policy_forbids_other_scripts(opened):
    opened.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=data: onerror=\"window.ran=1\">')")
    opened.page.wait_for_timeout(100)
    assert opened.page.evaluate("window.ran") is None
    assert "unsafe-eval" not in opened.page.content()[:2000]


def test_lasso_selects_and_copies_ids(opened):
    opened.page.click("button:has-text('Lasso')")
    opened.drag([(0.02, 0.55), (0.02, 0.98), (0.4, 0.98), (0.4, 0.55), (0.03, 0.55)])
    opened.wait_for_status("30 of 90 rows selected")
    opened.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.page.click("button:has-text('Copy ids')")
    opened.wait_for_status("30 ids copied")
    copied = opened.page.evaluate("navigator.clipboard.readText()")
    assert copied.split("\n") == [f"row-{i:02d}" for i in range(0, 90, 3)]
    opened.page.click("button:has-text('Clear selection')")
    opened.wait_for_status("No rows selected")
    assert opened.errors == []


def test_a_lasso_with_shift_in_a_notebook_that_listens_to_the_mouse(open_page, bundle):
    """JupyterLab takes all moves after a press with Shift that reaches a cell."""
    places = [(x, y) for x in range(6) for y in range(6)]
    data = payload(places, {"name": [f"row {i}" for i in range(36)]}, axes=["x", "y"])
    module = json.dumps(script("widget")).replace("</", "<\\/")
    opened = open_page(f"""<!doctype html><div id=map></div><script>
      let taken = false;
      document.getElementById("map").addEventListener("mousedown", (e) => {{ taken = e.shiftKey; }});
      document.addEventListener("mousemove", (e) => {{ if (taken) e.stopPropagation(); }}, true);
      const values = {{ data: {json.dumps(data)} }};
      const model = {{ get: (name) => values[name], set() {{}}, save_changes() {{}} }};
      const file = new Blob([{module}], {{ type: "text/javascript" }});
      import(URL.createObjectURL(file)).then(({{ default: widget }}) => {{
        const el = document.getElementById("map");
        widget.render({{ model, el }});
        el.dataset.lowlandState = "ready";
      }});
    </script>""")
    eventually(opened.page, lambda: len(opened.colors()) == 1)
    opened.page.keyboard.down("Shift")
    opened.drag([(0.02, 0.02), (0.5, 0.02), (0.5, 0.98), (0.02, 0.98), (0.03, 0.04)])
    opened.page.keyboard.up("Shift")
    opened.wait_for_status("18 of 36 rows selected")


def test_colour_by_another_column_and_by_trust(opened):
    eventually(opened.page, lambda: len(opened.colors()) == 3)
    opened.page.select_option("#map select >> nth=0", label="size")
    assert opened.page.inner_text("#map .ll-legend").split() == ["size", "0", "1"]
    eventually(opened.page, lambda: len(opened.colors()) > 10)  # a scale
    opened.page.check("text=Colour by trust")
    assert "share of neighbours kept" in opened.page.inner_text("#map .ll-legend")
    opened.page.uncheck("text=Colour by trust")
    opened.page.select_option("#map select >> nth=0", label="one colour")
    eventually(opened.page, lambda: len(opened.colors()) < 3)  # one, and its edges
    assert opened.errors == []


def test_hover_shows_the_columns_of_a_point(opened):
    opened.page.locator("#map .ll-plot").scroll_into_view_if_needed()
    box = opened.box()
    tip = opened.page.locator("#map .ll-tooltip")
    lines = [(x, y) for y in (0.87, 0.85, 0.89) for x in np.linspace(0.05, 0.3, 40)]
    for x, y in lines:  # cross the first group until a point is met
        opened.page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        opened.page.wait_for_timeout(20)
        if tip.is_visible():
            break
    text = tip.inner_text()
    assert re.search(r"row-\d\d", text), text
    assert "g0" in text
    assert "size" in text


def test_search_highlights_rows(opened):
    opened.page.fill("#map input[type=search]", "ROW-07")
    opened.wait_for_status("1 of 90 rows selected: they contain “ROW-07”")
    opened.page.fill("#map input[type=search]", "g1")
    opened.wait_for_status("30 of 90 rows selected")
    opened.page.click("#map summary")
    opened.page.locator("#map tbody tr").nth(29).wait_for()
    assert opened.page.locator("#map tbody tr").count() == 30
    opened.page.fill("#map input[type=search]", "nothing")
    opened.wait_for_status("No rows contain “nothing”")
    opened.page.fill("#map input[type=search]", "")
    opened.wait_for_status("No rows selected")
    assert opened.errors == []


def test_legend_selects_a_group(opened):
    opened.page.click("#map .ll-legend button:has-text('g2')")
    opened.wait_for_status("30 of 90 rows selected: they are in the group “g2”")


def test_axes_are_chosen_and_the_view_moves_by_keys(opened):
    assert opened.page.inner_text("#map .ll-y").startswith("PCA 2")
    before = opened.picture()
    opened.page.select_option("#map select >> nth=2", label="PCA 3")
    assert opened.page.inner_text("#map .ll-y").startswith("PCA 3")
    eventually(opened.page, lambda: opened.picture() != before)
    turned = opened.picture()
    opened.page.focus("#map .ll-plot")
    opened.page.keyboard.press("+")
    opened.page.keyboard.press("ArrowLeft")
    eventually(opened.page, lambda: opened.picture() != turned)
    opened.page.keyboard.press("0")
    eventually(opened.page, lambda: opened.picture() == turned)
    assert opened.errors == []


def test_controls_are_reached_by_the_keyboard(opened):
    seen = []
    for _ in range(14):
        opened.page.keyboard.press("Tab")
        seen.append(opened.page.evaluate("document.activeElement.tagName + (document.activeElement.className || '')"))
    assert seen[:4] == ["SELECT", "SELECT", "SELECT", "INPUT"]
    assert "DIVll-plot" in seen


def test_markup_stays_text(open_page):
    Y, _ = clusters(9)
    names = [f"{MARKUP}{i}" for i in range(9)]
    columns = {MARKUP: names, "<b>group</b>": ["<i>a</i>", "b", "c"] * 3}
    part = interactive(Y, columns, id=MARKUP, color="<b>group</b>", axes=["<u>x</u>"] * 3)
    opened = open_page(document(part))
    opened.page.fill("#map input[type=search]", "onerror")
    opened.wait_for_status("9 of 9 rows selected")
    opened.page.click("#map summary")
    opened.page.locator("#map tbody tr").nth(8).wait_for()
    assert opened.page.title() == "A test"
    assert opened.page.locator("#map :is(img, b, i, u)").count() == 0
    assert MARKUP in opened.page.locator("#map tbody").text_content()
    assert "<i>a</i>" in opened.page.inner_text("#map .ll-legend")
    assert opened.errors == []


def test_hundred_thousand_points_of_more_are_drawn(open_page):
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((120_000, 2))
    part = interactive(Y, {"group": rng.integers(0, 5, 120_000), "value": Y[:, 0]}, color="group")
    opened = open_page(document(part))
    assert "A random sample of 100,000 of 120,000 rows is drawn" in opened.page.inner_text("#map .ll-note")
    opened.page.fill("#map input[type=search]", "3")
    opened.wait_for_status("of 100,000 rows selected")
    assert opened.errors == []


def test_without_webgl_the_static_picture_stays(browser, tmp_path):
    Y, groups = clusters()
    file = tmp_path / "page.html"
    file.write_text(document(interactive(Y, {"group": groups}, static="<p>static picture</p>")), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.goto(file.as_uri())
    page.wait_for_selector('[data-lowland-state="failed"]')
    assert page.is_visible("text=static picture")
    assert "The interactive map cannot be shown: this browser has no WebGL." in page.inner_text("#map")
    context.close()


@pytest.fixture(scope="module")
def report():
    from sklearn.datasets import load_wine

    wine = load_wine()
    model = lowland.PCA(n_components=4, scale=True).fit(wine.data)
    return render_report(
        model,
        model.transform(wine.data),
        X=wine.data,
        color=[str(wine.target_names[i]) for i in wine.target],
        color_name="cultivar",
        hover={"alcohol": wine.data[:, 0].tolist()},
        title="Wines",
        data_summary={"rows": len(wine.data)},
    )


def test_report_has_the_interactive_map_and_names_its_columns(open_page, report):
    opened = open_page(report)
    assert opened.errors == []
    assert len(opened.requests) == 1
    text = opened.page.inner_text("main")
    assert "Columns of the data in this page, for hover, colour and search: alcohol, cultivar." in text
    assert opened.page.locator("#map select >> nth=1").locator("option").count() == 4
    opened.page.check("text=Colour by trust")
    opened.page.emulate_media(media="print")
    assert opened.page.is_visible("#map-static svg")
    assert not opened.page.is_visible("#map")


def test_widget_shows_the_map_and_reports_selected_rows(open_page):
    Y, groups = clusters()
    data = payload(Y, {"group": groups}, color="group", max_points=60)
    text = f"""<!doctype html><html lang="en"><title>A test</title><div id="map"></div>
      <script id="data" type="application/json">{data}</script>
      <script id="code" type="text/plain">{script("widget")}</script>
      <script type="module">
        const [data, code] = ["data", "code"].map((id) => document.getElementById(id).textContent);
        const model = {{
          get: () => data,
          set: (name, value) => {{ model[name] = value; }},
          save_changes: () => {{ window.rows = model.selected; }},
        }};
        const address = URL.createObjectURL(new Blob([code], {{ type: "text/javascript" }}));
        const el = document.getElementById("map");
        (await import(address)).default.render({{ model, el }});
        el.dataset.lowlandState = "ready";
      </script></html>"""
    opened = open_page(text)
    opened.page.wait_for_selector("#map .ll-legend button")
    opened.page.click("#map .ll-legend button:has-text('g1')")
    opened.page.wait_for_function("window.rows && window.rows.length > 0")
    rows = opened.page.evaluate("window.rows")
    assert rows == sorted(rows)
    assert {groups[i] for i in rows} == {"g1"}
    assert max(rows) >= 60, "rows are those of the data, not of the sample"
    assert opened.errors == []


def test_every_point_is_inside_of_a_low_window(open_page):
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    opened = open_page(document(interactive(corners)))
    assert even(quarters(opened.page))
    opened.page.set_viewport_size({"width": 1280, "height": 420})
    eventually(opened.page, lambda: opened.box()["height"] <= 420 and even(quarters(opened.page)))
    assert opened.errors == []


def even(counts):
    return min(counts) > 20 and max(counts) < 1.5 * min(counts)


def quarters(page):
    """Return the number of drawn pixels in each quarter of the map."""
    return page.evaluate(
        """() => {
              const canvas = document.querySelector('#map canvas');
              const copy = new OffscreenCanvas(canvas.width, canvas.height);
              const place = copy.getContext('2d', { willReadFrequently: true });
              place.drawImage(canvas, 0, 0);
              const [w, h] = [canvas.width >> 1, canvas.height >> 1];
              return [[0, 0], [w, 0], [0, h], [w, h]].map(([x, y]) => {
                const { data } = place.getImageData(x, y, w, h);
                let inked = 0;
                for (let i = 3; i < data.length; i += 4) if (data[i] > 100) inked++;
                return inked;
              });
            }"""
    )
