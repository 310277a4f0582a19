"""Files that are truncated, altered or of another program."""

import os
import pickle
import struct
import tracemalloc

import numpy as np
import pytest
import safetensors.numpy

from lowland import modelfile
from lowland.contract.reducer import FitInfo
from lowland.core.errors import ModelFileError


def test_cut_at_every_byte(file):
    data = file.read_bytes()
    for end in range(len(data)):
        file.write_bytes(data[:end])
        with pytest.raises(ModelFileError, match=r"toy\.lowland: .*(truncated|incomplete)"):
            modelfile.load(file)
    file.write_bytes(data)
    assert modelfile.load(file).n_features_in_ == 3


@pytest.mark.parametrize("flip", [0x01, 0x20])
def test_every_altered_byte(file, flip):
    data = file.read_bytes()
    for i in range(len(data)):
        file.write_bytes(data[:i] + bytes([data[i] ^ flip]) + data[i + 1 :])
        with pytest.raises(ModelFileError, match=r"toy\.lowland: "):
            modelfile.load(file)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data[:-1] + b"\x41", ["checksum is wrong", "altered"]),
        (lambda data: data.replace(b'\\"tol\\":0.5', b'\\"tol\\":0.7'), ["checksum is wrong", "altered"]),
        (lambda data: data + b"\0", ["altered"]),
        (lambda data: b"", ["incomplete (0 bytes)"]),
        (lambda data: b"12345", ["incomplete (5 bytes)"]),
    ],
    ids=["array", "parameter", "one byte more", "empty", "tiny"],
)
def test_what_was_done_to_the_file_is_said(file, refused, change, words):
    file.write_bytes(change(file.read_bytes()))
    refused(file, *words)


@pytest.mark.parametrize("length", [2**64 - 1, 2**40, 100_000_001, 5000])
def test_absurd_header_length_allocates_nothing(tmp_path, length, refused):
    path = tmp_path / "absurd"
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", length) + b"{")
        out.truncate(4000 if length == 5000 else 300_000_000)  # sparse: takes no room on the disk
    tracemalloc.start()
    try:
        refused(path, "truncated" if length == 5000 else "not a Lowland model")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"PK\x03\x04" + b"\0" * 50, ["zip archive"]),
        (pickle.dumps(FitInfo("Toy", "direct"), protocol=4), ["pickle", "never loads"]),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 50, ["PNG"]),
        (b"x,y\n" + b"1,2\n" * 100, ["not a Lowland model"]),
        (b'{"a": 1, "b": 2}\n' * 50, ["JSON text", "converted to .csv or .parquet"]),
        (b"PAR1" + b"\0" * 50, ["Parquet table"]),
        (safetensors.numpy.save({"w": np.zeros(3)}), ["safetensors", "another program"]),
        (safetensors.numpy.save({"w": np.zeros(3)}, {"format": "pt"}), ["safetensors", "another program"]),
    ],
    ids=["zip", "pickle", "PNG", "CSV", "JSON", "Parquet", "safetensors", "safetensors with metadata"],
)
def test_foreign_files(tmp_path, refused, data, words):
    (tmp_path / "foreign").write_bytes(data)
    refused(tmp_path / "foreign", *words)


def test_a_pickle_is_not_run(tmp_path, refused):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "bang"),)

    (tmp_path / "bomb").write_bytes(pickle.dumps(Bomb()))
    refused(tmp_path / "bomb", "not a Lowland model")
    assert not (tmp_path / "bang").exists()


def test_folder_missing_file_and_pipe(tmp_path, refused):
    refused(tmp_path, "not a file")
    refused(tmp_path / "nowhere" / "x.lowland", "no such file")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        refused(tmp_path / "pipe", "not a file")
