"""A method that somebody else writes: one file with a class and one row of the registry, and all else follows."""

from __future__ import annotations

import importlib
import inspect
import json
import sys

import numpy as np
import polars as pl
import pytest

import lowland
import test_contract as contract
from lowland import cli
from lowland.contract import plugins, registry
from lowland.rows.row_source import RowSource

FILE = '''"""A random rotation, of which the first columns are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from lowland.contract.parameters import RANDOM_STATE, Integer, Rule
from lowland.contract.reducer import Recorder, Reducer
from lowland.core import arrays
from lowland.core.cost import DataShape, Plan, dense_seconds
from lowland.core.random import seed
from lowland.rows.moments import Moments
from lowland.rows.row_source import RowSource

Array = Any


class Turned(Reducer):
    """y = Vᵀ(x − m), V the first columns of a random rotation."""

    _parameters: ClassVar[Mapping[str, Rule]] = {"n_components": Integer(1), "random_state": RANDOM_STATE}
    _streams: ClassVar[bool] = True

    components_: Array
    mean_: Array

    def __init__(self, n_components: int = 2, *, random_state: int | None = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def _plan(self, shape: DataShape) -> Plan:
        d = shape.n_features
        if self.n_components > d:
            raise ValueError(f"Turned: n_components={self.n_components} is more than the {d} columns")
        parts, work = {"rotation": 16 * d * d, "sums": 16 * d * d}, dense_seconds(4.0 * d**3, shape.dtype)
        kept = 8 * d * (self.n_components + 1)
        return Plan.of("Turned", "QR of random numbers", shape, parts, work, model_bytes=kept)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        d, k = rows.n_features, self.n_components
        with record.stage("read"):
            self.mean_ = Moments(d).update(rows, stage="read").finished().mean
        with record.stage("turn"):
            Q = np.linalg.qr(seed(self.random_state).standard_normal((d, d)))[0]
        self.components_ = np.ascontiguousarray(Q[:, :k].T)
        self.n_components_ = k
        record.note(algorithm="QR of random numbers")

    def _row_map(self) -> Callable[[Array], Array]:
        V, mean = self.components_, self.mean_
        return lambda block: arrays.less(block, mean) @ arrays.t(arrays.like(V, block, np.float64))
'''

COLUMNS = list("abcdefg")
CHECKS = [  # of tests/test_contract.py, those that a method of rows and of this family has to pass, with their cases
    (contract.test_scikit_learn_checks, {}),
    (contract.test_precision_in_is_precision_out, {"dtype": np.float32}),
    (contract.test_other_numbers_are_converted, {"dtype": np.int8}),
    (contract.test_every_kind_of_input_gives_the_same, {"kind": lambda X: pl.DataFrame(X, schema=COLUMNS)}),
    (
        contract.test_every_kind_of_input_gives_the_same,
        {"kind": lambda X: RowSource.from_blocks(lambda: (X[:11], X[11:50], X[50:]))},
    ),
    (contract.test_sparse, {}),
    (contract.test_rows_may_be_sparse_in_one_call_and_dense_in_another, {"dtype": np.float64, "width": 7}),
    (contract.test_backends_agree, {"dtype": np.float32}),
    (contract.test_streams, {}),
    (contract.test_transform_is_row_wise, {"dtype": np.float64}),
    (contract.test_missing_values, {}),
    (contract.test_infinity_is_named, {"value": np.inf}),
    (contract.test_dates_and_short_floats_are_refused, {}),
    (contract.test_wrong_width, {}),
    (contract.test_wrong_names, {"columns": "abcdef", "message": r"now missing:\n- g"}),
    (contract.test_same_bits_on_any_number_of_threads, {}),
    (contract.test_parameters_only_store_and_are_checked, {}),
    (contract.test_clone_copy_pipeline_and_search, {}),
    (contract.test_output_names, {}),
    (contract.test_fit_info_is_an_immutable_record, {}),
    (contract.test_plan_agrees_with_the_fit, {}),
    (contract.test_memory_limit_refuses_before_work, {}),
    (contract.test_cancel_leaves_the_model_unfitted, {}),
    (contract.test_training_rows_return_their_embedding, {}),
    (contract.test_a_model_does_not_change_with_the_callers_array, {"dtype": np.float64}),
    (contract.test_learned_arrays_lie_in_memory_as_a_model_file_gives_them_back, {}),
    (contract.test_no_rows_give_no_rows, {}),
    (contract.test_no_rows_of_another_library_give_no_rows, {}),
]


