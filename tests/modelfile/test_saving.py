"""Saving: what cannot be saved is refused, and a file is written whole or not at all."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import lowland
from lowland import modelfile
from lowland.core.errors import ModelFileError


def test_unfitted(tmp_path, toy):
    with pytest.raises(NotFittedError):
        modelfile.save(toy(), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_other_classes(tmp_path, toy):
    class Other(toy):
        pass

    impostor = type("Toy", (toy,), {})
    for model in (Other().learn(), impostor().learn(), object()):
        with pytest.raises(ModelFileError, match="not one of Lowland's methods"):
            modelfile.save(model, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"tol": abs}, ["tol must be a number in (0, inf)"]),
        ({"tol": {1}}, ["'tol' is a set", "set_params(tol=...)"]),
        ({"tol": -1.0}, ["tol must be a number in (0, inf)"]),
    ],
)
def test_parameters_that_no_file_can_hold(tmp_path, parameters, words, toy):
    with pytest.raises(ModelFileError) as error:
        modelfile.save(toy(**parameters).learn(), tmp_path / "x.lowland")
    assert all(word in str(error.value) for word in ["x.lowland", *words])
    assert list(tmp_path.iterdir()) == []


RANDOM = {
    **{
        name: lambda name=name: np.random.Generator(getattr(np.random, name)(7))
        for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
    },
    "RandomState": lambda: np.random.RandomState(7),
}


@pytest.mark.parametrize("kind", RANDOM)
def test_random_generators_are_stored_with_their_state(kind, tmp_path, toy):
    generator = RANDOM[kind]()
    generator.standard_normal(3)  # an odd number of normal values leaves one waiting in a RandomState
    file = tmp_path / "x.lowland"
    modelfile.save(toy(random_state=generator).learn(), file)
    again = modelfile.load(file).get_params()["random_state"]
    assert type(again) is type(generator)
    np.testing.assert_array_equal(again.standard_normal(5), generator.standard_normal(5))
    assert again.random() == generator.random()
    assert modelfile.describe(file)["parameters"]["random_state"] == str(generator)
    assert type(generator).__name__ in str(generator)


def test_a_model_fitted_with_a_generator_is_saved(tmp_path, rng):
    X = rng.standard_normal((40, 4))
    for generator in (np.random.default_rng(3), np.random.RandomState(3)):
        model = lowland.SOM((4, 3), epochs=3, random_state=generator).fit(X)
        lowland.save(model, tmp_path / "som.lowland")
        again = lowland.load(tmp_path / "som.lowland")
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
        np.testing.assert_array_equal(again.fit(X).codebook_, model.fit(X).codebook_)  # both draw on from there


def test_random_generators_of_other_packages_are_refused(tmp_path, toy):
    class Own(np.random.PCG64):
        @property
        def state(self):
            return {"bit_generator": "Own"}

    model = toy(random_state=np.random.Generator(Own(0))).learn()
    with pytest.raises(ModelFileError, match=r"that NumPy does not have; use set_params\(random_state=0\)"):
        modelfile.save(model, tmp_path / "x.lowland")


class Unlisted:
    def to_state(self):
        return "Unlisted", {}


class Disguised:
    def to_state(self):
        return "Moments", {}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (np.array(["a", 1.5], dtype=object), "float"),
        (abs, "builtin_function_or_method"),
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
def test_state_that_no_file_can_hold(tmp_path, value, name, toy):
    for model in (toy().learn(mean_=value), toy().learn(mean_=[value])):
        with pytest.raises(ModelFileError, match=f"mean_.* is a {name}"):
            modelfile.save(model, tmp_path / "x.lowland")
    assert list(tmp_path.iterdir()) == []


def test_state_that_holds_itself(tmp_path, toy):
    loop = []
    loop.append(loop)
    with pytest.raises(ModelFileError, match="nested"):
        modelfile.save(toy().learn(mean_=loop), tmp_path / "x.lowland")


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_save_leaves_the_old_file(file, monkeypatch, step, error, toy):
    before = file.read_bytes()

    def fail(*args):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)) as raised:
        modelfile.save(toy().learn(), file)
    if isinstance(error, OSError):
        assert str(raised.value) == f"{file}: cannot be written: No space left on device"
        assert raised.value.errno == 28
        assert not isinstance(raised.value, ModelFileError)  # a full disk is no fault of the model
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_saving_syncs_before_it_renames(tmp_path, monkeypatch, toy):
    steps = []
    sync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda f: (steps.append("sync"), sync(f))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append((Path(a).parent, b)), rename(a, b))[1])
    modelfile.save(toy().learn(), tmp_path / "x.lowland")
    assert steps[:2] == ["sync", (tmp_path, tmp_path / "x.lowland")]
    assert list(tmp_path.iterdir()) == [tmp_path / "x.lowland"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_permissions_are_those_of_open(tmp_path, toy):
    path = tmp_path / "x.lowland"
    former = os.umask(0o027)
    try:
        modelfile.save(toy().learn(), path)
        assert path.stat().st_mode & 0o777 == 0o640
        path.chmod(0o600)
        modelfile.save(toy().learn(), path)
        assert path.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(former)


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_a_link_is_followed(file, tmp_path, toy):
    link = tmp_path / "link"
    link.symlink_to(file)
    modelfile.save(toy(tol=0.75).learn(), link)
    assert link.is_symlink()
    assert modelfile.load(file).tol == 0.75


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nowhere/x", "folder '.*nowhere' does not exist; create it first"),
        (".", "it is a folder"),
        ("file/x", "folder '.*file' does not exist"),
    ],
)
def test_places_that_cannot_be_written(tmp_path, toy, place, words):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match=f"cannot be written: {words}"):
        modelfile.save(toy().learn(), tmp_path / place)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_name_as_long_as_the_system_allows(tmp_path, toy):
    path = tmp_path / ("é" * 123 + ".lowland")  # 254 bytes: nothing fits beside it in the draft's name
    modelfile.save(toy().learn(), path)
    assert modelfile.load(path).n_features_in_ == 3
