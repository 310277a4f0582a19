"""Downloads: verified, stored whole or not at all, and explained where there is no network. All on the loopback."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import re
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat
from sklearn.feature_extraction.text import CountVectorizer

import lowland
from lowland.data import load_dataset
from lowland.data.arraytable import SparseTable
from lowland.data.catalogue import fetching, loading, rows
from lowland.data.catalogue.dataset import RemoteFile
from lowland.data.catalogue.fetching import data_folder, fetch
from lowland.data.catalogue.saving import write_dataset

CONTENT = bytes(range(256)) * 1000


class Server:
    """Serves some bytes, announces a length, and counts the requests."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.announced: int | None = None
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.lstrip("/")
                outer.asked.append(name)
                content = outer.files.get(name)
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(outer.announced or len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def file(self, name: str, content: bytes, algorithm: str = "sha256") -> RemoteFile:
        self.files[name] = content
        checksum = f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"
        return RemoteFile(name, f"http://127.0.0.1:{self.server.server_port}/{name}", checksum)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOWLAND_DATA", str(tmp_path / "kept" / "data"))
    return tmp_path / "kept" / "data"


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_a_file_is_downloaded_once(server: Server, folder: Path, algorithm: str) -> None:
    file = server.file("a.bin", CONTENT, algorithm)
    assert fetch(file, "letter").read_bytes() == CONTENT
    assert fetch(file, "letter") == folder / "a.bin"
    assert server.asked == ["a.bin"]
    assert [p.name for p in folder.iterdir()] == ["a.bin"]


def test_progress_is_reported_and_can_cancel(server: Server, folder: Path) -> None:
    file, seen = server.file("a.bin", CONTENT), []

    def progress(stage: str, done: int, total: int | None) -> bool:
        seen.append((stage, done, total))
        return len(seen) < 2

    with lowland.config(progress=progress), pytest.raises(lowland.Cancelled):
        fetch(file, "letter")
    assert seen[0] == ("downloading a.bin", seen[0][1], len(CONTENT))
    assert list(folder.iterdir()) == []


def test_a_damaged_download_is_refused(server: Server, folder: Path) -> None:
    file = server.file("a.bin", CONTENT)
    server.files["a.bin"] = CONTENT[:-1] + b"x"
    with pytest.raises(lowland.DataError, match="another checksum") as caught:
        fetch(file, "letter")
    assert file.checksum in str(caught.value)
    assert list(folder.iterdir()) == []


def test_an_interrupted_download_leaves_nothing(server: Server, folder: Path) -> None:
    file = server.file("a.bin", CONTENT)
    server.files["a.bin"], server.announced = CONTENT[:1000], len(CONTENT)
    with pytest.raises(lowland.DataError, match=r"ended after 1,000 of 256,000 bytes|IncompleteRead"):
        fetch(file, "letter")
    assert list(folder.iterdir()) == []


def test_a_key_pressed_leaves_nothing(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fetching, "report_progress", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch(server.file("a.bin", CONTENT), "letter")
    assert list(folder.iterdir()) == []


def test_more_bytes_than_the_file_has_are_not_stored(server: Server, folder: Path) -> None:
    file = replace(server.file("a.bin", CONTENT), size=100_000)
    with pytest.raises(lowland.DataError, match="more than 100 kB came"):
        fetch(file, "letter")
    assert list(folder.iterdir()) == []


def test_a_missing_page_is_told(server: Server, folder: Path) -> None:
    file = server.file("a.bin", CONTENT)
    del server.files["a.bin"]
    with pytest.raises(lowland.DataError, match="Not Found"):
        fetch(file, "letter")


def test_without_a_network_the_error_says_what_to_do(server: Server, folder: Path) -> None:
    file = server.file("a.bin", CONTENT)
    server.close()
    with pytest.raises(lowland.DataError) as caught:
        fetch(file, "letter")
    for words in (file.address, str(folder / "a.bin"), file.checksum, "LOWLAND_DATA", "refused"):
        assert words in str(caught.value)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.bin").write_bytes(CONTENT)  # as the message says
    assert fetch(file, "letter") == folder / "a.bin"


def test_a_stored_file_that_changed_is_refused(server: Server, folder: Path) -> None:
    file = server.file("a.bin", CONTENT)
    fetch(file, "letter").write_bytes(b"other")
    with pytest.raises(lowland.DataError, match=r"damaged or another file than letter needs.*Delete it"):
        fetch(file, "letter")
    assert (folder / "a.bin").read_bytes() == b"other"  # the user decides


def test_a_folder_that_cannot_be_made(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LOWLAND_DATA", str(tmp_path / "file" / "data"))
    with pytest.raises(lowland.DataError, match="set the environment variable LOWLAND_DATA"):
        fetch(server.file("a.bin", CONTENT), "letter")


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/c"}, "/c/lowland"),
        ("linux", {"HOME": "/h"}, "/h/.cache/lowland"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Caches/lowland"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/lowland"),
        ("linux", {"LOWLAND_DATA": "~/d", "HOME": "/h"}, "/h/d"),
    ],
    ids=["xdg", "linux", "mac", "windows", "chosen"],
)
def test_the_folder_is_that_of_the_system(
    platform: str, environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOWLAND_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(fetching.sys, "platform", platform)
    assert data_folder() == Path(expected)


# -- the parsers, on small files in the form of the originals ------------------------------------------------


@pytest.fixture
def serve(server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes a row of the table take its files from the loopback."""

    def change(name: str, *contents: bytes) -> None:
        changed = []
        for row in rows.DATASETS:
            files = [server.file(file.name, content) for file, content in zip(row.files, contents, strict=False)]
            changed.append(replace(row, files=tuple(files)) if row.name == name else row)
        monkeypatch.setattr(loading, "DATASETS", tuple(changed))

    return change


def test_letter(serve: Any) -> None:
    serve("letter", b"T,2,8,3,5,1,8,13,0,6,6,10,8,0,8,0,8\nI,5,12,3,7,2,10,5,5,4,13,3,9,2,8,4,10\n")
    table = load_dataset("letter")
    assert table.y.tolist() == ["T", "I"]
    assert table.X[0].tolist() == [2, 8, 3, 5, 1, 8, 13, 0, 6, 6, 10, 8, 0, 8, 0, 8]
    assert table.names[0] == "x-box"
    assert table.names[-1] == "yegvx"


def test_olivetti(serve: Any, rng: np.random.Generator, tmp_path: Path) -> None:
    images = rng.integers(0, 256, (20, 64, 64)).astype(np.uint8)
    content = io.BytesIO()
    savemat(content, {"faces": images.transpose(0, 2, 1).reshape(20, -1).T})  # column by column, as MATLAB stores
    serve("olivetti", content.getvalue())
    table = load_dataset("olivetti")
    np.testing.assert_array_equal(table.X.reshape(images.shape), images)
    assert table.y.tolist() == [0] * 10 + [1] * 10
    assert table.names[65] == "pixel_1_1"
    row = next(row for row in rows.DATASETS if row.name == "olivetti")
    write_dataset(tmp_path / "faces", table, row)
    np.testing.assert_array_equal(lowland.data.read(tmp_path / "faces").X, table.X)


def test_a_broken_matlab_file(serve: Any) -> None:
    serve("olivetti", b"no faces")
    with pytest.raises(lowland.DataError, match="the faces cannot be read"):
        load_dataset("olivetti")


def usps(X: np.ndarray, labels: list[int]) -> bytes:
    pairs = [" ".join(f"{j + 1}:{v:g}" for j, v in enumerate(x) if v) for x in X]
    lines = [f"{label} {cells}" for label, cells in zip(labels, pairs, strict=True)]
    return bz2.compress("\n".join(lines).encode() + b"\n")


def test_usps(serve: Any, server: Server) -> None:
    X = np.round(np.linspace(-1, 1, 5 * 256).reshape(5, 256), 3).astype(np.float32)
    serve("usps", usps(X[:3], [7, 1, 10]), usps(X[3:], [5, 6]))
    train = load_dataset("usps", part="train")
    assert server.asked == ["usps.bz2"]
    np.testing.assert_array_equal(train.X, X[:3])
    assert train.X.dtype == np.float32
    both = load_dataset("usps")
    np.testing.assert_array_equal(both.X, X)
    assert both.y.tolist() == [6, 0, 9, 4, 5]
    assert both.aside["split"].to_list() == ["train"] * 3 + ["test"] * 2
    assert load_dataset("usps", part="test").n_rows == 2


@pytest.mark.parametrize("lines", [b"7 1:x\n", b"7 300:1\n", b"seven\n"], ids=["value", "place", "label"])
def test_broken_digits(serve: Any, lines: bytes) -> None:
    serve("usps", bz2.compress(lines))
    with pytest.raises(lowland.DataError, match="the digits cannot be read"):
        load_dataset("usps", part="train")


DOCUMENTS = b""".I 1
.T
lift of a wing .
.A
brenckman,m.
.B
j. ae. scs. 25, 1958, 324.
.W
lift of a wing .
  the slipstream adds
.I wrote this line .
.I 2
.T
empty
.A
.B
.W
"""


def archive(**members: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        for name, content in members.items():
            entry = tarfile.TarInfo(name.replace("_", "."))
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def test_cranfield(serve: Any, tmp_path: Path) -> None:
    queries = b".I 001\r\n.W\r\nwhat lift\r\ndoes a wing have .\r\n.I 004\r\n.W\r\nheat\r\n"
    members = {"cran_all_1400": DOCUMENTS, "cran_qry": queries, "cranqrel": b"1 2 4\n2 1 1 \n"}
    serve("cranfield", archive(**members))
    table = load_dataset("cranfield")
    assert table.aside["document"].to_list() == [1, 2]
    assert table.names == ["title", "author", "source", "text"]
    assert table.frame["text"][0] == "lift of a wing . the slipstream adds .I wrote this line ."
    assert table.frame["text"][1] == ""
    with pytest.raises(lowland.DataError, match="Texts must become numbers first"):
        _ = table.X
    asked = load_dataset("cranfield", part="queries")
    assert asked.aside.rows() == [(1, 1), (2, 4)]
    assert asked.frame["text"].to_list() == ["what lift does a wing have .", "heat"]
    judged = load_dataset("cranfield", part="judgements")
    assert judged.frame.rows() == [(1, 2, 4), (2, 1, 1)]
    counts = load_dataset("cranfield", part="counts")
    assert isinstance(counts, SparseTable)
    assert counts.X[0, counts.names.index("wing")] == 2
    assert counts.n_columns == len(CountVectorizer().fit([*table.frame["text"], "empty"]).vocabulary_)
    row = next(row for row in rows.DATASETS if row.name == "cranfield")
    write_dataset(tmp_path / "texts", table, row)
    again = lowland.data.read(tmp_path / "texts")
    assert again.roles == {"text": "text"}
    assert again.frame["file"].to_list() == ["0001.txt", "0002.txt"]
    with pytest.raises(lowland.DataError, match="name a file"):
        write_dataset(tmp_path / "more", judged, row)


def test_a_broken_archive(serve: Any) -> None:
    serve("cranfield", gzip.compress(b"no archive"))
    with pytest.raises(lowland.DataError, match="the archive"):
        load_dataset("cranfield")


def test_an_archive_without_the_file(serve: Any) -> None:
    serve("cranfield", archive(other=b"x"))
    with pytest.raises(lowland.DataError, match=re.escape("has no file cran.all.1400")):
        load_dataset("cranfield")
