"""Learned arrays of PCA in the library of the rows, as scikit-learn's array_api_dispatch asks for it."""

import copy
import pickle

import numpy as np
import pytest
import sklearn

import lowland

torch = pytest.importorskip("torch")

LEARNED = ("components_", "mean_", "explained_variance_", "eigenvalues_", "singular_values_", "spectrum_")


@pytest.fixture
def dispatch(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.mark.usefixtures("dispatch")
@pytest.mark.parametrize("options", [{}, {"scale": True}, {"whiten": True}, {"solver": "krylov"}])
@pytest.mark.parametrize("unit", [1.0, 2.0**-300])
def test_learned_arrays_are_tensors_of_the_same_values(rng, options, unit):
    X = rng.standard_normal((60, 5)) * unit
    want, got = lowland.PCA(2, **options).fit(X), lowland.PCA(2, **options).fit(torch.from_numpy(X))
    for name in LEARNED:
        assert isinstance(getattr(got, name), torch.Tensor), name
        np.testing.assert_allclose(getattr(got, name).numpy(), getattr(want, name), rtol=1e-9, atol=1e-12 * unit)
    for name in ("get_covariance", "get_precision"):
        value = getattr(got, name)()
        assert isinstance(value, torch.Tensor)
        np.testing.assert_allclose(value.numpy(), getattr(want, name)(), rtol=1e-6)
    assert isinstance(got.loadings_, torch.Tensor)
    Y = got.transform(torch.from_numpy(X))
    assert isinstance(Y, torch.Tensor)
    np.testing.assert_allclose(Y.numpy(), want.transform(X), atol=1e-9 * max(unit, float(options.get("whiten", 0))))
    assert isinstance(got.transform(X), np.ndarray)
    assert isinstance(got.inverse_transform(Y), torch.Tensor)
    assert got.score(torch.from_numpy(X)) == pytest.approx(want.score(X), rel=1e-9)


@pytest.mark.usefixtures("dispatch")
def test_copies_and_model_files(rng, tmp_path):
    X = torch.from_numpy(rng.standard_normal((60, 5)))
    model = lowland.PCA(2).fit(X)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(twin.transform(X), model.transform(X))
    lowland.save(model, tmp_path / "pca.lowland")
    loaded = lowland.load(tmp_path / "pca.lowland")
    assert isinstance(loaded.components_, np.ndarray)  # a file needs no torch
    assert torch.equal(loaded.transform(X), model.transform(X))
    again = model.fit(X.numpy())
    assert isinstance(again.components_, np.ndarray)


@pytest.mark.usefixtures("dispatch")
def test_libraries_of_the_array_api_standard(rng):
    import array_api_strict as xp

    rows = rng.standard_normal((40, 4))
    X = xp.asarray(rows, device=xp.Device("device1"))
    model = lowland.PCA(2).fit(X)
    assert model.components_.device == X.device
    Y = model.transform(X)
    assert Y.device == X.device
    np.testing.assert_allclose(np.from_dlpack(Y), lowland.PCA(2).fit_transform(rows))
    assert model.inverse_transform(Y).shape == (40, 4)
    assert lowland.KernelPCA(2).fit(rows).transform(X).device == X.device


def test_learned_arrays_are_numpys_without_dispatch(rng):
    model = lowland.PCA(2).fit(torch.from_numpy(rng.standard_normal((60, 5))))
    assert all(isinstance(getattr(model, name), np.ndarray) for name in LEARNED)