@pytest.fixture
def turned(tmp_path, monkeypatch):
    """The module of the file."""
    (tmp_path / "turned.py").write_text(FILE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("turned")
    del sys.modules["turned"]


@pytest.fixture
def method(turned, monkeypatch):
    """Its row in the table of methods."""
    row = registry.Method(
        "turned", "Turned", "random", "A random rotation, of which k columns are kept.", module="turned"
    )
    monkeypatch.setattr(plugins, "METHODS", (*registry.METHODS, row))
    return row


@pytest.fixture
def X(rng):
    return rng.standard_normal((contract.N, contract.D)) + 2.0


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        assert cli.main([str(word) for word in words]) == 0
        return capsys.readouterr().out

    return call


def test_it_is_listed_with_its_parameters(method, run):
    assert "turned" in run("methods")
    (told,) = json.loads(run("methods", "turned", "--json"))["methods"]
    assert (told["class"], told["family"]) == ("Turned", "random")
    assert [rule["name"] for rule in told["parameters"]] == ["n_components", "random_state"]


def test_it_is_planned_and_reduces_on_the_command_line(method, turned, run, X):
    pl.DataFrame(X, schema=COLUMNS).write_csv("table.csv")
    want = turned.Turned(3, random_state=4).fit_transform(X)
    options = ("table.csv", "--method", "turned", "--components", "3", "--set", "random_state=4")
    assert json.loads(run("plan", *options, "--json"))["plan"]["algorithm"] == "QR of random numbers"
    run("reduce", *options, "--out", "map.csv", "--model", "turned.lowland", "--report", "map.html")
    found = pl.read_csv("map.csv")
    assert found.columns == ["turned0", "turned1", "turned2"]
    np.testing.assert_allclose(found.to_numpy(), want, rtol=1e-12, atol=1e-12)
    run("transform", "turned.lowland", "table.csv", "--out", "again.csv")
    assert pl.read_csv("again.csv").equals(found)


def test_it_is_saved_and_loaded(method, turned, X, tmp_path):
    model = turned.Turned(random_state=0).fit(X)
    lowland.save(model, tmp_path / "turned.lowland")
    loaded = lowland.load(tmp_path / "turned.lowland")
    assert type(loaded) is turned.Turned
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


def test_it_is_compared(turned, X):
    lowland.register("turned", turned.Turned)  # a row of a plugin, which comparisons send to their process
    try:
        found = lowland.compare(X, methods=["pca", "turned"], random_state=0)
    finally:
        registry.unregister("turned")
    assert [entry["status"] for entry in found.record["candidates"]] == ["done", "done"]
    assert {entry["method"] for entry in found.record["candidates"]} == {"pca", "turned"}


@pytest.mark.parametrize(
    ("check", "case"),
    [
        pytest.param(
            check,
            case,
            id=f"{check.__name__.removeprefix('test_')}-{i}",
            marks=[mark for mark in getattr(check, "pytestmark", ()) if mark.name == "filterwarnings"],
        )
        for i, (check, case) in enumerate(CHECKS)
    ],
)
def test_it_keeps_the_contract(check, case, method, request):
    fixtures = [name for name in inspect.signature(check).parameters if name not in case and name != "method"]
    values = {name: request.getfixturevalue(name) for name in fixtures if name != "backend"}
    if "backend" in fixtures:
        values["backend"] = np.asarray
    check(method, **case, **values)
