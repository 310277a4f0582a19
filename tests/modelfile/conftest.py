"""A method whose learned state the tests choose, and what the tests of model files share."""

import math

import numpy as np
import pytest

from lowland import modelfile
from lowland.contract import plugins, registry
from lowland.contract.parameters import RANDOM_STATE, AnyOf, Integer, Nothing, Real
from lowland.contract.reducer import FitInfo, Reducer
from lowland.core.errors import ModelFileError


class Toy(Reducer):
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
    row = registry.Method("toy", "Toy", "linear", "For tests.", module=__name__)
    monkeypatch.setattr(plugins, "METHODS", (*registry.METHODS, row))


@pytest.fixture
def toy():
    return Toy


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "toy.lowland"
    modelfile.save(Toy(n_components=2).learn(mean_=np.arange(3.0)), path)
    return path


@pytest.fixture
def again(tmp_path):
    """Save, load, and check that a second save gives the same bytes."""

    def there_and_back(model):
        first, second = tmp_path / "first.lowland", tmp_path / "second.lowland"
        modelfile.save(model, first)
        loaded = modelfile.load(first)
        modelfile.save(loaded, second)
        assert first.read_bytes() == second.read_bytes()
        return loaded

    return there_and_back


@pytest.fixture
def refused():
    """Check that load and describe both refuse a file, name it, and say these words."""

    def check(path, *words):
        for use in (modelfile.load, modelfile.describe):
            with pytest.raises(ModelFileError) as error:
                use(path)
            assert str(error.value).startswith(f"{path}: ")
            assert all(word in str(error.value) for word in words), str(error.value)

    return check
