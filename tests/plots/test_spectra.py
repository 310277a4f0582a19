"""Scree plots, spectra, the pictures that explain PCA, images and correlations: what is drawn is what was computed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.datasets import load_iris, load_wine

import lowland
from lowland import quality
from lowland.data.pixels import pixel_names
from lowland.dimension import null_shares, parallel_analysis
from lowland.plots.component_images import eigenimages, reconstructions
from lowland.plots.correlation_map import column_groups, correlations
from lowland.plots.lecture import axes_and_projections, power_iteration, variance_by_direction
from lowland.plots.spectrum import scree, spectrum
from lowland.plots.style import THEMES, theme


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def digits():
    X, _, _ = lowland.data.digits()
    return X


@pytest.fixture
def cloud(rng):
    return rng.normal(size=(40, 2)) @ [[2.0, 0.9], [0.0, 0.5]] + [3.0, 1.0]


def heights(ax):
    return [bar.get_height() for bar in ax.patches]


# -- scree and spectrum ----------------------------------------------------------------------------------------------


def test_scree_of_a_model_has_its_shares_and_kept_components(wine):
    model = lowland.PCA(3, scale=True).fit(wine)
    ax = scree(model)
    np.testing.assert_allclose(heights(ax), 100 * model.spectrum_ / model.total_variance_)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.cumsum(heights(ax)))
    assert "3 kept" in [text.get_text() for text in ax.texts]
    accent = [to_hex(bar.get_facecolor()) == THEMES["paper"].accent for bar in ax.patches]
    assert accent == [True] * 3 + [False] * 10
    given = Figure().add_subplot()
    assert scree(model, ax=given) is given


@pytest.mark.parametrize("scale", [False, True])
def test_the_line_of_parallel_analysis_separates_its_count(wine, scale):
    X = wine / wine.std() * np.linspace(1, 2, 13)
    model = lowland.PCA(scale=scale).fit(X)
    ax = scree(model, X, parallel=True)
    line = ax.lines[1].get_ydata()
    np.testing.assert_allclose(line, 100 * null_shares(X, scale=scale))
    above = np.array(heights(ax)) > line
    assert int(np.argmin(above)) == parallel_analysis(X, scale=scale)
    assert "parallel analysis" in [text.get_text() for text in ax.texts]


def test_parallel_analysis_knows_what_it_needs(wine):
    scaled = lowland.PCA(2, scale=True).fit(wine)
    by_model, by_rows = scree(scaled, parallel=True), scree(scaled, wine, parallel=True)
    np.testing.assert_allclose(by_model.lines[1].get_ydata(), by_rows.lines[1].get_ydata())
    recipe = lowland.recipe(lowland.PCA(2), scale="standard").fit(wine)
    np.testing.assert_allclose(scree(recipe, wine, parallel=True).lines[1].get_ydata(), by_rows.lines[1].get_ydata())
    values = scree([2.0, 0.6, 0.4], parallel=True, n_rows=100)
    np.testing.assert_allclose(values.lines[1].get_ydata(), 100 * null_shares([2.0, 0.6, 0.4], 100))
    assert scree([2.0, 1.0], parallel=[0.6, 0.4]).lines[1].get_ydata().tolist() == [60, 40]
    with pytest.raises(ValueError, match="needs the training rows, X"):
        scree(lowland.PCA(2).fit(wine.iloc[:, :3]), parallel=True)
    with pytest.raises(ValueError, match="needs n_rows"):
        scree([2.0, 1.0], parallel=True)
    with pytest.raises(ValueError, match="not defined for TruncatedSVD"):
        scree(lowland.TruncatedSVD(2).fit(wine), wine, parallel=True)


def test_a_method_without_variances_has_no_scree(wine):
    X = wine.iloc[:60, :4]
    with pytest.raises(ValueError, match=r"Isomap has no explained variances; give eigenvalues as an array"):
        scree(lowland.Isomap(2).fit(X))
    with pytest.raises(ValueError, match="RandomProjection has no eigenvalues"):
        spectrum(lowland.RandomProjection(2).fit(X))


def drawn_points(ax):
    places = np.concatenate([line.get_xydata() for line in ax.lines if line.get_marker() == "o"])
    return places[np.argsort(places[:, 0])]


def test_negative_eigenvalues_of_distances_are_hollow():
    X = np.random.default_rng(0).normal(size=(14, 3))
    model = lowland.ClassicalMDS(2, metric="cityblock").fit(X)
    assert (model.spectrum_ < 0).any()
    ax = spectrum(model)
    np.testing.assert_allclose(drawn_points(ax)[:, 1], model.spectrum_)
    hollow = [line for line in ax.lines if line.get_marker() == "o" and line.get_markerfacecolor() == "none"]
    assert (hollow[0].get_ydata() < 0).all()
    assert len(hollow[0].get_ydata()) == (model.spectrum_ < 0).sum()
    count = int((model.spectrum_ < 0).sum())
    assert f"{count} negative" in [text.get_text() for text in ax.texts]


def test_the_gap_of_a_laplacian_is_marked(rng):
    X = np.concatenate([rng.normal(c, 0.5, (40, 2)) for c in ((0, 0), (2, 0), (0, 2))])
    model = lowland.LaplacianEigenmaps(8, n_neighbors=12).fit(X)
    ax = spectrum(model)
    values = model.eigenvalues_
    after = int(np.argmax(np.diff(values))) + 1
    assert ax.texts[0].get_text().startswith(f"largest gap: after {after}, by ")
    np.testing.assert_allclose(drawn_points(ax)[:, 1], values)


def test_long_spectra_show_both_ends():
    values = np.linspace(5, -1, 400)
    ax = spectrum(values)
    points = drawn_points(ax)
    assert len(points) == 120
    np.testing.assert_allclose(points[:, 1], np.concatenate([values[:60], values[-60:]]))
    labels = [int(text.get_text()) for text in ax.get_xticklabels()]
    assert labels[0] == 1
    assert labels[-1] > 340
    for bad, text in (([], "1-D array of eigenvalues"), ([np.nan], "must be finite")):
        with pytest.raises(ValueError, match=text):
            spectrum(bad)


# -- pictures that explain PCA ---------------------------------------------------------------------------------------


def test_sticks_lead_to_the_projections(cloud):
    ax = axes_and_projections(cloud)
    sticks = np.array(ax.collections[0].get_segments())
    model = lowland.PCA(1).fit(cloud)
    np.testing.assert_allclose(sticks[:, 0], cloud)
    np.testing.assert_allclose(sticks[:, 1], model.inverse_transform(model.transform(cloud)), atol=1e-10)
    np.testing.assert_allclose(ax.collections[2].get_offsets(), sticks[:, 1])
    along = np.diff(ax.lines[0].get_xydata(), axis=0)[0]
    assert abs(along @ model.components_[0]) == pytest.approx(np.linalg.norm(along))
    middle = ax.lines[0].get_xydata().mean(axis=0)
    np.testing.assert_allclose(middle, cloud.mean(axis=0))
    other = axes_and_projections(cloud, onto=(1, 0))
    ends = np.array(other.collections[0].get_segments())
    np.testing.assert_allclose(ends[:, 1], np.column_stack([cloud[:, 0], np.full(40, cloud[:, 1].mean())]))


def test_variance_by_direction_is_largest_at_the_first_axis(cloud):
    ax = variance_by_direction(cloud, candidates=[(1, 0.3), (1, 0.45)])
    angle, value = ax.lines[0].get_data()
    directions = np.column_stack([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))])
    np.testing.assert_allclose(value, ((cloud - cloud.mean(axis=0)) @ directions.T).var(axis=0, ddof=1))
    model = lowland.PCA(1).fit(cloud)
    best = ax.lines[1].get_xydata()[0]
    assert best[1] == pytest.approx(model.explained_variance_[0])
    assert best[1] >= value.max() - 1e-12
    v = model.components_[0]
    assert best[0] == pytest.approx(np.rad2deg(np.arctan2(v[1], v[0])) % 180)
    third = ax.lines[2].get_xydata()[0]
    assert third[0] == pytest.approx(np.rad2deg(np.arctan(0.3)))
    assert third[1] == pytest.approx(quality.variance_along(cloud, (1, 0.3))[0])
    assert len(ax.lines) == 4


def test_power_iteration_turns_to_the_first_eigenvector(cloud):
    left, right = power_iteration(cloud, start=(0.2, -1.0), steps=5)
    C = np.cov(cloud, rowvar=False)
    v = np.array([0.2, -1.0]) / np.hypot(0.2, 1.0)
    first = lowland.PCA(1).fit(cloud).components_[0]
    for step, (line, angle) in enumerate(zip(left.lines[1:], right.lines[0].get_ydata(), strict=True)):
        np.testing.assert_allclose(line.get_xydata()[1], v, atol=1e-12)
        assert np.cos(np.deg2rad(angle)) == pytest.approx(abs(v @ first)), step
        v = C @ v / np.linalg.norm(C @ v)
    values = lowland.PCA(2).fit(cloud).explained_variance_
    assert right.get_legend().get_texts()[1].get_text() == f"rate λ₂/λ₁ = {values[1] / values[0]:.3g}"
    (only,) = power_iteration(load_iris().data)
    assert only.lines[0].get_ydata()[0] == pytest.approx(80)
    given = Figure().add_subplot()
    assert power_iteration(C, ax=given) == [given]


def test_points_of_a_plane_are_required(wine):
    for draw in (axes_and_projections, variance_by_direction):
        with pytest.raises(ValueError, match=r"points with two columns; got shape \(178, 13\)"):
            draw(wine)
    with pytest.raises(ValueError, match=r"two numbers, not both zero, such as \(1, 0.3\)"):
        variance_by_direction(wine.iloc[:, :2], candidates=[(0, 0)])
    with pytest.raises(ValueError, match="rows or a covariance matrix"):
        power_iteration(np.ones(3))


# -- images and correlations -----------------------------------------------------------------------------------------


def test_eigenimages_are_the_components_on_symmetric_scales(digits):
    model = lowland.PCA(6).fit(digits)
    sheet = eigenimages(model, (8, 8), n=4)
    assert len(sheet) == 5
    np.testing.assert_allclose(sheet[0].images[0].get_array(), digits.mean(axis=0).reshape(8, 8))
    for panel, v in zip(sheet[1:], model.components_, strict=False):
        np.testing.assert_allclose(panel.images[0].get_array(), v.reshape(8, 8))
        low, high = panel.images[0].get_clim()
        assert -low == high == np.abs(v).max()
    assert [panel.get_title() for panel in sheet][:2] == [
        "mean",
        f"1 ({100 * model.explained_variance_ratio_[0]:.1f} %)",
    ]
    plain = eigenimages(np.eye(4), (2, 2), n=2)
    assert [panel.get_title() for panel in plain] == ["1", "2"]
    with pytest.raises(ValueError, match=r"shape \(8, 9\) does not fit rows of 64 pixels; give \(height, width\)"):
        eigenimages(model, (8, 9))
    with pytest.raises(ValueError, match="KernelPCA has no components over columns"):
        eigenimages(lowland.KernelPCA(2).fit(digits[:80]), (8, 8))
    with pytest.raises(ValueError, match="whole number from 1 to 100"):
        eigenimages(model, (8, 8), n=0)


def test_images_are_drawn_on_given_axes_and_in_the_shape_that_names_tell(digits):
    named = pd.DataFrame(digits[:200], columns=pixel_names(8, 8))
    model = lowland.PCA(3).fit(named)
    given = Figure().subplots(2, 2)
    assert eigenimages(model, ax=given) == list(given.ravel())
    np.testing.assert_array_equal(given[0, 1].images[0].get_array(), model.components_[0].reshape(8, 8))
    with pytest.raises(ValueError, match="got 4 axes for 3 images"):
        eigenimages(model, n=2, ax=given)
    row = Figure().subplots(1, 3)
    assert reconstructions(model, named, k=(0, 3), rows=[5], ax=row) == list(row)
    np.testing.assert_array_equal(row[2].images[0].get_array(), digits[5].reshape(8, 8))
    with pytest.raises(ValueError, match=r"not named as pixels .* give shape="):
        eigenimages(lowland.PCA(3).fit(digits[:50]))


def test_images_with_colours_are_drawn_in_them(rng):
    X = rng.uniform(0, 255, (30, 4 * 5 * 3))
    model = lowland.PCA(2).fit(X)
    mean, one, _ = eigenimages(model, (4, 5, 3))
    span = np.ptp(model.mean_)
    np.testing.assert_allclose(mean.images[0].get_array(), ((model.mean_ - model.mean_.min()) / span).reshape(4, 5, 3))
    shade = 0.5 + 0.5 * model.components_[0] / np.abs(model.components_[0]).max()
    np.testing.assert_allclose(one.images[0].get_array(), shade.reshape(4, 5, 3))


def test_reconstructions_stand_beside_the_original(digits):
    model = lowland.PCA(20).fit(digits)
    sheet = reconstructions(model, digits, (8, 8), k=(0, 5, 20), rows=[7, 2])
    assert len(sheet) == 8
    found = quality.partial_reconstruction(model, digits[[7, 2]], (0, 5, 20))
    for i in range(2):
        for j in range(3):
            panel = sheet[4 * i + j]
            np.testing.assert_allclose(panel.images[0].get_array(), found.rows[j, i].reshape(8, 8))
            text, _, lost = panel.get_xlabel().partition(" % ")
            assert lost == "lost"
            assert float(text) == pytest.approx(100 * found.lost[j, i], rel=0.06)
        np.testing.assert_allclose(sheet[4 * i + 3].images[0].get_array(), digits[[7, 2][i]].reshape(8, 8))
    assert [panel.get_title() for panel in sheet[:4]] == ["mean", "k = 5", "k = 20", "original"]
    with pytest.raises(ValueError, match=r"n_components = 20\); got 30"):
        reconstructions(model, digits, (8, 8), k=(30,))
    with pytest.raises(ValueError, match=r"does not fit rows of 64 pixels"):
        reconstructions(model, digits, (7, 7))
    with pytest.raises(ValueError, match="rows are numbers from 0 to 1796"):
        reconstructions(model, digits, (8, 8), k=(0,), rows=[1797])


def test_the_title_of_a_small_heat_map_is_not_cut_off(rng):
    names = ["a very long name of a column that never ends", "b", "c", "d"]
    shared = rng.standard_normal((30, 1))
    ax = column_groups(shared + 0.1 * rng.standard_normal((30, 4)), names=names)
    ax.figure.draw_without_rendering()
    assert "frames" in ax.get_title(loc="left")
    assert ax._left_title.get_window_extent().x1 <= ax.figure.bbox.x1


def test_the_heat_map_has_the_ordered_correlations(wine):
    ax = correlations(wine)
    found = quality.ordered_correlations(wine)
    np.testing.assert_allclose(ax.images[0].get_array(), found.values)
    assert ax.images[0].get_clim() == (-1, 1)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(found.names)
    assert [text.get_text() for text in ax.get_xticklabels()] == list(found.names)
    assert len(ax.texts) == 13 * 13
    assert ax.texts[0].get_text() == "1"
    assert ax.figure.axes[1].get_ylabel() == "correlation"
    named = correlations(wine, order="table", numbers=False)
    assert [text.get_text() for text in named.get_yticklabels()] == list(wine.columns)
    assert not named.texts


@pytest.mark.parametrize("style", sorted(THEMES))
def test_all_themes_draw_everything(style, digits, wine, cloud, tmp_path):
    model = lowland.PCA(12).fit(digits)
    with theme(style) as look:
        drawn = [
            scree(model),
            spectrum(model),
            axes_and_projections(cloud),
            variance_by_direction(cloud),
            power_iteration(cloud)[1],
            correlations(wine),
            *eigenimages(model, (8, 8), n=2),
            *reconstructions(model, digits, (8, 8), k=(2,), rows=[0]),
        ]
    for figure in dict.fromkeys(ax.figure for ax in drawn):
        if look.background is not None:
            assert to_hex(figure.get_facecolor()) == look.background
        figure.savefig(tmp_path / "one.png", dpi=40)
    assert to_hex(drawn[0].patches[0].get_facecolor()) == look.accent
    assert to_hex(drawn[0].lines[0].get_color()) == look.second


@pytest.mark.parametrize("size", [(4.0, 3.4), (6.4, 4.4), (11.0, 8.0)], ids=["small", "middle", "large"])
def test_texts_of_scree_and_heat_maps_do_not_overlap(size, wine):
    model = lowland.PCA(scale=True).fit(wine)
    for draw in (
        lambda ax: scree(model, wine, kept=3, parallel=True, ax=ax),
        lambda ax: spectrum([4.0, 3.5, 0.2, 0.1, -0.3], ax=ax),
        lambda ax: correlations(wine, numbers=False, ax=ax),
    ):
        ax = draw(Figure(figsize=size, layout="constrained").add_subplot())
        ax.figure.draw_without_rendering()
        texts = [text for text in [*ax.texts, *ax.get_yticklabels()] if text.get_text()]
        boxes = [text.get_window_extent() for text in texts]
        clashes = [
            (texts[i].get_text(), texts[j].get_text())
            for i in range(len(boxes))
            for j in range(i)
            if boxes[i].shrunk(0.98, 0.9).overlaps(boxes[j].shrunk(0.98, 0.9))
        ]
        assert clashes == []


def test_every_vector_of_power_iteration_has_its_number():
    left, _ = power_iteration([[2.0, 0.8], [0.8, 1.0]], start=(-0.5, 1.0))
    written = [text.get_text() for text in left.texts if text.get_text() and text.get_visible()]
    assert written == [str(step) for step in range(9)]
