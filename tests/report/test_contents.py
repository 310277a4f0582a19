"""The contents of a report: order, answers, numbers, pictures, and reports of maps made elsewhere."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lowland
from lowland import cli
from lowland.contract.method_table import METHODS
from lowland.core.measure import Measure
from lowland.data.pixels import pixel_names
from lowland.quality.purity import Purity
from lowland.quality.verdicts import Verdict
from lowland.report import render_report
from lowland.report.answers import _advice
from lowland.report.meaning import HOW_TO_READ, meaning, pictures_of
from report_page import Page

ORDER = [
    "The data",
    "What was done",
    "The map",
    "Pictures of PCA",
    "What the axes mean",
    "Columns that move together",
    "What gaps and sizes mean",
    "How reliable the map is",
    "How many dimensions",
    "Outliers",
    "Groups",
    "The fit",
    "Reproduce this report",
]
BAD = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    X = np.random.default_rng(5).normal(size=(80, 4)) * np.array([2.0, 1.7, 1.4, 1.0])
    X[7] = 30.0  # an outlier
    return X


@pytest.fixture(scope="module")
def kinds() -> list[str]:
    return ["left", "right"] * 40


@pytest.fixture(scope="module")
def model(rows: np.ndarray) -> lowland.PCA:
    return lowland.PCA(n_components=2).fit(pl.DataFrame(rows, schema=["a", "b", "c", "d"]))


@pytest.fixture(scope="module")
def source(model: lowland.PCA, rows: np.ndarray, kinds: list[str]) -> str:
    X = pl.DataFrame(rows, schema=["a", "b", "c", "d"])
    return render_report(
        model,
        model.transform(X),
        X=X,
        color=kinds,
        color_name="side",
        title="Points",
        data_summary={"file": "points.csv", "rows": 80},
        command="lowland reduce points.csv",
        next_steps={"Compare with other methods:": "lowland compare points.csv"},
    )


@pytest.fixture(scope="module")
def page(source: str) -> Page:
    return Page(source)


# -- order and form ---------------------------------------------------------------------------------------


def test_sections_come_in_order_and_the_contents_link_to_them(page: Page) -> None:
    assert page.sections == ORDER
    inner = [link for link in page.links if link.startswith("#")]
    assert {link.removeprefix("#") for link in page.links if not link.startswith("data:")} <= set(page.ids)
    targets = [re.sub(r"[^a-z]+", "-", title.lower()) for title in ORDER]
    assert [link.removeprefix("#") for link in inner][: len(ORDER)] == targets


def test_headings_do_not_skip_a_level(page: Page) -> None:
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_warnings_and_answers_stand_before_everything_else() -> None:
    X = np.random.default_rng(0).normal(size=(60, 4)) * np.array([1000.0, 1.0, 1.0, 1.0])
    with pytest.warns(lowland.DominantColumnWarning):
        model = lowland.PCA(n_components=2).fit(X)
    with pytest.warns(lowland.DominantColumnWarning):
        text = render_report(model, model.transform(X), X=X, title="T", data_summary={"rows": 60})
    places = [text.index(part) for part in ("<h1>", 'class="warning"', 'class="summary"', "<nav", "<section")]
    assert places == sorted(places)
    assert text.count('class="warning"') >= 1


def test_the_page_answers_what_it_is_whether_to_trust_it_and_what_next(page: Page, rows, model) -> None:
    found = lowland.quality.report(rows, model.transform(pl.DataFrame(rows, schema=["a", "b", "c", "d"])))
    text = page.text
    assert "PCA reduced 80 rows from 4 columns to 2 dimensions" in text
    assert "Can I trust it? One row decides an axis: " in text
    assert f"reduce the table without it. {found.sentence.split(' Distances')[0]}" in text
    assert "What next?" in text
    assert "lowland compare points.csv" in text


def test_every_picture_has_a_title_and_a_description(page: Page) -> None:
    pictures = [attributes for tag, attributes in page.attributes if tag == "svg"]
    assert len(pictures) >= 5
    for attributes in pictures:
        assert attributes["role"] == "img"
        assert set((attributes["aria-labelledby"] or "").split()) <= set(page.ids)
    assert page.tags.count("figcaption") == page.tags.count("figure")


def test_the_page_asks_for_nothing_from_the_network(source: str, page: Page) -> None:
    assert not re.search(r"https?:", source)
    assert not {"link", "iframe", "object", "img"} & set(page.tags)
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert [attributes for tag, attributes in page.attributes if tag == "script"] == [
        {"type": "application/json", "id": "lowland-report"}
    ]


# -- numbers ----------------------------------------------------------------------------------------------


def test_the_numbers_in_the_page_are_the_measures(page: Page, model, rows, kinds) -> None:
    X = pl.DataFrame(rows, schema=["a", "b", "c", "d"])
    numbers = page.numbers
    found = lowland.quality.report(X, model.transform(X), groups=kinds, space="the columns")
    quality = numbers["quality"]
    assert quality["sentence"] == found.sentence
    for name, measure in found.measures.items():
        assert quality["measures"][name]["value"] == pytest.approx(float(measure), rel=1e-12), name
    assert quality["purity"]["mixed"] == found.purity.to_dict()["mixed"]
    with pytest.warns(lowland.LowlandWarning, match="depends on the scale"):
        estimate = lowland.dimension.estimate(X)
    assert numbers["dimension"]["sentence"] == estimate.sentence
    odd = lowland.quality.outliers(X)
    assert numbers["outliers"]["rows"] == odd.rows.tolist() == [7]
    assert numbers["fit_info"]["method"] == "PCA"
    assert numbers["parameters"]["n_components"] == 2
    assert numbers["command"] == "lowland reduce points.csv"
    assert numbers["lowland"] == lowland.__version__
    assert numbers["not_measured"] == {}


def test_outliers_name_the_columns_that_make_them_odd(page: Page) -> None:
    text = page.text
    assert "1 of 80 rows is flagged: row 7" in text
    assert "a = 30 (median" in text


def test_what_was_not_measured_has_its_reason(rows) -> None:
    model = lowland.PCA(n_components=1).fit(rows[:4])
    numbers = Page(render_report(model, model.transform(rows[:4]), X=rows[:4], title="T", data_summary={})).numbers
    assert numbers["quality"] is None
    assert "at least 5 rows" in numbers["not_measured"]["quality"]
    assert "Not examined" in numbers["not_measured"]["outliers"]


def test_what_was_not_measured_is_told_in_the_words_of_the_reader(rows) -> None:
    model = lowland.PCA(n_components=1).fit(rows[:4])
    given = {"X": rows[:4], "title": "T", "data_summary": {}, "words": lambda text: f"[{text}]"}
    text = Page(render_report(model, model.transform(rows[:4]), **given)).text
    assert "[Not measured: at least 5 rows are needed.]" in text
    assert "[Not examined: outliers" in text


def test_markup_in_names_cells_and_ids_stays_text(rows) -> None:
    names = [BAD, "</script><b>", 'a"b', "d&d"]
    X = pl.DataFrame(rows, schema=names)
    model = lowland.PCA(n_components=2).fit(X)
    text = render_report(
        model,
        model.transform(X),
        X=X,
        color=[BAD, "</svg><i>"] * 40,
        color_name="<u>",
        names=[f"<b>{i}</b>" for i in range(80)],
        hover={"</script>": [BAD] * 80},
        title=BAD,
        data_summary={BAD: "</script><b>"},
        command=f"lowland reduce '{BAD}'",
        steps="<b>steps</b>",
        next_steps={"<b>": BAD},
    )
    page = Page(text)
    assert page.tags.count("script") == 1
    assert not {"b", "i", "u"} & set(page.tags)
    assert text.count("</script>") == 1
    assert page.numbers["title"] == BAD
    assert page.numbers["quality"]["space"].endswith("<b>steps</b>")


def test_of_very_many_rows_some_are_compared_and_the_page_says_so(model, rows, monkeypatch) -> None:
    monkeypatch.setattr("lowland.report.compared.MANY_ROWS", 50)
    monkeypatch.setattr("lowland.report.compared.FEW_ANCHORS", 40)
    X = pl.DataFrame(rows, schema=["a", "b", "c", "d"])
    page = Page(render_report(model, model.transform(X), X=X, title="T", data_summary={"rows": 80}))
    assert "10 neighbours of 40 of 80 rows, with 95 % intervals" in page.text
    assert "Estimated from a random sample of the 80 rows." in page.text
    assert "Distances are to the nearest of 40 random rows" in page.text
    trust = page.numbers["quality"]["measures"]["trustworthiness"]
    assert trust["low"] < trust["value"] < trust["high"]


# -- methods ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_has_a_meaning_of_its_own_and_pictures(method: Any) -> None:
    assert meaning(method.name, method.title) != meaning(None, method.title)
    if method.name != "ica":
        assert set(pictures_of(method.name)) <= set(HOW_TO_READ)


@pytest.mark.parametrize(
    ("make", "heading"),
    [
        (lambda: lowland.Isomap(n_neighbors=8), "Residual variance by dimension"),
        (lambda: lowland.MetricMDS(), "Shepard diagram"),
        (lambda: lowland.LaplacianEigenmaps(n_neighbors=8), "Agreement of neighbourhoods by size"),
        (lambda: lowland.SOM((4, 3), epochs=5), "U-matrix"),
        (lambda: lowland.KernelPCA(n_components=2), "Eigenvalues of the method"),
        (lambda: lowland.ICA(n_components=2), "What the axes mean"),
    ],
)
def test_the_pictures_are_those_of_the_method(rows, make, heading) -> None:
    X = rows[np.arange(80) != 7]
    model = make()
    Y = model.fit_transform(X)
    page = Page(render_report(model, Y, X=X, title="T", data_summary={"rows": 79}))
    assert any(heading in text for _, text in page.headings)
    assert "What gaps and sizes mean" in page.sections
    assert len(page.ids) == len(set(page.ids))


def test_components_of_images_are_drawn_as_images() -> None:
    X = pl.DataFrame(np.random.default_rng(0).uniform(size=(40, 36)), schema=pixel_names(6, 6))
    model = lowland.PCA(4).fit(X)
    page = Page(render_report(model, model.transform(X), X=X, title="T", data_summary={}))
    titles = {text for _, text in page.headings}
    assert "The axes as images" in titles
    assert "Images and what the components keep of them" in titles
    assert not {"Correlation circle", "Rows and columns together (biplot)", "What the axes mean"} & titles


def test_a_map_laid_over_another_has_no_pictures_of_axes(rows, model) -> None:
    X = pl.DataFrame(rows, schema=["a", "b", "c", "d"])
    text = render_report(
        model, model.transform(X), X=X, title="T", data_summary={}, alignment="The map is laid over old.csv."
    )
    page = Page(text)
    assert "What the axes mean" not in page.sections
    assert "Correlation circle" not in page.text
    assert "The map is laid over old.csv." in page.text


# -- maps made elsewhere, and new rows --------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows, kinds) -> Path:
    monkeypatch.chdir(tmp_path)
    Y = lowland.PCA(n_components=2).fit_transform(rows)
    frame = pl.DataFrame({"key": [f"r{i}" for i in range(80)], "side": kinds})
    data = frame.hstack(pl.DataFrame(rows, schema=["a", "b", "c", "d"]))
    data.write_csv("data.csv")
    data.with_columns(pl.Series("east", Y[:, 0]), pl.Series("north", Y[:, 1])).write_csv("both.csv")
    frame.with_columns(pl.Series("tsne0", Y[:, 0]), pl.Series("tsne1", Y[:, 1])).write_csv("map.csv")
    return tmp_path


def call(capsys: Any, *words: str) -> str:
    code = cli.main([*words])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return shown.out


def test_a_map_made_elsewhere_gets_the_same_page(files, capsys) -> None:
    call(capsys, "evaluate", "data.csv", "map.csv", "--id", "key", "--target", "side", "--report", "m.html")
    page = Page((files / "m.html").read_text())
    assert page.text.startswith("Map of data.csv")
    assert "made with t-SNE" in page.text
    assert "Sizes of clusters and gaps between clusters do not carry distance" in page.text
    assert [title for title in ORDER if title in page.sections and title != "The fit"] == [
        title for title in page.sections if title in ORDER
    ]
    assert {"The map", "How reliable the map is", "How many dimensions", "Outliers", "Groups"} <= set(page.sections)
    X = pl.read_csv("data.csv").select("a", "b", "c", "d")
    Y = pl.read_csv("map.csv").select("tsne0", "tsne1").to_numpy()
    found = lowland.quality.report(X, Y)
    value = page.numbers["quality"]["measures"]["trustworthiness"]["value"]
    assert value == pytest.approx(float(found["trustworthiness"]), rel=1e-12)
    assert "lowland evaluate data.csv map.csv --id key --target side --report m.html" in page.text


def test_coordinates_may_be_columns_of_the_data(files, capsys) -> None:
    words = ("--x", "east", "--y", "north", "--id", "key", "--target", "side")
    call(capsys, "evaluate", "both.csv", *words, "--report", "m.html")
    page = Page((files / "m.html").read_text())
    assert "made elsewhere" in page.text
    X = pl.read_csv("both.csv")
    Y = X.select("east", "north").to_numpy()
    found = lowland.quality.report(X.select("a", "b", "c", "d"), Y)
    value = page.numbers["quality"]["measures"]["continuity"]["value"]
    assert value == pytest.approx(float(found["continuity"]), rel=1e-12), "east and north are not data"


def test_new_rows_have_a_report_with_those_unlike_the_training_rows(files, capsys) -> None:
    call(capsys, "reduce", "data.csv", "--id", "key", "--drop", "side", "--out", "o.csv", "--model", "m.lowland")
    new = (
        pl.read_csv("data.csv")
        .head(20)
        .with_columns(pl.when(pl.col("key") == "r3").then(99.0).otherwise(pl.col("c")).alias("c"))
    )
    new.write_csv("new.csv")
    call(capsys, "transform", "m.lowland", "new.csv", "--id", "key", "--out", "p.csv", "--report", "new.html")
    page = Page((files / "new.html").read_text())
    assert page.text.startswith("new.csv on the map of m.lowland")
    assert "PCA placed 20 new rows in 2 dimensions." in page.text
    assert "Rows unlike the training rows" in page.sections
    assert page.numbers["novelty"]["novel"] >= 1
    assert "r3" in page.text


def test_the_next_comparison_is_of_the_same_rows(files, capsys) -> None:
    words = ("--id", "key", "--color", "side", "--scale", "--out", "o.csv", "--report", "r.html")
    call(capsys, "reduce", "data.csv", *words)
    page = Page((files / "r.html").read_text())
    assert "lowland compare data.csv --id key --target side --scale" in page.text


@pytest.mark.parametrize(
    ("near", "direct", "geodesic", "said"),
    [
        (0.8, 0.95, 0.95, "Do not read groups or neighbours"),
        (0.9, 0.95, 0.5, "not single neighbours."),
        (0.97, 0.95, 0.5, "Neighbours, groups and distances can be read"),
        (0.97, 0.5, 0.95, "distances along the shape"),
        (0.97, 0.5, 0.5, "do not measure distances in it: they are poor"),
        (0.9, 0.7, 0.5, "Read the coarse arrangement"),
        (0.934, 0.346, 0.5, "Read neighbours and groups from this map, not the distances between groups"),
        (0.8, 0.7, 0.5, "Read only the coarse arrangement from it: distances are fair"),
        (0.8, 0.3, 0.5, "Distances in it are poor, too"),
    ],
)
def test_the_advice_follows_the_verdict(near, direct, geodesic, said) -> None:
    assert said in _advice_on(Verdict(near, near, direct, geodesic))


@pytest.mark.parametrize(
    ("contrast", "mixed", "said", "unsaid"),
    [
        (1.1, ("a",), "not single neighbours or borders of groups", "Neighbours, groups and distances can be read"),
        (1.1, (), "hardly nearer than other rows", "overlap"),
        (3.0, ("a",), "Groups that are separate in the data overlap in the map", "hardly nearer"),
        (3.0, (), "Neighbours, groups and distances can be read", "not single neighbours"),
    ],
)
def test_the_advice_takes_contrast_and_groups_into_account(contrast, mixed, said, unsaid) -> None:
    text = _advice_on(Verdict(0.97, 0.97, 0.95), contrast, mixed)
    assert said in text
    assert unsaid not in text


def _advice_on(verdict: Verdict, contrast: float = 3.0, mixed: tuple[str, ...] = ()) -> str:
    from types import SimpleNamespace

    purity = Purity(Measure(0.9), Measure(0.6), 0.3, mixed)
    picture = SimpleNamespace(by_chance=False, verdict=verdict, contrast=Measure(contrast), purity=purity)
    return _advice(SimpleNamespace(picture=picture))


def test_the_report_of_a_reduction_words_warnings_for_the_command_line(files, capsys) -> None:
    wide = pl.read_csv("data.csv").with_columns(pl.col("a") * 1000)
    wide.write_csv("wide.csv")
    call(capsys, "reduce", "wide.csv", "--id", "key", "--color", "side", "--out", "o.csv", "--report", "r.html")
    page = Page((files / "r.html").read_text())
    assert "--scale" in page.text.split("Can I trust it?")[0]
    assert "scale=True" not in page.text.split("Can I trust it?")[0]
    assert "lowland compare wide.csv --id key --target side" in page.text


def test_correlations_with_axes_that_mean_nothing_are_left_out() -> None:
    X = np.random.default_rng(0).normal(size=(40, 5))
    for model, told in ((lowland.PCA(2), True), (lowland.ClassicalMDS(2, metric="cityblock"), False)):
        page = Page(render_report(model, model.fit_transform(X), X=X, title="t", data_summary={}))
        assert ("Correlation of each column with each axis" in page.text) is told
        assert "frames are groups" not in page.text, "the columns are independent: no group has a frame"


def test_the_seed_and_the_memory_of_a_fit_are_said_once() -> None:
    X = np.random.default_rng(0).normal(size=(40, 5))
    model = lowland.PCA(2)
    text = Page(render_report(model, model.fit_transform(X), X=X, title="t", data_summary={})).text
    assert "Random seed: 0, the default." in text
    assert "memory less than 1 MB" in text


def test_the_columns_in_the_page_are_listed_once() -> None:
    from lowland.report.hover import Hover
    from lowland.report.interactive import embedded, map_with_fallback

    listed = embedded(["file", "file "], 10, images=True)
    assert "search: file, small copies of the images." in listed
    names = ["a.png", "b.png", "c.png"]
    hover = Hover.of(3, names, {"file": names}, None, "file")
    page = map_with_fallback("", np.eye(3)[:, :2], ["x", "y"], hover=hover)
    assert '"file "' not in page


def test_an_extreme_new_row_is_drawn_at_the_edge() -> None:
    from lowland.report.building import of_new_rows
    from lowland.report.extremes import bounded
    from lowland.report.html import render

    rng = np.random.default_rng(0)
    model = lowland.PCA(2).fit(rng.normal(size=(80, 4)))
    new = rng.normal(size=(12, 4))
    new[3] *= 1e5
    Y = model.transform(new)
    found = bounded(Y)
    assert found.far.tolist() == [3]
    others = np.delete(Y, 3, axis=0)
    assert np.ptp(found.embedding, axis=0).max() < 1.5 * np.ptp(others, axis=0).max()
    np.testing.assert_array_equal(np.delete(found.embedding, 3, axis=0), others)
    about = {"title": "new", "names": [f"n{i}" for i in range(12)]}
    text = Page(render(of_new_rows(model, Y, X=new, training=None, novelty=None, **about))).text
    assert "Far outside and drawn at the edge, with coordinates in brackets: n3 (" in text
    tame = Y[[0, 1, 2, 4, 5]]
    assert bounded(tame).far.size == 0
    assert bounded(tame, 1e-3 * others).far.size == 5, "all are far outside the training rows"


def test_colours_of_trust_stand_out_from_the_dark_page() -> None:
    from lowland.report.trust import _seen_on_both

    def luminance(color: Any) -> float:
        channel = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3]]
        return float(np.dot([0.2126, 0.7152, 0.0722], channel))

    dark = luminance([0x14 / 255, 0x18 / 255, 0x1D / 255])
    assert (luminance(_seen_on_both()(0.0)) + 0.05) / (dark + 0.05) > 3
