"""`lowland image`: sheets, models, tables and files, and clear errors."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

import lowland
from lowland.cli.app import COMMANDS


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Digits as images: 120 to learn from, 40 new ones."""
    X, y, _ = lowland.data.digits()
    for i in range(160):
        place = tmp_path / ("people" if i < 120 else "new") / f"d{y[i]}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray((X[i].reshape(8, 8) * 15).astype(np.uint8)).save(place / f"{i:03d}.png")
    return tmp_path / "people"


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


def check_keys(found: dict[str, Any], command: str) -> None:
    assert set(found) == {"command", *COMMANDS[command].json_keys(), "warnings", "summary", "next"}
    assert found["command"] == command
    assert found["next"].startswith("lowland ")


def test_faces_are_learned_drawn_saved_and_recognised(run: Any, people: Path) -> None:
    words = ["--components", 20, "--out", "e.png", "--faces", "f.png", "--show", "0,7", "--model", "m.lowland"]
    done = run("image", "eigenfaces", people, *words, "--json")
    assert done.code == 0, done.err
    check_keys(done.json, "image eigenfaces")
    assert is_png(Path("e.png"))
    assert is_png(Path("f.png"))
    assert done.json["people"] == [f"d{k}" for k in range(10)]
    assert list(done.json["rebuilt"]) == ["0", "10", "20"]
    found = run("image", "recognize", "m.lowland", "new", "--out", "names.csv", "--json")
    check_keys(found.json, "image recognize")
    assert found.json["right"] > 0.6
    table = pl.read_csv("names.csv")
    assert table.columns == ["image", "label", "nearest", "distance", "residual", "face"]
    assert table["label"].to_list() == found.json["labels"]
    assert run("image", "recognize", "m.lowland", "new").out.startswith("image,label,nearest")
    assert "image recognize" in run("info", "m.lowland").err
    for words in (["transform", "m.lowland", "new", "--out", "x.csv"], ["plot", "m.lowland", "--out", "x.png"]):
        refused = run(*words)
        assert refused.code == 2
        assert "lowland image recognize" in refused.err


