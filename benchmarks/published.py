"""Published numbers of data that are not stored here: ``python -m benchmarks.published [--folder FOLDER]``.

Isomap of the sculpture faces (Tenenbaum, de Silva, Langford 2000; 698 images of 32 × 32 pixels, three parameters)
beside vegan 2.6-4, and autoencoders of USPS digits beside PCA. Each line shows the value found and the expected one;
the exit code is 1 where one is missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

import lowland

from .harness import TABLES

VEGAN = (0.200872047764843, 0.0868238544442209, 0.0260424227848424, 0.0216216721651324, 0.0164617233009826)
Array = Any


def faces(folder: Path) -> list[tuple[str, str, bool]]:
    """Check residual variances, and that the map holds pose and light."""
    stored = np.load(folder / "isomap_faces" / "isomap_faces_32x32.npz")
    model: Any = lowland.Isomap(10, n_neighbors=6).fit(stored["X"].astype(np.float64))
    lines = []
    for i, want in enumerate(VEGAN):
        found = float(model.residual_variance_[i])
        lines.append((f"residual variance, {i + 1} components: {found:.12f}", f"{want:.12f}", abs(found - want) < 1e-8))
    P = np.linalg.qr(stored["params"] - stored["params"].mean(axis=0))[0]
    Y = model.embedding_[:, :3]
    held = float(np.linalg.svd(np.linalg.qr(Y - Y.mean(axis=0))[0].T @ P)[1].min())
    return [*lines, (f"smallest canonical correlation with the parameters: {held:.3f}", "> 0.85", held > 0.85)]


def digits(folder: Path) -> list[tuple[str, str, bool]]:
    """Check that autoencoders rebuild new digits better than PCA."""
    stored = np.load(folder / "usps" / "usps.npz")
    train, new = stored["X_train"], stored["X_test"].astype(np.float64)

    def lost(model: Any) -> float:
        return float(np.mean((model.inverse_transform(model.transform(new)) - new) ** 2))

    lines = []
    for k in (2, 8, 16):
        ratio = lost(lowland.Autoencoder(k).fit(train)) / lost(lowland.PCA(k).fit(train))
        lines.append(
            (f"autoencoder over PCA, error of new digits, {k} components: {ratio:.3f}", "< 0.75", ratio < 0.75)
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.published", description="Check published numbers.")
    parser.add_argument("--folder", type=Path, default=TABLES, help="where isomap_faces/ and usps/ lie")
    folder = parser.parse_args().folder
    good = True
    for check in (faces, digits):
        for found, want, held in check(folder):
            print(f"{'ok    ' if held else 'MISSED'} {found} (expected {want})", flush=True)
            good &= held
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
