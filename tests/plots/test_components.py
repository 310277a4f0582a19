"""Plots of components: positions, heights and labels are the numbers; names never overlap."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.text import Text
from sklearn.datasets import load_iris, load_wine

import lowland
from lowland import quality
from lowland.plots.component_arrows import biplot, correlation_circle
from lowland.plots.component_bars import contributions, cos2, loadings
from lowland.plots.relationship_square import relationship_square
from lowland.plots.style import THEMES, theme


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data.rename(columns={"od280/od315_of_diluted_wines": "od280/od315"})


@pytest.fixture(scope="module")
def fitted(wine):
    return lowland.PCA(scale=True).fit(wine)


@pytest.fixture
def table(rng):
    kind = rng.choice(["a", "b$", "c"], 60)
    size = rng.normal(0, 1, 60) + 2.0 * (kind == "a")
    return pl.DataFrame({"size": size, "weight": size + rng.normal(0, 0.7, 60), "kind": kind})


def arrows(ax):
    """Tips of the arrows, in order."""
    return np.array([text.xy for text in ax.texts if not text.get_text()])


def shown_names(ax):
    return [text for text in ax.texts if text.get_text() and text.get_visible()]


def names_of(ax):
    return [text.get_text() for text in shown_names(ax)]


def overlaps(ax):
    """Pairs of names whose drawn boxes overlap, and names outside of the axes."""
    ax.figure.draw_without_rendering()
    texts = shown_names(ax)
    boxes = [Text.get_window_extent(text) for text in texts]  # without the line to its place
    frame = ax.get_window_extent()
    found = [
        (a.get_text(), b.get_text())
        for i, (a, one) in enumerate(zip(texts, boxes, strict=True))
        for b, two in zip(texts[:i], boxes[:i], strict=True)
        if one.overlaps(two)
    ]
    outside = [
        text.get_text()
        for text, box in zip(texts, boxes, strict=True)
        if box.x0 < frame.x0 - 1 or box.x1 > frame.x1 + 1 or box.y0 < frame.y0 - 1 or box.y1 > frame.y1 + 1
    ]
    return found + outside


def leaders(ax):
    """The lines from names to their places, as drawn, in pixels: from the edge of a name's box to its place."""
    found = []
    for text in shown_names(ax):
        if text.arrow_patch is not None and text.arrow_patch.get_visible():
            box, place = Text.get_window_extent(text), ax.transData.transform(text.xy)
            middle = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
            way = place - middle
            share = np.min(0.5 * np.array([box.width, box.height]) / np.maximum(np.abs(way), 1e-9))
            found.append((text, Path([middle + share * way, place])))
    return found


def crossings(ax):
    """Pairs of lines that cross, and lines that pass through the name of another place."""
    lines = leaders(ax)
    found = [
        (a.get_text(), b.get_text())
        for i, (a, one) in enumerate(lines)
        for b, two in lines[:i]
        if one.intersects_path(two, filled=False)
    ]
    for text, line in lines:
        for other in shown_names(ax):
            if other is not text and line.intersects_bbox(Text.get_window_extent(other), filled=False):
                found.append((text.get_text(), other.get_text()))
    return found


# -- correlation circle ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [False, True])
def test_arrows_of_the_circle_are_correlations(wine, scale):
    X = wine / wine.std() * np.linspace(1, 2, 13)
    model = lowland.PCA(3, scale=scale).fit(X)
    ax = correlation_circle(model, X, axes=(1, 3))
    want = np.corrcoef(np.hstack([X, model.transform(X)]), rowvar=False)[:13, [13, 15]]
    order = np.argsort(-(want**2).sum(axis=1))
    np.testing.assert_allclose(arrows(ax), want[order], atol=1e-10)
    share = model.explained_variance_ratio_
    assert ax.get_xlabel() == f"PCA 1 ({100 * share[0]:.1f} %)"
    assert ax.get_ylabel() == f"PCA 3 ({100 * share[2]:.1f} %)"
    assert [patch.get_radius() for patch in ax.patches[:2]] == [1.0, 0.5**0.5]
    assert set(names_of(ax)) <= {X.columns[j] for j in order}


