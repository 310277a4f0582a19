"""Comparisons as a user meets them: what is recommended, recorded, repeated and refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import lowland
from comparison_record import entry
from lowland.core.errors import Cancelled, DataError, LowlandError

# -- what is found ----------------------------------------------------------------------------------------


def test_a_rolled_sheet_is_not_for_pca(found):
    advice = found.recommend()
    assert advice.method == "isomap"
    assert found.record["evidence"]["structured"] is True
    assert found.record["evidence"]["distances"] == "geodesic"
    assert any("eodesic distances" in reason for reason in advice.reasons)
    assert entry(found, "isomap")["criteria"]["geodesic"]["held-out"]["value"] > 0.95
    straight = {key: entry(found, key)["criteria"]["direct"]["training"]["value"] for key in ("pca", "isomap")}
    assert straight["pca"] > straight["isomap"], "direct distances alone would have chosen PCA"


def test_a_gaussian_cloud_is_for_pca_though_others_keep_more_neighbours(rng, at_once):
    X = rng.standard_normal((300, 6))
    found = lowland.compare(X, ["pca", "metric_mds"], budget=None)
    advice = found.recommend()
    assert advice.method == "pca"
    assert found.ranked()[0]["method"] == "metric_mds"
    assert "Gaussian data of the same covariance" in advice.reasons[0]
    assert "the neighbours that it keeps are random" in advice.reasons[0]
    assert found.recommend("global").method == "metric_mds", "who wants distances gets them"


def test_neighbours_are_called_random_only_where_principal_components_lose_them(rng, at_once):
    methods = ["pca", "metric_mds"]
    few, many = (lowland.compare(rng.standard_normal((n, 3)), methods, budget=None).recommend() for n in (60, 600))
    for advice in (few, many):
        assert advice.method == "pca"
        assert "Neighbours: poor" not in advice.verdict
        assert "Metric MDS has a higher score" in advice.reasons[0]
        assert "random" not in advice.reasons[0]
    assert "but the two are statistically tied (difference 0." in few.reasons[0]
    assert many.reasons[0].endswith("but no structure was found that PCA does not show.")


def test_three_rows_far_out_are_no_structure(rng, at_once):
    X = rng.standard_normal((297, 6))
    far = np.vstack([X, 40 + rng.standard_normal((3, 6))])
    found = lowland.compare(far, ["pca", "metric_mds"], budget=None)
    evidence = found.record["evidence"]
    assert evidence["structured"] is False
    assert evidence["strays"] == 3
    assert evidence["distances"] == "direct"
    advice = found.recommend()
    assert advice.method == "pca"
    assert any("3 rows lie far from all others" in text and "lowland outliers" in text for text in advice.reasons)


def test_dimensions_are_told_as_by_dimension_itself(found, roll):
    from lowland.dimension import estimate

    with pytest.warns(lowland.core.errors.LowlandWarning, match="more points would give a better estimate"):
        sentence = estimate(roll, random_state=0).sentence
    assert found.record["evidence"]["dimensions"]["sentence"] == sentence
    assert sentence in found.recommend().reasons


def test_candidates_are_fitted_without_the_held_out_rows(found):
    assert found.record["rows"] == {"all": 600, "compared": 600, "training": 480, "held-out": 120}
    sides = entry(found, "pca")["criteria"]["local"]
    assert len(sides["training"]["without"]) == 10
    assert len(sides["held-out"]["without"]) == 10


def test_the_criteria_are_those_of_the_map(found, roll):
    """The fitted rows' trustworthiness is what `quality` says of the map of these, that of held-out ones of all."""
    from lowland import quality
    from lowland.comparison.dataset import read
    from lowland.quality.rank_measures import at_chance

    given, _ = read(roll, None, "euclidean", None, 0.2, 0)
    model = lowland.PCA(n_components=2, random_state=0).fit(roll[~given.held])
    Y = model.transform(roll)
    for name in ("trustworthiness", "continuity"):
        measure, told = getattr(quality, name), entry(found, "pca")["criteria"]["local"]
        assert told["training"][name] == pytest.approx(measure(roll[~given.held], Y[~given.held]), abs=1e-12)
        assert told["held-out"][name] == pytest.approx(measure(roll, Y, groups=given.held).groups[True], abs=1e-12)
    for side, n in (("training", 480), ("held-out", 600)):
        mean, chance = (told[side]["trustworthiness"] + told[side]["continuity"]) / 2, at_chance("continuity", n, 10)
        assert told[side]["value"] == pytest.approx((mean - chance) / (1 - chance), abs=1e-12)


