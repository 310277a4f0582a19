"""Noise: its level, the error that is judged without clean images, and what denoising does to digits."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland.core.errors import DataError
from lowland.images import denoise
from lowland.images.noise import marchenko_pastur_quantile, noise_level, trial_of_clean, trial_of_noisy
from lowland.images.strength import linear_errors


@pytest.fixture(scope="module")
def digits():
    X, _, _ = lowland.data.digits()
    return X[:700].reshape(-1, 8, 8)


def noisy(images, level, seed=0):
    return images + level * np.random.default_rng(seed).standard_normal(images.shape)


def mse(found, images):
    return float(np.mean((found.pixels - images) ** 2))


@pytest.mark.parametrize(("n", "d"), [(400, 60), (60, 400), (100, 100)])
def test_the_quantile_is_that_of_noise(n, d, rng):
    values = np.linalg.eigvalsh(np.cov(rng.standard_normal((n + 1, d)).T))[-min(n, d) :]
    wide = max(1.0, d / n)
    for share in (0.25, 0.5):
        expected = wide * marchenko_pastur_quantile(min(n, d) / max(n, d), share)
        assert np.quantile(values, share) == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("level", [4.0, 8.0])
def test_the_level_of_the_noise(digits, level):
    rows = noisy(digits, level).reshape(700, -1)
    assert noise_level(rows, shape=(8, 8)) == pytest.approx(level, rel=0.12)
    clean = digits.reshape(700, -1)
    assert noise_level(rows[:50], clean[50:]) == pytest.approx(level, rel=0.05)


def test_errors_without_clean_images_are_those_with_them(digits, rng):
    """The coupled noise estimates the error at 1.25 times the variance, up to chance."""
    X = digits.reshape(700, -1)
    train, held = noisy(X[:500], 4.0).reshape(500, -1), X[500:]
    guess = linear_errors(train, trial_of_noisy(noisy(held, 4.0, 1), 4.0, rng))
    truth = linear_errors(train, trial_of_clean(held, 4.0 * 1.25**0.5, rng))
    for key in [(k, None) for k in (2, 5, 10, 20, 40, 64)]:
        assert guess[key] == pytest.approx(truth[key], rel=0.1)


@pytest.mark.parametrize("method", ["pca", "kernel"])
def test_the_chosen_strength_is_nearly_the_best(digits, method):
    clean = digits[:300]
    X = noisy(clean, 4.0)
    found = denoise(X, method, noise=4.0)
    tried = {k: mse(denoise(X, method, components=k, width=found.width, noise=4.0), clean) for k in (4, 8, 16, 32)}
    assert mse(found, clean) < 1.06 * min(tried.values())
    assert mse(found, clean) < 0.6 * 16
    assert found.errors
    assert found.error == min(found.errors.values())
    assert (found.width is None) == (method == "pca")
    assert any("held-out" in note for note in found.notes)


def test_kernel_is_better_than_linear_with_clean_images(digits):
    """As on USPS digits in benchmarks/images.py; small digits learn from few."""
    X = noisy(digits[500:], 4.0)
    options = {"pca": {}, "kernel": {"width": 1.4}}
    linear, kernel = (denoise(X, name, clean=digits[:500], **given) for name, given in options.items())
    assert mse(kernel, digits[500:]) < mse(linear, digits[500:]) < mse(denoise(X), digits[500:])
    assert linear.noise == pytest.approx(4.0, rel=0.05)


def test_clean_images_are_what_is_learned_from(digits):
    """With given components the result is the projection on the components of the clean images."""
    X = noisy(digits[:20], 2.0)
    pca = lowland.PCA(12).fit(digits[100:].reshape(600, -1))
    rows = X.reshape(20, -1)
    found = denoise(X, clean=digits[100:], components=12)
    np.testing.assert_allclose(found.pixels.reshape(20, -1), pca.inverse_transform(pca.transform(rows)), atol=1e-9)
    assert found.errors == {}
    assert found.error is None
    assert len(denoise(X[:1], clean=digits[100:], components=12).before) == 1


def test_no_image_is_cleaned_by_itself(digits):
    """An outlier that the components had seen would come back whole."""
    X = digits[:100].copy()
    X[7] = 0
    X[7, 0, 0] = 500.0
    found = denoise(X, components=20)
    assert found.pixels[7, 0, 0] < 100


def test_types_and_seeds(digits):
    X = np.clip(np.rint(noisy(digits[:200], 3.0) * 10 + 60), 0, 255).astype(np.uint8)
    found = denoise(X)
    assert found.pixels.dtype == np.uint8
    again = denoise(X, random_state=0)
    np.testing.assert_array_equal(found.pixels, again.pixels)
    assert found.errors == again.errors
    assert len(found.plot([0, 3])) == 6
    assert found.images.names == found.before.names
    with pytest.raises(ValueError, match="from 0 to 199"):
        found.plot([200])


@pytest.mark.parametrize(
    ("images", "options", "words"),
    [
        (np.zeros((3, 4, 4)), {}, "at least 4; got 3"),
        (np.zeros((1, 4, 4)), {"clean": np.zeros((2, 4, 4))}, "there are 2 clean images"),
        (np.zeros((5, 4, 4)), {"clean": np.zeros((9, 6, 5))}, "5 × 6 pixels and the noisy ones 4 × 4"),
        (np.zeros((5, 4, 4)), {"method": "wavelet"}, "'pca' or 'kernel'"),
        (np.zeros((5, 4, 4)), {"components": 0}, "from 1 up"),
        (np.zeros((5, 4, 4)), {"components": 50}, "5 images teach at most 3"),
        (np.zeros((5, 4, 4)), {"width": 1.0}, "method='kernel'"),
        (np.zeros((5, 4, 4)), {"method": "kernel", "width": -1.0}, "positive"),
        (np.zeros((5, 4, 4)), {"noise": -1.0}, "0 or greater"),
        (np.zeros((5, 4, 4)), {}, "the images do not differ"),
    ],
)
def test_what_cannot_be_denoised(images, options, words):
    with pytest.raises(DataError, match=words):
        denoise(images, **options)
