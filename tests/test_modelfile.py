"""Model files: what goes in comes out, and nothing else is accepted."""

import hashlib
import json
import math
import os
import pickle
import re
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from sklearn.exceptions import NotFittedError

import lowland
from lowland import modelfile, registry
from lowland.errors import MemoryLimitError, ModelFileError
from lowland.moments import Moments, RFactor
from lowland.parameters import RANDOM_STATE, AnyOf, Integer, Nothing, Real
from lowland.reducer import FitInfo, Reducer
from lowland.rows import as_rows

FIELDS = {
    "format_version": int,
    "lowland_version": str,
    "class": str,
    "parameters": dict,
    "fit_info": dict,
    "feature_names": (list, type(None)),
    "n_features": int,
    "values": dict,
}
WRONG = [(n, v) for n, kind in FIELDS.items() for v in (1.5, [1], None, "text", {}) if not isinstance(v, kind)]


class Toy(Reducer):
    """A method whose learned state the tests choose."""

    _parameters = {
        "n_components": AnyOf((Nothing(), Integer(1))),
        "tol": Real(0, math.inf),
        "random_state": RANDOM_STATE,
    }
    _state = ("components_", "mean_", "anything_", "_accumulator")

    def __init__(self, n_components=None, tol=0.5, random_state=None):
        self.n_components = n_components
        self.tol = tol
        self.random_state = random_state

    def learn(self, **state):
        self.n_features_in_ = 3
        self.components_ = np.array([[1.0, 2.0, 3.0], [0.25, -0.0, 1e-300]])
        self.fit_info_ = FitInfo("Toy", "direct", residual=1e-16, seconds={"z": 0.5, "a": 0.25}, warnings=("hm",))
        for name, value in state.items():
            setattr(self, name, value)
        return self

    def transform(self, X):
        return np.asarray(X) @ self.components_.T


@pytest.fixture(autouse=True)
def _toy_is_registered(monkeypatch):
    row = registry.Method("toy", "Toy", __name__, "linear", "For tests.")
    monkeypatch.setattr(registry, "METHODS", (*registry.METHODS, row))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "toy.lowland"
    modelfile.save(Toy(n_components=2).learn(mean_=np.arange(3.0)), path)
    return path


def again(model, tmp_path):
    """Save, load, and check that a second save gives the same bytes."""
    first, second = tmp_path / "first.lowland", tmp_path / "second.lowland"
    modelfile.save(model, first)
    loaded = modelfile.load(first)
    modelfile.save(loaded, second)
    assert first.read_bytes() == second.read_bytes()
    return loaded


# -- an independent reader and writer, after docs/model-file.md


def take_apart(data):
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["lowland"]), data[8 + length :]


def checksum(data):
    digits = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["sha256"].encode()
    assert data.count(b'"sha256":"' + digits + b'"') == 1
    return digits.decode(), hashlib.sha256(data.replace(digits, b"0" * 64, 1)).hexdigest()


def put_together(header, body):
    """Seal a header (a dict, or JSON text with 64 zeros for the digest) and a body."""
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    data = struct.pack("<Q", len(text)) + text + body
    digest = hashlib.sha256(data).hexdigest().encode()
    return data.replace(b'"sha256":"' + b"0" * 64, b'"sha256":"' + digest, 1)


def forge(path, change, *, tensors=None, body=None):
    """Rewrite a file with a changed record, and a right checksum."""
    header, record, old_body = take_apart(path.read_bytes())
    change(record)
    header["__metadata__"] = {"lowland": json.dumps(record), "sha256": "0" * 64}
    header = header if tensors is None else {"__metadata__": header["__metadata__"], **tensors}
    path.write_bytes(put_together(header, old_body if body is None else body))
    return path


def refused(path, *words):
    """Check that load and describe both refuse the file, name it, and say these words."""
    with pytest.raises(ModelFileError) as described:
        modelfile.describe(path)
    with pytest.raises(ModelFileError) as loaded:
        modelfile.load(path)
    for text in (str(loaded.value), str(described.value)):
        assert text.startswith(f"{path}: ")
        for word in words:
            assert word in text


def test_forging_changes_nothing_by_itself(file):
    forge(file, lambda record: None)
    assert modelfile.load(file).get_params() == {"n_components": 2, "tol": 0.5, "random_state": None}


