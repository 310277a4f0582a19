"""Figures of fitted models: which ones each method has, what they are drawn from, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowland
from lowland import quality
from lowland.cli.wording import in_words
from lowland.data.pixels import pixel_names
from lowland.plots.kinds import KINDS, KindError, plot, plot_kinds
from lowland.plots.style import theme

OURS = {
    *("scatter", "u_matrix", "component_planes", "hit_map", "shepard", "rnx", "quality_map", "neighbor_graph"),
    *("stress_by_dimension", "residual_variance", "dimension"),
}


@pytest.fixture
def X(rng):
    return rng.standard_normal((70, 3)) @ rng.standard_normal((3, 5)) + 0.3 * rng.standard_normal((70, 5)) + 2.0


@pytest.fixture(scope="module")
def roll():
    return lowland.data.swiss_roll(120, random_state=0)[0]


def drawn(result):
    """The axes of a figure, as a list."""
    found = result if isinstance(result, list) else [result]
    assert found
    assert all(isinstance(axes, Axes) for axes in found)
    return found


def places(axes):
    return np.concatenate([np.asarray(part.get_offsets()) for part in axes.collections])


def same_points(got, want):
    np.testing.assert_allclose(got[np.lexsort(got.T)], want[np.lexsort(want.T)], rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_every_method_draws_itself(method, made, X):
    model = made(2).fit(X)
    (axes,) = drawn(model.plot(X))
    if method.name == "som":
        np.testing.assert_allclose(axes.collections[0].get_array(), model.u_matrix().ravel())
        assert sum(model.hits(X).ravel() > 0) == len(axes.collections[1].get_offsets())
    else:
        same_points(places(axes), np.asarray(model.transform(X), dtype=float))
        assert axes.get_xlabel().startswith(f"{method.title} 1")
    given = Figure().add_subplot()
    assert model.plot(X, ax=given) is given
    assert set(model.plot_kinds()) <= set(KINDS)


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_every_kind_that_a_method_lists_can_be_drawn(method, made, X):
    model = made(2).fit(X)
    kinds = model.plot_kinds()
    few = [name for name in kinds if name not in ("dimension", "stress_by_dimension")]  # which fit other models
    assert "shepard" in few
    for name in few:
        drawn(model.plot(X, kind=name))
        if not kinds[name].endswith("(needs X)"):
            drawn(model.plot(kind=name))
        else:
            with pytest.raises(ValueError, match="X"):
                model.plot(kind=name)


def test_axes_of_pca_have_their_shares(X):
    model = lowland.PCA(n_components=3).fit(X)
    axes = model.plot(X, color=["a", "b"] * 35, color_name="kind")
    share = 100 * model.explained_variance_ratio_[0]
    assert axes.get_xlabel() == f"PCA 1 ({share:.1f} %)"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]


def test_a_model_that_keeps_its_map_needs_no_rows(roll):
    model = lowland.Isomap(n_neighbors=8).fit(roll)
    same_points(places(model.plot()), model.embedding_)
    same_points(places(model.plot(roll[:20])), model.embedding_[:20])
    curve = model.plot(kind="residual_variance")
    np.testing.assert_allclose(curve.lines[0].get_ydata(), model.residual_variance_)
    both = model.plot(roll, kind="residual_variance", dimensions=[1, 2])
    assert len(both.lines) == 2
    np.testing.assert_allclose(both.lines[0].get_ydata(), model.residual_variance_, rtol=1e-6)


def test_kinds_are_drawn_from_the_space_of_the_model(roll):
    model = lowland.MetricMDS(metric="cityblock").fit(roll)
    found = quality.shepard(roll, model.embedding_, metric="cityblock")
    axes = model.plot(roll, kind="shepard")
    np.testing.assert_allclose(axes.collections[0].get_offsets()[:, 0], found.data_distances)
    D = cdist(roll, roll)
    by_pairs = lowland.MetricMDS(metric="precomputed").fit(D)
    assert "correlation_circle" not in by_pairs.plot_kinds()
    axes = by_pairs.plot(D, kind="shepard")
    found = quality.shepard(D, by_pairs.embedding_, metric="precomputed")
    assert f"stress {found.stress:.3f}" in axes.get_title("left")
    scaled = lowland.PCA(2, scale=True).fit(roll)
    Z = roll / scaled.scale_
    np.testing.assert_allclose(
        scaled.plot(roll, kind="shepard").collections[0].get_offsets()[:, 0],
        quality.shepard(Z, scaled.transform(roll)).data_distances,
    )


def test_recipes_are_drawn_in_the_space_of_their_preprocessing(roll):
    table = pd.DataFrame(roll * [1.0, 10.0, 100.0], columns=["x", "y", "z"])
    chain = lowland.recipe(lowland.Isomap(n_neighbors=8), scale="standard", pre="pca:2").fit(table)
    axes = plot(chain, table)
    same_points(places(axes), np.asarray(chain.transform(table), dtype=float))
    assert axes.get_xlabel() == "Isomap 1"
    same_points(places(plot(chain)), chain[-1].embedding_)
    Z = (table - table.mean()) / table.std(ddof=0)
    found = quality.shepard(Z.to_numpy(), np.asarray(chain.transform(table)))
    shown = plot(chain, table, kind="shepard").collections[0].get_offsets()
    np.testing.assert_allclose(shown[:, 0], found.data_distances, rtol=1e-6)
    som = make_pipeline(StandardScaler(), lowland.SOM((4, 3), epochs=3)).fit(roll)
    hits = som[-1].hits(som[0].transform(roll))
    np.testing.assert_array_equal(plot(som, roll, kind="hit_map").collections[0].get_array(), hits.ravel())


def test_categories_are_compared_as_famd_codes_them(rng):
    table = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60), "k": ["red", "blue", "green"] * 20})
    model = lowland.FAMD(2).fit(table)
    same_points(places(model.plot(table)), np.asarray(model.transform(table), dtype=float))
    found = quality.shepard(table, model.transform(table), metric="famd")
    assert f"stress {found.stress:.3f}" in model.plot(table, kind="shepard").get_title("left")


def test_an_unknown_kind_lists_those_that_work(roll):
    model = lowland.Isomap().fit(roll)
    with pytest.raises(KindError, match="'pie' is not a kind of figure") as caught:
        model.plot(kind="pie")
    text = str(caught.value)
    assert (caught.value.reason, caught.value.kinds) == ("'pie' is not a kind of figure.", model.plot_kinds())
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.reason, again.kinds) == (text, caught.value.reason, caught.value.kinds)
    for name, said in model.plot_kinds().items():
        assert f"\n  {name}: {said}" in text
    with pytest.raises(ValueError, match=r"'u_matrix' cannot be drawn from this Isomap: .*no grid of prototypes"):
        model.plot(roll, kind="u_matrix")


def test_missing_rows_are_asked_for(X):
    model = lowland.PCA(n_components=2).fit(X)
    with pytest.raises(ValueError, match="PCA does not keep the coordinates of its training rows; give the rows as X"):
        model.plot()
    with pytest.raises(ValueError, match=r"'shepard' cannot be drawn from this PCA: .*give the rows as X\.") as caught:
        model.plot(kind="shepard")
    assert in_words(caught.value.reason).endswith("training rows; give the table of the rows.")
    assert plot_kinds(model)["scatter"].endswith("(needs X)")
    with pytest.raises(NotFittedError):
        lowland.PCA().plot(X)
    with pytest.raises(ValueError, match=r"got a StandardScaler.*lowland\.plots\.scatter\(Y\)"):
        plot(StandardScaler().fit(X), X)


def test_similarities_are_no_distances(X):
    model = lowland.KernelPCA(kernel="precomputed").fit(X @ X.T)
    assert "shepard" not in model.plot_kinds()
    with pytest.raises(ValueError, match="matrix of similarities, not distances"):
        model.plot(X @ X.T, kind="shepard")


def test_options_reach_the_function(roll):
    model = lowland.Isomap().fit(roll)
    axes = model.plot(roll, kind="neighbor_graph", n_neighbors=4, path=(0, 50))
    assert axes.get_title("left").startswith("4 nearest neighbours of 120 points")
    with pytest.raises(TypeError, match="hue"):
        model.plot(hue="red")


@pytest.mark.parametrize("name", ["slide", "dark"])
def test_themes(roll, name):
    model = lowland.SOM((4, 3), epochs=3).fit(roll)
    with theme(name) as look:
        axes = lowland.Isomap().fit(roll).plot()
        panels = model.plot(kind="component_planes")
    assert axes.xaxis.label.get_color() == look.ink
    assert [panel.title.get_color() for panel in panels] == [look.ink] * 3


def test_the_table_is_complete():
    assert set(KINDS) >= OURS
    for name, kind in KINDS.items():
        assert kind.name == name
        assert kind.summary[0].islower()
        assert len(kind.summary) < 80


def test_models_of_pixels_propose_images_and_models_of_named_columns_do_not(rng):
    pixels = pd.DataFrame(rng.uniform(size=(30, 48)), columns=pixel_names(8, 6, start=1))
    model = lowland.PCA(5).fit(pixels)
    of_images = set(plot_kinds(model))
    assert {"eigenimages", "reconstructions", "scree"} <= of_images
    assert not of_images & {"biplot", "correlation_circle", "loadings", "contributions", "cos2", "correlations"}
    sheet = model.plot(pixels, kind="reconstructions")
    assert [ax.get_title() for ax in sheet[:5]] == ["mean", "k = 1", "k = 2", "k = 5", "original"]
    assert sheet[-1].images[0].get_array().shape == (8, 6)
    np.testing.assert_array_equal(sheet[9].images[0].get_array(), pixels.to_numpy()[7].reshape(8, 6))
    assert model.plot(pixels, kind="biplot").get_xlabel().startswith("PCA 1"), "drawn where it is asked for"
    chain = make_pipeline(StandardScaler().set_output(transform="pandas"), lowland.PCA(2)).fit(pixels)
    assert "eigenimages" in plot_kinds(chain)
    named = plot_kinds(lowland.PCA(2).fit(pixels.rename(columns=lambda name: f"gene {name}")))
    assert "loadings" in named
    assert "eigenimages" not in named
    assert "eigenimages" in plot_kinds(lowland.PCA(2).fit(pixels.to_numpy())), "an array has no names that tell"


@pytest.mark.parametrize("color", ["text", "numbers", "series"])
def test_colours_of_rows_are_taken_by_the_kinds_of_rows_and_refused_in_words_by_the_others(X, color):
    values = {"text": np.array(["u", "v"] * 35), "numbers": X[:, 0], "series": pl.Series(["u", "v"] * 35)}[color]
    model = lowland.PCA(2).fit(X)
    for kind in ("scatter", "biplot", "neighbor_graph"):
        drawn(model.plot(X, kind=kind, color=values))
    with pytest.raises(ValueError, match=r"the arrows are columns.*colour the rows of a biplot"):
        model.plot(X, kind="correlation_circle", color=values)
