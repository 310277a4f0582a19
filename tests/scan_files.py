"""Files of one table in every format that `lowland.data.scan` reads, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import lowland


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