def test_the_longest_arrows_are_kept_and_coloured_by_their_squares(wine, fitted):
    ax = correlation_circle(fitted, wine, color="cos2", n_arrows=4)
    tips = arrows(ax)
    best = np.sort(quality.column_cos2(fitted, wine).combined((1, 2)))[::-1][:4]
    np.testing.assert_allclose((tips**2).sum(axis=1), best, atol=1e-10)
    bar = ax.figure.axes[1]
    assert bar.get_ylabel() == "cos² in this plane"
    assert "4 of 13 columns" in ax.get_title(loc="left")
    shades = [to_hex(text.arrow_patch.get_edgecolor()) for text in ax.texts if not text.get_text()]
    assert len(set(shades)) == 4
    by_share = correlation_circle(fitted, wine, color="contributions")
    assert by_share.figure.axes[1].get_ylabel() == "contribution, %"


def test_supplementary_numbers_are_on_the_circle(wine):
    X, alcohol = wine.drop(columns="alcohol"), wine["alcohol"].to_numpy()
    model = lowland.PCA(2, scale=True).fit(X)
    ax = correlation_circle(model, X, supplementary={"alcohol": alcohol})
    want = [np.corrcoef(alcohol, y)[0, 1] for y in model.transform(X).T]
    np.testing.assert_allclose(arrows(ax)[-1], want, atol=1e-10)
    assert "alcohol" in names_of(ax)
    dashed = [text.arrow_patch.get_linestyle() for text in ax.texts if not text.get_text()]
    assert dashed[-1] != dashed[0]
    laid = quality.supplementary(model.transform(X), {"alcohol": alcohol}, permutations=9)
    np.testing.assert_allclose(arrows(correlation_circle(model, X, supplementary=laid)), arrows(ax))
    with pytest.raises(ValueError, match="'kind' has categories, which have no correlation; use biplot"):
        correlation_circle(model, X, supplementary={"kind": ["a", "b"] * 89})
    with pytest.raises(ValueError, match="laid on 2 axes, but the model has 3"):
        correlation_circle(lowland.PCA(3, scale=True).fit(X), X, supplementary=laid)


@pytest.mark.parametrize("method", [lowland.KernelPCA(2), lowland.ICA(2, random_state=0), lowland.LPP(2)])
def test_the_circle_takes_any_method_and_coordinates(method):
    X = np.random.default_rng(0).normal(size=(60, 4)) @ np.random.default_rng(1).normal(size=(4, 4))
    Y = method.fit_transform(X)
    one, two = correlation_circle(method, X), correlation_circle(Y, X)
    np.testing.assert_allclose(arrows(one), arrows(two), atol=1e-12)
    assert (np.linalg.norm(arrows(one), axis=1) <= 1.5).all()
    assert two.get_xlabel() == "coordinate 1"


# -- biplot ---------------------------------------------------------------------------------------------------------


def factor_of(ax):
    return float(ax.get_title(loc="left").partition("×")[2].split("(")[0])


@pytest.mark.parametrize("scaling", ["form", "covariance", "correlation"])
def test_points_and_arrows_of_a_biplot_have_the_stated_scaling(scaling):
    X = load_iris().data
    model = lowland.PCA(2).fit(X)
    ax = biplot(model, X, scaling=scaling)
    Y, V, sd = model.transform(X), model.components_.T, np.sqrt(model.explained_variance_ * 149 / 150)
    points = Y / sd if scaling == "covariance" else Y
    np.testing.assert_allclose(ax.collections[0].get_offsets(), points, atol=1e-10)
    corr = quality.column_correlations(model, X).values
    want = {"form": V, "covariance": V * sd, "correlation": corr}[scaling]
    order = np.argsort(-quality.column_cos2(model, X).values.sum(axis=1))
    ratio = arrows(ax) / want[order]
    np.testing.assert_allclose(ratio, ratio[0, 0])  # one factor for all
    assert factor_of(ax) == pytest.approx(ratio[0, 0], rel=0.05)


