"""The picture and the page of a comparison."""

from __future__ import annotations

import base64
import html
import json
import re

import numpy as np
import pytest
from matplotlib.text import Text

import lowland
from lowland.plots.comparison import comparison


def test_the_figure_shows_maps_and_criteria(found):
    figure = found.figure()
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[:2] == ["isomap (recommended)", "pca"]
    bars = figure.axes[-1]
    assert [text.get_text() for text in bars.get_yticklabels()] == ["isomap", "pca"]
    assert [text.get_text() for text in bars.get_legend().get_texts()] == [
        "neighbours",
        "geodesic distances",
        "class accuracy",
    ]
    widths = sorted(patch.get_width() for patch in bars.patches)
    table = found.table()
    assert widths == pytest.approx(sorted(v for name in ("local", "global", "target") for v in table[name]))
    drawn = sum(len(part.get_offsets()) for part in figure.axes[0].collections)
    assert drawn == 600, "every row is a point"


def test_notebooks_show_the_figure_under_the_table(found):
    page = found._repr_html_()
    assert page.startswith("<p>Recommended: Isomap.</p>")
    assert page.index("<svg") < page.index("<table")
    assert "<td>isomap" in page


def test_classes_are_named_in_the_maps_where_they_are_few():
    places = np.random.default_rng(0).standard_normal((40, 2))
    figures = {"pca": {"local": (0.8, 0.7, 0.9)}}
    for count, named in ((10, True), (20, False)):
        kinds = [f"k{i % count}" for i in range(40)]
        drawn = comparison({"pca": places}, figures, colors={"pca": kinds}).axes[0].texts
        assert [text.get_text() for text in drawn] == (sorted(set(kinds)) if named else [])
        for text in drawn:
            middle = np.median(places[[kind == text.get_text() for kind in kinds]], axis=0)
            assert text.get_position() == pytest.approx(tuple(middle))


def test_the_recommended_map_is_drawn_also_where_it_ranks_low(found):
    from lowland import Comparison

    evidence = {**found.record["evidence"], "structured": False}  # then it is PCA, which comes second
    other = Comparison({**found.record, "evidence": evidence}, found.maps)
    titles = [axes.get_title() for axes in other.figure(most=1).axes]
    assert titles[0] == "pca (recommended)"


def test_an_empty_figure_is_refused():
    with pytest.raises(ValueError, match="no map to draw"):
        comparison({}, {})


def test_a_figure_of_one_dimension_and_no_classes():
    maps = {"pca": np.arange(5.0)[:, None]}
    figure = comparison(maps, {"pca": {"local": (0.5, 0.4, 0.6), "global": (-0.1, -0.2, 0.0)}})
    assert figure.axes[-1].get_xlim()[0] < -0.1


def test_the_page_is_one_file_that_loads_nothing(found, tmp_path, with_script):
    found.to_html(tmp_path / "page.html", title="Rolls & <sheets>", command="lowland compare roll.csv")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>Rolls &amp; &lt;sheets&gt;</h1>" in text
    assert "Recommended: Isomap." in text
    assert "lowland.Isomap(" in text
    assert "lowland compare roll.csv" in text
    assert not re.search(r"<(link|iframe)|src=\"http|url\(http", text)
    scripts = re.findall(r"<script[^>]*>", text)
    data = [f'<script type="application/json" id="{name}">' for name in ("map-data", "lowland-report")]
    assert [scripts[0], scripts[2]] == data
    assert len(scripts) == 3
    nonce = re.fullmatch(r'<script nonce="(\w{40})">', scripts[1])[1]
    assert f"script-src 'nonce-{nonce}'\"" in text
    for reason in found.recommend().reasons:
        assert reason.split(":")[0][:40].replace("'", "&#x27;") in text


@pytest.fixture
def with_script(monkeypatch):
    monkeypatch.setattr("lowland.explorer.fragment._read", lambda name: "let script;")


def test_the_recommended_map_is_interactive(found, tmp_path, with_script):
    rows = [f"row-{i}" for i in range(600)]
    hover = {"height": [float(i) for i in range(600)]}
    found.to_html(tmp_path / "page.html", names=rows, names_title="key", hover=hover)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="map-data">(.*?)</script>', text, re.DOTALL)[1])
    assert [column["name"] for column in data["columns"]] == ["key", "height", "target"]
    assert (data["id"], data["color"], data["total"]) == (0, 2, 600)
    placed = found.maps[found.recommend().key]
    assert unpacked(data["rows"]).tolist() == placed.rows.tolist()
    assert data["columns"][0]["values"] == [rows[i] for i in placed.rows]
    assert unpacked(data["columns"][1]["values"]).tolist() == placed.rows.tolist()
    assert unpacked(data["trust"]["values"]) == pytest.approx(placed.kept, abs=1e-6)
    assert "Columns of the data in this page, for hover, colour and search: key, height, target." in text
    with pytest.raises(ValueError, match="height has 599 values for 600 points"):
        found.to_html(tmp_path / "page.html", hover={"height": hover["height"][1:]})


def unpacked(packed):
    kind = {"i32": "<i4", "f32": "<f4", "u8": "u1", "i8": "i1", "i16": "<i2"}[packed["type"]]
    return np.frombuffer(base64.b64decode(packed["data"]), dtype=kind)


def test_only_the_recommended_map_has_the_share_of_neighbours_that_it_keeps(found, roll):
    chosen = found.recommend().key
    assert [key for key, placed in found.maps.items() if placed.kept is not None] == [chosen]
    placed = found.maps[chosen]
    k = found.record["settings"]["n_neighbors"]
    expected = lowland.quality.pointwise(roll[placed.rows], placed.Y, k).kept  # all 600 rows are placed and drawn
    assert placed.kept == pytest.approx(expected, abs=1e-12)


def test_maps_and_criteria_are_figures_of_the_width_of_a_page(found):
    maps, criteria = found.figure(part="maps"), found.figure(part="criteria")
    assert [axes.get_title() for axes in maps.axes][:2] == ["isomap (recommended)", "pca"]
    assert len(criteria.axes) == 1
    for figure in (maps, criteria):  # letters of 7 points keep that size on A4 with margins of 14 mm
        assert 6.9 < figure.get_figwidth() < 182 / 25.4
        figure.draw_without_rendering()
        sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_text()]
        assert min(sizes) >= 7
    with pytest.raises(ValueError, match="part must be 'all', 'maps' or 'criteria'; got 'bars'"):
        found.figure(part="bars")


def test_the_page_holds_the_record_that_it_speaks_of(found, tmp_path):
    found.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<details class="screen">\n<summary>Record</summary>' in text  # pages of JSON are not printed
    (kept,) = re.findall(r"<summary>Record</summary>\s*<pre><code>(.*?)</code></pre>", text, re.DOTALL)
    assert json.loads(html.unescape(kept)) == found.record
    assert "record.json" in text


def test_the_page_says_what_did_not_run(found, tmp_path):
    from lowland import Comparison

    record = {**found.record, "candidates": [*found.record["candidates"]]}
    failed = {"key": "mvu", "method": "mvu", "parameters": {}, "kind": "default", "status": "failed", "reason": "a <b>"}
    record["candidates"].append({"number": 2, **failed})
    Comparison(record, found.maps).to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Not run" in text
    assert "failed: a &lt;b&gt;" in text
    record["candidates"] = record["candidates"][2:]
    Comparison(record, {}).to_html(tmp_path / "none.html")
    told = (tmp_path / "none.html").read_text(encoding="utf-8")
    assert "nothing to recommend (mvu failed: a &lt;b&gt;)" in told