def test_a_target_is_judged_in_the_data_and_in_each_map(found):
    assert found.record["evidence"]["accuracy"] > 0.9
    pca, isomap = (entry(found, key)["criteria"]["target"] for key in ("pca", "isomap"))
    for side in ("training", "held-out"):
        assert isomap[side]["value"] > 0.9
        assert pca[side]["value"] > 0.9, "bands of the roll stay apart in its straight picture, too"
    assert found.recommend("target").method == "pca", "of two that tie, the simpler"


def test_classes_that_a_map_destroys_are_named(at_once):
    """An inner sphere is apart in space, and every straight map lays it on the outer one."""
    X, which = lowland.data.spheres(300, random_state=0)
    found = lowland.compare(X, ["pca"], budget=None, target=np.array(["inner", "outer"])[which])
    assert found.record["evidence"]["class_accuracy"] == {"inner": 1.0, "outer": 1.0}
    (lost,) = [text for text in found.recommend().not_good_for if "class" in text]
    assert lost.startswith("telling class ")
    assert "accuracy 100 % in the data" in lost
    assert "it is mixed with" in lost


def test_table_is_ranked_with_intervals_that_hold_the_values(found):
    table = found.table()
    assert table["candidate"].to_list() == ["isomap", "pca"]
    assert table["rank"].to_list() == [1, 2]
    assert table["tied"].to_list() == [True, False]
    for name in ("local", "global", "target"):
        assert (table[f"{name}_low"] < table[name]).all()
        assert (table[name] < table[f"{name}_high"]).all()
    assert (table["behind"] >= 0).all()
    assert table["behind"][1] == pytest.approx(table["score"][0] - table["score"][1])
    assert table["behind_low"][1] > 0, "no tie"
    assert table["score"][0] == pytest.approx(np.mean([table[name][0] for name in ("local", "global", "target")]))


def test_best_is_refitted_on_all_rows(found, roll):
    model = found.fit_best(roll)
    assert type(found.best) is lowland.Isomap
    assert model.embedding_.shape == (600, 2)
    assert model.get_params() == found.best.get_params()


# -- the record -------------------------------------------------------------------------------------------


def test_a_rerun_from_the_record_gives_the_same_numbers(found, roll, bands):
    record = json.loads(json.dumps(found.record))
    with lowland.config(threads=1):
        again = lowland.compare(roll, target=bands, record=record)
    assert [e["key"] for e in again.record["candidates"]] == [e["key"] for e in record["candidates"]]
    for old, new in zip(record["candidates"], again.record["candidates"], strict=True):
        assert new["criteria"] == old["criteria"], "to the last bit, on any number of threads"
    assert again.record["evidence"] == record["evidence"]
    assert again.record["data"] == record["data"]
    for key, map in found.maps.items():
        np.testing.assert_array_equal(again.maps[key].Y, map.Y)


def test_a_record_is_for_its_own_data_alone(found, roll):
    target = np.arange(600) % 4
    with pytest.raises(DataError, match="not the data of the record: its target"):
        lowland.compare(roll, target=target, record=found.record)
    with pytest.raises(DataError, match="with the target 'target'; give the same"):
        lowland.compare(roll, record=found.record)
    other = roll.copy()
    other[7, 1] = np.nextafter(other[7, 1], np.inf)
    with pytest.raises(DataError, match="its sha256 is"):
        lowland.compare(other, target=target, record=found.record)
    with pytest.raises(ValueError, match="format 99"):
        lowland.compare(roll, record={**found.record, "format": 99})


def test_the_record_is_plain_and_complete(found):
    record = found.record
    assert json.loads(json.dumps(record)) == record
    assert record["versions"]["lowland"] == lowland.__version__
    assert record["data"]["shape"] == [600, 3]
    assert record["settings"]["random_state"] == 0
    first = entry(found, "isomap")
    assert first["parameters"] == {"n_components": 2, "metric": "euclidean", "random_state": 0}