def test_the_best_columns_are_drawn(wine, fitted):
    ax = biplot(fitted, wine, n_arrows=3, axes=(2, 3))
    order = np.argsort(-quality.column_cos2(fitted, wine).combined((2, 3)))[:3]
    assert len(arrows(ax)) == 3
    assert set(names_of(ax)) <= {wine.columns[j] for j in order}
    directions = fitted.components_.T[order][:, [1, 2]]
    np.testing.assert_allclose(np.cross(np.pad(arrows(ax), ((0, 0), (0, 1))), np.pad(directions, ((0, 0), (0, 1)))), 0,
                               atol=1e-9)  # fmt: skip
    assert len(arrows(biplot(fitted, wine, n_arrows=None))) == 13


def test_colours_of_a_biplot_have_a_legend(wine, fitted):
    target = load_wine().target.astype(str)
    ax = biplot(fitted, wine, color=target, color_name="kind")
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1", "2"]
    assert legend.get_title().get_text() == "kind"
    assert biplot(fitted, wine, color=wine["ash"], color_name="ash").figure.axes[1].get_ylabel() == "ash"


def test_supplementary_columns_of_a_biplot(wine):
    X, kind = wine.drop(columns="alcohol"), load_wine().target.astype(str)
    model = lowland.PCA(2, scale=True).fit(X)
    ax = biplot(model, X, supplementary={"alcohol": wine["alcohol"].to_numpy(), "kind": kind}, n_arrows=3)
    Y = model.transform(X)
    centres = np.array([Y[kind == level].mean(axis=0) for level in "012"])
    np.testing.assert_allclose(ax.collections[1].get_offsets(), centres, atol=1e-10)
    written = names_of(ax)
    assert {"kind=0", "kind=1", "kind=2", "alcohol"} <= set(written)
    corr = np.array([np.corrcoef(wine["alcohol"], y)[0, 1] for y in Y.T])
    tip = arrows(ax)[-1]
    np.testing.assert_allclose(
        tip / (corr / Y.std(axis=0)), np.full(2, factor(ax, model, X)) * (177 / 178) ** 0.5, rtol=1e-8
    )


def factor(ax, model, X):
    """The common factor of the active arrows."""
    order = np.argsort(-quality.column_cos2(model, X).combined((1, 2)))
    return arrows(ax)[0, 0] / model.components_.T[order][0, 0]


def test_truncated_svd_is_drawn_from_zero(rng):
    X = rng.uniform(1, 2, (50, 4))
    model = lowland.TruncatedSVD(3).fit(X)
    kind = np.where(X[:, 0] > 1.5, "a", "b")
    ax = biplot(model, X, supplementary={"kind": kind})
    Y = model.transform(X)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), Y[:, :2])
    np.testing.assert_allclose(ax.collections[1].get_offsets(), [Y[kind == k, :2].mean(axis=0) for k in "ab"])
    ratio = arrows(ax) / model.components_[:2].T[np.argsort(-quality.column_cos2(model, X).combined((1, 2)))]
    np.testing.assert_allclose(ratio, ratio[0, 0])


def test_famd_and_recipes_name_their_columns(table):
    ax = biplot(lowland.FAMD(2).fit(table), table)
    assert set(names_of(ax)) <= {"size", "weight", "kind=a", r"kind=b\$", "kind=c"}
    assert len(arrows(ax)) == 5
    model = lowland.recipe(lowland.PCA(2), categories="one-hot", scale="standard").fit(table)
    ax = biplot(model, table, color=table["kind"])
    assert len(arrows(ax)) == len(model[:-1].get_feature_names_out())
    np.testing.assert_allclose(ax.collections[0].get_offsets(), model.transform(table), atol=1e-8)


def test_the_square_shows_numbers_and_categories_together(table, wine, fitted):
    model = lowland.FAMD(3).fit(table)
    ax = relationship_square(model, axes=(1, 3))
    want = model.column_coordinates()[:, [0, 2]]
    numbers, categories = ax.collections
    np.testing.assert_allclose(numbers.get_offsets(), want[:2], atol=1e-12)
    np.testing.assert_allclose(categories.get_offsets(), want[2:], atol=1e-12)
    assert set(names_of(ax)) <= {"size", "weight", "kind"}
    (points,) = relationship_square(fitted, wine).collections
    np.testing.assert_allclose(points.get_offsets(), quality.column_cos2(fitted, wine).values[:, :2])
    with pytest.raises(ValueError, match=r"axis 4 was not kept \(n_components = 3\)"):
        relationship_square(model, axes=(1, 4))


