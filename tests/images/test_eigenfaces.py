"""Eigenfaces: PCA of normalised images, recognition, the test for faces, and what a model file keeps."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import lowland
from lowland.core.errors import DataError
from lowland.images import Eigenfaces, read
from lowland.images.contrast import standardized
from lowland.images.face_threshold import held_out_residuals, threshold


@pytest.fixture(scope="module")
def digits():
    X, y, _ = lowland.data.digits()
    return X.reshape(-1, 8, 8), y


@pytest.fixture(scope="module")
def model(digits):
    images, y = digits
    return Eigenfaces(30).fit(images[:900], y[:900])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_check_estimator():
    check_estimator(Eigenfaces())


def test_it_is_pca_of_images_of_mean_0_and_spread_1(digits, model):
    X = digits[0].reshape(len(digits[0]), -1)
    Z = (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)
    np.testing.assert_allclose(standardized(X, "contrast").rows, Z, atol=1e-12)
    pca = lowland.PCA(30).fit(Z[:900])
    np.testing.assert_allclose(model.mean_face_.ravel(), pca.mean_, atol=1e-12)
    np.testing.assert_allclose(np.abs(model.eigenfaces_.reshape(30, -1)), np.abs(pca.components_), atol=1e-9)
    expected = pca.transform(Z[900:]) / np.sqrt(pca.explained_variance_)
    np.testing.assert_allclose(np.abs(model.transform(digits[0][900:])), np.abs(expected), atol=1e-8)


def test_brightness_and_contrast_of_an_image_do_not_matter(digits, model):
    images = digits[0][900:950]
    np.testing.assert_allclose(model.transform(3 * images + 100), model.transform(images), atol=1e-9)
    np.testing.assert_allclose(model.distance_to_plane(3 * images + 100), model.distance_to_plane(images), atol=1e-9)
    plain = Eigenfaces(30, normalize=None).fit(digits[0][:900])
    assert np.abs(plain.transform(3 * images + 100) - plain.transform(images)).max() > 0.1


def test_prediction_is_the_nearest_by_cosine(digits, model):
    images, y = digits
    A, B = model.coordinates_, model.transform(images[900:])
    cosine = (B / np.linalg.norm(B, axis=1, keepdims=True)) @ (A / np.linalg.norm(A, axis=1, keepdims=True)).T
    found = model.recognize(images[900:])
    np.testing.assert_array_equal(model.predict(images[900:]), y[:900][cosine.argmax(axis=1)])
    np.testing.assert_allclose(found.distances, 1 - cosine.max(axis=1), atol=1e-9)
    assert [int(name) for name in found.nearest] == cosine.argmax(axis=1).tolist()
    assert model.score(images[900:], y[900:]) > 0.93
    euclid = Eigenfaces(30, metric="euclidean", whiten=False).fit(images[:900], y[:900])
    D = np.linalg.norm(euclid.transform(images[900:1000])[:, None] - euclid.coordinates_[None], axis=2)
    np.testing.assert_array_equal(euclid.predict(images[900:1000]), y[:900][D.argmin(axis=1)])


def test_rebuilt_images_and_their_errors(digits, model):
    images = digits[0][900:960]
    rebuilt = model.rebuild(images, [0, 10, 30])
    assert rebuilt.shape == (3, 60, 8, 8)
    spread = images.std(axis=(1, 2))
    for k, made in zip((0, 10, 30), rebuilt, strict=True):
        error = np.sqrt(np.mean(((made - images) / spread[:, None, None]) ** 2))
        assert model.error_curve(images, [k])[1][0] == pytest.approx(error, rel=1e-9)
    counts, errors = model.error_curve(images)
    assert counts == list(range(31))
    assert (np.diff(errors) < 0).all()
    assert model.counts == [0, 10, 30]
    for components in ([-3, 1], [1.5], [0, 31], [True], []):
        for method in (model.error_curve, model.rebuild):
            with pytest.raises(ValueError, match=r"^Eigenfaces: components.* from 0 to "):
                method(images, components)
    with pytest.warns(lowland.RankWarning):
        whole = Eigenfaces(59).fit(images)
    np.testing.assert_allclose(whole.rebuild(images)[-1], images, atol=1e-8)


def test_the_threshold_is_a_quantile_of_held_out_residuals(digits, model):
    images, _y = digits
    assert model.threshold_ == threshold(model.held_out_residuals_, 0.95)
    assert (model.held_out_residuals_ <= model.threshold_).mean() == pytest.approx(0.95, abs=0.01)
    assert model.is_face(images[900:]).mean() > 0.95
    rng = np.random.default_rng(0)
    assert not model.is_face(rng.standard_normal((20, 8, 8))).any()
    assert model.distance_to_plane(np.full((1, 8, 8), 3.0)).tolist() == [np.inf]  # an image of one value is no face
    # residuals of training images are smaller: the fit has seen them
    assert model.distance_to_plane(images[:900]).mean() < model.held_out_residuals_.mean()


def test_whole_people_are_held_out(rng):
    """Two images of each of six people, equal up to little noise: seen, they would have residuals near zero."""
    people = rng.standard_normal((6, 25))
    rows = np.repeat(people, 2, axis=0) + 1e-3 * rng.standard_normal((12, 25))
    assert held_out_residuals(rows, np.repeat(np.arange(6), 2), 11, 0).min() > 0.1
    assert held_out_residuals(rows, None, 11, 0).max() < 1.5
    assert np.median(held_out_residuals(rows, None, 11, 0)) < 0.01
    assert held_out_residuals(rows[:2], None, 1, 0) is None


def test_a_saved_model_recognises_the_same(tmp_path, digits, model):
    images, y = digits
    names = np.array([f"digit {label}" for label in y])
    named = Eigenfaces(20, level=0.9).fit(images[:500], names[:500])
    for one in (model, named):
        lowland.save(one, tmp_path / "m.lowland")
        again = lowland.load(tmp_path / "m.lowland")
        assert again.get_params() == one.get_params()
        np.testing.assert_array_equal(again.predict(images[900:]), one.predict(images[900:]))
        np.testing.assert_array_equal(again.is_face(images[900:]), one.is_face(images[900:]))
        assert again.image_shape_ == (8, 8)
        np.testing.assert_array_equal(again.mean_face_, one.mean_face_)
        lowland.save(again, tmp_path / "n.lowland")
        assert (tmp_path / "n.lowland").read_bytes() == (tmp_path / "m.lowland").read_bytes()
    unlabelled = Eigenfaces(5).fit(images[:50])
    lowland.save(unlabelled, tmp_path / "m.lowland")
    assert lowland.load(tmp_path / "m.lowland").classes_ is None


def test_folders_are_names_and_new_images_take_the_size(tmp_path, digits):
    images, y = digits
    for i in range(200):
        place = tmp_path / "train" / f"d{y[i]}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray((images[i] * 15).astype(np.uint8)).save(place / f"{i}.png")
    model = Eigenfaces(20).fit(tmp_path / "train")
    assert model.classes_.tolist() == [f"d{k}" for k in range(10)]
    assert model.image_names_[0].startswith("d0/")
    (tmp_path / "new").mkdir()
    for i in range(200, 230):
        large = Image.fromarray((images[i] * 15).astype(np.uint8)).resize((16, 16)).convert("RGB")
        large.save(tmp_path / "new" / f"{i}.png")
    found = model.recognize(tmp_path / "new")
    assert np.mean([label == f"d{k}" for label, k in zip(found.labels, y[200:230], strict=True)]) > 0.7
    assert found.table().columns == ["image", "label", "nearest", "distance", "residual", "face"]


def test_colour_images(rng):
    images = rng.uniform(0, 255, (12, 5, 4, 3)).astype(np.uint8)
    model = Eigenfaces(3).fit(images)
    assert model.eigenfaces_.shape == (3, 5, 4, 3)
    assert model.rebuild(images[:2]).shape == (2, 2, 5, 4, 3)
    assert len(model.plot(n=3)) == 4
    assert len(model.plot(images, kind="rebuilt", images=[1])) == 3


def test_sheets(digits, model):
    assert next(ax.get_title() for ax in model.plot(n=2)) == "mean"
    panels = model.plot(digits[0][:9], kind="rebuilt", images=[0, 5])
    assert [ax.get_title() for ax in panels[:4]] == ["mean", "k = 10", "k = 30", "original"]
    assert len(model.plot(digits[0][:9], kind="errors").lines[0].get_xdata()) == 31
    with pytest.raises(ValueError, match="kind must be one of"):
        model.plot(kind="map")
    with pytest.raises(ValueError, match="give them as X"):
        model.plot(kind="rebuilt")
    odd = Eigenfaces(2).fit(np.random.default_rng(0).standard_normal((9, 7)))
    with pytest.raises(DataError, match="image_shape"):
        odd.plot()


def test_what_cannot_be_learned(digits):
    images, y = digits
    with pytest.raises(DataError, match="at least 2 images"):
        Eigenfaces().fit(images[:1])
    with pytest.raises(DataError, match="all 3 images are the same"):
        Eigenfaces().fit(np.stack([images[0], 2 * images[0], images[0] + 5]))
    with pytest.raises(DataError, match="20 images and 3 labels"):
        Eigenfaces().fit(images[:20], y[:3])
    with pytest.raises(
        DataError, match=r"^Eigenfaces: n_components=50 is more than min\(images, pixels\) = 20 \(20 images"
    ):
        Eigenfaces(50).fit(images[:20])
    with pytest.raises(DataError, match=r"n_components=65 is more than .* = 64"):
        Eigenfaces(65).fit(images[:100])
    with pytest.raises(ValueError, match="normalize"):
        Eigenfaces(normalize="sharp").fit(images[:20])
    with pytest.raises(DataError, match="fitted without labels"):
        Eigenfaces(3).fit(images[:20]).predict(images[:2])
    with pytest.raises(DataError, match="at least 3"):
        Eigenfaces().fit(images[:2]).is_face(images[:2])
    with pytest.raises(DataError, match=r"image_shape=\(3, 3\) does not fit"):
        Eigenfaces(image_shape=(3, 3)).fit(images[:20].reshape(20, -1))


def test_the_same_seed_gives_the_same_model(digits):
    images, y = digits
    one, two = (Eigenfaces(10, random_state=3).fit(images[:100], y[:100]) for _ in range(2))
    np.testing.assert_array_equal(one.held_out_residuals_, two.held_out_residuals_)
    assert clone(one).get_params() == one.get_params()


def test_rebuilt_faces_are_of_different_people(tmp_path, digits):
    X, y = digits
    for i in range(40):
        place = tmp_path / f"d{y[i]}"
        place.mkdir(exist_ok=True)
        Image.fromarray((X[i] * 15).astype(np.uint8)).save(place / f"{i:03d}.png")
    given = read(tmp_path)
    model = Eigenfaces(5).fit(given)
    drawn = model.plot(given, kind="rebuilt", components=[5])
    firsts = [given.folders.index(name) for name in ("d0", "d1", "d2", "d3")]
    shown = [axes.images[0].get_array() for axes in drawn[1::2]]
    want = model.plot(given, kind="rebuilt", components=[5], images=firsts)[1::2]
    for image, axes in zip(shown, want, strict=True):
        np.testing.assert_array_equal(image, axes.images[0].get_array())
    two = read(tmp_path).take(range(3))
    assert len(model.plot(two, kind="rebuilt", components=[5])) == 6
