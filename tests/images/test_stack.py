"""Images from folders, files and arrays: one size, one mode, and clear words about what cannot be read."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from lowland.core.errors import DataError
from lowland.data import read as read_table
from lowland.images import Images, read


def save(path, pixels, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)


def grey(value, height=3, width=4):
    return np.full((height, width), value, np.uint8)


def test_a_folder_has_pixels_names_and_folders(tmp_path):
    save(tmp_path / "ann" / "1.png", grey(7))
    save(tmp_path / "bob" / "1.png", grey(9))
    found = read(tmp_path)
    assert repr(found) == "Images(2 grey, 4 × 3 pixels)"
    assert found.names == ("ann/1.png", "bob/1.png")
    assert found.folders == ("ann", "bob")
    assert found.pixels[:, 0, 0].tolist() == [7, 9]
    assert found.peak == 255


def test_other_sizes_are_brought_to_the_most_frequent_one_with_a_word(tmp_path):
    for i in range(3):
        save(tmp_path / f"{i}.png", grey(i))
    save(tmp_path / "big.png", grey(100, 6, 8))
    save(tmp_path / "tall.png", grey(50, 9, 2))
    found = read(tmp_path)
    assert found.shape == (3, 4)
    assert "2 of 5 resized, 1 of them stretched" in found.notes
    assert found.pixels[:, 1, 1].tolist() == [0, 1, 2, 100, 50]
    assert read(tmp_path, image_size=(2, 5)).shape == (5, 2)
    with pytest.raises(DataError, match=r"image_size=\(4, 3\)"):  # data.read itself asks
        read_table(tmp_path)


def test_transparent_parts_lie_over_white(tmp_path):
    pixels = np.zeros((2, 2, 4), np.uint8)
    pixels[0, 0, 3] = 255  # one opaque black pixel
    save(tmp_path / "a.png", pixels)
    found = read(tmp_path)
    assert found.pixels[0, :, :, 0].tolist() == [[0, 255], [255, 255]]
    assert "1 with transparent parts, laid over white" in found.notes
    again = read(pixels[None])
    np.testing.assert_array_equal(again.pixels, found.pixels)
    assert again.notes == ("1 with transparent parts, laid over white",)
    pixels[..., 3] = 255
    save(tmp_path / "a.png", pixels)
    assert not any("transparent" in note for note in read(tmp_path).notes)


def test_16_bits_become_8_by_one_rule(tmp_path):
    save(tmp_path / "dark.png", np.full((2, 2), 200, np.uint16))  # nearly black of 65535, not 200 of 255
    save(tmp_path / "light.png", np.full((2, 2), 65535, np.uint16))
    found = read(tmp_path)
    assert found.pixels[:, 0, 0].tolist() == [0, 255]
    assert "2 with more than 8 bits, reduced to 8" in found.notes
    assert read(np.full((2, 3, 3), 40_000, np.uint16)).peak == 65535  # arrays keep their bits


def test_real_numbers_are_shares_of_white_or_as_they_are(tmp_path):
    save(tmp_path / "shares.tif", np.array([[0.0, 0.5, 1.0]], np.float32))
    save(tmp_path / "8 bits.tif", np.array([[0.0, 127.6, 255.0]], np.float32))
    save(tmp_path / "16 bits.tif", np.array([[0.0, 257.0, 65535.0]], np.float32))
    found = read(tmp_path)
    assert {name: pixels[0].tolist() for name, pixels in zip(found.names, found.pixels, strict=True)} == {
        "shares.tif": [0, 128, 255],
        "8 bits.tif": [0, 128, 255],
        "16 bits.tif": [0, 1, 255],
    }
    assert "3 with more than 8 bits, reduced to 8" in found.notes


@pytest.mark.parametrize(
    ("pixels", "words"),
    [
        ([[0, np.nan]], r"odd\.tif has pixels that are NaN or infinite"),
        ([[0, np.inf]], r"odd\.tif has pixels that are NaN or infinite"),
        ([[-5, 7]], r"odd\.tif has pixels from -5 to 7"),
        ([[0, 1e6]], r"odd\.tif has pixels from 0 to 1e\+06"),
    ],
)
def test_real_numbers_of_other_ranges_are_refused(tmp_path, pixels, words):
    save(tmp_path / "odd.tif", np.array(pixels, np.float32))
    with pytest.raises(DataError, match=words):
        read(tmp_path)


@pytest.mark.parametrize("name", ["moving.gif", "pages.tif"])
def test_of_several_frames_the_first_is_read_with_a_word(tmp_path, name):
    frames = [Image.fromarray(grey(10 * i)) for i in range(3)]
    frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
    save(tmp_path / "one.png", grey(1))
    found = read(tmp_path, image_mode="grey")
    assert found.pixels[:, 0, 0].tolist() == ([0, 1] if name < "one" else [1, 0])
    assert "1 with several frames or pages, of which the first is read" in found.notes
    assert not any("frames" in note for note in read(tmp_path / "one.png").notes)


def test_photographs_are_turned_as_their_camera_says(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees
    save(tmp_path / "a.png", np.array([[0, 255, 255]], np.uint8), exif=exif)
    assert read(tmp_path).pixels[0].tolist() == [[0], [255], [255]]


def test_a_broken_image_names_its_file(tmp_path):
    save(tmp_path / "a.png", grey(1))
    (tmp_path / "b.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"b\.png is damaged or not an image"):
        read(tmp_path)
    save(tmp_path / "b.png", np.arange(10_000, dtype=np.uint8).reshape(100, 100) % 251)
    whole = (tmp_path / "b.png").read_bytes()
    (tmp_path / "b.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"b\.png is damaged"):
        read(tmp_path)


def test_one_file_is_one_image(tmp_path):
    save(tmp_path / "a.png", grey(3))
    assert repr(read(tmp_path / "a.png")) == "Images(1 grey, 4 × 3 pixels)"
    table = read_table(tmp_path / "a.png")
    assert (table.n_rows, table.n_columns, table.image_shape) == (1, 12, (3, 4))


def test_lists_of_images_of_several_sizes_and_colours():
    found = read([grey(5), np.full((6, 8, 3), 9, np.uint8), grey(7)])
    assert repr(found) == "Images(3 colour, 4 × 3 pixels)"
    assert found.pixels[:, 0, 0, 0].tolist() == [5, 9, 7]
    assert found.notes == ("1 of 3 resized to 4 × 3 pixels",)


def test_modes_and_shapes_of_arrays():
    rows = np.arange(24.0).reshape(2, 12)
    assert read(rows, image_shape=(3, 4)).pixels[1, 2].tolist() == [20, 21, 22, 23]
    assert read(np.zeros((2, 4, 4, 1))).grey
    colour = read(np.zeros((2, 4, 4)), image_mode="colour")
    assert colour.shape == (4, 4, 3)
    assert read(colour, image_mode="grey").shape == (4, 4)
    assert read(colour, image_size=(2, 3)).shape == (3, 2, 3)
    assert isinstance(colour.take([1]), Images)
    assert len(colour.take([1])) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.zeros((2, 7)), "rows of 7 values, which is not a square"),
        (np.zeros((50, 60, 3)), "one colour image"),
        (np.zeros((2, 3, 4, 5)), r"the shape \(2, 3, 4, 5\); images are"),
        (np.zeros((0, 4, 4)), "there are no images"),
        (np.full((2, 2, 2), np.nan), "image 0 has pixels that are NaN or infinite"),
        (np.array([[["a", "b"]]]), "images are made of numbers"),
        ([], "the list is empty"),
        (np.zeros(5), r"the shape \(5,\)"),
    ],
)
def test_other_things_are_refused(given, words):
    with pytest.raises(DataError, match=words):
        read(given)


def test_empty_folders_and_tables_are_refused(tmp_path):
    with pytest.raises(DataError, match="contains no files"):
        read(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"t\.csv is neither a folder nor a file of images"):
        read(tmp_path / "t.csv")
    with pytest.raises(DataError, match=r"t\.csv is damaged or not an image"):  # a folder without images
        read(tmp_path)
    np.save(tmp_path / "x.npy", np.zeros((3, 16)))
    assert read(tmp_path / "x.npy").shape == (4, 4)
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "nowhere")