# -- names ----------------------------------------------------------------------------------------------------------


SMALL, MIDDLE, LARGE = (4.0, 3.4), (6.4, 5.2), (11.0, 8.0)


@pytest.mark.parametrize(
    ("style", "size"),
    [
        ("paper", SMALL),  # "dark" has the letters of "paper"
        ("paper", LARGE),
        ("slide", MIDDLE),
        pytest.param("paper", MIDDLE, marks=pytest.mark.slow),
        pytest.param("slide", SMALL, marks=pytest.mark.slow),
        pytest.param("slide", LARGE, marks=pytest.mark.slow),
    ],
)
def test_names_never_overlap(wine, fitted, size, style):
    kind = load_wine().target.astype(str)
    with theme(style):
        for draw in (
            lambda ax: correlation_circle(fitted, wine, ax=ax),
            lambda ax: relationship_square(fitted, wine, ax=ax),
            lambda ax: biplot(fitted, wine, color=kind, n_arrows=None, ax=ax),
            lambda ax: biplot(fitted, wine, n_arrows=5, supplementary={"kind": kind}, ax=ax),
            lambda ax: biplot(fitted, wine.iloc[:40], names=[f"row {i}" for i in range(40)], ax=ax),
        ):
            ax = Figure(figsize=size, layout="constrained").add_subplot()
            assert draw(ax) is ax
            assert overlaps(ax) == []
            assert crossings(ax) == []
            assert len(names_of(ax)) >= 3
            legend = ax.get_legend()
            assert legend is None or not legend.get_window_extent().shrunk(0.99, 0.99).overlaps(ax.get_window_extent())


def test_a_name_gives_way_to_one_that_would_need_a_long_line(wine, monkeypatch):
    X = wine.drop(columns=["alcohol", "proline"])
    further = {name: wine[name].to_numpy() for name in ("alcohol", "proline")}

    def longest() -> float:
        ax = biplot(lowland.PCA(2, scale=True).fit(X), X, supplementary=further, n_arrows=6)
        ax.figure.draw_without_rendering()
        assert len(names_of(ax)) == 8
        return max(float(np.hypot(*np.diff(line.vertices, axis=0)[0])) for _, line in leaders(ax))

    assert longest() < 25
    monkeypatch.setattr("lowland.plots.tip_placing._ROUNDS", 1)  # in the order of the names
    assert longest() > 60


def test_all_names_find_room_in_a_figure_of_usual_size(wine, fitted):
    assert set(names_of(correlation_circle(fitted, wine))) == set(wine.columns)
    assert len(names_of(biplot(fitted, wine))) == 10


@pytest.fixture(scope="module")
def crowd():
    """A model of 60 columns that are much alike: the arrows of many point the same way."""
    rng = np.random.default_rng(5)
    factors = rng.normal(size=(80, 3))
    X = factors @ rng.normal(size=(3, 60)) ** 3 + 0.3 * rng.normal(size=(80, 60))
    frame = pd.DataFrame(X, columns=[f"column number {i}" for i in range(60)])
    return lowland.PCA(2, scale=True).fit(frame), frame


@pytest.mark.parametrize(
    ("draw", "size"),
    [
        (correlation_circle, SMALL),
        (biplot, MIDDLE),
        (correlation_circle, LARGE),
        pytest.param(biplot, SMALL, marks=pytest.mark.slow),
        pytest.param(correlation_circle, MIDDLE, marks=pytest.mark.slow),
        pytest.param(biplot, LARGE, marks=pytest.mark.slow),
    ],
)
def test_crowded_arrows_have_as_many_names_as_fit(crowd, draw, size):
    model, X = crowd
    ax = draw(model, X, n_arrows=40, ax=Figure(figsize=size, layout="constrained").add_subplot())
    assert overlaps(ax) == []
    assert crossings(ax) == []
    shown, order = names_of(ax), list(np.argsort(-quality.column_cos2(model, X).values.sum(axis=1)))
    assert shown[0] == f"column number {order[0]}", "the column that the plane shows best has a name"
    hidden = 40 - len(shown)
    told = " ".join(ax.get_title(loc="left").split())
    assert "40 of 60 columns" in told
    assert hidden > 0
    assert f"{hidden} column{'' if hidden == 1 else 's'} not labelled" in told


