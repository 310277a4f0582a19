"""The format as documented: other programs read it, the same model gives the same bytes."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
import safetensors

import lowland
from lowland import modelfile
from lowland.contract import registry
from lowland.core.errors import MemoryLimitError

PAGE = (Path(__file__).parents[2] / "docs" / "model-file.md").read_text(encoding="utf-8")
FIELDS = re.findall(r"^\| `(\w+)` \|", PAGE.partition("### Record")[2].partition("### Values")[0], flags=re.MULTILINE)


def checksum(data):
    digits = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["sha256"].encode()
    assert data.count(b'"sha256":"' + digits + b'"') == 1
    return digits.decode(), hashlib.sha256(data.replace(digits, b"0" * 64, 1)).hexdigest()


def test_another_program_can_read_the_file(file):
    with safetensors.safe_open(file, "np") as opened:
        metadata = opened.metadata()
        assert set(metadata) == {"lowland", "sha256"}
        assert list(json.loads(metadata["lowland"])) == FIELDS
        np.testing.assert_array_equal(opened.get_tensor("mean_"), np.arange(3.0))
        assert set(opened.keys()) == {"mean_", "components_"}
    written, computed = checksum(file.read_bytes())
    assert written == computed


def test_same_model_same_bytes(tmp_path, toy):
    for i in range(8):  # safetensors alone orders its metadata at random
        modelfile.save(toy().learn(), tmp_path / str(i))
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
        "functions": [],
        "objects": 0,
        "steps": [],
        "output": None,
        "new_rows": None,
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


def test_the_reader_in_the_documentation(tmp_path, toy):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    room: dict = {}
    exec(code, room)
    path = tmp_path / "x.lowland"
    modelfile.save(toy().learn(mean_=np.array([True, False]), anything_=(1, np.arange(2, dtype="i2"))), path)
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
