"""How a comparison runs: what is asked and refused, fingerprints, the record of an automatic run."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lowland
from comparison_record import entry
from lowland.comparison import candidates, dataset, running
from lowland.comparison.dataset import fingerprint, read
from lowland.core.errors import DataError, LowlandWarning

# -- an automatic run -------------------------------------------------------------------------------------


def test_an_automatic_run_searches_settings_and_can_be_repeated(roll, at_once, monkeypatch):
    few = ("pca", "isomap", "kernel_pca")
    automatic = candidates.automatic("rows")

    def fewer(kind: str) -> tuple[list[str], dict[str, str]]:
        return [name for name in automatic[0] if name in few], automatic[1]

    monkeypatch.setattr(candidates, "automatic", fewer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowlandWarning)
        found = lowland.compare(roll[::5], budget=None)
    status = {e["key"]: e["status"] for e in found.record["candidates"]}
    assert [key for key, state in status.items() if state == "done"][:3] == ["pca", "isomap", "kernel_pca"]
    searched = [e for e in found.record["candidates"] if e["kind"] == "search"]
    assert {e["key"] for e in searched} >= {"isomap(n_neighbors=5)", "isomap(n_neighbors=20)"}
    widths = sorted(e["parameters"]["gamma"] for e in searched if e["method"] == "kernel_pca")
    assert widths[1] / widths[0] == pytest.approx(16), "a quarter and four times what the fit learned"
    assert status["classical_mds"] == "skipped"
    assert found.record["evidence"]["dimensions"] is not None
    again = lowland.compare(roll[::5], record=json.loads(json.dumps(found.record)))
    assert [e["key"] for e in again.record["candidates"]] == list(status)
    for old, new in zip(found.record["candidates"], again.record["candidates"], strict=True):
        assert new.get("criteria") == old.get("criteria")
    assert again.record["evidence"] == found.record["evidence"]


def test_a_rerun_has_the_same_names_and_the_same_words(rng, at_once):
    X = rng.standard_normal((60, 3))
    found = lowland.compare(X, [("som", {"grid": (4, 5)})], budget=None)
    assert [e["key"] for e in found.record["candidates"]] == ["som(grid=[4, 5])"]
    record = json.loads(json.dumps(found.record))
    record["evidence"] |= {"dimensions": None, "dimensions_unknown": "its share of the budget was over"}
    again = lowland.compare(X, record=record)
    assert [e["key"] for e in again.record["candidates"]] == ["som(grid=[4, 5])"]
    assert again.record["evidence"] == record["evidence"]


def test_entries_hold_the_plan_for_all_rows(rng, at_once):
    X = rng.standard_normal((3000, 4))
    found = lowland.compare(X, ["pca", "isomap"], budget=None, sample=60)
    for key, model in (("pca", lowland.PCA(2)), ("isomap", lowland.Isomap(n_components=2))):
        plan, kept = lowland.plan(model, shape=(3000, 4)), entry(found, key)
        assert kept["whole_seconds"] == plan.seconds
        assert (kept["whole_algorithm"], kept["whole_approximate"]) == (plan.algorithm, plan.approximate)


# -- what is asked ----------------------------------------------------------------------------------------


def test_a_model_of_another_package_is_not_taken_for_lowlands():
    from sklearn.decomposition import PCA, TruncatedSVD

    with pytest.raises(ValueError, match=r"decomposition._pca.PCA is not a method of Lowland; lowland.register"):
        candidates.requested_candidates([PCA(n_components=2)], "rows", 2, "euclidean", 0)
    lowland.register("their_svd", TruncatedSVD, defaults={"n_iter": 9})
    try:
        (made,) = candidates.requested_candidates([TruncatedSVD(n_components=2)], "rows", 2, "euclidean", 0)
        assert made.method == "their_svd"
        assert made.parameters["n_iter"] == 5, "the model's value, not the default that was registered"
    finally:
        lowland.registry.unregister("their_svd")
    (own,) = candidates.requested_candidates([lowland.PCA(n_components=2)], "rows", 2, "euclidean", 0)
    assert own.key == "pca"


def test_famd_cannot_code_rows_for_itself(rng):
    frame = pl.DataFrame({"a": rng.integers(3, size=60), "b": rng.choice(["x", "y"], 60)})
    with pytest.raises(ValueError, match=r"famd cannot be tried: all candidates get the rows that FAMD codes.*missing"):
        lowland.compare(frame, [("famd", {"missing": "level"})])


def test_rows_are_coded_as_the_fitted_ones_are(rng):
    frame = pl.DataFrame({"a": rng.standard_normal(100), "b": rng.choice(["x", "y", "z"], 100)})
    made, _ = read(frame, None, "euclidean", None, 0.2, 0)
    held = np.flatnonzero(made.held)
    other = frame.with_row_index("i").with_columns(
        a=pl.when(pl.col("i").is_in(held.tolist())).then(50.0).otherwise("a")
    )
    changed, _ = read(other.drop("i"), None, "euclidean", None, 0.2, 0)
    np.testing.assert_array_equal(changed.rows[~made.held], made.rows[~made.held])
    assert not np.array_equal(changed.rows[held], made.rows[held])


def test_few_rows_have_few_neighbours(rng, at_once):
    X = rng.standard_normal((45, 3))
    for n, k in ((6, 1), (11, 2), (45, 10)):
        found = lowland.compare(X[:n], ["pca", "metric_mds"], budget=None)
        assert found.record["settings"]["n_neighbors"] == k
        assert {e["status"] for e in found.record["candidates"]} == {"done"}
    with pytest.raises(DataError, match="5 rows are too few to compare methods; give at least 6"):
        lowland.compare(X[:5], ["pca"])


def test_beside_a_record_nothing_is_asked(rng, at_once):
    X = rng.standard_normal((30, 3))
    record = lowland.compare(X, ["pca"], budget=None).record
    for name, value in (("methods", ["isomap"]), ("n_components", 3), ("budget", None), ("n_neighbors", 5)):
        with pytest.raises(ValueError, match=f"a record holds every setting except the data: remove {name}"):
            lowland.compare(X, record=record, **{name: value})


WHOLE = {"format": 1, "data": {}, "evidence": None, "without_evidence": "", "candidates": [], "settings": {}}
SETTINGS = dict.fromkeys((*running.ASKED, "budget", "target"))
DATA = dict.fromkeys(("shape", "dtype", "sha256", "kind"))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"format": 1, "candidates": []}, "the record has no 'data'"),
        (WHOLE, "no 'settings.n_components'"),
        ({**WHOLE, "settings": SETTINGS}, "no 'data.shape'"),
        ({**WHOLE, "settings": SETTINGS, "data": DATA, "candidates": [{"method": "pca"}]}, r"candidates\[0\].param"),
        ({**WHOLE, "settings": SETTINGS, "data": DATA, "candidates": {}}, r"candidates\[0\]"),
        ([], "a record is a dict"),
    ],
)  # fmt: skip
def test_records_with_holes_are_named(rng, wrong, words):
    with pytest.raises(ValueError, match=words):
        lowland.compare(rng.standard_normal((30, 3)), record=wrong)


@pytest.mark.parametrize("share", [None, "a", True, float("nan")])
def test_a_share_is_a_number(rng, share):
    with pytest.raises(ValueError, match="held_out is the share"):
        lowland.compare(rng.standard_normal((30, 3)), ["pca"], held_out=share)


def test_targets_with_gaps_and_look_alikes(rng):
    X = rng.standard_normal((40, 3))
    nullable = pd.Series([1, 2, None, 1] * 10, dtype="Int64")
    target = read(X, nullable, "euclidean", None, 0.0, 0)[0].target
    assert (target.codes[2], target.names) == (-1, ("1", "2"))
    mixed = np.array([1, "1"] * 20, dtype=object)
    with pytest.raises(DataError, match="the labels 1 and '1' in the target 'target' are written the same"):
        read(X, mixed, "euclidean", None, 0.0, 0)
    listed = read(X, ["a", "b", float("nan"), "a"] * 10, "euclidean", None, 0.0, 0)[0].target
    assert (listed.codes[2], listed.names) == (-1, ("a", "b"))
    assert read(X, (1, "a", np.int64(2), "b") * 10, "euclidean", None, 0.0, 0)[0].target.names == ("1", "2", "a", "b")
    cut = pd.cut(pd.Series(X[:, 0]), 2)
    assert read(X, cut, "euclidean", None, 0.0, 0)[0].target.names == tuple(map(str, cut.cat.categories))


def test_a_class_is_one_value(rng):
    with pytest.raises(DataError, match="the label of point 0 in the target 'target' is a list; a label is one value"):
        read(rng.standard_normal((40, 3)), [[1], [2]] * 20, "euclidean", None, 0.0, 0)


def test_a_sample_that_misses_the_classes_is_told(rng):
    target = np.array([None] * 400, dtype=object)
    target[:4] = ["a", "b", "a", "b"]
    with pytest.raises(DataError, match="on average are needed: raise sample to compare more rows"):
        lowland.compare(rng.standard_normal((400, 3)), ["pca"], target=target, sample=50)


# -- fingerprints -----------------------------------------------------------------------------------------


def test_tables_are_hashed_in_blocks(monkeypatch):
    frame = pl.DataFrame({"a": np.arange(100.0), "b": [f"x{i % 7}" for i in range(100)]})
    sizes: list[int] = []

    def listed(values):
        sizes.append(len(values))
        return values.to_list()

    monkeypatch.setattr(dataset, "_listed", listed)
    monkeypatch.setattr(dataset, "_ROWS_HASHED", 30)
    told = fingerprint(frame)
    assert max(sizes) == 30, "never a whole column as a list"
    assert fingerprint(frame.with_columns(a=frame["a"] + 1e-12)) != told
    assert fingerprint(frame.with_columns(b=frame["b"].reverse())) != told
    assert fingerprint(frame.rename({"a": "c"})) != told
    assert fingerprint(frame.clone()) == told
