"""Files of one table in every format that `lowland.data.scan` reads, for tests."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.data.scans.changed import ChangedScan


def _frame(X: Any) -> pl.DataFrame:
    return pl.DataFrame(np.ascontiguousarray(X), schema=[f"c{j}" for j in range(X.shape[1])], orient="row")


def _npy(path: Path, X: Any) -> Any:
    np.save(path / "rows.npy", X)
    return lowland.data.scan(path / "rows.npy")


def _fortran(path: Path, X: Any) -> Any:
    np.save(path / "rows.npy", np.asfortranarray(X))
    return lowland.data.scan(path / "rows.npy")


def _big_endian(path: Path, X: Any) -> Any:
    np.save(path / "rows.npy", X.astype(X.dtype.newbyteorder(">")))
    return lowland.data.scan(path / "rows.npy")


def _raw(path: Path, X: Any) -> Any:
    (path / "rows.bin").write_bytes(b"head" + np.ascontiguousarray(X).tobytes())
    return lowland.data.scan(path / "rows.bin", format="raw", dtype=X.dtype, n_columns=X.shape[1], offset=4)


def _parquet(path: Path, X: Any) -> Any:
    _frame(X).write_parquet(path / "rows.parquet", row_group_size=max(1, len(X) // 3))
    return lowland.data.scan(path / "rows.parquet")


def _feather(path: Path, X: Any) -> Any:
    _frame(X).write_ipc(path / "rows.feather", compression="zstd")
    return lowland.data.scan(path / "rows.feather")


def _arrow_stream(path: Path, X: Any) -> Any:
    _frame(X).write_ipc_stream(path / "rows.arrow")
    return lowland.data.scan(path / "rows.arrow")


def _function(path: Path, X: Any) -> Any:
    cuts = range(0, len(X), 501)
    return lowland.data.scan(lambda: (X[i : i + 501] for i in cuts))


def _csv(path: Path, X: Any) -> Any:
    _frame(X).write_csv(path / "rows.csv")
    return lowland.data.scan(path / "rows.csv")


def _packed(path: Path, X: Any) -> Any:
    text = _frame(X).write_csv(separator=";").replace(".", ",")
    (path / "rows.csv.gz").write_bytes(gzip.compress(text.encode()))
    return lowland.data.scan(path / "rows.csv.gz")


def _folder(path: Path, X: Any) -> Any:
    (path / "parts").mkdir(exist_ok=True)
    for i, part in enumerate(np.array_split(X, 3)):
        np.save(path / "parts" / f"{i}.npy", part)
    return lowland.data.scan(path / "parts")


def _csv_list(path: Path, X: Any) -> Any:
    files = [path / f"{i}.csv" for i in range(3)]
    for file, part in zip(files, np.array_split(X, 3), strict=True):
        _frame(part).write_csv(file)
    return lowland.data.scan(files)


def _copied(path: Path, X: Any) -> Any:
    _frame(X).write_csv(path / "rows.csv")
    table = lowland.data.scan(path / "rows.csv", scratch=path)
    assert sum(frame.height for frame in table.frames()) == len(X)  # the pass that writes the copy
    return table


class _AsItIs:
    def __call__(self, frame: Any) -> Any:
        return frame


def _changed(path: Path, X: Any) -> Any:
    return ChangedScan(_parquet(path, X), _AsItIs())


def _zarr(path: Path, X: Any) -> Any:
    zarr = pytest.importorskip("zarr")
    chunks = (min(100, len(X)), max(1, X.shape[1] // 2))
    zarr.create_array(str(path / "rows.zarr"), data=X, chunks=chunks, overwrite=True)
    return lowland.data.scan(path / "rows.zarr")


def _memory(path: Path, X: Any) -> Any:
    fsspec = pytest.importorskip("fsspec")
    url = f"memory://{path.name}/rows.parquet"
    with fsspec.open(url, "wb") as file:
        _frame(X).write_parquet(file, row_group_size=max(1, len(X) // 3))
    return lowland.data.scan(url)


SCANS = {
    "npy": _npy,
    "fortran npy": _fortran,
    "big-endian npy": _big_endian,
    "raw": _raw,
    "parquet": _parquet,
    "feather": _feather,
    "arrow stream": _arrow_stream,
    "function": _function,
}

TEXTS = {"csv": _csv, "packed csv": _packed}
OTHERS = {
    "folder of npy": _folder,
    "list of csv": _csv_list,
    "zarr": _zarr,
    "memory url": _memory,
    "copied csv": _copied,
    "changed parquet": _changed,
}
FILES = {**{form: make for form, make in SCANS.items() if form != "function"}, **TEXTS}  # of one local file each
ALL = {**SCANS, **TEXTS, **OTHERS}