# -- what comes back


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f8", ">i4"])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (5,), (2, 3), (2, 1, 4)])
def test_arrays_of_every_kind(dtype, shape, tmp_path):
    value = np.asarray(np.arange(math.prod(shape)).reshape(shape) * 3, dtype=dtype)
    loaded = again(Toy().learn(mean_=value), tmp_path).mean_
    assert type(loaded) is np.ndarray
    assert loaded.dtype == np.dtype(dtype).newbyteorder("=")
    assert loaded.shape == shape
    assert loaded.tobytes() == value.astype(loaded.dtype).tobytes()
    assert loaded.flags.c_contiguous
    assert loaded.flags.aligned
    assert loaded.flags.writeable


def test_layout_of_arrays_does_not_matter(tmp_path):
    values = np.random.default_rng(0).normal(size=(6, 8))
    mapped = np.memmap(tmp_path / "map", dtype=float, shape=(6, 8), mode="w+")
    mapped[:] = values
    for value in (np.asfortranarray(values), values[::2, ::-1], values.T, mapped):
        np.testing.assert_array_equal(again(Toy().learn(mean_=value), tmp_path).mean_, value)


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
    ids=repr,
)
def test_plain_values_keep_type_and_bits(value, tmp_path):
    loaded = again(Toy().learn(anything_=value), tmp_path).anything_
    assert type(loaded) is type(value)
    assert repr(loaded) == repr(value)  # also tells 1 from 1.0, 0.0 from -0.0, and the order of keys


def test_arrays_inside_other_values(tmp_path):
    value = {
        "pair": (np.arange(3), np.float32([[1.5]])),
        "a.b": np.zeros(2),
        "a": {"b": np.ones(1)},
        "1": [np.ones(4)],
    }
    loaded = again(Toy().learn(anything_=value), tmp_path).anything_
    assert list(loaded) == list(value)
    np.testing.assert_array_equal(loaded["pair"][0], np.arange(3), strict=True)
    np.testing.assert_array_equal(loaded["pair"][1], np.float32([[1.5]]), strict=True)
    np.testing.assert_array_equal(loaded["a.b"], np.zeros(2), strict=True)
    np.testing.assert_array_equal(loaded["a"]["b"], np.ones(1), strict=True)
    np.testing.assert_array_equal(loaded["1"][0], np.ones(4), strict=True)
    arrays = modelfile.describe(tmp_path / "first.lowland")["arrays"]
    assert {"anything_.pair.0", "anything_.pair.1", "anything_.1", "anything_.a.b"} < set(arrays)


@pytest.mark.parametrize("kind", [Moments, RFactor])
def test_accumulators_come_back_and_can_go_on(kind, tmp_path):
    first, second = np.split(np.random.default_rng(1).normal(size=(40, 3)), [25])
    straight = kind(3).update(as_rows(first)).update(as_rows(second)).finished()
    paused = kind(3).update(as_rows(first))
    paused.weight = np.float64(paused.weight)  # must not leave a trace in the second file
    restored = again(Toy().learn(_accumulator=paused), tmp_path)._accumulator
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


def test_parameters_record_and_names(tmp_path):
    names = np.array(["length", 'width "cm"', "größe"], dtype=object)
    model = Toy(n_components=np.int64(2), tol=np.float32(0.25), random_state=7).learn(feature_names_in_=names)
    loaded = again(model, tmp_path)
    assert loaded.get_params() == {"n_components": 2, "tol": 0.25, "random_state": 7}
    assert type(loaded.n_components) is int
    assert type(loaded.tol) is float
    assert loaded.fit_info_ == model.fit_info_
    assert list(loaded.fit_info_.seconds) == ["z", "a"]
    assert loaded.feature_names_in_.dtype == object
    assert loaded.feature_names_in_.tolist() == names.tolist()


# -- the format


def test_another_program_can_read_the_file(file):
    with safetensors.safe_open(file, "np") as opened:
        metadata = opened.metadata()
        assert set(metadata) == {"lowland", "sha256"}
        assert list(json.loads(metadata["lowland"])) == list(FIELDS)
        np.testing.assert_array_equal(opened.get_tensor("mean_"), np.arange(3.0))
        assert set(opened.keys()) == {"mean_", "components_"}
    written, computed = checksum(file.read_bytes())
    assert written == computed


def test_same_model_same_bytes(tmp_path):
    for i in range(8):  # safetensors alone orders its metadata at random
        modelfile.save(Toy().learn(), tmp_path / str(i))
    assert len({(tmp_path / str(i)).read_bytes() for i in range(8)}) == 1


