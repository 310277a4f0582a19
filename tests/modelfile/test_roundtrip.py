"""What goes in comes out: arrays, values, parameters, every method."""

import json
import math

import numpy as np
import pytest

import lowland
from lowland import modelfile
from lowland.contract import registry
from lowland.contract.reducer import FitInfo
from lowland.core.errors import ModelFileError
from lowland.rows.moments import Moments, RFactor
from lowland.rows.row_source import as_rows


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f8", ">i4"])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (5,), (2, 3), (2, 1, 4)])
def test_arrays_of_every_kind(dtype, shape, toy, again):
    value = np.asarray(np.arange(math.prod(shape)).reshape(shape) * 3, dtype=dtype)
    loaded = again(toy().learn(mean_=value)).mean_
    assert type(loaded) is np.ndarray
    assert loaded.dtype == np.dtype(dtype).newbyteorder("=")
    assert loaded.shape == shape
    assert loaded.tobytes() == value.astype(loaded.dtype).tobytes()
    assert loaded.flags.c_contiguous
    assert loaded.flags.aligned
    assert loaded.flags.writeable


def test_layout_of_arrays_does_not_matter(tmp_path, toy, again):
    values = np.random.default_rng(0).normal(size=(6, 8))
    mapped = np.memmap(tmp_path / "map", dtype=float, shape=(6, 8), mode="w+")
    mapped[:] = values
    for value in (np.asfortranarray(values), values[::2, ::-1], values.T, mapped):
        np.testing.assert_array_equal(again(toy().learn(mean_=value)).mean_, value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -(2**70),
        1.0,
        -0.0,
        5e-324,
        0.1 + 0.2,
        math.inf,
        -math.inf,
        'quote " and \\ and é and \x00 and "sha256":"' + "0" * 64 + '"',
        np.float32(0.1),
        np.float64("nan"),
        np.int8(-3),
        np.uint64(2**64 - 1),
        np.bool_(True),
        (1, [2.0, None, ("x",)], {"b": 1, "a": {"not an identifier": math.inf}}),
        {},
        [],
        (),
    ],
)
def test_plain_values_keep_type_and_bits(value, toy, again):
    loaded = again(toy().learn(anything_=value)).anything_
    assert type(loaded) is type(value)
    assert repr(loaded) == repr(value)  # also tells 1 from 1.0, 0.0 from -0.0, and the order of keys


@pytest.mark.parametrize("kind", [list, "frame", "tensor", "view"])
def test_matrices_among_the_parameters_in_any_form(kind, again):
    X = np.random.default_rng(0).normal(size=(12, 3))
    start, weights = X[:, :2].copy(), np.ones((12, 12))
    if kind == "frame":
        form = pytest.importorskip("pandas").DataFrame
    elif kind == "tensor":
        form = pytest.importorskip("torch").tensor
    else:
        form = np.ndarray.tolist if kind is list else np.asfortranarray
    loaded = again(lowland.MetricMDS(init=form(start), weights=form(weights)).fit(X))
    np.testing.assert_array_equal(loaded.init, start, strict=True)
    np.testing.assert_array_equal(loaded.weights, weights, strict=True)


def test_arrays_inside_other_values(tmp_path, toy, again):
    value = {
        "pair": (np.arange(3), np.float32([[1.5]])),
        "a.b": np.zeros(2),
        "a": {"b": np.ones(1)},
        "1": [np.ones(4)],
    }
    loaded = again(toy().learn(anything_=value)).anything_
    assert list(loaded) == list(value)
    np.testing.assert_array_equal(loaded["pair"][0], np.arange(3), strict=True)
    np.testing.assert_array_equal(loaded["pair"][1], np.float32([[1.5]]), strict=True)
    np.testing.assert_array_equal(loaded["a.b"], np.zeros(2), strict=True)
    np.testing.assert_array_equal(loaded["a"]["b"], np.ones(1), strict=True)
    np.testing.assert_array_equal(loaded["1"][0], np.ones(4), strict=True)
    arrays = modelfile.describe(tmp_path / "first.lowland")["arrays"]
    assert {"anything_.pair.0", "anything_.pair.1", "anything_.1", "anything_.a.b"} < set(arrays)


@pytest.mark.parametrize("kind", [Moments, RFactor])
def test_accumulators_come_back_and_can_go_on(kind, toy, again):
    first, second = np.split(np.random.default_rng(1).normal(size=(40, 3)), [25])
    straight = kind(3).update(as_rows(first)).update(as_rows(second)).finished()
    paused = kind(3).update(as_rows(first))
    paused.weight = np.float64(paused.weight)  # must not leave a trace in the second file
    restored = again(toy().learn(_accumulator=paused))._accumulator
    assert type(restored) is kind
    went_on = restored.update(as_rows(second)).finished()
    assert went_on.n_rows == 40
    assert went_on.to_state()[1].pop("dtype") == "float64"
    for name, value in straight.to_state()[1].items():
        if name != "dtype":
            np.testing.assert_allclose(went_on.to_state()[1][name], value, rtol=1e-13, atol=1e-13)


def test_attributes_that_were_not_learned_stay_away(file):
    loaded = modelfile.load(file)
    assert not hasattr(loaded, "anything_")
    assert not hasattr(loaded, "feature_names_in_")
    assert loaded.n_features_in_ == 3