# -- candidates that fail ---------------------------------------------------------------------------------


def test_failing_candidates_are_recorded_and_do_not_stop_the_others(foreign, roll, temporary, tmp_path):
    (tmp_path / "openTSNE.py").write_text("raise ImportError('not here')\n")  # stands before the true one
    found = lowland.compare(roll[::4], ["raises", "dies", "prints", "stays", "tsne", "pca"], budget=None)
    status = {e["key"]: (e["status"], e["reason"]) for e in found.record["candidates"]}
    assert status["raises"] == ("failed", "SolveError: Raises: RuntimeError: no such luck")
    assert status["tsne"][0] in ("failed", "skipped")
    assert "pip install openTSNE" in status["tsne"][1], "a package that is missing is named"
    assert status["dies"][0] == "failed"
    assert "SIGKILL" in status["dies"][1]
    assert {key for key, (state, _) in status.items() if state == "done"} == {"prints", "stays", "pca"}
    assert "held-out" not in entry(found, "stays")["criteria"]["local"]
    assert any("not placed" in text for text in entry(found, "stays")["warnings"])
    assert found.table()["status"].to_list().count("failed") + (status["tsne"][0] == "skipped") == 3
    assert list(temporary.iterdir()) == []


def test_a_candidate_that_never_ends_is_ended_within_the_budget(foreign, roll, temporary):
    start = time.monotonic()
    found = lowland.compare(roll[::4], ["pca", "sleeps"], budget="12s")
    assert time.monotonic() - start < 1.2 * 12
    assert entry(found, "sleeps")["status"] == "ended"
    assert entry(found, "sleeps")["reason"] == "its share of the budget was over"
    assert found.recommend().method == "pca"
    assert list(temporary.iterdir()) == []


def test_what_cannot_fit_is_skipped_with_the_reason(roll, at_once):
    with lowland.config(memory_limit="2GB"):
        found = lowland.compare(
            np.tile(roll, (200, 1)), [("isomap", {"landmarks": None}), "pca"], budget=None, sample=200
        )
    (left,) = [e for e in found.record["candidates"] if e["status"] == "skipped"]
    assert left["method"] == "isomap"
    assert "all 120,000 rows would take" in left["reason"]
    assert "the limit is 2 GB" in left["reason"]
    assert found.record["rows"]["compared"] == 200


def test_without_time_nothing_is_recommended_and_that_is_said(foreign, roll, temporary):
    found = lowland.compare(roll, ["sleeps"], budget=0.2)
    assert [e["status"] for e in found.record["candidates"]] in (["ended"], ["skipped"])
    with pytest.raises(LowlandError, match="give a larger budget"):
        found.recommend()
    with pytest.raises(LowlandError, match="no map to draw"):
        found.figure()
    assert found.table().height == 1
    assert list(temporary.iterdir()) == []


# -- stopping ---------------------------------------------------------------------------------------------


def test_progress_is_told_and_can_cancel(roll, temporary):
    seen: list[str] = []

    def told(stage: str, done: int, total: int | None) -> bool:
        seen.append(stage)
        return not stage.startswith("isomap")

    with lowland.config(progress=told), pytest.raises(Cancelled):
        lowland.compare(roll[::4], ["pca", "isomap"], budget=None)
    assert "compare" in seen
    assert any(stage.startswith("look at the data") for stage in seen)
    assert list(temporary.iterdir()) == []


SCRIPT = """
import time
import numpy as np
import lowland

class Mine:
    '''Lives in the script itself.'''
    def __init__(self, n_components=2, wait=0):
        self.n_components, self.wait = n_components, wait
    def fit_transform(self, X, y=None):
        print("fitting", flush=True)
        time.sleep(self.wait)
        return np.asarray(X)[:, :self.n_components] * 2.0

lowland.register("mine", Mine)
X = np.random.default_rng(0).standard_normal((80, 3))
WORK
"""