def test_describe(file):
    told = modelfile.describe(str(file))
    info = told.pop("fit_info")
    assert info["algorithm"] == "direct"
    assert info["seconds"] == {"z": 0.5, "a": 0.25}
    assert told == {
        "class": "Toy",
        "method": "toy",
        "parameters": {"n_components": 2, "tol": 0.5, "random_state": None},
        "format_version": 1,
        "lowland_version": lowland.__version__,
        "feature_names": None,
        "n_features": 3,
        "arrays": {
            "components_": {"dtype": "float64", "shape": [2, 3]},
            "mean_": {"dtype": "float64", "shape": [3]},
        },
        "bytes": file.stat().st_size,
    }


def test_describe_builds_no_class(file, monkeypatch):
    monkeypatch.setattr(registry.Method, "load", lambda self: pytest.fail("a class was loaded"))
    assert modelfile.describe(file)["class"] == "Toy"


def test_the_memory_limit_is_kept(file):
    with lowland.config(memory_limit=1000), pytest.raises(MemoryLimitError, match=r"toy\.lowland"):
        modelfile.load(file)


# -- damage


def test_cut_at_every_byte(file):
    data = file.read_bytes()
    for end in range(len(data)):
        file.write_bytes(data[:end])
        with pytest.raises(ModelFileError, match=r"toy\.lowland: .*(cut off|broken off)"):
            modelfile.load(file)
    file.write_bytes(data)
    assert modelfile.load(file).n_features_in_ == 3


@pytest.mark.parametrize("flip", [0x01, 0x20])
def test_every_altered_byte(file, flip):
    data = file.read_bytes()
    for i in range(len(data)):
        file.write_bytes(data[:i] + bytes([data[i] ^ flip]) + data[i + 1 :])
        with pytest.raises(ModelFileError, match=r"toy\.lowland: "):
            modelfile.load(file)


def test_altered_numbers_are_found_by_the_checksum(file):
    data = file.read_bytes()
    file.write_bytes(data[:-1] + b"\x41")
    refused(file, "checksum is wrong", "altered")
    file.write_bytes(data.replace(b'\\"tol\\":0.5', b'\\"tol\\":0.7'))
    refused(file, "checksum is wrong", "altered")
    file.write_bytes(data + b"\0")
    refused(file, "altered")


def test_empty_and_tiny(file):
    file.write_bytes(b"")
    refused(file, "empty")
    file.write_bytes(b"12345")
    refused(file, "only 5 bytes")


@pytest.mark.parametrize("length", [2**64 - 1, 2**40, 100_000_001, 5000])
def test_absurd_header_length_allocates_nothing(tmp_path, length):
    path = tmp_path / "absurd"
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", length) + b"{")
        out.truncate(4000 if length == 5000 else 300_000_000)  # sparse: takes no room on the disk
    tracemalloc.start()
    try:
        refused(path, "cut off" if length == 5000 else "no Lowland model")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def test_foreign_files(tmp_path):
    path = tmp_path / "foreign"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "b" * 100)
    refused(path, "zip archive")
    path.write_bytes(pickle.dumps(Toy(), protocol=4))
    refused(path, "pickle", "never loads")
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 50)
    refused(path, "PNG")
    path.write_text("x,y\n" + "1,2\n" * 100)
    refused(path, "no Lowland model")
    path.write_bytes(safetensors.numpy.save({"w": np.zeros(3)}))
    refused(path, "safetensors", "another program")
    path.write_bytes(safetensors.numpy.save({"w": np.zeros(3)}, {"format": "pt"}))
    refused(path, "safetensors", "another program")


def test_a_pickle_is_not_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "bang"),)

    (tmp_path / "bomb").write_bytes(pickle.dumps(Bomb()))
    refused(tmp_path / "bomb", "no Lowland model")
    assert not (tmp_path / "bang").exists()


def test_folder_missing_file_and_pipe(tmp_path):
    refused(tmp_path, "not a file")
    refused(tmp_path / "nowhere" / "x.lowland", "no such file")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        refused(tmp_path / "pipe", "not a file")


# -- forged files, their checksum right


def test_newer_format(file):
    forge(file, lambda record: record.update(format_version=2, surprise=[1]))
    refused(file, "newer Lowland", "format 2", "pip install -U lowland")
    data = file.read_bytes()
    file.write_bytes(data[:-1] + b"\x41")
    refused(file, "newer Lowland", "may also have been altered")


