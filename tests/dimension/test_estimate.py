"""The whole answer: identities, other metrics, warnings, forms and bad input."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import lowland
from dimension_estimates import pair, quiet
from lowland import RowSource
from lowland.core.errors import DataError, DominantColumnWarning, LowlandWarning
from lowland.dimension import Estimate, correlation_dimension, estimate, levina_bickel, two_nn, variance_share


def circle(rng, n):
    t = rng.uniform(0, 2 * np.pi, n)
    return 0.4 * np.column_stack([np.cos(t), np.sin(t)]) + 0.01 * rng.standard_normal((n, 2))


# -- identities --------------------------------------------------------------------------------------------------------


def test_units_rotation_and_further_columns_change_nothing():
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(400, 3))
    Q = np.linalg.qr(rng.standard_normal((6, 3)))[0]
    a, b = estimate(X), estimate(50 * X @ Q.T + 3)
    for kind in ("linear", "nonlinear"):
        assert a.consensus[kind] == pytest.approx(b.consensus[kind], rel=1e-6)
    np.testing.assert_allclose(a.scales.value, b.scales.value, rtol=1e-6)
    np.testing.assert_allclose(50 * a.scales.radius, b.scales.radius, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-100, 1e80])
def test_very_small_and_large_units_change_nothing(unit):
    X = circle(np.random.default_rng(2), 200)
    a, b = quiet(X), quiet(unit * X)
    for kind in ("linear", "nonlinear"):
        assert b.consensus[kind] == pytest.approx(a.consensus[kind], rel=1e-9)
        assert b.consensus[kind].high == pytest.approx(a.consensus[kind].high, rel=1e-9)
    assert b.sentence == a.sentence


def test_a_rise_is_followed_back_in_any_unit():
    t = np.random.default_rng(0).uniform(0, 2 * np.pi, (1500, 5))
    X = np.column_stack([np.cos(t), np.sin(t)])
    a, b = quiet(X, anchors=300), quiet(1e100 * X, anchors=300)
    assert a.plateau.rising
    assert b.consensus["nonlinear"] == pytest.approx(a.consensus["nonlinear"], rel=1e-9)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_angles_are_compared_with_the_spectrum_of_unit_rows(metric):
    """Whose lengths vary in a dimension more, which no angle sees."""
    X = np.random.default_rng(3).uniform(0.5, 1.5, (300, 1)) * (
        np.array([10.0, -10.0, 0.0, 0.0]) + np.random.default_rng(4).standard_normal((300, 4))
    )
    Z = X - X.mean(axis=1, keepdims=True) if metric == "correlation" else X
    Z = Z / np.linalg.norm(Z, axis=1)[:, None]
    found, expected = quiet(X, metric=metric), quiet(Z)
    assert found.linear == pytest.approx(expected.linear, rel=1e-6)
    assert found.consensus == pytest.approx(expected.consensus, rel=1e-6)
    assert "a linear method of unit rows" in found.sentence
    assert "PCA" not in found.sentence
    assert found.linear["participation_ratio"] != pytest.approx(quiet(X).linear["participation_ratio"], rel=0.1)
    if metric == "cosine":
        assert quiet(sp.csr_array(X), metric=metric).linear == pytest.approx(expected.linear, rel=1e-6)


def test_other_metrics_are_not_compared_with_the_spectrum():
    found = quiet(circle(np.random.default_rng(5), 200), metric="cityblock")
    assert found.consensus["linear"] == 2
    assert round(found.consensus["nonlinear"]) == 1
    said = r"The data have about \S+ dimensions? \(\S+ to \S+\); the shape is curved and closed, like a ring, "
    assert re.fullmatch(said + r"so a map needs 2 coordinates\.", found.sentence)


def test_distances_alone_give_the_nonlinear_part():
    X = np.random.default_rng(3).standard_normal((300, 3))
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    given = estimate(D, metric="precomputed")
    assert set(given.consensus) == {"nonlinear"}
    assert given.linear == {}
    np.testing.assert_allclose(given.scales.value, estimate(X).scales.value, rtol=1e-6)
    assert given.spectrum is None


def test_sparse_rows_streams_and_frames_are_rows():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 4))
    expected = estimate(X)
    for other in (sp.csr_array(X), RowSource.from_blocks(iter([X[:100], X[100:]]))):
        found = estimate(other)
        assert found.consensus["linear"] == expected.consensus["linear"]
        assert found.consensus["nonlinear"] == pytest.approx(expected.consensus["nonlinear"], rel=1e-6)


def test_same_seed_same_bits_on_any_number_of_threads():
    X = np.random.default_rng(5).standard_normal((2500, 18))
    plain = []
    for threads in (1, 4):
        with lowland.config(threads=threads):
            plain.append(json.dumps(quiet(X, anchors=300, random_state=7).to_dict()))
    assert plain[0] == plain[1]


def test_scaling_columns_is_scaling_them_first():
    X = np.random.default_rng(6).standard_normal((300, 4)) * [100, 1, 1, 1]
    found, flat = estimate(X, scale=True), estimate(X / X.std(axis=0))
    assert found.consensus["linear"] == flat.consensus["linear"] == 4
    assert found.consensus["nonlinear"] == pytest.approx(flat.consensus["nonlinear"], rel=1e-6)


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_scaling_sparse_columns_far_from_zero(offset):
    rng = np.random.default_rng(6)
    X = np.where(rng.random((200, 3)) < 0.9, rng.standard_normal((200, 3)), 0.0) * [50, 1, 1] + [offset, 0, 0]
    dense, sparse = quiet(X, scale=True), quiet(sp.csr_array(X), scale=True)
    assert sparse.consensus["nonlinear"] == pytest.approx(dense.consensus["nonlinear"], rel=1e-6)
    assert sparse.nonlinear["two_nn"] == pytest.approx(dense.nonlinear["two_nn"], rel=1e-6)


# -- warnings ----------------------------------------------------------------------------------------------------------


def test_one_column_that_owns_the_variance_is_named():
    X = np.random.default_rng(7).standard_normal((200, 3)) * [500, 1, 1]
    with pytest.warns(DominantColumnWarning, match="column 0 holds"):
        found = estimate(X)
    assert any("column 0 holds" in text for text in found.warnings)
    import pandas as pd

    with pytest.warns(DominantColumnWarning, match="column 'income' holds"):
        estimate(pd.DataFrame(X, columns=["income", "b", "c"]))


def test_m9_few_points_for_many_dimensions_are_told():
    found = quiet(np.random.default_rng(8).standard_normal((300, 30)))
    assert any(text.startswith("300 points are too few for ") for text in found.warnings)
    assert any("as far away as the other points" in text for text in found.warnings)
    most = 2 * np.log10(300)
    assert found.consensus["nonlinear"] > most
    assert f"; imprecise: 300 points can show at most {most:.1f})" in found.sentence
    enough = quiet(np.random.default_rng(8).standard_normal((300, 2)))
    assert "imprecise" not in enough.sentence


def test_the_table_says_why_minka_counts_all():
    found = quiet(np.random.default_rng(8).standard_normal((300, 5)) * [1, 2, 3, 4, 5])
    assert found.linear["minka"] == 4
    (row,) = [cells for cells in found.cells() if cells[1] == "minka"]
    assert row[-1] == "5 (all: 4 is the most it can keep)"


def test_whole_numbers_are_told():
    X = np.random.default_rng(9).integers(0, 6, (600, 5))
    with pytest.warns(LowlandWarning) as caught:
        found = estimate(X)
    assert any("discrete" in str(w.message) for w in caught)
    assert any("discrete" in text for text in found.warnings)


def test_equal_rows_are_told():
    X = np.random.default_rng(10).standard_normal((100, 3))
    with pytest.warns(LowlandWarning, match="40 of 140 rows"):
        found = estimate(np.vstack([X, X[:40]]))
    assert found.n_rows == 140
    assert found.scales.value.tolist() == estimate(X).scales.value.tolist()


# -- forms and bad input -----------------------------------------------------------------------------------------------


def test_table_frame_dictionary_and_figure():
    found = quiet(circle(np.random.default_rng(12), 300))
    assert isinstance(found, Estimate)
    text = str(found)
    assert "two_nn" in text
    assert "consensus" in text
    assert found.sentence in text
    frame = found.to_frame()
    assert frame.columns == ["kind", "rule", "value", "low", "high", "interval", "exact", "counted"]
    assert len(frame) == len(found.linear) + len(found.nonlinear) + 2
    ranges = frame.filter(frame["interval"] == "range of rules")
    assert ranges.select("kind", "rule").rows() == [("linear", "consensus")]
    (line,) = [line for line in text.splitlines() if "consensus (median)" in line]
    assert line.endswith("(range of rules)") == (ranges["low"][0] < ranges["high"][0])
    plain = found.to_dict()
    assert [plain["consensus"][kind]["interval"] for kind in ("linear", "nonlinear")] == ["range of rules", "95 %"]
    assert plain["plateau"]["rising"] is False
    assert json.loads(json.dumps(found.to_dict()))["consensus"]["nonlinear"]["value"] == found.consensus["nonlinear"]
    with pytest.raises(AttributeError):
        found.sentence = ""
    figure = found.figure()
    assert [axes.get_xlabel() for axes in figure.axes] == ["neighbourhood radius", "component"]
    assert figure.axes[0].lines[0].get_ydata().tolist() == found.scales.value.tolist()
    assert "<svg" in found._repr_html_()


def test_bad_input_is_refused():
    X = np.random.default_rng(13).standard_normal((50, 3))
    with pytest.raises(DataError, match="too few"):
        estimate(X[:5])
    with pytest.raises(DataError, match="do not vary"):
        estimate(np.ones((20, 2)))
    X[3, 1] = np.inf
    with pytest.raises(DataError, match="row 3, column 1"):
        estimate(X)
    with pytest.raises(ValueError, match="anchors must be"):
        estimate(np.eye(20), anchors=-1)
    for k in ((20, 10), (-5, 2.9), 1, True):
        with pytest.raises(ValueError, match="n_neighbors must be"):
            estimate(np.eye(20), n_neighbors=k)
    with pytest.raises(DataError, match=r"estimate: n_neighbors=.* use at most 19"):
        estimate(np.eye(20), n_neighbors=(15, 90))
    for things, metric in ((1 - np.eye(20), "precomputed"), (["a"] * 20, lambda a, b: 1.0)):
        with pytest.raises(ValueError, match="scale=True applies to columns"):
            estimate(things, metric=metric, scale=True)


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (estimate, {"n_neighbors": 1}),
        (estimate, {"anchors": 3}),
        (levina_bickel, {"n_neighbors": 1}),
        (levina_bickel, {"anchors": 3}),
        (two_nn, {"discard": 1}),
        (two_nn, {"anchors": 3}),
        (correlation_dimension, {"shares": (0.5, 0.1)}),
        (correlation_dimension, {"shares": 0.1}),
        (correlation_dimension, {"anchors": 3}),
        (variance_share, {"share": 1}),
    ],
)
def test_errors_name_the_function_and_the_parameter(function, options):
    X = np.random.default_rng(13).standard_normal((30, 3))
    with pytest.raises(ValueError, match=f"^{function.__name__}: {next(iter(options))} "):
        function(X, **options)


def test_results_are_equal_only_to_themselves():
    """They hold arrays, of whose equality there is no one truth."""
    X = np.random.default_rng(12).standard_normal((30, 2))
    a, b = quiet(X), quiet(X)
    for one, other in ((a, b), (a.scales, b.scales), (a.spectrum, b.spectrum)):
        assert one == one
        assert one != other
        assert len({one, other}) == 2


def test_points_that_are_all_equally_far_have_no_shape():
    for X, metric in ((1 - np.eye(30), "precomputed"), (np.eye(30), "euclidean")):
        with pytest.raises(DataError, match=r"^estimate: all points are equally far"):
            quiet(X, metric=metric)


def test_one_number_of_neighbours_is_a_range_of_one():
    X = np.random.default_rng(14).standard_normal((60, 2))
    assert quiet(X, n_neighbors=12).nonlinear["levina_bickel"] == levina_bickel(X, n_neighbors=12)
    assert quiet(X).nonlinear["levina_bickel"] == levina_bickel(X)
    assert not quiet(X, anchors=30).nonlinear["two_nn"].exact


@pytest.mark.parametrize("n", [10, 12, 20, 35, 64, 65])
def test_few_points_give_an_answer(n):
    found = quiet(np.random.default_rng(n).standard_normal((n, 2)))
    assert 1 <= found.consensus["nonlinear"] <= 3


def test_one_column_is_one_dimension():
    assert pair(quiet(np.random.default_rng(0).standard_normal((100, 1)))) == (1, 1)


def test_values_on_a_grid_silence_one_rule_only():
    found = quiet(np.random.default_rng(0).integers(0, 3, size=(500, 6)).astype(float))
    assert "equally far" in found.skipped["two_nn"]
    assert set(found.nonlinear) == {"directions", "levina_bickel", "correlation_dimension"}


def test_no_curvature_is_claimed_where_the_notes_doubt_it():
    X = sp.random(400, 50, density=0.1, random_state=np.random.default_rng(0), format="csr")
    found = quiet(X)
    assert round(found.consensus["linear"]) > round(found.consensus["nonlinear"])
    assert found.warnings
    assert "they curve, and" not in found.sentence
    assert "does not by itself show curvature" in found.sentence


def test_a_square_of_distances_is_not_taken_for_rows_silently(rng):
    X = rng.standard_normal((40, 3))
    D = np.linalg.norm(X[:, None] - X, axis=2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        lowland.dimension.estimate(D)
    assert any("looks like a distance matrix" in str(w.message) for w in told)


@pytest.mark.parametrize(("n", "columns", "share"), [(200, 100, 0.03), (60, 300, 0.01), (120, 1000, 0.004)])
def test_sparse_truth_values_are_estimated_without_overflow(n, columns, share):
    """Tied distances make the radii of all scales equal, and squares of directions hardly rise."""
    X = (np.random.default_rng(0).random((n, columns)) < share).astype(float)
    with pytest.warns(LowlandWarning):
        found = estimate(X)
    value = found.consensus["nonlinear"]
    assert 1 <= value.low <= value <= value.high
