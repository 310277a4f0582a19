"""Compression: the best of rank k, sizes that are those of real bytes, and bytes that give the image back."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_sample_images

from lowland.core.errors import DataError
from lowland.images import compress, decompress, read
from lowland.images.patches import cut, join


@pytest.fixture(scope="module")
def china():
    return load_sample_images().images[0][::2, ::2]


def test_the_whole_image_is_the_best_of_rank_k(china):
    grey = china.mean(axis=2)
    s = np.linalg.svd(grey, compute_uv=False)
    for k in (1, 10, 40):
        found = compress(grey, k, bits=16)
        best = np.sqrt((s[k:] ** 2).sum() / grey.size) / found.peak  # Eckart and Young
        assert found.error == pytest.approx(best, rel=1e-4)
    assert found.image.shape == grey.shape


def test_all_components_give_the_image_back(rng):
    image = rng.integers(0, 256, (24, 16)).astype(np.uint8)
    np.testing.assert_array_equal(compress(image, 16, bits=16).image, image)
    np.testing.assert_array_equal(compress(image, 16, patch=4, bits=16).image, image)
    assert compress(image, 16, bits=16).psnr == np.inf


def test_the_size_is_that_of_bytes_from_which_the_image_is_rebuilt(china):
    for patch, k in ((None, 20), (8, 6)):
        found = compress(china, k, patch=patch)
        assert found.n_bytes == len(found.data)
        assert found.original_bytes == china.size
        assert found.ratio == china.size / len(found.data)
        np.testing.assert_array_equal(decompress(found.data), found.image)
        off = (china.astype(float) - found.image) / 255
        assert found.error == pytest.approx(np.sqrt(np.mean(off**2)))
        assert found.psnr == pytest.approx(-20 * np.log10(found.error))
        assert found.image.dtype == np.uint8
    numbers = 3 * 20 * (china.shape[0] + china.shape[1])
    assert 0.5 * numbers < compress(china, 20).n_bytes < 1.1 * numbers  # deflate cannot do magic on singular vectors


def test_patches_are_pca(china):
    grey = china.mean(axis=2)[:208, :320]  # whole patches
    rows = cut(grey, 8)
    off = rows - rows.mean(axis=0)
    s = np.linalg.svd(off, compute_uv=False)
    found = compress(grey, 5, patch=8, bits=16)
    whole = cut(found.image.astype(float), 8) - rows
    assert (whole**2).sum() == pytest.approx((s[5:] ** 2).sum(), rel=1e-3)
    np.testing.assert_array_equal(join(cut(china, 7), china.shape, 7), china)


def test_more_components_and_more_bits_are_better_and_larger(china):
    found = [compress(china, k, patch=8) for k in (2, 8, 24)]
    assert [one.error for one in found] == sorted((one.error for one in found), reverse=True)
    assert [one.n_bytes for one in found] == sorted(one.n_bytes for one in found)
    fine = compress(china, 24, patch=8, bits=16)
    assert fine.error < found[-1].error
    assert fine.n_bytes > found[-1].n_bytes


def test_files_types_and_drawing(tmp_path, china):
    Image.fromarray(china).save(tmp_path / "a.png")
    found = compress(tmp_path / "a.png", 5)
    np.testing.assert_array_equal(found.image, compress(china, 5).image)
    assert compress(read(tmp_path / "a.png"), 5).n_bytes == found.n_bytes
    assert [ax.get_title() for ax in found.plot()] == ["before", "after: 5 components, whole image", "difference"]
    deep = china[..., 0].astype(np.uint16) * 257
    assert compress(deep, 5).image.dtype == np.uint16
    assert compress(deep, 5).original_bytes == 2 * deep.size
    assert compress(china / 255, 5).error == pytest.approx(found.error, rel=0.05)
    flat = np.full((20, 30), 9, np.uint8)
    np.testing.assert_array_equal(compress(flat, 3, patch=4).image, flat)
    assert compress(np.eye(16, dtype=bool), 4, patch=16).image.shape == (16, 16)


@pytest.mark.parametrize(
    ("image", "options", "words"),
    [
        (np.zeros((4, 5)), {"components": 5}, "from 1 to 4, the shorter side"),
        (np.zeros((4, 5)), {"components": 2.5}, "whole number"),
        (np.zeros((4, 5)), {"components": 5, "patch": 2}, "from 1 to 4, the values of a patch"),
        (np.zeros((4, 5)), {"components": 1, "patch": 1}, "patch=1"),
        (np.zeros((4, 5)), {"components": 1, "bits": 12}, "8 or 16"),
        (np.zeros((4, 5, 7)), {"components": 1}, r"got the shape \(4, 5, 7\)"),
        (np.zeros(4), {"components": 1}, r"got the shape \(4,\)"),
        (np.full((4, 4), -1), {"components": 1}, "from 0 to 65535"),
        (np.full((4, 4), np.nan), {"components": 1}, "NaN"),
        ("nowhere.png", {"components": 1}, "no such file"),
        (".", {"components": 1}, "is a folder"),
    ],
)
def test_what_cannot_be_compressed(image, options, words):
    with pytest.raises(DataError, match=words):
        compress(image, **options)


def test_damaged_bytes_are_refused(rng):
    data = compress(rng.integers(0, 256, (9, 8)).astype(np.uint8), 3).data
    for place in range(0, len(data), 3):
        for changed in (data[:place], data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :]):
            try:
                decompress(changed)
            except DataError:
                continue
    for bad in (b"", b"LWI1", b"\xff" * 60, data[:-5]):
        with pytest.raises(DataError, match="bytes"):
            decompress(bad)
