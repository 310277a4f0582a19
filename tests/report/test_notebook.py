"""HTML views for notebooks: a picture, a table, markup kept as text, scikit-learn's settings respected."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline

import lowland
from lowland import quality
from lowland.dimension import estimate
from lowland.plots.style import theme
from lowland.report import notebook

EVIL = "<script>alert('a&b')</script>"


class Tags(HTMLParser):
    """Collects tags and texts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.texts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_data(self, data):
        self.texts.append(data)


def checked(text):
    found = Tags(text)
    assert found.tags.count("svg") == 1
    assert EVIL not in text
    return found


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 4)) * [3.0, 2.0, 1.0, 1.0]


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_every_fitted_model_has_a_view(method, made, X):
    unfitted = made(2)
    assert notebook.model_html(unfitted) == ""
    assert type(unfitted).__name__ in unfitted._repr_html_()
    model = unfitted.fit(X)
    own = notebook.model_html(model)
    text = model._repr_html_()
    assert text.endswith(own)
    assert type(model).__name__ in text
    assert f"<td>{model.fit_info_.algorithm}</td>" in own
    if hasattr(model, "embedding_") or hasattr(model, "explained_variance_ratio_") or method.name == "som":
        checked(own)
    assert model._repr_mimebundle_()["text/html"].endswith(own)


def test_text_display_has_no_html(X):
    model = lowland.Isomap().fit(X)
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}
    assert repr(model) == "Isomap()"


def test_markup_in_names_stays_text(rng):
    table = pd.DataFrame(rng.normal(size=(40, 3)), columns=[EVIL, "<b>", "$x$"])
    model = lowland.SOM((3, 3), epochs=2).fit(table)
    checked(notebook.model_html(model))
    panels = notebook.picture(model.plot(kind="component_planes")[0].figure, EVIL, EVIL)
    found = checked(panels)
    assert any("<b>" in text for text in found.texts), "the name is shown as it is"
    assert "script" not in found.tags
    assert EVIL in "".join(found.texts)
    groups = quality.report(table.to_numpy(), table.to_numpy()[:, :2], groups=[EVIL, "b"] * 20)
    assert "script" not in checked(groups._repr_html_()).tags
    assert "&lt;script&gt;" in notebook.table(("a",), [(EVIL,)])


def test_pipelines_keep_the_view_of_scikit_learn(X):
    assert "Isomap" in make_pipeline(lowland.Isomap()).fit(X)._repr_html_()


def test_large_maps_are_sampled(X, monkeypatch):
    monkeypatch.setattr(notebook, "_POINTS", 50)
    text = notebook.model_html(lowland.Isomap().fit(X))
    assert "50 of 60 rows" in text


def test_a_quality_report(X):
    found = quality.report(X, X[:, :2])
    text = found._repr_html_()
    tags = checked(text)
    assert found.sentence in tags.texts
    for name, value, _ in found.rows():
        assert name in tags.texts
        assert value in tags.texts


def test_a_dimension_estimate(rng):
    found = estimate(rng.uniform(size=(200, 2)))
    tags = checked(found._repr_html_())
    assert found.sentence in tags.texts
    assert "consensus (plateau)" in tags.texts


def test_curves(X):
    checked(quality.shepard(X, X[:, :2])._repr_html_())
    checked(quality.rnx_curve(X, X[:, :2])._repr_html_())


def test_a_comparison(X):
    kinds = np.array([EVIL, "b"])[np.arange(60) % 2]
    found = lowland.compare(X, ["pca", "classical_mds"], budget=None, target=kinds, random_state=0)
    tags = checked(found._repr_html_())
    assert f"Recommended: {found.recommend().title}." in tags.texts
    assert {"pca", "classical_mds"} <= set(tags.texts)
    assert "script" not in tags.tags


def test_ids_of_different_pictures_differ(X):
    one, two = (Tags(quality.shepard(X, Y)._repr_html_()).ids for Y in (X[:, :2], X[:, :1]))
    assert one
    assert not set(one) & set(two)
    assert quality.shepard(X, X[:, :2])._repr_html_() == quality.shepard(X, X[:, :2])._repr_html_()


def test_the_page_chooses_its_colours(X):
    with theme("dark"):
        text = quality.shepard(X, X[:, :2])._repr_html_()
    assert "currentColor" in text
    assert not re.search("#e6edf3", text), "ink of the dark theme would be invisible on a light page"


def test_outliers_are_a_picture_of_all_rows_and_a_table(rng):
    X = np.vstack([rng.normal(size=(80, 3)), [[30.0, 0.0, 0.0], [0.0, -40.0, 0.0]]])
    result = quality.outliers(X, names=[EVIL, *(f"n{i}" for i in range(79)), "far", "farther"])
    text = result._repr_html_()
    found = checked(text)
    assert result.sentence in "".join(found.texts)
    assert text.count("<tr>") == 1 + len(result)
    assert text.index("<td>farther</td>") < text.index("<td>far</td>")
    ax = result.figure().axes[0]
    drawn = np.vstack([np.asarray(marks.get_offsets()) for marks in ax.collections])
    order = np.argsort(drawn[:, 0])
    assert drawn[order, 0].tolist() == list(range(82))
    assert drawn[order, 1] == pytest.approx(result.severity)
    assert [label.get_text() for label in ax.texts] == [result.names[i] for i in result.rows[:5]]
    none = quality.outliers(rng.normal(size=(60, 3)), level=1 - 1e-9)
    assert len(none) == 0
    assert "<table>" not in none._repr_html_()


def test_many_orders_of_outliers_have_a_logarithmic_scale(rng):
    X = np.vstack([rng.normal(size=(80, 3)), [[1e6, 0.0, 0.0]]])
    ax = quality.outliers(X).figure().axes[0]
    assert ax.get_yscale() == "log"
    ax.figure.draw_without_rendering()


def test_pointwise_measures_are_a_picture_and_the_least_reliable_points(X):
    result = quality.pointwise(X, X[:, :2], 8)
    text = result._repr_html_()
    checked(text)
    assert text.count("<tr>") == 1 + 10
    assert text.index(f"<td>{result.worst(1)[0]}</td>") < text.index(f"<td>{result.worst(2)[1]}</td>")
    left, right = result.figure().axes
    assert sum(patch.get_height() for patch in left.patches) == 60
    drawn = np.asarray(right.collections[0].get_offsets())
    assert drawn == pytest.approx(np.column_stack([result.false, result.missing]))
    some = quality.pointwise(X, X[:, :2], 8, anchors=20)
    assert f"The 20 points keep {some.kept.mean():.1%} of their 8 nearest neighbours." in some._repr_html_()