def test_parameters_record_and_names(toy, again):
    names = np.array(["length", 'width "cm"', "größe"], dtype=object)
    model = toy(n_components=np.int64(2), tol=np.float32(0.25), random_state=7).learn(feature_names_in_=names)
    loaded = again(model)
    assert loaded.get_params() == {"n_components": 2, "tol": 0.25, "random_state": 7}
    assert type(loaded.n_components) is int
    assert type(loaded.tol) is float
    assert loaded.fit_info_ == model.fit_info_
    assert list(loaded.fit_info_.seconds) == ["z", "a"]
    assert loaded.feature_names_in_.dtype == object
    assert loaded.feature_names_in_.tolist() == names.tolist()


def test_evidence_is_plain(tmp_path, toy, again):
    info = FitInfo("Toy", "direct", evidence={"share": np.float32(0.5), "rank": np.int64(2), "worst": math.inf})
    loaded = again(toy().learn(fit_info_=info))
    assert dict(loaded.fit_info_.evidence) == {"share": 0.5, "rank": 2, "worst": math.inf}
    assert json.dumps(modelfile.describe(tmp_path / "first.lowland")["fit_info"]["seconds"]) == "{}"
    array = FitInfo("Toy", "direct", evidence={"spectrum": np.ones(3)})
    with pytest.raises(ModelFileError, match=r"fit_info_\.evidence\.spectrum is a ndarray"):
        modelfile.save(toy().learn(fit_info_=array), tmp_path / "x.lowland")


def example(row, dtype):
    """Rows for a method; with gaps where it takes them."""
    X = np.random.default_rng(5).normal(size=(60, 7)) @ np.diag([4.0, 3, 2, 1, 1, 0.5, 0.1]) + 2
    if "missing" in row.abilities:
        X[3, 2] = X[10, 0] = np.nan
    return X.astype(dtype)


@pytest.mark.filterwarnings("ignore:TSNE:lowland.LowlandWarning")  # of the perplexity of few rows
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("row", registry.METHODS, ids=lambda row: row.name)
def test_every_method(row, dtype, again):
    import pandas as pd

    X = pd.DataFrame(example(row, dtype), columns=list("abcdefg"))
    cls = row.load()
    model = cls(**({"n_components": 3} if "n_components" in cls._parameters else {})).fit(X)
    loaded = again(model)
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert loaded.fit_info_ == model.fit_info_
    assert loaded.feature_names_in_.tolist() == list("abcdefg")
    for rows in (X, X[:1], X[7:12]):
        np.testing.assert_array_equal(loaded.transform(rows), model.transform(rows), strict=True)
    Y = model.transform(X)
    if "inverse" in row.abilities:
        np.testing.assert_array_equal(loaded.inverse_transform(Y), model.inverse_transform(Y), strict=True)
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    learned = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert learned <= set(vars(loaded)), "a learned attribute is missing from _state"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("row", [r for r in registry.METHODS if "partial" in r.abilities], ids=lambda row: row.name)
def test_partial_fit_goes_on_after_loading(row, dtype, again):
    X = example(row, dtype)
    model = row.load()(n_components=3).partial_fit(X[:20])
    loaded = again(model)
    model.partial_fit(X[20:])
    loaded.partial_fit(X[20:])
    np.testing.assert_array_equal(loaded.components_, model.components_, strict=True)
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X), strict=True)
    assert not np.array_equal(row.load()(n_components=3).fit(X[20:]).transform(X), model.transform(X))


def letters(a, b):
    return float(len(set(a) & set(b)))


def test_functions_go_by_name_or_are_given(tmp_path):
    words = ["cat", "dog", "cart", "god", "art"]
    model = lowland.KernelPCA(2, kernel=letters).fit(words)
    file = tmp_path / "words.lowland"
    lowland.save(model, file)
    assert modelfile.describe(file)["parameters"]["kernel"] == "a function"
    with pytest.raises(lowland.ModelFileError, match=r"contain no code.*lowland.load\(path, kernel=…\)"):
        lowland.load(file)
    with pytest.raises(lowland.ModelFileError, match="'metric' was passed to load"):
        lowland.load(file, kernel=letters, metric=letters)
    again = lowland.load(file, kernel=letters)
    np.testing.assert_array_equal(again.transform(["tac", "dot"]), model.transform(["tac", "dot"]))
    lowland.functions.register("test letters", letters)
    lowland.save(model, file)
    assert modelfile.describe(file)["parameters"]["kernel"] == "function 'test letters'"
    np.testing.assert_array_equal(lowland.load(file).transform(["tac"]), model.transform(["tac"]))
    with pytest.raises(ValueError, match="belongs to another function"):
        lowland.functions.register("test letters", abs)


def test_objects_that_are_no_texts(tmp_path):
    model = lowland.KernelPCA(2, kernel=letters).fit([("a", "b"), ("b", "c"), ("c", "a")])
    with pytest.raises(lowland.ModelFileError, match=r"object 0 of anchors_ is a tuple.*only objects that are text"):
        lowland.save(model, tmp_path / "x.lowland")
    assert list(tmp_path.iterdir()) == []