def test_names_are_placed_again_when_the_figure_changes(crowd):
    model, X = crowd
    with theme("slide"):
        ax = correlation_circle(model, X)
    before, look = len(names_of(ax)), ax.title.get_fontsize()
    ax.figure.set_size_inches(4.0, 3.5)
    for _ in range(3):
        ax.figure.draw_without_rendering()
    assert overlaps(ax) == []
    assert crossings(ax) == []
    after = len(names_of(ax))
    assert after < before
    assert f"{30 - after} columns not labelled" in " ".join(ax.get_title(loc="left").split())
    assert ax.title.get_fontsize() == look


# -- bars -----------------------------------------------------------------------------------------------------------


def widths(ax):
    return [bar.get_width() for bar in ax.patches]


def heights(ax):
    return [bar.get_height() for bar in ax.patches]


def test_loadings_are_signed_bars_by_axis(wine, fitted):
    panels = loadings(fitted, axes=(1, 4), top=6)
    assert len(panels) == 2
    for panel, place in zip(panels, (0, 3), strict=True):
        L = fitted.loadings_[:, place]
        order = np.argsort(-np.abs(L))[:6]
        np.testing.assert_allclose(widths(panel), L[order])
        assert [text.get_text() for text in panel.get_yticklabels()] == [wine.columns[j] for j in order]
        tones = [to_hex(bar.get_facecolor()) for bar in panel.patches]
        assert [tone == tones[0] for tone in tones] == [
            bool(sign) for sign in np.sign(L[order]) == np.sign(L[order[0]])
        ]
        assert panel.get_title(loc="left").startswith(f"PCA {place + 1} (")
    assert len(loadings(fitted)) == 3
    (one,) = loadings([[0.5, 0.1], [-0.9, 0.2]], axes=(1,), names=["a", "b"])
    assert widths(one) == [-0.9, 0.5]
    assert [text.get_text() for text in one.get_yticklabels()] == ["b", "a"]


def test_contributions_are_percent_with_the_mean(wine, fitted):
    ax = contributions(fitted, axes=(1, 2), top=None)
    values = quality.column_contributions(fitted).combined((1, 2))
    np.testing.assert_allclose(heights(ax), np.sort(values)[::-1])
    assert sum(heights(ax)) == pytest.approx(100)
    assert ax.lines[0].get_ydata() == pytest.approx([100 / 13] * 2)
    assert names_of(ax) == ["mean: 7.7 %"]
    above = [to_hex(bar.get_facecolor()) == THEMES["paper"].accent for bar in ax.patches]
    assert above == [height >= 100 / 13 for height in heights(ax)]
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert labels == [wine.columns[j] for j in np.argsort(-values)]


def test_contributions_of_rows_and_levels(wine, fitted, table):
    ax = contributions(fitted, wine, of="rows", axes=(3,), top=7)
    want = np.sort(100 * fitted.contributions(wine)[:, 2])[::-1][:7]
    np.testing.assert_allclose(heights(ax), want)
    assert ax.lines[0].get_ydata()[0] == pytest.approx(100 / 178)
    assert "(7 of 178)" in ax.get_title(loc="left")
    model = lowland.FAMD(2).fit(table)
    columns, levels = contributions(model), contributions(model, of="levels")
    assert (len(columns.patches), len(levels.patches)) == (3, 5)
    assert sum(heights(columns)) == pytest.approx(100)
    assert sum(heights(levels)) == pytest.approx(100)
    given = contributions([[60.0, 30.0], [40.0, 70.0]], axes=(1, 2), names=["a", "b"])
    assert heights(given) == [55.0, 45.0]