def script(tmp_path: Path, work: str) -> subprocess.Popen[str]:
    file, temporary = tmp_path / "script.py", tmp_path / "temporary"
    file.write_text(SCRIPT.replace("WORK", work), encoding="utf-8")
    temporary.mkdir()
    source = str(Path(lowland.__file__).parents[1])
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": source}
    return subprocess.Popen(
        [sys.executable, str(file)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_script_without_a_guard_and_its_own_class(tmp_path):
    work = "f = lowland.compare(X, ['mine', 'pca'], budget=None)\nprint([e['status'] for e in f.record['candidates']])"
    with script(tmp_path, work) as process:
        out, err = process.communicate(timeout=120)
    assert out == "['done', 'done']\n", err
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL"])
def test_an_interrupt_leaves_no_file_and_no_process(tmp_path, how):
    work = "print('begin', flush=True)\nlowland.compare(X, [('mine', {'wait': 1000})], budget=None)"
    with script(tmp_path, work) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begin\n"
        log: list[Path] = []
        _until(lambda: any("fitting" in path.read_text() for path in log or log.extend(_logs(tmp_path)) or []))
        process.send_signal(signal.Signals[how])
        _, err = process.communicate(timeout=30)
    assert ("KeyboardInterrupt" in err) == (how == "SIGINT")
    _until(lambda: not any((tmp_path / "temporary").iterdir()))  # of a killed process the other one clears up
    folder = str(log[0].parent)
    _until(lambda: folder not in subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True).stdout)


def _logs(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "temporary").glob("*/worker.log"))


def _until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, which must be within a minute."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


# -- kinds of data ----------------------------------------------------------------------------------------


def test_sparse_rows(rng, at_once):
    X = sp.random(150, 40, density=0.2, random_state=1, format="csr")
    found = lowland.compare(X, ["truncated_svd", "isomap"], budget=None)
    assert {e["status"] for e in found.record["candidates"]} == {"done"}
    assert found.record["data"]["kind"] == "sparse"
    assert found.fit_best(X).n_components_ == 2
    shuffled = X[rng.permutation(150)]
    assert lowland.comparison.dataset.fingerprint(shuffled) != found.record["data"]
    with pytest.raises(ValueError, match="probabilistic_pca cannot be tried: it does not take sparse rows"):
        lowland.compare(X, ["probabilistic_pca"])


def test_distances(roll, at_once):
    D = np.sqrt(((roll[:120, None] - roll[:120]) ** 2).sum(axis=2))
    found = lowland.compare(D, ["classical_mds", "isomap"], budget=None, metric="precomputed")
    assert {e["status"] for e in found.record["candidates"]} == {"done"}
    assert found.record["rows"]["held-out"] == 0
    assert found.fit_best(D)._pairwise
    with pytest.raises(ValueError, match="pca cannot be tried: it needs rows"):
        lowland.compare(D, ["pca"], metric="precomputed")


def test_columns_of_text_are_coded(rng, at_once):
    kinds = rng.integers(3, size=120)
    frame = pl.DataFrame(
        {"size": kinds + 0.1 * rng.standard_normal(120), "colour": np.array(["red", "green", "blue"])[kinds],
         "shape": np.array(["round", "flat"])[rng.integers(2, size=120)], "sort": kinds}
    )  # fmt: skip
    found = lowland.compare(frame, ["famd", "isomap"], budget=None, target="sort")
    assert {e["status"] for e in found.record["candidates"]} == {"done"}
    assert found.record["data"]["kind"] == "categories"
    assert found.record["data"]["dtype"] == "mixed"
    assert found.rerun(frame, "sort").record["candidates"][1]["criteria"] == entry(found, "isomap")["criteria"]
    model = found.fit_best(frame.drop("sort"), prefer="local")
    assert model.transform(frame.drop("sort")).shape == (120, 2)
    # of the coded rows, principal components are those of FAMD
    famd = lowland.FAMD(n_components=2).fit_transform(frame.drop("sort"))
    whole = lowland.quality.spaces.famd_axes(frame.drop("sort")).transform(frame.drop("sort"))
    np.testing.assert_allclose(np.abs(lowland.PCA(2).fit_transform(whole)), np.abs(famd), atol=1e-10)