@pytest.mark.parametrize("name", ["os.system", "Pipeline", "toy", "", "lowland.methods.pca.PCA"])
def test_classes_outside_the_registry(file, name):
    forge(file, lambda record: record.update({"class": name}))
    refused(file, repr(name), "does not have")


@pytest.mark.parametrize(("name", "value"), [*WRONG, *((name, True) for name in FIELDS)])
def test_fields_of_the_wrong_type(file, name, value):
    forge(file, lambda record: record.update({name: value}))
    refused(file, f"field {name!r}", "wrong type")


@pytest.mark.parametrize("name", FIELDS)
def test_missing_fields(file, name):
    forge(file, lambda record: record.pop(name))
    refused(file, f"field {name!r}", "missing")


def test_unknown_fields_and_twice_the_same_key(file):
    good = file.read_bytes()
    forge(file, lambda record: record.update(surprise=1))
    refused(file, "'surprise'", "unknown")
    header, record, body = take_apart(good)
    metadata = {"lowland": json.dumps(record)[:-1] + ', "class": "Toy"}', "sha256": "0" * 64}
    file.write_bytes(put_together(header | {"__metadata__": metadata}, body))
    refused(file, "a key occurs twice")
    metadata["lowland"] = json.dumps(record)
    text = json.dumps(header | {"__metadata__": metadata}, separators=(",", ":"))
    twice = text[:-1] + ',"mean_":' + json.dumps(header["mean_"]) + "}"
    file.write_bytes(put_together(twice.encode(), body))
    refused(file, "a key occurs twice")
    more = {**metadata, "note": "x"}
    file.write_bytes(put_together(header | {"__metadata__": more}, body))
    refused(file, "checksum")
    header["mean_"]["sha256"] = "0" * 64  # a second place for the digest, and bytes that it would not cover
    file.write_bytes(put_together(header | {"__metadata__": metadata}, body))
    refused(file, "checksum")


def test_nested_without_end(file):
    header, record, body = take_apart(file.read_bytes())
    deep = json.dumps(record | {"values": "here"}).replace('"here"', "[" * 100_000 + "]" * 100_000)
    header["__metadata__"] = {"lowland": deep, "sha256": "0" * 64}
    file.write_bytes(put_together(header, body))
    refused(file, "nested too deeply")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"surprise": 1}, ["'surprise'", "unknown"]),
        ({"tol": None}, ["tol must be a number"]),
        ({"tol": {"$float": "inf"}}, ["tol must be a number"]),
        ({"n_components": 0}, ["n_components must be"]),
        ({"tol": [0.5]}, ["'tol' is a list"]),
    ],
)
def test_forged_parameters(file, change, words):
    forge(file, lambda record: record["parameters"].update(change))
    with pytest.raises(ModelFileError) as error:
        modelfile.load(file)
    assert all(word in str(error.value) for word in [str(file), *words])


def test_missing_parameter(file):
    forge(file, lambda record: record["parameters"].pop("tol"))
    with pytest.raises(ModelFileError, match=r"toy\.lowland: parameter 'tol' of Toy is missing"):
        modelfile.load(file)


@pytest.mark.parametrize(
    "value",
    [
        {"$object": "os:system", "state": {}},
        {"$object": "Moments", "state": {"n_features": "many"}},
        {"$object": "Moments", "state": {}},
        {"$object": "Moments"},
        {"$object": ["Moments"], "state": {}},
        {"$array": "nowhere"},
        {"$array": 3},
        {"$float": "1.0"},
        {"$scalar": "object", "value": 1},
        {"$scalar": "int8", "value": 300},
        {"$scalar": "float64", "value": None},
        {"$scalar": "float64", "value": [1.0]},
        {"$scalar": "float64"},
        {"$tuple": "abc"},
        {"$surprise": 1},
    ],
    ids=str,
)
def test_forged_values(file, value):
    forge(file, lambda record: record["values"].update(anything_=value))
    with pytest.raises(ModelFileError, match=r"toy\.lowland: its '\$\w+' entry cannot be read"):
        modelfile.load(file)