def test_an_image_is_compressed(run: Any, tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = (np.outer(np.arange(40), np.arange(50)) // 8).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    words = ["--components", "1,3", "--patch", 8, "--out", "s.png", "--save", "b.png"]
    done = run("image", "compress", "a.png", *words, "--json")
    check_keys(done.json, "image compress")
    first, last = done.json["results"]
    assert last["error"] < first["error"]
    assert last["bytes"] > first["bytes"]
    assert is_png(tmp_path / "s.png")
    off = np.asarray(Image.open(tmp_path / "b.png")).astype(float) - pixels
    assert np.sqrt(np.mean(off**2)) / 255 == pytest.approx(last["error"])
    assert "PSNR" in run("image", "compress", "a.png", "--components", 2).out


def test_noise_is_removed(run: Any, people: Path) -> None:
    done = run("image", "denoise", people, "--out", "s.png", "--save", "cleaned", "--json")
    assert done.code == 0, done.err
    check_keys(done.json, "image denoise")
    assert is_png(Path("s.png"))
    written = sorted(path.relative_to("cleaned").as_posix() for path in Path("cleaned").rglob("*.png"))
    assert written == sorted(path.relative_to(people).as_posix() for path in people.rglob("*.png"))
    again = run("image", "denoise", people, "--save", "cleaned")
    assert again.code == 2
    assert "not an empty folder" in again.err
    arrays = run("image", "denoise", people, "--clean", "new", "--components", 5, "--save", "c.npy", "--show", "1")
    assert arrays.code == 0
    assert np.load("c.npy").shape == (120, 8, 8)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["eigenfaces", "empty"], 3, "contains no files"),
        (["eigenfaces", "people", "--image-size", "3"], 2, "--image-size 3: write it as"),
        (["eigenfaces", "people", "--out", "e.bmp"], 2, "must end in one of .png"),
        (["eigenfaces", "people", "--model", "m.csv"], 2, "use a name such as model.lowland"),
        (["eigenfaces", "people", "--faces", "f.png", "--show", "999"], 2, "--show 999"),
        (["eigenfaces", "people", "--components", "900"], 3, "--components 900"),
        (["eigenfaces", "people", "--level", "2"], 2, "--level 2"),
        (["eigenfaces", "t.csv"], 3, "or rows of pixels with --image-shape"),
        (["eigenfaces", "people/d0/000.png"], 3, "at least 2 images"),
        (["recognize", "people", "m.lowland"], 2, "give MODEL, then IMAGES"),
        (["compress", "people", "--components", "3"], 3, "is a folder"),
        (["compress", "t.csv", "--components", "3"], 3, "neither a folder nor a file of images"),
        (["compress", "people/d0/000.png", "--components", "x"], 2, "--components x"),
        (["compress", "people/d0/000.png", "--components", "9"], 3, "--components 9: it must be"),
        (["compress", "dot.png", "--components", "1", "--patch", "8"], 3, "--patch 8: the image has one pixel"),
        (["compress", "dot.png", "--components", "1", "--out", "a/b.png"], 2, "--out a/b.png: folder"),
        (["compress", "dot.png", "--components", "1", "--save", "dot.png"], 2, "--save dot.png would overwrite"),
        (["compress", "drawing.svg", "--components", "1"], 3, "drawing.svg is neither a folder nor a file of images"),
        (["eigenfaces", "people", "--out", "people/d0/000.png"], 2, "--out people/d0/000.png would overwrite a file"),
        (["eigenfaces", "people", "--faces", "people/d0/000.png"], 2, "--faces people/d0/000.png would overwrite"),
        (["compress", "people/d0/000.png", "--components", "2", "--save", "a.csv"], 2, "--save a.csv"),
        (["denoise", "people/d0/000.png"], 3, "as --clean"),
        (["denoise", "people", "--width", "1"], 2, "--method kernel"),
        (["denoise", "people", "--components", "500"], 3, "--components 500"),
    ],
)
def test_wrong_input(run: Any, people: Path, words: list[str], code: int, text: str) -> None:
    Path("empty").mkdir()
    Path("t.csv").write_text("a,b\n1,2\n")
    Path("drawing.svg").write_text("<svg/>")
    Image.fromarray(np.zeros((1, 1), np.uint8)).save("dot.png")
    done = run("image", *words)
    assert done.code == code, done.err
    assert text in done.err


def test_compress_says_what_was_done_to_the_image(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 255, (12, 10, 4)).astype(np.uint8)).save(tmp_path / "clear.png")
    Image.fromarray(rng.integers(0, 65535, (12, 10)).astype(np.uint16)).save(tmp_path / "deep.png")
    assert "1 with transparent parts, laid over white" in run("image", "compress", "clear.png", "--components", 1).err
    done = run("image", "compress", "deep.png", "--components", 1)
    assert "1 with more than 8 bits, reduced to 8" in done.err
    assert "1 component takes" in done.err


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (5, 3)])
@pytest.mark.parametrize("words", [[], ["--out", "s.png"], ["--patch", "2", "--out", "s.png"]])
def test_next_commands_of_small_images_run(run: Any, shape: tuple[int, int], words: list[str]) -> None:
    Image.fromarray(np.arange(shape[0] * shape[1], dtype=np.uint8).reshape(shape)).save("small.png")
    if shape == (1, 1) and "--patch" in words:
        return
    command = run("image", "compress", "small.png", "--components", 1, *words, "--json").json["next"]
    for _ in range(3):
        done = run(*shlex.split(command)[1:], "--json")
        assert done.code == 0, f"{command}: {done.err}"
        command = done.json["next"]


def test_recognition_says_what_was_done_to_the_images(run: Any, people: Path) -> None:
    assert run("image", "eigenfaces", people, "--components", 5, "--model", "m.lowland").code == 0
    Image.fromarray(np.zeros((30, 20, 3), np.uint8)).save("new/other.png")
    assert "1 of 41 resized, 1 of them stretched" in run("image", "recognize", "m.lowland", "new", "--json").err


def test_an_unknown_column_lists_those_that_are_not_pixels(run: Any, people: Path) -> None:
    done = run("reduce", people, "--color", "label")
    assert done.code == 3
    assert "has no column 'label'; it has 'file', 'folder', 'pixel_0_0', " in done.err
    assert "(66 in all)" in done.err
