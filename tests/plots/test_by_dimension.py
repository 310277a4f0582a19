"""Curves against the number of dimensions, by the numbers behind them."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import lowland
from lowland.dimension import residual_variance_by_dimension, stress_by_dimension
from lowland.plots import by_dimension
from lowland.plots.style import theme


@pytest.fixture(scope="module")
def roll():
    return lowland.data.swiss_roll(200, random_state=0)[0]


def test_stress_of_each_dimension_is_drawn(roll):
    curve = stress_by_dimension(roll, dimensions=[1, 2, 3])
    axes = by_dimension.stress_by_dimension(roll, dimensions=[1, 2, 3])
    np.testing.assert_allclose(axes.lines[0].get_xydata(), np.column_stack([[1, 2, 3], curve.stress]))
    assert axes.get_title(loc="left") == "metric MDS, 200 rows"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "2", "3"]
    levels = {text.get_text(): text.xy[1] for text in axes.texts}
    assert levels["poor"] == 0.2  # Kruskal's words
    assert levels["fair"] == 0.1


def test_a_sample_of_rows_is_told(roll):
    curve = stress_by_dimension(roll, dimensions=[2], rows=50, method="nonmetric")
    assert (curve.n_used, curve.n_rows) == (50, 200)
    axes = Figure().add_subplot()
    assert by_dimension.stress_by_dimension(curve, ax=axes) is axes
    assert axes.get_title(loc="left") == "nonmetric MDS, a sample of 50 of 200 rows"


def test_residual_variance_beside_that_of_pca(roll):
    curve = residual_variance_by_dimension(roll, range(1, 5))
    axes = by_dimension.residual_variance(roll, dimensions=range(1, 5))
    np.testing.assert_allclose(axes.lines[0].get_ydata(), curve.isomap)
    np.testing.assert_allclose(axes.lines[1].get_ydata(), curve.linear)
    assert np.isnan(curve.linear[3]), "three columns have no fourth component"
    assert [line.get_marker() for line in axes.lines] == ["o", "^"]
    assert axes.get_title(loc="left") == "200 rows, 10 neighbours"


def test_residual_variance_of_a_fitted_isomap(roll):
    model = lowland.Isomap(3).fit(roll)
    axes = by_dimension.residual_variance(model)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), model.residual_variance_)
    assert len(axes.lines) == 1, "PCA's curve needs the rows"
    with pytest.raises(ValueError, match=r"fit it with n_components=5"):
        by_dimension.residual_variance(model, dimensions=[1, 5])
    with pytest.raises(ValueError, match="PCA has no residual variances of path lengths"):
        by_dimension.residual_variance(lowland.PCA(2).fit(roll))


def test_many_dimensions_have_fewer_ticks(rng):
    curve = residual_variance_by_dimension(rng.normal(size=(60, 20)), range(1, 19))
    ticks = by_dimension.residual_variance(curve).get_xticks()
    assert len(ticks) < 18
    assert all(tick == int(tick) for tick in ticks)


@pytest.mark.parametrize("name", ["slide", "dark"])
def test_themes(roll, name):
    with theme(name) as look:
        axes = by_dimension.residual_variance(roll, dimensions=[1, 2])
        stress = by_dimension.stress_by_dimension(roll, dimensions=[1, 2])
    assert [line.get_color() for line in axes.lines] == [look.accent, look.second]
    assert axes.lines[0].get_linewidth() == look.line
    assert {text.get_color() for text in stress.texts} == {look.ink}
