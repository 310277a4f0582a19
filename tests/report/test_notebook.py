"""HTML of results in notebooks: text and picture, without markup from names."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lowland
from lowland.report.notebook import MAX_DRAWN


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).standard_normal((60, 4)) * [3, 2, 1, 0.5]


def text(html: str) -> str:
    return re.findall(r"<pre>(.*?)</pre>", html, flags=re.S)[-1]


def test_fitted_model_shows_its_map(X):
    html = lowland.Isomap(n_neighbors=8).fit(X)._repr_html_()
    assert "<svg" in html
    assert "Isomap reduced 60 rows" in text(html)


def test_linear_model_shows_its_spectrum(X):
    html = lowland.PCA(n_components=2).fit(X)._repr_html_()
    assert "<svg" in html
    assert "Share of the variance" in text(html)


def test_model_before_a_fit_is_scikit_learns_diagram():
    html = lowland.PCA(n_components=2)._repr_html_()
    assert "PCA" in html
    assert "<pre>Share" not in html
    assert lowland.PCA()._repr_mimebundle_()["text/html"]


def test_large_maps_are_thinned():
    model = lowland.Isomap(n_neighbors=8).fit(np.random.default_rng(0).standard_normal((40, 3)))
    model.embedding_ = np.random.default_rng(0).standard_normal((2 * MAX_DRAWN + 5, 2))
    assert "One row in 3 is drawn." in text(model._repr_html_())


@pytest.mark.parametrize("measure", [lowland.quality.shepard, lowland.quality.rnx_curve], ids=["shepard", "rnx"])
def test_measures_show_their_picture(X, measure):
    assert "<svg" in measure(X, X[:, :2])._repr_html_()


def test_results_shown_together_have_different_ids(X):
    pages = [lowland.quality.shepard(X, X[:, :k])._repr_html_() for k in (1, 2)]
    ids = [set(re.findall(r' id="([^"]+)"', page)) for page in pages]
    assert all(ids)
    assert not ids[0] & ids[1]
