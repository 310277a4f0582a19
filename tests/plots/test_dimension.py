"""The picture of a dimension estimate."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from lowland.dimension import estimate
from lowland.plots.dimension import dimension
from lowland.plots.style import theme


@pytest.fixture(scope="module")
def found():
    return estimate(np.random.default_rng(0).uniform(size=(200, 3)) @ np.diag([1.0, 0.7, 0.01]))


def test_curves_are_those_of_the_estimate(found):
    scales, spectrum = dimension(found)
    np.testing.assert_allclose(scales.lines[0].get_ydata(), found.scales.value)
    np.testing.assert_allclose(scales.lines[0].get_xdata(), found.scales.radius)
    np.testing.assert_allclose(scales.lines[1].get_ydata(), found.scales.distances)
    shares = 100 * found.spectrum.values / found.spectrum.total
    np.testing.assert_allclose(spectrum.lines[0].get_ydata(), shares)
    named = [text.get_text() for text in spectrum.texts]
    assert f"largest gap {round(found.linear['largest_gap'])}" in named
    assert found.figure().axes[0].get_xlabel() == "neighbourhood radius"


def test_axes_that_are_given(found):
    one, two = Figure().subplots(1, 2)
    assert dimension(found, ax=one) == [one]
    assert dimension(found, ax=[one, two]) == [one, two]
    with pytest.raises(ValueError, match="one or two axes; got 3"):
        dimension(found, ax=[one, two, one])
    with pytest.raises(TypeError, match="leave out metric"):
        dimension(found, metric="cityblock")


@pytest.mark.parametrize("name", ["slide", "dark"])
def test_themes(found, name):
    with theme(name) as look:
        scales, spectrum = dimension(found)
    assert [line.get_color() for line in scales.lines[:2]] == [look.accent, look.second]
    assert {text.get_color() for text in spectrum.texts} == {look.ink}


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_no_line_crosses_the_name_of_an_estimate(rng):
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 6)) + 0.5 * rng.normal(size=(200, 6))
    _, spectrum = dimension(X)
    spectrum.figure.draw_without_rendering()
    lines = [line for line in spectrum.lines if line.get_linestyle() != "-"]
    assert len(lines) > 1
    for text in spectrum.texts:
        box = text.get_window_extent()
        assert box.x1 <= spectrum.figure.bbox.x1
        for line in lines:
            (x, low), (_, high) = line.get_transform().transform(line.get_xydata())
            assert not (box.x0 < x < box.x1 and low < box.y0 + 1 < high), text.get_text()
    assert spectrum.spines["left"].get_bounds()[1] == 100
    assert max(spectrum.get_xticks()) <= 6


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_the_scale_of_small_shares_ends_below_the_title():
    rng = np.random.default_rng(0)
    spectrum = dimension(estimate(rng.normal(size=(150, 120))))[1]
    top = spectrum.spines["left"].get_bounds()[1]
    assert spectrum.lines[0].get_ydata().max() < top <= spectrum.get_ylim()[1]