# -- bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": "pca"}, "a list such as \\['pca'\\]"),
        ({"methods": []}, "names no method"),
        ({"methods": ["pcq"]}, "did you mean pca"),
        ({"methods": ["pca", "pca"]}, "pca is given twice"),
        ({"methods": [("pca", {"colour": 1})]}, "PCA has no parameter 'colour'"),
        ({"methods": [("isomap", {"metric": np.hypot})]}, "metric of isomap must be a number, a text"),
        ({"methods": [7]}, "a method is a name"),
        ({"budget": "soon"}, "cannot read 'soon' as a budget"),
        ({"budget": -1}, "as a budget"),
        ({"metric": "wrong"}, "metric must be one of"),
        ({"metric": np.hypot}, "can be given as 'precomputed'"),
        ({"metric": "precomputed"}, "square"),
        ({"n_components": 4}, "more than the number of columns, 3"),
        ({"n_components": 0}, "n_components must be a whole number ≥ 1"),
        ({"n_neighbors": 599}, "too many for 600 rows; give at most 598"),
        ({"held_out": 0.9}, "from 0 to 0.5"),
        ({"sample": 3}, "sample must be a whole number ≥ 20"),
        ({"random_state": -1}, "random_state must be"),
        ({"target": [1, 2]}, "the target 'target' has 2 labels for 600 points"),
        ({"target": np.linspace(0, 1, 600)}, "bin it into classes"),
        ({"target": np.arange(600)}, "has 600 different values in 600 rows"),
        ({"target": np.zeros(600)}, "has 1 different values"),
        ({"target": "kind"}, "no data frame"),
    ],
)
def test_wrong_parameters_are_named(roll, change, words):
    with pytest.raises(ValueError, match=words):
        lowland.compare(roll, **{"methods": ["pca"], "budget": 1, **change})


def test_wrong_data_are_named(roll):
    with_gap = roll.copy()
    with_gap[17, 2] = np.nan
    with pytest.raises(DataError, match=r"row 17, column 2.*methods are compared on whole rows") as told:
        lowland.compare(with_gap, ["pca"])
    assert "ProbabilisticPCA" not in str(told.value), "it cannot be compared on gaps"
    assert (told.value.row, told.value.column) == (17, 2)
    kinds = pl.DataFrame({"a": np.arange(40.0), "kind": ["x", None, "y", "x"] * 10})
    with pytest.raises(DataError, match=r"row 1, column 1.*methods are compared on whole rows") as told:
        lowland.compare(kinds, ["famd"])
    assert "level" not in str(told.value), "compare has no such choice"
    with pytest.raises(DataError, match="at least 6"):
        lowland.compare(roll[:3], ["pca"])
    with pytest.raises(DataError, match="no column 'kind'"):
        lowland.compare(pl.DataFrame(roll, schema=["a", "b", "c"]), ["pca"], target="kind")
    with pytest.raises(DataError, match="a distance matrix must be dense here"):
        lowland.compare(sp.csr_array(np.ones((5, 5))), ["isomap"], metric="precomputed")


@pytest.mark.parametrize("kind", ["rows", "sparse", "distances", "categories", "cells"])
def test_rows_that_do_not_vary_are_refused(kind):
    flat = {
        "rows": np.full((60, 3), 7.0),
        "sparse": sp.csr_array(np.tile([0.0, 2.0, 0.0], (60, 1))),
        "distances": np.zeros((60, 60)),
        "categories": pl.DataFrame({"a": ["x"] * 60, "b": [1.5] * 60}),
        "cells": np.array([["x", 1.5]] * 60, dtype=object),
    }[kind]
    with pytest.raises(DataError, match="the rows do not vary"):
        lowland.compare(flat, metric="precomputed" if kind == "distances" else "euclidean")


def test_a_square_of_distances_given_as_rows_is_told(roll, at_once):
    D = np.linalg.norm(roll[:60, None] - roll[:60], axis=2)
    with pytest.warns(lowland.core.errors.LowlandWarning, match="compare: X looks like a distance matrix.*metric="):
        lowland.compare(D, ["pca"], budget=None)


def test_the_reasons_of_failures_are_told_and_the_budget_is_not_blamed(foreign, roll, at_once):
    found = lowland.compare(roll[::6], ["raises"], budget=None)
    with pytest.raises(LowlandError, match=r"raises failed: .*no such luck") as told:
        found.recommend()
    assert "budget" not in str(told.value)