def test_forged_state_outside_the_method(file):
    forge(file, lambda record: record["values"].update(transform=1))
    with pytest.raises(ModelFileError, match=r"toy\.lowland: Toy has no learned attribute 'transform'"):
        modelfile.load(file)
    entry = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
    forge(file, lambda record: record["values"].clear(), tensors={"n_components": entry}, body=b"\0" * 8)
    with pytest.raises(ModelFileError, match=r"toy\.lowland: Toy has no learned attribute 'n_components'"):
        modelfile.load(file)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
        {"dtype": "object", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [2], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]},
        {"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [1] * 100, "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [0, 2**63], "data_offsets": [0, 0]},
        {"dtype": "F64", "shape": [2**40, 2**40], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": "1", "data_offsets": [0, 8]},
        {"dtype": "F64"},
        7,
    ],
    ids=str,
)
def test_forged_arrays(file, entry):
    forge(file, lambda record: None, tensors={"mean_": entry}, body=b"\0" * 8)
    refused(file, "altered")


def test_forged_booleans_are_true_or_false(file):
    entry = {"dtype": "BOOL", "shape": [3], "data_offsets": [0, 3]}
    forge(file, lambda record: None, tensors={"mean_": entry}, body=b"\x00\x01\x02")
    assert modelfile.load(file).mean_.view("u1").tolist() == [0, 1, 1]


@pytest.mark.parametrize("value", [{}, {"method": "Toy"}, {"method": "Toy", "algorithm": "a", "seconds": 5}])
def test_forged_fit_info(file, value):
    forge(file, lambda record: record.update(fit_info=value))
    with pytest.raises(ModelFileError, match=r"toy\.lowland: its fit_info cannot be read"):
        modelfile.load(file)


@pytest.mark.parametrize(
    "change",
    [{"n_features": 0}, {"feature_names": ["a"]}, {"feature_names": ["a", "b", 3]}, {"format_version": 0}],
    ids=str,
)
def test_forged_features(file, change):
    forge(file, lambda record: record.update(change))
    refused(file, "impossible")


# -- saving what cannot be saved


def test_unfitted(tmp_path):
    with pytest.raises(NotFittedError):
        modelfile.save(Toy(), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_other_classes(tmp_path):
    class Other(Toy):
        pass

    impostor = type("Toy", (Toy,), {})
    for model in (Other().learn(), impostor().learn(), object()):
        with pytest.raises(ModelFileError, match="not one of Lowland's methods"):
            modelfile.save(model, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"random_state": np.random.RandomState(0)},
            ["'random_state' is a RandomState", "set_params(random_state=0)"],
        ),
        (
            {"random_state": np.random.default_rng(0)},
            ["'random_state' is a Generator", "set_params(random_state=0)"],
        ),
        ({"tol": abs}, ["'tol' is a builtin_function_or_method", "set_params(tol=...)"]),
        ({"tol": -1.0}, ["tol must be a number in (0, inf)"]),
    ],
)
def test_parameters_that_no_file_can_hold(tmp_path, parameters, words):
    with pytest.raises(ModelFileError) as error:
        modelfile.save(Toy(**parameters).learn(), tmp_path / "x.lowland")
    assert all(word in str(error.value) for word in ["x.lowland", *words])
    assert list(tmp_path.iterdir()) == []


class Unlisted:
    def to_state(self):
        return "Unlisted", {}


