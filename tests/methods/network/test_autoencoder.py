"""Autoencoder: PCA where it is linear, better than PCA where it is not; held-out rows, seeds, interruptions."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import subspace_angles

import lowland
from lowland.methods.network import network, training_batches
from lowland.methods.network.network import Coder, Network, Schedule
from lowland.methods.network.training_batches import Samples, Split
from lowland.rows.row_source import RowSource, as_rows
from lowland.spectral import rowspace

torch = pytest.importorskip("torch")

FITTED = ("encoder_", "decoder_", "fit_info_", "loss_curve_")


def nobody():
    """Asks for no progress."""


def lost(model, X):
    """The share of the variance that is not rebuilt."""
    return float(((model.inverse_transform(model.transform(X)) - X) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum())


def rebuilt_plane(model):
    """What a linear model rebuilds rows in."""
    return model.decoder_["straight"] * model.scale_[:, None]


def same(one, two):
    for name in ("encoder_", "decoder_"):
        for a, b in zip(Coder(**getattr(one, name)).arrays(), Coder(**getattr(two, name)).arrays(), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def digits():
    X = lowland.data.digits()[0].astype(np.float64)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order[:1440]], X[order[1440:]]


@pytest.fixture
def curve(rng):
    t = rng.uniform(0, 3, 500)
    return np.column_stack([np.cos(t), np.sin(t), t]) + 0.01 * rng.standard_normal((500, 3))


# -- identities --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 8, 16])
def test_linear_stays_at_the_principal_components(digits, k):
    X = digits[0]
    pca = lowland.PCA(k).fit(X)
    model = lowland.Autoencoder(k, hidden=(), validation=0.0).fit(X)
    assert subspace_angles(rebuilt_plane(model), pca.components_.T).max() < 1e-2
    assert lost(model, X) == pytest.approx(lost(pca, X), rel=1e-4)
    assert model.n_iter_ == model.best_epoch_ == 100  # it was trained and did not merely start there


def test_linear_finds_the_principal_components_from_anywhere(rng):
    X = (
        rng.standard_normal((1000, 12))
        * np.array([5, 4, 3, *[0.7] * 9])
        @ np.linalg.qr(rng.standard_normal((12, 12)))[0]
    )
    model = lowland.Autoencoder(3, hidden=(), init="random", validation=0.0, epochs=200, learning_rate=0.01).fit(X)
    V = lowland.PCA(3).fit(X).components_.T
    assert subspace_angles(rebuilt_plane(model), V).max() < 1e-2
    assert model.loss_curve_[0] > 2 * model.loss_curve_[-1]  # it came from elsewhere


def test_linear_with_held_out_rows(rng):
    X = rng.standard_normal((4000, 8)) * np.array([3, 2.5, 1, 1, 1, 1, 1, 1])
    model = lowland.Autoencoder(2, hidden=()).fit(X)
    assert subspace_angles(rebuilt_plane(model), lowland.PCA(2).fit(X).components_.T).max() < 1e-2


@pytest.mark.parametrize("activation", network.ACTIVATIONS)
def test_numpy_and_torch_run_the_same_network(rng, activation):
    A = rng.standard_normal((3, 6))
    ways = [network.coder(A, (9, 5), rng), network.coder(A.T, (5, 9), rng)]
    ways = [way.each(lambda value: rng.standard_normal(value.shape) / 2) for way in ways]  # the last weights, too
    net, X = Network(*ways, activation, torch, "cpu"), rng.standard_normal((40, 6))
    y = network.forward(ways[0], X, activation)
    back = network.forward(ways[1], y, activation)
    x = torch.tensor(X, dtype=torch.float32)
    ((got, error),) = net.look(x)
    np.testing.assert_allclose(got.numpy(), y, rtol=1e-4, atol=1e-4)
    assert error == pytest.approx(((back - X) ** 2).mean(), rel=1e-4)
    assert float(net.loss(x).detach()) == pytest.approx(error, rel=1e-6)
    np.testing.assert_allclose(network.forward(ways[0], torch.tensor(X), activation).numpy(), y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("hidden", [(), (7,), (7, 4)])
def test_turning_the_code_changes_no_rebuilt_row(rng, hidden):
    encoder, decoder = network.coder(rng.standard_normal((3, 6)), hidden, rng), network.coder(np.eye(6, 3), hidden, rng)
    encoder, decoder = (w.each(lambda value: rng.standard_normal(value.shape)) for w in (encoder, decoder))
    R, center, X = np.linalg.qr(rng.standard_normal((3, 3)))[0], rng.standard_normal(3), rng.standard_normal((20, 6))
    first, second = network.turned(encoder, decoder, center, R)
    y, turned = (network.forward(way, X, "tanh") for way in (encoder, first))
    np.testing.assert_allclose(turned, (y - center) @ R.T, atol=1e-12)
    np.testing.assert_allclose(
        network.forward(second, turned, "tanh"), network.forward(decoder, y, "tanh"), rtol=1e-12, atol=1e-12
    )


def test_the_code_is_centred_uncorrelated_and_in_order(digits):
    X = digits[0]
    model = lowland.Autoencoder(4, hidden=(32,), epochs=10, validation=0.0).fit(X)
    Y = model.transform(X)
    C = np.cov(Y.T)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(C, np.diag(np.diag(C)), atol=1e-5 * C[0, 0])
    assert (np.diff(np.diag(C)) < 0).all()
    A = model.encoder_["straight"]
    assert (A[np.arange(4), np.abs(A).argmax(axis=1)] > 0).all()


def test_a_power_of_two_changes_nothing_but_the_units(curve):
    one, two = (lowland.Autoencoder(1, hidden=(8,), epochs=5).fit(factor * curve) for factor in (1.0, 2.0**30))
    np.testing.assert_array_equal(two.transform(2.0**30 * curve), one.transform(curve))
    np.testing.assert_array_equal(two.scale_, 2.0**30 * one.scale_)


def test_scaled_columns_are_the_standardised_ones(curve):
    units = np.array([1e3, 1e-4, 7.0])
    X = np.column_stack([curve * units + 5 * units, np.full(len(curve), 3.0)])
    trained = {"hidden": (32,), "epochs": 40, "batch_size": 32}
    model = lowland.Autoencoder(1, scale=True, **trained).fit(X)
    plain = lowland.Autoencoder(1, **trained).fit((X - X.mean(axis=0)) / [*X[:, :3].std(axis=0), 1.0])
    np.testing.assert_allclose(model.loss_curve_, plain.loss_curve_, rtol=1e-3)
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(back[:, 3], 3.0, atol=0.1)
    assert (((back - X)[:, :3] / X[:, :3].std(axis=0)) ** 2).mean() < 0.1


# -- better than PCA ---------------------------------------------------------------------------------------------------


def test_a_curve_is_one_number(curve):
    model = lowland.Autoencoder(1, hidden=(32, 16), epochs=150, batch_size=32).fit(curve)
    assert lost(model, curve) < 0.02 * lost(lowland.PCA(1).fit(curve), curve)
    assert lost(model, curve) < 1e-3  # the noise is 3e-4 of the variance


@pytest.mark.parametrize("k", [2, 8, 16])
def test_new_digits_are_rebuilt_better_than_by_pca(digits, k):
    train, new = digits
    model = lowland.Autoencoder(k, epochs=20).fit(train)
    pca = lowland.PCA(k).fit(train)
    assert lost(model, new) < 0.75 * lost(pca, new)


def test_the_record_tells_both_errors(digits):
    X = digits[0]
    model = lowland.Autoencoder(4, hidden=(32,), epochs=10, validation=0.0).fit(X)
    told = model.fit_info_.evidence
    assert told["error, training rows"] == pytest.approx(lost(model, X), rel=1e-4)
    assert told["error of PCA, all rows"] == pytest.approx(lost(lowland.PCA(4).fit(X), X), rel=1e-9)
    assert "error, held-out rows" not in told
    assert len(model.validation_curve_) == 0
    told = lowland.Autoencoder(4, hidden=(32,), epochs=10).fit(X).fit_info_.evidence
    assert told["error, held-out rows"] < told["error of PCA, held-out rows"]


# -- held-out rows -----------------------------------------------------------------------------------------------------


def held_out_error(model, X):
    """What the model loses of the rows that its fit with seed 0 held out."""
    rng = np.random.default_rng(0)
    wanted, scaling = rowspace.ComponentRule(count=model.n_components), rowspace.Scaling(True, False, 0)
    rowspace.decompose(as_rows(X), wanted, scaling, rng=rng)  # which may draw, too
    held = Split(len(X), model.validation, int(rng.integers(2**62))).held(0, len(X))
    Z = (X[held] - model.inverse_transform(model.transform(X[held]))) / model.scale_
    return (Z**2).mean()


def test_the_best_weights_are_kept(digits):
    X = digits[0][:300]
    model = lowland.Autoencoder(8, epochs=100, batch_size=16, patience=10, weight_decay=0.0).fit(X)
    curve = model.validation_curve_
    assert 0 < model.best_epoch_ == model.n_iter_ - 10 < 90
    assert len(curve) == model.n_iter_ + 1
    assert model.best_epoch_ == curve.argmin()
    assert model.fit_info_.evidence["error, held-out rows"] == curve.min()
    # what was told is what the kept weights do to the same rows
    assert held_out_error(model, X) == pytest.approx(curve.min(), rel=1e-4)
    # training went on to do better on its own rows and worse on these
    assert model.loss_curve_[-1] < model.loss_curve_[model.best_epoch_ - 1]


def test_no_training_is_worse_than_the_start(rng):
    X = rng.standard_normal((200, 30))  # noise: there is nothing to learn
    model = lowland.Autoencoder(2, learning_rate=0.01).fit(X)
    told = model.fit_info_.evidence
    assert held_out_error(model, X) <= told["error of PCA, held-out rows"] * (1 + 1e-5)
    assert model.validation_curve_[0] == pytest.approx(told["error of PCA, held-out rows"], rel=1e-5)
    assert model.validation_curve_[-1] > told["error of PCA, held-out rows"]  # training led away from it
    assert model.n_iter_ < 100


@pytest.mark.parametrize(("n", "share"), [(2, 0.5), (4, 0.1), (5, 0.1), (90, 0.1), (10_000, 0.123)])
def test_rows_are_held_out_by_blocks(n, share):
    def drawn(key):
        split = Split(n, share, key)
        return split, np.concatenate([split.held(a, min(n, a + 4096)) for a in range(0, n, 4096)])

    split, held = drawn(7)
    assert held.sum() == split.count(n) == int(share * n + 0.5) < n
    assert np.abs(np.cumsum(held) - share * np.arange(1, n + 1))[4095::4096].max(initial=0) < 1
    np.testing.assert_array_equal(drawn(7)[1], held)
    assert any((drawn(key)[1] != held).any() for key in range(8)) or split.count(n) == 0


@pytest.mark.parametrize("kind", ["array", "stream", "tensor"])
@pytest.mark.parametrize("window", [1 << 26, 3 * 5000])
def test_an_epoch_sees_every_training_row_once(monkeypatch, kind, window):
    monkeypatch.setattr(training_batches, "WINDOW", window)
    X = np.arange(3.0 * 20_000).reshape(-1, 3)
    given = {"stream": RowSource.from_blocks(lambda: (X[:777], X[777:])), "tensor": torch.from_numpy(X)}.get(kind, X)
    rows = as_rows(given)
    rows.count()
    samples = Samples(rows, Split(20_000, 0.1, 1), np.zeros(3), np.ones(3), torch, "cpu")
    held, rng = samples.held().numpy(), np.random.default_rng(0)
    first, second = (torch.cat(list(samples.batches(128, rng, nobody))).numpy() for _ in range(2))
    assert len(held) == 2000
    for epoch in (first, second):
        np.testing.assert_array_equal(np.sort(np.concatenate([held[:, 0], epoch[:, 0]])), X[:, 0])
    assert not np.array_equal(first, second)
    sizes = [len(x) for x in samples.batches(128, rng, nobody)]
    assert len(sizes) == samples.steps(128)
    assert 100 < min(sizes) <= max(sizes) <= 128
    assert len(samples.sizes) == (1 if window > 10**6 else 4)
    if kind != "stream" or window > 10**6:
        early = first[:1000, 0]
        assert early.max() > 0.9 * X[:, 0].max()  # shuffled whole


@pytest.mark.parametrize(
    ("n", "batch", "sizes"), [(191, 128, [96, 95]), (128, 128, [128]), (129, 128, [65, 64]), (3, 9, [3])]
)
def test_no_batch_is_larger_than_asked_for(n, batch, sizes, rng):
    samples = Samples(as_rows(np.ones((n, 2))), Split(n, 0.0, 1), np.zeros(2), np.ones(2), torch, "cpu")
    assert [len(x) for x in samples.batches(batch, rng, nobody)] == sizes
    assert samples.steps(batch) == len(sizes)


def test_the_error_of_pca_takes_few_held_out_rows_at_a_time(rng):
    X, V = rng.standard_normal((30_000, 50)).astype(np.float32), np.linalg.qr(rng.standard_normal((50, 3)))[0]
    space = SimpleNamespace(directions=V, values=np.ones(3), solved=SimpleNamespace(total=50.0))
    held = torch.from_numpy(X)
    tracemalloc.start()
    told = lowland.Autoencoder()._errors(0.5, np.array([0.7, 0.6]), 1, held, space)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert told["error of PCA, held-out rows"] == pytest.approx(((X - X @ V @ V.T) ** 2).mean(), rel=1e-6)
    assert peak < 8 * X.size  # all of them in float64 alone would take as much


def test_windows_train_as_well(monkeypatch, digits):
    X = digits[0]
    whole = lowland.Autoencoder(4, hidden=(32,), epochs=15).fit(X)
    monkeypatch.setattr(training_batches, "WINDOW", 400 * 64)
    monkeypatch.setattr(training_batches, "block_rows", lambda d: 300)
    for given in (X, RowSource.from_blocks([X])):
        model = lowland.Autoencoder(4, hidden=(32,), epochs=15).fit(given)
        assert lost(model, X) == pytest.approx(lost(whole, X), rel=0.05)
        same(model, lowland.Autoencoder(4, hidden=(32,), epochs=15).fit(given))


# -- interruptions, seeds, other people's settings ---------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, lowland.Cancelled, RuntimeError])
def test_interrupted_training_leaves_nothing(curve, error, tmp_path):
    stages = []

    def stop(stage, done, total):
        stages.append((stage, done))
        if stage == "training" and done >= 60:
            raise error("stop")

    model = lowland.Autoencoder(1, hidden=(8,), batch_size=16).fit(curve)
    threads = torch.get_num_threads()
    with lowland.config(progress=stop), pytest.raises(error):
        model.fit(curve)
    assert stages[-1][0] == "training"
    assert 60 <= stages[-1][1] < 100  # in the middle of training
    assert not any(hasattr(model, name) for name in FITTED)
    assert torch.get_num_threads() == threads
    with pytest.raises(Exception, match=r"not fitted|no fit"):
        lowland.save(model, tmp_path / "model.lowland")
    assert list(tmp_path.iterdir()) == []
    assert model.fit(curve).n_iter_ > 0  # and the next one is undisturbed


@pytest.mark.parametrize("kind", ["array", "stream"])
@pytest.mark.parametrize("window", [1 << 26, 3 * 5000])
def test_every_pass_over_the_rows_is_told_and_can_be_cancelled(monkeypatch, kind, window, rng):
    monkeypatch.setattr(training_batches, "WINDOW", window)
    X = rng.standard_normal((20_000, 3))  # 5 blocks
    given = X if kind == "array" else RowSource.from_blocks([X])
    model = lowland.Autoencoder(1, hidden=(512,), epochs=1, batch_size=5000)
    told = []
    with lowland.config(progress=lambda *now: told.append(now)):
        model.fit(given)
    held, training, errors = (
        [now[1:] for now in told if now[0] == stage] for stage in ("held-out rows", "training", "errors")
    )
    assert held == [(i, 5) for i in range(1, 6)]
    chunks = -(-2000 // 512)  # of the held-out rows, whose error is asked for before and after
    assert len(training) == chunks + 5 + chunks + 1  # 5 blocks are read for the epoch
    reading = 0 if window > 10**6 else 5
    assert len(errors) == reading + sum(-(-size // 512) for size in ([18_000] if window > 10**6 else [4500] * 4))
    assert errors[-1] == (18_000, 18_000)
    for stage in (training, errors):
        assert (np.diff([done for done, _ in stage]) >= 0).all()
    for stage, least in (("held-out rows", 3), ("training", 0), ("errors", 9000)):

        def stop(now, done, total, stage=stage, least=least):
            return now != stage or done < least

        with lowland.config(progress=stop), pytest.raises(lowland.Cancelled, match=stage):
            model.fit(given)
        assert not any(hasattr(model, name) for name in FITTED)


def test_an_interrupted_command_writes_nothing(tmp_path):
    X = np.random.default_rng(0).standard_normal((400, 5))
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="a,b,c,d,e", comments="")
    code = (
        "import sys, lowland.methods.network.network as n\n"
        "def stop(*_): raise KeyboardInterrupt\n"
        "n._finite = stop\n"  # at the end of the first epoch
        "from lowland.cli import main\n"
        "sys.exit(main('reduce rows.csv --method autoencoder --out map.csv --save model.lowland'.split()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"], done.stderr


def test_seeds(curve):
    first, again, other = (lowland.Autoencoder(1, hidden=(8,), epochs=3, random_state=s).fit(curve) for s in (1, 1, 2))
    same(first, again)
    assert not np.array_equal(first.transform(curve), other.transform(curve))
    same(
        lowland.Autoencoder(1, hidden=(8,), epochs=3, random_state=0).fit(curve),
        lowland.Autoencoder(1, hidden=(8,), epochs=3).fit(curve),
    )


def test_settings_of_torch_neither_matter_nor_change(curve):
    want = lowland.Autoencoder(1, hidden=(8,), epochs=3).fit(curve)
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    try:
        torch.set_num_threads(3)
        torch.set_float32_matmul_precision("medium")
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(5)
        state = torch.random.get_rng_state()
        with torch.inference_mode():
            got = lowland.Autoencoder(1, hidden=(8,), epochs=3).fit(curve)
        same(got, want)
        assert torch.get_num_threads() == 3
        assert torch.get_float32_matmul_precision() == "medium"
        assert torch.equal(torch.random.get_rng_state(), state)
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)
        torch.set_default_dtype(torch.float32)


def test_a_stream_in_one_window_is_the_array(digits):
    X = digits[0]
    parts = RowSource.from_blocks(lambda: (X[:5], X[5:900], X[900:]))
    same(lowland.Autoencoder(hidden=(16,), epochs=3).fit(parts), lowland.Autoencoder(hidden=(16,), epochs=3).fit(X))
    with pytest.raises(lowland.DataError, match="several times, and these blocks can be read only once"):
        lowland.Autoencoder().fit(iter([X]))


# -- without torch, and with a GPU -------------------------------------------------------------------------------------


def test_a_loaded_model_needs_no_torch(curve, tmp_path):
    model = lowland.Autoencoder(1, hidden=(8, 4), epochs=3).fit(curve)
    lowland.save(model, tmp_path / "model.lowland")
    np.savez(tmp_path / "rows.npz", X=curve, Y=model.transform(curve))
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'torch': raise ImportError('no torch')\n"
        "sys.meta_path.insert(0, Missing())\n"
        "import numpy as np, lowland\n"
        "rows, model = np.load('rows.npz'), lowland.load('model.lowland')\n"
        "np.testing.assert_array_equal(model.transform(rows['X']), rows['Y'])\n"
        "assert np.isfinite(model.inverse_transform(rows['Y'])).all()\n"
        "try: lowland.Autoencoder().fit(rows['X'])\n"
        "except lowland.MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'pip install "lowland[torch]"' in done.stdout


def test_a_missing_gpu_is_told(curve):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here: this check did NOT run")
    with pytest.raises(ValueError, match=r"device='cuda' needs a GPU.*device='cpu'"):
        lowland.Autoencoder(device="cuda").fit(curve)


def test_on_a_gpu(digits):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device: training on a GPU was NOT checked")
    train, new = digits
    one, two = (lowland.Autoencoder(8, epochs=20, device="cuda").fit(train) for _ in range(2))
    same(one, two)
    assert lost(one, new) == pytest.approx(lost(lowland.Autoencoder(8, epochs=20).fit(train), new), rel=0.05)
    given = torch.from_numpy(train).cuda()
    on_device = lowland.Autoencoder(8, epochs=20, device="cuda").fit(given)  # whose principal axes round otherwise
    assert lost(on_device, new) == pytest.approx(lost(one, new), rel=0.05)
    np.testing.assert_allclose(one.transform(given).cpu().numpy(), one.transform(train), atol=1e-9)


# -- hard data ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 5, 11])
def test_few_rows(n, rng):
    X = rng.standard_normal((n, 4))
    model = lowland.Autoencoder(2, hidden=(8,), epochs=5).fit(X)
    assert np.isfinite(model.transform(X)).all()
    assert len(model.validation_curve_) == (model.n_iter_ + 1 if n >= 5 else 0)


def test_one_row_is_refused():
    with pytest.raises(lowland.DataError, match="1 sample"):
        lowland.Autoencoder().fit(np.ones((1, 3)))


def test_more_numbers_than_columns(rng):
    X = rng.standard_normal((300, 3))
    model = lowland.Autoencoder(5, hidden=(8,), epochs=20).fit(X)
    assert model.transform(X).shape == (300, 5)
    assert lost(model, X) < 0.01  # nothing has to be squeezed
    assert lowland.Autoencoder(2, hidden=(), epochs=3).fit(X[:, :1]).transform(X[:, :1]).shape == (300, 2)


def test_a_far_origin_costs_nothing(curve):
    far = curve + 1e8
    model = lowland.Autoencoder(1, hidden=(32,), epochs=40, batch_size=32).fit(far)
    assert lost(model, far) < 0.1 * lost(lowland.PCA(1).fit(far), far)


def test_steps_that_run_away_are_an_error(curve):
    model = lowland.Autoencoder(1, learning_rate=1e30)
    with pytest.raises(
        lowland.core.errors.SolveError, match=r"diverged in epoch \d+.*use less than learning_rate=1e\+30$"
    ):
        model.fit(curve)
    assert not hasattr(model, "encoder_")


def test_parameters_after_the_fit_do_not_change_the_model(curve):
    model = lowland.Autoencoder(1, hidden=(8,), epochs=2, activation="tanh").fit(curve)
    before = model.transform(curve)
    np.testing.assert_array_equal(model.set_params(activation="relu", hidden=()).transform(curve), before)


def test_steps_rise_and_rest():
    schedule = Schedule(1, 1, 0.5, 0.0, 1)
    sizes = [schedule.step_size(i, 1000) for i in range(1000)]
    assert np.argmax(sizes) == 49
    assert sizes[0] == pytest.approx(0.01, rel=1e-3)
    assert sizes[-1] < 1e-5
    assert (np.diff(sizes[49:]) < 0).all()
