"""The linear consensus follows from the table that is shown, in every form of the result."""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np
import pytest

import lowland
from dimension_estimates import quiet
from lowland.dimension import estimating
from lowland.spectral import parallel_analysis


def tables():
    """Noise, fewer rows than columns, rows in a subspace or almost, equal rows, real measurements."""
    rng = np.random.default_rng(0)
    low = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 12))
    genes = rng.standard_normal((40, 4)) @ (rng.standard_normal((4, 600)) * (rng.random((4, 600)) < 0.2))
    wine = lowland.data.load_dataset("wine").X
    return {
        "noise, 30 × 1,000": rng.standard_normal((30, 1000)),
        "subspace": low,
        "near-low-rank": low + 1e-3 * rng.standard_normal(low.shape),
        "20 × 50": rng.standard_normal((20, 50)) * np.arange(50, 0, -1),
        "genes": genes + rng.standard_normal(genes.shape),
        "equal rows": np.repeat(rng.standard_normal((15, 40)), 2, axis=0),
        "one column": rng.standard_normal((50, 1)),
        "cube": rng.uniform(size=(200, 4)),
        "wine": wine,
        "scaled wine": wine / wine.std(axis=0),
    }


@pytest.mark.parametrize("name", list(tables()))
def test_the_consensus_is_the_median_of_the_rows_shown(name):
    X = tables()[name]
    found = quiet(X)
    value, most = found.consensus["linear"], min(len(X) - 1, X.shape[1])
    rows = [cells for cells in found.cells() if cells[1] in found.linear]
    assert [cells[1] for cells in rows] == list(found.linear) == list(found.counted)
    shown = [int(cells[4].split()[0]) for cells in rows]
    assert value == statistics.median_low(shown)
    assert (value.low, value.high) == (min(shown), max(shown))
    assert value.high <= most
    assert found.consensus["nonlinear"] <= most
    for _, rule, count, _, part in rows:
        if "(all: " in part:
            assert int(part.split()[0]) == found.spectrum.rank <= most
        else:
            assert int(part.split()[0]) == round(float(count)), rule


def test_every_form_names_the_rules_that_take_part():
    found = quiet(tables()["noise, 30 × 1,000"])
    plain, frame = found.to_dict()["consensus"], found.to_frame()
    assert plain["linear"]["rules"] == dict(found.counted)
    assert plain["linear"]["counting_all"] == dict(found.counting_all)
    assert found.counting_all["gavish_donoho"] == "nothing above noise"
    assert plain["nonlinear"]["rules"] == {"directions": found.consensus["nonlinear"]}
    part = frame.filter(frame["counted"].is_not_null())
    assert part["rule"].to_list() == [*found.linear, "directions"]
    assert part["counted"].to_list() == [*found.counted.values(), found.consensus["nonlinear"]]
    text = str(found)
    assert "29 (all: nothing above noise)" in text
    assert "no: finest scale only" in text
    assert "29 (all: nothing above noise)" in found._repr_html_()
    assert found.figure().axes[1].get_title() == "linear: 29\nmedian of 7 rules; 3 count all"


def test_a_rule_that_cannot_be_applied_is_named(monkeypatch, rng):
    monkeypatch.setattr(parallel_analysis, "DENSE_LIMIT", 5)
    found = quiet(rng.standard_normal((60, 12)))
    assert set(found.skipped) == {"parallel_analysis"}
    assert "parallel_analysis" not in found.counted
    assert "Note: Without parallel_analysis: " in str(found)


def test_leading_eigenvalues_alone_give_no_linear_consensus(monkeypatch, rng):
    """As of a table of more than 5,000 rows and columns, of which they hold less than 95 % of the variance."""
    whole = estimating.variances_of

    def leading(X, **options):
        found = whole(X, **options)
        return replace(found, values=found.values[:4], complete=False)

    monkeypatch.setattr(estimating, "variances_of", leading)
    monkeypatch.setattr(parallel_analysis, "DENSE_LIMIT", 5)
    found = quiet(rng.standard_normal((100, 20)))
    assert set(found.consensus) == {"nonlinear"}
    assert len(found.skipped) == 7
    assert "linear dimension" not in found.sentence
    assert found.figure().axes[1].get_title() == ""
    assert "consensus (median)" not in str(found)