class Disguised:
    def to_state(self):
        return "Moments", {}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (np.array(["a"], dtype=object), "ndarray of object"),
        (np.array([1j]), "ndarray of complex128"),
        (np.array(["text"]), "ndarray of <U4"),
        (np.ma.masked_array([1.0], [True]), "MaskedArray"),
        ({1, 2}, "set"),
        ({1: 2}, "dict"),
        ({"$array": 2}, "dict"),
        (1j, "complex"),
        (b"bytes", "bytes"),
        (np.longdouble(1), "longdouble"),
        (Unlisted(), "Unlisted"),
        (Disguised(), "Disguised"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_state_that_no_file_can_hold(tmp_path, value, name):
    for model in (Toy().learn(mean_=value), Toy().learn(mean_=[value])):
        with pytest.raises(ModelFileError, match=f"mean_.* is a {name}"):
            modelfile.save(model, tmp_path / "x.lowland")
    assert list(tmp_path.iterdir()) == []


def test_state_that_holds_itself(tmp_path):
    loop = []
    loop.append(loop)
    with pytest.raises(ModelFileError, match="nested"):
        modelfile.save(Toy().learn(mean_=loop), tmp_path / "x.lowland")


def test_evidence_is_plain(tmp_path):
    info = FitInfo("Toy", "direct", evidence={"share": np.float32(0.5), "rank": np.int64(2), "worst": math.inf})
    loaded = again(Toy().learn(fit_info_=info), tmp_path)
    assert dict(loaded.fit_info_.evidence) == {"share": 0.5, "rank": 2, "worst": math.inf}
    assert json.dumps(modelfile.describe(tmp_path / "first.lowland")["fit_info"]["seconds"]) == "{}"
    array = FitInfo("Toy", "direct", evidence={"spectrum": np.ones(3)})
    with pytest.raises(ModelFileError, match=r"fit_info_\.evidence\.spectrum is a ndarray"):
        modelfile.save(Toy().learn(fit_info_=array), tmp_path / "x.lowland")


# -- all or nothing


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_save_leaves_the_old_file(file, monkeypatch, step, error):
    before = file.read_bytes()

    def fail(*args):
        raise error

    monkeypatch.setattr(os, step, fail)
    expected = ModelFileError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as raised:
        modelfile.save(Toy().learn(), file)
    if expected is ModelFileError:
        assert str(raised.value) == f"Toy cannot be saved to {file}: No space left on device"
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_saving_syncs_before_it_renames(tmp_path, monkeypatch):
    steps = []
    sync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda f: (steps.append("sync"), sync(f))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append((Path(a).parent, b)), rename(a, b))[1])
    modelfile.save(Toy().learn(), tmp_path / "x.lowland")
    assert steps[:2] == ["sync", (tmp_path, tmp_path / "x.lowland")]
    assert list(tmp_path.iterdir()) == [tmp_path / "x.lowland"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_permissions_are_those_of_open(tmp_path):
    path = tmp_path / "x.lowland"
    former = os.umask(0o027)
    try:
        modelfile.save(Toy().learn(), path)
        assert path.stat().st_mode & 0o777 == 0o640
        path.chmod(0o600)
        modelfile.save(Toy().learn(), path)
        assert path.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(former)


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_a_link_is_followed(file, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(file)
    modelfile.save(Toy(tol=0.75).learn(), link)
    assert link.is_symlink()
    assert modelfile.load(file).tol == 0.75


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(ModelFileError, match=r"there is no folder '.*nowhere'; create it first"):
        modelfile.save(Toy().learn(), tmp_path / "nowhere" / "x.lowland")
    with pytest.raises(ModelFileError, match="it is a folder"):
        modelfile.save(Toy().learn(), tmp_path)
    assert list(tmp_path.iterdir()) == []


# -- every method


def example(row, dtype):
    """Rows for a method; with gaps where it takes them."""
    X = np.random.default_rng(5).normal(size=(60, 7)) @ np.diag([5.0, 3, 2, 1, 1, 0.5, 0.1]) + 2
    if "missing" in row.abilities:
        X[3, 2] = X[10, 0] = np.nan
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("row", registry.METHODS, ids=lambda row: row.name)
def test_every_method(row, dtype, tmp_path):
    import pandas as pd

    X = pd.DataFrame(example(row, dtype), columns=list("abcdefg"))
    model = row.load()(n_components=3).fit(X)
    loaded = again(model, tmp_path)
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
def test_partial_fit_goes_on_after_loading(row, dtype, tmp_path):
    X = example(row, dtype)
    model = row.load()(n_components=3).partial_fit(X[:20])
    loaded = again(model, tmp_path)
    model.partial_fit(X[20:])
    loaded.partial_fit(X[20:])
    np.testing.assert_array_equal(loaded.components_, model.components_, strict=True)
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X), strict=True)
    assert not np.array_equal(row.load()(n_components=3).fit(X[20:]).transform(X), model.transform(X))


def test_the_reader_in_the_documentation(tmp_path):
    text = (Path(__file__).parents[1] / "docs" / "model-file.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    room: dict = {}
    exec(code, room)
    path = tmp_path / "x.lowland"
    modelfile.save(Toy().learn(mean_=np.array([True, False]), anything_=(1, np.arange(2, dtype="i2"))), path)
    record, arrays = room["read"](path)
    assert record["values"] == {"anything_": {"$tuple": [1, {"$array": "anything_.1"}]}}
    assert {name: a.tolist() for name, a in arrays.items()} == {
        "components_": [[1.0, 2.0, 3.0], [0.25, -0.0, 1e-300]],
        "mean_": [True, False],
        "anything_.1": [0, 1],
    }
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ValueError, match="altered"):
        room["read"](path)
    assert all(f"| `{field}` |" in text for field in FIELDS)