def test_cos2_as_bars_and_maps(wine, fitted):
    ax = cos2(fitted, wine, axes=(1, 2, 3), top=None)
    want = quality.column_cos2(fitted, wine).combined((1, 2, 3))
    np.testing.assert_allclose(heights(ax), np.sort(want)[::-1])
    assert ax.get_ylim() == (0, 1)
    rows = cos2(fitted, wine, of="rows", top=5)
    np.testing.assert_allclose(heights(rows), np.sort(fitted.cos2(wine)[:, :2].sum(axis=1))[::-1][:5])
    plane = cos2(fitted, wine, of="rows", kind="map")
    marks = plane.collections[0]
    circle = correlation_circle(fitted, wine, color="cos2").figure.axes[1].collections[-1]
    assert circle.get_cmap().name == plane.collections[0].get_cmap().name  # one scale for one measure
    Y, quality_of_rows = fitted.transform(wine)[:, :2], fitted.cos2(wine)[:, :2].sum(axis=1)
    order = np.argsort(quality_of_rows, kind="stable")
    np.testing.assert_allclose(marks.get_offsets(), Y[order])
    np.testing.assert_allclose(marks.get_array(), quality_of_rows[order])
    heat = cos2(fitted, wine, kind="map")
    np.testing.assert_allclose(np.asarray(heat.images[0].get_array()).sum(axis=1), 1)


# -- themes and bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", sorted(THEMES))
def test_colours_and_sizes_are_those_of_the_theme(wine, fitted, style, tmp_path):
    with theme(style) as look:
        drawn = [
            correlation_circle(fitted, wine),
            biplot(fitted, wine),
            loadings(fitted, axes=(1,))[0],
            contributions(fitted),
            cos2(fitted, wine),
        ]
    for ax in drawn:
        assert to_hex(ax.xaxis.label.get_color()) == look.ink
        ticks = ax.get_xticklabels() + ax.get_yticklabels()
        assert {text.get_fontsize() for text in ticks} == {look.font}
        if look.background is not None:
            assert to_hex(ax.figure.get_facecolor()) == look.background
        ax.figure.savefig(tmp_path / "one.png", dpi=40)
    assert to_hex(drawn[3].patches[0].get_facecolor()) == look.accent
    assert all(text.get_fontsize() == look.font for text in drawn[0].texts if text.get_text())


def test_bad_input_is_refused(wine, fitted):
    two = lowland.PCA(2, scale=True).fit(wine)
    for draw in (
        lambda: biplot(two, wine, axes=(1, 3)),
        lambda: correlation_circle(two, wine, axes=(1, 3)),
        lambda: loadings(two, axes=(3,)),
        lambda: contributions(two, axes=(3,)),
        lambda: cos2(two, wine, axes=(1, 3)),
    ):
        with pytest.raises(ValueError, match=r"axis 3 was not kept \(n_components = 2\); fit with n_components=3"):
            draw()
    isomap = lowland.Isomap(2).fit(wine)
    for draw in (lambda: loadings(isomap, wine), lambda: contributions(isomap, wine)):
        with pytest.raises(ValueError, match="Isomap has no components over columns"):
            draw()
    with pytest.raises(ValueError, match="axes must be two numbers"):
        biplot(two, wine, axes=(1,))
    with pytest.raises(ValueError, match="scaling must be one of 'form', 'covariance', 'correlation'; got 'big'"):
        biplot(two, wine, scaling="big")
    with pytest.raises(ValueError, match="n_arrows must be a whole number of at least 1"):
        biplot(two, wine, n_arrows=0)
    with pytest.raises(ValueError, match="2 names for 178 rows"):
        biplot(two, wine, names=["a", "b"])
    with pytest.raises(ValueError, match="color must be None, 'cos2' or 'contributions'"):
        correlation_circle(two, wine, color="red")
    with pytest.raises(ValueError, match="ax takes one axis"):
        loadings(two, axes=(1, 2), ax=Figure().add_subplot())
    with pytest.raises(ValueError, match="of must be one of 'columns', 'rows', 'levels'"):
        contributions(two, of="cells")
    with pytest.raises(ValueError, match="kind must be 'bars' or 'map'"):
        cos2(two, wine, kind="pie")
    with pytest.raises(ValueError, match="kind='map' of rows needs a fitted model"):
        cos2(np.full((4, 2), 0.5), of="rows", kind="map")
    with pytest.raises(ValueError, match="finite array of"):
        loadings(np.ones(3))
    with pytest.raises(ValueError, match="1 names for 2 entries"):
        loadings(np.ones((2, 2)), names=["a"])
    with pytest.raises(ValueError, match="20 axes are too many"):
        loadings(np.ones((2, 20)), axes=range(1, 21))
