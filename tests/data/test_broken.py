"""Broken files: whatever the bytes are, reading them gives a table or an error of Lowland."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from broken_files import BREAKS, CORPUS, any_bytes, any_text, damage, reading_options, whole_files
from lowland.core.errors import DataError, MemoryLimitError
from lowland.data import read

FUZZ = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def whole() -> dict[str, bytes]:
    return whole_files()


def attempt(path: Path, **options: Any) -> None:
    """Read a file and use the table; anything but an error of Lowland fails the test."""
    try:
        table = read(path, **options)
        table.kinds()
        table.select()
    except (DataError, MemoryLimitError):
        return
    assert table.n_rows > 0


@FUZZ
@given(data=st.data())
def test_damaged_files_of_every_format(tmp_path: Path, whole: dict[str, bytes], data: st.DataObject) -> None:
    ending = data.draw(st.sampled_from(sorted(whole)))
    (tmp_path / f"t{ending}").write_bytes(data.draw(damage(whole[ending])))
    attempt(tmp_path / f"t{ending}")


@FUZZ
@given(file=any_bytes)
def test_any_bytes_under_any_name(tmp_path: Path, file: tuple[str, bytes]) -> None:
    ending, content = file
    (tmp_path / f"t{ending}").write_bytes(content)
    attempt(tmp_path / f"t{ending}")


@settings(FUZZ, max_examples=500)
@given(file=any_text(), options=reading_options)
def test_any_text_with_any_options(tmp_path: Path, file: tuple[str, bytes], options: dict[str, Any]) -> None:
    ending, content = file
    (tmp_path / f"t{ending}").write_bytes(content)
    attempt(tmp_path / f"t{ending}", **options)


@settings(FUZZ, max_examples=100)
@given(data=st.data())
def test_damaged_images(tmp_path: Path, data: st.DataObject) -> None:
    memory = io.BytesIO()
    Image.new("RGB", (8, 8), (1, 2, 3)).save(memory, data.draw(st.sampled_from(["png", "gif", "bmp", "jpeg", "tiff"])))
    content = bytearray(memory.getvalue())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    (tmp_path / "t.png").write_bytes(content)
    attempt(tmp_path, image_size=(8, 8))


@pytest.mark.parametrize("number", range(len(CORPUS)))
def test_a_corpus_of_broken_files(tmp_path: Path, number: int) -> None:
    name, content = CORPUS[number]
    (tmp_path / name).write_bytes(content)
    attempt(tmp_path / name)


def test_archives_that_are_not_what_their_name_says(tmp_path: Path) -> None:
    for name in ("t.npz", "t.xlsx"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("X.npy", b"not an array")
            archive.writestr("../evil.npy", b"")
        with pytest.raises(DataError, match=rf"{name} is damaged"):
            read(tmp_path / name)
    np.savez(tmp_path / "t.npz", X=np.array([[{}]], dtype=object))
    with pytest.raises(DataError, match="pickle"):
        read(tmp_path / "t.npz")


@pytest.mark.parametrize("name", ["a\0b.csv", "x" * 5000, "*", "[", ""])
def test_names_that_are_no_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError):
        read(str(tmp_path / "none" / name))


WORDS_AND_NUMBERS = [
    "",
    "1",
    "-2",
    "2.5",
    "1e5",
    "1e400",
    "-0",
    "007",
    "9" * 19,
    "NA",
    "NAN",
    "inf",
    " 3",
    "x",
    "+4",
    "1_0",
]
PLAIN_CELLS = st.sampled_from(WORDS_AND_NUMBERS)


@settings(FUZZ, max_examples=300)
@given(
    rows=st.lists(st.lists(PLAIN_CELLS, min_size=1, max_size=4), min_size=1, max_size=6),
    width=st.integers(2, 3),
    repeats=st.sampled_from([1, 1, 100]),
    newline=BREAKS,
    last=st.booleans(),
)
def test_polars_and_arrow_read_the_same_table(
    tmp_path: Path, rows: Any, width: int, repeats: int, newline: str, last: bool
) -> None:
    """Plain text is read by polars; the table and the errors are those of the careful reader."""
    body = [["1.5"] * width] * repeats + rows  # a late cell may be unlike the first ones
    text = newline.join(",".join(row) for row in [[f"c{j}" for j in range(width)], *body]) + newline * last
    path = tmp_path / "t.csv"
    path.write_text(text, newline="")

    def outcome() -> Any:
        try:
            table = read(path)
        except DataError as error:
            return str(error)
        return table.frame.to_dict(as_series=False), table.frame.schema, table.first_line, table.faults, table.stray

    plain = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lowland.data.delimited.read_plain", lambda *_: None)
        assert str(outcome()) == str(plain)
