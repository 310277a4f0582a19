"""How much of the library a reader of one method goes through."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import reading

import lowland
from lowland.contract.registry import METHODS

LINES_OF_LLE = 400  # functions of `methods/` and `contract/` that fit and transform enter
LINES_OF_A_METHOD = 200
LONGER = {  # files with an optimiser of their own, or an adapter of another library
    "metric_mds": "SMACOF with restarts",
    "nonmetric_mds": "SMACOF with monotone regression",
    "tsne": "adapter of openTSNE",
    "umap": "adapter of umap-learn",
    "mvu": "a semidefinite program and its descent",
    "autoencoder": "training of a network",
    "som": "training of a grid",
}


def length(row) -> int:
    path = Path(lowland.__file__).parents[1].joinpath(*row.module.split(".")).with_suffix(".py")
    return len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("row", [row for row in METHODS if row.name not in LONGER], ids=lambda row: row.name)
def test_a_method_file_is_short(row):
    assert length(row) <= LINES_OF_A_METHOD


def test_files_that_may_be_longer_are():
    lengths = {row.name: length(row) for row in METHODS}
    assert {name for name in LONGER if lengths[name] <= LINES_OF_A_METHOD} == set()


def test_lle_is_read_in_few_lines():
    with lowland.config(threads=1):  # a profile does not see threads that were there before it
        found = reading.of_method("lle")
    assert found.lines(*reading.ROOMS) <= LINES_OF_LLE


def test_calls_are_watched_one_by_one():
    with lowland.config(threads=1):
        found = reading.of_calls()
    switches = {name: one.switches for name, one in found.items()}
    assert 0 < switches["PCA.fit_transform"] < switches["LLE.fit"] < switches["reduce --report"]
