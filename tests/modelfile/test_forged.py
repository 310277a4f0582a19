"""Forged files, their checksum right."""

import json

import numpy as np
import pytest

from lowland import PCA, modelfile
from lowland.core.errors import ModelFileError
from modelfile_forging import forge, put_together, take_apart

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


def not_built(path, *words):
    """Check that load refuses a file that can be described, names it, and says these words."""
    with pytest.raises(ModelFileError) as error:
        modelfile.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert all(word in str(error.value) for word in words), str(error.value)


def test_forging_changes_nothing_by_itself(file):
    forge(file, lambda record: None)
    assert modelfile.load(file).get_params() == {"n_components": 2, "tol": 0.5, "random_state": None}


@pytest.mark.parametrize("value", [10**9, -1075, 0.5, True, "2", None])
def test_an_exponent_that_is_none_of_a_float64(tmp_path, value):
    path, rows = tmp_path / "pca.lowland", np.random.default_rng(0).standard_normal((9, 3)) * 2.0**400
    modelfile.save(PCA(1).fit(rows), path)
    forge(path, lambda record: record["values"].update(exponent_=value))
    not_built(path, f"exponent_ is {value!r}", "not the exponent of a float64")


def test_newer_format(file, refused):
    forge(file, lambda record: record.update(format_version=4, surprise=[1]))
    refused(file, "newer Lowland", "format 4", "pip install -U lowland")
    data = file.read_bytes()
    file.write_bytes(data[:-1] + b"\x41")
    refused(file, "newer Lowland", "may also have been altered")


@pytest.mark.parametrize("name", ["os.system", "Pipeline", "toy", "", "lowland.methods.linear.pca.PCA"])
def test_classes_outside_the_registry(file, name, refused):
    forge(file, lambda record: record.update({"class": name}))
    refused(file, repr(name), "does not have")


@pytest.mark.parametrize(("name", "value"), [*WRONG, *((name, True) for name in FIELDS)])
def test_fields_of_the_wrong_type(file, name, value, refused):
    forge(file, lambda record: record.update({name: value}))
    refused(file, f"field {name!r}", "wrong type")


@pytest.mark.parametrize("name", FIELDS)
def test_missing_fields(file, name, refused):
    forge(file, lambda record: record.pop(name))
    refused(file, f"field {name!r}", "missing")


def test_unknown_fields_and_twice_the_same_key(file, refused):
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


def test_nested_without_end(file, refused):
    header, record, body = take_apart(file.read_bytes())
    deep = json.dumps(record | {"values": "here"}).replace('"here"', "[" * 100_000 + "]" * 100_000)
    header["__metadata__"] = {"lowland": deep, "sha256": "0" * 64}
    file.write_bytes(put_together(header, body))
    refused(file, "nested too deeply")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (None, ["parameter 'tol' of Toy is missing"]),
        ({"surprise": 1}, ["'surprise'", "unknown"]),
        ({"tol": None}, ["tol must be a number"]),
        ({"tol": {"$float": "inf"}}, ["tol must be a number"]),
        ({"n_components": 0}, ["n_components must be"]),
        ({"tol": [0.5]}, ["tol must be a number", "got [0.5]"]),
    ],
)
def test_forged_parameters(file, change, words):
    forge(file, lambda record: record["parameters"].update(change) if change else record["parameters"].pop("tol"))
    not_built(file, *words)


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
        {"$random": "Generator", "state": {"bit_generator": "default_rng"}},
        {"$random": "SeedSequence", "state": {"bit_generator": "PCG64"}},
        {"$random": "Generator", "state": {"bit_generator": "PCG64", "state": {"state": "x", "inc": 1}}},
        {"$random": "Generator", "state": {"bit_generator": "PCG64"}},
        {"$random": "RandomState", "state": {"bit_generator": "PCG64"}},
        {"$random": "Generator"},
        {"$surprise": 1},
    ],
    ids=str,
)
def test_forged_values(file, value):
    forge(file, lambda record: record["values"].update(anything_=value))
    not_built(file, f"its {next(iter(value))!r} entry cannot be read")


def test_forged_state_outside_the_method(file):
    forge(file, lambda record: record["values"].update(transform=1))
    not_built(file, "Toy has no learned attribute 'transform'")
    entry = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
    forge(file, lambda record: record["values"].clear(), tensors={"n_components": entry}, body=b"\0" * 8)
    not_built(file, "Toy has no learned attribute 'n_components'")


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
def test_forged_arrays(file, entry, refused):
    forge(file, lambda record: None, tensors={"mean_": entry}, body=b"\0" * 8)
    refused(file, "altered")


def test_forged_booleans_are_true_or_false(file):
    entry = {"dtype": "BOOL", "shape": [3], "data_offsets": [0, 3]}
    forge(file, lambda record: None, tensors={"mean_": entry}, body=b"\x00\x01\x02")
    assert modelfile.load(file).mean_.view("u1").tolist() == [0, 1, 1]


@pytest.mark.parametrize("value", [{}, {"method": "Toy"}, {"method": "Toy", "algorithm": "a", "seconds": 5}])
def test_forged_fit_info(file, value):
    forge(file, lambda record: record.update(fit_info=value))
    not_built(file, "its fit_info cannot be read")


@pytest.mark.parametrize(
    "change",
    [{"n_features": 0}, {"feature_names": ["a"]}, {"feature_names": ["a", "b", 3]}, {"format_version": 0}],
    ids=str,
)
def test_forged_features(file, change, refused):
    forge(file, lambda record: record.update(change))
    refused(file, "invalid")
